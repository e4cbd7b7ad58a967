-- SPDX-License-Identifier: MIT
-- Calls of C functions: arguments and results of every kind.
local fixture = require "_fixture"
local ffi, lib, fails = fixture.ffi, fixture.lib, fixture.fails

ffi.cdef [[
enum color { RED, GREEN, BLUE };
struct s1 { char a; };
struct s3 { char a, b, c; };
struct s8 { int a, b; };
struct s12 { int a, b, c; };
struct s16 { long a; double b; };
struct sff { float a, b; };
struct sfff { float a, b, c; };
struct sdd { double a, b; };
struct sdddd { double a, b, c, d; };
struct sfi { float a; int b; };
struct s24 { long a, b, c; };
struct sbig { int values[40]; };
struct sbits { unsigned a : 3; unsigned b : 13; int c : 16; };
struct __attribute__((packed)) spacked { char a; int b; };
struct sarray { short v[3]; };
struct sld { long double v; };
union u8 { int i; float f; };
union u16 { double d; struct { float a, b, c; } f; };
bool echo_bool(bool v); char echo_char(char v); signed char echo_schar(signed char v);
unsigned char echo_uchar(unsigned char v); short echo_short(short v);
unsigned short echo_ushort(unsigned short v);
int echo_int(int v); unsigned echo_uint(unsigned v); long echo_long(long v);
unsigned long echo_ulong(unsigned long v);
float echo_float(float v); double echo_double(double v); long double echo_ldouble(long double v);
void *echo_pointer(void *v); enum color echo_color(enum color v);
double many(char a, short b, int c, long d, float e, double f, char g, short h, int i,
            long j, float k, double l,
            double m, double n, double o, double p, double q, double r, double s);
int format_arguments(char *to, size_t size, const char *kinds, ...);
int set_errno(int value);
extern int counter; extern const int limit; extern int table[4]; extern const char greeting[];
extern struct s8 pair;
extern const char *text;
size_t strlen(const char *s);
int other_name(int v) __asm__("echo_" "int");
]]

-- Aggregates by value, in registers and in memory: their bytes come back.
local pattern = ""
for i = 1, 200 do pattern = pattern .. string.char(i * 7 % 251) end
for _, name in ipairs {"struct s1", "struct s3", "struct s8", "struct s12", "struct s16",
  "struct sff", "struct sfff",
                       "struct sdd", "struct sdddd", "struct sfi", "struct s24", "struct sbig",
                       "struct sbits",
                       "struct spacked", "struct sarray", "union u8", "union u16"} do
  local short = name:match "%w+$"
  ffi.cdef(("%s echo_%s(int before, %s v, double after);"):format(name, short, name))
  local v = ffi.new(name)
  ffi.copy(v, pattern, ffi.sizeof(v))
  local r = lib["echo_" .. short](11, v, 2.5)
  assert(ffi.istype(name, r) and not (r == v))
  local size = name == "union u16" and 12 or ffi.sizeof(v) -- (C does not keep the padding)
  assert(ffi.string(r, size) == ffi.string(v, size), name)
  assert(ffi.string(lib["echo_" .. short](11, ffi.addressof(v), 2.5), size) == ffi.string(v, size))
end
ffi.cdef "struct sld echo_sld(int before, struct sld v, double after);"
assert(lib.echo_sld(11, {1.25}, 2.5).v == 1.25)
assert(lib.echo_s8(11, {a = 5, b = 6}, 2.5).b == 6)

-- Scalars at their limits
for _, case in ipairs {
  {"char", -128, 127}, {"schar", -128, 127}, {"uchar", 0, 255}, {"short", -32768, 32767},
  {"ushort", 0, 65535},
  {"int", -2147483648, 2147483647}, {"uint", 0, 4294967295},
  {"long", math.mininteger, math.maxinteger},
  {"ulong", 0, math.maxinteger}, {"double", -1e300, 5e-324}, {"float", -0.5, 2.0 ^ 100},
  {"ldouble", -1e300, 5e-324}} do
  local f = lib["echo_" .. case[1]]
  assert(f(case[2]) == case[2] and f(case[3]) == case[3], case[1])
  assert(math.type(f(case[2])) == math.type(case[2]))
end
assert(lib.echo_bool(true) == true and lib.echo_bool(false) == false and lib.echo_bool(3) == true)
assert(lib.echo_uchar(257) == 1 and lib.echo_char(255) == -1 and lib.echo_uint(-1) == 4294967295)
assert(lib.echo_int(3.99) == 3 and lib.echo_int(-3.99) == -3 and lib.echo_int(true) == 1)
local huge = lib.echo_ulong(-1)
assert(ffi.istype("unsigned long", huge) and tostring(huge) == "18446744073709551615ULL")
assert(lib.echo_ulong(huge) == huge)
assert(lib.echo_color("BLUE") == 2 and lib.echo_color(1) == 1)
assert(lib.echo_pointer(nil) == ffi.nullptr and lib.echo_pointer(ffi.NULL) == ffi.nullptr)
assert(lib.many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19) == 2470)
assert(lib.other_name(41) == 41)

