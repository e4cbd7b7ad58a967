# SPDX-License-Identifier: MIT
# Of a class that is off no event is recorded, of whatever kind, and those of the others are.
. "$TESTSUITE/recording/_recording.sh"

export SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1
cat >program.lua <<'L'
local eventring = require "saros.eventring"
require("domain").spawn(function() collectgarbage() end):join()
for _ = 1, 3 do
  local kept = {}
  for i = 1, 100000 do kept[i] = { i } end
  setmetatable({}, { __gc = function() end })
  collectgarbage()
  eventring.span("work", function() end)
end
io.open("program.lua"):close()
L

# The classes of which there are events while these are on, one a line.
classes_with() { # CLASSES
  SAROS_EVENTRING_NAME=one SAROS_EVENTRING_CLASSES=$1 "$SAROS" program.lua || fail "program.lua: $?"
  "$EVENTRING" dump --json one.eventring | jq -r .class | sort -u
  rm one.eventring
}

on=$(classes_with all)
is "classes that have events" "calls domain finalizers gc gc_detail io lifecycle load user" \
  "$(echo $on)"
for class in $on; do
  [ $class != lifecycle ] || continue # is always on
  is "all but $class" "$(grep -vx "$class" <<<"$on")" "$(classes_with "all,-$class")"
done
finish
