# SPDX-License-Identifier: MIT
# eventring profile --perf: samples as perf script prints them, below the spans of a recording.
# perf is not needed: the samples are made here, at the times of events whose place in the
# program is known.
. "$TESTSUITE/tools/_tools.sh"

# Sentences that go on in the next line, as one line
joined() { tr -s '\n ' '  '; }

cat >work.lua <<'END'
local eventring = require "saros.eventring"
local mark = eventring.event
local function leaf(name) mark(name) end
local co = coroutine.wrap(function()
  eventring.begin_span "in coroutine"
  mark "first time"
  coroutine.yield()
  leaf "second time"
  eventring.end_span "in coroutine"
  coroutine.yield()
end)
local function outer()
  eventring.begin_span "outer"
  leaf "leaf"
  co()
  mark "suspended"
  eventring.begin_span "within"
  co()
  eventring.end_span "within"
  mark "after it"
  eventring.end_span "outer"
end
outer()
mark "at the end"
END
SAROS_EVENTRING_STREAM=calls.eventring SAROS_EVENTRING_CLASSES=+calls "$SAROS" work.lua || fail "work.lua"
SAROS_EVENTRING_STREAM=spans.eventring "$SAROS" work.lua || fail "work.lua"

# samples FILE: five for each mark, in the middle of C and of other libraries, not in their order
samples() {
  "$EVENTRING" dump --json $1.eventring >$1.jsons || fail "dump"
  pid=$(jq -r 'select(.name == "recorder_start") | .value' $1.jsons)
  jq -r --arg pid "$pid" 'select(.kind == "event" and .class == "user") | . as $e | range(5) |
    "a program: \($pid)/\($pid) [00\(. % 2)] \(($e.ns + .) / 1000000000 | floor).\(($e.ns + .) % 1000000000 |
      tostring | ("000000000" + .)[-9:]):    1000000 cpu-clock:pppH: \n" +
    "\t           1a2b inner_c+0x1f (/usr/lib/lib c.so.6)\n" +
    (if . < 2 then "\t           3c4d operator<(int, long)+0x+0x2 (/usr/lib/libcc.so)\n" else "" end) +
    "\t          62b9e interpret+0xc02e (/usr/bin/saros)\n" +
    "\t          62b9e main+0x2 (/usr/bin/saros)\n" +
    "\t4e2c14804c38348 [unknown] ([unknown])\n"' $1.jsons | tac -s '' >$1.perf
}
# stacks FILE OPTION...: "COUNT STACK" of each
stacks() {
  local name=$1
  shift
  "$EVENTRING" profile --perf $name.perf --to folded "$@" $name.eventring | LC_ALL=C sort >folded ||
    fail "profile --perf $name"
}
count() { awk -v stack="$1" '{ n = $NF; sub(/ [0-9]+$/, "") } $0 == stack { sum += n } END { print sum + 0 }' folded; }

IN='inner_c (lib c.so.6)' DEEPER='operator<(int, long)+0x (libcc.so);inner_c (lib c.so.6)'
at() { # SPANS MARKS: for each mark three samples in C below them, two deeper
  is "$1, in C" $((3 * $2)) "$(count "$1$IN")"
  is "$1, deeper" $((2 * $2)) "$(count "$1$DEEPER")"
}

# Spans of the program, of all that run: not of a coroutine that is suspended. One that goes on
# is within those that were open then.
samples spans
stacks spans --native-below interpret
at "" 1
at "outer;" 3
at "outer;in coroutine;" 1
at "outer;within;in coroutine;" 1
is "nothing else" 30 "$(awk '{ sum += $NF } END { print sum }' folded)"
stacks spans
is "all native frames" 9 "$(count "outer;main (saros);interpret (saros);$IN")"

# With calls: functions between the spans.
samples calls
stacks calls --native-below interpret
sed -i 's/ (work.lua:[0-9]*)//g; s/<work.lua:4>/co/g; s/^.*main chunk;//' folded
at "outer;outer;leaf;saros.eventring.event;" 1
at "outer;outer;wrapped_coroutine;anonymous;in coroutine;saros.eventring.event;" 1
at "outer;outer;saros.eventring.event;" 2
at "outer;outer;within;wrapped_coroutine;anonymous;in coroutine;leaf;saros.eventring.event;" 1
at "saros.eventring.event;" 1
is "calls end where they began, coroutines or not" '[]' \
  "$(jq -sc '[.[] | select(.ring == "calls" and .torn) | .name]' calls.jsons)"

# Other views, other forms of the text.
has "a tree" "inner_c lib c.so.6" "$("$EVENTRING" profile --perf spans.perf --tree spans.eventring | tr -s ' ')"
"$EVENTRING" profile --perf spans.perf --json --top 0 spans.eventring >spans.json || fail "--json"
is "its samples" '["samples",30,30000000]' "$(query spans.json '[.source, .total.samples, .total.ns]')"
tid=$(jq -r 'select(.name == "recorder_start") | .value' spans.jsons)
time=$(jq -r 'select(.name == "leaf") | .ns | "\(. / 1000000000 | floor).\(. % 1000000000 | tostring | ("000000000" + .)[-9:])"' spans.jsons)
# without a chain, a process or an event; of other threads, processes and times; no samples at all
cat >spans.perf <<END
# a comment
saros $tid $time: 7f0a inner_c+0x1 (/usr/lib/lib c.so.6)

