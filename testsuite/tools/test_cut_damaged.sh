# SPDX-License-Identifier: MIT
# eventring cut without a window: what a damaged file delivers is in the copy, which reads without
# a complaint of its own; nothing is made up, and what is missing is counted. _damage.py has the
# oracle.
. "$TESTSUITE/tools/_tools.sh"
. "$TESTSUITE/tools/_damage.sh"

make_recordings
ring many.eventring --domains 40 --rounds 8
"$EVENTRING" snapshot -o saved.eventring ring.eventring || fail "snapshot"
"$SAROS" -e 'print(1)' >/dev/null 2>&1 &&
  SAROS_EVENTRING_STREAM=saros.eventring SAROS_EVENTRING_PRESERVE=1 "$SAROS" -e \
    'for i = 1, 4e6 do local t = {i, tostring(i)} end' || fail "saros"

# ---- Sound files stay what they are -------------------------------------------------------

for file in ./*.eventring; do
  "$EVENTRING" cut -q -o copy.new "$file" 2>errors.txt || fail "$file: $(cat errors.txt)"
  "$EVENTRING" dump --json "$file" >sound.txt 2>&1
  "$EVENTRING" dump --json copy.new 2>&1 | cmp -s - sound.txt || fail "$file differs"
  [ -s sound.txt ] || fail "$file has no events"
  rm -f copy.new
done

# ---- Random damage ------------------------------------------------------------------------

# One seed. DAMAGE_SEED=n tries another one, make check-damage many.
turns=$((TEST_SLOWNESS > 1 ? 8 : 24))
for name in $RECORDINGS saros; do damage "$name" "${DAMAGE_SEED:-1}" $turns; done

# ---- Exact losses -------------------------------------------------------------------------

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

# what is left of a file that was cut short is read, and its events are those that it had
cp stream.eventring damaged.eventring
truncate -s $((65536 + 4096 * 100 + 1000)) damaged.eventring
"$EVENTRING" cut -o short.eventring damaged.eventring 2>errors.txt
is "status of a file that was cut short" 1 $?
has "it says so" "the file was cut short: it has 100 of" "$(cat errors.txt)"
ends() { "$EVENTRING" dump --json "$1" 2>/dev/null | grep '"kind":"end"' | grep -v synthetic | cut -c 1-100; }
ends short.eventring >short.txt
[ -s short.txt ] || fail "nothing is left of the file that was cut short"
is "events that the whole file did not have" 0 "$(ends stream.eventring | sort | comm -13 - <(sort short.txt) | wc -l)"

# what a damaged or an empty block had is lost, to the event
total() { "$EVENTRING" stats --json "$1" | jq ".total.$2"; }
all=$(total stream.eventring delivered)
spoil stream $((65536 + 4096 * 20 + 2000))
"$EVENTRING" cut -o exact.eventring damaged.eventring 2>errors.txt
is "status with a loss" 1 $?
has "a damaged block" "1 damaged blocks of events were left out" "$(cat errors.txt)"
is "copied + lost" "$all" "$(($(total exact.eventring delivered) + $(total exact.eventring lost)))"
[ "$(total exact.eventring lost)" -gt 0 ] || fail "nothing is lost"
cp stream.eventring damaged.eventring
dd if=/dev/zero of=damaged.eventring bs=4096 seek=36 count=1 conv=notrunc status=none
rm exact.eventring
"$EVENTRING" cut -o exact.eventring damaged.eventring 2>errors.txt
is "status with an empty block" 1 $?
is "copied + lost, of an empty block" "$all" \
  "$(($(total exact.eventring delivered) + $(total exact.eventring lost)))"

# The front: how far the recording goes is in doubt, the events are there
spoil stream $((4096 + 600))
rm exact.eventring
"$EVENTRING" cut -o exact.eventring damaged.eventring 2>errors.txt
is "status of a damaged front" 1 $?
has "a damaged front" "the status page or a table is damaged" "$(cat errors.txt)"
is "events behind a damaged front" "$all" "$(total exact.eventring delivered)"

# ---- What cannot be read ------------------------------------------------------------------

head -c 300000 /dev/urandom >noise.eventring
ends 1 "not an eventring file" "$EVENTRING" cut -o x.eventring noise.eventring
: >empty.eventring
ends 1 "not an eventring file" "$EVENTRING" cut -o x.eventring empty.eventring
[ ! -e x.eventring ] || fail "a file is left"
finish
