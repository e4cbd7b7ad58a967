-- SPDX-License-Identifier: MIT
-- Calls and callbacks are spans of the class "ffi", which is off by default.
local fixture = require "_fixture"
local ffi, lib = fixture.ffi, fixture.lib
local eventring = require "saros.eventring"

ffi.cdef [[
size_t strlen(const char *s);
int call_int(int (*f)(int), int v);
int echo_int(int v);
]]
if not eventring.start() then print "cannot record here" os.exit(77) end
local cursor = assert(eventring.cursor())
local log
local function note(kind)
  return function(_, _, name) if name:find "^ffi" then log[#log + 1] = kind .. " " .. name end end
end
local function seen()
  log = {}
  cursor:poll {user_begin = note "begin", user_end = note "end", runtime_begin = note "begin",
    runtime_end = note "end"}
  return table.concat(log, ", ")
end

assert(eventring.classes().ffi == false)
ffi.C.strlen "abc"
assert(seen() == "")
assert(eventring.enable "ffi")
ffi.C.strlen "abc"
lib.echo_int(5)
assert(seen() == "begin ffi:strlen, end ffi:strlen, begin ffi:echo_int, end ffi:echo_int")
local pointer = ffi.cast("int (*)(int)", lib.echo_int)
pointer(5)
assert(seen() == "begin ffi:(pointer), end ffi:(pointer)")
-- events of the two rings, merged by time; an error on the way ends the spans too
assert(not pcall(lib.call_int, function(v) ffi.C.strlen "x" error "no" end, 1))
assert(seen() ==
  "begin ffi:call_int, begin ffi_callback, begin ffi:strlen, " ..
  "end ffi:strlen, end ffi_callback, end ffi:call_int")
assert(eventring.disable "ffi")
ffi.C.strlen "abc"
assert(seen() == "")
eventring.stop()
