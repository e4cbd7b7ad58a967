-- SPDX-License-Identifier: MIT
-- Objects: initializers, access, conversions, what keeps memory alive.
local fixture = require "_fixture"
local ffi, fails = fixture.ffi, fixture.fails

ffi.cdef [[
enum color { RED, GREEN, BLUE = 7 };
struct point { int x, y; };
struct all { bool b; char c; unsigned char uc; short s; unsigned us; long l; unsigned long ul;
  float f; double d; long double ld;
  enum color color; struct point p; int a[4]; const char *text; void *any; struct point *to;
  char name[8]; const int fixed;
  unsigned low : 4; int high : 4; int (*call)(int); };
struct outer { int a; struct { int b; union { int c; float d; }; }; struct point e; };
struct flexible { int n; double values[]; };
struct tree { struct tree *left, *right; int key; };
]]

-- Initializers
local p = ffi.new("struct point", 1, 2)
assert(p.x == 1 and p.y == 2)
assert(ffi.new("struct point", {y = 5}).y == 5 and ffi.new("struct point", {3}).x == 3 and
  ffi.new("struct point", {[0] = 3, 4}).y == 4)
assert(ffi.new("struct point", p).y == 2 and ffi.new("struct point").x == 0)
local o = ffi.new("struct outer", 1, 2, 3, {4, 5})
assert(o.a == 1 and o.b == 2 and o.c == 3 and o.e.x == 4 and o.e.y == 5)
assert(ffi.new("struct outer", {c = 9, e = {y = 8}}).c == 9)
local a = ffi.new("int[4]", 7)
assert(a[0] == 7 and a[3] == 7)
a = ffi.new("int[4]", 1, 2)
assert(a[1] == 2 and a[2] == 0)
a = ffi.new("int[?]", 3, 7)
assert(a[0] == 7 and a[2] == 7 and ffi.sizeof(a) == 12)
a = ffi.new("int[?]", 3, {4, 5, 6})
assert(a[2] == 6 and ffi.sizeof(a) == 12)
local m = ffi.new("int[2][3]", {{1, 2, 3}, {4}})
assert(m[0][2] == 3 and m[1][0] == 4 and m[1][2] == 4 and ffi.sizeof(m) == 24)
local f = ffi.new("struct flexible", 2, 5, 1.5, 2.5)
assert(f.n == 5 and f.values[0] == 1.5 and f.values[1] == 2.5)
local text = ffi.new("char[6]", "hello")
assert(ffi.string(text) == "hello" and ffi.sizeof(text) == 6)
assert(ffi.string(ffi.new("char[3]", "hello")) == "hel" and
  ffi.string(ffi.new("char[?]", 9, "abc")) == "abc")
fails("too many initializers for 'struct point'", ffi.new, "struct point", 1, 2, 3)
fails("too many initializers for 'int [2]'", ffi.new, "int[2]", {1, 2, 3})
fails("too many initializers for 'int'", ffi.new, "int", 1, 2)
fails("cannot convert 'string' to 'int'", ffi.new, "int", "x")
fails("cannot convert 'number' to 'struct point'", ffi.new, "struct outer", {e = 5})
fails("number expected", ffi.new, "int[?]")
fails("size is out of range", ffi.new, "int[?]", -1)
fails("size is out of range", ffi.new, "int[?]", math.maxinteger)
fails("the size of 'void' is unknown", ffi.new, "void")
fails("bad argument #1 to 'ffi.new' (C type expected, got table)", ffi.new, {})

-- Every kind of member, read and written
local all = ffi.new "struct all"
for name, values in pairs {
  b = {true, false}, c = {-128, 127}, uc = {0, 255}, s = {-32768, 32767}, us = {0, 4294967295},
  l = {math.mininteger, math.maxinteger},
  ul = {0, math.maxinteger}, f = {1.5, -0.25}, d = {0.1, 1e300}, ld = {0.1, -3.5}, color = {0, 7},
  low = {0, 15}, high = {-8, 7}} do
  for _, value in ipairs(values) do
    all[name] = value
    assert(all[name] == value and math.type(all[name]) == math.type(value), name)
  end
