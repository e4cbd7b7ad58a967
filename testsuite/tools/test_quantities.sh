# SPDX-License-Identifier: MIT
# What events are about is told by their definitions: a host that calls its events as it likes
# has its heap, its pauses and their work in every command.
. "$TESTSUITE/tools/_tools.sh"

HOST=$BUILDDIR/testsuite/tools/renamed_host
[ -x "$HOST" ] || { echo "$HOST is not built"; exit 77; }

host() { # FILE COUNT MOST
  SAROS_EVENTRING_STREAM=$1 "$HOST" "${@:2}" || fail "renamed_host $*"
}
host a.eventring 10 1000000
host b.eventring 20 1000000
host odd.eventring 3 8000

is "stats: words" "[1000,100]" "$("$EVENTRING" stats --json a.eventring |
  jq -c 'first(.. | objects | select(has("allocated_words"))) | [.allocated_words, .promoted_words]')"
is "pauses: their work" "[10,4096,4105]" "$("$EVENTRING" pauses --json --top 20 a.eventring |
  jq -c '[.rows[].work_bytes] | [length, min, max]')"
is "show" '["allocated","cycle_begin","cycle_end","heap","off_cpu","pause_work","promoted"]' \
  "$("$EVENTRING" show --json a.eventring |
    jq -c '[.. | objects | .quantity? // empty] | unique')"

# the work of the collector and CPU times are compared
"$EVENTRING" diff --json a.eventring b.eventring >diff.json
is "diff" '["CPU time","collector, work","pause, most work"]' "$(jq -c \
  '[.. | objects | .name? // empty | select(. == "CPU time" or . == "collector, work" or
    . == "pause, most work")] | unique' diff.json)"

ends 0 "" "$EVENTRING" check -e 'max(heap) == 1000000; count(pause) == 10; heap < 1M' a.eventring
ends 3 "" "$EVENTRING" check -e 'heap < 900000' a.eventring
SAROS_EVENTRING_TRIGGER="heap > 900000" host watched.eventring 10 1000000
has "a trigger on the heap" "trigger1-heap" "$(ls)"
SAROS_EVENTRING_TRIGGER="heap > 900000" host low.eventring 10 100000
is "a trigger that is not met" "" "$(ls | grep low-trigger)"
is "autopsy: the cycle under way" true "$("$EVENTRING" autopsy --json odd.eventring |
  jq '[.collector.cycles[].number] == [1]')"
finish
