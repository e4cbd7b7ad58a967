-- An error that leaves a function of coroutine.wrap gets the position of its caller in
-- front, but none where the caller was loaded without debug information.
local function caller()
  local w = coroutine.wrap(function() error("lost", 0) end)
  return (w())
end
local stripped = load(string.dump(caller, true))
local _, message = pcall(stripped)
assert(message == "lost", message)

-- with debug information it has one
_, message = pcall(load(string.dump(caller)))
assert(message:find("^.*wrap_error_stripped%.lua:5: lost$"), message)

-- one that the interpreter raises has its own, once
local function calls_nil()
  local w = coroutine.wrap(function(f) return f() end)
  return (w())
end
_, message = pcall(load(string.dump(calls_nil, true)))
assert(message == "?:-1: attempt to call a nil value", message)
-- SPDX-License-Identifier: MIT
