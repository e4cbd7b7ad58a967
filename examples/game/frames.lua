-- SPDX-License-Identifier: MIT
-- frames.lua: a game without pictures: a world of 200 MB of which each frame changes a part, a
-- level that is loaded in the middle, and a collector that works in the rest of each frame.
--
--   saros frames.lua [OPTION...]        waits for the next frame as a game does
--   lua5.4 frames.lua [OPTION...]       cannot wait, as with --fast; LuaJIT, too
--
--   --hz N          frames a second (60)
--   --seconds N     of the game (30)
--   --frames N      so many frames instead
--   --mb N          of objects (200)
--   --work N        entities that a frame changes (36,000 / hz)
--   --collect MS    of each frame for the collector, at most (1.0); 0: none
--   --step          by "step", also where there is "frame"
--   --generational  the collector's mode
--   --fast          does not wait for the next frame; all times are of the processor then
--   --record FILE   records itself (Saros): eventring pauses --frames 16.7ms FILE
--
-- collectgarbage("frame", ms) is of Saros: it does at most so much work, never begins what might
-- take longer, and returns whether work is left. Elsewhere there is collectgarbage("step"), the
-- smallest steps of which are called until the time is over.

local options = { hz = 60, seconds = 30, mb = 200, collect = 1.0 }
local takes = { hz = tonumber, seconds = tonumber, frames = tonumber, mb = tonumber,
                work = tonumber, collect = tonumber, record = tostring }
local flags = { step = true, generational = true, fast = true }

local function read_options(words)
  local i = 1
  while words[i] do
    local name = words[i]:match "^%-%-(%a+)$" or ""
    local read = takes[name]
    if read then i = i + 1 end
    options[name] = read and words[i] and read(words[i]) or flags[name]
    if not options[name] then
      io.stderr:write("usage: frames.lua [--hz N] [--seconds N | --frames N] [--mb N] [--work N]\n",
        "       [--collect MS] [--step] [--generational] [--fast] [--record FILE]\n")
      os.exit(2)
    end
    i = i + 1
  end
end
read_options(arg)

local HZ = options.hz
local BUDGET = 1 / HZ
local FRAMES = math.floor(options.frames or options.seconds * HZ)
local CHANGED = math.floor(options.work or 36000 / HZ)
local LOAD_SECONDS = 5

-- ---- Saros, or another Lua ------------------------------------------------------------------

local is_saros, eventring = pcall(require, "saros.eventring")
local domain = is_saros and require "saros.domain"

-- CPU seconds of this thread; os.clock has those of all threads, of which Saros has one that makes
-- memory ready.
local function thread_clock()
  local found, ffi = pcall(require, "ffi")
  if not found then return os.clock end
  ffi.cdef "struct time { long s, ns; }; int clock_gettime(int, struct time *);"
  local C, time, THREAD_CPUTIME_ID = ffi.C, ffi.new "struct time", 3
  return function()
    C.clock_gettime(THREAD_CPUTIME_ID, time)
    return tonumber(time.s) + tonumber(time.ns) * 1e-9
  end
end

local cpu = thread_clock()
local waits = is_saros and not options.fast
local now = waits and domain.now or cpu -- without waiting, a frame has the time of the processor
local span = is_saros and eventring.span or function(_, f, ...) return f(...) end

if options.record then
  assert(is_saros, "only Saros records")
  assert(eventring.start { stream = options.record })
end
if options.generational then collectgarbage "generational" end

local function collect_by_steps(ms)
  if ms <= 0 then return true end
  local deadline = now() + ms / 1000
  repeat
    if collectgarbage("step", 0) then return false end -- a cycle has ended
  until now() >= deadline
  return true
end

local function collect_in_frame(ms) return collectgarbage("frame", ms) end

local has_frame = not options.step and pcall(collectgarbage, "frame", 0)
local collect = has_frame and collect_in_frame or collect_by_steps

-- ---- The world ------------------------------------------------------------------------------

-- A generator of our own: the same game everywhere.
local seed = 1
local function random(n)
  seed = seed * 16807 % 2147483647
  return seed % n + 1
end

local function entity(number)
  local log = {}
  for i = 1, 4 do log[i] = { at = number + i, kind = "seen", by = random(1000) } end
  return { name = "entity " .. number, at = { x = random(1000), y = random(1000) },
           speed = { x = random(10), y = random(10) }, tags = { number % 7, number % 11 },
           log = log }
end

-- The half of the world that is there always, and the level, which is the other half.
local world, level = {}, {}

