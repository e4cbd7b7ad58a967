-- SPDX-License-Identifier: MIT
-- game-loop.lua: how long is the longest frame? A world of some 100 MB, of which a frame
-- changes a part, and makes what is garbage at its end. Any Lua 5.4 runs it:
--
--   saros examples/game-loop.lua [FRAMES]         (default: 3000)
--   lua5.4 examples/game-loop.lua [FRAMES]
--
-- A line at the end: CPU time of the median frame, of one in a hundred and of the longest.
-- Frames follow each other without a pause. With a recording, frames are spans:
--
--   eventring spans -- saros examples/game-loop.lua 300

local FRAMES = tonumber(arg[1]) or 3000
local ENTITIES, CHANGED = 300000, 400

local recorded, eventring = pcall(require, "saros.eventring")

-- A generator of our own: the same frames everywhere.
local seed = 1
local function random(n)
  seed = seed * 16807 % 2147483647
  return seed % n + 1
end

local function vector(x, y) return { x = x, y = y } end

local function entity(number)
  return { name = "entity " .. number, at = vector(random(1000), random(1000)),
           speed = vector(random(10), random(10)), tags = { number % 7, number % 11 } }
end

local world = {}
for number = 1, ENTITIES do world[number] = entity(number) end

-- Some move, a few go and others come, and what is seen is gathered and drawn.
local function frame(number)
  local seen = {}
  for _ = 1, CHANGED do
    local e = world[random(ENTITIES)]
    e.at = vector(e.at.x + e.speed.x, e.at.y + e.speed.y)
    seen[#seen + 1] = e.name .. "@" .. e.at.x
  end
  for _ = 1, CHANGED // 20 do
    local place = random(ENTITIES)
    world[place] = entity(place + number)
  end
  return table.concat(seen, " ")
end

local times = {}
for number = 1, FRAMES do
  local began = os.clock()
  if recorded then eventring.span("frame", frame, number) else frame(number) end
  times[number] = os.clock() - began
end

table.sort(times)
local function ms(share) return 1000 * times[math.max(1, math.ceil(share * FRAMES))] end
print(("%d frames, ms of CPU: median %.2f, 99%% %.2f, longest %.2f"):format(FRAMES, ms(0.5),
  ms(0.99), ms(1)))
