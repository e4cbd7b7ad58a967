# SPDX-License-Identifier: MIT
# Says after `make install` what is still to be done so that programs find what was installed.
#
#   scripts/installed.sh LIBDIR BINDIR
libdir=$1 bindir=$2

# Whether the dynamic linker searches the folder (ldconfig is often not on the path of users).
searched() {
  PATH=$PATH:/usr/sbin:/sbin ldconfig -v -N -X 2>/dev/null | grep -qF "$(realpath -m "$1"):"
}

echo "Installed; programs that link libeventring or libsaros find them:"
if searched "$libdir"; then
  echo "  when they run: after \`ldconfig\`, as root"
else
  echo "  when they run: with LD_LIBRARY_PATH=$libdir, or linked with -Wl,-rpath,$libdir"
  echo "    (or once and for all: $libdir as a line of /etc/ld.so.conf.d/saros.conf, and \`ldconfig\`)"
fi
case :$(pkg-config --variable pc_path pkg-config 2>/dev/null): in
  *:"$libdir/pkgconfig":*) ;;
  *) echo "  when they are built: with PKG_CONFIG_PATH=$libdir/pkgconfig; CMake with -DCMAKE_PREFIX_PATH=${bindir%/*}" ;;
esac
case :$PATH: in
  *:"$bindir":*) ;;
  *) echo "The commands are in $bindir, which is not in your PATH" ;;
esac
