# SPDX-License-Identifier: MIT
# eventring control --start: a process that was started without any variable records.
. "$TESTSUITE/tools/_tools.sh"

control() { "$EVENTRING" control "$@"; }
cat >loop.lua <<'END'
io.stdout:write("ready\n") io.stdout:flush()
while true do local t = {} end
END
run() {
  "$@" "$SAROS" loop.lua >loop.out 2>loop.err &
  pid=$!
  until_so grep -qs ready loop.out || fail "it does not start: $(cat loop.err)"
}
end_run() { kill -KILL $pid; wait $pid 2>/dev/null; rm -f loop.out; }

ends 2 "PID" control --start
ends 2 "x is not the number of a process" control --start x
ends 1 "999999999: no such process" control --start 999999999
ends 1 "$$: it does not run Saros" control --start $$

run env
ends 1 "it cannot record there: No such file" control --start --directory nowhere $pid
ends 1 "it cannot record there: Not a directory" control --start --directory loop.lua $pid
mkdir there
ln -s there link
ends 1 "it cannot record there" control --start --directory link $pid
[ -z "$(ls there)" ] || fail "there: $(ls there)"
control --start --directory there $pid || fail "--start: $?"
[ -f there/$pid.eventring ] || fail "no file: $(ls there)"
recorded() { [ "$("$EVENTRING" show --json there/$pid.eventring | jq '[.domains[].rings[].emitted] | add // 0')" -gt 0 ]; }
until_so recorded || fail "no events are recorded"
control --start $pid || fail "--start of one that records: $?"
end_run

run env
control $pid --start --directory there --disable io --pause --status >status.out ||
  fail "--start with more: $?"
grep -q '^state  *paused' status.out || fail "--start --pause: $(cat status.out)"
grep -q '^off .*\<io\>' status.out || fail "--start --disable: $(cat status.out)"
control --start $pid || fail "--start of one that pauses: $?"
control --status $pid >status.out
grep -q '^state  *running' status.out || fail "--start of one that pauses: $(cat status.out)"
ends 1 "no class" control --start --enable nothing $pid
end_run
ends 2 "--directory needs --start" control --directory there 1

run env SAROS_EVENTRING_REMOTE=0
ends 1 "SAROS_EVENTRING_REMOTE=0" control --start --directory there $pid
end_run

run env SAROS_EVENTRING_START=standby SAROS_EVENTRING_PREFIX=there
await $pid
control --start $pid || fail "--start of one that stands by: $?"
until_so recorded || fail "what stood by does not record"
end_run
finish
