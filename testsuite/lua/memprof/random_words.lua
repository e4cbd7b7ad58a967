-- SPDX-License-Identifier: MIT
-- Random programs of tables that grow, shrink, are moved and dropped, strings, closures,
-- coroutines, chunks and messages, while profiles at rate 1 start, stop, replace each other
-- and are discarded: each profile has sampled exactly the words that were asked for while it
-- ran, whatever was done before. RANDOM_SEED=n repeats a run.

local memprof = require "saros.memprof"
local domain = require "saros.domain"
local slow = tonumber(os.getenv "TEST_SLOWNESS" or 1)
local seed = tonumber(os.getenv "RANDOM_SEED") or os.time() * 1000 + math.floor(os.clock() * 1e6) % 1000
math.randomseed(seed)
local random = math.random

local kept, channel = {}, domain.channel(1)
local function size() return random(({4, 40, 400, 4000, 40000 // slow})[random(5)]) end
local function keep(value) kept[random(20)] = value end
local function with(kind, f)
  local value = kept[random(20)]
  if type(value) == kind then f(value) end
end
local actions = {
  function() local t = {} for i = 1, size() do t[i] = i end keep(t) end,
  function() local t = {} for i = 1, size() // 10 do t[i * 1.5] = {} end keep(t) end,
  function() with("table", function(t) for i = #t, #t // 2, -1 do t[i] = nil end end) end,
  function() with("table", function(t) for i = 1, random(100) do t["k" .. i] = i end end) end,
  function() with("table", function(t) for k in pairs(t) do t[k] = nil end t.again = {} end) end,
  function() with("table", function(t)
    for i = 1, random(20) do table.insert(t, random(#t + 1), i) end end) end,
  function() with("table", function(t)
    for _ = 1, math.min(#t, random(20)) do table.remove(t, random(#t)) end end) end,
  function() with("table", function(t)
    table.move(t, 1, math.min(#t, 2000), random(100), random(2) == 1 and {} or t) end) end,
  function() keep(("x"):rep(size())) end,
  function() local s = "" for i = 1, random(40) do s = s .. i .. "," end keep(s) end,
  function() local b = {} for i = 1, random(99) do b[i] = "s" .. i end keep(table.concat(b)) end,
  function() keep((("%d %q"):format(random(99), ("t"):rep(random(500))):gsub("t", "long"))) end,
  function() local a, b = random(9), {} keep(function() b = {a, b and 1} return b end) end,
  function() with("function", function(f) for _ = 1, random(20) do f() end end) end,
  function()
    local function deep(n) if n == 0 then return coroutine.yield {} end return 1 + deep(n - 1) end
    local co = coroutine.create(deep)
    assert(coroutine.resume(co, random(random(4) == 1 and 4000 // slow + 1 or 100)))
    keep(co)
  end,
  function() with("thread", function(co) coroutine.resume(co, 1) coroutine.close(co) end) end,
  function() keep(load("local a = {1, 'two" .. random(99) .. "', function() end} return a")()) end,
  function() keep(string.dump(function(x) return {x} end)) end,
  function() pcall(function() error {random(9)} end) end,
  function() keep(setmetatable({}, {__gc = function() local _ = {} end})) end,
  function() channel:send {1, ("y"):rep(random(500)), {x = {}}} keep(channel:receive()) end,
  function() keep(table.pack(string.byte(("x"):rep(random(200)), 1, -1))) end,
  function() collectgarbage "step" end,
  function() kept = {} end,
}

local running, stopped = nil, {}
local function stop()
  running:stop()
  local figures = running:snapshot()
  assert(figures.lost == 0)
  assert(figures.samples == figures.words, ("%d samples of %d words (RANDOM_SEED=%d)"):format(
    figures.samples, figures.words, seed))
  stopped[#stopped + 1], running = running, nil
end
local function change()
  if running then stop() end
  if random(3) == 1 then actions[random(#actions)]() end -- not sampled
  if random(2) == 1 and #stopped > 0 then table.remove(stopped, random(#stopped)):discard() end
  if #stopped > 8 then stopped = {} end
  if random(4) == 1 then memprof.start {rate = 0.01} end -- is replaced
  running = memprof.start {rate = 1, depth = random(0, 8)}
end

change()
for _ = 1, 1500 // slow do
  actions[random(#actions)]()
  if random(12) == 1 then change() end
end
stop()
