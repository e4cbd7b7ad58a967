-- SPDX-License-Identifier: MIT
-- What is written comes back: values of each kind, also of another kind than the first of
-- the same name, which must not end a program only because it is recorded.
local eventring = require "saros.eventring"
local domain = require "saros.domain"

-- Unrecorded, the same calls do nothing.
local function write_all()
  for _, row in ipairs {
    {"whole", 1}, {"whole", 2.0}, {"whole", 2.5}, {"whole", -2.5}, {"whole", math.huge},
    {"whole", -math.huge}, {"whole", 0 / 0}, {"fraction", 0.5}, {"fraction", 3}, {"numeral", "12"},
    {"numeral", " 0x10 "}, {"numeral float", "1e1"},
  } do eventring.counter(row[1], row[2]) end
  for _, row in ipairs {
    {"bare"}, {"bare", nil, n = 2}, {"integer", math.mininteger}, {"integer", 7.6},
    {"float", 1.25}, {"float", 2}, {"text", "a\0b\xff"}, {"text", ""}, {"text", 12}, {"text"},
    {"bare", "no more"}, {"text", ("x"):rep(5000)},
    {"text", "x" .. ("é"):rep(1000)}, -- cut between characters
    {"text", "\xff" .. ("é"):rep(1000)}, -- no text
    {5, 6},
  } do eventring.event(table.unpack(row, 1, row.n or #row)) end
end
write_all()
if not eventring.start() then return end -- told by other tests

local cursor = assert(eventring.cursor())
local seen = {}
local function note(_, ns, name, value)
  assert(math.type(ns) == "integer")
  seen[#seen + 1] = name .. "=" .. tostring(value)
end
local function compare(expected)
  for i = 1, math.max(#seen, #expected) do
    assert(seen[i] == expected[i],
      ("%d: %q instead of %q"):format(i, tostring(seen[i]), tostring(expected[i])))
  end
end
write_all()
cursor:poll { user_counter = note, user_event = note }
compare {
  "whole=1", "whole=2", "whole=3", "whole=-3", "whole=" .. math.maxinteger, "whole=" ..
  math.mininteger, "whole=0",
  "fraction=0.5", "fraction=3.0", "numeral=12", "numeral=16", "numeral float=10.0",
  "bare=nil", "bare=nil", "integer=" .. math.mininteger, "integer=7.6", "float=1.25", "float=2",
  "text=a\0b\xff", "text=", "text=12", "text=nil", "bare=no more", "text=" .. ("x"):rep(984),
  "text=x" .. ("é"):rep(491), "text=\xff" .. ("é"):rep(491) .. "\xc3", "5=6",
}

-- A counter's kind of number holds for all domains, whichever was first.
domain.spawn(function()
  local eventring = require "saros.eventring"
  eventring.counter("whole", 0.75)
  eventring.counter("fraction", 4)
  eventring.event("integer", 0.25)
end):join()
seen = {}
cursor:poll { user_counter = note, user_event = note }
assert(table.concat(seen, " ") == "whole=1 fraction=4.0 integer=0.25", table.concat(seen, " "))

-- Spans, and async spans, whose ids are integers, or strings that are hashed (FNV-1a).
seen = {}
for _, value in ipairs { 1, 2.5, "three", ("x"):rep(2000) } do
  eventring.begin_span("valued", value)
  eventring.end_span "valued"
end
eventring.begin_span("valued", nil)
eventring.end_span("valued", "not looked at")
eventring.async_begin("job", 1)
eventring.async_begin("job", math.mininteger, ("x"):rep(2000))
eventring.async_begin("job", "foobar", 0.5)
eventring.async_begin("job", "", "v")
coroutine.wrap(function() eventring.async_end("job", "foobar") end)()
eventring.async_end("job", 2.0, "not looked at")
cursor:poll {
  user_begin = function(_, _, name, _, value) seen[#seen + 1] = name .. "=" .. tostring(value) end,
  async_begin = function(_, _, name, id, context, value)
    assert(context == 0)
    seen[#seen + 1] = ("+%s %x=%s"):format(name, id, value)
  end,
  async_end = function(_, _, name, id, context, ...)
    assert(select("#", ...) == 0)
    seen[#seen + 1] = ("-%s %x %s"):format(name, id, context > 0)
  end,
}
compare {
  "valued=1", "valued=2.5", "valued=three", "valued=" .. ("x"):rep(984), "valued=nil",
  "+job 1=nil", "+job 8000000000000000=" .. ("x"):rep(984), "+job 85944171f73967e8=0.5",
  "+job cbf29ce484222325=v", "-job 85944171f73967e8 true", "-job 2 false",
}

-- Results and errors pass through a span, which ends either way.
local begun, ended = 0, 0
assert(select("#", eventring.span("s", function(...) return ... end, 1, nil, nil)) == 3)
local ok, value = pcall(eventring.span, "s", error, seen)
assert(not ok and value == seen)
assert(coroutine.wrap(function()
  return eventring.span("s", function() return coroutine.yield(3) end) end)() == 3)
cursor:poll { user_begin = function() begun = begun + 1 end,
  user_end = function() ended = ended + 1 end }
assert(begun == 3 and ended == 2)

-- What a recording says of itself, while it lasts and afterwards.
local info = cursor:info()
assert(info.live == true and info.end_ns == 0 and info.pid > 0 and info.path == eventring.path())
assert(info.lost == 0 and info.missed == 0 and info.torn == 0 and info.delivered > 0)
assert(cursor:finished() == false)
assert(tostring(cursor):find("^eventring%.cursor %(0x"))
eventring.stop()
cursor:poll {}
assert(cursor:finished() == true and cursor:info().live == false and
  cursor:info().end_ns > info.start_ns)
cursor:close()
cursor:close()
assert(tostring(cursor) == "eventring.cursor (closed)")
