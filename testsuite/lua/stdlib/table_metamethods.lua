-- SPDX-License-Identifier: MIT
-- table and sort on what only acts as a table: metamethods are honoured, in
-- values with a metatable and in tables with one.

local fails = require "_fails"

-- A proxy that counts what is done to it; the elements are in `store`.
local function proxy(store)
  local log = { reads = 0, writes = 0 }
  return setmetatable({}, {
    __len = function() return #store end,
    __index = function(_, k) log.reads = log.reads + 1 return store[k] end,
    __newindex = function(_, k, v) log.writes = log.writes + 1 store[k] = v end,
  }), log
end

do -- each function goes through the proxy
  local store = { 1, 2, 3 }
  local p, log = proxy(store)
  table.insert(p, 4)
  table.insert(p, 1, 0)
  assert(table.concat(store, ",") == "0,1,2,3,4" and table.concat(p, ",") == "0,1,2,3,4")
  assert(table.remove(p) == 4 and table.remove(p, 1) == 0 and next(p) == nil)
  assert(select("#", table.unpack(p)) == 3 and table.unpack(p, 2) == 2)
  assert(table.move(p, 1, 3, 2) == p and table.concat(store, ",") == "1,1,2,3")
  assert(log.reads > 10 and log.writes > 8)
  for i = 1, 50 do store[i] = (i * 37) % 51 end
  table.sort(p)
  for i = 2, 50 do assert(store[i - 1] <= store[i]) end
  table.sort(p, function(a, b) return a > b end)
  for i = 2, 50 do assert(store[i - 1] >= store[i]) end
  assert(next(p) == nil)
end

do -- order of access in move: last to first when it overlaps upwards
  local writes = {}
  local t = setmetatable({}, {
    __index = function(_, k) return k * 10 end,
    __newindex = function(_, k, v) writes[#writes + 1] = k .. "=" .. v end,
  })
  table.move(t, 1, 3, 2)
  assert(table.concat(writes, " ") == "4=30 3=20 2=10")
  writes = {}
  table.move(t, 2, 4, 1)
  assert(table.concat(writes, " ") == "1=20 2=30 3=40")
  writes = {}
  table.move({ 1, 2, 3 }, 1, 3, 2, t)
  assert(table.concat(writes, " ") == "2=1 3=2 4=3")
  writes = {}
  fails("stop", table.move, setmetatable({},
    { __index = function(_, k) if k > 3 then error("stop", 0) end return k end }),
    1, math.maxinteger, 1, t)
  assert(table.concat(writes, " ") == "1=1 2=2 3=3")
  -- two tables that claim to be equal
  local equal = { __eq = function() return true end }
  local a, b = setmetatable({ 1, 2, 3 }, equal), setmetatable({}, equal)
  table.move(a, 1, 3, 2, b)
  assert(b[2] == 1 and b[4] == 3)
end

do -- userdata-like values: what is needed depends on the function
  debug.setmetatable(10, { __index = function(_, k) return k * 2 end,
    __len = function() return 3 end })
  assert(table.concat(10, ",") == "2,4,6" and select("#", table.unpack(10, 1, 4)) == 4)
  local moved = table.move(10, 1, 4, 1, {})
  assert(#moved == 4 and moved[4] == 8)
  fails("table expected, got number", table.insert, 10, 1) -- no __newindex
  fails("table expected, got number", table.sort, 10)
  debug.setmetatable(10, { __index = {} })
  fails("table expected, got number", table.concat, 10) -- no __len
  debug.setmetatable(10, nil)
end

do -- lengths
  local function length(n) return setmetatable({}, { __len = function() return n end }) end
  fails("object length is not an integer", table.insert, length("abc"), 1)
  fails("object length is not an integer", table.concat, length(1.5))
  assert(table.concat(length("0")) == "" and table.concat(length(-10)) == "")
  table.sort(length(-1), error)
  fails("array too big", table.sort, length(math.maxinteger))
  fails("array too big", table.sort, length((1 << 31) - 1))
  local t = length(math.maxinteger)
  table.insert(t, 20)
  local k, v = next(t)
  assert(k == math.mininteger and v == 20, "the position wraps")
  fails("position out of bounds", table.insert, t, -1, 1)
  t = setmetatable({ [math.maxinteger] = "last" }, getmetatable(length(math.maxinteger)))
  assert(table.remove(t) == "last" and next(t) == nil)
end

do -- a metatable without metamethods changes nothing
  local t = setmetatable({ 3, 1, 2 }, {})
  table.sort(t)
  table.insert(t, 4)
  assert(table.concat(t) == "1234" and table.remove(t) == 4 and select("#", table.unpack(t)) == 3)
end

do -- errors from metamethods pass through half-built results
  local t = setmetatable({}, { __len = function() return 10000 end, __index = function(_, k)
    if k == 9000 then error("deep", 0) end
    return "element"
  end })
  fails("deep", table.concat, t, ",")
  fails("deep", table.unpack, t)
  fails("deep", table.sort, t)
end
print "OK"
