#!/bin/bash
# are-we-fast-yet's 14 Lua programs, unchanged: saros against lua5.4, alternated.
#
#   testsuite/bench/awfy.sh [OPTION]... FOLDER
#
# FOLDER is `benchmarks/Lua` of github smarr/are-we-fast-yet (not in this tree).
# In each round every program is run once by each contestant, one right after the
# other, so that what else the machine does hits all of them alike; the time is
# the harness's own (CPU time of the benchmark loop). Every program verifies its
# result; a wrong one ends the run with status 1.
#
#   --rounds=N          rounds (default 5)
#   --small             the smallest sizes; for slow builds
#   --verify            one round, saros only, says only whether the results are right
#   --saros=PATH        the interpreter (default: ./saros)
#   --reference=COMMAND what to compare with (default: lua5.4; it runs its
#                       generational collector by default)
#   --also=NAME=COMMAND a further contestant; may be repeated
#   --only=NAME,...     some of the programs
#
# Contestants: reference; saros, not recording ("off"); saros with
# SAROS_EVENTRING_START=1 ("on"). Prints for each program the minimum and the
# median in milliseconds and the ratios to the reference, then the geometric
# means of the ratios (of minima and of medians), and of "on" to "off".
# SPDX-License-Identifier: MIT

set -u -o pipefail

# program, inner iterations, inner iterations with --small
programs="DeltaBlue:12000:100 Richards:20:1 Json:60:1 CD:100:2 Havlak:15:1 Bounce:1200:2 List:1200:2
          Mandelbrot:500:1 NBody:250000:1 Permute:800:2 Queens:1000:2 Sieve:3000:2 Storage:500:1 Towers:500:1"

usage() { sed -n '4s/^# *//p' "$0" >&2; exit 2; }
die() { echo "awfy: $*" >&2; exit 1; }

rounds=5 small=no verify=no saros=./saros reference=lua5.4 folder= only=
also=()
for argument in "$@"; do
  case $argument in
    --rounds=*) rounds=${argument#*=} ;;
    --small) small=yes ;;
    --verify) verify=yes ;;
    --saros=*) saros=${argument#*=} ;;
    --reference=*) reference=${argument#*=} ;;
    --also=*=*) also+=("${argument#*=}") ;;
    --only=*) only=${argument#*=} ;;
    -*) usage ;;
    *) [ -z "$folder" ] || usage; folder=$argument ;;
  esac
done
[ -n "$folder" ] || usage
[ -e "$folder/harness.lua" ] || die "$folder holds no harness.lua: give are-we-fast-yet's benchmarks/Lua"
command -v "$saros" >/dev/null || die "no interpreter $saros"
saros=$(realpath "$(command -v "$saros")")
[ "$verify" = yes ] || command -v "${reference%% *}" >/dev/null || die "no ${reference%% *} (Debian package: lua5.4)"

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
unset SAROS_EVENTRING_START SAROS_EVENTRING_PRESERVE SAROS_EVENTRING_WSIZE LUA_INIT LUA_INIT_5_4
export SAROS_EVENTRING_PREFIX=$scratch

names=(off on)
[ "$verify" = yes ] && names=(off) rounds=1
[ "$verify" = yes ] || names=(reference "${names[@]}")
for a in "${also[@]}"; do names+=("${a%%=*}"); done

# run CONTESTANT PROGRAM SIZE: prints the total run time in microseconds
run() {
  local command=$saros start=0 output a
  case $1 in
    reference) command=$reference ;;
    off) ;;
    on) start=1 ;;
    *) for a in "${also[@]}"; do [ "${a%%=*}" = "$1" ] && command=${a#*=}; done ;;
  esac
  # shellcheck disable=SC2086
  output=$(cd "$folder" && SAROS_EVENTRING_START=$start $command harness.lua "$2" 1 "$3" 2>&1) ||
    { echo "$output" >&2; return 1; }
  sed -n 's/^Total Runtime: \([0-9]*\)us$/\1/p' <<<"$output"
}

wanted() { [ -z "$only" ] || [[ ,${only,,}, == *,${1,,},* ]]; }

for entry in $programs; do
  IFS=: read -r program size small_size <<<"$entry"
  wanted "$program" || continue
  [ "$small" = yes ] && size=$small_size
  for ((round = 0; round < rounds; round++)); do
    for name in "${names[@]}"; do
      time=$(run "$name" "$program" "$size") || die "$program $size with $name failed"
      [ -n "$time" ] || die "$program $size with $name printed no time"
      echo "$program $name $time" >>"$scratch/times"
    done
  done
  if [ "$verify" = yes ]; then
    echo "$program $size: right"
  else
    echo "$program: done" >&2
  fi
done
[ "$verify" = yes ] && exit 0

# ---- The table --------------------------------------------------------------

awk -v order="${names[*]}" '
  function sorted(list, values,    n, i, j, t) {
    n = split(list, values, " ")
    for (i = 2; i <= n; i++) {
      t = values[i] + 0
      for (j = i - 1; j > 0 && values[j] + 0 > t; j--) values[j + 1] = values[j]
      values[j + 1] = t
    }
    return n
  }
  function lowest(list,    v) { sorted(list, v); return v[1] / 1000 }
  function median(list,    v, n) {
    n = sorted(list, v)
    return (n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2) / 1000
  }
  { if (!($1 in seen)) { seen[$1] = 1; program[++programs] = $1 }
    times[$1, $2] = times[$1, $2] " " $3 }
  END {
    n = split(order, name, " ")
    printf "%-12s", "ms: min median"
    for (i = 1; i <= n; i++) printf " %19s", name[i]
    for (i = 2; i <= n; i++) printf " %15s", name[i] "/" name[1]
    printf "\n"
    for (p = 1; p <= programs; p++) {
      printf "%-14s", program[p]
      for (i = 1; i <= n; i++) {
        low[i] = lowest(times[program[p], name[i]]); mid[i] = median(times[program[p], name[i]])
        printf " %9.1f %9.1f", low[i], mid[i]
      }
      for (i = 2; i <= n; i++) {
        if (low[1] > 0) { printf "   %6.3f %6.3f", low[i] / low[1], mid[i] / mid[1]
          log_low[i] += log(low[i] / low[1]); log_mid[i] += log(mid[i] / mid[1]) }
      }
      on_low += log(low[3] / low[2]); on_mid += log(mid[3] / mid[2])
      printf "\n"
    }
    printf "\ngeometric means of %d programs (of minima, of medians):\n", programs
    for (i = 2; i <= n; i++)
      printf "  %-24s %.4f  %.4f\n", name[i] " / " name[1], exp(log_low[i] / programs), exp(log_mid[i] / programs)
    printf "  %-24s %.4f  %.4f\n", "on / off", exp(on_low / programs), exp(on_mid / programs)
  }' "$scratch/times"
