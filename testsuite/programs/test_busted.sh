# SPDX-License-Identifier: MIT
# Debian's lua-busted (with luassert, say, mediator, cliargs, lua-term, lua-system) runs a suite.
. "$TESTSUITE/programs/_compare.sh"
need /usr/bin/busted lua-busted
need "$modules/5.4/luassert/init.lua" lua-luassert
unset LUA_CPATH
for output in TAP plainTerminal json; do
  compare "busted -o $output" /dev/null /usr/bin/busted -o "$output" "$TESTSUITE/programs/busted_spec.lua"
done
compare "busted --list" /dev/null /usr/bin/busted --list "$TESTSUITE/programs/busted_spec.lua"
finish