saros $tid/99 $time: cycles:
	7f0a helper_thread (/usr/lib/libx.so)

other 77/77 $time: cycles: 7f0a f (a)

saros $tid 1.5: cycles: 7f0a f (a)

not a sample
	7f0a f (a)
END
stacks spans
is "one form" 1 "$(count "outer;inner_c (lib c.so.6)")"
is "a thread that is no domain" 1 "$(count "helper_thread (libx.so)")"
is "nothing else" 2 "$(wc -l <folded)"
has "what is not counted" "1 of other processes, 1 of other times, 1 lines" \
  "$("$EVENTRING" profile --perf spans.perf spans.eventring | joined)"
"$EVENTRING" profile --perf - --to folded spans.eventring <spans.perf | cmp - <("$EVENTRING" profile \
  --perf spans.perf --to folded spans.eventring) || fail "from standard input"

# Several events: all, or one of them
for i in 1 2 3 4 5 6 7; do
  case $i in 1|2|3) event=cycles:ppp ;; 4) event=cpu_core/cycles/ ;; *) event=page-faults:u ;; esac
  printf 'saros %s %s: 100 %s: \n\t7f0a f%s+0x1 (/usr/lib/a.so)\n\n' $tid $time $event $i
done >events.perf
cp spans.eventring events.eventring
stacks events
is "all are counted" 7 "$(wc -l <folded)"
has "and named" "several events, counted alike (--perf-event): cycles:ppp, cpu_core/cycles/, page-faults:u;" \
  "$("$EVENTRING" profile --perf events.perf events.eventring | joined)"
stacks events --perf-event cycles
is "one with any modifiers" "f1 (a.so) f2 (a.so) f3 (a.so)" "$(sed 's/.*;//; s/ 1$//' folded | xargs)"
stacks events --perf-event page-faults:u
is "with these" "f5 (a.so) f6 (a.so) f7 (a.so)" "$(sed 's/.*;//; s/ 1$//' folded | xargs)"
"$EVENTRING" profile --perf events.perf --perf-event cpu_core/cycles/ events.eventring >out || fail "--perf-event"
has "the output says which" "perf, event cpu_core/cycles/, below" "$(cat out)"
has "and what it left out" "left out: 6 of other events" "$(joined <out)"
misspelt() { # NAME MESSAGE
  ends 1 "$2" "$EVENTRING" profile --perf events.perf --perf-event "$1" events.eventring
}
misspelt page-fault:u "no event \`page-fault:u'; did you mean \`page-faults:u'? (there are: cycles:ppp, cpu_core/cycles/, page-faults:u)"
misspelt cycles:u "no event \`cycles:u'"
misspelt cycle "no event \`cycle'"
misspelt cpu "(there are: cycles:ppp"
echo "saros $tid $time: 7f0a f (a)" >none.perf
ends 1 "its samples have no events" "$EVENTRING" profile --perf none.perf --perf-event cycles spans.eventring
ends 2 "--perf-event goes with --perf" "$EVENTRING" profile --perf-event cycles spans.eventring
for ((i = 0; i < 300; i++)); do printf 'saros %s %s: event%d: 7f f (a)\n' $tid $time $i; done >events.perf
stacks events --perf-event event299
is "however many there are" "f (a) 1" "$(sed 's/.*;//' folded)"
stacks events
is "all of them" 300 "$(awk '{ sum += $NF } END { print sum }' folded)"
has "their number" "event3 and 60 or more" "$("$EVENTRING" profile --perf events.perf events.eventring)"
misspelt other "event3 and 60 or more"

# What is wrong
bad() { # TEXT MESSAGE
  printf '%s\n' "$1" >bad.perf
  ends 1 "$2" "$EVENTRING" profile --perf bad.perf spans.eventring
}
bad "" "no samples as perf script"
bad "saros $tid/1 99999999999999999999.5: f" "no samples as perf script"
bad "saros 1/1 $time: 7f f (a)" "none of its samples is of process $tid"
bad "saros $tid/$tid 1.000000001: 7f f (a)" "perf record -k CLOCK_MONOTONIC"
ends 1 "No such file" "$EVENTRING" profile --perf none spans.eventring
ends 1 "No such file" "$EVENTRING" profile --perf spans.perf none.eventring
ends 2 "--native-below goes with --perf" "$EVENTRING" profile --native-below f spans.eventring
ends 2 "--perf reads samples: no --cpu" "$EVENTRING" profile --perf spans.perf --hz 10 spans.eventring
ends 2 "--perf needs a PID or FILE" "$EVENTRING" profile --perf spans.perf -- true
finish
