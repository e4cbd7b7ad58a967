# SPDX-License-Identifier: MIT
# A directory that cannot be used: one warning that names it, the program runs on.
. "$TESTSUITE/faults/_faults.sh"

in_directory() { # WHAT TEXT DIRECTORY
  SAROS_EVENTRING_PREFIX=$3 unrecorded "$1" "$SAROS" program.lua
  has "$1: warning" "$2" "$(cat errors.txt)"
}
touch file
mkdir gone
in_directory "missing" "nowhere/at/all" nowhere/at/all
in_directory "a file" "file" file
in_directory "too long" "$(printf 'd%.0s' {1..100})" "$(printf 'd%.0s' {1..300})"
in_directory "much too long" "$(printf 'd/%.0s' {1..50})" "$(printf 'd/%.0s' {1..4000})"
in_directory "no directory can be made here" /proc /proc
in_no_directory() {
  cd gone && rmdir "$OLDPWD/gone" || fail "cannot go there"
  unrecorded "the current directory is gone" "$SAROS" "$OLDPWD/program.lua"
}
apart in_no_directory || fail "the current directory is gone"

if [ "$(id -u)" -eq 0 ]; then
  need_root "become another user"
  need_reachable_programs
  chmod 755 . && chmod 644 program.lua && mkdir -m 755 closed
  SAROS_EVENTRING_PREFIX=$PWD/closed unrecorded unwritable as_nobody "$SAROS" program.lua
else
  mkdir -m 555 closed
  SAROS_EVENTRING_PREFIX=$PWD/closed unrecorded unwritable "$SAROS" program.lua
fi
has "unwritable: warning" "Permission denied" "$(cat errors.txt)"
no_file_in unwritable .

# ---- Nobody names a directory, and the current one cannot be used

unset SAROS_EVENTRING_PREFIX
me=$(id -u) as=
[ "$me" -ne 0 ] || { me=65534 as=as_nobody; }
mkdir -m 1777 shared
mkdir -m 700 runtime && mkdir -m 777 unsafe && ln -s runtime link
[ -z "$as" ] || { chown $me runtime unsafe; mkdir -m 755 roots; }

# elsewhere WHAT DIRECTORY XDG_RUNTIME_DIR: the recording is in DIRECTORY, and a line says so
elsewhere() {
  local output
  output=$(cd closed && XDG_RUNTIME_DIR=$3 $as "$SAROS" -e \
    'io.write(require "eventring".path():match "^(.*)/", " ran") os.exit(7, true)' 2>"$errors")
  is "elsewhere, $1: status, directory, output" "7 $2 ran" "$? $output"
  is "elsewhere, $1: lines on standard error" 1 "$(wc -l <"$errors")"
  has "elsewhere, $1: warning" "warning: the recording is $2/" "$(cat "$errors")"
  has "elsewhere, $1: reason" "closed/" "$(cat "$errors")"
  no_file_in "elsewhere, $1" .
}
elsewhere "of the session" "$PWD/runtime" "$PWD/runtime"
elsewhere "by a link of the user" "$PWD/runtime" "$PWD/link"
elsewhere "no session" /tmp ""
elsewhere "not absolute" /tmp runtime
elsewhere "missing" /tmp "$PWD/missing"
elsewhere "others may rename there" /tmp "$PWD/unsafe"
elsewhere "sticky" "$PWD/shared" "$PWD/shared"
[ -z "$as" ] || elsewhere "not writable" /tmp "$PWD/roots"
[ -z "$as" ] || { mkdir -m 700 roots/own && elsewhere "another user's" /tmp "$PWD/roots/own"; }

# a child that has changed its directory has its file beside its parent's
output=$(cd closed && XDG_RUNTIME_DIR=$PWD/../runtime $as "$SAROS" -e '
  local ok, ffi = pcall(require, "ffi")
  if not ok then print "2 no ffi" os.exit() end
  ffi.cdef "int fork(void); int chdir(const char *); int waitpid(int, int *, int);"
  local path = require "eventring".path
  local directory, pid = path():match "^(.*)/", ffi.C.fork()
  if pid == 0 then
    ffi.C.chdir "/"
    io.stderr:write(path():match "^(.*)/" == directory and "beside\n" or path() .. "\n")
    os.exit(0, true)
  end
  ffi.C.waitpid(pid, nil, 0)' 2>&1 >/dev/null)
[[ $output == *$'\nbeside'* || $output == *"no ffi" ]] || fail "a child: $output"

# what died there is found, said with its directory, and removed
(cd closed && XDG_RUNTIME_DIR=$OLDPWD/runtime $as "$SAROS" -e 'require "eventring".event "x"
  local f <close> = io.open("/proc/self/stat") print(f:read "n") io.stdout:flush()
  while true do end' >../pid.txt 2>/dev/null) &
until_so [ -s pid.txt ] || fail "nothing records"
pid=$(cat pid.txt)
kill -KILL "$pid"
wait $! 2>/dev/null
has "list" "$PWD/runtime/$pid.eventring" "$(cd closed && XDG_RUNTIME_DIR=$OLDPWD/runtime $as "$EVENTRING" list)"
has "clean" "removed $PWD/runtime/$pid.eventring" \
  "$(cd closed && XDG_RUNTIME_DIR=$OLDPWD/runtime $as "$EVENTRING" clean)"
no_file_in "clean" .

# in_place WHAT TEXT COMMAND: what another user has put where the file in /tmp is to be
# (`$place`): a warning, and nothing else
in_place() {
  rm -f shared/pid.txt shared/go
  (cd closed && apart unrecorded "in /tmp, $1" env -u XDG_RUNTIME_DIR ${as:+setpriv --reuid=65534 --regid=65534 --clear-groups} \
    sh -c "echo \$\$ >../shared/pid.txt; until [ -e ../shared/go ]; do sleep 0.02; done; exec \"$SAROS\" ../program.lua") &
  until_so [ -s shared/pid.txt ]
  place=/tmp/$(cat shared/pid.txt).eventring
  eval "$3"
  touch shared/go
  wait $! || fail "in /tmp, $1"
  has "in /tmp, $1: warning" "$2" "$(cat "$errors")"
  [ -e "$place" ] || [ -L "$place" ] || fail "in /tmp, $1: it is gone"
  rm -rf "$place" shared/pid.txt
  is "in /tmp, $1: other files" "precious" "$(cat precious)"
}
echo precious >precious
chmod 666 precious
in_place "a link to a file" "a symbolic link" 'ln -s "$PWD/precious" "$place"'
in_place "a link to nothing" "a symbolic link" 'ln -s "$PWD/runtime/made" "$place"'
[ ! -e runtime/made ] || fail "in /tmp: a link was followed"
in_place "a directory" "not a regular file" 'mkdir "$place"'
in_place "a pipe" "not a regular file" 'mkfifo -m 666 "$place"'
[ -z "$as" ] || in_place "another user's file" "another user" 'cp precious "$place" && chmod 666 "$place"'
finish
