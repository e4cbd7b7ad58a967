# SPDX-License-Identifier: MIT
# CPU time of the collector: domains that do equal work get equal shares by CPU, however they
# share processors; steps that were interrupted say so, in all tools and to guests; with
# restartable sequences and without; and it can be turned off.
. "$TESTSUITE/recording/_recording.sh"

export SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1
cat >program.lua <<'L'
local domain = require "domain"
local function work(rounds)
  local sum = 0
  for _ = 1, rounds do
    local keep = {}
    for i = 1, 20000 do
      local t = { i, i + 1 }
      sum = sum + #t + math.sin(i)
      if i % 50 == 0 then keep[#keep + 1] = { name = "item " .. i } end
    end
  end
end
local handles = {}
for i = 1, 4 do handles[i] = domain.spawn({ name = "equal " .. i }, work, tonumber(arg[1])) end
for _, h in ipairs(handles) do h:join() end
L

# record: program.lua on one processor, so that its domains interrupt each other
one=$(taskset -pc $$ | sed 's/.*: *\([0-9]*\).*/\1/')
record() {
  rm -f ./*.eventring
  taskset -c "$one" timeout 100 "$SAROS" program.lua "$@" || fail "the program: status $?"
  "$EVENTRING" stats --json ./*.eventring >stats.json || fail "stats"
}

# The greatest share less the smallest, in points
spread() { jq "[.domains[] | select(.name != \"main\") | .$1] | (max - min) * 100" stats.json; }

check() {
  is "$1: CPU time" true "$(jq '[.domains[], .domains[].lives[], .total |
    .gc_cpu_ns <= .gc_ns and .gc_cpu_ns >= 0] | all' stats.json)"
  is "$1: steps were interrupted" true "$(jq '[.total.spans[] | .interrupted // 0] | add > 0' stats.json)"
  is "$1: sums" true "$(jq '.total as $t | [$t.spans[] | select(.off_cpu_ns != null) |
    (.off_cpu_ns <= .total_ns) and (.interrupted <= .count) and ((.off_cpu_ns > 0) == (.interrupted > 0))] |
    all and length >= 2' stats.json)"
  "$EVENTRING" dump --json ./*.eventring >dump.json || fail "$1: dump"
  is "$1: dump" true "$(jq -s '[.[] | select(.off_cpu_ns) |
    .kind == "end" and .off_cpu_ns <= .duration_ns and .value == null] | all and length > 0' dump.json)"
  is "$1: 0 is known, too" 0 "$(jq -s '[.[] | select(.kind == "end" and .name == "minor" and
    .duration_ns and .off_cpu_ns == null)] | length' dump.json)"
  "$EVENTRING" dump ./*.eventring | grep -Eq ' < (minor|major_slice)  .*  \(off CPU [0-9.]+ .?s\)$' ||
    fail "$1: no step is marked in dump"
  is_same "$1: the same in both" "$(jq '[.spans[] | .off_cpu_ns // 0] | add' stats.json)" \
    "$(jq -s '[.[] | .off_cpu_ns // 0] | add' dump.json)"
}

rounds=$((TEST_SLOWNESS > 1 ? 20 : 150))
record "$rounds"
check "as it is"
if [ "$TEST_SLOWNESS" -eq 1 ]; then # in other builds a domain collects when it happens to allocate
  for _ in 1 2 3; do
    points=$(spread gc_cpu_share)
    echo "shares of the collector: within $(spread gc_share) points, $points by CPU"
    jq -n -e "$points <= 1" >null.txt && break
    record "$rounds"
  done
  is "equal shares by CPU" true "$(jq -n "$points <= 1")"
fi
text=$("$EVENTRING" stats ./*.eventring)
has "column" "GC CPU" "$text"
has "column" "off CPU" "$text"

GLIBC_TUNABLES=glibc.pthread.rseq=0 record "$rounds"
check "without rseq"

# what a guest sees
cat >guest.lua <<'L'
local cursor = require("eventring").cursor { path = arg[1] }
local sum, without, counted = 0, 0, 0
while cursor:poll {
  runtime_end = function(_, _, name, off_cpu)
    if name == "minor" or name == "major_slice" or name == "major" then
      assert(math.type(off_cpu) == "integer")
      sum = sum + off_cpu
    else
      assert(off_cpu == nil)
    end
  end,
} > 0 do end
print(sum)
L
file=$(echo ./*.eventring)
is_same "guest" "$(jq '[.total.spans[] | .off_cpu_ns // 0] | add' stats.json)" \
  "$(SAROS_EVENTRING_START=0 "$SAROS" guest.lua "$file")"

# pause_cpu is of the same source
SAROS_EVENTRING_CLASSES=+gc_detail record "$((rounds / 5 + 1))"
is "pause_cpu" true "$(jq '.total as $t | [$t.counters[] | select(.name == "pause_cpu")][0] |
  .sum > 0 and .sum < 1.5 * $t.gc_cpu_ns + 1e6 * $t.watched_ns / 1e9 and .min >= 0' stats.json)"

# turned off
SAROS_EVENTRING_CPU_TIME=0 SAROS_EVENTRING_CLASSES=+gc_detail record 5
is "off: CPU time" null "$(jq .total.gc_cpu_ns stats.json)"
is "off: share" null "$(jq .total.gc_cpu_share stats.json)"
is "off: spans" 0 "$(jq '[.spans[] | select(has("off_cpu_ns"))] | length' stats.json)"
is "off: counters" 0 "$(jq '[.counters[] | select(.name == "off_cpu" or .name == "pause_cpu")] | length' stats.json)"
SAROS_EVENTRING_CPU_TIME=maybe "$SAROS" -e 'print(1)' >out.txt 2>err.txt || fail "status $?"
has "a bad setting" "SAROS_EVENTRING_CPU_TIME=maybe: must be 0 or 1" "$(cat err.txt)"
finish
