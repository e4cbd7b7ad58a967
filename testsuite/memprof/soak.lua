-- SPDX-License-Identifier: MIT
-- make soak-memprof [SECONDS=1200] [RATE=0.01]: memory over a long time, with many distinct
-- stacks, chunks that come and go, profiles that are started, stopped, discarded and given
-- up, and domains that inherit them, while a recording samples at the same rate
-- (SAROS_MEMPROF). After a fifth of the time nothing may grow: resident memory by more than a
-- quarter and 8 MB, live objects of Lua by more than 4 MB, and the file of the recording by
-- more than a quarter and 8 MB: what was never seen before takes room there until the budgets
-- of stacks and functions are used up (24 MB), and the rings do not grow.
local memprof = require "saros.memprof"
local domain = require "saros.domain"
local eventring = require "saros.eventring"
local seconds, rate = tonumber(arg[1]), tonumber(arg[2])

local function resident()
  for line in io.lines "/proc/self/status" do
    local kib = line:match "^VmRSS:%s+(%d+)"
    if kib then return tonumber(kib) / 1024 end
  end
end

-- MB of the file of the recording; 0: there is none.
local function recorded()
  local path = eventring.path()
  if not path then return 0 end
  local file <close> = assert(io.open(path))
  return file:seek "end" / 2^20
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

-- What must not grow: by how much it may all the same, and since when it is watched.
local watched = {
  {name = "resident", of = resident, factor = 1.25, spare = 8},
  {name = "in the file", of = recorded, factor = 1.25, spare = 8},
  {name = "of Lua", of = function() return collectgarbage "count" / 1024 end, factor = 1, spare = 4},
}

local function show(elapsed)
  local s = memprof.start {rate = 0}
  local unknown = s:snapshot().unknown_stacks
  s:stop()
  io.write(("%5d s:"):format(elapsed))
  for _, w in ipairs(watched) do io.write((" %.1f MB %s,"):format(w.of(), w.name)) end
  print((" %d profiles, %d domains, %d unknown stacks"):format(profiles, domains, unknown))
end

local function collect()
  collectgarbage()
  collectgarbage()
end

local start, shown, begun, half = os.time(), 0, false, false
while os.time() - start < seconds do
  for _ = 1, 100 do round() end
  local elapsed = os.time() - start
  if not begun and elapsed >= seconds / 5 then
    begun = true
    collect()
    for _, w in ipairs(watched) do w.first = w.of() end
  end
  if not half and elapsed >= seconds / 2 then
    half = true
    for _, w in ipairs(watched) do w.half = w.of() end
  end
  if elapsed - shown >= seconds / 20 then
    shown = elapsed
    show(elapsed)
  end
end
collect()
local grows = false
for _, w in ipairs(watched) do
  local last = w.of()
  local bad = last > w.first * w.factor + w.spare
  print(("MB %s: %.1f after a fifth, %.1f at half, %.1f at the end%s"):format(
    w.name, w.first, w.half, last, bad and ": IT GROWS" or ""))
  grows = grows or bad
end
os.exit(not grows)
