-- SPDX-License-Identifier: MIT
-- Programs that pile up work for one step of the collector, most of them without allocating
-- while they do. _steps_bounded.sh runs them and shows the greatest pause_work of each.
--
--   _steps_bounded.lua ROW     runs one
--   _steps_bounded.lua         lists them
--
-- PAUSES_SCALE in the environment is what the sizes are multiplied by (default: 1).

local scale = tonumber(os.getenv("PAUSES_SCALE") or 1)
local function size(n) return math.max(1, math.floor(n * scale)) end

local seed = 1
local function random(n)
  seed = seed * 16807 % 2147483647
  return seed % n + 1
end

local rows = {}

local function records(n)
  local list = {}
  for i = 1, n do list[i] = { id = i, link = false } end
  return list
end

-- Objects that die at once: they bring minor collections and slices of a cycle.
local function churn(n)
  for i = 1, n do local t = { i, { i } } end
end

-- bursts(ACT): acts at various times of major cycles, while they mark and while they sweep.
-- What ACT does is to be all that a collector's step finds, so it allocates nothing.
local function bursts(act)
  for burst = 1, 12 do
    churn(20000)
    -- A cycle begins; some of its slices.
    local kept = {}
    for i = 1, size(60000) * (burst % 4) do kept[i] = { i } end
    collectgarbage("step", 1)
    act(burst)
    churn(20000)
  end
end

---- stores into what is old -------------------------------------------------------------

function rows.links()
  local live, n = records(size(1500000)), size(1500000)
  bursts(function(burst)
    for i = 1, n do live[i].link = live[(i * 7 + burst) % n + 1] end
  end)
end

-- What the bursts themselves cost, beside as many records.
function rows.nothing()
  local live = records(size(1500000))
  bursts(function() assert(live) end)
end

function rows.rawset()
  local live, n = records(size(700000)), size(700000)
  bursts(function(burst)
    for i = 1, n do rawset(live[i], "link", live[(i * 7 + burst) % n + 1]) end
  end)
end

function rows.hash_values()
  local live, n, hash = records(size(500000)), size(500000), {}
  for i = 1, n do hash[i * 16] = live[i] end
  bursts(function(burst)
    for i = 1, n do hash[i * 16] = live[(i * 7 + burst) % n + 1] end
  end)
end

