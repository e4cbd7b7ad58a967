-- SPDX-License-Identifier: MIT
-- The classes of events: seen and switched by the program itself.
local eventring = require "saros.eventring"

local none, why = eventring.classes()
assert(none == nil and type(why) == "string", "nothing is recorded yet")
assert(select("#", eventring.enable("gc")) == 2)
assert(not pcall(eventring.enable, "frobs"))
assert(select("#", eventring.disable("alloc")) == 2)
assert(not pcall(eventring.disable))

if not eventring.start() then return end -- told by other tests
local classes = eventring.classes()
assert(classes.gc == true and classes.user == true and classes.lifecycle == true)
assert(classes.ffi == false and classes.gc_detail == false and classes.io == false)
assert(classes.frobs == nil and classes.calls == false and classes.alloc == false)

local cursor = assert(eventring.cursor())
local function user_events()
  local n = 0
  cursor:poll { user_event = function() n = n + 1 end }
  return n
end

eventring.event "one"
assert(user_events() == 1)
assert(eventring.disable "user")
assert(eventring.classes().user == false and eventring.classes().gc == true)
eventring.event "two"
assert(user_events() == 0)
assert(eventring.enable "user" and eventring.enable "io")
assert(eventring.classes().user and eventring.classes().io)
eventring.event "three"
assert(user_events() == 1)

-- while paused, the classes wanted
eventring.pause()
assert(eventring.enable "ffi" and eventring.disable "io")
assert(eventring.classes().ffi and not eventring.classes().io)
eventring.event "four"
assert(user_events() == 0)
eventring.resume()
eventring.event "five"
assert(user_events() == 1)

-- one class cannot be switched off
assert(eventring.disable "lifecycle")
assert(eventring.classes().lifecycle)
local ok, message = pcall(eventring.enable, "frobs")
assert(not ok and message:find("no class 'frobs'", 1, true))
assert(eventring.enable "alloc" and eventring.classes().alloc)
assert(eventring.disable "alloc" and not eventring.classes().alloc)
cursor:close()
eventring.stop()
assert(eventring.classes() == nil)
