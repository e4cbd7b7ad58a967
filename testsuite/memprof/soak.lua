-- SPDX-License-Identifier: MIT
-- make soak-memprof [SECONDS=1200] [RATE=0.01]: memory over a long time, with many distinct
-- stacks, chunks that come and go, profiles that are started, stopped, discarded and given
-- up, and domains that inherit them. After a fifth of the time nothing may grow: resident
-- memory by more than a quarter and 8 MB, and live objects of Lua by more than 4 MB.
local memprof = require "saros.memprof"
local domain = require "saros.domain"
local seconds, rate = tonumber(arg[1]), tonumber(arg[2])

local function resident()
  for line in io.lines "/proc/self/status" do
    local kib = line:match "^VmRSS:%s+(%d+)"
    if kib then return tonumber(kib) / 1024 end
  end
end

local profiles, domains = 0, 0
local function callbacks()
  local function keep(sample) return sample end
  local function none() end
  return {alloc_young = keep, alloc_old = keep, promote = math.random(2) == 1 and keep or nil,
          dealloc_young = math.random(2) == 1 and none or nil,
          dealloc_old = math.random(2) == 1 and none or nil}
end

local function deep(n, bits)
  if n == 0 then return {bits} end
  if bits & 1 == 0 then
    local t = deep(n - 1, bits >> 1)
    return t
  end
  local t = deep(n - 1, bits >> 1)
  return t
end

local kept, n = {}, 0
local function work(rounds)
  for _ = 1, rounds do
    n = n + 1
    kept[n % 500 + 1] = deep(12, math.random(0, 4095))
    kept[n % 300 + 1] = load("return function() return {" .. n .. "} end")()()
    kept[n % 100 + 1] = ("x"):rep(math.random(2000)) .. n
    if n % 100 == 0 then coroutine.wrap(function() deep(5, n) end)() end
  end
end

local function round()
  local s = memprof.start {rate = rate, depth = math.random(0, 64), callbacks = callbacks()}
  profiles = profiles + 1
  work(20)
  local what = math.random(4)
  if what > 1 then s:stop {flush = what == 2} end
  if what > 2 then s:discard() end
  if profiles % 50 == 0 then
    domains = domains + 1
    domain.spawn(function(rounds)
      local kept = {}
      for i = 1, rounds do kept[i % 50 + 1] = {i, load("return {" .. i .. "}")()} end
    end, 200):join()
  end
  return s
end

local start, from, first, first_count, shown = os.time(), nil, nil, nil, 0
local unknown = 0
while os.time() - start < seconds do
  for _ = 1, 100 do round() end
  local elapsed = os.time() - start
  if not first and elapsed >= seconds / 5 then
    collectgarbage()
    collectgarbage()
    first, first_count = resident(), collectgarbage "count" / 1024
  end
  if elapsed - shown >= seconds / 20 then
    shown = elapsed
    local s = memprof.start {rate = 0}
    unknown = s:snapshot().unknown_stacks
    s:stop()
    print(("%5d s: %.1f MB resident, %.1f MB of Lua, %d profiles, %d domains, %d unknown stacks")
      :format(elapsed, resident(), collectgarbage "count" / 1024, profiles, domains, unknown))
  end
end
collectgarbage()
collectgarbage()
local last, count = resident(), collectgarbage "count" / 1024
print(("from %.1f to %.1f MB resident, from %.1f to %.1f MB of Lua"):format(first, last,
                                                                            first_count, count))
if last > first * 1.25 + 8 or count > first_count + 4 then
  print "it grows"
  os.exit(1)
end