-- One store in each card of a large array.
function rows.array_cards()
  local live, n, array = records(size(100000)), size(6000000), {}
  for i = 1, n do array[i] = false end
  bursts(function(burst)
    for i = 1, n, 8 do array[i] = live[(i * 7 + burst) % #live + 1] end
  end)
end

function rows.table_move()
  local live, n, other = records(size(1000000)), size(1000000), {}
  for i = 1, n do other[i] = false end
  bursts(function(burst)
    table.move(live, 1, n - burst, 1 + burst, other)
  end)
end

function rows.table_insert()
  local live = records(size(200000))
  bursts(function()
    for _ = 1, 20 do
      local last = table.remove(live)
      table.insert(live, 1, last)
    end
  end)
end

function rows.sort()
  local live = records(size(200000))
  bursts(function(burst)
    local sign = burst % 2 == 0 and 1 or -1
    table.sort(live, function(a, b) return a.id * sign < b.id * sign end)
  end)
end

function rows.metatables()
  local live, n = records(size(700000)), size(700000)
  local one, other = {}, { __index = {} }
  bursts(function(burst)
    for i = 1, n do setmetatable(live[i], (i + burst) % 2 == 0 and one or other) end
  end)
end

function rows.upvalues()
  local closures, live, n = {}, records(size(300000)), size(300000)
  for i = 1, n do
    local a, b = live[i], i
    closures[i] = function(value) a, b = value, a end
  end
  bursts(function(burst)
    for i = 1, n do closures[i](live[(i * 7 + burst) % n + 1]) end
  end)
end

-- Values of 200 upvalues in each of many closures.
function rows.many_upvalues()
  local names, sets = {}, {}
  for i = 1, 200 do
    names[i] = "u" .. i
    sets[i] = "u" .. i .. " = v"
  end
  local make = load("local " .. table.concat(names, ",") .. " return function(v) "
    .. table.concat(sets, " ") .. " end")
  local closures, live = {}, records(1000)
  for i = 1, size(15000) do closures[i] = make() end
  bursts(function(burst)
    for i = 1, #closures do closures[i](live[(i * 7 + burst) % 1000 + 1]) end
  end)
end

---- threads --------------------------------------------------------------------------------

function rows.recursing_threads()
  local yield = coroutine.yield
  local function down(depth, a, b)
    if depth == 0 then
      yield()
    else
      down(depth - 1, b, a)
    end
    return a
  end
  local function body(a, b)
    while true do
      down(1000, a, b)
      yield()
    end
  end
  local threads, n = {}, size(2000)
  for i = 1, n do
    threads[i] = coroutine.create(body)
    coroutine.resume(threads[i], { i }, { i })
  end
  bursts(function()
    for i = 1, n do
      coroutine.resume(threads[i])
      coroutine.resume(threads[i])
    end
  end)
end

-- Each has 100 frames that change nothing; the last one stores into its locals.
function rows.deep_threads()
  local function body(depth, a)
    if depth > 0 then return (body(depth - 1, a)) end
    local one, two
    while true do one, two = coroutine.yield(two), one end
  end
  local threads, live, n = {}, records(1000), size(20000)
  for i = 1, n do
    threads[i] = coroutine.create(body)
    coroutine.resume(threads[i], 100, i)
  end
  bursts(function(burst)
    for i = 1, n do coroutine.resume(threads[i], live[(i + burst) % 1000 + 1]) end
  end)
end

function rows.closed_threads()
  local function body(depth)
    if depth == 0 then coroutine.yield() else body(depth - 1) end
    return depth
  end
  for _ = 1, 4 do
    local threads = {}
    for i = 1, size(3000) do
      threads[i] = coroutine.create(body)
      coroutine.resume(threads[i], 150)
    end
    churn(20000)
    for i = 1, #threads do coroutine.close(threads[i]) end
    churn(20000)
  end
end

---- weak tables ------------------------------------------------------------------------------

local function small_weak_tables(mode)
  return function()
    local live, tables, n = records(size(200000)), {}, size(200000)
    local metatable = { __mode = mode }
    for i = 1, n do tables[i] = setmetatable({ live[i], [live[i]] = live[i] }, metatable) end
    bursts(function()
      for _ = 1, n do
        local table, i = tables[random(n)], random(n)
        table[1] = live[i]
      end
    end)
  end
end
rows.small_weak_keys = small_weak_tables("k")
rows.small_weak_values = small_weak_tables("v")
rows.small_weak_both = small_weak_tables("kv")

local function big_weak_table(mode, entry)
  return function()
    local live, weak, n = records(size(1000000)), setmetatable({}, { __mode = mode }), size(1000000)
    for i = 1, n do entry(weak, live, i, i) end
    bursts(function(burst)
      for i = 1, n do entry(weak, live, i, (i * 7 + burst) % n + 1) end
    end)
    -- and half of them die
    for i = 1, n, 2 do live[i] = false end
    churn(1000000)
  end
end
rows.big_weak_keys = big_weak_table("k", function(weak, live, i, j)
  if live[i] then weak[live[i]] = live[j] end
end)
rows.big_weak_values = big_weak_table("v", function(weak, live, i, j) weak[i] = live[j] or nil end)
rows.big_weak_both = big_weak_table("kv", function(weak, live, i, j)
  if live[i] then weak[live[i]] = live[j] end
end)

-- The index of waiting keys grows with each that is fresh.
function rows.weak_memo()
  local memo, ring = setmetatable({}, { __mode = "k" }), {}
  for i = 1, size(3000000) do
    local key = { i }
    memo[key] = i
    if i % 10 == 0 then ring[i // 10 % 20000 + 1] = key end
  end
end

function rows.weak_memo_kept()
  local memo, kept = setmetatable({}, { __mode = "k" }), {}
  for i = 1, size(1500000) do
    local key = { i }
    memo[key] = { key }
    kept[i] = key
  end
end

-- A large table becomes weak and strong again.
function rows.becoming_weak()
  local live, n, big = records(size(500000)), size(500000), {}
  for i = 1, n do big[live[i]] = live[n + 1 - i] end
  local modes = { { __mode = "k" }, { __mode = "v" }, { __mode = "kv" }, {} }
  bursts(function(burst) setmetatable(big, modes[burst % 4 + 1]) end)
end

---- large at once ------------------------------------------------------------------------------

function rows.unpack()
  local t = records(size(200000))
  for _ = 1, 30 do
    local copy = { table.unpack(t, 1, size(200000)) }
    churn(5000)
  end
end

function rows.pack()
  local t = records(size(200000))
  local function count(...)
    churn(5000)
    return select("#", ...)
  end
  for _ = 1, 15 do
    local packed = table.pack(table.unpack(t))
    count(table.unpack(packed, 1, packed.n))
  end
end

-- Parts of weak tables that no collection has seen, of values that are new.
function rows.weak_at_once()
  for _, mode in ipairs { "v", "k", "kv", "v" } do
    local fresh = {}
    for i = 1, size(150000) do fresh[i] = i % 3 == 0 and { i } or i end
    local weak = setmetatable({ table.unpack(fresh) }, { __mode = mode })
    churn(20000)
    fresh = nil
    churn(20000)
    assert(#weak > 0)
  end
end

-- A great many arguments for functions of C that allocate, and for others that call back.
function rows.many_arguments()
  local t, shown = records(size(150000)), {}
  local named = setmetatable({}, { __tostring = function() churn(2) return "named" end })
  for i = 1, size(30000) do shown[i] = i % 1000 == 0 and named or i end
  local format = ("%s"):rep(size(30000))
  for i = 1, 12 do
    assert(#format:format(table.unpack(shown)) > 0)
    assert(select("#", pcall(function(...) churn(5000) return ... end, table.unpack(t))) == #t + 1)
    assert(select("#", coroutine.wrap(function(...) churn(5000) return ... end)(table.unpack(t))) == #t)
    local text = string.char(("x"):rep(size(150000)):byte(1, -1))
    assert(#text == size(150000))
  end
end

-- Extra arguments in each of many frames.
function rows.deep_varargs()
  local function down(depth, ...)
    if depth > 0 then return (down(depth - 1, ...)) end
    churn(20000)
  end
  local many = records(180)
  for _ = 1, 20 do down(size(2000), table.unpack(many)) end
end

-- Results that wait for a handler.
function rows.closing()
  local t = records(size(200000))
  local metatable = { __close = function() churn(10000) end }
  local function results()
    local a <close> = setmetatable({}, metatable)
    local b <close> = setmetatable({}, metatable)
    return table.unpack(t)
  end
  for _ = 1, 10 do assert(select("#", results()) == #t) end
end

-- Objects with finalizers that die with much that only they refer to.
function rows.finalizers_of_much()
  local t = records(1000)
  for _ = 1, 40 do
    local held = {}
    for i = 1, size(20000) do held[i] = { i, t[i % 1000 + 1] } end
    setmetatable({ held, { table.unpack(held) } }, { __gc = function() end })
    held = nil
    churn(20000)
  end
end

-- Functions of the library that run for long.
function rows.library_loops()
  local n, live = size(300000), records(size(300000))
  bursts(function(burst)
    local names = {}
    for i = 1, n do names[i] = live[i].id % 1000 end
    table.sort(names)
    local joined = table.concat(names, ",")
    local i = 0
    for word in joined:gmatch "%d+" do i = i + 1 names[i] = live[i] end
    joined:gsub("%d+", { ["1"] = "one" })
    for _ = 1, 50 do table.remove(names, 1 + burst) end
  end)
end

function rows.constants()
  local parts = {}
  for i = 1, size(60000) do parts[i] = ("t[%d] = 'constant %d'"):format(i, i) end
  local source = "local t = ... " .. table.concat(parts, " ")
  local kept = {}
  for i = 1, 8 do
    kept[i % 3 + 1] = load(source .. " return " .. i)
    churn(50000)
    kept[i % 3 + 1]({})
    churn(50000)
  end
end

function rows.many_functions()
  local parts = {}
  for i = 1, size(20000) do parts[i] = ("function t.f%d(a) return a .. 'text %d', a + %d end"):format(i, i, i) end
  local source = "local t = ... " .. table.concat(parts, " ")
  for _ = 1, 6 do
    local t = {}
    load(source)(t)
    churn(100000)
  end
end

function rows.finalizer_registrations()
  local live, n = records(size(400000)), size(400000)
  local metatable = { __gc = function() end }
  bursts(function(burst)
    for i = burst, n, 12 do setmetatable(live[i], metatable) end
  end)
  for i = 1, n do live[i] = nil end
  churn(1000000)
end

function rows.strings_dying()
  for _ = 1, 3 do
    local names = {}
    for i = 1, size(700000) do names[i] = "a name " .. i end
    churn(20000)
    for i = 1, #names do names[i] = nil end
    churn(500000)
  end
end

function rows.shrinking()
  local big = {}
  bursts(function(burst)
    if burst % 2 == 1 then
      for i = 1, size(500000) do big[i * 16] = i end
    else
      for k in pairs(big) do big[k] = nil end
    end
  end)
end

function rows.messages()
  local domain = require "saros.domain"
  local channel = domain.channel(2)
  local worker = domain.spawn(function(n)
    for message in channel:values() do
      local sum = 0
      for i = 1, #message do
        sum = sum + message[i].id
        message[i].link = { i }
      end
    end
  end)
  for _ = 1, 5 do channel:send(records(size(150000))) end
  channel:close()
  worker:join()
end

---- ------------------------------------------------------------------------------------------

if arg[1] then
  rows[arg[1]]()
else
  local names = {}
  for name in pairs(rows) do names[#names + 1] = name end
  table.sort(names)
  print(table.concat(names, "\n"))
end
