# SPDX-License-Identifier: MIT
# Debian's LuaRocks builds the rock saros-eventring, and a rock with a part in C and a script,
# from local files for Saros and other Luas. Nothing is fetched. doc/LUAROCKS.md has the ways in
# which LuaRocks is told of Saros; they are tried here.
. "$TESTSUITE/_checks.sh"
set -u
skip() { echo "skipped: $*"; exit 77; }
command -v luarocks >/dev/null || skip "luarocks is not installed (Debian package: luarocks)"

export HOME=$PWD/home
mkdir -p home headers saros/bin jit/bin
unset LUA_PATH LUA_CPATH LUAROCKS_CONFIG
cp -r "$SRCDIR/rock/saros-eventring" rock
cp "$SRCDIR"/include/{lua,luaconf,lauxlib,lualib}.h headers/
ln -s "$SAROS" saros/bin/lua
command -v luajit >/dev/null && ln -s "$(command -v luajit)" jit/bin/luajit

# rocks ARGUMENT...: no server is asked
rocks() { luarocks --only-server="file://$PWD/no-server" "$@"; }

# make_rock NAME FOLDER ARGUMENT...: into the tree NAME
make_rock() {
  (cd "$2" && rocks --tree "$HOME/../$1" "${@:3}") >make.txt 2>&1 || fail "$1: luarocks: $(tail -n 5 make.txt)"
}

