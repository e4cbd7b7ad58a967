# SPDX-License-Identifier: MIT
# Debian's lua-check, a static analyser, at work on itself and on Penlight.
. "$TESTSUITE/programs/_compare.sh"
need /usr/bin/luacheck lua-check
need "$modules/5.1/luacheck/init.lua" lua-check
compare "luacheck: itself" /dev/null /usr/bin/luacheck --no-cache "$modules/5.1/luacheck"
compare "luacheck: formats" /dev/null /usr/bin/luacheck --no-cache --std min --formatter TAP "$modules/5.1/luacheck/lexer.lua"
compare "luacheck: no file" /dev/null /usr/bin/luacheck --no-cache absent.lua
finish
