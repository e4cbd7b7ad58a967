#!/bin/bash
# SPDX-License-Identifier: MIT
# make bench-answers [ANSWERS_MB=n] [ROUNDS=n]: what the questions cost over a long recording,
# beside `cat` of the same file, alternately: the least and the median of the time and of the
# processor time of each, the ratio of the medians to those of `cat`, and the memory. `cat`
# stands twice in a round: the second is the control.
#
#   BUILDDIR=... answers.sh MEGABYTES ROUNDS
set -u
megabytes=${1:-1000} rounds=${2:-5}
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
saros=$BUILDDIR/saros eventring=$BUILDDIR/eventring/eventring

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
