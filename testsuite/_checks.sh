# SPDX-License-Identifier: MIT
# Sourced by scripts: checks that say what they expected, and waiting for another
# process. A check that fails is told, and the script goes on.
#
# However the script ends, its status is 1 if a check has failed, also one in a subshell or
# a pipeline (`finish` is a plain end), and if it called a command that does not exist. Only
# `exec` as the last command takes the place of all this.
failures=0
failed_checks=${TMPDIR:-/tmp}/saros-failed-checks.$$ # a line each; not there if there are none
rm -f "$failed_checks"

fail() { echo "FAILED: $*"; failures=$((failures + 1)); echo "$*" >>"$failed_checks"; }
finish() { exit 0; }
command_not_found_handle() { fail "no command '$1' (line ${BASH_LINENO[0]})" >&2; return 127; }

# trap COMMAND EXIT: what a script has to do at its end, the newest first
at_end=
trap() {
  if [ "${2-}" = EXIT ]; then at_end="$1; $at_end"; else builtin trap "$@"; fi
}

end_of_checks() {
  local status=$?
  builtin trap - EXIT
  eval "$at_end"
  if [ -e "$failed_checks" ]; then
    echo "$(wc -l <"$failed_checks") checks failed"
    rm -f "$failed_checks"
    exit 1
  fi
  exit $status
}
builtin trap end_of_checks EXIT

# is WHAT EXPECTED ACTUAL
is() { [ "$2" = "$3" ] || fail "$1: expected '$2', got '$3'"; }

# says_nothing WHAT COMMAND...: it ends with status 0, and writes nothing (what a script that ends
# with an error does not find is not nothing)
says_nothing() {
  local said status
  said=$("${@:2}" 2>&1)
  status=$?
  [ "$status" -eq 0 ] && [ -z "$said" ] || fail "$1: status $status: $said"
}

# is_same WHAT ONE OTHER: two things that were found out, which are not nothing
is_same() {
  is "$@"
  [ -n "$2" ] || fail "$1: nothing was found out"
}

# has WHAT TEXT WHOLE: the text occurs in the whole
has() { [[ $3 == *"$2"* ]] || fail "$1: no '$2' in: $3"; }

# A file that is not there has nothing in it: "no line matches" would hold for the wrong reason.
# So a grep that cannot read what it is given is a failed check. With -s (a file that another
# process is about to make) it is not, nor where who reads from it has read enough (SIGPIPE).
grep() {
  local status
  command grep "$@"
  status=$?
  [ $status -lt 2 ] || [ $status -eq 141 ] || [[ " $* " =~ " -"[a-zA-Z]*s ]] || fail "grep $*: status $status" >&2
  return $status
}

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
