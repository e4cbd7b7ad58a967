-- SPDX-License-Identifier: MIT
-- What declarations may say, and how their errors read.
local fixture = require "_fixture"
local ffi, fails = fixture.ffi, fixture.fails

local function type_is(text, name)
  assert(tostring(ffi.typeof(text)) == "ctype<" .. name .. ">", tostring(ffi.typeof(text)))
end

-- Words of types in any order
for text, name in pairs {
  ["int unsigned"] = "unsigned int", ["long int long unsigned"] = "unsigned long long",
  ["double long"] = "long double",
  ["short"] = "short", ["signed"] = "int", ["char signed"] = "signed char", ["_Bool"] = "bool",
  ["__signed__ long"] = "long",
  ["int const"] = "const int", ["volatile const char"] = "const volatile char",
  ["uint8_t"] = "unsigned char",
  ["int *const *volatile"] = "int *const *volatile", ["char const *restrict"] = "const char *",
  ["int (*)(void)"] = "int (*)()",
  ["void (*(*)(int (*)(char), double[3]))(short, ...)"] =
  "void (*(*)(int (*)(char), double *))(short, ...)",
  ["int (*[3])[4]"] = "int (*[3])[4]", ["const int[2][3]"] = "const int [2][3]",
  ["int (&)[3]"] = "int (&)[3]",
  ["char[?]"] = "char [?]", ["int (* const *)[]"] = "int (*const *)[]",
  ["struct nowhere *"] = "struct nowhere *",
  ["int (*)(void (int), int (char[]))"] = "int (*)(void (*)(int), int (*)(char *))",
  ["enum unknown_enum"] = "enum unknown_enum",
  ["__extension__ int __attribute__((unused))"] = "int"} do type_is(text, name) end

ffi.cdef [[
/* comments */ // of both kinds
typedef struct list { struct list *next; int value; } list, *list_pointer;
typedef int (*handler)(list_pointer, const char *name __attribute__((unused)));
static const int SIZE = sizeof(struct list) * 2 + (3 > 2 ? 1 : 0);
enum flags { NONE, ONE = 1 << 0, TWO = ONE << 1, BOTH = ONE | TWO, CHARACTER = 'a', ESCAPE = '\n',
  OCTAL = 017, HEX = 0xFFu,
  NEGATIVE = -5, AFTER, };
enum wide { BIG = 0x7fffffffffffffff, };
struct sized { char text[SIZE]; int more[BOTH + 1]; static const int LIMIT = 12; };
int first(void), *second(int a, ...), (*third)(int);
extern "C" { struct in_c { int x; }; }
_Static_assert(sizeof(struct in_c) == 4, "size");
# 12 "header.h" 3 4
#pragma once
inline static int in_header(int a) __asm__("abs") __attribute__((nonnull(1)));
]]
assert(ffi.C.SIZE == 33 and ffi.sizeof "struct sized" == 52 and
  ffi.new("struct sized").LIMIT == 12 and ffi.typeof("struct sized").LIMIT == 12)
assert(ffi.C.BOTH == 3 and ffi.C.CHARACTER == 97 and ffi.C.ESCAPE == 10 and ffi.C.OCTAL == 15 and
  ffi.C.HEX == 255)
assert(ffi.C.NEGATIVE == -5 and ffi.C.AFTER == -4 and ffi.C.BIG == math.maxinteger and
  ffi.sizeof "enum wide" == 8)
assert(ffi.C.in_header(-3) == 3)
type_is("handler", "int (*)(struct list *, const char *)")
type_is("list_pointer", "struct list *")

