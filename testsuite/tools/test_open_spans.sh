# SPDX-License-Identifier: MIT
# Spans that are open at the end of a recording: those whose class was turned off inside them may
# be over, as their end would not be recorded; the others are open.
. "$TESTSUITE/tools/_tools.sh"

# opened CODE: "NAME [may be over]" of each open span of class user, after this code ran
opened() {
  rm -f open.eventring
  echo 'local ev = require "saros.eventring"' "$1" >work.lua
  SAROS_EVENTRING_STREAM=open.eventring "$SAROS" work.lua || fail "work.lua: $1"
  "$EVENTRING" dump --json open.eventring >open.jsons || fail "dump"
  "$EVENTRING" dump --json --backwards open.eventring | jq -c 'select(.kind == "open")' >back.jsons
  jq -c 'select(.kind == "open")' open.jsons | cmp - back.jsons || fail "backwards: $1"
  jq -r 'select(.kind == "open" and .ring == "user") |
    "\(.name) \(if .may_be_over then "may be over" else "is open" end)"' open.jsons | xargs
}

is "open" "a is open b is open" "$(opened 'ev.begin_span "a" ev.begin_span "b"')"
is "off" "a may be over" "$(opened 'ev.begin_span "a" ev.disable "user" ev.end_span "a"')"
has "in text" "| a  (open since then, or ended while its class was off)" "$("$EVENTRING" dump open.eventring)"
has "in an autopsy" "a (or over: class off)" "$("$EVENTRING" autopsy open.eventring)"
is "in an autopsy" true "$("$EVENTRING" autopsy --json open.eventring |
  jq '[.open_spans[]? | select(.name == "a") | .may_be_over] == [true]')"
is "of a part, that is not known" 0 "$("$EVENTRING" dump --json --until 1000 open.eventring | grep -c may_be)"
is "off and on again" "a may be over" \
  "$(opened 'ev.begin_span "a" ev.disable "user" ev.end_span "a" ev.enable "user"')"
is "begun after that" "b is open" \
  "$(opened 'ev.begin_span "a" ev.disable "user" ev.end_span "a" ev.enable "user" ev.begin_span "b"')"
is "off and on before" "a is open" "$(opened 'ev.disable "user" ev.enable "user" ev.begin_span "a"')"
is "another class" "a is open" "$(opened 'ev.begin_span "a" ev.disable "gc"')"
is "paused" "a may be over" "$(opened 'ev.begin_span "a" ev.pause()')"
is "paused and resumed" "a may be over" "$(opened 'ev.begin_span "a" ev.pause() ev.end_span "a" ev.resume()')"
is "an exit within" "a is open" "$(opened 'ev.begin_span "a" os.exit(true)')"
finish
