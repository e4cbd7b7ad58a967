# SPDX-License-Identifier: MIT
# While a process keeps a profile of calls, it obeys what is asked from outside at its next
# safepoint, not when the period of the profile is over; and a profile that has just begun is
# shown. The program is a loop that calls nothing and allocates nothing.
. "$TESTSUITE/_checks.sh"
control() { "$EVENTRING" control "$pid" "$@"; }
state() { control --status --json | jq -r .profile; }
state_is() { [ "$(state)" = "$1" ]; }
# An hour from one writing of the profile to the next: what waits for that never ends. (The
# period is that of SAROS_PROFILE also after it was ended and begun again.)
SAROS_PROFILE=calls,period=3600s SAROS_EVENTRING_START=1 "$SAROS" -e '
  local function f() local s = 0 while not stop do s = s + 1 end end f()' &
pid=$!
await $pid
until_so state_is on || fail "it keeps none: $(state)"

# the first one was not written yet
timeout $PATIENCE "$EVENTRING" profile --json $pid >first.json 2>errors.txt || fail "first: $(cat errors.txt)"
is "calls, no samples" '"calls"' "$(jq -c .source first.json)"
is "the function that runs" true "$(jq '[.rows[] | select(.began_before > 0 or .count > 0)] | length > 0' first.json)"

timeout $PATIENCE "$EVENTRING" memory --json $pid >memory.json || fail "memory: $?"
is "memory: all domains have answered" '[true]' "$(jq -c '[.domains[].answered]' memory.json)"
for round in 1 2 3; do
  control --profile off || fail "--profile off: $?"
  until_so state_is off || fail "round $round: the profile goes on: $(state)"
  control --profile calls || fail "--profile calls: $?"
  until_so state_is on || fail "round $round: no profile: $(state)"
done

# while it stands still, what is asked waits; it is obeyed when the process goes on
kill -STOP $pid
control --profile off || fail "--profile off: $?"
is "asked" ending "$(state)"
kill -CONT $pid
until_so state_is off || fail "after it stood still: $(state)"
kill -KILL $pid
wait $pid 2>/dev/null
finish
