-- SPDX-License-Identifier: MIT
-- eventring.start{stream=...}: nothing is lost; options are checked.
local eventring = require "saros.eventring"
local path = os.tmpname()
os.remove(path)

local function refused(options, pattern)
  local ok, message = eventring.start(options)
  assert(ok == nil and message:find(pattern), message)
end

assert(not pcall(eventring.start, { steam = "x" }))
assert(not pcall(eventring.start, { stream = 1 }))
refused({ stream = "" }, "needs a path")
refused({ stream = path .. ",max=0" }, "must be PATH")
refused({ stream = path .. ",max=1X" }, "must be PATH")
refused({ stream = path .. ",rings=nobody" }, "must be PATH")
refused({ stream = path .. "/x/y" }, "directory")

assert(eventring.start { stream = path .. ",rings=user+runtime" })
refused({ stream = path }, "records already")
assert(eventring.start()) -- it runs
local file = eventring.path()
assert(file == path .. ".eventring" or file:sub(-#path - 10) == path .. ".eventring")

local N = 100000
local own, last = eventring.cursor(), 0
local function counted(_, _, name, value)
  assert(value == last + 1)
  last = value
end
for i = 1, N do
  eventring.counter("i", i)
  if i % 10000 == 0 then collectgarbage() end
end
own:poll { user_counter = counted, lost_events = function() error "lost" end }
assert(last == N, last)
own:close()
assert(eventring.stop())

last = 0
local cursor = eventring.cursor { path = file }
cursor:poll { user_counter = counted, lost_events = function() error "lost" end }
assert(last == N and cursor:info().lost == 0 and cursor:info().missed == 0)
cursor:close()
os.remove(file)
