-- debug: getinfo, locals, upvalues, user values, registry, metatables.

local function fails(expected, f, ...)
  local ok, message = pcall(f, ...)
  assert(not ok, "no error")
  if not string.find(tostring(message), expected, 1, true) then
    error(string.format("expected %q, got %q", expected, tostring(message)), 2)
  end
end

-- getinfo of a function (the tests below know these lines)
local function sample(a, b, ...)
  local c = a
  return c, ...
end
local info = debug.getinfo(sample)
assert(info.what == "Lua" and info.short_src:match("debug_inspect.lua$") and
  info.source:sub(1, 1) == "@")
assert(info.linedefined == 12 and info.lastlinedefined == 15 and info.currentline == -1)
assert(info.nparams == 2 and info.isvararg == true and info.nups == 0 and info.func == sample)
assert(info.name == nil and info.namewhat == "" and info.istailcall == false)
assert(info.ftransfer == 0 and info.ntransfer == 0 and info.activelines == nil)
info = debug.getinfo(print)
assert(info.what == "C" and info.short_src == "[C]" and info.source == "=[C]" and
  info.linedefined == -1)
assert(info.isvararg == true and info.nparams == 0 and info.currentline == -1)
-- getinfo of a level
local function here() return debug.getinfo(1) end
info = here()
assert(info.name == "here" and info.namewhat == "local" and info.func == here and
  info.currentline == 28)
