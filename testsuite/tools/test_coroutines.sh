# SPDX-License-Identifier: MIT
# eventring coroutines: which coroutines wait, read from outside, in groups.
. "$TESTSUITE/tools/_watched.sh"

coroutines() { "$EVENTRING" coroutines "$@"; }
look() { coroutines --json $pid; }

says='io.stdout:write("ready\n") io.stdout:flush()
  require "saros.domain".sleep(100000)'

ends 2 "PID" coroutines
ends 1 "x.eventring: No such file" coroutines x.eventring
ends 1 "999999999: no such process" coroutines 999999999
ends 1 "$$: it does not run Saros" coroutines $$

# 20,000 that wait in one line, one that has not begun, one of coroutine.wrap; those that have
# ended and the one that runs are none of them.
cat >leak.lua <<END
waiting = {}
local function await(n)
  return coroutine.yield(n)
end
local function worker(n)
  await(n)
end
local function spawn(n)
  local co = coroutine.create(worker)
  waiting[#waiting + 1] = co
  return co
end
local function loop()
  for i = 1, 20000 do
    local co = spawn(i)
    coroutine.resume(co, i)
  end
end
loop()
ended = coroutine.create(function() end)
coroutine.resume(ended)
dead = coroutine.create(error)
coroutine.resume(dead)
fresh = coroutine.create(worker)
next_one = coroutine.wrap(function()
  for i = 1, 10 do coroutine.yield(i) end
end)
for i in next_one do
  if i == 2 then break end
end
collectgarbage() collectgarbage("step")
coroutine.wrap(function() $says end)()
END
run leak
shows '.total | [.domains, .coroutines, .groups]' '[1,20002,3]' "what waits"
shows '.rows | map([.count, .state]) | sort' \
  '[[1,"not begun"],[1,"suspended"],[20000,"suspended"]]' "groups"
many='.rows[] | select(.count == 20000)'
shows "$many | .frames | map([.name, .line])" \
  '[["coroutine.yield",null],["await",3],["worker",6]]' "their stack"
shows "$many | .created | [.name, .source, .line]" '["spawn","leak.lua",9]' "where they were created"
shows "$many | .resumed | [.name, .source, .line]" '["loop","leak.lua",16]' "where they were resumed"
shows "$many | [.resumed_alike, .with_spans, .spans]" '[20000,0,[]]' "the others of the group"
shows '.rows[] | select(.state == "not begun") | [.function, .created.line, .resumed, .frames]' \
  '["worker",24,null,[]]' "one that has not begun"
shows '.rows[] | select(.state == "suspended" and .count == 1) |
  [.created.line, .resumed.line, .frames[1].line]' '[25,28,26]' "one of coroutine.wrap"
# each takes its thread, 32 values, and a frame for each call and the first one
shows "$many | .bytes / .count | . > 700 and . < 1300" true "bytes"
shows '.total.bytes == (.rows | map(.bytes) | add)' true "all bytes"
# it lies between two collections, since the last of which nothing ran
shows "$many | .least_ns > 300000000 and .least_ns <= .most_ns and
  .shortest_least_ns <= .least_ns and .shortest_most_ns <= .most_ns" true "for how long"
"$EVENTRING" coroutines --json-schema >schema.json || fail "--json-schema: $?"
says_nothing "by its schema" python3 "$TESTSUITE/tools/_schema.py" schema.json seen.json
coroutines $pid >text.txt || fail "text: $?"
has "a group" "20,000 suspended for" "$(cat text.txt)"
has "created" "created by spawn  leak.lua:9" "$(cat text.txt)"
has "resumed" "last resumed by loop  leak.lua:16" "$(cat text.txt)"
[ "$(wc -l <text.txt)" -le 30 ] || fail "lines: $(wc -l <text.txt)"
coroutines --top 1 $pid >top.txt || fail "--top: $?"
has "the others" "and 2 more groups (--top)" "$(cat top.txt)"
ends 1 "no such domain" coroutines --domain 7 $pid
coroutines --json --longer 100000 $pid >none.json || fail "--longer: $?"
is "none is so old" '[0,[]]' "$(jq -c '[.total.coroutines, .rows]' none.json)"
# stack has them in groups, too
"$EVENTRING" stack --coroutines $pid >stack.txt || fail "stack: $?"
has "a group of a stack" "20,000 coroutines, suspended (one is 0x" "$(cat stack.txt)"
[ "$(wc -l <stack.txt)" -le 30 ] || fail "lines of the stack: $(wc -l <stack.txt)"
end_run

# Equal stacks are one group, however deep they are, and in whatever company they are read.
cat >deep.lua <<END
local function down(n)
  if n > 0 then down(n - 1) else coroutine.yield() end
  return n
end
waiting = {}
for i = 1, 700 do
  waiting[i] = coroutine.create(down)
  coroutine.resume(waiting[i], 200)
end
$says
END
run deep
shows '.rows | map([.count, .state])' '[[700,"suspended"]]' "deep stacks"
end_run

# Coroutines that run all the time: whatever is shown is a stack that the program can have.
cat >busy.lua <<END
local function a(n) coroutine.yield(n) end
local function b(n) a(n) end
local function c(n) a(n) end
local cos = {}
for i = 1, 2000 do
  cos[i] = coroutine.wrap(function()
    while true do b(1) c(2) coroutine.yield(3) end
  end)
end
io.stdout:write("ready\n") io.stdout:flush()
while true do
  for i = 1, 2000 do cos[i]() end
  cos[math.random(2000)] = coroutine.wrap(function()
    while true do b(1) c(2) coroutine.yield(3) end
  end)
end
END
run busy
for _ in $(seq $((30 / TEST_SLOWNESS + 3))); do
  coroutines --json --top 1000 $pid >busy.json || fail "busy: $?"
  odd=$(jq -c '[.rows[] | .frames | map(.line) | select(
    (. == [null,1,2,7] or . == [null,1,3,7] or . == [null,7] or . == [] or
     . == [null,1,2,14] or . == [null,1,3,14] or . == [null,14]) | not)]' busy.json)
  is "lines of stacks that the program cannot have" "[]" "$odd"
