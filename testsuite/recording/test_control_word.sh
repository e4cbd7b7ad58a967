# SPDX-License-Identifier: MIT
# A gate that turns all probes off though the recording is to run, as of a tool that died
# before it had brought it in line, and a malformed control word beside it: nobody writes an
# event, so no block gets full. A minor collection puts both right, and the recording goes on.
. "$TESTSUITE/recording/_recording.sh"

[ "$TEST_SLOWNESS" -eq 1 ] || { echo "collects at other times in this build"; exit 77; }
cat >quiet.lua <<'END'
local function exists(name) local file = io.open(name) return file and file:close() end
collectgarbage("stop")
while not exists("go") do end
collectgarbage("restart")
while not exists("over") do local t = {} end
END
SAROS_EVENTRING_START=1 SAROS_EVENTRING_CLASSES=gc "$SAROS" quiet.lua &
pid=$!
await $pid
status() { "$EVENTRING" control --json --status "$pid" 2>/dev/null | jq -c '[.control_rejected, .control_malformed, .state]'; }
is "before" '[0,false,"running"]' "$(status)"
dd if=/dev/zero of=$pid.eventring bs=8 seek=1024 count=1 conv=notrunc status=none # the gate
is "the gate" '[0,true,"paused"]' "$(status)"
printf '\377\377\377\377' | dd of=$pid.eventring bs=1 seek=8204 conv=notrunc status=none # wanted
sleep 0.2
is "without a collection" '[0,true,"paused"]' "$(status)"
touch go
is_repaired() { [ "$(status)" = '[1,false,"running"]' ]; }
until_so is_repaired
is "after a collection" '[1,false,"running"]' "$(status)"
"$EVENTRING" stats --json --seconds 0.3 $pid >stats.json 2>stats.err
is "collections are recorded" true \
  "$(jq '[.spans[] | select(.name == "minor" and .count > 0)] | length > 0' stats.json)"
has "it is reported" "ignored 1 malformed" "$(cat stats.err)"
touch over
wait $pid
is "status of the program" 0 $?
finish
