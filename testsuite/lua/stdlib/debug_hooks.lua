-- SPDX-License-Identifier: MIT
-- debug: hooks and tracebacks.

-- call and return
local events = {}
local function callee(a) local b = a return b end
debug.sethook(function(event) 
  local info = debug.getinfo(2, "f")
  if info.func == callee then events[#events + 1] = event end
end, "cr")
callee(1)
local f, mask, count = debug.gethook()
debug.sethook()
assert(table.concat(events, ",") == "call,return", table.concat(events, ","))
assert(type(f) == "function" and mask == "cr" and count == 0)
assert(debug.gethook() == nil and select("#", debug.gethook()) == 1)

-- tail calls
events = {}
local function last() return 1 end
local function before() return last() end
debug.sethook(function(event) if debug.getinfo(2, "f").func == last then
  events[#events + 1] = event end end, "c")
before()
debug.sethook()
assert(events[1] == "tail call")

-- values that are passed
local passed
debug.sethook(function(event)
  local info = debug.getinfo(2, "rf")
  if info.func == callee then
    passed = passed or {}
    for i = 0, info.ntransfer - 1 do
      passed[#passed + 1] = event .. ":" ..
        tostring(select(2, debug.getlocal(2, info.ftransfer + i)))
    end
  end
end, "cr")
callee("value")
debug.sethook()
assert(table.concat(passed, ",") == "call:value,return:value", table.concat(passed, ","))

-- lines
local lines = {}
local function hooked()
  local x = 1
  x = x + 1

  for i = 1, 2 do
    x = x + i
  end
  return x
end
local first = debug.getinfo(hooked, "S").linedefined
debug.sethook(function(event, line)
  assert(event == "line")
  if debug.getinfo(2, "f").func == hooked then lines[#lines + 1] = line - first end
end, "l")
hooked()
debug.sethook()
assert(table.concat(lines, ",") == "1,2,4,5,4,5,4,7", table.concat(lines, ","))

-- counts
local ticks = 0
debug.sethook(function(event, line)
  assert(event == "count" and line == nil) ticks = ticks + 1 end, "", 100)
assert(select(3, debug.gethook()) == 100 and select(2, debug.gethook()) == "")
for i = 1, 10000 do end
debug.sethook()
assert(ticks >= 50 and ticks <= 400, ticks)

-- an error in a hook reaches the program
local ok, message = pcall(function()
  debug.sethook(function() debug.sethook() error("from hook", 0) end, "l")
  local x = 1
end)
debug.sethook()
assert(not ok and message == "from hook")

-- each thread has a hook of its own
local co = coroutine.create(function() local a = 1
  coroutine.yield()
  local b = 2
end)
local inside = 0
debug.sethook(co, function() inside = inside + 1 end, "l")
assert(debug.gethook() == nil and debug.gethook(co) ~= nil)
coroutine.resume(co)
coroutine.resume(co)
assert(inside >= 3)
debug.sethook(co)
assert(debug.gethook(co) == nil)

-- arguments
ok, message = pcall(function() debug.sethook(1) end)
assert(message:find("bad argument #2 to 'sethook' (string expected, got no value)", 1, true))
ok, message = pcall(function() debug.sethook(1, "c") end)
assert(message:find("bad argument #1 to 'sethook' (function expected, got number)", 1, true))

-- tracebacks
local object = {}
assert(debug.traceback(object) == object and debug.traceback(print) == print)
assert(debug.traceback("hi", 1000) == "hi\nstack traceback:")
assert(debug.traceback(nil):match("^stack traceback:\n"))
assert(debug.traceback(12):match("^12\nstack traceback:\n"))
assert(debug.traceback("x",
  0):match("^x\nstack traceback:\n\t%[C%]: in function 'debug.traceback'\n"))
ok, message = pcall(function() debug.traceback("x", "y") end)
assert(message:find("bad argument #2 to 'traceback' (number expected, got string)", 1, true))

local function names(text)
  local list = {}
  for name in text:gmatch("\n\t[^\n]*: in ([^\n]*)") do list[#list + 1] = name end
  return list
end
local t = {}
function t.field() local s = debug.traceback() return s end
function t:method() local s = t.field() return s end
local function upvalue() local s = t:method() return s end
function globalone() local s = upvalue() return s end
local list = names((globalone()))
assert(list[1]:match("^%a+ 'field'$") and list[2] == "method 'method'" and
  list[3] == "upvalue 'upvalue'")
assert(list[4] == "function 'globalone'" and list[5] == "main chunk" and list[#list] == "?")
-- functions of the library are named by their module
list = names((string.gsub("x", "x", function() return debug.traceback() end)))
assert(list[1]:match("^function <.*debug_hooks.lua:%d+>$") and list[2] == "function 'string.gsub'")
-- tail calls leave a mark
local function tail() return debug.traceback() end
local function caller() return tail() end
assert((caller()):find("\n\t(...tail calls...)\n", 1, true))
-- long ones are cut in the middle
local function deep(n) if n == 0 then return debug.traceback("deep") end return (deep(n - 1)) end
local text = deep(100)
assert(text:match("\n\t%.%.%.\t%(skipping %d+ levels%)\n"))
assert(select(2, text:gsub("\n", "\n")) == 1 + 10 + 1 + 11)
assert(not deep(10):find("skipping", 1, true))
-- other threads
co = coroutine.create(function() local function inner() coroutine.yield() end inner() end)
assert(debug.traceback(co) == "stack traceback:")
coroutine.resume(co)
list = names(debug.traceback(co))
assert(list[1] == "function 'coroutine.yield'" and list[2] == "local 'inner'" and #list == 3)
assert(debug.traceback(co,
  "msg"):match("^msg\nstack traceback:\n\t%[C%]: in function 'coroutine.yield'"))
assert(#names(debug.traceback(co, nil, 1)) == 2)
assert(debug.traceback(co, object) == object)
co = coroutine.create(function() local x = nil + 1 end)
coroutine.resume(co)
assert(#names(debug.traceback(co)) == 1)

-- what a hook asks for holds from the next instruction on: no line event for this one
do
  local lines = {}
  local function on_line(_, line) lines[#lines + 1] = line end
  local start = debug.getinfo(1, "l").currentline
  debug.sethook(function() debug.sethook(on_line, "l") end, "", 1)
  local a = 1
  a = 2
  debug.sethook()
  assert(#lines > 0 and lines[1] > start + 1 and lines[#lines] == start + 4,
    table.concat(lines, " "))
end
