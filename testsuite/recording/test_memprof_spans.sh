# SPDX-License-Identifier: MIT
# A sample in the recording names the innermost span that was open: `heap --by span`, and the
# examples of doc/MEMPROF.md and doc/QUESTIONS.md.
. "$TESTSUITE/recording/_recording.sh"

cat >work.lua <<'EOF'
local eventring = require "saros.eventring"
local kept = {}
for i = 1, tonumber(arg[1]) do
  eventring.begin_span "request"
  kept[3 * i] = {{}}
  eventring.span("render", function() kept[3 * i + 1] = {} end)
  coroutine.wrap(function() kept[3 * i + 2] = {{}} end)() -- within the request
  eventring.end_span "request"
  kept[-i] = {}
end
EOF
n=$((1000 / TEST_SLOWNESS))
SAROS_MEMPROF=1 SAROS_EVENTRING_PRESERVE=1 "$SAROS" work.lua $n || fail "status $?"
"$EVENTRING" heap --by span --json ./*.eventring >heap.json || fail "heap: status $?"
objects() { jq -r --arg name "$1" '[.rows[] | select(.name == $name) | .live_objects] | add // 0' heap.json; }
is "spans" "(no span) render request" "$(jq -r '[.rows[].name] | sort | join(" ")' heap.json)"
for expected in "request 4" "render 1" "(no span) 1"; do
  name=${expected% *} each=${expected##* }
  [ "$(objects "$name")" -ge $((n * each)) ] ||
    fail "$(objects "$name") objects in '$name', fewer than $((n * each))"
done
rm -f ./*.eventring

# the leak is in the first line
SAROS_MEMPROF=1e-2 SAROS_EVENTRING_PRESERVE=1 "$SAROS" "$SRCDIR/examples/leak.lua" \
  $((20000 / TEST_SLOWNESS)) || fail "leak.lua: status $?"
"$EVENTRING" heap --by line --top 3 --json ./*.eventring >heap.json || fail "heap: status $?"
jq -e '.rows[] | select(.name == "cache.remember" and .line == 15)' heap.json >/dev/null ||
  fail "heap does not name the leak: $(jq -c '.rows' heap.json)"

# one request exceeds its memory, the others do not
"$SAROS" "$SRCDIR/examples/memory-limit.lua" --limit 8 >out 2>&1 || fail "memory-limit.lua: status $?"
is "answers" "200 507 200" \
  "$(sed -n 's/^list of [0-9,]* *\([0-9]*\) .*/\1/p' out | paste -s -d' ')"
has "sum" "200 2000000 items" "$(grep '^sum' out)"
finish
