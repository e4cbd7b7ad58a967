-- SPDX-License-Identifier: MIT
-- Coroutines and domains: a callback runs where the block was allocated, may wait while
-- others go on, and may end what it runs in; stacks that are deeper than asked for.

local memprof = require "saros.memprof"
local domain = require "saros.domain"
local profile = require "_profile"
local slow = tonumber(os.getenv "TEST_SLOWNESS" or 1)

-- Two coroutines take turns: callbacks come in turns, too, each in the coroutine that has
-- allocated.
do
  local calls, running = {0, 0}, nil
  local owner = {}
  local s = memprof.start {rate = 1, callbacks = {alloc_young = function(sample)
    if sample.kind ~= "table" then return end
    local which = owner[coroutine.running()]
    if not which then return end
    assert(which == running, "the callback of another coroutine")
    calls[which] = calls[which] + 1
  end}}
  local function work(which)
    owner[coroutine.running()] = which
    coroutine.yield()
    for _ = 1, 5000 // slow do
      running = which
      local _ = {}
      coroutine.yield()
    end
  end
  local a, b = coroutine.wrap(work), coroutine.wrap(work)
  a(1)
  b(2)
  for _ = 1, 5000 // slow do
    a()
    b()
    assert(calls[1] == calls[2])
  end
  s:stop()
  s:discard()
  assert(calls[1] == 5000 // slow)
end

-- A callback of a promotion waits; meanwhile another domain collects what is its own.
do
  local ask, answer = domain.channel(0), domain.channel(0)
  local order = {}
  local worker = domain.spawn(function()
    local memprof = require "saros.memprof"
    ask:receive()
    local dead = 0
    local function free() dead = dead + 1 end
    local s = memprof.start {rate = 1, callbacks = {dealloc_young = free, dealloc_old = free}}
    for i = 1, 100 do local _ = {i} end
    s:stop {flush = true}
    for _ = 1, 3 do collectgarbage() local _ = {} end
    answer:send(dead)
  end)
  local waited, dead = false, nil
  local kept = {}
  local s = memprof.start {rate = 1, callbacks = {
    alloc_young = function(sample) return sample.kind == "table" and sample or nil end,
    promote = function()
      if waited then return end
      waited = true
      order[#order + 1] = "waits"
      ask:send(true)
      dead = answer:receive()
      order[#order + 1] = "goes on"
    end}}
  for i = 1, 10 do kept[i] = {} end
  collectgarbage()
  local _ = {}
  order[#order + 1] = "program"
  s:stop()
  s:discard()
  worker:join()
  assert(dead >= 100, tostring(dead))
  assert(table.concat(order, ", ") == "waits, goes on, program", table.concat(order, ", "))
end

-- Two domains, each of whose callbacks hands the turn to the other one and waits for its own:
-- both come along in step, and each has callbacks for its own blocks only.
do
  local rounds = 2000 // slow
  local to_me, to_other = domain.channel(2), domain.channel(2)
  local function in_turns(mine, theirs, rounds, own_size)
    local memprof, here = require "saros.memprof", require "saros.domain".self().id
    local calls, working, fault = 0, false, nil
    local s = memprof.start {rate = 1, inherit = false, callbacks = {alloc_young = function(sample)
      if not working or sample.kind ~= "array part" then return end
      if sample.domain ~= here or sample.words ~= own_size then fault = sample.words end
      calls = calls + 1
      local n = mine:receive(60)
      if not n or calls - n > 1 or n - calls > 1 then fault = fault or "out of step" end
      theirs:send(calls)
    end}}
    working = true
    for i = 1, rounds do local _ = own_size == 2 and {i} or {i, i, i} end
    working = false
    s:stop {flush = true}
    s:discard()
    return calls, fault
  end
  to_me:send(0)
  local other = domain.spawn(in_turns, to_other, to_me, rounds, 6)
  local calls, fault = in_turns(to_me, to_other, rounds, 2)
  local calls_there, fault_there = other:join()
  assert(not fault and not fault_there, fault or fault_there)
  assert(calls == rounds and calls_there == rounds, calls .. " and " .. tostring(calls_there))
end

-- A callback ends its coroutine, and one its domain: sampling goes on.
do
  local calls, ends = 0, true
  local s = memprof.start {rate = 1, inherit = false, callbacks = {alloc_young = function(sample)
    if sample.kind ~= "table" then return end
    calls = calls + 1
    if ends then ends = false error "ends here" end
  end}}
  local co = coroutine.create(function() local t = {} coroutine.yield(t) end)
  local ok, message = coroutine.resume(co)
  assert(not ok and message:find "ends here" and coroutine.status(co) == "dead")
  local before = calls
  local _ = {}
  assert(memprof.is_sampling() and calls == before + 1)
  local failed = domain.spawn(function()
    local memprof = require "saros.memprof"
    memprof.start {rate = 1, callbacks = {alloc_young = function() error "ends the domain" end}}
    local _ = {}
  end)
  local ok, message = pcall(failed.join, failed)
  assert(not ok and message:find "ends the domain")
  before = calls
  _ = {}
  assert(calls > before)
  s:stop()
  s:discard()
end

-- 10,000 frames: as many as asked for, innermost first, none of the sampler.
do
  local deepest
  local s = memprof.start {rate = 1, depth = 1000, callbacks = {alloc_young = function(sample)
    if sample.kind == "table" and not deepest then deepest = sample.stack end
  end}}
  local function deep(n)
    if n > 0 then
      local t = deep(n - 1)
      return t
    end
    return {}
  end
  deep(10000 // slow)
  s:stop()
  s:discard()
  local expected = math.min(1000, 10000 // slow + 1)
  assert(#deepest >= expected and #deepest <= 1000, #deepest)
  for i = 1, expected do
    assert(deepest[i].source:find "threads.lua" and deepest[i].line, deepest[i].name)
  end
end

-- At random depths, while collections are asked for, callbacks make texts of their stacks.
do
  local texts = 0
  local s = memprof.start {rate = 1, callbacks = {alloc_young = function(sample)
    local lines = {}
    for i, frame in ipairs(sample.stack) do
      lines[i] = ("%s:%s %s"):format(frame.source, frame.line or "?", frame.name)
    end
    texts = texts + #table.concat(lines, "\n")
  end}}
  local function deep(n)
    if n > 0 then return (deep(n - 1)) end
    return {}
  end
  for _ = 1, 1000 // slow do
    collectgarbage("step", 0)
    deep(math.random(0, 99))
  end
  s:stop()
  s:discard()
  assert(texts > 1000)
end

-- More stacks than there is room for, of blocks that are alive: samples beyond have none, and
-- are counted; nothing else changes. (2^17 ways to the same place.) When they are dead, there
-- is room again.
if slow < 20 then
  local kept, bare, latest = {}, 0, nil
  local function ways(n)
    if n == 0 then
      local t = {}
      if kept then kept[#kept + 1] = t end
      return t
    end
    local t = ways(n - 1)
    t = ways(n - 1)
    return t
  end
  local s = memprof.start {rate = 1, callbacks = {alloc_young = function(sample)
    if sample.kind ~= "table" then return nil end
    latest = #sample.stack
    if latest == 0 then bare = bare + 1 end
    return true
  end}}
  ways(17)
  assert(bare > 0)
  kept = nil
  collectgarbage()
  collectgarbage()
  ways(15)
  assert(latest > 15, latest)
  s:stop {flush = true}
  local snapshot = s:snapshot()
  s:discard()
  assert(snapshot.unknown_stacks >= bare)
  assert(snapshot.samples == snapshot.words and snapshot.lost == 0)
end
