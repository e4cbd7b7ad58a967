-- SPDX-License-Identifier: MIT
-- Run with a bound on the address space (test_memory.sh): want of memory is an error that
-- can be caught, the program goes on, and garbage is never the cause of one.

local function exhausts(name, f)
  local ok, message = pcall(f)
  assert(not ok and message == "not enough memory", name .. ": " .. tostring(message):sub(1, 200))
  assert(collectgarbage("count") < 20000, name .. " left " .. collectgarbage("count"))
  -- as if nothing had been
  local t = {}
  for i = 1, 1000 do t[i] = {tostring(i)} end
  assert(#t == 1000 and t[1000][1] == "1000")
end

local function fits(name, f)
  local ok, message = pcall(f)
  assert(ok, name .. ": " .. tostring(message):sub(1, 200))
end

exhausts("a list", function() local l while true do l = {l} end end)
exhausts("an array", function() local t = {} for i = 1, math.huge do t[i] = i end end)
exhausts("floats as keys", function() local t = {} for i = 1, math.huge do t[i + 0.5] = i end end)
exhausts("long strings", function()
  local t = {} for i = 1, math.huge do t[i] = ("x"):rep(10000) .. i end
end)
exhausts("doubling", function() local s = "x" while true do s = s .. s end end)
exhausts("a large string", function() return ("x"):rep(1 << 30) end)
exhausts("a buffer", function() return (("x"):rep(1 << 20):gsub(".", ("y"):rep(1000))) end)
exhausts("closures", function()
  local f while true do local g = f f = function() return g end end
end)
exhausts("coroutines", function()
  local t = {}
  while true do t[#t + 1] = coroutine.wrap(function() coroutine.yield() end) t[#t]() end
end)
exhausts("in a coroutine", function()
  coroutine.wrap(function() local l while true do l = {l} end end)()
end)
exhausts("a padded string", function() return string.pack("c" .. (1 << 30), "") end)
do -- compiling
  local f, message = load(function() return ("x = 'a string' .. 1 "):rep(10000) end)
  assert(f == nil and message == "not enough memory", message)
end
do -- a handler that needs memory itself, and a traceback
  local ok, traceback = xpcall(function() local s = "x" while true do s = s .. s end end,
    debug.traceback)
  assert(not ok and tostring(traceback):find("not enough memory", 1, true), traceback)
end

fits("large strings, one at a time", function()
  for _ = 1, 30 do local s = ("x"):rep(10 << 20) assert(#s > 0) end
end)
fits("large tables, one at a time", function()
  for _ = 1, 20 do local t = {} for i = 1, 300000 do t[i] = i end end
end)
fits("large sums, one at a time", function()
  local s = ("x"):rep(5 << 20)
  for i = 1, 30 do local u = s .. i assert(#u > #s) end
end)

do -- records of finalizers: when they cannot grow, that is an error too, and all are called
  local called, registered = 0, 0
  local mt = { __gc = function() called = called + 1 end }
  for _ = 1, 3 do
    local list = {}
    local ok, message = pcall(function()
      while true do
        local object = setmetatable({}, mt)
        registered = registered + 1
        list[#list + 1] = object
      end
    end)
    assert(not ok and message == "not enough memory", message)
    list = nil
    -- calls the finalizers, as many as it can note; frees the objects
    for _ = 1, 6 do collectgarbage() end
  end
  assert(registered - called <= 1 and called > 100000, called .. " of " .. registered)
  local list = {}
  pcall(function() while true do list[#list + 1] = setmetatable({}, mt) end end)
  kept_until_the_end = list
end
