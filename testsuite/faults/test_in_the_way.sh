# SPDX-License-Identifier: MIT
# What already is where the file should go: links are never followed, a stale file
# of a dead process with our pid is replaced and nothing of it is ever shown.
. "$TESTSUITE/faults/_faults.sh"

# in_the_way WHAT TEXT COMMAND: run with $file in the place of its file
in_the_way() {
  untraced "$1" sh -c "file=\$\$.eventring; $3; exec \"$SAROS\" program.lua"
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
  local eventring = require "eventring"
  for i = 1, 100 do eventring.counter("of the dead", i) end'
old=$(echo ./*.eventring)
mv "$old" old
before=$(sha256sum <old)
sh -c "ln old \$\$.eventring; exec \"$SAROS\" -e '
  local eventring = require \"eventring\"
  eventring.counter(\"of the living\", 1)
  local seen = {}
  local cursor = eventring.cursor { path = eventring.path() }
  cursor:poll { user_counter = function(_, _, name, value) seen[#seen + 1] = name .. value end }
  io.write(table.concat(seen, \" \"), \"\\n\")'" >seen.txt || fail "stale file: status $?"
is "shown in the place of a stale file" "of the living1" "$(cat seen.txt)"
is "the stale file's other name" "$before" "$(sha256sum <old)"
no_file_in "stale file" .
finish
