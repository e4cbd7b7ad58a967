# SPDX-License-Identifier: MIT
# A process that keeps a heap profile is killed at any moment: the profile is whole, and its
# estimate agrees with the words that were counted, within 5.7 standard errors. KILLS: how
# many times (6).
command -v python3 >/dev/null || { echo "python3 is missing (Debian package: python3)"; exit 77; }
. "$TESTSUITE/tools/_tools.sh"
export PYTHONDONTWRITEBYTECODE=1
HOST=$BUILDDIR/testsuite/tools/sample_heap
[ -x "$HOST" ] || { echo "$HOST is not built"; exit 77; }
unset HEAP_MEMPROF
for ((i = 0; i < ${KILLS:-6}; i++)); do
  : >ready.txt
  HEAP_EVENTRING_START=1 "$HOST" --forever --rate 0.02 --seed $RANDOM >ready.txt &
  pid=$!
  until_so grep -qs ready ready.txt || fail "the host does not begin"
  sleep 0.0$((RANDOM % 90 + 10)) # at a moment that nobody knows
  kill -KILL "$pid"
  wait "$pid" 2>/dev/null
  "$EVENTRING" heap --json --by function "$pid.eventring" >heap.json || fail "kill $i: heap"
  python3 "$TESTSUITE/tools/_heap.py" - heap.json || fail "kill $i"
  "$EVENTRING" dump --json "$pid.eventring" >/dev/null || fail "kill $i: dump finds damage"
  rm -f "$pid.eventring"
done
finish
