#!/bin/bash
# SPDX-License-Identifier: MIT
# Breaks each law of libeventring once (eventring/format/law.h), and expects that the assertion
# reports it. A law that nothing trips over proves nothing.
#
#   testsuite/check-laws.sh SOURCE-DIR BUILD-DIR [LAW]       (make check-laws [LAW=NAME])
#
# The build directory is one of --enable-debug, in which the programs of the tests are built.
# For each law a source is changed by sed, compiled as the build compiles it, and linked into
# a unit program in front of the library. The program must end with the assertion named, and
# without the change with success. Prints a line for each law; the exit status is 1 when one
# was not reported.
#
# From the environment: CC, COMPILE (its flags), LIBS.

set -u
srcdir=$(realpath "${1:?source directory}") builddir=$(realpath "${2:?build directory}")
only=${3-} failed=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# name | source | what is changed | unit program | the assertion
laws='
lane|eventring/producer/lane.c|s/^  lane->extra += words;$/  lane->extra += words + 600;/|events|is_in_block
open-spans|eventring/producer/open_spans.c|s/^  open->count--;$//|openspans|is_linked
stream|eventring/producer/stream.c|s/^  lane->next = NULL;$//|stream|is_lawful
extents|eventring/producer/extents.c|s/&next, next + blocks, true/\&next, next + blocks - 1, true/|growth|is_in_order
heap|eventring/producer/heap_profile.c|s/^  take(&h->live, t->samples, objects);$//|memory|adds_up
ahead|eventring/reader/ahead.c|s/^  __atomic_store_n(&ahead->done, ahead->asked, __ATOMIC_RELAXED);$/  __atomic_store_n(\&ahead->done, ahead->asked + 1, __ATOMIC_RELAXED);/|ahead|is_lawful
block-cursor|eventring/reader/block_cursor.c|s/^  cursor->next = sequence + 1;$/  cursor->next = sequence;/|events|cursor->sequence < cursor->next
accounts|eventring/reader/ring_reader.c|s/^  \*(before . &reader->missed : &reader->lost) += gap;$/  *(before ? \&reader->missed : \&reader->lost) += gap - 1;/|loss|is_accounted
saver|eventring/reader/saver_stream.c|s/^    stream->account.lost += before - stream->account.known;$//|saver|is_accounted
balance|eventring/reader/ring_reader.c|s/^  queue_end(reader, &stack->span\[index\], .*$//|loss|is_balanced
'

report() { # NAME TEXT
  echo "FAIL $1: $2"
  failed=$((failed + 1))
}

# Links and runs the unit program; its output is in $work/output.
run() { # PROGRAM [OBJECT]
  # shellcheck disable=SC2086 # the flags are words
  $CC $COMPILE -o "$work/program" \
    "$builddir"/testsuite/unit/eventring_"$1"_test-*.o ${2+"$2"} \
    "$builddir/libeventring_host.a" $LIBS 2>"$work/link" || { cat "$work/link"; return 126; }
  (cd "$work" && timeout 300 ./program >output 2>&1)
}

break_law() { # NAME SOURCE CHANGE PROGRAM ASSERTION
  local source=$srcdir/$2 changed=$work/${2##*/}
  sed "$3" "$source" >"$changed" || exit 1
  cmp -s "$source" "$changed" && { report "$1" "nothing in $2 is changed"; return; }
  # shellcheck disable=SC2086
  $CC $COMPILE -I"${source%/*}" -c -o "$work/changed.o" "$changed" ||
    { report "$1" "the changed source is not compiled"; return; }
  run "$4" || { report "$1" "eventring_$4_test fails as it is"; return; }
  run "$4" "$work/changed.o" 2>"$work/said" # where bash says that the program was aborted
  local status=$?
  if [ $status -ne 134 ] || ! grep -aq "Assertion .*$5.* failed" "$work/output"; then
    report "$1" "eventring_$4_test ended with $status, without the assertion"
  else
    echo "ok $1: $(grep -ao "Assertion .* failed" "$work/output" | head -n 1)"
  fi
}

while IFS='|' read -r name source change program assertion; do
  [ -n "$name" ] || continue
  [ -z "$only" ] || [ "$only" = "$name" ] || continue
  break_law "$name" "$source" "$change" "$program" "$assertion"
done <<<"$laws"
[ $failed -eq 0 ]
