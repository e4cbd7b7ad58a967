-- SPDX-License-Identifier: MIT
-- Every initializer, assignment and cast of one function makes a callback of its own: one
-- that is freed, or set to another function, leaves the others as they are.
local fixture = require "_fixture"
local ffi, lib, fails = fixture.ffi, fixture.lib, fixture.fails

ffi.cdef [[
typedef int (*one_function)(int);
struct functions { one_function first, second; };
struct outer { struct functions inner; };
int call_int(one_function f, int v);
]]

local function add_one(v) return v + 1 end
local function other() return 77 end
local one_function = ffi.typeof "one_function"

-- Frees `a`, makes callbacks that may take its memory, and uses `b`.
local function stays(a, b)
  a:free()
  local others = {}
  for i = 1, 20 do others[i] = ffi.cast(one_function, other) end
  assert(b(5) == 6 and lib.call_int(b, 6) == 7)
  for _, o in ipairs(others) do o:free() end
  b:set(other)
  assert(b(5) == 77)
  b:free()
  fails("freed", b.free, b)
end

-- Calls of the type
stays(one_function(add_one), one_function(add_one))
stays(ffi.new(one_function, add_one), ffi.new("one_function", add_one))
stays(ffi.cast(one_function, add_one), one_function(add_one))

-- Initializers of aggregates, from a table and from arguments
local s = ffi.new("struct functions", {first = add_one, second = add_one})
stays(s.first, s.second)
s = ffi.new("struct functions", {add_one, add_one})
stays(s.first, s.second)
s = ffi.new("struct functions", add_one, add_one)
stays(s.first, s.second)
local list = ffi.new("one_function[2]", add_one, add_one)
stays(list[0], list[1])
local nested = ffi.new("struct outer", {{add_one, add_one}})
stays(nested.inner.first, nested.inner.second)

-- Assignments
s.first, s.second = add_one, add_one
stays(s.first, s.second)
nested.inner = {add_one, add_one}
stays(nested.inner.first, nested.inner.second)
list[0], list[1] = add_one, add_one
stays(list[1], list[0])

-- An argument shares one with the other arguments, and with none of the above.
local own = one_function(add_one)
assert(lib.call_int(add_one, 1) == 2)
own:set(other)
assert(lib.call_int(add_one, 1) == 2 and own(1) == 77)
own:free()
assert(lib.call_int(add_one, 2) == 3)
