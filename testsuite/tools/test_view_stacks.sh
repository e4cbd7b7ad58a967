# SPDX-License-Identifier: MIT
# The stacks of a page: samples of a process that is watched, allocations, what is alive, calls:
# the figures of `heap` and `profile`, of programs that end, that are killed and that go on.
. "$TESTSUITE/tools/_tools.sh"
command -v python3 >/dev/null || { echo "python3 is missing (Debian package: python3)"; exit 77; }
export PYTHONDONTWRITEBYTECODE=1
page_says() { python3 "$TESTSUITE/tools/_view_stacks.py" "$@" 2>errors.txt || fail "$*: $(cat errors.txt)"; }
section() { python3 "$TESTSUITE/tools/_view.py" "$@"; }
"$EVENTRING" view nothing 2>&1 | grep -q "without zlib" && { echo "built without zlib"; exit 77; }

cat >work.lua <<'END'
local function leaf(n) local s = 0 for i = 1, n do s = s + i end return s end
local function pairs_of(n) local t = {} for i = 1, n do t[i] = { i, tostring(i) } end return t end
kept = {}
local function work() leaf(20000) kept[#kept % 50 + 1] = pairs_of(300) end
local seconds = tonumber(arg and arg[1] or 1)
local from = os.clock()
repeat work() until os.clock() - from > seconds
END

# ---- A program that knows nothing of it
timeout $PATIENCE "$EVENTRING" view -o program.html -- "$SAROS" work.lua 1 || fail "a program: $?"
[ "$(page_says sound program.html)" -gt 5 ] || fail "few sites of a program"
section program.html head >head.json
is "samples a second" 1000 "$(query head.json .sampled.hz)"
is "rate of allocations" 0.0001 "$(query head.json .sampled.rate)"
section program.html samples >samples.json
is "what samples are from" '"sampled from outside, on a processor or not"' "$(query samples.json .from)"
for figure in stacks moving torn late; do
  [ "$(query head.json ".sampled.$figure")" -ge 0 ] || fail "$figure: $(query head.json .sampled)"
done
is "how they were taken" '"profile --hz 1000"' "$(query head.json .sampled.command)"
total=$(page_says total program.html samples samples)
length=$(query head.json '.run.length_ns / 1e6 | floor')
[ "$total" -gt $((length / 2)) ] && [ "$total" -lt $((length * 2 + 1000)) ] ||
  fail "$total samples in $length ms"
share=$(page_says under program.html samples work)
awk -v share="$share" 'BEGIN { exit !(share > 0.3) }' || fail "samples in work: $share"
share=$(page_says under program.html allocated pairs_of)
awk -v share="$share" 'BEGIN { exit !(share > 0.3) }' || fail "allocated in pairs_of: $share"

# ---- Samples of threads that run, as of `profile --cpu`
cat >naps.lua <<'END'
dofile "work.lua"
local function nap() io.popen("sleep 0.6"):read "a" end
nap()
END
timeout $PATIENCE "$EVENTRING" view --cpu -o cpu.html -- "$SAROS" naps.lua 0.4 || fail "--cpu: $?"
is "what samples are from, --cpu" '"sampled from outside while on a processor"' \
  "$(section cpu.html samples | jq -c .from)"
is "the command, --cpu" '"eventring profile --cpu --hz 1000 --by line -- '"$SAROS"' naps.lua 0.4"' \
  "$(section cpu.html head | jq -c '.answers[0].command')"
on_cpu=$(page_says under cpu.html samples nap)
timeout $PATIENCE "$EVENTRING" view --wall -o wall.html -- "$SAROS" naps.lua 0.4 || fail "--wall: $?"
share=$(page_says under wall.html samples nap)
awk -v cpu="$on_cpu" -v wall="$share" 'BEGIN { exit !(wall > 2 * cpu) }' ||
  fail "samples of a nap: $on_cpu with --cpu, $share with --wall"
ends 2 "one of --wall, --cpu" "$EVENTRING" view --wall --cpu "$$"

# ---- Several processes: none of their stacks are sampled, and the page says so
timeout $PATIENCE "$EVENTRING" view -o two.html -- \
  sh -c "'$SAROS' work.lua 0.1 & '$SAROS' work.lua 0.1; wait" 2>two.errors || fail "two: $(cat two.errors)"
section two.html head >head.json
query head.json '.answers[0].answer' | grep -q "several recordings" ||
  fail "two processes: $(query head.json '.answers[0]')"
query head.json '.answers[0].command' | grep -q "eventring profile --hz 1000 --children --by line -- sh -c" ||
  fail "two processes: $(query head.json '.answers[0]')"

# ---- A file: killed, with a stream, so that all samples of allocations are there
cat >killed.lua <<'END'
dofile "work.lua"
require "saros.domain".spawn(function()
  local t = {}
  for i = 1, 30000 do t[i % 100] = { tostring(i) } end
end):join()
io.open("ready", "w"):close()
while true do end
END
SAROS_EVENTRING_STREAM=killed.eventring SAROS_MEMPROF=1e-3 "$SAROS" killed.lua 0.5 & pid=$!
for _ in $(seq $((PATIENCE * 10))); do [ -e ready ] && break; sleep 0.1; done
kill -9 $pid
wait $pid 2>/dev/null
"$EVENTRING" heap --json --by stack killed.eventring >heap.json || fail "heap"
"$EVENTRING" view -o killed.html killed.eventring || fail "of a killed process: $?"
page_says sound killed.html >/dev/null
page_says heap killed.html heap.json
is "nothing was sampled for the page" null "$(section killed.html head | jq -c .sampled)"
for range in "0 1024" "100 500" "700 701"; do
  read -r since until < <(page_says range killed.html $range)
  "$EVENTRING" heap --json --allocated --since "$since" --until "$until" killed.eventring >range.json ||
    fail "heap of cells $range"
  bytes=$(query range.json .total.allocated_bytes) shown=$(page_says allocated killed.html $range)
  [ $((bytes - shown)) -le 2000 ] && [ $((shown - bytes)) -le 2000 ] ||
    fail "allocated in cells $range: $bytes, on the page $shown"
done
# of a part of the run
"$EVENTRING" view -o part.html --until 0.2 killed.eventring || fail "a part: $?"
"$EVENTRING" heap --json --allocated --until 0.2 killed.eventring >part.json || fail "heap of a part"
bytes=$(query part.json .total.allocated_bytes) shown=$(page_says total part.html allocated bytes)
[ $((bytes - shown)) -le 2000 ] && [ $((shown - bytes)) -le 2000 ] ||
  fail "allocated in a part: $bytes, on the page $shown"
is "what was alive, of a part" null "$(section part.html live)"
# of a domain
"$EVENTRING" view -o domain.html --domain 1 killed.eventring || fail "a domain: $?"
"$EVENTRING" heap --json --by stack --domain 1 killed.eventring >domain.json || fail "heap of a domain"
page_says heap domain.html domain.json

# ---- Stacks that a process wrote by itself
SAROS_EVENTRING_STREAM=written.eventring SAROS_EVENTRING_STACKS=0.02 "$SAROS" work.lua 1 ||
  fail "work.lua: $?"
"$EVENTRING" view -o written.html written.eventring || fail "of written stacks: $?"
page_says sound written.html >/dev/null
is "what they are from" '"written by the process each second"' \
  "$(section written.html samples | jq -c .from)"
is "the command for them" '"eventring stack written.eventring"' \
  "$(section written.html head | jq -c '.answers[0].command')"
total=$(page_says total written.html samples samples)
[ "$total" -gt 10 ] && [ "$total" -lt 200 ] || fail "$total stacks"
share=$(page_says under written.html samples work)
awk -v share="$share" 'BEGIN { exit !(share > 0.3) }' || fail "written in work: $share"
"$EVENTRING" view --since 0.5 -o later.html written.eventring || fail "of later stacks: $?"
later=$(page_says total later.html samples samples)
[ "$later" -gt 3 ] && [ "$later" -lt "$total" ] || fail "$later of $total stacks since 0.5"

# ---- Calls
SAROS_PROFILE=calls SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_NAME=calls "$SAROS" work.lua 0.3 ||
  fail "work.lua: $?"
"$EVENTRING" profile --json --top 0 --by function calls.eventring >calls.json || fail "profile"
"$EVENTRING" view -o calls.html calls.eventring || fail "of calls: $?"
page_says sound calls.html >/dev/null
page_says calls calls.html calls.json

# ---- A process that goes on: it samples allocations while it is watched, and no longer
SAROS_EVENTRING_START=1 SAROS_EVENTRING_PREFIX=. "$SAROS" work.lua 1000 & pid=$!
await $pid
timeout $PATIENCE "$EVENTRING" view --seconds $((TEST_SLOWNESS > 1 ? 4 : 1)) -o live.html $pid || fail "of a process: $?"
[ "$(page_says sound live.html)" -gt 5 ] || fail "few sites of a process"
section live.html head >head.json
is "of a process, a second" 1000 "$(query head.json .sampled.hz)"
is "of a process, allocations" 0.0001 "$(query head.json .sampled.rate)"
share=$(page_says under live.html samples work)
awk -v share="$share" 'BEGIN { exit !(share > 0.3) }' || fail "samples of a process: $share"
"$EVENTRING" control --status --json $pid >status.json
is "it does not go on sampling" false "$(query status.json .classes.alloc)"
timeout $PATIENCE "$EVENTRING" view --seconds 0 -o before.html $pid || fail "what is recorded: $?"
is "nothing was sampled" null "$(section before.html head | jq -c .sampled)"
kill -9 $pid
wait $pid 2>/dev/null

# one that waits has no events meanwhile: the run reaches to the last sample, not to the last
# event, which was at the begin
echo 'io.open("waits", "w"):close() io.read()' >waits.lua
mkfifo input
SAROS_EVENTRING_START=1 SAROS_EVENTRING_PREFIX=. "$SAROS" waits.lua <input & pid=$!
exec 9>input
until_so test -e waits
await $pid
timeout $PATIENCE "$EVENTRING" view --seconds 1 -o waits.html $pid || fail "of one that waits: $?"
exec 9>&-
wait $pid
section waits.html head >head.json
query head.json 'if .run.length_ns >= .sampled.begin + .sampled.seconds * 5e8 then "" else . end' |
  jq -e '. == ""' >/dev/null || fail "shorter than what was sampled: $(query head.json '[.run.length_ns, .sampled, .grid]')"

# killed while it is watched
SAROS_EVENTRING_START=1 SAROS_EVENTRING_PREFIX=. "$SAROS" work.lua 1000 & pid=$!
await $pid
(sleep 1; kill -9 $pid) &
timeout $PATIENCE "$EVENTRING" view --seconds $PATIENCE -o dies.html $pid || fail "one that dies: $?"
wait 2>/dev/null
[ "$(page_says sound dies.html)" -gt 5 ] || fail "few sites of one that dies"
is "how it ended" '"killed"' "$(section dies.html head | jq -c '.facts[] | select(.label == "Ended").value')"

# ---- Names that others chose
for at in 0 40 70; do
  HEAP_EVENTRING_START=1 HEAP_EVENTRING_PRESERVE=1 HEAP_EVENTRING_NAME=foreign-$at \
    "$BUILDDIR/testsuite/tools/sample_heap" --collections 2 --source \
    "$(python3 "$TESTSUITE/tools/_foreign_text.py" name 60 $at)</script>\"'" >/dev/null || fail "sample_heap"
  "$EVENTRING" heap --json --by stack foreign-$at.eventring >foreign.json || fail "heap, foreign names"
  "$EVENTRING" view -o foreign-$at.html foreign-$at.eventring || fail "of foreign names: $?"
  page_says sound foreign-$at.html >/dev/null
  page_says heap foreign-$at.html foreign.json
done

# ---- A page with less room: the smallest sites become "(other)", exactly
cat >many.lua <<'END'
local parts = {}
for i = 1, 6000 do
  parts[i] = load(("local function f%d() local t = {} for i = 1, %d do t[i] = {} end return t end " ..
                   "return function() return f%d() end"):format(i, i % 50 + 1, i), "=part" .. i)()
end
for _ = 1, 3 do for i = 1, 6000 do parts[i]() end end
END
SAROS_MEMPROF=0.05 SAROS_EVENTRING_STREAM=many.eventring "$SAROS" many.lua || fail "many.lua: $?"
"$EVENTRING" view -o many.html many.eventring || fail "of many sites: $?"
"$EVENTRING" heap --json --by stack many.eventring >many.json || fail "heap of many"
page_says heap many.html many.json
size=$(stat -c %s many.html)
"$EVENTRING" view --size $((size - $(section many.html | awk '$1 == "stacks" { print $2 / 2 }' | cut -d. -f1))) \
  -o less.html many.eventring || fail "with less room: $?"
page_says sound less.html >/dev/null
page_says same-sums many.html less.html
is "it says so" '"sites"' "$(section less.html head | jq -c '[.left_out[].what] | .[] | select(. == "sites")')"
finish
