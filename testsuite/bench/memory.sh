#!/bin/bash
# SPDX-License-Identifier: MIT
# Compares what the shapes of memory.lua take under saros and a reference: worst first.
#
#   testsuite/bench/memory.sh --saros=PROGRAM [--reference=lua5.4] [--rounds=1] [--bar=1.05]
#       [--base=1.2] [SHAPE...]
#
# SHAPE is a shell pattern: `records_*`; default: all. Resident memory above what an empty
# program has, in MB, of several rounds the least: `peak`, the greatest, and `settled`, after
# collectgarbage(). A shape fails when one of both is more than the bar times the
# reference's; 0.5 MB are not looked at. The base, an empty program's memory, has a bar of its own.
# Exit status 1 when a bar fails, 2 on wrong usage.

set -u
saros='' reference=lua5.4 rounds=1 bar=1.05 base=1.2
options=(saros reference rounds bar base)
. "$(dirname "$0")/_compare.sh"
parse_options "$@"
program=$(dirname "$0")/memory.lua
select_names "$program"

for name in "${names[@]}"; do
  for round in $(seq "$rounds"); do
    for which in reference saros; do
      progress "$name $round"
      # shellcheck disable=SC2086
      line=$(timeout 120 ${!which} "$program" "$name" 2>&1) || { progress; echo "${!which} fails in $name: $line" >&2; exit 2; }
      echo "$name $which $line"
    done
  done
done | sed 's/[a-z]*=//g' | awk -v bar="$bar" -v base_bar="$base" '
  function keep(key, value) { if (!(key in least) || value < least[key]) least[key] = value }
  function ratio(name, what) { return (least[name, "saros", what] + 1) / (least[name, "reference", what] + 1) }
  function over(name, what) { return least[name, "saros", what] > bar * least[name, "reference", what] + 524288 }
  function line(name, what) {
    return sprintf("%9.2f %9.2f %7.3f", least[name, "reference", what] / 1048576,
                   least[name, "saros", what] / 1048576, ratio(name, what)) }
  { if (!($1 in seen)) { seen[$1] = 1; order[++n] = $1 }
    keep("base" SUBSEP $2, $3); keep($1 SUBSEP $2 SUBSEP "peak", $4); keep($1 SUBSEP $2 SUBSEP "settled", $5); count[$1] = $6 }
  END {
    if (!n) exit 2
    base = least["base", "saros"] / least["base", "reference"]
    failed = base > base_bar
    printf "%-30s %9s %29s %29s\n", "MB above the base", "things", "peak: reference, saros, ratio", "settled: the same"
    fflush()
    for (i = 1; i <= n; i++) {
      name = order[i]
      if (count[name] == 0) continue
      bad = over(name, "peak") || over(name, "settled")
      fails += bad; shapes++
      printf "%-30s %9d   %s   %s%s\n", name, count[name], line(name, "peak"), line(name, "settled"),
        bad ? "  FAILS" : "" | "sort -k8,8nr" }
    close("sort -k8,8nr")
    printf "base: %.2f MB of %.2f, ratio %.3f%s\n", least["base", "saros"] / 1048576, least["base", "reference"] / 1048576,
      base, (base > base_bar ? " FAILS: above " base_bar : "")
    printf "%d shapes, %d above %s\n", shapes, fails, bar
    exit failed || fails > 0 }'
exit "${PIPESTATUS[2]}"
