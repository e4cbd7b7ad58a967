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
# The pauses wait, they do not work: of their time they are off the processor.
ends 0 "" "$EVENTRING" check -e 'pause >= 5ms; cpu(pause) <= 2500us; sum(cpu(pause)) < 25ms' a.eventring
SAROS_EVENTRING_CPU_TIME=0 host wall.eventring 10 1000
ends 3 "" "$EVENTRING" check -e 'cpu(pause) < 1s' wall.eventring
has "undecided" "its ends do not say" "$(cat stdout.txt)"
for trigger in "pause > 4999us" "cpu(pause) > 4999us"; do
  rm -f ./*trigger*
  SAROS_EVENTRING_TRIGGER="$trigger" SAROS_EVENTRING_START=1 SAROS_EVENTRING_NAME=paused \
    "$HOST" 10 1000
  echo "$trigger: $(ls | grep -c trigger)" >>fired.txt
done
is "triggers" "pause > 4999us: 1
cpu(pause) > 4999us: 0" "$(cat fired.txt)"
SAROS_EVENTRING_TRIGGER="heap > 900000" host watched.eventring 10 1000000
has "a trigger on the heap" "trigger1-heap" "$(ls)"
SAROS_EVENTRING_TRIGGER="heap > 900000" host low.eventring 10 100000
is "a trigger that is not met" "" "$(ls | grep low-trigger)"
is "autopsy: the cycle under way" true "$("$EVENTRING" autopsy --json odd.eventring |
  jq '[.collector.cycles[].number] == [1]')"
finish
