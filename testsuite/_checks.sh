# SPDX-License-Identifier: MIT
# Sourced by scripts: checks that say what they expected, and waiting for another
# process. A check that fails is told, and the script goes on to its `finish`.
failures=0

fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
finish() { [ "$failures" -eq 0 ] || { echo "$failures checks failed"; exit 1; }; exit 0; }

# is WHAT EXPECTED ACTUAL
is() { [ "$2" = "$3" ] || fail "$1: expected '$2', got '$3'"; }

# has WHAT TEXT WHOLE: the text occurs in the whole
has() { [[ $3 == *"$2"* ]] || fail "$1: no '$2' in: $3"; }

# How long what must end is waited for, seconds. Nothing is measured by it: on a machine
# that stood still for a while, a test takes longer and passes.
PATIENCE=$((60 * ${TEST_SLOWNESS:-1}))

# until_so COMMAND...: waits until the command succeeds; its last status
until_so() {
  local end=$((SECONDS + PATIENCE))
  until "$@"; do
    [ $SECONDS -le $end ] || return 1
    sleep 0.01
  done
}

# await PID: until that process records
await() { until_so shows "$1" || fail "process $1 does not record"; }

# attached PID: until that reader has a recording open, and a little longer: it looks at
# the rings next
attached() { until_so has_open "$1" || fail "reader $1 does not get attached"; sleep 0.1; }
has_open() { ls -l "/proc/$1/fd" 2>/dev/null | grep -q '\.eventring$'; }
shows() { "$EVENTRING" show "$1" >/dev/null 2>&1; }
