# SPDX-License-Identifier: MIT
# Triggers from outside: a directory in which the process cannot save is refused at once, and
# `control --status` shows what became of each, beside what else was asked for.
. "$TESTSUITE/tools/_tools.sh"
control() { "$EVENTRING" control "$@"; }
status() { control $pid --status --json >status.json || fail "--status: $?"; jq -c "$1" status.json; }
status_is() { [ "$(status "$1")" = "$2" ]; }

mkdir run saved
# its own directory is another one than that of the commands
(cd run && SAROS_EVENTRING_START=1 SAROS_EVENTRING_TRIGGER='counter("n") > 100' exec "$SAROS" -e '
  local eventring = require "saros.eventring"
  eventring.trigger("span(\"s\") > 100s")
  while true do
    eventring.counter("n", 0) eventring.counter("n", 10) collectgarbage "step"
  end') 2>errors.txt &
pid=$!
await $pid

# what is asked for
is "at first" '[0,"off",[]]' \
  "$(status '[.memprof_rate, .profile, [.streams | to_entries[] | select(.value)]]')"
control $pid --memprof 0.001 --profile calls || fail "memprof, profile: $?"
until_so status_is .profile '"on"' || fail "no profile: $(status .profile)"
is "the rate" 0.001 "$(status .memprof_rate)"
control $pid --profile off --memprof off || fail "off: $?"
until_so status_is .profile '"off"' || fail "a profile: $(status .profile)"
is "no rate" 0 "$(status .memprof_rate)"
is "the disk" true "$(status '.disk_size > 0 and .disk_free > 0')"

# directories
refused() { # TEXT DIRECTORY
  ends 1 "$1" control $pid --trigger "counter(\"n\") > 5, dir=$2"
  is "$2: nothing is set" '["environment","program"]' "$(status '[.triggers[].set_by]')"
}
mkdir run/there
: >run/file
refused "dir=/no/such/dir: cannot be made: No such file" /no/such/dir
refused "dir=saved/none: cannot be made" saved/none
refused "dir=file: Not a directory" file
if [ "$(id -u)" -ne 0 ]; then
  mkdir -m 500 run/closed
  refused "dir=closed: Permission denied" closed
  refused "dir=closed/below: cannot be made: Permission denied" closed/below
fi
for directory in there there/new "$PWD/saved" "\"$PWD/saved\""; do
  control $pid --trigger "heap > 999G, dir=$directory" || fail "$directory: $?"
done
for directory in there there/new; do
  control "$PWD"/run/*.eventring --trigger "heap > 999G, dir=$directory" || fail "$directory, by file: $?"
done
ends 1 "dir=none/none: cannot be made" control run/*.eventring --trigger "heap > 999G, dir=none/none"

# what became of them
own='.triggers[] | select(.set_by == "control")'
control $pid --trigger 'counter("n") > 5, dir=there, cooldown=1ms, max=2' || fail "trigger: $?"
until_so status_is "$own | [.saved, .failed, .error]" '[2,0,null]' || fail "saved: $(status "$own")"
is "its condition" '"counter(\"n\") > 5"' "$(status "$own | .condition")"
is "files" 2 "$(ls run/there/*-trigger*.eventring | wc -l)"
is "their size" true "$(status "$own | .bytes > 0")"
until_so status_is "$own | .skipped > 10 and .fired >= .skipped + .saved" true ||
  fail "skipped: $(status "$own")"
is "those of others" '[0,0]' "$(status '[.triggers[] | select(.set_by != "control") | .fired]')"

# a copy that fails later: its directory is gone
mkdir run/gone
control $pid --trigger 'counter("n") > 5, dir=gone/below, cooldown=1ms' && rmdir run/gone/below run/gone 2>/dev/null
until_so eval 'rm -rf run/gone; status_is "$own | .failed > 0 and .error != null" true' ||
  fail "failed: $(status "$own")"
control $pid --status >status.txt || fail "--status as text: $?"
for text in "memprof" "profile" "streams" "disk" " taken, " " free" "last error" 'counter("n") > 5'; do
  has "text" "$text" "$(cat status.txt)"
done
control $pid --trigger off || fail "--trigger off: $?"
until_so status_is '[.triggers[].set_by]' '["environment","program"]' || fail "off: $(status .triggers)"
kill -KILL $pid
wait $pid 2>/dev/null
has "of a dead process" "environment" "$(control run/*.eventring --status)"
finish