# ---- the pure rock ----------------------------------------------------------------------------
package=$(sed -n 's/^package = "\(.*\)"/\1/p' rock/*.rockspec) version=$(sed -n 's/^version = "\(.*\)"/\1/p' rock/*.rockspec)
is "the version of the rock" "$(sed -n 's/^AC_INIT(\[saros\], \[\(.*\)\])/\1/p' "$SRCDIR/configure.ac")" "${version%-*}"
[ -e "rock/$package-$version.rockspec" ] || fail "the rockspec is not named after $package $version"
is "modules of the rockspec" "$(cd rock && find saros -name '*.lua' | sort)" \
  "$(sed -n 's/.*\] = "\(saros.*\)",/\1/p' rock/*.rockspec | sort)"
(cd rock && luarocks lint ./*.rockspec) >lint.txt 2>&1 || fail "luarocks lint: $(cat lint.txt)"

try='local e = require "saros.eventring"; print(e.span("x", function(...) return e.stub and "stub" or "module", ... end, 5))'
# has_rock NAME VERSION INTERPRETER EXPECTED
has_rock() {
  is "$1: the rock is there" "$package $version" \
    "$(rocks --lua-version "$2" --tree "$1" list --porcelain 2>/dev/null | awk '{ print $1, $2 }')"
  is "$1: what is required" "$4	5" "$(LUA_PATH="$PWD/$1/share/lua/$2/?.lua" "$3" -e "$try")"
}

# LuaRocks 3.8 asks for lua.h of the version, of which it reads the number, for a pure rock as well.
# headers_of VERSION: those of Debian are found; else a variable for what LuaRocks wants to see
headers_of() {
  [ ! -e "/usr/include/lua$1/lua.h" ] || return 0
  mkdir -p "headers$1" && echo "#define LUA_VERSION_NUM ${1/./0}" >"headers$1/lua.h"
  echo "LUA_INCDIR=$PWD/headers$1"
}
for v in 5.1 5.2 5.3 5.4; do
  command -v lua$v >/dev/null || continue
  # shellcheck disable=SC2046
  make_rock tree$v rock --lua-version $v make $(headers_of $v)
  has_rock tree$v $v lua$v stub
done
if [ -e jit/bin/luajit ]; then
  mkdir headers.jit && echo "#define LUA_VERSION_NUM 501" >headers.jit/lua.h
  make_rock treejit rock --lua-dir="$PWD/jit" make LUA_INCDIR="$PWD/headers.jit"
  has_rock treejit 5.1 luajit stub
fi

# ---- Saros, in three ways -----------------------------------------------------------------------
# 1. a folder with bin/lua that is Saros
make_rock dir rock --lua-dir="$PWD/saros" make LUA_INCDIR="$PWD/headers"
has_rock dir 5.4 "$SAROS" module
# 2. LuaRocks run by Saros
on_saros() { # FOLDER
  (cd "$1" && "$SAROS" "$(command -v luarocks)" --only-server="file://$HOME/none" --tree "$HOME/../itself" make \
    LUA_INCDIR="$HOME/../headers") >make.txt 2>&1 || fail "luarocks on Saros, $1: $(tail -n 5 make.txt)"
}
on_saros rock
has_rock itself 5.4 "$SAROS" module
# 3. a configuration file
cat >config.lua <<END
lua_interpreter = "$(basename "$SAROS")"
variables = { LUA_BINDIR = "$(dirname "$SAROS")", LUA_INCDIR = "$PWD/headers" }
END
export LUAROCKS_CONFIG=$PWD/config.lua
is "the interpreter of a configuration file" "$(basename "$SAROS")" "$(rocks --lua-version 5.4 config lua_interpreter 2>&1)"
unset LUAROCKS_CONFIG

# ---- a rock with a part in C and a script ---------------------------------------------------------
command -v gcc >/dev/null || { echo "gcc is not installed: no rock with a part in C"; finish; }
mkdir -p greeting/src greeting/bin
cat >greeting/greeting-1.0-1.rockspec <<'END'
package = "greeting"
version = "1.0-1"
source = { url = "file://." }
description = { summary = "says hello", license = "MIT" }
dependencies = { "lua >= 5.1, < 5.5", "saros-eventring" }
build = {
  type = "builtin",
  modules = { greeting = "src/greeting.lua", ["greeting.word"] = "src/word.c" },
  install = { bin = { greet = "bin/greet" } },
}
END
cat >greeting/src/greeting.lua <<'END'
local eventring = require "saros.eventring"
return function(who)
  return eventring.span("greeting", function() return require "greeting.word" .. ", " .. who end)
end
END
cat >greeting/src/word.c <<'END'
#include <lua.h>
int luaopen_greeting_word(lua_State *L);
int luaopen_greeting_word(lua_State *L) { lua_pushstring(L, "hello"); return 1; }
END
cat >greeting/bin/greet <<'END'
#!/usr/bin/env lua
print(require "greeting" (...))
print(require "saros.eventring".stub and "another Lua" or "Saros")
END

# greets NAME EXPECTED: through the wrapper that LuaRocks made
greets() {
  is "$1: the script" "hello, rock $2" "$("$1/bin/greet" rock 2>&1 | tr '\n' ' ' | sed 's/ $//')"
}

make_rock dir greeting --lua-dir="$PWD/saros" make LUA_INCDIR="$PWD/headers"
greets dir Saros
has "the wrapper runs" "$PWD/saros/bin/lua" "$(cat dir/bin/greet)"
on_saros greeting
greets itself Saros
has "the wrapper runs" "$SAROS" "$(cat itself/bin/greet)"
export LUAROCKS_CONFIG=$PWD/config.lua
make_rock config rock --lua-version 5.4 make
make_rock config greeting --lua-version 5.4 make
greets config Saros
has "the wrapper runs" "$SAROS" "$(cat config/bin/greet)"
unset LUAROCKS_CONFIG
if [ -e tree5.4 ] && [ -e /usr/include/lua5.4/lua.h ]; then
  make_rock tree5.4 greeting --lua-version 5.4 make
  greets tree5.4 "another Lua"
  # what was built for 5.4 loads in Saros as it is
  is "a rock of lua5.4 in Saros" "hello, you" "$(LUA_PATH="$PWD/tree5.4/share/lua/5.4/?.lua" \
    LUA_CPATH="$PWD/tree5.4/lib/lua/5.4/?.so" "$SAROS" -e 'print(require "greeting" "you")')"
fi

# A recording has the span of the rock.
recorded=$(SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_PREFIX=$PWD dir/bin/greet rock >/dev/null 2>&1; ls ./*.eventring)
has "the recording" "greeting" "$("$EVENTRING" spans "$recorded" 2>&1)"
finish
