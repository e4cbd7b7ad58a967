#!/bin/bash
# Times the project's own programs (vm_programs.lua), saros and others in turn in one
# run; prints the minimum and median of each in milliseconds of CPU time, the ratios
# of the minima to the reference's, and their geometric means.
#
#   testsuite/bench/vm.sh --saros=PROGRAM [--reference=lua5.4] [--runs=5] [--luajit] [--also=NAME=COMMAND]... [NAME...]
#
# --luajit: also `luajit -joff`, which gets the programs with the operators on
# integers spelled as it knows them (its numbers are floats, so it does less there).
# SPDX-License-Identifier: MIT

set -u
saros= reference=lua5.4 runs=5 luajit=no names=() contestants=() commands=()
for word in "$@"; do
  case $word in
    --saros=*) saros=${word#*=} ;;
    --reference=*) reference=${word#*=} ;;
    --runs=*) runs=${word#*=} ;;
    --luajit) luajit=yes ;;
    --also=*=*) word=${word#*=}; contestants+=("${word%%=*}"); commands+=("${word#*=}") ;;
    -*) sed -n '6s/^# *//p' "$0" >&2; exit 2 ;;
    *) names+=("$word") ;;
  esac
done
[ -x "$saros" ] || { echo "$0: no program '$saros' (--saros=PROGRAM)" >&2; exit 2; }
command -v "${reference%% *}" >/dev/null || { echo "${reference%% *} is missing (Debian package: lua5.4)"; exit 77; }
programs=$(dirname "$0")/vm_programs.lua
[ ${#names[@]} -gt 0 ] || mapfile -t names < <("$saros" "$programs")
contestants=("$reference" saros "${contestants[@]}")
commands=("$reference" "$saros" "${commands[@]}")

if [ "$luajit" = yes ]; then
  command -v luajit >/dev/null || { echo "luajit is missing (Debian package: luajit)"; exit 77; }
  scratch=$(mktemp -d) || exit 1
  trap 'rm -rf "$scratch"' EXIT
  sed -E -e 's/a\[i\] \+ a\[i - 1\] & 0xffff/bit.band(a[i] + a[i - 1], 0xffff)/' \
    -e 's/\(seed \* 1103515245 \+ 12345\) & 0x7fffffff/bit.band(seed * 1103515245 + 12345, 0x7fffffff)/' \
    -e 's/i & 255/bit.band(i, 255)/' -e 's,v // 2,math.floor(v / 2),' -e 's,500001 // 2,500001 / 2,' \
    -e 's/math\.type\(s\) == "integer"/s/' "$programs" >"$scratch/vm_programs.lua"
  contestants+=("luajit -joff")
  commands+=("luajit -joff")
fi

# run COMMAND NAME: seconds of CPU time
run() {
  local file=$programs
  [ "$1" = "luajit -joff" ] && file=$scratch/vm_programs.lua
  # shellcheck disable=SC2086
  $1 "$file" "$2" || { echo "$1 fails in $2" >&2; return 1; }
}

for name in "${names[@]}"; do
  for _ in $(seq "$runs"); do
    line=$name
    for command in "${commands[@]}"; do
      time=$(run "$command" "$name") || exit 1
      line+=" $time"
    done
    echo "$line"
  done
done | awk -v order="$(IFS=,; echo "${contestants[*]}")" '
  function flush(    c, i, j, t, v, low) {
    if (!n) return
    printf "%-14s", name
    for (c = 1; c <= contestants; c++) {
      for (i = 1; i <= n; i++) v[i] = times[c, i]
      for (i = 2; i <= n; i++) for (j = i; j > 1 && v[j - 1] > v[j]; j--) { t = v[j]; v[j] = v[j - 1]; v[j - 1] = t }
      low[c] = v[1]
      printf " %9.1f %9.1f", v[1] * 1e3, v[int((n + 1) / 2)] * 1e3
    }
    for (c = 2; c <= contestants; c++) { printf " %8.3f", low[c] / low[1]; sum[c] += log(low[c] / low[1]) }
    printf "\n"
    count++
    n = 0
  }
  BEGIN {
    contestants = split(order, title, ",")
    printf "%-14s", "ms: min median"
    for (c = 1; c <= contestants; c++) printf " %19s", title[c]
    printf "   ratios to the first\n"
  }
  $1 != name { flush(); name = $1 }
  { n++; for (c = 1; c <= contestants; c++) times[c, n] = $(c + 1) + 0 }
  END {
    flush()
    for (c = 2; c <= contestants && count; c++) printf "geometric mean of the ratios, %s: %.3f\n", title[c], exp(sum[c] / count)
  }'
