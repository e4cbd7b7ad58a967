-- SPDX-License-Identifier: MIT
-- measure and expect: what a call costs, and what it may cost.
local eventring = require "saros.eventring"

local function raises(pattern, f, ...)
  local ok, message = pcall(f, ...)
  assert(not ok and tostring(message):find(pattern), message)
end

raises("value expected", eventring.measure)
raises("column 10: a time needs its unit", eventring.expect, "pause > 5", print)
raises("a rule is not a string", eventring.expect, { 1 }, print)
raises("table expected", eventring.expect, 5, print)
assert(eventring.path() == nil)

-- Where each allocation collects, many would have more events than the rings hold.
local N = (tonumber(os.getenv "TEST_SLOWNESS") or 1) > 1 and 50 or 2000
local kept
local function work(a, b)
  kept = {}
  for i = 1, N do kept[i] = { i } end
  collectgarbage()
  return a, nil, b
end

-- nothing is recorded: a recording for as long as it takes
local m = eventring.measure(work, 1, 2)
assert(eventring.path() == nil)
assert(m.results.n == 3 and m.results[1] == 1 and m.results[2] == nil and m.results[3] == 2)
assert(m.time_ns > 0 and m.cpu_ns > 0 and math.type(m.cpu_ns) == "integer" and m.words > 2 * N and m.major >= 1 and m.pauses > 0 and m.lost == 0)
assert(m.longest_pause_ns > 0 and m.gc_ns >= m.longest_pause_ns)
assert(m.phases.mark.count >= 1 and m.phases.mark.longest_ns <= m.phases.mark.ns)

assert(eventring.start())
local quiet = eventring.measure(function() end)
assert(quiet.results.n == 0 and quiet.lost == 0 and quiet.words < m.words)

-- expectations
assert(select("#", eventring.expect("count(major) >= 1", work, 1, 2)) == 3)
raises("expected count%(major%) == 0: it was %d", eventring.expect, "count(major) == 0", work)
raises("expected count%(major%) == 0.*expected max%(pause%) < 1ns: it was", eventring.expect,
       { "count(major) == 0", "lost == 0", "max(pause) < 1ns" }, work)
raises("nothing is called nowhere", eventring.expect, "p99(nowhere) < 1s", work)
eventring.expect({ 'count(span("request")) == 2', 'counter("queue") <= 3' }, function()
  for i = 2, 3 do
    eventring.span("request", eventring.counter, "queue", i)
  end
end)
eventring.expect('count(span("request")) == 0', function() end) -- of this call alone

-- errors pass, and coroutines may yield within
raises("mine", eventring.measure, error, "mine")
raises("mine", eventring.expect, "lost == 0", error, "mine")
local co = coroutine.wrap(function()
  return eventring.expect("count(event) == 0", function() return coroutine.yield(1) end)
end)
assert(co() == 1 and co(7) == 7)
local left = coroutine.create(function() eventring.measure(coroutine.yield) end)
coroutine.resume(left)
assert(coroutine.close(left))

-- within each other
local outer = eventring.measure(function()
  return eventring.measure(work, 1).major
end)
assert(outer.major >= outer.results[1])
assert(eventring.stop())
