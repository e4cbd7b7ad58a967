# SPDX-License-Identifier: MIT
# A program forks in the middle of forgetting stacks, by itself, for other programs, and for
# `eventring retain`. Its children, which end, are killed or go on, change nothing of it: in
# each recording the samples are all words, and each process has its own blocks.
. "$TESTSUITE/_checks.sh"
export LUA_PATH="$TESTSUITE/lua/memprof/?.lua;;"

every=4
[ "$TEST_SLOWNESS" = 1 ] || every=15
export SAROS_EVENTRING_PREFIX=$PWD
SAROS_MEMPROF=1 SAROS_EVENTRING_PRESERVE=1 \
  "$SAROS" "$TESTSUITE/memprof/_forks.lua" 20000 3150 3450 $every >out 2>&1 &
pid=$!
while kill -0 $pid 2>/dev/null; do
  "$EVENTRING" retain --json $pid >retain.json 2>err
  status=$?
  [ $status -le 3 ] || fail "retain: status $status: $(cat err)"
  [ $status = 0 ] && jq -e '.total.objects > 0' retain.json >/dev/null && touch walked
done
wait $pid
status=$?
[ $status = 77 ] && { echo "built without ffi"; exit 77; }
is "status" 0 $status
gone_on=$(tail -n 1 out)
[ "$gone_on" -gt 0 ] || fail "output: $(cat out)"

theirs=0
for file in *.eventring; do
  "$EVENTRING" heap --json --by function "$file" >heap.json || fail "heap $file: status $?"
  is "$file: samples, and words asked for" \
    "$(jq -c '[.total.counted_words, 0, 0]' heap.json)" \
    "$(jq -c '[.total | .allocated_samples, .lost_sites, .unknown_frees]' heap.json)"
  own=$(jq '[.rows[] | select(.name == "in_child") | .allocated_objects] | add // 0' heap.json)
  if [ "$file" = $pid.eventring ]; then
    is "blocks of children with the parent" 0 "$own"
  else
    theirs=$((theirs + 1))
    [ "$own" -gt 0 ] || fail "$file: no blocks of its own"
  fi
done
[ $theirs -gt 0 ] && [ $theirs -le "$gone_on" ] || fail "recordings of $theirs children"
finish
