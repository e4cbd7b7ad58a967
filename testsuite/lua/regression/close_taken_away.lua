-- SPDX-License-Identifier: MIT
-- A variable whose __close is taken away, or replaced by what cannot be called, after it
-- was marked: the message names what is called, nil and not the variable's value.
local mt = {}
local function closable()
  mt.__close = function() end
  return setmetatable({}, mt)
end

local function message(f)
  local ok, text = pcall(f)
  assert(not ok)
  return (text:gsub("^[^:]*:%d+: ", ""))
end

assert(message(function() local x <close> = closable() mt.__close = nil end) ==
  "attempt to call a nil value (metamethod 'close')")
assert(message(function() do local x <close> = closable() mt.__close = nil end return 1 end) ==
  "attempt to call a nil value (metamethod 'close')")
assert(message(function() for _ in next, {1}, nil, closable() do mt.__close = nil end end) ==
  "attempt to call a nil value (metamethod 'close')")
assert(message(function() local x <close> = closable() mt.__close = 42 end) ==
  "attempt to call a number value (metamethod 'close')")
assert(message(function() local x <close> = closable() mt.__close = nil error "lost" end) ==
  "attempt to call a nil value")

-- The others are closed, with that error.
local err
assert(not pcall(function()
  local other <close> = setmetatable({}, {__close = function(_, e) err = e end})
  local x <close> = closable()
  mt.__close = nil
end))
assert(err:find("attempt to call a nil value", 1, true))

local co = coroutine.create(function() local x <close> = closable() coroutine.yield() end)
coroutine.resume(co)
mt.__close = nil
local ok, text = coroutine.close(co)
assert(not ok and text == "attempt to call a nil value")
