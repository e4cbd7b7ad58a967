# SPDX-License-Identifier: MIT
# The headers and the stand-in have what those of the reference have. Debian's library is
# compared by abidiff, its headers by what programs take from them, and the reference's own
# lua.c is compiled and run where its sources are (LUA_SOURCE: a folder with lua.c, release
# 5.4.x of github lua/lua).
. "$TESTSUITE/tools/_installed.sh"

stand_in=$(find "$PWD/root" -path '*/stand-in/liblua5.4.so.0')
[ -n "$stand_in" ] || { echo "built without shared libraries"; exit 77; }
export LD_LIBRARY_PATH=$(dirname "$(find "$PWD/root" -name libsaros.so)")
sources=$TESTSUITE/embedding
flags=$(pkg-config --cflags --libs saros)
compared=

cc -O1 -Wall -Wextra -Werror "$sources/_compat.c" $flags -o compat || fail "the names of 5.3: $?"
is "names of 5.3" "41 42 43 8" "$(./compat)"
cc -O1 -Wall -Wextra -Werror "$sources/_layout.c" $flags -o layout && ./layout >ours.txt || fail "layout: $?"

# Debian's
theirs=/usr/include/lua5.4
if [ -e $theirs/lua.h ]; then
  compared=yes
  cc -O1 -I$theirs "$sources/_layout.c" -o layout_theirs && ./layout_theirs >theirs.txt || fail "their layout: $?"
  is "what programs take from the headers" "" "$(diff theirs.txt ours.txt)"
  names() { cc -E -dM -DLUA_COMPAT_5_3 "$@" -x c - <<<$'#include <lua.h>\n#include <lauxlib.h>\n#include <lualib.h>' |
    awk '{sub(/\(.*/, "", $2); print $2}' | sort -u; }
  is "macros that we lack" "DEB_HOST_MULTIARCH LUA_CDIR2 LUA_CDIR3 LUA_LDIR2 LUA_ROOT2 _LUA_DEB_MULTIARCH_" \
    "$(comm -23 <(names -I$theirs) <(names $(pkg-config --cflags saros)) | paste -sd' ')"
else
  echo "their headers are not compared (Debian package: liblua5.4-dev)"
fi
library=$(ldconfig -p | awk '/liblua5\.4\.so\.0 / {print $NF; exit}')
if [ -n "$library" ] && command -v abidiff >/dev/null; then
  compared=yes
  abidiff "$library" "$stand_in" >abi.txt 2>&1
  is "status of abidiff" 4 $? # there are differences; nothing is incompatible (8)
  has "what it found" "0 Removed, 0 Changed" "$(cat abi.txt)"
  is "functions that we add, and that LUA.md lists" \
    "$(sed -n '/^| also exported/,/^$/p' "$SRCDIR/doc/LUA.md" | grep -o '`lua[A-Za-z_]*`' | tr -d '`')" \
    "$(sed -n 's/.*{\(lua[A-Za-z_]*\)@@LUA_5\.4}.*/\1/p' abi.txt)"
else
  echo "their library is not compared (Debian packages: liblua5.4-0, abigail-tools)"
fi

# The reference's stand-alone interpreter on both libraries
if [ -e "${LUA_SOURCE-}/lua.c" ]; then
  compared=yes
  cp "$LUA_SOURCE/lua.c" . && printf '#include <stddef.h>\n' >lprefix.h
  cc -O1 lua.c -I. $flags -o lua || fail "lua.c: $?"
  is "the reference's lua.c" "Lua 5.4 3" "$(./lua -e 'io.write(_VERSION, " ")' - 1 2 <<<'print(select("#", ...) + 1)')"
  has "its version" "Saros" "$(./lua -v)"
fi
[ -n "$compared" ] || { echo "nothing to compare with (Debian packages: liblua5.4-dev, abigail-tools)"; exit 77; }
finish
