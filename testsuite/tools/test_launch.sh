# SPDX-License-Identifier: MIT
# `-- PROGRAM`: status passed on, files cleared up, or kept when wanted.
. "$TESTSUITE/tools/_tools.sh"
export TMPDIR=$PWD/tmp
mkdir tmp

"$EVENTRING" stats -o report -- "$PRODUCER" --rounds 1 || fail "status 0: $?"
"$EVENTRING" stats -o report -- "$PRODUCER" --rounds 1 --status 7
is "status of the program" 7 $?
is "left in TMPDIR" "" "$(ls tmp)"

# a script that starts the interpreter; its own process records nothing
cat >script <<END
#!/bin/sh
"$PRODUCER" --rounds 5
exit 9
END
chmod +x script
"$EVENTRING" stats --json -o report.json -- ./script
is "status of the script" 9 $?
is "recording of the descendant" 5 \
  "$(query report.json '.spans[] | select(.name == "minor") | .count')"
is "left in TMPDIR" "" "$(ls tmp)"

# killed by a signal: 128 + 9, the recording stays, spans open at the end show
"$EVENTRING" stats --json -o report.json -- "$PRODUCER" --rounds 5 --open --die 2>errors
is "status of one that is killed" 137 $?
has "the file is kept" "kept " "$(cat errors)"
is "it died" '"dead"' "$(query report.json .liveness)"
is "open spans" '["minor_roots","serve"]' \
  "$(query report.json '[.spans[] | select(.open == 1) | .name] | sort')"
kept=$(sed -n 's/.*kept //p' errors)
"$EVENTRING" stats --json "$kept" >again.json || fail "stats of what was kept: $?"
is_same "the same figures again" "$(counts_of report.json)" "$(counts_of again.json)"
rm -r tmp/*

# preserved where the user wants it
mkdir wanted
SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_PREFIX=wanted \
  "$EVENTRING" stats -o report -- "$PRODUCER" --rounds 1 2>errors || fail "preserved: $?"
is "preserved" 1 "$(ls wanted/*.eventring | wc -l)"
is "nothing else" 1 "$(ls wanted | wc -l)"

# another host's variables
"$EVENTRING" stats --json -o report.json --env-prefix=OTHER_HOST -- \
  "$PRODUCER" --env-prefix OTHER_HOST --rounds 3 || fail "--env-prefix: $?"
is "with other variables" 3 "$(query report.json '.spans[] | select(.name == "minor") | .count')"

# dump of one: all of it, in order, to its last event
"$EVENTRING" dump --json -- "$PRODUCER" --rounds 40 >dump.json || fail "dump: $?"
is "dump of one" 40 \
  "$(jq -s '[.[] | select(.kind == "end" and .name == "minor")] | length' dump.json)"
is "its last event" '"domain_stop"' \
  "$(jq -s '[.[] | select(.ring == "runtime")][-1].name' dump.json)"

# a reader of our output that goes away: cleared up all the same
"$EVENTRING" dump -- "$PRODUCER" --rounds 20000 --pause-us 1 2>errors | head -n 5 >/dev/null
is "left in TMPDIR after a broken pipe" "" "$(ls tmp)"
is "message of a broken pipe" "" "$(cat errors)"
finish
