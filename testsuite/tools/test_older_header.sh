# SPDX-License-Identifier: MIT
# A program that was compiled with an older header, whose structures end earlier, works
# with this library, which touches nothing behind them.
. "$TESTSUITE/tools/_installed.sh"

header=$(find root -name eventring.h)
export LD_LIBRARY_PATH=$(dirname "$(find "$PWD/root" -name libeventring.so)")
mkdir -p older
cp -r "$header" "$(dirname "$header")/eventring" older/
# takes the last members away
sed -e '/^  bool leave_sigbus;/,/^};/{/^};/!d}' -e '/config->keep = /d' \
    -e '/^  int (\*lost)(void/d' \
    -e '/^  uint64_t control_rejected;/,/^  pid_t process;/d' \
    -e '/^  uint64_t stop_ns;/d' \
    -e '/^  uint64_t torn;/,/^  uint32_t blocks;/d' \
    -e 's/^  uint64_t missed, delivered, lost, torn;/  uint64_t missed, delivered, lost;/' \
    -i older/eventring.h older/eventring/read.h

build() { # PROGRAM OPTION...
  local program=$1
  shift
  cc -std=gnu11 -O1 -Wall -Wextra -Werror "$@" $(pkg-config --cflags eventring) -o "$program" \
    "$TESTSUITE/tools/_older.c" $(pkg-config --libs eventring) -pthread >cc.txt 2>&1 ||
    { cat cc.txt; fail "$program: $?"; finish; }
}
build now
build before -Iolder
./now || fail "with the present header: $?"
./before || fail "with the older header: $?"
shorter=$(join <(./now sizes | sort) <(./before sizes | sort) | awk '$3 < $2 {print $1}' | tr '\n' ' ')
is "structures that are shorter" "callbacks config domain_info info ring_info totals " "$shorter"
finish