-- Constant expressions have C's types and values
for text, value in pairs {
  ["-1 < 0u"] = 0, ["-1 < 0L"] = 1, ["-7 / 2"] = -3, ["-7 % 2"] = -1, ["~0u >> 31"] = 1,
  ["~0 >> 31"] = -1, ["1 ? 2 : 3 + 4"] = 2,
  ["1 + 2 * 3 - 4 / 2"] = 5, ["1 << 2 + 1"] = 8, ["5 & 3 == 3"] = 1, ["!0 + !5"] = 1,
  ["(char)300"] = 44, ["(unsigned char)-1"] = 255,
  ["sizeof(int[3]) + _Alignof(double)"] = 20, ["0x7fffffff + 1"] = -2147483648,
  ["0xffffffff"] = 4294967295, ["2147483648"] = 2147483648,
  ["1 || 0 && 0"] = 1, ["4 | 1 ^ 1"] = 4, ["(bool)7"] = 1, ["0b101"] = 5, ["'\\x41'"] = 65,
  ["-9223372036854775807L - 1 < 0"] = 1} do
  assert(ffi.tonumber(ffi.eval(text)) == value, text .. " = " .. tostring(ffi.eval(text)))
end
assert(tostring(ffi.typeof(ffi.eval "1u")) == "ctype<unsigned int>" and
  tostring(ffi.typeof(ffi.eval "5000000000")) == "ctype<long>")
assert(tostring(ffi.eval "0xffffffffffffffff") == "18446744073709551615ULL")

-- Parameters
type_is("int", "int")
assert(tostring(ffi.typeof("$ (*)[$]", ffi.typeof "short", 7)) == "ctype<short (*)[7]>")
ffi.cdef("struct $ { $ $; };", "by_parameter", ffi.typeof "double", "field")
assert(ffi.new("struct by_parameter", 2.5).field == 2.5)
fails("input:1:5: no parameter for '$' near '$'", ffi.typeof, "int $")
fails("more parameters than '$'", ffi.typeof, "int", 5)
fails("is a table, not a type, name or integer", ffi.typeof, "$", {})

