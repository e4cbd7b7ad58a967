# SPDX-License-Identifier: MIT
# Class `calls`, switched on and off by the program itself: each call from the next one on is
# recorded, and none while it is off; spans nest and pair.
. "$TESTSUITE/tools/_tools.sh"

cat >switch.lua <<'END'
local ev = require "saros.eventring"
local function f() end
local function g() f() return f() end
f()
assert(ev.enable "calls")
f() g()
local co = coroutine.wrap(function() g() coroutine.yield() g() end)
co() co()
assert(ev.disable "calls")
f() g()
assert(ev.pause())
assert(ev.enable "calls")
f()
assert(ev.resume())
f()
assert(ev.disable "calls")
f()
END
SAROS_EVENTRING_STREAM=switch.eventring "$SAROS" switch.lua || fail "switch.lua"
"$EVENTRING" dump --json switch.eventring >switch.jsons || fail "dump"
begins() { # LINE
  jq -r --arg line "(switch.lua:$1)" 'select(.kind == "begin" and .ring == "calls") | .name |
    select(endswith($line))' switch.jsons | wc -l
}
is "calls of f" 8 "$(begins 2)"
is "calls of g" 3 "$(begins 3)"
jq -r 'select(.ring == "calls" and (.kind == "begin" or .kind == "end")) |
  [.kind, .context // 0, .name, .torn // false] | @tsv' switch.jsons >spans
is "each ends before the one that it is in, but those that the switches tore" "" "$(awk -F '\t' '
  $1 == "begin" { stack[$2, ++depth[$2]] = $3; next }
  depth[$2] > 0 && stack[$2, depth[$2]] == $3 { depth[$2]--; next }
  $4 != "true" { print }' spans)"
finish
