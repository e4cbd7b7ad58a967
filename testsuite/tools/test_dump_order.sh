# SPDX-License-Identifier: MIT
# eventring dump: the begins of spans that were open where reading begins stand in the order
# of their times, among the events of all rings. (They stood behind the loss, in the order
# of the list in the block: those of the block's context first.)
. "$TESTSUITE/tools/_tools.sh"

cat >program.lua <<'LUA'
local eventring = require "saros.eventring"
local function open_spans(name)
  return coroutine.wrap(function()
    eventring.begin_span(name .. "1")
    coroutine.yield()
    eventring.begin_span(name .. "2")
    coroutine.yield()
    eventring.end_span(name .. "2")
    eventring.end_span(name .. "1")
  end)
end
local a, b = open_spans "a", open_spans "b"
eventring.begin_span "outer"
a()
b()
eventring.begin_span "inner"
collectgarbage()
b()
a()
for i = 1, 100000 do eventring.event "tick" end
a()
b()
eventring.end_span "inner"
eventring.end_span "outer"
LUA
SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_WSIZE=11 \
  "$SAROS" program.lua || fail "program: $?"
"$EVENTRING" dump --json ./*.eventring >dump.json || fail "dump: $?"
is "in the order of times" true "$(jq -s '[.[].ns] | . == sort' dump.json)"
is "begins" '["outer","a1","b1","inner","b2","a2"]' \
  "$(jq -sc '[.[] | select(.synthetic) | .name]' dump.json)"
is "their depths" '[0,0,0,1,1,1]' "$(jq -sc '[.[] | select(.synthetic) | .depth]' dump.json)"
is "then the loss" '[true,true]' \
  "$(jq -sc '[.[] | select(.ring == "user")] | [.[5].synthetic, .[6].before]' dump.json)"
is "the collection lies among them" true "$(jq -s '(map(.name == "major") | index(true)) as $major |
  (map(.name == "inner") | index(true)) < $major and $major < (map(.name == "b2") | index(true))' dump.json)"
is "no depth but of spans" '[0]' \
  "$(jq -sc '[.[] | select(.kind == "event" or .kind == "counter" or .kind == "lifecycle") | .depth] | unique' dump.json)"
is "value_name" '[true]' \
  "$(jq -sc '[.[] | select(.kind == "begin" and .name == "major") | has("value_name") and has("value")] | unique' dump.json)"
