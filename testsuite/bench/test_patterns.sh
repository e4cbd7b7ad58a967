# SPDX-License-Identifier: MIT
# The small patterns of `make bench-patterns` run under the interpreter and the reference, and the
# shapes of `make bench-memory`; none that is in the frozen lists is gone, and none is beside them.
# (People judge speed and size.)
. "$TESTSUITE/tools/_tools.sh"

bench=$TESTSUITE/bench
names() { "$SAROS" "$bench/$1.lua" >names.txt; echo "$(wc -l <names.txt) names, cksum $(cksum <names.txt)"; }
is "the list of patterns" "1019 names, cksum 305226954 22956" "$(names patterns)"
is "the list of shapes" "44 names, cksum 2819668654 652" "$(names memory)"
"$SAROS" "$bench/patterns.lua" --at-once >/dev/null || fail "a pattern: status $?"
command -v "$LUA_REFERENCE" >/dev/null && { "$LUA_REFERENCE" "$bench/patterns.lua" --at-once >/dev/null || fail "under the reference: status $?"; }
has "a shape" "count=1000" "$("$SAROS" "$bench/memory.lua" files)"
for script in patterns memory services; do
  ends 2 "no program" "$BASH" "$bench/$script.sh" --saros=/nowhere
  ends 2 "$script.sh --saros=PROGRAM" "$BASH" "$bench/$script.sh" --frobnicate
done
finish
