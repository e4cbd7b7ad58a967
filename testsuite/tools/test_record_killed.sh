# SPDX-License-Identifier: MIT
# eventring record, killed at any moment after its start or after a rotation: what has the name
# of a recording can be read.
. "$TESTSUITE/tools/_tools.sh"

cat >work.lua <<'END'
local eventring = require "saros.eventring"
local begin_span, end_span = eventring.begin_span, eventring.end_span
while not io.open "stop" do
  for i = 1, 1000 do begin_span "work" end_span "work" end
end
END
SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=0 "$SAROS" work.lua &
program=$!
until_so [ -e $program.eventring ] || fail "the program does not record"

# readable WHAT FILE...: each is a recording
readable() {
  local what=$1 file
  shift
  for file in "$@"; do
    timeout $PATIENCE "$EVENTRING" show "$file" >show.txt 2>&1 || fail "$what: $file: $(cat show.txt)"
  done
}
shopt -s nullglob

# How long this machine takes, now and in this build, until a recorder has named its file (and
# rotated once more): kills fall into one and a half of that.
milliseconds() { echo $(($(date +%s%N) / 1000000)); }
began=$(milliseconds)
"$EVENTRING" record -q --rotate-time 20ms -o paced.eventring $program 2>/dev/null &
recorder=$!
until_so [ -e paced.1.eventring ] || fail "nothing is recorded"
start_ms=$(($(milliseconds) - began))
until_so [ -e paced.2.eventring ] || fail "nothing rotates"
turn_ms=$(($(milliseconds) - began))
kill -9 $recorder
wait $recorder 2>/dev/null
after() { sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"; }

named=
for ((i = 0; i < 25; i++)); do
  "$EVENTRING" record -q -o "first$i.eventring" $program 2>/dev/null &
  recorder=$!
  after $((start_ms * 3 * i / 50))
  kill -9 $recorder
  wait $recorder 2>/dev/null
  [ -e "first$i.eventring" ] || continue
  readable "killed $((start_ms * 3 * i / 50)) ms after its start" "first$i.eventring"
  named=first$i.eventring
done
[ -n "$named" ] || fail "no recorder came as far as to name its file"
for ((i = 0; i < 10; i++)); do
  "$EVENTRING" record -q --rotate-time 20ms -o "turn$i.eventring" $program 2>/dev/null &
  recorder=$!
  after $((turn_ms + i * 7))
  kill -9 $recorder
  wait $recorder 2>/dev/null
  readable "killed while it rotates" turn$i.*eventring
done
[ "$(ls turn*.eventring | wc -l)" -gt 10 ] || fail "it did not rotate"
[ "$(ls ./*.partial | wc -l)" -le 36 ] || fail "more than one unfinished file a recorder"
touch stop
wait $program
"$EVENTRING" record -q -o there.eventring "$named" || fail "record a file"
is "the name is complete" "there.eventring" "$(ls there.eventring*)"
finish
