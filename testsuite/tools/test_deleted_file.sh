# SPDX-License-Identifier: MIT
# The file of a live process was deleted, by a cleaner of /tmp for example: commands reach it through
# the process, by its number.
. "$TESTSUITE/recording/_recording.sh"
cat >program.lua <<'END'
local e = require "saros.eventring"
while not io.open("stop") do for i = 1, 1000 do e.span("work", tostring, i) end end
END
SAROS_EVENTRING_START=1 "$SAROS" program.lua &
pid=$!
await $pid
rm -- $pid.eventring
for command in "stats --seconds 0.2" "show" "snapshot -o copy.eventring"; do
  # (the words of the command are to be split)
  "$EVENTRING" $command $pid >said.txt 2>errors.txt
  is "$command of a deleted file" 0 $?
done
has "stats of the copy" " work " "$("$EVENTRING" stats copy.eventring)"
has "list" "$pid " "$("$EVENTRING" list)"
is "list: state" "live running" \
  "$("$EVENTRING" list --json | jq -r "select(.pid == $pid and .liveness == \"live\") | \"\(.liveness) \(.state)\"")"
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
  # without the right to read map_files
  setpriv --bounding-set=-sys_admin,-checkpoint_restore --inh-caps=-sys_admin,-checkpoint_restore \
    "$EVENTRING" show $pid >said.txt 2>errors.txt
  is "show through a descriptor" 0 $?
fi
"$EVENTRING" control --pause $pid
is "control" 0 $?
is "control: state" paused \
  "$("$EVENTRING" list --json | jq -r "select(.pid == $pid and .liveness == \"live\") | .state")"
: >stop
wait $pid
is "status of the program" 0 $?
finish
