-- SPDX-License-Identifier: MIT
-- Exact numbers of callbacks: errors, stops, restarts and discards in the k-th callback of an
-- expression of eight blocks, made one after the other or most of them in one step; large
-- literals in a small nursery. The numbers are those of the tests of OCaml's Memprof
-- (exception_comballoc, stop_start_in_callback, discard_in_callback, minor_heap_edge), where
-- blocks are not combined; the sizes are ours.

local memprof = require "saros.memprof"
local profile = require "_profile"
local slow = tonumber(os.getenv "TEST_SLOWNESS" or 1)

local A, B, C, D, E, F, G, H
local function keep(a, b, c, d, e, f, g, h) A, B, C, D, E, F, G, H = a, b, c, d, e, f, g, h end
local function clear() A, B, C, D, E, F, G, H = nil end

-- Eight blocks, and a safepoint after each. Half of them stay.
local function one_by_one()
  keep({}, function() end, {}, function() return 1 end)
  local _ = {}, {}, function() return 2 end, {}
end

-- Seven blocks in one step, which is a closure with what it captures, and one more.
local function combined()
  local a, b, c, d, e, f = 1, 2, 3, 4, 5, 6
  keep(function() return a, b, c, d, e, f end, {})
end

local flush = {flush = true}
local counted = {table = true, closure = true, upvalue = true}

