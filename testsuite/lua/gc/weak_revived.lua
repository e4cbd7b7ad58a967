-- SPDX-License-Identifier: MIT
-- Weak tables that are found only through a dead object with a finalizer: what they hold
-- that is dead is removed in bounded steps, before the finalizer runs. Meanwhile the
-- program may get at them.

local slow = (tonumber(os.getenv "TEST_SLOWNESS") or 1) > 1
local entries = slow and 200 or 30000

-- Not in the registers of its callers, where the dead might linger.
local function make(mode, finalized)
  local t, values, kept = setmetatable({}, { __mode = mode }), {}, {}
  for i = 1, entries do
    local value = { i, "value " .. i }
    values[i] = value
    t[mode == "kv" and value or i], t["name " .. i] = value, value
    if i % 10 == 0 then kept[i] = value end
  end
  local holder = setmetatable({ table = t }, { __gc = finalized })
  values[0] = holder
  collectgarbage() -- they are old
  return kept, setmetatable({ [holder] = true }, { __mode = "k" })
end

-- Small steps until the finalizer was called, with a check of the table now and then.
local function run(mode, meanwhile)
  local seen
  local kept, weak = make(mode, function(holder)
    seen = {}
    for key, value in pairs(holder.table) do
      local i = value[1]
      assert(value[2] == "value " .. i, "what is there is whole")
      assert(key == i or key == value or key == "name " .. i)
      seen[i] = (seen[i] or 0) + 1
    end
  end)
  collectgarbage "stop"
  local taken, steps = {}, 0
  while not seen do
    collectgarbage("step", 1)
    steps = steps + 1
    assert(steps < 1000000, "the finalizer is called")
    meanwhile(weak, taken, steps)
  end
  collectgarbage "restart"
  for i = 1, entries do
    if kept[i] then assert(seen[i] == 2, "entries with living values stay")
    elseif not taken[i] then
      assert(seen[i] == nil, "those with dead values are gone when it is called")
    end
  end
  collectgarbage()
  for i, value in pairs(taken) do
    assert(value[1] == i and value[2] == "value " .. i, "what was taken is whole")
  end
  assert(next(weak) == nil)
end

for _, mode in ipairs { "v", "kv" } do
  run(mode, function() end)

  -- Takes a value out, once in a while: the holder lives in the meantime, so not all the
  -- time.
  run(mode, function(weak, taken, step)
    if step % 50 ~= 0 or step > 5000 then return end
    local holder = next(weak)
    local i = step % entries + 1
    local value = holder and holder.table["name " .. i]
    if value then taken[i] = value end
  end)

  -- Stores, so that the table grows.
  run(mode, function(weak, taken, step)
    local holder = step <= 2000 and next(weak)
    if not holder then return end
    local i = entries + step
    local value = { i, "value " .. i }
    taken[i] = value
    holder.table["name " .. i] = value
  end)
end

-- Values that are revived themselves were removed from weak tables that were found alive,
-- and stay in those that were not.
do
  local alive, state = setmetatable({}, { __mode = "v" }), {}
  local function build()
    local value = setmetatable({ "value" }, { __gc = function(o) state.value = o end })
    local t = setmetatable({ value }, { __mode = "v" })
    alive[1] = value
    setmetatable({ t, value }, { __gc = function(o) state.table = o[1] state.entry = o[1][1] end })
  end
  build()
  for _ = 1, 3 do collectgarbage() end
  assert(alive[1] == nil and state.value[1] == "value" and
    state.entry == state.value and state.table)
end
print "OK"
