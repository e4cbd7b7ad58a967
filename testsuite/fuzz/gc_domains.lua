-- SPDX-License-Identifier: MIT
-- Random messages between domains, for gc.sh: graphs and large strings go to workers, which
-- check and change them, make garbage, and send them back.
--
--   gc_domains.lua SEED

package.path = (arg[0]:match("^(.*)/[^/]*$") or ".") .. "/?.lua;" .. package.path
local domain = require "saros.domain"
local draw, text = require "gc_draw", require "gc_text"

local seed = assert(math.tointeger(tonumber(arg[1])), "usage: gc_domains.lua SEED")
local scale = tonumber(os.getenv("GC_FUZZ_SCALE") or 1)
local check_memory = os.getenv("GC_FUZZ_MEMORY") ~= "0"
local MB = 1 << 20

local function sized(n) return math.max(1, math.floor(n * scale)) end

local function resident()
  local file <close> = io.open("/proc/self/statm")
  if not file then return 0 end
  local all, of_files = file:read("l"):match("^%d+ (%d+) (%d+)")
  return (all - of_files) * 4096
end

-- A message: a list of nodes that refer to each other at random; a node holds strings by
-- specification, so that whoever has it can tell whether it is right.
local function message(id)
  local nodes, n = { id = id }, draw.size(sized(3000))
  for i = 1, n do nodes[i] = { number = i } end
  for i = 1, n do
    nodes[i].link = draw.below(n)
    nodes[i].to = nodes[nodes[i].link]
  end
  for _ = 1, draw.below(6) do
    local specification = text.draw_specification(sized(draw.one_of { 100, 10000, 2000000 }))
    nodes[draw.below(n)][specification] = text.make(specification)
  end
  return nodes
end

local function check(nodes, who)
  for i, node in ipairs(nodes) do
    assert(node.number == i and node.to == nodes[node.link], who)
    for key, value in pairs(node) do
      if key:find(",") then assert(text.is(value, key), who) end
    end
  end
end

local function worker(number, path, inbox, outbox, back_and_forth, size)
  package.path = path
  local draw, text = require "gc_draw", require "gc_text"
  draw.seed(back_and_forth, number)
  local kept = {}
  for nodes in inbox:values() do
    check(nodes, "worker")
    for _ = 1, draw.size(size) do kept[draw.below(200)] = { nodes, tostring(draw.below(1000)) } end
    if draw.chance(20) then collectgarbage(draw.one_of { "step", "collect", "generational", "incremental" }) end
    if draw.chance(10) then kept = {} end
    local specification = text.draw_specification(size * 4)
    nodes[#nodes][specification] = text.make(specification)
    nodes.by = number
    outbox:send(nodes)
    local any = kept[draw.below(200)]
    if any then check(any[1], "kept") end
  end
  return number
end

local function run()
  draw.seed(seed, 0)
  local workers, outbox = {}, domain.channel(draw.below(20) - 1)
  local inbox = domain.channel(draw.below(20))
  for i = 1, draw.below(5) do
    workers[i] = domain.spawn(worker, i, package.path, inbox, outbox, seed, sized(20000))
  end
  local sent, received, wanted, kept = 0, 0, 20 + draw.size(100), {}
  local waiting
  while received < wanted do
    draw.seed(seed, sent + received + 1)
    if sent < wanted then
      waiting = waiting or message(sent)
      if inbox:try_send(waiting) then sent, waiting = sent + 1, nil end
    end
    local nodes = outbox:receive(sent < wanted and 0.001 or 60)
    if nodes then
      received = received + 1
      check(nodes, "main")
      kept[nodes.id % 8] = nodes
      if draw.chance(10) then collectgarbage(draw.one_of { "step", "collect" }) end
    elseif sent == wanted then
      error("a message is lost: " .. received .. " of " .. wanted)
    end
  end
  for _, nodes in pairs(kept) do check(nodes, "kept in main") end
  inbox:close()
  for i, handle in ipairs(workers) do assert(handle:join() == i) end
  return wanted
end

-- Memory returns: what further runs add is looked at, for threads leave arenas of malloc and
-- stacks for the next ones. How many run at once differs from run to run; a leak shows in each.
local function collected()
  for _ = 1, 2 do collectgarbage() end
  return resident()
end

local ok, problem = xpcall(run, debug.traceback)
local runs, least = 0, math.huge
while ok and check_memory and runs < 4 and least > 6 * MB do
  local before = collected()
  ok, problem = xpcall(run, debug.traceback)
  least = math.min(least, collected() - before)
  runs = runs + 1
end
if ok and runs == 4 and least > 6 * MB then
  ok, problem = false, ("memory: each run leaves at least %.1f MB of resident memory"):format(least / MB)
end
if not ok then
  print(("FAILED: seed %d (domains): %s"):format(seed, problem))
  os.exit(1, false)
end
print(("seed %d: domains, %d messages"):format(seed, problem))
