# SPDX-License-Identifier: MIT
# The last stacks of processes that die: killed in a loop without calls, by a signal that they
# notice, by an error, without memory; in copies of triggers, in streams, stripped, cut.
. "$TESTSUITE/recording/_recording.sh"
command -v jq >/dev/null || { echo "jq is missing (Debian package: jq)"; exit 77; }
export SAROS_EVENTRING_STACKS=20ms

cat >stuck.lua <<'END'
local function inner(n) while true do n = n + 1 end end
local function outer() local x = inner(1) return x end
local co = coroutine.wrap(function() outer() end)
co()
END

stacks() { "$EVENTRING" stack --json "$1" >stacks.json 2>stacks.err; }
# has_stack FILE FILTER: the recording comes to have it
has_stack() { stacks "$1" && [ "$(jq -c "$2" stacks.json)" = true ]; }
lines='[.rows[0].frames[] | select(.source == "stuck.lua") | .line]'

# run NAME: records stuck.lua until it was seen in its loop
run() {
  SAROS_EVENTRING_START=1 SAROS_EVENTRING_NAME=$1 "$SAROS" stuck.lua &
  pid=$!
  until_so has_stack "$1.eventring" "$lines == [1,2,3,4]" ||
    fail "$1: $(head -c 2000 stacks.json stacks.err)"
}

# A live process, and after SIGKILL
run killed
kill -KILL $pid; wait $pid 2>/dev/null
has_stack killed.eventring "$lines == [1,2,3,4] and .rows[0].reason == \"period\"" ||
  fail "killed: $(cat stacks.json)"
is "names" '["inner","outer"]' "$(jq -c '[.rows[0].frames[0,1].name]' stacks.json)"
has "text" "before the end (period)" "$("$EVENTRING" stack killed.eventring)"
has "autopsy" "inner  stuck.lua:1" "$("$EVENTRING" autopsy killed.eventring)"
is "autopsy --json" '"inner"' "$("$EVENTRING" autopsy --json killed.eventring | jq '.stacks[0].frames[0].name')"

# A recording that the program starts before a loop without allocations, and a second one,
# whose control page is where the first one's was
cat >started.lua <<'END'
local er = require "saros.eventring"
assert(er.start())
if ... then assert(er.stop()) assert(er.start()) end
local function inner(n) while true do n = n + 1 end end
local x = inner(1)
END
for again in "" again; do
  SAROS_EVENTRING_NAME=started$again "$SAROS" started.lua $again &
  pid=$!
  until_so has_stack "started$again.eventring" '.rows[0].frames[0].name == "inner"' ||
    fail "started $again: $(head -c 2000 stacks.json stacks.err)"
  kill -KILL $pid; wait $pid 2>/dev/null
done

# A signal that the process notices
run aborted
kill -ABRT $pid; wait $pid 2>/dev/null
has_stack aborted.eventring "$lines == [1,2,3,4] and .rows[0].reason == \"signal\" and .rows[0].value == 6" ||
  fail "aborted: $(cat stacks.json)"

# Copies
"$EVENTRING" snapshot -o copy.eventring killed.eventring || fail "snapshot"
has_stack copy.eventring "$lines == [1,2,3,4]" || fail "in a snapshot: $(cat stacks.json)"
"$EVENTRING" strip -o strip.eventring killed.eventring 2>/dev/null || fail "strip"
has_stack strip.eventring '.rows[0].below > 3 and .rows[0].frames == []' ||
  fail "stripped: $(cat stacks.json)"
"$EVENTRING" cut -o cut.eventring killed.eventring 2>/dev/null || fail "cut"
has_stack cut.eventring "$lines == [1,2,3,4]" || fail "in a cut: $(cat stacks.json)"

# An error: before the stack is unwound
cat >error.lua <<'END'
local function bad() local t = nil return t.x end
local function call() local ok = bad() return ok end
call()
END
SAROS_EVENTRING_START=1 SAROS_EVENTRING_NAME=error "$SAROS" error.lua 2>/dev/null
has_stack error.eventring '.rows[0].reason == "error" and
  [.rows[0].frames[] | select(.source == "error.lua") | .line] == [1,2,3]' ||
  fail "error: $(cat stacks.json)"

# Without memory, in a domain with a limit
cat >memory.lua <<'END'
local domain = require "saros.domain"
local d = domain.spawn({name = "hungry", memory = 4 << 20}, function()
  local function eat(t) while true do t[#t + 1] = ("x"):rep(1000) .. #t end end
  eat {}
end)
print(pcall(d.join, d))
os.exit(3)
END
SAROS_EVENTRING_START=1 SAROS_EVENTRING_NAME=memory SAROS_EVENTRING_STACKS=0 "$SAROS" memory.lua >memory.out 2>&1
has_stack memory.eventring '[.rows[] | select(.reason == "out of memory") | .frames[] |
  select(.source == "memory.lua") | .name] | index("eat") != null' ||
  fail "memory: $(cat stacks.json stacks.err memory.out)"

# The copy of a trigger
cat >trigger.lua <<'END'
local eventring = require "saros.eventring"
local function slow()
  eventring.begin_span("slow")
  local t = os.clock() repeat until os.clock() > t + 0.005
  eventring.end_span("slow")
end
slow()
END
SAROS_EVENTRING_TRIGGER='span("slow") > 1ms' SAROS_EVENTRING_NAME=trigger SAROS_EVENTRING_STACKS=0 \
  "$SAROS" trigger.lua || fail "trigger"
has_stack trigger-trigger1-span.eventring '.rows[0].reason == "trigger" and
  [.rows[0].frames[] | select(.source == "trigger.lua") | .line] == [5,7]' ||
  fail "trigger: $(cat stacks.json stacks.err)"

# A stream; and what is wrong
SAROS_EVENTRING_STREAM=stream.eventring "$SAROS" error.lua 2>/dev/null
has_stack stream.eventring '.rows[0].reason == "error"' || fail "stream: $(cat stacks.json stacks.err)"
has "a wrong period" "SAROS_EVENTRING_STACKS" "$(SAROS_EVENTRING_STACKS=frob "$SAROS" -e 'print(1)' 2>&1)"
SAROS_EVENTRING_START=1 SAROS_EVENTRING_STACKS=0 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_NAME=none \
  "$SAROS" -e "" || fail "none"
"$EVENTRING" stack none.eventring 2>none.err
is "status without a stack" 1 $?
has "message without a stack" "no stack" "$(cat none.err)"
finish
