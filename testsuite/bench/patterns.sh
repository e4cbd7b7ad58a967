#!/bin/bash
# SPDX-License-Identifier: MIT
# Times the patterns of patterns.lua under saros and a reference, in turn, and compares the
# least times of each: worst first, then the geometric mean of each family.
#
#   testsuite/bench/patterns.sh --saros=PROGRAM [--reference=lua5.4] [--rounds=5] [--runs=1]
#       [--bar=1.02] [--mean=0.55] [FAMILY.NAME...]
#
# FAMILY.NAME is a shell pattern: `queues.*`, `*fifo*`; default: all. A pattern fails when its
# ratio is above the bar in each of the runs, of so many rounds each; only those that failed so
# far are run again. The mean is that of the families' geometric means, of the first run.
# Exit status 1 when a pattern fails or the mean is above its bar, 2 on wrong usage.

set -u
saros='' reference=lua5.4 rounds=5 runs=1 bar=1.02 mean=0.55
options=(saros reference rounds runs bar mean)
. "$(dirname "$0")/_compare.sh"
parse_options "$@"
program=$(dirname "$0")/patterns.lua
select_names "$program"

# time_of COMMAND NAME: seconds, which stand on the standard error output, as some patterns print;
# an error is a failure of this whole comparison
time_of() {
  local out
  # shellcheck disable=SC2086
  out=$(timeout 120 $1 "$program" "$2" 2>&1 >/dev/null) && echo "$out" || { echo "$1 fails in $2: $out" >&2; return 1; }
}

# One run: lines "NAME reference saros", the least times
run() {
  local name round r s
  for name in "$@"; do
    for round in $(seq "$rounds"); do
      r=$(time_of "$reference" "$name") && s=$(time_of "$saros" "$name") || return 1
      echo "$name $r $s"
      progress "$name $round"
    done
  done | awk '{ if (!($1 in r)) { order[++n] = $1; r[$1] = $2; s[$1] = $3 }
                if ($2 < r[$1]) r[$1] = $2; if ($3 < s[$1]) s[$1] = $3 }
              END { for (i = 1; i <= n; i++) print order[i], r[order[i]], s[order[i]] }'
  local status=${PIPESTATUS[0]}
  progress
  return "$status"
}

results=$(run "${names[@]}") || exit 2
awk '{ printf "%-40s %9.2f %9.2f %7.3f\n", $1, $2 * 1e3, $3 * 1e3, $3 / $2 }' <<<"$results" | sort -k4,4nr |
  { printf "%-40s %9s %9s %7s\n" "ms, least of $rounds rounds" reference saros ratio; cat; }
above() { awk -v bar="$bar" '$3 > bar * $2 { print $1 }'; }
mapfile -t failing < <(above <<<"$results")
for _ in $(seq 2 "$runs"); do
  [ ${#failing[@]} -gt 0 ] || break
  again=$(run "${failing[@]}") || exit 2
  mapfile -t failing < <(above <<<"$again")
done
awk -v bar="$mean" '
  { family = $1; sub(/\..*/, "", family)
    if (!(family in n)) order[++families] = family
    n[family]++; sum[family] += log($3 / $2) }
  END {
    for (i = 1; i <= families; i++) {
      f = order[i]; total += sum[f] / n[f]
      printf "family %-20s %4d patterns, geometric mean %.3f\n", f, n[f], exp(sum[f] / n[f]) }
    all = exp(total / families)
    over = all > bar
    printf "mean of families %.3f%s\n", all, over ? " FAILS: above " bar : ""
    exit over }' <<<"$results"
status=$?
printf '%d patterns, %d above %s in each of %d runs%s\n' "${#names[@]}" "${#failing[@]}" "$bar" "$runs" "${failing[*]:+: ${failing[*]}}"
[ ${#failing[@]} -eq 0 ] || status=1
exit "$status"
