# SPDX-License-Identifier: MIT
# eventring control: pause, resume, classes, copies, status of a live process,
# through the control page alone; what is wrong is reported and changes nothing.
. "$TESTSUITE/tools/_tools.sh"

control() { "$EVENTRING" control "$@"; }
status_of() { control "$pid" --status --json >status.json ||
  fail "--status: $?"; query status.json "$1"; }
# emitted: events of class gc and user written so far, by all domains
emitted() { "$EVENTRING" show --json "$pid" | jq '[.domains[].rings[].emitted] | add'; }
# stands: nothing is written any more (a probe may be under way: look again)
stands() {
  local before after
  for _ in $(seq 200); do
    before=$(emitted); sleep 0.02; after=$(emitted)
    [ "$before" = "$after" ] && return
  done
  fail "$1: events are still written ($before, $after)"
}
goes_on() {
  local before
  before=$(emitted)
  until_so grows "$before" || fail "$1: no events are written"
}
grows() { [ "$(emitted)" -gt "$1" ]; }

# wrong usage
ends 2 "nothing to do" control 1
ends 2 "no PID or FILE" control --pause
ends 2 "--pause and --resume cannot be combined" control --pause --resume 1
ends 2 "--json needs --status" control --json --pause 1
ends 2 "not a list of names" control --enable "" 1
ends 2 "cannot launch" control --status -- true
ends 1 "no process" control --pause 999999999
ends 1 "nowhere" control --status nowhere.eventring

start --rounds 1000000 --pause-us 300
is "running" '"running"' "$(status_of .state)"
is "by default" '[true,true,false,false]' "$(status_of '.classes | [.gc, .user, .calls, .alloc]')"

# pause and resume
control "$pid" --pause || fail "--pause: $?"
is "paused" '"paused"' "$(status_of .state)"
stands "paused"
control "$pid" --pause || fail "--pause of what is paused: $?"
control "$pid" --resume || fail "--resume: $?"
is "resumed" '"running"' "$(status_of .state)"
goes_on "resumed"

# classes: several, lists, repeated; also while paused
control "$pid" --enable calls,alloc --disable gc --disable user,load || fail "classes: $?"
is "changed" '[false,false,true,true,true]' \
  "$(status_of '.classes | [.gc, .user, .calls, .alloc, .lifecycle]')"
control "$pid" --disable=lifecycle,io || fail "lifecycle among others: $?"
is "lifecycle stays" 'true' "$(status_of .classes.lifecycle)"
control "$pid" --disable all || fail "--disable all: $?"
is "still running" '"running"' "$(status_of .state)"
is "all but one" '["lifecycle"]' "$(status_of '[.classes | to_entries[] | select(.value) | .key]')"
is "no user events" 0 \
  "$("$EVENTRING" stats --json --from-now --seconds 0.1 "$pid" | jq "[.spans[]] | length")"
control "$pid" --pause --enable gc || fail "enable while paused: $?"
is "paused with gc" '["paused",true]' "$(status_of '[.state, .classes.gc]')"
stands "paused with gc"
control --resume "$pid" || fail "resume: $?"
goes_on "gc on"
before=$("$EVENTRING" stats --json --from-now --seconds 0.1 "$pid" | jq -c '[.spans[].name] | unique')
has "gc alone" '"minor"' "$before"
[[ $before != *request* ]] || fail "user events though user is off: $before"

# refused: nothing is changed
ends 1 "no class \`frobs' in this recording; it has lifecycle gc" control "$pid" --enable frobs
ends 1 "no class \`'" control "$pid" --enable gc,,user
ends 2 "both enabled and disabled" control "$pid" --enable gc,user --disable user
ends 1 "always recorded" control "$pid" --disable lifecycle
ends 1 "no class" control "$pid" --pause --enable user,frobs
is "unchanged" '["running",false]' "$(status_of '[.state, .classes.user]')"

# text, a copy, by file
text=$(control --status "$(echo "$PWD"/*.eventring)")
has "state" "state        running" "$text"
has "classes on" "on           lifecycle gc" "$text"
control "$pid" --snapshot copy.eventring --status >/dev/null || fail "--snapshot: $?"
"$EVENTRING" stats copy.eventring >/dev/null || fail "stats of the copy: $?"
ends 1 "copy.eventring" control "$pid" --snapshot copy.eventring
ends 1 "no live process" control copy.eventring --pause
ends 0 "" control copy.eventring --status
has "a copy" "saved" "$(cat stdout.txt)"

