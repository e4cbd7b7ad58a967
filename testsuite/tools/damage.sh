# SPDX-License-Identifier: MIT
# make check-damage: cuts recordings with random damage, of many seeds (_damage.py has the
# oracle). The recordings, and the directory of each seed that fails, are left in
# testsuite/tools/damage of the build directory; what was there before is removed.
#
#   TESTSUITE, BUILDDIR, EVENTRING   as for tests (run-tests.sh)
#   SEEDS, SEED                      how many seeds, and the first
. "$TESTSUITE/tools/_tools.sh"
. "$TESTSUITE/tools/_damage.sh"

rm -rf "$BUILDDIR/testsuite/tools/damage"
mkdir -p "$BUILDDIR/testsuite/tools/damage" && cd "$BUILDDIR/testsuite/tools/damage" || exit 1
make_recordings
for ((seed = SEED; seed < SEED + SEEDS; seed++)); do
  for name in $RECORDINGS; do damage "$name" "$seed" 24; done
done
echo "$SEEDS seeds from $SEED on: $failures failures"
finish
