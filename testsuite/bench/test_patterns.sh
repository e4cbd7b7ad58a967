# SPDX-License-Identifier: MIT
# The small patterns of `make bench-patterns` run under the interpreter and the reference, and the
# shapes of `make bench-memory`; none that is in the frozen lists is gone, and none is beside them.
# (People judge speed and size.)
. "$TESTSUITE/tools/_tools.sh"

bench=$TESTSUITE/bench
is "the list of patterns" "" "$("$SAROS" "$bench/patterns.lua" | diff "$bench/patterns.txt" -)"
is "the list of shapes" "" "$("$SAROS" "$bench/memory.lua" | diff "$bench/memory.txt" -)"
"$SAROS" "$bench/patterns.lua" --at-once >/dev/null || fail "a pattern: status $?"
command -v "$LUA_REFERENCE" >/dev/null && { "$LUA_REFERENCE" "$bench/patterns.lua" --at-once >/dev/null || fail "under the reference: status $?"; }
has "a shape" "count=1000" "$("$SAROS" "$bench/memory.lua" files)"
for script in patterns memory services; do
  ends 2 "no program" "$BASH" "$bench/$script.sh" --saros=/nowhere
  ends 2 "$script.sh --saros=PROGRAM" "$BASH" "$bench/$script.sh" --frobnicate
done
finish
