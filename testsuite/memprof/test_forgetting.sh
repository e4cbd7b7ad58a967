# SPDX-License-Identifier: MIT
# Stacks are forgotten while domains are spawned and inherit a profile, profiles start and
# stop, the recording samples each word, heap profiles are dumped at each major cycle, and
# another process reads the heap profile.
. "$TESTSUITE/_checks.sh"
export LUA_PATH="$TESTSUITE/lua/memprof/?.lua;;"

stacks=9500
[ "$TEST_SLOWNESS" = 1 ] || stacks=5000
export SAROS_EVENTRING_PREFIX=$PWD
SAROS_MEMPROF=1 SAROS_MEMPROF_DUMP=$PWD/dump SAROS_EVENTRING_PRESERVE=1 \
  "$SAROS" "$TESTSUITE/memprof/_forgetting.lua" $stacks 2 >out 2>&1 &
pid=$!
reads=0
while kill -0 $pid 2>/dev/null; do
  "$EVENTRING" heap --json $pid >heap.json 2>err
  status=$?
  [ $status -le 3 ] || fail "heap: status $status: $(cat err)"
  [ $status = 0 ] && reads=$((reads + 1))
done
wait $pid
is "status" 0 $?
[ ! -s out ] || fail "output: $(tail -n 5 out)"
[ $reads -gt 0 ] || fail "no heap profile was read"
[ -s dump ] || fail "no heap profile was dumped"
"$EVENTRING" heap --json ./*.eventring >heap.json 2>err || fail "heap: $? $(cat err)"
grep -q '"name": *"deep"' heap.json || fail "not in the heap profile: the function deep"

# A chunk that is loaded again is another function with the same stacks in the recording, and
# there is room for 65,536: one load has 100 of them.
cat >loads.lua <<'END'
local memprof = require "saros.memprof"
local text, kept = "return {" .. ("{},"):rep(100) .. "}", nil
for _ = 1, 1000 do kept = load(text, "=text")() end
collectgarbage()
local unknown = memprof.start {rate = 0}:snapshot().unknown_stacks
assert(#kept == 100 and unknown == 0, unknown)
END
SAROS_MEMPROF=1 "$SAROS" loads.lua || fail "loads: status $?"

# Program and recording sample at once: the block whose stack is being captured has none yet
# when the stacks of all blocks are noted. (What the entry of a former block of the other kind
# left there was taken for its number; --enable-debug checks numbers.)
cat >both.lua <<'END'
local memprof = require "saros.memprof"
local deep = require("_deep").deep
local sampler = memprof.start {rate = 1, depth = 30}
for bits = 1, 10000 do
  deep(16, bits)
  if bits % 10 == 0 then collectgarbage "step" end
end
local snapshot = sampler:snapshot()
assert(snapshot.unknown_stacks == 0 and snapshot.samples == snapshot.words)
END
SAROS_MEMPROF=1 "$SAROS" both.lua || fail "both: status $?"
finish
