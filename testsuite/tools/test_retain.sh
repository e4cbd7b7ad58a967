# SPDX-License-Identifier: MIT
# `eventring retain` asks a live process who holds its objects: the paths are those of the
# program, it goes on meanwhile, and whoever does not answer is said not to.
. "$TESTSUITE/tools/_tools.sh"
export SAROS_EVENTRING_PREFIX=.

# Works until a file is there; what it keeps does not change.
cat >work.lua <<'LUA'
local function work(file, n)
  KEPT = { sessions = {} }
  for i = 1, n do
    KEPT.sessions["session " .. i] = setmetatable({ i }, { __name = "Session" })
  end
  local turns = 0
  repeat
    local garbage
    for i = 1, 20000 do garbage = { i, tostring(i) } end
    turns = turns + 1
    local stop = io.open(file)
  until stop
  return turns
end
if arg[2] then
  local domain = require "saros.domain"
  local h = domain.spawn(work, "stop", tonumber(arg[2]))
  work("stop", tonumber(arg[1]))
  h:join()
else
  work("stop", tonumber(arg[1]))
end
LUA

# start PROGRAM [ARGUMENT...]: until let_end
start() {
  rm -f stop
  SAROS_EVENTRING_START=1 "$SAROS" "$@" >out.txt 2>err.txt &
  pid=$!
  await "$pid"
}
let_end() {
  touch stop
  wait "$pid" || fail "the program: $(cat err.txt)"
}
retain() { "$EVENTRING" retain --wait 60 "$@"; }
sessions='[.rows[] | select(.kind == "table Session")]'

start work.lua 2000
# it may be asked before it has made all of them
for attempt in $(seq 100); do
  retain --json --kind Session "$pid" >retain.json || fail "retain: $?"
  [ "$(query retain.json "$sessions | .[0].objects")" = 2000 ] && break
done
is "sessions" 2000 "$(query retain.json "$sessions | .[0].objects")"
is "who holds them" '"_G.KEPT.sessions[*]"' "$(query retain.json "$sessions | .[0].holders[0].shape")"
is "a path" true "$(query retain.json "$sessions | .[0].holders[0].path |
  test(\"^_G.KEPT.sessions\\\\[\\\"session [0-9]+\\\"\\\\]\$\")")"
is "all is counted" true "$(query retain.json '.total.bytes > 100000 and .total.objects > 4000 and
  .domains[0].answered and .domains[0].cut_off == null')"
"$EVENTRING" retain --json-schema >retain.schema || fail "retain --json-schema: $?"
says_nothing "by its schema" python3 "$TESTSUITE/tools/_schema.py" retain.schema retain.json
retain --csv "$pid" >retain.csv || fail "retain --csv: $?"
has "rows" '"table Session"' "$(cat retain.csv)"
retain "$pid" >retain.txt || fail "retain as text: $?"
has "text" "_G.KEPT.sessions[*]" "$(cat retain.txt)"
is "lines of a page" 0 "$(awk 'length($0) > 80' retain.txt | wc -l)"
retain --name KEPT --top 1 "$pid" >named.txt || fail "retain --name: $?"
has "by name" "KEPT" "$(cat named.txt)"

# two at once, and one that is killed while it asks
retain --json "$pid" >a.json & a=$!
retain --json "$pid" >b.json & b=$!
wait $a; first=$?
wait $b; second=$?
[ $first = 0 ] || [ $second = 0 ] || fail "of two at once none was answered"
retain "$pid" >killed.txt 2>&1 & a=$!
kill -9 $a
wait $a 2>/dev/null
for attempt in $(seq 100); do
  retain --json "$pid" >after.json 2>after.txt && break
done
is "after one was killed" true "$(query after.json '.domains[0].answered')"
let_end
[ ! -s err.txt ] || fail "the program says: $(cat err.txt)"

