-- SPDX-License-Identifier: MIT
-- pcall, xpcall, next, ipairs, resume, wrap and yield where the interpreter doesn't run
-- them in its own loop: called by C functions, and while hooks are on.

local function results(...) return select("#", ...), ... end

local function check_protected_calls()
  local n, ok, a, b = results(pcall(function(...) return ... end, 1, nil))
  assert(n == 3 and ok == true and a == 1 and b == nil)
  n, ok, a = results(pcall(error, "e", 0))
  assert(n == 2 and ok == false and a == "e")
  n, ok, a = results(pcall(nil))
  assert(n == 2 and not ok and a == "attempt to call a nil value")
  n, ok, a, b = results(xpcall(function(...) return ... end, print, 1, 2))
  assert(n == 3 and ok and a == 1 and b == 2)
  n, ok, a, b = results(xpcall(error, function(m) return m .. "!", "dropped" end, "e", 0))
  assert(n == 2 and ok == false and a == "e!")
  assert(not pcall(pcall) and not pcall(xpcall, print) and
    select(2, pcall(pcall, error, "inner")) == false)
  -- errors inside errors, closed variables
  local closed
  ok, a = pcall(function()
    local x <close> = setmetatable({},
      { __close = function(_, e) closed = e error("second", 0) end })
    error("first", 0)
  end)
  assert(not ok and a == "second" and closed == "first")
end

local function check_yields_across()
  local co = coroutine.wrap(function()
    local ok, a = pcall(function() local got = coroutine.yield("one") error(got, 0) end)
    local ok2, b = xpcall(function() return coroutine.yield("two") end, debug.traceback)
    local ok3, c = xpcall(function() error(coroutine.yield("three"), 0) end, function(m)
      return "handled " .. m
    end)
    return ok, a, ok2, b, ok3, c
  end)
  assert(co() == "one" and co("fail") == "two" and co("fine") == "three")
  local n, ok, a, ok2, b, ok3, c = results(co("bad"))
  assert(n == 6 and ok == false and a == "fail" and ok2 == true and b == "fine" and ok3 == false and
    c == "handled bad")
end

local function check_coroutines()
  local co = coroutine.create(function(...) local x = coroutine.yield(...) return x, "end" end)
  local n, ok, a, b = results(coroutine.resume(co, 1, 2))
  assert(n == 3 and ok and a == 1 and b == 2)
  n, ok, a, b = results(coroutine.resume(co, "x"))
  assert(n == 3 and ok and a == "x" and b == "end")
  n, ok, a = results(coroutine.resume(co))
  assert(n == 2 and ok == false and a == "cannot resume dead coroutine")
  local wrapped = coroutine.wrap(function() coroutine.yield(1) error("in it", 0) end)
  assert(wrapped() == 1 and select(2, pcall(wrapped)) == "in it" and not pcall(wrapped))
end

local function check_iteration()
  local seen = {}
  for k, v in next, { 10, 20, x = 30 } do seen[k] = v end
  assert(seen[1] == 10 and seen[2] == 20 and seen.x == 30)
  local sum = 0
  for i, v in ipairs(setmetatable({ 1 },
    { __index = function(_, i) return i <= 4 and i or nil end })) do sum = sum + i * v end
  assert(sum == 1 + 4 + 9 + 16)
end

local checks = { check_protected_calls, check_yields_across, check_coroutines, check_iteration }
for _, check in ipairs(checks) do check() end

-- while hooks are on, in the coroutines too
local create, wrap = coroutine.create, coroutine.wrap
local events = 0
local function count() events = events + 1 end
local function hooked(co) debug.sethook(co, count, "crl", 10) return co end
coroutine.create = function(f) return hooked(create(f)) end
coroutine.wrap = function(f)
  return wrap(function(...) debug.sethook(count, "crl", 10) return f(...) end)
end
debug.sethook(count, "crl", 10)
for _, check in ipairs(checks) do check() end
debug.sethook()
coroutine.create, coroutine.wrap = create, wrap
assert(events > 100)

-- called by C functions
local text = ""
string.gsub("ab", ".", function(c) text = text .. c end)
assert(string.gsub("x", ".", setmetatable({},
  { __index = function() return select(2, pcall(error, "y", 0)) end })) == "y")
assert(string.gsub("ab", "%a", wrap(function(c)
  while true do c = coroutine.yield(c .. c) end end)) == "aabb")
local t = { 3, 1, 2 }
table.sort(t, function(a, b) local ok, less = pcall(function() return a < b end) return less end)
assert(table.concat(t) == "123")
local co = create(function(a) return a end)
assert(select(2, string.gsub("x", ".",
  function() return select(2, coroutine.resume(co, "z")) end)) == 1)
assert(string.gsub("abc", ".", pcall) == "abc") -- pcall("a") gives false: the match stays
assert(load(wrap(function() coroutine.yield("return 1") coroutine.yield(" + 2") end))() == 3)

-- many values
local big = create(function(...) return select("#", ...) end)
local values = {}
for i = 1, 15000 do values[i] = i end -- (the stress build has stacks of 40,000)
assert(select(2, coroutine.resume(big, table.unpack(values))) == 15000)
local deep = create(function()
  local function fill(n, ...)
    if n > 0 then return fill(n - 1, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, ...) end
    return coroutine.yield(...)
  end
  return fill(200)
end)
assert(select("#", coroutine.resume(deep)) == 2001)
