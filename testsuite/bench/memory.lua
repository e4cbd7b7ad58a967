-- SPDX-License-Identifier: MIT
-- testsuite/bench/memory.lua: shapes of many equal things that are alive at once, to compare
-- what each takes with other interpreters (memory.sh).
--
--   saros memory.lua          lists the shapes
--   saros memory.lua NAME     makes one and prints, in bytes,
--
--     base=      resident memory before, which is that of an empty program
--     peak=      greatest resident memory above the base
--     settled=   resident memory above the base when collectgarbage() has been called
--     count=     how many things there are
--
-- THE LIST IS FROZEN (test_patterns.sh has the checksum of its names). A shape is a function that
-- returns what is to stay alive. Plain Lua 5.4; reads /proc (Linux).

local names, shapes = {}, {}

-- shape(NAME, COUNT, MAKE): MAKE(i) returns the thing that is kept in an array as number i
local function shape(name, count, make)
  names[#names + 1] = name
  shapes[name] = {count = count, make = make}
end

local MANY, LARGE = 1000000, 100000

shape("empty", 0, function() end)
shape("integers", MANY, function(i) return i end)
shape("floats", MANY, function(i) return i + 0.5 end)
shape("empty_tables", MANY, function() return {} end)
shape("arrays_of_1", MANY, function(i) return {i} end)
shape("arrays_of_3", MANY, function(i) return {i, i, i} end)
shape("arrays_of_4_appended", MANY, function(i) local t = {} for j = 1, 4 do t[j] = i end return t end)
shape("arrays_of_10_appended", MANY // 2, function(i) local t = {} for j = 1, 10 do t[j] = i end return t end)
shape("arrays_of_100", LARGE // 2, function(i) local t = {} for j = 1, 100 do t[j] = i end return t end)
shape("arrays_of_1000", LARGE // 20, function(i) local t = {} for j = 1, 1000 do t[j] = i end return t end)
shape("records_of_1", MANY, function(i) return {x = i} end)
shape("records_of_2", MANY, function(i) return {x = i, y = i} end)
shape("records_of_4", MANY, function(i) return {a = i, b = i, c = i, d = i} end)
shape("records_of_4_grown", MANY, function(i) local t = {} t.a = i t.b = i t.c = i t.d = i return t end)
shape("records_of_5_grown", MANY // 2, function(i) local t = {} t.a = i t.b = i t.c = i t.d = i t.e = i return t end)
shape("records_of_10", MANY // 2, function(i)
  return {a = i, b = i, c = i, d = i, e = i, f = i, g = i, h = i, i = i, j = i}
end)
shape("records_with_items", MANY // 2, function(i) return {x = i, y = i, i, i} end)
shape("nested_records", MANY // 2, function(i) return {name = i, at = {x = i, y = i}} end)
shape("maps_of_20_strings", LARGE // 2, function(i) local t = {} for j = 1, 20 do t["key" .. j] = i end return t end)
shape("maps_of_100_integers", LARGE // 5, function(i) local t = {} for j = 1, 100 do t[j * 7919] = i end return t end)
local class = {}
class.__index = class
shape("objects", MANY, function(i) return setmetatable({x = i, y = i}, class) end)
shape("strings_of_8", MANY, function(i) return ("%08d"):format(i) end)
shape("strings_of_30", MANY, function(i) return ("%030d"):format(i) end)
shape("strings_of_60", MANY, function(i) return ("%060d"):format(i) end)
shape("strings_of_1000", LARGE, function(i) return ("x"):rep(990) .. i end)
shape("strings_of_10000", LARGE // 10, function(i) return ("x"):rep(9990) .. i end)
shape("closures", MANY, function(i) return function() return i end end)
shape("closures_of_shared_upvalue", MANY, (function()
  local shared = 0
  return function(i) return function() if i then return shared end end end
end)())
shape("closures_of_5_upvalues", MANY // 2, function(a)
  local b, c, d, e = a, a, a, a
  return function() return a + b + c + d + e end
end)
shape("counters", MANY, function(i) return function() i = i + 1 return i end end)
shape("coroutines_suspended", LARGE, function(i)
  local co = coroutine.create(function(x) coroutine.yield(x) end)
  coroutine.resume(co, i)
  return co
end)
shape("coroutines_fresh", LARGE, function() return coroutine.create(function() end) end)
shape("coroutines_wrapped", LARGE, function(i)
  local f = coroutine.wrap(function(x) coroutine.yield(x) end)
  f(i)
  return f
end)
shape("gmatch_iterators", MANY // 2, function() return ("one two"):gmatch("%a+") end)
shape("files", 1000, function() return io.open("/dev/null") end)
shape("linked_list", MANY, (function()
  local list
  return function() list = {next = list} return list end
end)())
shape("functions_loaded", LARGE // 5, function(i) return load("local x = ... return x + " .. i) end)
shape("weak_values", MANY // 2, (function()
  local cache = setmetatable({}, {__mode = "v"})
  return function(i) local t = {cache} cache[i] = t return t end
end)())
shape("weak_keys", MANY // 2, (function()
  local cache = setmetatable({}, {__mode = "k"})
  return function(i) local t = {cache} cache[t] = i return t end
end)())
shape("with_finalizers", LARGE, (function()
  local mt = {__gc = function() end}
  return function() return setmetatable({}, mt) end
end)())
shape("set_of_strings", MANY // 2, (function()
  local set = {}
  return function(i) set["member" .. i] = true return set end
end)())
shape("set_of_tables", MANY // 2, (function()
  local set = {}
  return function(i) set[{}] = true return set end
end)())
shape("sparse_integers", MANY // 2, (function()
  local map = {}
  return function(i) map[i * 16] = i return map end
end)())
shape("packed_tables", MANY // 2, function(i) return table.pack(i, i, i) end)

local measure = ...
if measure == nil then
  print(table.concat(names, "\n"))
  return
end

local folder = arg[0]:match("^(.*/)[^/]*$") or ""
local resident = dofile(folder .. "resident.lua")
local this = assert(shapes[measure], "no such shape")

local base, live, make = resident.now(), {}, this.make
for i = 1, this.count do live[i] = make(i) end
local peak = resident.peak()
resident.collect()
print(("base=%d peak=%d settled=%d count=%d"):format(base, peak - base, resident.now() - base, this.count))
assert(#live == this.count)
