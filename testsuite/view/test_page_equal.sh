# SPDX-License-Identifier: MIT
# The tables of the page have the figures of the command that it names for them, of the whole run
# and of ranges; with losses, contexts and domains.
. "$TESTSUITE/tools/_timeline.sh"
command -v node >/dev/null || { echo "node is missing (Debian package: nodejs)"; exit 77; }
command -v chromium >/dev/null || { echo "chromium is missing (Debian package: chromium)"; exit 77; }
"$EVENTRING" view nothing.eventring 2>&1 | grep -q "without zlib" && { echo "built without zlib"; exit 77; }
record_all
cp "$TESTSUITE/view/_requests.lua" requests.lua
SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_NAME=requests SAROS_MEMPROF=on \
  "$SAROS" requests.lua ||
  fail "requests.lua: $?"
for name in whole few damaged requests; do
  "$EVENTRING" view -o $name.html $name.eventring 2>errors.txt || [ $name = damaged ] ||
    fail "view $name: $?: $(cat errors.txt)"
done
node "$TESTSUITE/view/_equal.mjs" chromium "$EVENTRING" "$PWD" whole few damaged requests \
  >said.txt 2>&1 || fail "the comparison: $?"
is "what differs" "done" "$(sed 's/^done .*/done/' said.txt)"
[ "$(sed -n 's/^done //p' said.txt || echo 0)" -gt 50 ] || fail "too few rows were compared"
finish
