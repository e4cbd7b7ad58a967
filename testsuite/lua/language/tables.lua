-- SPDX-License-Identifier: MIT
-- Tables as the language sees them: keys, holes, growth, next, removal while
-- traversing, length.

local fails = require "_fails"

do -- keys of every type
  local f, t, co = function() end, {}, coroutine.create(function() end)
  local u = { [1] = 1, [1.5] = 2, ["1"] = 3, [true] = 4, [false] = 5, [f] = 6, [t] = 7, [co] = 8,
    [print] = 9, [-1] = 10 }
  assert(u[1] == 1 and u[1.5] == 2 and u["1"] == 3 and u[true] == 4 and u[false] == 5)
  assert(u[f] == 6 and u[t] == 7 and u[co] == 8 and u[print] == 9 and u[-1] == 10 and
    u[0] == nil and u[nil] == nil)
  fails("index is nil", function() u[nil] = 1 end)
  fails("index is NaN", function() u[0/0] = 1 end)
  fails("index is nil", rawset, u, nil, 1)
  u[1] = nil
  assert(u[1] == nil and u["1"] == 3)
end

do -- growth of all parts, in every direction
  local t = {}
  for i = 1, 1000 do t[i] = i end
  for i = 1, 1000 do t["k" .. i] = i end
  for i = -500, 0 do t[i] = i end
  for i = 1, 1000 do assert(t[i] == i and t["k" .. i] == i) end
  for i = -500, 0 do assert(t[i] == i) end
  assert(#t == 1000)
  local n = 0
  for _ in pairs(t) do n = n + 1 end
  assert(n == 2501)
  local down = {}
  for i = 300, 1, -1 do down[i] = i end
  assert(#down == 300)
  local sparse = {}
  for i = 0, 62 do sparse[1 << i] = i end
  for i = 0, 62 do assert(sparse[1 << i] == i) end
end

do -- next and pairs
  assert(next({}) == nil and next({ 10 }) == 1 and select(2, next({ 10 })) == 10)
  local t = { 1, 2, 3, a = 4, b = 5 }
  local seen, n = {}, 0
  local k, v = next(t)
  while k ~= nil do
    assert(not seen[k])
    seen[k] = v
    n = n + 1
    k, v = next(t, k)
  end
  assert(n == 5 and seen[1] == 1 and seen.b == 5)
  fails("invalid key to 'next'", next, {}, "absent")
  -- the array part comes in order
  local order = {}
  for key in pairs { 10, 20, 30 } do order[#order + 1] = key end
  assert(table.concat(order, " ") == "1 2 3")
end

do -- assigning to existing fields, also nil, while traversing
  local t = {}
  for i = 1, 200 do t[i] = i t["x" .. i] = i end
  local n = 0
  for k, v in pairs(t) do
    n = n + 1
    t[k] = nil
    if n % 20 == 0 then collectgarbage("step") end
  end
  assert(n == 400 and next(t) == nil)
  for i = 1, 50 do t["y" .. i] = i end
  for k, v in pairs(t) do t[k] = v * 2 end
  for i = 1, 50 do assert(t["y" .. i] == 2 * i) end
end

do -- many insertions and removals: the table stays small in behaviour
  local t = {}
  for round = 1, 20 do
    for i = 1, 50 do t[round * 1000 + i] = i end
    for i = 1, 50 do assert(t[round * 1000 + i] == i) t[round * 1000 + i] = nil end
  end
  assert(next(t) == nil)
  -- a queue
  local first, last = 1, 0
  for i = 1, 2000 do
    last = last + 1
    t[last] = i
    if i % 2 == 0 then
      assert(t[first] == first)
      t[first] = nil
      first = first + 1
    end
  end
  local left = 0
  for _ in pairs(t) do left = left + 1 end
  assert(left == 1000)
end

do -- length is a border
  local t = { 1, 2, 3, nil, 5 }
  assert(#t == 5 or #t == 3)
  t = { n = 1, [2] = 2 }
  assert(#t == 0 or #t == 2)
  t = {}
  t[1] = 1 t[2] = 2 t[4] = 4
  local border = #t
  assert(border == 4 or border == 2)
  t = { nil, nil, 3 }
  assert(#t == 3 or #t == 0)
  t = table.pack(1, nil, nil)
  assert(#t == 1 and t.n == 3)
end

do -- strings as keys: short and long, equal content is the same key
  local t = {}
  for n = 0, 200, 7 do t[("k"):rep(n)] = n end
  for n = 0, 200, 7 do assert(t[("k"):rep(n)] == n) end
  for i = 1, 300 do t["key" .. i] = i end
  for i = 1, 300 do assert(t["ke" .. "y" .. i] == i) end
  t["a\0b"], t["a\0c"] = 1, 2
  assert(t["a\0b"] == 1 and t["a\0c"] == 2 and t.a == nil)
end

do -- integer keys that look like floats and back, negative zero
  local t = { [0] = "zero" }
  assert(t[-0.0] == "zero" and t[0.0] == "zero")
  t[-0.0] = "again"
  assert(t[0] == "again")
  t[2^60] = 1
  assert(t[1 << 60] == 1)
  t[1e300], t[-1e300], t[math.huge] = 1, 2, 3
  assert(t[1e300] == 1 and t[-1e300] == 2 and t[math.huge] == 3)
end