end
all.color = "GREEN"
assert(all.color == 1)
all.ul = -1
assert(tostring(all.ul) == "18446744073709551615ULL" and ffi.type(all.ul) == "cdata")
all.c, all.uc, all.s, all.us = 129, 256 + 7, 65536 + 5, 1 << 40 | 9
assert(all.c == -127 and all.uc == 7 and all.s == 5 and all.us == 9)
all.c, all.s, all.l, all.low = 3.9, -3.9, 2.0 ^ 53, 18
assert(all.c == 3 and all.s == -3 and all.l == 1 << 53 and all.low == 2)
all.b = 5
assert(all.b == true)
all.s = true
assert(all.s == 1)
all.p = {x = 3, y = 4}
assert(all.p.x == 3)
all.p = p
assert(all.p.y == 2 and all.p ~= p)
all.a = {1, 2, 3, 4}
assert(all.a[3] == 4)
all.name = "12345678"
assert(ffi.string(all.name) == "12345678")
all.to = p
assert(all.to.x == 1 and all.to[0].y == 2 and all.to == ffi.addressof(p))
all.any = all.to
assert(ffi.cast("struct point *", all.any).y == 2)
all.to = nil
assert(all.to == ffi.nullptr)
local kept = "a string"
all.text = kept
assert(ffi.string(all.text) == kept and ffi.string(all.text, 3) == "a s")
fails("attempt to write to constant location", function() all.fixed = 1 end)
fails("attempt to write to constant location", function()
  ffi.cast("const struct point *", p).x = 1
end)
fails("attempt to write to constant location", function() ffi.new("const int[2]")[0] = 1 end)
fails("'struct all' has no member named 'nothing'", function() return all.nothing end)
fails("'struct all' has no member named 'nothing'", function() all.nothing = 1 end)
fails("cannot be indexed with a number", function() return all[1] end)
fails("cannot be indexed with a table", function() return a[{}] end)
fails("member 'to': cannot convert 'int [4]' to 'struct point *'", function() all.to = all.a end)
fails("member 'text': cannot convert 'number' to 'const char *'", function() all.text = 5 end)
fails("member 'l': cannot convert 'number' to 'long': number has no integer representation",
  function() all.l = 1e30 end)
fails("member 'color': cannot convert 'string' to 'enum color'", function() all.color = "PINK" end)
fails("attempt to index a NULL pointer of type 'struct point *'", function() return all.to.x end)
fails("attempt to index a NULL pointer", function() all.to.x = 1 end)
fails("attempt to index a NULL pointer of type 'int *'", function() return ffi.new("int *")[3] end)
fails("the size of its elements is unknown", function() return ffi.cast("void *", p)[0] end)
fails("'struct missing *' is incomplete", function() return ffi.cast("struct missing *", p).x end)
-- (the result of an access may be assigned to where its object was)
local z = all
z = z.ul
assert(tostring(z) == "18446744073709551615ULL")

-- Casts
assert(ffi.tonumber(ffi.cast("uint8_t", -1)) == 255 and
  ffi.tonumber(ffi.cast("int8_t", 200)) == -56)
assert(ffi.tonumber(ffi.cast("int", 3.99)) == 3 and ffi.tonumber(ffi.cast("float", 0.1)) ~= 0.1)
assert(ffi.cast("void *", 4096) == ffi.cast("int *", 4096) and
  ffi.tonumber(ffi.cast("intptr_t", ffi.cast("char *", 77))) == 77)
fails("cannot cast to 'struct point'", ffi.cast, "struct point", p)
fails("cannot convert 'table' to 'int'", ffi.cast, "int", {})
fails("cannot convert 'nil' to 'double'", ffi.cast, "double", nil)

-- Pointers
local list = ffi.new("int[5]", {10, 20, 30, 40, 50})
local q = list + 2
assert(q[0] == 30 and q[-1] == 20 and (q - list) == 2 and (1 + q)[0] == 40 and (q - 1)[0] == 20 and
  q > list and list <= q and q ~= list)
assert(q == list + 2 and ffi.sizeof(q) == 8 and tostring(q):match "^cdata<int %*>: 0x")
fails("size is unknown", function() return ffi.cast("void *", q) + 1 end)
fails("different types", function() return q - ffi.cast("struct point *", 8) end)
fails("different types", function() return q < ffi.cast("struct point *", 8) end)
fails("attempt to apply operator add to 'int *' and 'int *'", function() return q + q end)
fails("attempt to apply operator mul to 'int *' and 'number'", function() return q * 2 end)
local int8 = ffi.new("uint8_t[4]", {1, 2, 3, 4})
assert(ffi.cast("uint16_t *", int8)[1] == 0x403 and
  ffi.istype("unsigned char *", ffi.cast("uint8_t *", int8)))

local open = ffi.cast("int (*)[]", list)
assert(open[0][1] == 20)
fails("the size of its elements is unknown", function() return open[1] end)

-- What derives from an object keeps it alive
local weak = setmetatable({}, {__mode = "k"})
local function derived()
  local object = ffi.new("struct outer", {e = {x = 5, y = 6}})
  weak[object] = true
  return object.e, ffi.cast("struct outer *", object), ffi.addressof(object) + 0
end
local e, by_cast, by_address = derived()
collectgarbage() collectgarbage()
assert(next(weak) and e.y == 6 and by_cast.e.x == 5 and by_address[0].e.y == 6)
by_cast, by_address = nil, nil
collectgarbage() collectgarbage()
assert(next(weak) and e.x == 5)
local s = ffi.cast("const char *", ("x"):rep(1000) .. "y") + 1000
collectgarbage()
assert(ffi.string(s) == "y")

