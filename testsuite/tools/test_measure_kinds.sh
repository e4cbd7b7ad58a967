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
  assert(m.kinds_rate == 1 and (m.lost > 0 or sum == m.words), sum .. " of " .. m.words)
  assert(eventring.measure(function() end).kinds["array part"] == nil)
elseif arg[1] == "estimated" then
  assert(m.kinds_rate == 0.25 and kinds["array part"] > 0)
else
  assert(kinds == nil and m.kinds_rate == nil)
  -- not in steps of what the heap takes at a time, which is 4096 words
  local function tables(n) for _ = 1, n do local _ = {} end end
  local one, three = eventring.measure(tables, 1000).words, eventring.measure(tables, 3000).words
  assert(three >= 3 * one - 500 and three <= 3 * one + 500, three .. " beside " .. one)
end
LUA
SAROS_MEMPROF=1 SAROS_EVENTRING_START=1 "$SAROS" work.lua sampled || fail "sampled"
SAROS_MEMPROF=0.25 SAROS_EVENTRING_START=1 "$SAROS" work.lua estimated || fail "estimated"
SAROS_EVENTRING_START=1 "$SAROS" work.lua || fail "not sampled"
finish
