# SPDX-License-Identifier: MIT
# What a trigger saves, and what `record --on` keeps, has the heap profile, its stacks, the
# profile of calls and what memory was used for, as they were then.
. "$TESTSUITE/tools/_tools.sh"

cat >leak.lua <<'LUA'
local eventring = require "saros.eventring"
KEPT = {}
local function leak(i) return { i, { i } } end
for i = 1, 3000 do KEPT[i] = leak(i) end
collectgarbage()
eventring.counter("go", 1)
if arg[1] then
  io.open("ready", "w"):close()
  while not io.open "stop" do for i = 1, 1000 do tostring(i) end end
end
LUA

# whole WHAT FILE: it has all that
whole() {
  "$EVENTRING" heap --json --by line "$2" >heap.json || fail "$1: heap: $?"
  # (the closure `leak` is made in line 3, too, by the main chunk)
  is "$1: live" true "$(query heap.json 'any(.rows[]; .source == "leak.lua" and .line == 3 and
    .live_samples > 50 and .name != "")')"
  is "$1: whole" "[0,0]" "$(query heap.json '[.total.torn_profiles, .total.lost_sites]')"
  "$EVENTRING" heap --json --since 0 --by line "$2" >events.json || fail "$1: heap --since: $?"
  is "$1: samples" true "$(query events.json 'any(.rows[]; .source == "leak.lua" and .line == 3)')"
  "$EVENTRING" memory --json "$2" >memory.json || fail "$1: memory: $?"
  is "$1: memory" true "$(query memory.json 'any(.rows[]; .name == "live heap" and .resident_bytes > 100000)')"
}

SAROS_MEMPROF=0.05 SAROS_EVENTRING_PREFIX=. SAROS_EVENTRING_TRIGGER='counter("go") > 0, dir=saved' \
  "$SAROS" leak.lua wait >out.txt 2>err.txt &
pid=$!
saved() { ls saved/*.eventring >/dev/null 2>&1; }
until_so saved || fail "the trigger saves nothing: $(cat err.txt)"
touch stop
wait "$pid" || fail "the program: $(cat err.txt)"
whole "trigger" "$(ls saved/*.eventring | head -1)"
rm -f stop ready

SAROS_MEMPROF=0.05 "$EVENTRING" record -q -o kept.eventring --on 'counter("go") > 0' --before 60s -- \
  "$SAROS" leak.lua || fail "record --on: $?"
whole "record --on" kept.eventring

# a program that has ended before it is watched: it stops the recorder before it begins
"$EVENTRING" record -q -o short.eventring --on 'counter("go") > 0' --before 60s -- sh -c \
  'kill -STOP $PPID; exec "$0" -e "require [[saros.eventring]].counter([[go]], 1)"' "$SAROS" &
pid=$!
is_over() { grep -qs "^State:.*Z" /proc/"$(tr -d " " </proc/$pid/task/$pid/children)"/status 2>/dev/null; }
until_so is_over || fail "the program does not end"
kill -CONT $pid
wait $pid || fail "record --on of one that has ended: $?"
[ -e short.eventring ] || fail "record --on of one that has ended: nothing is kept"

# a snapshot of one that goes on, stripped and cut
rm -f stop
SAROS_MEMPROF=0.05 SAROS_EVENTRING_PREFIX=. "$SAROS" leak.lua wait >out.txt 2>err.txt &
pid=$!
until_so test -e ready || fail "the program does not come so far"
"$EVENTRING" snapshot -o copy.eventring "$pid" >/dev/null || fail "snapshot: $?"
"$EVENTRING" cut -q -o part.eventring --since 0 "$pid" || fail "cut: $?"
touch stop
wait "$pid"
whole "snapshot" copy.eventring
whole "cut" part.eventring
finish
