-- SPDX-License-Identifier: MIT
-- Hash parts: integers, sets, maps whose keys come and go, records.
local api = ...
local family, pattern, generator = api.family, api.pattern, api.generator
local numbered_strings = api.numbered_strings

family "integer_keys"

local function strided(step, n, times)
  return function()
    for _ = 1, times do
      local t = {}
      for i = 1, n do t[i * step] = i end
      for i = 1, n do assert(t[i * step] == i) end
    end
  end
end
for _, step in ipairs {2, 3, 5, 7, 10, 16, 48, 100, 127, 1000, 1023, 1024, 1025, 4096, 10007, 65535, 65536, 65537,
                       1000000, 1 << 20, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 32) + 1, 1 << 40, -1, -2, -1000} do
  pattern("stride_" .. (step < 0 and "minus_" .. -step or step), strided(step, 20000, 5))
end
pattern("stride_16_many", strided(16, 200000, 1))
pattern("stride_1000_few", strided(1000, 10, 10000))
pattern("stride_1024_few", strided(1024, 10, 10000))

pattern("powers_of_2", function()
  for _ = 1, 3000 do
    local t = {}
    for i = 0, 62 do t[1 << i] = i end
  end
end)

pattern("squares", function()
  for _ = 1, 10 do
    local t = {}
    for i = 1, 20000 do t[i * i] = i end
  end
end)

pattern("grid_65536", function()
  for _ = 1, 10 do
    local t = {}
    for y = 1, 200 do for x = 1, 100 do t[y << 16 | x] = x end end
  end
end)

pattern("grid_1000", function()
  for _ = 1, 10 do
    local t = {}
    for y = 1, 200 do for x = 1, 100 do t[y * 1000 + x] = x end end
  end
end)

pattern("random_filled", function(keys)
  for _ = 1, 5 do
    local t = {}
    for i = 1, #keys do t[keys[i]] = i end
  end
end, function()
  local keys, random = {}, generator(5)
  for i = 1, 30000 do keys[i] = random() end
  return keys
end)

local function integer_map(step, n)
  return function()
    local t = {}
    for i = 1, n do t[i * step + 7000000] = i end
    return t, step, n
  end
end
local function read_all(t, step, n)
  local sum = 0
  for _ = 1, 1000000 // n do for i = 1, n do sum = sum + t[i * step + 7000000] end end
  return sum
end
pattern("read_small", read_all, integer_map(7, 20))
pattern("read_1000", read_all, integer_map(7, 1000))
pattern("read_100000", read_all, integer_map(7, 100000))
pattern("read_absent", function(t)
  local found = 0
  for _ = 1, 1000 do for i = 1, 1000 do if t[i] then found = found + 1 end end end
  assert(found == 0)
end, integer_map(7, 1000))
pattern("update_1000", function(t, step, n)
  for _ = 1, 2000 do for i = 1, n do t[i * step + 7000000] = i end end
end, integer_map(7, 1000))
pattern("count_occurrences", function(values)
  local count = {}
  for _ = 1, 10 do for i = 1, #values do local v = values[i]; count[v] = (count[v] or 0) + 1 end end
end, function()
  local values, random = {}, generator(6)
  for i = 1, 50000 do values[i] = random() % 5000 * 1000003 end
  return values
end)

family "churn"

local function id_map(live, n, step)
  return function()
    local t = {}
    for i = 1, live do t[i * step] = i end
    for i = live + 1, n do t[i * step] = i; t[(i - live) * step] = nil end
  end
end
for _, live in ipairs {7, 100, 1000, 1020, 10000} do
  pattern("ids_by_1_" .. live, id_map(live, 400000, 1))
  pattern("ids_by_7919_" .. live, id_map(live, 300000, 7919))
end

