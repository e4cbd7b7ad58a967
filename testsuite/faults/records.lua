-- SPDX-License-Identifier: MIT
-- A program that makes the collector note something of each kind, and that knows what must be
-- alive. allocations_test.c runs it while records find no room (runtime/gc_overflow.c).
local size = tonumber((...)) or 120

local function clobber() local a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z end

-- marking goes on while the program runs: some of it, at each of these
local function some() collectgarbage("step", 1) end

do -- a list, from both ends: each object hangs from one alone
  local first, last = { 0 }, nil
  last = first
  for i = 1, size do
    last.next = { i, name = "element " .. i }
    last = last.next
    first = { -i, next = first }
    if i % 20 == 0 then some() end
  end
  collectgarbage()
  local n, list = -size, first
  while list do
    assert(list[1] == n and (n <= 0 or list.name == "element " .. n))
    n, list = n + 1, list.next
  end
  assert(n == size + 1)
end

do -- as many objects as a word of bits can have: the smallest are functions without upvalues
  local functions = {}
  for i = 1, 20 * size do functions[i] = function() end end
  for _ = 1, 3 do
    collectgarbage()
    for i = 1, 20 * size do assert(functions[i]() == nil) end
    for i = 1, size do functions[i] = function() end end
    some()
  end
end

do -- old objects of all kinds that come to refer to new ones; large tables among them
  local old, big, hash, functions, threads = {}, {}, {}, {}, {}
  for i = 1, size do
    local up
    old[i] = setmetatable({}, { __index = {} })
    functions[i] = { set = function(v) up = v end, get = function() return up end }
    threads[i % 7] = coroutine.wrap(function(...)
      local kept = { ... }
      while true do kept[#kept + 1] = coroutine.yield(kept) end
    end)

  end
  for i = 1, 5 * size do big[i] = false hash["key " .. i] = false end
  collectgarbage()
  for round = 1, 3 do
    for i = 1, size do
      old[i].ref = { i, round }
      getmetatable(old[i]).__index.other = { -i }
      functions[i].set({ i + round })
      big[i * 5 - round] = { i }
      hash["key " .. i * 5 - round] = { i }
      threads[i % 7]({ i })
      if i % 25 == 0 then some() end
    end
    if round == 2 then collectgarbage() end
    for i = 1, size do
      assert(old[i].ref[1] == i and old[i].ref[2] == round and old[i].other[1] == -i)
      assert(functions[i].get()[1] == i + round)
      assert(big[i * 5 - round][1] == i and hash["key " .. i * 5 - round][1] == i)
    end
  end
  for i = 0, 6 do
    local kept = threads[i]()
    local n = 0
    for _, v in ipairs(kept) do assert(v[1] % 7 == i) n = n + 1 end
    assert(n > size // 7)
  end
  -- what grows while it is marked
  local growing = {}
  for i = 1, 4 * size do
    growing[i], growing[{ i }] = { i }, i
    if i % 100 == 0 then some() end
  end
  collectgarbage()
  for i = 1, 4 * size do assert(growing[i][1] == i) end
  local keys = 0
  for k, v in pairs(growing) do if type(k) == "table" then keys = keys + 1 assert(k[1] == v) end end
  assert(keys == 4 * size)
end

do -- recursion that is deep while it is marked
  local function down(n)
    local mine = { n }
    if n % 50 == 0 then some() end
    local below = n > 0 and down(n - 1) or 0
    assert(mine[1] == n)
    return below + 1
  end
  assert(coroutine.wrap(function() return down(4 * size) end)() == 4 * size + 1)
end

do -- weak tables keep what is alive, and what is dead goes once there is room
  local tables = {}
  for _, mode in ipairs { "k", "v", "kv" } do tables[mode] = setmetatable({}, { __mode = mode }) end
  local keys, values = {}, {}
  for i = 1, size do
    keys[i], values[i] = { i }, { i }
    for _, t in pairs(tables) do
      t[keys[i]] = values[i]
      t[{}] = {}
      t[i] = values[i]
    end
    if i % 30 == 0 then some() end
  end
  local chain, head = setmetatable({}, { __mode = "k" }), {}
  local at = head
  for i = 1, size do
    chain[at] = { i }
    at = chain[at]
  end
  at = nil
  for _ = 1, 3 do
    clobber()
    collectgarbage()
    for mode, t in pairs(tables) do
      for i = 1, size do assert(t[keys[i]] == values[i] and t[i] == values[i], mode) end
    end
    local n, k = 0, head
    while chain[k] do n, k = n + 1, chain[k] assert(k[1] == n) end
    assert(n == size)
  end
end

do -- each finalizer is called once, with what its object refers to
  local called, living = {}, {}
  for i = 1, size do
    local o = setmetatable({ i, { i } }, { __gc = function(o)
      assert(o[2][1] == o[1])
      called[o[1]] = (called[o[1]] or 0) + 1
    end })
    if i % 2 == 0 then living[i] = o end
    if i % 30 == 0 then some() end
  end
  clobber()
  for _ = 1, 3 do collectgarbage() end
  for i = 1, size do assert((called[i] or 0) <= (i % 2)) end
  for i = 2, size, 2 do assert(living[i][2][1] == i) end
end

do -- strings
  local strings = {}
  for i = 1, size do
    strings[i] = "string " .. i
    local _ = "dead " .. i
    if i % 40 == 0 then some() end
  end
  collectgarbage()
  for i = 1, size do assert(strings[i] == "string " .. i) end
end
return "done"
