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
  ["int x __asm__(5);"] = "string expected",
  ["enum { A = 08 };"] = "malformed integer constant",
  ["enum { A = 0x };"] = "malformed integer constant",
  ["enum { A = 1.5 };"] = "malformed integer constant",
  ["enum { A = 99999999999999999999 };"] = "integer constant is too large",
  ["enum { A = 'ab' };"] = "malformed character constant",
  ["__int128 x;"] = "128-bit integers are not supported",
  ["_Complex double x;"] = "complex numbers are not supported",
  ["typedef int v4 __attribute__((vector_size(16)));"] = "attribute 'vector_size' is not supported",
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

-- What an erroneous text declared is taken back
fails("unknown type", ffi.cdef,
  "typedef int taken_back; struct taken { int x; }; enum { TAKEN = 1 }; int f(nothing);")
fails("unknown type 'taken_back'", ffi.typeof, "taken_back")
fails("is not declared", function() return ffi.C.TAKEN end)
ffi.cdef "struct taken { double y; }; enum { TAKEN = 2 };"
assert(ffi.sizeof "struct taken" == 8 and ffi.C.TAKEN == 2)

-- The first declaration of a function or type stays; an incomplete struct is completed
ffi.cdef "struct later; typedef const struct later *later_pointer;"
fails("unknown", ffi.new, "struct later")
assert(ffi.sizeof "struct later" == nil)
ffi.cdef "struct later { int x, y; };"
assert(ffi.cast("later_pointer", ffi.new("struct later", 3, 4)).y == 4 and
  ffi.sizeof "const struct later" == 8)
