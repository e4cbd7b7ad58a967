# SPDX-License-Identifier: MIT
# eventring profile --perf: random samples, in the forms that perf script has for its fields,
# against an oracle that merges them by itself (_perf_oracle.py). Nested spans of two domains,
# and those of the runtime. PERF_SEED=n begins with another one, PERF_TEXTS=n tries more.
. "$TESTSUITE/tools/_tools.sh"
command -v python3 >/dev/null || { echo "python3 is missing (Debian package: python3)"; exit 77; }

cat >work.lua <<'END'
local ev, domain = require "saros.eventring", require "saros.domain"
math.randomseed(42)
local names = {"request", "read (file)", "a [b] 12 3.5:", "näme", "x+0x1", "deep"}
local function work(depth)
  local name = names[math.random(#names)]
  ev.begin_span(name)
  local t = {}
  for i = 1, math.random(40) do t[i] = {i} end
  if depth > 0 then for _ = 1, math.random(3) do work(depth - 1) end end
  ev.end_span(name)
end
local other = domain.spawn(function()
  local ev = require "saros.eventring"
  for i = 1, 40 do
    ev.begin_span "in another domain"
    ev.begin_span("part " .. i % 7)
    for _ = 1, 100 do end
    ev.end_span("part " .. i % 7)
    ev.end_span "in another domain"
  end
end)
for _ = 1, 10 do work(3) end
collectgarbage()
other:join()
END
SAROS_EVENTRING_STREAM=work.eventring "$SAROS" work.lua || fail "work.lua"
"$EVENTRING" dump --json work.eventring >dump.jsons || fail "dump"
"$EVENTRING" show --json work.eventring >show.json || fail "show"

first=${PERF_SEED:-1} texts=${PERF_TEXTS:-$((TEST_SLOWNESS > 1 ? 8 : 20))}
for ((seed = first; seed < first + texts; seed++)); do
  event=$(python3 "$TESTSUITE/tools/_perf_oracle.py" $seed dump.jsons show.json perf.txt expected.txt) ||
    fail "the oracle, seed $seed"
  "$EVENTRING" profile --perf perf.txt ${event:+--perf-event="$event"} --to folded work.eventring \
    >folded.txt || fail "profile --perf, PERF_SEED=$seed"
  # stacks that differ in the domain only are lines of their own
  LC_ALL=C awk '{ n = $NF; sub(/ [0-9]+$/, ""); sum[$0] += n } END { for (s in sum) print s, sum[s] }' \
    folded.txt | LC_ALL=C sort >sums.txt
  LC_ALL=C sort expected.txt | diff - sums.txt >differences.txt ||
    fail "PERF_SEED=$seed differs (expected <, is >): $(head -c 2000 differences.txt)"
done
finish
