-- SPDX-License-Identifier: MIT
-- A sample names the innermost open span: that of its coroutine, or of what waits for it.

local eventring = require "saros.eventring"
local memprof = require "saros.memprof"

local spans = {}
local flush = {flush = true}
local function start()
  spans = {}
  return memprof.start {rate = 1, callbacks = {alloc_young = function(sample)
    if sample.kind ~= "table" or sample.origin ~= "program" then return end
    spans[#spans + 1] = sample.span or "-"
  end}}
end
local function stop(sampler)
  sampler:stop(flush)
  return table.concat(spans, " ")
end
local function expect(sampler, text)
  local got = stop(sampler)
  assert(got == text, ("%s\nnot %s"):format(got, text))
end

local function nested()
  local _ = {}
  eventring.begin_span "outer"
  _ = {}
  eventring.begin_span "inner"
  _ = {}
  local co = coroutine.wrap(function()
    local _ = {}
    eventring.begin_span "in a coroutine"
    _ = {}
    coroutine.yield()
    _ = {}
    eventring.end_span "in a coroutine"
    _ = {}
  end)
  co()
  _ = {}
  eventring.end_span "outer" -- which is not the innermost one
  _ = {}
  co()
  eventring.end_span "inner"
  _ = {}
  eventring.end_span "inner" -- of which none is open
  eventring.span("whole", function() local _ = {} pcall(eventring.span, "raises", error) _ = {} end)
  _ = {}
end

-- Nothing is recorded: no span is open.
eventring.stop()
local sampler = start()
nested()
expect(sampler, ("-"):rep(13, " "))

if not eventring.start() then os.exit(77) end
sampler = start()
nested()
expect(sampler, "- outer inner inner in a coroutine inner inner in a coroutine inner - whole whole -")

-- More than are kept: the innermost ones are known.
sampler = start()
for i = 1, 100 do eventring.begin_span("level " .. i) end
local _ = {}
for i = 100, 51, -1 do eventring.end_span("level " .. i) end
_ = {}
for i = 50, 1, -1 do eventring.end_span("level " .. i) end
_ = {}
expect(sampler, "level 100 level 50 -")

-- One that ends while nothing is recorded is not open afterwards.
eventring.begin_span "over"
eventring.pause()
eventring.end_span "over"
eventring.resume()
sampler = start()
_ = {}
expect(sampler, "-")

-- snapshot
eventring.begin_span "kept"
sampler = memprof.start {rate = 1}
local kept = {}
local rows = sampler:snapshot().rows
sampler:stop()
eventring.end_span "kept"
local found
for _, row in ipairs(rows) do
  if row.kind == "table" and row.span == "kept" then found = true end
end
assert(found and kept)
eventring.stop()
