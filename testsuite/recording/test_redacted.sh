# SPDX-License-Identifier: MIT
# SAROS_EVENTRING_REDACT: what it names is nowhere in the file, in rings and streams, in what a
# forked child and a snapshot have, whoever switches it on; the rest is there.
. "$TESTSUITE/tools/_tools.sh"
export SAROS_EVENTRING_PREFIX=$PWD
cat >secrets.lua <<'LUA'
local eventring, ffi = require "saros.eventring", require "saros.ffi"
local function work(n)
  for i = 1, n do
    eventring.begin_span("card-4711", "4000-1234-5678")
    eventring.counter("tenant-acme", 8101821185859810370 + i)
    eventring.counter("tenant-float", 1e9 + i)
    eventring.async_begin("tenant-async", 8101821185859810370 + i, "gold card")
    eventring.async_end("tenant-async", 8101821185859810370 + i)
    eventring.event("password", "hunter2")
    eventring.end_span("card-4711")
    eventring.span({ name = "cardinal", value = "red robe" }, function() end)
    eventring.begin_span("fine", "nothing hidden")
    eventring.end_span()
    load("return 1")()
  end
end
work(10)
if arg[1] == "fork" then
  ffi.cdef "int fork(void); int waitpid(int, void *, int); void _exit(int);"
  -- AddressSanitizer's allocator is locked for good in a child that was forked while another
  -- thread allocates, as one does that begins: not in the first moments of the helper
  local begun = os.clock()
  repeat until os.clock() > begun + 0.05
  local child = ffi.C.fork()
  work(10)
  if child ~= 0 then ffi.C.waitpid(child, nil, 0) end
elseif arg[1] == "wait" then
  io.read()
  work(10)
end
LUA
list='load,"card*","tenant-*","pass\word"'

# nowhere FILE
nowhere() {
  local text
  # xqsop: bytes of the numbers of counters and async spans
  for text in card-4711 4000-1234 tenant-acme password hunter2 cardinal "red robe" xqsop "gold card"; do
    ! command grep -q -a -F -e "$text" "$1" || fail "$1 has '$text'"
  done
  for text in fine "nothing hidden"; do command grep -q -a -F -e "$text" "$1" || fail "$1 has no '$text'"; done
}
SAROS_EVENTRING_REDACT=$list SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_NAME=rings \
  "$SAROS" secrets.lua || fail "status $?"
nowhere rings.eventring
# begin and end of two spans, two counters, an event, both ends of an async span, ten times
is "those that have no name" "90 (other), 20 fine" "$("$EVENTRING" dump --json rings.eventring |
  jq -s -r 'map(.name) | "\(map(select(. == "(other)")) | length) (other), \(map(select(. == "fine")) | length) fine"')"
SAROS_EVENTRING_REDACT=$list SAROS_EVENTRING_CLASSES=all SAROS_EVENTRING_STREAM=$PWD/stream.eventring \
  "$SAROS" secrets.lua || fail "status $?"
nowhere stream.eventring
SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_NAME=open "$SAROS" secrets.lua || fail "status $?"
for text in card-4711 4000-1234 tenant-acme password hunter2 cardinal xqsop "gold card"; do
  grep -q -a -F -e "$text" open.eventring || fail "without it, there is no '$text' either"
done

# the child of a fork
SAROS_EVENTRING_REDACT=$list SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_NAME=%n-%p \
  "$SAROS" secrets.lua fork || fail "status $?"
is "recordings" 2 "$(ls secrets.lua-*.eventring | wc -l)"
for file in secrets.lua-*.eventring; do nowhere "$file"; done

# who switches classes on
mkfifo input
exec 3<>input
SAROS_EVENTRING_REDACT=$list SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_NAME=asked \
  "$SAROS" secrets.lua wait <input &
pid=$!
await $pid
ends 1 "class load must not be recorded" "$EVENTRING" control --enable load $pid
"$EVENTRING" control --enable all $pid || fail "control: $?"
echo >&3
wait $pid || fail "status $?"
nowhere asked.eventring
is "class load" false "$("$EVENTRING" show --json asked.eventring | jq -c '.classes[] | select(.name == "load").on')"
is "its events" 0 "$("$EVENTRING" dump --json asked.eventring | jq -s 'map(select(.class == "load")) | length')"
"$EVENTRING" check -e 'count(compile) == 0' asked.eventring >check.txt 2>&1
is "a rule that cannot be known" 3 $?
has "why" "class load was off" "$(cat check.txt)"

# names are those of the program: what saros calls its own events stays readable
SAROS_EVENTRING_REDACT='"*"' SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_NAME=all \
  "$SAROS" -e 'local e = require "saros.eventring"
    e.span({ name = "mine", traceparent = true }, function() print(e.traceparent()) end)
    collectgarbage()
    assert(e.enable "load")' >header.txt || fail "status $?"
! grep -q -a mine all.eventring || fail "a name is there"
is "of the runtime" true "$("$EVENTRING" dump --json all.eventring | jq -s 'map(.name) | (index("minor") and index("trace")) != null')"
SAROS_EVENTRING_REDACT=load SAROS_EVENTRING_START=1 "$SAROS" -e 'local e = require "saros.eventring"
  assert(not e.enable "load" and e.enable "io" and e.disable "load" and not e.classes().load)' || fail "enable"

# wrong lists
wrong() { # LIST TEXT
  SAROS_EVENTRING_REDACT=$1 SAROS_EVENTRING_START=1 "$SAROS" -e 'print(1)' >out.txt 2>errors.txt
  has "message of $1" "SAROS_EVENTRING_REDACT=" "$(cat errors.txt)"
  has "message of $1" "$2" "$(cat errors.txt)"
}
wrong "load,card" "is no class of this program"
wrong 'lifecycle' "always recorded"
wrong '"card' "is no class of this program"
wrong '""' "is no class of this program"
wrong '"ca*rd"' "at the end of a name"
wrong '"*pin"' "at the end of a name"
wrong "\"$(printf '%096d' 0)\"" "1 to"
wrong "\"a
b\"" "control"
finish
