#!/bin/bash
# What sampling of allocations costs: the run time of programs that are sampled, against the
# same programs without, in turn.
#
#   testsuite/bench/memprof.sh --saros=PROGRAM [--awfy=FOLDER] [--rounds=9] [ROW...]
#
# FOLDER is `benchmarks/Lua` of github smarr/are-we-fast-yet (not in this tree); without it
# its programs are left out. ROW: sample, callback, tables, or one of the programs; all when
# none is given.
#
# A round runs both, one right after the other, the one that is first alternating. The table
# has the least and the median of what the rounds found, and the interval that holds the
# median with a confidence of 95 %, by order statistics. The rows "A/A" run the same twice:
# what they show is not the sampler's. Sampled programs write a recording with a heap
# profile; the others write none.
# SPDX-License-Identifier: MIT

set -u -o pipefail
saros=./saros awfy= rounds=9 wanted=()
for word in "$@"; do
  case $word in
    --saros=*) saros=${word#*=} ;;
    --awfy=*) awfy=${word#*=} ;;
    --rounds=*) rounds=${word#*=} ;;
    -*) sed -n '5s/^# *//p' "$0" >&2; exit 2 ;;
    *) wanted+=("$word") ;;
  esac
done
[ -x "$saros" ] || { echo "$0: no program '$saros' (--saros=PROGRAM)" >&2; exit 2; }
saros=$(realpath "$saros")
[ -z "$awfy" ] || [ -e "$awfy/harness.lua" ] ||
  { echo "$0: $awfy has no harness.lua: give are-we-fast-yet's benchmarks/Lua" >&2; exit 2; }
program=$(realpath "$(dirname "$0")/memprof.lua")
directory=$(mktemp -d) || exit 1
rings=$directory # a file on a disk is written back now and then, which is not the sampler's
[ -w /dev/shm ] && rings=$(mktemp -d -p /dev/shm)
trap 'rm -rf "$directory" "$rings"' EXIT
unset SAROS_EVENTRING_START SAROS_EVENTRING_PRESERVE SAROS_EVENTRING_STREAM SAROS_PROFILE LUA_INIT LUA_INIT_5_4
export SAROS_EVENTRING_PREFIX=$rings

is_wanted() {
  [ ${#wanted[@]} -eq 0 ] && return 0
  local word
  for word in "${wanted[@]}"; do [ "$word" = "$1" ] && return 0; done
  return 1
}

# run RATE COMMAND...: prints the time; RATE 0: not sampled
run() {
  local rate=$1
  shift
  [ "$rate" = 0 ] && rate=
  SAROS_MEMPROF=$rate "$@"
}

# summary NAME FORMAT: the figures of the rounds, one a line
summary() {
  sort -g | awk -v name="$1" -v format="$2" '
    { value[NR] = $1 }
    END {
      if (NR == 0) exit 1
      # the values of rank k and n + 1 - k enclose the median, but for 5 %
      left = 0.5 ^ NR
      for (k = 0; 2 * left <= 0.05 && k < NR / 2 - 1; ) {
        k++
        term = 1
        for (i = 0; i < k; i++) term *= (NR - i) / (i + 1)
        left += term * 0.5 ^ NR
      }
      if (k < 1) k = 1
      median = NR % 2 ? value[(NR + 1) / 2] : (value[NR / 2] + value[NR / 2 + 1]) / 2
      row = "%-34s " format " " format "   " format " .. " format "\n"
      printf row, name, value[1], median, value[k], value[NR + 1 - k]
    }'
}

# pairs COMBINE RATE-A RATE-B COMMAND-A -- COMMAND-B: the rounds; COMBINE in awk, of a and b
pairs() {
  local combine=$1 rate_a=$2 rate_b=$3 round a b
  shift 3
  local -a first=() second=()
  while [ "$1" != -- ]; do first+=("$1"); shift; done
  shift
  second=("$@")
  for ((round = 0; round < rounds; round++)); do
    if ((round % 2)); then
      b=$(run "$rate_b" "${second[@]}") || exit 1
      a=$(run "$rate_a" "${first[@]}") || exit 1
    else
      a=$(run "$rate_a" "${first[@]}") || exit 1
      b=$(run "$rate_b" "${second[@]}") || exit 1
    fi
    awk -v a="$a" -v b="$b" "BEGIN { print $combine }"
  done
}

echo "ns: one sample of 10 frames           min  median      95 %"
loop=("$saros" "$program" tables)
if is_wanted sample; then
  pairs 'b - a' 0 0 "${loop[@]}" 3000000 -- "${loop[@]}" 3000000 | summary "A/A" %7.1f
  pairs 'b - a' 0 1 "${loop[@]}" 3000000 -- "${loop[@]}" 1000000 |
    summary "into the recording, with its death" %7.1f
fi
if is_wanted callback; then
  pairs 'b - a' 0 0 "${loop[@]}" 3000000 -- "${loop[@]}" 2000000 callback |
    summary "with an empty callback" %7.1f
  # Slices in which a loop of additions ran at its full speed tell what a sample costs while
  # no other processor slows this one down.
  for ((round = 0; round < rounds; round++)); do
    "$saros" "$program" slices 50 || exit 1
  done >"$directory/slices" || exit 1
  fast=$(sort -g "$directory/slices" | awk 'NR == 1 { print 1.1 * $1 }')
  awk -v fast="$fast" '$1 <= fast { print $2 }' "$directory/slices" |
    summary "the same, slices at full speed" %7.1f
  awk -v fast="$fast" '$1 > fast { print $2 }' "$directory/slices" |
    summary "the same, all other slices" %7.1f
  awk -v fast="$fast" '$1 <= fast { n++ } END { print "  " n + 0 " of " NR " slices at full speed" }' \
    "$directory/slices"
fi

echo
echo "run time, times that without          min  median      95 %"
if is_wanted tables; then
  for rate in 0 1e-4 1e-3 1e-2; do
    pairs 'b / a' 0 $rate "${loop[@]}" 30000000 -- "${loop[@]}" 30000000 |
      summary "{} ${rate/#0/A/A}" %7.4f
  done
fi

# awfy_time PROGRAM SIZE: microseconds of processor time, by the harness
awfy_time() {
  local output
  output=$(cd "$awfy" && "$saros" harness.lua "$1" 1 "$2" 2>&1) || { echo "$output" >&2; return 1; }
  sed -n 's/^Total Runtime: \([0-9]*\)us$/\1/p' <<<"$output"
}

[ -n "$awfy" ] || exit 0
for entry in Storage:500 CD:100 Havlak:2 DeltaBlue:8000 Json:60; do
  name=${entry%:*} size=${entry#*:}
  is_wanted "$name" || continue
  for rate in 0 1e-4 1e-3 1e-2; do
    pairs 'b / a' 0 $rate awfy_time "$name" "$size" -- awfy_time "$name" "$size" |
      summary "$name ${rate/#0/A/A}" %7.4f
  done
done
