# SPDX-License-Identifier: MIT
# `pauses` and `spans` say of a recording what its events say, whatever their names; of a
# file, of a live process, of a program; in lines of a terminal's width.
. "$TESTSUITE/tools/_tools.sh"
command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }

cat >work.lua <<'LUA'
local domain = require "domain"
local function work(turns)
  local eventring = require "eventring"
  local keep = {}
  local co = coroutine.wrap(function()
    while true do
      eventring.span("in a coroutine, with a name that is as long as it gets", coroutine.yield)
    end
  end)
  for i = 1, turns do
    eventring.span("request", function()
      eventring.span("parse", function() keep[i % 500] = {tostring(i), {i}} end)
      if i % 16 == 0 then co() end
      if i % 400 == 0 then collectgarbage() end
    end)
  end
end
local h = domain.spawn(work, 1500)
work(1500)
h:join()
require("eventring").begin_span "left open"
LUA
SAROS_EVENTRING_STREAM=./whole SAROS_EVENTRING_PRESERVE=1 "$SAROS" work.lua || fail "the program"
file=$(echo ./whole*.eventring)
"$EVENTRING" dump --json "$file" >dump.json || fail "dump: $?"
"$EVENTRING" pauses --json --top 20 "$file" >pauses.json || fail "pauses: $?"
"$EVENTRING" spans --json --top 20 "$file" >spans.json || fail "spans: $?"
python3 "$TESTSUITE/tools/_questions.py" dump.json pauses.json spans.json || fail "differs"
is "open" 1 "$(query spans.json '.total.names[] | select(.name == "left open").open')"
is "span around the longest pauses" true \
   "$(query pauses.json '[.rows[].span] | any(. == "request" or . == "parse")')"

# A coroutine that begins a span when it was seen already without one: the span of who resumed it
# is the one that goes on when that has ended.
cat >resumes.lua <<'LUA'
local eventring = require "eventring"
eventring.begin_span "outer"
coroutine.wrap(function()
  eventring.counter("before its span", 1)
  eventring.span("inner", function() end)
end)()
collectgarbage()
eventring.end_span "outer"
LUA
SAROS_EVENTRING_STREAM=./resumes SAROS_EVENTRING_PRESERVE=1 "$SAROS" resumes.lua || fail "resumes"
"$EVENTRING" pauses --json resumes*.eventring >resumes.json || fail "pauses of resumes: $?"
"$EVENTRING" dump --json resumes*.eventring >resumes-dump.json || fail "dump of resumes: $?"
"$EVENTRING" spans --json resumes*.eventring >resumes-spans.json || fail "spans of resumes: $?"
is "the interrupted span" '["outer"]' "$(query resumes.json '[.rows[] | select(.reason == "collect").span] | unique')"
python3 "$TESTSUITE/tools/_questions.py" resumes-dump.json resumes.json resumes-spans.json || fail "resumes differs"

# which request was the longest?
cat >values.lua <<'LUA'
local eventring = require "eventring"
for i = 1, 3 do
  eventring.begin_span("request", "GET /" .. i)
  eventring.end_span "request"
end
LUA
SAROS_EVENTRING_STREAM=./values SAROS_EVENTRING_PRESERVE=1 "$SAROS" values.lua || fail "values"
"$EVENTRING" spans --json values*.eventring >values.json || fail "spans of values: $?"
is "values of the longest" '["(\"GET /1\")","(\"GET /2\")","(\"GET /3\")"]' \
  "$(query values.json '[.rows[].value_text] | sort')"
has "in the text" '("GET /2")' "$("$EVENTRING" spans values*.eventring)"

# the collector's share is that of `stats`, whatever `pauses` has read for it
"$EVENTRING" stats --json "$file" >stats.json || fail "stats: $?"
for top in 8 100; do
  "$EVENTRING" pauses --json --top $top "$file" >share.json || fail "pauses --top $top: $?"
  for figure in gc_ns watched_ns gc_share; do
    is "$figure with $top rows" "$(query stats.json .total.$figure)" "$(query share.json .total.$figure)"
  done
done

