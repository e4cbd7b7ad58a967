-- SPDX-License-Identifier: MIT
-- table.sort: all kinds of elements and orders, each compared with its definition.

local fails = require "_fails"

local function less(a, b) return a < b end

-- Sorts a copy and checks that it is ordered and has the same elements.
local function check(t, order)
  local before, sorted = order or less, table.move(t, 1, #t, 1, {})
  table.sort(sorted, order)
  local count = {}
  for i = 1, #t do count[t[i]] = (count[t[i]] or 0) + 1 end
  for i = 1, #t do
    assert(i == 1 or not before(sorted[i], sorted[i - 1]), i)
    count[sorted[i]] = count[sorted[i]] - 1
    assert(count[sorted[i]] >= 0)
  end
  assert(#sorted == #t)
  return sorted
end

local function filled(n, f)
  local t = {}
  for i = 1, n do t[i] = f(i) end
  return t
end

math.randomseed(20, 26)
local sizes = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 31, 63, 64, 65, 100, 1000 }

do -- numbers, with and without an order function
  for _, n in ipairs(sizes) do
    for _, f in ipairs {
      function() return math.random(0) end, -- any integer
      function() return math.random(10) end, -- many equal
      function() return math.random(-1000, 1000) end,
      function(i) return i end,
      function(i) return -i end,
      function() return 7 end,
      function() return math.random() - 0.5 end, -- floats
      function() return (math.random() - 0.5) * 10.0 ^ math.random(-300, 300) end,
      function(i) return i % 3 == 0 and i or i + 0.5 end, -- mixed
      function(i) return i % 2 == 0 and math.random(0) or math.random() * 2.0 ^ 63 end,
    } do
      local t = filled(n, f)
      check(t)
      check(t, less)
      check(t, function(a, b) return a > b end)
    end
  end
  assert(table.concat(check { math.maxinteger, math.mininteger, 0, -1, 1 }, " ") ==
    "-9223372036854775808 -1 0 1 9223372036854775807")
  local t = check { 0.0, math.huge, -math.huge, -5e-324, 5e-324, 1.5, -1.5 }
  assert(t[1] == -math.huge and t[3] == -5e-324 and t[7] == math.huge)
  for _, v in ipairs(check { 3, 1.0, 2 }) do
    assert(math.type(v) == (v == 1 and "float" or "integer"))
  end
  for _, v in ipairs(check { 3.0, 1.0, 2.0 }) do assert(math.type(v) == "float") end
end

do -- strings
  for _, n in ipairs(sizes) do
    check(filled(n, function() return tostring(math.random(0)) end))
    check(filled(n, function() return ("x"):rep(math.random(0, 20)) .. math.random(9) end))
    check(filled(n, function() return ("a"):rep(50) .. string.char(math.random(0, 255)) ..
      ("b"):rep(math.random(3)) end))
    check(filled(n, function() return string.char(math.random(0, 255), math.random(0, 1), 0):sub(1,
      math.random(0, 3)) end))
    check(filled(n, function(i) return tostring(i) end), function(a, b)
      return #a < #b or #a == #b and a < b
    end)
  end
  assert(table.concat(check { "b", "", "a\0", "a", "\xff", "B", "a\0b", "ab" }, "|") ==
    "|B|a|a\0|a\0b|ab|b|\xff")
end

do -- values with __lt, and by a field
  local meta = { __lt = function(a, b) return a.n < b.n end }
  local t = filled(300, function() return setmetatable({ n = math.random(100) }, meta) end)
  check(t)
  table.sort(t)
  for i = 2, #t do assert(t[i - 1].n <= t[i].n) end
  local records = filled(500, function(i) return { key = math.random(20), place = i } end)
  table.sort(records, function(a, b) return a.key < b.key end)
  for i = 2, #records do assert(records[i - 1].key <= records[i].key) end
end

do -- an order that does much else
  local t = filled(200, function() return math.random(1000) end)
  check(t, function(a, b)
    load("local x = {}")()
    if math.random(50) == 1 then collectgarbage() end
    return a < b
  end)
  local nested = 0
  check(filled(50, function() return math.random(50) end), function(a, b)
    table.sort({ 3, 1, 2 }, function(x, y) nested = nested + 1 return x > y end)
    return a < b
  end)
  assert(nested > 0)
end

do -- few comparisons
  local comparisons = 0
  local function counting(a, b) comparisons = comparisons + 1 return a < b end
  check(filled(10000, function() return math.random(0) end), counting)
  assert(comparisons < 10000 * 14, comparisons)
  comparisons = 0
  table.sort(filled(10000, function(i) return i end), counting)
  assert(comparisons < 10000 * 14)
end

do -- an error in the order leaves the table as it was, whole
  local t = filled(100, function(i) return 101 - i end)
  local calls = 0
  fails("enough", table.sort, t, function(a, b)
    calls = calls + 1
    if calls == 300 then error("enough", 0) end
    return a < b
  end)
  local seen = {}
  for i = 1, 100 do seen[t[i]] = true end
  for i = 1, 100 do assert(seen[i]) end
end

do -- orders that are none
  local function always(a, b) assert(a and b) return true end
  for n = 4, 20 do
    fails("invalid order function for sorting", table.sort,
      filled(n, function(i) return i end), always)
  end
  table.sort({ 1, 2, 3 }, function() return false end)
  local t = filled(100, function(i) return i end)
  pcall(table.sort, t, function() return math.random(2) == 1 end) -- any order, but it ends
  assert(#t == 100)
  pcall(table.sort, { 0 / 0, 1.5, 0 / 0, -1.0, 2.5, 0 / 0, 0.5 })
end

do -- what cannot be compared
  fails("attempt to compare string with number", table.sort, { 1, "a" })
  fails("attempt to compare two table values", table.sort, { {}, {} })
  fails("attempt to compare", table.sort, { 1, 2, {}, 4 })
  fails("attempt to compare two boolean values", table.sort, { true, false })
  fails("attempt to compare", table.sort, { 1, 2, nil, 4 })
  fails("table expected, got no value", table.sort)
  fails("function expected, got number", table.sort, { 1, 2 }, 1)
  fails("function expected, got table", table.sort, { 1, 2 }, {})
  table.sort({ 1 }, 1) -- nothing to compare, nothing to check
  table.sort({}, nil)
end
print "OK"
