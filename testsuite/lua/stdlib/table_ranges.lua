-- SPDX-License-Identifier: MIT
-- table.insert, remove and move copy what lies in the array part at once. They must do
-- what moving one element after the other does, whatever part an element is in, and the
-- collector must hear of values that are where it has looked before.

local slowness = tonumber(os.getenv "TEST_SLOWNESS") or 1
local seed = 7
local function random(n)
  seed = (seed * 1103515245 + 12345) & 0x7fffffff
  return (seed >> 8) % n + 1
end

local function moved(t, first, last, to, target)
  target = target or t
  if to > last or to <= first or target ~= t then
    for i = 0, last - first do target[to + i] = t[first + i] end
  else
    for i = last - first, 0, -1 do target[to + i] = t[first + i] end
  end
  return target
end

local function same(a, b, from, to)
  for i = from, to do assert(rawequal(a[i], b[i]), i) end
end

-- In the array part, in the hash part, and in both.
local function make(kind, n)
  local t = {}
  if kind == "array" then for i = 1, n do t[i] = {i} end
  elseif kind == "hash" then for i = n, 1, -1 do t[i] = {i} end
  else
    for i = 1, n do t[i] = {i} end
    t[n + 1], t.x = {n + 1}, 1
    for i = n + 2, n + 10 do t[i] = {i} end
  end
  return t
end
local function copy(t)
  local c = {}
  for k, v in pairs(t) do c[k] = v end
  return c
end

for _, kind in ipairs {"array", "hash", "both"} do
  for _, n in ipairs {1, 2, 7, 64, slowness > 1 and 100 or 300} do
    local t = make(kind, n)
    local model = copy(t)
    for step = 1, slowness > 1 and 20 or 200 do
      local size = #t
      local what = step % 3
      if what == 0 then
        local at, v = random(size + 1), {step}
        table.insert(t, at, v)
        for i = size, at, -1 do model[i + 1] = model[i] end
        model[at] = v
      elseif what == 1 and size > 0 then
        local at = random(size)
        local v = table.remove(t, at)
        assert(v == model[at])
        for i = at, size - 1 do model[i] = model[i + 1] end
        model[size] = nil
      else
        local first, to = random(size + 2) - 1, random(size + 20) - 10
        local last = first + random(size + 1) - 2
        assert(table.move(t, first, last, to) == t)
        moved(model, first, last, to)
        for i = -20, size + 40 do
          if (i < 1 or i > size) and t[i] then t[i] = nil; model[i] = nil end
        end
        for i = 1, size do if t[i] == nil then t[i] = {}; model[i] = t[i] end end
      end
      if step % 5 == 0 then collectgarbage "step" end
      same(t, model, -20, size + 40)
    end
  end
end

-- Old tables, large ones too, get young values, which move where no card is marked.
for _, n in ipairs {30, 3000, slowness > 1 and 3000 or 30000} do
  local t = {}
  for i = 1, n do t[i] = i end
  collectgarbage()
  for round = 1, slowness > 1 and 5 or 60 do
    t[n] = {n = round}
    table.insert(t, 1, {n = -round})
    table.move(t, 1, 10, 15)
    table.move(t, n - 20, n, 2, t)
    assert(table.remove(t, 1).n == -round)
    t[#t] = nil
    while #t < n do t[#t + 1] = {n = #t} end
    collectgarbage "step"
    for i = 1, #t do local v = t[i]; assert(math.type(v) or math.type(v.n)) end
  end
end

-- More than one piece, and from table to table.
local big = {}
for i = 1, 50000 do big[i] = i end
table.insert(big, 1, 0)
table.move(big, 1, 50001, 20001)
assert(#big == 70001 and big[20000] == 19999 and big[20001] == 0 and
  big[70001] == 50000 and big[1] == 0)
table.move(big, 20001, 70001, 1)
assert(big[1] == 0 and big[50001] == 50000 and table.remove(big, 1) == 0 and big[1] == 1)
local other = table.move(big, 1, 30000, 5, {9, 9, 9, 9})
assert(#other == 30004 and other[4] == 9 and other[5] == big[1] and other[30004] == big[30000])

-- The ends of the integers, and nothing to move.
local t = setmetatable({}, {__len = function() return math.maxinteger end})
table.insert(t, 5)
assert(rawget(t, math.mininteger) == 5)
assert(next(table.move({}, 1, 0, 5)) == nil)
assert(not pcall(table.move, {}, 1, math.maxinteger, 2))
