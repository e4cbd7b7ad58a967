#!/bin/bash
# SPDX-License-Identifier: MIT
# check-layers.sh fails for a planted violation of each kind, and names it. The tree is a
# copy of the sources and of the build's objects. All are planted at once, and these and no
# others are found.
. "$TESTSUITE/_checks.sh"

make_copies() {
  mkdir tree build build/.libs
  (cd "$SRCDIR" && find Makefile.am eventring include runtime vm stdlib -name '*.o' -prune -o -type f -print |
     tar cf - -T -) | tar xf - -C tree
  (cd "$BUILDDIR" && find eventring runtime vm stdlib -name '*.o' ! -path '*/.libs/*' ! -name 'testsuite_*' |
     tar cf - -T -) | tar xf - -C build
  local library
  for library in libeventring libsaros liblua5.4; do
    [ ! -e "$BUILDDIR/.libs/$library.so" ] || cp -L "$BUILDDIR/.libs/$library.so" build/.libs/
  done
  cp "$TESTSUITE/check-layers.sh" .
}

check_layers() { bash ./check-layers.sh tree build >found.txt 2>&1; }

holds() { check_layers || { cat found.txt; fail "the arrows of the sources as they are"; }; }

# finds VIOLATION...: the check fails, and says these, in any order, and nothing else
finds() {
  check_layers && fail "not found: $*"
  is "violations" "$(printf '%s\n' "$@" "check-layers: $# violations" | sort)" "$(sort found.txt)"
}

# A line at the end of a source.
violations=()
plant_include() { # FILE INCLUDE HEADER PART-OF-FILE PART-OF-HEADER
  echo "#include $2" >>"tree/$1"
  violations+=("$1 includes $3: $4 does not see $5")
}

# A source of its own in a folder, with its object, that calls a function.
plant_call() { # FOLDER PREFIX FUNCTION SOURCE-OF-THAT PART PART-OF-THAT
  local name=planted_${#violations[@]}
  echo "void $3(void); void $name(void); void $name(void) { $3(); }" >"tree/$1/$name.c"
  echo "$1/$name.c" >>tree/eventring/local.mk
  "${CC:-cc}" -c "tree/$1/$name.c" -o "build/$1/$2-$name.o" || fail "cannot compile"
  violations+=("$1/$name.c refers to $3 of $4: $5 does not see $6")
}

make_copies
holds

# Next to the file, and along the include path of its target.
plant_include eventring/reader/window.c '"../producer/producer.h"' eventring/producer/producer.h reader producer
plant_include eventring/reader/window.c '"producer/producer.h"' eventring/producer/producer.h reader producer
plant_include eventring/reader/window.c '<producer/producer.h>' eventring/producer/producer.h reader producer
plant_include eventring/producer/recording.c '"reader/cursor.h"' eventring/reader/cursor.h producer reader
plant_include eventring/format/error.c '"reader/cursor.h"' eventring/reader/cursor.h format reader
plant_include eventring/include/eventring.h '"../format/format.h"' eventring/format/format.h public format
plant_include eventring/analysis/figures.c '"format/format.h"' eventring/format/format.h analysis format
plant_include eventring/analysis/figures.c '"tools/options.h"' eventring/tools/options.h analysis tools
plant_include eventring/tools/text_table.c '"format/error.h"' eventring/format/error.h tools format
plant_include include/lauxlib.h '"../runtime/str.h"' runtime/str.h api runtime
plant_include runtime/str.c '"../eventring/format/clock.h"' eventring/format/clock.h runtime format
plant_include runtime/str.c '"../vm/call.h"' vm/call.h runtime vm
plant_include vm/call.c '"../stdlib/pattern.h"' stdlib/pattern.h vm stdlib
plant_include stdlib/lib_os.c '"ffi/ffi_core.h"' stdlib/ffi/ffi_core.h stdlib ffi
plant_include stdlib/lib_os.c '"../vm/program.h"' vm/program.h stdlib program

plant_call eventring/format libeventring_host_a evr_source_close eventring/reader/source.c \
  format reader
plant_call eventring/producer libeventring_host_a evr_source_close eventring/reader/source.c \
  producer reader
plant_call eventring/reader libeventring_host_a evr_mutex_lock eventring/producer/lock.c \
  reader producer
plant_call eventring/reader libeventring_host_a eventring_state eventring/producer/state.c \
  reader producer
plant_call eventring/reader libeventring_host_a eventring_open_self eventring/self.c \
  reader self
plant_call eventring/analysis libanalysis_a evr_fail eventring/format/error.c \
  analysis format
plant_call eventring/tools eventring evr_mutex_lock eventring/producer/lock.c \
  tools producer
plant_call runtime libruntime_a evr_fail eventring/format/error.c \
  runtime format
plant_call runtime libruntime_a luaL_openlibs stdlib/init.c \
  runtime stdlib
plant_call vm libvm_a luaL_openlibs stdlib/init.c \
  vm stdlib

# Sources in no list, one of no part.
echo 'int unlisted;' >tree/runtime/unlisted.c
violations+=("runtime/unlisted.c is in no local.mk")
echo 'int deep;' >tree/eventring/deep.c
violations+=("eventring/deep.c belongs to no part (check-layers.sh)" "eventring/deep.c is in no local.mk")

finds "${violations[@]}"
rm -rf tree build
make_copies

# An exception for nothing, and one that is needed
sed -i "s|^exceptions='\$|&\nruntime vm/call|" check-layers.sh
finds 'the exception "runtime vm/call" of check-layers.sh is not needed any more'
echo '#include "../vm/call.h"' >>tree/runtime/str.c
holds
cp "$SRCDIR/runtime/str.c" tree/runtime/str.c
cp "$TESTSUITE/check-layers.sh" .

# A part that is not built; what the shared libraries show, need and have inside
rm build/eventring/reader/*.o
echo 'int shown = 1;' >shown.c
echo 'int strange = 1;' >strange.c
"${CC:-cc}" -shared -fPIC strange.c -o libstrange.so &&
  "${CC:-cc}" -shared -fPIC shown.c -Wl,--no-as-needed -L. -lstrange -o build/.libs/libeventring.so ||
  fail "cannot link"
echo 'int lua_shown, saros_shown, shown; int evr_inside(void); int evr_inside(void) { return 1; }
  __thread int placed __attribute__((tls_model("initial-exec"))); int *place(void);
  int *place(void) { return &placed; }' >inside.c
echo 'LUA_5.4 { global: lua_*; saros_*; local: *; };' >inside.map
"${CC:-cc}" -shared -fPIC inside.c -Wl,--version-script=inside.map -o build/.libs/liblua5.4.so &&
  "${CC:-cc}" -shared -fPIC shown.c -o build/.libs/libsaros.so || fail "cannot link"
finds "no object of reader is built" "libeventring exports shown" "libeventring needs libstrange.so" \
  "libsaros exports shown" "libsaros does not link libeventring" "liblua5.4 needs static TLS" \
  "liblua5.4 exports saros_shown@@LUA_5.4" "liblua5.4 does not link libeventring" \
  "liblua5.4 has evr_inside of libeventring inside"

finish
