# SPDX-License-Identifier: MIT
# A small recording, which somebody may have made to do harm, does not become a file of GiB by
# `export`: openmetrics of a few events over hours, stacks of which each is the caller of the next.
# What is left out is said, and sums stay as they are.
. "$TESTSUITE/tools/_tools.sh"
command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }
hostile=$TESTSUITE/tools/_hostile.py
MOST=$((100 << 20))
ulimit -f $((2 * MOST / 1024)) # what is not bounded ends here

bounded() { # WHAT FILE
  [ "$(stat -c %s "$2")" -le $MOST ] || fail "$1: $(stat -c %s "$2") bytes"
}

python3 "$hostile" slow slow.eventring || fail "slow: $?"
"$EVENTRING" export --to openmetrics -o slow.om slow.eventring 2>errors.txt # a clock segment is not valid
bounded "openmetrics" slow.om
has "openmetrics says so" "instead of each 1.000 s: there would be too many" "$(cat errors.txt)"
is "openmetrics: its end" "# EOF" "$(tail -1 slow.om)"
is "openmetrics: all spans" 6000 "$(awk '/^eventring_span_seconds_count/ { last[$1] = $2 } END { for (s in last) sum += last[s]; print sum }' slow.om)"

# thirty functions of 150 lines that allocate: as many stacks
cat >lines.lua <<'END'
keep = {}
local t, long = {}, ("f"):rep(150)
for k = 1, 30 do
  t[#t + 1] = ("local function %s%d() local keep = keep\n%send %s%d()\n"):format(
    long, k, ("keep[#keep + 1] = {}\n"):rep(150), long, k)
end
load(table.concat(t), "@" .. ("p"):rep(50) .. ".lua")()
END
SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_NAME=lines SAROS_MEMPROF=1 \
  "$SAROS" lines.lua || fail "lines.lua: $?"
python3 "$hostile" chain lines.eventring chain.eventring || fail "chain: $?"
sum() { awk '{ sum += $NF } END { printf "%d\n", sum }' "$1"; }
for to in $("$EVENTRING" help export | tr -d '\n' | sed 's/.*the heap profile: \([a-z_, ]*[a-z]\).*/\1/; s/,/ /g'); do
  "$EVENTRING" export --allocated --to "$to" -o "chain.$to" chain.eventring 2>errors.txt || fail "$to: $? $(cat errors.txt)"
  bounded "$to" "chain.$to"
  has "$to says so" "those with the smallest figures, are \`(others)'" "$(cat errors.txt)"
done
"$EVENTRING" export --allocated --to folded -o lines.folded lines.eventring || fail "folded: $?"
is "what is not hostile is whole" 0 "$(grep -c '(others)' lines.folded)"
all=$(sum lines.folded) left=$(sum chain.folded)
[ $((left - all)) -le 5000 ] && [ $((all - left)) -le 5000 ] || fail "the sum is $left, of $all" # rounded
has "the rest has a stack" "(others) " "$(cat chain.folded)"
finish
