-- SPDX-License-Identifier: MIT
-- Tables that are weak in keys and values: entries whose keys are dead are removed in
-- slices, those whose values are dead in bounded steps. Meanwhile the program traverses
-- such tables, stores into them so that they grow, and makes them strong; from the first
-- moment that an entry with a dead key is gone, none of the others is seen again.

local slow = (tonumber(os.getenv "TEST_SLOWNESS") or 1) > 1
local entries = slow and 60 or 700

-- Key i is kept when it is a multiple of 10, its value when it is a multiple of 2: so
-- entries die of their keys, of their values, of both. Not in the registers of its
-- callers, where the dead might linger.
local function fill(t, keys, values)
  local all, names = {}, {}
  for i = 1, entries do
    local key, value = { i }, { i }
    t[key], t["name " .. i], t[i + 0.5], t[i] = value, value, value, value
    all[i], names[i] = { key, value }, "name " .. i
    if i % 10 == 0 then keys[i] = key end
    if i % 2 == 0 then values[i] = value end
  end
  collectgarbage() -- they are old
end

-- Entries with tables as keys, each of which is whole; and those among them that have
-- dead keys and living values.
local function count(t)
  local n, dying = 0, 0
  for key, value in pairs(t) do
    assert(type(value) == "table" and value[1])
    if type(key) == "table" then
      assert(key[1] == value[1], "an entry that is seen is whole")
      n = n + 1
      if key[1] % 10 ~= 0 and key[1] % 2 == 0 and key[1] > 0 then dying = dying + 1 end
    end
  end
  local m, key = 0, next(t)
  while key ~= nil do
    if type(key) == "table" then m = m + 1 end
    key = next(t, key)
  end
  assert(m == n, "next sees what pairs sees")
  return n, dying
end

local function check(t, keys, values)
  for i, key in pairs(keys) do
    assert(t[key] == values[i], "an entry with living key and value stays")
  end
  for i, value in pairs(values) do
    if i > 0 then
      assert(t["name " .. i] == value and t[i + 0.5] == value and t[i] == value,
        "one whose key is a value, too")
    end
  end
end

local function size(t)
  local n = 0
  for _ in pairs(t) do n = n + 1 end
  return n
end

-- Small steps, until the dead are gone.
local function run(meanwhile)
  local t, keys, values = setmetatable({}, { __mode = "kv" }), {}, {}
  fill(t, keys, values)
  collectgarbage "stop"
  local last, dying = count(t)
  local fell = false
  for step = 1, 100000 do
    collectgarbage("step", 1)
    local n, left = count(t)
    if left < dying and not fell then
      fell = true
      assert(left <= 2, "all with dead keys go at once") -- a register may hold one
      check(t, keys, values)
      meanwhile(t, keys, values)
      n = count(t)
    end
    last = n
    if fell and n <= size(keys) then break end
  end
  assert(fell and last == size(keys), "all that are dead go")
  for _ = 1, 300 do
    collectgarbage("step", 1)
    assert(count(t) == size(keys), "none comes back")
  end
  check(t, keys, values)
  collectgarbage "restart"
  collectgarbage()
  assert(count(t) == size(keys))
  check(t, keys, values)
  if getmetatable(t) then
    for i = 1, entries, 2 do
      assert(t[i] == nil and t["name " .. i] == nil and t[i + 0.5] == nil)
    end
  end
end

run(function() end)

-- The table grows: its nodes move.
local function grow(t, keys, values)
  for i = 1, entries * 2 do
    local key, value = { -i }, { -i }
    t[key], keys[-i], values[-i] = value, key, value
  end
end
run(grow)

-- A few new entries at a time: single nodes move to make room for them.
run(function(t, keys, values)
  for i = 1, 40 do
    local key, value = { -i }, { -i }
    t[key], keys[-i], values[-i] = value, key, value
    collectgarbage("step", 1)
    count(t)
  end
end)

-- It is not weak any more, or in another way.
run(function(t) setmetatable(t, nil) end)
run(function(t) setmetatable(t, { __mode = "k" }) end)
run(function(t, keys, values)
  setmetatable(t, { __mode = "v" })
  grow(t, keys, values)
end)

-- Its entries are overwritten and removed.
run(function(t, keys, values)
  for i = 20, entries, 20 do
    t[keys[i]] = nil
    keys[i] = nil
  end
  for i, key in pairs(keys) do
    values[i] = { i }
    t[key], t["name " .. i], t[i + 0.5], t[i] = values[i], values[i], values[i], values[i]
  end
end)

-- Keys and values are taken out while the dead are being looked for.
do
  local t, keys, values = setmetatable({}, { __mode = "kv" }), {}, {}
  fill(t, keys, values)
  collectgarbage "stop"
  local cycles, at, held = 0, nil, {}
  local function take()
    local ok, key, value = pcall(next, t, at) -- what it stood at may have gone
    at = ok and key or nil
    if ok and type(key) == "table" then held[key] = value end
  end
  for _ = 1, 1000000 do
    if collectgarbage("step", 1) then cycles = cycles + 1 end
    take()
    if cycles == 3 then break end
  end
  collectgarbage "restart"
  for key, value in pairs(held) do
    assert(t[key] == value and key[1] == value[1], "what was taken stays, and is whole")
  end
  collectgarbage()
  for key, value in pairs(held) do
    assert(t[key] == value and key[1] == value[1])
    local i = key[1]
    assert(t["name " .. i] == value and t[i + 0.5] == value and t[i] == value,
      "a value that stays does so everywhere")
  end
end
print "OK"
