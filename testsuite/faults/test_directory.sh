# SPDX-License-Identifier: MIT
# A directory that cannot be used: one warning that names it, the program runs on.
. "$TESTSUITE/faults/_faults.sh"

in_directory() { # WHAT TEXT DIRECTORY
  SAROS_EVENTRING_PREFIX=$3 unrecorded "$1" "$SAROS" program.lua
  has "$1: warning" "$2" "$(cat errors.txt)"
}
touch file
mkdir gone
in_directory "missing" "nowhere/at/all" nowhere/at/all
in_directory "a file" "file" file
in_directory "too long" "$(printf 'd%.0s' {1..100})" "$(printf 'd%.0s' {1..300})"
in_directory "much too long" "$(printf 'd/%.0s' {1..50})" "$(printf 'd/%.0s' {1..4000})"
in_directory "no directory can be made here" /proc /proc
in_no_directory() {
  cd gone && rmdir "$OLDPWD/gone" || fail "cannot go there"
  unrecorded "the current directory is gone" "$SAROS" "$OLDPWD/program.lua"
}
apart in_no_directory || fail "the current directory is gone"

if [ "$(id -u)" -eq 0 ]; then
  need_root "become another user"
  need_reachable_programs
  chmod 755 . && chmod 644 program.lua && mkdir -m 755 closed
  SAROS_EVENTRING_PREFIX=$PWD/closed unrecorded unwritable as_nobody "$SAROS" program.lua
else
  mkdir -m 555 closed
  SAROS_EVENTRING_PREFIX=$PWD/closed unrecorded unwritable "$SAROS" program.lua
fi
has "unwritable: warning" "Permission denied" "$(cat errors.txt)"
no_file_in unwritable .
finish
