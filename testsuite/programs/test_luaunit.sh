# SPDX-License-Identifier: MIT
# Debian's lua-unit: its documented example suites in each of its output formats
# (many of their tests fail on purpose: the messages are what is compared), and a
# suite of our own that uses its assertions.
. "$TESTSUITE/programs/_compare.sh"
need "$modules/5.4/luaunit.lua" lua-unit

examples=/usr/share/doc/lua-unit
for example in doc/my_test_suite.lua examples/compat_luaunit_v2x.lua examples/example_with_luaunit.lua \
    examples/some_lists_comparisons.lua examples/test_with_err_fail_pass.lua; do
  [ -e "$examples/$example" ] || continue # documents may have been left out of an installation
  for format in text tap nil; do
    compare "$example $format" /dev/null "$examples/$example" -o "$format" -v
  done
done
for flags in "-o text" "-o tap -v" "-o junit -n report" "-p TestStrings" "-x TestStrings" "TestNumbers.test_close" "--help"; do
  # shellcheck disable=SC2086
  compare "own suite $flags" /dev/null "$TESTSUITE/programs/luaunit_suite.lua" $flags
done
finish
