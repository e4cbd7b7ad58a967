# SPDX-License-Identifier: MIT
# When the samples of a recording end, the process gives back what it took for them, also of
# thousands of stacks; it samples anew afterwards.
. "$TESTSUITE/recording/_recording.sh"
# malloc of sanitizers does not say how much it has given
if grep -q '__[at]san_init' "$SAROS"; then echo "malloc is that of a sanitizer"; exit 77; fi
pid=
trap '[ "$pid" ] && kill -KILL $pid 2>/dev/null' EXIT
SAROS_EVENTRING_START=1 "$SAROS" "$TESTSUITE/memprof/_many_stacks.lua" &
pid=$!
await $pid
used() { "$EVENTRING" memory --json $pid | jq .total.malloc_used_bytes; }
before=$(used)
is_more() { [ "$(used)" -gt $((before + 1000000)) ]; }
is_less() { [ "$(used)" -lt $((before + 500000)) ]; }
for round in 1 2; do
  "$EVENTRING" control --memprof 1 $pid || fail "round $round: cannot sample"
  until_so is_more || fail "round $round: samples take nothing: $before, $(used)"
  has_sites() { "$EVENTRING" heap --allocated $pid 2>sites.txt | grep -q "walk "; }
  until_so has_sites || fail "round $round: no sites: $(cat sites.txt)"
  "$EVENTRING" control --memprof off $pid || fail "round $round: cannot stop"
  until_so is_less || fail "round $round: $before bytes before, $(used) afterwards"
done
: >stop
wait $pid
is "status" 0 $?
pid=
finish
