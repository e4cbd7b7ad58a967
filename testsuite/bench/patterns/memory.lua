-- SPDX-License-Identifier: MIT
-- Allocation: short-lived and long-lived objects, weak tables, finalizers.
local api = ...
local family, code = api.family, api.code

family "allocation"

code("short_lived_tables", 500000, "local t", "t = {i}", "t[1] == n")
code("short_lived_strings", 80000, "local s", "s = 'string number ' .. i", "#s > 10")
code("short_lived_large_strings", 50000, "local s, p = nil, ('x'):rep(30000)", "s = p .. i", "#s > 30000")
code("kept_tables", 550000, "local keep = {}", "keep[i] = {i}", "#keep == n")
code("kept_records", 300000, "local keep = {}", "keep[i] = {id = i, name = 'x', on = true}", "#keep == n")
code("kept_strings", 40000, "local keep = {}", "keep[i] = 'string ' .. i", "#keep == n")
code("kept_floats", 2500000, "local keep = {}", "keep[i] = i + 0.5", "#keep == n")
code("kept_closures", 500000, "local keep = {}", "keep[i] = function() return i end", "#keep == n")
code("kept_in_a_ring", 400000, "local keep = {}", "keep[i % 1000] = {i}", "true")
code("linked_list_grown", 600000, "local list", "list = {next = list}", "list")
code("linked_list_dropped", 350000, "local list", "list = {next = i % 100 ~= 0 and list or nil}", "list")
code("arrays_of_100", 20000, "local t", "t = {} for j = 1, 100 do t[j] = j end", "#t == 100")
code("maps_of_20", 25000, "local t, names = nil, {} for j = 1, 20 do names[j] = 'name' .. j end", "t = {} for j = 1, 20 do t[names[j]] = j end", "t.name20 == 20")
code("arrays_of_10000", 250, "local t", "t = {} for j = 1, 10000 do t[j] = j end", "#t == 10000")
code("old_points_to_young", 600000, "local old = {} for j = 1, 1000 do old[j] = {} end", "old[i % 1000 + 1].young = {}", "true")
code("graph_with_cycles", 200000, "local a", "a = {} local b = {a} a[1] = b", "a[1][1] == a")
code("finalizers", 200000, "local c, mt = 0, {} mt.__gc = function() c = c + 1 end", "setmetatable({}, mt)", "true")
code("files_dropped", 10000, "local f", "f = io.open('/dev/null')", "f")
code("strings_interned_again", 300000, "local t = {} for j = 1, 100 do t[j] = 'a' .. j end local r", "r = 'a' .. (i % 100 + 1)", "#r > 1")
code("string_buffers", 2000, "local r", "local b = {} for j = 1, 100 do b[#b + 1] = 'item' b[#b + 1] = j end r = table.concat(b)", "#r > 400")

family "weak_tables"

code("keys_filled", 350000, "local t = setmetatable({}, {__mode = 'k'})", "t[{}] = i", "true")
code("keys_filled_and_kept", 200000, "local t, keep = setmetatable({}, {__mode = 'k'}), {}", "local k = {} keep[i] = k t[k] = i", "t[keep[1]] == 1")
code("values_filled", 450000, "local t = setmetatable({}, {__mode = 'v'})", "t[i] = {}", "true")
code("values_filled_and_kept", 350000, "local t, keep = setmetatable({}, {__mode = 'v'}), {}", "local v = {} keep[i] = v t[i] = v", "t[1] == keep[1]")
code("both_filled", 200000, "local t = setmetatable({}, {__mode = 'kv'})", "t[{}] = {}", "true")
code("ephemerons_chained", 350000, "local t, k = setmetatable({}, {__mode = 'k'}), {}", "local v = {} t[k] = v k = v", "true")
code("cache_hit", 3000000, "local t, k, r = setmetatable({}, {__mode = 'k'}), {} t[k] = 5", "r = t[k]", "r == 5")
code("cache_of_strings", 2500000, "local t = setmetatable({}, {__mode = 'v'})", "local k = i % 1000 local v = t[k] if not v then v = {k} t[k] = v end", "true")
code("many_small_weak_tables", 200000, "local mt, t = {__mode = 'k'}", "t = setmetatable({}, mt) t[t] = 1", "true")
code("traversed", 850, "local t, keep = setmetatable({}, {__mode = 'k'}), {} for j = 1, 1000 do keep[j] = {} t[keep[j]] = 1 end local s", "s = 0 for k, v in pairs(t) do s = s + v end", "s == 1000")
code("object_metadata", 100000, "local data = setmetatable({}, {__mode = 'k'})", "local o = {} data[o] = {name = i} assert(data[o].name == i)", "true")
code("registered_by_name", 150000, "local t = setmetatable({}, {__mode = 'v'})", "t['name' .. i % 500] = {}", "true")
