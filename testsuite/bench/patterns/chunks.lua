-- SPDX-License-Identifier: MIT
-- The same hot code in a small function and at the end of a main chunk of 1,000 statements.
local api = ...
local family, code = api.family, api.code

-- 1,000 statements that run once: globals, fields, calls, strings.
local function many_statements()
  local lines = {"local settings, total = {}, 0 local function note(k, v) settings[k] = v end"}
  for i = 1, 250 do
    lines[#lines + 1] = ("settings.key%d = 'value %d'"):format(i, i)
    lines[#lines + 1] = ("total = total + %d.5"):format(i)
    lines[#lines + 1] = ("note('note %d', %d)"):format(i, i + 1000)
    lines[#lines + 1] = ("if settings.key%d == total then total = total - %d end"):format(i, i)
  end
  return table.concat(lines, "\n")
end

-- hot(NAME, TIMES, BEFORE, STATEMENT, CONDITION): as `code`, twice
local hot_code = {}
local function hot(...) hot_code[#hot_code + 1] = {...} end

hot("sum", 7500000, "local r = 0", "r = r + i", "r > 0")
hot("float_sum", 3500000, "local r = 0.5", "r = r * 0.5 + i", "r > 0")
hot("field", 2500000, "local t = {x = 0}", "t.x = t.x + 1", "t.x == n")
hot("array", 1500000, "local t = {1, 2, 3, 4, 5, 6, 7, 8}", "t[(i & 7) + 1] = t[(i >> 1 & 7) + 1] + 1", "t[1]")
hot("global", 2000000, "global_of_chunk = 0", "global_of_chunk = global_of_chunk + 1", "global_of_chunk == n")
hot("call", 1500000, "local r local function f(x) return x + 1 end", "r = f(i)", "r == n + 1")
hot("method", 950000, "local C = {} C.__index = C function C:get() return self.x end local o, r = setmetatable({x = 1}, C)", "r = o:get()", "r == 1")
hot("library_call", 1000000, "local r", "r = math.floor(i + 0.5)", "r == n")
hot("string_method", 700000, "local s, r = 'hello world'", "r = s:sub(2, 5)", "r == 'ello'")
hot("closure", 500000, "local f", "f = function() return i end", "f() == n")
hot("table_made", 350000, "local t", "t = {x = i, y = i}", "t.x == n")
hot("concatenation", 300000, "local r", "r = 'key' .. (i & 255)", "r")
hot("pairs", 150000, "local t, r = {a = 1, b = 2, c = 3, d = 4, e = 5}", "r = 0 for k, v in pairs(t) do r = r + v end", "r == 15")
hot("branches", 2000000, "local r = 0", "if i % 3 == 0 then r = r + 1 elseif i % 3 == 1 then r = r + 2 else r = r - 1 end", "r")
hot("pcall", 700000, "local f, ok = function(x) return x end", "ok = pcall(f, i)", "ok")
hot("index_function", 1500000, "local t, r = setmetatable({}, {__index = function(_, k) return k end})", "r = t.x", "r == 'x'")
hot("error_caught", 50000, "local f, ok, m = function(x) return x.y.z end", "ok, m = pcall(f, {})", "not ok")
hot("getinfo_name", 20000, "local function f() return debug.getinfo(1, 'n').name end local r", "r = f()", "r == 'f'")
hot("getinfo_of_variable", 15000, "local last_variable = {f = function() return debug.getinfo(1, 'n').name end} local r", "r = last_variable.f()", "r == 'f'")
hot("getinfo_line", 150000, "local r", "r = debug.getinfo(1, 'l').currentline", "r")
hot("traceback", 900, "local r", "r = debug.traceback('m')", "#r > 5")
hot("xpcall_traceback", 750, "local f, ok, m = function() error('e') end", "ok, m = xpcall(f, debug.traceback)", "#m > 5")
hot("error_with_position", 85000, "local ok, m", "ok, m = pcall(function() error('here', 2) end)", "not ok")
hot("wrong_argument", 35000, "local ok, m", "ok, m = pcall(function() return ('x'):rep({}) end)", "not ok")
hot("sort_with_less", 25000, "local t, function_less = {}, function(a, b) return a < b end", "for j = 1, 10 do t[j] = j * 7 % 11 end table.sort(t, function_less)", "t[1] == 1 or t[1]")
hot("nested_loops", 55000, "local r = 0", "for j = 1, 10 do for k = 1, 10 do r = r + k end end", "r == n * 550")
hot("varargs", 650000, "local function f(...) return select('#', ...) end local r", "r = f(i, i)", "r == 2")
hot("gsub", 150000, "local r", "r = ('hello world'):gsub('o', '0')", "r == 'hell0 w0rld'")

family "small_functions"
for _, h in ipairs(hot_code) do code(table.unpack(h)) end
family "main_chunks"
local statements = many_statements()
for _, h in ipairs(hot_code) do code(h[1], h[2], statements .. "\n" .. h[3], h[4], h[5]) end
