# SPDX-License-Identifier: MIT
# A payload kind that the reader does not know, as of a later version: delivered raw.
. "$TESTSUITE/faults/_faults.sh"
SAROS_EVENTRING_PRESERVE=1 "$SAROS" -e 'require "eventring".counter("strange", 77)' || fail "status $?"
file=$(echo ./*.eventring)
# the definition: 8 bytes before its name; its payload kind is byte 5 of these
name=$(grep -aboP 'strange' "$file" | head -n 1 | cut -d: -f1)
printf '\x63' | dd of="$file" bs=1 seek=$((name - 3)) conv=notrunc status=none
"$EVENTRING" dump --json "$file" >dump.json || fail "dump: status $?"
is "payload" '["4d00000000000000",true]' \
  "$(jq -c 'select(.hex) | [.hex, .unknown]' dump.json)"
finish
