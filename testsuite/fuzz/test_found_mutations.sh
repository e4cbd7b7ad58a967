# SPDX-License-Identifier: MIT
# Damaged files that once were read wrongly (some only seen by sanitizers): asked all questions
# again. FOUND(number, seed) of questions_test, whose output says what is wrong.
. "$TESTSUITE/_checks.sh"

found() {
  (cd "$(mktemp -d ./found.XXXXXX)" &&
    SRCDIR=$SRCDIR "$BUILDDIR/testsuite/fuzz/questions_test" $(($1 + 1)) "$2" "$1" >found.txt 2>&1) ||
    fail "mutation $1 of seed $2: $? ($(tail -2 found.*/questions.err 2>/dev/null))"
}
found 404 0xa708a824f612c926 # openmetrics: a time beyond all clocks
finish