local function key_churn(keys, live, n)
  local t = {}
  for i = 1, live do t[keys[i]] = true end
  for i = 1, n do
    t[keys[(i - 1) % #keys + 1]] = nil
    t[keys[(i + live - 1) % #keys + 1]] = true
  end
end
for _, live in ipairs {3, 7, 15, 100, 500, 1000, 1020} do
  pattern("string_set_" .. live, function(keys) key_churn(keys, live, 200000) end,
    function() return numbered_strings("key", 20000) end)
end
for _, live in ipairs {7, 1000} do
  pattern("random_ids_" .. live, function(keys) key_churn(keys, live, 200000) end, function()
    local keys, random = {}, generator(7)
    for i = 1, 20000 do keys[i] = random() end
    return keys
  end)
  pattern("object_set_" .. live, function(keys) key_churn(keys, live, 200000) end, function()
    local keys = {}
    for i = 1, 20000 do keys[i] = {} end
    return keys
  end)
  pattern("floats_" .. live, function(keys) key_churn(keys, live, 200000) end, function()
    local keys = {}
    for i = 1, 20000 do keys[i] = i * 0.37 end
    return keys
  end)
end

pattern("cleared_and_filled", function(keys)
  local t = {}
  for _ = 1, 300 do
    for i = 1, 500 do t[keys[i]] = i end
    for k in pairs(t) do t[k] = nil end
  end
end, function() return numbered_strings("key", 500) end)

pattern("lru_cache", function(keys)
  local map, head = {}, {}
  head.next, head.prev = head, head
  local size = 0
  local random = generator(8)
  for _ = 1, 100000 do
    local key = keys[random() % #keys + 1]
    local node = map[key]
    if node then
      node.prev.next, node.next.prev = node.next, node.prev
    else
      node = {key = key}
      map[key] = node
      size = size + 1
      if size > 1000 then
        local last = head.prev
        last.prev.next, head.prev = head, last.prev
        map[last.key] = nil
        size = size - 1
      end
    end
    node.next, node.prev = head.next, head
    head.next.prev = node
    head.next = node
  end
end, function() return numbered_strings("key", 3000) end)

family "records"

pattern("constructor_4", function()
  for i = 1, 300000 do local r = {a = i, b = i, c = i, d = i} end
end)
for _, n in ipairs {1, 2, 3, 4, 5, 8, 16} do
  local source = {"for i = 1, " .. 600000 // (n + 1) .. " do local r = {} "}
  for f = 1, n do source[#source + 1] = "r.field" .. f .. " = i " end
  source[#source + 1] = "end"
  pattern("grown_" .. n, load(table.concat(source)))
end
pattern("grown_with_strings", function()
  for i = 1, 60000 do
    local r = {}
    r.name = "name" .. i
    r.mail = "mail" .. i
    r.street = "street" .. i
    r.town = "town" .. i
  end
end)
pattern("absent_field", function()
  local t, n = {a = 1, b = 2, c = 3}, 0
  for _ = 1, 1000000 do if t.zero then n = n + 1 end end
end)
pattern("dynamic_fields", function(names)
  local t = {}
  for i = 1, #names do t[names[i]] = i end
  local sum = 0
  for _ = 1, 1000 do for i = 1, #names do sum = sum + t[names[i]] end end
end, function() return numbered_strings("field", 500) end)

family "sets"

pattern("strings_filled", function(keys)
  for _ = 1, 5 do
    local t = {}
    for i = 1, #keys do t[keys[i]] = true end
  end
end, function() return numbered_strings("key", 30000) end)
pattern("floats_filled", function()
  for _ = 1, 5 do
    local t = {}
    for i = 1, 30000 do t[i + 0.5] = true end
  end
end)
pattern("float_keys_that_are_integers", function()
  local t = {}
  for _ = 1, 60 do for i = 1.0, 30000.0 do t[i] = true end end
end)
pattern("objects_filled", function(keys)
  for _ = 1, 5 do
    local t = {}
    for i = 1, #keys do t[keys[i]] = true end
  end
end, function()
  local keys = {}
  for i = 1, 30000 do keys[i] = {} end
  return keys
end)
pattern("booleans", function()
  local t = {}
  for i = 1, 1000000 do t[i % 2 == 0] = i end
end)
pattern("union_and_intersection", function(a, b)
  for _ = 1, 20 do
    local union, both = {}, {}
    for k in pairs(a) do union[k] = true; if b[k] then both[k] = true end end
    for k in pairs(b) do union[k] = true end
  end
end, function()
  local a, b = {}, {}
  for i = 1, 4000 do a["k" .. i] = true; b["k" .. i + 2000] = true end
  return a, b
end)
