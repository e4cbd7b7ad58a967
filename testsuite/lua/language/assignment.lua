-- SPDX-License-Identifier: MIT
-- Multiple assignment, scopes, and the adjustment of lists of values.

local function three() return 1, 2, 3 end
local function none() end

do -- too few and too many values
  local a, b, c = 1
  assert(a == 1 and b == nil and c == nil)
  local d, e = 1, 2, 3
  assert(d == 1 and e == 2)
  local f, g, h, i = 0, three()
  assert(f == 0 and g == 1 and h == 2 and i == 3)
  local j, k, l = three(), 10
  assert(j == 1 and k == 10 and l == nil)
  local m, n = (three())
  assert(m == 1 and n == nil)
  local o, p = none(), 5
  assert(o == nil and p == 5)
  local q <const>, r = three()
  assert(q == 1 and r == 2)
end

do -- all right sides are evaluated before anything is assigned
  local a, b, c = 1, 2, 3
  a, b, c = c, a, b
  assert(a == 3 and b == 1 and c == 2)
  local i, t = 1, {}
  i, t[i] = i + 1, 20
  assert(i == 2 and t[1] == 20 and t[2] == nil)
  local u = { 1, 2, 3 }
  u[1], u[2], u[3] = u[3], u[1], u[2]
  assert(u[1] == 3 and u[2] == 1 and u[3] == 2)
  local v = { x = {} }
  local w = v
  v, v.x = 5, 6 -- v is read before it is assigned
  assert(v == 5 and w.x == 6)
  local n = { n = 1 }
  local x = n
  x.n, x = 2, nil
  assert(n.n == 2 and x == nil)
end

do -- a local is visible after its statement only
  local x = 1
  local x = x + 1
  assert(x == 2)
  do local x = x * 10; assert(x == 20) end
  assert(x == 2)
  local function f() return f end -- a local function sees itself
  assert(f() == f)
  local g = function() return g end -- a plain local does not
  assert(g() == nil)
end

do -- globals live in _ENV
  global_of_test = 5
  assert(_G.global_of_test == 5 and _ENV.global_of_test == 5)
  _G.global_of_test = nil
  assert(global_of_test == nil)
  local function with_env(_ENV) return x, y end
  local x1, y1 = with_env { x = 1, y = 2 }
  assert(x1 == 1 and y1 == 2)
  local t = {}
  do local _ENV = t; z = 7 end
  assert(t.z == 7 and z == nil)
  local f = load("a = 1; return b", "chunk", "t",
    setmetatable({}, { __index = function(_, k) return k end }))
  assert(f() == "b")
end

do -- constructors
  local t = { 1, 2, three() }
  assert(#t == 5 and t[5] == 3)
  local u = { three(), three() }
  assert(#u == 4 and u[1] == 1 and u[4] == 3)
  local v = { (three()) }
  assert(#v == 1)
  local w = { [1] = "a", "b", x = 1, ["y z"] = 2; 10, [3 + 4] = 7, f = three }
  assert(w[1] == "b" and w[2] == 10 and w.x == 1 and w["y z"] == 2 and w[7] == 7 and w.f() == 1)
  local x = { none() }
  assert(#x == 0)
  local y = { n = none(), nil, 3 }
  assert(y[1] == nil and y[2] == 3 and y.n == nil)
  assert(#{ n = 1 } == 0 and #{ 1, 2, nil } == 2 and #{ 1, 2, 3, } == 3)
  -- order of evaluation in a constructor
  local order = {}
  local function note(v) order[#order + 1] = v return v end
  local _ = { note(1), [note(2)] = note(3), note(4) }
  assert(table.concat(order, ",") == "1,2,3,4")
end

do -- many items: more than one batch of a constructor
  local parts = {}
  for i = 1, 500 do parts[i] = tostring(i) end
  local t = load("return {" .. table.concat(parts, ",") .. ", ...}")(501, 502, nil, 504)
  for i = 1, 502 do assert(t[i] == i) end
  assert(t[503] == nil and t[504] == 504)
end

do -- indexing chains
  local t = { a = { b = { c = { 42 } } } }
  assert(t.a.b.c[1] == 42 and t["a"]["b"].c[#t.a.b.c] == 42)
  t.a.b.c.d = "x"
  assert(t.a.b.c.d:upper() == "X")
  assert(("x"):rep(3) == "xxx" and #"abc" == 3 and ("%d"):format(5) == "5")
  local s = "hello"
  assert(s:sub(2, 3):upper():len() == 2)
end

do -- calls without parentheses
  local function id(...) return ... end
  assert(id"x" == "x" and id[[y]] == "y" and id{ 5 }[1] == 5)
  local o = { m = function(self, s) return self, s end }
  local self, s = o:m"lit"
  assert(self == o and s == "lit")
end
