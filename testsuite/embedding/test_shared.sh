# SPDX-License-Identifier: MIT
# The shared libraries that `make install` installs: a program that records with libeventring
# and embeds Lua has one recording, whoever starts it; the libraries can be loaded late, when
# static TLS is used up; two copies of the runtime in a process record alike.
. "$TESTSUITE/tools/_installed.sh"

library=$(find "$PWD/root" -name libsaros.so)
[ -n "$library" ] || { echo "built without shared libraries"; exit 77; }
stand_in=$(find "$PWD/root" -path '*/stand-in/liblua5.4.so.0')
export LD_LIBRARY_PATH=$(dirname "$library")
sources=$TESTSUITE/embedding
strict="-std=gnu11 -O1 -Wall -Wextra -Werror"

# ---- One recording -------------------------------------------------------------------
cc $strict $(pkg-config --cflags saros) -o one "$sources/_one_recording.c" $(pkg-config --libs saros) 2>cc.txt ||
  { cat cc.txt; fail "the program: $?"; finish; }
programs=one
if [ -n "$(find "$PWD/root" -name libeventring.a)" ]; then
  programs="one one_static"
  ffi=$(sed -n 's/^Libs.private:.*\(-lffi\).*/\1/p' "$pkgconfig/saros.pc")
  cc $strict $(pkg-config --cflags --libs-only-L saros) -o one_static "$sources/_one_recording.c" \
    -Wl,-Bstatic -lsaros -leventring -Wl,-Bdynamic $(pkg-config --static --libs-only-other saros) $ffi -lm 2>cc.txt ||
    { cat cc.txt; fail "the static program: $?"; finish; }
else
  echo "no static libeventring in this build: its program is left out"
fi

# Of each collection within a frame: in the domain of the frame, between its begin and its end.
within_frames='[.[] | select(.name == "frame" or .name == "major")] |
  reduce .[] as $e ({open: {}, within: 0};
    if $e.name == "frame" then .open["\($e.domain)"] = ($e.kind == "begin")
    elif $e.kind == "begin" and .open["\($e.domain)"] then .within += 1 else . end) | .within >= 3'

check_one() { # PROGRAM ARGUMENT SAROS_EVENTRING_START
  rm -f -- *.eventring
  SAROS_EVENTRING_START=$3 SAROS_EVENTRING_PRESERVE=1 ./"$1" $2 || fail "$1 $2: $?"
  is "recordings of $1 $2" 1 "$(ls -- *.eventring | wc -l)"
  "$EVENTRING" stats --json ./*.eventring >stats.json || fail "stats: $?"
  is "spans of the program in that of $1 $2" '[["frame",3],["setup",1]]' \
    "$(query stats.json '[.spans[] | select(.name == "frame" or .name == "setup") | [.name, .count]] | sort')"
  "$EVENTRING" dump --json ./*.eventring >dump.json || fail "dump: $?"
  is "collections within frames of $1 $2" true "$(jq -s "$within_frames" dump.json)"
  "$EVENTRING" show --json ./*.eventring >show.json
  is "the note of $1 $2" '"the host is done"' "$(query show.json '.error_text')"
}
for program in $programs; do
  check_one $program "" 1
  check_one $program first 0
  check_one $program first 1
done

# ---- Loaded late -----------------------------------------------------------------------
cc $strict -o late "$sources/_late.c" -ldl || fail "late.c: $?"
fillers=
for size in 1024 512 256 128 64 32 16 8 8 4 4 2 2 1 1 1; do
  filler=$PWD/filler$(wc -w <<<"$fillers").so
  cc -shared -fPIC -DSIZE=$size -o "$filler" "$sources/_filler.c" || fail "filler.c: $?"
  fillers="$fillers $filler"
done
for late in "$library" "$stand_in"; do
  SAROS_EVENTRING_START=1 ./late "$late" $fillers >late.txt 2>&1
  status=$?
  [ $status -ne 77 ] || { echo "static TLS cannot be used up here"; break; }
  is "$(basename "$late") without static TLS" "0 true true" "$status $(paste -sd' ' late.txt)"
done
# Both in one process: each has its states, the events of both have the same ids.
cat >both.c <<'END'
#include <dlfcn.h>
#include <lauxlib.h>
#include <stdio.h>

int main(int argc, char **argv) {
  void *other = dlopen(argv[argc - 1], RTLD_NOW | RTLD_LOCAL);
  if (other == NULL) return printf("%s\n", dlerror()), 2;
  lua_State *(*new_state)(void);
  int (*collect)(lua_State *, int, ...);
  *(void **)&new_state = dlsym(other, "luaL_newstate");
  *(void **)&collect = dlsym(other, "lua_gc");
  if (new_state == luaL_newstate) return 3;
  lua_State *mine = luaL_newstate(), *others = new_state();
  collect(others, LUA_GCCOLLECT);
  lua_gc(mine, LUA_GCCOLLECT);
  return 0;
}
END
cc $strict $(pkg-config --cflags saros) -o both both.c $(pkg-config --libs saros) || fail "both.c: $?"
rm -f -- *.eventring
SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 ./both "$stand_in" || fail "both: $?"
"$EVENTRING" stats --json ./*.eventring >stats.json || fail "stats of both: $?"
is "collections of both" '[["major",1],["major",1]]' \
  "$(query stats.json '[.spans[] | select(.name == "major") | [.name, .count]]')"
finish
