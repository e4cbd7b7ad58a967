#!/bin/bash
# Measures `eventring record` against programs that record at a known rate.
#
#   testsuite/bench/recording.sh --eventring=PROGRAM --load=PROGRAM [--rounds=5] [--seconds=10]
#       [--only=sink|full|lanes|cost|writers] [--directory=/dev/shm]
#
#   sink     a slow disk (each write takes 20 ms longer: slow_sink.c): one write in flight
#            against many, with the same writes; then with rings of 16 MiB
#   full     one producer at full speed, a ring of 64 MiB
#   lanes    eight lanes of a million events a second each
#   cost     what recording costs the producer, beside what a reader that polls costs it
#   writers  the ways to write, at full speed
#
# The load is recorded from its start. Each line has the ring, the rate that came about, what was lost (in events, and the part of
# the time of the load in which some ring lost something), the recorder's processor time, and how often the
# threads of the program were taken off their processor, and what the host of the machine took
# (steal), as both explain losses.
# SPDX-License-Identifier: MIT

set -u
eventring= load= rounds=5 seconds=10 only= directory=
for word in "$@"; do
  case $word in
    --eventring=*) eventring=${word#*=} ;;
    --load=*) load=${word#*=} ;;
    --rounds=*) rounds=${word#*=} ;;
    --seconds=*) seconds=${word#*=} ;;
    --only=*) only=${word#*=} ;;
    --directory=*) directory=${word#*=} ;;
    *) sed -n '4,5s/^# *//p' "$0" >&2; exit 2 ;;
  esac
done
for program in "$eventring" "$load"; do
  [ -x "$program" ] || { echo "$0: no program '$program'" >&2; exit 2; }
done
[ -n "$directory" ] || { directory=/tmp; [ -w /dev/shm ] && directory=/dev/shm; }
sources=$(cd "$(dirname "$0")" && pwd)
directory=$(mktemp -d -p "$directory") || exit 1
trap 'rm -rf "$directory"' EXIT
cd "$directory" || exit 1
unset SAROS_EVENTRING_STREAM SAROS_EVENTRING_NAME SAROS_EVENTRING_CLASSES
export SAROS_EVENTRING_START=1 SAROS_EVENTRING_PREFIX=$directory SAROS_EVENTRING_GROW=0
failed=0

wanted() { [ -z "$only" ] || [ "$only" = "$1" ]; }
steal() { awk '/^cpu / { print $9 * 10 }' /proc/stat; } # ms

