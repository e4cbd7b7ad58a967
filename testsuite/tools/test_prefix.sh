# SPDX-License-Identifier: MIT
# An installation in a prefix that nobody searches, without DESTDIR, with the names of Lua
# (--with-lua-names): modules are found there, programs are built through pkg-config and CMake
# and run, README's commands work, what is to be done is said, and `make uninstall` leaves
# nothing. The build is a copy of this one, configured again: what does not depend on the prefix
# is not compiled again.
. "$TESTSUITE/_checks.sh"
for tool in make pkg-config cc; do
  command -v $tool >/dev/null || { echo "$tool is missing (Debian packages: make, pkg-config, gcc)"; exit 77; }
done
[ -e "$BUILDDIR/libeventring.la" ] && [ -x "$SAROS" ] && [ -e "$BUILDDIR/libsaros.a" ] ||
  { echo "not all of Saros is built in $BUILDDIR"; exit 77; }
if grep -q '^SANITIZER_FLAGS = .*fsanitize' "$BUILDDIR/Makefile"; then
  echo "a library built with sanitizers cannot be linked into plain programs"; exit 77
fi
unset MAKEFLAGS MFLAGS MAKELEVEL
prefix=$PWD/odd+place/saros
mkdir build

# libtool's commands do not quote the folders that they install into.
mkdir spaced
(cd spaced && "$SRCDIR/configure" -q --prefix="$PWD/a b") >spaced.txt 2>&1 && fail "a prefix with a space is taken"
has "a prefix with a space" "must have no spaces" "$(cat spaced.txt)"

# ---- The build -------------------------------------------------------------------------------
(cd "$BUILDDIR" && find . -path ./testsuite -prune -o \( -type f -o -type l \) \
    \( -name '*.o' -o -name '*.lo' -o -name '*.a' -o -name '*.la' -o -name '*.lai' -o -name '*.so*' -o -name eventring -o -name saros \
       -o -name '*.made' -o -name '*.1' -o -name '*.[357]' -o -name '*.stamp' -o -name .dirstamp \) -print |
  tar cf - -T -) | tar xf - -C build
cp "$BUILDDIR/config.cache" build/ 2>/dev/null
cd build || finish
eval "options=($(cd "$BUILDDIR" && ./config.status --config))"
"$SRCDIR/configure" -q -C "${options[@]}" --prefix="$prefix" --with-lua-names >../configure.txt 2>&1 ||
  { cat ../configure.txt; fail "configure: $?"; finish; }
