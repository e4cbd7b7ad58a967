# SPDX-License-Identifier: MIT
# Another user's recording is refused in clean words; a set-user-id program does
# not take its settings from its caller's environment.
. "$TESTSUITE/faults/_faults.sh"
need_root "be two users"
need_reachable_programs
# A process that changed its user is not dumpable: the sanitizers' runtime can
# neither read its own settings there nor look for leaks, and ends it.
grep -q __asan_init "$SAROS" && { echo "AddressSanitizer does not work in a process that changed its user"; exit 77; }
chmod 755 . && mkdir -m 777 theirs

"$SAROS" -e 'while true do local t = {} end' &
pid=$!
await $pid
refused() { # WHAT COMMAND...
  local what=$1
  shift
  as_nobody timeout $PATIENCE "$@" >output.txt 2>errors.txt
  is "$what: status" 1 $?
  has "$what: message" "ermission denied" "$(cat errors.txt)"
}
for command in show dump stats; do
  refused "$command of another user's file" "$EVENTRING" $command $pid.eventring
  refused "$command of another user's process" "$EVENTRING" $command $pid
done
refused "snapshot of another user's process" "$EVENTRING" snapshot -o theirs/copy $pid
as_nobody "$EVENTRING" list >list.txt 2>&1 || fail "list: status $?"
kill $pid
wait $pid 2>/dev/null

# What belongs to another user in the place of our file: left as it is, even where we
# might remove it. `as_nobody` first runs a shell, whose pid the program then has.
in_the_way() { # WHAT DIRECTORY [as_nobody]
  local what=$1 directory=$2 before
  shift 2
  SAROS_EVENTRING_PREFIX=$directory apart unrecorded "$what" "$@" \
    sh -c "until [ -e $directory/go ]; do echo \$\$ >$directory/pid.new; mv $directory/pid.new $directory/pid; sleep 0.02; done; exec \"$SAROS\" $(printf %q "$PWD/program.lua")" &
  program=$!
  until_so [ -s "$directory/pid" ]
  old="$directory/$(cat "$directory/pid").eventring"
  cp precious "$old" && chmod 644 "$old" && chown "$owner" "$old"
  touch "$directory/go"
  wait $program || fail "$what"
  is "$what: the file" "precious" "$(cat "$old")"
  is "$what: its owner" "$owner" "$(stat -c %u "$old")"
  has "$what: warning" "another user" "$(cat errors.txt)"
  rm -f "$old" "$directory/go" "$directory/pid"
}
echo precious >precious
mkdir -m 1777 sticky
owner=0 in_the_way "root's file in a directory like /tmp" "$PWD/sticky" as_nobody
owner=0 in_the_way "root's file in a directory of all" "$PWD/theirs" as_nobody
owner=65534 in_the_way "another user's file in the way of root's" "$PWD/sticky"

# A process that gives up root reads its own recording by whatever name; the child that it
# then forks has a file that the new user can read.
if "$SAROS" -e 'require "ffi"' 2>/dev/null; then
  cat >gives_up.lua <<'END'
local ffi, eventring = require "ffi", require "eventring"
ffi.cdef [[int setresuid(unsigned, unsigned, unsigned); int setresgid(unsigned, unsigned, unsigned);
  int getpid(void); int fork(void); int waitpid(int, int *, int);]]
eventring.event "as root"
assert(ffi.C.setresgid(65534, 65534, 65534) == 0 and ffi.C.setresuid(65534, 65534, 65534) == 0)
eventring.event "as nobody"
for name, options in pairs{self = {}, pid = {pid = ffi.C.getpid()}, path = {path = eventring.path()}} do
  local cursor <close> = assert(eventring.cursor(options))
  local n = 0
  cursor:poll {user_event = function() n = n + 1 end}
  assert(n == 2, name)
  cursor:info()
end
local child = ffi.C.fork()
if child == 0 then
  eventring.event "as nobody's child"
  assert(os.execute(arg[1] .. " show " .. eventring.path() .. " >/dev/null"))
  os.exit(0, true)
end
local status = ffi.new "int[1]"
ffi.C.waitpid(child, status, 0)
assert(status[0] == 0)
print "ran"
END
  mkdir -m 755 given && chown 65534 given
  output=$(SAROS_EVENTRING_PREFIX=$PWD/given "$SAROS" gives_up.lua "$EVENTRING" 2>&1)
  is "root given up" "0 ran" "$? $output"
  is "root given up: files" "" "$(find given -name '*.eventring')"
fi

cp "$SAROS" theirs/saros && chown 65534 theirs/saros && chmod 4755 theirs/saros
if grep -q ' nosuid\|,nosuid' <(findmnt -n -o OPTIONS -T theirs); then
  echo "(set-user-id programs are not run from here)"
else
  SAROS_EVENTRING_PREFIX=$PWD/theirs theirs/saros program.lua >output.txt 2>errors.txt
  is "set-user-id: status" 7 $?
  is "set-user-id: output and warnings" ran "$(cat output.txt errors.txt)"
  SAROS_EVENTRING_PREFIX=nowhere theirs/saros program.lua >output.txt 2>errors.txt
  is "set-user-id, bad settings: output and warnings" ran "$(cat output.txt errors.txt)"
  SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_PREFIX=$PWD/theirs theirs/saros program.lua >/dev/null
  is "set-user-id: files" "" "$(find theirs -name '*.eventring' -type f)"
fi
finish
