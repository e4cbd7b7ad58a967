# SPDX-License-Identifier: MIT
# Sourced by the tests of what may go wrong around a recording. A recorded program must do
# what it does unrecorded, whatever happens to the recording.
. "$TESTSUITE/recording/_recording.sh"

# What the programs print and how they end; a status that no failure has.
cat >program.lua <<'END'
local t = {}
for i = 1, 20000 do t[i % 100] = {i} end
io.write("ran\n")
os.exit(7, true)
END

errors=$PWD/errors.txt # what the program said last, wherever it runs

# apart COMMAND...: in a shell of its own (another directory, in the background), whose
# failures are its status
apart() { (failures=0; "$@"; exit $((failures > 0))); }

# unrecorded WHAT COMMAND...: it runs as if it were not recorded, with one warning
unrecorded() {
  local what=$1 output status
  shift
  output=$("$@" 2>"$errors")
  status=$?
  is "$what: status" 7 "$status"
  is "$what: output" ran "$output"
  is "$what: lines on standard error" 1 "$(wc -l <"$errors")"
  has "$what: warning" "warning: " "$(cat "$errors")"
}

# undisturbed WHAT COMMAND...: the same, recorded or not, with at most one warning
undisturbed() {
  local what=$1 output status
  shift
  output=$("$@" 2>"$errors")
  status=$?
  is "$what: status" 7 "$status"
  is "$what: output" ran "$output"
  [ "$(wc -l <"$errors")" -le 1 ] || fail "$what: $(cat "$errors")"
}

no_file_in() { is "$1: files left" "" "$(find "$2" -name '*.eventring')"; }

# as_nobody COMMAND...: as a user who owns nothing here
as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }

need_root() {
  [ "$(id -u)" -eq 0 ] || { echo "only root can $1"; exit 77; }
  command -v setpriv >/dev/null ||
    { echo "setpriv is missing (Debian package: util-linux)"; exit 77; }
}

# When programs cannot be reached by another user, tests with one prove nothing.
need_reachable_programs() {
  # setpriv itself still has the privileges of root when it starts a program
  as_nobody timeout $PATIENCE "$SAROS" -e 'os.exit(7)' 2>/dev/null
  [ $? -eq 7 ] || { echo "the build directory is closed to other users"; exit 77; }
}

# the programs exit with 7: what an error leaves is the subject of test_kept_on_error.sh
export SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=0
