-- SPDX-License-Identifier: MIT
-- Loops that allocate, for memprof.sh:
--
--   memprof.lua tables N [callback]
--
-- N tables, `{}`, made at a depth of 10 frames; prints the processor time of one, in ns. With
-- `callback` every word of them is sampled, for an empty callback.
--
--   memprof.lua slices N
--
-- N slices of some milliseconds of the same with the callback; prints for each the time of
-- a step of a loop that only adds and of a sample, in ns. A processor that shares its core
-- with another busy one, or runs at a lower clock, shows in both.

local what, n, callback = arg[1], tonumber(arg[2]), arg[3]
assert((what == "tables" or what == "slices") and n,
       "usage: memprof.lua tables N [callback] | slices N")

local function tables(count)
  local begin = os.clock()
  for _ = 1, count do local _ = {} end
  return (os.clock() - begin) * 1e9 / count
end

local function additions(count)
  local begin, a, b, c, d = os.clock(), 1, 2, 3, 4
  for i = 1, count do a = a + i b = b ~ i c = c - i d = d & i end
  return (os.clock() - begin) * 1e9 / count
end

local function slices(unsampled)
  for _ = 1, n do
    local before, sampled = additions(200000), tables(20000)
    print((before + additions(200000)) / 2, sampled - unsampled)
  end
end

local function frames()
  local depth = 0
  while debug.getinfo(depth + 2, "l") do depth = depth + 1 end
  return depth -- of the caller
end

local function at_depth_10(f, ...)
  if frames() < 9 then return (at_depth_10(f, ...)) end
  return (f(...))
end

local unsampled = what == "slices" and at_depth_10(tables, 200000)
local sampler
if callback or unsampled then
  sampler = require "saros.memprof".start {rate = 1, callbacks = {alloc_young = function() end}}
end
if unsampled then at_depth_10(slices, unsampled) else print((at_depth_10(tables, n))) end
if sampler then sampler:stop() end
