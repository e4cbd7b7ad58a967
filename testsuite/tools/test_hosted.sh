# SPDX-License-Identifier: MIT
# Tools that look into a process whose state has an allocator of the program: its heap has another
# layout, what they say is the same.
. "$TESTSUITE/tools/_watched.sh"

host=$BUILDDIR/testsuite/faults/allocators_test
[ -x "$host" ] || { echo "allocators_test is not built (make check-programs)"; exit 77; }
printf '#!/bin/sh\nexec "%s" run "$@"\n' "$host" >hosted && chmod +x hosted
SAROS=$PWD/hosted

cat >wait.lua <<END
waiting = {}
local function worker(n) coroutine.yield(n) end
for i = 1, 3000 do
  waiting[i] = coroutine.create(worker)
  coroutine.resume(waiting[i], i)
end
collectgarbage()
for i = 1001, 3000 do waiting[i] = nil end
collectgarbage()
io.stdout:write("ready\n") io.stdout:flush()
local function spin() while true do waiting.n = (waiting.n or 0) + 1 end end
spin()
END
run wait
look() { "$EVENTRING" coroutines --json $pid; }
shows '.total | [.domains, .coroutines, .groups]' '[1,1000,1]' "what waits"
shows '.rows[0].frames | map(.name)' '["coroutine.yield","worker"]' "their stack"
look() { "$EVENTRING" stack --json $pid; }
shows '.rows[0].frames | map(select(.kind == "lua").name) | .[0]' '"spin"' "what runs"
end_run

# answers of the process itself
export SAROS_EVENTRING_START=1
run wait
look() { "$EVENTRING" memory --json $pid; }
shows '.rows | map(select(.name == "stacks of coroutines")) | map([.in, .resident_bytes > 500000])' \
  '[["malloc",true]]' "memory"
"$EVENTRING" retain --json $pid >retain.json 2>retain.err || fail "retain: $? $(cat retain.err)"
is "threads in the walk" true "$(jq '[.. | numbers | select(. == 1001)] | length > 0' retain.json)"
end_run
finish
