-- SPDX-License-Identifier: MIT
-- What producing and consuming cost a guest program; run by children.c, which says how
-- the two talk. Times are processor time.
local eventring = require "saros.eventring"
local N <const> = 20000

local function measure(body)
  local start = os.clock()
  body()
  return (os.clock() - start) * 1e9 / N
end

local begin_span, end_span, span = eventring.begin_span, eventring.end_span, eventring.span
local counter, event = eventring.counter, eventring.event
local function nothing() end

local function empty() for i = 1, N do end end
local function call() for i = 1, N do nothing() end end
local function spans() for i = 1, N do begin_span("guest") end_span("guest") end end
local function functions() for i = 1, N do span("guest", nothing) end end
local function counters() for i = 1, N do counter("guest count", i) end end
local function events() for i = 1, N do event("guest event") end end

local function paused()
  eventring.pause()
  local ns = measure(spans)
  eventring.resume()
  return ns
end

local function disabled()
  eventring.disable("user")
  local ns = measure(spans)
  eventring.enable("user")
  return ns
end

-- Per event that a callback is called for.
local function callbacks()
  local seen = 0
  local function take() seen = seen + 1 end
  local cursor = eventring.cursor()
  cursor:poll {} -- what is there already
  for i = 1, 8000 do begin_span("guest") end_span("guest") end
  local start = os.clock()
  cursor:poll { user_begin = take, user_end = take }
  local ns = (os.clock() - start) * 1e9 / seen
  cursor:close()
  return ns
end

local loops = {
  { "empty loop", function() return measure(empty) end },
  { "call of an empty function", function() return measure(call) end },
  { "begin_span and end_span", function() return measure(spans) end },
  { "span with an empty function", function() return measure(functions) end },
  { "counter", function() return measure(counters) end },
  { "event", function() return measure(events) end },
  { "begin_span and end_span, paused", paused },
  { "begin_span and end_span, class off", disabled },
  { "an event delivered to a guest callback", callbacks },
}

for _ in io.lines() do
  for _, loop in ipairs(loops) do
    io.write(string.format("%s %.3f\n", loop[1], loop[2]()))
  end
  io.write(".\n")
  io.flush()
end