-- Errors say where
for text, message in pairs {
  ["int"] = "input:1:4: name expected at the end",
  ["int a"] = false,
  ["int f(unknown x);"] = "input:1:7: unknown type 'unknown' near 'unknown'",
  ["struct bad1 {\n  int x;\n  floot y;\n};"] = "input:3:3: unknown type 'floot' near 'floot'",
  ["struct bad2 { int x; int x; };"] = "input:1:26: member 'x' twice",
  ["struct bad3 { int x : 33; };"] = "input:1:23: width of a bit-field is too large",
  ["struct bad4 { int x : 0; };"] = "bit-field 'x' has no bits",
  ["struct bad5 { double x : 3; };"] = "bit-field of a type that is no integer",
  ["struct bad6 { int x[]; int y; };"] =
  "input:1:19: a member of unknown size must be the last of a struct",
  ["struct bad7 { struct bad7 x; };"] = "member has an incomplete type",
  ["struct bad8 { int f(void); };"] = "member is a function",
  ["struct list { int x; };"] = "input:1:8: 'struct list' redefined",
  ["union list *u;"] = "'list' is no union",
  ["typedef int; "] = "name expected",
  ["int f(void)[3];"] = "function that returns an array",
  ["int a[3](void);"] = "array of functions",
  ["int a[-1];"] = "array size is negative",
  ["int a[1 / 0];"] = "input:1:9: division by zero",
  ["int a[SIZES];"] = "'SIZES' is not declared",
  ["int a[0xffffffffffffffff];"] = "array size is too large",
  ["int a[1000000000][1000000000][1000000000];"] = "array is too large",
  ["long char c;"] = "input:1:1: these words make no type",
  ["int int x;"] = "these words make no type",
  ["typedef static int x;"] = "two storage classes",
  ["static int x;"] = "only integer constants may be static",
  ["int SIZE;"] = "'SIZE' redefined: it is a constant already",
  ["enum other { NONE = 4 };"] = "'NONE' redefined with another value",
  ["int x @ 3;"] = "'@' has no place in a declaration",
  ["int x \1;"] = "byte 1 has no place in a declaration",
  ["/* no end"] = "input:1:1: comment without an end",
  ["#define X 1"] = "there is no preprocessor here",
  ["#pragma pack(3)"] = "'#pragma pack' takes 1, 2, 4, 8 or 16",
  ["#pragma pack(-1)"] = "'#pragma pack' takes 1, 2, 4, 8 or 16",
  ["#pragma pack(push, -1)"] = "'#pragma pack' takes 1, 2, 4, 8 or 16",
  ["#pragma pack(2"] = "')' expected after '#pragma pack'",
  ["#pragma pack(push, 2\n"] = "')' expected after '#pragma pack'",
  ["#pragma pack(push"] = "')' expected after '#pragma pack'",
  ["enum { A_OF = _Alignof(struct nowhere_complete) };"] = "the alignment of this type is unknown",
  ["enum { A_OF = _Alignof(union nowhere_complete_either) };"] = "the alignment of this type is unknown",
  ["typedef int v12 __attribute__((vector_size(12)));"] = "size of a vector is no power of two",
  ["typedef int v0 __attribute__((vector_size(0)));"] = "size of a vector is no power of two",
  ["typedef int v2 __attribute__((vector_size(2)));"] = "size of a vector is less than that of its type",
  ["typedef _Bool vb __attribute__((vector_size(16)));"] = "no vector has this type",
  ["typedef struct { int x; } vs __attribute__((vector_size(16)));"] = "no vector has this type",
  ["typedef void *vv __attribute__((vector_size(16)));"] = "no vector has this type",
  ["typedef _Complex float vc __attribute__((vector_size(16)));"] = "no vector has this type",
  ["typedef int v1 __attribute__((vector_size(16))); typedef v1 v5 __attribute__((vector_size(32)));"] = "no vector has this type",
  ["int x __asm__(5);"] = "string expected",
  ["enum { A = 08 };"] = "malformed integer constant",
  ["enum { A = 0x };"] = "malformed integer constant",
  ["enum { A = 1.5 };"] = "malformed integer constant",
  ["enum { A = 99999999999999999999 };"] = "integer constant is too large",
  ["enum { A = 'ab' };"] = "malformed character constant",
  ["unsigned float x;"] = "these words make no type",
  ["_Complex int x;"] = "these words make no type",
  ["_Complex unsigned double x;"] = "these words make no type",
  ["long __int128 x;"] = "these words make no type",
  ["signed _Float128 x;"] = "these words make no type",
  ["_Atomic(int) int x;"] = "two types",
  ["typedef int m __attribute__((mode(XY)));"] = "input:1:35: mode 'XY' is not supported",
  ["typedef int m __attribute__((mode(SF)));"] = "'mode' of a type that it does not fit",
  ["typedef double m __attribute__((mode(DI)));"] = "'mode' of a type that it does not fit",
  ["static int f(void) { return 1;"] = "input:1:20: '{' without an end",
  ["static int f(void) { return '}"] = "quote without an end",
  ["static const double d = 1.5"] = "input:1:23: '=' without an end",
  ["int f(int a[1"] = "without an end",
  ["int f(int a[2][n]);"] = "'n' is not declared",
  ["int a[sizeof(((struct sized *)0)->nothing)];"] = "no member 'nothing'",
  ["int a[sizeof(((struct { int x : 3; } *)0)->x)];"] = "a bit-field ('x') has no size",
  ["int a[sizeof(nothing)];"] = "'nothing' is not declared",
  ["int a[sizeof(*5)];"] = "neither a pointer nor an array",
  ["struct s __attribute__((aligned(3))) { int x; };"] = "alignment is no power of two",
  ["int (((("] = "name expected", ["_Static_assert(0, \"reason\");"] = "static assertion: reason",
  ["int f(int, ...,);"] = "')' expected", ["int &&r;"] = "name expected near '&&'",
  ["int &*p;"] = "pointer or reference to a reference",
  ["void v;"] = "variable of type void", ["int f(void, int);"] = "parameter of type void",
  ["int " .. ("(*"):rep(100)] = "nested too deeply",
  ["int " .. ("*"):rep(100) .. "p;"] = "declarator has too many parts",
  ["struct deep " .. ("{ struct "):rep(100)] = "nested too deeply",
  ["enum { A = " .. ("("):rep(1000)] = "nested too deeply"} do
  if message then fails(message, ffi.cdef, text) else ffi.cdef(text) end
