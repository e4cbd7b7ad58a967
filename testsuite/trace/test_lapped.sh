# A reader that is lapped: smallest ring, a flood of user events. Emitted =
# delivered + lost to the unit, no span matched with a stranger, and the
# collector's spans of the same period all there.
. "$TESTSUITE/trace/_trace.sh"

export SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_WSIZE=11
flood() {
  "$SAROS" "$TESTSUITE/trace/_flood.lua" $((400000 / TEST_SLOWNESS)) >emitted.txt &
  pid=$!
  await $pid
  "$EVENTRING" dump --json --follow $pid >dump.json &
  dumper=$!
  "$EVENTRING" stats --json $pid >stats.json &
  watcher=$!
  sleep 0.1
  touch go
  wait $pid || fail "the program: status $?"
  wait $dumper || fail "dump: status $?"
  wait $watcher || fail "stats: status $?"
}

# The runtime's ring is just as small: on a busy machine the reader can be off the
# processor for as long as that one takes to go round, which is no fault of the
# flood. Then it is tried again.
runtime_whole='.domains[0].rings.runtime | .lost == 0 and .emitted == .delivered'
for _ in 1 2 3 4 5; do
  rm -f go
  flood
  [ "$(jq "$runtime_whole" stats.json)" = true ] && break
done

ring='.domains[0].rings.user'
is "emitted" "$(cat emitted.txt)" "$(jq "$ring | .emitted" stats.json)"
is "emitted = delivered + lost + missed" true "$(jq "$ring | .emitted == .delivered + .lost + .missed" stats.json)"
[ "$(jq "$ring | .lost" stats.json)" -gt 0 ] || fail "the reader was not lapped; nothing was proved"
delivered=$(jq -s '[.[] | select(.ring == "user" and (.kind == "begin" or .kind == "end" or .kind == "counter" or .kind == "event") and (.synthetic | not))] | length' dump.json)
lost=$(jq -s '[.[] | select(.kind == "lost" and .ring == "user") | .count] | add // 0' dump.json)
is "dump: delivered + lost" "$(cat emitted.txt)" $((delivered + lost))
# an end's begin is that of the same span: inner within outer, never negative
is "negative durations" 0 "$(jq -s '[.[] | select(.kind == "end" and (.duration_ns // 0) < 0)] | length' dump.json)"
# counters count up by one but where a loss is told
jq -e -s '[.[] | select(.kind == "counter" and .name == "i") | .value] | . == sort' dump.json >/dev/null ||
  fail "counter values out of order"
is "runtime ring" true "$(jq "$runtime_whole" stats.json)"
finish
