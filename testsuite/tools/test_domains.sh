# SPDX-License-Identifier: MIT
# Domains in a recording: memory by domain, waiting as spans, slots used again and the
# events of those that have ended.
. "$TESTSUITE/tools/_tools.sh"
cat >domains.lua <<'END'
local domain = require "saros.domain"
local eventring = require "saros.eventring"
local c = domain.channel(1)
-- one after the other: the same slot
for i = 1, 3 do
  domain.spawn({name = "turn " .. i}, function(i)
    require("saros.eventring").counter("turn", i)
    local t = {}
    for k = 1, 20000 do t[k] = {k} end
    collectgarbage()
  end, i):join()
end
-- side by side: waiting
local h = domain.spawn({name = "sender"}, function() for i = 1, 20 do c:send(i) end end)
domain.sleep(0.02)
for i = 1, 20 do assert(c:receive() == i) end
h:join()
assert(not pcall(domain.select, {c}, 1))
END
SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 "$SAROS" domains.lua || fail "the program"
file=$(echo ./*.eventring)
"$EVENTRING" dump --json "$file" >dump.json || fail dump
"$EVENTRING" stats --json "$file" >stats.json || fail stats
"$EVENTRING" stats "$file" >stats.txt || fail stats

# the turns: one slot, an incarnation each, all of their events there
is "slots of the turns" 1 "$(jq -r 'select(.name == "turn") | .domain' dump.json | sort -u | wc -l)"
is "turns" "1 2 3" "$(jq -r 'select(.name == "turn") | .value' dump.json | xargs)"
is "incarnations" "1 2 3 4" \
  "$(jq -r 'select(.name == "domain_start" and .domain == 1) | .value' dump.json | xargs)"
is "spawned" "1 2 3 4" "$(jq -r 'select(.name == "domain_spawn") | .value' dump.json | xargs)"
is "ended" "1 2 3 4" "$(jq -r 'select(.name == "domain_terminate") | .value' dump.json | xargs)"

# each under its own name, also those whose slot another one has now
is "names in dump" "turn 1,turn 2,turn 3" \
  "$(jq -r 'select(.name == "turn") | .domain_name' dump.json | xargs -d '\n' | sed 's/ turn/,turn/g')"
is "names in stats" '["turn 1","turn 2","turn 3","sender"]' \
  "$(jq -c '.domains[1].lives | map(.name)' stats.json)"
is "their shares" true \
  "$(jq '.domains[1] | (.lives | map(.gc_ns) | add) == .gc_ns and (.lives | map(.allocated_words) | add) == .allocated_words' stats.json)"
is "names in show" '["turn 1","turn 2","turn 3","sender"]' \
  "$("$EVENTRING" show --json "$file" | jq -c '.domains[1].lives | map(.name)')"
for name in "turn 1" "turn 3" sender; do
  has "$name in stats" "  1  $name " "$(cat stats.txt)"
  has "$name in show" "  1  $name " "$("$EVENTRING" show "$file")"
done

# memory of each domain, from the counters of the catalogue
for counter in memory_heap memory_code memory_rings; do
  grep -q " $counter  *bytes" stats.txt || fail "no $counter in the statistics"
  for slot in 0 1; do
    least=$(jq -s "[.[] | select(.name == \"$counter\" and .domain == $slot) | .value] | min" dump.json)
    [ "$least" -gt 0 ] || fail "$counter of domain $slot is $least"
  done
done
is "the heap grew" true \
  "$(jq -s '[.[] | select(.name == "memory_heap" and .domain == 1) | .value] | max > 2 * min' dump.json)"

# what waits is a span
has "spans of waiting" "channel_send" "$(cat stats.txt)"
has "spans of waiting" "domain_join" "$(cat stats.txt)"
is "joins" 4 \
  "$(jq -s '[.[] | select(.name == "domain_join" and .kind == "begin")] | length' dump.json)"
finish
