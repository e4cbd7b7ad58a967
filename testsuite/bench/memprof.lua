-- SPDX-License-Identifier: MIT
-- Loops that allocate, for memprof.sh:
--
--   memprof.lua tables N [callback]
--
-- N tables, `{}`, made at a depth of 10 frames; prints the processor time of one, in ns. With
-- `callback` every word of them is sampled, for an empty callback.

local what, n, callback = arg[1], tonumber(arg[2]), arg[3]
assert(what == "tables" and n, "usage: memprof.lua tables N [callback]")

local function loop()
  local begin = os.clock()
  for _ = 1, n do local _ = {} end
  return (os.clock() - begin) * 1e9 / n
end

local function frames()
  local depth = 0
  while debug.getinfo(depth + 2, "l") do depth = depth + 1 end
  return depth -- of the caller
end

local function at_depth_10()
  if frames() < 9 then return (at_depth_10()) end
  return (loop())
end

local sampler
if callback then
  sampler = require "saros.memprof".start {rate = 1, callbacks = {alloc_young = function() end}}
end
local ns = at_depth_10()
if sampler then sampler:stop() end
print(ns)
