# SPDX-License-Identifier: MIT
# `stats` and `profile` of a process that goes on: where there is no terminal, nobody can end them,
# so they end after 10 s by themselves, and say so; with a terminal or --seconds they do not.
. "$TESTSUITE/tools/_tools.sh"
command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }

SAROS_EVENTRING_START=1 "$SAROS" -e 'while true do local t = {} end' &
pid=$!
await $pid
timeout $PATIENCE setsid "$EVENTRING" stats --json $pid </dev/null >stats.json 2>stats.err &
stats=$!
timeout $PATIENCE setsid "$EVENTRING" profile --json $pid </dev/null >profile.json 2>profile.err ||
  fail "profile: status $?"
wait $stats || fail "stats: status $?"
is "figures" true "$(query stats.json '[.spans[].count] | add > 0')"
for command in stats profile; do has "$command says so" "no terminal, so this ends after 10 s" "$(cat $command.err)"; done
is "samples" true "$(query profile.json '.total.samples > 0')"

# what is asked for holds, without a word
"$EVENTRING" stats --seconds 0.2 $pid >stats.txt 2>stats.err </dev/null || fail "stats --seconds: $?"
is "--seconds" "" "$(cat stats.err)"
"$EVENTRING" profile --seconds 0.2 $pid >profile.txt 2>profile.err </dev/null || fail "profile --seconds: $?"
is "--seconds: no word of a terminal" "" "$(grep terminal profile.err)"

# with a terminal it goes on, until it is interrupted
cat >terminal.py <<'PYTHON'
# Runs a command on a terminal, for longer than 10 s, then types ^C.
import os, pty, sys, time
child, terminal = pty.fork()
if child == 0: os.execv(sys.argv[1], sys.argv[1:])
os.set_blocking(terminal, False)
def read():
    try: return os.read(terminal, 65536)
    except (BlockingIOError, OSError): return b""
text, begun = b"", time.monotonic()
while time.monotonic() - begun < 12: text += read(); time.sleep(0.05)
if os.waitpid(child, os.WNOHANG)[0]: sys.exit("it has ended by itself")
os.write(terminal, b"\x03")
status = None
while status is None:
    text += read(); time.sleep(0.01)
    done, code = os.waitpid(child, os.WNOHANG)
    if done: status = os.waitstatus_to_exitcode(code)
sys.stdout.buffer.write(text)
sys.exit(status)
PYTHON
python3 terminal.py "$EVENTRING" stats $pid >terminal.txt || fail "on a terminal: status $?"
is "on a terminal: no word of it" "" "$(grep "no terminal" terminal.txt)"
kill -KILL $pid
wait $pid 2>/dev/null
finish
