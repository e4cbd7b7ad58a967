# SPDX-License-Identifier: MIT
# Profiles of calls, and what memory was used for: reader.py, written from doc/FORMAT.md, says
# the same as the commands, also of damaged blocks. PROFILE_MUTATIONS: how many damaged files
# (10); FORMAT_SEED: which.
command -v python3 >/dev/null || { echo "python3 is missing (Debian package: python3)"; exit 77; }
. "$TESTSUITE/_checks.sh"
export EVENTRING PYTHONIOENCODING=utf-8 PYTHONDONTWRITEBYTECODE=1
seed=${FORMAT_SEED:-$RANDOM}
echo "seed $seed"
cat >work.lua <<'LUA'
local keep, functions = {}, {}
for i = 1, 40 do functions[i] = load("return function(x) return x + " .. i .. " end", "=f" .. i)() end
local function walk(depth, i)
  if depth > 0 then return walk(depth - 1, i) + functions[1 + (depth * 7 + i) % 40](i) end
  keep[#keep + 1] = { i }
  return functions[1 + i % 40](i)
end
for i = 1, 60 do walk(i % 9, i) end
collectgarbage()
require "saros.domain".spawn(function() for i = 1, 100 do tostring(i) end collectgarbage() end):join()
io.open("ready", "w"):close()
while true do for i = 1, 1000 do tostring(i) end end
LUA
SAROS_PROFILE=calls,period=10ms SAROS_EVENTRING_WSIZE=11 SAROS_EVENTRING_PREFIX=. \
  SAROS_EVENTRING_NAME=calls "$SAROS" work.lua & pid=$!
until_so test -e ready || fail "the program does not come so far"
"$EVENTRING" memory --wait 30 "$pid" >memory.txt || fail "memory: $?"
kill -9 "$pid"
wait "$pid" 2>/dev/null
"$EVENTRING" profile --json calls.eventring | grep -q '"walk"' || fail "no profile of calls"
python3 "$TESTSUITE/format/profiles.py" calls.eventring "${PROFILE_MUTATIONS:-10}" "$seed" ||
  fail "FORMAT_SEED=$seed"
"$EVENTRING" merge -q -o merged.eventring calls.eventring || fail "merge"
python3 "$TESTSUITE/format/profiles.py" merged.eventring 2 "$seed" || fail "merged: FORMAT_SEED=$seed"
finish
