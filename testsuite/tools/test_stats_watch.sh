# SPDX-License-Identifier: MIT
# `stats` of several recordings side by side, and what it says while it watches.
. "$TESTSUITE/tools/_tools.sh"
command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }

record --rounds 3
start --rounds 100000 --pause-us 500
first=$pid
SAROS_EVENTRING_START=1 "$PRODUCER" --rounds 300 --pause-us 1000 >producer2.txt &
second=$!
await $second
"$EVENTRING" stats --json $first $second "$file" --seconds 1.5 >several.json 2>errors.txt ||
  fail "stats of three: $?"
is "no messages" "" "$(cat errors.txt)"
is "one object each, in order" "[[$first,\"live\"],[$second,\"ended\"],[$(basename "$file" .eventring),\"ended\"]]" \
  "$(jq -cs 'map([.pid, .liveness])' several.json)"
is "read side by side" true \
  "$(jq -s '[.[:2][] | .spans[] | select(.name == "minor") | .count] | .[0] > 200 and .[1] == 300' several.json)"
is "all accounted for" true \
  "$(jq -s '[.[].domains[].rings[] | .emitted >= .delivered + .missed + .lost] | all' several.json)"
wait $second
"$EVENTRING" stats --seconds 0.1 $first "$file" >several.txt || fail "stats of two as text: $?"
is "their heads" "process $first, process $(basename "$file" .eventring)," \
  "$(grep -o 'process [0-9]*,' several.txt | xargs)"
ends 1 "999999999" "$EVENTRING" stats --seconds 0.1 999999999 $first
has "the other one is shown" "process $first" "$(cat stdout.txt)"

# a signal ends all of them
"$EVENTRING" stats --json --seconds 10m $first $first >signal.json &
reader=$!
attached $reader
kill -TERM $reader
wait $reader || fail "stats ended by a signal: $?"
is "figures of both after a signal" 2 "$(jq -cs length signal.json)"

# ---- What it does meanwhile

cat >terminal.py <<'PYTHON'
# Runs a command with a terminal as standard error (and output); prints what it wrote there.
import os, pty, sys
child, terminal = pty.fork()
if child == 0:
    if sys.argv[1] == "errors": os.dup2(os.open("out.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
    os.execv(sys.argv[2], sys.argv[2:])
text = b""
try:
    while chunk := os.read(terminal, 4096): text += chunk
except OSError: pass
sys.stdout.buffer.write(text)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
PYTHON
python3 terminal.py errors "$EVENTRING" stats --seconds 1.3 $first >terminal.txt || fail "on a terminal: $?"
has "it says what it does" "watching process $first (" "$(cat terminal.txt)"
has "for how long, and what came" " s of 1.300 s, " "$(cat terminal.txt)"
has "the second line" ": 1 s of" "$(cat terminal.txt)"
is "in one line of the terminal, removed at the end" true "$(python3 -c '
text = open("terminal.txt", newline="").read()
parts = text.split("\r")
print(str(all(len(part) < 80 for part in parts) and "\n" not in text and
          parts[-1] == "" and parts[-2].strip() == "").lower())')"
has "the figures" "Time in the collector" "$(cat out.txt)"
python3 terminal.py all "$EVENTRING" stats "$file" >terminal.txt || fail "of a file on a terminal: $?"
is "nothing is watched of what has ended" "" "$(grep watching terminal.txt)"
python3 terminal.py all "$EVENTRING" stats -o report -- "$PRODUCER" --rounds 500 --pause-us 1000 >terminal.txt ||
  fail "of a program on a terminal: $?"
is "the terminal is the program's" "" "$(grep watching terminal.txt)"
is "nothing when piped" "" "$("$EVENTRING" stats --seconds 0.2 $first 2>&1 >/dev/null)"
kill $first
wait $first 2>/dev/null
finish
