-- SPDX-License-Identifier: MIT
-- Tables whose keys come and go, at every number of live keys up to a few powers of two:
-- their hash parts have an annex (runtime/table.c) and are rebuilt in place. What is in
-- them is compared with lists of the keys and values, while the collector runs.

local seed = 7
local function random(n)
  seed = seed * 16807 % 2147483647
  return seed % n + 1
end

local kinds = {
  function(i) return i end,
  function(i) return i * 7919 end,
  function(i) return i + 0.5 end,
  function(i) return "key " .. i end,
  function(i) return ("a long key, which is not interned, of number "):rep(2) .. i end,
  function() return {} end,
  function(i) return i % 3 == 0 and "k" .. i or i % 3 == 1 and -i or {} end,
}

local function check(t, keys, first, last, values)
  local seen = 0
  for k, v in pairs(t) do
    seen = seen + 1
    assert(v == values[k])
  end
  assert(seen == last - first + 1)
  for i = first, last do assert(t[keys[i]] == values[keys[i]]) end
end

-- The oldest keys go as new ones come; now and then all that a traversal meets are
-- removed in it.
local function churn(make, live, mode)
  local t, keys, values = setmetatable({}, mode), {}, {}
  local first, last = 1, 0
  local function push()
    last = last + 1
    local key, value = make(last), last % 4 == 0 and {last} or last
    keys[last], values[key], t[key] = key, value, value
  end
  local function pop()
    local key = keys[first]
    t[key], values[key], keys[first] = nil, nil, nil
    first = first + 1
  end
  for _ = 1, live do push() end
  for round = 1, 4 * live + 8 do
    push()
    pop()
    if round % (live // 2 + 1) == 0 then
      check(t, keys, first, last, values)
      collectgarbage("step", 1)
    end
  end
  for key in pairs(t) do t[key] = nil end
  assert(next(t) == nil)
  for i = first, last do t[keys[i]] = values[keys[i]] end
  check(t, keys, first, last, values)
end

local weak = {{}, {__mode = "k"}, {__mode = "v"}}
local most = 70 // (tonumber(os.getenv("TEST_SLOWNESS")) or 1) + 6
for live = 1, most do
  for number, make in ipairs(kinds) do churn(make, live, weak[(live + number) % 3 + 1]) end
end
churn(kinds[4], 200, weak[1])
churn(kinds[2], 400, weak[2])
