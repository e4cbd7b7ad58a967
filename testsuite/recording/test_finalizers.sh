# SPDX-License-Identifier: MIT
# Time in finalizers: the span run_finalizers, which ends however a finalizer ends, and the
# share that `stats` gives it, beside the collector's and not in it.
. "$TESTSUITE/recording/_recording.sh"

export SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1
cat >program.lua <<'L'
local how = arg[1]
local function work(seconds)
  local stop = os.clock() + seconds
  while os.clock() < stop do end
end
local finalizers = {
  returns = function() work(0.02) end,
  errs = function() work(0.02) error("in a finalizer") end,
  yields = function() work(0.02) coroutine.yield() end,
  exits = function() work(0.02) os.exit(0) end,
  closes = function() work(0.02) os.exit(0, true) end,
}
local function leave(n)
  for _ = 1, n do setmetatable({}, { __gc = finalizers[how] or finalizers.returns }) end
end
if how == "at_end" then
  keep = {}
  for i = 1, 5 do keep[i] = setmetatable({}, { __gc = finalizers.returns }) end
elseif how == "in_coroutine" then
  coroutine.wrap(function() leave(5) collectgarbage() end)()
elseif how == "in_domain" then
  require("domain").spawn(function()
    local keep = setmetatable({}, { __gc = function()
      local stop = os.clock() + 0.1
      while os.clock() < stop do end
    end })
  end):join()
else
  leave(5)
  collectgarbage()
end
L

# check HOW LEAST: finalizers of this kind take at least LEAST ms, and their spans end
check() {
  rm -f ./*.eventring
  timeout 60 "$SAROS" program.lua "$1" 2>out.txt || fail "$1: status $?: $(cat out.txt)"
  "$EVENTRING" dump --json ./*.eventring >dump.json || fail "$1: dump"
  "$EVENTRING" stats --json ./*.eventring >stats.json || fail "$1: stats"
  is "$1: spans" true "$(jq -s 'map(select(.name == "run_finalizers")) |
    (map(select(.kind == "begin")) | length) as $n |
    $n > 0 and (map(select(.kind == "end" and .duration_ns and (.torn | not))) | length) == $n' dump.json)"
  is "$1: class" '["finalizers"]' \
    "$(jq -sc 'map(select(.name == "run_finalizers") | .class) | unique' dump.json)"
  is "$1: time in finalizers" true "$(jq "[.domains[].finalizers_ns] | add |
    . >= ${2}e6" stats.json)"
  is "$1: parts" true "$(jq '[.domains[] | .finalizers_ns + .gc_ns <= .watched_ns] | all' stats.json)"
  is "$1: total" true "$(jq '.total.finalizers_ns == ([.domains[].finalizers_ns] | add) and
    .total.finalizers_ns == ([.total.spans[] | select(.name == "run_finalizers") | .total_ns] | add)' stats.json)"
}
# less than what they work: os.clock also counts the processor time of the library's thread
for how in returns errs yields at_end in_coroutine in_domain; do check $how 80; done
check exits 15
check closes 15 # the others are called by the finalizer that closes: their span is not inside its
"$EVENTRING" stats ./*.eventring >stats.txt
has "column" " finalizers " "$(cat stats.txt)"

# the class can be off
rm -f ./*.eventring
SAROS_EVENTRING_CLASSES=-finalizers "$SAROS" program.lua returns || fail "class off: status $?"
is "class off" 0 "$("$EVENTRING" dump --json ./*.eventring | grep -c run_finalizers)"
is "class off, time" 0 "$("$EVENTRING" stats --json ./*.eventring | jq .total.finalizers_ns)"
finish
