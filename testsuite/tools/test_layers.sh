#!/bin/bash
# SPDX-License-Identifier: MIT
# check-layers.sh fails for a planted violation of each kind, and names it. The tree is a
# copy of the sources and of the build's objects; each plant is taken away again.
. "$TESTSUITE/_checks.sh"

make_copies() {
  mkdir tree build build/.libs
  (cd "$SRCDIR" && find Makefile.am eventring include runtime vm stdlib -name '*.o' -prune -o -type f -print |
     tar cf - -T -) | tar xf - -C tree
  (cd "$BUILDDIR" && find eventring runtime vm stdlib -name '*.o' ! -path '*/.libs/*' ! -name 'testsuite_*' |
     tar cf - -T -) | tar xf - -C build
  [ ! -e "$BUILDDIR/.libs/libeventring.so" ] || cp -L "$BUILDDIR/.libs/libeventring.so" build/.libs/
  cp "$TESTSUITE/check-layers.sh" .
}

check_layers() { bash ./check-layers.sh tree build >found.txt 2>&1; }

holds() { check_layers || { cat found.txt; fail "the arrows of the sources as they are"; }; }

# finds WHAT TEXT: the check fails, and says so
finds() {
  check_layers && fail "not found: $1"
  has "$1" "$2" "$(cat found.txt)"
}

# A line at the end of a source.
plant_include() { # FILE INCLUDE VIOLATION
  cp "tree/$1" kept
  echo "#include $2" >>"tree/$1"
  finds "$1 includes $2" "$1 includes $3"
  cp kept "tree/$1"
}

# A source planted.c in a folder, with its object, that calls a function.
plant_call() { # FOLDER PREFIX FUNCTION VIOLATION
  echo "void $3(void); void planted(void); void planted(void) { $3(); }" >"tree/$1/planted.c"
  echo "$1/planted.c" >>tree/eventring/local.mk
  "${CC:-cc}" -c "tree/$1/planted.c" -o "build/$1/$2-planted.o" || fail "cannot compile"
  finds "$1 calls $3" "$1/planted.c refers to $3 of $4"
  rm "tree/$1/planted.c" "build/$1/$2-planted.o"
  sed -i '$d' tree/eventring/local.mk
}

make_copies
holds

# Next to the file, and along the include path of its target.
plant_include eventring/reader/window.c '"../producer/producer.h"' eventring/producer/producer.h
plant_include eventring/reader/window.c '"producer/producer.h"' eventring/producer/producer.h
plant_include eventring/reader/window.c '<producer/producer.h>' eventring/producer/producer.h
plant_include eventring/producer/recording.c '"reader/cursor.h"' eventring/reader/cursor.h
plant_include eventring/format/error.c '"reader/cursor.h"' eventring/reader/cursor.h
plant_include eventring/include/eventring.h '"../format/format.h"' eventring/format/format.h
plant_include eventring/analysis/units.c '"format/format.h"' eventring/format/format.h
plant_include eventring/analysis/units.c '"tools/options.h"' eventring/tools/options.h
plant_include eventring/tools/text_table.c '"format/error.h"' eventring/format/error.h
plant_include include/lauxlib.h '"../runtime/str.h"' runtime/str.h
plant_include runtime/str.c '"../eventring/format/clock.h"' eventring/format/clock.h
plant_include runtime/str.c '"../vm/call.h"' vm/call.h
plant_include vm/call.c '"../stdlib/pattern.h"' stdlib/pattern.h
plant_include stdlib/lib_os.c '"ffi/ffi_core.h"' stdlib/ffi/ffi_core.h
plant_include stdlib/lib_os.c '"../vm/program.h"' vm/program.h

plant_call eventring/format libeventring_host_a evr_source_close eventring/reader/source.c
plant_call eventring/producer libeventring_host_a evr_source_close eventring/reader/source.c
plant_call eventring/reader libeventring_host_a evr_lock eventring/producer/lock.c
plant_call eventring/reader libeventring_host_a eventring_state eventring/producer/state.c
plant_call eventring/reader libeventring_host_a eventring_open_self eventring/self.c
plant_call eventring/analysis libanalysis_a evr_fail eventring/format/error.c
plant_call eventring/tools eventring evr_lock eventring/producer/lock.c
plant_call runtime libruntime_a evr_fail eventring/format/error.c
plant_call runtime libruntime_a luaL_openlibs stdlib/init.c
plant_call vm libvm_a luaL_openlibs stdlib/init.c

echo 'int unlisted;' >tree/runtime/unlisted.c
finds "a source in no list" "runtime/unlisted.c is in no local.mk"
rm tree/runtime/unlisted.c
echo 'int deep;' >tree/eventring/deep.c
finds "a source of no part" "eventring/deep.c belongs to no part"
rm tree/eventring/deep.c

sed -i "s|^exceptions='\$|&\nruntime vm/call|" check-layers.sh
finds "an exception for nothing" 'the exception "runtime vm/call" of check-layers.sh is not needed any more'
echo '#include "../vm/call.h"' >>tree/runtime/str.c
holds
cp "$SRCDIR/runtime/str.c" tree/runtime/str.c
cp "$TESTSUITE/check-layers.sh" .

rm build/eventring/reader/*.o
finds "a part that is not built" "no object of reader is built"

# What the shared library shows and needs.
echo 'int shown = 1;' >shown.c
echo 'int strange = 1;' >strange.c
"${CC:-cc}" -shared -fPIC strange.c -o libstrange.so &&
  "${CC:-cc}" -shared -fPIC shown.c -Wl,--no-as-needed -L. -lstrange -o build/.libs/libeventring.so ||
  fail "cannot link"
finds "a name exported" "libeventring exports shown"
finds "a library needed" "libeventring needs libstrange.so"

finish
