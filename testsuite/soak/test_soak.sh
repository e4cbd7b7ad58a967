# SPDX-License-Identifier: MIT
# The soak test for some seconds; and that it notices memory and descriptors that leak.
. "$TESTSUITE/_checks.sh"
[ -x "$SAROS" ] || { echo "there is no interpreter in this build"; exit 77; }
export SOAK_WATCH=$BUILDDIR/testsuite/soak/watch TMPDIR=$PWD
[ -x "$SOAK_WATCH" ] || { echo "$SOAK_WATCH is not built"; exit 77; }
# what was freed stays with sanitizers, and rounds take long
[ "$TEST_SLOWNESS" = 1 ] || export SOAK_MEMORY=0

soak() { bash "$TESTSUITE/soak/soak.sh"; }
SOAK_SECONDS=$((TEST_SLOWNESS == 1 ? 9 : 20)) SOAK_ROWS=6 soak || fail "status $?"
if [ "$TEST_SLOWNESS" = 1 ]; then
  export SOAK_WARM=0
  SOAK_SECONDS=6 SOAK_LEAK=memory soak >leak.txt && fail "memory that leaks is not noticed"
  has "memory that leaks" "FAILED: anonymous memory of the guest grows" "$(cat leak.txt)"
  SOAK_SECONDS=6 SOAK_LEAK=descriptors soak >leak.txt && fail "descriptors that leak are not noticed"
  has "descriptors that leak" "FAILED: descriptors of the guest grows" "$(cat leak.txt)"
fi
finish
