-- SPDX-License-Identifier: MIT
-- A poll calls its callbacks one after the other: whatever one of them does (errors, coroutines,
-- hooks, other polls, deep stacks), the next one is called as if it were the first.
local eventring = require "saros.eventring"
if not eventring.start() then return end -- told by other tests

local lines
local function log(...) lines[#lines + 1] = table.concat({ ... }, " ") end

-- Writes an event for each name, and delivers them; returns what was logged.
local function deliver(names, callback, poll)
  local cursor = assert(eventring.cursor())
  cursor:poll {}
  for name in names:gmatch "%S+" do eventring.event(name) end
  lines = {}
  local ok, why = pcall(poll or cursor.poll, cursor, { user_event = callback })
  log("end", tostring(ok), ok and "" or tostring(why))
  cursor:poll { user_event = function(_, _, name) log("left", name) end }
  cursor:close()
  return table.concat(lines, "|")
end

local function expect(expected, names, callback, poll)
  local seen = deliver(names, callback, poll)
  assert(seen == expected, seen)
end

local function named(_, _, name) log(name) end

-- Errors that the callback catches itself, in each way; then one that it does not.
expect("a caught|b caught|c caught|d|end true ", "a b c d", function(_, _, name)
  if name == "a" then
    local ok = pcall(error, "E")
    log(name, ok and "?" or "caught")
  elseif name == "b" then
    local ok = xpcall(function() local x = nil + 1 end, debug.traceback)
    log(name, ok and "?" or "caught")
  elseif name == "c" then
    local ok = pcall(function() local x <close> = setmetatable({}, { __close = error }) end)
    log(name, ok and "?" or "caught")
  else
    log(name)
  end
end)
expect("a|b caught|end false E|left d", "a b c d", function(_, _, name)
  if name == "c" then error("E", 0) end
  log(name, name == "b" and not pcall(error) and "caught" or nil)
end)

-- Coroutines in a callback, that end, that stay suspended, that raise. A callback must not
-- yield.
local waiting = coroutine.wrap(function() while true do log("inside", coroutine.yield()) end end)
waiting()
expect("inside a|inside b|false dead|end true ", "a b c", function(_, _, name)
  if name == "c" then
    local co = coroutine.create(function() coroutine.yield() error "E" end)
    coroutine.resume(co)
    log(tostring(coroutine.resume(co)), coroutine.status(co))
  else
    waiting(name)
  end
end)
expect("a false attempt to yield across a C-call boundary|b|end true ", "a b", function(_, _, name)
  if name == "a" then log(name, tostring(pcall(coroutine.yield)), select(2, pcall(coroutine.yield)))
  else log(name) end
end, function(...) return coroutine.wrap(function(cursor, callbacks)
  return cursor:poll(callbacks)
end)(...) end)

-- A hook that a callback sets sees the callbacks after it, and not those after its end.
expect("a|return|call b|return|call c|end true ", "a b c d", function(_, _, name)
  if name == "d" then return end
  if name == "a" then
    log(name)
    debug.sethook(function(event)
      local who = debug.getinfo(2, "u").nparams
      if who ~= 3 then return end
      if event == "call" then log(event, select(2, debug.getlocal(2, 3))) else log(event) end
    end, "cr")
  elseif name == "c" then
    debug.sethook()
  end
end)
assert(debug.gethook() == nil)

-- Deep stacks move the stack under the poll; a collection may free unused frames.
local function deep(n) return n == 0 and 0 or 1 + deep(n - 1) end
local depth = 30000
while not pcall(deep, depth + 20) do depth = depth // 2 end -- a stress build has small stacks
expect("a " .. depth // 2 .. "|b|c " .. depth .. "|d|end true ", "a b c d", function(_, _, name)
  if name == "a" then log(name, deep(depth // 2)) collectgarbage()
  elseif name == "c" then log(name, deep(depth)) collectgarbage()
  else log(name) end
end)

-- Polls of another cursor in a callback; errors go through both, or are caught between them.
local function nested(fails)
  return function(_, _, name)
    log(name)
    local other = assert(eventring.cursor())
    local ok, why = pcall(other.poll, other, { user_event = function(_, _, inner)
      if inner == name then
        log("other", inner)
        if fails then error("in " .. inner, 0) end
      end
    end })
    other:close()
    if not ok then log(why) end
    if name == "z" and not ok then error(why, 0) end
  end
end
expect("x|other x|y|other y|end true ", "x y", nested(false))
expect("x|other x|in x|z|other z|in z|end false in z|left y", "x z y", nested(true))

-- Functions of C, values with __call, and frames as a traceback shows them. (A poll also counts the
-- events of collections.)
local cursor = assert(eventring.cursor())
cursor:poll {}
for _ = 1, 3 do eventring.event "c" end
assert(cursor:poll { user_event = math.type } >= 3)
for _ = 1, 3 do eventring.event "c" end
local ok, why = pcall(cursor.poll, cursor, { user_event = error })
assert(not ok and math.type(why) == "integer") -- its first argument: the domain
local calls = 0
assert(cursor:poll { user_event = setmetatable({}, { __call = function(_, ...)
  calls = calls + select("#", ...)
end }) } >= 2 and calls == 10)
expect("a 6|b 6|end true ", "a b", function(_, _, name)
  local frames = select(2, debug.traceback("", 2):gsub("\n", "\n")) - 1
  log(name, frames)
end)
expect("a|b|end true ", "a b", function(...) return named(...) end)

-- A callback that changes what is recorded, or ends the recording.
expect("a|b|end true ", "a b", function(_, _, name)
  log(name)
  if name == "a" then eventring.disable "user" else eventring.enable "user" end
end)
