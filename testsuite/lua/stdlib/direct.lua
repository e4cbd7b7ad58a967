-- SPDX-License-Identifier: MIT
-- Functions of libraries that the interpreter calls without a frame (vm/primitives.c): results,
-- messages and tracebacks are those of the ordinary call, which a call hook brings about.

local functions = {
  "math.abs", "math.ceil", "math.floor", "math.max", "math.min", "math.sqrt",
  "string.byte", "string.char", "string.len", "string.sub",
  "assert", "getmetatable", "ipairs", "next", "pairs", "rawequal", "rawget", "rawlen",
  "select", "setmetatable", "tonumber", "tostring", "type",
  "table.insert", "table.remove", "table.unpack",
}

local nothing = {} -- stands for nil

local values = {
  nothing, false, true, 0, 1, 2, 3, -1, -2, 40, 255, 256, math.mininteger, math.maxinteger,
  0.0, -0.0, 1.0, 2.5, -2.5, 1e15, 1e300, -1e300, math.huge, -math.huge, 0 / 0,
  "", "#", "a", "hello", "10", "0x10", "1e1", " -3 ", ("long "):rep(20),
  print, math.abs, function() end, coroutine.create(function() end), io.stdout,
}

-- Each makes a table, which a call may change.
local makers = {
  function() return {} end,
  function() return {1, 2, 3} end,
  function() return {10, nil, 30} end,
  function() return {n = 1, 1} end,
  function() return {"a", "b", "c", "d", "e", "f"} end,
  function() return setmetatable({1, 2}, {}) end,
  function() return setmetatable({1, 2}, {__index = function(_, i) return i end}) end,
  function() return setmetatable({}, {__gc = function() end}) end,
  function() return setmetatable({}, {__metatable = "guarded"}) end,
  function()
    return setmetatable({}, {__pairs = function() return next, {5}, nil end,
                        __tostring = function() return "named" end, __len = function() return 7 end})
  end,
}
local count = #values + #makers

local names = setmetatable({}, {__mode = "k"})
local function shown(v)
  if type(v) == "table" or type(v) == "function" or type(v) == "thread" or type(v) == "userdata" then
    return names[v] or rawequal(v, next) and "next" or type(v)
  end
  if v ~= v then return "nan" end
  local text = string.format("%s %q", math.type(v) or type(v), v)
  return (text:gsub(": 0x%x+", ": (address)"))
end

local function contents(v)
  if type(v) ~= "table" then return "" end
  local items = {}
  for key, value in next, v do items[#items + 1] = shown(key) .. "=" .. shown(value) end
  table.sort(items)
  return table.concat(items, ",") .. ";" .. shown(debug.getmetatable(v))
end

local function results(ok, ...)
  local text = {tostring(ok), tostring(select("#", ...))}
  for i = 1, select("#", ...) do text[#text + 1] = shown((select(i, ...))) end
  return table.concat(text, " ")
end

-- Each asks in another way for results: one, two, none, all, and in a tail call.
local ways = {}
for i, text in ipairs {
  "local a = f(%s) return a", "local a, b, c, d = f(%s) return a, b, c, d", "f(%s)",
  "return (f(%s))", "return f(%s), 1", "return 1, f(%s)", "return f(%s)",
  "local t = {f(%s)} return #t, t[1], t[2]",
} do
  ways[i] = {}
  for n, arguments in pairs {[0] = "", "x", "x, y", "x, y, z", "x, y, z, x"} do
    ways[i][n] = assert(load("local f, x, y, z = ... " .. text:format(arguments), "=way"))
  end
end

-- The argument with this number. A table is made once for each call, in `made`.
local function argument(i, made)
  local v = values[i]
  if i > #values then
    v = made[i] or makers[i - #values]()
    made[i] = v
  end
  if rawequal(v, nothing) then return nil end
  if type(v) ~= "number" and type(v) ~= "string" and type(v) ~= "boolean" then names[v] = "value " .. i end
  return v
end

local function run(f, way, n, i, j, k)
  local made = {}
  local x, y, z = argument(i, made), argument(j, made), argument(k, made)
  local outcome = results(pcall(ways[way][n], f, x, y, z))
  return outcome .. " | " .. contents(x) .. " | " .. contents(y)
end

local function lookup(path)
  local t, name = path:match("^(%w+)%.(%w+)$")
  if t then return _G[t][name] end
  return _G[path]
end

local random = 42
local function choose(n)
  random = (random * 1103515245 + 12345) % 0x80000000
  return random // 65536 % n + 1
end

-- A build that collects at each allocation compares every third of these.
local slow = tonumber(os.getenv "TEST_SLOWNESS" or 1) >= 20
local pairs_apart, chosen = slow and 9 or 3, slow and 200 or 600
local compared = 0
for _, path in ipairs(functions) do
  local f = lookup(path)
  local function compare(way, n, i, j, k)
    local direct = run(f, way, n, i, j, k)
    debug.sethook(function() end, "c")
    local ordinary = run(f, way, n, i, j, k)
    debug.sethook()
    compared = compared + 1
    if direct ~= ordinary then
      error(("%s, way %d, %d arguments %d %d %d:\n  %s\n  %s"):format(path, way, n, i, j, k, direct, ordinary))
    end
  end
  for i = 1, count do
    for way = 1, #ways do compare(way, 1, i, 1, 1) end
    for j = i % pairs_apart + 1, count, pairs_apart do compare(2, 2, i, j, 1) end
  end
  for way = 1, #ways do compare(way, 0, 1, 1, 1) end
  for _ = 1, chosen do
    compare(choose(#ways), choose(5) - 1, choose(count), choose(count), choose(count))
  end
end
assert(compared > (slow and 20000 or 40000), compared)

-- Messages name the function as a call does, and a traceback has its frame.
local function message(text)
  local ok, text = xpcall(assert(load(text, "=chunk")), debug.traceback)
  assert(not ok)
  return text
end
assert(message("math.floor({})"):find("bad argument #1 to 'floor' (number expected, got table)", 1, true))
assert(message("math.floor({})"):find("[C]: in function 'math.floor'", 1, true))
assert(message("local x = ('x'):byte({})"):find("bad argument #1 to 'byte'", 1, true))
assert(message("return (setmetatable({}, 1))"):find("bad argument #2 to 'setmetatable'", 1, true))

-- Identity: a function is one value, whoever takes it.
assert(math.floor == require("math").floor and string.byte == ("").byte)
assert(rawequal(next, (pairs({}))))
assert(debug.getinfo(math.floor, "S").what == "C")
local seen = {[math.floor] = 1}
assert(seen[require("math").floor] == 1)

-- Called by functions of C: sort, gsub, pcall, coroutines.
local t = {3, 1, 2}
table.sort(t, function(a, b) return math.max(a, b) == b and a ~= b end)
assert(table.concat(t) == "123")
assert(("a1b2"):gsub("%d", string.len) == "a1b1")
assert(select("#", pcall(select, 2, 1, 2, 3)) == 3)
assert(coroutine.wrap(math.floor)(2.5) == 2)
assert(coroutine.wrap(function(...) return select(-1, ...) end)(1, 2, 3) == 3)

-- Open results that are more than the registers of the caller.
local function spread(...) return select(1, ...) end
assert(select("#", spread(table.unpack({}, 1, 200))) == 200)
local function all(...) return assert(...) end
assert(select("#", all(1, table.unpack({}, 1, 150))) == 151)
