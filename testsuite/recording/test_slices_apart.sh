# SPDX-License-Identifier: MIT
# A minor collection and the slices are pauses of their own: where nothing large is allocated
# eight slices come between two minor collections, and one more where a cycle begins. Where time
# ends a slice the next one comes sooner, but not before 8 KiB were allocated: 32 times in a nursery.
. "$TESTSUITE/recording/_recording.sh"
grep -q -- -DSAROS_STRESS "$BUILDDIR/Makefile" && { echo "builds of --enable-stress collect at each allocation"; exit 77; }

export SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_WSIZE=20
cat >program.lua <<'L'
local function tree(depth)
  if depth == 0 then return {} end
  return { tree(depth - 1), tree(depth - 1) }
end
local kept = {}
for i = 1, 8 do kept[i] = tree(15) end
L
"$SAROS" program.lua || fail "the program: status $?"
"$EVENTRING" dump ./*.eventring >dump.txt
slices=$(grep -c '> major_slice = pace' dump.txt)
[ "$slices" -gt 100 ] || fail "only $slices slices: nothing was tried"

most=$(awk '/> minor = / { n = 0 } /> major_slice = pace/ { if (++n > most) most = n } END { print most + 0 }' dump.txt)
[ "$most" -le 33 ] || fail "$most slices between two minor collections"
finish
