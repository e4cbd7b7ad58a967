-- SPDX-License-Identifier: MIT
-- A deterministic program with a line for each way in which memory is allocated, grows and
-- stays alive; half of what it makes is dead at its end. Then all that is dead is
-- collected, and the process ends where it is, so that the heap profile says what is alive.
--
--   saros _sites.lua [stop] SIZE     stop: nothing is collected before
if arg[1] == "stop" then collectgarbage(table.remove(arg, 1)) end
local size = tonumber(arg[1])
local kept = {}
local function keep(i, value)
  kept[#kept + 1] = i % 2 == 0 and value or false
end

local function arrays_grow()
  for i = 1, size do
    local t = {}
    for k = 1, 10 + i % 40 do t[k] = k end
    keep(i, t)
  end
end
local function large_arrays_grow()
  for i = 1, 8 do
    local t = {}
    for k = 1, 5 * size + 100 * i do t[k] = k end
    keep(i, t)
  end
end
local function hashes_grow()
  for i = 1, size do
    local t = {}
    for k = 1, 5 + i % 20 do t[k + 0.5] = k end
    keep(i, t)
  end
end
local function large_hash_grows()
  for i = 1, 4 do
    local t = {}
    for k = 1, 4 * size do t[k + 0.25] = k end
    keep(i, t)
  end
end
local function records()
  for i = 1, 3 * size do
    local t = {i, name = i, more = {i, i, i}}
    keep(i, t)
  end
end
local function closures()
  for i = 1, 4 * size do
    local a, b = i, i
    local function f() a = b return a end
    keep(i, f)
  end
end
local function strings()
  for i = 1, 4 * size do
    local s = "string number " .. i
    keep(i, s)
  end
end
local function long_strings()
  for i = 1, size do
    local s = ("x"):rep(100 + i % 300) .. i
    keep(i, s)
  end
end
local function very_long_strings()
  for i = 1, 6 do
    local s = ("y"):rep(40 * size) .. i
    keep(i, s)
  end
end
local function coroutines()
  local function deep(n)
    if n > 0 then return 1 + deep(n - 1) end
    coroutine.yield()
    return 0
  end
  for i = 1, size // 4 do
    local co = coroutine.create(deep)
    coroutine.resume(co, i % 30)
    keep(i, co)
  end
end
local function chunks()
  for i = 1, size // 8 do
    local f = load(("local a = %d; return function(b) return a + b, 'text %d' end"):format(i, i))
    keep(i, f)
  end
end

arrays_grow()
large_arrays_grow()
hashes_grow()
large_hash_grows()
records()
closures()
strings()
long_strings()
very_long_strings()
coroutines()
chunks()
collectgarbage()
collectgarbage()
os.exit(0, false)
