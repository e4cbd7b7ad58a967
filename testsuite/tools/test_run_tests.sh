#!/bin/bash
# SPDX-License-Identifier: MIT
# The runner of the tests: what it counts, and what it does with a test that fails once.

. "$TESTSUITE/_checks.sh"

mkdir -p suite/tools suite/lua logs
cp "$TESTSUITE/run-tests.sh" suite/
cat >suite/tools/test_good.sh <<'END'
exit 0
END
cat >suite/tools/test_bad.sh <<'END'
echo "FAILED: always"
exit 1
END
cat >suite/tools/test_skipped.sh <<'END'
echo "no such machine"
exit 77
END
# Fails when it runs for the first time.
cat >suite/tools/test_once.sh <<END
[ -e "$PWD/was_here" ] && exit 0
touch "$PWD/was_here"
echo "FAILED: the first time"
exit 1
END

# Leaves a process running.
cat >suite/tools/test_leaves.sh <<END
sleep 1000 &
echo \$! >"$PWD/left"
END

run() { # [OPTION...]: status in $status, output in out
  SAROS=/bin/true EVENTRING=/bin/true bash suite/run-tests.sh --builddir="$PWD/build" --jobs=2 "$@" >out 2>&1
  status=$?
}

last() { tail -n 1 out; }

run
is "status of a run with a failed test" 1 "$status"
is "counts" "3 passed, 1 failed, 1 skipped" "$(last)"
has "a test that passes alone is reported" "FLAKY tools/test_once.sh: " "$(cat out)"
has "with what it printed at first" "FAILED: the first time" "$(cat out)"
is "flaky tests" 1 "$(grep -c '^FLAKY' out)"
gone() { ! kill -0 "$(cat left)" 2>/dev/null || grep -q '^State:.Z' "/proc/$(cat left)/status"; }
until_so gone || fail "what a test leaves running is not ended"
has "a skip has its reason" "SKIP tools/test_skipped.sh: no such machine" "$(cat out)"

run --only=good --only=once
is "status of a run without failures" 0 "$status"
is "counts of --only" "2 passed, 0 failed" "$(last)"

run --except=bad --except=skipped --except=leaves
is "counts of --except" "2 passed, 0 failed" "$(last)"

rm was_here
RETRIES=0 run --only=once
is "status when no test runs again" 1 "$status"
is "counts when no test runs again" "0 passed, 1 failed" "$(last)"
finish
