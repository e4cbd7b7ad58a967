-- SPDX-License-Identifier: MIT
-- cursor:wait(seconds): true when a poll has something to do, false when the time is up;
-- cancelling ends it.
local eventring = require "saros.eventring"
local domain = require "saros.domain"
local slowness = tonumber(os.getenv "TEST_SLOWNESS") or 1
local soon = 20 * slowness

if not eventring.start() then return end -- told by other tests
-- Polls allocate, and collections are news: where every allocation collects there would
-- be no end of it.
eventring.disable("gc", "gc_detail", "alloc")
local cursor = assert(eventring.cursor())
local nothing = {}

assert(cursor:wait(soon) == true) -- what is there already
while cursor:poll(nothing) > 0 do end

-- News of another domain.
local writer = domain.spawn(function()
  local eventring, domain = require "saros.eventring", require "saros.domain"
  domain.sleep(0.05)
  eventring.event "news"
end)
local seen
repeat
  assert(cursor:wait(soon) == true)
  cursor:poll {user_event = function(_, _, name) seen = seen or name == "news" end}
until seen
writer:join()
while cursor:poll(nothing) > 0 do end

-- Time that is up.
assert(cursor:wait(0) == false)
assert(cursor:wait(-1) == false)
local before = domain.now()
assert(cursor:wait(0.2) == false)
assert(domain.now() - before >= 0.2)

-- What a callback left behind is there at once.
eventring.event "first"
eventring.event "second"
assert(not pcall(cursor.poll, cursor, {user_event = function() error "enough" end}))
assert(cursor:wait(soon) == true)
while cursor:poll(nothing) > 0 do end

-- A domain that waits can be cancelled.
local waiting = domain.spawn(function(path)
  local eventring = require "saros.eventring"
  local cursor = assert(eventring.cursor {path = path})
  while true do cursor:wait(1000) cursor:poll {} end
end, eventring.path())
domain.sleep(0.05)
waiting:cancel()
local ok, message = pcall(waiting.join, waiting)
assert(not ok and tostring(message):find "cancelled", message)

-- Errors.
assert(not pcall(cursor.wait, cursor))
assert(not pcall(cursor.wait, cursor, "soon"))
assert(not pcall(cursor.wait, nil, 1))

-- The end.
eventring.stop()
assert(cursor:wait(soon) == true)
while not cursor:finished() do cursor:poll(nothing) end
assert(cursor:wait(soon) == true)
cursor:close()
assert(not pcall(cursor.wait, cursor, 0))
