# SPDX-License-Identifier: MIT
# Random programs that count their own calls agree with the profile (_random_calls.lua);
# `make check-profile` runs more. PROFILE_SEED=n repeats one.
. "$TESTSUITE/tools/_tools.sh"
programs=$((TEST_SLOWNESS > 1 ? 10 : 40))
seed=${PROFILE_SEED:-$((RANDOM * 1000))}
timeout $((60 * TEST_SLOWNESS)) "$SAROS" "$TESTSUITE/profile/_random_calls.lua" $programs "$seed" >out 2>&1 ||
  fail "status $?, seeds from $seed: $(tail -3 out)"
finish
