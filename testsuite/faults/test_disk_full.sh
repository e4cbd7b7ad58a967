# A disk that is full, or becomes so: one warning, the program runs on, no file.
. "$TESTSUITE/faults/_faults.sh"
[ "$(id -u)" -eq 0 ] || { echo "only root can mount a tiny file system"; exit 77; }
mkdir disk
mount -t tmpfs -o size=16k tmpfs disk 2>mount.txt ||
  { echo "cannot mount a tmpfs: $(cat mount.txt)"; exit 77; }
trap 'umount "$PWD/disk"' EXIT

export SAROS_EVENTRING_PREFIX=disk
for kib in 16 60 64 68 80 128 256 580; do
  mount -o remount,size=${kib}k disk
  untraced "a disk of $kib KiB" "$SAROS" program.lua
  no_file_in "a disk of $kib KiB" disk
done
mount -o remount,size=4m disk
undisturbed "a disk of 4 MiB" "$SAROS" program.lua
is "a disk of 4 MiB: warnings" "" "$(cat errors.txt)"
SAROS_EVENTRING_WSIZE=20 untraced "rings that do not fit" "$SAROS" program.lua
no_file_in "rings that do not fit" disk

# started from within: the program is told and goes on
head -c 4m /dev/zero >disk/fill 2>/dev/null
output=$(SAROS_EVENTRING_START=0 "$SAROS" -e '
  local eventring = require "eventring"
  local ok, message = eventring.start()
  assert(not ok and message:find("No space", 1, true), message)
  eventring.span("still", function() io.write("ran\n") end)')
is "started from within" ran "$output"
rm disk/fill

# full after the rings are there: their space is reserved, recording goes on
"$SAROS" -e 'for i = 1, 3e8 do local t = {i} end' &
pid=$!
await $pid
head -c 4m /dev/zero >disk/fill 2>/dev/null
sleep 0.2
kill -0 $pid || fail "the program did not survive a disk that became full"
[ "$("$EVENTRING" stats --json $pid 2>/dev/null --seconds 0.1 | jq '[.spans[].count] | add > 0')" = true ] ||
  fail "no events after the disk became full"
kill $pid
wait $pid
is "status after SIGTERM" 143 $?
no_file_in "a disk that became full" disk
finish