# several domains: each answers for its own heap
start work.lua 500 300
for attempt in $(seq 100); do
  retain --json --kind Session "$pid" >two.json 2>two.txt
  [ "$(query two.json "$sessions | map(.objects) | sort")" = "[300,500]" ] && break
done
is "of each domain" "[300,500]" "$(query two.json "$sessions | map(.objects) | sort")"
retain --json --kind Session --domain 1 "$pid" >one.json || fail "retain --domain: $?"
is "of one domain" "[1]" "$(query one.json "[.domains[].domain]")"
let_end

# a loop that allocates nothing answers at its safepoints; the child that answered is waited
# for at once, though no collection comes
cat >count.lua <<'LUA'
KEPT = { setmetatable({}, { __name = "Session" }) }
collectgarbage "stop"
local f = io.open "stop"
local x = 0
while not f do
  for i = 1, 100000 do x = x + i end
  if x > 1e12 then x = 0; f = io.open "stop" end
end
LUA
start count.lua
retain --json --kind Session "$pid" >count.json || fail "retain of a loop: $?"
is "of a loop" true "$(query count.json '.domains[0].answered')"
children() { cat "/proc/$pid/task/$pid/children"; }
is "children that are left" "" "$(children)"
let_end

# while allocations are sampled: where what is held was allocated
cat >sites.lua <<'LUA'
KEPT = {}
local function make(i) return { i, { i } } end
for i = 1, 2000 do KEPT[i] = make(i) end
while not io.open "stop" do require "saros.domain".sleep(0.01) end
LUA
SAROS_MEMPROF=0.2 start sites.lua
for attempt in $(seq 100); do
  retain --json --kind sites.lua:2 "$pid" >sites.json || fail "retain of sites: $?"
  [ "$(query sites.json '[.sites[] | .blocks] | add > 100')" = true ] && break
done
is "sites" true "$(query sites.json '[.sites[] | .blocks] | add > 100')"
is "holders of sites" true "$(query sites.json 'any(.sites[].holders[]; .shape == "_G.KEPT[*]" and .objects > 50)')"
is "kinds apart" "[]" "$(query sites.json '[.rows[] | .site] | map(select(. != null))')"
retain "$pid" >sites.txt || fail "sites as text: $?"
has "sites as text" "make sites.lua:2" "$(cat sites.txt)"
is "lines of a page with sites" 0 "$(awk 'length($0) > 80' sites.txt | wc -l)"
let_end

# --kind and --name choose among all that is there, and not among what is written first: of 400
# kinds, and of 100 ways of one kind, those in the middle. The program knows how many there are.
cat >many.lua <<'LUA'
for k = 1, 400 do
  local kind = { __name = "Kind" .. k .. "." }
  _G["k" .. k] = {}
  for i = 1, 3 do _G["k" .. k][i] = setmetatable({}, kind) end
end
local item = { __name = "Item" }
for g = 1, 100 do
  _G["g" .. g] = {}
  for i = 1, g do _G["g" .. g][i] = setmetatable({}, item) end
end
DONE = setmetatable({}, { __name = "Done" })
while not io.open "stop" do require "saros.domain".sleep(0.01) end
LUA
start many.lua
all_are_there() {
  retain --json --kind Done "$pid" >many.json 2>err.txt && [ "$(query many.json '.rows | length')" = 1 ]
}
until_so all_are_there || fail "retain of many kinds: $(cat err.txt)"
for k in 1 200 400; do
  retain --json --kind "Kind$k." "$pid" >many.json || fail "retain --kind Kind$k."
  is "kind $k of 400" "[[\"table Kind$k.\",3,\"_G.k$k[*]\"]]" \
    "$(query many.json '[.rows[] | [.kind, .objects, .holders[0].shape]]')"
done
for g in 2 37 99; do
  retain --json --name "_G.g$g[" "$pid" >many.json || fail "retain --name _G.g$g["
  is "way $g of 100" "[[\"table Item\",5050,[[$g,\"_G.g$g[*]\"]],0]]" "$(query many.json \
    '[.rows[] | [.kind, .objects, [.holders[] | [.objects, .shape]], .more_holders]]')"
