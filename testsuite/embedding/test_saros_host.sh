# SPDX-License-Identifier: MIT
# saros-host runs programs that link liblua5.4.so.0 on the stand-in, and says why where it cannot.
. "$TESTSUITE/tools/_installed.sh"

host=$(find "$PWD/root" -path '*/bin/saros-host')
stand_in=$(find "$PWD/root" -type d -name stand-in)
[ -n "$stand_in" ] || { ends 1 "liblua5.4.so.0 is not there" "$host" true; finish; }
unset LD_LIBRARY_PATH
is "folder" "$stand_in" "$("$host" --path)"
is_same "version" "$(pkg-config --modversion saros)" "$("$host" --version | awk '{print $2}')"
is "help" 0 "$("$host" --help >help.txt; echo $?)"
for option in $(grep -o -- '--[a-z]*' "$SRCDIR/vm/completion/saros-host" | sort -u); do
  has "option of the completion" "$option" "$(cat help.txt)"
done
[ -e "$(find root -path '*/bash-completion/completions/saros-host')" ] || fail "no completion for bash"
[ -e "$(find root -path '*/site-functions/_saros-host')" ] || fail "no completion for zsh"

# A program as the reference's library would have it: it needs no more than that SONAME.
cat >program.c <<'END'
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  if (argc < 2 || luaL_dostring(L, argv[1]) != LUA_OK) return puts(lua_tostring(L, -1)), 9;
  printf("%s %s %s\n", lua_tostring(L, -1), argc > 2 ? argv[2] : "-", getenv("LD_LIBRARY_PATH"));
  return 3;
}
END
cc -O1 -Wall $(pkg-config --cflags saros) program.c -o program -L"$stand_in" -l:liblua5.4.so.0 -Wl,-rpath-link,"$(dirname "$(dirname "$stand_in")")" || fail "program.c: $?"
code='return require("saros.eventring").path() and "recorded" or "plain"'
is "run" "plain - $stand_in" "$("$host" ./program "$code")"
is "status" 3 "$("$host" ./program "$code" >/dev/null; echo $?)"
is "arguments and a path that was there" "plain two words $stand_in:/some/where" \
  "$(LD_LIBRARY_PATH=/some/where "$host" -- ./program "$code" "two words")"
is "recorded" "recorded - $stand_in" "$(SAROS_EVENTRING_START=1 "$host" ./program "$code")"
is "found in PATH" "plain - $stand_in" "$(PATH="$PWD:$PATH" "$host" program "$code")"
is "check" "$stand_in/liblua5.4.so.0" "$("$host" --check ./program)"

# What does not link it runs, and is told.
text=$("$host" true 2>&1) || fail "true: $?"
has "no link" "does not link liblua5.4.so.0 itself" "$text"
is "quiet" "" "$("$host" -q true 2>&1)"
is "its check" 1 "$("$host" -c true >/dev/null 2>&1; echo $?)"
printf '#!/bin/sh\nexec ./program "$@"\n' >script
chmod +x script
is "a script" "plain - $stand_in" "$("$host" ./script "$code" 2>&1)"

# What cannot run on it.
mkdir other
cp "$stand_in/liblua5.4.so.0" other/
cc -O1 $(pkg-config --cflags saros) program.c -o bound -L"$stand_in" -l:liblua5.4.so.0 \
  -Wl,--disable-new-dtags,-rpath,"$PWD/other",-rpath-link,"$(dirname "$(dirname "$stand_in")")"
ends 1 "loads $PWD/other/liblua5.4.so.0 and not the stand-in" "$host" ./bound "$code"
if [ "$(id -u)" = 0 ]; then
  cp program theirs
  chown nobody theirs && chmod 4755 theirs
  ends 1 "is set-user-id" "$host" ./theirs "$code"
fi
ends 127 "nowhere: there is no such program in PATH" "$host" nowhere
ends 127 "./nowhere: there is no such file" "$host" ./nowhere
ends 126 "./program.c: cannot be executed" "$host" ./program.c
ends 2 "which PROGRAM?" "$host"
ends 2 "there is no option --nonsense" "$host" --nonsense true
finish
