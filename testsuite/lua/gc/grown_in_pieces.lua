-- SPDX-License-Identifier: MIT
-- The first piece of a minor collection promotes a table. Before the next one scans it, the
-- program stores into it, which logs it, and makes its array large. The next piece scans the
-- fresh array, and what is stored into it from then on must be found when the collection ends.
-- (It was not: stores into a logged table mark no cards, and the array was not fresh any more.)

local NARROW, WIDE = 512, 1024 -- slots of the longest small array; of a large one

local function filled(slots)
  local t = {}
  for i = 1, slots do t[i] = i end
  return t
end

-- Reclaimed memory gets other contents.
local function churn()
  local others = {}
  for i = 1, 50000 do others[i % 1000] = {-i} end
end

-- Stores up to `most` rows into the first table, which is in no variable between two pieces.
local function store(all, most)
  local rows, n = all[1], #all[1]
  for i = n + 1, math.min(n + most, WIDE) do rows[i] = {i} end
end

local function grow(each_time)
  collectgarbage()
  collectgarbage("stop")
  -- Promoted in this order and scanned in the opposite one: the small arrays are more than the
  -- first piece does; the large ones, in pieces, are scanned last.
  local all = {filled(NARROW)}
  for i = 2, 100 do all[i] = filled(WIDE) end
  for i = 101, NARROW do all[i] = filled(NARROW) end
  collectgarbage("step", 1024)
  all[1][1] = {1}
  store(all, 1)
  for _ = 1, 40 do
    collectgarbage("step", 1024)
    store(all, each_time)
  end
  collectgarbage("restart")
  churn()
  for i = NARROW + 1, #all[1] do assert(all[1][i][1] == i, "a row was reclaimed") end
  assert(all[1][1][1] == 1)
end

for each_time = 1, 16 do grow(each_time) end
print "ok"
