-- SPDX-License-Identifier: MIT
-- The module saros.profile: counts of calls are exact, in all ways into and out of a call.
local profile = require "saros.profile"
assert(package.loaded.profile == nil or package.loaded.profile == profile)

local SLOW = tonumber(os.getenv "TEST_SLOWNESS" or "1") > 4

local function row(report, name)
  for _, r in ipairs(report.rows) do if r.name == name then return r end end
end
local function count(report, name) local r = row(report, name) return r and r.count or 0 end

-- f is profiled; the report, and that its figures agree
local function profiled(f, options)
  local p = profile.start(options)
  f()
  p:stop()
  local report, sum = p:report(), 0
  for _, r in ipairs(report.rows) do
    assert(r.exclusive >= 0 and r.inclusive >= 0 and r.count >= 0, r.name)
    assert(r.inclusive <= report.total + #report.rows, r.name)
    assert(not r.min or r.min <= r.max, r.name)
    sum = sum + r.exclusive
  end
  sum = sum + report.outside
  -- each was rounded down
  assert(sum <= report.total and sum + #report.rows + 2 >= report.total, sum)
  assert(report.lost_calls == 0 and report.lost == 0 and not report.budget_full)
  return report
end

-- functions of Lua and C, recursion
local function leaf(n) return n end
local function fib(n) if n < 2 then return (leaf(n)) end return fib(n - 1) + fib(n - 2) end
local r = profiled(function() fib(10) string.rep("x", 3) string.rep("x", 3) end)
assert(count(r, "fib") == 177 and count(r, "leaf") == 89 and count(r, "string.rep") == 2)
assert(row(r, "fib").inclusive >= row(r, "leaf").inclusive)
assert(row(r, "fib").line == debug.getinfo(fib, "S").linedefined)

-- recursion to the limit: two nodes, and a frame for each call
if not SLOW then
  local function deep(n) if n == 0 then return 0 end return 1 + deep(n - 1) end
  r = profiled(function() for _ = 1, 2 do deep(150000) end end)
  assert(count(r, "deep") == 2 * 150001)
  local again
  local function over(n) return 1 + again(n + 1) end
  function again(n) return 1 + over(n + 1) end
  r = profiled(function() assert(not pcall(over, 0)) end, {budget = 64 << 20})
  assert(count(r, "over") > 1000 and math.abs(count(r, "over") - count(r, "again")) <= 1)
end

-- tail calls: each is counted, the depth stays
local TAILS <const> = SLOW and 1000 or 1000000
local function tail(n) if n == 0 then return 0 end return tail(n - 1) end
r = profiled(function() tail(TAILS) end)
assert(count(r, "tail") == TAILS + 1)

-- metamethods, __call
local mt = {}
local first = debug.getinfo(1, "l").currentline + 1
function mt.__index(t, k) return (leaf(k)) end
function mt.__call(self, x) return x end
function mt.__lt() return true end
local last = debug.getinfo(1, "l").currentline - 1
local object = setmetatable({}, mt)
r = profiled(function()
  for i = 1, 5 do local _ = object[i], object(i), object < object end
end)
assert(count(r, "leaf") == 5)
local counted = 0
for _, row in ipairs(r.rows) do
  if row.source:find "profile.lua" and row.line >= first and row.line <= last then counted = counted + row.count end
end
assert(counted == 15, counted)

-- errors through many frames, handlers, __close
local function deep(n) if n == 0 then error("deep", 0) end deep(n - 1) return nil end
local function handler(e) return e .. "!" end
local function failing_close() local x <close> = setmetatable({}, {__close = function() error "closing" end}) end
r = profiled(function()
  for i = 1, 3 do assert(not pcall(deep, 50)) end
  local ok, e = xpcall(deep, handler, 50)
  assert(not ok and e == "deep!")
  assert(not pcall(failing_close))
  assert(not pcall(error))
  leaf(1)
end)
assert(count(r, "deep") == 4 * 51 and count(r, "handler") == 1 and count(r, "leaf") == 1)
assert(count(r, "failing_close") == 1 and count(r, "pcall") == 5 and count(r, "xpcall") == 1)

-- coroutines: the time in which one is suspended is nobody's of its own
local function body(a) for i = 1, 4 do a = coroutine.yield(leaf(a)) end return "done" end
local function busy(n) local s = 0 for i = 1, n do s = s + i end return s end
r = profiled(function()
  local co = coroutine.create(body)
  for i = 1, 5 do assert(coroutine.resume(co, i)) busy(20000) end
  assert(coroutine.status(co) == "dead")
  local closed = coroutine.create(function() coroutine.yield() end)
  coroutine.resume(closed)
  assert(coroutine.close(closed))
  local failing = coroutine.create(deep)
  assert(not coroutine.resume(failing, 10))
  local wrapped = coroutine.wrap(body)
  for i = 1, 5 do wrapped(i) end
  assert(not pcall(wrapped))
end)
assert(count(r, "coroutine.resume") == 7 and count(r, "coroutine.yield") == 9)
assert(count(r, "deep") == 11 and count(r, "leaf") == 8 and count(r, "busy") == 5)
assert(row(r, "body").suspended > 0 and row(r, "body").suspended <= r.total)
assert(row(r, "busy").suspended == 0)
assert(count(r, "wrapped_coroutine") == 6)

-- a coroutine that others resume, started before the profile
local early = coroutine.wrap(function() while true do leaf(1) coroutine.yield() end end)
early()
r = profiled(function()
  local function first() early() end
  local function second() early() end
  first() second() first()
end)
assert(count(r, "leaf") == 3 and count(r, "first") == 2 and count(r, "second") == 1)

-- yields across pcall and metamethods, iterators
r = profiled(function()
  local co = coroutine.wrap(function()
    pcall(function() coroutine.yield(1) leaf(2) end)
    local t = setmetatable({}, {__index = function() coroutine.yield(2) return (leaf(3)) end})
    local _ = t.x
    for i in function(_, k) coroutine.yield(3) if k < 2 then return k + 1 end end, nil, 0 do leaf(i) end
    return 4
  end)
  repeat until co() == 4
end)
assert(count(r, "leaf") == 4, count(r, "leaf"))

-- calls from C; finalizers and the collector
local sorted = 0
r = profiled(function()
  local t = {}
  for i = 1, 50 do t[i] = (i * 37) % 51 end
  table.sort(t, function(a, b) sorted = sorted + 1 return a < b end)
  setmetatable({}, {__gc = function() leaf(1) end})
  collectgarbage()
  collectgarbage()
end)
assert(row(r, "(collector)") and row(r, "(finalizers)"))
assert(count(r, "table.sort") == 1 and count(r, "collectgarbage") == 2)

-- hooks on and off meanwhile
r = profiled(function()
  debug.sethook(function() end, "crl")
  fib(5)
  debug.sethook()
  fib(5)
end)
assert(count(r, "fib") == 30)

-- started in the middle of many frames, stopped in the middle of others
local p
local function down(n)
  if n == 0 then p = profile.start() leaf(1) return 0 end
  return 1 + down(n - 1)
end
down(100)
local function up(n) if n == 0 then p:stop() return 0 end return 1 + up(n - 1) end
up(100)
r = p:report()
assert(row(r, "down").began_before == 101 and row(r, "down").count == 0)
assert(count(r, "up") == 101 and count(r, "leaf") == 1)
leaf(1)
assert(count(p:report(), "leaf") == 1) -- it is over
assert(p:stop() == p)

-- stopped by another coroutine than it was started by
coroutine.wrap(function() p = profile.start() leaf(1) coroutine.yield() end)()
leaf(2)
coroutine.wrap(function() leaf(3) p:stop() leaf(4) end)()
assert(count(p:report(), "leaf") == 3)

-- begun and ended again: what is called in between is in neither; none while there is one
local function f2() end
local function f1() f2() end
local function f0() f1() end
for _ = 1, 3 do
  p = profile.start()
  assert(not pcall(profile.start))
  f0()
  p:stop()
  f0()
  r = p:report()
  assert(count(r, "f0") == 1 and count(r, "f1") == 1 and count(r, "f2") == 1)
end

-- options
r = profiled(function() fib(5) leaf(1) end, {include = {"fib", "leaf"}})
assert(count(r, "fib") == 15 and count(r, "leaf") == 9 and not row(r, "stop"))
r = profiled(function() fib(5) leaf(1) end, {exclude = "fi*"})
assert(not row(r, "fib") and count(r, "leaf") == 9)
r = profiled(function() fib(5) end, {cpu = true, budget = 1 << 20})
assert(r.cpu and count(r, "fib") == 15)
p = profile.start {least = 1000}
fib(3)
p:stop()
for _, row in ipairs(p:report().rows) do assert(row.began_before > 0, row.name) end
assert(not pcall(profile.start, {bogus = 1}))
local _, why = pcall(profile.start, {budgett = 1})
assert(why:find("no option 'budgett'; did you mean 'budget'?", 1, true), why)
local function refuses(text, options)
  local ok, why = pcall(profile.start, options)
  assert(not ok and why:find(text, 1, true), why)
end
refuses("field 'budget' must be at least 65536 bytes, got 1)", {budget = 1})
refuses("field 'budget' is not a number", {budget = {}})
refuses("field 'least' must be at least 0 seconds, got -0.5)", {least = -0.5})
assert(not pcall(profile.start, {include = 5}))
assert(not pcall(profile.start, {exclude = {{}}}))
p = profile.start()
local ok, e = pcall(profile.start)
assert(not ok and e:find "profiled already")
p = nil
collectgarbage() -- ends it
local again <close> = profile.start()

-- more paths than the budget has room for: calls are counted all the same
again:stop()
local MANY <const> = SLOW and 400 or 2000
p = profile.start {budget = 65536}
local function node(a) return a end
for i = 1, MANY do load("local f = ... f(1)")(node) end
p:stop()
r = p:report()
local sum, own = 0, r.outside
for _, row in ipairs(r.rows) do
  sum, own = sum + row.count, own + row.exclusive
  assert(row.inclusive >= row.exclusive and row.inclusive <= r.total, row.name)
end
-- (in the build that collects everywhere, collections are among them)
assert(sum >= 3 * MANY and (SLOW or sum <= 3 * MANY + 10), sum)
assert(own <= r.total and own + #r.rows + 1 >= r.total, own)
assert(r.budget_full and r.lost_calls > 0 and r.lost_calls < sum and r.lost < r.total)
assert(count(r, "node") == MANY and count(r, "load") == MANY) -- each has a place of its own
assert(count(r, "(other)") > 0 and tostring(r):find "option budget")

-- run
local report, a, b = profile.run(function(x, y) return leaf(x), y end, 1, 2)
assert(a == 1 and b == 2 and count(report, "leaf") == 1)
ok, e = pcall(profile.run, function() error("in run", 0) end)
assert(not ok and e == "in run")
assert(tostring(report):find "leaf")
profile.start():stop()
