# The small patterns of `make bench-patterns` run under the interpreter and the reference. (How fast
# they are is for people to look at.)
. "$TESTSUITE/tools/_tools.sh"

patterns=$TESTSUITE/bench/patterns.lua
[ "$("$SAROS" "$patterns" | wc -l)" -gt 100 ] || fail "the list of patterns"
"$SAROS" "$patterns" --at-once >/dev/null || fail "a pattern: status $?"
command -v "$LUA_REFERENCE" >/dev/null && { "$LUA_REFERENCE" "$patterns" --at-once >/dev/null || fail "under the reference: status $?"; }
ends 2 "no program" "$BASH" "$TESTSUITE/bench/patterns.sh" --saros=/nowhere
finish
