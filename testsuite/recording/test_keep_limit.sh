# SPDX-License-Identifier: MIT
# At most SAROS_EVENTRING_KEEP recordings of a program that fails stay in a directory, the
# oldest goes first; nothing else goes.
. "$TESTSUITE/recording/_recording.sh"
export SAROS_EVENTRING_START=1 SAROS_EVENTRING_WSIZE=11

names() { (cd "$1" && ls -- *.eventring 2>/dev/null); }
count() { names "$1" | grep -c .; }
# fail_in DIRECTORY PROGRAM: a failure, in a file of its own whatever its pid is
number=100
fail_in() {
  number=$((number + 1))
  SAROS_EVENTRING_PREFIX=$1 SAROS_EVENTRING_NAME=n$number "$SAROS" "$2" >/dev/null 2>&1
}
kill_in() {
  number=$((number + 1))
  SAROS_EVENTRING_PREFIX=$1 SAROS_EVENTRING_NAME=n$number "$SAROS" killed.lua >/dev/null 2>&1
}
echo 'error "again"' >failing.lua
echo 'os.exit(3)' >other.lua
echo 'return' >fine.lua
# kills itself when it records
echo 'os.execute("kill -9 $PPID; sleep 5")' >killed.lua

mkdir plain && for _ in $(seq 12); do fail_in plain failing.lua; done
is "12 failures" 8 "$(count plain)"
is "12 failures: those kept" "n105 n106 n107 n108 n109 n110 n111 n112" \
  "$(names plain | sed 's/\.eventring//' | paste -sd ' ')"
fail_in plain other.lua
is "another program" 9 "$(count plain)"

mkdir three && export SAROS_EVENTRING_KEEP=3
for _ in 1 2 3 4 5; do fail_in three failing.lua; done
is "at most 3" 3 "$(count three)"
mkdir one && export SAROS_EVENTRING_KEEP=1
for _ in 1 2 3; do fail_in one failing.lua; done
is "at most 1" 1 "$(count one)"
SAROS_EVENTRING_PREFIX=one "$SAROS" fine.lua
SAROS_EVENTRING_PREFIX=one "$SAROS" -e 'error()' 2>/dev/null # of another name
is "the last one does not go for a program that does not fail" n$number \
  "$(for f in one/*; do "$EVENTRING" show --json "$f" | jq -r 'select(.program == "failing.lua") | .path'; done |
     sed 's/.*\///; s/\.eventring//')"

# those that are always preserved, if it is said; what one way keeps the other leaves alone
mkdir preserved && export SAROS_EVENTRING_KEEP=3
for _ in 1 2 3 4 5; do SAROS_EVENTRING_PRESERVE=1 fail_in preserved fine.lua; done
is "at most 3, preserved" 3 "$(count preserved)"
is "at most 3, preserved: the newest" "n$((number - 2)) n$((number - 1)) n$number" \
  "$(names preserved | sed 's/\.eventring//' | sort -V | paste -sd ' ')"
cp fine.lua again.lua && echo 'error "again"' >fine.lua
for _ in 1 2 3 4; do fail_in preserved fine.lua; done
is "at most 3 of each kind" 6 "$(count preserved)"
cp again.lua fine.lua
SAROS_EVENTRING_KEEP=0
for _ in $(seq 9); do SAROS_EVENTRING_PRESERVE=1 fail_in preserved fine.lua; done
for _ in $(seq 9); do fail_in preserved failing.lua; done
is "without a bound" 24 "$(count preserved)"
unset SAROS_EVENTRING_KEEP
mkdir many && for _ in $(seq 12); do SAROS_EVENTRING_PRESERVE=1 fail_in many fine.lua; done
is "without a bound, unless it is said" 12 "$(count many)"

# those that were killed count, and go
mkdir killed && for _ in $(seq 12); do kill_in killed; done
is "12 kills" 8 "$(count killed)"

# what stays: recordings of live processes, those preserved, also of a process that was
# killed, snapshots, other users' files, links, damaged files and what is no recording
mkdir mixed
SAROS_EVENTRING_PREFIX=mixed SAROS_EVENTRING_NAME=live "$SAROS" failing.lua 2>/dev/null </dev/null
cp mixed/live.eventring dead.eventring && rm mixed/live.eventring
cat >waiting.lua <<'END'
io.stdout:write("ready\n") io.stdout:flush()
while not io.open("go", "r") do end
END
mkfifo pipe
SAROS_EVENTRING_PREFIX=mixed SAROS_EVENTRING_NAME=live "$SAROS" waiting.lua >pipe &
live=$!
read -r _ <pipe
name_of_live=$("$EVENTRING" show --json mixed/live.eventring | jq -r .program)
SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_PREFIX=mixed SAROS_EVENTRING_NAME=preserved "$SAROS" failing.lua 2>/dev/null
echo 'if os.getenv("DIE") then os.execute("kill -9 $PPID; sleep 5") end error "again"' >failing.lua
DIE=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_PREFIX=mixed SAROS_EVENTRING_NAME=preserved_dead "$SAROS" failing.lua 2>/dev/null
"$EVENTRING" snapshot --output mixed/snapshot.eventring dead.eventring
ln -s "$PWD/dead.eventring" mixed/link.eventring
head -c 1000 dead.eventring >mixed/short.eventring
echo "not one" >mixed/text.eventring
mkdir mixed/directory.eventring
cp dead.eventring mixed/dead.recording
for _ in $(seq 12); do fail_in mixed failing.lua; done
for name in live preserved preserved_dead snapshot link short text directory; do
  [ -e mixed/$name.eventring ] || fail "$name is gone"
done
[ -e mixed/dead.recording ] || fail "a file of another name is gone"
is "the others" 8 "$(names mixed | grep -c '^n')"
# the live one counts when it is dead, and is the oldest of its program
touch go
wait $live
is "the live one, which ended in order" "" "$(names mixed | grep '^live')"
is "what was live" waiting.lua "$name_of_live"

# many at once
mkdir crowd
for i in $(seq 20); do
  SAROS_EVENTRING_PREFIX=crowd "$SAROS" -e 'for i = 1, 1e5 do local t = {} end error "x"' 2>/dev/null &
  crowd="${crowd-} $!"
done
wait $crowd
is "20 at once" 8 "$(count crowd)"
if [ "$(id -u)" -eq 0 ]; then
  mkdir theirs && cp dead.eventring theirs/a.eventring && chown 65534 theirs/a.eventring
  for _ in $(seq 9); do fail_in theirs failing.lua; done
  [ -e theirs/a.eventring ] || fail "another user's file is gone"
  is "beside another user's" 8 "$(names theirs | grep -c '^n')"
fi
finish