assert(debug.getinfo(1, "S").what == "main" and debug.getinfo(1, "l").currentline == 32)
assert(debug.getinfo(1000) == nil and debug.getinfo(-1) == nil)
assert(debug.getinfo(0, "n").name == "getinfo")
local function tail() return debug.getinfo(1, "t") end
local function calls_tail() return tail() end
assert(calls_tail().istailcall == true and tail().istailcall == false)
-- chosen fields only
info = debug.getinfo(1, "l")
assert(info.currentline and info.source == nil and info.func == nil)
-- lines
info = debug.getinfo(sample, "L")
local lines = {}
for l in pairs(info.activelines) do lines[#lines + 1] = l end
table.sort(lines)
assert(lines[#lines] == 15 and info.activelines[13] == true and info.activelines[14] == true)
assert(debug.getinfo(print, "L").activelines == nil)
-- both values on the stack
info = debug.getinfo(sample, "fL")
assert(info.func == sample and info.activelines[13])
-- of another thread
local co = coroutine.create(function(x) local y = x + 1 coroutine.yield(y) end)
coroutine.resume(co, 10)
info = debug.getinfo(co, 1)
assert(info.what == "Lua" and info.currentline == 52)
assert(debug.getinfo(co, 0, "n").name == "yield" or debug.getinfo(co, 0, "S").what == "C")
info = debug.getinfo(co, 1, "fL")
assert(type(info.func) == "function" and info.activelines[52])
-- errors
fails("bad argument #2 to 'getinfo' (invalid option)", function() debug.getinfo(1, "X") end)
fails("bad argument #2 to 'getinfo' (invalid option '>')", function() debug.getinfo(1, ">S") end)
fails("bad argument #3 to 'getinfo' (invalid option)", function() debug.getinfo(co, 1, "X") end)
fails("bad argument #1 to 'getinfo' (number expected, got no value)", function()
  debug.getinfo()
end)

-- names
local t = {}
function t.field() return debug.getinfo(1, "n") end
function t:method() return debug.getinfo(1, "n") end
function globalfunction() return debug.getinfo(1, "n") end
info = t.field()
assert(info.name == "field" and (info.namewhat == "field" or info.namewhat == "method"))
info = t:method()
assert(info.name == "method" and info.namewhat == "method")
info = globalfunction()
assert(info.name == "globalfunction" and info.namewhat == "global")
info = (function() local r = here() return debug.getinfo(1, "n") end)()
assert(info.name == nil)
for w in function() if not w then w = true return debug.getinfo(1, "n") end end do
  assert(w.name == "for iterator" and w.namewhat == "for iterator")
  break
end
local meta = setmetatable({}, {__index = function() return debug.getinfo(1, "n") end,
                               __add = function() return debug.getinfo(1, "n") end})
info = meta.x
assert(info.name == "index" and info.namewhat == "metamethod")
info = meta + 1
assert(info.name == "add" and info.namewhat == "metamethod")

-- locals of a level
local function locals(p, ...)
  local x, y = 5
  do local hidden = 1 end
  local names = {}
  for i = 1, 10 do
    local name, value = debug.getlocal(1, i)
    if not name then break end
    names[#names + 1] = name .. "=" .. tostring(value)
  end
  assert(names[1] == "p=1" and names[2] == "x=5" and names[3] == "y=nil")
  local name, value = debug.getlocal(1, -1)
  assert(name == "(vararg)" and value == "v1")
  assert(debug.getlocal(1, -3) == nil)
  assert(debug.setlocal(1, 2, "new") == "x" and x == "new")
  assert(debug.setlocal(1, -2, "w2") == "(vararg)" and select(2, ...) == "w2")
  assert(debug.setlocal(1, 1000, 1) == nil)
  return x
end
assert(locals(1, "v1", "v2") == "new")
-- parameters of a function
assert(debug.getlocal(sample, 1) == "a" and debug.getlocal(sample, 2) == "b" and
  debug.getlocal(sample, 3) == nil)
assert(select("#", debug.getlocal(sample, 1)) == 1 and debug.getlocal(print, 1) == nil)
-- of another thread
local name, value = debug.getlocal(co, 1, 2)
assert(name == "y" and value == 11)
assert(debug.setlocal(co, 1, 1, 20) == "x" and select(2, debug.getlocal(co, 1, 1)) == 20)
fails("bad argument #1 to 'getlocal' (level out of range)", function() debug.getlocal(100, 1) end)
fails("bad argument #2 to 'getlocal' (level out of range)", function()
  debug.getlocal(co, 100, 1)
end)
fails("bad argument #1 to 'setlocal' (level out of range)", function()
  debug.setlocal(100, 1, 1)
end)
fails("bad argument #3 to 'setlocal' (value expected)", function() debug.setlocal(1, 1) end)

-- upvalues
local u1, u2 = "one", "two"
local function user() return u1, u2 end
local function other() return u2 end
assert(debug.getupvalue(user, 1) == "u1" and select(2, debug.getupvalue(user, 2)) == "two")
assert(debug.getupvalue(user, 3) == nil and select("#", debug.getupvalue(user, 3)) == 0)
assert(debug.setupvalue(user, 1, "changed") == "u1" and u1 == "changed" and
  debug.setupvalue(user, 9, 1) == nil)
assert(debug.upvalueid(user, 2) == debug.upvalueid(other, 1))
assert(debug.upvalueid(user, 1) ~= debug.upvalueid(user, 2) and debug.upvalueid(user, 3) == nil)
assert(type(debug.upvalueid(user, 1)) == "userdata")
debug.upvaluejoin(other, 1, user, 1)
assert(other() == "changed" and debug.upvalueid(user, 1) == debug.upvalueid(other, 1))
fails("bad argument #2 to 'upvaluejoin' (invalid upvalue index)", function()
  debug.upvaluejoin(user, 3, other, 1)
end)
fails("bad argument #4 to 'upvaluejoin' (invalid upvalue index)", function()
  debug.upvaluejoin(user, 1, other, 5)
end)
fails("bad argument #1 to 'getupvalue' (function expected, got number)", function()
  debug.getupvalue(1, 1)
end)
-- of C functions: no names
local gm = string.gmatch("x", "x")
if debug.getupvalue(gm, 1) then assert(debug.getupvalue(gm, 1) == "") end

-- metatables of anything
debug.setmetatable(10, {__index = function(n, k) return k .. n end})
assert((5).x == "x5")
debug.setmetatable(10, nil)
assert(debug.getmetatable(10) == nil and debug.getmetatable("").__index == string)
local protected = setmetatable({}, {__metatable = "no"})
assert(type(debug.getmetatable(protected)) == "table" and
  debug.setmetatable(protected, nil) == protected)
fails("bad argument #2 to 'setmetatable' (nil or table expected, got number)", function()
  debug.setmetatable(1, 1)
end)

-- registry, user values
assert(type(debug.getregistry()) == "table" and debug.getregistry()[2] == _G)
assert(debug.getuservalue(io.stdin, 1) == nil and debug.getuservalue(1) == nil)
assert(debug.setuservalue(io.stdin, 1) == nil)
fails("bad argument #1 to 'setuservalue' (userdata expected, got number)", function()
  debug.setuservalue(1, 1)
end)
fails("bad argument #2 to 'setuservalue' (value expected)", function()
  debug.setuservalue(io.stdin)
end)
assert(math.type(debug.setcstacklimit(200)) == "integer")

-- what was yielded is no more on the stack of the coroutine
do
  local co = coroutine.create(function() coroutine.yield("gone", 2) end)
  coroutine.resume(co)
  assert(debug.getinfo(co, 0, "S").what == "C" and debug.getlocal(co, 0, 1) == nil)
end
-- SPDX-License-Identifier: MIT
