# SPDX-License-Identifier: MIT
# What another user put in the way, or asks for, where both may write: nothing is overwritten,
# removed, made or obeyed for them; and a program with privileges of its own does not lend them
# to whoever started it. (Directories are without the sticky bit: with it, and with the usual
# settings of the kernel, fs.protected_symlinks and its like, some of these cannot be tried.)
. "$TESTSUITE/faults/_faults.sh"
need_root "be two users"
need_reachable_programs
chmod 755 . && mkdir -m 777 theirs && mkdir -m 700 home
echo precious >home/precious
unset SAROS_EVENTRING_START SAROS_EVENTRING_PRESERVE
untouched() { is "$1: the file" precious "$(cat home/precious)"; }
# owned WHAT FILE: it is ours, for us alone, and no link
owned() { is "$1: owner and mode" "0 600 regular file" "$(stat -c '%u %a %F' "$2" 2>&1)"; }

"$SAROS" -e 'require "saros.eventring".start() while not io.open "stop" do local t = {} end' &
host=$!
await $host

# ---- Outputs

as_nobody ln -s "$PWD/home/precious" theirs/report
"$EVENTRING" stats --seconds 0.05 -o theirs/report $host || fail "stats -o in the place of a link: $?"
untouched "stats -o"
owned "stats -o" theirs/report
as_nobody mkfifo theirs/fifo
timeout $PATIENCE "$EVENTRING" stats --seconds 0.05 -o theirs/fifo $host 2>errors.txt
is "stats -o into another user's FIFO" 1 $?
has "stats -o into another user's FIFO" "not permitted" "$(cat errors.txt)"
# what the user names, as ever
"$EVENTRING" stats --seconds 0.05 -o report $host && "$EVENTRING" stats --seconds 0.05 -o report $host ||
  fail "stats -o twice: $?"
owned "stats -o twice" report
"$EVENTRING" stats --seconds 0.05 -o /dev/null $host || fail "stats -o /dev/null: $?"
[ -c /dev/null ] || fail "/dev/null is gone"
[ "$("$EVENTRING" stats --seconds 0.05 -o /dev/stdout $host | wc -l)" -gt 5 ] || fail "-o /dev/stdout"
"$EVENTRING" stats --seconds 0.05 -o /dev/stdout $host >redirected || fail "-o /dev/stdout >FILE"
[ "$(wc -l <redirected)" -gt 5 ] || fail "-o /dev/stdout >FILE: nothing is there"
mkfifo mine
cat mine >through & 
"$EVENTRING" stats --seconds 0.05 -o mine $host || fail "-o into a FIFO of one's own: $?"
wait $! && [ "$(wc -l <through)" -gt 5 ] || fail "-o into a FIFO of one's own: nothing came"
"$EVENTRING" record -q --seconds 0.05 -o /dev/null $host || fail "record -o /dev/null: $?"

# A link that leads to a device when it is looked at, and to a file when it is opened
as_nobody bash -c 'cd theirs && ln -s /dev/null a && ln -s "$1" b &&
  while [ ! -e stop ]; do ln -sfn /dev/null raced; ln -sfn "$1" raced; done' _ "$PWD/home/precious" &
racer=$!
until_so [ -L theirs/raced ]
for _ in $(seq 20); do
  "$EVENTRING" record -q --seconds 0.001 -o theirs/raced $host 2>/dev/null
  [ "$(cat home/precious)" = precious ] || break
done
touch theirs/stop
wait $racer
untouched "record -o in a race"

