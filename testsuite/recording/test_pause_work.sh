# SPDX-License-Identifier: MIT
# Giant structures: no single step of the collector does more work than doc/COLLECTOR.md
# says, whatever the structure. Durations are not asserted; testsuite/bench/pauses.sh
# shows them. Each structure holds more than the bound, so that one that were
# gone through at once would show.
. "$TESTSUITE/recording/_recording.sh"

[ "$TEST_SLOWNESS" -eq 1 ] ||
  { echo "collects everywhere: nothing is paced in this build"; exit 77; }
limit=$(sed -n 's/^Bound of `pause_work`: \([0-9]*\) KiB.*/\1/p' "$TESTSUITE/../doc/COLLECTOR.md")
[ "${limit:-0}" -gt 0 ] || { fail "no bound in doc/COLLECTOR.md"; finish; }

# check SCENARIO SCALE [SECONDS]
check() {
  rm -f ./*.eventring
  PAUSES_SCALE=$2 SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_WSIZE=20 \
    "$SAROS" "$TESTSUITE/bench/pauses.lua" "$1" "${3:-0.3}" >out.txt ||
      { fail "$1: status $?"; return; }
  "$EVENTRING" stats --json ./*.eventring >stats.json
  local most cycles
  most=$(jq '[.counters[] | select(.name == "pause_work") | .max] | max // 0' stats.json)
  cycles=$(jq '[.events[]? | select(.name == "major_begin") | .count] | add // 0' stats.json)
  echo "$1: $((most / 1024)) KiB at most, $cycles cycles"
  [ "$most" -gt 0 ] || fail "$1: no step of the collector was seen"
  [ "$most" -le $((limit * 1024)) ] ||
    fail "$1: a step did $((most / 1024)) KiB of work, more than $limit KiB"
}

check array 0.1
check growing_array 0.2
check hash 0.2
check growing_hash 0.2
check weak_values 0.2
check weak_values_dying 0.2 1.5
check weak_keys 0.2
check weak_keys_dying 0.2 1.5
check ephemerons 0.2
check ephemeron_chain 0.2
check coroutines 0.3
check finalizers 1
check finalizers_dying 0.5
check list 0.2
check hidden 0.2 1
check long_string 0.3
check recursion 1
check strings 0.2
check closures 0.2
check stores 0.2
finish
