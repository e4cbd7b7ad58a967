-- SPDX-License-Identifier: MIT
-- Measures the pauses of one program: builds a structure, then makes steps for a
-- while and takes the CPU time of each.
--
--   pauses.lua SCENARIO SECONDS [MODE]     MODE: incremental, generational
--   pauses.lua                             lists the scenarios
--
-- PAUSES_SCALE in the environment is what the sizes are multiplied by (default: 1).
-- PAUSES_STEPS is how many steps are made, whatever time they take: each run makes the same.
--
-- One line of results: steps per second of CPU time, longest step, 99.9th and 99th
-- percentile, number of steps above 1 ms and above 3 ms, the three longest, live heap
-- by collectgarbage("count") and peak of resident memory. The clock is the CPU time of the
-- thread, where there is an FFI; else of the process, in us.
--
-- The scenario "nothing" allocates nothing: its longest steps are what the machine does to
-- everybody (a hypervisor that takes the processor away is charged to the program).
-- Runs under Lua 5.1 too, for the sake of LuaJIT.

local floor = math.floor

-- CPU seconds of the thread that runs this, where the FFI can ask for them: os.clock has those of
-- all threads, and Saros has one that makes memory present (runtime/mapping_ahead.h).
local function thread_clock()
  local found, ffi = pcall(require, "ffi")
  if not found then return os.clock end
  ffi.cdef "struct time { long s, ns; }; int clock_gettime(int, struct time *);"
  local C, time, THREAD_CPUTIME_ID = ffi.C, ffi.new "struct time", 3
  return function()
    C.clock_gettime(THREAD_CPUTIME_ID, time)
    return tonumber(time.s) + tonumber(time.ns) * 1e-9
  end
end
local clock = thread_clock()

-- A generator of our own: the same steps everywhere.
local seed = 1
local function random(n)
  seed = seed * 16807 % 2147483647
  return seed % n + 1
end

local scale = tonumber(os.getenv("PAUSES_SCALE") or 1)
local function size(n) return floor(n * scale) end

-- What every step of the others does: a few dozen objects that die at once.
local function churn(step)
  for k = 1, 30 do
    local t = { k, step, { k } }
    local s = "x" .. k
  end
end

local scenarios = {}

function scenarios.nothing()
  local x = 0
  return function(step)
    for k = 1, 300 do x = (x * 3 + step) % 1000003 end
  end
end

-- 400 MB of small records in one array; each step replaces one.
function scenarios.records()
  local records, n = {}, size(2100000)
  for i = 1, n do records[i] = { id = i, name = "n" .. i, v = i * 0.5 } end
  return function(step)
    churn(step)
    local i = random(n)
    records[i] = { id = i, name = "n" .. i .. "/" .. step, v = step }
  end
end

-- What a service does: 400 MB of records; each step makes a dozen small tables, some strings and
-- closures, and stores into two random old records.
function scenarios.service()
  local records, n = {}, size(2100000)
  for i = 1, n do records[i] = { id = i, name = "n" .. i, v = i * 0.5 } end
  return function(step)
    local last
    for k = 1, 4 do
      local request = { id = step, k }
      local reply = { request, name = "reply " .. k .. "/" .. step }
      last = { reply, act = function() return request, reply end }
    end
    records[random(n)].v = last
    records[random(n)].name = last[1].name
  end
end

-- An array of 10 million slots.
function scenarios.array()
  local array, n = {}, size(10000000)
  for i = 1, n do array[i] = i end
  return function(step)
    churn(step)
    array[random(n)] = { step }
  end
end

-- An array that grows to 10 million slots and is dropped, over and over.
function scenarios.growing_array()
  local array, n = {}, 0
  return function(step)
    churn(step)
    for i = n + 1, n + 200 do array[i] = i end
    n = n + 200
    if n >= size(10000000) then array, n = {}, 0 end
  end
end

