# SPDX-License-Identifier: MIT
# reader.py, written from doc/FORMAT.md, and `eventring heap` agree on heap profiles, also on
# what damage leaves of them, and nothing that damage makes of functions, stacks and profiles
# breaks the command. HEAP_MUTATIONS: how many damaged files (10); FORMAT_SEED: which.
command -v python3 >/dev/null || { echo "python3 is missing (Debian package: python3)"; exit 77; }
. "$TESTSUITE/_checks.sh"
export EVENTRING PYTHONIOENCODING=utf-8 PYTHONDONTWRITEBYTECODE=1
HOST=$BUILDDIR/testsuite/tools/sample_heap
[ -x "$HOST" ] || { echo "$HOST is not built"; exit 77; }
unset HEAP_MEMPROF
seed=${FORMAT_SEED:-$RANDOM}
echo "seed $seed"
HEAP_EVENTRING_START=1 HEAP_EVENTRING_PRESERVE=1 HEAP_EVENTRING_NAME=heap HEAP_EVENTRING_WSIZE=12 \
  "$HOST" --rate 0.05 --collections 12 --depth 20 --seed "$seed" >truth.json || fail "sample_heap"
python3 "$TESTSUITE/format/heaps.py" heap.eventring "${HEAP_MUTATIONS:-10}" "$seed" ||
  fail "FORMAT_SEED=$seed"
finish
