# SPDX-License-Identifier: MIT
# eventring stack: what a process does, read from outside; the process is not prepared.
. "$TESTSUITE/tools/_watched.sh"

stack() { "$EVENTRING" stack "$@"; }
look() { stack --locals --json $pid; }

says='io.stdout:write("ready\n") io.stdout:flush()'

ends 2 "PID" stack
ends 1 "x.eventring: No such file" stack x.eventring
ends 1 "999999999: no such process" stack 999999999
ends 1 "$$: it does not run Saros" stack $$

# An endless loop, in coroutines that wait for each other; one is suspended.
cat >loop.lua <<END
local function inner(n)
  local s = 0
  while true do
    s = s + n
  end
end
local function middle(x, name)
  inner(x)
  return name
end
keep = coroutine.create(function(a)
  local b = a .. "!"
  coroutine.yield(b)
end)
coroutine.resume(keep, "hello")
$says
coroutine.wrap(function() middle(5, "a\27b") middle() end)()
END
run loop
frames='.rows[0].frames | map(select(.kind == "lua"))'
shows '.rows[0].state' '"running"' "loop"
shows "$frames | map(.defined)" '[1,7,17,0]' "the functions"
shows "$frames | map(.line)[1:]" '[8,17,17]' "the lines of calls"
shows "$frames | .[0].line | . >= 3 and . <= 5" true "the line of the loop"
shows "$frames | .[0].line_noted" true "the line of the loop is the last one noted"
shows "$frames | .[1].locals" \
  '[{"name":"x","type":"number","value":"5"},{"name":"name","type":"string","value":"\"a\\x1bb\""}]' \
  "locals"
shows '[.rows[] | select(.coroutine) | .state]' '["suspended"]' "the suspended one"
shows '.rows[1].frames | map(.name)[0]' '"coroutine.yield"' "where it is suspended"
shows '.rows[1].frames[1].locals | map(.value)' '["\"hello\"","\"hello!\""]' "its locals"
stack --coroutines $pid >text.txt || fail "text: $?"
grep -q "which was resumed by" text.txt || fail "no resumer: $(cat text.txt)"
kill -STOP $pid
shows '.rows[0].os_state' '"stopped by a signal"' "stopped"
shows "$frames | map(.defined)" '[1,7,17,0]' "the functions of one that is stopped"
kill -CONT $pid
ends 1 "no such domain" stack --domain 7 $pid
end_run

# In a C function, a pattern match, a finalizer.
cat >call.lua <<END
$says
io.read()
END
mkfifo never
exec 9<>never
"$SAROS" call.lua >call.out 2>call.err <never &
pid=$!
shows '.rows[0].state' '"in C function io.read"' "a C call"
end_run
exec 9>&-

cat >match.lua <<END
$says
local s = ("a"):rep(60)
while true do s:find((".-"):rep(30) .. "b") end
END
run match
shows '.rows[0].state' '"in C function string.find"' "a pattern match"
end_run

cat >finalizer.lua <<END
setmetatable({}, {__gc = function()
  $says
  while true do end
end})
while true do local t = {} end
END
run finalizer
shows '.rows[0] | [.activity, .state]' '["finalizing","in a finalizer"]' "a finalizer"
shows "$frames | map(.finalizer)" '[true,null]' "which frame it is"
end_run

# Domains: what each waits for.
cat >domains.lua <<END
local domain = require "saros.domain"
local channel = domain.channel()
local one = domain.spawn({name = "one"}, function(c) return c:receive() end, channel)
$says
domain.sleep(100000)
END
run domains
shows '.rows | map([.domain_name, .activity, .state])' \
  '[["main","waiting","sleeping"],["one","waiting","receiving from channel 1"]]' "domains"
end_run

# Deep recursion: the innermost frames, and how many more there are.
cat >deep.lua <<END
local function down(n)
  if n == 0 then
    $says
    while true do end
  end
  return 1 + down(n - 1)
end
down(3000)
END
run deep
shows '.rows[0] | (.frames | length) + .below' 3003 "frames"
shows '.rows[0].frames | length | . > 1000 and . <= 1024' true "shown frames"
end_run

# Calls, errors, coroutines and collections without end: what is shown is a stack that the
# program can have.
cat >busy.lua <<END
local function leaf(n) return {n} end
local function raise(n) leaf(n) error("no") end
local function left(n) leaf(n) pcall(raise, n) end
local function right(n) return leaf(n) end
local co = coroutine.wrap(function() while true do right(coroutine.yield()) end end)
co()
$says
while true do left(1) right(2) co(3) end
END
run busy
legal='{"[]":1,"[0]":1,"[3,0]":1,"[1,3,0]":1,"[2,3,0]":1,"[1,2,3,0]":1,"[4,0]":1,"[1,0]":1,"[1,4,0]":1,
  "[5,0]":1,"[4,5,0]":1,"[1,5,0]":1}'
for _ in $(seq $((60 / TEST_SLOWNESS + 5))); do
  stack --json $pid >busy.json || fail "busy: $?"
  jq -c '.rows[0].frames | map(select(.kind == "lua") | .defined)' busy.json
done >busy.txt
while read -r functions; do
  [ "$(jq "has(\"$functions\")" <<<"$legal")" = true ] || fail "no such stack: $functions"
done < <(sort -u busy.txt)

# Samples of it: the functions that must be there, the outermost has all.
stack --hz 500 --seconds 1 --top 0 --json $pid >samples.json || fail "--hz: $?"
is "some" true "$(query samples.json '.total.samples > 0')"
is "the main chunk has all" true "$(query samples.json '.total.samples as $all | .rows |
  map(select(.source == "busy.lua" and .line == 0))[0].count == $all')"
is "no function but those" '[]' "$(query samples.json '[.rows[] | select(.source == "busy.lua") |
  .line] - [0, 1, 2, 3, 4, 5]')"
stack --hz 200 --seconds 0.5 --to folded $pid >folded.txt || fail "--to folded: $?"
grep -qE ';main chunk \(busy.lua\)(;.*)? [0-9]+$' folded.txt || fail "folded: $(head -3 folded.txt)"
ends 2 "not function, line or stack" stack --hz 1 --by x $pid
ends 2 "not 1 to 20000" stack --hz 0 $pid
ends 2 "one of --wall, --cpu, --idle" stack --hz 1 --wall --cpu $pid
end_run
finish
