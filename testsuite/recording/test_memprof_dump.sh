# SPDX-License-Identifier: MIT
# SAROS_MEMPROF_DUMP=FILE: folded stacks of what is alive, whole at any moment, also after
# kill -9; it starts a recording with samples by itself; the text agrees with `eventring
# heap`; a path that cannot be written is a warning.
. "$TESTSUITE/recording/_recording.sh"

cat >work.lua <<'EOF'
local kept = {}
local function remember(i) kept[i] = {i, name = "n" .. i} end
for i = 1, 300 do remember(i) end
collectgarbage()
collectgarbage()
if arg[1] then
  io.open(arg[1], "w"):close()
  while true do remember(1) collectgarbage() end
end
EOF

# bytes of stacks that a line of the text has: every line is stacks and a number
folded() {
  awk '!/^[^ ].*;.* [0-9]+$/ { print "bad line: " $0; exit 1 }' "$1" >bad.txt ||
    fail "$1: $(cat bad.txt)"
  awk -v of="$2" 'index($0, of) { n += $NF } END { print n + 0 }' "$1"
}

SAROS_MEMPROF=1 SAROS_MEMPROF_DUMP=dump.txt SAROS_EVENTRING_PRESERVE=1 "$SAROS" work.lua ||
  fail "status $?"
[ -s dump.txt ] || fail "nothing was written"
file=$(echo *.eventring)
"$EVENTRING" heap --json "$file" >heap.json || fail "heap"
is_same "all" "$(jq .total.live_bytes heap.json)" "$(folded dump.txt ';')"
remembered=$(folded dump.txt ';remember (')
[ "$remembered" -ge $((300 * 8 * (6 + 2 + 3))) ] || fail "remember: $remembered bytes"
grep -q '^domain 0;.*main chunk (.*work.lua:3);remember (.*work.lua:2) [0-9]*$' dump.txt ||
  fail "no stack from the outermost frame on: $(cat dump.txt)"
is "files beside it" "" "$(ls | grep tmp-)"
rm -f "$file" dump.txt

# at the usual rate, by itself; a recording is there while it runs
SAROS_MEMPROF_DUMP=dump.txt "$SAROS" -e 'print(#require "saros.eventring".path())' >out.txt ||
  fail "status $?"
[ "$(cat out.txt)" -gt 0 ] || fail "no recording was started"

# kill -9: the text is whole
SAROS_MEMPROF=1 SAROS_MEMPROF_DUMP=dump.txt "$SAROS" work.lua ready &
pid=$!
await $pid
for _ in $(seq 600); do
  [ -e ready ] && [ -s dump.txt ] && break
  sleep 0.1
done
kill -9 $pid
wait $pid 2>/dev/null
[ "$(folded dump.txt ';remember (')" -gt 0 ] || fail "nothing is left after kill -9"
rm -f ./*.eventring

# a path that cannot be written
SAROS_MEMPROF_DUMP=no/such/folder/dump.txt "$SAROS" work.lua 2>err.txt || fail "status $?"
grep -q 'SAROS_MEMPROF_DUMP: cannot write no/such/folder/dump.txt.*: No such file' err.txt ||
  fail "the warning does not say what is wrong: $(cat err.txt)"
is "warnings" 1 "$(wc -l <err.txt)"
finish
