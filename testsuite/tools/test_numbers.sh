# SPDX-License-Identifier: MIT
# A number is a process, whatever files there are; a file of such a name needs a slash. And what
# a file says of its process is not taken for that process.
. "$TESTSUITE/tools/_tools.sh"

record --rounds 3
mv "$file" ended.eventring
start --rounds 100000 --pause-us 1000
cp ended.eventring $pid
is "show" $pid "$("$EVENTRING" show --json $pid | jq .pid)"
"$EVENTRING" control $pid --pause 2>/dev/null || fail "pause: $?"
paused() { [ "$("$EVENTRING" show --json $pid.eventring | jq -r .state)" = paused ]; }
until_so paused || fail "the process goes on: $("$EVENTRING" show --json $pid.eventring | jq .state)"
is "show ./NUMBER" "$(jq .pid <("$EVENTRING" show --json ended.eventring))" \
  "$("$EVENTRING" show --json ./$pid | jq .pid)"
kill $pid
wait $pid 2>/dev/null

# of a process that does not record, or is not there: the message says how the file is named
cp ended.eventring $$
ends 1 "a number is a process; the file of this name is ./$$" "$EVENTRING" show $$
cp ended.eventring 99999999999
ends 1 "no process 99999999999 (a number is a process; the file of this name is ./99999999999)" \
  "$EVENTRING" show 99999999999
"$EVENTRING" show ./99999999999 >/dev/null || fail "show ./NUMBER: $?"
finish
