# SPDX-License-Identifier: MIT
# A rule about what was not recorded is undecided: it does not hold because nobody looked. For a
# PROGRAM the classes that rules name are switched on.
. "$TESTSUITE/tools/_tools.sh"

cat >reads.lua <<'LUA'
for i = 1, 100 do
  local file <close> = assert(io.open(arg[0]))
  file:read "a"
end
require "saros.eventring".span("work", function() end)
LUA
# recorded NAME=VALUE...: a recording of reads.lua
recorded() {
  rm -f r.eventring
  env "$@" SAROS_EVENTRING_STREAM=r.eventring "$SAROS" reads.lua || fail "reads.lua: $*"
}
# says RULE: what check answers of the recording, and its status
says() {
  "$EVENTRING" check --json -e "$1" r.eventring >out.json
  echo "$? $(jq -c '.rows[0] | [.holds, .reason]' out.json)"
}

# a program that is launched: it reads 100 files
ends 3 "" "$EVENTRING" check -e 'max(read) < 1ns' -- "$SAROS" reads.lua
has "a figure" "max(read) < 1ns: failed: " "$(cat stdout.txt)"
ends 0 "" "$EVENTRING" check -e 'count(read) == 100; sum(read_bytes) > 1K; max(ffi_call) < 1ns; count(pause_cpu) >= 0; count(call:x) == 0; span("work") < 1000s' -- "$SAROS" reads.lua
# the user's own choice stays, and the class of the profile of calls is never switched on
SAROS_EVENTRING_CLASSES=gc ends 3 "" "$EVENTRING" check -e 'count(read) == 100; count(work) == 1' \
  -- "$SAROS" reads.lua
has "class user" "count(work) == 1: cannot hold: class user was off" "$(cat stdout.txt)"
is "the others" "1 of 2 rules failed" "$(tail -1 stdout.txt)"
is "quotes in CLASSES" "calls false io true load false" "$(
  SAROS_EVENTRING_CLASSES='+"read",-"parse",+"calls",+"no such event",+"say \"\\"' \
  SAROS_EVENTRING_STREAM=q.eventring "$SAROS" reads.lua
  "$EVENTRING" control --status --json q.eventring |
    jq -r '.classes | "calls \(.calls) io \(.io) load \(.load)"')"
SAROS_EVENTRING_CLASSES='+"read' SAROS_EVENTRING_STREAM=x.eventring "$SAROS" reads.lua 2>wrong.txt
has "a quote that does not end" "SAROS_EVENTRING_CLASSES" "$(cat wrong.txt)"

# a file
recorded
ends 3 "" "$EVENTRING" check -e 'max(read) < 1ns' r.eventring
is "in text" "max(read) < 1ns: cannot hold: class io was off" "$(head -1 stdout.txt)"
undecided='3 [null,"class io was off"]'
for rule in 'max(read) < 1ns' 'span("read") < 1ns' 'count(read) == 0' 'sum(read_bytes) == 0' \
            'counter("read_bytes") < 1' 'mean(read) < 1s' 'count(work) == 0 within span "read"'; do
  is "$rule" "$undecided" "$(says "$rule")"
done
is "recorded, and did not occur" '0 [true,null]' "$(says 'max(channel_send) < 1ns')"
is "recorded, and did not occur" '0 [true,null]' "$(says 'count(domain_join) == 0')"
is "recorded" '0 [true,null]' "$(says 'count(work) == 1')"
is "misspelt" '3 [false,"nothing is called rea"]' "$(says 'max(rea) < 1ns')"
"$EVENTRING" check --json -e 'max(read) < 1s; lost == 0; lost == 1' r.eventring >out.json
is "totals" '{"rules":3,"failed":2,"undecided":1}' "$(query out.json .total)"
recorded SAROS_EVENTRING_CLASSES=+io
is "recorded" '0 [true,null]' "$(says 'count(read) == 100')"
recorded SAROS_EVENTRING_CLASSES=io
is "heap" '3 [null,"class gc was off"]' "$(says 'heap < 1')"
is "pause" '3 [null,"class gc was off"]' "$(says 'pause < 1ns')"
is "a name of the program" '3 [null,"class user was off"]' "$(says 'count(work) == 0')"
is "no events" '0 [true,null]' "$(says 'error == 0')"

