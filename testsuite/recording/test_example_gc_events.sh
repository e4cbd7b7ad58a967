# SPDX-License-Identifier: MIT
# examples/gc-events.lua: the share of the collector is a part of a whole by one clock, also
# where the program has a processor for a part of the time only. (It was more than 100 %: pauses
# by the recording's clock, of the CPU time.) Its figures are those of the recording.
. "$TESTSUITE/recording/_recording.sh"

SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_WSIZE=20 "$SAROS" \
  -e 'local clock = os.clock function os.clock() return clock() / 20 end' \
  "$SRCDIR/examples/gc-events.lua" --seconds 0.5 >out.txt || fail "status $?"
is "shares above 100 %" "" "$(grep -E '[0-9]{3,}\.[0-9] % of the time' out.txt)"
has "events lost" ", 0 events lost" "$(cat out.txt)"
watched=$(sed -n 's/ ms watched, .*//p' out.txt) busy=$(sed -n 's/.* watched, \(.*\) ms of it .*/\1/p' out.txt)
is "watched before" true "$(jq -n "$watched >= 500 and $busy > 0 and $busy < $watched")"

"$EVENTRING" dump --json ./*.eventring >dump.json || fail "dump: $?"
# Four looks follow the report.
jq -s '[.[] | select(.name == "look") | .ns] as $looks | $looks[0] as $first | $looks[-5] as $last |
  [.[] | select(.ring == "runtime" and .depth == 0 and .ns > $first and .ns < $last)] |
  {watched: ($last - $first), busy: (map(if .kind == "end" then .ns elif .kind == "begin" then -.ns else 0 end) | add)}' \
  dump.json >true.json
is_same "watched" "$(jq -r '.watched / 1e6 | . * 1000 | round' true.json)" "$(jq -n "$watched * 1000 | round")"
is_same "busy" "$(jq -r '.busy / 1e6 | . * 1000 | round' true.json)" "$(jq -n "$busy * 1000 | round")"
