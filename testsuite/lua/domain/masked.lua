-- SPDX-License-Identifier: MIT
-- domain.masked: a part that cancelling and SIGINT wait for.
local domain = require "saros.domain"
local fails = require "_fails"

-- Arguments, results, errors
assert(select("#", domain.masked(function(...) return ... end)) == 0)
local a, b, c = domain.masked(function(x, y) return y, x, nil end, 1, 2)
assert(a == 2 and b == 1 and c == nil)
fails("function expected", domain.masked, 1)
fails("out", domain.masked, function() error("out", 0) end)
fails("attempt to yield", coroutine.wrap(function() domain.masked(coroutine.yield) end))
local e = setmetatable({}, {})
local ok, caught = pcall(domain.masked, error, e)
assert(not ok and caught == e)
local traceback = select(2, xpcall(domain.masked, debug.traceback,
  function() local function inner() error("x") end inner() end))
assert(traceback:find("inner", 1, true), traceback)

-- Raises "domain was cancelled" once f has returned.
local function is_cancelled_after(f)
  local done = false
  local ok, message = pcall(function()
    domain.masked(function() f() done = true end)
    while true do end
  end)
  assert(not ok and message:find("domain was cancelled", 1, true), message)
  assert(done)
end

local function cancel_me()
  domain.self():cancel()
  for _ = 1, 100 do math.abs(1) end
end
is_cancelled_after(cancel_me)
-- Nested: the outermost counts. An error ends the inner ones.
is_cancelled_after(function()
  domain.masked(cancel_me)
  for _ = 1, 1000 do math.abs(1) end
  pcall(domain.masked, function() domain.masked(error) end)
  for _ = 1, 1000 do math.abs(1) end
end)
-- In coroutines and C functions that call back
is_cancelled_after(function()
  local co = coroutine.wrap(function() while true do cancel_me() coroutine.yield() end end)
  for _ = 1, 10 do co() end
  ;("x"):rep(100):gsub("x", function() cancel_me() end)
end)
-- What it returns is not lost.
do
  local got
  local ok = pcall(function()
    got = domain.masked(function() cancel_me() return "result" end)
    while true do end
  end)
  assert(not ok and got == "result")
end
-- An error ends it: what waited is raised then.
do
  local ok, message = pcall(function()
    pcall(domain.masked, function() cancel_me() error "other" end)
    while true do end
  end)
  assert(not ok and message:find("domain was cancelled", 1, true))
end

-- Waits inside last as long as they would have.
local function cancelled_while_waiting(wait, finish)
  local h = domain.spawn(function(wait, ...)
    local domain = require "saros.domain"
    local result
    local ok, message = pcall(function(...)
      result = domain.masked(wait, ...)
      while true do end
    end, ...)
    assert(not ok and message:find("domain was cancelled", 1, true), message)
    return result
  end, wait)
  while h.status ~= "waiting" do end
  h:cancel()
  h:cancel()
  domain.sleep(0.02)
  assert(h.status == "waiting", h.status)
  if finish then finish() end
  return h:join()
end
local ch, full = domain.channel(), domain.channel(1)
full:send "first"
assert(cancelled_while_waiting(function() return ch:receive() end,
  function() ch:send "message" end) == "message")
assert(cancelled_while_waiting(function() return ch:receive(10) end,
  function() ch:send "other" end) == "other")
assert(cancelled_while_waiting(function() return select(2, ch:receive(0.1)) end) == "timeout")
assert(cancelled_while_waiting(function() return full:send "second" end,
  function() full:receive() end) == true)
assert(full:receive() == "second")
assert(cancelled_while_waiting(function()
    return select(2, require "saros.domain".select({ch, full}))
  end,
  function() full:send "third" end) == "third")
assert(cancelled_while_waiting(function()
  local domain = require "saros.domain"
  local before = domain.now()
  domain.sleep(0.2)
  return domain.now() - before
end) >= 0.2)
local other = domain.spawn(function() return ch:receive() end)
assert(cancelled_while_waiting(function()
  return require "saros.domain".spawn(function() return ch:receive() end):join()
end, function() ch:send(1) ch:send(1) end) == 1)
assert(other:join() == 1)

-- A deadlock is not masked: no domain will ever end the wait.
fails("deadlock", domain.masked, function()
  local c = domain.channel()
  local h = domain.spawn(function() return c:receive() end)
  h:join()
end)