-- Finalizers
local finalized = {}
do
  local object = ffi.gc(ffi.new("int", 42), function(v)
    finalized[#finalized + 1] = ffi.tonumber(v)
  end)
  local other = ffi.gc(ffi.new("int", 43), function() error "not to be called" end)
  ffi.gc(other, nil)
  object, other = nil, nil
end
local function clobber(n)
  if n > 0 then local a, b, c = n, n, n return clobber(n - 1) or a + b + c end
end
clobber(50)
collectgarbage() collectgarbage()
assert(finalized[1] == 42 and #finalized == 1)
ffi.cdef "void *malloc(size_t); void free(void *);"
for _ = 1, 100 do local block = ffi.gc(ffi.C.malloc(10000), ffi.C.free) end
collectgarbage()

-- Memory
local buffer = ffi.new "char[16]"
ffi.copy(buffer, "hello")
assert(ffi.string(buffer) == "hello" and ffi.string(buffer, 6) == "hello\0")
ffi.copy(buffer + 5, buffer, 3)
assert(ffi.string(buffer) == "hellohel")
ffi.fill(buffer, 3, 0x41)
ffi.fill(buffer + 3, 2)
assert(ffi.string(buffer) == "AAA" and ffi.string(buffer, 8) == "AAA\0\0hel")
fails("the pointer is NULL", ffi.string, ffi.nullptr)
fails("the pointer is NULL", ffi.copy, ffi.new "char *", "x")
fails("size is negative", ffi.fill, buffer, -1)
fails("longer than the string", ffi.copy, buffer, "abc", 9)
fails("pointer expected, got string", ffi.copy, "abc", "def")
fails("is no text", ffi.string, ffi.new "int[2]")
fails("cannot convert 'const char *' to 'void *'", ffi.fill, ffi.cast("const char *", "x"), 1)

-- About types
assert(ffi.istype("struct point", p) and ffi.istype("struct point", ffi.addressof(p)) and
  not ffi.istype("struct all", p) and ffi.istype("const int", ffi.new "int"))
assert(ffi.typeof(p) == ffi.typeof "struct point" and ffi.typeof "int" ~= ffi.typeof "long" and
  ffi.typeof "int32_t" == ffi.typeof "int")
assert(ffi.type(p) == "cdata" and ffi.type(5) == "number" and type(p) == "userdata" and
  getmetatable(p) == "ffi")
assert(ffi.abi "64bit" and ffi.abi "le" and not ffi.abi "win" and ffi.os == "Linux" and
  (ffi.arch == "x64" or ffi.arch == "arm64"))
assert(tostring(ffi.typeof(all.p)) == "ctype<struct point &>" and
  tostring(all.p):match "^cdata<struct point &>: 0x")
assert(tostring(ffi.nullptr) == "cdata<void *>: NULL" and
  tostring(ffi.new("int", 5)) == "cdata<int>: 5" and tostring(ffi.new("int64_t", -5)) == "-5LL")
assert(ffi.new(ffi.typeof "int[2]", 1, 2)[1] == 2 and ffi.typeof "struct point"(8, 9).y == 9 and
  ffi.new(p, 1).x == 1)
fails("ctype expected", getmetatable == nil or debug.getmetatable(ffi.typeof "int").__call, 5)
fails("cdata expected", debug.getmetatable(p).__index, io.stdout, "x")
fails("cdata expected", debug.getmetatable(p).__newindex, 5, "x", 1)
fails("'struct point' cannot be called", p)
assert(require "saros.ffi" == ffi)

-- A structure with cycles, made of C's memory and walked
local nodes = ffi.new("struct tree[7]")
for i = 0, 6 do
  nodes[i].key = i
  if 2 * i + 2 <= 6 then nodes[i].left, nodes[i].right = nodes[2 * i + 1], nodes[2 * i + 2] end
end
local function sum(node)
  return node == ffi.nullptr and 0 or node.key + sum(node.left) + sum(node.right)
end
assert(sum(nodes + 0) == 21)
local walk, steps = nodes + 0, 0
while walk.left ~= ffi.nullptr do walk, steps = walk.left, steps + 1 end
assert(steps == 2)

-- Members that are references
ffi.cdef "struct with_references { int n; int &r; const double &d; };"
local referred, constant = ffi.new("int[1]", 5), ffi.new("double[1]", 1.5)
local references = ffi.new("struct with_references", { r = referred, d = ffi.cast("double *", constant) })
assert(references.r == 5 and references.d == 1.5 and ffi.sizeof(references) == 24)
references.r = 7
assert(referred[0] == 7)
fails("constant location", function() references.d = 2 end)
references = ffi.new "struct with_references"
fails("attempt to use a NULL reference of type 'int &'", function() return references.r end)
fails("cannot convert 'number' to 'int &'", function() references.r = 1 end)
references.r = referred
references.r = 8
assert(referred[0] == 8)
