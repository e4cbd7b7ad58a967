-- SPDX-License-Identifier: MIT
-- A random program that knows what must be alive; gc.sh runs many of them.
--
--   gc_program.lua SEED [OPERATIONS]
--
-- Each seed draws the kind of program (which operations and kinds of objects, how large,
-- which settings of the collector) and then its operations: on the graph of gc_model,
-- pieces of work of gc_work, calls of the collector with usual and with odd values.
-- The model is compared now and then, after a full collection, and at the end.
-- The last line is the same under every Lua 5.4. Where a check fails, the message names seed
-- and operation, and the status is 1.
--
-- In the environment: GC_FUZZ_SCALE (1) multiplies all sizes; GC_FUZZ_SKIP=NAME,NAME leaves out
-- operations, GC_FUZZ_ONLY keeps only those; GC_FUZZ_KIND=repeated (graph, mixed, work) is the
-- kind of program; GC_FUZZ_MEMORY=0 checks no memory; GC_FUZZ_STEPS is how many steps of the
-- collector hooks may ask for (where each costs a look at the whole heap);
-- GC_FUZZ_TRACE=1 prints each operation.
--
-- What memory is checked for, where the settings of the collector are the default ones:
--   count      the bytes of collectgarbage("count") never exceed 2.5 times what was alive
--              before or after, with what the piece of work held, and 16 MB
--   resident   the same, and a half more (saros)
--   at the end count is within 2 MB, resident memory within 3 MB (saros) of the start

package.path = (arg[0]:match("^(.*)/[^/]*$") or ".") .. "/?.lua;" .. package.path
local draw, model, work = require "gc_draw", require "gc_model", require "gc_work"

local seed, most_operations = tonumber(arg[1]), tonumber(arg[2])
assert(math.type(seed) == "integer", "usage: gc_program.lua SEED [OPERATIONS]")
local scale = tonumber(os.getenv("GC_FUZZ_SCALE") or 1)
local check_memory = os.getenv("GC_FUZZ_MEMORY") ~= "0"
local trace = os.getenv("GC_FUZZ_TRACE") == "1"
local is_saros = pcall(require, "saros.eventring")
local skip, only = os.getenv("GC_FUZZ_SKIP"), os.getenv("GC_FUZZ_ONLY")
warn("@off")

local function sized(n) return math.max(1, math.floor(n * scale)) end

local function listed(list, name) return list and ("," .. list .. ","):find("," .. name .. ",", 1, true) end

---- the collector's settings -------------------------------------------------------------------

local function odd() return draw.one_of { 0, 1, 2, 5, 20, 50, 100, 150, 199, 200, 255, 400, 1000 } end

-- Usual ones change nothing that lasts, but that one lets a collector go on that an odd one stopped.
local stopped = false
local usual = {
  function() collectgarbage("step") end,
  function() collectgarbage("step", draw.size(5000)) end,
  function() pcall(collectgarbage, "frame", draw.size(1000) / 1000) end, -- not in the reference
  function() collectgarbage() end,
  function() collectgarbage("count") end,
  function()
    collectgarbage("stop")
    stopped = false
    collectgarbage("restart")
  end,
  function() collectgarbage(collectgarbage("generational")) end,
  function() collectgarbage(collectgarbage("incremental")) end,
}
local odd_calls = {
  function() collectgarbage("generational") end,
  function() collectgarbage("incremental") end,
  function() collectgarbage("generational", odd() % 101, odd()) end,
  function() collectgarbage("incremental", odd(), odd(), draw.below(40)) end,
  function() collectgarbage("setpause", odd()) end,
  function() collectgarbage("setstepmul", odd()) end,
  function() collectgarbage("step", odd()) end,
  function() stopped = true collectgarbage("stop") end,
  function() assert(not pcall(collectgarbage, "no such option")) end,
  function() assert(collectgarbage("isrunning") == not stopped) end,
}

local steps_left = tonumber(os.getenv("GC_FUZZ_STEPS") or math.huge)

local function hooked()
  if steps_left <= 0 then return end
  steps_left = steps_left - 1
  collectgarbage("step")
end

local function with_hook(act, ...)
  debug.sethook(hooked, draw.one_of { "", "c", "r", "l", "cr" }, draw.size(2000) + 20)
  local results = table.pack(pcall(act, ...))
  debug.sethook()
  if not results[1] then error(results[2], 0) end
  return table.unpack(results, 2, results.n)
end

---- what kind of program ------------------------------------------------------------------------

