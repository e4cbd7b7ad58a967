-- SPDX-License-Identifier: MIT
-- Pieces of work that check themselves and leave nothing behind, for gc_program.lua: each is a
-- function of a size that returns a number which is the same in every interpreter, and
-- an estimate of the bytes that it held at most.

local draw, text = require "gc_draw", require "gc_text"
local work = {}

local function step() collectgarbage("step", draw.below(3) - 1) end
local function sometimes() if draw.below(20) == 1 then step() end end

---- tables -----------------------------------------------------------------------------

function work.array_rounds(size)
  local n, sum = draw.size(size), 0
  for _ = 1, draw.below(12) do
    local t = {}
    for i = 1, n do t[i] = i end
    assert(#t == n and t[n] == n)
    sum = sum + #t
  end
  return sum, n * 32
end

function work.hash_rounds(size)
  local n, sum, stride = draw.size(size), 0, draw.one_of { 16, 0.5, 1000003 }
  for _ = 1, draw.below(5) do
    local t = {}
    for i = 1, n do t[i * stride] = i end
    for k, v in pairs(t) do
      assert(k == v * stride)
      sum = sum + v
      if v % 3 == 0 then t[k] = nil end
    end
    for i = 1, n do assert(t[i * stride] == (i % 3 ~= 0 and i or nil)) end
    for i = 1, n do t[i * stride] = nil end
    assert(next(t) == nil)
  end
  return sum, n * 120
end

function work.table_functions(size)
  local n = draw.size(size // 8)
  local t, sum = {}, 0
  for i = 1, n do table.insert(t, { i, tostring(i) }) end
  for _ = 1, draw.below(20) do
    sometimes()
    local at = draw.below(#t)
    table.insert(t, at, { at, tostring(at) })
    local gone = table.remove(t, draw.below(#t))
    assert(tostring(gone[1]) == gone[2])
  end
  local moved = table.move(t, 1, #t, draw.below(10), {})
  table.move(t, 1, #t, 2)
  for _, pair in ipairs(t) do
    assert(tostring(pair[1]) == pair[2])
    sum = sum + pair[1]
  end
  local few = math.min(#t, 200)
  local packed = table.pack(table.unpack(t, 1, few))
  assert(packed.n == few and packed[few] == t[few])
  local names = {}
  for i = 1, #t do names[i] = t[i][2] end
  sum = sum + #table.concat(names, ",")
  for k in pairs(moved) do moved[k] = nil end
  return sum, n * 400
end

function work.sort(size)
  local n = draw.size(math.min(size // 20, 3000))
  local t = {}
  for i = 1, n do t[i] = { key = draw.below(n), name = "n" .. i } end
  table.sort(t, function(a, b)
    sometimes()
    local keys = { a.key, b.key }
    return keys[1] < keys[2]
  end)
  local sum = 0
  for i = 1, n do
    assert(i == 1 or t[i - 1].key <= t[i].key)
    sum = sum + i * t[i].key
  end
  return sum, n * 300
end

function work.unpack_many(size)
  local n, t = draw.size(math.min(size, 150000)), {}
  for i = 1, n do t[i] = i end
  local copy = { table.unpack(t, 1, n) }
  assert(#copy == n and copy[n] == n)
  return select("#", table.unpack(t)) + select(n, table.unpack(t)), n * 64
end

function work.old_and_new(size)
  local n, t = draw.size(size // 4), {}
  for i = 1, n do t[i] = { i } end
  for i = 1, n // 2 do
    local at = draw.below(n)
    t[at][2] = { at, "value " .. at }
    if i % 3 == 0 then t[draw.below(n)][3] = t[at] end
  end
  local sum = 0
  for i = 1, n do
    local below = t[i][2]
    assert(t[i][1] == i and (not below or below[1] == i and below[2] == "value " .. i))
    sum = sum + (below and i or 0)
  end
  return sum, n * 300
end

function work.links(size)
  local n, list = draw.size(size), nil
  for i = 1, n do list = { next = list, i } end
  local sum, node = 0, list
  while node do sum, node = sum + node[1], node.next end
  assert(sum == n * (n + 1) // 2)
  return sum, n * 130
end

---- weak tables and finalizers ------------------------------------------------------------

function work.weak_memo(size)
  local n, memo, ring = draw.size(size), setmetatable({}, { __mode = "k" }), {}
  for i = 1, n do
    local key = { i }
    memo[key] = i
    if i % 10 == 0 then ring[i // 10 % 500 + 1] = key end
  end
  local sum = 0
  for _, key in pairs(ring) do
    assert(memo[key] == key[1])
    sum = sum + memo[key]
  end
  return sum, n * 200
end

function work.ephemeron_chain(size)
  local n, chain = draw.size(size // 10), setmetatable({}, { __mode = "k" })
  local first, keys = nil, {}
  for i = 1, n do keys[i] = { i } end
  for i = n - 1, 1, -1 do chain[keys[i]] = keys[i + 1] end
  first, keys = keys[1], nil
  step()
  collectgarbage()
  local count, key = 0, first
  while key do
    count = count + 1
    assert(key[1] == count)
    key = chain[key]
  end
  assert(count == n)
  return count, n * 250
end

function work.small_weak_tables(size)
  local n, held, tables = draw.size(size // 10), {}, {}
  for i = 1, n do
    held[i] = { i }
    tables[i] = setmetatable({ held[i], { i } }, { __mode = draw.one_of { "k", "v", "kv" } })
  end
  for _ = 1, n do
    local at = draw.below(n)
    tables[at][held[at]] = held[at]
  end
  collectgarbage()
  for i = 1, n do assert(tables[i][1] == held[i]) end
  return n, n * 500
end

function work.finalizers(size)
  local n, ran, held = draw.size(size // 10), 0, {}
  local metatable = { __gc = function(object)
    assert(object.id)
    ran = ran + 1
    if object.id % 100 == 0 then collectgarbage("step") end
  end }
  for i = 1, n do
    local object = setmetatable({ id = i }, metatable)
    if i % 4 == 0 then held[#held + 1] = object end
  end
  assert(ran <= n - #held)
  for i = 1, #held do assert(held[i].id == i * 4) end
  held = nil
  for _ = 1, 2 do collectgarbage() end
  return n, n * 250
end

---- strings --------------------------------------------------------------------------------

function work.strings(size)
  local sum, most = 0, 0
  for _ = 1, draw.below(10) do
    local specification = text.draw_specification(size * 8)
    local made = text.make(specification)
    assert(text.is(made, specification))
    sum, most = sum + #made, math.max(most, #made)
  end
  return sum, most * 6
end

function work.append(size)
  local unit, s = text.make(text.draw_specification(size // 4)), ""
  local n = draw.below(30)
  for i = 1, n do s = s .. unit .. i end
  assert(s:sub(1, #unit) == unit)
  return #s, #s * 3
end

function work.many_strings(size)
  local n, held = draw.size(size // 20), {}
  local source = ("0123456789"):rep(draw.size(800))
  for i = 1, n * 2 do held[draw.below(n)] = source:sub(1, draw.below(#source)) .. i end
  local sum = 0
  for _, s in pairs(held) do sum = sum + #s end
  return sum, n * (#source + 100) + n * 40
end

function work.patterns(size)
  local n = draw.size(size // 20)
  local subject = ("word%d "):rep(n)
  local count = 0
  local changed = subject:gsub("%a+", function(word)
    sometimes()
    count = count + 1
    local made = { word .. count }
    return made[1] .. #word
  end)
  local printed = ("%s|%s"):format(setmetatable({}, { __tostring = function()
    step()
    return "made" .. n
  end }), changed)
  assert(printed:sub(1, 4) == "made")
  return #printed, #printed * 8
end

---- calls ----------------------------------------------------------------------------------

function work.varargs(size)
  local function last(...)
    step()
    local junk = {}
    for i = 1, 20 do junk[i] = "junk" .. i .. #junk end
    return select(select("#", ...), ...)
  end
  local function second(...)
    collectgarbage("step")
    local junk = { ... }
    return select(2, ...), #junk
  end
  local function tail(i, ...)
    step()
    if i % 3 == 0 then return last("D", ..., "fresh" .. i) end
    return second("D" .. i, "fresh" .. i, { i })
  end
  local n = draw.size(size // 100)
  for i = 1, n do assert(tail(i, { i }, "more" .. i) == "fresh" .. i) end
  return n, 100000
end

function work.to_be_closed(size)
  local n, closed = draw.size(size // 100), 0
  local function resource(i)
    return setmetatable({ i }, { __close = function(object, problem)
      step()
      assert(object[1] == i and (problem == nil or problem.code == i))
      closed = closed + 1
    end })
  end
  for i = 1, n do
    local ok, value = pcall(function()
      local first <close> = resource(i)
      local second <close> = resource(i)
      local result = { "value" .. i }
      if i % 3 == 0 then error({ code = i }) end
      return result
    end)
    assert(ok and value[1] == "value" .. i or value.code == i)
  end
  assert(closed == 2 * n)
  return closed, 100000
end

function work.closures(size)
  local n, list, sum = draw.size(size // 10), {}, 0
  for i = 1, n do
    local x, y = i, { i }
    list[i] = function(by)
      x = x + by
      return x, y
    end
  end
  for i = 1, n do
    local x, y = list[i](1)
    assert(x == i + 1 and y[1] == i)
    sum = sum + x
  end
  return sum, n * 300
end

function work.metamethods(size)
  local metatable = {}
  local function new(value) return setmetatable({ value }, metatable) end
  metatable.__index = function(object, key) sometimes() return key .. rawget(object, 1) end
  metatable.__newindex = function(object, key, value) sometimes() rawset(object, key, { value }) end
  metatable.__add = function(a, b) sometimes() return new(a[1] + b[1]) end
  metatable.__concat = function(a, b)
    step()
    return new((type(a) == "table" and a[1] or a) .. (type(b) == "table" and b[1] or b))
  end
  metatable.__lt = function(a, b) sometimes() return a[1] < b[1] end
  metatable.__eq = function(a, b) sometimes() return a[1] == b[1] end
  metatable.__call = function(self, ...) step() return select("#", ...) + self[1] end
  local n, sum = draw.size(size // 50), new(0)
  for i = 1, n do
    sum = sum + new(i)
    local object = new(i)
    object["k" .. i] = i
    assert(object["k" .. i][1] == i and object.missing == "missing" .. i)
    if i % 10 == 0 then
      assert(("a" .. object .. "b")[1] == "a" .. i .. "b")
      assert(object(1, 2, {}) == i + 3 and object == new(i) and object < new(i + 1))
    end
  end
  assert(sum[1] == n * (n + 1) // 2)
  return sum[1], n * 200
end

function work.load_code(size)
  local n, parts, expected = draw.size(math.min(size // 30, 20000)), {}, 0
  local salt = draw.below(1000000)
  for i = 1, n do
    parts[i] = ("t[%d] = 'constant %d %d' s = s + %d.5"):format(i, i, salt, i + salt)
    expected = expected + i + salt + 0.5
  end
  local source = "local t, s = {}, 0 " .. table.concat(parts, " ") .. " return s, t"
  local made = assert(load(source, "=made"))
  step()
  if draw.chance(50) then made = assert(load(string.dump(made, draw.chance(50)), "=dumped", "b")) end
  local sum, t = made()
  assert(sum == expected and t[n] == ("constant %d %d"):format(n, salt))
  return n, n * 1500
end

---- coroutines -------------------------------------------------------------------------------

local function down(depth, value)
  local held = { value, "held" .. depth }
  if depth == 0 then
    coroutine.yield(value)
  else
    down(depth - 1, value)
  end
  assert(held[1] == value and held[2] == "held" .. depth)
  return depth
end

function work.recursing_threads(size)
  local n, depth, threads = draw.size(size // 200), draw.size(180), {}
  for i = 1, n do
    threads[i] = coroutine.create(down)
    assert(select(2, coroutine.resume(threads[i], draw.below(depth), { i }))[1] == i)
    sometimes()
  end
  for i = 1, n do
    if draw.chance(80) then
      assert(coroutine.resume(threads[i]))
      assert(coroutine.status(threads[i]) == "dead")
    end
  end
  return n, n * (depth * 200 + 1500)
end

function work.generators(size)
  local n, sum, closed = draw.size(size // 50), 0, 0
  for i = 1, n do
    local thread = coroutine.create(function(first)
      local guard <close> = setmetatable({ i }, { __close = function() closed = closed + 1 end })
      for k = first, first + 10 do coroutine.yield({ k, guard[1] }) end
      error("end " .. i)
    end)
    for k = 1, draw.below(14) do
      local ok, value = coroutine.resume(thread, i)
      if not ok then break end
      if type(value) ~= "table" then break end
      assert(value[1] == i + k - 1 and value[2] == i)
      sum = sum + value[1]
    end
    if i % 2 == 0 then coroutine.close(thread) end
  end
  return sum, n * 2000
end

function work.wrapped(size)
  local function walk(low, high)
    if low > high then return end
    local middle = (low + high) // 2
    for v in coroutine.wrap(function() walk(low, middle - 1) end) do coroutine.yield(v) end
    coroutine.yield({ middle })
    for v in coroutine.wrap(function() walk(middle + 1, high) end) do coroutine.yield(v) end
  end
  local n, sum, at = draw.size(math.min(size // 200, 300)), 0, 0
  for v in coroutine.wrap(function() walk(1, n) end) do
    at = at + 1
    assert(v[1] == at)
    sum = sum + at
    sometimes()
  end
  return sum, n * 4000
end

---- files -------------------------------------------------------------------------------------

function work.files(size)
  local file = assert(io.tmpfile())
  local specification = text.draw_specification(size * 4)
  local made = text.make(specification)
  file:write(made, "\n", "end")
  file:seek("set")
  local lines, whole = 0, nil
  for line in file:lines() do lines = lines + 1 end
  file:seek("set")
  whole = file:read("a")
  assert(lines == 2 and whole:sub(-4) == "\nend" and text.is(whole:sub(1, -5), specification))
  if draw.chance(70) then file:close() end
  return #whole, #whole * 8
end

---- memory outside the heap ---------------------------------------------------------------------

local found, ffi = pcall(require, "saros.ffi")

-- Small owners of much memory, which nobody touches; elsewhere nothing is stated. A hook may collect
-- between any two instructions, so finalizers do no sums.
function work.external(size)
  local n, owners, numbers, alive, sum, most = draw.size(size // 4), {}, {}, {}, 0, 0
  local function state(owner, number, bytes)
    alive[number] = bytes
    return ffi.gc(owner, function()
      assert(alive[number] == bytes)
      alive[number] = nil
      if bytes % 50 == 0 then collectgarbage("step") end
    end, bytes)
  end
  for i = 1, n do
    local bytes, slot, again = draw.size(size * 8), draw.below(40), draw.chance(20)
    sum, most = sum + bytes, math.max(most, bytes)
    if found and again and owners[slot] then
      ffi.gc(owners[slot], nil)
      alive[numbers[slot]] = nil
      state(owners[slot], i, bytes)
    elseif found then
      owners[slot] = state(ffi.new "int", i, bytes)
    end
    numbers[slot] = i
    sometimes()
  end
  if found then
    for slot, owner in pairs(owners) do assert(alive[numbers[slot]] and owner) end
  end
  if draw.chance(50) then
    owners = nil
    for _ = 1, 2 do collectgarbage() end
    local number = next(alive) -- in a dead register
    assert(not number or not next(alive, number))
  end
  return sum, most * 40
end

---- the collector's calls ---------------------------------------------------------------------

function work.modes(size)
  local n, live = draw.size(size // 2), {}
  local every, act = 100 + draw.size(2000), draw.one_of {
    function() collectgarbage(collectgarbage("generational")) end,
    function() -- leaves it stopped if it was (gc_program.lua)
      local running = collectgarbage("isrunning")
      collectgarbage("stop")
      if running then collectgarbage("restart") end
    end,
    function() collectgarbage("step", draw.size(1000)) end,
    function() collectgarbage("count") collectgarbage("isrunning") end,
  }
  for i = 1, n do
    live[i % 2000 + 1] = { i, { i }, tostring(i) }
    if i % every == 0 then act() end
  end
  for _, record in pairs(live) do assert(record[2][1] == record[1] and record[3] == tostring(record[1])) end
  return n, 2000 * 300
end

return work
