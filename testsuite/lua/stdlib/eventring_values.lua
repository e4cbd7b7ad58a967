-- SPDX-License-Identifier: MIT
-- What is written comes back: values of each kind, and numbers of another kind than the
-- first, which must not end a program only because it is recorded.
local eventring = require "eventring"
local domain = require "domain"

-- Unrecorded, the same calls do nothing.
local function write_all()
  eventring.counter("whole", 1)
  eventring.counter("whole", 2.0)
  eventring.counter("whole", 2.5)
  eventring.counter("whole", -2.5)
  eventring.counter("whole", math.huge)
  eventring.counter("whole", -math.huge)
  eventring.counter("whole", 0 / 0)
  eventring.counter("fraction", 0.5)
  eventring.counter("fraction", 3)
  eventring.counter("numeral", "12")
  eventring.counter("numeral", " 0x10 ")
  eventring.counter("numeral float", "1e1")
  eventring.event "bare"
  eventring.event("bare", nil)
  eventring.event("integer", math.mininteger)
  eventring.event("integer", 7.6)
  eventring.event("float", 1.25)
  eventring.event("float", 2)
  eventring.event("text", "a\0b\xff")
  eventring.event("text", "")
  eventring.event("text", 12)
  eventring.event("text", ("x"):rep(5000))
  eventring.event(5, 6)
end
write_all()
if not eventring.start() then return end -- told by other tests

local cursor = assert(eventring.cursor())
local seen = {}
local function note(_, ns, name, value)
  assert(math.type(ns) == "integer")
  seen[#seen + 1] = name .. "=" .. tostring(value)
end
write_all()
cursor:poll { user_counter = note, user_event = note }
local expected = {
  "whole=1", "whole=2", "whole=3", "whole=-3", "whole=" .. math.maxinteger, "whole=" .. math.mininteger, "whole=0",
  "fraction=0.5", "fraction=3.0", "numeral=12", "numeral=16", "numeral float=10.0",
  "bare=nil", "bare=nil", "integer=" .. math.mininteger, "integer=8", "float=1.25", "float=2.0",
  "text=a\0b\xff", "text=", "text=12", "text=" .. ("x"):rep(1008), "5=6",
}
for i = 1, math.max(#seen, #expected) do
  assert(seen[i] == expected[i], ("%d: %q instead of %q"):format(i, tostring(seen[i]), tostring(expected[i])))
end

-- The kind of number holds for all domains, whichever was first.
domain.spawn(function()
  local eventring = require "eventring"
  eventring.counter("whole", 0.75)
  eventring.counter("fraction", 4)
  eventring.event("integer", 0.25)
end):join()
seen = {}
cursor:poll { user_counter = note, user_event = note }
assert(table.concat(seen, " ") == "whole=1 fraction=4.0 integer=0", table.concat(seen, " "))

-- Results and errors pass through a span, which ends either way.
local begun, ended = 0, 0
assert(select("#", eventring.span("s", function(...) return ... end, 1, nil, nil)) == 3)
local ok, value = pcall(eventring.span, "s", error, seen)
assert(not ok and value == seen)
assert(coroutine.wrap(function() return eventring.span("s", function() return coroutine.yield(3) end) end)() == 3)
cursor:poll { user_begin = function() begun = begun + 1 end, user_end = function() ended = ended + 1 end }
assert(begun == 3 and ended == 2)

-- What a recording says of itself, while it lasts and afterwards.
local info = cursor:info()
assert(info.live == true and info.end_ns == 0 and info.pid > 0 and info.path == eventring.path())
assert(info.lost == 0 and info.missed == 0 and info.torn == 0 and info.delivered > 0)
assert(cursor:finished() == false)
assert(tostring(cursor):find("^eventring%.cursor %(0x"))
eventring.stop()
cursor:poll {}
assert(cursor:finished() == true and cursor:info().live == false and cursor:info().end_ns > info.start_ns)
cursor:close()
cursor:close()
assert(tostring(cursor) == "eventring.cursor (closed)")
