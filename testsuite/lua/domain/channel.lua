-- SPDX-License-Identifier: MIT
-- Channels: order, capacity, several senders and receivers, closing, orphans, time
-- limits.
local domain = require "saros.domain"

-- order within one domain; # and capacity
do
  local c = domain.channel(3)
  assert(c:capacity() == 3 and #c == 0 and math.type(c:id()) == "integer")
  for i = 1, 3 do assert(c:try_send(i) == true) end
  local ok, why = c:try_send(4)
  assert(ok == false and why == "full" and #c == 3)
  ok, why = c:send(4, 0)
  assert(ok == false and why == "timeout")
  for i = 1, 3 do assert(c:receive() == i) end
  local v, why = c:try_receive()
  assert(v == nil and why == "empty")
  v, why = c:receive(0)
  assert(v == nil and why == "timeout")
end

-- far more messages than capacity, in order
do
  local c = domain.channel(4)
  local h = domain.spawn(function()
    local n = 0
    for v in c:values() do
      if v ~= n + 1 then return false, v end
      n = v
    end
    return n
  end)
  for i = 1, 2000 do c:send(i) end
  c:close()
  assert(h:join() == 2000)
end

-- without a buffer
do
  local c = domain.channel(0)
  local ok, why = c:try_send(1)
  assert(ok == false and why == "full")
  local h = domain.spawn(function()
    local sum = 0
    for v in c:values() do sum = sum + v end
    return sum
  end)
  for i = 1, 200 do c:send(i) end
  c:close()
  assert(h:join() == 20100)
end

-- many senders, many receivers: each message arrives once
do
  local work, results = domain.channel(5), domain.channel(5)
  local senders, receivers = {}, {}
  for s = 1, 4 do
    senders[s] = domain.spawn(function()
      for i = 1, 100 do work:send((s - 1) * 100 + i) end
    end)
  end
  for r = 1, 4 do
    receivers[r] = domain.spawn(function()
      local n = 0
      for v in work:values() do
        results:send(v)
        n = n + 1
      end
      return n
    end)
  end
  local seen = {}
  for i = 1, 400 do
    local v = results:receive()
    assert(not seen[v])
    seen[v] = true
  end
  work:close()
  local n = 0
  for r = 1, 4 do n = n + receivers[r]:join() end
  assert(n == 400 and #seen == 400)
  for s = 1, 4 do senders[s]:join() end
end

-- closing: waiting ones get the error
do
  local d = domain.channel(1)
  local waiting = {}
  for i = 1, 3 do waiting[i] = domain.spawn(function() return pcall(d.receive, d) end) end
  d:close()
  for i = 1, 3 do
    local ok, message = waiting[i]:join()
    assert(not ok and message:find("channel is closed", 1, true))
  end
  local full = domain.channel(1)
  full:send(1)
  local h = domain.spawn(function() return pcall(full.send, full, 2) end)
  while h.status ~= "waiting" do end
  full:close()
  local ok, message = h:join()
  assert(not ok and message:find("channel is closed", 1, true))
end

-- orphans: no other domain is left that could send or receive
do
  local c = domain.channel()
  local function is_orphan_error(ok, message)
    return not ok and message:find("orphaned", 1, true) ~= nil
  end
  assert(is_orphan_error(pcall(c.receive, c)))
  local h = domain.spawn(function() c:send(1) end) -- ends: so does its hold on the channel
  assert(c:receive() == 1)
  assert(is_orphan_error(pcall(c.receive, c)))
  h:join()
  -- full: sending would wait for ever
  local full = domain.channel(1)
  full:send(1)
  assert(is_orphan_error(pcall(full.send, full, 2)))
  -- a channel that lies in a message is not orphaned: the message can be received
  local outer, inner = domain.channel(), domain.channel()
  outer:send(inner)
  h = domain.spawn(function() outer:receive():send("found") end)
  assert(inner:receive() == "found")
  h:join()
  -- a message that was not received is freed with its channel, and what it holds
  h = domain.spawn(function()
    local lost = domain.channel()
    lost:send(inner)
  end)
  assert(is_orphan_error(pcall(inner.receive, inner)))
  h:join()
  -- handles are given up by the collector
  local other = domain.channel()
  h = domain.spawn(function(go)
    other = nil
    collectgarbage()
    collectgarbage()
    go:receive()
  end, c)
  assert(is_orphan_error(pcall(other.receive, other)))
  c:send(1)
  h:join()
  -- the loop over values ends
  local n = 0
  h = domain.spawn(function() for i = 1, 3 do inner:send(i) end end)
  for v in inner:values() do n = n + v end
  assert(n == 6)
  h:join()
end

-- time limits
do
  local c, stop = domain.channel(1), domain.channel()
  local keeper = domain.spawn(function() stop:receive() return c end)
  local v, why = c:receive(0.002)
  assert(v == nil and why == "timeout")
  assert(c:send(1, 100) == true)
  v, why = c:send(2, 0.002)
  assert(v == false and why == "timeout")
  assert(c:receive(100) == 1)
  stop:send(true)
  assert(keeper:join() == c)
end

-- requests with a channel for the reply
do
  local server = domain.channel()
  local h = domain.spawn(function()
    for request in server:values() do request.reply:send(request.n * 2) end
  end)
  for i = 1, 50 do
    local reply = domain.channel(1)
    server:send({n = i, reply = reply})
    assert(reply:receive() == 2 * i)
  end
  server:close()
  h:join()
end
