-- SPDX-License-Identifier: MIT
-- What passes for a C reference, a FILE and a long double, and what is refused: never a
-- crash inside the C function.
local ffi = require "_fixture".ffi
ffi.cdef [[
  struct point { int x, y; };
  typedef struct { int &r; } holder;
  double frexp(double number, int &exponent);
  void *memcpy(struct point &to, const struct point &from, size_t n);
  struct point &point_named(const char *) __asm__("getenv");
  int &int_named(const char *) __asm__("getenv");
  int fileno(FILE *);
  int fileno_of(void *) __asm__("fileno");
  long double fabsl(long double);
  float sqrtf(float);
  int writes(char *) __asm__("abs");
  int takes_array(int (*)[3]) __asm__("abs");
  int takes_pointers(void **) __asm__("abs");
  extern int optind;
]]
local C = ffi.C

local expect = require "_expect"

-- References: a cdata of the type, or a pointer to it, is handed on by its address.
local int, ints = ffi.new("int"), ffi.new("int[1]")
assert(C.frexp(8, int) == 0.5 and tonumber(tostring(int):match "%d+$") == 4)
assert(C.frexp(16, ints + 0) == 0.5 and ints[0] == 5)
local to, from = ffi.new("struct point"), ffi.new("struct point", 1, 2)
C.memcpy(to, from, ffi.sizeof(to))
assert(to.x == 1 and to.y == 2)
C.memcpy(ffi.addressof(to), ffi.new("struct point", 3, 4), ffi.sizeof(to))
assert(to.x == 3 and to.y == 4)
local bad = "bad argument #2 'exponent' to 'frexp' (cannot convert '%s' to 'int &'%s)"
expect(bad:format("int *", ": the pointer is NULL"), C.frexp, 8, ffi.new("int *"))
expect(bad:format("number", ""), C.frexp, 8, 5)
expect(bad:format("nil", ""), C.frexp, 8, nil)
expect(bad:format("double", ""), C.frexp, 8, ffi.new("double"))
expect(bad:format("const int", ""), C.frexp, 8, ffi.new("const int"))

-- A reference to nothing is not followed.
expect("attempt to use a NULL reference of type 'int &'", function() return ffi.new("holder").r end)
expect("attempt to use a NULL reference of type 'int &'", C.int_named, "NO_SUCH_VARIABLE")
expect("attempt to use a NULL reference of type 'struct point &'", C.point_named,
  "NO_SUCH_VARIABLE")

-- Files pass for their FILE while they are open.
assert(C.fileno(io.stdout) == 1 and C.fileno_of(io.stderr) == 2)
local file = io.tmpfile()
file:close()
expect("attempt to use a closed file", C.fileno, file)
expect("attempt to use a closed file", C.fileno_of, file)
expect("attempt to use a closed file", ffi.cast, "FILE *", file)

-- Floating point of each width, to and from each other.
assert(C.fabsl(-1.5) == 1.5 and C.fabsl(ffi.new("long double", -3)) == 3 and C.fabsl(-7) == 7)
assert(tostring(C.fabsl(ffi.new("uint64_t", -1))) == "cdata<long double>: 1.84467440737095516e+19")
assert(C.sqrtf(ffi.new("long double", 4)) == 2)
local all = ffi.new("struct { float f; double d; int i; uint16_t u; long double l; }")
all.l = 1.5
all.f, all.d, all.i, all.u = all.l, all.l, all.l, all.l
assert(all.f == 1.5 and all.d == 1.5 and all.i == 1 and all.u == 1)
all.u, all.i = -1, -1
assert(all.u == 65535 and all.i == -1)

-- Pointers: qualifiers may be added; what they point to must agree at each level.
expect("bad argument #1 to 'writes' (cannot convert 'string' to 'char *')", C.writes, "x")
C.takes_array(ffi.new("int[2][3]"))
expect("bad argument #1 to 'takes_array' (cannot convert 'int [2][4]' to 'int (*)[3]')",
  C.takes_array, ffi.new("int[2][4]"))
expect("bad argument #1 to 'takes_pointers' (cannot convert 'int *[1]' to 'void **')",
  C.takes_pointers, ffi.new("int *[1]"))
assert(tostring(ffi.cast("int *", ffi.new("uint64_t", 4096))) == "cdata<int *>: 0x1000")
expect("cannot convert 'number' to 'int *'", ffi.cast, "int *", 1.5)
expect("cannot convert 'double' to 'int *'", ffi.cast, "int *", ffi.new("double", 5))

-- Variables of C, and the library itself.
C.optind = 5
assert(C.optind == 5)
expect("variable 'optind': cannot convert 'string' to 'int'", function() C.optind = "x" end)
expect("'fileno' is no variable", function() C.fileno = 5 end)
assert(tostring(C):find "^library: ")

-- A struct of many members with long names, which are not interned.
local members = {}
for i = 1, 40 do members[i] = ("int m%d%s;"):format(i, ("q"):rep(60)) end
local wide = ffi.new("struct {" .. table.concat(members) .. "}")
wide["m7" .. ("q"):rep(60)] = 7
assert(wide["m7" .. ("q"):rep(60)] == 7 and wide["m8" .. ("q"):rep(60)] == 0)
expect("'struct' has no member named 'm7" .. ("q"):rep(61) .. "'", function()
  return wide["m7" .. ("q"):rep(61)]
end)

-- Alignment of a typedef; constants that are cast; escapes.
ffi.cdef [[
  typedef int wide_int __attribute__((aligned(16)));
  struct aligned { char c; wide_int x; };
  static const int cast_constant = (short)70000 + (unsigned short)70000 + (unsigned)-1 + (long)1 +
    (unsigned long long)1;
  static const int compared = (1 != 2) + 2 * (1 <= 2) + 4 * (2 >= 2) + 8 * (~0ull > -1);
  char of_octal['\101'], of_letter['\q'];
]]
assert(ffi.sizeof "struct aligned" == 32 and ffi.offsetof("struct aligned", "x") == 16 and
  ffi.alignof "wide_int" == 16)
assert(C.cast_constant == 8929 and C.compared == 7)
assert(ffi.sizeof(ffi.typeof("char['\\101']")) == 65 and
  ffi.sizeof(ffi.typeof("char['\\q']")) == 113)
expect("input:1:22: cast to a type that is no integer", ffi.cdef, "static const int x = (double)1;")
