#!/bin/bash
# SPDX-License-Identifier: MIT
# make bench-exports [EXPORTS_MB=n] [ROUNDS=n]: what `eventring export` costs over a long
# recording, beside `cat` of what it writes, in the same round: to a file as the export does
# it, and to nowhere. The least and the median of each, the ratio of the medians to that of
# `cat` to a file, and the memory. `cat` to a file stands twice in a round: the second is the
# control.
#
#   BUILDDIR=... exports.sh MEGABYTES ROUNDS
set -u
megabytes=${1:-1000} rounds=${2:-3}
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
saros=$BUILDDIR/saros eventring=$BUILDDIR/eventring/eventring

. "$here/_long_recording.sh" "$megabytes"
file=work.eventring

# took NAME COMMAND...: seconds, processor time and kilobytes into NAME.times
took() {
  local name=$1
  shift
  /usr/bin/time -a -o "$name.times" -f '%e %U %S %M' "$@" || echo "status $? of $*"
}
for format in perfetto chrome; do
  for ((round = 0; round < rounds; round++)); do
    rm -f out copy
    took $format "$eventring" export --to $format -o out $file
    took $format-cat sh -c 'cat out >copy'
    rm -f copy
    took $format-control sh -c 'cat out >copy'
    took $format-nowhere sh -c 'cat out >/dev/null'
  done
  stat -c %s out >$format.bytes
done
rm -f out copy
printf '%s bytes, %d rounds, %s processors\n' "$(stat -c %s $file)" "$rounds" "$(nproc)"
column() { sort -n -k "$2" "$1.times" | awk -v c="$2" -v q="$3" '{v[NR] = $c} END {print v[q ? int((NR + 1) / 2) : 1]}'; }
printf '%-17s %8s %8s %8s %8s %10s %8s\n' "" "least s" "median s" "user s" "system s" "times cat" "MiB"
for format in perfetto chrome; do
  echo "$format, $(cat $format.bytes) bytes"
  for what in $format $format-cat $format-control $format-nowhere; do
    awk -v name="  ${what#"$format"-}" -v least="$(column $what 1 0)" -v median="$(column $what 1 1)" \
      -v busy="$(column $what 2 1)" -v kernel="$(column $what 3 1)" -v base="$(column $format-cat 1 1)" \
      -v kb="$(awk '$4 > m {m = $4} END {print m}' $what.times)" 'BEGIN {
      printf "%-17s %8.2f %8.2f %8.2f %8.2f %10.2f %8.1f\n", name, least, median, busy, kernel,
             (base > 0 ? median / base : 0), kb / 1024 }'
  done
done
