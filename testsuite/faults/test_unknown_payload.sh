# SPDX-License-Identifier: MIT
# A payload kind that the reader does not know, as of a later version: delivered raw, with
# the event's name.
. "$TESTSUITE/faults/_faults.sh"
SAROS_EVENTRING_PRESERVE=1 "$SAROS" -e 'require "saros.eventring".counter("strange", 77)' ||
  fail "status $?"
file=$(echo ./*.eventring)
# the record of the definition: its name is word 4, byte 3 of word 1 its payload kind
name=$(grep -aboP 'strange' "$file" | head -n 1 | cut -d: -f1)
printf '\x63' | dd of="$file" bs=1 seek=$((name - 21)) conv=notrunc status=none
is "checksum" 1 "$("$EVENTRING" dump "$file" 2>&1 >/dev/null | grep -c 'kind 2) is not valid')"
# the block as it is while it is being filled, without length, and without checksums
block=$((name / 4096 * 4096))
for word in 3 6; do
  dd if=/dev/zero of="$file" bs=8 seek=$((block / 8 + word)) count=1 conv=notrunc status=none
done
"$EVENTRING" dump --json "$file" >dump.json || fail "dump: status $?"
is "payload" '["strange","4d00000000000000",null]' \
  "$(jq -c 'select(.hex) | [.name, .hex, .unknown]' dump.json)"
finish
