# SPDX-License-Identifier: MIT
# What is recorded from outside is what was written, to the event (perf's own tests of its rings):
# few and many of each of three kinds, of two domains at once, and of a ring that is overwritten,
# of which no more is missing than is counted.
. "$TESTSUITE/recording/_recording.sh"
unset SAROS_EVENTRING_START SAROS_EVENTRING_PREFIX SAROS_EVENTRING_NAME

cat >count.lua <<'LUA'
local eventring, domain = require "saros.eventring", require "saros.domain"
local N = tonumber(arg[1])
local function write(n)
  local eventring = require "saros.eventring"
  for i = 1, n do
    eventring.counter("number", i)
    eventring.event("point", i)
    eventring.span("step", function() end)
  end
end
local other = domain.spawn(write, N)
write(N)
other:join()
LUA

# counts FILE: of each domain, what is there of each kind
counts() {
  "$EVENTRING" stats --json "$1" >stats.json || fail "$1: stats: status $?"
  jq -c '[[.counters[] | select(.name == "number") | .samples],
          [.events[] | select(.name == "point") | .count],
          [.spans[] | select(.name == "step") | .count]]' stats.json
}

for n in 1 2 3 31 64 126 127; do
  rm -f exact.eventring
  "$EVENTRING" record -q --strict -o exact.eventring -- "$SAROS" count.lua $n || fail "$n: status $?"
  is "$n" "[[$n,$n],[$n,$n],[$n,$n]]" "$(counts exact.eventring)"
done

# As many as do not fit into the ring many times over
for n in 5000 $((TEST_SLOWNESS > 1 ? 10000 : 100000)); do
  rm -f lossy.eventring
  SAROS_EVENTRING_WSIZE=11 SAROS_EVENTRING_SECONDS=0 "$EVENTRING" record -q -o lossy.eventring -- \
    "$SAROS" count.lua "$n" || fail "$n: status $?"
  counts lossy.eventring >counts.json
  is "$n: counted" $((2 * 4 * n)) "$(jq '[.domains[].rings.user // empty |
    .delivered + .missed + .lost] | add' stats.json)"
  is "$n: nothing made up" true "$(jq "flatten | all(. <= $n)" counts.json)"
done
finish
