-- SPDX-License-Identifier: MIT
-- Bytes, parts and whole strings: len, sub, byte, char, rep, reverse, case.

local fails = require "_fails"

do -- sub: positions from either end, clipped
  local s = "123456789"
  assert(s:sub(2, 4) == "234" and s:sub(7) == "789" and s:sub(0) == s)
  assert(s:sub(7, 6) == "" and s:sub(7, 7) == "7")
  assert(s:sub(0, 0) == "" and s:sub(-10, 10) == s and s:sub(1, 9) == s)
  assert(s:sub(-10, -20) == "" and s:sub(-1) == "9" and s:sub(-4) == "6789")
  assert(s:sub(-6, -4) == "456" and s:sub(10) == "" and s:sub(-9, -9) == "1")
  assert(s:sub(math.mininteger, -4) == "123456")
  assert(s:sub(math.mininteger, math.maxinteger) == s)
  assert(s:sub(math.mininteger, math.mininteger) == "")
  assert(s:sub(math.maxinteger) == "")
  assert(("\000123456789"):sub(3, 5) == "234" and ("\000"):sub(1) == "\0")
  assert(string.rep(1234, 1) == "1234" and string.sub(1234, 2, 3) == "23")
  assert(s:sub("2", 3.0) == "23")
  fails("number has no integer representation", s.sub, s, 1.5)
  fails("number expected, got no value", s.sub, s)
end

do -- len and #
  assert(string.len("") == 0 and string.len("\0\0\0") == 3 and string.len(1234) == 4)
  assert(#"\0\0\0" == 3 and ("x"):len() == 1)
  fails("string expected, got nil", string.len, nil)
end

do -- byte and char are inverse
  assert(string.byte("a") == 97 and string.byte("\xe4") > 127 and string.byte("\0\xff", 2) == 255)
  assert(("ba"):byte(-1) == 97 and ("ba"):byte(-2, -2) == 98)
  assert(select("#", ("hi"):byte(3)) == 0 and select("#", ("hi"):byte(0)) == 0)
  assert(select("#", (""):byte()) == 0 and select("#", ("hi"):byte(2, 1)) == 0)
  local a, b, c, d = ("hi\n"):byte(-100, 100)
  assert(a == 104 and b == 105 and c == 10 and d == nil)
  assert(string.char() == "" and string.char(0, 255, 0) == "\0\255\0")
  assert(string.char(("\xe4l\0\u{8a}"):byte(1, -1)) == "\xe4l\0\u{8a}")
  local all = {}
  for i = 0, 255 do all[i + 1] = i end
  local s = string.char(table.unpack(all))
  assert(#s == 256)
  for i = 0, 255 do assert(s:byte(i + 1) == i) end
  fails("#1 to 'char' (value out of range)", function() string.char(256) end)
  fails("#2 to 'char' (value out of range)", function() string.char(1, -1) end)
  fails("number expected, got string", function() string.char("x") end)
  fails("string slice too long", string.byte, ("x"):rep(10000000), 1, -1)
end

do -- rep with and without separator, and its limit
  assert(("teste"):rep(0) == "" and ("teste"):rep(-1) == "" and (""):rep(10) == "")
  assert(("t\0s\0"):rep(2) == "t\0s\0t\0s\0" and ("x"):rep(5) == "xxxxx")
  assert(("teste"):rep(0, "xuxu") == "" and ("teste"):rep(1, "xuxu") == "teste")
  assert(("\1\0\1"):rep(2, "\0\0") == "\1\0\1\0\0\1\0\1")
  assert((""):rep(10, ".") == ("."):rep(9))
  assert((""):rep(1 << 62) == "")
  for i = 0, 40 do
    assert(#("a"):rep(i) == i and #("abc"):rep(i, "de") == math.max(0, 5 * i - 2))
    assert(("ab"):rep(i) == ("a"):rep(i, "b") .. (i > 0 and "b" or ""))
  end
  fails("resulting string too large", string.rep, "aa", 1 << 30)
  fails("resulting string too large", string.rep, "a", 1 << 30, ",")
  fails("resulting string too large", string.rep, "x", math.maxinteger)
  fails("resulting string too large", string.rep, "", 1 << 62, "a")
end

do -- reverse and case
  assert((""):reverse() == "" and ("\0\1\2\3"):reverse() == "\3\2\1\0")
  for i = 0, 30 do assert(("x"):rep(10):reverse() == ("x"):rep(10)) end
  assert(("ab\0c"):upper() == "AB\0C" and ("\0ABCc%$"):lower() == "\0abcc%$")
  assert(("\xe4\xc4"):upper() == "\xe4\xc4", "the C locale knows no umlauts")
  local long = ("aBc1"):rep(1000)
  assert(long:upper() == ("ABC1"):rep(1000) and long:lower() == ("abc1"):rep(1000))
  assert(long:reverse():reverse() == long)
end

do -- dump: through load, with and without what is for debugging
  local function add(a, b) return a + b end
  for _, strip in ipairs { false, true } do
    local chunk = string.dump(add, strip)
    assert(type(chunk) == "string" and #chunk > 10)
    assert(load(chunk, "c", "b")(3, 4) == 7)
  end
  fails("unable to dump given function", string.dump, print)
  fails("function expected, got number", string.dump, 1)
end

do -- conversions to and from numbers
  assert(tostring(12) == "12" and tostring(-1203) == "-1203" and tostring(1203.125) == "1203.125")
  assert("2" + 1 == 3 and math.type("2" + 1) == "integer" and "0x10" + 1 == 17)
  assert("10" - "2" == 8 and "3" * "4" == 12 and "7" // "2" == 3 and "7" % "4" == 3)
  assert("2" ^ "3" == 8.0 and "1" / "4" == 0.25 and -"2" == -2 and - "0x7f" == -127)
  assert(" 10 " + 0 == 10 and "1e1" + 0 == 10.0 and math.type("1e1" + 0) == "float")
  fails("attempt to add a 'string' with a 'number'", function() return "a" + 1 end)
  fails("attempt to sub a 'number' with a 'string'", function() return 1 - "a" end)
  fails("attempt to mul a 'table' with a 'string'", function() return {} * "2" end)
  fails("attempt to unm a 'string' with a 'string'", function() return -"x" end)
  fails("attempt to add a 'string' with a 'number'", function() return "1\0" + 1 end)
  local other = setmetatable({}, { __add = function(a, b) return type(a) .. type(b) end })
  assert("1" + other == "stringtable" and other + "x" == "tablestring" and
    "x" + other == "stringtable")
end

do -- the metatable of strings
  local meta = getmetatable("")
  assert(meta.__index == string and getmetatable("other") == meta)
  string.twice = function(s) return s .. s end
  assert(("ab"):twice() == "abab")
  string.twice = nil
end
print "OK"
