# SPDX-License-Identifier: MIT
# Triggers, set by the environment and from outside: what they save of programs that end in
# any way, where nothing can be saved, and what killed programs leave.
. "$TESTSUITE/faults/_faults.sh"
unset SAROS_EVENTRING_TRIGGER

copies() { find "$1" -name "*-trigger*-$2.eventring" 2>/dev/null | wc -l; }
has_copies() { [ "$(copies "$1" "$2")" -ge "${3:-1}" ]; }

# an error that ends the program; the copy has its text
mkdir error
SAROS_EVENTRING_TRIGGER='error, dir=error' "$SAROS" -e 'error "it broke"' 2>"$errors"
is "error: status" 1 $?
is "error: copies" 1 "$(copies error error)"
has "error: text" "it broke" "$("$EVENTRING" show error/*-error.eventring)"

# a signal that ends it, in order or not
for signal in TERM ABRT; do
  mkdir $signal
  SAROS_EVENTRING_TRIGGER="signal, dir=$signal" "$SAROS" -e "
    io.open('ready', 'w'):close() while true do end" 2>"$errors" &
  pid=$!
  until_so test -e ready
  kill -$signal $pid
  wait $pid 2>/dev/null
  is "signal $signal: copies" 1 "$(copies $signal signal)"
  rm -f ready ./*.eventring
done

rm -rf error TERM ABRT

# a text that is no trigger: a warning, and the program runs
SAROS_EVENTRING_TRIGGER='pause > 5' unrecorded "no trigger" "$SAROS" program.lua
has "no trigger: where" "column 10" "$(cat "$errors")"
no_file_in "no trigger" .

# from outside, by two tools at once; what both write, the later is
SAROS_EVENTRING_START=1 "$SAROS" -e '
  local eventring = require "saros.eventring"
  while not io.open "end" do
    eventring.counter("n", 0) eventring.counter("n", 10) collectgarbage "step"
  end' 2>"$errors" &
pid=$!
await $pid
for _ in 1 2 3; do
  "$EVENTRING" control $pid --trigger 'counter("n") > 5, dir=outside, cooldown=1ms, max=3' &
  one=$!
  "$EVENTRING" control $pid --trigger 'counter("n") > 5, dir=outside, cooldown=1ms, max=3' ||
    fail "control: $?"
  wait $one || fail "control at once: $?"
done
until_so has_copies outside counter 3 || fail "from outside: $(ls outside)"
"$EVENTRING" control $pid --trigger off || fail "off: $?"
"$EVENTRING" control $pid --trigger 'heap > 1, dir=heap'
until_so has_copies heap heap || fail "from outside: no heap"
"$EVENTRING" control $pid --trigger 'heap > ' 2>wrong.txt
is "from outside: wrong text" 2 $?
# at the end triggers are set; AddressSanitizer looks for what is held then
touch end
wait $pid
is "from outside: status" 0 $?
is "from outside: said" "" "$(cat "$errors")"

# set from outside where the recording has no room for their events any more
rm -f end
SAROS_EVENTRING_START=1 SAROS_EVENTRING_STREAM=full.eventring,max=2M "$SAROS" -e '
  local eventring, n = require "saros.eventring", 0
  while not io.open "end" do
    n = n + 1
    if n < 2000 then eventring.event("name " .. n) end
    for i = 1, 1000 do eventring.event("filler", i) end
    if n == 2000 then io.open("defined", "w"):close() end
  end' 2>"$errors" &
pid=$!
until_so test -e defined
"$EVENTRING" control $pid --trigger 'span("main") > 1s; heap > 100G, max=3' || fail "no room: $?"
conditions() { "$EVENTRING" control --status --json $pid | jq -r '.triggers[].condition' | xargs; }
are_listed() { [ "$(conditions)" = "span(main) > 1s heap > 100G" ]; }
until_so are_listed || fail "no room: $("$EVENTRING" control --status --json $pid | jq -c .triggers)"
"$EVENTRING" control $pid --trigger off
are_none() { [ -z "$(conditions)" ]; }
until_so are_none || fail "no room: not off: $(conditions)"
touch end
wait $pid
is "no room: status" 0 $?
rm -f end defined ./*.eventring

# a copy under way of a dead process goes, one that is being written does not
mkdir parts
echo >parts/1-trigger1-heap.eventring.part
echo >parts/2-trigger1-heap.eventring.part
python3 -c '
import fcntl, sys, time
part = open("parts/2-trigger1-heap.eventring.part", "r+")
fcntl.lockf(part, fcntl.LOCK_EX)
open("locked", "w").close()
sys.stdin.read()' < <(until_so test -e cleaned) &
until_so test -e locked
"$EVENTRING" clean --dry-run parts | grep -q "would remove parts/1-" || fail "clean --dry-run"
"$EVENTRING" clean parts >clean.txt || fail "clean: $?"
touch cleaned
is "clean" "2-trigger1-heap.eventring.part" "$(ls parts)"
wait

# a directory that cannot be made
SAROS_EVENTRING_TRIGGER='pause > 0ns, dir=nobody/there, cooldown=1ms' \
  undisturbed "nowhere to save" "$SAROS" program.lua
has "nowhere to save: why" "cannot make directory" "$(cat "$errors")"

# a full disk
if [ "$(id -u)" -eq 0 ] && mkdir disk && mount -t tmpfs -o size=16k tmpfs disk 2>/dev/null; then
  trap 'umount "$PWD/disk"' EXIT
  SAROS_EVENTRING_TRIGGER='pause > 0ns, dir=disk, cooldown=1ms' \
    undisturbed "a full disk" "$SAROS" program.lua
  has "a full disk: why" "No space" "$(cat "$errors")"
  is "a full disk: files left" "" "$(ls disk)"
fi
finish
