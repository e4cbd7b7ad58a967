# SPDX-License-Identifier: MIT
# A chunk that is loaded again and again has the same sites, whatever else is in it, and the
# profile has room for what is alive however many chunks came and went.
. "$TESTSUITE/tools/_tools.sh"

cat >load.lua <<'LUA'
KEPT = {}
local function run(i, name)
  local padding = ("local x = 1; "):rep(i % 3) -- other instructions, the same lines
  assert(load(padding .. "\nlocal function make(i) return { i } end\n" ..
              "KEPT[#KEPT + 1] = make(...)\nlocal gone = {}", name))(i)
end
for i = 1, 3000 do run(i, "=handler") end
for i = 1, 60000 do run(i, "=handler " .. i) if i % 1000 ~= 0 then KEPT[#KEPT] = nil end end
collectgarbage() collectgarbage()
LUA
SAROS_MEMPROF=1 SAROS_EVENTRING_STREAM=load.eventring "$SAROS" load.lua || fail "load.lua: $?"
"$EVENTRING" heap --json --by line load.eventring >line.json || fail "heap"
is "one site for all loads of a line" '[[2,3000]]' "$(query line.json '[.rows[] |
  select(.source == "handler" and .live_objects > 10) | [.line, .live_objects]]')"
is "nothing is alive that found no room" 0 "$(query line.json \
  '[.rows[] | select(.name == "(found no room)") | .live_objects] | add // 0')"
is "each of the others that is alive" 60 "$(query line.json \
  '[.rows[] | select((.source | startswith("handler ")) and .line == 2) | .live_objects] | add')"
finish
