-- SPDX-License-Identifier: MIT
-- Wrong arguments of the module `eventring`: the exact messages, the same whether the
-- program is recorded or not.
local eventring = require "saros.eventring"

local expect = require "_expect"

local function refused(message, ...)
  local result, why = ...
  assert(result == nil and why == message, why)
end

local function wrong_arguments()
  for _, name in ipairs { "begin_span", "end_span", "span", "async_begin", "async_end", "counter",
    "event", "enable", "disable" } do
    if name ~= "end_span" then -- without a name it is right
      expect(("bad argument #1 to 'eventring.%s' (string expected, got no value)"):format(name),
        eventring[name])
    end
    if name ~= "span" then -- takes a table of fields
      expect(("bad argument #1 to 'eventring.%s' (string expected, got table)"):format(name),
        eventring[name], {}, 1)
    end
  end
  expect("bad argument #2 to 'eventring.counter' (number expected, got no value)",
    eventring.counter, "c")
  expect("bad argument #2 to 'eventring.counter' (number expected, got string)",
    eventring.counter, "c", "x")
  expect("bad argument #2 to 'eventring.event' (number or string expected, got table)",
    eventring.event, "e", {})
  expect("bad argument #2 to 'eventring.event' (number or string expected, got boolean)",
    eventring.event, "e", true)
  expect("bad argument #2 to 'eventring.begin_span' (number, string or table expected, got boolean)",
    eventring.begin_span, "s", true)
  expect("bad argument #2 to 'eventring.begin_span' (no field 'trace')",
    eventring.begin_span, "s", { trace = true })
  expect("bad argument #2 to 'eventring.begin_span' (no field 'valu'; did you mean 'value'?)",
    eventring.begin_span, "s", { valu = 5 })
  expect("bad argument #2 to 'eventring.begin_span' (field 'value' is not a number or string)",
    eventring.begin_span, "s", { value = true })
  for _, wrong in ipairs { 5, false, {}, print } do
    expect("bad argument #2 to 'eventring.begin_span' (field 'traceparent' is not a string or true)",
      eventring.begin_span, "s", { traceparent = wrong })
    expect("bad argument #1 to 'eventring.span' (field 'traceparent' is not a string or true)",
      eventring.span, { name = "s", traceparent = wrong }, print)
  end
  expect("bad argument #2 to 'eventring.async_begin' (integer or string expected, got no value)",
    eventring.async_begin, "s")
  expect("bad argument #2 to 'eventring.async_end' (integer or string expected, got boolean)",
    eventring.async_end, "s", true)
  expect("bad argument #2 to 'eventring.async_end' (number has no integer representation)",
    eventring.async_end, "s", 1.5)
  expect("bad argument #3 to 'eventring.async_begin' (number or string expected, got table)",
    eventring.async_begin, "s", 1, {})
  expect("bad argument #2 to 'eventring.span' (value expected)", eventring.span, "s")
  for _, name in ipairs { "begin_span", "end_span", "span", "async_begin", "async_end",
    "counter", "event" } do
    local function wrong(why, text)
      expect(("bad argument #1 to 'eventring.%s' (%s)"):format(name, why), eventring[name], text, 1)
    end
    wrong("an event name must have 1 to 95 bytes", "")
    wrong("an event name must have 1 to 95 bytes", ("n"):rep(96))
    wrong("an event name holds a control character", "a\nb")
    wrong("an event name is not valid UTF-8", "a\xff")
  end
  expect("attempt to call a nil value", eventring.span, "s", nil)
  expect("bad argument #1 to 'eventring.enable' (no class 'frobs')", eventring.enable, "frobs")
  expect("bad argument #1 to 'eventring.cursor' (table expected, got number)", eventring.cursor, 5)
  expect("bad argument #1 to 'eventring.cursor' (no option 'pidd'; did you mean 'pid'?)", eventring.cursor, { pidd = 5 })
  expect("bad argument #1 to 'eventring.cursor' (no option '1')", eventring.cursor, { 5 })
  expect("bad argument #1 to 'eventring.cursor' (fields 'pid' and 'path' exclude each other)",
    eventring.cursor, { pid = 5, path = "x" })
  expect("bad argument #1 to 'eventring.start' (no option 'wsiz')", eventring.start, { wsiz = 1 })
  expect("bad argument #1 to 'eventring.start' (table expected, got number)", eventring.start, 1)
  expect("bad argument #1 to 'eventring.cursor' (field 'path' is not a string)",
    eventring.cursor, { path = {} })
  for _, pid in ipairs { 0, -1, 1.5, "x", 1 << 31 } do
    expect("bad argument #1 to 'eventring.cursor' (field 'pid' is not a process id)",
      eventring.cursor, { pid = pid })
  end
  refused("/nonexistent/x: No such file or directory", eventring.cursor { path = "/nonexistent/x" })
  refused("/: not a regular file", eventring.cursor { path = "/" })
  refused("no process 2147483647", eventring.cursor { pid = 2147483647 })
