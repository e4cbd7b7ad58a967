#!/bin/bash
# SPDX-License-Identifier: MIT
# coverage.sh SOURCE_TREE [TEST_PATTERN...]: which branches of libeventring do the tests take?
#
# Builds in ./coverage (kept: the next run compiles what has changed), with gcc's --coverage and
# without inlining of templates, whose copies would count several times; runs the tests of the
# recorder there; prints report.py's table, and into coverage/lines.txt each line with a branch
# that was not taken. Some tests of scarce resources fail in such a build, because its objects
# write their counts when a program ends: the verdicts here are shown, those of the plain
# build count.
set -eu
tree=$(cd "$1" && pwd)
shift
for tool in gcc gcov python3; do
  command -v $tool >/dev/null || { echo "$tool is missing (Debian packages: gcc, python3)"; exit 1; }
done
[ $# -gt 0 ] || set -- unit/eventring concurrency/eventring faults/ format/ tools/ mutations \
  lua/stdlib/eventring recording/test_control_word recording/test_k recording/test_lapped \
  recording/test_reach recording/test_standby recording/test_stream recording/test_reasons
# Tests run programs as other users, whose counts are to be written, too.
umask 0
mkdir -p coverage
cd coverage
[ -e Makefile ] || "$tree/configure" CC=gcc --quiet \
  CFLAGS="-O0 -g --coverage -fprofile-update=atomic -Dalways_inline=noinline -Wno-attributes"
find . -name '*.gcda' -delete
programs=$(make -s -f Makefile -f - list <<'END'
list: ; @echo $(filter testsuite/unit/eventring% testsuite/concurrency/% testsuite/faults/% \
  testsuite/format/% testsuite/tools/% testsuite/fuzz/mutations_test,$(check_PROGRAMS))
END
)
# shellcheck disable=SC2086
make -s -j"$(nproc)" saros eventring/eventring $programs >build.log 2>&1 ||
  { tail -n 20 build.log; exit 1; }
bash "$tree/testsuite/run-tests.sh" --builddir="$PWD" --unit="$programs" "${@/#/--only=}" \
  >check.log 2>&1 || true
grep -E '^(FAIL|SKIP) |^[0-9]+ passed' check.log | sort -u
python3 "$tree/testsuite/coverage/report.py" "$tree" . --lines >lines.txt && status=0 || status=$?
sed '/^Not taken:/,$d' lines.txt
exit $status
