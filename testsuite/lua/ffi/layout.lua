-- SPDX-License-Identifier: MIT
-- Structs are laid out as the C compiler does it.
local fixture = require "_fixture"
local ffi, lib = fixture.ffi, fixture.lib

ffi.cdef [[
enum color { RED, GREEN, BLUE };
struct inner { short s; char c; };
struct layout {
  const char *type, *declaration;
  size_t size, align;
  const char *(*member)(int n, void *bytes);
};
const struct layout *fixture_layout(int i);
]]

-- Sets the member that a path like "in.s" or "d[1][2]" names.
local function set(object, path)
  local last
  for step in path:gmatch "[%w_]+" do
    if last then object = object[last] end
    last = tonumber(step) or step
  end
  object[last] = -1
end

local function hex(s) return (s:gsub(".", function(c) return ("%02x"):format(c:byte()) end)) end

local checked = 0
for i = 0, 1000 do
  local layout = lib.fixture_layout(i)
  if layout.type == ffi.nullptr then break end
  local name = ffi.string(layout.type)
  ffi.cdef(ffi.string(layout.declaration))
  assert(ffi.sizeof(name) == layout.size, name .. ": size " .. ffi.sizeof(name) ..
    ", not " .. layout.size)
  assert(ffi.alignof(name) == layout.align, name .. ": alignment " .. ffi.alignof(name) ..
    ", not " .. layout.align)
  for n = 0, 1000 do
    local bytes = ffi.new("char[?]", layout.size + 1)
    local member = layout.member(n, bytes)
    if member == ffi.nullptr then break end
    member = ffi.string(member)
    local object = name == "struct flexible" and ffi.new(name, 0) or ffi.new(name)
    set(object, member)
    local ours, theirs = ffi.string(object, layout.size), ffi.string(bytes, layout.size)
    assert(ours == theirs, name .. "." .. member .. ": " .. hex(ours) .. ", not " .. hex(theirs))
    checked = checked + 1
  end
end
assert(checked > 90, checked)

-- What is read from bits: sign and width.
local b = ffi.new("struct bits_signed", -1, 5, 1)
assert(b.a == -1 and b.b == 5 and b.c == 1)
b.c = 2
assert(b.c == -2)
b.b = 1 << 30
assert(b.b == -(1 << 30) and b.a == -1 and b.c == -2)
local u = ffi.new("struct bits_int", {a = 9, b = 31, c = 0xfffff, d = 0})
assert(u.a == 1 and u.b == 31 and u.c == 0xfffff and u.d == 0)
local l = ffi.new("struct bits_long", 1 << 32, 5, math.mininteger)
assert(l.a == 1 << 32 and l.b == 5 and l.c == math.mininteger)
assert(ffi.new("struct bits_bool", true, false, 3).a == true)
assert(ffi.new("struct bits_enum", "GREEN", "BLUE").b == 2)
local o, at, width = ffi.offsetof("struct bits_int", "b")
assert(o * 8 + at == 3 and width == 5)

-- offsetof of parts of anonymous members; no such member
assert(ffi.offsetof("struct anonymous", "e") == 16 and ffi.offsetof("struct anonymous", "c") == 8)
assert(ffi.offsetof("struct anonymous", "nothing") == nil)

-- sizes that depend on a number of elements
assert(ffi.sizeof("struct flexible") == 8 and ffi.sizeof("struct flexible", 3) == 32)
assert(ffi.sizeof(ffi.new("struct flexible", 3)) == 32)
assert(ffi.sizeof("char[?]", 5) == 5 and ffi.sizeof("char[?]") == nil and ffi.sizeof("void") == nil)
-- (storage of over-aligned objects)
for _ = 1, 20 do
  local object = ffi.new("struct aligned")
  assert(ffi.tonumber(ffi.cast("uintptr_t", ffi.addressof(object))) % 32 == 0)
end
