# SPDX-License-Identifier: MIT
# Attached to a process: until it ends, with its last event; for --seconds; by
# pid and by file; without disturbing it.
. "$TESTSUITE/tools/_tools.sh"

# until it ends
start --rounds 400 --pause-us 1000 --hold-ms 1500 --open
"$EVENTRING" stats --json --seconds 10m "$pid" >stats.json &
first=$!
"$EVENTRING" dump --json --follow "$pid" >dump.json || fail "dump --follow: $?"
wait $first || fail "stats PID: $?"
wait $pid || fail "the producer: $?"
is "minor" 400 "$(query stats.json '.spans[] | select(.name == "minor") | .count')"
is "minor in the dump" 400 \
  "$(jq -s '[.[] | select(.kind == "end" and .name == "minor")] | length' dump.json)"
is "open at the end" '["minor_roots","serve"]' \
  "$(jq -c -s '[.[] | select(.kind == "open") | .name] | sort' dump.json)"
is "sums" true "$(query stats.json '[.domains[].rings[] | .emitted == .delivered] | all')"
is "its last event" true "$(query stats.json '[.events[].name] | index("domain_stop") != null')"
is "no file is left" 0 "$(ls -- *.eventring 2>/dev/null | wc -l)"

# killed while attached
start --rounds 1000000 --pause-us 500
"$EVENTRING" stats --json --seconds 10m "$pid" >stats.json &
reader=$!
attached $reader
sleep 0.3
kill -9 $pid
wait $reader || fail "stats of one that is killed: $?"
is "it died" '"dead"' "$(query stats.json .liveness)"
is "spans match" "[]" "$(query stats.json '[.spans[] | select(.torn > 0)]')"
rm -f -- *.eventring

# truncated while attached: both say of which process and file
start --rounds 1000000 --pause-us 500
"$EVENTRING" stats --seconds 10m "$pid" >stats.txt 2>errors.txt &
reader=$!
attached $reader
sleep 0.3
: >"$pid.eventring"
wait $reader && fail "stats of one that is truncated: 0"
has "whose" "process $pid" "$(head -n 1 stats.txt)"
has "its file" "$pid.eventring" "$(sed -n 2p stats.txt)"
has "the file in the message" "/$pid.eventring: the file ends" "$(cat errors.txt)"
kill $pid
wait $pid
rm -f -- *.eventring

# for some time, from now on, by file
start --rounds 1000000 --pause-us 500
file=$(echo "$PWD"/*.eventring)
began=$(date +%s%N)
"$EVENTRING" stats --json --seconds 0.4 "$file" >stats.json || fail "--seconds: $?"
took=$((($(date +%s%N) - began) / 1000000))
[ $took -ge 390 ] && [ $took -lt $((3000 * TEST_SLOWNESS)) ] || fail "--seconds 0.4 took $took ms"
is "alive" '"live"' "$(query stats.json .liveness)"
is "watched" true "$(query stats.json '.domains[0].watched_ns > 3e8')"
"$EVENTRING" stats --json --from-now --seconds 200ms "$pid" >now.json || fail "--from-now: $?"
is "missed is reported" true "$(query now.json '.total.missed > 0')"
is "watched from then on" true "$(query now.json ".domains[0].watched_ns < 2e9 * $TEST_SLOWNESS")"

# a snapshot of the living; SIGINT ends watching with the figures
"$EVENTRING" snapshot -o copy.eventring "$pid" || fail "snapshot: $?"
is "a copy is a copy" '"saved"' "$("$EVENTRING" show --json copy.eventring | jq .liveness)"
"$EVENTRING" stats copy.eventring >/dev/null || fail "stats of a snapshot: $?"
# (a background job of a shell ignores SIGINT, SIGTERM does the same)
"$EVENTRING" stats --json --seconds 10m "$pid" >stats.json &
reader=$!
attached $reader
sleep 0.3
kill -TERM $reader
wait $reader || fail "stats ended by a signal: $?"
is "figures after a signal" true "$(query stats.json '[.spans[] | .count] | add > 10')"
kill $pid
wait $pid 2>/dev/null
finish