end
fails("input:1:6: end expected near 'x'", ffi.typeof, "int  x")
fails("prog.lua:7: input:1:1: unknown type",
  load("local ffi = require 'saros.ffi'\n\n\n\n\n\nffi.new 'nothing'", "@prog.lua"))

-- What headers have besides declarations: modes, bodies, values, vectors, wide numbers
ffi.cdef [[
typedef int register_type __attribute__((__mode__(__word__)));
typedef unsigned byte_type __attribute__((mode(QI)));
typedef float double_type __attribute__((mode(DF)));
typedef float complex_type __attribute__((mode(DC)));
typedef void *pointer_type __attribute__((mode(__pointer__)));
struct moded { int a __attribute__((mode(HI))), b; };
static inline int bodied(int x) { /* } */ const char *s = "}\"}"; return x + s[0] + '}' + '\'' + (1.5f > x); }
extern inline __attribute__((gnu_inline)) int abs(int x) { return x < 0 ? -x : x; }
static const double half = 0.5, halves[] = {0.5, (1, 2), [2] = 3};
static const int whole = 5;
typedef int four __attribute__((vector_size(16)));
struct wide_ones { char c; __int128 i; four v; _Float16 h; __bf16 b; };
_Atomic int atomic_int_variable; _Atomic(long) atomic_long; _Thread_local int of_thread;
extern __uint128_t wide_function(unsigned __int128, _Float128, _Complex _Float128);
int bounded(unsigned n, int a[n], int b[restrict static n + 1][4], int c[*]);
struct ends { int n; char rest[]; };
struct holds { union { struct ends e; struct { struct { } nothing; int many[]; }; }; int next; };
_Static_assert(sizeof(((struct moded *)0)->a) == 2 && sizeof((*(struct wide_ones *)0).v) == 16, "operands");
]]
assert(ffi.sizeof "register_type" == 8 and ffi.sizeof "byte_type" == 1 and ffi.sizeof "double_type" == 8)
assert(ffi.new("byte_type", 300) == ffi.new("unsigned char", 44) and ffi.sizeof "complex_type" == 16)
type_is("pointer_type", "void *")
assert(ffi.sizeof "struct moded" == 8 and ffi.sizeof "struct wide_ones" == 64)
assert(ffi.offsetof("struct wide_ones", "i") == 16 and ffi.offsetof("struct wide_ones", "b") == 50)
assert(ffi.sizeof "struct holds" == 8 and ffi.C.whole == 5 and ffi.C.abs(-3) == 3)
fails("'bodied' is static: its header defines it, no library has it", function() return ffi.C.bodied end)
ffi.cdef "int toupper(int); static inline int toupper(int c) { return c; }" -- the first one stays
assert(ffi.C.toupper(97) == 65)
fails("'half' is static", function() return ffi.C.half end)
fails("cannot convert 'number' to '__int128'", function() ffi.new("struct wide_ones").i = 1 end)
type_is("four", "vector(16) of int")

