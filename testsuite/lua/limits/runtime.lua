-- SPDX-License-Identifier: MIT
-- Limits at run time: stacks, C calls, strings, memory. Each is an error that can be
-- caught, and the program goes on.

local slow = tonumber(os.getenv("TEST_SLOWNESS") or 1) > 1

local function fails(expected, f, ...)
  local ok, message = pcall(f, ...)
  assert(not ok and tostring(message):find(expected, 1, true), tostring(message):sub(1, 300))
  return message
end

-- In a slow build what grows the stack runs in a coroutine, whose stack goes with it:
-- each collection scans all of a stack.
local function apart(f)
  if not slow then return f() end
  local co = coroutine.create(f)
  local ok, message = coroutine.resume(co)
  assert(ok, message)
end

apart(function() -- endless recursion of Lua functions
  local function endless(n) return 1 + endless(n + 1) end
  for _ = 1, slow and 1 or 3 do fails("stack overflow", endless, 1) end
  local a, b
  function a() return (b()) end
  function b() return (a()) end
  fails("stack overflow", a)
  -- with a traceback that is not endless
  local ok, traceback = xpcall(endless, debug.traceback, 1)
  assert(not ok and #traceback < 10000 and traceback:find("...", 1, true))
end)

apart(function() -- through metamethods, pcall, coroutines, table.sort, gsub, tostring, require
  local t = setmetatable({}, {})
  getmetatable(t).__index = function(self, k) return self[k + 1] end
  fails("overflow", function() return t[1] end)
  getmetatable(t).__add = function(a, b) return a + b end
  fails("overflow", function() return t + 1 end)
  getmetatable(t).__tostring = function(self) return tostring(self) end
  fails("overflow", tostring, t)
  getmetatable(t).__concat = function(a, b) return a .. b end
  fails("overflow", function() return t .. "x" end)
  getmetatable(t).__eq = function(a, b) return a == b end
  fails("overflow", function() return t == setmetatable({}, getmetatable(t)) end)
  local function sorter() table.sort({ 1, 2, 3 }, function() sorter() return true end) end
  fails("overflow", sorter)
  local function replacer() return (("x"):gsub("x", replacer)) end
  fails("overflow", replacer)
  local function wrapped() return coroutine.wrap(wrapped)() end
  fails("overflow", wrapped)
  local function loader() return load("return ...")(loader()) end
  if not slow then fails("overflow", loader) end -- allocates at each of its many levels
  local depth = 0
  local function nested_pcall()
    depth = depth + 1 local ok, e = pcall(nested_pcall) if not ok then error(e, 0) end
  end
  assert(not pcall(nested_pcall) or depth > 100)
end)

apart(function() -- an error handler that itself overflows
  local function loop() return loop() + 1 end
  local ok = xpcall(loop, function(m) return loop() end)
  assert(not ok)
  assert(pcall(function() return 1 end))
end)

apart(function() -- too many values
  fails("too many results to unpack", table.unpack, {}, 1, 1e7)
  fails("too many results to unpack", table.unpack, {}, 0, math.maxinteger)
  fails("string slice too long", string.byte, ("x"):rep(10000000), 1, -1)
  local many = {}
  for i = 1, 5000 do many[i] = i end
  assert(select("#", table.unpack(many)) == 5000)
  assert(#{ table.unpack(many) } == 5000)
end)

do -- strings that cannot be
  fails("resulting string too large", string.rep, "x", math.maxinteger)
  fails("resulting string too large", string.rep, "abc", math.maxinteger // 2, ",")
end

do -- patterns
  fails("pattern too complex", string.match, ("a"):rep(300000), (".-"):rep(250000) .. "b")
  fails("too many captures", string.find, "x", ("(x?)"):rep(40))
  fails("malformed pattern", string.find, "x", "[x")
  fails("malformed pattern", string.find, "x", "%")
end

do -- memory: a request that no machine has is an error; the program goes on
  local ok, message = pcall(string.rep, "x", 1 << 46)
  assert(not ok and (message:find("not enough memory", 1, true) or
    message:find("too large", 1, true)), message)
  assert(("x"):rep(10) == "xxxxxxxxxx")
end

do -- deep data
  local l
  for i = 1, slow and 20000 or 200000 do l = { l } end
  collectgarbage()
  local n = 0
  while l do n = n + 1 l = l[1] end
  assert(n == (slow and 20000 or 200000))
  local f = function() return 0 end
  for _ = 1, 1000 do local g = f f = function() return g end end
  collectgarbage()
end