# copies say the same; one that is made of several recordings, if the class was off in one of them
recorded SAROS_EVENTRING_CLASSES=+io
mv r.eventring with.eventring
recorded
mv r.eventring without.eventring
for copy in "cut -q --since 0" "snapshot" "merge -q"; do
  rm -f r.eventring
  [ "$copy" != "merge -q" ] || set -- with.eventring
  "$EVENTRING" $copy -o r.eventring without.eventring "$@" >copy.txt || fail "$copy: $?"
  is "$copy" "$undecided" "$(says 'max(read) < 1000s')"
done

# off for a part of the time
cat >reads.lua <<'LUA'
local eventring = require "saros.eventring"
local function read() local file <close> = assert(io.open(arg[0])) file:read "a" end
for i = 1, 5 do read() end
eventring.enable "io"
for i = 1, 5 do read() end
if arg[1] then eventring.disable "io" end
LUA
for mode in "" off; do
  rm -f r.eventring
  SAROS_EVENTRING_STREAM=r.eventring "$SAROS" reads.lua $mode || fail "reads.lua"
  is "a part of the time" "$undecided" "$(says 'max(read) < 1000s')"
  is "what is known decides" '3 [false,null]' "$(says 'max(read) < 1ns')"
  is "what is known decides" '3 [false,null]' "$(says 'span("read") < 1ns')"
  is "what is known decides" '0 [true,null]' "$(says 'count(read) >= 5')"
  is "what is known decides" '3 [false,null]' "$(says 'count(read) < 5')"
  is "nor this" "$undecided" "$(says 'count(read) == 5')"
done
is "from there on" '0 [true,null]' "$(
  sed -i 's/if arg.1. then.*//' reads.lua; rm -f r.eventring
  SAROS_EVENTRING_STREAM=r.eventring "$SAROS" reads.lua
  since=$("$EVENTRING" dump --json --class io r.eventring | head -1 | jq .ns)
  start=$("$EVENTRING" show --json r.eventring | jq .start_ns)
  "$EVENTRING" check --json --since $(((since - start) / 1000))us -e 'max(read) < 1000s' r.eventring >out.json
  echo "$? $(jq -c '.rows[0] | [.holds, .reason]' out.json)")"
cat >reads.lua <<'LUA'
local eventring = require "saros.eventring"
eventring.span("work", function() end)
eventring.pause()
eventring.span("work", function() end)
eventring.resume()
eventring.span("work", function() end)
LUA
recorded
is "paused" '3 [null,"the recording was paused"]' "$(says 'count(work) == 2')"

# within the program
cat >expect.lua <<'LUA'
local eventring = require "saros.eventring"
local function read() local file <close> = assert(io.open(arg[0])) file:read "a" return "done" end
local function expect(rule) return pcall(eventring.expect, rule, read) end
local ok, text = expect "max(read) < 1ns"
assert(not ok, "a rule about what was not recorded holds")
if arg[1] then
  assert(text:find "class io was off", text)
  eventring.enable "io"
  ok, text = expect "max(read) < 1ns"
  assert(not ok and text:find "it was", text)
else
  assert(text:find "it was", text)
end
ok, text = expect "count(read) == 1"
assert(ok and text == "done", text)
assert(expect "count(domain_join) == 0")
LUA
"$SAROS" expect.lua >out.txt 2>&1 || fail "a recording of its own: $(cat out.txt)"
SAROS_EVENTRING_STREAM=e.eventring "$SAROS" expect.lua recorded >out.txt 2>&1 ||
  fail "in a recording: $(cat out.txt)"
finish
