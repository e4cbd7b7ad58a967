# SPDX-License-Identifier: MIT
# A figure has one value, whichever command shows it: the own time of spans (what is suspended is not
# theirs), and the heap of a process of which a domain has ended.
. "$TESTSUITE/tools/_tools.sh"

# a program that knows how long it worked in its spans, between what it was suspended for
cat >work.lua <<'LUA'
local eventring, now = require "saros.eventring", require "saros.domain".now
-- works for some ms of the clock; returns how many ns that were
local function work(ms)
  local from = now()
  while now() - from < ms / 1e3 do end
  return (now() - from) * 1e9
end
local worked = 0
local worker = coroutine.wrap(function()
  eventring.span("work", function()
    for i = 1, 5 do
      worked = worked + work(2)
      eventring.span("within", function() coroutine.yield() work(1) end)
      coroutine.yield()
    end
  end)
end)
for i = 1, 11 do worker() eventring.span("main", work, 5) end
print(math.floor(worked))
LUA
worked=$(SAROS_EVENTRING_STREAM=w.eventring "$SAROS" work.lua) || fail "work.lua"
own() { "$EVENTRING" "$1" --json "${@:2}" | jq -c '[(.total.names // .total.spans)[] |
  select(.name == "work" or .name == "within" or .name == "main") |
  [.name, .count, .total_ns, .suspended_ns, .own_ns]] | sort'; }
is "stats and spans" "$(own spans w.eventring)" "$(own stats w.eventring)"
own stats w.eventring >own.json
is "own: what it worked, and not what it was suspended for" true "$(jq --argjson worked "$worked" \
  '[.[] | select(.[0] == "work")][0] | .[4] >= $worked and .[4] <= .[2] - .[3]' own.json)"
is "a row of spans" true "$("$EVENTRING" spans --json --name work w.eventring |
  jq '.rows[0].own_ns == .total.names[0].own_ns')"
# of a part, too
for part in "--since 20ms" "--until 60ms" "--since 10ms --until 70ms"; do
  is "stats and spans $part" "$(own spans $part w.eventring)" "$(own stats $part w.eventring)"
done

# the heap: a domain that has ended has none
cat >heap.lua <<'LUA'
local domain = require "saros.domain"
local function fill() local t = {} for i = 1, 300000 do t[i] = {i} end collectgarbage() collectgarbage() return #t end
domain.spawn(fill):join()
fill()
LUA
SAROS_EVENTRING_STREAM=h.eventring "$SAROS" heap.lua || fail "heap.lua"
most=$("$EVENTRING" stats --json h.eventring | jq '[.counters[] | select(.name == "heap_words") | .max * 8] | max')
limit=$((most * 13 / 10))
ends 0 "" "$EVENTRING" check -e "heap < $limit; max(heap) >= $most" h.eventring
SAROS_EVENTRING_TRIGGER="heap > $limit" SAROS_EVENTRING_NAME=watched "$SAROS" heap.lua
is "a trigger" "" "$(ls | grep trigger)"
"$EVENTRING" record -q --on "heap > $limit" -o on.eventring -- "$SAROS" heap.lua 2>on.txt
has "record --on" "has not come about" "$(cat on.txt)"
SAROS_EVENTRING_TRIGGER="heap > $((most / 2))" SAROS_EVENTRING_NAME=watched "$SAROS" heap.lua
has "a trigger below that" "trigger1" "$(ls)"
finish