local function fill(list, megabytes)
  local full = collectgarbage "count" + megabytes * 1024
  repeat
    for _ = 1, 500 do list[#list + 1] = entity(#list + 1) end
  until collectgarbage "count" >= full
end

-- In the middle of the game a new level is made, a part in each frame for some seconds; then it is
-- the level, and all of the old one is garbage.
local loading, loaded = nil, 0
local function load_level(number)
  if number < FRAMES / 2 or loaded > 0 then return end
  loading = loading or {}
  local frames = math.min(LOAD_SECONDS * HZ, FRAMES / 4 + 1)
  for _ = 1, math.floor(#level / frames) + 1 do
    if #loading == #level then
      level, loading, loaded = loading, nil, number
      return
    end
    loading[#loading + 1] = entity(#loading + 1)
  end
end

-- ---- A frame --------------------------------------------------------------------------------

local drawn = 0

local function update(list, count)
  local seen = {}
  for _ = 1, count do
    local e = list[random(#list)]
    e.at = { x = e.at.x + e.speed.x, y = e.at.y + e.speed.y } -- an old object gets a young one
    e.log[random(4)] = { at = e.at.x, kind = "moved", by = count }
    seen[#seen + 1] = e.name .. "@" .. e.at.x
  end
  for _ = 1, count / 20 do
    local place = random(#list)
    list[place] = entity(place)
  end
  drawn = drawn + #table.concat(seen, " ")
end

local function work(number)
  update(world, CHANGED / 2)
  update(level, CHANGED / 2)
  load_level(number)
end

-- Seconds of each frame: those of the processor, and (wall) of the clock.
local times = { work = {}, collector = {}, frame = {}, wall = {} }
local without_rest, all_done = 0, 0

-- In what is left of the frame. (Also if nothing is: "frame" notes then for how long the frame had
-- no processor, which the recording says.)
local function use_rest(began)
  local rest = (BUDGET - (now() - began)) * 1000
  if options.collect == 0 then return end
  if rest <= 0 then without_rest = without_rest + 1 end
  if not collect(math.max(0, math.min(options.collect, rest))) then all_done = all_done + 1 end
end

local function frame(number, began)
  local first = cpu()
  span("work", work, number)
  local second = cpu()
  span("collect", use_rest, began)
  local third = cpu()
  times.work[number], times.collector[number] = second - first, third - second
  times.frame[number] = third - first
end

fill(world, options.mb / 2)
fill(level, options.mb / 2)
collectgarbage()
local megabytes = collectgarbage "count" / 1024
local most = megabytes

local next_frame = now()
for number = 1, FRAMES do
  local began = now()
  span("frame", frame, number, began) -- without the wait for the next one
  local ended = now()
  times.wall[number] = ended - began
  most = math.max(most, collectgarbage "count" / 1024)
  next_frame = math.max(next_frame, began) + BUDGET -- one that is late does not shorten the next
  if waits and ended < next_frame then domain.sleep(next_frame - ended) end
end

-- ---- What came of it --------------------------------------------------------------------------

-- By the clocks of the program. (What the collector does where the work allocates is in `work`; the
-- recording tells these apart.)
local function cause_of(number)
  if times.wall[number] <= BUDGET then return "none" end
  if times.work[number] > BUDGET then return "program" end
  return times.frame[number] > BUDGET and "collector" or "off CPU"
end

local missed, beyond = { none = 0, program = 0, collector = 0, ["off CPU"] = 0 }, 0
for number = 1, FRAMES do
  local cause = cause_of(number)
  missed[cause] = missed[cause] + 1
  if times.collector[number] * 1000 > options.collect * 1.1 then beyond = beyond + 1 end
end

local function quantiles(list)
  table.sort(list)
  local function at(share) return 1000 * list[math.max(1, math.ceil(share * FRAMES))] end
  return ("%8.3f %8.3f %8.3f %8.3f"):format(at(0.5), at(0.99), at(0.999), at(1))
end

print(("%s, collector: %s"):format(_VERSION, options.collect == 0 and "by itself" or
  has_frame and "frame" or "step"))
print(("%d entities, %.0f MB, at most %.0f; level loaded by frame %d"):format(#world + #level,
  megabytes, most, loaded))
print(("frames %d of %.3f ms, missed %d: program %d, collector %d, off CPU %d"):format(FRAMES,
  BUDGET * 1000, FRAMES - missed.none, missed.program, missed.collector, missed["off CPU"]))
print(("collector without rest %d, with nothing left to do %d, beyond its time %d: %.4f %%"):format(
  without_rest, all_done, beyond, 100 * beyond / FRAMES))
print "ms                 median     99 %   99.9 %  longest"
for _, row in ipairs { { "frame", "wall" }, { "  of CPU", "frame" }, { "  work, CPU", "work" },
                       { "  collector, CPU", "collector" } } do
  print(("%-16s %s"):format(row[1], quantiles(times[row[2]])))
end