has "the summary" "installed under    $prefix" "$(cat ../configure.txt)"
# What has the prefix inside
rm -f stdlib/*lib_package.o stdlib/*lib_package.lo stdlib/.libs/*lib_package.o libstdlib*.*a .libs/libstdlib*.*a
find . -name .dirstamp -exec touch -d yesterday {} +
make -j2 >../make.txt 2>&1 || { tail -n 20 ../make.txt; fail "make: $?"; finish; }
compiled=$(grep -c '^  CC ' ../make.txt)
[ "$compiled" -le 4 ] || fail "compiled again: $compiled files"
PATH=/usr/bin:/bin make install >../install.txt 2>&1 || { tail -n 20 ../install.txt; fail "make install: $?"; finish; }
cd ..

# ---- What is to be done is said --------------------------------------------------------------
said=$(cat install.txt)
has "the linker" "LD_LIBRARY_PATH=$prefix/lib" "$said"
has "ldconfig" "ldconfig" "$said"
has "pkg-config" "PKG_CONFIG_PATH=$prefix/lib/pkgconfig" "$said"
has "the commands" "The commands are in $prefix/bin" "$said"
export PATH=$prefix/bin:$PATH PKG_CONFIG_PATH=$prefix/lib/pkgconfig
is "pages of the manual" "saros.1 lua5.4.1 luac5.4.1 eventring-stats.1" \
  "$(cd "$prefix/share/man/man1" && ls saros.1 lua5.4.1 luac5.4.1 eventring-stats.1 | sort -r | paste -sd' ' | awk '{print $1, $3, $2, $4}')"

# ---- README's commands -----------------------------------------------------------------------
cp "$SRCDIR/examples/app.lua" .
SAROS_EVENTRING_START=1 saros app.lua >app.txt 2>&1 &
pid=$!
EVENTRING=$prefix/bin/eventring await $pid
eventring view -o page.html --seconds 0.5 $pid >view.txt 2>&1 || fail "view: $?, $(cat view.txt)"
has "the page" "</html>" "$(tail -c 100 page.html)"
kill -KILL $pid
wait $pid 2>/dev/null
eventring autopsy $pid.eventring >autopsy.txt 2>&1
has "autopsy" "ended: killed" "$(cat autopsy.txt)"
rm -f -- *.eventring

# ---- Modules ---------------------------------------------------------------------------------
mkdir -p "$prefix/share/lua/5.4" "$prefix/lib/lua/5.4"
is_same "place of modules" "$prefix/share/lua/5.4 $prefix/lib/lua/5.4" \
  "$(pkg-config --variable=INSTALL_LMOD saros) $(pkg-config --variable=INSTALL_CMOD lua5.4)"
echo 'return "found in the prefix"' >"$prefix/share/lua/5.4/odd_module.lua"
cat >odd_c.c <<'END'
#include <lua.h>
int luaopen_odd_c(lua_State *L) { lua_pushliteral(L, "and in C"); return 1; }
END
cc -shared -fPIC $(pkg-config --cflags saros) -o "$prefix/lib/lua/5.4/odd_c.so" odd_c.c || fail "a module in C: $?"
modules='print(require "odd_module", (require "odd_c"))'
is "modules" $'found in the prefix\tand in C' "$(saros -e "$modules")"
is "by the name of Lua" $'found in the prefix\tand in C' "$(lua5.4 -e "$modules")"

# ---- Programs --------------------------------------------------------------------------------
cat >host.c <<'END'
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
int main(int argc, char **argv) {
  lua_State *L = luaL_newstate();
  if (L == NULL || argc < 2) return 2;
  luaL_openlibs(L);
  if (luaL_dostring(L, argv[1]) != LUA_OK) return puts(lua_tostring(L, -1)), 1;
  lua_close(L);
  return 0;
}
END
shared=no
[ ! -e "$prefix/lib/libsaros.so" ] || shared=yes
cc host.c $(pkg-config --cflags --libs lua5.4) -o lua_host || fail "with pkg-config lua5.4: $?"
cc host.c $(pkg-config --cflags --libs saros) -o saros_host || fail "with pkg-config saros: $?"
for host in lua_host saros_host; do
  is "$host" $'found in the prefix\tand in C' "$(LD_LIBRARY_PATH=$prefix/lib ./$host "$modules")"
  [ $shared = no ] || has "$host runs on Saros" "libsaros.so.0 => $prefix/lib" "$(LD_LIBRARY_PATH=$prefix/lib ldd ./$host)"
  [ $shared = yes ] || has "$host has Saros inside" "(Saros)" "$(strings -n 8 $host)"
done
is "the version that pkg-config says" "5.4.$(sed -n 's/^#define LUA_VERSION_RELEASE "\(.*\)"/\1/p' "$prefix/include/lua5.4/lua.h")" "$(pkg-config --modversion lua5.4)"
is "as the compiler" "$(sarosc -v)" "$(luac5.4 -v)"
for name in lua-5.4 lua54; do
  is_same "$name, as Debian has it" "$(pkg-config --cflags --libs lua5.4)" "$(pkg-config --cflags --libs $name)"
done

# CMake: by our own packages, and by its module for Lua
if command -v cmake >/dev/null; then
  mkdir cmake && cp host.c cmake/ && cp "$SRCDIR/examples/embed/embed.c" cmake/
  cat >cmake/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.13)
project(hosts C)
find_package(eventring 0.1 REQUIRED CONFIG)
find_package(saros 0.1.0 REQUIRED CONFIG)
find_package(Lua 5.4 EXACT REQUIRED)
add_executable(embed embed.c)
target_link_libraries(embed PRIVATE eventring::eventring pthread)
add_executable(host host.c)
target_link_libraries(host PRIVATE saros::saros)
add_executable(found_host host.c)
target_include_directories(found_host PRIVATE ${LUA_INCLUDE_DIR})
target_link_libraries(found_host PRIVATE ${LUA_LIBRARIES})
message(STATUS "Lua: ${LUA_VERSION_STRING} ${LUA_INCLUDE_DIR}")
END
  cmake -S cmake -B cmake/b -DCMAKE_PREFIX_PATH="$prefix" >cmake.txt 2>&1 && cmake --build cmake/b >>cmake.txt 2>&1 ||
    { cat cmake.txt; fail "with CMake: $?"; }
  has "Lua, as CMake finds it" "$prefix/include/lua5.4" "$(cat cmake.txt)"
  for host in host found_host; do
    is "$host of CMake" $'found in the prefix\tand in C' "$(LD_LIBRARY_PATH=$prefix/lib ./cmake/b/$host "$modules")"
  done
  EMBED_START=1 EMBED_PRESERVE=1 EMBED_NAME=embed ./cmake/b/embed --jobs 10 >embed.txt || fail "embed of CMake: $?"
  eventring stats embed.eventring >stats.txt || fail "its recording: $?"
  for wanted in 0.2 1.0; do
    sed "s/find_package(eventring 0.1/find_package(eventring $wanted/" cmake/CMakeLists.txt >cmake/CMakeLists.new
    mkdir -p wrong && mv cmake/CMakeLists.new wrong/CMakeLists.txt && cp cmake/*.c wrong/
    cmake -S wrong -B wrong/$wanted -DCMAKE_PREFIX_PATH="$prefix" >wrong.txt 2>&1 && fail "version $wanted is found"
    has "version $wanted is refused" "eventring" "$(cat wrong.txt)"
  done
else
  echo "CMake is not tested (Debian package: cmake)"
fi

# ---- Programs of others, on the stand-in -------------------------------------------------------
if [ $shared = yes ]; then
  [ -e "$(saros-host --path)/liblua5.4.so.0" ] || fail "saros-host finds no stand-in"
fi

# ---- Nothing is left ---------------------------------------------------------------------------
rm "$prefix/share/lua/5.4/odd_module.lua" "$prefix/lib/lua/5.4/odd_c.so"
make -C build uninstall >uninstall.txt 2>&1 || { tail -n 20 uninstall.txt; fail "make uninstall: $?"; }
is "files that are left" "" "$(find "$prefix" ! -type d)"
is "folders that are left" "" "$(cd "$prefix" && find . -type d \( -name '*saros*' -o -name '*eventring*' -o -name lua5.4 \))"
make -C build install DESTDIR="$PWD/staged" >install2.txt 2>&1 || fail "make install DESTDIR: $?"
[ -x "$PWD/staged$prefix/bin/saros" ] || fail "nothing in DESTDIR"
is "what is said to who packs" "" "$(grep 'PKG_CONFIG_PATH\|LD_LIBRARY_PATH=/' install2.txt)"
make -C build uninstall DESTDIR="$PWD/staged" >uninstall2.txt 2>&1 || fail "make uninstall DESTDIR: $?"
is "files that are left in DESTDIR" "" "$(find staged ! -type d)"
finish
