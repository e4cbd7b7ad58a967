# SPDX-License-Identifier: MIT
# eventring record: for how long events were lost. Nothing is lost while nothing hinders the
# recorder; while it stands still it loses what the rings do not hold, and the time is that for
# which it stood. Rings of the size that the summary names lose nothing then.
. "$TESTSUITE/tools/_tools.sh"

# record_with_a_stop WSIZE SECONDS: the recorder stands still for that long (0: never);
# record.json; `stood`: ns
record_with_a_stop() {
  rm -f lost.eventring
  SAROS_EVENTRING_WSIZE=$1 start --domains 1 --rounds 1000000 --pause-us 100 --users 2
  "$EVENTRING" record -q --json -o lost.eventring "$pid" >record.json 2>errors.txt &
  recorder=$!
  until_so shows lost.eventring || fail "nothing is recorded"
  sleep 0.5
  stood=0
  if [ "$2" != 0 ]; then
    local begun
    begun=$(date +%s%N)
    kill -STOP $recorder
    sleep "$2"
    kill -CONT $recorder
    stood=$(($(date +%s%N) - begun))
  fi
  sleep 0.7
  kill -INT $recorder
  wait $recorder || fail "record: status $? $(cat errors.txt)"
  kill "$pid"
  wait "$pid" 2>/dev/null
  is "sums" true "$(query record.json '.emitted == .missed + .saved + .lost')"
}

# On a machine that stood still itself, once more
nothing_is_lost() {
  record_with_a_stop "$1" "$2"
  [ "$(query record.json '[.lost, .lost_ns, (.rings | map(.lost_ns) | add)]')" = "[0,0,0]" ]
}
until_so nothing_is_lost 16 0 || fail "undisturbed: $(cat record.json)"

# The rings hold some milliseconds of it.
the_time_is_known() {
  record_with_a_stop 12 1
  query record.json "[.lost > 0, .lost_ns > 0.8 * $stood, .lost_ns < 1.1 * $stood,
    .lost_ns >= (.rings | map(.lost_ns) | max), .lost_ns <= (.rings | map(.lost_ns) | add)]" >times.txt
  [ "$(cat times.txt)" = "[true,true,true,true,true]" ]
}
until_so the_time_is_known || fail "stood for $stood ns: $(cat times.txt record.json)"
"$EVENTRING" stats --json lost.eventring >stats.json || fail "stats: status $?"
is_same "lost, in the file" "$(query record.json .lost)" \
  "$(query stats.json '[.domains[].rings[].lost] | add')"

needed=$(query record.json '.rings | map(.wsize_needed) | max')
[ "$needed" -gt 12 ] && [ "$needed" -le 24 ] || fail "wsize_needed: $needed"
until_so nothing_is_lost "$needed" 1 || fail "with rings of $needed: $(cat record.json)"
finish
