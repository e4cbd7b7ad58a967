-- SPDX-License-Identifier: MIT
-- Entries whose values are dead are removed in slices, when there are many. Meanwhile the
-- program takes values out: those are alive, and whole; so is what is stored again.

local slow = (tonumber(os.getenv "TEST_SLOWNESS") or 1) > 1
local entries = slow and 500 or 50000

-- Not in this function's registers, where dead values might linger.
local function fill(t, kept, make)
  local all = {}
  for i = 1, entries do
    local value = make(i)
    t[i], t["name " .. i], all[i] = value, value, value
    if i % 10 == 0 then kept[i] = value end
  end
  collectgarbage() -- they are old
end

-- Small steps, until all that are dead are gone; only `meanwhile` reads anything.
local function run(make, meanwhile)
  local t, kept = setmetatable({}, { __mode = "v" }), {}
  fill(t, kept, make)
  collectgarbage "stop"
  local cycles, taken, steps = 0, {}, 0
  while cycles < 3 do
    if collectgarbage("step", 1) then cycles = cycles + 1 end
    steps = steps + 1
    assert(steps < 1000000, "cycles end")
    meanwhile(t, taken, steps)
  end
  collectgarbage "restart"
  local n = 0
  for i = 1, entries do
    local expected = kept[i] or taken[i]
    assert(t[i] == nil or t[i] == t["name " .. i] or taken[i], "both entries, or one was taken")
    if kept[i] then
      assert(t[i] == kept[i] and t["name " .. i] == kept[i] and t[i][1] == i, "living values stay")
      n = n + 1
    elseif expected then
      assert(expected[1] == i and expected[2] == "value " .. i, "what was taken is whole")
    else
      assert(t[i] == nil and t["name " .. i] == nil, "dead ones are gone")
    end
  end
  assert(n == entries // 10)
  collectgarbage()
  for i, value in pairs(taken) do
    assert(value[1] == i and value[2] == "value " .. i, "and stays so")
  end
end

local function make(i) return { i, "value " .. i } end

run(make, function() end)

-- takes some, by number or by name, which may be gone already
local at = 0
run(make, function(t, taken)
  at = at % entries + 17
  local value = t[at] or t["name " .. at]
  if value and at <= entries then taken[at] = value end
end)

-- stores, so that the table grows
run(make, function(t, _, step)
  if step <= 2000 then t["more " .. step] = { step } end
end)

-- values with finalizers are gone from the table when their finalizer runs
do
  local t, called = setmetatable({}, { __mode = "v" }), 0
  local n = slow and 100 or 20000
  for i = 1, n do
    t[i] = setmetatable({ i }, { __gc = function(o)
      assert(t[o[1]] == nil, "removed before it is finalized")
      called = called + 1
    end })
  end
  for _ = 1, 1000000 do
    collectgarbage("step", 1)
    if called == n then break end
  end
  assert(called == n)
end
print "OK"
