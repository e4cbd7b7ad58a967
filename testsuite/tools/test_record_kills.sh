# SPDX-License-Identifier: MIT
# eventring record: the recorder, or the process that it records, is killed at any moment;
# the file can be read, and its sums hold.
. "$TESTSUITE/tools/_tools.sh"

KILLS=${RECORD_KILLS:-$((TEST_SLOWNESS > 1 ? 6 : 20))}

sums() { query "$1" '[.domains[].rings[] | .emitted == .missed + .delivered + .lost] | all'; }

# Either the file was not begun yet and does not have its name, or it reads without damage.
check() { # WHAT
  local status
  [ -e killed.eventring ] || return
  "$EVENTRING" stats --json killed.eventring >stats.json 2>errors.txt
  status=$?
  is "$1: status" "0 " "$status $(cat errors.txt)"
  is "$1: sums" true "$(sums stats.json)"
  readable=$((readable + 1))
}

readable=0
for ((i = 0; i < KILLS; i++)); do
  SAROS_EVENTRING_WSIZE=14 start --domains 3 --rounds 300000 --pause-us 1
  "$EVENTRING" record -q --buffer-size 64K -o killed.eventring "$pid" &
  recorder=$!
  sleep 0.$((i * 37 % 40 + 10))
  kill -KILL $recorder
  wait $recorder 2>/dev/null
  check "recorder killed"
  kill "$pid"
  wait "$pid" 2>/dev/null
  rm -f killed.eventring killed.eventring.partial
done
[ $readable -gt $((KILLS / 2)) ] || fail "only $readable of $KILLS files were begun"

readable=0
for ((i = 0; i < KILLS; i++)); do
  SAROS_EVENTRING_WSIZE=18 start --domains 3 --rounds 300000 --pause-us 1
  "$EVENTRING" record -q -o killed.eventring "$pid" &
  recorder=$!
  for ((n = 0; n < 3000; n++)); do [ -e killed.eventring ] && break; sleep 0.01; done
  sleep 0.$((i * 37 % 40 + 10))
  kill -KILL "$pid"
  wait "$pid" 2>/dev/null
  wait $recorder || fail "process killed: status $?"
  check "process killed"
  # the recorder has what the process left, to the last event
  "$EVENTRING" stats --json "$pid.eventring" >left.json || fail "left: status $?"
  is_same "process killed: emitted" "$(query left.json '[.domains[].rings | map_values(.emitted)]')" \
    "$(query stats.json '[.domains[].rings | map_values(.emitted)]')"
  rm -f killed.eventring ./*.eventring
done
is "process killed: files" $KILLS $readable
finish
