# SPDX-License-Identifier: MIT
# reader.py, written from doc/FORMAT.md, and `eventring stack FILE` agree on last stacks, also
# on what damage leaves of them. STACK_MUTATIONS: how many damaged files (10); FORMAT_SEED: which.
command -v python3 >/dev/null || { echo "python3 is missing (Debian package: python3)"; exit 77; }
. "$TESTSUITE/_checks.sh"
export EVENTRING PYTHONIOENCODING=utf-8 PYTHONDONTWRITEBYTECODE=1
seed=${FORMAT_SEED:-$RANDOM}
echo "seed $seed"
cat >work.lua <<'END'
local function inner(n) if n > 0 then return 1 + inner(n - 1) end error("no way") end
xpcall(inner, function(m) return m end, 3)
inner(20)
END
SAROS_EVENTRING_START=1 SAROS_EVENTRING_NAME=stacks SAROS_EVENTRING_STACKS=10ms \
  "$SAROS" work.lua 2>/dev/null
is "status" 1 $?
python3 "$TESTSUITE/format/stacks.py" stacks.eventring "${STACK_MUTATIONS:-10}" "$seed" ||
  fail "FORMAT_SEED=$seed"
finish
