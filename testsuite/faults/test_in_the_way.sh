# SPDX-License-Identifier: MIT
# What already is where the file should go: links are never followed, a stale file
# of a dead process with our pid is renamed, never replaced, and nothing of it is shown.
. "$TESTSUITE/faults/_faults.sh"

# in_the_way WHAT TEXT COMMAND: run with $file in the place of its file
in_the_way() {
  unrecorded "$1" sh -c "file=\$\$.eventring; $3; exec \"$SAROS\" program.lua"
  has "$1: warning" "$2" "$(cat errors.txt)"
}
echo precious >precious
in_the_way "symbolic link" "symbolic link" 'ln -s precious $file'
is "behind the link" precious "$(cat precious)"
in_the_way "link to nowhere" "symbolic link" 'ln -s new $file'
[ -e new ] && fail "a file was created through a link"
in_the_way "directory" "not a regular file" 'mkdir $file'
in_the_way "fifo" "not a regular file" 'mkfifo $file'
find . -maxdepth 1 \( -name '*.eventring' \) -exec rm -rf {} +

# a recording of a dead process, kept under another name, too
SAROS_EVENTRING_PRESERVE=1 "$SAROS" -e '
  local eventring = require "saros.eventring"
  for i = 1, 100 do eventring.counter("of the dead", i) end'
old=$(echo ./*.eventring)
mv "$old" old
before=$(sha256sum <old)
start=$("$EVENTRING" show --json old | jq '.start_wall_ns / 1e9 | floor')
# in_its_place COMMAND: runs a program with $file in the place of its file; sets pid
in_its_place() {
  sh -c "echo \$\$ >pid; file=\$\$.eventring; $1; exec \"$SAROS\" -e '
  local eventring = require \"saros.eventring\"
  eventring.counter(\"of the living\", 1)
  local seen = {}
  local cursor = eventring.cursor { path = eventring.path() }
  cursor:poll { user_counter = function(_, _, name, value) seen[#seen + 1] = name .. value end }
  io.write(table.concat(seen, \" \"), \"\\n\")'" >seen.txt || fail "stale file: status $?"
  is "shown in the place of a stale file" "of the living1" "$(cat seen.txt)"
  pid=$(cat pid)
}
in_its_place 'ln old $file'
is "the stale file's other name" "$before" "$(sha256sum <old)"
is "renamed" "$pid-$start.eventring" "$(ls -- *.eventring)"
is "what was renamed" "$before" "$(sha256sum <"$pid-$start.eventring")"
is "it is dead or ended, by its name" '"ended"' \
  "$("$EVENTRING" show --json "$pid-$start.eventring" | jq .liveness)"
rm -f -- *.eventring

# that name is taken, too: another one
in_its_place "ln old \$file; echo mine >\${file%.eventring}-$start.eventring"
is "both are there" "$pid-$start-2.eventring $pid-$start.eventring" "$(ls -- *.eventring | xargs)"
is "what was there before" mine "$(cat "$pid-$start.eventring")"
is "what was renamed then" "$before" "$(sha256sum <"$pid-$start-2.eventring")"
rm -f -- *.eventring

# a file that is no recording has the time of its last change in its name
in_its_place 'echo text >$file; touch -d @1000000000 $file'
is "no recording" text "$(cat "$pid-1000000000.eventring")"
rm -f -- *.eventring
finish
