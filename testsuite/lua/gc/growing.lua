-- SPDX-License-Identifier: MIT
-- A table that is filled is in use: its growth alone collects nothing, so it is not taken
-- for old. Those that were filled before it and dropped go when the next one is made.

local slowness = tonumber(os.getenv "TEST_SLOWNESS" or 1)

-- KiB above what was in use before; in a stress build, which collects at each step, 0.
local function most_in_use(fill, rounds)
  collectgarbage()
  local base, most = collectgarbage "count", 0
  for i = 1, rounds do
    local t = {}
    fill(t, i)
    most = math.max(most, collectgarbage "count" - base)
  end
  return slowness == 1 and most or 0
end

local function array(n)
  return function(t) for i = 1, n do t[i] = i end end
end

local function from_0(n)
  return function(t) for i = 0, n do t[i] = i end end
end

local keys = {}
for i = 1, 30000 do keys[i] = "key " .. i end

local function set_of_strings(t)
  for i = 1, #keys do t[keys[i]] = true end
end

-- KiB: one of 2 MiB, of 1 MiB, two of 0.8 MiB
assert(most_in_use(array(100000), 20 // slowness) < 3200)
assert(most_in_use(from_0(50000), 40 // slowness) < 2200)
assert(most_in_use(set_of_strings, 20 // slowness) < 2500)

-- Several that grow in turn count.
local function four(t)
  for k = 1, 4 do t[k] = {} end
  for i = 1, 65536 do
    for k = 1, 4 do t[k][i] = i end
  end
end
assert(most_in_use(four, 10 // slowness) < 16000)

-- What is put into an old one, and into one that is young, while it grows stays alive.
local function strings(t)
  for i = 1, 100000 // slowness do t[i] = "s" .. i end
  for i = 1, #t, 997 do assert(t[i] == "s" .. i) end
end
local old = {}
collectgarbage()
strings(old)
for _ = 1, 3 // slowness do strings {} end
for i = 1, #old, 97 do assert(old[i] == "s" .. i) end

-- Old tables that grow item by item, from sizes that are no powers of two, too.
local grown = {{}, {{1}}, {{1}, {2}, {3}}, {{1}, nil, {3}}, setmetatable({}, {__mode = "k"})}
collectgarbage()
for n = 1, 1200 // slowness do
  for _, t in ipairs(grown) do
    local i = #t + 1
    t[i] = {i}
    if n % 100 == 0 then collectgarbage "step" end
  end
end
for k, t in ipairs(grown) do
  for i = 1, #t do assert(t[i][1] == i) end
  assert(#t >= 1200 // slowness and rawlen(t) == #t and (k == 4 or next(t, #t) == nil))
end
