-- SPDX-License-Identifier: MIT
-- A service that watches its own garbage collector and sheds load.
--
--   saros gc-events.lua [--seconds S]
--
-- A make-believe service answers requests from a cache of rendered pages. Every
-- hundred requests it reads its own GC events through the module `saros.eventring`:
--   - when the collector took more than a tenth of the time since the last look,
--     the cache is halved (there is less to mark, and fewer survivors);
--   - when it took less than a fiftieth, the cache may grow again;
--   - pauses are counted in a histogram, as a service would report them.
-- At the end it shows the last use of such events, a test that asserts: a piece
-- of code that must not be interrupted by a major collection proves that none ran.

local eventring = require "saros.eventring"

local seconds = 2
if arg[1] == "--seconds" then seconds = tonumber(arg[2]) end
if not seconds or (arg[1] and arg[1] ~= "--seconds") then
  io.stderr:write("usage: gc-events.lua [--seconds S]\n")
  os.exit(2)
end

-- ---- The service -----------------------------------------------------------

local cache = { pages = {}, order = {}, limit = 20000 }

local function forget_oldest()
  local kept = {}
  local from = #cache.order // 2 + 1
  for i = 1, from - 1 do cache.pages[cache.order[i]] = nil end
  table.move(cache.order, from, #cache.order, 1, kept)
  cache.order = kept
end

local function render(number)
  local rows = {}
  for i = 1, 20 do rows[i] = ("<td>%d</td>"):format(number * i) end
  return { title = "page " .. number, body = table.concat(rows) }
end

local function answer(number)
  local page = cache.pages[number]
  if page then return page end
  if #cache.order >= cache.limit then forget_oldest() end
  page = render(number)
  cache.pages[number] = page
  cache.order[#cache.order + 1] = number
  return page
end

-- ---- What it knows of its collector ----------------------------------------

local gc = { busy = 0, spans = 0, lost = 0, histogram = {}, seen = {} }
local looks = {} -- the times of the first and of the newest look, in nanoseconds
local open = {} -- begin times of the spans that are open; only the outermost counts

local watch = {}

function watch.runtime_begin(_, ns, phase)
  open[#open + 1] = ns
  gc.seen[phase] = (gc.seen[phase] or 0) + 1
end

function watch.runtime_end(_, ns)
  local start = table.remove(open)
  if not start or #open > 0 then return end
  local duration = ns - start
  gc.busy = gc.busy + duration
  gc.spans = gc.spans + 1
  local bucket = 1000 -- ns; doubles up to the first that holds the pause
  while bucket < duration do bucket = bucket * 2 end
  gc.histogram[bucket] = (gc.histogram[bucket] or 0) + 1
end

-- The service marks each look with an event of its own: the time of that event is of the
-- same clock as those of the spans. (CPU time, os.clock, is another: a pause in which the
-- thread is interrupted takes longer than that, and would be more than all the time.)
function watch.user_event(_, ns, name)
  if name ~= "look" then return end
  if not looks.first then looks.first, gc.busy = ns, 0 end
  looks.newest = ns
end

-- A cycle in slices is no span, for the program runs in between: its begin is told
-- as a moment.
function watch.lifecycle(_, _, what)
  if what == "major_begin" then gc.seen.major_cycles = (gc.seen.major_cycles or 0) + 1 end
end

function watch.lost_events(_, count, before)
  if before then return end -- what happened before we watched
  gc.lost = gc.lost + count
  open = {}
end

local cursor

-- Reads the events up to now.
local function look()
  eventring.event "look"
  cursor:poll(watch)
end

local function seconds_watched() return (looks.newest - looks.first) / 1e9 end

-- The share of the time since the last call that went to the collector.
local last = { busy = 0 }
local function share_of_gc()
  local elapsed = looks.newest - (last.ns or looks.first)
  local share = (gc.busy - last.busy) / math.max(elapsed, 1)
  last.busy, last.ns = gc.busy, looks.newest
  return share
end

local function adjust(share)
  if share > 0.10 and cache.limit > 500 then
    cache.limit = cache.limit // 2
    while #cache.order > cache.limit do forget_oldest() end
    return "shed"
  elseif share < 0.02 and cache.limit < 20000 then
    cache.limit = cache.limit * 2
    return "grow"
  end
end

-- ---- At work ---------------------------------------------------------------

assert(eventring.start())
cursor = assert(eventring.cursor())
local requests, actions = 0, { shed = 0, grow = 0 }
math.randomseed(42)
look()

while seconds_watched() < seconds do
  for _ = 1, 100 do
    answer(math.random(40000))
    requests = requests + 1
  end
  look()
  if requests % 5000 == 0 then
    local share = share_of_gc()
    local action = adjust(share)
    if action then
      actions[action] = actions[action] + 1
      eventring.event("cache limit", cache.limit)
      print(("%6.2f s: %4.1f %% of the time in the collector, %s: the cache holds %d pages")
        :format(seconds_watched(), share * 100, action, cache.limit))
    end
  end
end

print(("%d requests, load shed %d times, cache grown %d times, %d events lost")
  :format(requests, actions.shed, actions.grow, gc.lost))
print(("%.3f ms watched, %.3f ms of it in the collector")
  :format(seconds_watched() * 1e3, gc.busy / 1e6))

print("pauses:")
local buckets = {}
for bucket in pairs(gc.histogram) do buckets[#buckets + 1] = bucket end
table.sort(buckets)
for _, bucket in ipairs(buckets) do
  print(("  up to %8d us: %d"):format(bucket // 1000, gc.histogram[bucket]))
end

-- ---- A test that asserts ---------------------------------------------------

-- How often a major collection, or a part of one, was seen while f ran.
local function majors_during(f)
  local function seen() return (gc.seen.major or 0) + (gc.seen.major_slice or 0) + (gc.seen.major_cycles or 0) end
  look()
  local before = seen()
  f()
  look()
  return seen() - before
end

collectgarbage() -- so that nothing is in progress
assert(majors_during(function() local sum = 0 for i = 1, 10000 do sum = sum + i end end) == 0,
  "a loop that allocates nothing must not meet a major collection")
assert(majors_during(function() collectgarbage() end) >= 1,
  "a full collection must be seen")
print("no major collection in the critical section; a full one is seen when asked for")
cursor:close()
