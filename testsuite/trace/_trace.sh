# Sourced by the tests of traced guest programs.

command -v jq >/dev/null || { echo "jq is missing (Debian package: jq)"; exit 77; }
unset SAROS_EVENTRING_START SAROS_EVENTRING_PREFIX SAROS_EVENTRING_PRESERVE \
      SAROS_EVENTRING_WSIZE SAROS_EVENTRING_CLASSES
failures=0

fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
finish() { [ "$failures" -eq 0 ] || { echo "$failures checks failed"; exit 1; }; exit 0; }

# is WHAT EXPECTED ACTUAL
is() { [ "$2" = "$3" ] || fail "$1: expected '$2', got '$3'"; }

# has WHAT TEXT WHOLE: the text occurs in the whole
has() { [[ $3 == *"$2"* ]] || fail "$1: no '$2' in: $3"; }

# await PID: until that process records
await() {
  for _ in $(seq 1000); do
    "$EVENTRING" show "$1" >/dev/null 2>&1 && return
    sleep 0.01
  done
  fail "process $1 does not record"
}
