-- SPDX-License-Identifier: MIT
-- A cancellation loses no message: it is raised before one is taken, or after the program
-- has it; and a send that raises has not delivered.
local domain = require "saros.domain"
local slowness = tonumber(os.getenv "TEST_SLOWNESS") or 1

-- ---- asked for while the message is decoded: the earliest moment after it was taken
-- ----

-- The receiver of the module loads it, and that asks for the cancellation.
local loaded_module = {}
package.loaded["asks_to_be_cancelled"] = loaded_module

-- Runs f(c, keep) in a domain that is cancelled in the middle of c:receive(). All that it
-- keeps must be the message; it must have been cancelled nevertheless.
local function is_kept(f, ...)
  local c = domain.channel()
  local h = domain.spawn(function(f, ...)
    local domain = require "saros.domain"
    package.preload.asks_to_be_cancelled = function()
      domain.self():cancel()
      for _ = 1, 100 do math.abs(1) end
      return {}
    end
    local kept = {}
    local ok, message = pcall(function(...)
      f(c, function(m) kept[#kept + 1] = m end, ...)
      while true do end
    end, ...)
    assert(not ok and message:find("domain was cancelled", 1, true), message)
    return #kept, kept[1] and kept[1].text, #c
  end, f, ...)
  c:send {text = "message", module = loaded_module}
  local n, text, left = h:join()
  assert(n == 1 and text == "message" and left == 0, n)
end

local ways = {
  function(c, keep) local got = c:receive() keep(got) end,
  function(c, keep) local got got = c:receive(10) keep(got) end,
  function(c, keep)
    while true do
      local got = c:try_receive()
      if got then return keep(got) end
    end
  end,
  function(c, keep) keep(c:receive()) end,
  function(c, keep) keep((c:receive())) end,
  function(c, keep) keep(assert(c:receive())) end,
  function(c, keep) local t = {} t.field = c:receive() keep(t.field) end,
  function(c, keep) local t = {c:receive()} keep(t[1]) end,
  function(c, keep) local t = {} table.insert(t, c:receive()) keep(t[1]) end,
  function(c, keep) for m in c:values() do keep(m) break end end,
  function(c, keep) local _, m = require "saros.domain".select({c}) keep(m) end,
  function(c, keep) local function get() return c:receive() end keep(get()) end,
  function(c, keep) local function get() local m = c:receive() return m end
  local got = get() keep(got) end,
  function(c, keep) local ok, m = pcall(c.receive, c) keep(ok and m) end,
  function(c, keep) local ok, m = pcall(function() return c:receive() end) keep(ok and m) end,
  function(c, keep)
    local co = coroutine.wrap(function() coroutine.yield(c:receive()) end)
    keep(co())
  end,
  function(c, keep)
    local t = setmetatable({}, {__index = function() return c:receive() end})
    keep(t.message)
  end,
}
for i, f in ipairs(ways) do
  local ok, message = pcall(is_kept, f)
  assert(ok, ("way %d: %s"):format(i, message))
end

-- It is put off once: receiving all the time does not keep it off.
do
  local c = domain.channel()
  local h = domain.spawn(function()
    local function turn()
      c:send(1)
      c:receive()
      return turn()
    end
    turn()
  end)
  domain.sleep(0.01)
  h:cancel()
  local ok, message = pcall(h.join, h)
  assert(not ok and message:find("domain was cancelled", 1, true))
end

-- ---- one message against one cancellation, at any moment ----

local receivers = {
  function(c) return c:receive() end,
  function(c) local m = c:receive(10) return m end,
  function(c) for m in c:values() do return m end end,
  function(c) local _, m = require "saros.domain".select({c}) return m end,
  function(c) local t = {} table.insert(t, c:receive()) return t[1] end,
  function(c) local _, m = pcall(c.receive, c) return m end,
}

local rounds, seed = math.max(6000 // slowness, 300), 1
local function spend(n) for _ = 1, n do seed = (seed * 1103515245 + 12345) & 0x7fffffff end end
for i = 1, rounds do
  local c = domain.channel(1)
  local h = domain.spawn(function(receive)
    local got
    local ok, message = pcall(function()
      got = receive(c)
      while true do end
    end)
    return got, c:try_receive(), ok
  end, receivers[i % #receivers + 1])
  spend(seed % 1500)
  c:send(i)
  spend(seed % 300)
  h:cancel()
  local got, left = h:join()
  if i % #receivers == 5 and math.type(got) ~= "integer" then got = nil end -- what pcall caught
  assert((got == i and left == nil) or (got == nil and left == i),
    ("round %d: %s, %s"):format(i, got, left))
end

-- Sending: either it raises or the message is in the channel.
for i = 1, rounds // 3 do
  local c = domain.channel(i % 2)
  local started = domain.channel()
  local h = domain.spawn(function()
    local sent
    pcall(function()
      started:send(true)
      sent = pcall(function() c:send(i) end)
      while sent do end -- it was not cancelled yet
    end)
    return sent == true
  end)
  started:receive()
  local m
  spend(seed % 300)
  if i % 2 == 0 then m = c:receive(0.0001 * (seed % 3)) end
  h:cancel()
  local sent = h:join()
  m = m or c:try_receive()
  assert(sent == (m == i), ("round %d: sent %s, there is %s"):format(i, sent, m))
end