# one NAME WSIZE LOAD-OPTIONS -- RECORD-OPTIONS: records the load from its start on, prints the line
one() {
  local name=$1 wsize=$2 words=() before
  shift 2
  while [ "$1" != -- ]; do words+=("$1"); shift; done
  shift
  before=$(steal)
  { TIMEFORMAT='%U %S'
    time SAROS_EVENTRING_WSIZE=$wsize "$eventring" record -q --json "$@" -- "$load" \
      "--seconds=$seconds" "${words[@]}" >both.json 2>errors.txt; } 2>times.txt
  local status=$? stolen=$(($(steal) - before))
  [ $status -eq 0 ] || { echo "$name: status $status: $(cat errors.txt times.txt)" >&2; exit 1; }
  jq -sr --arg name "$name" --arg cpu "$(cat times.txt)" --arg stolen "$stolen" \
    --arg wsize "$wsize" '
    (map(select(has("saved")))[0]) as $r | (map(select(has("wall_ns")))[0]) as $l |
    # processor time of the command and the load, less that of the threads of the load
    (($cpu | split(" ") | map(tonumber) | add) - $l.cpu_ns / 1e9) as $cpu |
    ($r.duration_ns / 1e9) as $s |
    if $r.emitted != $r.missed + $r.saved + $r.lost then error("sums") else . end |
    [$name, pow(2; ($wsize | tonumber) - 7),
     ($l.events | add) / ($l.wall_ns / 1e9) / 1e6, $r.bytes / $s / 1e6,
     $r.lost + $r.missed, 100 * $r.lost_ns / $l.wall_ns, 100 * $cpu / $s,
     $cpu * 1e9 / ([$r.saved, 1] | max), $l.involuntary, ($stolen | tonumber)]
    | @tsv' both.json >line.txt ||
    { echo "$name: emitted is not missed + saved + lost" >&2; failed=1; return; }
  awk -F'\t' '{ printf "%-34s %7d KiB %6.1f M/s %6.0f MB/s %11d %7.3f %% %6.1f %% %5.2f ns " \
    "%6d %5d ms\n", $1, $2, $3, $4, $5, $6, $7, $8, $9, $10 }' line.txt
  rm -f ./*.eventring
}

heading() {
  printf '\n%s\n' "$1"
  printf '%-34s %11s %10s %11s %11s %9s %8s %8s %6s %8s\n' "" ring events written lost "of time" \
    processor "an event" off steal
}

if wanted sink; then
  cc -shared -fPIC -O2 -o slow_sink.so "$sources/slow_sink.c" -ldl ||
    { echo "$0: cannot build slow_sink.c" >&2; exit 1; }
  # two lanes of RATE: 10.3 million events a second are 82 MB/s
  rate=${SINK_RATE:-10300000}
  export SLOW_SINK_US=20000
  heading "A disk on which each write of 64 KiB takes 20 ms longer, 2 lanes"
  for ((i = 0; i < rounds; i++)); do
    for what in "16 serial 1" "16 threads 1" "16 threads 64" "21 threads 64"; do
      read -r wsize writer buffers <<<"$what"
      LD_PRELOAD=$directory/slow_sink.so one "$writer, writes in flight: $buffers" "$wsize" \
        --threads=2 "--rate=$rate" -- -o sink.eventring -w "$writer" --buffers "$buffers" \
        --buffer-size 64K
    done
  done
  unset SLOW_SINK_US
fi

if wanted full; then
  heading "One producer at full speed"
  for ((i = 0; i < rounds; i++)); do
    one "to /dev/null" 23 -- -o /dev/null
    one "to $(stat -f -c %T .)" 23 -- -o full.eventring
  done
fi

if wanted lanes; then
  heading "Eight lanes of a million events a second each"
  for ((i = 0; i < rounds; i++)); do
    one "to $(stat -f -c %T .)" 16 --threads=8 --rate=1000000 -- -o lanes.eventring
  done
fi

if wanted writers; then
  heading "Writers, one producer at full speed, ring of 64 MiB"
  for ((i = 0; i < rounds; i++)); do
    for writer in serial threads aio; do
      one "$writer" 23 -- -o "$writer.eventring" -w "$writer"
    done
  done
fi

# cpu WHO: the producer's processor time for an event at full speed, while WHO reads
cpu() {
  SAROS_EVENTRING_WSIZE=20 "$load" --seconds=3 >load.json &
  local pid=$! reader=
  until "$eventring" show "$pid" >/dev/null 2>&1; do sleep 0.02; done
  case $1 in
    record) "$eventring" record -q -o /dev/null "$pid" & reader=$! ;;
    poll) "$eventring" stats --seconds 24h "$pid" >/dev/null 2>&1 & reader=$! ;;
  esac
  wait "$pid"
  [ -z "$reader" ] || wait "$reader"
  jq -r '.cpu_ns / (.events | add)' load.json
}

if wanted cost; then
  printf '\nProcessor time of a producer at full speed, ns an event\n%-10s %8s %8s\n' "" least median
  for ((i = 0; i < 2 * rounds; i++)); do
    for who in $(printf '%s\n' nobody again record poll | shuf); do
      echo "$who $(cpu "$who")" >>cost.txt
    done
  done
  for who in nobody again record poll; do
    grep "^$who " cost.txt | sort -k2n | awk -v who="$who" '{ at[NR] = $2 }
      END { printf "%-10s %8.2f %8.2f\n", who, at[1], at[int((NR + 1) / 2)] }'
  done
fi
exit $failed