done
end_run

# Open spans: of the process, and in the recording also when it has died.
cat >spans.lua <<END
local eventring = require "saros.eventring"
held = {}
for i = 1, 50 do
  held[i] = coroutine.create(function()
    local request <close> = eventring.span { name = "request" }
    coroutine.yield()
    local query <close> = eventring.span { name = "query" }
    coroutine.yield()
  end)
  coroutine.resume(held[i])
end
for i = 1, 20 do coroutine.resume(held[i]) end
$says
END
SAROS_EVENTRING_START=1 "$SAROS" spans.lua >spans.out 2>spans.err &
pid=$!
until_so grep -qs ready spans.out || fail "spans does not start: $(cat spans.err)"
shows '.rows | map([.count, .with_spans, .spans[0].name, .spans[0].count]) | sort' \
  '[[20,20,"query",20],[30,30,"request",30]]' "open spans"
coroutines $pid >text.txt || fail "text: $?"
has "spans" "open spans: request (30)" "$(cat text.txt)"
chains='.rows | map([.spans, .count, .state]) | sort'
both='[["request",30,"suspended"],["request > query",20,"suspended"]]'
coroutines --json $pid.eventring >live.json || fail "a file: $?"
is "of a live file" "$both" "$(jq -c "$chains" live.json)"
is "it lives" true "$(jq '.is_now' live.json)"
kill -KILL $pid; wait $pid 2>/dev/null
coroutines --json $pid.eventring >dead.json || fail "a dead one's file: $?"
is "of a dead file" "$both" "$(jq -c "$chains" dead.json)"
is "it is dead" false "$(jq '.is_now' dead.json)"
says_nothing "by its schema" python3 "$TESTSUITE/tools/_schema.py" schema.json dead.json
coroutines $pid.eventring >dead.txt || fail "a dead one's file as text: $?"
has "what it does not know" "A recording knows nothing of coroutines without open spans" "$(cat dead.txt)"

# Many of them in a recording take time for their number, not for its square.
cat >many.lua <<END
local eventring, held = require "saros.eventring", {}
for i = 1, 60000 do
  held[i] = coroutine.create(function() eventring.span("request", coroutine.yield) end)
  coroutine.resume(held[i])
end
os.exit(0, false)
END
SAROS_EVENTRING_START=1 SAROS_EVENTRING_STREAM=many "$SAROS" many.lua || fail "many: $?"
cpu() { # COMMAND: its seconds
  local TIMEFORMAT=%U
  { time "$EVENTRING" $1 --json many.eventring >many.json 2>many.errors; } 2>&1
}
least=$(cpu stats)
seconds=$(cpu coroutines)
is "many" '[["request",60000,"suspended"]]' "$(jq -c "$chains" many.json)"
awk "BEGIN { exit !($seconds < 10 * $least + 1) }" || fail "many: $seconds s, stats: $least s"

# Leaks: a process that records says by which path those are held that wait for long.
cat >leaks.lua <<END
KEPT = { forgotten = {} }
local queue = {}
for i = 1, 300 do
  local co = coroutine.create(function() coroutine.yield() end)
  coroutine.resume(co)
  if i <= 200 then KEPT.forgotten[i] = co else queue[i - 200] = co end
end
collectgarbage() collectgarbage("step")
io.stdout:write("ready\n") io.stdout:flush()
while true do
  local co = coroutine.create(function() coroutine.yield() end)
  coroutine.resume(co)
end
print(#queue)
END
SAROS_EVENTRING_START=1 "$SAROS" leaks.lua >leaks.out 2>leaks.err &
pid=$!
until_so grep -qs ready leaks.out || fail "leaks does not start: $(cat leaks.err)"
leaks() {
  coroutines --leaked 0.3 --wait 60 --json $pid >leaks.json 2>leaks.txt &&
    [ "$(jq -c '.rows | map(select(.created.line == 4)) | map([.count, .holders[0].count])' leaks.json)" = \
      '[[300,200]]' ]
}
until_so leaks || fail "leaks: $(head -c 3000 leaks.json leaks.txt)"
is "who holds most of them" '"_G.KEPT.forgotten[*]"' "$(jq -c '.rows[] | select(.count == 300) |
  .holders[0].shape' leaks.json)"
has "the others" "queue" "$(jq -c '.rows[] | select(.count == 300) | .holders[1].shape' leaks.json)"
says_nothing "by its schema" python3 "$TESTSUITE/tools/_schema.py" schema.json leaks.json
coroutines --leaked 0.3 --wait 60 $pid >leaks.txt || fail "leaks as text: $?"
has "as text" "held by _G.KEPT.forgotten[*] (200)" "$(cat leaks.txt)"
kill -KILL $pid; wait $pid 2>/dev/null
run leak
ends 1 "does not record" coroutines --leaked 1 $pid
end_run
is "lines of a page" 0 "$(awk 'length($0) > 80' dead.txt text.txt stack.txt leaks.txt | wc -l)"
finish
