# SPDX-License-Identifier: MIT
# A recorded program closes all descriptors and opens files of its own, as daemons do, or
# was started without standard input and output: the recorder neither writes into files of
# the program nor closes them, goes on, and leaves nothing behind.
. "$TESTSUITE/faults/_faults.sh"
export SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=0

cat >closing.lua <<'END'
local eventring, ffi = require "saros.eventring", require "saros.ffi"
local how = ...
ffi.cdef "int close(int);"
local opened = {}
for descriptor = 3, 255 do ffi.C.close(descriptor) end
if how == "directory" then
  ffi.cdef "int open(const char *, int, ...);"
  for i = 1, 4 do assert(ffi.C.open("other", 0) >= 3) end
end
local bytes = ("mine "):rep(2000000)
for i = 1, 6 do
  opened[i] = assert(io.open("mine" .. i, "w+"))
  assert(opened[i]:write(bytes) and opened[i]:flush())
end
if how == "stop" then
  assert(eventring.stop())
else -- rings are made, and grow
  require "saros.domain".spawn(function()
    local eventring = require "saros.eventring"
    for i = 1, 1000 do eventring.counter("of a domain", i) end
  end):join()
  for i = 1, 1000000 do eventring.counter("many", i) end
end
local sum = 0
if how == "grow" then
  eventring.cursor{path = eventring.path()}:poll{user_counter = function() sum = sum + 1 end}
  assert(sum > 500000, "the ring did not grow: " .. sum)
end
for i = 1, 6 do
  assert(opened[i]:seek("set") == 0)
  assert(opened[i]:read("a") == bytes, "another content of file " .. i)
  assert(opened[i]:write("x") and opened[i]:close())
end
print("whole")
END
mkdir other
for how in grow stop directory; do
  "$SAROS" closing.lua $how >out 2>err
  is "closed, $how: status" 0 $?
  is "closed, $how: files of the program" whole "$(cat out)"
  is "closed, $how: no message" "" "$(cat err)"
  is "closed, $how: nothing left" "" "$(ls ./*.eventring 2>/dev/null)"
  rm -f mine* ./*.eventring
done

# Descriptors 0 and 1 are free: what is opened first would get them.
cat >standard.lua <<'END'
local read = {io.read()}
print("to a closed file")
local written, flushed = io.write("and more\n"), io.stdout:flush()
io.stderr:write(tostring(read[2]), "; ", tostring(flushed), "\n")
END
SAROS_EVENTRING_START=0 "$SAROS" standard.lua <&- >&- 2>expected
SAROS_EVENTRING_PRESERVE=1 "$SAROS" standard.lua <&- >&- 2>err
is_same "closed standard files: the same for the program" "$(cat expected)" "$(cat err)"
"$EVENTRING" show ./*.eventring >out 2>err
is "closed standard files: a sound recording" 0 $?
finish
