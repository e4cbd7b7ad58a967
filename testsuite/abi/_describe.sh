# SPDX-License-Identifier: MIT
# Sourced by test_abi_kept.sh and `make update-abi`: what a library promises, by abidw: its
# functions, and the types in the public headers that these take and return.
described="libeventring libsaros"

# has_types: of $BUILDDIR. Another build describes functions without their types.
has_types() {
  command grep -q '^CFLAGS = .*-g' "$BUILDDIR/Makefile" &&
    ! command grep -qE '^(CFLAGS = .*-g[01]|SANITIZER_FLAGS = .*fsanitize|CC = .*musl)' "$BUILDDIR/Makefile"
}

# describe LIBRARY: of $BUILDDIR, on standard output
describe() {
  local headers=$SRCDIR/eventring/include
  [ "$1" != libsaros ] || headers=$SRCDIR/include
  abidw --no-corpus-path --no-show-locs --no-comp-dir-path --drop-private-types \
    --headers-dir "$headers" "$BUILDDIR/.libs/$1.so"
}
