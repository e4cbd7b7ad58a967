#!/bin/bash
# Checks testsuite/model/block_transition.pml with spin: it must hold as it stands,
# and each of its mutations must fail. Usage: check-model.sh SRCDIR.
# Exit status 77, and the reason, without spin or a C compiler.
set -u
model=${1:-$(dirname "$0")/../..}/testsuite/model/block_transition.pml
model=$(realpath "$model")
command -v spin >/dev/null || { echo "spin is missing (Debian package: spin)"; exit 77; }
compiler=${CC:-$(command -v gcc || command -v cc || command -v clang)}
[ -n "$compiler" ] || { echo "no C compiler (Debian package: gcc)"; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/saros-model.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0

# search PAN-CFLAGS PAN-OPTIONS SPIN-OPTIONS...: sets `errors` and `states`
search() {
  local cflags=$1 options=$2
  shift 2
  rm -f pan* ./*.trail
  # shellcheck disable=SC2086
  spin -a "$@" "$model" >spin.txt 2>&1 && $compiler -O2 -w -DSAFETY $cflags -o pan pan.c 2>&1 &&
    ./pan -m100000 $options >out.txt 2>&1
  errors=$(sed -n 's/.*errors: *//p' out.txt)
  states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' out.txt)
  if [ -z "$errors" ]; then
    cat spin.txt out.txt
    errors=none
  fi
}

# must WHAT EXPECTED
must() {
  local verdict=ok
  [ "$errors" = "$2" ] || { verdict=FAILED; failures=$((failures + 1)); tail -n 30 out.txt; }
  printf '%-44s %s errors, %s states: %s\n' "$1" "$errors" "$states" "$verdict"
}

for reader in MAPPING_READER FILE_READER; do
  search -DCOLLAPSE "" -D${reader}_ONLY
  must "writer and $reader, all states" 0
  grep -q 'Search not completed' out.txt && { echo "the search was not completed"; failures=$((failures + 1)); }
done
search "-DBITSTATE" "-w28 -Q${MODEL_MINUTES:-1}"
must "writer and both readers, hashed states" 0
for mutation in NO_W2 NO_R4 NO_R5 W4_RELAXED W6_RELAXED R2_RELAXED REACHED; do
  search -DCOLLAPSE "" -D$mutation
  must "mutation $mutation, must fail" 1
done
[ $failures -eq 0 ] || { echo "$failures failed"; exit 1; }
