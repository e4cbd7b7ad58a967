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

do -- patterns
  fails("pattern too complex", string.match, ("a"):rep(300000), (".-"):rep(250000) .. "b")
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
