# SPDX-License-Identifier: MIT
# Debian's lua-penlight: the modules that need no C.
. "$TESTSUITE/programs/_compare.sh"
need "$modules/5.4/pl/utils.lua" lua-penlight
for part in lists tables strings functional classes text parsing dates; do
  compare "penlight $part" /dev/null "$TESTSUITE/programs/penlight_tour.lua" "$part"
done
finish
