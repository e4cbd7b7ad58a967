-- SPDX-License-Identifier: MIT
-- Ephemerons: in a table with weak keys, a value is reachable only through its key.

local gc = require "_gc"
local full, count = gc.full, gc.count
local function ephemeron() return setmetatable({}, { __mode = "k" }) end

do -- a value that refers to its own key does not keep it
  local t = ephemeron()
  for _ = 1, 20 do
    local k = {}
    t[k] = { k }
  end
  full()
  assert(count(t) == 0)
end

do -- a chain of keys hangs on its first
  local t, head = ephemeron(), {}
  local k = head
  for i = 1, 100 do
    local n = {}
    t[k] = n
    k = n
  end
  k = nil
  full()
  assert(count(t) == 100)
  head = nil
  full()
  assert(count(t) == 0)
end

do -- built the other way round: the last key is inserted first
  local t, keys = ephemeron(), {}
  for i = 1, 50 do keys[i] = {} end
  for i = 50, 2, -1 do t[keys[i - 1]] = keys[i] end
  local first = keys[1]
  keys = nil
  full()
  assert(count(t) == 49)
  local n, k = 0, first
  while t[k] do n = n + 1 k = t[k] end
  assert(n == 49)
  first, k = nil, nil
  full()
  assert(count(t) == 0)
end

do -- across tables: key in one, value in another
  local a, b = ephemeron(), ephemeron()
  local root = {}
  local mid = {}
  a[root] = mid
  b[mid] = { "end" }
  mid = nil
  full()
  assert(b[a[root]][1] == "end")
  root = nil
  full()
  assert(count(a) == 0 and count(b) == 0)
  -- a cycle through two tables is garbage
  for _ = 1, 10 do
    local x, y = {}, {}
    a[x], b[y] = y, x
  end
  full()
  assert(count(a) == 0 and count(b) == 0)
end

do -- values that are not collectable, keys that are not
  local t = ephemeron()
  t[1], t.s, t[true] = {}, {}, {}
  t[{}], t[{}] = 1, "s"
  full()
  assert(count(t) == 3)
end

do -- properties kept aside for objects, as ephemerons are used
  local private = ephemeron()
  local function new(v) local o = {} private[o] = { owner = o, value = v } return o end
  local live = {}
  for i = 1, 100 do
    local o = new(i)
    if i % 4 == 0 then live[#live + 1] = o end
  end
  full()
  assert(count(private) == 25)
  for i, o in ipairs(live) do assert(private[o].value == i * 4 and private[o].owner == o) end
end

do -- with steps in between: the table is written while a cycle is under way
  local t, keep = ephemeron(), {}
  for i = 1, 200 do
    local k = {}
    t[k] = { k, i }
    if i % 20 == 0 then keep[#keep + 1] = k end
    if i % 7 == 0 then collectgarbage("step", 1) end
  end
  full()
  assert(count(t) == 10)
  for i, k in ipairs(keep) do assert(t[k][2] == i * 20) end
end
