# SPDX-License-Identifier: MIT
# Wrong usage is status 2 with a message that names what is wrong; help is 0.
. "$TESTSUITE/tools/_tools.sh"

ends 2 "Usage: eventring" "$EVENTRING"
ends 2 "no command \`frobnicate'" "$EVENTRING" frobnicate
for command in show dump stats; do
  ends 2 "no PID or FILE" "$EVENTRING" $command
  [ $command != dump ] ||
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
ends 2 "or a command to launch, not both" "$EVENTRING" stats 1 -- true
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
commands=$(sed -n 's/^COMMAND(\([a-z]*\),.*/\1/p' "$SRCDIR/eventring/tools/commands.def")
[ "$(wc -w <<<"$commands")" -gt 12 ] || fail "the commands: $commands"
for command in $commands; do
  ends 0 "" "$EVENTRING" $command --help
  has "help of $command" "Usage: eventring $command" "$(cat stdout.txt)"
  is "message of $command --help" "" "$("$EVENTRING" $command --help 2>&1 >/dev/null)"
  is "wide lines of $command --help" "" "$("$EVENTRING" $command --help | LC_ALL=C.UTF-8 awk 'length > 80')"
done
has "examples" "eventring stats --seconds 10" "$("$EVENTRING" stats --help)"
is "wide lines of --help" "" "$("$EVENTRING" --help | awk 'length > 80')"

# what was meant
ends 2 "did you mean \`stats'" "$EVENTRING" stast
ends 2 "did you mean \`pauses'" "$EVENTRING" pause
ends 2 "did you mean \`--seconds'" "$EVENTRING" stats --second=3 1
ends 2 "did you mean \`--json'" "$EVENTRING" dump --jsno 1
is "one line" 1 "$("$EVENTRING" stats --frobnicate 2>&1 | wc -l)"
[[ $("$EVENTRING" frobnicate 2>&1) != *"did you mean"* ]] || fail "a meaning of frobnicate"

# completion of bash, as it is installed
PATH=$(dirname "$EVENTRING"):$PATH
. "$BUILDDIR/eventring/completion/eventring"
# completes WORD...: the last one
completes() {
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
  _eventring
  echo "${COMPREPLY[*]}"
}
is "commands" "pauses" "$(completes eventring pau)"
is "options" "--since --seconds" "$(completes eventring pauses --s)"
mkdir some; cp /dev/null one.eventring
is "values of a choice" "line" "$(completes eventring heap --by l)"
is "formats" "perfetto" "$(completes eventring export --to perf)"
is "formats behind an equals sign" "perfetto" "$(completes eventring export --to = perf)"
is "no format of events" "" "$(completes eventring heap --to perf)"
is "classes" "user" "$(completes eventring spans --class us)"
is "words" "calls" "$(completes eventring control --profile c)"
is "no value is known" "" "$(completes eventring stats --seconds "")"
is "a flag takes none" "some" "$(completes eventring stats --json so)"
start --rounds 1000000 --pause-us 1000
is "no process before a digit" "$pid.eventring one.eventring some" \
  "$(echo $(completes eventring show "" | tr ' ' '\n' | sort))"
has "a process" " $pid " " $(completes eventring show "${pid%?}") "
kill -9 "$pid"; wait "$pid" 2>/dev/null

is "of help" "pauses" "$(completes eventring help pau)"
is "files" "one.eventring" "$(completes eventring show one)"
is "directories" "some" "$(completes eventring show so)"
zsh=$BUILDDIR/eventring/completion/_eventring
is "first line for zsh" "#compdef eventring" "$(head -1 "$zsh")"
has "descriptions for zsh" "'pauses:the longest steps of the collector, and why'" "$(cat "$zsh")"
if command -v zsh >/dev/null; then zsh -n "$zsh" || fail "syntax of zsh"; fi
finish
