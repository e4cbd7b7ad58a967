-- SPDX-License-Identifier: MIT
-- What hooks see does not depend on when they were set: functions of the library that began
-- before return like others, and jumps to the end of a loop are no step of their own.

local names = {}
for _, library in ipairs {_G, coroutine, string, table, debug} do
  for name, value in pairs(library) do
    if type(value) == "function" then names[value] = name end
  end
end

local events
local function note(event, line)
  local info = debug.getinfo(2, "fS")
  local name = names[info.func]
  if info.what == "C" and not name then name = type(info.func) end
  if name == "sethook" then return end
  events[#events + 1] = event .. " " .. (name or line and "line" or "Lua")
end
local function seen(f, ...)
  events = {}
  f(...)
  debug.sethook()
  return table.concat(events, ", ")
end
local function set() debug.sethook(note, "cr") end

-- the hook was set while they ran; what they return is what the hook finds, and the caller
local function expect(expected, f, ...)
  local got = seen(f, ...)
  assert(got == expected, ("%s instead of %s"):format(got, expected))
end
expect("return Lua, return pcall, return Lua", function() pcall(set) end)
expect("return Lua, call error, return pcall, return Lua",
       function() pcall(function() set() error "x" end) end)
expect("return Lua, return xpcall, return Lua", function() xpcall(set, print) end)
expect("return Lua, call error, call Lua, return Lua, return xpcall, return Lua",
       function() xpcall(function() set() error "x" end, function(m) return m end) end)
expect("return Lua, return gsub, return Lua", function() string.gsub("a", "a", set) end)
expect("return Lua, return sort, return Lua",
       function() table.sort({2, 1}, set) end)
expect("return Lua, return pairs, return Lua",
       function() local _ = pairs(setmetatable({}, {__pairs = set})) end)

-- of the thread that waits for a coroutine, and of one that has yielded
local main = coroutine.running()
local function set_outside() debug.sethook(main, note, "cr") end
local function yields() coroutine.yield(1, 2, 3, 4, 5) end
expect("return resume, return Lua", function() coroutine.resume(coroutine.create(set_outside)) end)
expect("return resume, return Lua", function()
  coroutine.resume(coroutine.create(function() set_outside() yields() end))
end)
local ok
expect("return resume, return Lua", function()
  ok = coroutine.resume(coroutine.create(function() set_outside() error "x" end))
end)
assert(ok == false)
expect("return function, return Lua", function() coroutine.wrap(set_outside)() end)
local a, e, _
expect("return function, return Lua", function()
  a, _, _, _, e = coroutine.wrap(function() set_outside() yields() end)()
end)
assert(a == 1 and e == 5)
local co = coroutine.create(yields)
coroutine.resume(co)
expect("return yield, return Lua", function()
  debug.sethook(co, note, "cr")
  coroutine.resume(co, 1, 2, 3, 4, 5, 6, 7, 8)
end)

-- the values that it returns, and their places
local values
local function note_values()
  local info = debug.getinfo(2, "fr")
  local name = names[info.func]
  if not name or name == "sethook" then return end
  values = {name, info.ftransfer}
  for i = info.ftransfer, info.ftransfer + info.ntransfer - 1 do
    values[#values + 1] = tostring(select(2, debug.getlocal(2, i)))
  end
  debug.sethook()
end
local function returned(f)
  values = nil
  f(function() debug.sethook(main, note_values, "r") end)
  debug.sethook()
  return table.concat(values, " ")
end
assert(returned(function(set)
  local ok, a, b = pcall(function() set() return 1, 2 end)
  assert(ok and a == 1 and b == 2)
end) == "pcall 1 true 1 2")
assert(returned(function(set)
  local ok, message = pcall(function() set() error("x", 0) end)
  assert(not ok and message == "x")
end) == "pcall 3 false x")
assert(returned(function(set)
  local ok, a, b = xpcall(function() set() return 1, 2 end, print)
  assert(ok and a == 1 and b == 2)
end) == "xpcall 3 true 1 2")
assert(returned(function(set)
  local ok, message = xpcall(function() set() error("x", 0) end, function(m) return m end)
  assert(not ok and message == "x")
end) == "xpcall 5 false x")
assert(returned(function(set)
  local ok, a, b, c = coroutine.resume(coroutine.create(function() set() return 1, 2, 3 end))
  assert(ok and a == 1 and b == 2 and c == 3)
end) == "resume 2 true 1 2 3")
assert(returned(function(set)
  local ok, message = coroutine.resume(coroutine.create(function() set() error("x", 0) end))
  assert(not ok and message == "x")
end) == "resume 2 false x")

-- an error in the hook of a return is none of what the function was called for
for _, f in ipairs {pcall, function(g) return coroutine.resume(coroutine.create(g)) end} do
  local ok, message = pcall(function()
    f(function()
      debug.sethook(main, function()
        local name = names[debug.getinfo(2, "f").func]
        if name and name ~= "sethook" then debug.sethook(main) error("hook", 0) end
      end, "r")
    end)
    return "passed over"
  end)
  assert(not ok and message == "hook", message)
end
-- nor is one of its call
local message
ok, message = pcall(function()
  debug.sethook(function()
    if debug.getinfo(2, "f").func == pcall then debug.sethook() error("hook", 0) end
  end, "c")
  pcall(print)
end)
assert(not ok and message == "hook")

-- Calls nest as deeply as without a hook.
local function nested(n) if n == 0 then return true end return select(2, pcall(nested, n - 1)) end
local function handled(n)
  if n == 0 then return true end
  return select(2, xpcall(handled, print, n - 1))
end
local depth = pcall(require, "saros.profile") and 600 or 150 -- the reference has a limit
for _, f in ipairs {nested, handled} do
  assert(f(depth) == true)
  debug.sethook(function() end, "crl")
  local watched = f(depth)
  debug.sethook()
  assert(watched == true)
end

-- lines: jumps to the end of a loop lead to its start
local function lines(text)
  local list, f = {}, assert(load(text, "=lines"))
  debug.sethook(function(_, line)
    if debug.getinfo(2, "f").func == f then list[#list + 1] = line end
  end, "l")
  f()
  debug.sethook()
  return table.concat(list, " ")
end
local function jump(condition)
  return lines(([[
    local i = 0
    while i < 2 do
      i = i + 1
      do
        do
          if %s then goto l end
        end
      end
      ::l::
    end]]):format(condition))
end
assert(jump "i > 0" == "1 2 3 6 2 3 6 2 10", jump "i > 0")
assert(jump "i > 9" == "1 2 3 6 2 3 6 2 10", jump "i > 9")
assert(jump "true" == "1 2 3 6 2 3 6 2 10", jump "true")
assert(lines [[
  local i = 0
  while i < 2 do
    i = i + 1
    if i > 9 then
      i = 0
    end
    if true then goto l end
    i = 5
    ::l::
  end]] == "1 2 3 4 2 3 4 2 10")
-- what is reached without a jump is one
assert(lines [[
  local i = 0
  while i < 2 do
    repeat
      i = i + 1
    until i > 9 or i < 9 and i % 1 == 0
    ::l::
  end]] == "1 2 4 5 6 2 4 5 6 2 7")
