-- SPDX-License-Identifier: MIT
-- Entries of ephemeron tables whose keys are dead are removed in slices. Meanwhile the
-- program traverses such tables, stores into them so that they grow, and makes them
-- strong: from the first moment that a dead entry is gone, none of the others is seen
-- again.

local slow = (tonumber(os.getenv "TEST_SLOWNESS") or 1) > 1
local entries = slow and 300 or 4000

-- Not in this function's registers, where dead keys might linger.
local function fill(t, kept)
  local all = {}
  for i = 1, entries do
    local key = { i }
    t[key] = { i }
    all[i] = key
    if i % 10 == 0 then kept[#kept + 1] = key end
  end
  for i = 1, 50 do all[i] = "a name, dead soon: " .. i end -- of strings that have been interned
  collectgarbage() -- they are old
end

-- Strings that have died may be made again before they are swept.
local function remake(names)
  for i = 1, 50 do names["a name, dead soon: " .. i] = i end
end

local function count(t)
  local n = 0
  for key, value in pairs(t) do
    assert(type(key) == "table" and key[1] == value[1], "an entry that is seen is whole")
    n = n + 1
  end
  local m, key = 0, next(t)
  while key ~= nil do
    m = m + 1
    key = next(t, key)
  end
  assert(m == n, "next sees what pairs sees")
  return n
end

local function check(t, kept)
  for i = 1, #kept do assert(t[kept[i]][1] == kept[i][1], "an entry with a living key stays") end
end

-- Small steps, until the dead are gone.
local function run(meanwhile)
  local t, kept = setmetatable({}, { __mode = "k" }), {}
  fill(t, kept)
  collectgarbage "stop"
  local last, falls, names = count(t), 0, {}
  for step = 1, 100000 do
    collectgarbage("step", 1)
    local n = count(t)
    if n < last then
      falls = falls + 1
      assert(n <= #kept + 2, "all of them go at once") -- a register may hold one
      check(t, kept)
      remake(names)
      meanwhile(t, kept)
      n = count(t)
    end
    last = n
    if n <= #kept then break end
  end
  assert(falls > 0, "dead entries go")
  assert(last == #kept, "and all of them")
  for _ = 1, 300 do
    collectgarbage("step", 1)
    assert(count(t) == #kept, "none comes back")
  end
  check(t, kept)
  collectgarbage "restart"
  collectgarbage()
  for i = 1, 50 do
    assert(names["a name, dead soon: " .. i] == i, "a string made again is the one in the table")
  end
  assert(count(t) == #kept)
  check(t, kept)
end

run(function() end)

-- The table grows: its nodes move.
local function grow(t, kept)
  for i = 1, entries * 2 do
    local key = { -i }
    t[key] = { -i }
    kept[#kept + 1] = key
  end
end
run(grow)

-- It is not weak any more.
run(function(t) setmetatable(t, nil) end)
run(function(t, kept)
  setmetatable(t, nil)
  grow(t, kept)
end)

-- Its entries are overwritten and removed.
run(function(t, kept)
  for i = #kept, 2, -2 do
    t[kept[i]] = nil
    kept[i] = kept[#kept]
    kept[#kept] = nil
  end
  for i = 1, #kept do t[kept[i]] = { kept[i][1] } end
end)