end

wrong_arguments()
local none = "this process does not record"
refused(none, eventring.cursor())
refused(none, eventring.pause())
refused(none, eventring.resume())
refused(none, eventring.classes())
refused(none, eventring.enable "gc")
refused(none, eventring.disable "gc")
assert(eventring.path() == nil and eventring.stop() == true)
if not eventring.start() then return end -- told by other tests
assert(eventring.start() == true and eventring.start {} == true, "twice is once")
wrong_arguments()

eventring.event(("n"):rep(95))
eventring.event "bare"

-- Cursors.
local cursor = assert(eventring.cursor())
expect("bad argument #2 to '?' (table expected, got no value)", cursor.poll, cursor)
expect("bad argument #3 to '?' (must not be negative)", cursor.poll, cursor, {}, -1)
expect("bad argument #1 to '?' (eventring.cursor expected, got FILE*)", cursor.poll, io.stdout, {})
expect("bad argument #1 to 'poll' (field 'user_event' is a number, not a function)",
  function() cursor:poll { user_event = 5 } end)
expect("bad argument #1 to 'poll' (no callback 'user_evnt'; did you mean 'user_event'?)",
  function() cursor:poll { user_evnt = print } end)
expect("bad argument #1 to 'poll' (no callback 'runtime_bgin'; did you mean 'runtime_begin'?)",
  function() cursor:poll { user_begin = print, runtime_bgin = print } end)
expect("bad argument #1 to 'poll' (no callback 'everything')", -- near none
  function() cursor:poll { everything = print } end)
local called = 0
cursor:poll { user_event = setmetatable({}, { __call = function() called = called + 1 end }) }
assert(called > 0)

-- An error in a callback leaves the rest for the next poll.
for _ = 1, 3 do eventring.event "bare" end
expect("mine", cursor.poll, cursor, { user_event = function() error("mine", 0) end })
called = 0
cursor:poll({ user_event = function() called = called + 1 end }, 1)
assert(called == 1)
cursor:poll { user_event = function() called = called + 1 end }
assert(called == 2)

-- Polled while it is polled, or closed: from a callback, and from where callbacks are
-- looked up.
eventring.event "bare"
expect("cursor is already being polled", cursor.poll, cursor,
  { user_event = function() cursor:poll {} end })
assert(cursor:poll(setmetatable({}, { __index = function() cursor:poll {} end })) >= 0)
local shut = assert(eventring.cursor())
eventring.event "bare"
assert(shut:poll { user_event = function() shut:close() end } > 0)
shut = assert(eventring.cursor())
local closed = "attempt to use a closed cursor"
expect(closed, shut.poll, shut, setmetatable({}, { __index = function() shut:close() end }))
expect(closed, shut.poll, shut, {})
expect(closed, shut.finished, shut)
expect(closed, shut.info, shut)
do local closed_by_scope <close> = assert(eventring.cursor()) end

-- The guest may use the names of the runtime's own events. (span "parse" raised, while it
-- was recorded.)
do
  local seen = {}
  cursor:poll {}
  eventring.span("parse", function() end)
  cursor:poll { user_begin = function(_, _, name) seen[#seen + 1] = name end }
  assert(#seen == 1 and seen[1] == "parse")
end

-- Names beyond the table are (other), and no error; older names stay usable. (The 8193rd
-- name raised, while it was recorded.)
cursor:poll {}
local names = {}
local function count(_, _, name)
  names[name] = (names[name] or 0) + 1
end
local all = { user_begin = count, user_end = count, user_event = count, user_counter = count,
  async_begin = count }
for i = 1, 20000 do
  eventring.event("name " .. i, i)
  if i % 1000 == 0 then cursor:poll(all) end
end
assert(names["name 1"] == 1 and not names["name 20000"] and names["(other)"] > 11000)
names = {}
eventring.begin_span("span beyond", 1)
eventring.end_span "span beyond"
eventring.span("span beyond", function() end)
eventring.counter("counter beyond", 1.5)
eventring.async_begin("async beyond", 1, "x")
eventring.event "bare"
cursor:poll(all)
assert(names["(other)"] == 6 and names.bare == 1)
cursor:close()
eventring.stop()
