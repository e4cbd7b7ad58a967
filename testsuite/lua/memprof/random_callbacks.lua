-- SPDX-License-Identifier: MIT
-- Random programs whose callbacks allocate, collect, raise, stop, restart, discard and
-- resume coroutines; an oracle follows each block: allocation, at most one promotion, one
-- death of the right age, nothing after a discard. RANDOM_SEED=n repeats a run.

local memprof = require "saros.memprof"
local slow = tonumber(os.getenv "TEST_SLOWNESS" or 1)
local seed = tonumber(os.getenv "RANDOM_SEED") or os.time() * 1000 + math.floor(os.clock() * 1e6) % 1000
math.randomseed(seed)
local random = math.random

local inside, blocks = false, 0
local allowed = false -- to raise: what is running is caught
local function fail(text) error(("%s (RANDOM_SEED=%d)"):format(text, seed), 0) end
local profiles = {} -- sampler -> {state, live}
local current

-- An error of a callback can lose the result of start: then the one that runs is asked for.
local function stop()
  local p = current
  if not p then return end -- a callback came first
  local sampler = p.sampler or memprof.sampler()
  current = nil
  if sampler then sampler:stop() end
end

local start
local function mischief(p)
  local what = random(40)
  if what == 1 then collectgarbage()
  elseif what == 2 then collectgarbage "step"
  elseif what == 3 and allowed then allowed = false error("raised", 0)
  elseif what == 4 and p.sampler and current == p then p.sampler:stop() current = nil
  elseif what == 5 then start()
  elseif what == 6 and p.sampler and current ~= p and not p.discarded then
    p.sampler:discard()
    p.discarded = true
  elseif what < 12 then local _ = {{}, {}, "s" .. random(1000)}
  elseif what == 12 then coroutine.wrap(function() local _ = {} end)()
  end
end

local function guarded(p, f)
  return function(value)
    if inside then fail "a callback inside another" end
    if p.discarded then fail "a callback after discard" end
    inside = true
    local result = f(value)
    local ok, e = pcall(mischief, p)
    inside = false
    if not ok then
      if e ~= "raised" then fail(e) end
      if result then p.live[result] = nil end
      error(e, 0)
    end
    return result
  end
end

function start()
  local p = {live = {}}
  current = p
  p.sampler = memprof.start {rate = ({1, 0.3, 0.05})[random(3)], depth = random(0, 20), callbacks = {
    alloc_young = guarded(p, function()
      blocks = blocks + 1
      local id = blocks
      p.live[id] = "young"
      if random(10) == 1 then p.live[id] = nil return nil end
      return id
    end),
    alloc_old = guarded(p, function()
      blocks = blocks + 1
      p.live[blocks] = "old"
      return blocks
    end),
    promote = guarded(p, function(id)
      if p.live[id] ~= "young" then fail("promotion of a block that is " .. tostring(p.live[id])) end
      p.live[id] = "old"
      return id
    end),
    dealloc_young = guarded(p, function(id)
      if p.live[id] ~= "young" then fail("young death of one that is " .. tostring(p.live[id])) end
      p.live[id] = nil
    end),
    dealloc_old = guarded(p, function(id)
      if p.live[id] ~= "old" then fail("old death of one that is " .. tostring(p.live[id])) end
      p.live[id] = nil
    end)}}
  profiles[#profiles + 1] = p
end

local kept = {}
local actions = {
  function() kept[random(50)] = {random(9), x = {}} end,
  function() kept[random(50)] = nil end,
  function() kept[random(50)] = ("s"):rep(random(3000)) .. random(100) end,
  function() local t = kept[random(50)] if type(t) == "table" then for i = 1, random(40) do t[i] = i end end end,
  function() local n = random(9) kept[random(50)] = function() return n end end,
  function() kept[random(50)] = coroutine.wrap(function() while true do coroutine.yield {} end end) end,
  function() local f = kept[random(50)] if type(f) == "function" then f() end end,
  function() kept[random(50)] = load("return {" .. random(9) .. "}, function() end") end,
  function() kept[random(50)] = setmetatable({}, {__gc = function() local _ = {} end}) end,
  function() if random(20) == 1 then collectgarbage() end end,
  function() if current and random(30) == 1 then stop() end end,
  function() if not current then start() end end,
}
local function round()
  allowed = true
  for _ = 1, 20 do actions[random(#actions)]() end
  allowed = false
end

-- What such a program has to expect: a callback may come between any two of its steps.
local expected = {"raised", "it was stopped", "stop it first", "discarded", "dead coroutine",
                  "non-suspended coroutine"}
local function once(f)
  local ok, e = pcall(f)
  allowed = false
  if not ok then error(e, 0) end
end
local function attempt(f)
  local ok, e = pcall(once, f) -- a callback may raise behind the inner one
  if ok then return end
  for _, text in ipairs(expected) do
    if tostring(e):find(text, 1, true) then return end
  end
  error(e, 0)
end
for _ = 1, 800 // slow do
  attempt(round)
  allowed = false
end
attempt(stop)
