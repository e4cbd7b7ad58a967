-- SPDX-License-Identifier: MIT
-- Varargs, select, table.pack and unpack, argument lists.

local function id(...) return ... end
local function count(...) return select("#", ...) end

assert(count() == 0 and count(nil) == 1 and count(nil, nil) == 2)
assert(count(id()) == 0 and count(id(nil, nil)) == 2 and count((id())) == 1)
assert(count(id(1, 2), id(1, 2)) == 3)

do -- adjustment
  local function f(a, ...) local b, c = ... return a, b, c end
  local a, b, c = f(1, 2)
  assert(a == 1 and b == 2 and c == nil)
  a, b, c = f()
  assert(a == nil and b == nil and c == nil)
  local function g(...) return (...) end
  assert(count(g(1, 2, 3)) == 1 and count(g()) == 1)
  local function h(...) local t = { ... } return #t end
  assert(h() == 0 and h(1, 2, 3) == 3)
  local function k(...) return { n = select("#", ...), ... } end
  local t = k(nil, 2, nil)
  assert(t.n == 3 and t[1] == nil and t[2] == 2 and t[3] == nil)
  local function last(...) return select(-1, ...) end
  assert(last(1, 2, 3) == 3)
end

do -- the values survive calls, assignments to parameters and nested functions
  local function f(a, b, ...)
    local before = { ... }
    a, b = 0, 0
    id(1, 2, 3, 4)
    local function g(...) return ... end
    g(9, 9, 9)
    local after = { ... }
    assert(#before == #after)
    for i = 1, #before do assert(before[i] == after[i]) end
    return ...
  end
  assert(count(f(1, 2)) == 0 and count(f(1, 2, 3, 4, 5)) == 3)
  local function twice(...) local a = { ... } local b = { ... } return a ~= b and #a == #b end
  assert(twice(1, 2, 3))
  local function outer(...)
    local n = select("#", ...)
    return (function(...) return select("#", ...) + n end)(1, ...)
  end
  assert(outer(1, 2) == 5)
end

do -- many
  local t = {}
  for i = 1, 2000 do t[i] = i end
  assert(count(table.unpack(t)) == 2000)
  local function sum(...)
    local s = 0 for i = 1, select("#", ...) do s = s + (select(i, ...)) end return s
  end
  assert(sum(table.unpack(t, 1, 200)) == 20100)
  local function pass(...) return ... end
  assert(select(2000, pass(table.unpack(t))) == 2000)
  local packed = table.pack(pass(table.unpack(t)))
  assert(packed.n == 2000 and packed[2000] == 2000)
  assert(math.max(table.unpack(t)) == 2000)
end

do -- the main chunk is a vararg function
  assert(load("return select('#', ...)")(1, nil, 3) == 3)
  assert(load("local a, b = ... return b")(1, 2) == 2)
end

do -- tail position and method calls with varargs
  local o = { f = function(self, ...) return select("#", ...) end }
  local function via(...) return o:f(...) end
  assert(via(1, 2, 3) == 3 and via() == 0)
  local function recurse(n, ...) if n == 0 then return ... end return recurse(n - 1, n, ...) end
  assert(count(recurse(50)) == 50)
end

do -- fewer and more arguments than parameters
  local function f(a, b, c) return a, b, c end
  local a, b, c = f(1)
  assert(a == 1 and b == nil and c == nil)
  assert(count(f(1, 2, 3, 4, 5)) == 3)
  assert((function(a, b) return b end)(1, 2, 3) == 2)
end
