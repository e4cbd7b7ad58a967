-- SPDX-License-Identifier: MIT
-- A profile of calls begins and ends in handlers of variables that coroutine.close closes:
-- the thread that closes waits, and goes on. Counts stay exact, and the chain of threads
-- that wait for each other stays one.

local eventring, profile = require "saros.eventring", require "saros.profile"

local SLOW = tonumber(os.getenv "TEST_SLOWNESS" or "1") > 4
eventring.start()

-- switched at random moments, between coroutines that close each other
local seed = 1
local function random(n)
  seed = (seed * 1103515245 + 12345) % 2147483648
  return seed // 65536 % n + 1
end
local running, hooked
local function switch()
  local what = random(6)
  if what == 1 then
    if running then running:stop() running = nil
    else
      local ok, started = pcall(profile.start, {budget = 1 << 17})
      if ok then running = started end
    end
  elseif what == 2 then
    if random(2) == 1 then eventring.enable "calls" else eventring.disable "calls" end
  elseif what == 3 then
    if hooked then debug.sethook() else debug.sethook(function() end, "crl") end
    hooked = not hooked
  end
end
local function deep(n)
  if n == 0 then return end
  local co = coroutine.create(function()
    local z <close> = setmetatable({}, {__close = function() switch() deep(n - 1) switch() end})
    switch() deep(n - 1)
    coroutine.yield(1)
    switch()
  end)
  switch()
  coroutine.resume(co)
  switch()
  if random(3) > 1 then coroutine.close(co) else coroutine.resume(co) end
  switch()
end
for _ = 1, SLOW and 10 or 100 do deep(3) end
if running then running:stop() end
debug.sethook()
eventring.disable "calls"

-- What begins in a handler: what it calls, and what the closing thread calls afterwards, is
-- counted, and that thread is not within the coroutine that it closed.
local work, own = 0, 0
local function leaf() work = work + 1 end
local function inside() own = own + 1 leaf() end
local p
local function closing_thread()
  local co = coroutine.create(function()
    local z <close> = setmetatable({}, {__close = function() p = profile.start() inside() end})
    coroutine.yield()
  end)
  coroutine.resume(co)
  coroutine.close(co)
  co = nil
  for i = 1, 50 do
    inside()
    local other = coroutine.wrap(function() inside() coroutine.yield() inside() end)
    other() other()
    collectgarbage "step"
  end
end
closing_thread()
p:stop()
local counts = {}
for _, row in ipairs(p:report().rows) do counts[row.name] = row end
assert(own == 151 and counts.inside.count == own and counts.leaf.count == work)
assert(counts.closing_thread.inclusive >= counts.inside.inclusive)
