# SPDX-License-Identifier: MIT
# eventring repair: what a damaged file delivers is in the repaired one, which reads without
# complaint; nothing is made up, and what is missing is counted. _damage.py has the oracle.
. "$TESTSUITE/tools/_tools.sh"
. "$TESTSUITE/tools/_repair.sh"

make_recordings
ring many.eventring --domains 40 --rounds 8
"$EVENTRING" snapshot -o saved.eventring ring.eventring || fail "snapshot"
"$SAROS" -e 'print(1)' >/dev/null 2>&1 &&
  SAROS_EVENTRING_STREAM=saros.eventring SAROS_EVENTRING_PRESERVE=1 "$SAROS" -e \
    'for i = 1, 4e6 do local t = {i, tostring(i)} end' || fail "saros"

# ---- Sound files stay what they are -------------------------------------------------------

for file in ./*.eventring; do
  "$EVENTRING" repair -q -o repaired.new "$file" 2>errors.txt || fail "$file: $(cat errors.txt)"
  "$EVENTRING" dump --json "$file" >sound.txt 2>&1
  "$EVENTRING" dump --json repaired.new 2>&1 | cmp -s - sound.txt || fail "$file differs"
  [ -s sound.txt ] || fail "$file has no events"
  rm -f repaired.new
done

# ---- Random damage ------------------------------------------------------------------------

# One seed. REPAIR_SEED=n tries another one, make check-repair many.
turns=$((TEST_SLOWNESS > 1 ? 8 : 24))
for name in $RECORDINGS saros; do damage "$name" "${REPAIR_SEED:-1}" $turns; done

# ---- Exact losses -------------------------------------------------------------------------

# block 5 of the file is in the middle of a ring; what it had is lost, to the event
total() { "$EVENTRING" stats --json "$1" | jq ".total.$2"; }
all=$(total stream.eventring delivered)
cp stream.eventring damaged.eventring
printf 'xxxx' | dd of=damaged.eventring bs=1 seek=$((65536 + 4096 * 20 + 2000)) conv=notrunc \
  status=none
"$EVENTRING" repair -o exact.eventring damaged.eventring 2>errors.txt
is "status with a loss" 1 $?
has "a damaged block" "1 damaged blocks of events were left out" "$(cat errors.txt)"
is "repaired + lost" "$all" "$(($(total exact.eventring delivered) + $(total exact.eventring lost)))"
[ "$(total exact.eventring lost)" -gt 0 ] || fail "nothing is lost"

# a stale front: all heads 1, as of a file whose front was never written again
cp stream.eventring damaged.eventring
for at in $(seq 0 8 256); do
  printf '\001\0\0\0\0\0\0\0' | dd of=damaged.eventring bs=1 seek=$((12288 + 256 * (at / 8) + 128)) \
    conv=notrunc status=none
  [ $at -lt 16 ] || break
done
"$EVENTRING" repair -o stale.eventring damaged.eventring 2>errors.txt
has "stale heads" "rings go further than the file says" "$(cat errors.txt)"
is "events behind stale heads" "$all" "$(total stale.eventring delivered)"

# ---- What is put right ----------------------------------------------------------------------

# spoil NAME OFFSET...: damaged.eventring, of which these bytes are others
spoil() {
  python3 - "$@" <<'END'
import sys
data = bytearray(open(sys.argv[1] + ".eventring", "rb").read())
for at in sys.argv[2:]:
    data[int(at)] ^= 0x5a
open("damaged.eventring", "wb").write(data)
END
}

# block NAME KIND: where the first unfinished block of that kind begins, or else the first
block() {
  python3 - "$@" <<'END'
import sys
data = open(sys.argv[1] + ".eventring", "rb").read()
there = [at for at in range(65536, len(data), 4096)
         if any(data[at:at + 8]) and data[at + 8] == int(sys.argv[2])]
print(next((at for at in there if not any(data[at + 48:at + 52])), there[0]))
END
}

# repaired WHAT STATUS TEXT: of damaged.eventring, which then reads without complaint
repaired() {
  rm -f right.eventring
  "$EVENTRING" repair -o right.eventring damaged.eventring 2>errors.txt
  is "status: $1" "$2" $?
  has "$1" "$3" "$(cat errors.txt)"
  is "stats: $1" "" "$("$EVENTRING" stats right.eventring 2>&1 >/dev/null)"
  is "dump: $1" "" "$("$EVENTRING" dump right.eventring 2>&1 >/dev/null)"
}

spoil recorded $((8192 + 15))
repaired "the control word" 0 "the control page was put right"
spoil recorded 8192
repaired "the gate" 0 "the control page was put right"
spoil recorded 120
repaired "the checksum of the header" 0 "the header was put right"
spoil recorded 76 77 88 96 300
repaired "the clock of the header" 1 "the header is damaged"
clock=$(block dead 7)
spoil dead $((clock + 74)) $((clock + 82)) $((clock + 95))
repaired "the first segment of the clock" 1 "damaged blocks of records"
spoil dead $(($(block dead 1) + 55))
repaired "the checksum of an unfinished block" 0 ""
is_same "its events" "$(total dead.eventring delivered)" "$(total right.eventring delivered)"

# what says that a block has records, and which
spoil recorded $(($(block recorded 7) + 8))
repaired "the kind of a block of records" 0 "1 blocks of records were put right"
spoil recorded $(($(block recorded 2)))
repaired "the sequence of a block of records" 0 "1 blocks of records were put right"
is_same "their events" "$(total recorded.eventring delivered)" "$(total right.eventring delivered)"

# a block that is there twice, and another file behind this one, cost nothing
python3 - recorded.eventring damaged.eventring <<'END'
import struct, sys
data = open(sys.argv[1], "rb").read()
units = range(65536, len(data), 65536)
unit = next(at for at in units if data[at + 8] == 1 and any(data[at + 8192:at + 8200]))
claimed = struct.pack("<Q", (len(data) - 65536) // 4096 + 16)
data = data[:4096 + 8] + claimed + data[4096 + 16:]
open(sys.argv[2], "wb").write(data + data[unit + 4096:unit + 8192] + bytes(61440))
END
repaired "a block twice" 1 "1 damaged blocks of events were left out"
is_same "events beside a block twice" "$(total recorded.eventring delivered)" \
  "$(total right.eventring delivered)"
cat recorded.eventring stream.eventring >damaged.eventring
repaired "another file behind it" 0 ""
is_same "events before another file" "$(total recorded.eventring delivered)" \
  "$(total right.eventring delivered)"

# ---- What cannot be repaired --------------------------------------------------------------

ends 2 "no -o FILE" "$EVENTRING" repair ring.eventring
ends 1 "File exists" "$EVENTRING" repair -o stale.eventring ring.eventring
head -c 300000 /dev/urandom >noise.eventring
ends 1 "not an eventring file" "$EVENTRING" repair -o x.eventring noise.eventring
: >empty.eventring
ends 1 "not an eventring file" "$EVENTRING" repair -o x.eventring empty.eventring
[ ! -e x.eventring ] || fail "a file is left"
start --rounds 100000 --pause-us 100
ends 1 "a live process writes it" "$EVENTRING" repair -o x.eventring "$pid.eventring"
kill "$pid"
wait "$pid" 2>/dev/null

# Little memory, whatever the length
sanitized || (ulimit -v 65536; "$EVENTRING" repair -q -o little.eventring stream.eventring) || fail "64 MiB"
finish
