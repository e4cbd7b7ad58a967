-- SPDX-License-Identifier: MIT
-- All is promoted, then dies; what snapshots, places and stacks say; what callbacks, hooks and
-- finalizers do is not sampled. (More of stops, restarts and discards in callbacks: counts.lua
-- and random_callbacks.lua.)

local memprof = require "saros.memprof"
local profile = require "_profile"

-- No callback arrives after the stop, at whichever callback that is.
for k = 1, 40 do
  local calls, s = 0, nil
  s = memprof.start {rate = 1, callbacks = {alloc_young = function()
    calls = calls + 1
    if calls == k then s:stop() end
  end}}
  for _ = 1, 20 do local _ = {1, {2, {3}}, x = {4}, f = function() return k end} end
  assert(calls == k and not memprof.is_sampling())
  s:discard()
end

-- All that is reachable is promoted, nothing dies; then all dies old.
do
  local kept = {}
  collectgarbage()
  local p = profile.start(0.5)
  for i = 1, 300 do kept[i] = {i} end
  p:stop()
  profile.settle()
  local live = #p.sampler:snapshot().rows
  assert(live == p.allocs - p.young - p.old)
  assert(live > 100)
  local old = p.old
  kept = nil
  profile.settle()
  profile.settle()
  assert(p.young + p.old == p.allocs and p.old >= old + 100, p.old)
  p:discard()
end

-- Without callbacks the sampler counts, and a snapshot has the samples that are alive.
do
  local kept = {}
  local s = memprof.start {rate = 1}
  for i = 1, 50 do kept[i] = {i} end
  local snapshot = s:snapshot()
  local tables = 0
  for _, sample in ipairs(snapshot.rows) do
    if sample.kind == "table" then
      tables = tables + 1
      assert(sample.words == 6 and sample.samples == 6 and sample.origin == "program")
      assert(sample.stack[1].line and sample.stack[1].source:find "lifecycle")
    end
  end
  assert(tables >= 50 and snapshot.words >= 400)
  s:stop()
  s:discard()
end

-- Each block of nested constructors names its own line and column.
do
  local places = {}
  local s = memprof.start {rate = 1, callbacks = {alloc_young = function(sample)
    local top = sample.stack[1]
    if sample.kind == "table" then places[#places + 1] = top.line .. ":" .. (top.column or 0) end
  end}}
  local _ = {{}, {},
             {}}
  s:stop()
  s:discard()
  local distinct, n = {}, 0
  for _, place in ipairs(places) do
    if not distinct[place] then n = n + 1 end
    distinct[place] = true
  end
  assert(n == 4, table.concat(places, " "))
end

-- The chain of coroutines, up to the depth asked for; nothing inside hooks and finalizers.
do
  local depths, in_hook = {}, false
  local s = memprof.start {rate = 1, depth = 3, callbacks = {alloc_young = function(sample)
    assert(#sample.stack <= 3 and not in_hook)
    depths[#sample.stack] = true
  end}}
  coroutine.wrap(function() coroutine.wrap(function() local _ = {} end)() end)()
  debug.sethook(function()
    in_hook = true
    local _ = {{}, {}}
    in_hook = false
  end, "", 3)
  for _ = 1, 100 do local _ = {} end
  debug.sethook()
  setmetatable({}, {__gc = function()
    in_hook = true
    local _ = {{}, {}}
    in_hook = false
  end})
  collectgarbage()
  s:stop()
  s:discard()
  assert(depths[3])
end
