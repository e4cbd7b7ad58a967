-- SPDX-License-Identifier: MIT
-- load, dump, require, and the compiler on chunks of all sizes.
local api = ...
local family, pattern, code = api.family, api.pattern, api.code

family "loading"

-- chunk(SIZE): source of about so many bytes: functions, tables, loops, strings
local function chunk(size)
  local parts, length = {}, 0
  local i = 0
  while length < size do
    i = i + 1
    local part = ([[
local function f%d(a, b, ...)
  local t = {name = "item %d", value = %d, a, b, [a] = b}
  for i = 1, 10 do
    if t[i] and a ~= nil or b == "x" then t[#t + 1] = i * 2 + %d.5 else t.name = t.name .. i end
  end
  return t, function(x) return x + a end
end
function global_%d() return f%d(1, 2) end
]]):format(i, i, i, i, i, i)
    part = "do " .. part .. " end\n"
    parts[#parts + 1] = part
    length = length + #part
  end
  return table.concat(parts)
end

for _, size in ipairs {100, 10000, 300000} do
  local times = ({[100] = 2500, [10000] = 80, [300000] = 3})[size]
  pattern("text_of_" .. size, times, function(n, source)
    for _ = 1, n do assert(load(source)) end
  end, function() return chunk(size) end)
  pattern("dump_of_" .. size, times * 12, function(n, f)
    for _ = 1, n do assert(#string.dump(f) > 50) end
  end, function() return load(chunk(size)) end)
  pattern("stripped_dump_of_" .. size, times * 12, function(n, f)
    for _ = 1, n do assert(#string.dump(f, true) > 50) end
  end, function() return load(chunk(size)) end)
  pattern("dumped_of_" .. size, times * 12, function(n, binary)
    for _ = 1, n do assert(load(binary, "b", "b")) end
  end, function() return string.dump(load(chunk(size))) end)
end
code("dump_small", 85000, "local f, r = function(x) return x + 1 end", "r = string.dump(f)", "#r > 10")
code("dumped_small", 75000, "local s, f = string.dump(function(x) return x + 1 end)", "f = load(s)", "f(1) == 2")
code("dumped_small_stripped", 150000, "local s, f = string.dump(function(x) return x + 1 end, true)", "f = load(s)", "f(1) == 2")
code("expression", 20000, "local f", "f = load('return ' .. i .. ' + 1')", "f() == n + 1")
code("with_environment", 25000, "local env, f = {y = 5}", "f = load('return y', 'chunk', 't', env)", "f() == 5")
code("by_function", 20000, "local f", "local parts, k = {'return ', '1 ', '+ 2'}, 0 f = load(function() k = k + 1 return parts[k] end)", "f() == 3")
pattern("by_function_in_lines", 100, function(n, lines)
  for _ = 1, n do
    local i = 0
    assert(load(function() i = i + 1 return lines[i] end))
  end
end, function()
  local lines = {}
  for line in chunk(10000):gmatch("[^\n]*\n") do lines[#lines + 1] = line end
  return lines
end)
code("run_once", 9500, "local r", "r = load('local t = {} for i = 1, 3 do t[i] = i end return #t')()", "r == 3")
pattern("loadfile", 95, function(n, name) for _ = 1, n do assert(loadfile(name)) end end,
  function() return api.file_with(chunk(10000)) end)
pattern("loadfile_small", 4500, function(n, name) for _ = 1, n do assert(loadfile(name)) end end,
  function() return api.file_with("return 1\n") end)
pattern("dofile_small", 4500, function(n, name) for _ = 1, n do assert(dofile(name) == 1) end end,
  function() return api.file_with("return 1\n") end)
code("require_loaded", 650000, "local r", "r = require('string')", "r == string")
code("require_preload", 150000, "local r package.preload.of_pattern = function() return 5 end", "package.loaded.of_pattern = nil r = require('of_pattern')", "r == 5")
code("require_absent", 950, "local ok", "ok = pcall(require, 'no.such.module')", "not ok")
pattern("require_file", 3000, function(n, folder, name)
  local path = package.path
  package.path = folder .. "/?"
  for _ = 1, n do
    package.loaded[name] = nil
    assert(require(name) == 1)
  end
  package.path = path
end, function()
  local folder, name = api.file_with("return 1\n"):match("^(.*)/(.*)$")
  return folder, name
end)
code("searchpath_absent", 10000, "local r", "r = package.searchpath('no.such', '/nowhere/?.lua;/nowhere/?/init.lua')", "r == nil")
pattern("constant_table_of_1000", 450, function(n, source) for _ = 1, n do assert(#load(source)() == 1000) end end, function()
  local items = {}
  for i = 1, 1000 do items[i] = tostring(i * 3) end
  return "return {" .. table.concat(items, ",") .. "}"
end)
pattern("constant_records_of_1000", 35, function(n, source) for _ = 1, n do assert(#load(source)() == 1000) end end, function()
  local items = {}
  for i = 1, 1000 do items[i] = ("{id = %d, name = 'name %d', on = true}"):format(i, i) end
  return "return {" .. table.concat(items, ",") .. "}"
end)
pattern("strings_of_1000", 150, function(n, source) for _ = 1, n do assert(#load(source)() == 1000) end end, function()
  local items = {}
  for i = 1, 1000 do items[i] = ("'string number %d'"):format(i) end
  return "return {" .. table.concat(items, ",") .. "}"
end)
pattern("one_long_string", 60, function(n, source) for _ = 1, n do assert(#load(source)() == 100000) end end,
  function() return "return [==[" .. ("x"):rep(100000) .. "]==]" end)
pattern("comments", 350, function(n, source) for _ = 1, n do assert(load(source)() == 1) end end,
  function() return ("-- a comment of some words, as they are found\n"):rep(2000) .. "return 1" end)
pattern("long_comment", 200, function(n, source) for _ = 1, n do assert(load(source)() == 1) end end,
  function() return "--[[" .. ("a comment of some words\n"):rep(4000) .. "]] return 1" end)
pattern("thousand_statements", 35, function(n, source) for _ = 1, n do assert(load(source)) end end, function()
  local lines = {}
  for i = 1, 1000 do lines[i] = ("x = x + %d; y[%d] = f(x, 'a')"):format(i, i) end
  return table.concat(lines, "\n")
end)
pattern("many_functions", 45, function(n, source) for _ = 1, n do assert(load(source)) end end, function()
  local lines = {}
  for i = 1, 500 do lines[i] = ("function f%d(a, b) return a + b end"):format(i) end
  return table.concat(lines, "\n")
end)
pattern("nested_functions", 1500, function(n, source) for _ = 1, n do assert(load(source)) end end,
  function() return ("return function() "):rep(50) .. ("end "):rep(50) end)
pattern("deep_expressions", 1500, function(n, source) for _ = 1, n do assert(load(source)) end end,
  function() return "return " .. ("("):rep(100) .. "1" .. (" + x)"):rep(100) end)
pattern("long_concatenation", 1500, function(n, source) for _ = 1, n do assert(load(source)) end end,
  function() return "local a = ... return a" .. (" .. a"):rep(150) end)
pattern("long_if_chain", 100, function(n, source) for _ = 1, n do assert(load(source)) end end, function()
  local lines = {"local x = ... if x == 0 then return 0"}
  for i = 1, 300 do lines[#lines + 1] = ("elseif x == %d then return %d"):format(i, i) end
  return table.concat(lines, "\n") .. " end"
end)
pattern("escapes", 300, function(n, source) for _ = 1, n do assert(#load(source)() == 6000) end end,
  function() return "return '" .. ("\\n\\x41\\065\\z  \\u{20}\\\\\\'"):rep(1000) .. "'" end)
