-- SPDX-License-Identifier: MIT
-- Structs of which a word is only padding take no register for it, nor do structs without
-- members; packed bit-fields are laid out as gcc does, wherever they lie. (Random structs:
-- testsuite/fuzz/ffi_program.lua.)
local fixture = require "_fixture"
local ffi, lib = fixture.ffi, fixture.lib

ffi.cdef [[
struct padded { float x __attribute__((aligned(16))); float y; };
struct padded_int { int n __attribute__((aligned(16))); };
struct nothing { };
double take_padded(struct padded, int, struct nothing, struct padded_int, double, struct padded);
struct padded echo_padded(struct padded);
struct nothing echo_nothing(struct nothing);
struct padded call_with_padded(struct padded (*)(struct padded, int, struct nothing,
                                                 struct padded_int, double, struct padded));
]]
local a, b = ffi.new("struct padded", 1, 2), ffi.new("struct padded", 6, 7)
local none, int = ffi.new "struct nothing", ffi.new("struct padded_int", 4)
assert(lib.take_padded(a, 3, none, int, 5, b) == 7654321)
local same = lib.echo_padded(b)
assert(same.x == 6 and same.y == 7)
assert(ffi.sizeof(lib.echo_nothing(none)) == 0)

local called = false
local result = lib.call_with_padded(function(c, i, nothing, n, d, e)
  called = true
  assert(c.x == 1 and c.y == 2 and i == 3 and n.n == 4 and d == 5 and e.x == 6 and e.y == 7)
  assert(ffi.sizeof(nothing) == 0)
  return e
end)
assert(called and result.x == 6 and result.y == 7)

-- An argument on a boundary of more than 16 bytes cannot be passed, and says so.
ffi.cdef "struct far { int n __attribute__((aligned(32))); };"
local f = ffi.cast("void (*)(struct far)", 1)
fixture.fails("'struct far': a struct aligned to more than 16 bytes cannot be an argument", f,
  ffi.new "struct far")

-- ---- layout -----------------------------------------------------------------------

ffi.cdef [[
#pragma pack(push, 1)
struct zero_width { char a; long : 0; char b; };
struct at_the_end { unsigned short a; bool b; double c; long d : 44; };
#pragma pack(pop)
struct nine_bytes { unsigned a : 7; unsigned long b : 64; } __attribute__((packed));
struct attribute_behind { int a : 20; int b : 14 __attribute__((packed)); };
typedef short high_short __attribute__((aligned(8)));
struct whole_bits { char a; high_short b : 8; char c; };
typedef int low_int __attribute__((aligned(2)));
struct whole_unit { low_int n : 32; };
struct part_of_a_unit { low_int n : 31; };
]]
local function hex(p)
  local function digits(c) return ("%02x"):format(c:byte()) end
  return (ffi.string(p, ffi.sizeof(p)):gsub(".", digits))
end

assert(ffi.sizeof "struct zero_width" == 9 and ffi.offsetof("struct zero_width", "b") == 8)
local e = ffi.new("struct at_the_end", 1, true, 2.5, -0x71234567890)
assert(hex(ffi.cast("const char (*)[17]", e)[0]) == "01000100000000000004407087a9cbed08")
assert(e.d == -0x71234567890 and e.a == 1 and e.c == 2.5)
local nine = ffi.new("struct nine_bytes", 0x7f, 0xfedcba9876543210)
assert(hex(ffi.cast("const char (*)[9]", nine)[0]) == "7f08192a3b4c5d6e7f")
assert(nine.a == 0x7f and ffi.tonumber(ffi.cast("int64_t", nine.b)) == 0xfedcba9876543210)
nine.b = 0
assert(nine.a == 0x7f and nine.b == 0)
assert(hex(ffi.cast("const char (*)[9]", nine)[0]) == "7f" .. ("00"):rep(8))
assert(ffi.sizeof "struct attribute_behind" == 8)
assert(ffi.alignof "struct whole_unit" == 4 and ffi.alignof "struct part_of_a_unit" == 2)
assert(ffi.sizeof "struct whole_bits" == 8 and ffi.offsetof("struct whole_bits", "c") == 2)
