# SPDX-License-Identifier: MIT
# A file whose rings all claim the same blocks: commands look at each block once, whatever the
# tables say, and report the damage.
. "$TESTSUITE/tools/_tools.sh"

record --domains 1 --rounds 20 --die 2>/dev/null
python3 - "$file" hostile.eventring <<'END'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
first, blocks = (len(data) - 65536) // 4096, 32768
data += bytes(4096 * blocks) # (a hole, once it is written)
struct.pack_into("<Q", data, 4096 + 8, first + blocks)
struct.pack_into("<I", data, 4096 + 4, 128)
start, = struct.unpack_from("<Q", data, 12288 + 16)
for slot in range(1, 128):
    at = 12288 + 256 * slot
    struct.pack_into("<IIIiQQ", data, at, 2, 1, 1, 1, start, 0)
    for ring in range(8):
        struct.pack_into("<QII", data, at + 128 + 16 * ring, 1 << 20, first, blocks)
with open(sys.argv[2], "wb") as file:
    file.write(data[:65536 + 4096 * first])
    file.truncate(len(data))
END
for command in "stats" "snapshot -o copy.eventring" "cut --since 0 -o cut.eventring" "dump --json"; do
  # (the words of the command are to be split)
  timeout -s KILL 60 "$EVENTRING" $command hostile.eventring >said.txt 2>errors.txt
  is "$command: status" 1 $?
  has "$command: message" "its place is not valid" "$(cat errors.txt)"
done
finish
