# SPDX-License-Identifier: MIT
# A reader that is lapped: smallest ring, a flood of user events. Emitted =
# delivered + lost to the unit, no span matched with a stranger. The runtime's ring
# does not go round here, so whatever the reader's speed: nothing of it is lost.
. "$TESTSUITE/recording/_recording.sh"

export SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_WSIZE=11
mkfifo go
"$SAROS" "$TESTSUITE/recording/_flood.lua" $((400000 / TEST_SLOWNESS)) >output.txt &
pid=$!
await $pid
"$EVENTRING" dump --json --follow $pid >dump.json &
dumper=$!
"$EVENTRING" stats --json --seconds 10m $pid >stats.json &
watcher=$!
attached $dumper
attached $watcher
: >go
wait $pid || fail "the program: status $?"
wait $dumper || fail "dump: status $?"
wait $watcher || fail "stats: status $?"
read -r emitted collections <output.txt

ring='.domains[0].rings.user'
is "emitted" "$emitted" "$(jq "$ring | .emitted" stats.json)"
is "emitted = delivered + lost + missed" true \
  "$(jq "$ring | .emitted == .delivered + .lost + .missed" stats.json)"
[ "$(jq "$ring | .lost" stats.json)" -gt 0 ] || fail "the reader was not lapped; nothing was proved"
delivered=$(jq -s '[.[] | select(.ring == "user" and (.kind == "begin" or .kind == "end" or .kind == "counter" or .kind == "event") and (.synthetic | not))] | length' dump.json)
lost=$(jq -s '[.[] | select(.kind == "lost" and .ring == "user") | .count] | add // 0' dump.json)
is "dump: delivered + lost" "$emitted" $((delivered + lost))
# an end's begin is that of the same span: inner within outer, never negative
is "negative durations" 0 \
  "$(jq -s '[.[] | select(.kind == "end" and (.duration_ns // 0) < 0)] | length' dump.json)"
# counters count up by one but where a loss is reported
jq -e -s '[.[] | select(.kind == "counter" and .name == "i") | .value] | . == sort' dump.json >/dev/null ||
  fail "counter values out of order"
# a jump leads to a block that is read before the next one
is "losses without an event between" 0 \
  "$(jq -s '[.[] | select(.ring == "user") | .kind] | [., .[1:]] | transpose | map(select(. == ["lost", "lost"])) | length' dump.json)"

# the flood took nothing from the runtime's ring: neither from the readers nor in the file
whole='.domains[0].rings.runtime | .lost == 0 and .missed == 0 and .emitted == .delivered'
is "runtime ring" true "$(jq "$whole" stats.json)"
unset SAROS_EVENTRING_START
"$EVENTRING" stats --json $pid.eventring >kept.json || fail "stats of the file: $?"
is "runtime ring of the file" true "$(jq "$whole" kept.json)"
is "collections" "$collections" \
  "$(jq '[.spans[] | select(.name == "major") | .count] | add' kept.json)"
is "user ring of the file" true \
  "$(jq "$ring | .missed > 0 and .emitted == .missed + .delivered" kept.json)"
finish
