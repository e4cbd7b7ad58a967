# SPDX-License-Identifier: MIT
# `autopsy` of processes that were killed, that ended with an error, and of a sound one.
. "$TESTSUITE/tools/_tools.sh"
command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }

cat >server.lua <<'LUA'
local eventring = require "eventring"
eventring.begin_span "server"
local keep = {}
for i = 1, 2000 do
  eventring.begin_span "request"
  keep[i % 500] = {i, tostring(i)}
  if i % 100 == 0 then eventring.event("tick", i) end
  if i == 1000 then collectgarbage() end
  if i == 1990 then
    if arg[1] == "kill" then os.execute("kill -9 $PPID") end
    local function lookup() error("no such user\\27[31m") end
    lookup()
  end
  eventring.end_span "request"
end
LUA
mkdir killed failed
SAROS_EVENTRING_START=1 SAROS_EVENTRING_PREFIX=killed "$SAROS" server.lua kill 2>/dev/null
SAROS_EVENTRING_START=1 SAROS_EVENTRING_PREFIX=failed "$SAROS" server.lua fail 2>/dev/null

"$EVENTRING" autopsy --json killed/*.eventring >killed.json || fail "autopsy: $?"
"$EVENTRING" autopsy killed/*.eventring >killed.txt || fail "autopsy as text: $?"
is "how it ended" dead "$(jq -r .liveness killed.json)"
is "open spans" '["server","request"]' "$(query killed.json '[.open_spans[].name]')"
is "the last tick" 1900 "$(query killed.json '[.rows[] | select(.name == "tick").value] | max')"
is "at most twenty lines" true "$(query killed.json '.rows | length <= 20')"
is "in order" true "$(query killed.json '[.rows[].ns] | . == sort')"
is "memory" true "$(query killed.json '[.memory[].name] | any(. == "heap_words")')"
is "steps" true "$(query killed.json '.collector.steps > 0')"
is "rings" '["runtime","user"]' "$(query killed.json '[.rings[].ring] | unique')"
is "reach" true "$(query killed.json '[.rings[].reach_ns] | min > 0')"
"$EVENTRING" autopsy --brief failed/*.eventring >brief.txt || fail "autopsy --brief: $?"
[ "$(wc -l <brief.txt)" -le 24 ] || fail "more than a screen: $(cat brief.txt)"
is "the stack first" "domain 0 main" "$(grep -m1 -o '^domain 0 main\|^Open spans\|^The last' brief.txt)"
has "its function" "lookup  server.lua" "$(cat brief.txt)"
has "the error in brief" "no such user" "$(cat brief.txt)"
has "killed" "ended: killed" "$(cat killed.txt)"

"$EVENTRING" autopsy failed/*.eventring >failed.txt || fail "autopsy of an error: $?"
has "the error" "no such user" "$(cat failed.txt)"
has "status" "exit status 1" "$(cat failed.txt)"
# memory by site, out of the heap profile, on one screen with all the rest
mkdir sampled
cat >sampled.lua <<'LUA'
local eventring, keep = require "saros.eventring", {}
local function remember(i) keep[#keep + 1] = {i, i} end
for i = 1, 5 do eventring.begin_span("outer" .. i) end
for i = 1, 20000 do
  if i % 1000 == 0 then eventring.event("tick", i) end
  remember(i)
end
collectgarbage()
error "out of luck"
LUA
SAROS_MEMPROF=0.1 SAROS_EVENTRING_PREFIX=sampled "$SAROS" sampled.lua 2>/dev/null
"$EVENTRING" autopsy --json sampled/*.eventring >sampled.json || fail "autopsy of a heap: $?"
is "sites" true "$(query sampled.json '.sites[0] | .line == 2 and .live_bytes > 100000')"
"$EVENTRING" autopsy --brief sampled/*.eventring >brief.txt || fail "autopsy --brief: $?"
has "a site" "sampled.lua:2" "$(cat brief.txt)"
[ "$(wc -l <brief.txt)" -le 24 ] || fail "more than a screen: $(cat brief.txt)"
is "no sites" "[]" "$(query killed.json .sites)"
record --rounds 3
"$EVENTRING" autopsy "$file" >sound.txt || fail "autopsy of a producer: $?"
python3 - <<'PYTHON' || fail "the page"
import sys
bad = [l for f in ("killed.txt", "failed.txt", "sound.txt") for l in open(f, encoding="utf-8")
       if (len(l.rstrip("\n")) > 80 or l != l.rstrip() + "\n" or "\33" in l)]
print(bad)
sys.exit(bool(bad))
PYTHON
ends 2 "not 0 to 1000" "$EVENTRING" autopsy --top 1001 "$file"
ends 2 "cannot launch" "$EVENTRING" autopsy -- true
ends 1 "" "$EVENTRING" autopsy no-such-file
finish
