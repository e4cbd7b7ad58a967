-- SPDX-License-Identifier: MIT
-- Stores through chains of `__newindex` tables, for fields and other keys.

local function chain(n, last)
  local t = last
  for _ = 1, n do t = setmetatable({}, {__newindex = t}) end
  return t
end

local key = "dynamic"
for _, n in ipairs {1, 2, 50, 150, 1000} do
  local store = {}
  local p = chain(n, store)
  for round = 1, 3 do
    p.field = round
    p[key] = round + 1
    p[7] = round + 2
    p[1 << 40] = round + 3
    p[1.5] = round + 4
    p[p] = round + 5
    p[true] = round + 6
  end
  assert(store.field == 3 and store.dynamic == 4 and store[7] == 5 and store[1 << 40] == 6)
  assert(store[1.5] == 7 and store[p] == 8 and store[true] == 9)
  assert(next(p) == nil)
end

-- A key that one of them has stays there.
local store = {}
local middle = setmetatable({here = 1, [5] = 1}, {__newindex = store})
local p = setmetatable({}, {__newindex = middle})
for round = 2, 4 do
  p.here = round; p[5] = round; p.other = round; p[6] = round
  assert(middle.here == round and middle[5] == round and store.here == nil and store[5] == nil)
  assert(rawget(middle, "other") == nil and store.other == round and store[6] == round)
end
p.here = nil
assert(rawget(middle, "here") == nil)
p.here = 9
assert(store.here == 9 and rawget(middle, "here") == nil)

-- A function at the end gets the table that it belongs to.
local seen
local last = setmetatable({}, {__newindex = function(t, k, v) seen = {t, k, v} end})
p = chain(3, last)
p.field = 4
assert(seen[1] == last and seen[2] == "field" and seen[3] == 4)
p[9] = 5
assert(seen[1] == last and seen[2] == 9 and seen[3] == 5)

-- Loops, what cannot be indexed, and keys that are none.
local loop = {}
setmetatable(loop, {__newindex = loop})
for _, store_in in ipairs {function() loop.x = 1 end, function() loop[1] = 1 end,
  function() loop[loop] = 1 end} do
  local ok, message = pcall(store_in)
  assert(not ok and message:find("'__newindex' chain too long", 1, true), message)
end
assert(next(loop) == nil)
p = chain(2, setmetatable({}, {__newindex = 42}))
assert(not pcall(function() p.x = 1 end) and not pcall(function() p[1] = 1 end))
p = chain(2, {})
assert(not pcall(function() p[nil] = 1 end) and not pcall(function() p[0 / 0] = 1 end))

-- A cleared `__newindex` counts no more, a new one from now on.
local mt = {__newindex = store}
p = setmetatable({}, mt)
for i = 1, 3 do p.x = i end
assert(store.x == 3)
mt.__newindex = nil
for i = 4, 6 do p.x = i end
assert(store.x == 3 and rawget(p, "x") == 6)
p.x = nil
mt.__newindex = store
p.x = 7
assert(store.x == 7 and rawget(p, "x") == nil)

-- ipairs reads through chains of __index tables, and asks functions.
local base = {10, 20, 30, nil, 50}
local function sum_of(t)
  local sum, count = 0, 0
  for i, v in ipairs(t) do sum, count = sum + i * v, count + 1 end
  return sum, count
end
local function proxy(index) return setmetatable({}, {__index = index}) end
local sum, count = sum_of(proxy(proxy(base)))
assert(sum == 140 and count == 3)
sum, count = sum_of(proxy(proxy(function(_, i) return base[i] end)))
assert(sum == 140 and count == 3)
local half = setmetatable({[2] = 5}, {__index = base})
assert(sum_of(proxy(half)) == 10 + 10 + 90)
local t = base
for _ = 1, 150 do t = proxy(t) end
assert(sum_of(t) == 140)
assert(not pcall(sum_of, proxy(7)) and sum_of(proxy("text")) == 0)
loop = {}
setmetatable(loop, {__index = loop})
assert(not pcall(sum_of, loop))
