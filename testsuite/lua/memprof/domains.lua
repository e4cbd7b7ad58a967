-- SPDX-License-Identifier: MIT
-- Spawned domains inherit the profile: its rate, its depth and copies of its callbacks. Each
-- domain's profile is its own from then on.

local memprof = require "saros.memprof"
local domain = require "saros.domain"
local fails = require "_fails"

-- Before, after the start, inherited, the child's own, stopped there, after the join.
do
  local seen = domain.channel()
  local function witness(where) seen:send {where, memprof.is_sampling()} end
  local mine, inherited, own = 0, domain.channel(100000), domain.channel(100000)
  witness "main before"
  local here = domain.self().id
  local s = memprof.start {rate = 1, callbacks = {alloc_young = function(sample)
    if sample.kind ~= "table" then return end
    if sample.domain == here then mine = mine + 1 else inherited:send(sample.domain) end
  end}}
  witness "main after start"
  local child = domain.spawn(function()
    local memprof = require "saros.memprof"
    witness "child inherits"
    local first = memprof.sampler()
    local t = {{}}
    local s = memprof.start {rate = 1, callbacks = {alloc_young = function(sample)
      if sample.kind == "table" then own:send(sample.domain) end
    end}}
    assert(memprof.sampler() == s and first ~= s)
    assert(not pcall(first.stop, first))
    first:discard()
    witness "child own"
    t = {{}, {}}
    s:stop()
    witness "child stopped"
    assert(memprof.sampler() == nil)
    t = {{}, {}, {}}
    return domain.self().id
  end)
  local id = child:join()
  witness "main after join"
  assert(memprof.sampler() == s)
  s:stop {flush = true}
  s:discard()
  for _, expected in ipairs {"main before false", "main after start true", "child inherits true",
                             "child own true", "child stopped false", "main after join true"} do
    local got = seen:receive(60)
    assert(got[1] .. " " .. tostring(got[2]) == expected, expected)
  end
  assert(mine > 0 and #inherited >= 2 and #own >= 3)
  for c, least in pairs {[inherited] = 2, [own] = 3} do
    local n = #c
    assert(n >= least)
    for _ = 1, n do assert(c:receive(60) == id) end
  end
end

-- inherit = false; a profile without callbacks; its depth; nested spawns; files.
do
  local function ask()
    local memprof = require "saros.memprof"
    local s = memprof.sampler()
    if not s then return false end
    local kept = {{}, {}}
    local rows = s:snapshot().rows
    local deepest = 0
    for _, row in ipairs(rows) do deepest = math.max(deepest, #row.stack) end
    return memprof.is_sampling(), #rows, deepest
  end
  local s = memprof.start {rate = 1, inherit = false}
  assert(domain.spawn(ask):join() == false)
  s = memprof.start {rate = 1, depth = 1}
  local sampling, rows, deepest = domain.spawn(ask):join()
  assert(sampling and rows >= 3 and deepest == 1, deepest)
  sampling = domain.spawn(function() return domain.spawn(ask):join() end):join()
  assert(sampling)
  local name = os.tmpname()
  local f = assert(io.open(name, "w"))
  f:write "return require 'memprof'.is_sampling()"
  f:close()
  assert(domain.spawn_file(name):join() == true)
  os.remove(name)
  local pool <close> = domain.pool(2)
  for _, sampling in ipairs(pool:map(function() return require "memprof".is_sampling() end, {1, 2, 3})) do
    assert(sampling)
  end
  s:stop()
  s:discard()
  assert(domain.spawn(ask):join() == false)
end

-- Callbacks that cannot be sent.
do
  local co = coroutine.create(print)
  local function callback() return co end
  local function ask() return require "memprof".is_sampling() end
  local s = memprof.start {rate = 0, callbacks = {promote = callback}, inherit = true}
  fails("the profile of allocations cannot be inherited", domain.spawn, ask)
  s = memprof.start {rate = 0, callbacks = {promote = callback}}
  assert(domain.spawn(ask):join() == false)
  assert(memprof.is_sampling())
  s:stop()
  fails("field 'inherit' is not a boolean", memprof.start, {rate = 1, inherit = 1})
end

-- A running domain takes up what is asked of it: here by a message.
do
  local orders, answers = domain.channel(), domain.channel()
  local worker = domain.spawn(function()
    local memprof = require "memprof"
    for rate in orders:values() do
      local s = memprof.sampler()
      if s then s:stop() s:discard() end
      if rate > 0 then memprof.start {rate = rate} end
      local t = {}
      for i = 1, 100 do t[i] = {i} end
      local words = memprof.sampler() and memprof.sampler():snapshot().words or 0
      answers:send(words)
    end
  end)
  orders:send(1)
  local words = answers:receive(60)
  assert(words >= 100 * (6 + 2), words)
  orders:send(0)
  assert(answers:receive(60) == 0)
  orders:close()
  worker:join()
end
