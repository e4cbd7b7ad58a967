# SPDX-License-Identifier: MIT
# `eventring merge` keeps stacks, heap profiles and profiles of calls: what commands say of the
# merged recording is the sum of what they say of the recordings, and domains stay apart.
. "$TESTSUITE/tools/_tools.sh"

cat >work.lua <<'LUA'
local keep = {}
local function leaf(n) local t = {} for i = 1, n do t[i] = { i, tostring(i) } end return t end
local function caller(n) return leaf(n) end
local er = require "saros.eventring"
for i = 1, tonumber(arg[1]) do er.span("request", function() keep[i] = caller(100) end) end
if arg[2] then
  local domain = require "saros.domain"
  domain.spawn(function(n)
    local keep = {}
    local function inner(k) return { k, { k } } end
    for i = 1, n do keep[i] = inner(i) end
    collectgarbage()
  end, tonumber(arg[2])):join()
end
LUA
mkdir kept
for run in "one 20" "two 40 2000"; do
  set -- $run
  SAROS_MEMPROF=0.05 SAROS_PROFILE=calls SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_PREFIX=kept \
    SAROS_EVENTRING_NAME="$1" "$SAROS" work.lua ${2:-} ${3:-} >/dev/null || fail "$run: $?"
  mv kept/*.eventring "$1.eventring" || fail "$1: no recording"
done
"$EVENTRING" merge -q -o all.eventring one.eventring two.eventring || fail "merge: $?"
"$EVENTRING" show all.eventring >show.txt 2>errors.txt || fail "show"
is "complaints" "" "$(cat errors.txt)"

# sums of samples are exact; bytes and objects are floating
heap() { "$EVENTRING" heap --json "$@" || fail "heap $*: $?"; }
for f in one two all; do
  heap "$f.eventring" >"$f.heap"
  heap --by line "$f.eventring" >"$f.lines"
  heap --by kind "$f.eventring" >"$f.kinds"
  heap --by span "$f.eventring" >"$f.spans"
  heap --by domain "$f.eventring" >"$f.domains"
done
for member in samples live_samples counted_words collections profiles; do
  is_same "sum of $member" "$(cat one.heap two.heap | jq -s "map(.total.$member) | add")" \
    "$(query all.heap .total.$member)"
done
is "whole" 0 "$(query all.heap .total.torn_profiles)"
# by NAME...: the sum of both
sums() { jq -s -c '[.[].rows[]] | group_by(.name, .source, .line, .through) |
  map({n: .[0].name, s: .[0].source, l: .[0].line, a: (map(.allocated_samples) | add),
       v: (map(.live_samples) | add)})' "$@"; }
for by in lines kinds spans; do
  is_same "by $by" "$(sums one.$by two.$by)" "$(sums all.$by)"
  [ "$by" = spans ] || [ "$(sums all.$by | jq length)" -gt 1 ] || fail "by $by: there is one row"
done
# (rows where the closure `leaf`, which the main chunk makes in this line, was sampled, and of
# `tostring`, which it calls)
of_line_2='[.rows[] | select(.line == 2 and .source == "work.lua")] | unique_by([.name, .through]) | length'
is_same "a line of both" "$(jq -s "{rows: map(.rows) | add} | $of_line_2" one.lines two.lines)" \
  "$(query all.lines '[.rows[] | select(.line == 2 and .source == "work.lua")] | length')"
is "domains" 3 "$(query all.domains '.rows | length')"
is_same "each domain" "$(cat one.domains two.domains | jq -s -c '[.[].rows[].samples] | sort')" \
  "$(query all.domains '[.rows[].samples] | sort')"
is_same "stacks" "$(jq -s '[.[].rows[].stack] | unique | length' one.heap two.heap)" \
  "$(query all.heap '[.rows[].stack] | unique | length')"

# samples as events refer to stacks, too
"$EVENTRING" heap --json --since 0 --by line all.eventring >events.lines || fail "by events: $?"
is "from events" true "$(query events.lines .total.from_events)"
is "lines of events" true "$(query events.lines "$of_line_2 >= 1")"

# what grew from the one to both is what the other has
"$EVENTRING" diff --heap --json one.eventring all.eventring >diff.json || fail "diff --heap: $?"
[ -s diff.json ] || fail "diff --heap says nothing"

# profiles of calls: counts and times of each function
profile() { "$EVENTRING" profile --json --top 10000 "$1" | jq -s -c '[.[].rows[]] | group_by(.name, .source, .line, .through) |
  map([.[0].name, .[0].source, .[0].line, (map(.count) | add), (map(.exclusive_ns) | add)])' ||
  fail "profile $1: $?"; }
both() { for f in "$@"; do "$EVENTRING" profile --json --top 10000 "$f"; done | jq -s -c '[.[].rows[]] |
  group_by(.name, .source, .line, .through) |
  map([.[0].name, .[0].source, .[0].line, (map(.count) | add), (map(.exclusive_ns) | add)])'; }
is_same "calls" "$(both one.eventring two.eventring)" "$(profile all.eventring)"
[ "$(profile all.eventring | jq length)" -gt 3 ] || fail "no profile of calls"
quantiles() { "$EVENTRING" profile --json --top 10000 "$1" | jq -c '[.rows[] | select(.name == "leaf") | .min_ns, .max_ns, .p50_ns, .p99_ns]'; }
"$EVENTRING" merge -q -o single.eventring one.eventring || fail "merge of one"
is_same "buckets" "$(quantiles one.eventring)" "$(quantiles single.eventring)"

# what memory is used for, of one process
memory() { "$EVENTRING" memory --json "$1" | jq -c '[.rows[] | [.name, .reserved_bytes]]'; }
is_same "memory" "$(memory one.eventring)" "$(memory single.eventring)"
has "memory" "live heap" "$(memory single.eventring)"

# the last stacks of two processes that ended with an error
echo 'local function inner() error("no") end
local function outer() inner() end
outer()' >error.lua
for name in first second; do
  SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_PREFIX=kept \
    SAROS_EVENTRING_NAME=$name "$SAROS" error.lua 2>/dev/null && fail "$name: no error"
done
"$EVENTRING" merge -q -o errors.eventring kept/first.eventring kept/second.eventring ||
  fail "merge of errors"
stacks() { for f; do "$EVENTRING" stack --json "$f"; done | jq -s -c '[.[].rows[].frames] | sort'; }
is_same "last stacks" "$(stacks kept/first.eventring kept/second.eventring)" \
  "$(stacks errors.eventring)"
has "last stacks" inner "$(stacks errors.eventring)"

# merged with a copy of itself, and once more: domains stay apart
"$EVENTRING" snapshot -o copy.eventring one.eventring >/dev/null || fail "snapshot"
"$EVENTRING" merge -q -o twice.eventring one.eventring copy.eventring || fail "merge with a copy"
heap --by domain twice.eventring >twice.domains
is_same "of each" "$(query one.heap "[.total.samples, .total.samples]")" "$(query twice.domains '[.rows[].samples]')"
"$EVENTRING" merge -q -o again.eventring all.eventring copy.eventring || fail "merge of a merged one"
heap again.eventring >again.heap
is_same "merged again" "$(cat all.heap one.heap | jq -s 'map(.total.samples) | add')" "$(query again.heap .total.samples)"

# stripped: the numbers stay, names of functions do with --keep-names, files never
"$EVENTRING" strip -q --keep-names -o kept.eventring all.eventring || fail "strip --keep-names"
heap --by function kept.eventring >kept.json
is_same "numbers" "$(query all.heap .total.samples)" "$(query kept.json .total.samples)"
# (the program and the domains have names of their own, which stay)
"$EVENTRING" profile --json --top 0 kept.eventring >kept.calls || fail "profile of a stripped one"
is "files" "[]" "$(jq -sc '[.[].rows[].source | select(. == "work.lua")]' kept.json kept.calls)"
is "files of those that are not stripped" true "$(query all.heap '[.rows[].source] | index("work.lua") != null')"
is "names" 1 "$(profile kept.eventring | jq '[.[] | select(.[0] == "leaf")] | length')"

# spans of calls are called after functions and files
SAROS_EVENTRING_START=1 SAROS_EVENTRING_CLASSES=+calls SAROS_EVENTRING_PRESERVE=1 \
  SAROS_EVENTRING_PREFIX=kept SAROS_EVENTRING_NAME=calls "$SAROS" work.lua 2 >/dev/null || fail "calls"
"$EVENTRING" strip -q --keep-names -o spans.eventring kept/calls.eventring || fail "strip of spans"
is "files of spans" "" "$(grep -ao 'work\.lua' spans.eventring | head -1)"
"$EVENTRING" dump --json --class calls spans.eventring >spans.json
is "names of spans" true "$(jq -s 'any(.[]; .name | startswith("leaf ("))' spans.json)"
finish
