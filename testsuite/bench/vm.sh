#!/bin/bash
# Times the project's own programs (vm_programs.lua), saros and a reference in
# turn in one run; prints the minimum and median of each, the ratio of the
# minima, and the geometric mean of the ratios.
#
#   testsuite/bench/vm.sh --saros=PROGRAM [--reference=lua5.4] [--runs=5] [NAME...]

set -u
saros= reference=lua5.4 runs=5 names=()
for word in "$@"; do
  case $word in
    --saros=*) saros=${word#*=} ;;
    --reference=*) reference=${word#*=} ;;
    --runs=*) runs=${word#*=} ;;
    -*) sed -n '6s/^# *//p' "$0" >&2; exit 2 ;;
    *) names+=("$word") ;;
  esac
done
[ -x "$saros" ] || { echo "$0: no program '$saros' (--saros=PROGRAM)" >&2; exit 2; }
command -v $reference >/dev/null || { echo "$reference is missing (Debian package: lua5.4)"; exit 77; }
programs=$(dirname "$0")/vm_programs.lua
[ ${#names[@]} -gt 0 ] || mapfile -t names < <("$saros" "$programs")

for name in "${names[@]}"; do
  for _ in $(seq "$runs"); do
    a=$($reference "$programs" "$name") || { echo "$reference fails in $name" >&2; exit 1; }
    b=$("$saros" "$programs" "$name") || { echo "$saros fails in $name" >&2; exit 1; }
    echo "$name $a $b"
  done
done | awk -v reference="$reference" '
  function sorted(list, n,   i, j, t) {
    for (i = 2; i <= n; i++) for (j = i; j > 1 && list[j - 1] > list[j]; j--) { t = list[j]; list[j] = list[j - 1]; list[j - 1] = t }
  }
  function flush() {
    if (!n) return
    sorted(a, n); sorted(b, n)
    m = int((n + 1) / 2)
    printf "%-14s %9.1f %9.1f %9.1f %9.1f %8.3f\n", name, a[1] * 1e3, a[m] * 1e3, b[1] * 1e3, b[m] * 1e3, b[1] / a[1]
    sum += log(b[1] / a[1]); count++; n = 0
  }
  BEGIN { printf "%-14s %9s %9s %9s %9s %8s\n", "ms of CPU", reference, "median", "saros", "median", "ratio" }
  $1 != name { flush(); name = $1 }
  { n++; a[n] = $2 + 0; b[n] = $3 + 0 }
  END { flush(); if (count) printf "geometric mean of the ratios: %.3f\n", exp(sum / count) }'
