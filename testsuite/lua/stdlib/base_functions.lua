-- SPDX-License-Identifier: MIT
-- Basic functions: conversions, raw access, selection, errors, protected calls.

local fails = require "_fails"

-- tonumber
assert(tonumber(10) == 10 and math.type(tonumber("10")) == "integer")
assert(tonumber("0x10") == 16 and tonumber(" 1e1 ") == 10.0)
assert(tonumber("1e") == nil and tonumber("") == nil and tonumber("0x") == nil)
assert(tonumber({}) == nil and tonumber(nil) == nil and tonumber(print) == nil)
assert(tonumber("zz", 36) == 1295 and tonumber("ZZ", 36) == 1295)
assert(tonumber("8", 8) == nil and tonumber("  -ff ", 16) == -255)
assert(tonumber("1 1", 2) == nil and tonumber("", 10) == nil)
assert(tonumber("7fffffffffffffff1", 16) == -15)      -- wraps around
assert(tonumber("10\0", 10) == nil and tonumber("10\0") == nil)
fails("bad argument #1 to 'tonumber' (value expected)", function() tonumber() end)
fails("bad argument #2 to 'tonumber' (base out of range)", function() tonumber("1", 37) end)
fails("bad argument #1 to 'tonumber' (string expected, got number)", function()
  tonumber(10, 10)
end)
fails("number has no integer representation", tonumber, "1", 2.5)

-- tostring
assert(tostring(nil) == "nil" and tostring(true) == "true")
assert(tostring(1) == "1" and tostring(1.0) == "1.0" and tostring(-0.0) == "-0.0")
assert(tostring(2^53) == "9.007199254741e+15" and tostring(1/0) == "inf")
assert(tostring("x") == "x")
assert(string.match(tostring({}), "^table: 0x%x+$"))
assert(string.match(tostring(print), "^function: "))
assert(string.match(tostring(coroutine.create(print)), "^thread: "))
local named = setmetatable({}, {__name = "Kind"})
assert(string.match(tostring(named), "^Kind: "))
getmetatable(named).__name = 7
assert(string.match(tostring(named), "^table: "))
assert(tostring(setmetatable({}, {__tostring = function() return "me" end})) == "me")
fails("'__tostring' must return a string",
      tostring, setmetatable({}, {__tostring = function() return {} end}))

-- type
assert(type(nil) == "nil" and type(type) == "function" and type(io.stdin) == "userdata")
fails("bad argument #1 to 'type' (value expected)", function() type() end)

-- metatables
fails("cannot change a protected metatable", setmetatable, setmetatable({}, {__metatable = 1}), {})
assert(getmetatable(setmetatable({}, {__metatable = "no"})) == "no")
assert(getmetatable({}) == nil and getmetatable("").__index == string)
fails("bad argument #2 to 'setmetatable' (nil or table expected, got no value)",
      function() setmetatable({}) end)
local t = {}
assert(setmetatable(t, nil) == t)

