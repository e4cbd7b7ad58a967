# SPDX-License-Identifier: MIT
# Sourced by the tests of what `make install` installs: installs into ./root, where
# pkg-config finds it from then on.
. "$TESTSUITE/tools/_tools.sh"

for tool in make pkg-config cc; do
  command -v $tool >/dev/null ||
    { echo "$tool is missing (Debian packages: make, pkg-config, gcc)"; exit 77; }
done
[ -f "$BUILDDIR/Makefile" ] || { echo "$BUILDDIR has no Makefile"; exit 77; }
if grep -q '^SANITIZER_FLAGS = .*fsanitize' "$BUILDDIR/Makefile"; then
  echo "a library built with sanitizers cannot be linked into plain programs"; exit 77
fi

unset MAKEFLAGS MFLAGS MAKELEVEL
make -C "$BUILDDIR" install DESTDIR="$PWD/root" >install.txt 2>&1 ||
  { tail -n 20 install.txt; fail "make install: $?"; finish; }
pkgconfig=$PWD/$(find root -type d -name pkgconfig)
export PKG_CONFIG_PATH=$pkgconfig PKG_CONFIG_SYSROOT_DIR=$PWD/root
export PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 PKG_CONFIG_ALLOW_SYSTEM_LIBS=1
