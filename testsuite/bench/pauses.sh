#!/bin/bash
# Measures the pauses of saros and of others on the scenarios of pauses.lua, in turn in one
# run, for several rounds; prints each figure of each round, and what the recording says.
#
#   testsuite/bench/pauses.sh --saros=PROGRAM [--eventring=PROGRAM] [--rounds=5]
#       [--seconds=20] [--replays=3] [--only-saros] [SCENARIO...]
#
# Default scenario: records, 400 MB of small records with steady churn. `service`: as much, and
# stores into old records. `all`: every one.
# Times are CPU times of the thread, of two origins:
#   step   between two steps of the program, taken by the program itself
#   pause  of one step of the collector (counter pause_cpu of the recording, class gc_detail),
#          with the most work that one did (pause_work)
# Both also hold what the machine did to the program: the line "nothing" is a
# program that allocates nothing, measured in the same way in the same round. And the rings are a
# file: where that is on a disk, its pages are written back now and then, and the next event
# on each faults. So it is put into /dev/shm; a line of its own shows the disk.
#
# --replays=N separates the collector's pauses from the machine's: the same number of steps is
# run N times with the same layout of memory, so that the collector does the same steps in the
# same order; the least of what each of them took in the N runs is its own cost, and the
# longest of these least times is printed, beside the longest of each run. A step that did not
# do the same work in all runs (strings hash differently in each) counts with the longest.
# SPDX-License-Identifier: MIT

set -u
saros= eventring= rounds=5 seconds=20 replays=0 only= scenarios=()
for word in "$@"; do
  case $word in
    --saros=*) saros=${word#*=} ;;
    --eventring=*) eventring=${word#*=} ;;
    --rounds=*) rounds=${word#*=} ;;
    --seconds=*) seconds=${word#*=} ;;
    --replays=*) replays=${word#*=} ;;
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
rings=$directory
[ -w /dev/shm ] && rings=$(mktemp -d -p /dev/shm)
trap 'rm -rf "$directory" "$rings"' EXIT

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

# saros_traced FOLDER ARGUMENT...
saros_traced() {
  local where=$1; shift
  SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_PREFIX=$where \
  SAROS_EVENTRING_CLASSES=gc,gc_detail SAROS_EVENTRING_WSIZE=21 $fixed "$saros" "$program" "$@"
}
fixed= # what fixes the layout of memory

# measured_pauses FOLDER: "work cpu" of each step of the collector, in order
measured_pauses() {
  "$eventring" dump --json "$1"/*.eventring | grep -oE '"name":"pause_(cpu|work)".*' |
    awk -F'[":,}]+' '{ for (i = 2; i < NF; i++) if ($i == "value") v = $(i + 1) }
      $3 == "pause_cpu" { cpu = v } $3 == "pause_work" { print v, cpu }'
}

# replay SCENARIO: at most 8 s of steps, so that the rings hold them
replay() {
  local i steps most=$((seconds < 8 ? seconds : 8))
  steps=$(awk -v s="$most" '{ printf "%d", $2 * s }' <<<"$("$saros" "$program" "$1" "$most")")
  command -v setarch >/dev/null && fixed="setarch $(uname -m) -R"
  for i in $(seq "$replays"); do
    PAUSES_STEPS=$steps saros_traced "$rings" "$1" "$most" >/dev/null
    measured_pauses "$rings" >"$directory/replay.$i"
    rm -f "$rings"/*.eventring
  done
  fixed=
  paste "$directory"/replay.? | awk -v n="$replays" -v scenario="$1" '
    NF == 2 * n { least = most = $2; same = 1
      for (i = 1; i < n; i++) { cpu = $(2 * i + 2); if (cpu < least) least = cpu; if (cpu > most) most = cpu
        if ($(2 * i + 1) != $1) same = 0 }
      for (i = 0; i < n; i++) if ($(2 * i + 2) > longest[i]) longest[i] = $(2 * i + 2)
      own = same ? least : most; if (own > worst) { worst = own; work = $1 }; differ += !same; rows++ }
    NF != 2 * n { lost++ }
    END { printf "replay %s: steps of the collector %d, of different work %d, not in all runs %d; longest us of each run:", scenario, rows, differ, lost
      for (i = 0; i < n; i++) printf " %d", longest[i] / 1000
      printf "; longest of the least times %d us, of %d KiB of work\n", worst / 1000, work / 1024 }'
  rm -f "$directory"/replay.?
}

for scenario in "${scenarios[@]}"; do
  for round in $(seq "$rounds"); do
    echo "== $scenario, round $round"
    one nothing "$saros" "$program" nothing "$seconds"; echo
    one saros "$saros" "$program" "$scenario" "$seconds"; echo
    one "saros, recording" saros_traced "$rings" "$scenario" "$seconds"
    echo " $(from_trace "$rings"/*.eventring)"
    rm -f "$rings"/*.eventring
    if [ "$rings" != "$directory" ]; then
      one "saros, to the disk" saros_traced "$directory" "$scenario" "$seconds"
      echo " $(from_trace "$directory"/*.eventring)"
      rm -f "$directory"/*.eventring
    fi
    [ -n "$only" ] && continue
    for mode in generational incremental; do
      command -v lua5.4 >/dev/null && { one "lua5.4 $mode" lua5.4 "$program" "$scenario" "$seconds" $mode; echo; }
    done
    command -v luajit >/dev/null && { one "luajit -joff" luajit -joff "$program" "$scenario" "$seconds"; echo; }
  done
  [ "$replays" -gt 0 ] && replay "$scenario"
done | tee "$directory/all"

# Longest over the rounds; the ratios are of what one round measured.
awk '
  /^==/ { scenario = $2; next }
  /^replay/ { replays = replays $0 "\n"; next }
  { name = $0; sub(/ steps\/s.*/, "", name); sub(/ +$/, "", name); sub(/,/, "", scenario); key = scenario " | " name
    for (i = 1; i < NF; i++) v[$i] = $(i + 1)
    if (!(key in n)) { order[++keys] = key }
    n[key]++
    rate[key] += v["steps/s"]; if (v["longest_us"] > longest[key]) longest[key] = v["longest_us"]
    if (v["p99.9_us"] > quantile[key]) quantile[key] = v["p99.9_us"]
    if (v["p99_us"] > hundredth[key]) hundredth[key] = v["p99_us"]
    if (v["peak_mb"] > peak[key]) peak[key] = v["peak_mb"]
    if (name ~ /^saros,/ && v["pause_us"] > pause[key]) { pause[key] = v["pause_us"] }
    if (name ~ /^saros,/ && v["work_kib"] > work[key]) { work[key] = v["work_kib"] } }
  END {
    printf "\n%-40s %10s %12s %10s %8s %9s %10s %9s\n", "over all rounds", "steps/s", "longest us", "p99.9 us", "p99 us", "peak MB", "pause us", "work KiB"
    for (i = 1; i <= keys; i++) { k = order[i]
      printf "%-40s %10.0f %12d %10d %8d %9d %10s %9s\n", k, rate[k] / n[k], longest[k], quantile[k], hundredth[k], peak[k], pause[k], work[k] }
    if (replays != "") printf "\n%s", replays
  }' "$directory/all"
