# SPDX-License-Identifier: MIT
# What doc/LUA.md lists of the C API as different from the reference.
. "$TESTSUITE/tools/_installed.sh"

cc -O1 -Wall -Wextra -Werror $(pkg-config --cflags saros) "$TESTSUITE/embedding/_differences.c" \
  $(pkg-config --libs saros) -Wl,-rpath,"$(dirname "$pkgconfig")" -o differences || { fail "cc: $?"; finish; }
./differences || fail "differences: $?"
finish
