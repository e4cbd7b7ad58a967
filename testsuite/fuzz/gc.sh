#!/bin/bash
# Runs random programs that know what must be alive, each with a seed of its own, and reports
# which of them failed and how to run it again.
#
#   testsuite/fuzz/gc.sh --saros=PROGRAM [--eventring=PROGRAM] [--seed=N] [--seconds=60]
#       [--count=N] [--failures=20] [--scale=F] [--bars=memory,steps] [--kinds=plain,verify,record,domains]
#
# Seeds count up from --seed (default: the time). It ends after a number of seconds, seeds or
# failures. Each seed is run in one of these ways, in turn:
#   plain     gc_program.lua, compared with lua5.4 where there is one (LUA_REFERENCE)
#   verify    gc_program.lua with SAROS_VERIFY=1, in half the size, with at most 2000 steps asked for by hooks
#   record    gc_program.lua, recorded: no step of the collector does more work than
#             doc/COLLECTOR.md says (`Bound of pause_work`)
#   domains   gc_domains.lua: large messages between domains
# --bars are the bounds that are held besides that of results: of memory, and of steps.
# --scale multiplies all sizes (builds that are slow: 0.02).
# Exit status 1 when a program failed, 2 on wrong usage.
# SPDX-License-Identifier: MIT

set -u
saros= eventring= seed= seconds=60 count= failures=20 scale=1 bars=memory,steps kinds=plain,record,verify,plain,domains
for word in "$@"; do
  case $word in
    --saros=*) saros=${word#*=} ;;
    --eventring=*) eventring=${word#*=} ;;
    --seed=*) seed=${word#*=} ;;
    --seconds=*) seconds=${word#*=} ;;
    --count=*) count=${word#*=} ;;
    --failures=*) failures=${word#*=} ;;
    --scale=*) scale=${word#*=} ;;
    --bars=*) bars=${word#*=} ;;
    --kinds=*) kinds=${word#*=} ;;
    *) sed -n '5,6s/^# *//p' "$0" >&2; exit 2 ;;
  esac
done
[ -x "$saros" ] || { echo "$0: no program '$saros' (--saros=PROGRAM)" >&2; exit 2; }
saros=$(realpath "$saros")
eventring=$(realpath "${eventring:-$(dirname "$saros")/eventring/eventring}")
here=$(cd "$(dirname "$0")" && pwd)
reference=${LUA_REFERENCE-$(command -v lua5.4)}
limit=$(sed -n 's/^Bound of `pause_work`: \([0-9]*\) KiB.*/\1/p' "$here/../../doc/COLLECTOR.md")
directory=$(mktemp -d) || exit 2
trap 'rm -rf "$directory"' EXIT
unset SAROS_EVENTRING_START SAROS_EVENTRING_PREFIX SAROS_EVENTRING_PRESERVE \
      SAROS_EVENTRING_WSIZE SAROS_EVENTRING_CLASSES SAROS_VERIFY
export GC_FUZZ_SCALE=$scale
case $bars in *memory*) export GC_FUZZ_MEMORY=1 ;; *) export GC_FUZZ_MEMORY=0 ;; esac
IFS=, read -ra kinds <<<"$kinds"

first=${seed:-$(date +%s)} ran=0 failed=0
end=$((SECONDS + seconds))
longest=$((120 * ${TEST_SLOWNESS:-1}))

# failure SEED KIND COMMAND: the message is in the file `out`
failure() {
  failed=$((failed + 1))
  echo "$(grep -a -m 1 -E 'FAILED|Sanitizer|runtime error|ssert' "$directory/out" || tail -n 1 "$directory/out")"
  echo "  again: $3"
  echo "     or: make gc-fuzz SEED=$1 GC_FUZZ='--count=1 --kinds=$2 --scale=$scale --bars=$bars'"
}

# guest SEED KIND PROGRAM [VARIABLE=VALUE...]: runs it; its output is in `out`
guest() {
  local seed=$1 kind=$2 program=$3 status
  shift 3
  (cd "$directory" && exec env "$@" timeout -k 5 "$longest" "$saros" "$here/$program" "$seed") >"$directory/out" 2>&1
  status=$?
  [ $status -eq 0 ] && return 0
  [ $status -eq 124 ] && echo "FAILED: seed $seed: no end within $longest s" >>"$directory/out"
  [ $status -gt 124 ] && echo "FAILED: seed $seed: status $status" >>"$directory/out"
  failure "$seed" "$kind" "GC_FUZZ_SCALE=$GC_FUZZ_SCALE GC_FUZZ_MEMORY=$GC_FUZZ_MEMORY $* $saros $here/$program $seed"
  return 1
}

one_plain() {
  guest "$1" plain gc_program.lua || return
  [ -n "$reference" ] || return
  # Some settings make the reference collect for ever: that proves nothing.
  GC_FUZZ_MEMORY=0 timeout 10 "$reference" "$here/gc_program.lua" "$1" >"$directory/reference" 2>&1
  [ $? -eq 124 ] && return
  cmp -s "$directory/out" "$directory/reference" && return
  echo "FAILED: $(cat "$directory/out") but $reference: $(head -n 1 "$directory/reference")" >"$directory/out"
  failure "$1" plain "for lua in $saros $reference; do \$lua $here/gc_program.lua $1; done"
}

one_verify() {
  GC_FUZZ_SCALE=$(awk -v s="$scale" 'BEGIN { print s / 2 }') guest "$1" verify gc_program.lua SAROS_VERIFY=1 GC_FUZZ_STEPS=2000
}

one_record() {
  local most
  rm -f "$directory"/*.eventring
  # The rings are resident memory.
  guest "$1" record gc_program.lua GC_FUZZ_MEMORY=0 SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_WSIZE=20 || return
  [[ $bars == *steps* ]] || return
  most=$("$eventring" stats --json "$directory"/*.eventring |
    jq '[.counters[] | select(.name == "pause_work") | .max] | max // 0')
  [ "${most:-0}" -le $((limit * 1024)) ] && return
  echo "FAILED: seed $1: a step of the collector did $((most / 1024)) KiB of work, more than $limit KiB" >"$directory/out"
  failure "$1" record "SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_WSIZE=20 GC_FUZZ_SCALE=$GC_FUZZ_SCALE $saros $here/gc_program.lua $1; eventring stats *.eventring"
}

one_domains() { guest "$1" domains gc_domains.lua; }

while [ $SECONDS -lt $end ] && [ "${count:-$((ran + 1))}" -gt $ran ] && [ $failed -lt "$failures" ]; do
  "one_${kinds[$((ran % ${#kinds[@]}))]}" $((first + ran))
  ran=$((ran + 1))
done
echo "gc-fuzz: $ran programs (seeds $first to $((first + ran - 1))), $failed failed"
[ $failed -eq 0 ]