-- raw access
local guarded = setmetatable({}, {
  __index = function() return "index" end,
  __newindex = function() error("newindex") end,
  __len = function() return 42 end,
  __eq = function() return true end,
})
assert(rawget(guarded, 1) == nil and guarded[1] == "index")
assert(rawset(guarded, 1, "x") == guarded and rawget(guarded, 1) == "x")
assert(rawlen(guarded) == 1 and #guarded == 42 and rawlen("abc") == 3)
assert(not rawequal(guarded, setmetatable({}, getmetatable(guarded))))
assert(rawequal("a", "a") and not rawequal(1, "1"))
fails("table or string expected, got number", rawlen, 1)
fails("bad argument #3 to 'rawset' (value expected)", function() rawset({}, 1) end)
fails("index is nil", rawset, {}, nil, 1)

-- select
assert(select("#") == 0 and select("#", nil, nil) == 2)
assert(select(-1, 1, 2, 3) == 3 and select(2, "a", "b", "c") == "b")
assert(select("#", select(5, 1, 2)) == 0)
assert(select("#", select(-2, 1, 2, 3)) == 2)
fails("bad argument #1 to 'select' (index out of range)", function() select(0) end)
fails("index out of range", select, -3, 1, 2)
fails("number expected, got string", select, "x")

-- next, pairs, ipairs
assert(next({}) == nil and select("#", next({})) == 1)
assert(next({10}) == 1 and next({10}, 1) == nil)
fails("table expected, got number", next, 1)
local f, s, c = pairs(t)
assert(f == next and s == t and c == nil)
local sum = 0
for k, v in pairs({1, 2, 3, x = 4}) do sum = sum + v end
assert(sum == 10)
local function stop() return nil end
local a, b, d, e = pairs(setmetatable({}, {__pairs = function(o) return stop, 1, 2, 3 end}))
assert(a == stop and b == 1 and d == 2 and e == nil)
-- ipairs honours __index, and stops at the first nil
local seen = {}
for i, v in ipairs(setmetatable({},
  {__index = function(_, i) if i <= 3 then return i * 10 end end})) do
  seen[i] = v
end
assert(#seen == 3 and seen[3] == 30)
for i, v in ipairs({1, 2, nil, 4}) do assert(i < 3) end
fails("bad argument #1 to 'ipairs' (value expected)", function() ipairs() end)
fails("bad argument #1 to 'pairs' (value expected)", function() pairs() end)

-- pairs across a yield
do
  local co = coroutine.wrap(function()
    local yielding = setmetatable({},
      {__pairs = function(o) coroutine.yield("in pairs") return next, {7}, nil end})
    for k, v in pairs(yielding) do return v end
  end)
  assert(co() == "in pairs" and co() == 7)
end

-- assert
assert(select("#", assert(1, nil, 3)) == 3)
local ok, message = pcall(assert, false, "text")
assert(not ok and message == "text")
local object = {}
ok, message = pcall(assert, nil, object)
assert(message == object)
ok, message = pcall(function() assert(false) end)
assert(string.match(message, "^.*base_functions.lua:%d+: assertion failed!$"))
fails("bad argument #1 to 'assert' (value expected)", function() assert() end)

-- error
local function level(n) error("msg", n) end
ok, message = pcall(level, 0)
assert(message == "msg")
ok, message = pcall(level, 1)
assert(string.match(message, "base_functions.lua:%d+: msg$"))
ok, message = pcall(function()
  local l = debug.getinfo(1, "l").currentline; pcall(function() end) level(2)
end)
assert(string.match(message, "base_functions.lua:%d+: msg$"))
ok, message = pcall(error)
assert(not ok and message == nil)
ok, message = pcall(error, object)
assert(message == object)

-- pcall, xpcall
assert(select("#", pcall(function() end)) == 1)
assert(select("#", pcall(function(...) return ... end, 1, nil, nil)) == 4)
ok, message = pcall(1)
assert(not ok and message == "attempt to call a number value")
fails("bad argument #1 to 'pcall' (value expected)", function() pcall() end)
fails("bad argument #2 to 'xpcall' (function expected, got no value)", function() xpcall(print) end)
ok, message = xpcall(error, function(m) return "<" .. m .. ">" end, "e", 0)
assert(not ok and message == "<e>")
local results = table.pack(xpcall(function(...) return ... end, print, 1, nil, 3, nil))
assert(results.n == 5 and results[1] == true and results[4] == 3)
-- an error in the handler
ok, message = xpcall(error, function(m) error("again", 0) end, "e", 0)
assert(not ok)
-- the handler sees the stack of the error
ok, message = xpcall(function() local x = nil; x() end, debug.traceback)
assert(string.find(message, "stack traceback:", 1, true) and
  string.find(message, "in function 'xpcall'", 1, true))
-- the rest of the namespace
assert(_G._G == _G and _VERSION == "Lua 5.4")
for _, name in ipairs {"assert", "collectgarbage", "dofile", "error", "getmetatable", "ipairs",
  "load", "loadfile", "next", "pairs", "pcall", "print", "rawequal", "rawget", "rawlen", "rawset",
  "require", "select", "setmetatable", "tonumber", "tostring", "type", "warn", "xpcall"} do
  assert(type(_G[name]) == "function", name)
end

-- warn checks all arguments before it says anything
fails("bad argument #2 to 'warn' (string expected, got table)", function() warn("a", {}) end)
fails("bad argument #1 to 'warn' (string expected, got no value)", function() warn() end)
warn("@off")
warn("not ", "seen")
