-- SPDX-License-Identifier: MIT
-- Messages not received yet belong to the sender's handle: channels that are dropped with
-- them are collected in time, and what has been received counts no more.
local domain = require "saros.domain"
local slowness = tonumber(os.getenv "TEST_SLOWNESS" or 1)

local function counted() return collectgarbage "count" / 1024 end
local text = ("x"):rep(64 << 10) -- sending it allocates nothing in this heap

-- Dropped channels with 64 KiB each
local most = counted()
local seen = setmetatable({}, {__mode = "k"})
for i = 1, 20000 // slowness do
  local channel = domain.channel()
  channel:send(text)
  seen[channel] = true
  if i % 512 == 0 then
    local alive = 0
    for _ in pairs(seen) do alive = alive + 1 end
    assert(alive < 400, alive) -- 25 MiB
  end
end
seen = nil

-- Counted while they are in it, and after that no more
collectgarbage() collectgarbage()
local before = counted()
local channel, more = domain.channel(), domain.channel()
for _ = 1, 100 do channel:send(text) end
assert(counted() - before > 6, counted() - before)
for _ = 1, 50 do more:send(channel:receive()) end
collectgarbage()
assert(math.abs(counted() - before - 6.3) < 0.6, counted() - before)
for _ = 1, 50 do channel:receive() more:receive() end
collectgarbage()
assert(math.abs(counted() - before) < 0.5, counted() - before)

-- Another domain receives
local worker = domain.spawn(function(from, n)
  for _ = 1, n do from:receive() end
end, channel, 2000)
for _ = 1, 2000 do channel:send(text) end
worker:join()
collectgarbage()
assert(math.abs(counted() - before) < 0.5, counted() - before)

-- A domain with a limit cannot fill the machine with messages, and what has been received
-- is no reason to refuse it memory
local ok, message = domain.spawn({memory = 8 << 20}, function(to, piece)
  local ok, message = pcall(function()
    for _ = 1, 1000 do to:send(piece) end
  end)
  return ok, message
end, domain.channel(2000), text):join()
assert(not ok and message == "not enough memory", message)

local bulk = domain.channel(100)
local limited = domain.spawn({memory = 12 << 20}, function(to, start, piece)
  for _ = 1, 100 do to:send(piece) end
  start:receive()
  local own = {}
  for i = 1, 100 do own[i] = piece .. i end
  return #own
end, bulk, more, text)
for _ = 1, 100 do bulk:receive() end
more:send(true)
assert(limited:join() == 100)
