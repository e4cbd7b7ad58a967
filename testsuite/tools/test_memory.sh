# SPDX-License-Identifier: MIT
# `eventring memory`: lines that add up to what the kernel counts, each of what the program is
# known to have; of a live process, of a dead one, and of copies.
. "$TESTSUITE/tools/_tools.sh"
export SAROS_EVENTRING_PREFIX=.

# Has about 8 MiB of tables, an array of 4 MiB that is half empty, 20 coroutines with some
# 20 KiB each, 2 MiB in messages and, in another domain, 1 MiB; then it waits until a file
# is there.
cat >work.lua <<'LUA'
local domain = require "saros.domain"
local keep, channel = {}, domain.channel(1000)
for i = 1, 40000 do keep[i] = { name = "name " .. i, value = i } end
local grown, threads = {}, {}
for i = 1, 2^17 + 1 do grown[i] = i end
local function deep(n) if n > 0 then return (deep(n - 1)) end coroutine.yield() end
for i = 1, 20 do
  threads[i] = coroutine.create(deep)
  coroutine.resume(threads[i], 100)
end
for i = 1, 200 do channel:send(string.rep("m", 10000)) end
local go, ready = domain.channel(1), domain.channel(1)
local other = domain.spawn(function(go, ready)
  local keep = {}
  for i = 1, 200 do keep[i] = string.rep(tostring(i), 2000) end
  collectgarbage()
  ready:send(true)
  while not io.open "stop" do require "saros.domain".sleep(0.01) end
  return #keep
end, go, ready)
assert(ready:receive())
collectgarbage()
io.open("ready", "w"):close()
while not io.open "stop" do domain.sleep(0.01) end
assert(other:join() == 200)
os.exit(#keep == 40000 and #grown > 2^17 and #threads == 20)
LUA

begin() {
  rm -f stop ready
  SAROS_EVENTRING_START=1 "$SAROS" work.lua >out.txt 2>err.txt &
  pid=$!
  await "$pid"
  until [ -e ready ] || ! kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
}
memory() { "$EVENTRING" memory --wait 60 "$@"; }
row() { query "$1" "[.rows[] | select(.name == \"$2\" and .domain == ${3:-null})] | .[0].${4:-resident_bytes}"; }
adds_up() {
  is "sum of $1" true "$(query "$1" '([.rows[].resident_bytes] | add) == .total.attributed_bytes and
    .total.resident_bytes == .total.attributed_bytes + .total.unattributed_bytes')"
  is "resident is reserved, $1" "[]" "$(query "$1" '[.rows[] | select(.resident_bytes > .reserved_bytes)]')"
  is "sums of the domains of $1" true "$(query "$1" '. as $all | all(.domains[]; .domain as $d |
    .resident_bytes == ([$all.rows[] | select(.domain == $d) | .resident_bytes] | add // 0))')"
}
within() { [ "$2" -ge "$3" ] && [ "$2" -le "$4" ] || fail "$1: $2 is not within $3 and $4"; }

begin
memory --json "$pid" >live.json || fail "memory: $?"
adds_up live.json
is "who has answered" "[true,true]" "$(query live.json '[.domains[].answered]')"
is "who has measured" "[true,true]" "$(query live.json '[.domains[].measured]')"
is "source" '"smaps"' "$(query live.json .total.source)"
# a sanitizer has memory of its own
# without pagemap, the empty half of the array counts as resident
sanitized || [ ! -r /proc/self/pagemap ] || is "at most 2 % are not attributed" true "$(query live.json \
  '(.total.unattributed_bytes | if . < 0 then -. else . end) * 50 <= .total.resident_bytes')"
# 40,000 tables with two fields and as many strings; 400,000 bytes of strings of digits and more
within "live heap" "$(row live.json 'live heap' 0)" 4000000 16000000
within "live heap of the other" "$(row live.json 'live heap' 1)" 800000 4000000
within "stacks" "$(row live.json 'stacks of coroutines' 0)" 100000 1000000
within "messages" "$(row live.json messages)" 2000000 2400000
within "strings' table" "$(row live.json "strings' table" 0)" 100000 2000000
within "recording" "$(row live.json recording)" 65536 20000000
within "program and libraries" "$(row live.json 'program and libraries')" 500000 200000000
is "in the heap of the C library" '"malloc"' "$(row live.json messages null in)"

"$EVENTRING" memory --json-schema >memory.schema || fail "memory --json-schema: $?"
says_nothing "by its schema" python3 "$TESTSUITE/tools/_schema.py" memory.schema live.json
memory --csv "$pid" >live.csv || fail "memory --csv: $?"
has "rows" '"live heap"' "$(cat live.csv)"
memory "$pid" >live.txt || fail "memory as text: $?"
has "text" "live heap" "$(cat live.txt)"
has "sum" "resident, as the kernel counts" "$(cat live.txt)"
is "lines of a page" 0 "$(awk 'length($0) > 80' live.txt | wc -l)"
memory --domain 1 --json "$pid" >one.json || fail "--domain: $?"
is "of one domain" "[1]" "$(query one.json '[.rows[].domain] | unique')"
memory --domain 1 "$pid" >one.txt || fail "--domain as text: $?"
is "without the process" 0 "$(grep -c 'The process' one.txt)"

# copies have what was measured
"$EVENTRING" snapshot -o copy.eventring "$pid" >copy.txt || fail "snapshot"
memory --json copy.eventring >copy.json || fail "memory of a copy: $?"
adds_up copy.json
is "source of a copy" '"recorded"' "$(query copy.json .total.source)"
within "messages of a copy" "$(row copy.json messages)" 2000000 2400000
"$EVENTRING" strip -o stripped.eventring copy.eventring >strip.txt || fail "strip"
memory --json stripped.eventring >stripped.json || fail "memory of a stripped copy: $?"
is_same "rows of a stripped copy" "$(query copy.json .rows)" "$(query stripped.json .rows)"
"$EVENTRING" show copy.eventring >show.txt 2>&1
is "no damage" 0 "$(grep -c damage show.txt)"

# what it said last is there when it was killed
kill -9 "$pid"
wait "$pid" 2>/dev/null
memory --json "$pid.eventring" >dead.json || fail "memory of a dead process: $?"
adds_up dead.json
is "source of a dead one" '"recorded"' "$(query dead.json .total.source)"
within "its live heap" "$(row dead.json 'live heap' 0)" 4000000 16000000
memory "$pid.eventring" >dead.txt || fail "as text: $?"
has "as recorded" "as recorded" "$(cat dead.txt)"
is "when it said so" true "$(query dead.json '.total.age_ns >= 0 and .total.age_ns < 3600000000000')"

# who does not come to a safepoint: what it said before it waited
cat >wait.lua <<'LUA'
local keep = {}
for i = 1, 1000 do keep[i] = { i } end
collectgarbage()
io.open("ready", "w"):close()
io.read()
LUA
rm -f ready
mkfifo fifo
SAROS_EVENTRING_START=1 "$SAROS" wait.lua <fifo >out.txt 2>err.txt &
pid=$!
exec 9>fifo
until [ -e ready ] || ! kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
"$EVENTRING" memory --wait 0.2 --json "$pid" >waits.json || fail "of one that waits: $?"
adds_up waits.json
is "it has not answered" "[false]" "$(query waits.json '[.domains[].answered]')"
within "what it said before" "$(row waits.json 'live heap' 0)" 10000 4000000
kill -9 "$pid"
wait "$pid" 2>/dev/null
exec 9>&-

# other hosts say nothing of it
start --hold-ms 100000
"$EVENTRING" memory "$pid" >other.txt 2>&1
is "a host that answers no questions" 1 $?
has "why" "answers no questions" "$(cat other.txt)"
kill -9 "$pid"
wait "$pid" 2>/dev/null

ends 2 "memory" "$EVENTRING" memory
ends 2 "memory" "$EVENTRING" memory --domain x 1
ends 1 "" "$EVENTRING" memory none.eventring
finish