function scenarios.hash()
  local hash, n = {}, size(1000000)
  for i = 1, n do hash["key" .. i] = { i } end
  return function(step)
    churn(step)
    hash["key" .. random(n)] = { step }
  end
end

-- A hash that grows to a million keys and is dropped, over and over.
function scenarios.growing_hash()
  local hash, n = {}, 0
  return function(step)
    churn(step)
    for i = n + 1, n + 20 do hash[i * 1.5] = i end
    n = n + 20
    if n >= size(1000000) then hash, n = {}, 0 end
  end
end

local function weak(mode, make)
  return function()
    local table, held, n = setmetatable({}, { __mode = mode }), {}, size(1000000)
    for i = 1, n do
      held[i] = { i }
      make(table, held, i)
    end
    return function(step)
      churn(step)
      local i = random(n)
      held[i] = { step }
      make(table, held, i)
    end
  end
end
scenarios.weak_values = weak("v", function(table, held, i) table[i] = held[i] end)
scenarios.weak_keys = weak("k", function(table, held, i) table[held[i]] = i end)
scenarios.ephemerons = weak("k", function(table, held, i) table[held[i]] = { held[i] } end)

-- A million ephemerons of which each key is the value of another, in no order.
function scenarios.ephemeron_chain()
  local table, n = setmetatable({}, { __mode = "k" }), size(1000000)
  local keys = {}
  for i = 1, n do keys[i] = {} end
  for i = 1, n - 1 do table[keys[i]] = keys[i + 1] end
  local first = keys[1]
  keys = nil
  return function(step)
    churn(step)
    table[first] = table[first]
  end
end

-- Weak entries that die a million at a time.
local function weak_deaths(mode, make)
  return function()
    local table, held, n = setmetatable({}, { __mode = mode }), {}, 0
    return function(step)
      churn(step)
      for _ = 1, 20 do
        n = n + 1
        held[n] = { n }
        make(table, held, n)
      end
      if n >= size(1000000) then held, n = {}, 0 end
      local _ = table[n]
    end
  end
end
scenarios.weak_values_dying = weak_deaths("v", function(table, held, i) table[i] = held[i] end)
scenarios.weak_keys_dying = weak_deaths("k", function(table, held, i) table[held[i]] = i end)

function scenarios.coroutines()
  local threads, n = {}, size(100000)
  local function body(x)
    while true do x = coroutine.yield(x) end
  end
  for i = 1, n do
    threads[i] = coroutine.create(body)
    coroutine.resume(threads[i], i)
  end
  return function(step)
    churn(step)
    for _ = 1, 10 do coroutine.resume(threads[random(n)], { step }) end
  end
end

function scenarios.finalizers()
  local objects, n, ran = {}, size(100000), 0
  local mt = { __gc = function() ran = ran + 1 end }
  for i = 1, n do objects[i] = setmetatable({ i }, mt) end
  return function(step)
    churn(step)
    objects[random(n)] = setmetatable({ step }, mt)
  end
end

-- 100,000 objects with finalizers die together, over and over.
function scenarios.finalizers_dying()
  local objects, n, ran = {}, 0, 0
  local mt = { __gc = function() ran = ran + 1 end }
  return function(step)
    churn(step)
    for _ = 1, 10 do
      n = n + 1
      objects[n] = setmetatable({ n }, mt)
    end
    if n >= size(100000) then objects, n = {}, 0 end
  end
end

function scenarios.list()
  local list
  for i = 1, size(1000000) do list = { next = list, value = i } end
  local tail = list
  return function(step)
    churn(step)
    tail.next = { next = tail.next and tail.next.next, value = step }
    tail = tail.next.next or list
  end
end

-- A list that hangs from an object which is always new, so that marking old objects does not
-- reach it.
function scenarios.hidden()
  local list, held, n = nil, {}, 0
  for i = 1, size(1000000) do list = { next = list } end
  local head = { next = { next = list } }
  list = nil
  return function(step)
    churn(step)
    head.next = { next = head.next.next }
    n = n + 1
    held[n] = { step }
    if n >= 2000 then held, n = {}, 0 end
  end