# malformed control words: reported, ignored by the process, and counted

# The signal is sent when `kill` returns, but the process may run on for a moment.
is_stopped() { grep -q '^State:.T' "/proc/$pid/status"; }
stop_it() { kill -STOP "$pid"; until_so is_stopped || fail "the process does not stop"; }
poke() { # eight bytes at an offset of the control page: 0 the gate, 8 what is wanted
  printf "$2" | dd of="$(echo "$PWD"/[0-9]*.eventring)" bs=1 seek=$((8192 + $1)) conv=notrunc status=none
}
control "$pid" --enable all >/dev/null
stats_errors() { "$EVENTRING" stats --seconds 0.05 "$pid" 2>&1 >/dev/null; }
garbage='\377\000\000\000\377\377\377\377' # bits of classes without a name
poke 8 $garbage
is_rejected() { [ "$(status_of .control_rejected 2>/dev/null)" = 1 ]; }
until_so is_rejected
is "ignored" '[1,false,"running"]' \
  "$(status_of '[.control_rejected, .control_malformed, .state]' 2>/dev/null)"
is "put right" true "$(status_of '.classes.gc' 2>/dev/null)"
has "stats warns" "ignored 1 malformed control words" "$(stats_errors)"
has "show warns" "ignored 1 malformed" "$("$EVENTRING" show "$pid" 2>&1 >/dev/null)"
has "control warns" "ignored 1 malformed" "$(control "$pid" --status 2>&1 >/dev/null)"
stop_it
poke 8 $garbage
has "will be ignored" "control word 0xffffffff000000ff is malformed; the process will ignore it" \
  "$(control "$pid" --status 2>&1 >/dev/null)"
control "$pid" --enable gc,user,lifecycle --resume || fail "resume after garbage: $?"
is "put right by us" '[1,false]' \
  "$(status_of '[.control_rejected, .control_malformed]' 2>/dev/null)"
kill -CONT "$pid"
goes_on "after garbage"

# the gate of a tool that died between its two steps, or garbage: it follows what is wanted
stop_it
poke 0 '\000\000\000\000\000\000\000\000'
has "will be put right" "the gate does not agree with the control word 0xff; the process will put it right" "$(control "$pid" --status 2>&1 >/dev/null)"
control "$pid" --enable gc || fail "a change that changes nothing: $?"
is "put right by the change" '[1,false]' \
  "$(status_of '[.control_rejected, .control_malformed]' 2>/dev/null)"
poke 0 $garbage
kill -CONT "$pid"
is_in_line() { [ "$(status_of .control_malformed 2>/dev/null)" = false ]; }
until_so is_in_line || fail "the gate is not put right"
goes_on "after garbage in the gate"

# gone
kill "$pid"
wait "$pid" 2>/dev/null
rm -f -- copy.eventring
file=$(echo "$PWD"/*.eventring)
ends 1 "no process" control "$pid" --pause
if [ -e "$file" ]; then ends 1 "no live process" control "$file" --resume; fi

# a class that there is not
SAROS_EVENTRING_START=1 "$SAROS" -e 'while true do end' &
pid=$!
await "$pid"
ends 1 "no class \`frobs'" control "$pid" --enable frobs
control "$pid" --disable alloc,user || fail "to disable two: $?"
is "disabled beside it" false "$(status_of .classes.user)"
ends 1 "no class \`frobs'" "$EVENTRING" dump --class frobs "$pid"
mkfifo ctl ack
"$EVENTRING" record -q --command-fifo ctl,ack -o copy.eventring "$pid" &
recorder=$!
exec 3<>ack
for command in "disable alloc" "enable frobs" stop; do
  echo "$command" >ctl
  IFS= read -r -t 10 line <&3
  answers+=("$line")
done
exec 3<&-
wait $recorder || fail "record: status $?"
is "record: disable" ok "${answers[0]}"
has "record: enable" "error: no class \`frobs'" "${answers[1]}"
kill -KILL "$pid"
wait "$pid" 2>/dev/null

# of one that died; and settings that are wrong
rm -f -- *.eventring
start --rounds 1000000 --pause-us 300
kill -KILL "$pid"
wait "$pid" 2>/dev/null
has "state of one that died" "state        running when it died" "$(control --status *.eventring)"
has "classes are listed" "all, none, lifecycle, gc, domain" \
  "$(SAROS_EVENTRING_START=1 SAROS_EVENTRING_CLASSES=gc,frobs "$PRODUCER" 2>&1)"
finish
