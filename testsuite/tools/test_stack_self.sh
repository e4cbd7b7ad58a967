# SPDX-License-Identifier: MIT
# Where the kernel does not let the memory of a process be read, one that records samples
# itself, and the output says so; for another one the message says what to set.
command -v python3 >/dev/null || { echo "python3 is missing (Debian package: python3)"; exit 77; }
. "$TESTSUITE/tools/_tools.sh"
export PYTHONDONTWRITEBYTECODE=1
forbidden() { timeout $PATIENCE python3 "$TESTSUITE/tools/_forbid_reading.py" "$EVENTRING" "$@"; }
forbidden --help >/dev/null 2>&1
[ $? -eq 77 ] && { echo "process_vm_readv cannot be forbidden here"; exit 77; }

cat >work.lua <<'END'
local function leaf(n) local s = 0 for i = 1, n do s = s + i end return s end
local function work() while true do leaf(1000) end end
io.stdout:write("ready\n") io.stdout:flush()
work()
END
SAROS_EVENTRING_START=1 SAROS_EVENTRING_STACKS=0 SAROS_EVENTRING_NAME=self "$SAROS" work.lua >out &
pid=$!
await "$pid"
until_so grep -qs ready out
has_stack() {
  forbidden stack --json $pid >stack.json 2>stack.err &&
    [ "$(jq '[.rows[0].frames[] | select(.source == "work.lua") | .line] | contains([2, 4])' stack.json)" = true ]
}
until_so has_stack || fail "no stack: $(cat stack.json stack.err)"
has "it says so" "by the process itself" "$(query stack.json .how)"
has "in text" "by the process itself, at safepoints" "$(forbidden stack $pid)"
sampled() {
  forbidden profile --hz 100 --seconds 0.5 --json --top 0 $pid >self.json 2>self.err &&
    [ "$(jq '[.rows[] | select(.name == "work" and .source == "work.lua")] | length == 1' self.json)" = true ]
}
until_so sampled || fail "no samples: $(cat self.json self.err)"
has "it says so" "has sampled itself" "$(query self.json .how)"
is "times add up" true "$(query self.json '([.rows[].exclusive_ns] | add) == .total.ns and .total.samples > 0')"
folded() { forbidden profile --seconds 0.3 --to folded $pid 2>&1 | grep -qF ";work (work.lua)"; }
until_so folded || fail "no folded samples"
kill -KILL $pid
wait $pid 2>/dev/null

# One that keeps a profile of calls samples itself as often: its safepoints test another word.
SAROS_PROFILE=calls SAROS_EVENTRING_STACKS=0 SAROS_EVENTRING_NAME=profiled "$SAROS" work.lua >out3 &
pid=$!
await "$pid"
until_so grep -qs ready out3
often() { # more often than once in its period of a second
  forbidden profile --hz 100 --seconds 2 --json --top 0 $pid >often.json 2>often.err &&
    [ "$(jq '[.rows[] | select(.name == "work" and .source == "work.lua") | .count] | add > 4' often.json)" = true ]
}
until_so often || fail "too few samples of a profiled process: $(cat often.json often.err)"
kill -KILL $pid
wait $pid 2>/dev/null

"$SAROS" work.lua >out2 &
pid=$!
until_so grep -qs ready out2
ends 1 "start it with SAROS_EVENTRING_START=1" forbidden stack $pid
ends 1 "a filter of system calls" forbidden profile --hz 10 $pid
kill -KILL $pid
wait $pid 2>/dev/null
finish
