-- SPDX-License-Identifier: MIT
-- logic.lua: what happens in a frame of game.c. Things move, sparks come and go, and labels are
-- kept as long as there is memory for them.

local things, sparks, labels = {}, {}, {}

for number = 1, 2000 do
  things[number] = {name = "thing " .. number, x = number % 640, y = number % 480, dx = number % 5 - 2,
                    dy = number % 3 - 1}
end

local function label(thing, number)
  local text = ("%s at %d, %d"):format(thing.name, thing.x, thing.y)
  labels[text] = {text = text, made = number}
  return text
end

-- The first 500 things and the sparks make some 100 KB of garbage in a frame.
function update(number)
  for i = 1, #things do
    local thing = things[i]
    thing.x, thing.y = (thing.x + thing.dx) % 640, (thing.y + thing.dy) % 480
  end
  for i = 1, 500 do
    local thing = things[i]
    sparks[i] = {from = thing, at = {x = thing.x, y = thing.y}, dies = number + i % 7}
  end
  for i = 1, 20 do label(things[(number * 20 + i) % #things + 1], number) end
end

-- There is too much: what can be made again goes.
function shed()
  labels = {}
end
