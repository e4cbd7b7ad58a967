# SPDX-License-Identifier: MIT
# Each function has one name, that of its definition, whatever shows it: samples of the heap,
# the profile of calls, samples from outside, spans of class `calls`, stacks and the autopsy.
. "$TESTSUITE/tools/_tools.sh"

cat >names.lua <<'LUA'
local M = { a = { b = {} } }
KEPT = {}
package.loaded["a.b"] = { run = os.execute } -- is still called os.execute, with one dot
local function leak(i)
  KEPT[i % 4000 + 1] = { i }
  if MAY_WAIT and i % 2000 == 0 then os.execute "sleep 0.2" end
end
function M.a.b:c(i) leak(i) return true end
M.f = function(i) M.a.b:c(i) return true end
local T = { field = function(i) M.f(i) return true end }
local first, assigned = 1, function(i) T.field(i) return true end
local later
later = function(i) assigned(i) return true end
local list = {}
list[1] = function(i) later(i) return true end
list[2] = {}
list[2].deep = function(i) list[1](i) return true end
function global(i) list[2].deep(i) return true end
local function call(f, ...) f(...) return true end
local resume = coroutine.wrap(function(i)
  local function body() while true do pcall(call, global, i) i = coroutine.yield() end end
  body()
end)
local i = 0
while true do
  i = i + 1
  resume(i)
  if i == 20000 then MAY_WAIT = true io.open("ready", "w"):close() end
end
LUA
expected='["M.a.b:c","M.f","anonymous","assigned","body","call","deep","field","global","later","leak","main chunk"]'

SAROS_MEMPROF=0.05 SAROS_PROFILE=calls,period=100ms SAROS_EVENTRING_CLASSES=+calls \
  SAROS_EVENTRING_PREFIX=. SAROS_EVENTRING_STACKS=50ms "$SAROS" names.lua >out.txt 2>err.txt &
pid=$!
until_so test -e ready || fail "the program does not come so far: $(cat err.txt)"
waits() { "$EVENTRING" stack --json $pid >live.json && grep -q '"os.execute"' live.json; }
until_so waits || fail "the program never waits: $(cat live.json)"
is "stack PID" "os.execute leak M.a.b:c M.f field assigned later anonymous deep global call pcall \
body anonymous wrapped_coroutine main chunk run_program" "$(jq -r '[.rows[0].frames[].name] | join(" ")' live.json)"
"$EVENTRING" profile --hz 500 -s 2 --json -t 0 $pid >hz.json || fail "profile --hz: $?"
kill -9 $pid
wait $pid 2>/dev/null
file=$(echo ./*.eventring)
"$EVENTRING" heap --json --by stack -t 0 "$file" >heap.json || fail "heap: $?"
"$EVENTRING" profile --json -t 0 "$file" >profile.json || fail "profile: $?"
"$EVENTRING" stats --json "$file" >stats.json || fail "stats: $?"
"$EVENTRING" stack --json "$file" >stack.json || fail "stack: $?"
"$EVENTRING" autopsy --json "$file" >autopsy.json || fail "autopsy: $?"

# named WHAT FILE ROWS: the names of the functions of the program, among the rows with
# name and source, are those of their definitions
named() { is "$1" "$expected" \
  "$(query "$2" "[$3 | select(.source == \"names.lua\") | .name] | unique")"; }
named "heap" heap.json '.rows[].stack[]'
named "profile" profile.json '.rows[]'
named "profile --hz" hz.json '.rows[]'
is "class calls" "$expected" "$(query stats.json '[.spans[].name | select(endswith(")") or
  . == "main chunk") | sub(" \\(names.lua:[0-9]+\\)$"; "")] | unique')"
for of in "stack FILE:stack.json:.rows[].frames[]" "autopsy:autopsy.json:.stacks[].frames[]" \
  "autopsy, sites:autopsy.json:.sites[] | .name = .function"; do
  IFS=: read -r what from filter <<<"$of"
  is "$what has names of definitions" '[true,[]]' "$(query "$from" "[$filter |
    select(.source == \"names.lua\") | .name] | unique | [length > 0, . - $expected]")"
done
for name in run_program wrapped_coroutine; do
  is "$name in the heap, calls and samples" '[true,true,true]' "$(jq -cs --arg name $name '
    [any(.[0].rows[].stack[]; .name == $name), any(.[1].rows[]; .name == $name),
     any(.[2].rows[]; .name == $name)]' heap.json profile.json hz.json)"
done
is "wrapped_coroutine as a span" true \
  "$(query stats.json 'any(.spans[]; .name == "wrapped_coroutine")')"
finish
