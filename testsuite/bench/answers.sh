#!/bin/bash
# SPDX-License-Identifier: MIT
# make bench-answers [ANSWERS_MB=n] [ROUNDS=n]: what the questions cost over a long recording,
# beside `cat` of the same file, alternately: the least and the median of each, the ratios, and
# the memory. `cat` stands twice in a round: the second is the control.
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

# took NAME COMMAND...: seconds and kilobytes into NAME.times
took() {
  local name=$1
  shift
  /usr/bin/time -a -o "$name.times" -f '%e %M' "$@" >/dev/null || echo "status $? of $*"
}
for ((round = 0; round < rounds; round++)); do
  took cat cat $file
  took pauses "$eventring" pauses $file
  took spans "$eventring" spans $file
  took stats "$eventring" stats $file
  took control cat $file
done
printf '%s bytes, %d rounds, %s processors\n' "$(stat -c %s $file)" "$rounds" "$(nproc)"
figure() { sort -n "$1.times" | awk -v q="$2" '{v[NR] = $1} END {print v[q ? int((NR + 1) / 2) : 1]}'; }
printf '%-8s %9s %9s %12s %12s\n' "" "least s" "median s" "times cat" "memory MiB"
for name in cat control pauses spans stats; do
  awk -v name=$name -v least="$(figure $name 0)" -v median="$(figure $name 1)" \
    -v base="$(figure cat 1)" -v kb="$(awk '$2 > m {m = $2} END {print m}' $name.times)" 'BEGIN {
    printf "%-8s %9.3f %9.3f %12.1f %12.1f\n", name, least, median, (base > 0 ? median / base : 0), kb / 1024 }'
done
