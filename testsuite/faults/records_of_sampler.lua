-- SPDX-License-Identifier: MIT
-- Samples whose records find no room (allocations_test.c): those called back and those counted as
-- lost are all samples.
local memprof = require "saros.memprof"
local rounds = tonumber((...)) or 300

local function run(rate)
  local called, kept = 0, {}
  local function allocated(sample)
    called = called + sample.samples
    return {}
  end
  local function same(value) return value end
  local sampler = memprof.start {rate = rate, callbacks = {
    alloc_young = allocated, alloc_old = allocated, promote = same,
    dealloc_young = same, dealloc_old = same}}
  for i = 1, rounds do
    kept[i % 40] = {i, {i}, name = "sample " .. i, text = ("x"):rep(i % 100)}
  end
  sampler:stop {flush = true}
  local snapshot = sampler:snapshot()
  assert(called > 0 and snapshot.lost > 0)
  assert(called + snapshot.lost == snapshot.samples)
  sampler:discard()
end

for _, rate in ipairs {0.02, 0.2, 1} do run(rate) end
