# SPDX-License-Identifier: MIT
# The number of a process that has ended finds what it has left, where `list` looks: in the current
# directory, and in the places of services; a number that a later process has does not.
. "$TESTSUITE/tools/_tools.sh"
unset SAROS_EVENTRING_PREFIX STATE_DIRECTORY XDG_STATE_HOME XDG_RUNTIME_DIR
export HOME=$PWD/home
mkdir -p home/.local/state

# dead: a process that was killed, of the number $pid
dead() { # [VARIABLE=VALUE...]
  (SAROS_EVENTRING_START=1 exec env "$@" "$PRODUCER" --rounds 3 --die >/dev/null 2>&1) &
  pid=$!
}
gone() { wait $pid 2>/dev/null; }

# one that nobody has waited for: its parent is a `sleep` by now
SAROS_EVENTRING_START=1 sh -c '"$0" --rounds 3 --die >/dev/null 2>&1 & echo $! >zombie.pid; exec sleep 1000' "$PRODUCER" &
parent=$!
is_zombie() { pid=$(cat zombie.pid 2>/dev/null) && grep -qs '^State:.Z' /proc/$pid/status; }
until_so is_zombie || fail "no zombie"
"$EVENTRING" autopsy $pid >out.txt 2>errors.txt
is "autopsy of one that nobody has waited for" 0 $?
has "autopsy of one that nobody has waited for" "has ended: this is $pid.eventring" "$(cat errors.txt)"
kill $parent
wait $parent 2>/dev/null
rm -f ./*.eventring

dead
gone
for command in autopsy stats show "heap" "dump" "snapshot -o copy.eventring"; do
  rm -f copy.eventring
  # (the words of the command are to be split)
  "$EVENTRING" $command $pid >out.txt 2>errors.txt
  [ $? -ne 1 ] || grep -q "no heap\|no profile\|memprof" errors.txt out.txt || fail "$command: $(cat errors.txt)"
  has "$command" "process $pid has ended: this is $pid.eventring" "$(cat errors.txt)"
done
is "show" "$pid dead" "$("$EVENTRING" show --json $pid 2>/dev/null | jq -r '"\(.pid) \(.liveness)"')"
ends 1 "no process $pid" "$EVENTRING" control --pause $pid
(mkdir -p empty && cd empty && ends 1 "no process $pid; it has left no recording where" "$EVENTRING" show $pid) ||
  fail "elsewhere"

rm -f ./*.eventring

# a number that another program has now: one that was executed in the place of the first
SAROS_EVENTRING_START=1 "$SAROS" -e 'local ok, ffi = pcall(require, "ffi")
  if not ok then os.exit(0) end
  ffi.cdef "int execlp(const char *, const char *, const char *, void *);"
  ffi.C.execlp("sleep", "sleep", "1000", nil)' &
later=$!
is_sleeping() { [ "$(cat /proc/$later/comm)" = sleep ]; }
if until_so is_sleeping; then
  ends 1 "process $later does not record; $later.eventring is of an earlier process $later" "$EVENTRING" show $later
  kill $later
  wait $later 2>/dev/null
  rm -f ./*.eventring
fi

# services: systemd names the directory, or the user has a place for such files
mkdir -p lib/server
dead STATE_DIRECTORY=$PWD/lib/server:/nowhere
gone
[ -e lib/server/$pid.eventring ] || fail "a service does not record in its directory"
has "list of a service" "$PWD/lib/server/$pid.eventring" "$(STATE_DIRECTORY=$PWD/lib/server "$EVENTRING" list --json)"
is "show of a service" 0 "$(STATE_DIRECTORY=$PWD/lib/server "$EVENTRING" show $pid >/dev/null 2>&1; echo $?)"
dead STATE_DIRECTORY=$PWD/nowhere # it is as none
gone
[ -e $pid.eventring ] || fail "a directory of a service that is not there"
mkdir home/.local/state/saros
mv $pid.eventring home/.local/state/saros/
has "list, the user's place" "home/.local/state/saros/$pid.eventring" "$("$EVENTRING" list --json)"
is "show, the user's place" 0 "$("$EVENTRING" show $pid >/dev/null 2>&1; echo $?)"
mkdir -p state/saros
mv home/.local/state/saros/$pid.eventring state/saros/
is "show, XDG_STATE_HOME" 0 "$(XDG_STATE_HOME=$PWD/state "$EVENTRING" show $pid >/dev/null 2>&1; echo $?)"

# what another user has put where everybody may write is not taken for it
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
  mkdir -m 1777 shared
  mv state/saros/$pid.eventring shared/
  chown 65534 shared/$pid.eventring
  (cd shared && ends 1 "no process $pid" "$EVENTRING" show $pid) || fail "another user's file"
  chmod 755 shared
  (cd shared && "$EVENTRING" show $pid >/dev/null 2>&1) || fail "a user's file in a closed directory"
fi
finish