# what is asked for: a domain, a name, the longer ones, a part
"$EVENTRING" pauses --json --domain 1 "$file" >one.json || fail "pauses --domain: $?"
is "its domain" "[1]" "$(query one.json '[.rows[].domain] | unique')"
"$EVENTRING" spans --json --name parse --top 3 "$file" >parse.json || fail "spans --name: $?"
is "its rows" '["parse","parse","parse"]' "$(query parse.json '[.rows[].name]')"
"$EVENTRING" spans --json --class gc "$file" >gc.json || fail "spans --class: $?"
is "its spans" true "$(query gc.json '[.total.names[].name] | any(. == "minor")')"
half=$(query pauses.json '.rows[(.rows | length) / 2 | floor].duration_ns')
"$EVENTRING" pauses --json --top 100000 --over "$((half / 1000))us" "$file" >over.json ||
  fail "pauses --over: $?"
is "the longer ones" "true" "$(query over.json '.total.over == (.rows | length) and
  ([.rows[].duration_ns] | min) >= '$((half / 1000 * 1000)))"
"$EVENTRING" pauses --json --until 0 "$file" >none.json || fail "pauses --until: $?"
is "none before the start" 0 "$(query none.json '.total.count')"

# a step that has not ended by the end of a window is listed as open, for as long as its span is
middle=$(query pauses.json '.window.start_ns as $start | .rows[0] |
  (.ns - $start + .duration_ns / 2 | floor) / 1e9')
"$EVENTRING" pauses --json --until "$middle" "$file" >open.json || fail "pauses --until $middle: $?"
longest=$(query pauses.json '.rows[0] | [.ns, .domain, .step, .reason]')
is_same "the open step" "$longest" \
  "$(query open.json '[.open_steps[] | [.ns, .domain, .step, .reason]] | map(select(. == '"$longest"'))[0]')"
is "none of these is listed as ended" 0 \
  "$(query open.json '[.open_steps[].ns] as $open | [.rows[] | select(.ns as $ns | $open | index($ns))] | length')"
is_same "how long so far" \
  "$("$EVENTRING" spans --json --top 1000 --class gc --until "$middle" "$file" | jq -c \
    --argjson longest "$longest" '.open_spans[] | select(.ns == $longest[0] and .name == $longest[2]) | [.so_far_ns, .at_least]')" \
  "$(query open.json '.open_steps[] | select(.ns == '"$longest"'[0]) | [.so_far_ns, .at_least]')"
has "as text" "Open: " "$("$EVENTRING" pauses --until "$middle" "$file")"

# lines of a page, and nothing of a program that has no collector
"$EVENTRING" pauses "$file" >pauses.txt || fail "pauses as text: $?"
"$EVENTRING" spans "$file" >spans.txt || fail "spans as text: $?"
record --rounds 3
"$EVENTRING" pauses "$file" >other.txt || fail "pauses of a producer: $?"
"$EVENTRING" spans "$file" >>other.txt || fail "spans of a producer: $?"
python3 - <<'PYTHON' || fail "wider than the page"
import sys
wide = [l for f in ("pauses.txt", "spans.txt", "other.txt") for l in open(f, encoding="utf-8")
        if len(l.rstrip("\n")) > 80 or l != l.rstrip() + "\n"]
print(wide)
sys.exit(bool(wide))
PYTHON

# a live process as it is, and for a while; a program
start --rounds 1000000 --pause-us 200
"$EVENTRING" spans --json "$pid" >live.json || fail "spans of a process: $?"
"$EVENTRING" spans --json --seconds 0.2 "$pid" >watched.json || fail "spans --seconds: $?"
is "spans of a process" true "$(query watched.json '.total.count > 0')"
kill -9 "$pid"
wait "$pid" 2>/dev/null
"$EVENTRING" pauses --json -- "$SAROS" work.lua >program.json || fail "pauses -- PROGRAM: $?"
is "steps of a program" true "$(query program.json '.total.count > 0')"
"$EVENTRING" spans --json -- "$SAROS" -e 'os.exit(3)' >/dev/null
is "the status of the program" 3 $?

ends 2 "no option" "$EVENTRING" pauses --wrong "$file"
ends 2 "not 0 to 127" "$EVENTRING" spans --domain 128 "$file"
ends 1 "no class" "$EVENTRING" spans --class nothing "$file"
ends 1 "" "$EVENTRING" pauses no-such-file
finish
