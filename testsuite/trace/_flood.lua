-- Floods the user ring while it allocates; prints how many user events it wrote.
local eventring = require "eventring"
while true do
  local go = io.open("go")
  if go then go:close() break end
end
local n, keep = tonumber(arg[1]), {}
for i = 1, n do
  eventring.begin_span("outer")
  eventring.counter("i", i)
  eventring.begin_span("inner")
  keep[i % 1000 + 1] = {i}
  eventring.end_span("inner")
  eventring.event("tick")
  eventring.end_span("outer")
end
print(n * 6)
