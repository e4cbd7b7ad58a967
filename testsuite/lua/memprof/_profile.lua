-- SPDX-License-Identifier: MIT
-- A profile that counts what its callbacks are called for, and checks that each block goes
-- through its states in order, each once.
--
--   local p = profile.start(rate[, extra])   extra.alloc(sample, n), .promote, .free
--   p.allocs, .promotes, .young, .old (deaths), .words, .samples
--   p:stop(), p:discard()

local memprof = require "saros.memprof"
local profile = {}
profile.__index = profile

function profile.start(rate, extra)
  extra = extra or {}
  local p = setmetatable({allocs = 0, promotes = 0, young = 0, old = 0, words = 0, samples = 0,
                          calls = 0}, profile)
  local running = false
  local function guarded(f)
    return function(...)
      assert(not running, "a callback runs inside another")
      running = true
      local ok, result = pcall(f, ...)
      running = false
      if not ok then error(result, 0) end
      return result
    end
  end
  local function alloc(old)
    return guarded(function(sample)
      p.calls = p.calls + 1
      if extra.alloc then extra.alloc(sample, p.calls) end
      p.allocs = p.allocs + 1
      p.words = p.words + sample.words
      p.samples = p.samples + sample.samples
      return {state = old and "old" or "young", words = sample.words, sample = sample}
    end)
  end
  local function free(old)
    return guarded(function(block)
      assert(block.state == (old and "old" or "young"), block.state)
      block.state = "dead"
      local n = old and "old" or "young"
      p[n] = p[n] + 1
      if extra.free then extra.free(block) end
    end)
  end
  p.sampler = memprof.start {rate = rate, depth = extra.depth, callbacks = {
    alloc_young = alloc(false), alloc_old = alloc(true),
    promote = guarded(function(block)
      assert(block.state == "young", block.state)
      block.state = "old"
      p.promotes = p.promotes + 1
      if extra.promote then extra.promote(block) end
      return block
    end),
    dealloc_young = free(false), dealloc_old = free(true)}}
  return p
end

function profile:stop() self.sampler:stop {flush = true} end
function profile:discard() self.sampler:discard() end

-- Overwrites dead registers of the caller.
local function clobber(n)
  local a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q, r, s, t, u = nil
  if n > 0 then clobber(n - 1) end
  return a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q, r, s, t, u
end

-- Runs until all that is dead has been called back.
function profile.settle()
  for _ = 1, 3 do
    clobber(5)
    collectgarbage()
  end
end

return profile
