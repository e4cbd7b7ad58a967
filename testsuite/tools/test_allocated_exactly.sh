# SPDX-License-Identifier: MIT
# What was allocated in a call, or within a span, is exact in rules: as a program that counts what it
# allocates knows it, whenever the collector runs.
. "$TESTSUITE/tools/_tools.sh"

cat >allocate.lua <<'LUA'
local eventring = require "saros.eventring"
local function allocate() local t = {} for i = 1, 1000 do t[i] = {} end end
local function nothing() end
local bytes = eventring.measure(allocate).words * 8 - eventring.measure(nothing).words * 8
local function fits(rule, f) return (pcall(eventring.expect, rule, f)) end
assert(bytes > 50000, bytes)
for _, collects in ipairs {false, true} do
  local function f() if collects then collectgarbage() end allocate() if collects then collectgarbage() end end
  assert(not fits("sum(allocated_bytes) < 1K", f), "it allocates")
  assert(not fits("sum(allocated_bytes) < " .. bytes, f))
  assert(fits("sum(allocated_bytes) <= " .. bytes + 512, f))
  assert(fits("sum(allocated_words) >= " .. bytes // 8, f))
end
assert(fits("sum(allocated_bytes) < 1K", collectgarbage), "it allocates nothing")
assert(fits("sum(allocated_bytes) < 1K", nothing))
if arg[1] then print(bytes) end
eventring.span("allocates", allocate)
eventring.begin_span "nothing" collectgarbage() eventring.end_span "nothing"
eventring.span("around", function() eventring.span("inside", allocate) collectgarbage() allocate() end)
coroutine.wrap(function() eventring.span("in_coroutine", function() allocate() coroutine.yield() end) end)()
LUA
bytes=$("$SAROS" allocate.lua print) || fail "expect: $bytes"

cat >rules.txt <<RULES
sum(allocated_bytes) >= $bytes within span "allocates"
sum(allocated_bytes) <= $((bytes + 512)) within span "allocates"
sum(allocated_words) >= $((bytes / 8)) within span "allocates"
sum(allocated_bytes) < 512 within span "nothing"
sum(allocated_bytes) >= $((2 * bytes)) within span "around"
sum(allocated_bytes) <= $((2 * bytes + 1024)) within span "around"
sum(allocated_bytes) <= $((bytes + 512)) within span "inside"
RULES
ends 0 "" "$EVENTRING" check rules.txt -- "$SAROS" allocate.lua
is "all hold" "" "$(grep failed stdout.txt)"
ends 3 "" "$EVENTRING" check -e 'sum(allocated_bytes) < 1K within span "allocates"' -- "$SAROS" allocate.lua
has "how much" "failed: " "$(cat stdout.txt)"

# a recording that does not have the borders: it says so, unless what it has decides
SAROS_EVENTRING_STREAM=a.eventring "$SAROS" allocate.lua || fail "allocate.lua"
"$EVENTRING" check --json -e 'sum(allocated_bytes) < 1K within span "nothing"' a.eventring >out.json
is "status" 3 $?
is "undecided" 'null' "$(query out.json '.rows[0].holds')"
has "why" "was not counted where the spans begin and end" "$(query out.json '.rows[0].reason')"
ends 0 "" "$EVENTRING" check -e 'sum(allocated_bytes) >= 0 within span "nothing"; sum(allocated_bytes) > 1K' a.eventring
finish
