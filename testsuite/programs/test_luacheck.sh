# SPDX-License-Identifier: MIT
# Debian's lua-check, a static analyser, at work on itself and on Penlight.
. "$TESTSUITE/programs/_compare.sh"
need /usr/bin/luacheck lua-check
need "$modules/5.1/luacheck/init.lua" lua-check
compare "luacheck: itself" /dev/null /usr/bin/luacheck --no-cache "$modules/5.1/luacheck"
has "luacheck: itself" " files" "$(cat saros.out)"
others=$(ls -d "$modules"/5.1/{pl,luarocks,ldoc} 2>/dev/null)
# shellcheck disable=SC2086
[ -z "$others" ] || compare "luacheck: Penlight, LuaRocks, LDoc" /dev/null /usr/bin/luacheck --no-cache $others
compare "luacheck: formats" /dev/null /usr/bin/luacheck --no-cache --std min --formatter TAP "$modules/5.1/luacheck/lexer.lua"
compare "luacheck: no file" /dev/null /usr/bin/luacheck --no-cache absent.lua
finish
