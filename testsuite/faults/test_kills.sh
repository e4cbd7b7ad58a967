# SPDX-License-Identifier: MIT
# Producers and recorders killed at random moments; kills.py says what is compared. `make kills`
# does it a thousand times.
. "$TESTSUITE/_checks.sh"
[ -x "$SAROS" ] || { echo "there is no interpreter in this build"; exit 77; }
command -v python3 >/dev/null || { echo "python3 is missing (Debian package: python3)"; exit 77; }

TMPDIR=$PWD python3 "$TESTSUITE/faults/kills.py" --kills $((TEST_SLOWNESS > 1 ? 17 : 34)) >kills.txt 2>&1 ||
  fail "status $?: $(cat kills.txt)"
has "all kinds of recordings" "stream with a limit, producer" "$(cat kills.txt)"
finish
