-- SPDX-License-Identifier: MIT
-- Counts its own spans by phase while it collects thousands of times, and
-- prints "phase count" lines; see test_three_ways.sh.
local eventring = require "saros.eventring"
local begins, ends, lost = {}, {}, 0
local callbacks = {
  runtime_begin = function(_, _, phase) begins[phase] = (begins[phase] or 0) + 1 end,
  runtime_end = function(_, _, phase) ends[phase] = (ends[phase] or 0) + 1 end,
  lost_events = function(_, count) lost = lost + count end,
}
local cursor = assert(eventring.cursor())
while true do -- until the one outside has attached
  local go = io.open("go")
  if go then go:close() break end
end

local keep, rounds = {}, tonumber(arg[1])
for i = 1, rounds do
  for j = 1, 400 do keep[(i * 400 + j) % 20000 + 1] = {i, j, {tostring(i) .. ":" .. j}} end
  if i % 16 == 0 then collectgarbage("step") end
  if i % 512 == 0 then collectgarbage() end
  if i % 32 == 0 then cursor:poll(callbacks) end
end
collectgarbage("stop")
while cursor:poll(callbacks) > 0 do end
eventring.stop() -- nothing is recorded after what was counted
for phase, count in pairs(ends) do
  assert(begins[phase] == count, phase .. ": begins and ends differ")
  print(phase, count)
end
assert(lost == 0, "events were lost")
