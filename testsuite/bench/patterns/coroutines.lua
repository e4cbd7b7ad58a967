-- SPDX-License-Identifier: MIT
-- Coroutines: made, resumed, suspended, closed.
local api = ...
local family, pattern, code = api.family, api.pattern, api.code

family "coroutines"

code("made_and_run", 95000, "local f, r = function(x) return x end", "local ok ok, r = coroutine.resume(coroutine.create(f), i)", "r == n")
code("wrapped_and_run", 80000, "local f, r = function(x) return x end", "r = coroutine.wrap(f)(i)", "r == n")
code("made_only", 300000, "local f, r = function(x) return x end", "r = coroutine.create(f)", "coroutine.status(r) == 'suspended'")
code("made_and_suspended", 100000, "local f, r = function(x) coroutine.yield(x) end", "r = coroutine.wrap(f) r(i)", "true")
code("resume_yield", 250000, "local co = coroutine.create(function() while true do coroutine.yield() end end)", "coroutine.resume(co)", "coroutine.status(co) == 'suspended'")
code("wrap_yield", 200000, "local f, r = coroutine.wrap(function() local k = 0 while true do k = k + 1 coroutine.yield(k) end end)", "r = f()", "r == n")
code("values_both_ways", 250000, "local f, r = coroutine.wrap(function(a, b) while true do a, b = coroutine.yield(b, a) end end)", "r = f(i, 5)", "r == 5")
code("ten_values", 200000, "local f, r = coroutine.wrap(function(...) while true do coroutine.yield(...) end end)", "r = f(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)", "r == 1")
code("generator_of_100", 1500, "local function each(k) return coroutine.wrap(function() for j = 1, k do coroutine.yield(j) end end) end local s = 0", "for v in each(100) do s = s + v end", "s == 5050 * n")
code("generator_of_3", 35000, "local function each(k) return coroutine.wrap(function() for j = 1, k do coroutine.yield(j) end end) end local s = 0", "for v in each(3) do s = s + v end", "s == 6 * n")
code("tree_walk", 250, "local function tree(d) if d == 0 then return {} end return {tree(d - 1), tree(d - 1)} end local function walk(t) if t[1] then walk(t[1]) walk(t[2]) else coroutine.yield(t) end end local t, c = tree(9)", "c = 0 for leaf in coroutine.wrap(function() walk(t) end) do c = c + 1 end", "c == 512")
code("tree_walk_nested_generators", 250, "local function tree(d) if d == 0 then return {} end return {tree(d - 1), tree(d - 1)} end local function walk(t) return coroutine.wrap(function() if t[1] then for l in walk(t[1]) do coroutine.yield(l) end for l in walk(t[2]) do coroutine.yield(l) end else coroutine.yield(t) end end) end local t, c = tree(6)", "c = 0 for leaf in walk(t) do c = c + 1 end", "c == 64")
code("yield_from_depth_50", 8500, "local function deep(k) if k == 0 then coroutine.yield() else deep(k - 1) end return 1 end", "local f = coroutine.wrap(deep) f(50) f()", "true")
code("yield_in_pcall", 200000, "local f = coroutine.wrap(function() while true do pcall(coroutine.yield, 1) end end) local r", "r = f()", "r == 1")
code("pcall_inside_each_time", 100000, "local f = coroutine.wrap(function() while true do pcall(function() coroutine.yield(1) end) end end) local r", "r = f()", "r == 1")
code("yield_across_metamethod", 150000, "local t = setmetatable({}, {__index = function(_, k) return coroutine.yield(k) end}) local f = coroutine.wrap(function() while true do local x = t.key end end) local r", "r = f()", "r == 'key'")
code("yield_in_iterator", 200000, "local f = coroutine.wrap(function() for x in function() return coroutine.yield(1) or 1 end do end end) local r", "r = f()", "r == 1")
code("ends_by_error", 60000, "local ok local f = function() error('e') end", "ok = coroutine.resume(coroutine.create(f))", "not ok")
code("closed_suspended", 85000, "local f = function() coroutine.yield() end", "local co = coroutine.create(f) coroutine.resume(co) coroutine.close(co)", "true")
code("closed_with_pending_close", 70000, "local c, mt = 0, {} mt.__close = function() c = c + 1 end local f = function() local x <close> = setmetatable({}, mt) coroutine.yield() end", "local co = coroutine.create(f) coroutine.resume(co) coroutine.close(co)", "c == n")
code("status", 800000, "local co, r = coroutine.create(print)", "r = coroutine.status(co)", "r == 'suspended'")
code("running", 1500000, "local co", "co = coroutine.running()", "co")
code("isyieldable", 1000000, "local r", "r = coroutine.isyieldable()", "r == false")
code("resume_dead", 450000, "local co, ok = coroutine.wrap(function() end) co() co = coroutine.create(function() end) coroutine.resume(co)", "ok = coroutine.resume(co)", "not ok")
code("producer_and_consumer", 100000, "local producer = coroutine.wrap(function() local k = 0 while true do k = k + 1 coroutine.yield(k) end end) local filter = coroutine.wrap(function() while true do coroutine.yield(producer() * 2) end end) local r", "r = filter()", "r == 2 * n")
code("chain_of_10", 25000, "local f = coroutine.wrap(function() while true do coroutine.yield(1) end end) for j = 1, 10 do local g = f f = coroutine.wrap(function() while true do coroutine.yield(g() + 1) end end) end local r", "r = f()", "r == 11")
pattern("scheduler_of_100", 2000, function(n)
  local tasks, done = {}, 0
  for i = 1, 100 do tasks[i] = coroutine.create(function() for _ = 1, n do coroutine.yield() end done = done + 1 end) end
  while #tasks > 0 do
    for i = #tasks, 1, -1 do
      coroutine.resume(tasks[i])
      if coroutine.status(tasks[i]) == "dead" then table.remove(tasks, i) end
    end
  end
  assert(done == 100)
end)
pattern("many_suspended", 30000, function(n)
  local all = {}
  for i = 1, n do all[i] = coroutine.wrap(function(x) coroutine.yield(x) return x + 1 end) all[i](i) end
  for i = 1, n do assert(all[i]() == i + 1) end
end)
code("permutation_generator", 150, "local function gen(a, k) if k == 0 then coroutine.yield(a) else for j = 1, k do a[j], a[k] = a[k], a[j] gen(a, k - 1) a[j], a[k] = a[k], a[j] end end end local c", "c = 0 for p in coroutine.wrap(function() gen({1, 2, 3, 4, 5, 6}, 6) end) do c = c + 1 end", "c == 720")
