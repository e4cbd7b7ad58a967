#!/bin/bash
# SPDX-License-Identifier: MIT
# Checks the models with spin: all states; then that each mutation fails, or holds for the
# reason given here.
#   block_transition.pml  the writer of a ring with each reader and with both
#   shared_blocks.pml     contexts, and domains that share blocks
#   control_page.pml      the words wanted and gate, and the log of classes switched on
#   stream_chunks.pml     claiming and handing over the chunks of a stream
#
#   check-model.sh [--brief-states | --brief-mutations | --shared | --control | --chunks] SRCDIR
#
# For the suite, one part each, some 15 to 30 s of processor time: --brief-states: the
# states of the block transition, both readers over one block less, and no two of a kind;
# --brief-mutations: its mutations, each with the first of the readers that it breaks;
# --shared, --control, --chunks: one of the other three, states in brief and mutations.
# Exit status 77, and the reason, without spin or a C compiler.
set -u
part=all
case ${1-} in
--*) part=${1#--}; shift ;;
esac
models=$(realpath "${1:-$(dirname "$0")/../..}/testsuite/model")
model=$models/block_transition.pml
command -v spin >/dev/null || { echo "spin is missing (Debian package: spin)"; exit 77; }
compiler=${CC:-$(command -v gcc || command -v cc || command -v clang)}
[ -n "$compiler" ] || { echo "no C compiler (Debian package: gcc)"; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/saros-model.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0
reduction= # -DNOREDUCE where a process may be stopped

# search OPTIMISATION SPIN-OPTIONS...: sets `errors` and `states`; a search that left
# something out, or did not end, has no number of errors
search() {
  local optimisation=$1
  shift
  rm -f pan* ./*.trail out.txt
  spin -a "$@" "$model" >spin.txt 2>&1 &&
    $compiler $optimisation $reduction -w -DSAFETY -DCOLLAPSE -o pan pan.c >>spin.txt 2>&1 &&
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

# The compiler takes longer than most searches: it optimises as much as pays.
all_states() { # WHAT SPIN-OPTIONS...
  local what=$1 optimisation=-O1
  shift
  [ $part != all ] || optimisation=-O2
  search $optimisation "$@"
  must "$what, all states" 0
}

mapping="-DMAPPING=1 -DFILE=0" file="-DMAPPING=0 -DFILE=1"
ahead="-DMAPPING=0 -DFILE=0 -DAHEAD=1 -DPLACES=3 -DBLOCKS=5" # of 2 places it reads none

no_room="-DNO_ROOM -DBLOCKS=5"

fails() { # MUTATION READER... (mapping, file, ahead): it breaks each of these
  local mutation=$1 reader
  shift
  for reader in "$@"; do
    # shellcheck disable=SC2086
    search -O0 ${!reader} ${mutation//+/ }
    must "$reader reader with $mutation must fail" 1
    [ $part = all ] || break
  done
}

holds() { # MUTATION WHY READER...: what this one does, another one does as well
  local mutation=$1 why=$2 reader
  shift 2
  for reader in "$@"; do
    # shellcheck disable=SC2086
    search -O1 ${!reader} ${mutation//+/ }
    must "$reader reader with $mutation: $why" 0
    [ $part = all ] || break
  done
}

check_states() {
  # shellcheck disable=SC2086
  {
    all_states "writer and a mapping reader" $mapping
    all_states "writer and a file reader" $file
    all_states "writer and a reader of several blocks" $ahead
    all_states "writer without room and a mapping reader" $mapping $no_room
    all_states "writer without room and a file reader" $file $no_room
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
  fails -DREACHED_SEAL mapping file
  for fence in -DNO_W2 -DNO_R4 -DNO_R5; do fails $fence mapping file ahead; done
  for look in -DR0_RELAXED -DR0_RELAXED+-DR1_RELAXED -DW5_RELAXED -DW6_RELAXED; do
    fails $look mapping file
  done
  for swap in -DW1_AFTER_W3 -DW3_AFTER_W5 -DW4_AFTER_W5 -DWORD_BEFORE_PAYLOAD; do
    fails $swap mapping file
  done
  fails -DSEAL_AFTER_W5 mapping file ahead
  fails -DSEAL_BEFORE_W6 mapping file ahead
  fails -DNO_W1 mapping file
  fails -DNO_ZEROS mapping file
  fails -DSEAL_OF_UNFINISHED mapping file
  fails -DNO_R4_OF_MORE mapping file
  fails -DSEAL_AFTER_R5 mapping file
  fails -DNO_FENCE_WHEN_GONE mapping file
  fails -DR2_RELAXED mapping # a file has the second call instead:
  fails -DNO_R3 file
  fails -DONE_MORE ahead
  fails -DW1_RELAXED mapping file
  for mutation in REACHED_LEFT_OUT NO_S NO_W2_IF_NEW; do
    fails "${no_room// /+}+-D$mutation" mapping file
  done
  fails -DNO_SEQUENCE+-DW1_RELAXED ahead
  # One of two that do the same may go: whoever reads a block has seen the head.
  holds -DW4_RELAXED "W5 does it" mapping file ahead
  holds -DSEAL_RELAXED "the next W5 does it" mapping file
  holds -DSEAL_AFTER_W1 "the next W5 comes after it" mapping file ahead
  holds -DNO_SEQUENCE "W1 shows the head that precedes it" ahead
  holds -DNO_R1 "R0 and R5 do it" mapping
  holds -DW3_AFTER_W4 "W5 comes after both" mapping file
}

# ---- Contexts and shared blocks ----

check_shared() {
  local mutation
  model=$models/shared_blocks.pml
  all_states "two domains, blocks of 3 words" -DDOMAINS=2 -DBLOCKS=2
  all_states "two domains, 3 blocks of 2 words" -DDOMAINS=2 -DROOM=2
  [ $part = shared ] || all_states "three domains" -DBLOCKS=2
  for mutation in NO_CONTEXT_IN_HEADER NO_INCARNATION_IN_HEADER OPEN_OF_CONTEXT_ONLY NO_WALK \
    SPANS_OUTLIVE NO_INCARNATION_REMARK HEADER_PATCHED ALWAYS_NEXT REMARK_AFTER_EVENT \
    CONTEXT_OUTLIVES REMARK_COUNTED COUNT_NOT_HANDED_OVER NO_MUTEX REACHED_SHARED \
    REACHED_SKIPPED REACHED_OTHER; do
    search -O0 -DBLOCKS=2 -D$mutation
    must "shared blocks with -D$mutation must fail" 1
  done
}

# ---- The control page ----

control_fails() { # MUTATION SPIN-OPTIONS...
  local mutation=$1 optimisation=-O0
  case $mutation in # is found late
    -DTICKS_BEFORE_GATE | -DHOLES_PASSED | -DONE_TIME) optimisation=-O1 ;;
  esac
  search $optimisation "$@"
  must "control page with $mutation must fail" 1
}

check_gate() {
  local mutation
  all_states "wanted and gate, two changers" -DSPAN=0
  all_states "wanted and gate, garbage and one changer" -DSPAN=0 -DGARBAGE=1 -DCHANGERS=1
  for mutation in NO_SECOND_LOOK WANTED_STORED GATE_STORED GATE_BEFORE_WANTED; do
    control_fails -D$mutation -DSPAN=0
  done
  control_fails -DNO_REPAIR -DSPAN=0 -DGARBAGE=1 -DCHANGERS=1
  reduction=-DNOREDUCE
  [ $part = control ] || all_states "wanted and gate, one changer dies" -DSPAN=0 -DDEATH=1
  control_fails -DNO_SAFEPOINT -DSPAN=0 -DDEATH=1
  control_fails -DREACHED_SETTLE -DSPAN=0 -DDEATH=1
  reduction=
}

check_log() {
  local mutation
  [ $part = control ] || all_states "log, held up at any place" -DPAUSES
  all_states "log with one time, nobody is held up" -DPAUSES -DONE_TIME -DPROMPT
  for mutation in NO_LOG LOG_AFTER_GATE TICKS_BEFORE_GATE LOG_BEFORE_EVENTS HOLES_PASSED \
    REACHED_TORN REACHED_MATCH; do
    control_fails -D$mutation -DPAUSES -DONE_TIME -DPROMPT
  done
  control_fails -DONE_TIME -DPAUSES
}

check_control() {
  model=$models/control_page.pml
  check_gate
  check_log
}

# ---- The chunks of a stream ----

check_chunks() {
  local mutation
  model=$models/stream_chunks.pml
  all_states "a lane and the helper, room for some chunks"
  all_states "room for none at first" -DROOM=0 -DBLOCKS=7
  all_states "two lanes, 2 blocks each" -DLANES=2 -DBLOCKS=2 -DCHUNKS=3
  for mutation in RELEASED_EARLY FREE_BEFORE_UNMAP TAKE_IN_TWO CLAIM_DROPPED WAKE_FIRST \
    STARVES_LATE REACHED_STARVED REACHED_OWN REACHED_HELP; do
    search -O0 -D$mutation
    must "chunks with -D$mutation must fail" 1
  done
  search -O0 -DCLAIM_IN_TWO -DLANES=2 -DBLOCKS=4
  must "chunks with -DCLAIM_IN_TWO must fail" 1
}

case $part in
chunks) check_chunks ;;
shared) check_shared ;;
control) check_control ;;
brief-states) check_states ;;
brief-mutations) check_mutations ;;
*) check_states; check_mutations; check_shared; check_control; check_chunks ;;
esac
[ $failures -eq 0 ] || { echo "$failures failed"; exit 1; }
