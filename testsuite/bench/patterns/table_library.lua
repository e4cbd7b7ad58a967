-- SPDX-License-Identifier: MIT
-- The table library, and what walks over tables.
local api = ...
local family, pattern, code, generator = api.family, api.pattern, api.code, api.generator

local function array(n) local a = {} for i = 1, n do a[i] = i end return a end

family "table_library"

code("insert_at_end", 650000, "local a, insert = {}, table.insert", "insert(a, i)", "#a == n")
code("insert_and_remove_at_end", 200000, "local a = {}", "table.insert(a, i) table.remove(a)", "#a == 0")
code("remove_from_end", 200000, "local a = {} for i = 1, n do a[i] = i end", "table.remove(a)", "#a == 0")
for _, n in ipairs {5, 100, 3000} do
  local times = ({[5] = 150000, [100] = 30000, [3000] = 1500})[n]
  pattern("insert_first_of_" .. n, times, function(times, a)
    for i = 1, times do table.insert(a, 1, i) a[#a] = nil end
    assert(#a == n and a[1] == times)
  end, function() return array(n) end)
  pattern("remove_middle_of_" .. n, times, function(times, a)
    for i = 1, times do table.remove(a, n // 2) a[#a + 1] = i end
    assert(#a == n)
  end, function() return array(n) end)
end
for _, n in ipairs {2, 10, 100, 10000} do
  pattern("concat_" .. n .. "_strings", 1000000 // n, function(times, a)
    local concat = table.concat
    for i = 1, times // 2 do assert(#concat(a) == n * 4) end
  end, function() local a = {} for i = 1, n do a[i] = ("%04d"):format(i % 10000) end return a end)
  pattern("concat_" .. n .. "_with_comma", 1000000 // n, function(times, a)
    local concat = table.concat
    for i = 1, times // 2 do assert(#concat(a, ",") == n * 5 - 1) end
  end, function() local a = {} for i = 1, n do a[i] = ("%04d"):format(i % 10000) end return a end)
end
pattern("concat_integers", 1000, function(times, a)
  for i = 1, times do assert(#table.concat(a, " ") > 1000) end
end, function() return array(300) end)
pattern("concat_floats", 400, function(times, a)
  for i = 1, times do assert(#table.concat(a, " ") > 1000) end
end, function() local a = {} for i = 1, 300 do a[i] = i + 0.5 end return a end)
pattern("concat_lines_of_50_KB", 7500, function(times, a)
  for i = 1, times do assert(#table.concat(a, "\n") == 50 * 1001 - 1) end
end, function() local a = {} for i = 1, 50 do a[i] = ("x"):rep(1000) end return a end)
pattern("concat_of_2_MB", 30, function(times, a)
  for i = 1, times do assert(#table.concat(a) == 2000000) end
end, function() local a = {} for i = 1, 20000 do a[i] = ("x"):rep(100) end return a end)
code("concat_a_range", 50000, "local a = {} for i = 1, 100 do a[i] = 'k' .. i end local s", "s = table.concat(a, ' ', 40, 50)", "#s == 43")
code("pack_none", 200000, "local t", "t = table.pack()", "t.n == 0")
code("pack_3", 150000, "local t", "t = table.pack(i, i, i)", "t.n == 3")
code("unpack_3", 600000, "local t, a, b, c = {1, 2, 3}", "a, b, c = table.unpack(t)", "c == 3")
code("unpack_10_to_a_function", 250000, "local t, f, r = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, function(...) return (select('#', ...)) end", "r = f(table.unpack(t))", "r == 10")
code("unpack_200", 30000, "local t, r = {} for i = 1, 200 do t[i] = i end", "r = select('#', table.unpack(t))", "r == 200")
code("unpack_a_range", 650000, "local t, a, b = {1, 2, 3, 4, 5}", "a, b = table.unpack(t, 2, 3)", "b == 3")
code("pack_and_unpack", 80000, "local f, r = function(...) local t = table.pack(...) return table.unpack(t, 1, t.n) end", "r = f(i, nil, i)", "r == n")
code("move_10", 250000, "local a, b = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {}", "table.move(a, 1, 10, 1, b)", "#b == 10")
code("move_10_into_fresh", 50000, "local a, b = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}", "b = table.move(a, 1, 10, 1, {})", "#b == 10")
pattern("move_1000_up_by_one", 4000, function(times, a)
  for i = 1, times do table.move(a, 1, 1000, 2) a[1001] = nil end
  assert(#a == 1000)
end, function() return array(1000) end)
pattern("move_100000_over", 45, function(times, a, b)
  for i = 1, times do table.move(a, 1, #a, 1, b) end
end, function() return array(100000), array(100000) end)

family "sort"

local function shuffled(n, of)
  return function()
    local a, random = {}, generator(11)
    for i = 1, n do a[i] = of(random() % 1000000) end
    return a
  end
end
local function sorting(compare)
  return function(times, a)
    for _ = 1, times do
      local b = table.move(a, 1, #a, 1, {})
      table.sort(b, compare)
      if compare then assert(not compare(b[2], b[1])) else assert(b[1] <= b[2]) end
    end
  end
end
local function same(x) return x end
pattern("integers_5", 45000, sorting(), shuffled(5, same))
pattern("integers_100", 1500, sorting(), shuffled(100, same))
pattern("integers_10000", 10, sorting(), shuffled(10000, same))
pattern("floats_1000", 100, sorting(), shuffled(1000, function(x) return x + 0.25 end))
pattern("strings_1000", 60, sorting(), shuffled(1000, function(x) return "s" .. x end))
pattern("strings_with_long_prefix_1000", 80, sorting(), shuffled(1000, function(x) return ("prefix "):rep(10) .. x end))
pattern("with_less_1000", 65, sorting(function(a, b) return a < b end), shuffled(1000, same))
pattern("with_greater_10", 6000, sorting(function(a, b) return a > b end), shuffled(10, same))
pattern("by_field_1000", 20, sorting(function(a, b) return a.key < b.key end), shuffled(1000, function(x) return {key = x} end))
pattern("by_name_1000", 40, sorting(function(a, b) return a.name < b.name end), shuffled(1000, function(x) return {name = "n" .. x} end))
pattern("by_two_fields_1000", 40, sorting(function(a, b) if a.x ~= b.x then return a.x < b.x end return a.y < b.y end),
  shuffled(1000, function(x) return {x = x % 10, y = x} end))
local ordered = {}
ordered.__lt = function(a, b) return a[1] < b[1] end
pattern("by_metamethod_500", 100, sorting(), shuffled(500, function(x) return setmetatable({x}, ordered) end))
pattern("sorted_already_10000", 14, sorting(), function() return array(10000) end)
pattern("backwards_10000", 6, sorting(), function() local a = {} for i = 1, 10000 do a[i] = -i end return a end)
pattern("all_equal_10000", 13, sorting(), function() local a = {} for i = 1, 10000 do a[i] = 7 end return a end)

family "traversal"

for _, n in ipairs {0, 1, 5, 100, 10000} do
  local times = 1200000 // (n + 5)
  pattern("pairs_over_" .. n .. "_fields", times, function(times, t)
    local seen = 0
    for _ = 1, times do for k, v in pairs(t) do seen = seen + v end end
    assert(seen == times * n)
  end, function() local t = {} for i = 1, n do t["k" .. i] = 1 end return t end)
  pattern("pairs_over_" .. n .. "_items", times, function(times, t)
    local seen = 0
    for _ = 1, times do for k, v in pairs(t) do seen = seen + 1 end end
    assert(seen == times * n)
  end, function() return array(n) end)
  pattern("ipairs_over_" .. n, times, function(times, t)
    local seen = 0
    for _ = 1, times do for i, v in ipairs(t) do seen = seen + 1 end end
    assert(seen == times * n)
  end, function() return array(n) end)
end
code("next_empty", 1000000, "local t, k = {}", "k = next(t)", "k == nil")
code("next_first", 1000000, "local t, k = {a = 1}", "k = next(t)", "k == 'a'")
pattern("next_over_1000_fields", 650, function(times, t)
  local seen = 0
  for _ = 1, times do local k = next(t) while k ~= nil do seen = seen + 1 k = next(t, k) end end
  assert(seen == times * 1000)
end, function() local t = {} for i = 1, 1000 do t["k" .. i] = 1 end return t end)
pattern("for_in_next", 750, function(times, t)
  local seen = 0
  for _ = 1, times do for k in next, t do seen = seen + 1 end end
  assert(seen == times * 1000)
end, function() local t = {} for i = 1, 1000 do t["k" .. i] = 1 end return t end)
pattern("pairs_removes", 100, function(times)
  for _ = 1, times do
    local t = {}
    for i = 1, 3000 do t[i * 7] = i end
    for k in pairs(t) do t[k] = nil end
    assert(next(t) == nil)
  end
end)
pattern("pairs_changes_values", 650, function(times, t)
  for _ = 1, times do for k, v in pairs(t) do t[k] = v + 1 end end
  assert(t.k1 == times + 1)
end, function() local t = {} for i = 1, 1000 do t["k" .. i] = 1 end return t end)
pattern("pairs_over_sparse", 9000, function(times, t)
  local seen = 0
  for _ = 1, times do for k in pairs(t) do seen = seen + 1 end end
  assert(seen == times * 10)
end, function() local t = {} for i = 1, 3000 do t["k" .. i] = 1 end for i = 11, 3000 do t["k" .. i] = nil end return t end)
code("length_of_array", 5000000, "local t, l = {1, 2, 3, 4, 5}", "l = #t", "l == 5")
code("numeric_for_over_length", 35000, "local t, s = {} for i = 1, 100 do t[i] = i end", "s = 0 for j = 1, #t do s = s + t[j] end", "s == 5050")
code("copy_a_record", 40000, "local t, c = {a = 1, b = 2, c = 3, d = 4, e = 5}", "c = {} for k, v in pairs(t) do c[k] = v end", "c.e == 5")
code("copy_an_array", 40000, "local t, c = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}", "c = {} for j = 1, #t do c[j] = t[j] end", "#c == 20")
code("iterator_closure", 1000, "local function each(t) local i = 0 return function() i = i + 1 return t[i] end end local t, s = {}, 0 for i = 1, 1000 do t[i] = 1 end", "for v in each(t) do s = s + v end", "s == n * 1000")
code("iterator_without_state", 950, "local function step(t, i) i = i + 1 if t[i] then return i, t[i] end end local t, s = {}, 0 for i = 1, 1000 do t[i] = 1 end", "for j, v in step, t, 0 do s = s + v end", "s == n * 1000")
code("tree_walk", 25, "local function tree(d) if d == 0 then return {} end return {tree(d - 1), tree(d - 1)} end local function count(t) if not t[1] then return 1 end return count(t[1]) + count(t[2]) end local t, c = tree(13)", "c = count(t)", "c == 8192")
code("linked_list", 150, "local list for j = 1, 10000 do list = {next = list, value = j} end local s", "s = 0 local node = list while node do s = s + node.value node = node.next end", "s == 50005000")

family "constructors"

code("empty", 400000, "local t", "t = {}", "t")
code("array_3", 250000, "local t", "t = {i, i, i}", "#t == 3")
code("array_10", 100000, "local t", "t = {i, i, i, i, i, i, i, i, i, i}", "#t == 10")
code("array_60", 95000, "local t", "t = {" .. ("i,"):rep(60) .. "}", "#t == 60")
code("record_1", 200000, "local t", "t = {x = i}", "t.x == n")
code("record_2", 200000, "local t", "t = {x = i, y = i}", "t.x == n")
code("record_8", 150000, "local t", "t = {a = i, b = i, c = i, d = i, e = i, f = i, g = i, h = i}", "t.h == n")
code("record_and_items", 200000, "local t", "t = {x = i, y = i, i, i}", "t[2] == n")
code("nested", 150000, "local t", "t = {{i}, {x = i}}", "t[2].x == n")
code("computed_keys", 350000, "local t, a, b = nil, 'a', 'b'", "t = {[a] = i, [b] = i}", "t.b == n")
code("of_varargs", 300000, "local function f(...) return {...} end local t", "t = f(i, i, i)", "#t == 3")
code("of_results", 350000, "local function f() return 1, 2, 3 end local t", "t = {f()}", "#t == 3")
code("with_closure", 200000, "local t", "t = {x = i, get = function() return i end}", "t.get() == n")
code("with_metatable", 300000, "local mt, t = {__index = {}}", "t = setmetatable({x = i}, mt)", "t.x == n")
code("matrix_10_by_10", 5500, "local t", "t = {} for y = 1, 10 do local r = {} for x = 1, 10 do r[x] = x end t[y] = r end", "t[10][10] == 10")
code("list_of_strings", 300000, "local t", "t = {'a', 'b', 'c', 'd', 'e', 'f'}", "#t == 6")
