# SPDX-License-Identifier: MIT
# kill -9 at random moments of an allocating program: the file reads every time,
# its spans match, and its last event is no older than the last collection: the
# program notes by itself, outside the recording, how many collections it saw.
. "$TESTSUITE/recording/_recording.sh"

export SAROS_EVENTRING_START=1
times=$((100 / TEST_SLOWNESS))
[ $times -ge 10 ] || times=10
for i in $(seq $times); do
  rm -f seen # of the run before, if this one is killed before its first collection
  "$SAROS" "$TESTSUITE/recording/_churn.lua" &
  pid=$!
  await $pid
  sleep "0.0$((RANDOM % 90 + 10))"
  kill -9 $pid
  wait $pid 2>/dev/null
  file=$pid.eventring
  [ -e "$file" ] || { fail "run $i: no file is left"; continue; }
  "$EVENTRING" stats --json "$file" >stats.json || fail "run $i: stats: status $?"
  "$EVENTRING" dump --json "$file" >dump.json || fail "run $i: dump: status $?"
  is "run $i: liveness" '"dead"' "$(jq .liveness stats.json)"
  is "run $i: torn spans" 0 "$(jq '[.spans[].torn] | add // 0' stats.json)"
  # every begin but those open at the end has its end
  jq -s -e '
    (map(select(.kind == "begin")) | length) as $b |
    (map(select(.kind == "end")) | length) as $e |
    (map(select(.kind == "open")) | length) as $o | $b == $e + $o' dump.json >/dev/null ||
    fail "run $i: begins and ends do not match"
  seen=$(cat seen 2>/dev/null)
  minors=$(jq -s '[.[] | select(.kind == "end" and .name == "minor")] | length' dump.json)
  [ "$minors" -ge "${seen:-0}" ] ||
    fail "run $i: the program saw $seen collections, the file shows $minors"
  rm -f "$file"
done
finish
