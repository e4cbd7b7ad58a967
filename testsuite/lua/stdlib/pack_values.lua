-- SPDX-License-Identifier: MIT
-- string.pack, packsize, unpack: layouts and round trips.

local pack, unpack, packsize = string.pack, string.unpack, string.packsize

local function bytes(expected, format, ...)
  local s = pack(format, ...)
  local hex = s:gsub(".", function(c) return ("%02x"):format(c:byte()) end)
  assert(hex == expected, format .. ": " .. hex)
end

local function round_trip(format, ...)
  local s = pack(format, ...)
  local got, want = table.pack(unpack(format, s)), table.pack(...)
  assert(got.n == want.n + 1 and got[got.n] == #s + 1, format)
  for i = 1, want.n do
    assert(got[i] == want[i] and math.type(got[i]) == math.type(want[i]), format)
  end
end

do -- sizes of the machine's types
  assert(packsize("b") == 1 and packsize("h") == 2 and packsize("i") == 4 and packsize("l") == 8)
  assert(packsize("j") == 8 and packsize("T") == 8 and packsize("f") == 4 and packsize("d") == 8 and
    packsize("n") == 8)
  assert(packsize("bhilj") == 1 + 2 + 4 + 8 + 8 and packsize("") == 0 and packsize("c10x") == 11)
end

do -- integers of every size, both orders
  for size = 1, 16 do
    local low = size < 8 and -(1 << size * 8 - 1) or math.mininteger
    local high = size < 8 and (1 << size * 8 - 1) - 1 or math.maxinteger
    for _, order in ipairs { "<", ">", "=" } do
      for _, n in ipairs { 0, 1, -1, 100, -100, low, high } do
        round_trip(order .. "i" .. size, n)
      end
      if size < 8 then round_trip(order .. "I" .. size, (1 << size * 8) - 1) end
      round_trip(order .. "I" .. size, 100)
    end
    assert(packsize("i" .. size) == size)
  end
  bytes("010203", "<i1i1i1", 1, 2, 3)
  bytes("0100000002000000", "<i4i4", 1, 2)
  bytes("0000000100000002", ">i4i4", 1, 2)
  bytes("fe", "b", -2)
  bytes("feffff", "<i3", -2)
  bytes("fffffe", ">i3", -2)
  bytes("feffffffffffffffffffffff", "<i12", -2)
  bytes("fffffffffffffffffffffffe", ">i12", -2)
  bytes("ffffffffffffffff00", "<I9", -1) -- as an unsigned 64-bit number
  bytes("8000", ">h", -32768)
  assert(unpack("<I8", ("\xff"):rep(8)) == -1)
  assert(unpack("<i16", ("\xff"):rep(16)) == -1)
  assert(unpack(">I16", ("\0"):rep(8) .. ("\xff"):rep(8)) == -1)
  assert(unpack("<i16", "\3" .. ("\0"):rep(15)) == 3)
  bytes("0300", "<H", "3")
  bytes("0300", "<H", 3.0)
end

do -- floats
  for _, n in ipairs { 0.0, -0.0, 1.5, -1e300, 1e-300, math.huge, -math.huge, math.pi } do
    for _, order in ipairs { "<", ">", "=" } do
      round_trip(order .. "d", n)
      round_trip(order .. "n", n)
    end
  end
  for _, n in ipairs { 0.0, 1.5, -2.25, 2.0 ^ 100, math.huge } do
    round_trip("<f", n) round_trip(">f", n)
  end
  bytes("3ff0000000000000", ">d", 1)
  bytes("0000c03f", "<f", 1.5)
  assert(unpack("f", pack("f", 0.1)) ~= 0.1)
  assert(unpack("f", pack("f", 1e300)) == math.huge)
  local nan = unpack("d", pack("d", 0 / 0))
  assert(nan ~= nan)
end

do -- strings
  round_trip("zz", "hello", "")
  round_trip("s", ("x"):rep(1000))
  for size = 1, 16 do round_trip("s" .. size, "abc\0def") end
  bytes("03616263", "s1", "abc")
  bytes("000361626300", ">s2z", "abc", "")
  bytes("6162630000", "c5", "abc")
  bytes("", "c0", "")
  assert(unpack("c5", "ab\0\0c") == "ab\0\0c")
  local a, b, c, at = unpack("zc2z", "ab\0cde\0")
  assert(a == "ab" and b == "cd" and c == "e" and at == 8)
  assert(unpack("s1", "\0") == "")
end

do -- padding and alignment
  bytes("01000200", "<bxh", 1, 2)
  bytes("010002000000", "<!4 b h xx", 1, 2)
  bytes("0100000002000000", "<!4 b i4", 1, 2)
  bytes("0102000000", "<!1 b i4", 1, 2)
  bytes("0100020000000000", "<!2 b i4 Xi4 h", 1, 2, 0)
  bytes("010000000000000002", "<!8 b Xd b", 1, 2)
  bytes("01000002", "<!8 b Xh x b", 1, 2)
  bytes("0102", "b Xi8 b", 1, 2) -- without '!' nothing is aligned
  bytes("0100000003000000616263", "<!4 b s4", 1, "abc")
  assert(packsize("!8 b d") == 16 and packsize("!4 b d") == 12 and packsize("! b Xd i") == 12)
  assert(packsize("!16 b i16") == 32 and packsize("!2 b i16") == 18)
  local a, b, at = unpack("<!4 b i4", "\1\0\0\0\2\0\0\0")
  assert(a == 1 and b == 2 and at == 9)
  -- alignment counts from the start of the data, wherever unpack starts
  a, at = unpack("<!4 i4", "\0\0\0\0\7\0\0\0", 3)
  assert(a == 7 and at == 9)
end

do -- positions
  local data = pack("<i4i4i4", 1, 2, 3)
  assert(unpack("<i4", data, 5) == 2 and unpack("<i4", data, -4) == 3)
  assert(select("#", unpack("", data)) == 1 and unpack("", data, 13) == 13)
  assert(unpack("b", "abc", -100) == 97)
  local sum, at = 0, 1
  while at <= #data do
    local n
    n, at = unpack("<i4", data, at)
    sum = sum + n
  end
  assert(sum == 6)
end

do -- a change of order holds for what follows
  bytes("00010200", ">i2<i2", 1, 2)
  assert(select(2, unpack(">i2 <i2", "\0\1\2\0")) == 2)
end

do -- many values
  local t = {}
  for i = 1, 200 do t[i] = i end
  local format = ("<i2"):rep(200)
  local got = { unpack(format, pack(format, table.unpack(t))) }
  assert(#got == 201 and got[200] == 200 and got[201] == 401)
  assert(#pack(("c100"):rep(50), table.unpack(t, 1, 50)) == 5000)
end
print "OK"