done
retain --name "_G.g37[" "$pid" >many.txt || fail "retain --name, text: $?"
has "a way in the text" "37  _G.g37[*]" "$(cat many.txt)"
retain --json --kind Item "$pid" >many.json || fail "retain --kind Item: $?"
is "ways that are listed, and others" "[8,92]" "$(query many.json '.rows[0] | [(.holders | length), .more_holders]')"
retain --json --top 5 --kind Kind "$pid" >many.json || fail "retain --top: $?"
is "kinds that are listed, and all" "[5,400,0,0]" "$(query many.json \
  '[(.rows | length), (.domains[0] | .kinds, .cut_kinds, .cut_ways)]')"
retain --top 5 --kind Kind "$pid" >many.txt || fail "retain --top, text: $?"
has "what --top cuts" "and 395 more kinds (--top)" "$(cat many.txt)"
let_end

# More kinds than are told apart: those that are known have all of their objects, of the others
# it is said how many there are. Each of 5,000 kinds holds an object of one that is known.
cat >many.lua <<'LUA'
local known = { __name = "Known" }
FIRST = setmetatable({}, known)
ALL = {}
for k = 1, 5000 do ALL[k] = setmetatable({ setmetatable({}, known) }, { __name = "Kind" .. k }) end
io.stdout:write "ready\n":flush()
while not io.open "stop" do require "saros.domain".sleep(0.01) end
LUA
start many.lua
until_so grep -qs ready out.txt || fail "many.lua does not get ready: $(cat err.txt)"
retain --json --kind Known "$pid" >many.json || fail "retain of more kinds: $?"
is "a known kind among too many" '[["table Known",5001]]' \
  "$(query many.json '[.rows[] | [.kind, .objects]]')"
retain --json --top 10000 --kind "table Kind" "$pid" >some.json || fail "retain --kind Kind: $?"
is "what is known, and what is not" true "$(query some.json \
  '([.rows[].objects] | add) + .domains[0].in_no_kind | . >= 5000 and . < 6000')"
is "some are not known" true "$(query some.json '.domains[0].in_no_kind > 0')"
retain --kind Kind5000 "$pid" >many.txt || fail "retain --kind, text: $?"
has "what is not known, in the text" "of kinds that are too many to be told apart" "$(cat many.txt)"
let_end

# a PROGRAM, asked while it runs
cat >stop.lua <<'LUA'
KEPT = { setmetatable({}, { __name = "Session" }) }
local ends = os.time() + 120
repeat local t = { {} } until os.time() > ends or io.open "stop"
os.exit(5)
LUA
rm -f stop program.txt
(until_so grep -qs Session program.txt; touch stop) & a=$!
retain --seconds 0.5 --kind Session -- "$SAROS" stop.lua >program.txt
is "status of the program" 5 $?
wait $a
has "of a program" "_G.KEPT[*]" "$(cat program.txt)"

# who does not come to a safepoint, nor to a check of the helper's, which would answer aside
cat >wait.lua <<'LUA'
io.read()
LUA
mkfifo fifo
SAROS_EVENTRING_START=1 "$SAROS" wait.lua <fifo >out.txt 2>err.txt &
pid=$!
exec 9>fifo
await "$pid"
kill -STOP "$pid"
ends 1 "has not answered" "$EVENTRING" retain --wait 0.2 "$pid"
ends 1 "has not answered" "$EVENTRING" retain --wait 0.2 --json "$pid"
is "nobody answered" '[false]' "$(query stdout.txt '[.domains[].answered]')"
kill -9 "$pid"
wait "$pid" 2>/dev/null
ends 1 "no live process" "$EVENTRING" retain "$pid.eventring"
exec 9>&-

ends 2 "retain" "$EVENTRING" retain
ends 2 "retain" "$EVENTRING" retain --top x "$pid"
ends 1 "" "$EVENTRING" retain none.eventring
finish
