-- SPDX-License-Identifier: MIT
-- Cancelling: an error at the next safe point, wherever the domain is.
local domain = require "saros.domain"

local function is_cancelled(h)
  local ok, message = pcall(h.join, h)
  assert(not ok and message:find("domain was cancelled", 1, true), message)
  assert(h.status == "cancelled")
end

-- f is in the middle of its work, or has only begun, when it is cancelled.
local function cancel_after(seconds, f, ...)
  local started = domain.channel(1)
  local h = domain.spawn(function(f, ...)
    started:send(true)
    return f(...)
  end, f, ...)
  started:receive()
  if seconds > 0 then domain.sleep(seconds) end
  h:cancel()
  is_cancelled(h)
end
local function spawn_and_cancel(f) cancel_after(0, f) end
local function cancel_inside(f, argument) cancel_after(0.01, f, argument) end

local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
spawn_and_cancel(function() while true do end end)
spawn_and_cancel(function() for i = 1, math.huge do end end)
spawn_and_cancel(function() for i = 1, math.maxinteger do end end)
spawn_and_cancel(function() local t = {} while true do t = {t, {}} t[1][1] = nil end end)
spawn_and_cancel(function() fib(200) end)
spawn_and_cancel(function() local function loop() return loop() end loop() end)
spawn_and_cancel(function() repeat os.time() local s = ("x"):rep(100) .. "y" until false end)
spawn_and_cancel(function() for _ in function() return 1 end do end end)
spawn_and_cancel(function() ::again:: goto again end)
-- in coroutines, which are switched all the time
spawn_and_cancel(function()
  local co = coroutine.wrap(function() while true do coroutine.yield(1) end end)
  while true do co() end
end)
spawn_and_cancel(function()
  local co = coroutine.wrap(function() while true do end end)
  co()
end)
-- in C functions that call back
spawn_and_cancel(function()
  while true do os.time(); ("x"):gsub(".", function() return "y" end) end
end)

-- in C functions that do not, and run almost forever
local many = ("a"):rep(1000000)
local function endless()
  return setmetatable({}, {__len = function() return math.maxinteger // 2 end})
end
cancel_inside(function(s) s:find(("a?"):rep(60) .. ("a"):rep(60) .. "b") end, ("a"):rep(60))
cancel_inside(function(s) s:match ".-.-.-.-.-b" end, many)
cancel_inside(function(s) s:match ".*.*.*.*.*b" end, many)
cancel_inside(function(s) s:gsub("[a-c]*()[a-c]*()[a-c]*[0-9]", "") end, many)
cancel_inside(function(s) s:gsub(".-b", "") end, many)
cancel_inside(function(s) s:gsub("%baz", "") end, many)
cancel_inside(function(s) for _ in s:gmatch "a-b" do end end, many)
cancel_inside(function(s) s:find("(a*)%1b") end, many)
cancel_inside(function() table.move({}, 1, math.maxinteger // 2, 2) end)
cancel_inside(function() table.move({}, 1, math.maxinteger // 2, 1, {}) end)
cancel_inside(function(endless) table.insert(endless(), 1, 1) end, endless)
cancel_inside(function(endless) table.remove(endless(), 1) end, endless)

-- while it waits
local c, full = domain.channel(), domain.channel(1)
full:send(1)
local function cancel_waiting(f, ...)
  local h = domain.spawn(f, ...)
  while h.status ~= "waiting" do end
  h:cancel()
  is_cancelled(h)
end
cancel_waiting(function() c:receive() end)
cancel_waiting(function() c:receive(1000) end)
cancel_waiting(function() full:send(2) end)
cancel_waiting(function() domain.select({c, c}) end)
cancel_waiting(function() for v in c:values() do end end)
local other = domain.spawn(function() c:receive() end)
other:cancel()
is_cancelled(other)

-- it can be caught, once for each cancel; variables are closed
do
  local h = domain.spawn(function()
    local closed = false
    local ok, message = pcall(function()
      local guard <close> = setmetatable({}, {__close = function() closed = true end})
      c:receive()
    end)
    return ok, message, closed
  end)
  while h.status ~= "waiting" do end
  h:cancel()
  local ok, message, closed = h:join()
  assert(not ok and message:find("domain was cancelled", 1, true) and closed and h.status == "done")
end

-- of one that has ended: nothing
do
  local h = domain.spawn(function() return 1 end)
  h:join()
  h:cancel()
  assert(h:join() == 1)
end

-- of itself
do
  local ok, message = pcall(function() domain.self():cancel() for i = 1, 1000 do end end)
  assert(not ok and message:find("domain was cancelled", 1, true))
end
