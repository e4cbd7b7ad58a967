-- SPDX-License-Identifier: MIT
-- Stopping, restarting and discarding in the k-th callback; blocks are called back in order
-- and once; what callbacks do is not sampled.

local memprof = require "saros.memprof"
local profile = require "_profile"
local slow = tonumber(os.getenv "TEST_SLOWNESS" or 1)

local function work()
  local a, b = 1, 2
  local t = {1, 2, {3, {4}}, x = {5}}
  local f = function() return a, b end
  return t, f, "text" .. #t .. 1.5
end
work()
local function run() coroutine.wrap(work)() end -- leaves nothing in registers here

-- No callback arrives after the stop, at whichever callback that is.
for k = 1, 40 do
  local calls, s = 0, nil
  s = memprof.start {rate = 1, callbacks = {alloc_young = function()
    calls = calls + 1
    if calls == k then s:stop() end
  end}}
  for _ = 1, 20 do work() end
  assert(calls == k and not memprof.is_sampling())
  s:discard()
end

-- Stopped or restarted in the k-th allocation: all that was called back dies once.
for k = 1, 10 do
  for _, restart in ipairs {false, true} do
    local live, allocs, second, first = {}, 0, nil, nil
    local function tracked(n)
      local callbacks = {}
      local function allocated(state)
        allocs = allocs + 1
        local id = allocs
        live[id] = state
        if n ~= nil and allocs == n then
          if restart then second = memprof.start {rate = 1, callbacks = tracked()}
          else first:stop() end
        end
        return id
      end
      function callbacks.alloc_young() return allocated "young" end
      function callbacks.alloc_old() return allocated "old" end -- a part of what is old
      function callbacks.promote(id) assert(live[id] == "young") live[id] = "old" return id end
      function callbacks.dealloc_young(id) assert(live[id] == "young") live[id] = nil end
      function callbacks.dealloc_old(id) assert(live[id] == "old") live[id] = nil end
      return callbacks
    end
    first = memprof.start {rate = 1, callbacks = tracked(k)}
    run()
    if second then second:stop() end
    if memprof.is_sampling() then first:stop() end
    assert(allocs >= k or not restart, allocs)
    if not restart then assert(allocs == k) end
    profile.settle()
    profile.settle()
    for id, state in pairs(live) do
      error(("block %s of %d is %s, k %d"):format(id, allocs, state, k))
    end
    first:discard()
    if second then second:discard() end
  end
end

-- Discarded in the k-th allocation: no promotion and no death is ever called back.
for k = 1, 10 do
  local allocs, others, s = 0, 0, nil
  local function other() others = others + 1 end
  collectgarbage()
  s = memprof.start {rate = 1, callbacks = {
    alloc_young = function()
      allocs = allocs + 1
      if allocs == k then s:stop() s:discard() end
      return allocs
    end,
    promote = other, dealloc_young = other, dealloc_old = other}}
  run()
  assert(allocs == k)
  local before = others
  profile.settle()
  assert(others == before)
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

-- What a callback returns is what the next one gets; nil ends the tracking.
do
  local kept, seen = {}, {}
  local s = memprof.start {rate = 1, callbacks = {
    alloc_young = function(sample) return sample.kind == "table" and 42 or nil end,
    alloc_old = function() end,
    promote = function(v) assert(v == 42) return 17 end,
    dealloc_old = function(v) assert(v == 17) seen.old = (seen.old or 0) + 1 end,
    dealloc_young = function(v) assert(v == 42) seen.young = (seen.young or 0) + 1 end}}
  for i = 1, 20 do kept[i] = {i} end
  for _ = 1, 20 do local _ = {} end
  s:stop()
  profile.settle()
  kept = nil
  profile.settle()
  profile.settle()
  assert(seen.old >= 20, tostring(seen.old))
  -- a build that collects at each step promotes them
  assert(slow >= 20 or seen.young >= 19, tostring(seen.old) .. " " .. tostring(seen.young))
  s:discard()
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
