# SPDX-License-Identifier: MIT
# A signal that comes while a file is being written: no part of it stays, and the status says so.
# What watches a live process ends with a complete file. SIGKILL leaves a part, under another
# name than that of the file, which is not in the way of the next command.
. "$TESTSUITE/tools/_tools.sh"
command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }

cat >many.lua <<'LUA'
local eventring = require "eventring"
for i = 1, tonumber(arg[1]) do eventring.begin_span "span" eventring.end_span "span" end
LUA
SAROS_EVENTRING_STREAM=./many.eventring "$SAROS" many.lua 300000 || fail "many.lua"

# Sends the signal as soon as the output is there, and again with another output if the command
# was quicker.
cat >interrupt.py <<'PY'
import os, signal, subprocess, sys, time
number, output, words = getattr(signal, sys.argv[1]), sys.argv[2], sys.argv[3:]
for attempt in range(50):
    command = subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    while command.poll() is None and not os.path.lexists(output + ".partial"):
        time.sleep(0.0005)
    if command.poll() is None:
        command.send_signal(number)
    message = command.communicate()[1].decode()
    if command.returncode == 0:  # it was complete
        subprocess.run(["rm", "-r", output], check=True)
        continue
    if number == signal.SIGKILL:
        assert command.returncode == -number, command.returncode
        if os.path.lexists(output):  # just before it came
            subprocess.run(["rm", "-r", output], check=True)
            continue
        assert os.path.lexists(output + ".partial"), os.listdir(".")
        again = subprocess.run(words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
        said = again.stderr.decode()
        assert again.returncode == 0 and os.path.lexists(output), said
        assert not os.path.lexists(output + ".partial"), os.listdir(".")
        subprocess.run(["rm", "-r", output], check=True)
        sys.exit(0)
    assert command.returncode == 1, command.returncode
    assert "interrupted; " + output + " is removed" in message, message
    assert not os.path.lexists(output), output
    assert not [name for name in os.listdir(".") if output in name], os.listdir(".")
    sys.exit(0)
print("never interrupted")
sys.exit(1)
PY
try() { # SIGNAL OUTPUT WORD...
  timeout "$PATIENCE" python3 interrupt.py "$@" >tried.txt 2>&1 || fail "$*: $(cat tried.txt)"
}
try SIGINT x.pftrace "$EVENTRING" export --to perfetto -o x.pftrace many.eventring
try SIGTERM x.json.gz "$EVENTRING" export --to chrome -o x.json.gz many.eventring
try SIGHUP x.csv "$EVENTRING" export --to csv -o x.csv --domain 0 many.eventring
try SIGTERM x.ctf "$EVENTRING" export --to ctf -o x.ctf many.eventring
try SIGINT x.om "$EVENTRING" export --to openmetrics -o x.om many.eventring
if "$EVENTRING" sql many.eventring "select 1" >/dev/null 2>&1; then
  try SIGINT x.sqlite "$EVENTRING" export --to sqlite -o x.sqlite many.eventring
fi
try SIGKILL x.pftrace "$EVENTRING" export --to perfetto -o x.pftrace many.eventring
try SIGKILL x.ctf "$EVENTRING" export --to ctf -o x.ctf many.eventring
if "$EVENTRING" sql many.eventring "select 1" >/dev/null 2>&1; then
  try SIGKILL x.sqlite "$EVENTRING" export --to sqlite -o x.sqlite many.eventring
fi
try SIGKILL x.cut "$EVENTRING" cut --since 0 -o x.cut many.eventring
try SIGKILL x.merged "$EVENTRING" merge -o x.merged many.eventring

# the name is there only when the file is complete, and what stands in its place stays
echo mine >x.csv
ends 1 "cannot create x.csv: File exists" "$EVENTRING" export --to csv -o x.csv many.eventring
is "what was there" mine "$(cat x.csv)"
rm x.csv
for command in "export --to csv" snapshot "cut --since 0" merge; do
  "$EVENTRING" $command -o x.out many.eventring >/dev/null 2>said.txt || fail "$command: $(cat said.txt)"
  is "files after $command" x.out "$(ls -d x.*)"
  rm x.out
done

# a file that is complete for the signal: what was seen so far
start --hold-ms 1000000
"$EVENTRING" export --to csv -o live.csv --seconds 1000 "$pid" &
exporting=$!
until_so [ -e live.csv.partial ] || fail "nothing is exported"
kill -TERM $exporting
wait $exporting
is "status of the watching" 0 $?
has "the head of the table" "ns" "$(head -1 live.csv)"
kill -KILL "$pid"; wait "$pid" 2>/dev/null
finish