end

-- A string of 100 MB, made anew every now and then (that is one step of its own
-- accord: 100 MB are filled).
function scenarios.long_string()
  local text = string.rep("x", size(100000000))
  return function(step)
    churn(step)
    if step % 100000 == 99999 then text = nil end
    return text
  end
end

-- Steps at the bottom of a recursion 150,000 calls deep.
function scenarios.recursion()
  local run
  run = function(depth, act)
    local a, b = { depth }, depth
    if depth == 0 then return act() end
    run(depth - 1, act)
    return a, b
  end
  return churn, function(loop) run(size(150000), loop) end
end

function scenarios.strings()
  local names, n = {}, size(1000000)
  for i = 1, n do names[i] = "name " .. i end
  return function(step)
    churn(step)
    names[random(n)] = "other " .. step
  end
end

function scenarios.closures()
  local closures, n = {}, size(1000000)
  for i = 1, n do
    local x, y = i, { i }
    closures[i] = function() x = x + 1 return x, y end
  end
  return function(step)
    churn(step)
    local y = step
    closures[random(n)] = function() return y end
    closures[random(n)]()
  end
end

-- Old objects by the hundred thousand are made to refer to a new one.
function scenarios.stores()
  local records, n, from = {}, size(1000000), 0
  for i = 1, n do records[i] = { i } end
  return function(step)
    churn(step)
    local new = { step }
    for i = from + 1, from + 1000 do records[i][1] = new end
    from = (from + 1000) % n
  end
end

---- the measurement ---------------------------------------------------------------

local function peak_mb()
  local status = io.open("/proc/self/status")
  if not status then return 0 end
  local kb = status:read("*a"):match("VmHWM:%s*(%d+)")
  status:close()
  return kb / 1024
end

local name, seconds, mode = arg[1], tonumber(arg[2]), arg[3]
if not name then
  for scenario in pairs(scenarios) do print(scenario) end
  return
end
if mode then collectgarbage(mode) end

local counts, long = {}, {}
for us = 0, 999 do counts[us] = 0 end
for i = 1, 10000 do long[i] = 0 end
local nlong, steps, began, ended = 0, 0, 0, 0

local step, around = scenarios[name]()
local live = collectgarbage("count") / 1024

local function measure()
  began = clock()
  local last, final, most = began, began + seconds, math.huge
  if os.getenv("PAUSES_STEPS") then final, most = math.huge, tonumber(os.getenv("PAUSES_STEPS")) end
  while last < final and steps < most do
    step(steps)
    steps = steps + 1
    local now = clock()
    local us = floor((now - last) * 1e6 + 0.5)
    if us < 1000 then
      counts[us] = counts[us] + 1
    else
      nlong = nlong + 1
      long[nlong] = us
    end
    last = now
  end
  ended = last
end
if around then around(measure) else measure() end

table.sort(long, function(a, b) return a > b end)
local above3 = 0
while long[above3 + 1] > 3000 do above3 = above3 + 1 end

-- quantile(SHARE): what all but that share of the steps took at most
local function quantile(share)
  local beyond = floor(steps * share)
  local left, us = beyond - nlong, long[beyond + 1]
  for least = 999, 0, -1 do
    if left < 0 then break end
    left = left - counts[least]
    us = least
  end
  return us
end
local longest = long[1]
for us = 999, 0, -1 do
  if longest > 0 then break end
  if counts[us] > 0 then longest = us end
end
print(string.format("steps/s %.0f longest_us %d p99.9_us %d p99_us %d above_1ms %d above_3ms %d top %d,%d,%d live_mb %.0f peak_mb %.0f",
  steps / (ended - began), longest, quantile(0.001), quantile(0.01), nlong, above3, long[1], long[2], long[3], live, peak_mb()))
