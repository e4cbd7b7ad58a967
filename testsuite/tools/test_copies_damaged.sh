# SPDX-License-Identifier: MIT
# What copies a recording says what of it is damaged, with status 1, and lacks nothing else; what
# is only missing, as blocks that could not be written, is counted by all alike.
. "$TESTSUITE/tools/_tools.sh"

COUNTS='[.domains[].rings[] | [.delivered, .missed, .lost]]'

# each WHAT STATUS FILE: cut, strip, snapshot and record of FILE
each() {
  local how status
  "$EVENTRING" stats --json "$3" >source.json 2>errors.txt
  status=$?
  is "$1: stats: status" "$2" $status
  for how in "cut --since 0" strip snapshot record; do
    rm -f copy.eventring
    # shellcheck disable=SC2086
    "$EVENTRING" $how -o copy.eventring "$3" 2>errors.txt
    status=$?
    is "$1: $how: status" "$2" $status
    [ "$2" = 0 ] || [ -s errors.txt ] || fail "$1: $how says nothing"
    "$EVENTRING" stats --json copy.eventring >copy.json 2>/dev/null
    is_same "$1: $how: counts" "$(query source.json "$COUNTS")" "$(query copy.json "$COUNTS")"
  done
}

SAROS_EVENTRING_WSIZE=20 "$EVENTRING" record -q --strict -o plain.eventring -- \
  "$PRODUCER" --domains 2 --rounds 4000 || fail "record: status $?"
each "sound" 0 plain.eventring

# The first block of the first and of the second unit of a ring is missing, as when it could not
# be written.
for unit in 0 1; do
  cp plain.eventring missing.eventring
  python3 - missing.eventring $unit <<'END'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
full = [at for at in range(65536, len(data), 65536)
        if data[at + 8] == 1 and data[at + 12] == 1 and data[at + 10] == 0
        and any(data[at + 61440:at + 61448])]
full.sort(key=lambda at: struct.unpack_from("<Q", data, at))
at = full[int(sys.argv[2])]
data[at:at + 4096] = bytes(4096)
open(sys.argv[1], "wb").write(data)
END
  each "first block of unit $unit" 0 missing.eventring
done

# Wrong content, with the right checksum: events behind the end that a block says, events that are
# counted twice, events that were never there.
for what in short backwards ahead; do
  cp plain.eventring broken.eventring
  python3 - broken.eventring $what "$TESTSUITE/format" <<'END'
import struct, sys
sys.path.insert(0, sys.argv[3])
import reader
data = bytearray(open(sys.argv[1], "rb").read())
at = [at for at in range(65536, len(data), 4096)
      if struct.unpack_from("<HBxH", data, at + 8) == (1, 0, 1) and any(data[at:at + 8])]
at.sort(key=lambda at: struct.unpack_from("<Q", data, at))
at = at[len(at) // 2]
words = list(struct.unpack_from("<512Q", data, at))
end = words[6] & 0xFFFFFFFF
if sys.argv[2] == "short":
    first = last = 8 + 4 * (words[1] >> 48) # (the producer opens no brief spans)
    while last + 1 + (words[last] >> 3 & 127) < end:
        last += 1 + (words[last] >> 3 & 127)
    end = last
else:
    words[2] += -1 if sys.argv[2] == "backwards" else 10000
struct.pack_into("<512Q", data, at, *words)
struct.pack_into("<II", data, at + 48, end, reader.checksum(words[:end]))
open(sys.argv[1], "wb").write(data)
END
  each "right checksum, $what" 1 broken.eventring
done

# A record block, and a place in the domain table
cp plain.eventring broken.eventring
python3 - broken.eventring <<'END'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
at = next(at for at in range(65536, len(data), 4096) if data[at + 8] == 2)
data[at + 100:at + 104] = b"\x55\xaa\x55\xaa"
open(sys.argv[1], "wb").write(data)
END
"$EVENTRING" cut --since 0 -o once.eventring broken.eventring 2>errors.txt
is "records: status" 1 $?
has "records: message" "is not valid" "$(cat errors.txt)"
for how in "cut --since 0" strip; do # what no reader uses is not copied
  rm -f copy.eventring
  # shellcheck disable=SC2086
  ends 1 "is not valid" "$EVENTRING" $how -o copy.eventring broken.eventring
  is "records: $how: no message" "" "$("$EVENTRING" stats --json copy.eventring 2>&1 >/dev/null)"
done
cp plain.eventring broken.eventring
printf '\001' | dd of=broken.eventring bs=1 seek=$((12288 + 128 + 12)) conv=notrunc status=none
for how in "cut --since 0" strip snapshot record; do
  rm -f copy.eventring
  # shellcheck disable=SC2086
  ends 1 "not valid" "$EVENTRING" $how -o copy.eventring broken.eventring
done

# The clock of a process that was killed: what the block says of its words so far is wrong. Its
# records hold, and without them the copy could not be read.
record --domains 1 --rounds 20 --die 2>/dev/null
python3 - "$file" <<'END'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
at = next(at for at in range(65536, len(data), 4096) if struct.unpack_from("<QH", data, at) == (1, 7))
assert not struct.unpack_from("<I", data, at + 48)[0], "the block is finished"
data[at + 28] ^= 0x55
open(sys.argv[1], "wb").write(data)
END
for how in "cut --since 0" strip; do
  rm -f copy.eventring
  # shellcheck disable=SC2086
  ends 1 "is not valid" "$EVENTRING" $how -o copy.eventring "$file"
  ends 0 "" "$EVENTRING" stats --json copy.eventring
  is "the clock: $how: no message" "" "$("$EVENTRING" stats --json copy.eventring 2>&1 >/dev/null)"
  is_same "the clock: $how: counts" "$("$EVENTRING" stats --json "$file" 2>/dev/null | jq -c "$COUNTS")" \
    "$("$EVENTRING" stats --json copy.eventring | jq -c "$COUNTS")"
done

# A packet
if "$EVENTRING" record -q --zstd --buffer-size 64K -o packed.eventring -- \
     "$PRODUCER" --domains 2 --rounds 4000 2>/dev/null; then
  python3 - packed.eventring <<'END'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
at = [at for at in range(64, len(data), 64) if data[at:at + 8] == b"\x89EVRPKT\n"]
sizes = [struct.unpack_from("<I", data, place + 28)[0] for place in at]
# (one of events: no front, which has been replaced since, and as much of a unit as is packed together)
are_events = [struct.unpack_from("<Q", data, place + 64)[0] >= 65536 for place in at]
place = max((p for p, size, events in zip(at, sizes, are_events) if events and size >= 49152),
            key=lambda p: -abs(p - len(data) // 2))
data[place + 64 + 16 * struct.unpack_from("<I", data, place + 24)[0] + 40] ^= 4
open(sys.argv[1], "wb").write(data)
END
  each "a packet" 1 packed.eventring
fi
finish
