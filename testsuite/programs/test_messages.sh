# SPDX-License-Identifier: MIT
# Error messages: of wrong programs, of the standard library's functions given wrong
# arguments, and of what the system refuses.
. "$TESTSUITE/programs/_compare.sh"
for name in messages arguments files; do
  compare "$name" /dev/null "$TESTSUITE/programs/$name.lua"
done
finish
