-- SPDX-License-Identifier: MIT
-- Coroutines are contexts: spans match within them, whatever the order in which they run,
-- and the time for which one was left is known. (It was not: overlapping spans of two
-- coroutines got each other's ends.)
local eventring = require "saros.eventring"
local begin_span, end_span, event, span = eventring.begin_span, eventring.end_span,
  eventring.event, eventring.span
local yield = coroutine.yield
if not eventring.path() and not eventring.start() then return end -- told by other tests

local cursor = assert(eventring.cursor())
local seen, spans, first

-- All that came since the last call, one word an event; contexts counted from the first
-- one that is new. `spans`: by name, what the end says of its span.
local function poll()
  seen, spans = {}, {}
  local open = {}
  local function note(sign, name, context)
    seen[#seen + 1] = ("%s%s:%d"):format(sign, name, context == 0 and 0 or context - first)
  end
  cursor:poll {
    user_begin = function(_, ns, name, context)
      note("+", name, context)
      open[name .. context] = ns
    end,
    user_end = function(_, ns, name, context, suspended)
      note("-", name, context)
      spans[name] = { ns = ns - (open[name .. context] or ns), suspended = suspended }
    end,
    user_event = function(_, _, name, _, context) note("", name, context) end,
    user_counter = function(_, _, name, _, context) note("#", name, context) end,
    lost_events = function() error "lost" end,
  }
  return table.concat(seen, " ")
end

-- Which context the next coroutine has.
local function start_counting()
  local context
  cursor:poll {}
  coroutine.wrap(function() event "count" end)()
  cursor:poll { user_event = function(_, _, _, _, id) context = id end }
  first = context
end

local function check(expected)
  local found = poll()
  assert(found == expected, ("%s\ninstead of\n%s"):format(found, expected))
  assert(cursor:info().torn == 0)
  start_counting()
end

-- (os.clock has the time of all threads, so less may have passed)
local function spend(seconds)
  local now = require "saros.domain".now
  local start = now()
  repeat until now() - start >= seconds
end
start_counting()

-- ---- two that overlap -----------------------------------------------------------------

local function work(name, rounds)
  return coroutine.wrap(function()
    begin_span(name)
    for _ = 1, rounds do
      spend(0.002)
      yield()
    end
    end_span(name)
  end)
end
local a, b = work("request", 2), work("request", 3)
for _ = 1, 2 do a() b() end
a() b() b()
check "+request:1 +request:2 -request:1 -request:2"
assert(spans.request.suspended >= 1.9e6 and spans.request.ns - spans.request.suspended >= 5.9e6)

-- Ends of one name, from the outer one's coroutine first
local outer, inner = work("same", 1), work("same", 1)
outer() inner() outer() inner()
check "+same:1 +same:2 -same:1 -same:2"

-- ---- left, and not left ---------------------------------------------------------------

-- One that resumes others waits for them: its spans go on.
coroutine.wrap(function()
  begin_span "caller"
  local generator = coroutine.wrap(function()
    for i = 1, 3 do span("generator", spend, 0.001) event "given" yield(i) end
  end)
  for _ = 1, 3 do generator() end
  end_span "caller"
end)()
check("+caller:1" .. (" +generator:2 -generator:2 given:2"):rep(3) .. " -caller:1")
assert(spans.caller.suspended == 0 and spans.caller.ns >= 2.9e6)

-- All events have a context; the main thread's is 0.
event "main"
coroutine.wrap(function() event "e" eventring.counter("c", 1) end)()
begin_span "m" end_span "m"
check "main:0 e:1 #c:1 +m:0 -m:0"

-- A resumed one that has no open spans writes nothing else.
local quiet = coroutine.wrap(function() while true do yield() end end)
for _ = 1, 10 do quiet() end
check ""

-- Left from below a pcall, from a function of C, in the middle of nested spans.
local deep = coroutine.wrap(function()
  span("of c", yield)
  begin_span "one" begin_span "two"
  assert(pcall(function() yield() end_span "two" end))
  assert(pcall(yield))
  yield()
  end_span "one"
  return "done"
end)
deep() spend(0.001) deep() spend(0.001) deep() spend(0.001) deep() spend(0.001)
assert(deep() == "done")
check "+of c:1 -of c:1 +one:1 +two:1 -two:1 -one:1"
assert(spans["of c"].suspended >= 0.9e6 and spans["of c"].suspended <= spans["of c"].ns)
assert(spans.two.suspended >= 0.9e6 and spans.two.suspended <= spans.two.ns)
assert(spans.one.suspended >= 2.9e6 and spans.one.suspended <= spans.one.ns)

-- Ends in any order, and more spans than are kept.
local many = coroutine.wrap(function()
  for i = 1, 100 do begin_span("n" .. i % 10) end
  yield()
  for i = 1, 100 do end_span("n" .. i % 10) end
  yield()
  span("last", yield)
end)
many() many() many() many()
assert(poll():match "%+last:1 %-last:1$" and #seen >= 166)
cursor:close()
cursor = assert(eventring.cursor()) -- the hidden ones' ends are torn
poll()
local torn = cursor:info().torn
start_counting()

-- ---- ends
-- ---------------------------------------------------------------------------------

-- One that returns, dies or is closed takes its open spans with it.
coroutine.wrap(function() begin_span "left" begin_span "open" end)()
assert(poll() == "+left:1 +open:1 -open:1 -left:1")
start_counting()

local co = coroutine.create(function() begin_span "closed" begin_span "inner" yield() end)
coroutine.resume(co)
assert(coroutine.close(co))
assert(poll() == "+closed:1 +inner:1 -inner:1 -closed:1")
start_counting()

co = coroutine.create(function() begin_span "outer" span("guarded", yield) end)
coroutine.resume(co)
spend(0.001)
assert(coroutine.close(co))
assert(poll() == "+outer:1 +guarded:1 -guarded:1 -outer:1")
assert(spans.guarded.suspended >= 0.9e6)
start_counting()

co = coroutine.create(function() begin_span "dead" span("guarded", error, "mine") end)
assert(not coroutine.resume(co))
assert(poll() == "+dead:1 +guarded:1")
assert(not coroutine.close(co))
assert(poll() == "-guarded:1 -dead:1")
start_counting()

assert(not pcall(coroutine.wrap(function()
  begin_span "wrapped" span("guarded", error, "mine") end)))
assert(poll() == "+wrapped:1 +guarded:1 -guarded:1 -wrapped:1")
start_counting()

-- An error that is caught inside leaves what it leaves.
coroutine.wrap(function()
  pcall(function() begin_span "thrown" error "x" end)
  yield()
  end_span "thrown"
end)()
assert(poll() == "+thrown:1")

-- Collected, with the time it was not run for; nothing else gets its context. The one
-- above is collected as well.
co = coroutine.create(function() begin_span "collected" yield() end)
coroutine.resume(co)
spend(0.001)
co = nil
for _ = 1, 3 do collectgarbage() end
start_counting = function() end
assert(poll():find "%-collected:2" and table.concat(seen, " "):find "%-thrown:1")
assert(spans.collected.suspended >= 0.9e6)

-- One that another finalizer keeps goes on, and its spans end when it is collected again.
-- (Only those that were open the first time ended.) The second time the name is known, so
-- that the span could begin in place.
local kept
local function make_kept(is_known)
  local c = coroutine.create(function()
    begin_span "former"
    yield()
    if is_known then
      begin_span "kept"
      end_span "kept"
    end
    begin_span "kept"
    yield()
  end)
  coroutine.resume(c)
  setmetatable({ c }, { __gc = function(t) kept = t[1] end })
end
for _, known in ipairs { false, "%+kept:%d+ %-kept:%d+ " } do
  make_kept(known)
  for _ = 1, 3 do collectgarbage() end
  assert(coroutine.resume(kept))
  assert(poll():find("%+former:%d+ %-former:%d+ " .. (known or "") .. "%+kept:%d+$"))
  kept = nil
  for _ = 1, 3 do collectgarbage() end
  assert(poll():find "^%-kept:%d+$")
end

local contexts = {}
for _ = 1, 100 do
  coroutine.wrap(function() event "id" end)()
  if _ % 10 == 0 then collectgarbage() end
end
cursor:poll { user_event = function(_, _, _, _, context)
  assert(not contexts[context] and context > first)
  contexts[context] = true
end }

-- A span that ends in another coroutine does not end.
begin_span "here"
coroutine.wrap(function() end_span "here" end)()
assert(poll() == "+here:0" and cursor:info().torn == torn + 1)
end_span "here"
assert(poll() == "-here:0")

-- Ended while nothing is recorded: the coroutine has no open span afterwards.
co = coroutine.wrap(function()
  begin_span "gap"
  eventring.pause()
  end_span "gap"
  eventring.resume()
  yield()
  event "after"
end)
co() co()
assert(poll():find "after")

-- Each domain counts for itself.
local domain = require "saros.domain"
domain.spawn(function()
  local eventring = require "saros.eventring"
  coroutine.wrap(function() eventring.event "there" end)()
end):join()
local there
cursor:poll { user_event = function(_, _, name, _, context)
  if name == "there" then there = context end end }
assert(there == 1)
