-- SPDX-License-Identifier: MIT
-- What doc/LUA.md lists as different from the reference and no other test has.

local stress = tonumber(os.getenv "TEST_SLOWNESS" or 1) >= 20

-- How often a function can be nested, and the message at the end.
local function nest(through)
  local n = 0
  local function inner() n = n + 1 through(inner) end
  local _, message = pcall(inner)
  return n, message
end
local function again(ok, message) if not ok then error(message, 0) end end

if not stress then -- it has smaller limits
  local n, message = nest(function(f) again(pcall(f)) end)
  assert(message:find("C stack overflow (too many nested pcalls)", 1, true) and n == 1000, n)
  n, message = nest(function(f) again(coroutine.resume(coroutine.create(f))) end)
  assert(message:find "C stack overflow" and (n >= 190 and n < 200), n)
  n, message = nest(function(f) string.gsub("a", "a", f) end)
  assert(message:find "C stack overflow" and (n > 180 and n <= 200), n)
  n, message = nest(function(f) f() return 1 end)
  assert(message:find "stack overflow" and not message:find "C stack" and (n > 200000), n)
  n, message = nest(function(f) return -setmetatable({}, {__unm = function() f() return 1 end}) end)
  assert(message:find "stack overflow" and not message:find "C stack" and (n > 100000), n)
  local _, long = load("for i = 1, 2 do " .. ("x = i "):rep(40000) .. "end")
  assert(long:find "control structure too long", long)
  assert(load("for i = 1, 2 do " .. ("x = i "):rep(30000) .. "end"))
end

-- Which of two wrong arguments is named
assert(select(2, pcall(function() return math.fmod({}, {}) end)):find "#1 to 'fmod'")
assert(select(2, pcall(function() return string.gsub({}, {}) end)):find "#1 to 'gsub'")

-- Exponents that no int holds
assert(math.ldexp(1, math.maxinteger) == math.huge and math.ldexp(1, math.mininteger) == 0)
assert(math.ldexp(3, 4) == 48)

-- Modules that Debian installs are found, after those of the prefix.
if not os.getenv "LUA_PATH" and not os.getenv "LUA_PATH_5_4" then
  assert(package.path:find("/usr/share/lua/5.4/?.lua", 1, true))
  assert(package.cpath:find("/usr/lib/%S-lua/5.4/%?.so"))
end

-- The seed of the kernel: another one each time.
local first = {math.random(0), math.random(0), math.randomseed(), math.random(0), math.random(0)}
math.randomseed()
assert(math.random(0) ~= first[#first])

-- Handlers that coroutine.close runs cannot yield.
local closing = coroutine.create(function()
  local _ <close> = setmetatable({}, {__close = function() coroutine.yield() end})
  coroutine.yield()
end)
coroutine.resume(closing)
local ok, why = coroutine.close(closing)
assert(not ok and why:find "attempt to yield across a C%-call boundary", why)

-- A message handler that fails is called again for its own error.
local calls = 0
local fine, last = xpcall(error, function() calls = calls + 1 error("again") end)
assert(not fine and tostring(last):find "error in error handling" or stress, last)
assert(calls == 221 or stress, calls)

-- Parameters of the collector are kept as they are given.
local pause, multiplier = collectgarbage("setpause", 151), collectgarbage("setstepmul", 102)
assert(collectgarbage("setpause", pause) == 151)
assert(collectgarbage("setstepmul", multiplier) == 102)

-- A value of a weak table that has died is gone in one way or the other: it is not there, or lives.
local weak = setmetatable({}, {__mode = "v"})
for i = 1, stress and 100 or 20000 do weak[i] = {i} end
for _ = 1, stress and 2 or 200 do collectgarbage("step", 64) end
for _, value in pairs(weak) do assert(value[1]) end
collectgarbage()
assert(next(weak) == nil)

-- Line events: none for a block's end that is run again after its handler has yielded.
local block = load([[
local y = ...
do
  local x <close> = setmetatable({}, {__close = y})
  local z = 1
end
return 1]], "=block")
local lines = {}
local yielding = coroutine.create(function()
  debug.sethook(function(_, line)
    if debug.getinfo(2, "S").source == "=block" then lines[#lines + 1] = line end
  end, "l")
  block(function() coroutine.yield() end)
end)
while coroutine.status(yielding) ~= "dead" do assert(coroutine.resume(yielding)) end
assert(table.concat(lines, " ") == "1 3 4 6", table.concat(lines, " "))

-- Under a hook, require ends with a call of a C function.
package.preload.shouted = string.upper
local events = {}
debug.sethook(function(event)
  local called = debug.getinfo(2, "f").func
  events[#events + 1] = event .. (called == require and " require" or called == string.upper and " upper" or "")
end, "cr")
require "shouted"
debug.sethook()
assert(table.concat(events, ", "):find("return upper, call, return, return require", 1, true),
       table.concat(events, ", "))

-- A binary chunk of the reference has another fingerprint, one that is cut is refused, too.
local dumped = string.dump(function() return 1 end)
assert(dumped:sub(1, 12) == "\27LuaT\0\x19\x93\r\n\x1a\n")
assert(load(dumped, "x", "b")() == 1)
local refused, text = load(dumped:sub(1, 30), "x", "b")
assert(not refused and text:find "bad binary format", text)
print("ok")
