#!/bin/bash
# SPDX-License-Identifier: MIT
# Checks testsuite/model/block_transition.pml with spin: all states of the writer with
# each reader and with both; then that each mutation fails, or holds for the reason
# given here.
#
#   check-model.sh [--brief-states | --mutations=READERS] SRCDIR
#
# --brief-states: the states alone, both readers over one block less, and no two of a
# kind; --mutations: these alone, of the readers named (of mapping, file, ahead, with
# commas). Each takes some 15 s of processor time.
# Exit status 77, and the reason, without spin or a C compiler.
set -u
part=all readers=mapping,file,ahead
case ${1-} in
--mutations=*) part=mutations readers=${1#*=}; shift ;;
--*) part=${1#--}; shift ;;
esac
model=$(realpath "${1:-$(dirname "$0")/../..}/testsuite/model/block_transition.pml")
command -v spin >/dev/null || { echo "spin is missing (Debian package: spin)"; exit 77; }
compiler=${CC:-$(command -v gcc || command -v cc || command -v clang)}
[ -n "$compiler" ] || { echo "no C compiler (Debian package: gcc)"; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/saros-model.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0

# search OPTIMISATION SPIN-OPTIONS...: sets `errors` and `states`; a search that left
# something out, or did not come to an end, has no number of errors
search() {
  local optimisation=$1
  shift
  rm -f pan* ./*.trail out.txt
  spin -a "$@" "$model" >spin.txt 2>&1 &&
    $compiler $optimisation -w -DSAFETY -DCOLLAPSE -o pan pan.c >>spin.txt 2>&1 &&
    ./pan -m1000000 >out.txt 2>&1
  errors=$(sed -n 's/.*errors: *//p' out.txt 2>/dev/null)
  states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' out.txt 2>/dev/null)
  if [ -z "$errors" ] || grep -q 'depth too small\|Out of memory' out.txt; then
    cat spin.txt out.txt
    errors=unknown
  fi
  [ "$errors" != 0 ] || ! grep -q 'Search not completed' out.txt || errors=incomplete
}

# must WHAT EXPECTED
must() {
  local verdict=ok
  [ "$errors" = "$2" ] || { verdict=FAILED; failures=$((failures + 1)); tail -n 30 out.txt; }
  printf '%-62s %9s states, %s errors: %s\n' "$1" "$states" "$errors" "$verdict"
}

all_states() { # WHAT SPIN-OPTIONS...
  local what=$1
  shift
  search -O2 "$@"
  must "$what, all states" 0
}

mapping="-DMAPPING=1 -DFILE=0" file="-DMAPPING=0 -DFILE=1"
ahead="-DMAPPING=0 -DFILE=0 -DAHEAD=1 -DPLACES=3 -DBLOCKS=5" # of 2 places it reads none

wanted() { case ,$readers, in *,$1,*) ;; *) return 1 ;; esac; }

fails() { # MUTATION READER... (mapping, file, ahead): it breaks each of these
  local mutation=$1 reader
  shift
  for reader in "$@"; do
    wanted "$reader" || continue
    # shellcheck disable=SC2086
    search -O0 ${!reader} ${mutation//+/ }
    must "$reader reader with $mutation must fail" 1
  done
}

holds() { # MUTATION WHY READER...: what this one does, another one does as well
  local mutation=$1 why=$2 reader
  shift 2
  for reader in "$@"; do
    wanted "$reader" || continue
    # shellcheck disable=SC2086
    search -O1 ${!reader} ${mutation//+/ }
    must "$reader reader with $mutation: $why" 0
  done
}

check_states() {
  # shellcheck disable=SC2086
  {
    all_states "writer and a mapping reader" $mapping
    all_states "writer and a file reader" $file
    all_states "writer and a reader of several blocks" $ahead
  }
  if [ $part = brief-states ]; then
    all_states "writer and both readers, 3 blocks" -DBLOCKS=3
  else
    all_states "writer and both readers"
    all_states "writer and two mapping readers" -DMAPPING=2 -DFILE=0
    all_states "writer and two file readers" -DMAPPING=0 -DFILE=2
  fi
}

check_mutations() {
  fails -DREACHED_REUSE mapping file ahead
  fails -DREACHED_GONE mapping file
  fails -DREACHED_LENGTH mapping file
  for fence in -DNO_W2 -DNO_R4 -DNO_R5; do fails $fence mapping file ahead; done
  for look in -DR0_RELAXED -DR0_RELAXED+-DR1_RELAXED -DW5_RELAXED -DW6_RELAXED; do
    fails $look mapping file
  done
  for swap in -DW1_AFTER_W3 -DW3_AFTER_W5 -DW4_AFTER_W5 -DWORD_BEFORE_PAYLOAD; do
    fails $swap mapping file
  done
  fails -DCOMMIT_AFTER_W5 mapping file ahead
  fails -DNO_R4_OF_MORE mapping file
  fails -DLENGTH_AFTER_R5 mapping file
  fails -DNO_FENCE_WHEN_GONE mapping file
  fails -DR2_RELAXED mapping # a file has the second call instead:
  fails -DNO_R3 file
  fails -DONE_MORE ahead
  fails -DW1_RELAXED mapping file
  fails -DNO_SEQUENCE+-DW1_RELAXED ahead
  # One of two that do the same may go: who looks at a block has seen the head.
  holds -DW4_RELAXED "W5 does it" mapping file ahead
  holds -DCOMMIT_RELAXED "the next W5 does it" mapping file
  holds -DNO_SEQUENCE "W1 shows the head that precedes it" ahead
  holds -DNO_R1 "R0 and R5 do it" mapping
  holds -DW3_AFTER_W4 "W5 comes after both" mapping file
}

[ $part = mutations ] || check_states
[ $part = brief-states ] || check_mutations
[ $failures -eq 0 ] || { echo "$failures failed"; exit 1; }
