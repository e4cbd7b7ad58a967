# SPDX-License-Identifier: MIT
# Debian's lua-inspect on values of every shape.
. "$TESTSUITE/programs/_compare.sh"
need "$modules/5.3/inspect.lua" lua-inspect
compare inspect /dev/null "$TESTSUITE/programs/inspect_values.lua"
finish
