-- SPDX-License-Identifier: MIT
-- Tables that are weak in keys (ephemerons), or in keys and values: entries whose keys are dead
-- are removed in slices, those whose values are dead in bounded steps. Meanwhile the program
-- traverses such tables, stores into them so that they grow, and makes them strong; from the
-- first moment that an entry with a dead key is gone, none of the others is seen again.

local slow = (tonumber(os.getenv "TEST_SLOWNESS") or 1) > 1
local mode -- "k" or "kv"
local entries
local dying_keys -- the numbers of those whose values live, or hang on them

-- Key i is kept when it is a multiple of 10, in "kv" its value when it is a multiple of 2: so
-- entries die of their keys, there also of their values or of both. Not in the registers of its
-- callers, where the dead might linger.
local function fill(t, keys, values)
  local all = {}
  dying_keys = {}
  for i = 1, entries do
    local key, value = { i }, { i }
    t[key], all[i] = value, mode == "k" and key or { key, value, "name " .. i }
    if i % 10 == 0 then keys[i] = key
    elseif mode == "k" or i % 2 == 0 then dying_keys[i] = true end
    if mode == "kv" then
      t["name " .. i], t[i + 0.5], t[i] = value, value, value
      if i % 2 == 0 then values[i] = value end
    end
  end
  for i = 1, 50 do all[-i] = "a name, dead soon: " .. i end -- of strings that have been interned
  collectgarbage() -- they are old
end

-- Strings that have died may be made again before they are swept.
local function remake(names)
  for i = 1, 50 do names["a name, dead soon: " .. i] = i end
end

-- Entries with tables as keys, each of which is whole; and those among them that have
-- dead keys and, in "kv", living values.
local function count(t)
  local n, dying = 0, 0
  for key, value in pairs(t) do
    local i = value[1]
    if type(key) == "table" then
      if key[1] ~= i then error "an entry that is seen is whole" end
      n = n + 1
      if dying_keys[i] then dying = dying + 1 end
    elseif not i then error "a value is whole" end
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
    assert(t[key][1] == i and (mode == "k" or t[key] == values[i]),
      "an entry with living key and value stays")
  end
  for i, value in pairs(values) do
    if i > 0 then
      assert(t["name " .. i] == value and t[i + 0.5] == value and t[i] == value,
        "one whose key is a value, too")
    end
  end
end

local size = require "_gc".count

-- Small steps, until the dead are gone.
local function run(meanwhile)
  local t, keys, values, names = setmetatable({}, { __mode = mode }), {}, {}, {}
  fill(t, keys, values)
  collectgarbage "stop"
  local last, dying = count(t)
  local fell, living = false, 0
  for step = 1, 100000 do
    collectgarbage("step", 1)
    local n, left = count(t)
    if left < dying and not fell then
      fell = true
      assert(left <= 2, "all with dead keys go at once") -- a register may hold one
      check(t, keys, values)
      remake(names)
      meanwhile(t, keys, values)
      n, living = count(t), size(keys)
    end
    last = n
    if fell and n <= living then break end
  end
  assert(fell and last == living, "all that are dead go")
  for _ = 1, 300 do
    collectgarbage("step", 1)
    assert(count(t) == living, "none comes back")
  end
  check(t, keys, values)
  collectgarbage "restart"
  collectgarbage()
  assert(count(t) == living)
  check(t, keys, values)
  for i = 1, 50 do
    assert(names["a name, dead soon: " .. i] == i, "a string made again is the one in the table")
  end
  if getmetatable(t) then
    for i = 1, entries, 2 do
      assert(t[i] == nil and t["name " .. i] == nil and t[i + 0.5] == nil)
    end
  end
end

local function add(t, i, keys, values)
  local key, value = { -i }, { -i }
  t[key], keys[-i] = value, key
  if mode == "kv" then values[-i] = value end
end
local function grow(t, keys, values) -- its nodes move
  for i = 1, entries * 2 do add(t, i, keys, values) end
end
local function set_mode(new) return function(t) setmetatable(t, new and { __mode = new }) end end

for which, n in pairs { k = slow and 300 or 3600, kv = slow and 60 or 700 } do
  mode, entries = which, n
  run(function() end)
  run(grow)
  -- It is not weak any more, or in another way.
  run(set_mode(nil))
  run(function(t, keys, values)
    setmetatable(t, mode == "kv" and { __mode = "v" } or nil)
    grow(t, keys, values)
  end)
  if mode == "kv" then run(set_mode "k") end
  -- A few new entries at a time: single nodes move to make room for them.
  if mode == "kv" then run(function(t, keys, values)
    for i = 1, 40 do
      add(t, i, keys, values)
      collectgarbage("step", 1)
      count(t)
    end
  end) end
  -- Its entries are overwritten and removed.
  run(function(t, keys, values)
    for i = 20, entries, 20 do
      t[keys[i]] = nil
      keys[i] = nil
    end
    for i, key in pairs(keys) do
      t[key] = { i }
      if mode == "kv" then
        values[i] = t[key]
        t["name " .. i], t[i + 0.5], t[i] = values[i], values[i], values[i]
      end
    end
  end)
end

-- Keys and values are taken out while the dead are being looked for.
do
  mode, entries = "kv", slow and 60 or 700
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