draw.seed(seed, 0)
local kinds = { "table", "table", "table", "closure", "coroutine", "k", "v", "kv", "file", "cdata" }
local program = {
  name = draw.one_of { "graph", "graph", "mixed", "mixed", "work", "repeated" },
  odd_settings = draw.chance(40),
  hooks = draw.chance(25),
  operations = 200 + draw.size(4000),
  size = sized(1000 + draw.size(80000)),
}
program.name = os.getenv("GC_FUZZ_KIND") or program.name
if program.name == "mixed" then program.operations = program.operations // 8 end
if program.name == "work" then program.operations = draw.below(60) end
if program.name == "repeated" then program.operations = 60 end
local every = program.name == "repeated" and 1 << 30 or 20 + program.operations // 6
program.operations = most_operations or program.operations
model.finalizers = draw.one_of { 0, 5, 20, 60 }
model.depth = draw.one_of { 1, 4, 30 }
model.width = draw.one_of { 4, 30, 600 }
model.longest = sized(draw.one_of { 50, 3000, 60000, 1000000 })
model.kinds = {}
for _ = 1, draw.below(8) do model.kinds[#model.kinds + 1] = draw.one_of(kinds) end
model.kinds[#model.kinds + 1] = "table"

local actions = {} -- list of { name, function }
local function offer(times, name, act)
  if listed(skip, name) or only and not listed(only, name) then return end
  for _ = 1, times do actions[#actions + 1] = { name, act } end
end

local names = {}
for name in pairs(work) do names[#names + 1] = name end
table.sort(names)
if program.name == "graph" or program.name == "mixed" then
  for _, pair in ipairs { { "add", 12 }, { "add_many", 2 }, { "connect", 6 }, { "store", 8 }, { "remove", 3 },
      { "drop_root", draw.below(2) - 1 }, { "shrink", 1 }, { "weak_entry", 4 }, { "dip", 2 }, { "peek_weak", 2 },
      { "swap_roots", 1 } } do
    offer(pair[2] * (draw.chance(80) and 1 or 0), pair[1], model.operations[pair[1]])
  end
end
if program.name == "mixed" or program.name == "work" then
  for _ = 1, draw.below(8) do
    local name = draw.one_of(names)
    offer(2, name, function() return work[name](program.size) end)
  end
elseif program.name == "repeated" then
  local name = draw.one_of(only and { only } or names)
  program.size = sized(20000 + draw.below(60000))
  offer(1, name, function() return work[name](program.size) end)
end
offer(program.name == "repeated" and 0 or draw.below(3), "usual", function() draw.one_of(usual)() end)
if program.odd_settings then offer(2, "odd", function() draw.one_of(odd_calls)() end) end
if #actions == 0 then actions[1] = { "add", model.operations.add } end

---- memory -----------------------------------------------------------------------------------------

-- Without what files are mapped: pages of the program itself come in when they are needed first.
local function resident()
  local file <close> = io.open("/proc/self/statm")
  if not file or not is_saros then return 0 end
  local all, of_files = file:read("l"):match("^%d+ (%d+) (%d+)")
  return (all - of_files) * 4096
end

local function expect(condition, message) if not condition then error(message, 0) end end

local MB = 1 << 20
local function bytes() return collectgarbage("count") * 1024 end

collectgarbage()
local start_resident, start = resident(), bytes()
local segment = { alive = start, most = 0, held = 0, resident = 0 }

local function sample(held)
  segment.most = math.max(segment.most, bytes())
  segment.held = math.max(segment.held, held or 0)
  segment.resident = math.max(segment.resident, resident())
end

local function segment_end()
  local alive = bytes()
  local bound = 2.5 * (math.max(alive, segment.alive) + segment.held) + 16 * MB
  if check_memory and not program.odd_settings then
    expect(segment.most <= bound, ("memory: count was %.1f MB, at most %.1f MB were alive and %.1f MB held"):format(
      segment.most / MB, math.max(alive, segment.alive) / MB, segment.held / MB))
    expect(segment.resident - start_resident <= 1.5 * bound,
      ("memory: resident was %.1f MB, at most %.1f MB were alive and %.1f MB held"):format(
      (segment.resident - start_resident) / MB, math.max(alive, segment.alive) / MB, segment.held / MB))
  end
  segment = { alive = alive, most = 0, held = 0, resident = 0 }
end

---- the run ----------------------------------------------------------------------------------------------

local operation, doing, sum = 0, "start", 0

local function perform(act)
  if program.hooks and draw.chance(20) then return with_hook(act) end
  return act()
end

-- In a frame of its own: what it held is dead when it returns.
local function one()
  draw.seed(seed, operation)
  local action = draw.one_of(actions)
  doing = action[1]
  if trace then print(operation, doing) end
  local result, held = perform(action[2])
  sum = (sum * 31 + (math.tointeger(result) or 0)) & 0xFFFFFFFF
  sample(held)
end

local function all()
  for i = 1, program.operations do
    operation = i
    one()
    if #model.failures > 0 then error(model.failures[1], 0) end
    if stopped and i % 7 == 0 then
      stopped = false
      collectgarbage("restart")
    end
    if i % every == 0 then
      doing = "check"
      model.check()
      segment_end()
    end
  end
  doing = "check at the end"
  model.check()
  segment_end()
end

-- The model is larger than the objects: of those, only what must be gone is left.
local function finish()
  doing = "end"
  local checksum, held = model.checksum()
  collectgarbage("restart")
  model.drop_all()
  collectgarbage("generational", 20, 100)
  for _ = 1, 3 do collectgarbage() end -- stacks shrink by and by
  if #model.failures > 0 then error(model.failures[1], 0) end
  if check_memory then
    local more = bytes() - start
    expect(more < 2 * MB, ("memory: %.0f KB of count are left at the end"):format(more / 1024))
    more = resident() - start_resident
    expect(more < 3 * MB, ("memory: %.1f MB of resident memory are left at the end"):format(more / MB))
  end
  return checksum, held
end

local ok, problem = xpcall(all, function(problem)
  return type(problem) == "string" and problem:find("^memory") and problem or debug.traceback(problem)
end)
local checksum, held = 0, 0
local live, finalized = model.live, model.finalized
if ok then ok, checksum, held = xpcall(finish, debug.traceback) end
if not ok then
  io.stdout:write(("FAILED: seed %d (%s), operation %d (%s): %s\n"):format(seed, program.name, operation, doing,
    tostring(problem or checksum)))
  os.exit(1, false)
end
print(("seed %d: %s, %d operations, %d objects with %d bytes of text at the end, sum %08x %08x"):format(
  seed, program.name, program.operations, live, held, sum, checksum))
