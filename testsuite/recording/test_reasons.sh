# SPDX-License-Identifier: MIT
# Why collections run: the reason that their begin events carry, by name, as the tools
# and the guest's callbacks show it.
. "$TESTSUITE/recording/_recording.sh"

export SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1
cat >program.lua <<'L'
local cursor = require("saros.eventring").cursor()
local seen = {}
local function look()
  cursor:poll { runtime_begin = function(_, _, phase, reason)
    if reason then seen[phase .. " " .. reason] = true end
  end }
end
for _ = 1, 200 do
  local t = {}
  for i = 1, 2000 do t[i] = { i } end
end
look()
collectgarbage()
look()
collectgarbage("step")
look()
cursor:close()
local names = {}
for name in pairs(seen) do names[#names + 1] = name end
table.sort(names)
print(table.concat(names, "\n"))
L
"$SAROS" program.lua >inside.txt || fail "the program: status $?"
usual="minor nursery"
grep -q -- -DSAROS_STRESS "$BUILDDIR/Makefile" && usual="minor stress"
for what in "$usual" "major collect" "minor collect" "minor atomic" "major_slice collect" "minor step" "major_slice step"; do
  grep -qx "$what" inside.txt || fail "no '$what' in: $(tr '\n' ';' <inside.txt)"
done
"$EVENTRING" dump ./*.eventring >dump.txt
has "dump" "> major = collect" "$(grep '> major =' dump.txt)"
is "dump --json" collect "$("$EVENTRING" dump --json ./*.eventring |
  jq -r 'select(.kind == "begin" and .name == "major") | .value_name' | sort -u)"
count=$("$EVENTRING" stats --json ./*.eventring | jq '[.events[] | select(.name == "collect") | .count] | add')
[ "${count:-0}" -ge 3 ] || fail "stats count 'collect' ${count:-0} times"
finish
