# SPDX-License-Identifier: MIT
# `eventring metrics`: what it says of live processes is what their lossless streams say; nothing
# gets less while a process lives; who dies leaves no series; promtool finds nothing to say.
. "$TESTSUITE/tools/_tools.sh"

cat >work.lua <<'LUA'
local eventring, domain = require "eventring", require "domain"
local function work(rounds)
  local eventring, kept = require "eventring", {}

  for n = 1, rounds do
    eventring.begin_span("request")
    for i = 1, 2000 do kept[i % 500 + 1] = {i, tostring(i)} end
    if n % 50 == 0 then collectgarbage() end
    if n % 40 == 0 then collectgarbage("step", 10) end
    eventring.end_span("request")
    eventring.counter("queue", n % 7 - 3)
    eventring.event("seen")
  end
end
local other = domain.spawn(work, 200)
work(500)
other:join()
print("ready")
io.stdout:flush()
io.read()
LUA
mkfifo input
exec 3<>input
SAROS_EVENTRING_STREAM=$PWD/work "$SAROS" work.lua <input >output.txt 2>errors.txt &
pid=$!
for _ in $(seq 600); do grep -q ready output.txt && break; sleep 0.1; done
grep -q ready output.txt || fail "the program: $(cat errors.txt)"

"$EVENTRING" metrics "$pid" >one.txt 2>errors.txt || fail "metrics: $(cat errors.txt)"
"$EVENTRING" dump --json work.eventring >dump.json 2>errors.txt || fail "dump: $(cat errors.txt)"
python3 "$TESTSUITE/_metrics.py" one.txt dump.json >facts.txt 2>&1 || fail "$(tail -25 facts.txt)"
"$EVENTRING" export --to openmetrics -o live.om "$pid" 2>errors.txt || fail "export: $(cat errors.txt)"
"$EVENTRING" metrics --openmetrics "$pid" >om.txt
volatile='^eventring_process_\|^# '
is_same "export of a live process" "$(grep -v "$volatile" om.txt)" "$(grep -v "$volatile" live.om)"
is "end of OpenMetrics" "# EOF" "$(tail -1 om.txt)"
is_same "samples of both formats" "$(grep -v "$volatile" one.txt)" "$(grep -v "$volatile" om.txt)"
"$EVENTRING" metrics >all.txt || fail "metrics of all"
is_same "metrics of all has it" "$(grep -v "$volatile" one.txt)" \
  "$(grep "pid=\"$pid\"" all.txt | grep -v "$volatile")"
if command -v promtool >/dev/null; then
  promtool check metrics <one.txt >lint.txt 2>&1 || fail "promtool: $(cat lint.txt)"
fi
echo >&3
wait "$pid"


# ---- they only grow, while rings overwrite; names beyond the limit are counted together
cat >names.lua <<'LUA'
local eventring = require "eventring"
local kept, n = {}, 0
eventring.begin_span("once") -- whose ticks stay while the rate of the clock is measured
local at = os.clock()
repeat until os.clock() > at + 0.03
eventring.end_span("once")
while true do
  n = n + 1
  local name = "name " .. n % 40
  eventring.begin_span(name)
  for i = 1, 100 do kept[i % 50 + 1] = {i} end
  eventring.end_span(name)
  eventring.event("event " .. n % 40)
  eventring.counter("level " .. n % 40, n)
end
LUA
SAROS_EVENTRING_START=1 SAROS_EVENTRING_WSIZE=11 "$SAROS" names.lua &
pid=$!
await "$pid"
"$EVENTRING" metrics --every 0.02 -o grow.prom --max-series 30 "$pid" 2>errors.txt &
writer=$!
python3 - "$pid" <<'PY' >facts.txt 2>&1 || fail "$(tail -20 facts.txt)"
import os, re, sys, time
last, seen, versions = {}, 0, set()
end = time.monotonic() + 60
while len(versions) < 60 and time.monotonic() < end:
    try:
        text = open("grow.prom", encoding="utf-8").read()
    except FileNotFoundError:
        continue
    if text in versions:
        time.sleep(0.002)
        continue
    versions.add(text)
    assert text.endswith("\n"), "a part of the file"
    kind = dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.M))
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        series, value = line.rsplit(" ", 1)
        name = series.split("{")[0]
        base = re.sub("_(bucket|count|sum)$", "", name)
        if kind.get(name) != "counter" and kind.get(base) not in ("histogram", "summary"):
            continue
        assert float(value) >= last.get(series, 0), "%s: %s after %s" % (series, value, last[series])
        last[series] = float(value)
        seen += 1
assert len(versions) >= 60 and seen > 1000, (len(versions), seen)
others = [s for s in last if "(other)" in s]
names = {m for s in last for m in re.findall(r'name="((?:name|event) \d+)"', s)}
print(len(versions), seen, others, len(names))
assert len(others) == 3 and 5 <= len(names) < 30, (others, names)
PY
is "mode of the file" 644 "$(umask 022; stat -c %a grow.prom)"
kill -9 "$pid"; wait "$pid" 2>/dev/null
for _ in $(seq 300); do grep -q "pid=\"$pid\"" grow.prom || break; sleep 0.05; done
is "series of a dead process" 0 "$(grep -c "pid=\"$pid\"" grow.prom)"
kill "$writer"; wait "$writer"
is "status at SIGTERM" 0 $?
[ ! -e grow.prom ] || fail "a file that nobody brings up to date was left"

# ---- wrong use
ends 2 "is no process" "$EVENTRING" metrics work.eventring
ends 1 "does not record" "$EVENTRING" metrics $$
ends 1 "nowhere" "$EVENTRING" metrics -o nowhere/x.prom
ends 2 "cannot launch" "$EVENTRING" metrics -- true
finish
