# SPDX-License-Identifier: MIT
# A disk that is full, or becomes so: one warning, the program runs on, no file.
. "$TESTSUITE/faults/_faults.sh"
[ "$(id -u)" -eq 0 ] || { echo "only root can mount a tiny file system"; exit 77; }
mkdir disk
mount -t tmpfs -o size=16k tmpfs disk 2>mount.txt ||
  { echo "cannot mount a tmpfs: $(cat mount.txt)"; exit 77; }
trap 'umount "$PWD/disk"' EXIT

export SAROS_EVENTRING_PREFIX=disk
for kib in 16 36 40 44 64 80 128 256 520; do
  mount -o remount,size=${kib}k disk
  unrecorded "a disk of $kib KiB" "$SAROS" program.lua
  no_file_in "a disk of $kib KiB" disk
done
mount -o remount,size=4m disk
undisturbed "a disk of 4 MiB" "$SAROS" program.lua
is "a disk of 4 MiB: warnings" "" "$(cat errors.txt)"
SAROS_EVENTRING_WSIZE=20 unrecorded "rings that do not fit" "$SAROS" program.lua
no_file_in "rings that do not fit" disk

# started from within: the program gets the error and goes on
head -c 4m /dev/zero >disk/fill 2>/dev/null
output=$(SAROS_EVENTRING_START=0 "$SAROS" -e '
  local eventring = require "saros.eventring"
  local ok, message = eventring.start()
  assert(not ok and message:find("No space", 1, true), message)
  eventring.span("still", function() io.write("ran\n") end)')
is "started from within" ran "$output"
rm disk/fill

# full after the rings were filled once: their space is there, recording goes on
flood='local eventring = require "saros.eventring"
  local function flood() for i = 1, 40000 do eventring.counter("n", i) end end'
"$SAROS" -e "$flood; flood(); io.open('round', 'w'):close()
  while true do eventring.counter('later', 1) end" 2>errors.txt &
pid=$!
while [ ! -e round ] && kill -0 $pid; do sleep 0.02; done
head -c 4m /dev/zero >disk/fill 2>/dev/null
[ "$("$EVENTRING" stats --json $pid 2>/dev/null --seconds 0.1 | jq '.counters[] | select(.name == "later").samples > 0')" = true ] ||
  fail "no events after the disk became full"
kill $pid
wait $pid
is "status after SIGTERM" 143 $?
is "a disk that became full: warnings" "" "$(cat errors.txt)"
no_file_in "a disk that became full" disk

# fill_under NAME PROGRAM: fills the disk when PROGRAM has made the file `started`; it waits
# for the file `filled`, and prints "ran" in the end. One warning, in one line.
fill_under() {
  rm -f disk/fill started filled
  "$SAROS" -e "$2" >output.txt 2>errors.txt &
  pid=$!
  while [ ! -e started ] && kill -0 $pid; do sleep 0.02; done
  head -c 4m /dev/zero >disk/fill 2>/dev/null
  touch filled
  wait $pid
  is "$1: status" 0 $?
  is "$1: output" ran "$(cat output.txt)"
  is "$1: warnings" 1 "$(grep -c 'warning: .*No space' errors.txt)"
  is "$1: lines" 1 "$(wc -l <errors.txt)"
  no_file_in "$1" disk
}
wait_for_it="io.open('started', 'w'):close()
  while not io.open('filled') do end"

# full before that: on tmpfs what a ring has not used is not reserved
fill_under "full in the first round" "$flood; $wait_for_it
  flood(); flood(); io.write('ran')"
fill_under "domains on a full disk" "local domain = require 'saros.domain'; $wait_for_it
  for i = 1, 300 do domain.spawn(function() end):join() end
  io.write('ran')"
finish
