-- SPDX-License-Identifier: MIT
-- Closures, shared upvalues, recursion through upvalues.

do -- two closures share one variable
  local function counter()
    local n = 0
    return function() n = n + 1 return n end, function(v) n = v end, function() return n end
  end
  local inc, set, get = counter()
  local inc2 = counter()
  assert(inc() == 1 and inc() == 2 and get() == 2)
  set(10)
  assert(inc() == 11 and inc2() == 1)
end

do -- a variable that is still on the stack is the same for closure and function
  local x = 1
  local function f() x = x + 1 return x end
  x = 5
  assert(f() == 6 and x == 6)
end

do -- several levels
  local function level1()
    local a = 1
    return function()
      local b = 10
      return function()
        a, b = a + 1, b + 1
        return function() a = a * 2 return a + b end
      end
    end
  end
  local l2 = level1()
  local l3, l3b = l2(), l2()
  assert(l3()() == 4 + 11 and l3b()() == 10 + 11)
end

do -- parameters and loop variables as upvalues
  local function adder(x) return function(y) return x + y end end
  local add1, add10 = adder(1), adder(10)
  assert(add1(5) == 6 and add10(5) == 15)
  local fs = {}
  for i = 1, 20 do
    local j = i * i
    fs[i] = { get = function() return i, j end, set = function(v) i, j = v, v end }
  end
  fs[3].set(0)
  for i = 1, 20 do
    local a, b = fs[i].get()
    if i == 3 then assert(a == 0 and b == 0) else assert(a == i and b == i * i) end
  end
end

do -- while loops: a fresh local each round, a shared one outside
  local shared, fs, i = 0, {}, 0
  while i < 5 do
    i = i + 1
    local own = i
    fs[i] = function() shared = shared + own return shared end
  end
  assert(fs[1]() == 1 and fs[5]() == 6 and fs[2]() == 8 and shared == 8)
end

do -- closures survive break, return and error
  local function by_break()
    for i = 1, 10 do
      local x = i local f = function() x = x + 1 return x end if i == 4 then return f end
    end
  end
  local f = by_break()
  assert(f() == 5 and f() == 6)
  local kept
  pcall(function() local y = 3 kept = function() y = y + 1 return y end error("out") end)
  assert(kept() == 4 and kept() == 5)
end

do -- recursion
  local function fact(n) return n == 0 and 1 or n * fact(n - 1) end
  assert(fact(20) == 2432902008176640000)
  local even, odd
  function even(n) if n == 0 then return true end return odd(n - 1) end
  function odd(n) if n == 0 then return false end return even(n - 1) end
  assert(even(100) and not odd(100))
  local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
  assert(fib(15) == 610)
  local fixed = (function(f)
    return (function(x) return x(x) end)(function(x)
      return f(function(...) return x(x)(...) end)
    end)
  end)
  assert(fixed(function(self) return function(n)
    return n == 0 and 1 or n * self(n - 1) end end)(6) == 720)
end

do -- functions are first-class and compare by identity
  local function make() return function() end end
  local a, b = make(), make()
  assert(a == a and type(a) == "function")
  local t = { [a] = 1 }
  assert(t[a] == 1)
end

do -- function statement forms
  local t = { a = { b = {} } }
  function t.f(x) return x end
  function t.a.b.g(x, y) return y end
  function t.a.b:m(x) return self, x end
  assert(t.f(1) == 1 and t.a.b.g(1, 2) == 2)
  local self, x = t.a.b:m(7)
  assert(self == t.a.b and x == 7)
end

do -- many upvalues in one function
  local source = {}
  for i = 1, 100 do source[#source + 1] = ("local v%d = %d"):format(i, i) end
  source[#source + 1] = "return function() return 0"
  for i = 1, 100 do source[#source + 1] = " + v" .. i end
  source[#source + 1] = " end"
  assert(load(table.concat(source, "\n"))()() == 5050)
end

do -- an upvalue of a coroutine that is suspended, and of one that is dead
  local get, set
  local co = coroutine.wrap(function()
    local x = 1
    get, set = function() return x end, function(v) x = v end
    coroutine.yield()
    x = x + 100
  end)
  co()
  set(5)
  assert(get() == 5)
  co()
  assert(get() == 105)
  set(7)
  assert(get() == 7)
end
