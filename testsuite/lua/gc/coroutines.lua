-- SPDX-License-Identifier: MIT
-- saros.coroutines: which coroutines wait, where they stand, what made them and who holds them.
local coroutines = require "saros.coroutines"

local slowness = tonumber(os.getenv "TEST_SLOWNESS" or "1")
local N = slowness >= 20 and 100 or 5000

local function await(n) return coroutine.yield(n) end
local function worker(n)
  await(n)
  await(n)
end
local function spawn(list, n)
  local co = coroutine.create(worker)
  list[#list + 1] = co
  assert(coroutine.resume(co, n))
end
local line = debug.getinfo(1, "l").currentline -- 10 lines behind that of `await`

-- The group whose holders have this shape
local function find(shape, options)
  local report = coroutines.report(options or { top = 1000 })
  for _, g in ipairs(report.groups) do
    for _, h in ipairs(g.holders) do
      if h.shape == shape then return g, report, h end
    end
  end
  return nil, report
end

assert(#coroutines().groups == 0 and coroutines().count == 0)

-- Many in one line, held in one way
WAITING = {}
for i = 1, N do spawn(WAITING, i) end
local g, report, holder = find "_G.WAITING[*]"
assert(report.count == N and #report.groups == 1 and report.more_groups == 0 and not report.cut_off)
assert(g.state == "suspended" and g.count == N and g.bytes == report.bytes and g.bytes >= 700 * N)
assert(holder.count == N and holder.path:find "^_G%.WAITING%[%d+%]$" and holder.steps == 2)
assert(g.held_otherwise == 0 and g.below == 0 and #g.frames == 3)
assert(g.frames[1].name == "coroutine.yield" and g.frames[1].source == "[C]" and not g.frames[1].line)
assert(g.frames[2].name == "await" and g.frames[2].line == line - 10)
assert(g.frames[3].name == "worker" and g.frames[3].line == line - 8)
assert(g.created.name == "spawn" and g.created.line == line - 4)
assert(g.resumed.name == "spawn" and g.resumed.line == line - 2)
assert(g.with_spans == 0 and g.span == nil)

-- Another line, another way: another group, another holder. One that has ended, that is garbage,
-- that runs or waits for the one that runs is none of them.
for i = 1, 3 do assert(coroutine.resume(WAITING[i])) end
OTHER = { deep = { WAITING[N] } }
ENDED = coroutine.create(function() end)
assert(coroutine.resume(ENDED))
DEAD = coroutine.create(error)
assert(not coroutine.resume(DEAD))
spawn({}, 1)
FRESH = coroutine.create(worker)
report = coroutine.wrap(function()
  return coroutine.wrap(function() return coroutines { top = 1000 } end)()
end)()
assert(report.count == N + 1 and #report.groups == 3)
table.sort(report.groups, function(a, b) return a.count > b.count end)
assert(report.groups[1].count == N - 3 and report.groups[2].count == 3)
assert(report.groups[2].frames[3].line == line - 7)
local fresh = report.groups[3]
assert(fresh.state == "not begun" and fresh.count == 1 and fresh.resumed == nil)
assert(#fresh.frames == 1 and fresh.frames[1].name == "worker" and fresh.frames[1].line == line - 9)
assert(fresh.holders[1].path == "_G.FRESH")
assert(#coroutines { top = 1 }.groups == 1 and coroutines { top = 1 }.more_groups == 2)

-- The function that made or resumed one stays known when nothing else has it
FRESH = nil
local maker = load([[

  return coroutine.create(function() coroutine.yield() end), function(co) coroutine.resume(co) end]],
  "=maker")
local resume
MADE, resume = maker()
resume(MADE)
maker, resume = nil, nil
for _ = 1, 3 do collectgarbage() end
g = find "_G.MADE"
assert(g.created.source == "maker" and g.created.name == "main chunk" and g.created.line == 2)
assert(g.resumed.source == "maker" and g.resumed.line == 2)
-- the one that goes on is known by the last one alone
coroutine.resume(MADE)
assert(coroutine.status(MADE) == "dead" and find "_G.MADE" == nil)

-- For how long: between two collections
local function sleep(s) require "saros.domain".sleep(s) end
WAITING, OTHER = {}, nil
collectgarbage()
spawn(WAITING, 1)
sleep(0.1)
g = find "_G.WAITING[*]"
local stress = tonumber(os.getenv "TEST_SLOWNESS" or 1) >= 20 -- it has collected meanwhile
assert((g.least == 0 or stress) and g.least <= g.most and g.most >= 0.08, g.most)
collectgarbage()
sleep(0.3)
g = find "_G.WAITING[*]"
assert(g.least >= 0.25 and g.most >= 0.35 and g.most < 60 and g.least <= g.most, g.least)
assert(find("_G.WAITING[*]", { longer = 0.2 }) and not find("_G.WAITING[*]", { longer = 1000 }))
-- it has run since
coroutine.resume(WAITING[1])
g = find "_G.WAITING[*]"
assert(g.least == 0 and (g.most >= 0.25 or stress))

-- Of many ways those in which most are held are shown, also if others are found first
do
  local function wait() coroutine.yield() end
  local function add(to, n)
    for _ = 1, n do
      to[#to + 1] = coroutine.create(wait)
      coroutine.resume(to[#to])
    end
    return to
  end
  WAYS = { add({}, 1), add({}, 1), deep = { add({}, 4), deeper = { add({}, 3) } } }
  ONE, TWO, THREE = add({}, 1), add({}, 1), add({}, 2)
end
g = find "_G.WAYS.deep[*][*]"
assert(g.count == 13 and #g.holders == 3 and g.held_otherwise == 4)
for i, way in ipairs { "deep[*][*]", "deep.deeper[*][*]" } do
  assert(g.holders[i].shape == "_G.WAYS." .. way and g.holders[i].count == 5 - i)
end
assert(g.holders[3].count == 2)
WAYS, ONE, TWO, THREE = nil, nil, nil, nil

-- Open spans
local eventring = require "saros.eventring"
if eventring.start() then
  SPAN = coroutine.create(function()
    local s <close> = eventring.span { name = "waits" }
    coroutine.yield()
  end)
  coroutine.resume(SPAN)
  g = find "_G.SPAN"
  assert(g.with_spans == 1 and g.span == "waits")
  eventring.stop()
end

-- Wrong use
local function refused(options, message)
  local ok, why = pcall(coroutines.report, options)
  assert(not ok and why:find(message, 1, true), why)
end
refused({ tpo = 1 }, "no option 'tpo'; did you mean 'top'?")
refused({ top = 0 }, "field 'top' is not an integer from 1 to 1000")
refused({ longer = -1 }, "field 'longer' is not a number above 0")
refused(1, "table expected")
assert(find("_G.WAITING[*]", { objects = 1 }) == nil and coroutines { objects = 1 }.cut_off == "objects")
