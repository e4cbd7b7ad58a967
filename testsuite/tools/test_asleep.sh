# SPDX-License-Identifier: MIT
# What commands say of a process that is asleep in a function in C, or stopped: each says so, and
# how old its figures are, instead of waiting for an answer that cannot come, or has the answer from
# a copy of its memory; what needs a safepoint holds when the process comes to one. Nothing wakes it.
. "$TESTSUITE/recording/_recording.sh"
. "$TESTSUITE/tools/_tools.sh"
unset SAROS_EVENTRING_START

cat >sleeps.lua <<'END'
local kept = {}
for i = 1, 10000 do kept[i] = {i} end
local waits = coroutine.create(function() coroutine.yield() end)
coroutine.resume(waits)
collectgarbage()
io.stdout:write "ready\n" io.stdout:flush()
io.stdout:write(io.read(), "\n") io.stdout:flush()
local done, i = nil, 0
while not done do
  i = i % #kept + 1
  require "saros.eventring".span("work", function() kept[i] = {} end)
  if i % 100 == 0 then done = io.open "done" end
end
io.read()
END
pid=
trap '[ "$pid" ] && kill -KILL $pid 2>/dev/null' EXIT
mkfifo input
exec 3<>input

# sleeps [NAME=VALUE...]: runs sleeps.lua until it is asleep in io.read
sleeps() {
  rm -f out done
  env "$@" "$SAROS" sleeps.lua <&3 >out 2>err &
  pid=$!
  until_so grep -qs ready out || fail "it does not start: $(cat err)"
  until_so is_asleep
}
is_asleep() { [ "$("$EVENTRING" stack --json $pid | jq -r '.rows[0] | .state + ", " + .os_state')" = "in C function io.read, sleeps" ]; }
# wakes: it works from then on
wakes() { echo awake >&3; until_so grep -qs awake out || fail "it does not wake up: $(cat err)"; }
end() { kill -KILL $pid; wait $pid 2>/dev/null; pid=; rm -f ./*.eventring; }
# says STATUS TEXT COMMAND...: the status and the text of both outputs, in which durations are T and
# the number of the process is PID
says() {
  local status=$1 expected=$2 actual
  shift 2
  "$EVENTRING" "$@" >said.txt 2>&1 </dev/null
  is "status of $*" "$status" $?
  actual=$(sed -E "s/[0-9.]+ (ns|µs|us|ms|s|min|h) ago/T ago/; s/\<$pid\>/PID/g; s#$PWD/##g" said.txt)
  has "$*" "$expected" "$actual"
}
# the same in each state: what needs no safepoint
as_ever() {
  says 0 "" control --pause $pid
  says 0 "" control --resume $pid
  says 0 "" control --enable io $pid
  says 0 "" control --hold 5 $pid
  says 0 "" control --memprof on $pid
  says 0 "" snapshot -o $1.eventring $pid
  says 0 "" show $1.eventring
  says 0 "PID" show $pid
  says 0 "" spans $pid
  says 0 "sleeps.lua" stats --seconds 0.05 $pid
  says 0 "in C function io.read" stack $pid
  says 0 "1 coroutine waits" coroutines $pid
}
works() { "$EVENTRING" spans ./$pid.eventring 2>&1 | grep -q " work "; }
has_spans() { until_so works || fail "it does not record: $("$EVENTRING" spans ./$pid.eventring 2>&1)"; }
triggers() { "$EVENTRING" control --status --json $pid | jq -c '[.triggers[].condition]'; }
has_trigger() { [ "$(triggers)" = '["pause > 1000s"]' ]; }

# ---- asleep in C, recorded
sleeps SAROS_EVENTRING_START=1
as_ever asleep
says 0 "Domain 0 main (as of T ago: asleep in C function io.read): " memory $pid
is "memory --json" '[false,true,"asleep in C function io.read"]' \
  "$("$EVENTRING" memory --json $pid | jq -c '.domains[0] | [.answered, .age_ns > 0, .state]')"
# a thread of the library answers for it
says 0 "main thread.<local kept in sleeps.lua>[*]" retain $pid
is "retain --json" '[true,null]' \
  "$("$EVENTRING" retain --json $pid 2>err.txt | jq -c '.domains[0] | [.answered, .state]')"
says 0 "held by main thread.<local waits in sleeps.lua>" coroutines --leaked 0.001 $pid
is "children" "" "$(pgrep -r S,R,D -P $pid)"
says 1 "no allocation was sampled yet, though samples are taken: it is asleep in C function io.read" \
  heap $pid
says 0 "" control --profile calls $pid
says 0 "of calls, which begins at the next safepoint" control --status $pid
says 1 "a profile of calls from its next safepoint on, and has not written it yet: asleep in C function io.read" \
  profile $pid
says 0 "" control --trigger "pause > 1000s" $pid
until_so has_trigger || fail "a trigger is not taken: $(triggers)"
wakes
has_spans
obeys() { "$EVENTRING" control --status --json $pid | jq -e '.profile == "on"' >said.txt; }
until_so obeys || fail "no profile of calls is kept"
kept() { "$EVENTRING" profile $pid >said.txt 2>&1 && grep -q " require " said.txt; }
until_so kept || fail "no profile of calls: $(cat said.txt)"
end

# ---- with samples
sleeps SAROS_MEMPROF=1
says 0 "as of T ago; it is asleep in C function io.read" heap $pid
is "heap --json" true "$("$EVENTRING" heap --json $pid | jq '.total.age_ns > 0')"
# its file is deleted: a copy comes in its place, also when that is deleted; the process goes on in a
# new file when it wakes up
says 0 "main" memory --json $pid
started() { "$EVENTRING" show --json ./$pid.eventring 2>&1 | jq .start_ns; }
has_copy() { [ "$(started)" = "$start" ]; }
start=$(started)
events=$("$EVENTRING" show --json ./$pid.eventring | jq '[.domains[].rings[].emitted] | add')
for i in 1 2 3 4 5 6 7 8 9 10; do
  inode=$(stat -c %i $pid.eventring)
  rm $pid.eventring
  until_so has_copy || fail "deletion $i: no copy while it is asleep: $(cat err)"
done
is "its events" "$events" "$("$EVENTRING" show --json ./$pid.eventring | jq '[.domains[].rings[].emitted] | add')"
is "its mode" 600 "$(stat -c %a $pid.eventring)"
says 0 "asleep in C function io.read" heap $pid
says 0 "Domain 0 main (as of T ago: asleep in C function io.read): " memory $pid
says 0 "main thread.<local kept in sleeps.lua>[*]" retain $pid
wakes
has_spans
[ "$(started)" != "$start" ] || fail "it records into the copy"
is_told() { grep -qs "was deleted: recording goes on in a new file" err; }
until_so is_told || fail "the program is not told: $(cat err)"
end

# ---- killed while it is asleep and its file is deleted: the copy is left
sleeps SAROS_MEMPROF=1
start=$(started)
rm $pid.eventring
until_so has_copy || fail "no copy while it is asleep: $(cat err)"
copied() { "$EVENTRING" heap ./$pid.eventring >said.txt 2>&1; }
until_so copied || fail "the heap of the copy: $(cat said.txt)"
kill -KILL $pid
wait $pid 2>/dev/null
is "killed" "dead killed" "$("$EVENTRING" show --json $pid.eventring | jq -r '"\(.liveness) \(.end_reason)"')"
"$EVENTRING" heap $pid.eventring >said.txt 2>&1 || fail "the heap of the dead one: $(cat said.txt)"
has "the heap of the dead one" "sleeps.lua:" "$(cat said.txt)"
pid=
rm -f ./*.eventring

# ---- in standby
sleeps SAROS_EVENTRING_START=standby
rm $pid.eventring
has_new() { "$EVENTRING" show ./$pid.eventring >said.txt 2>&1; }
until_so has_new || fail "standing by: no new file while it is asleep"
until_so is_told || fail "standing by: the program is not told: $(cat err)"
says 0 "PID: asleep in C function io.read: it starts to record at its next safepoint" control --start $pid
as_ever standby
says 0 "no domain is recorded yet: asleep in C function io.read" memory $pid
says 1 "no domain is recorded yet: asleep in C function io.read" retain $pid
says 1 "no domain is recorded yet, and can say who holds coroutines: asleep in C function io.read" \
  coroutines --leaked 0.001 $pid
says 0 "" control --trigger "pause > 1000s" $pid
until_so has_trigger || fail "standing by: a trigger is not taken: $(triggers)"
wakes
has_spans
end

# ---- not recorded
sleeps
says 1 "process PID does not record (\`eventring control --start PID' has it record" memory $pid
says 1 "PID: it cannot record there: No such file or directory" control --start --directory nowhere $pid
says 0 "PID: asleep in C function io.read: it starts to record at its next safepoint" control --start $pid
for command in memory heap retain show spans "control --status" "control --pause"; do
  # (the words of the command are to be split)
  says 1 "process PID does not record: it was asked to and starts at its next safepoint: asleep in C function io.read" \
    $command $pid
done
says 0 "in C function io.read" stack $pid
[ ! -e $pid.eventring ] || fail "there is a file before the safepoint"
wakes
has_spans
end

# ---- stopped
sleeps SAROS_EVENTRING_START=1
kill -STOP $pid
is_stopped() { [ "$("$EVENTRING" stack --json $pid | jq -r '.rows[0].os_state')" = "stopped by a signal" ]; }
until_so is_stopped
as_ever stopped
says 0 "Domain 0 main (as of T ago: stopped by a signal): " memory $pid
says 1 "domain 0 main has not answered: stopped by a signal" retain $pid
is "retain --json" '[false,"stopped by a signal"]' \
  "$("$EVENTRING" retain --json $pid 2>err.txt | jq -c '.domains[0] | [.answered, .state]')"
says 1 "domain 0 has not said who holds its coroutines: stopped by a signal" coroutines --leaked 0.001 $pid
end
sleeps
kill -STOP $pid
until_so is_stopped
says 0 "PID: stopped by a signal: it starts to record at its next safepoint" control --start $pid
kill -CONT $pid
wakes
has_spans
end

# ---- `--wait` waits for what is stopped
sleeps SAROS_EVENTRING_START=1
kill -STOP $pid
until_so is_stopped
"$EVENTRING" retain --wait 60 $pid >waited.txt 2>&1 &
asker=$!
attached $asker
kill -CONT $pid
wait $asker
is "retain --wait: status" 0 $?
has "retain --wait" "main thread.<local kept in sleeps.lua>[*]" "$(cat waited.txt)"
end
exec 3>&-
finish
