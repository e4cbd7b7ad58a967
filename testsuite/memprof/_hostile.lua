-- SPDX-License-Identifier: MIT
-- Run before a program (LUA_INIT): samples every word, with callbacks that allocate, and
-- collect now and then. MEMPROF_DEPTH=n frames of a sample; MEMPROF_MOST=n: after n callbacks
-- each word is a sample with probability 1e-5 only, for builds in which each allocation of a
-- callback collects.

local memprof = require "saros.memprof"
local collectgarbage = collectgarbage
local function setting(name, default) return tonumber(os.getenv("MEMPROF_" .. name) or default) end
local rate, depth = setting("RATE", 1), setting("DEPTH", 10)
local most = setting("MOST", math.huge)
local n = 0
local start

local function work(value)
  n = n + 1
  if n == most then start(rate / 100000) end
  local t = {n, value, name = "n" .. n, f = function() return n end}
  if n % 997 == 0 then collectgarbage "step" end
  if n % 20011 == 0 then collectgarbage() end
  return t
end

local function free(t)
  work(t)
  assert(t.name and t.f() >= t[1])
end

function start(chance)
  memprof.start {rate = chance, depth = depth, callbacks = {
    alloc_young = work, alloc_old = work, promote = work, dealloc_young = free,
    dealloc_old = free}}
end
start(rate)
