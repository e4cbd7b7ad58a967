# SPDX-License-Identifier: MIT
# eventring check: rules hold or not, what is said of each, and what is wrong with them.
. "$TESTSUITE/tools/_tools.sh"

check() { "$EVENTRING" check "$@"; }

# ends as `ends` in _tools.sh, and the text is in the standard output
fails_with() { ends_with 3 "$@"; }
ends_with() {
  local status=$1 text=$2
  shift 2
  ends "$status" "" "$@"
  has "output of $*" "$text" "$(cat stdout.txt)"
}

cat >program.lua <<'END'
local eventring = require "saros.eventring"
for i = 1, 5 do
  eventring.span("request", function()
    eventring.counter("queue", i)
    eventring.event("tick")
  end)
end
collectgarbage()
eventring.span("quiet", function() end)
END
SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_NAME=made "$SAROS" program.lua ||
  fail "the program ends with $?"
file=made.eventring

cat >rules.txt <<'END'
# what must hold
count(request) == 5; count("tick") == 5
max(counter("queue")) <= 5   # the longest
last(queue) == 5
mean(queue) == 3

lost == 0
error == 0
signal == 0
span("request") < 1000s
p99(pause) < 1000s
heap < 1G
live_bytes(last) > 0
count(major) >= 1
count(major) == 0 within span "request"
sum(request) < 1000s within span "request"
count(nothing) == 0
END
ends 0 "" check rules.txt $file
has "all hold" "16 rules hold" "$(cat stdout.txt)"

# what values stand for, the reasons of collections, counts as in `stats`
"$EVENTRING" stats --json $file >stats.json || fail "stats"
for reason in $(jq -r '.total.events[] | select(.id < 64 and .ring == "runtime").name' stats.json); do
  count=$(query stats.json '[.total.events[] | select(.name == "'$reason'").count] | add')
  "$EVENTRING" check --json -e "count($reason) < 0" $file >count.json
  is "count of $reason" "$count" "$(query count.json '.rows[0].value')"
done
has "reasons" collect "$(query stats.json '[.total.events[].name]')"

fails_with 'count(request) == 4: failed: 5' check -e 'count(request) == 4' $file
fails_with 'queue") < 3: failed: 5 (the worst of 3 of 5)' check -e 'counter("queue") < 3' $file
fails_with "1 of 2 rules failed" check -e 'lost == 0; lost == 1' $file
fails_with "nothing is called mimor" check -e 'p99(mimor) < 1ms' $file
# no recording fulfils a rule that compares a span with a number
ends_with 2 "request is a span" check -e 'max(request) < 5' $file
ends_with 2 "queue is a counter" check -e 'max(queue) < 5s' $file
fails_with "no span is called reqest" check -e 'count(major) == 0 within span "reqest"' $file
fails_with 'count(minor) == 0: failed' check -e 'lost == 0' -e 'count(minor) == 0' $file
printf 'lost == 0\n\nlost == 1\n' >two.txt
fails_with "two.txt:3: lost == 1: failed: 0" check two.txt $file
long=$(printf 'a-long-name-%.0s' 1 2 3 4 5).txt
echo 'p99(span("request")) < 1ns' >"$long"
fails_with 'p99(span("request")) < 1ns: failed' check "$long" $file
is "no line is wider than the page" "" "$(awk 'length > 80' stdout.txt)"

# as JSON
check --json -e 'count(request) == 5; max(queue) < 5; p50(nothing) < 1s' $file >out.json
is "status of --json" 3 $?
check --json-schema >check.schema || fail "check --json-schema: $?"
says_nothing "by its schema" python3 "$TESTSUITE/tools/_schema.py" check.schema out.json
is "rules" '[true,false,false]' "$(query out.json '[.rows[].holds]')"
is "values" '[5,5,null]' "$(query out.json '[.rows[].value]')"
is "totals" '{"rules":3,"failed":2,"undecided":0}' "$(query out.json .total)"

# of a program that is launched: its own status comes first
ends 0 "" check -e 'count(request) == 5; lost == 0' -- "$SAROS" program.lua
ends 3 "" check -e 'count(request) == 6' -- "$SAROS" program.lua
ends 7 "" check -e 'count(request) == 6' -- "$SAROS" -e 'os.exit(7, true)'

# a name that is not defined before it first occurs: its class is in it
if "$SAROS" -e 'require "saros.ffi"' 2>/dev/null; then
  cat >foreign.lua <<'LUA'
local ffi = require "saros.ffi"
ffi.cdef "size_t strlen(const char *s);"
for i = 1, 3 do ffi.C.strlen "hello" end
LUA
  ends 0 "" check -e 'count("ffi:strlen") == 3; span("ffi:strlen") < 1000s' -- "$SAROS" foreign.lua
  ends 3 "" check -e 'count("ffi:strlen") < 3' -- "$SAROS" foreign.lua
fi

# what is wrong
ends 2 "no RULES given" check
ends 2 "no PID or FILE" check rules.txt
ends 2 "column 10: a time needs its unit" check -e 'pause > 5' $file
printf 'lost == 0\nlost =! 0\n' >wrong.txt
ends 2 "wrong.txt:2: column 6: expected a comparison" check wrong.txt $file
ends 2 "nowhere.txt" check nowhere.txt $file
: >empty.txt
ends 2 "no rules" check empty.txt $file
printf 'lost == 0\0' >zero.txt
ends 2 "a 0 byte" check zero.txt $file
ends 1 "nowhere.eventring" check rules.txt nowhere.eventring
finish
