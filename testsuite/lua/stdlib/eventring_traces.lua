-- SPDX-License-Identifier: MIT
-- Trace context: which ids spans, coroutines and domains get, and what readers know of them.
local eventring = require "saros.eventring"
local domain = require "saros.domain"
local begin_span, end_span, span, traceparent = eventring.begin_span, eventring.end_span,
  eventring.span, eventring.traceparent
local yield, wrap = coroutine.yield, coroutine.wrap

local TRACE, CALLER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
local HEADER = "00-" .. TRACE .. "-" .. CALLER .. "-01"
local NONE = ("0"):rep(16)

-- Nothing is recorded: nothing has ids.
if not eventring.path() then
  begin_span("request", { traceparent = HEADER })
  assert(traceparent() == nil)
  end_span "request"
  assert(span({ name = "request", traceparent = HEADER }, traceparent) == nil)
  if not eventring.start() then return end -- told by other tests
end

local function parts(header)
  local trace, id, flags = header:match "^00%-(%x+)%-(%x+)%-(%x%x)$"
  assert(trace and #trace == 32 and #id == 16 and header == header:lower(), header)
  assert(trace ~= ("0"):rep(32) and id ~= NONE)
  return trace, id, flags
end

local function hex(bytes)
  return (bytes:gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

-- ---- a reader ------------------------------------------------------------------------------

-- What doc/FORMAT.md says of `trace`: the spans of the latest poll by name, with `trace`, `id`,
-- `parent`, `flags` if it had ids, and `inside`, the span that it is in; contexts by number.
local cursor = assert(eventring.cursor())
local spans, count = {}, 0
local stacks, inherited = {}, {}
local function key(dom, context) return dom .. ":" .. context end
local function poll(may_be_torn)
  spans, count = {}, 0
  local last
  cursor:poll {
    user_begin = function(dom, _, name, context, value)
      local k = key(dom, context)
      local stack = stacks[k] or {}
      stacks[k] = stack
      local s = { name = name, inside = stack[#stack], from = #stack == 0 and inherited[k] or nil,
                  value = value, context = context }
      stack[#stack + 1] = s
      spans[name] = s
      last = s
    end,
    user_end = function(dom, _, name, context)
      local stack = stacks[key(dom, context)] or {}
      for i = #stack, 1, -1 do
        if stack[i].name == name then table.remove(stack, i) break end
      end
      last = nil
    end,
    user_event = function(dom, _, name, bytes, context)
      if name ~= "trace" then last = nil return end
      count = count + 1
      assert(#bytes == 33)
      local k, all = key(dom, context), hex(bytes)
      local ids = { trace = all:sub(1, 32), id = all:sub(33, 48), parent = all:sub(49, 64),
                    flags = all:sub(65) }
      local stack = stacks[k] or {}
      local s = stack[#stack]
      if s then
        s.directly = s.directly or s == last
        for name, value in pairs(ids) do s[name] = value end
      else
        assert(ids.parent == NONE)
        inherited[k] = ids
      end
      last = nil
    end,
    lifecycle = function(dom, _, what)
      if what == "domain_start" then inherited[key(dom, 0)] = nil end -- another incarnation
    end,
    lost_events = function() error "lost" end,
  }
  assert(may_be_torn or cursor:info().torn == 0)
  return spans
end
poll()

-- ---- a span ---------------------------------------------------------------------------------

-- Programs without traces have nothing of them in the file.
begin_span "plain" begin_span("valued", 5) end_span() end_span()
assert(traceparent() == nil)
poll()
assert(count == 0 and spans.plain and not spans.plain.trace)

begin_span("request", { traceparent = HEADER, value = "GET /" })
local trace, id, flags = parts(traceparent())
assert(trace == TRACE and id ~= CALLER and flags == "01")
assert(traceparent() == traceparent(), "the same span, the same id")
end_span "request"
assert(traceparent() == nil, "it outlives its span")
local s = poll().request
assert(s.trace == TRACE and s.id == id and s.parent == CALLER and s.flags == "01" and s.directly)
assert(s.value == "GET /" and count == 1)

-- Without a table nothing changes; an empty one says nothing.
begin_span("n", 5) begin_span("t", "text") begin_span("e", {}) begin_span("v", { value = 1.5 })
end_span() end_span() end_span() end_span()
poll()
assert(spans.n.value == 5 and spans.t.value == "text" and spans.e.value == nil)
assert(spans.v.value == 1.5)
assert(count == 0)

-- eventring.span, called and as a variable.
local header = span({ name = "called", traceparent = HEADER }, traceparent)
local _, called = parts(header)
local held
do
  local request <close> = span { name = "held", traceparent = HEADER, value = 7 }
  held = select(2, parts(traceparent()))
end
assert(traceparent() == nil)
poll()
assert(spans.called.id == called and spans.held.id == held and spans.held.value == 7)
assert(spans.held.directly and spans.called.directly and called ~= held)
local fields = { name = "called", traceparent = HEADER }
local r = table.pack(span(fields, function(...) return ... end, 1, nil, 3, nil))
assert(r.n == 4 and r[1] == 1 and r[3] == 3)
assert(not pcall(span, fields, error, "x") and traceparent() == nil)
poll()

-- A new trace; flags.
begin_span("root", { traceparent = true })
trace, id, flags = parts(traceparent())
assert(trace ~= TRACE and flags == "01")
begin_span("other", { traceparent = "00-" .. TRACE .. "-" .. CALLER .. "-00" })
local t2, _, f2 = parts(traceparent())
assert(t2 == TRACE and f2 == "00")
end_span()
assert(traceparent() == ("00-%s-%s-01"):format(trace, id))
end_span()
poll()
assert(spans.root.parent == NONE and spans.root.id == id and spans.other.parent == CALLER)
assert(spans.other.flags == "00")

-- Headers, by the standard: what is not valid begins a new trace.
for _, valid in ipairs { HEADER, "01-" .. TRACE .. "-" .. CALLER .. "-01",
  "cc-" .. TRACE .. "-" .. CALLER .. "-01-what-comes", "fe-" .. TRACE .. "-" .. CALLER .. "-09-" } do
  trace, id, flags = parts(span({ name = "x", traceparent = valid }, traceparent))
  assert(trace == TRACE and flags == "01", valid)
  assert(poll().x.parent == CALLER)
end
for _, invalid in ipairs { "", "00", HEADER:upper(), HEADER .. "-", HEADER .. "0", HEADER:sub(1, -2),
  "ff-" .. TRACE .. "-" .. CALLER .. "-01", "cc-" .. TRACE .. "-" .. CALLER .. "-01.what",
  "00-" .. ("0"):rep(32) .. "-" .. CALLER .. "-01", "00-" .. TRACE .. "-" .. NONE .. "-01",
  "00-" .. TRACE .. "-" .. CALLER .. "-0g", "00_" .. TRACE .. "-" .. CALLER .. "-01",
  " " .. HEADER:sub(1, -2), HEADER:gsub("a", "\0"), "0x-" .. TRACE .. "-" .. CALLER .. "-01" } do
  trace, id, flags = parts(span({ name = "x", traceparent = invalid }, traceparent))
  assert(trace ~= TRACE and flags == "01", invalid)
  assert(poll().x.parent == NONE)
end
for i = 0, 55 do
  local cut = span({ name = "x", traceparent = HEADER:sub(1, i) }, traceparent)
  assert((parts(cut) == TRACE) == (i == 55))
end
poll()

-- ---- spans inside -----------------------------------------------------------------------------

begin_span("request", { traceparent = HEADER })
local request = select(2, parts(traceparent()))
begin_span "a"
begin_span "b"
local b = select(2, parts(traceparent()))
assert(b ~= request)
end_span "b"
local a = select(2, parts(traceparent()))
begin_span "c"
local c = select(2, parts(traceparent()))
end_span "c"
assert(select(2, parts(traceparent())) == a, "the id of a span that is innermost again")
end_span "a"
assert(select(2, parts(traceparent())) == request)
for _ = 1, 3 do begin_span "fast" end_span "fast" end
end_span "request"
poll()
assert(spans.a.id == a and spans.a.parent == request and spans.a.trace == TRACE)
assert(spans.b.id == b and spans.b.inside == spans.a)
assert(spans.b.parent == NONE, "that of `a` was not known then")
assert(spans.c.id == c and spans.c.parent == a and not spans.fast.id)
assert(count == 4)

-- Ends in another order.
begin_span("outer", { traceparent = HEADER })
local outer = traceparent()
begin_span "between"
begin_span("inner", { traceparent = true })
local inner = traceparent()
end_span "outer"
assert(traceparent() == inner)
end_span "between"
assert(traceparent() == inner)
end_span "inner"
assert(traceparent() == nil)
begin_span("outer", { traceparent = HEADER })
outer = traceparent()
begin_span "between"
begin_span("inner", { traceparent = true })
end_span "between"
begin_span "more"
local more = parts(traceparent())
assert(more ~= TRACE)
end_span "inner"
assert(traceparent() ~= outer)
end_span "more"
assert(traceparent() == outer)
end_span "outer"
assert(traceparent() == nil)
poll()

-- Many: ids of the 64 innermost are kept, and none is wrong.
begin_span("deep 0", { traceparent = HEADER })
local deep = {}
for i = 1, 200 do
  begin_span("deep " .. i)
  deep[i] = traceparent()
end
for i = 200, 137, -1 do
  assert(traceparent() == deep[i], i)
  end_span("deep " .. i)
end
for i = 136, 0, -1 do
  traceparent()
  end_span("deep " .. i)
end
assert(traceparent() == nil, "hidden spans end, too")
local seen = {}
for _, each in ipairs(deep) do
  assert(not seen[each] and parts(each) == TRACE)
  seen[each] = true
end
poll()

-- ---- errors ------------------------------------------------------------------------------------

pcall(function()
  local request <close> = span { name = "closed by error", traceparent = HEADER }
  begin_span "left open"
  traceparent()
  error "x"
end)
assert(traceparent() ~= nil, "`left open` is open, and has ids")
end_span "left open"
assert(traceparent() == nil)
poll()

-- ---- coroutines --------------------------------------------------------------------------------

local function inherits(make)
  begin_span("request", { traceparent = HEADER })
  local header = traceparent()
  local run = make(function()
    assert(traceparent() == header, "what was inherited")
    begin_span "child"
    local own = traceparent()
    begin_span "grandchild" end_span "grandchild"
    yield(own)
    assert(traceparent() == own)
    end_span "child"
    assert(traceparent() == header)
    begin_span "second" end_span "second"
    return "ended"
  end)
  local own = run()
  assert(traceparent() == header, "the context of another")
  end_span "request"
  assert(traceparent() == nil)
  assert(run() == "ended")
  poll()
  local s = spans.child
  assert(s.from.trace == TRACE and s.from.id == spans.request.id and s.from.parent == NONE)
  assert(s.trace == TRACE and s.parent == spans.request.id and own:find(s.id, 1, true))
  assert(spans.second.from.id == spans.request.id and not spans.second.id)
  assert(not spans.grandchild.id and spans.grandchild.inside == s)
end
inherits(coroutine.wrap)
inherits(function(f)
  local co = coroutine.create(f)
  return function() return select(2, assert(coroutine.resume(co))) end
end)

-- One without spans writes nothing, and one that was created before inherits nothing.
local before = wrap(function() while true do yield(traceparent()) end end)
begin_span("request", { traceparent = HEADER })
begin_span "innermost"
local silent = wrap(function() yield(traceparent()) eventring.event "quiet" end)
local innermost = traceparent()
assert(silent() == innermost and before() == nil)
silent()
-- Of a coroutine of a coroutine, and one that has a span of its own
local nested = wrap(function()
  local first = wrap(function() return traceparent() end)()
  begin_span "own"
  local own = traceparent()
  return first, own, wrap(function() return traceparent() end)()
end)
local first, own, second = nested()
assert(first == innermost and second == own and own ~= first)
end_span() end_span()
poll()
assert(spans.innermost.id == select(2, parts(innermost)))

-- A coroutine that ends, is closed, dies or is collected; its context is not the next one's.
for _, finish in ipairs { function() end, function() error "x" end, function() yield() end } do
  local co = coroutine.create(function()
    begin_span("within", { traceparent = HEADER })
    begin_span "deeper"
    traceparent()
    finish()
  end)
  coroutine.resume(co)
  if coroutine.status(co) ~= "dead" or finish then coroutine.close(co) end
  assert(traceparent() == nil)
end
for i = 1, 50 do
  local co = coroutine.create(function()
    begin_span("within", { traceparent = HEADER })
    traceparent()
    if i % 2 == 0 then yield() end
  end)
  coroutine.resume(co)
end
collectgarbage() collectgarbage()
poll()

-- Coroutines that take turns
local runs = {}
for i = 1, 10 do
  runs[i] = wrap(function()
    local name = "turn " .. i
    begin_span(name, { traceparent = true })
    local header = traceparent()
    for _ = 1, 5 do
      yield()
      assert(traceparent() == header)
      begin_span "step"
      assert(parts(traceparent()) == parts(header))
      end_span "step"
    end
    end_span(name)
    assert(traceparent() == nil)
    return header
  end)
end
local headers = {}
for _ = 1, 6 do for i, run in ipairs(runs) do headers[i] = run() or headers[i] end end
poll()
for i, header in ipairs(headers) do assert(spans["turn " .. i].trace == parts(header)) end

-- ---- domains -------------------------------------------------------------------------------

local function in_domain()
  local eventring = require "saros.eventring"
  local inherited = eventring.traceparent()
  eventring.begin_span "in the domain"
  local own = eventring.traceparent()
  eventring.end_span "in the domain"
  return inherited, own, eventring.traceparent()
end
begin_span("request", { traceparent = HEADER })
header = traceparent()
local inherited_there, own_there, after_there = domain.spawn(in_domain):join()
end_span "request"
assert(inherited_there == header and after_there == header)
poll()
local there = spans["in the domain"]
assert(there.from.id == spans.request.id and there.parent == spans.request.id)
assert(own_there == ("00-%s-%s-01"):format(TRACE, there.id))
assert(domain.spawn(in_domain):join() == nil)
poll()
assert(not spans["in the domain"].from and not spans["in the domain"].id)

-- ---- gaps ----------------------------------------------------------------------------------

-- The ids of a span go on to be known; a span that is torn gets none, because a reader would take
-- them for inherited.
local function gap(close, open)
  begin_span("before", { traceparent = HEADER })
  local header = traceparent()
  begin_span "torn"
  assert(close())
  assert(traceparent() == nil)
  begin_span "unrecorded"
  assert(traceparent() == nil)
  end_span "unrecorded"
  local unrecorded = wrap(function() while true do yield(traceparent()) end end)
  assert(unrecorded() == nil)
  assert(open())
  assert(unrecorded() == nil, "created where there was no header")
  assert(traceparent() == header)
  assert(wrap(traceparent)() == header)
  begin_span("again", { traceparent = HEADER })
  assert(traceparent() ~= header)
  begin_span "after"
  local after = traceparent()
  end_span "after"
  end_span "again"
  assert(traceparent() == header)
  end_span "torn"
  assert(traceparent() == header)
  end_span "before"
  assert(traceparent() == nil)
  poll(true)
  assert(not inherited["0:0"])
  assert(spans.before.id == select(2, parts(header)) and not spans.torn.id)
  assert(spans.after.id == select(2, parts(after)) and spans.after.parent == spans.again.id)
end
gap(eventring.pause, eventring.resume)
gap(function() return eventring.disable "user" end, function() return eventring.enable "user" end)

-- A span that ends while nothing is recorded
begin_span("before", { traceparent = HEADER })
assert(eventring.pause())
end_span "before"
assert(traceparent() == nil)
begin_span("never", { traceparent = HEADER })
assert(traceparent() == nil)
end_span "never"
assert(eventring.resume())
assert(traceparent() == nil)

-- A request whose span begins while nothing is recorded: no header is that of another, neither then
-- nor, as long as it is open, after recording has gone on. `inside(check)` runs it, and calls check
-- within.
local function by_call(inside) return span({ name = "request", traceparent = HEADER }, inside) end
local function by_close(inside)
  local request <close> = span { name = "request", traceparent = true, value = 1 }
  inside()
end
local function by_end(inside)
  begin_span("request", { traceparent = HEADER, value = 1 })
  inside()
  end_span "request"
end
local function by_error(inside)
  assert(not pcall(span, { name = "request", traceparent = "not valid" },
    function() inside() error "x" end))
end
local function by_closed_coroutine(inside)
  local request <close> = span { name = "request", traceparent = HEADER }
  local co = coroutine.create(function() return by_call(function() inside() yield() end) end)
  assert(coroutine.resume(co))
  assert(coroutine.close(co))
  inside()
end
local forms = { by_call, by_close, by_end, by_error, by_closed_coroutine }

local function nothing()
  assert(traceparent() == nil)
  begin_span "part" assert(traceparent() == nil)
  assert(wrap(traceparent)() == nil and wrap(function() return span("x", traceparent) end)() == nil)
  end_span "part"
  span("part", function() assert(traceparent() == nil) end)
  assert(traceparent() == nil)
end

local function hidden(close, open)
  for _, request in ipairs(forms) do
    local header = traceparent() -- nil where nothing is outside
    -- all of it
    assert(close())
    request(nothing)
    nothing()
    assert(open())
    assert(traceparent() == header)
    -- recording goes on within
    assert(close())
    request(function()
      nothing()
      assert(open())
      if header then nothing() end
      -- what begins now, in whichever way, is known
      local own = span({ name = "own", traceparent = HEADER }, function()
        assert(parts(traceparent()) == TRACE)
        return span("part", traceparent)
      end)
      assert(parts(own) == TRACE)
      if header then nothing() end
      -- one that began in another gap lies in it
      assert(close())
      request(nothing)
      assert(open())
      if header then nothing() end
    end)
    assert(traceparent() == header)
  end
end

local function hidden_everywhere(close, open)
  hidden(close, open)
  begin_span("main", { traceparent = true })
  hidden(close, open)
  begin_span "within"
  hidden(close, open)
  -- in coroutines that inherited, without a span of their own and with one; they yield between
  local function inherited()
    hidden(close, open)
    yield()
    begin_span "own" hidden(close, open) end_span "own"
    assert(close())
    begin_span("request", { traceparent = HEADER })
    yield()
    assert(open())
    yield()
    nothing()
    end_span "request"
    assert(close())
    begin_span("request", { traceparent = HEADER })
    yield()
    end_span "request"
    assert(open())
    return traceparent()
  end
  local header = traceparent()
  local run = wrap(inherited)
  run() run() run() run()
  assert(open())
  assert(traceparent() == header)
  assert(close())
  assert(run() == header)
  -- the span around it ends first: what is hidden is gone, too
  begin_span("around", { traceparent = HEADER })
  assert(close())
  local late = span { name = "request", traceparent = HEADER }
  begin_span("request", { traceparent = HEADER })
  assert(open())
  nothing()
  end_span "around"
  assert(traceparent() == header)
  getmetatable(late).__close(late)
  assert(traceparent() == header)
  -- an end closes the innermost of its name
  begin_span("same", { traceparent = HEADER })
  header = traceparent()
  assert(close())
  begin_span("same", { traceparent = HEADER })
  assert(open())
  begin_span "same"
  end_span "same" nothing()
  end_span "same" assert(traceparent() == header)
  end_span "same" assert(traceparent() ~= header)
  -- without a name: one that was recorded, and what is in it
  begin_span("recorded", { traceparent = HEADER })
  assert(close())
  begin_span("request", { traceparent = HEADER })
  end_span()
  assert(open())
  assert(parts(traceparent()) ~= TRACE)
  end_span "within"
  end_span "main"
  assert(traceparent() == nil)
  -- many
  local run = wrap(function()
    begin_span("many", { traceparent = HEADER })
    assert(close())
    for _ = 1, 100 do begin_span("request", { traceparent = HEADER }) end
    assert(open())
    for _ = 1, 100 do nothing() end_span "request" end
    end_span "many"
    return traceparent()
  end)
  assert(run() == nil)
end
hidden_everywhere(eventring.pause, eventring.resume)
hidden_everywhere(function() return eventring.disable "user" end,
  function() return eventring.enable "user" end)
poll(true)
cursor:close()
hidden_everywhere(eventring.stop, eventring.start)
cursor = assert(eventring.cursor())
stacks, inherited = {}, {}

-- ---- another recording ---------------------------------------------------------------------

begin_span("request", { traceparent = HEADER })
header = traceparent()
begin_span "nameless"
local child = wrap(function()
  yield()
  begin_span "late"
  local header = traceparent()
  end_span "late"
  return header
end)
child()
local named = traceparent()
cursor:close()
assert(eventring.stop() and eventring.start())
cursor = assert(eventring.cursor())
stacks, inherited = {}, {}
assert(traceparent() == named, "ids that were given stay")
assert(parts(child()) == TRACE)
begin_span "new"
assert(parts(traceparent()) == TRACE)
end_span "new"
poll()
assert(spans.new.parent == select(2, parts(named)) and not spans.new.from and not inherited["0:0"])
assert(spans.late.from.id == select(2, parts(named)) and spans.late.trace == TRACE)
end_span "nameless"
end_span "request"
assert(traceparent() == nil)

-- ---- random numbers ------------------------------------------------------------------------

math.randomseed(42)
local expected = { math.random(0), math.random(0) }
math.randomseed(42)
assert(math.random(0) == expected[1])
local ids = {}
for _ = 1, 1000 do
  local trace, id = parts(span({ name = "x", traceparent = true }, traceparent))
  assert(not ids[trace] and not ids[id])
  ids[trace], ids[id] = true, true
end
assert(math.random(0) == expected[2])
