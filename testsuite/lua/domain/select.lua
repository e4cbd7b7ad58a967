-- SPDX-License-Identifier: MIT
-- domain.select over several channels.
local domain = require "saros.domain"
local a, b, c = domain.channel(), domain.channel(), domain.channel(0)

-- without waiting: the first that has a message
b:send("b")
local ch, v = domain.select({a, b, c})
assert(ch == b and v == "b")
a:send(1)
b:send(2)
ch, v = domain.select({b, a}, 0)
assert(ch == b and v == 2)
ch, v = domain.select({b, a}, 0)
assert(ch == a and v == 1)
ch, v = domain.select({a, b}, 0)
assert(ch == nil and v == "timeout")

-- orphaned when all of them are
local ok, message = pcall(domain.select, {a, b})
assert(not ok and message:find("orphaned", 1, true))

-- waiting, from other domains
local senders = {}
for i, channel in ipairs {a, b, c} do
  senders[i] = domain.spawn(function()
    for k = 1, 100 do channel:send({i, k}) end
  end)
end
local last = {0, 0, 0}
for n = 1, 300 do
  local ch, v = domain.select({a, b, c})
  assert(ch == ({a, b, c})[v[1]] and v[2] == last[v[1]] + 1)
  last[v[1]] = v[2]
end
for _, h in ipairs(senders) do h:join() end

-- a closed and empty one is returned as such
a:close()
ch, v, message = domain.select({b, a})
assert(ch == a and v == nil and message == "closed")

-- several that select the same channels: each message arrives once, and no wake-up is
-- lost
local x, y, done = domain.channel(1), domain.channel(1), domain.channel(400)
local workers = {}
for i = 1, 4 do
  workers[i] = domain.spawn(function()
    local n = 0
    while true do
      local ch, v, why = domain.select({x, y})
      if why == "closed" then return n end
      n = n + 1
      done:send(v)
    end
  end)
end
for i = 1, 200 do
  x:send(i)
  y:send(-i)
end
local sum = 0
for i = 1, 400 do sum = sum + done:receive() end
assert(sum == 0)
x:close()
local n = 0
for i = 1, 4 do n = n + workers[i]:join() end
assert(n == 400)
