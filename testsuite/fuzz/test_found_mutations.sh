# SPDX-License-Identifier: MIT
# Damaged files that once were read wrongly (some only seen by sanitizers): asked all questions
# again, or read for too long. A program (questions_test, mutations_test) makes each of them from its
# number and a seed, and says what is wrong.
. "$TESTSUITE/_checks.sh"

found() { # PROGRAM NUMBER SEED
  (cd "$(mktemp -d ./found.XXXXXX)" &&
    SRCDIR=$SRCDIR "$BUILDDIR/testsuite/fuzz/$1" $(($2 + 1)) "$3" "$2" >found.txt 2>&1) ||
    fail "$1, mutation $2 of seed $3: $? ($(tail -qn 2 found.*/questions.err found.*/found.txt 2>/dev/null))"
}
found questions_test 404 0xa708a824f612c926 # openmetrics: a time beyond all clocks
found mutations_test 17765 0x5a05 # thousands of units that are not there, each looked at by itself
finish
