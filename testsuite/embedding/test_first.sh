# SPDX-License-Identifier: MIT
# The functions that run in hosts lie side by side in the libraries: those that the lists name are
# there, and in one section.
. "$TESTSUITE/tools/_installed.sh"
command -v nm >/dev/null && command -v readelf >/dev/null || { echo "nm or readelf is missing (Debian package: binutils)"; exit 77; }

check() { # LIBRARY LIST
  local file known first
  file=$(find "$PWD/root" -name "$1.so.0.0.0")
  readelf -SW "$file" | grep -q '\.text\.first' || { echo "the linker takes no order of functions"; exit 77; }
  grep '^[A-Za-z_0-9]*$' "$SRCDIR/$2" | grep . | LC_ALL=C sort -u >names
  # Functions with their sections; copies that the compiler makes have a suffix, and unlikely
  # parts sections of their own.
  nm -f sysv --defined-only "$file" | awk -F'|' '$4 ~ /FUNC/ && $1 !~ /\.cold/ {
    gsub(/ /, "", $1)
    sub(/\.(constprop|isra|part).*/, "", $1)
    print $1, $7
  }' | LC_ALL=C sort -u | LC_ALL=C join names - >functions
  known=$(cut -d' ' -f1 functions | sort -u | wc -l)
  first=$(grep -c '\.text\.first' functions)
  echo "$1: of $(wc -l <names) functions $known are there, $first in .text.first"
  # other compilers inline others
  [ $((known * 10)) -ge $(($(wc -l <names) * 8)) ] ||
    fail "$2 names functions that $1 does not have: $(cut -d' ' -f1 functions | LC_ALL=C comm -13 - names | head -20 | tr '\n' ' ')"
  # cold ones are among the unlikely parts
  [ $((first * 10)) -ge $((known * 9)) ] || fail "$1: functions of $2 are not in .text.first"
}
check liblua5.4 vm/first.list
check libsaros vm/first.list
check libeventring eventring/first.list
finish
