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
  local eventring = require "eventring"
  local ok, message = eventring.start()
  assert(not ok and message:find("No space", 1, true), message)
  eventring.span("still", function() io.write("ran\n") end)')
is "started from within" ran "$output"
rm disk/fill

# full after the rings were filled once: their space is there, recording goes on
flood='local eventring = require "eventring"
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

# full before that: on tmpfs what a ring has not used is not reserved; one warning
rm disk/fill
"$SAROS" -e "$flood; io.open('started', 'w'):close()
  while not io.open('filled') do end
  flood(); flood(); io.write('ran')" >output.txt 2>errors.txt &
pid=$!
while [ ! -e started ] && kill -0 $pid; do sleep 0.02; done
head -c 4m /dev/zero >disk/fill 2>/dev/null
touch filled
wait $pid
is "full in the first round: status" 0 $?
is "full in the first round: output" ran "$(cat output.txt)"
is "full in the first round: warnings" 1 "$(grep -c 'warning: .*No space' errors.txt)"
no_file_in "full in the first round" disk

# hundreds of domains that find no room: one warning
rm disk/fill started filled
"$SAROS" -e "local domain = require 'domain'
  io.open('started', 'w'):close()
  while not io.open('filled') do end
  for i = 1, 300 do domain.spawn(function() end):join() end
  io.write('ran')" >output.txt 2>errors.txt &
pid=$!
while [ ! -e started ] && kill -0 $pid; do sleep 0.02; done
head -c 4m /dev/zero >disk/fill 2>/dev/null
touch filled
wait $pid
is "domains on a full disk: status" 0 $?
is "domains on a full disk: output" ran "$(cat output.txt)"
is "domains on a full disk: warnings" 1 "$(grep -c 'warning: .*No space' errors.txt)"
is "domains on a full disk: lines" 1 "$(wc -l <errors.txt)"
no_file_in "domains on a full disk" disk
finish
