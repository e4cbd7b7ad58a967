-- SPDX-License-Identifier: MIT
-- Domains that wait at channels which are garbage end when there is no room for another
-- one: spawn collects first.
local domain = require "saros.domain"

local started = 0
for i = 1, 400 do
  local channel = domain.channel()
  domain.spawn(function(c) for _ in c:values() do end end, channel)
  started = i
end
assert(started == 400)

-- Where the others are not garbage it is an error at once
collectgarbage()
while domain.count() > 1 do domain.sleep(0.01) end
local gate, handles = domain.channel(), {}
local ok, message
repeat
  ok, message = pcall(function()
    handles[#handles + 1] = domain.spawn(function() return gate:receive() end)
  end)
until not ok
assert(message:find("too many domains", 1, true), message)
assert(#handles == 127, #handles)
for _ = 1, #handles do gate:send(1) end
for _, h in ipairs(handles) do h:join() end
