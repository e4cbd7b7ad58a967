# SPDX-License-Identifier: MIT
# SAROS_EVENTRING_START=standby: a control page and no rings, until the recording is
# started from outside, from within, or not at all. Also in a loop that neither
# allocates nor calls.
. "$TESTSUITE/recording/_recording.sh"

field() { "$EVENTRING" show --json "$pid" | jq -c "$1"; }
standby() { SAROS_EVENTRING_START=standby "$SAROS" "$@" & pid=$!; await "$pid"; }
started() { "$EVENTRING" control "$pid" --resume || fail "control --resume: $?"; }
# await_domain WHAT: until the domain is recorded
is_laid_out() { [ "$(field .domains_laid_out)" = 1 ]; }
await_domain() { until_so is_laid_out || fail "$1: no domain attached to the recording"; }
over() { # SIGTERM, which these programs do not handle, leaves the recording
  kill "$pid"
  wait "$pid" 2>/dev/null
  rm "$pid.eventring" || fail "$pid: no recording is left"
}

# loops of each kind that run no probe
loops=('while true do end' 'repeat until false' '::again:: goto again'
       'for i = 1, 1 << 62 do end' 'for i = 1.0, 2.0^52 do end'
       'local function f() return f() end f()'
       'local function same(_, c) return c end for i in same, nil, 1 do end'
       'local x = 0 while true do x = x + 1 if x < 0 then break end end')
for loop in "${loops[@]}"; do
  standby -e "$loop"
  is "$loop: stands by" '["standby",0]' "$(field '[.state, .domains_laid_out]')"
  started
  is "$loop: runs" '"running"' "$(field .state)"
  await_domain "$loop"
  over
done
is "no file is left" 0 "$(ls -- *.eventring 2>/dev/null | wc -l)"

# one that works: its figures, and nothing before it was started
cat >work.lua <<'EOF'
local n = 0
while true do
  local t = {}
  for i = 1, 1000 do t[i] = {i} end
  n = n + 1
end
EOF
standby work.lua
[ "$(field .disk_size)" -lt 1000000 ] || fail "disk size in standby: $(field .disk_size)"
is "stats of what stands by" '"standby"' \
  "$("$EVENTRING" stats --json --seconds 0.1 "$pid" | jq -c .state)"
"$EVENTRING" control "$pid" --pause || fail "pause of what stands by"
is "still standing by" '"standby"' "$(field .state)"
"$EVENTRING" stats --json --seconds 1 "$pid" >stats.json & reader=$! # attached before the start
attached $reader
started
wait $reader || fail "stats attached in standby: $?"
is "minor collections" true \
  "$(jq '[.spans[] | select(.name == "minor" and .count > 0)] | length > 0' stats.json)"
over

# classes of the start hold when it starts
SAROS_EVENTRING_CLASSES=gc,ffi
export SAROS_EVENTRING_CLASSES
standby work.lua
is "classes wanted" '["lifecycle","gc","ffi"]' "$(field '[.classes[] | select(.on) | .name]')"
started
await_domain "with classes"
is "classes in force" '["lifecycle","gc","ffi"]' "$(field '[.classes[] | select(.on) | .name]')"
over
unset SAROS_EVENTRING_CLASSES

# started from within; never started; a child of one that stands by
cat >within.lua <<'EOF'
local eventring = require "saros.eventring"
assert(eventring.classes().gc)
assert(eventring.start())
local c = eventring.cursor()
eventring.event "x"
local seen
c:poll { user_event = function(_, _, name) seen = name end }
assert(seen == "x")
EOF
SAROS_EVENTRING_START=standby "$SAROS" within.lua || fail "started from within: $?"
SAROS_EVENTRING_START=standby "$SAROS" -e 'for i = 1, 1e6 do end' || fail "never started: $?"
SAROS_EVENTRING_START=standby "$SAROS" -e 'require "saros.eventring".stop() for i = 1, 1e6 do end' ||
  fail "stopped in standby: $?"
is "output of a child" "child" \
  "$(SAROS_EVENTRING_START=standby "$SAROS" -e 'io.write(io.popen("echo child"):read("a"))')"
is "no file is left at all" 0 "$(ls -- *.eventring 2>/dev/null | wc -l)"

# a wrong list of classes: a warning, and the program runs
errors=$(SAROS_EVENTRING_START=1 SAROS_EVENTRING_CLASSES=gc,frobs "$SAROS" -e 'print "ran"' 2>&1)
has "warning" "SAROS_EVENTRING_CLASSES=gc,frobs" "$errors"
has "it ran" "ran" "$errors"
finish
