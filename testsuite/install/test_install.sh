# `make install` puts in place what a user of the library and of the programs needs:
# a C program, built through pkg-config against the installed files only, records
# itself; the header is fit for C++; the installed saros runs.

command -v pkg-config >/dev/null || { echo "pkg-config is missing (Debian package: pkg-config)"; exit 77; }
command -v cc >/dev/null || { echo "cc is missing (Debian package: gcc)"; exit 77; }
grep -q '^SANITIZER_FLAGS = .' "$BUILDDIR/Makefile" && { echo "a build with sanitizers is not for installing"; exit 77; }
unset MAKEFLAGS MFLAGS MAKELEVEL
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }

make -C "$BUILDDIR" install DESTDIR="$PWD/root" >install.log 2>&1 || { tail -n 20 install.log; exit 1; }
prefix=$PWD/root$(sed -n 's/^prefix = //p' "$BUILDDIR/Makefile")
for file in bin/saros bin/eventring lib/libeventring.so lib/libeventring.a lib/pkgconfig/eventring.pc \
    include/eventring/eventring.h include/eventring/probe.h share/saros/examples/dpkg-graph.lua; do
  [ -e "$prefix/$file" ] || fail "$file is not installed"
done

export PKG_CONFIG_PATH=$prefix/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$PWD/root
export LD_LIBRARY_PATH=$prefix/lib
flags=$(pkg-config --cflags --libs eventring) || fail "pkg-config does not know eventring"

cat >host.c <<'END'
#include <eventring.h>
#include <stdio.h>
int main(void) {
  printf("%s\n", eventring_strerror(0) != NULL ? "linked" : "not linked");
  return 0;
}
END
# shellcheck disable=SC2086
cc -Wall -Wextra -Werror -o host host.c $flags && [ "$(./host)" = linked ] || fail "a program in C"
# shellcheck disable=SC2086
cc -static -o host-static host.c $flags $(pkg-config --libs --static eventring) && [ "$(./host-static)" = linked ] ||
  fail "a program linked statically"
if command -v c++ >/dev/null; then
  printf '#include <eventring.h>\n#include <probe.h>\nint main() { return 0; }\n' >header.cc
  # shellcheck disable=SC2086
  c++ -Wall -Wextra -Werror -o header header.cc $flags || fail "the headers in C++"
fi

[ "$("$prefix/bin/saros" -e 'print(6 * 7)')" = 42 ] || fail "the installed saros"
"$prefix/bin/eventring" --version >/dev/null || fail "the installed eventring"
[ "$failures" -eq 0 ]
