#!/bin/bash
# Compares module ffi with the C compiler: random structs, arguments and callbacks
# (ffi_program.lua), a library of 60 structs a seed, and reports how to run again what differed.
#
#   testsuite/fuzz/ffi.sh --saros=PROGRAM [--seed=N] [--seconds=60 | --count=N] [--compiler=gcc]
#
# Seeds count up from --seed (default: the time), for --seconds; with --count, so many are tried,
# however long that takes. Exit status 1 when a seed failed, 2 on wrong usage.
# SPDX-License-Identifier: MIT

set -u
saros= seed= seconds=60 count= compiler=gcc
for word in "$@"; do
  case $word in
    --saros=*) saros=${word#*=} ;;
    --seed=*) seed=${word#*=} ;;
    --seconds=*) seconds=${word#*=} ;;
    --count=*) count=${word#*=} ;;
    --compiler=*) compiler=${word#*=} ;;
    *) sed -n '5s/^# *//p' "$0" >&2; exit 2 ;;
  esac
done
[ -x "$saros" ] || { echo "$0: no program '$saros' (--saros=PROGRAM)" >&2; exit 2; }
saros=$(realpath "$saros")
here=$(cd "$(dirname "$0")" && pwd)
directory=$(mktemp -d) || exit 2
trap 'rm -rf "$directory"' EXIT

first=${seed:-$(date +%s)} ran=0 failed=0
end=$((SECONDS + seconds))
while if [ -n "$count" ]; then [ $ran -lt "$count" ]; else [ $SECONDS -lt $end ]; fi; do
  n=$((first + ran))
  (cd "$directory" && exec timeout $((300 * ${TEST_SLOWNESS:-1})) \
    "$saros" "$here/ffi_program.lua" $n 60 "$compiler") >"$directory/out" 2>&1
  status=$?
  ran=$((ran + 1))
  [ $status -ne 0 ] || continue
  failed=$((failed + 1))
  head -c 4000 "$directory/out"
  tail -n 5 "$directory/out"
  echo "  status $status; again: $saros $here/ffi_program.lua $n 60 $compiler"
done
echo "fuzz-ffi: $ran libraries (seeds $first to $((first + ran - 1))), $failed failed"
[ $failed -eq 0 ] && [ $ran -gt 0 ]
