# SPDX-License-Identifier: MIT
# What a program waits for beyond the collector's steps is recorded with its cause: huge pages that
# it touches first, and several steps at once where memory would exceed its bound.
. "$TESTSUITE/recording/_recording.sh"

[ "$TEST_SLOWNESS" -eq 1 ] || { echo "nothing is paced in this build"; exit 77; }
cat >program.lua <<'L'
local records = {}
for i = 1, 200000 do records[i] = { id = i, name = "n" .. i } end -- 20 MB and a large array
local kept = {}
for i = 1, 60 do -- large strings, each many nurseries
  kept[i % 4] = ("x"):rep(8 << 20) .. i
  for k = 1, 1000 do records[i * 1000 - k] = { id = k, name = "k" .. k } end
end
L
SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 "$SAROS" program.lua || fail "the program: status $?"
"$EVENTRING" dump --json ./*.eventring >dump.txt
reasons() { jq -r "select(.kind == \"begin\" and .name == \"$1\") | .value_name" dump.txt | sort -u | tr '\n' ' '; }
has "fresh memory" large "$(reasons fresh_memory)"
has "fresh memory" heap "$(reasons fresh_memory)"
has "stalls" large "$(reasons allocation_stall)"
for name in fresh_memory allocation_stall; do
  count=$("$EVENTRING" stats --json ./*.eventring | jq "[.spans[]? | select(.name == \"$name\") | .count] | add // 0")
  begun=$(jq -r "select(.kind == \"begin\" and .name == \"$name\") | .name" dump.txt | wc -l)
  is "stats count $name" "$begun" "$count"
  has "pauses" "$name" "$("$EVENTRING" pauses ./*.eventring)"
done
finish
