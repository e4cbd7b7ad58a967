# SPDX-License-Identifier: MIT
# Calls on paths that find no room in the budget are counted, and the output names what gives
# them more.
. "$TESTSUITE/_checks.sh"
cat >paths.lua <<'LUA'
local f = {} -- each calls all behind it: 4,096 paths
for i = 1, 12 do
  f[i] = load("local f, i = ... return function() for k = i + 1, 12 do f[k]() end end",
              "=f" .. i)(f, i)
end
f[1]()
LUA
for budget in 65536 16M; do
  SAROS_PROFILE=calls,budget=$budget SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_PREFIX=. \
    SAROS_EVENTRING_NAME=b$budget "$SAROS" paths.lua || fail "paths.lua: $?"
  "$EVENTRING" profile b$budget.eventring >$budget.txt || fail "profile: $?"
done
has "a small budget" "budget=SIZE" "$(cat 65536.txt)"
is "a large one" "" "$(grep "not recorded" 16M.txt)"
finish
