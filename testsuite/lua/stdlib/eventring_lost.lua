-- SPDX-License-Identifier: MIT
-- lost_events: what was overwritten before reading began, and while it went on; each is
-- what info() says. (The former was left out: "0 events lost" of a file that lacked most.)
local eventring = require "saros.eventring"

-- rings of 2^11 words, which keep their size
if os.getenv "SAROS_EVENTRING_WSIZE" ~= "11" then
  local command = "SAROS_EVENTRING_WSIZE=11 SAROS_EVENTRING_START=1 %s %s"
  local saros = arg[-1] or "saros"
  assert(os.execute(command:format(saros, arg[0])))
  return
end

local function ticks(n)
  for i = 1, n do eventring.counter("tick", i) end
end

ticks(100000)
local cursor <close> = assert(eventring.cursor())
local missed, lost, delivered = 0, 0, 0
local callbacks = {
  user_counter = function() delivered = delivered + 1 end,
  lost_events = function(domain, count, before)
    assert(domain == 0 and math.type(count) == "integer" and count > 0)
    assert(type(before) == "boolean")
    if before then missed = missed + count else lost = lost + count end
  end,
}
cursor:poll(callbacks)
assert(missed > 90000 and lost == 0 and missed + delivered == 100000, missed)
assert(cursor:info().missed == missed and cursor:info().lost == 0)
ticks(50000)
cursor:poll(callbacks)
assert(lost > 40000 and missed + lost + delivered == 150000)
assert(cursor:info().missed == missed and cursor:info().lost == lost)
