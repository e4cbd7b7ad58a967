# SPDX-License-Identifier: MIT
# Wrong usage is status 2 with a message that names what is wrong; help is 0.
. "$TESTSUITE/tools/_tools.sh"

ends 2 "Usage: eventring" "$EVENTRING"
ends 2 "no command \`frobnicate'" "$EVENTRING" frobnicate
for command in show dump stats; do
  ends 2 "no PID or FILE" "$EVENTRING" $command
  [ $command = stats ] ||
    ends 2 "more than one PID or FILE: \`b'" "$EVENTRING" $command a b
  ends 2 "no option \`--frobnicate'" "$EVENTRING" $command --frobnicate 1
done
ends 2 "\`-x'" "$EVENTRING" stats -x 1
ends 2 "needs an argument" "$EVENTRING" stats 1 --seconds
ends 2 "not a number of seconds" "$EVENTRING" stats --seconds soon 1
ends 2 "not a number of seconds" "$EVENTRING" stats --seconds -1 1
ends 2 "not a number of seconds" "$EVENTRING" stats --seconds nan 1
ends 2 "not a number of seconds" "$EVENTRING" stats --seconds 1e300 1
ends 2 "takes no argument" "$EVENTRING" stats --json=yes 1
ends 2 "no command after" "$EVENTRING" stats --
ends 2 "and a command to launch" "$EVENTRING" stats 1 -- true
ends 2 "cannot launch" "$EVENTRING" show -- true
ends 2 "cannot launch" "$EVENTRING" list -- true
ends 2 "no -o FILE" "$EVENTRING" snapshot 1
ends 2 "no -o FILE" "$EVENTRING" merge 1 2
ends 2 "no PID or FILE" "$EVENTRING" merge -o x
ends 2 "not start a PROGRAM" "$EVENTRING" merge -o x -- true
ends 2 "auto, wall or monotonic" "$EVENTRING" merge -o x --clock tsc 1
ends 2 "not 0 to 127" "$EVENTRING" dump --domain 128 1
ends 2 "not a whole number" "$EVENTRING" dump --domain x 1
ends 2 "needs an argument: RING" "$EVENTRING" dump --ring
ends 2 "not start, monotonic or wall" "$EVENTRING" dump --time now 1
ends 2 "no option" "$EVENTRING" clean --force

ends 0 "" "$EVENTRING" --help
has "help" "stats" "$(cat stdout.txt)"
ends 0 "" "$EVENTRING" --version
has "version" "eventring 0." "$(cat stdout.txt)"
for command in list show dump stats snapshot record merge cut repair strip control clean; do
  ends 0 "" "$EVENTRING" $command --help
  has "help of $command" "Usage: eventring $command" "$(cat stdout.txt)"
  is "message of $command --help" "" "$("$EVENTRING" $command --help 2>&1 >/dev/null)"
done
finish
