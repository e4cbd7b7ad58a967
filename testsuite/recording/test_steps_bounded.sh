# SPDX-License-Identifier: MIT
# No single step of the collector does more work than doc/COLLECTOR.md says, whatever a program
# piles up for it: the rows of _steps_bounded.lua. test_pause_work.sh does the same for giant
# structures.
#
#   make check-steps [STEPS="ROW..."]     all rows, or these; as a test of the suite: a few
. "$TESTSUITE/recording/_recording.sh"

[ "$TEST_SLOWNESS" -eq 1 ] ||
  { echo "collects everywhere: nothing is paced in this build"; exit 77; }
limit=$(sed -n 's/^Bound of `pause_work`: \([0-9]*\) KiB.*/\1/p' "$TESTSUITE/../doc/COLLECTOR.md")
[ "${limit:-0}" -gt 0 ] || { fail "no bound in doc/COLLECTOR.md"; finish; }

# most NAME: the greatest value of a counter, of all domains
most() { jq "[.counters[] | select(.name == \"$1\") | .max] | max // 0" stats.json; }

# check ROW
check() {
  local work cycles
  rm -f ./*.eventring
  SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_WSIZE=20 SAROS_EVENTRING_CLASSES=gc,gc_detail \
    timeout 100 "$SAROS" "$TESTSUITE/recording/_steps_bounded.lua" "$1" >out.txt 2>&1 ||
    { fail "$1: status $?: $(tail -n 1 out.txt)"; return; }
  "$EVENTRING" stats --json ./*.eventring >stats.json
  work=$(most pause_work)
  cycles=$(jq '[.events[]? | select(.name == "major_begin") | .count] | add // 0' stats.json)
  printf '%-24s %7d KiB, %6d us CPU at most, %d cycles\n' "$1" $((work / 1024)) $(($(most pause_cpu) / 1000)) "$cycles"
  [ "$work" -gt 0 ] || fail "$1: no step of the collector was seen"
  [ "$work" -le $((limit * 1024)) ] ||
    fail "$1: a step did $((work / 1024)) KiB of work, more than $limit KiB"
  # a piece of a deep stack is bounded by its slots: it takes longer than other work
  [ "$1" != deep_varargs ] || [ "$work" -le $((1024 * 1024)) ] ||
    fail "$1: a step scanned $((work / 1024)) KiB of one stack"
}

few="array_cards constants deep_varargs many_arguments many_functions messages pack recursing_threads
  small_weak_values table_move unpack weak_at_once weak_memo"
rows=${STEPS:-$few}
[ "$rows" = all ] && rows=$("$SAROS" "$TESTSUITE/recording/_steps_bounded.lua")
for row in $rows; do check "$row"; done
finish
