#!/bin/bash
# SPDX-License-Identifier: MIT
# make bench-answers [ANSWERS_MB=n] [ROUNDS=n]: what the questions cost over a long recording,
# beside `cat` of the same file, alternately: the least and the median of the time and of the
# processor time of each, the ratio of the medians to those of `cat`, and the memory. `cat`
# stands twice in a round: the second is the control.
#
# Then the processor time of an event, in ns, of recordings of each kind of events (kinds.c), also
# packed and with losses: one kind that is fast says nothing of the others.
#
#   BUILDDIR=... answers.sh MEGABYTES ROUNDS [KIND...]
#
# With KINDs these alone.
set -u
megabytes=${1:-1000} rounds=${2:-5}
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
shift $(($# < 2 ? $# : 2))
saros=$BUILDDIR/saros eventring=$BUILDDIR/eventring/eventring

# ---- Each kind of events ----
kinds=(plain drawn ints strings contexts links counters events mixed plain2 plain4 plain8 mixed2
  mixed8 links4 packed lossy)
events=$((megabytes * 8000))

record_kind() {
  case $1 in
    packed) SAROS_EVENTRING_WSIZE=22 "$eventring" record -q --zstd -o packed.eventring -- \
      "$BUILDDIR/testsuite/bench/kinds" plain "$events" ring ;;
    lossy) SAROS_EVENTRING_WSIZE=12 "$eventring" record -q -o lossy.eventring -- \
      "$BUILDDIR/testsuite/bench/kinds" plain "$events" ring ;;
    *) "$BUILDDIR/testsuite/bench/kinds" "$1" "$events" . ;;
  esac
}

# cpu NAME COMMAND...: seconds of the processor into NAME.cpu
cpu() {
  local name=$1 TIMEFORMAT='%3U %3S'
  shift
  { time "$@" >/dev/null 2>&1; } 2>>"$name.cpu"
}
# each NAME EVENTS: least and median in ns an event
each() {
  awk '{print $1 + $2}' "$1.cpu" | sort -n |
    awk -v n="$2" '{v[NR] = $1 * 1e9 / n} END {printf "%7.1f %6.1f", v[1], v[int((NR + 1) / 2)]}'
}
measure_kind() {
  local kind=$1 file=$1.eventring read round
  record_kind "$kind" || { echo "cannot record $kind"; return; }
  read=$("$eventring" stats --json "$file" 2>/dev/null | grep -o '"delivered":[0-9]*' | head -1)
  read=${read#*:}
  rm -f ./*.cpu
  for ((round = 0; round < rounds; round++)); do
    cpu cat cat "$file"
    cpu stats "$eventring" stats "$file"
    cpu spans "$eventring" spans "$file"
    cpu stats1 taskset -c 0 "$eventring" stats "$file"
    cpu spans1 taskset -c 0 "$eventring" spans "$file"
  done
  printf '%-9s %10d %6.1f %s %s %s %s %s\n' "$kind" "$read" \
    "$(stat -c %s "$file" | awk -v n="$read" '{print $1 / n}')" "$(each cat "$read")" \
    "$(each stats "$read")" "$(each spans "$read")" "$(each stats1 "$read")" "$(each spans1 "$read")"
  rm -f "$file"
}
all_kinds() {
  printf '%-9s %10s %6s %14s %14s %14s %14s %14s\n' "ns an event" events bytes "cat" stats spans \
    "stats, one CPU" "spans, one CPU"
  local kind
  for kind in "$@"; do measure_kind "$kind"; done
}
# worst: the greatest median of both, and of which kind
worst() {
  awk '$2 ~ /^[0-9]+$/ && NF >= 13 {
    if ($7 > most) {most = $7; which = "stats of " $1}
    if ($9 > most) {most = $9; which = "spans of " $1}
  } END {printf "worst: %.1f ns an event, %s\n", most, which}' "$1"
}
if [ $# -gt 0 ]; then
  all_kinds "$@" | tee kinds.txt
  worst kinds.txt
  exit
fi

# ---- A long recording of a guest program ----
. "$here/_long_recording.sh" "$megabytes"
file=work.eventring
cat $file >/dev/null

# took NAME COMMAND...: seconds, of the processor too, and kilobytes into NAME.times
took() {
  local name=$1
  shift
  /usr/bin/time -a -o "$name.times" -f '%e %U %S %M' "$@" >/dev/null || echo "status $? of $*"
}
for ((round = 0; round < rounds; round++)); do
  took cat cat $file
  took pauses "$eventring" pauses $file
  took spans "$eventring" spans $file
  took stats "$eventring" stats $file
  took view "$eventring" view -o page.html $file
  rm -f page.html
  took control cat $file
done
printf '%s bytes, %d rounds, %s processors\n' "$(stat -c %s $file)" "$rounds" "$(nproc)"
# times NAME 0|1: least and median of the seconds, or of those of the processor
times() {
  awk -v cpu="$2" '{print cpu ? $2 + $3 : $1}' "$1.times" | sort -n |
    awk '{v[NR] = $1} END {print v[1], v[int((NR + 1) / 2)]}'
}
printf '%-8s %18s %9s %22s %9s %7s\n' "" "seconds: least, mid" "times cat" "processor: least, mid" \
  "times cat" MiB
for name in cat control pauses spans stats view; do
  echo "$(times $name 0) $(times $name 1) $(times cat 0) $(times cat 1)" \
    "$(awk '$4 > m {m = $4} END {print m / 1024}' $name.times)" |
    awk -v name=$name 'function ratio(a, b) {return b > 0 ? a / b : 0}
      {printf "%-8s %10.3f %8.3f %9.1f %13.3f %8.3f %9.1f %7.1f\n", name, $1, $2, ratio($2, $6),
              $3, $4, ratio($4, $8), $9}'
done
rm -f $file
echo
all_kinds "${kinds[@]}" | tee kinds.txt
worst kinds.txt
