-- SPDX-License-Identifier: MIT
-- Calls: tail calls, deep recursion, methods, loading of chunks.

do -- proper tail calls take no stack
  local function loop(n) if n > 0 then return loop(n - 1) end return "done" end
  assert(loop(100000) == "done")
  local a, b
  function a(n) if n == 0 then return "ab" end return b(n - 1) end
  function b(n) if n == 0 then return "ab" end return a(n - 1) end
  assert(a(50001) == "ab")
  local o = {}
  function o:count(n) if n == 0 then return self end return self:count(n - 1) end
  assert(o:count(20000) == o)
  local c = setmetatable({}, { __call = function(self, n)
    if n == 0 then return "called" end return self(n - 1) end })
  assert(c(20000) == "called")
  local function va(n, ...) if n == 0 then return select("#", ...) end return va(n - 1, ...) end
  assert(va(10000, 1, 2, 3) == 3)
  local function via_pcall(n)
    if n == 0 then return "p" end return select(2, pcall(via_pcall, n - 1))
  end
  assert(via_pcall(50) == "p")
end

do -- deep recursion that is no tail call
  local function depth(n) if n == 0 then return 0 end return 1 + depth(n - 1) end
  assert(depth(10000) == 10000)
  local function list(n) local r = nil for i = 1, n do r = { next = r } end return r end
  local function len(l) if not l then return 0 end return 1 + len(l.next) end
  assert(len(list(5000)) == 5000)
  -- through metamethods, without growth of the C stack
  local mt = {}
  mt.__index = function(t, k) if k == 0 then return "bottom" end return t[k - 1] end
  assert(setmetatable({}, mt)[150] == "bottom")
end

do -- results in every position
  local function two() return 1, 2 end
  local t = { two(), two(), (two()) }
  assert(#t == 3)
  assert(select("#", two(), two()) == 3 and select("#", (two())) == 1)
  local a, b, c = two(), two()
  assert(a == 1 and b == 1 and c == 2)
  if two() then a = "if" end
  assert(a == "if" and (two()) == 1 and two() + 1 == 2 and two() .. "" == "1")
  local function relay() return two() end
  assert(select("#", relay()) == 2)
  local x = { two(), n = two() }
  assert(x[1] == 1 and x[2] == nil and x.n == 1)
  local function none() end
  assert(select("#", none()) == 0 and (none()) == nil and select("#", none(), none()) == 1)
  assert(not pcall(type, none()))
end

do -- arguments are evaluated left to right, the function first
  local order = {}
  local function note(x) order[#order + 1] = x return x end
  local function f(...) return function() end end
  local t = setmetatable({}, { __index = function(_, k) note(k) return function() end end })
  t.fun(note "a", note "b")
  assert(table.concat(order, " ") == "fun a b")
end

do -- string.dump keeps constants, upvalue counts, nested functions, lines unless stripped
  local up = 10
  local function f(a, ...)
    local t = { a, ..., "s", 2.5, 1 << 40, true, nil }
    local function inner(x) return x + 1 end
    for i = 1, 3 do t[#t + 1] = inner(i) end
    return t, up
  end
  local g = load(string.dump(f))
  debug.setupvalue(g, 2, 99)
  local values = { pcall(g, "first", "vararg") }
  -- the order of upvalues is not fixed: set what takes the place of `up`
  local h = load(string.dump(function(n)
    local r = {} for i = 1, n do r[i] = ("%d:%s"):format(i, "x") end return r end, true))
  debug.setupvalue(h, 1, _G)
  assert(table.concat(h(3), " ") == "1:x 2:x 3:x")
  local stripped = load(string.dump(load("local x = nil; return x.y", "=named"), true))
  local ok, message = pcall(stripped)
  assert(not ok and message:find("?", 1, true), message)
  local kept = load(string.dump(load("\n\nlocal x = nil; return x.y", "=named")))
  ok, message = pcall(kept)
  assert(not ok and message:find("named:3: attempt to index a nil value (local 'x')", 1,
    true), message)
  assert(not pcall(string.dump, print))
end

do -- many parameters and locals
  local names, values = {}, {}
  for i = 1, 150 do names[i] = "p" .. i values[i] = i end
  local f = load("return function(" .. table.concat(names, ",") ..
    ") local s = 0; for _, v in ipairs {" .. table.concat(names, ",") ..
    "} do s = s + v end return s end")()
  assert(f(table.unpack(values)) == 150 * 151 // 2)
end

do -- functions as values in tables, immediate calls, methods on literals
  local ops = { add = function(a, b) return a + b end, ["-"] = function(a, b) return a - b end }
  assert(ops.add(1, 2) == 3 and ops["-"](5, 3) == 2)
  assert((function(...) return select("#", ...) end)(nil, nil) == 2)
  assert(("%s"):rep(2, ","):format(1, 2) == "1,2")
  assert(({ f = function(self) return self.v end, v = 9 }):f() == 9)
end

do -- a call in the middle of an expression saves what is on the stack
  local function id(x) local a, b, c, d = x, x, x, x return d end
  local a, b, c = 1, 2, 3
  assert(a + id(b) * c - id(a) + (id(c) - id(b)) * id(2) == 1 + 6 - 1 + 2)
  local s = id("a") .. id("b") .. (id("c") .. id("d"))
  assert(s == "abcd")
end
