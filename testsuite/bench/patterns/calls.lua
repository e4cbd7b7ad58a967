-- SPDX-License-Identifier: MIT
-- Calls, closures, varargs, recursion.
local api = ...
local family, pattern, code = api.family, api.pattern, api.code

family "calls"

code("no_arguments", 1500000, "local function f() end", "f()", "true")
code("one_argument", 1500000, "local r local function f(x) return x end", "r = f(i)", "r == n")
code("five_arguments", 1500000, "local r local function f(a, b, c, d, e) return e end", "r = f(1, 2, 3, 4, i)", "r == n")
code("missing_arguments", 2000000, "local r local function f(a, b, c, d, e) return e end", "r = f(1)", "r == nil")
code("three_results", 1000000, "local a, b, c local function f(x) return x, x, x end", "a, b, c = f(i)", "c == n")
code("results_dropped", 1500000, "local function f(x) return x, x, x end", "f(i)", "true")
code("tail_call", 1000000, "local function g(x) return x end local function f(x) return g(x) end local r", "r = f(i)", "r == n")
code("tail_loop", 25000, "local function f(k) if k > 0 then return f(k - 1) end return 0 end local r", "r = f(100)", "r == 0")
code("method", 1500000, "local o = {f = function(self, x) return x end} local r", "r = o:f(i)", "r == n")
code("function_in_table", 1500000, "local lib = {f = function(x) return x end} local r", "r = lib.f(i)", "r == n")
code("passed_results", 900000, "local function g() return 1, 2, 3 end local function f(a, b, c) return c end local r", "r = f(g())", "r == 3")
code("c_function", 1500000, "local f, r = math.abs", "r = f(-i)", "r == n")
code("callback", 400000, "local function each(f, x) f(x) f(x) f(x) end local s = 0 local function add(x) s = s + 1 end", "each(add, i)", "s == 3 * n")
code("many_locals", 600000, "local function f(x) local a, b, c, d, e, g, h = 1, 2, 3, 4, 5, 6, 7 local k, l, m, o, p = a, b, c, d, e return k + l + m + o + p + g + h + x end local r", "r = f(i)", "r == n + 43 - 15 or r")
code("fifty_arguments", 150000, "local function f(...) return (select('#', ...)) end local r", "r = f(" .. ("i,"):rep(49) .. "i)", "r == 50")
code("fixed_fifty_parameters", 250000, (function() local p = {} for j = 1, 50 do p[j] = "p" .. j end return "local function f(" .. table.concat(p, ",") .. ") return p50 end local r" end)(), "r = f(" .. ("i,"):rep(49) .. "i)", "r == n")
code("mutual", 2000, "local even, odd function even(k) if k == 0 then return true end return (odd(k - 1)) end function odd(k) if k == 0 then return false end return (even(k - 1)) end local r", "r = even(1000)", "r")

family "recursion"

