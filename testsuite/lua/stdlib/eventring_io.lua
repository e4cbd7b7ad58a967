-- SPDX-License-Identifier: MIT
-- Class io: spans around what reads, writes, opens, closes and runs commands, with the
-- bytes; and nothing unless it was asked for.
local eventring = require "saros.eventring"

if not eventring.start() then return end -- tested elsewhere
assert(eventring.classes().io == false, "io is off by default")
local cursor = assert(eventring.cursor())

local is_io = {}
for name in ("open popen execute read write flush close"):gmatch "%a+" do is_io[name] = true end
local open, spans, bytes -- name of the open span; {name, value, ns} of each; sums
local begun
local function poll()
  spans, bytes = {}, {read_bytes = 0, written_bytes = 0}
  cursor:poll {
    runtime_begin = function(_, ns, name, value)
      if is_io[name] then
        assert(open == nil, name)
        open, begun = name, ns
        spans[#spans + 1] = {name = name, value = value}
      end
    end,
    runtime_end = function(_, ns, name)
      if name == open then
        spans[#spans].ns = ns - begun
        open = nil
      end
    end,
    runtime_counter = function(_, _, name, value)
      if bytes[name] then bytes[name] = bytes[name] + value end
    end,
    lost_events = function() error "lost" end,
  }
  assert(open == nil, open)
end
local function names()
  local list = {}
  for i, span in ipairs(spans) do list[i] = span.name end
  return table.concat(list, " ")
end

-- off
local name = os.tmpname()
local f = assert(io.open(name, "w"))
f:write "off"
f:close()
poll()
assert(names() == "", names())

assert(eventring.enable "io")
-- writing: bytes in numbers and strings, long ones too
f = assert(io.open(name, "w"))
f:write("one\n", 2, "\n", 3.5, "\n")
f:write(("x"):rep(10000), "\n")
f:flush()
f:close()
poll()
assert(names():find "^open write.* flush close$", names())
assert(spans[1].value == name and math.type(spans[2].value) == "integer" and
  spans[2].value == spans[#spans].value)
assert(bytes.written_bytes == 10011 and bytes.read_bytes == 0)

-- reading: every form, to the byte
local count = 0
for _ in io.lines(name) do count = count + 1 end
poll()
assert(count == 4 and bytes.read_bytes == 10011, bytes.read_bytes)
assert(names():find "^open read read.* close$" and spans[1].value == name, names())
f = assert(io.open(name))
poll()
local function reads(expected, ...)
  f:seek "set"
  f:read(...)
  poll()
  assert(bytes.read_bytes == expected, bytes.read_bytes)
  assert(names():find "^read", names())
end
reads(4)
reads(4, "L")
reads(6, "l", "l")
reads(3, 3)
reads(0, 0)
reads(5, "l", "n")
reads(10011, "a")
reads(10011, 100000)
-- a wrong format is an error in the midst, and leaves no span open
f:seek "set"
assert(not pcall(f.read, f, "l", "x"))
poll()
assert(names() == "read" and bytes.read_bytes == 4)
f:close()
poll()

-- what fails
assert(not io.open "/nonexistent/file")
f = assert(io.open("/dev/full", "w"))
assert(f:write(("x"):rep(1 << 20)) == nil)
f:close()
poll()
assert(names():find "^open open write.* close$" and spans[1].value == "/nonexistent/file", names())
assert(bytes.written_bytes < 1 << 20)

-- waiting for processes
local p = io.popen("sleep 0.2; echo done", "r")
assert(p:read "l" == "done")
assert(p:close())
p = io.popen("sleep 0.2", "w")
p:write "unread"
p:close()
assert(os.execute "sleep 0.1; exit 0")
assert(os.execute())
poll()
assert(names():find "^popen read close popen write close execute$", names())
assert(spans[1].value == "sleep 0.2; echo done" and spans[7].value == "sleep 0.1; exit 0")
assert(spans[2].ns > 150e6 and spans[6].ns > 150e6 and spans[7].ns > 80e6)
assert(bytes.read_bytes == 5 and bytes.written_bytes == 6)

-- a handle that is collected is closed in a span
io.open(name)
collectgarbage()
collectgarbage()
poll()
assert(names():find "open" and names():find "close", names())
os.remove(name)

assert(eventring.disable "io")
io.open("/dev/null"):close()
poll()
assert(names() == "")
cursor:close()
eventring.stop()
