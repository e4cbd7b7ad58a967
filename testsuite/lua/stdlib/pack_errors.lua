-- SPDX-License-Identifier: MIT
-- string.pack, packsize, unpack: what they refuse, and how.

local fails = require "_fails"
local pack, unpack, packsize = string.pack, string.unpack, string.packsize

-- formats
fails("integral size (0) out of limits [1,16]", pack, "i0", 1)
fails("integral size (17) out of limits [1,16]", pack, "I17", 1)
fails("integral size (17) out of limits [1,16]", pack, "!17", 1)
fails("integral size (17) out of limits [1,16]", pack, "Xi17")
fails("integral size (0) out of limits [1,16]", pack, "s0", "")
fails("invalid format option 'y'", pack, "y", 1)
fails("invalid format option 'r'", pack, "i3r", 0)
fails("invalid format option '0'", packsize, "c1" .. ("0"):rep(40))
fails("missing size for format option 'c'", pack, "c", "a")
fails("format asks for alignment not power of 2", pack, "!4i3", 0)
fails("format asks for alignment not power of 2", unpack, "!4 i3", "abcdef")
for _, format in ipairs { "X", "Xz", "Xc1", "X ", "X<", "XX" } do
  fails("invalid next option for option 'X'", pack, format)
end

-- packsize
fails("variable-length format", packsize, "s")
fails("variable-length format", packsize, "bz")
fails("format result too large", packsize, ("c268435456"):rep(8))
assert(packsize(("c268435456"):rep(7) .. "c268435455") == 0x7fffffff)

-- values
fails("integer overflow", pack, "b", 128)
fails("integer overflow", pack, "i7", 1 << 55)
fails("integer overflow", pack, "<i2", -32769)
fails("unsigned overflow", pack, "B", 256)
fails("unsigned overflow", pack, "I4", -1)
fails("number expected, got nil", pack, "i")
fails("number has no integer representation", pack, "i", 1.5)
fails("number expected, got string", pack, "d", "x")
fails("string expected", pack, "z", {})
fails("string longer than given size", pack, "c2", "abc")
fails("string length does not fit in given size", pack, "s1", ("x"):rep(256))
fails("string contains zeros", pack, "z", "a\0b")

-- data
fails("data string too short", unpack, "i4", "abc")
fails("data string too short", unpack, "c5", "abcd")
fails("data string too short", unpack, "s1", "\5abc")
fails("data string too short", unpack, "!4 bi4", "\1\0\0")
fails("data string too short", unpack, "s8", ("\xff"):rep(8) .. "abc")
fails("data string too short", unpack, "b", "")
fails("unfinished string for format 'z'", unpack, "z", "abc")
fails("initial position out of string", unpack, "b", "abc", 5)
fails("16-byte integer does not fit into Lua Integer", unpack, "i16", ("\3"):rep(16))
fails("9-byte integer does not fit into Lua Integer", unpack, "<I9", ("\0"):rep(8) .. "\1")
fails("9-byte integer does not fit into Lua Integer", unpack, "<i9", ("\xff"):rep(8) .. "\0")
fails("too many results", unpack, ("b"):rep(1500000), ("x"):rep(1500000))
print "OK"
