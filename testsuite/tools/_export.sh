# SPDX-License-Identifier: MIT
# Sourced by the tests of exports: makes `file`, a recording with a heap profile, whose sums
# are in heap.json.
. "$TESTSUITE/tools/_tools.sh"
HOST=$BUILDDIR/testsuite/tools/sample_heap
[ -x "$HOST" ] || { echo "$HOST is not built"; exit 77; }
MODULES=${NPM:-$BUILDDIR/npm}/node_modules
unset HEAP_MEMPROF
mkdir kept
HEAP_EVENTRING_START=1 HEAP_EVENTRING_PRESERVE=1 HEAP_EVENTRING_PREFIX=kept \
  "$HOST" --rate 0.05 --seed $RANDOM >truth.json || fail "sample_heap"
file=$(echo kept/*.eventring)
"$EVENTRING" heap --json --by function "$file" >heap.json || fail "heap"

# about WHAT EXPECTED ACTUAL: the same, but for rounding each of some rows
about() { awk -v a="$2" -v b="$3" 'BEGIN { exit !(a - b < 50 && b - a < 50 && a > 0) }' ||
  fail "$1: expected $2, got $3"; }

# needs_module NAME: of npm
needs_module() {
  command -v node >/dev/null || { echo "node is missing (Debian package: nodejs)"; exit 77; }
  [ -d "$MODULES/$1" ] ||
    { echo "$1 is not in $MODULES (./runtests installs it, where node, npm and their registry are)"; exit 77; }
}
