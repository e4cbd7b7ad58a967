-- SPDX-License-Identifier: MIT
-- However many entries of weak tables die together, no step of the collector examines
-- more than a bounded number of them. Seen by the events of the program itself: the most
-- work that one step did, and how many spans the removal was spread over. What the bound
-- is: doc/COLLECTOR.md.

-- nothing is paced in such a build
if (tonumber(os.getenv "TEST_SLOWNESS") or 1) > 1 then return end
local eventring = require "saros.eventring"
if not eventring.start() then return end -- other tests report that

local entries, bound = 100000, 2560 << 10
local value_spans, key_spans = entries // 8192, entries // 4096 -- at least
local cursor = assert(eventring.cursor())

local function nothing() end

-- Not in the registers of its callers, where the dead might linger.
local function fill(make)
  local all, kept = {}, {}
  for i = 1, entries do make(i, all, kept) end
  collectgarbage() -- they are old
  return all, kept
end

-- Allocates until `done` and the cycle has ended; returns the most work of a step and the
-- number of spans of weak tables.
local function watch(done)
  local work, spans, ended = 0, 0, false
  local callbacks = {
    runtime_counter = function(_, _, name, value)
      if name == "pause_work" and value > work then work = value end
    end,
    runtime_begin = function(_, _, phase)
      if phase == "weak" then spans = spans + 1 end
    end,
    lifecycle = function(_, _, what)
      if what == "major_end" then ended = true end
    end,
    lost_events = function() error "events were lost" end,
  }
  cursor:poll { lost_events = nothing } -- what came before
  for round = 1, 1000000 do
    for i = 1, 100 do local t = { i, { i } } end
    if round % 50 == 0 then
      ended = false
      cursor:poll(callbacks)
      if ended and done() then break end
      assert(round < 1000000, "cycles end")
    end
  end
  return work, spans
end

local function check(what, least, work, spans)
  assert(work <= bound, string.format("%s: a step did %d KiB of work", what, work >> 10))
  assert(spans >= least, string.format("%s: %d spans", what, spans))
end

collectgarbage "incremental" -- cycles come soon

-- Keys that die, or both keys and values.
for _, both in ipairs { false, true } do
  local t = setmetatable({}, { __mode = "kv" })
  local all, values = fill(function(i, all, values)
    local key, value = {}, { i }
    all[i], t[key] = { key, value }, value
    if not both then values[i] = value end
  end)
  all = nil
  check("weak in both", value_spans + key_spans, watch(function() return next(t) == nil end))
  assert(#values == (both and 0 or entries))
end

-- Weak tables that only a dead object with a finalizer refers to.
for _, mode in ipairs { "v", "kv" } do
  local called
  local function build()
    local t = setmetatable({}, { __mode = mode })
    fill(function(i, all)
      local value = { i }
      all[i], t[mode == "v" and i or value] = value, value
      if i == entries then
        all[0] = setmetatable({ t },
          { __gc = function(holder) called = next(holder[1]) == nil end })
      end
    end)
  end
  build()
  check("revived, " .. mode, mode == "v" and value_spans or value_spans + key_spans,
    watch(function() return called ~= nil end))
  assert(called, "all are gone by then")
end

cursor:close()
eventring.stop()
print "OK"
