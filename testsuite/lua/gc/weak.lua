-- SPDX-License-Identifier: MIT
-- Weak tables: values, keys, both; what counts as collectable; resurrection.

local gc = require "_gc"
local full, count = gc.full, gc.count

do -- weak values
  local t = setmetatable({}, { __mode = "v" })
  local kept = {}
  t[1], t[2], t.x, t.y = {}, kept, {}, kept
  t[3], t.s, t.b, t.n = "string", "long string " .. ("x"):rep(100), true, 1.5
  full()
  assert(t[1] == nil and t[2] == kept and t.x == nil and t.y == kept)
  assert(t[3] == "string" and #t.s == 112 and t.b == true and t.n == 1.5) -- strings are values
  kept = nil
  full()
  assert(t[2] == nil and t.y == nil and count(t) == 4)
end

do -- weak keys
  local t = setmetatable({}, { __mode = "k" })
  local kept = {}
  t[{}] = 1
  t[kept] = 2
  t["string"] = {}
  t[1] = {}
  t[function() return kept end] = 3
  t[coroutine.create(print)] = 4
  full()
  assert(t[kept] == 2 and type(t.string) == "table" and type(t[1]) == "table" and count(t) == 3)
end

do -- both
  local t = setmetatable({}, { __mode = "kv" })
  local a, b = {}, {}
  t[a], t[b], t[{}] = b, {}, a
  t[1] = {}
  t[2] = a
  full()
  assert(t[a] == b and t[b] == nil and t[1] == nil and t[2] == a and count(t) == 2)
end

do -- the mode is read when collecting: setting it later, taking it away
  local t = {}
  t[1] = {}
  local mt = {}
  setmetatable(t, mt)
  mt.__mode = "v"
  setmetatable(t, mt)
  full()
  assert(t[1] == nil)
  local strong = setmetatable({}, { __mode = "x" })
  strong[1] = {}
  full()
  assert(strong[1])
end

do -- many entries, most of them dead, while the table goes on being used
  local cache = setmetatable({}, { __mode = "v" })
  local held = {}
  for i = 1, 300 do
    local v = { i }
    cache[i] = v
    cache["k" .. i] = { i }
    if i % 10 == 0 then held[#held + 1] = v end
  end
  full()
  assert(count(cache) == 30)
  for i = 10, 300, 10 do assert(cache[i][1] == i) end
  for i = 1, 300 do cache[i] = cache[i] or { -i } end
  assert(count(cache) >= 30) -- a collection may come at any time
  full()
  assert(count(cache) == 30)
end

do -- a weak table that is itself garbage, weak tables in weak tables
  for _ = 1, 20 do
    local t = setmetatable({}, { __mode = "k" })
    t[t] = t
    t[{}] = t
  end
  local outer = setmetatable({}, { __mode = "v" })
  local function weak_of_one() return setmetatable({ {} }, { __mode = "v" }) end
  outer[1] = weak_of_one()
  local inner = weak_of_one()
  outer[2] = inner
  full()
  assert(outer[1] == nil and outer[2] == inner and inner[1] == nil)
end

do -- traversal while entries vanish
  local t, held = setmetatable({}, { __mode = "k" }), {}
  for i = 1, 100 do
    held[i] = {}
    t[held[i]] = i
  end
  local n = 0
  for k in pairs(t) do
    n = n + 1
    if n == 10 then
      k, held = nil, nil
      collectgarbage()
    end
  end
  assert(n >= 10 and n <= 100)
end

do -- a long-lived weak table with young values: minor collections see it too
  local t = setmetatable({}, { __mode = "v" })
  full()
  for round = 1, 20 do
    for i = 1, 50 do t[i] = { round, i } end
    collectgarbage("step")
    for i = 1, 50 do assert(t[i] == nil or t[i][1] == round) end
  end
  local keep = {}
  for i = 1, 50 do keep[i] = { i } t[i] = keep[i] end
  full()
  for i = 1, 50 do assert(t[i] == keep[i]) end
end

do -- coroutines and closures as weak values
  local t = setmetatable({}, { __mode = "v" })
  local co = coroutine.wrap(function() local x = {} t.x = x coroutine.yield() return x end)
  co()
  full()
  assert(t.x ~= nil)
  local x = co()
  assert(t.x == x)
  x, co = nil, nil
  full()
  assert(t.x == nil)
end
