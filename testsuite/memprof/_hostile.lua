-- SPDX-License-Identifier: MIT
-- Run before a program (LUA_INIT): samples every word, with callbacks that allocate, and
-- collect now and then.

local memprof = require "saros.memprof"
local collectgarbage, rate = collectgarbage, tonumber(os.getenv "MEMPROF_RATE" or 1)
local n = 0

local function work(value)
  n = n + 1
  local t = {n, value, name = "n" .. n, f = function() return n end}
  if n % 997 == 0 then collectgarbage "step" end
  if n % 20011 == 0 then collectgarbage() end
  return t
end

local function free(t)
  work(t)
  assert(t.name and t.f() >= t[1])
end

memprof.start {rate = rate, depth = 10, callbacks = {
  alloc_young = work, alloc_old = work, promote = work, dealloc_young = free, dealloc_old = free}}
