-- SPDX-License-Identifier: MIT
-- Floods the user ring; collects now and then, so that the runtime ring gets events
-- but does not go round. Prints how many user events and collections there were.
local eventring = require "saros.eventring"
collectgarbage("stop")
io.open("go"):close() -- a named pipe: until someone opens it for writing
local n, collections = tonumber(arg[1]), 10
for i = 1, n do
  eventring.begin_span("outer")
  eventring.counter("i", i)
  eventring.begin_span("inner")
  if i % (n // collections) == 0 then collectgarbage() end
  eventring.end_span("inner")
  eventring.event("tick")
  eventring.end_span("outer")
end
print(n * 6, collections)
