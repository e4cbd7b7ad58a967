#!/bin/bash
# Measures the pauses of saros and of others on the scenarios of pauses.lua, in turn in one
# run, so many rounds; prints each figure of each round, and what the trace says.
#
#   testsuite/bench/pauses.sh --saros=PROGRAM [--eventring=PROGRAM] [--rounds=5]
#       [--seconds=20] [--only-saros] [SCENARIO...]
#
# Default scenario: records, 400 MB of small records with steady churn. `all`: every one.
# Times are CPU times of the thread, of two origins:
#   step   between two steps of the program, taken by the program itself
#   pause  of one step of the collector (counter pause_cpu of the trace, class gc_detail),
#          with the most work that one did (pause_work)
# A step also holds what the machine did to the program: the line "nothing" is a
# program that allocates nothing, measured in the same way in the same round.

set -u
saros= eventring= rounds=5 seconds=20 only= scenarios=()
for word in "$@"; do
  case $word in
    --saros=*) saros=${word#*=} ;;
    --eventring=*) eventring=${word#*=} ;;
    --rounds=*) rounds=${word#*=} ;;
    --seconds=*) seconds=${word#*=} ;;
    --only-saros) only=1 ;;
    -*) sed -n '5,6s/^# *//p' "$0" >&2; exit 2 ;;
    *) scenarios+=("$word") ;;
  esac
done
[ -x "$saros" ] || { echo "$0: no program '$saros' (--saros=PROGRAM)" >&2; exit 2; }
eventring=${eventring:-$(dirname "$saros")/eventring/eventring}
program=$(dirname "$0")/pauses.lua
[ ${#scenarios[@]} -gt 0 ] || scenarios=(records)
[ "${scenarios[*]}" = all ] && mapfile -t scenarios < <("$saros" "$program" | grep -v '^nothing$' | sort)
directory=$(mktemp -d) || exit 1
trap 'rm -rf "$directory"' EXIT

# from_trace FILE: the greatest pause_cpu (us) and pause_work (KiB)
from_trace() {
  "$eventring" stats --json "$1" | jq -r '
    [.counters[] | select(.name == "pause_cpu" or .name == "pause_work")] |
    map({(.name): .max}) | add |
    "pause_us \(.pause_cpu // 0 | . / 1000 | floor) work_kib \(.pause_work // 0 | . / 1024 | floor)"'
}

# one NAME COMMAND...: runs it and prints its line
one() {
  local name=$1; shift
  printf '%-24s %s' "$name" "$("$@" 2>&1 | tail -1)"
}

saros_traced() {
  SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_PREFIX=$directory \
  SAROS_EVENTRING_CLASSES=gc,gc_detail SAROS_EVENTRING_WSIZE=21 "$saros" "$program" "$@"
}

for scenario in "${scenarios[@]}"; do
  for round in $(seq "$rounds"); do
    echo "== $scenario, round $round"
    one nothing "$saros" "$program" nothing "$seconds"; echo
    one saros "$saros" "$program" "$scenario" "$seconds"; echo
    one "saros, recording" saros_traced "$scenario" "$seconds"
    echo " $(from_trace "$directory"/*.eventring)"
    rm -f "$directory"/*.eventring
    [ -n "$only" ] && continue
    for mode in generational incremental; do
      command -v lua5.4 >/dev/null && { one "lua5.4 $mode" lua5.4 "$program" "$scenario" "$seconds" $mode; echo; }
    done
    command -v luajit >/dev/null && { one "luajit -joff" luajit -joff "$program" "$scenario" "$seconds"; echo; }
  done
done | tee "$directory/all"

# Longest over the rounds; the ratios are of what one round measured.
awk '
  /^==/ { scenario = $2; next }
  { name = $0; sub(/ steps\/s.*/, "", name); sub(/ +$/, "", name); sub(/,/, "", scenario); key = scenario " | " name
    for (i = 1; i < NF; i++) v[$i] = $(i + 1)
    if (!(key in n)) { order[++keys] = key }
    n[key]++
    rate[key] += v["steps/s"]; if (v["longest_us"] > longest[key]) longest[key] = v["longest_us"]
    if (v["p99.9_us"] > quantile[key]) quantile[key] = v["p99.9_us"]
    if (v["peak_mb"] > peak[key]) peak[key] = v["peak_mb"]
    if (name == "saros, recording" && v["pause_us"] > pause[key]) { pause[key] = v["pause_us"] }
    if (name == "saros, recording" && v["work_kib"] > work[key]) { work[key] = v["work_kib"] } }
  END {
    printf "\n%-40s %10s %12s %10s %9s %10s %9s\n", "over all rounds", "steps/s", "longest us", "p99.9 us", "peak MB", "pause us", "work KiB"
    for (i = 1; i <= keys; i++) { k = order[i]
      printf "%-40s %10.0f %12d %10d %9d %10s %9s\n", k, rate[k] / n[k], longest[k], quantile[k], peak[k], pause[k], work[k] }
  }' "$directory/all"
