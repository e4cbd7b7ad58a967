# SPDX-License-Identifier: MIT
# `eventring view` of what goes on: a PROGRAM, a process that is watched, one that is interrupted.
# What is shown of them is what the commands say of the recording that they leave.
. "$TESTSUITE/tools/_tools.sh"
command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }
"$EVENTRING" view nothing.eventring 2>&1 | grep -q "without zlib" && { echo "built without zlib"; exit 77; }

cat >work.lua <<'LUA'
local eventring = require "saros.eventring"
local keep, rounds = {}, tonumber(arg[1])
for i = 1, rounds do
  eventring.begin_span("request", i % 7)
  for j = 1, 50 do keep[(i + j) % 500 + 1] = {i, j, tostring(i)} end
  if i % 10 == 0 then eventring.event("tenth", i) end
  eventring.counter("round", i)
  eventring.end_span("request")
end
LUA

# figures PAGE FILE
figures() {
  python3 "$TESTSUITE/tools/_view_figures.py" "$EVENTRING" "$@" >figures.txt 2>&1 ||
    fail "$*: $(cat figures.txt)"
}

# a program, with its own exit status
SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_WSIZE=20 \
  "$EVENTRING" view -o program.html -- "$SAROS" work.lua 2000 >out.txt 2>err.txt ||
  fail "view -- PROGRAM: $?: $(cat err.txt)"
has "what it says of its file" "kept" "$(cat err.txt)"
is "recordings" 1 "$(ls ./*.eventring | wc -l)"
figures program.html ./*.eventring
rm -f ./*.eventring
echo 'os.exit(7)' >seven.lua
status=0
"$EVENTRING" view -o seven.html -- "$SAROS" seven.lua 2>err.txt || status=$?
is "status of a program that ends with 7" 7 $status
[ -s seven.html ] || fail "there is no page of it"
"$EVENTRING" view -- "$SAROS" work.lua 10 >name.txt
[ -s "$(cat name.txt)" ] || fail "no page is called $(cat name.txt)"
has "its name" "work.lua-" "$(cat name.txt)"
rm -f ./*.html
ends 127 "nothing-here" "$EVENTRING" view -o nothing.html -- ./nothing-here
is "pages of no program" "" "$(ls ./*.html ./*.partial 2>/dev/null)"

# a process that stands still from then on: what is shown is what is there
SAROS_EVENTRING_START=1 SAROS_EVENTRING_WSIZE=16 "$SAROS" work.lua 100000000 &
pid=$!
await "$pid"
"$EVENTRING" view --seconds 0.3 -o watched.html "$pid" || fail "view of a process: $?"
"$EVENTRING" control --pause "$pid" >control.txt
sleep 0.1
"$EVENTRING" view --seconds 0 -o still.html "$pid" || fail "view --seconds 0: $?"
"$EVENTRING" snapshot -o copy.eventring "$pid" || fail "snapshot: $?"
figures still.html copy.eventring
python3 - "$TESTSUITE/tools" watched.html <<'PY' || fail "the page of a process that is watched"
import sys
sys.path.insert(0, sys.argv[1])
from _view import Page
head = Page(sys.argv[2]).head
length = head["grid"]["cell_ns"] * head["grid"]["cells"]
assert head["run"]["liveness"] == "live", head["run"]
assert 3e8 < length, length
assert 256 < head["grid"]["cells"] <= 1024, head["grid"]
PY

# SIGINT ends the watching, not the page
"$EVENTRING" control --resume "$pid" >control.txt
"$EVENTRING" view --seconds 100 -o interrupted.html "$pid" 2>err.txt &
view=$!
sleep 0.5
kill -INT $view
status=0
wait $view || status=$?
is "status of one that is interrupted, which says $(cat err.txt)" 0 $status
[ -s interrupted.html ] || fail "there is no page of what was seen"
kill "$pid"
wait "$pid" 2>/dev/null

# the samples that somebody has asked for go on, also where nothing was collected since
mkfifo never
SAROS_EVENTRING_START=1 "$SAROS" -e 'io.open("never")' &
pid=$!
await "$pid"
"$EVENTRING" control --memprof 0.5 "$pid" || fail "cannot sample"
"$EVENTRING" view --seconds 0.1 -o waits.html "$pid" || fail "view of a process that waits: $?"
is "rate of its samples" 0.5 "$("$EVENTRING" control --status --json "$pid" | jq .memprof_rate)"
# and so does a class that is on without a rate
"$EVENTRING" control --memprof off "$pid" || fail "cannot end sampling"
"$EVENTRING" control --enable alloc "$pid" || fail "cannot enable a class"
"$EVENTRING" view --seconds 0.1 -o class.html "$pid" || fail "view of a class without a rate: $?"
is "its class" true "$("$EVENTRING" control --status --json "$pid" | jq .classes.alloc)"
is "its rate" 0 "$("$EVENTRING" control --status --json "$pid" | jq .memprof_rate)"
# and a rate that was asked for before the class went off
"$EVENTRING" control --memprof 0.5 "$pid" || fail "cannot sample"
"$EVENTRING" control --disable alloc "$pid" || fail "cannot disable a class"
"$EVENTRING" view --seconds 0.1 -o rate.html "$pid" || fail "view of a rate without its class: $?"
is "the class is off again" false "$("$EVENTRING" control --status --json "$pid" | jq .classes.alloc)"
"$EVENTRING" control --enable alloc "$pid" || fail "cannot enable a class"
is "its former rate" 0.5 "$("$EVENTRING" control --status --json "$pid" | jq .memprof_rate)"
kill "$pid"
wait "$pid" 2>/dev/null
finish
