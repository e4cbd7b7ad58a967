-- SPDX-License-Identifier: MIT
-- Runs thousands of collections and counts them by its own callbacks. Prints a
-- line `PHASE COUNT` for each phase, counting the spans that ended before it was
-- done, and `done NS`.
local eventring = require "saros.eventring"

local collections = tonumber(arg[1])
local ends = {} -- {phase, ns} of each span that ended
local done
local lost = 0

local callbacks = {
  runtime_end = function(_, ns, phase) ends[#ends + 1] = {phase, ns} end,
  lost_events = function(_, count) lost = lost + count end,
  user_event = function(_, ns, name) if name == "done" then done = ns end end,
}

local cursor = eventring.cursor()
local kept = {}
for i = 1, collections do
  local garbage
  for j = 1, 200 do garbage = {j, {i}, "text " .. j} end
  kept[i % 1000 + 1] = garbage
  collectgarbage("step")
  if i % 50 == 0 then cursor:poll(callbacks) end
end
eventring.event("done")
while cursor:poll(callbacks) > 0 and not done do end
cursor:close()

local counts = {}
for _, span in ipairs(ends) do
  local phase, ns = span[1], span[2]
  if ns <= done then counts[phase] = (counts[phase] or 0) + 1 end
end
for phase, count in pairs(counts) do print(phase, count) end
print("done", done)
print("lost", lost)
