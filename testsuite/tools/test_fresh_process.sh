# SPDX-License-Identifier: MIT
# A process that a shell has just put into the background can be asked at once, as README's commands
# do: it gets time to begin recording. Others are told at once that they do not record.
. "$TESTSUITE/tools/_tools.sh"

# what has this number becomes a recorded program after a while
(sleep 0.7; SAROS_EVENTRING_START=1 exec "$PRODUCER" --rounds 100000000 >producer.txt) &
pid=$!
"$EVENTRING" stats --seconds 0.1 $pid >out.txt 2>&1 || fail "asked at once: $?: $(cat out.txt)"
has "asked at once" "process $pid, still running" "$(cat out.txt)"
kill $pid
wait $pid 2>/dev/null

sleep 1000 &
pid=$!
ends 1 "process $pid does not record" "$EVENTRING" stats $pid
began=$(date +%s%N)
ends 1 "process $pid does not record" "$EVENTRING" stats $pid # which has had its time by now
took=$((($(date +%s%N) - began) / 1000000))
[ $took -lt $((1500 * TEST_SLOWNESS)) ] || fail "an old process was waited for, for $took ms"
kill $pid
finish
