# SPDX-License-Identifier: MIT
# measure counts allocations by kind where they are sampled, exactly at the rate 1.
. "$TESTSUITE/tools/_tools.sh"
cat >work.lua <<'LUA'
local eventring = require "saros.eventring"
local function work()
  local kept = {}
  for i = 1, 300 do kept[i] = { i, i } end
  return kept, ("x"):rep(8000)
end
local m = eventring.measure(work)
local kinds = m.kinds
if arg[1] == "sampled" then
  local sum = 0
  for _, words in pairs(kinds) do sum = sum + words end
  assert(kinds["table"] >= 300 and kinds["array part"] >= 600 and kinds["string"] >= 1000)
  assert(m.lost > 0 or (sum > m.words * 0.4 and sum < m.words * 1.6), sum .. " of " .. m.words)
  assert(eventring.measure(function() end).kinds["array part"] == nil)
else
  assert(kinds == nil)
end
LUA
SAROS_MEMPROF=1 SAROS_EVENTRING_START=1 "$SAROS" work.lua sampled || fail "sampled"
SAROS_EVENTRING_START=1 "$SAROS" work.lua || fail "not sampled"
finish
