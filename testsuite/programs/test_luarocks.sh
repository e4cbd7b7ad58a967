# SPDX-License-Identifier: MIT
# Debian's luarocks builds and installs a rock, with its parts in Lua and in C, without a network.
. "$TESTSUITE/programs/_compare.sh"
need /usr/bin/luarocks luarocks
command -v gcc >/dev/null || skip "gcc is not installed (Debian package: gcc)"
unset LUA_CPATH
mkdir -p rock/src headers
cp "$SRCDIR"/include/{lua,luaconf,lauxlib,lualib}.h headers/
cat >rock/greeting-1.0-1.rockspec <<'END'
package = "greeting"
version = "1.0-1"
source = { url = "file://." }
description = { summary = "says hello", license = "MIT" }
dependencies = { "lua >= 5.4" }
build = { type = "builtin", modules = { greeting = "src/greeting.lua", ["greeting.word"] = "src/word.c" } }
END
echo 'return function(who) return require "greeting.word" .. ", " .. who end' >rock/src/greeting.lua
cat >rock/src/word.c <<'END'
#include <lua.h>
int luaopen_greeting_word(lua_State *L);
int luaopen_greeting_word(lua_State *L) { lua_pushstring(L, "hello"); return 1; }
END
cd rock || exit 1
export HOME=$PWD
"$SAROS" /usr/bin/luarocks --lua-version 5.4 --tree tree make greeting-1.0-1.rockspec LUA_INCDIR="$PWD/../headers" >make.txt 2>&1 || fail "luarocks make: $(tail -n 5 make.txt)"
compare "luarocks list" /dev/null /usr/bin/luarocks --lua-version 5.4 --tree tree list --porcelain
compare "luarocks show" /dev/null /usr/bin/luarocks --lua-version 5.4 --tree tree show greeting
export LUA_PATH="$PWD/tree/share/lua/5.4/?.lua" LUA_CPATH="$PWD/tree/lib/lua/5.4/?.so"
compare "the rock" /dev/null -e 'print(require "greeting" "rock")'
grep -q "hello, rock" saros.out || fail "the rock says: $(cat saros.out)"
finish
