# SPDX-License-Identifier: MIT
# eventring record --on CONDITION: begins when it is fulfilled, with what came before.
. "$TESTSUITE/tools/_tools.sh"

cat >count.lua <<'END'
local eventring = require "saros.eventring"
for i = 1, 50 do eventring.counter("n", i) end
END
"$EVENTRING" record -q -o kept.eventring --on 'counter("n") > 20' --before 5s -- "$SAROS" count.lua
is "status" 0 $?
is "what came before is there" 50 \
  "$("$EVENTRING" stats --json kept.eventring | jq '[.counters[] | select(.name == "n").samples] | add')"
ends 1 "has not come about" "$EVENTRING" record -o none.eventring --on 'counter("n") > 2000' -- \
  "$SAROS" count.lua
[ ! -e none.eventring ] || fail "a file without the condition"
ends 2 "column 9: expected a number" "$EVENTRING" record -o x.eventring --on 'pause > x' 1
ends 2 "without a figure" "$EVENTRING" record -o x.eventring --on 'p99(pause) > 1ms' 1
ends 2 "--before needs --on" "$EVENTRING" record -o x.eventring --before 1 1
finish
