# SPDX-License-Identifier: MIT
# What `export --to perfetto` writes, read by Perfetto's trace processor: spans with their
# places, times, nesting, what is torn and open; points and values; counters; async spans,
# flows; losses.
. "$TESTSUITE/tools/_processor.sh"
record_all
for name in whole few damaged; do
  export_to perfetto $name $name.pftrace
done
processed debug. whole.pftrace few.pftrace damaged.pftrace
for name in whole few damaged; do
  python3 "$TESTSUITE/tools/_facts.py" dump $name.dump >$name.expected || fail "facts of the dump"
  python3 "$TESTSUITE/tools/_facts.py" rows $name.dump $name.pftrace.rows >$name.actual || fail "facts"
  same_facts "$name" $name.expected $name.actual
done
has_kinds_of_facts
has "flows" "flow" "$(cat whole.expected)"

# Domains that use a slot one after the other, each with several rings: each is one thread.
cat >turns.lua <<'LUA'
local domain = require "saros.domain"
for i = 1, 3 do
  domain.spawn({ name = "turn " .. i }, function()
    require "saros.eventring".span("work", string.rep, "x", 100)
  end):join()
end
LUA
SAROS_EVENTRING_STREAM=./turns.eventring SAROS_EVENTRING_CLASSES=+calls,io "$SAROS" turns.lua ||
  fail "turns.lua"
"$EVENTRING" export --to perfetto -o turns.pftrace turns.eventring || fail "export of turns"
node "$TESTSUITE/tools/_perfetto.mjs" "$MODULES" turns.pftrace -- \
  "select name, count(*) threads from thread where tid > 0 group by name order by name" ||
  fail "trace processor"
is "threads of domains in turn" \
  '{"name":"0 main","threads":1}{"name":"1 turn 1","threads":1}{"name":"1 turn 2","threads":1}{"name":"1 turn 3","threads":1}' \
  "$(tr -d '\n' <turns.pftrace.rows)"
finish