-- A vector is made of the numbers of a type, wherever the attribute stands; sizes are gcc's
ffi.cdef [[
typedef int *to_four __attribute__((vector_size(16)));
typedef int * __attribute__((vector_size(16))) to_four_too;
__attribute__((vector_size(16))) typedef int *to_four_first;
typedef int *plain_pointer; typedef plain_pointer to_four_by_name __attribute__((vector_size(16)));
typedef int fours[4] __attribute__((vector_size(16)));
typedef int gives_four(int) __attribute__((vector_size(16)));
typedef const double const_two __attribute__((vector_size(16)));
enum kind_of_four { KIND_OF_FOUR }; typedef enum kind_of_four four_kinds __attribute__((vector_size(16)));
typedef long double one_wide __attribute__((vector_size(16)));
typedef __int128 two_wide __attribute__((vector_size(32)));
typedef _Float16 eight_narrow __attribute__((vector_size(16)));
struct has_fours { int *m __attribute__((vector_size(16))); int n[2] __attribute__((vector_size(16))); };
int takes_four(int *p __attribute__((vector_size(16))));
_Static_assert(sizeof(*(to_four)0) == 16 && sizeof(*(to_four_too)0) == 16, "");
_Static_assert(sizeof(*(to_four_first)0) == 16 && sizeof(*(to_four_by_name)0) == 16, "");
]]
assert(ffi.sizeof "to_four" == 8 and ffi.sizeof "fours" == 64 and ffi.alignof "fours" == 16)
assert(ffi.sizeof "to_four_too" == 8 and ffi.sizeof "to_four_first" == 8)
assert(ffi.sizeof "const_two" == 16 and ffi.sizeof "four_kinds" == 16 and ffi.sizeof "one_wide" == 16)
assert(ffi.sizeof "two_wide" == 32 and ffi.sizeof "eight_narrow" == 16)
assert(ffi.sizeof "struct has_fours" == 48 and ffi.offsetof("struct has_fours", "n") == 16)
type_is("gives_four", "vector(16) of int (int)")
type_is("_Complex", "_Complex double")
type_is("long double _Complex", "_Complex long double")

-- What an erroneous text declared is taken back
fails("unknown type", ffi.cdef,
  "typedef int taken_back; struct taken { int x; }; enum { TAKEN = 1 }; int f(nothing);")
fails("unknown type 'taken_back'", ffi.typeof, "taken_back")
fails("is not declared", function() return ffi.C.TAKEN end)
ffi.cdef "struct taken { double y; }; enum { TAKEN = 2 };"
assert(ffi.sizeof "struct taken" == 8 and ffi.C.TAKEN == 2)

-- and the memory that it took is given back: also what older types were linked to it
ffi.cdef "struct older { int n; }; struct awaited;"
local failing = [[
typedef struct { int x; } t%d; struct awaited { struct older *p[3]; int (*f)(t%d *, const struct older *);
  t%d more[2]; };
enum e%d { E%d = 3, F%d }; typedef const volatile struct older *cv%d; nothing x;]]
local function fail_often(n)
  for i = 1, n do assert(not pcall(ffi.cdef, (failing:gsub("%%d", i % 10)))) end
  collectgarbage() collectgarbage()
  return collectgarbage "count"
end
local before = fail_often(1000)
local after = fail_often(10000)
assert(after - before < 100, ("%.1f KiB are kept"):format(after - before))
ffi.cdef [[struct awaited { const volatile struct older *p[3]; double d; };
int f_of_older(const struct older *, struct awaited **); enum e1 { E1 = 7 };]]
assert(ffi.sizeof "struct awaited" == 32 and ffi.C.E1 == 7 and ffi.new("struct awaited").d == 0)
local older = ffi.new("struct older[2]", {{1}, {2}})
local awaited = ffi.new("struct awaited")
awaited.p[1] = older + 1
assert(awaited.p[1].n == 2 and tostring(awaited.p[0]):find "NULL")
type_is("const volatile struct older *", "const volatile struct older *")

-- The first declaration of a function or type stays; an incomplete struct is completed
ffi.cdef "struct later; typedef const struct later *later_pointer;"
fails("unknown", ffi.new, "struct later")
assert(ffi.sizeof "struct later" == nil)
ffi.cdef "struct later { int x, y; };"
assert(ffi.cast("later_pointer", ffi.new("struct later", 3, 4)).y == 4 and
  ffi.sizeof "const struct later" == 8)
