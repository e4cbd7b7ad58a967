# SPDX-License-Identifier: MIT
# A program with domains, coroutines and collections is recorded into a stream: nothing is lost,
# while it runs, after its end, and after kill -9; what show, list, dump, stats and a snapshot say
# of it. Bad values of the variable are refused by name.
. "$TESTSUITE/recording/_recording.sh"
unset SAROS_EVENTRING_START SAROS_EVENTRING_PREFIX SAROS_EVENTRING_NAME

cat >work.lua <<'LUA'
local eventring, domain = require "saros.eventring", require "saros.domain"
local N = tonumber(arg[1])
local function work(name, n)
  local eventring = require "saros.eventring"
  for i = 1, n do
    eventring.counter(name, i)
    if i % 100 == 0 then eventring.span("step", string.rep, "x", i) end
  end
end
local others = {}
for i = 1, 3 do others[i] = domain.spawn(work, "other", N) end
local tasks = {}
for i = 1, 10 do
  tasks[i] = coroutine.wrap(function()
    while true do eventring.span("task", coroutine.yield) end
  end)
end
work("own", N)
for _ = 1, N // 100 do for _, task in ipairs(tasks) do task() end end
for _, other in ipairs(others) do other:join() end
collectgarbage()
if arg[2] then
  print "ready"
  io.stdout:flush()
  for i = N + 1, N + 20000 do eventring.counter("own", i) end
  io.read()
end
LUA

# counters FILE: how many of each, the last of each, and whether each is one more than the last
counters() {
  "$EVENTRING" dump --json "$1" >dump.json || fail "dump $1: status $?"
  jq -s -c '[.[] | select(.kind == "counter" and (.name == "own" or .name == "other"))]
    | group_by(.domain, .incarnation, .name)
    | map({name: .[0].name, count: length, last: .[-1].value,
           whole: ([.[].value] == [range(1; length + 1)])})
    | sort_by(.name) | .[]' dump.json
}

SAROS_EVENTRING_STREAM="$PWD/sub/x" "$SAROS" -e 'print "ran"' >out.txt 2>err.txt
is_same "no directory" "$(cat out.txt)" ran
has "no directory" "cannot use the directory" "$(cat err.txt)"
for bad in x,max=0 x,max=900K x,max=1Q x,rings=nobody x,foo ,max=1M; do
  SAROS_EVENTRING_STREAM=$bad "$SAROS" -e 'print "ran"' >out.txt 2>err.txt
  is_same "$bad" "$(cat out.txt)" ran
  has "$bad" "SAROS_EVENTRING_STREAM=$bad: must be" "$(cat err.txt)"
done

SAROS_EVENTRING_STREAM=whole "$SAROS" work.lua 20000 || fail "whole"
whole='{"name":"other","count":20000,"last":20000,"whole":true}'
is_same "whole" "$(counters whole.eventring)" "$whole
$whole
$whole
$(sed s/other/own/ <<<"$whole")"
is_same "lost" "$(jq -s 'map(select(.kind == "lost")) | length' dump.json)" 0
is_same "open" "$(jq -s 'map(select(.kind == "open" and .name != "task")) | length' dump.json)" 0
"$EVENTRING" stats --json whole.eventring >stats.json || fail "stats"
is_same "stats" "$(jq -c '[.domains[].rings.user | .missed + .lost] | unique' stats.json)" "[0]"
has "show" "streams *runtime user *(nothing is overwritten)" "$("$EVENTRING" show whole.eventring |
  tr -s ' ' | sed 's/streams runtime user (/streams *runtime user *(/')"
is_same "show --json" "$("$EVENTRING" show --json whole.eventring |
  jq -c '[.domains[].rings.user.stream] | unique')" "[true]"

start=$("$EVENTRING" show --json whole.eventring | jq .start_ns)
for window in "0 0.001" "0.004 0.005" "0.006 1000"; do
  read -r since until <<<"$window"
  select='select(.kind != "lost" and .kind != "open" and (.synthetic | not))'
  "$EVENTRING" dump --json --since "$since" --until "$until" whole.eventring | jq -c "$select" >part.txt
  jq -c --argjson s "$start" --argjson a "$since" --argjson b "$until" \
    "$select"' | select(.ns >= $s + $a * 1e9 and .ns <= $s + $b * 1e9)' dump.json >all.txt
  cmp part.txt all.txt || fail "dump --since $since --until $until"
done
"$EVENTRING" dump --since 2 --until 1 whole.eventring 2>err.txt
is "--since after --until" "$?" 2

# beside it, rings as usual
SAROS_EVENTRING_STREAM=part,rings=user SAROS_EVENTRING_WSIZE=11 "$SAROS" work.lua 5000 || fail "part"
is_same "part" "$(counters part.eventring | grep -c '"count":5000,"last":5000,"whole":true')" 4
is_same "part" "$("$EVENTRING" show --json part.eventring |
  jq -c '[.domains[].rings | .user.stream, .runtime.stream] | unique')" "[false,true]"

# while it runs, and when it is killed
mkfifo output
mkfifo input
SAROS_EVENTRING_STREAM=killed "$SAROS" work.lua 3000 on <input >output &
pid=$!
exec 3>input
read -r _ <output
has "list" "killed.eventring" "$("$EVENTRING" list .)"
"$EVENTRING" snapshot -o copy.eventring "$pid" || fail "snapshot"
kill -KILL "$pid"
wait "$pid" 2>/dev/null
exec 3>&-
for file in copy killed; do
  own=$(counters $file.eventring | grep '"own"')
  has "$file" '"whole":true' "$own"
  is_same "$file" "$(jq '.count == .last and .count >= 3000' <<<"$own")" true
done
"$EVENTRING" clean . >/dev/null || fail "clean"
[ ! -e killed.eventring ] || fail "clean leaves the file of a process that was killed"
[ -e whole.eventring ] || fail "clean removes a stream that was ended in order"

# One that has no room uses its last place again and again: who follows it finds no damage.
cat >flood.lua <<'END'
local eventring = require "saros.eventring"
while not io.open "stop" do
  for i = 1, 5000 do eventring.counter("number", i) end
end
END
: >warning.txt
SAROS_EVENTRING_STREAM=full,max=1M "$SAROS" flood.lua 2>warning.txt &
pid=$!
until_so grep -q "events are lost" warning.txt || fail "the stream has room"
"$EVENTRING" stats --seconds 0.5 --json full.eventring >stats.json 2>err.txt || fail "stats of a full stream: $?"
is "a full stream, followed" "" "$(head -n 3 err.txt)"
# (more is written after watching has ended)
is "its sums" true "$(jq '[.domains[].rings[] | .emitted >= .missed + .delivered + .lost] | all' stats.json)"
has_lost() { [ "$(jq '.domains[0].rings.user | .delivered > 0 and .lost > .delivered' stats.json)" = true ]; }
has_lost || fail "what is lost is not counted: $(cat stats.json)"
touch stop
wait "$pid" || fail "flood.lua: $?"
finish