code("fibonacci_22", 25, "local function fib(k) if k < 2 then return k end return fib(k - 1) + fib(k - 2) end local r", "r = fib(22)", "r == 17711")
code("fibonacci_global", 20, "function fib_of_pattern(k) if k < 2 then return k end return fib_of_pattern(k - 1) + fib_of_pattern(k - 2) end local r", "r = fib_of_pattern(22)", "r == 17711")
code("ackermann", 250, "local function a(m, k) if m == 0 then return k + 1 elseif k == 0 then return a(m - 1, 1) end return a(m - 1, a(m, k - 1)) end local r", "r = a(2, 60)", "r == 123")
code("tak", 90, "local function tak(x, y, z) if y >= x then return z end return tak(tak(x - 1, y, z), tak(y - 1, z, x), tak(z - 1, x, y)) end local r", "r = tak(14, 8, 3)", "r")
code("hanoi", 30, "local c = 0 local function move(k, a, b, d) if k > 0 then move(k - 1, a, d, b) c = c + 1 move(k - 1, d, b, a) end end", "move(14, 1, 2, 3)", "c == 16383 * n")
for _, depth in ipairs {10, 1000, 100000} do
  code("depth_" .. depth, math.max(1200000 // depth, 5), "local function f(k) if k == 0 then return 0 end return 1 + f(k - 1) end local r", "r = f(" .. depth .. ")", "r == " .. depth)
end
pattern("depth_with_many_locals", 250, function(n)
  local function f(k)
    local a, b, c, d, e, g = k, k, k, k, k, k
    if k == 0 then return 0 end
    return f(k - 1) + a - b + c - d + e - g
  end
  for _ = 1, n do assert(f(3000) == 0) end
end)
pattern("fresh_stack_each_time", 100, function(n)
  local function f(k) if k == 0 then return 0 end return 1 + f(k - 1) end
  for _ = 1, n do assert(coroutine.wrap(f)(5000) == 5000) end
end)
pattern("permutations", 40, function(n)
  local c
  local function permute(a, k)
    if k == 0 then c = c + 1 return end
    for i = 1, k do a[i], a[k] = a[k], a[i] permute(a, k - 1) a[i], a[k] = a[k], a[i] end
  end
  for _ = 1, n do c = 0 permute({1, 2, 3, 4, 5, 6, 7}, 7) assert(c == 5040) end
end)
pattern("through_pcall", 1500, function(n)
  local function f(k) if k == 0 then return 0 end local ok, r = pcall(f, k - 1) return r + 1 end
  for _ = 1, n do assert(f(150) == 150) end
end)
pattern("through_metamethods", 3500, function(n)
  local mt = {}
  mt.__index = function(t, k) if k == 0 then return 0 end return t[k - 1] + 1 end
  for _ = 1, n do assert(setmetatable({}, mt)[150] == 150) end
end)
pattern("through_sort", 25000, function(n)
  local function f(k) if k > 0 then table.sort({2, 1}, function(a, b) f(k - 1) return a < b end) end end
  for _ = 1, n do f(5) end
end)
pattern("through_gsub", 550, function(n)
  local function f(k) if k == 0 then return "x" end return (("a"):gsub("a", function() return f(k - 1) end)) end
  for _ = 1, n do assert(f(150) == "x") end
end)
pattern("trees_made_and_counted", 25, function(n)
  local function tree(d) if d == 0 then return {} end return {tree(d - 1), tree(d - 1)} end
  local function count(t) if t[1] then return count(t[1]) + count(t[2]) + 1 end return 1 end
  for _ = 1, n do assert(count(tree(12)) == 8191) end
end)

family "varargs"

code("passed_on", 800000, "local function g(a, b) return b end local function f(...) return g(...) end local r", "r = f(1, i)", "r == n")
code("first", 1000000, "local function f(...) local a = ... return a end local r", "r = f(i, 2, 3)", "r == n")
code("table_of", 300000, "local function f(...) local t = {...} return #t end local r", "r = f(i, 2, 3)", "r == 3")
code("none", 1500000, "local function f(...) end", "f()", "true")
code("sum_by_table", 100000, "local function f(...) local s = 0 for _, v in ipairs {...} do s = s + v end return s end local r", "r = f(1, 2, 3, 4, 5)", "r == 15")
code("sum_by_recursion", 200000, "local function f(a, ...) if a then return a + f(...) end return 0 end local r", "r = f(1, 2, 3, 4, 5)", "r == 15")
code("in_the_middle", 850000, "local function f(...) local a, b = ..., 5 return a, b end local a, b", "a, b = f(i, 2, 3)", "a == n and b == 5")
code("of_200", 30000, "local function f(...) return ... end local t, r = {} for j = 1, 200 do t[j] = j end", "r = select('#', f(table.unpack(t)))", "r == 200")
code("of_200_fixed", 30000, "local function f(a, ...) return select('#', ...) end local t, r = {} for j = 1, 200 do t[j] = j end", "r = f(table.unpack(t))", "r == 199")
code("tail_passed_on", 600000, "local function g(...) return ... end local function f(...) return g(...) end local r", "r = f(i, 2)", "r == n")
code("logger", 40000, "local out local function log(format, ...) out = format:format(...) end", "log('%s %d', 'x', i)", "out")
code("partial_application", 500000, "local function bind(f, ...) local args = table.pack(...) return function(...) return f(args[1], ...) end end local r local add = bind(function(a, b) return a + b end, 5)", "r = add(i)", "r == n + 5")

family "closures"

code("made", 450000, "local f", "f = function() return i end", "f() == n")
code("made_without_upvalues", 1000000, "local f", "f = function() return 1 end", "f() == 1")
code("made_with_5_upvalues", 550000, "local a, b, c, d, e, f = 1, 2, 3, 4, 5", "f = function() return a + b + c + d + e end", "f() == 15")
code("made_with_fresh_local", 500000, "local f", "local x = i f = function() x = x + 1 return x end", "f() == n + 1")
code("two_share_local", 200000, "local f, g", "local x = i f, g = function() return x end, function(y) x = y end", "f() == n")
code("counter", 1500000, "local function counter() local c = 0 return function() c = c + 1 return c end end local next_one, r = counter()", "r = next_one()", "r == n")
code("made_and_called", 250000, "local r", "r = (function(x) return x + i end)(1)", "r == n + 1")
code("upvalue_read", 1500000, "local x = 5 local function f() return x end local r", "r = f()", "r == 5")
code("upvalue_written", 1500000, "local x = 0 local function f() x = x + 1 end", "f()", "x == n")
code("upvalue_three_levels_up", 1500000, "local x = 0 local function f() local function g() local function h() x = x + 1 end return h end return g() end local h = f()", "h()", "x == n")
code("compose", 200000, "local function compose(f, g) return function(x) return f(g(x)) end end local function inc(x) return x + 1 end local r", "r = compose(inc, inc)(i)", "r == n + 2")
code("curry", 150000, "local function add(a) return function(b) return function(c) return a + b + c end end end local r", "r = add(1)(2)(i)", "r == n + 3")
code("map_filter", 4000, "local function map(t, f) local r = {} for j = 1, #t do r[j] = f(t[j]) end return r end local function filter(t, f) local r = {} for j = 1, #t do if f(t[j]) then r[#r + 1] = t[j] end end return r end local t, r = {} for j = 1, 100 do t[j] = j end", "r = filter(map(t, function(x) return x * 2 end), function(x) return x % 3 == 0 end)", "#r == 33")
code("reduce", 15000, "local function reduce(t, f, a) for j = 1, #t do a = f(a, t[j]) end return a end local t, r = {} for j = 1, 100 do t[j] = j end", "r = reduce(t, function(a, b) return a + b end, 0)", "r == 5050")
code("in_loop_kept", 450000, "local keep = {}", "keep[i & 1023] = function() return i end", "true")
code("closed_over_loop_variable", 95000, "local f", "for j = 1, 5 do f = function() return j end end", "f() == 5")
code("memoized_fibonacci", 6500, "local r", "local m = {} local function fib(k) if k < 2 then return k end local v = m[k] if not v then v = fib(k - 1) + fib(k - 2) m[k] = v end return v end r = fib(60)", "r == 1548008755920")
code("event_handlers", 250000, "local handlers, c = {}, 0 for j = 1, 5 do handlers[j] = function(e) c = c + e end end", "for j = 1, #handlers do handlers[j](1) end", "c == 5 * n")
