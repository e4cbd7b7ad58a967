-- SPDX-License-Identifier: MIT
-- Tables with weak keys that are written to, grow, shrink and change their mode between
-- all kinds of calls of the collector, in orders by chance: what has a living key stays,
-- with its value; in the end all else is gone.
local seed = tonumber(os.getenv "WEAK_SEED") or os.time()
math.randomseed(seed)
local slow = (tonumber(os.getenv "TEST_SLOWNESS") or 1) > 1
local rounds, most = slow and 2 or 12, slow and 120 or 2500

local clobber = require "_gc".clobber
local function random(n) return math.random(n) end

-- A value that the collector need not follow, or must, that is alive through others or
-- not.
local function value_of(key, i)
  local kind = i % 6
  if kind == 0 then return i end
  if kind == 1 then return { i, key } end            -- refers to its own key
  if kind == 2 then return "value number " .. i end  -- dies, is made again
  if kind == 3 then return key end
  if kind == 4 then return i + 0.5 end
  return function() return i, key end
end

local function is_value_of(value, key, i)
  local kind = i % 6
  if kind == 0 then return value == i end
  if kind == 1 then return value[1] == i and value[2] == key end
  if kind == 2 then return value == "value number " .. i end
  if kind == 3 then return value == key end
  if kind == 4 then return value == i + 0.5 end
  local n, k = value()
  return n == i and k == key
end

local calls = {
  function() collectgarbage("step", random(40)) end,
  function() collectgarbage("step", 0) end,
  function() collectgarbage "step" end,
  function() if random(8) == 1 then collectgarbage() end end,
  function() collectgarbage "stop" collectgarbage("step", 1) collectgarbage "restart" end,
  function() collectgarbage(random(2) == 1 and "generational" or "incremental") end,
  function() collectgarbage "count" end,
  function() collectgarbage("setpause", 100 + random(200)) end,
}

local function round()
  local tables, living, numbers = {}, {}, {}
  -- the last ones have the same keys
  for i = 1, 24 do tables[i] = setmetatable({}, { __mode = "k" }) end
  local function store(key, i)
    tables[i % 3 + 1][key] = value_of(key, i)
    if i % 16 == 0 then for k = 4, #tables do tables[k][key] = value_of(key, i) end end
  end
  local function check()
    for n = 1, #living do
      local key, i = living[n], numbers[n]
      assert(is_value_of(tables[i % 3 + 1][key], key, i))
      if i % 16 == 0 then for k = 4, #tables do assert(is_value_of(tables[k][key], key, i)) end end
    end
  end
  for i = 1, most do
    local key = i % 5 == 0 and function() return i end or { i }
    store(key, i)
    if i % 4 == 0 then
      living[#living + 1], numbers[#numbers + 1] = key, i
    elseif i % 7 == 0 and #living > 0 then -- another one dies, old by now
      local at = random(#living)
      living[at], numbers[at] = key, i
    end
    if i % 50 == 0 then calls[random(#calls)]() end
    if i % 300 == 0 then
      local t = tables[random(3)]
      setmetatable(t, nil) -- strong for a moment
      collectgarbage("step", random(20))
      setmetatable(t, { __mode = "k" })
      for k, v in pairs(t) do
        local kind = type(k)
        assert(kind == "table" or kind == "function")
        if random(20) == 1 then t[k] = v end
      end
      check()
    end
  end
  check()
  clobber()
  collectgarbage()
  collectgarbage()
  check()
  local expected, seen, counted = {}, {}, 0
  for n = 1, #living do expected[living[n]] = true end
  for k = 1, 3 do
    for key in pairs(tables[k]) do
      counted = counted + (expected[key] and 0 or 1)
    end
  end
  assert(counted <= 2, counted) -- in a register
end

local ok, message = xpcall(function() for _ = 1, rounds do round() end end, debug.traceback)
if not ok then error("WEAK_SEED=" .. seed .. ": " .. message, 0) end
