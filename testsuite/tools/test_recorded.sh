# SPDX-License-Identifier: MIT
# stats shows what all events add up to, whatever was lost, as the program counts it itself.
. "$TESTSUITE/tools/_tools.sh"

cat >counting.lua <<'END'
local eventring = require "saros.eventring"
local begin_span, end_span, counter = eventring.begin_span, eventring.end_span, eventring.counter
local rounds, pairs, sum = tonumber(arg[1]), 0, 0
for i = 1, rounds do
  begin_span("outer") pairs = pairs + 1
  for _ = 1, 20 do begin_span("inner") end_span("inner") pairs = pairs + 1 end
  end_span("outer")
  counter("amount", i) sum = sum + i
end
io.write(rounds, " ", 20 * rounds, " ", sum, "\n")
io.flush()
if arg[2] then io.read() end
END

recorded() { # FILE: counts of outer, inner and amount, and the sum of the latter, as stats has them
  "$EVENTRING" stats --json "$1" | jq -r '[.recorded[] | {(.name): .}] | add |
    "\(.outer.count) \(.inner.count) \(.amount.sum)"'
}

export SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_WSIZE=12
"$SAROS" counting.lua 20000 >expected.txt || fail "counting.lua: $?"
file=$(ls ./*.eventring)
is "a ring that turned over" "$(cat expected.txt)" "$(recorded "$file")"
"$EVENTRING" stats "$file" >text.txt || fail "stats: $?"
grep -q "^All that was recorded" text.txt || fail "no table of all that was recorded"
grep -Eq "^ *inner +400,000 " <(sed -n '/^All that/,$p' text.txt) || fail "inner is not in the table"

"$EVENTRING" cut -o part.eventring "$file" >cut.txt 2>&1 || fail "cut: $?"
is "a copy" "$(cat expected.txt)" "$(recorded part.eventring)"
"$EVENTRING" stats --since 0 --until 1ms "$file" >text.txt
! grep -q "^All that was recorded" text.txt || fail "of a part it says what all adds up to"
rm -f ./*.eventring

# Killed, while it waits.
rm expected.txt
mkfifo gate
"$SAROS" counting.lua 3000 wait <gate >expected.txt &
pid=$!
exec 9>gate
until [ -s expected.txt ]; do sleep 0.05; done
kill -KILL $pid
wait $pid 2>/dev/null
exec 9>&-
is "after SIGKILL" "$(cat expected.txt)" "$(recorded ./*.eventring)"
rm -f ./*.eventring

# A stream that is full.
unset SAROS_EVENTRING_START
SAROS_EVENTRING_STREAM=full.eventring,max=1M "$SAROS" counting.lua 20000 >expected.txt 2>warning.txt ||
  fail "stream: $?"
is "a stream without room" "$(cat expected.txt)" "$(recorded full.eventring)"
finish
