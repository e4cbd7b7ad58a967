# SPDX-License-Identifier: MIT
# make check-repair: repairs recordings with random damage, of many seeds (_damage.py has the
# oracle). The recordings, and the directory of each seed that fails, are left in
# testsuite/tools/repair of the build directory; what was there before is removed.
#
#   TESTSUITE, BUILDDIR, EVENTRING   as for tests (run-tests.sh)
#   SEEDS, SEED                      how many seeds, and the first
. "$TESTSUITE/tools/_tools.sh"
. "$TESTSUITE/tools/_repair.sh"

rm -rf "$BUILDDIR/testsuite/tools/repair"
mkdir -p "$BUILDDIR/testsuite/tools/repair" && cd "$BUILDDIR/testsuite/tools/repair" || exit 1
make_recordings
for ((seed = SEED; seed < SEED + SEEDS; seed++)); do
  for name in $RECORDINGS; do damage "$name" "$seed" 24; done
done
echo "$SEEDS seeds from $SEED on: $failures failures"
finish
