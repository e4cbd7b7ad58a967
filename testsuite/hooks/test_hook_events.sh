# SPDX-License-Identifier: MIT
# Hooks see the same calls, returns and lines of the guest tests of the language as under lua5.4,
# in the same order (compare.sh; make check-hooks: the other guest tests, too).
. "$TESTSUITE/_checks.sh"
[ -n "${LUA_REFERENCE-}" ] || { echo "lua5.4 is not installed (Debian package: lua5.4)"; exit 77; }
bash "$TESTSUITE/hooks/compare.sh" --saros="$SAROS" --reference="$LUA_REFERENCE" \
  "$TESTSUITE"/lua/language/*.lua >out.txt 2>&1 || fail "status $?: $(cat out.txt)"
tail -n 1 out.txt
finish
