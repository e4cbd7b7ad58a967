-- SPDX-License-Identifier: MIT
-- What v3-heap recorded: sampled allocations with stacks, a profile of calls, named spans with
-- values, memory that is kept, and memory that dies.
local eventring = require "saros.eventring"
local kept = {}
local function make(n)
  local t = {}
  for i = 1, n do t[i] = { i, tostring(i) .. "x" } end
  return t
end
local function keep(n) kept[#kept + 1] = make(n) end
local function drop(n) return #make(n) end
for round = 1, 6 do
  eventring.begin_span("round", round)
  keep(60)
  drop(200)
  eventring.counter("kept", #kept)
  eventring.end_span("round")
end
collectgarbage()
local waiting = {}
for i = 1, 3 do
  waiting[i] = coroutine.create(function() coroutine.yield(i) end)
  coroutine.resume(waiting[i])
end
-- long enough for stacks to be recorded
local function busy() while os.clock() < 0.4 do keep(1) kept[#kept] = nil end end
busy()
if os.getenv "DIE" then
  eventring.begin_span("last")
  os.execute("kill -KILL " .. io.open("/proc/self/stat"):read("n"))
  while true do end
end