-- Runs the expression while each block of it is called back; `at`(n, sampler) in the n-th
-- callback. Returns a record of what became of the blocks.
local function watch(expression, at)
  local r = {allocs = 0, words = 0, errors = 0, samplers = {}, sizes = {},
             promoted = {}, young = {}, old = {}, alive = {}}
  function r.start()
    local s
    local function allocated(sample)
      if not counted[sample.kind] then return nil end
      r.allocs = r.allocs + 1
      r.words = r.words + sample.words
      local n = r.allocs
      r.sizes[n] = sample.words
      if at then at(n, s, r) end
      r.alive[n] = true
      return n
    end
    local function died(list, n)
      assert(r.alive[n] and not list[n], "dies twice")
      r.alive[n], list[n] = nil, true
    end
    s = memprof.start {rate = 1, callbacks = {
      alloc_young = allocated, alloc_old = allocated,
      promote = function(n)
        assert(r.alive[n] and not r.promoted[n], "promoted twice")
        r.promoted[n] = true
        return n
      end,
      dealloc_young = function(n) died(r.young, n) end,
      dealloc_old = function(n) died(r.old, n) end}}
    r.samplers[#r.samplers + 1] = s
    return s
  end
  clear()
  collectgarbage()
  r.start()
  local ok, message = pcall(expression)
  if memprof.is_sampling() then memprof.sampler():stop(flush) end
  if not ok then
    assert(message:find "the error of a callback", message)
    r.errors = 1
  end
  profile.settle() -- promotes what is kept
  clear()
  profile.settle()
  return r
end

local function size(list)
  local n = 0
  for _ in pairs(list) do n = n + 1 end
  return n
end

-- All that was called back for its allocation has died once, if it was promoted, old.
local function check_fates(r)
  assert(size(r.alive) == 0, size(r.alive))
  for n in pairs(r.promoted) do assert(r.old[n] and not r.young[n]) end
  for n in pairs(r.young) do assert(not r.old[n]) end
  assert(size(r.young) + size(r.old) == r.allocs - r.errors)
end

-- A run each for i = 1 ... `runs`, with at(i, n, sampler, record); the sums of all.
-- check(record): of one whose profile was discarded.
local function sum(runs, expression, at, check)
  local sums = {allocs = 0, words = 0, errors = 0, deaths = 0, promoted = 0}
  for i = 1, runs do
    local r = watch(expression, function(n, s, r) at(i, n, s, r) end)
    sums.allocs = sums.allocs + r.allocs
    sums.words = sums.words + r.words
    sums.errors = sums.errors + r.errors
    sums.deaths = sums.deaths + size(r.young) + size(r.old)
    sums.promoted = sums.promoted + size(r.promoted)
    if check then
      check(r)
    else
      check_fates(r)
      for _, s in ipairs(r.samplers) do s:discard() end
    end
  end
  return sums
end

local function expect(what, sums, allocs, words)
  assert(sums.allocs == allocs, what .. ": " .. sums.allocs .. " allocations")
  assert(sums.words == words, what .. ": " .. sums.words .. " words, not " .. words)
end

-- Words of the first n blocks.
local function prefix(sizes, n)
  local words = 0
  for i = 1, math.min(n, #sizes) do words = words + sizes[i] end
  return words
end

one_by_one() -- what is made once, is made
combined()
local each, together = watch(one_by_one), watch(combined)
assert(each.allocs == 8 and together.allocs == 8)
local all = prefix(each.sizes, 8)
for _, r in ipairs {each, together} do
  check_fates(r)
  assert(size(r.promoted) >= 4)
  r.samplers[1]:discard()
end

-- An error in the i-th allocation, i = 1 ... 10: 52 are called back, 8 of these raise, and the
-- others die.
do
  local words = 2 * all
  for i = 1, 8 do words = words + prefix(each.sizes, i) end
  local sums = sum(10, one_by_one, function(i, n)
    if n == i then error "the error of a callback" end
  end)
  expect("errors", sums, 52, words)
  assert(sums.errors == 8 and sums.deaths == 44, sums.deaths)
end

local function stop(i, n, s) if n == i then s:stop() end end
local function restart(i, n, _, r) if n == i then r.start() end end

-- A stop in the i-th, i = 1 ... 4: 10 are called back; with a restart 32, as the new profile
-- sees the rest.
do
  local stopped, words = sum(4, one_by_one, stop), 0
  for i = 1, 4 do words = words + prefix(each.sizes, i) end
  expect("stopped", stopped, 10, words)
  expect("restarted", sum(4, one_by_one, restart), 32, 4 * all)
end

-- The same in one step: the rest of the step is dropped. A new profile sees what comes after.
do
  local stopped, words = sum(4, combined, stop), 0
  for i = 1, 4 do words = words + prefix(together.sizes, i) end
  expect("stopped in a step", stopped, 10, words)
  expect("restarted in a step", sum(4, combined, restart), 10 + 4,
         words + 4 * together.sizes[8])
end

-- The same with a discard: as many allocations, and nothing of these blocks is called back from
-- then on. (Before, only in a build that collects at each allocation.)
do
  local function copy(list)
    local c = {}
    for n in pairs(list) do c[n] = true end
    return c
  end
  local function discard(i, n, s, r)
    if n ~= i then return end
    s:stop()
    s:discard()
    r.discarded, r.before = i, {promoted = copy(r.promoted), young = copy(r.young), old = copy(r.old)}
  end
  local function discard_and_restart(i, n, s, r)
    if n ~= i then return end
    discard(i, n, s, r)
    r.start()
  end
  local function check_discarded(r)
    for name, before in pairs(r.before) do
      assert(slow >= 20 or next(before) == nil, name)
      for n in pairs(r[name]) do assert(n > r.discarded or before[n], name) end
    end
  end
  for _, expression in ipairs {one_by_one, combined} do
    assert(sum(4, expression, discard, check_discarded).allocs == 10)
  end
  for _, case in ipairs {{one_by_one, 32}, {combined, 14}} do
    local sums = sum(4, case[1], discard_and_restart, function(r)
      check_discarded(r)
      r.samplers[2]:discard()
    end)
    assert(sums.allocs == case[2], sums.allocs)
    assert(slow >= 20 or sums.deaths == case[2] - 10, sums.deaths)
  end
end

-- Large literals in the smallest nursery, and callbacks that make up to 500 blocks: two blocks
-- each, all promoted, none dies.
do
  local n, callbacks = 10000 // slow, 0
  local allocs, promoted, died, list = 0, 0, 0, nil
  local function work()
    callbacks = callbacks + 1
    for _ = 1, callbacks % (slow >= 20 and 5 or 500) do local _ = {} end
  end
  local function died_one() died = died + 1 end
  local function make(i)
    list = {list, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i}
  end
  make(0)
  collectgarbage("generational", 1)
  local s = memprof.start {rate = 1, callbacks = {
    alloc_young = function(sample)
      if sample.kind ~= "table" and sample.kind ~= "array part" then return nil end
      allocs = allocs + 1
      work()
      return allocs
    end,
    promote = function(v)
      promoted = promoted + 1
      work()
      return v
    end,
    alloc_old = function() end, -- stacks
    dealloc_young = died_one, dealloc_old = died_one}}
  for i = 1, n do make(i) end
  s:stop(flush)
  profile.settle()
  assert(allocs == 2 * n and promoted == 2 * n and died == 0,
         ("%d allocated, %d promoted, %d died"):format(allocs, promoted, died))
  list = nil
  profile.settle()
  profile.settle()
  assert(died == 2 * n, died)
  s:discard()
  collectgarbage("generational", 20)
end
