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
for i = 1, 40 do for k = 1, 40 do load("local f, g = ... return 1 + f(1) + g(2)")(functions[i], functions[k]) end end
collectgarbage()
require "saros.domain".spawn(function() for i = 1, 100 do tostring(i) end collectgarbage() end):join()
io.open("ready", "w"):close()
while true do for i = 1, 1000 do tostring(i) end end
LUA
# has_calls PID LOST: of "walk", and so many of which the path is not kept
has_calls() {
  "$EVENTRING" profile --json "$1" >profile.json && grep -q '"walk"' profile.json &&
    jq -e ".loss.calls >= $2" profile.json >/dev/null
}
# check NAME BUDGET LOST: of a program that is killed
check() {
  rm -f ready
  SAROS_PROFILE=calls,period=10ms,budget=$2 SAROS_EVENTRING_WSIZE=11 SAROS_EVENTRING_PREFIX=. \
    SAROS_EVENTRING_NAME=$1 "$SAROS" work.lua & pid=$!
  until_so test -e ready || fail "the program does not come so far"
  "$EVENTRING" memory --wait 30 "$pid" >memory.txt || fail "memory: $?"
  # a whole profile with the calls is in the file: the next one may be half written at the end
  until_so has_calls "$pid" "$3" || fail "no profile of calls while it runs"
  kill -9 "$pid"
  wait "$pid" 2>/dev/null
  "$EVENTRING" profile --json "$1.eventring" | grep -q '"walk"' || fail "no profile of calls"
  flat=$(python3 "$TESTSUITE/format/profiles.py" "$1.eventring" "${PROFILE_MUTATIONS:-10}" "$seed") ||
    fail "$1: FORMAT_SEED=$seed: $flat"
  "$EVENTRING" merge -q -o "merged-$1.eventring" "$1.eventring" || fail "merge"
  python3 "$TESTSUITE/format/profiles.py" "merged-$1.eventring" 2 "$seed" ||
    fail "merged $1: FORMAT_SEED=$seed"
}
check roomy 16M 0
is "with room for all paths" "0 flat calls" "$flat"
check small 64K 200 # too small for the paths, and for a function each
[ "${flat%% *}" -gt 100 ] || fail "a small budget: $flat"
finish
