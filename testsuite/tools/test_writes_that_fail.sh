# SPDX-License-Identifier: MIT
# Commands that write a recording under a limit on the size of files, beside what a command that
# was killed has left, and into a file that somebody cuts: status 1 and a message, nothing is left
# in the way, and the next attempt works.
. "$TESTSUITE/recording/_recording.sh"
export SAROS_EVENTRING_START=1 SAROS_EVENTRING_PREFIX=.
echo 'local e = require "saros.eventring" for i = 1, 100000 do e.counter("n", i) end' >program.lua
SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_NAME=source "$SAROS" program.lua || fail "no recording"
SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_NAME=other "$SAROS" program.lua || fail "no recording"
unset SAROS_EVENTRING_START

# fails_within KIB MESSAGE COMMAND...: it fails, and leaves nothing
fails_within() {
  local kib=$1 message=$2 status
  shift 2
  (ulimit -f "$kib" && exec "$@") >said.txt 2>errors.txt
  status=$?
  is "$*: status" 1 "$status"
  has "$*: message" "$message" "$(cat errors.txt)"
  is "$*: files" "" "$(ls out* 2>/dev/null)"
}

for command in "snapshot -o out.eventring source.eventring" "cut -o out.eventring source.eventring" \
    "strip -o out.eventring source.eventring" \
    "merge -q -o out.eventring source.eventring other.eventring" \
    "control source.eventring --snapshot out.eventring" \
    "export --to chrome -o out.json source.eventring" \
    "export --to csv -o out.csv source.eventring" \
    "export --to perfetto -o out.pb source.eventring"; do
  # (the words of the command are to be split)
  fails_within 200 "File too large" "$EVENTRING" $command
  "$EVENTRING" $command >said.txt 2>errors.txt
  is "$command, without the limit" 0 $?
  rm -rf out*
done

# what a killed command has left does not block the next one; what one is at work on does
for command in "snapshot -o out.eventring source.eventring" "cut -q -o out.eventring source.eventring" \
    "export --to chrome -o out.json source.eventring"; do
  name=${command#*-o } name=${name%% *}
  echo left >"$name.partial"
  "$EVENTRING" $command >said.txt 2>errors.txt
  is "$command, beside what was left" 0 $?
  is "$command: files" "$name" "$(ls out*)"
  rm -rf out*
done
command -v python3 >/dev/null && {
  python3 - <<'PYTHON' &
import fcntl, os, struct, time
file = open("out.eventring.partial", "w")
fcntl.fcntl(file, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)) # F_OFD_SETLK
open("locked", "w").close()
time.sleep(30)
PYTHON
  holder=$!
  until_so [ -e locked ]
  "$EVENTRING" snapshot -o out.eventring source.eventring 2>errors.txt
  is "a command is at work on it: status" 1 $?
  has "a command is at work on it" "out.eventring.partial exists" "$(cat errors.txt)"
  [ -e out.eventring.partial ] || fail "the file of a command at work is gone"
  kill $holder
  wait $holder 2>/dev/null
  rm -f out*
}

# ... also a folder and a database; but not what somebody else has put there
export_to() { "$EVENTRING" export --to "$1" -o "$2" source.eventring >said.txt 2>errors.txt; }
for format in ctf sqlite; do
  export_to $format expected || { grep "built without" errors.txt && continue; fail "$format: $?"; }
  if [ -d expected ]; then cp -r expected out.partial && echo cut >out.partial/d0r1
  else head -c 5000 expected >out.partial; fi
  export_to $format out
  is "$format, beside what was left" 0 $?
  diff -r expected out || fail "$format: another file"
  [ ! -e out.partial ] || fail "$format: out.partial is there"
  rm -rf expected out
done
for other in notes d0r1.old folder link; do
  mkdir out.partial
  : >out.partial/metadata
  case $other in
    folder) mkdir out.partial/d0r1 ;;
    link) ln -s ../source.eventring out.partial/d0r1 ;;
    *) : >out.partial/$other ;;
  esac
  export_to ctf out
  is "a folder with $other" 1 $?
  has "a folder with $other" "or it is not what one left" "$(cat errors.txt)"
  is "a folder with $other: files" 2 "$(ls out.partial | wc -l)"
  rm -r out.partial
done
mkdir out.partial
flock --no-fork out.partial sleep 30 &
holder=$!
until_so eval '! flock -n out.partial true'
export_to ctf out
is "a command is at work on a folder: status" 1 $?
has "a command is at work on a folder" "a command is at work on it" "$(cat errors.txt)"
[ -d out.partial ] || fail "the folder of a command at work is gone"
kill $holder
wait $holder 2>/dev/null
rm -r out.partial
for format in ctf sqlite; do
  (ulimit -f 8 && export_to $format out) && fail "$format in 8 KiB"
  has "$format in 8 KiB" "cannot write" "$(cat errors.txt)"
  is "$format in 8 KiB: files" "" "$(ls -d out* 2>/dev/null)"
done
ln -s source.eventring out.eventring.partial
"$EVENTRING" snapshot -o out.eventring source.eventring 2>errors.txt
is "a link in the place" 1 $?
[ -L out.eventring.partial ] || fail "a link is gone"
has "a link in the place" "or it is not what one left" "$(cat errors.txt)"
rm out*
has "standard output by its name" "cannot write standard output" \
  "$("$EVENTRING" export --to csv -o - source.eventring 2>&1 >/dev/full)"

# a file that is complete and does not have its name yet was not left
if command -v cc >/dev/null && ! grep -qE "__asan_init|__tsan_init" "$EVENTRING"; then
  cc -shared -fPIC -o renames.so "$TESTSUITE/tools/_renames.c" -ldl || fail "cc: $?"
  for command in "snapshot -o out.eventring" "export --to chrome -o out.json" \
      "stats -o out.txt"; do
    : >errors.txt
    BEFORE_RENAME="'$EVENTRING' $command other.eventring 2>>errors.txt; echo \$? >second.txt" \
      LD_PRELOAD=$PWD/renames.so "$EVENTRING" $command source.eventring >said.txt 2>&1
    is "$command, before it has its name" 0 $?
    is "$command, meanwhile" 1 "$(cat second.txt)"
    has "$command, meanwhile" "a command is at work on it" "$(cat errors.txt)"
    name=${command#*-o }
    is "$command: files" "$name" "$(ls out*)"
    "$EVENTRING" $command.expected source.eventring 2>said.txt || fail "$command.expected: $?"
    cmp "$name" "$name.expected" || fail "$command: another file"
    rm out*
  done
fi

# a file that somebody cuts while it is written
cat >endless.lua <<'END'
local e = require "saros.eventring"
while not io.open("stop") do for i = 1, 1000 do e.counter("n", i) end end
END
SAROS_EVENTRING_START=1 "$SAROS" endless.lua &
pid=$!
await $pid
for packed in "" --zstd; do
  [ -z "$packed" ] || "$EVENTRING" record --zstd -o probe.eventring --seconds 0.1 $pid 2>errors.txt ||
    { grep -q "cannot compress" errors.txt && continue; }
  "$EVENTRING" record $packed -o out.eventring --seconds 2 $pid 2>errors.txt &
  recorder=$!
  until_so [ -e out.eventring ]
  sleep 0.5
  : >out.eventring
  wait $recorder
  is "record $packed, cut: status" 1 $?
  has "record $packed, cut" "cut short by somebody else" "$(cat errors.txt)"
  rm -f out* probe*
done
: >stop
wait $pid
finish
