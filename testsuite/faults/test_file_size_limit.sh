# SPDX-License-Identifier: MIT
# RLIMIT_FSIZE: never SIGXFSZ; one warning, the program runs on, no file.
. "$TESTSUITE/faults/_faults.sh"
limited() { (ulimit -f "$1"; shift; exec "$@"); }

# the front, blocks of records, and then the first ring has no room
for kib in 1 4 60 64 68 100 200 300; do
  unrecorded "at most $kib KiB" limited $kib "$SAROS" program.lua
  no_file_in "at most $kib KiB" .
done
# No byte may be written to a file: what the program says goes into pipes.
is "nothing at all: output and status" "ran 7" \
  "$(limited 0 "$SAROS" program.lua 2>/dev/null | tr "\n" " "; echo "${PIPESTATUS[0]}")"
warning=$(limited 0 "$SAROS" program.lua 2>&1 >/dev/null)
is "nothing at all: lines on standard error" 1 "$(wc -l <<<"$warning")"
has "nothing at all: warning" "warning: " "$warning"
no_file_in "nothing at all" .
# the second one: what the first has is recorded
sed '1i require("saros.eventring").event("once")' program.lua >user.lua
SAROS_EVENTRING_PRESERVE=1 unrecorded "at most 500 KiB" limited 500 "$SAROS" user.lua
is "rings within 500 KiB" '["runtime"]' \
  "$("$EVENTRING" show --json ./*.eventring | jq -c '.domains[0].rings | keys')"
rm -f -- *.eventring
undisturbed "at most 3000 KiB" limited 3000 "$SAROS" user.lua
is "at most 3000 KiB: warnings" "" "$(cat errors.txt)"
finish