# The file beside that of SAROS_MEMPROF_DUMP, whose name could be foreseen
planted() { # WHAT COMMAND: what has the name theirs/dump.txt.tmp-PID
  rm -f theirs/dump* theirs/go theirs/pid*
  (umask 0
   SAROS_MEMPROF=1 SAROS_MEMPROF_DUMP=$PWD/theirs/dump.txt exec timeout $PATIENCE sh -c "echo \$\$ >theirs/pid.new
     mv theirs/pid.new theirs/pid; until [ -e theirs/go ]; do sleep 0.02; done
     exec '$SAROS' -e 'x = {} collectgarbage() collectgarbage()'" 2>errors.txt) &
  program=$!
  until_so [ -s theirs/pid ]
  as_nobody sh -c "$2 theirs/dump.txt.tmp-$(cat theirs/pid)" || fail "$1: cannot be planted"
  touch theirs/go
  wait $program || fail "SAROS_MEMPROF_DUMP beside $1: status $?"
  untouched "SAROS_MEMPROF_DUMP beside $1"
  owned "SAROS_MEMPROF_DUMP beside $1" theirs/dump.txt
}
planted "a link" "ln -s '$PWD/home/precious'"
planted "a FIFO" mkfifo
planted "a file" "umask 0; touch"

# ---- Commands

as_nobody mkfifo theirs/commands
timeout 10 "$EVENTRING" record -q --seconds 0.2 --command-fifo theirs/commands -o commanded $host \
  2>errors.txt &
recorder=$!
# (it may have ended before anybody reads)
as_nobody timeout 2 sh -c "echo 'snapshot $PWD/home/.profile' >theirs/commands"
wait $recorder
is "another user's FIFO: status" 1 $?
has "another user's FIFO" "another user's" "$(cat errors.txt)"
[ ! -e home/.profile ] || fail "another user's command was obeyed"
mkfifo home/commands
as_nobody ln -s "$PWD/home/commands" theirs/linked
timeout $PATIENCE "$EVENTRING" record -q --seconds 0.2 --command-fifo theirs/linked -o linked $host 2>errors.txt
is "a link to a FIFO: status" 1 $?
has "a link to a FIFO" "symbolic link" "$(cat errors.txt)"

# ---- Directories

touch stop && wait $host
mkdir kept
SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_PREFIX=kept "$SAROS" program.lua >/dev/null
kept=$(echo kept/*.eventring)
[ -s "$kept" ] || fail "no recording was preserved"
cat >exchanged <<END
"$SAROS" program.lua
directory=\$(echo theirs/eventring-*)
setpriv --reuid=65534 --regid=65534 --clear-groups sh -c "mv \$directory theirs/away &&
  ln -s '$PWD/kept' \$directory"
exit 7
END
SAROS_EVENTRING_PREFIX=$PWD/theirs "$EVENTRING" stats -- bash exchanged >/dev/null 2>errors.txt
is "an exchanged directory: status" 7 $?
[ -s "$kept" ] || fail "a recording was removed that another user's link led to"
is "an exchanged directory: what was ours" "" "$(find theirs/away -name '*.eventring')"
has "an exchanged directory" "something else" "$(cat errors.txt)"

as_nobody ln -s "$PWD/home" theirs/snapshots
cat >fires.lua <<'END'
local eventring = require "saros.eventring"
eventring.span("x", function() end)
for i = 1, 20 do collectgarbage() end
END
fires() { # DIRECTORY: what came of it
  SAROS_EVENTRING_START=1 SAROS_EVENTRING_PREFIX=$PWD/kept \
    SAROS_EVENTRING_TRIGGER="span(\"x\") > 0ns, dir=$1, max=1" "$SAROS" fires.lua 2>errors.txt
}
fires "$PWD/theirs/snapshots" || fail "dir= of a trigger: status $?"
is "dir= through another user's link" "" "$(find home -name '*.eventring')"
has "dir= through another user's link" "symbolic link of another user" "$(cat errors.txt)"
fires "$PWD/theirs/snapshots/below"
[ ! -e home/below ] || fail "a directory was made behind another user's link"
mkdir -m 700 snapshots && ln -s snapshots own-link
fires "$PWD/own-link" || fail "dir= through one's own link: status $?"
is "dir= through one's own link" "1 " "$(find snapshots -name '*-trigger*.eventring' | wc -l) $(cat errors.txt)"
fires "$PWD/made" || fail "dir= that is not there: status $?"
is "dir= that is not there" 1 "$(find made -name '*-trigger*.eventring' | wc -l)"

# ---- Privileges

if grep -q ' nosuid\|,nosuid' <(findmnt -n -o OPTIONS -T theirs); then
  echo "(set-group-id programs are not run from here)"
  finish
fi
# AddressSanitizer does not work in a process that is not dumpable: see test_privileges.sh
grep -q __asan_init "$SAROS" && finish
group=64321 # of nobody's
rm -rf theirs && mkdir -m 777 theirs && mkdir -m 2770 granted && chown 0:$group granted
cp "$SAROS" privileged && chown 0:$group privileged && chmod 2755 privileged
cp "$SAROS" plain && chmod 755 plain
cat >waits.lua <<'END'
local eventring = require "saros.eventring"
assert(eventring.start())
while not io.open "stop" do
  eventring.span("x", function() end)
  collectgarbage()
end
os.exit(7, true)
END
# Writes a list of triggers into the control page, whatever the commands say
cat >page.py <<'END'
import mmap, struct, sys
with open(sys.argv[1], "r+b") as file:
    page = mmap.mmap(file.fileno(), 65536)
    text, at = sys.argv[2].encode(), 8192
    version = struct.unpack_from("<I", page, at + 3072)[0]
    page[at + 3080:at + 3080 + len(text)] = text
    struct.pack_into("<I", page, at + 3076, len(text))
    struct.pack_into("<I", page, at + 3072, version + 2)
END
# asks PROGRAM DIRECTORY: a user has it make DIRECTORY, in each way; sets `answer` and `retained`
asks() {
  (cd theirs && as_nobody sh -c "rm -f stop; echo \$\$ >pid; exec ../$1 ../waits.lua") 2>/dev/null &
  program=$!
  until_so eval '[ -s theirs/pid ] && [ -e theirs/$(cat theirs/pid).eventring ]'
  local file=theirs/$(cat theirs/pid).eventring
  until_so as_nobody "$EVENTRING" show "$file" >/dev/null 2>&1
  local trigger="span(\"x\") > 0ns, dir=$2"
  answer=$(as_nobody "$EVENTRING" control "$file" --trigger "$trigger/1, max=1" 2>&1)
  retained=$(as_nobody timeout $PATIENCE "$EVENTRING" retain --wait 2 "$file" 2>&1)
  # the list that page.py writes replaces this one, which must have been seen before
  for _ in 1 2 3 4 5 6 7 8 9 10; do [ -d "$2/1" ] && break; sleep 0.1; done
  # (the interpreter of Python may be closed to that user)
  command -v python3 >/dev/null && python3 page.py "$file" "$trigger/2, max=1"
  paused=$(as_nobody "$EVENTRING" control "$file" --pause 2>&1; echo $?)
  resumed=$(as_nobody "$EVENTRING" control "$file" --resume 2>&1; echo $?)
  sleep 0.5 # five times as long as it takes to see the list
  touch theirs/stop
  wait $program
  find theirs -maxdepth 1 -type f -delete
}
as_nobody mkdir theirs/own && chmod 2777 theirs
asks plain "$PWD/theirs/own"
[ -d theirs/own/1 ] || fail "a trigger of a plain program makes no copy: $answer"
asks privileged "$PWD/granted"
is "what was made with the group's rights" "" "$(ls granted)"
has "triggers" "privileges of its own" "$answer"
has "questions" "privileges of its own" "$retained"
has "pause and resume stay" "0 0" "${paused##*$'\n'} ${resumed##*$'\n'}"

# Settings of whoever started it
run() { as_nobody env "$@" ./privileged -e 'print(require "saros.eventring".path(), package.path)' 2>&1; }
is "without settings" "nil" "$(run A=1 | cut -f 1)"
for setting in SAROS_PROFILE=calls LUA_INIT='print "theirs"' LUA_PATH='/theirs/?.lua'; do
  is "$setting" "$(run A=1)" "$(run "$setting")"
done
finish