-- Variadic functions
local buffer = ffi.new("char[100]")
local n = lib.format_arguments(buffer, 100, "lldsppid", 1, -2, 2.5, "str", nil, buffer, true,
  ffi.new("float", 0.5))
assert(n == #ffi.string(buffer) and ffi.string(buffer) == "1,-2,2.5,str,null,set,1,0.5,")
lib.format_arguments(buffer, 100, "iiil", ffi.new("int", -7), ffi.new("short", 8),
  ffi.new("unsigned char", 9), ffi.new("int64_t", 1 << 40))
assert(ffi.string(buffer) == "-7,8,9,1099511627776,")
lib.format_arguments(buffer, 100, ("d"):rep(12), 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0,
  10.0, 11.0, 12.0)
assert(ffi.string(buffer) == "1,2,3,4,5,6,7,8,9,10,11,12,")

-- Variables of libraries
assert(lib.counter == 7 and lib.limit == 100 and lib.table[2] == 3 and
  ffi.string(lib.greeting) == "hello")
lib.counter = 8
assert(lib.counter == 8)
lib.table[2] = 33
assert(lib.table[2] == 33 and lib.pair.b == 4)
lib.pair = {a = 9}
assert(lib.pair.a == 9 and ffi.string(lib.text) == "text")
fails("constant location", function() lib.limit = 1 end)
fails("variable 'counter': cannot convert 'table' to 'int'", function() lib.counter = {} end)
fails("is no variable", function() lib.many = 1 end)

-- errno is the program's own
ffi.errno(3)
assert(lib.set_errno(42) == 3)
collectgarbage()
local f = io.open("/nonexistent/file")
assert(f == nil and ffi.errno() == 42 and ffi.errno(1) == 42 and ffi.errno() == 1)

-- Wrong arguments say which one, and both types.
fails("bad argument #1 's' to 'strlen' (cannot convert 'table' to 'const char *')",
  ffi.C.strlen, {})
fails("bad argument #2 'b' to 'many' (cannot convert 'nil' to 'short')", lib.many, 1, nil, 3, 4, 5,
  6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19)
fails("bad argument #1 's' to 'strlen' (cannot convert 'int *' to 'const char *')", ffi.C.strlen,
  ffi.new("int *"))
fails("bad argument #1 's' to 'strlen' ('const char *' expected, got no value)", ffi.C.strlen)
fails("too many arguments to 'strlen' (1 expected, got 2)", ffi.C.strlen, "a", "b")
fails("bad argument #1 'v' to 'echo_int' (cannot convert 'number' to 'int': " ..
  "number has no integer representation)", lib.echo_int, 0 / 0)
fails("number has no integer representation", lib.echo_int, 2.0 ^ 64)
fails("number has no integer representation", lib.echo_long, -1e300)
fails("cannot convert 'string' to 'enum color'", lib.echo_color, "PURPLE")
fails("cannot convert 'const char *' to 'void *'", lib.echo_pointer, ffi.cast("const char *", "x"))
fails("cannot convert 'string' to 'void *'", lib.echo_pointer, "x")
fails("bad argument #2 'v' to 'echo_s8' (cannot convert 'struct s3' to 'struct s8')",
  lib.echo_s8, 11, ffi.new("struct s3"), 2.5)
fails("attempt to call a NULL pointer of type 'int (*)(int)'", ffi.new("int (*)(int)"), 1)
fails("is not declared", function() return lib.nothing_at_all end)
ffi.cdef "int not_in_any_library(void); struct opaque; struct opaque by_value(void);"
fails("not_in_any_library", function() return lib.not_in_any_library end)
fails("nonexistent-library", ffi.load, "nonexistent-library")
fails("an incomplete type cannot be passed by value", ffi.cast("struct opaque (*)(void)", 1))
assert(ffi.load("c", true).strlen("abc") == 3 and ffi.load("libm.so.6") ~= nil)

-- Complex numbers
ffi.cdef [[
double cabs(_Complex double); _Complex double csqrt(double _Complex);
float cabsf(_Complex float); _Complex float csqrtf(float _Complex);
long double cabsl(_Complex long double);
]]
local libm = ffi.load "libm.so.6"
assert(libm.cabs(ffi.new("_Complex double", 3, 4)) == 5 and libm.cabsf { 6, 8 } == 10)
local root = libm.csqrt { -4, 0 }
assert(root.re == 0 and root.im == 2 and ffi.istype("_Complex double", root))
root = libm.csqrtf(ffi.new("_Complex float", { re = -9 }))
assert(root.re == 0 and root.im == 3)
fails("a _Complex long double cannot be passed by value", function() return libm.cabsl { 1, 2 } end)
ffi.cdef "struct with_wide { __int128 i; }; int takes_wide(struct with_wide) __asm__(\"abs\");"
fails("128-bit integers are not supported", function() return ffi.C.takes_wide(ffi.new "struct with_wide") end)

-- In coroutines, and with the stack growing
local co = coroutine.wrap(function(...) while true do coroutine.yield(ffi.C.strlen(...)) end end)
assert(co("abc") == 3 and co() == 3)
local function deep(i) if i == 0 then return ffi.C.strlen("deep") end return (deep(i - 1)) end
assert(deep(5000) == 4)
