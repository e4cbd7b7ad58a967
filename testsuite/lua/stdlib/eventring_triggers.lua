-- SPDX-License-Identifier: MIT
-- Triggers: what a program sets, what it gets back, what is saved.
local eventring = require "saros.eventring"
local domain = require "saros.domain"

local function refused(pattern, ...)
  local ok, message = pcall(eventring.trigger, ...)
  assert(not ok and message:find(pattern), message)
end

refused("column 10: a time needs its unit", "pause > 5")
refused("column 1: a trigger is about", "lost == 0")
refused("not one trigger", "error; signal")
refused("not one trigger", "")
refused("table expected", 5)
refused("no option 'onn'; did you mean 'on'?", { onn = "error" })
refused("no field 'on'", {})
refused("field 'dir' is not a string", { on = "error", dir = {} })
refused("field 'max' is not a number", { on = "error", max = "x" })
assert(eventring.path() == nil) -- none of these has started a recording

local function of(number, seconds)
  for _, t in ipairs(eventring.triggers(seconds)) do
    if t.number == number then return t end
  end
end

local function remove_copies()
  for name in io.popen("ls"):lines() do
    if name:find("-trigger", 1, true) then os.remove(name) end
  end
end

local queue = assert(eventring.trigger('counter("queue") > 1000'))
assert(eventring.path()) -- but this has
local request = assert(eventring.trigger {
  on = 'span("request") >= 0ns', dir = 'a, "b"', cooldown = 3600.5, max = 2, size = 1 << 28 })
assert(request ~= queue)

local t = of(request)
assert(t.on == 'span("request") >= 0ns' and t.by == "program" and t.dir == 'a, "b"')
assert(t.cooldown == 3600.5 and t.max == 2 and t.size == 1 << 28 and t.fired == 0)

eventring.counter("queue", 1000)
assert(of(queue, 60).fired == 0)
eventring.counter("queue", 1001)
eventring.counter("queue", 5000)
t = of(queue, 60)
assert(t.fired == 1 and t.saved == 1 and t.failed == 0 and t.bytes > 0)

eventring.span("request", function() end)
coroutine.wrap(function() eventring.span("request", coroutine.yield) end)()
t = of(request, 60)
assert(t.fired == 1 and t.saved == 1, t.fired)

-- the copy has the event
local copy
for name in io.popen("ls"):lines() do copy = name:match(".*%-counter%.eventring$") or copy end
local cursor, seen = assert(eventring.cursor { path = copy }), {}
cursor:poll { lifecycle = function(_, _, what, value) seen[what] = value end }
assert(seen['trigger counter("queue") > 1000'] == 1001)
cursor:close()

-- another domain fires too
eventring.counter("queue", 0)
local other = assert(eventring.trigger('counter("other") == 1'))
domain.spawn(function() require "saros.eventring".counter("other", 1) end):join()
assert(of(other, 60).saved == 1)

-- there are at most 64
local numbers = {}
for i = 1, 200 do
  local number, message = eventring.trigger(('counter("n%d") > %d'):format(i, i))
  if not number then
    assert(message:find("64 triggers already", 1, true))
    break
  end
  numbers[#numbers + 1] = number
end
assert(#numbers == 61)
for _, number in ipairs(numbers) do assert(eventring.untrigger(number)) end
assert(not eventring.untrigger(numbers[1]) and not eventring.untrigger(-5))
for _, number in ipairs { queue, request, other } do assert(eventring.untrigger(number)) end
assert(#eventring.triggers() == 0)

-- removed, it does not fire any more
eventring.counter("queue", 5000)
collectgarbage()
assert(eventring.stop())
remove_copies()
os.execute("rm -r 'a, \"b\"'")
