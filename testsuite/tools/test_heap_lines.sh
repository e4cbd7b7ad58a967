# SPDX-License-Identifier: MIT
# A line of the program is what allocates, also through C functions, and an object is counted
# once, whatever parts it has. At rate 1 the figures are exact.
. "$TESTSUITE/tools/_tools.sh"

cat >lines.lua <<'LUA'
KEPT = {}
for i = 1, 2000 do
  KEPT[#KEPT + 1] = string.rep("x", 300 + i)
  KEPT[#KEPT + 1] = { i, key = i }
  KEPT[#KEPT + 1] = table.concat { "a", ("b"):rep(300 + i) }
end
collectgarbage()
LUA
SAROS_MEMPROF=1 SAROS_EVENTRING_STREAM=lines.eventring "$SAROS" lines.lua || fail "lines.lua: $?"
"$EVENTRING" heap --json --by line lines.eventring >line.json || fail "heap --by line"
"$EVENTRING" heap --json --by kind lines.eventring >kind.json || fail "heap --by kind"
"$EVENTRING" heap --json --since 0 --by line lines.eventring >events.json || fail "heap --since"
"$EVENTRING" heap --by line lines.eventring >line.txt || fail "heap --by line as text"
"$EVENTRING" autopsy --json lines.eventring >autopsy.json || fail "autopsy"
for file in line events; do
  is "$file: live objects by line, and the C function behind it" \
    '[[3,"string.rep",2000],[4,null,2000],[5,"table.concat",2000]]' "$(query $file.json '
    [.rows[] | select(.live_objects > 1000) | [.line, .through, .live_objects]] | sort')"
done
is "each has its line" '["main chunk","lines.lua"]' "$(query line.json '
  [.rows[] | select(.live_objects > 1000) | .name, .source] | unique | reverse')"
has "as text" "lines.lua:3 > string.rep" "$(cat line.txt)"
is "autopsy" '["string.rep","table.concat"]' \
  "$(query autopsy.json '[.sites[] | select(.live_objects > 1000) | .through // empty] | sort')"
is "parts have bytes, and are no objects" true "$(query kind.json \
  '[.rows[] | select(.name | endswith(" part")) | .live_bytes > 0 and .live_objects == 0] | all')"
is "tables" true "$(query kind.json '.rows[] | select(.name == "table") | .live_objects |
  . >= 2000 and . < 2100')"
finish
