# SPDX-License-Identifier: MIT
# What `export --to openmetrics` writes, read by Prometheus: promtool makes a block of its
# database of it, and prints the samples: counts and sums of spans, counters, events, losses.
. "$TESTSUITE/tools/_timeline.sh"
command -v promtool >/dev/null || { echo "promtool is missing (Debian package: prometheus)"; exit 77; }
record_all
for name in whole few damaged; do
  export_to openmetrics $name $name.om
  is "the end of $name" "# EOF" "$(tail -1 $name.om)"
  mkdir -p $name.db/wal
  promtool tsdb create-blocks-from openmetrics $name.om $name.db >blocks.txt 2>&1 ||
    fail "promtool: $(tail -5 blocks.txt)"
  promtool tsdb dump $name.db >$name.samples 2>dump.errors || fail "promtool: $(cat dump.errors)"
  is_same "samples of $name" "$(grep -vc '^#' $name.om)" "$(grep -c eventring $name.samples)"
  python3 - $name.dump $name.samples <<'PY' >facts.txt 2>&1 || fail "$name: $(tail -20 facts.txt)"
import collections, json, re, sys
expected, actual = collections.Counter(), collections.Counter()
for line in open(sys.argv[1], encoding="utf-8"):
    e = json.loads(line)
    where, kind = (e.get("name"), str(e.get("domain"))), e["kind"]
    if kind == "end" and "duration_ns" in e and not e.get("torn"):
        expected["span_seconds_count", *where] += 1
        expected["span_seconds_sum", *where] += e["duration_ns"]
        for bound in (1e-7, 1e-6, 1e-3, 10):
            expected["bucket", bound, *where] += e["duration_ns"] <= bound * 1e9
    elif kind == "end":
        expected["spans_torn_total", *where] += 1
    elif kind == "open":
        expected["spans_open", *where] += 1
    elif kind == "counter" and e["name"] in ("allocated_words", "promoted_words"):
        expected["amount_total", *where] += e["value"]
    elif kind == "counter":
        expected["level", *where] = e["value"]
    elif kind == "lost":
        expected["events_lost_total", e["ring"], where[1], str(int(e["before"]))] += e["count"]
    elif "name" in e and kind != "begin":
        expected["events_total", *where] += 1
for line in open(sys.argv[2], encoding="utf-8"):
    labels = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', line))
    value = float(line.rsplit("}", 1)[1].split()[0])
    name, where = labels["__name__"].removeprefix("eventring_"), (labels.get("name"), labels["domain"])
    if name == "span_seconds_bucket":
        if float(labels["le"]) in (1e-7, 1e-6, 1e-3, 10):
            actual["bucket", float(labels["le"]), *where] = value
    elif name == "events_lost_total":
        actual[name, labels["ring"], labels["domain"], labels["before"]] = value
    else:
        actual[name, *where] = round(value * 1e9) if name == "span_seconds_sum" else value
wrong = [(key, expected[key], actual[key]) for key in expected.keys() | actual.keys()
         if expected[key] != actual[key]]
print(*wrong[:20], sep="\n")
sys.exit(bool(wrong) or not expected)
PY
done

# Over time: what each sample counts are the events up to its moment. A recording of more
# moments than samples are kept has fewer, at even distances, and says at which.
cat >long.lua <<'LUA'
local eventring, clock = require "eventring", io.popen("sleep 4.3")
eventring.counter("level", -3)
for i = 1, 400 do eventring.span("work", function() local t = {} for j = 1, 100 do t[j] = {} end end) end
clock:close()
for i = 1, 100 do eventring.span("work", print) end
LUA
SAROS_EVENTRING_STREAM=./long.eventring SAROS_EVENTRING_PRESERVE=1 "$SAROS" long.lua >/dev/null ||
  fail "long.lua"
"$EVENTRING" dump --json long.eventring >long.dump || fail "dump: $?"
"$EVENTRING" show --json long.eventring >long.show || fail "show: $?"
# (the first may be over within a millisecond)
for run in whole:1ms:1:0 long:1ms:said:100 long:1000ms:1000:3; do
  IFS=: read -r name every distance least <<<"$run"
  rm -f series.om
  "$EVENTRING" export --to openmetrics --every "$every" -o series.om $name.eventring 2>said.txt || fail "$run: $?"
  if [ "$distance" = said ]; then
    distance=$(sed -n 's/.*: a sample each \([0-9]*\)[.0-9]* ms instead of each 1.000 ms.*/\1/p' said.txt)
    [ "${distance:-0}" -gt 1 ] || fail "it does not say how far apart they are: $(cat said.txt)"
  fi
  if [ $name = whole ]; then
    mkdir -p over_time/wal
    promtool tsdb create-blocks-from openmetrics series.om over_time >blocks.txt 2>&1 ||
      fail "promtool, $run: $(tail -5 blocks.txt)"
    promtool tsdb dump over_time >series.samples 2>dump.errors || fail "promtool: $(cat dump.errors)"
    is_same "samples over time" "$(grep -vc '^#' series.om)" "$(grep -c eventring series.samples)"
  fi
  python3 - $name.dump $name.show series.om "$distance" "$least" <<'PY' >series.txt 2>&1 || fail "$run: $(tail series.txt)"
import bisect, collections, json, re, sys
show, distance = json.load(open(sys.argv[2])), int(sys.argv[4])
start, wall = show["start_ns"], show["start_wall_ns"]
times, sums = collections.defaultdict(list), collections.defaultdict(lambda: [0])
for line in open(sys.argv[1], encoding="utf-8"):
    e = json.loads(line)
    where = (e.get("name"), str(e.get("domain")))
    if e["kind"] == "end" and "duration_ns" in e and not e.get("torn"):
        times["span_seconds_count", *where].append(e["ns"])
    elif e["kind"] == "counter":
        times["amount_total", *where].append(e["ns"])
        sums[where].append(sums[where][-1] + e["value"])
    elif e["kind"] not in ("begin", "end", "open", "lost"):
        times["events_total", *where].append(e["ns"])
series = collections.defaultdict(list)
for line in open(sys.argv[3], encoding="utf-8"):
    found = re.match(r'eventring_(\w+)\{name="([^"]*)".*,domain="(\d+)".*\} (\S+) (\d+)\.(\d{3})$', line)
    if found and found.groups()[:3] in times:
        name, event, domain, value, seconds, ms = found.groups()
        series[name, event, domain].append((int(seconds + ms), float(value)))
checked = 0
for key, samples in series.items():
    assert samples[0][1] == 0 or len(samples) == 1, (key, samples)
    assert [ms for ms, _ in samples] == sorted({ms for ms, _ in samples}), key
    for ms, value in samples[1:-1]:  # of the instants, which are at multiples of the distance
        last = (ms + 1) * 1000000 - 1 - wall
        at = start + last - last % (distance * 1000000)
        count = bisect.bisect_right(times[key], at)
        expected = sums[key[1:]][count] if key[0] == "amount_total" else count
        assert value == expected, (key, ms, value, expected)
        checked += 1
    steps = {b[0] - a[0] for a, b in zip(samples[1:-1], samples[2:-1])}
    assert steps <= {distance}, (key, steps)
print(checked)
sys.exit(checked < int(sys.argv[5]))
PY
done
# A live process holds no totals: what its rings hold gets less, so all are gauges of a window, which
# promtool finds nothing wrong with. Once it has ended, its file has totals.
cat >busy.lua <<'LUA'
local eventring = require "saros.eventring"
while true do
  eventring.span("work", function() local t = {} for j = 1, 100 do t[j] = {} end end)
  eventring.event "tick"
end
LUA
SAROS_EVENTRING_START=1 SAROS_EVENTRING_SECONDS=0 SAROS_EVENTRING_WSIZE=11 SAROS_EVENTRING_NAME=busy \
  "$SAROS" busy.lua &
pid=$!
await $pid
overwritten() { [ "$("$EVENTRING" stats --json --seconds 0.01 $pid | jq .total.missed)" -gt 0 ]; }
until_so overwritten || fail "nothing is overwritten"
for n in 1 2; do
  "$EVENTRING" export --to openmetrics -o live$n.om $pid || fail "live: $?"
  has "what was recorded" 'eventring_span_duration_seconds_count{' "$(cat live$n.om)"
done
is "totals, which grow" true "$(sed -n 's/^eventring_events_total{.*name="tick".*} //p' live1.om live2.om |
  jq -s '.[0] < .[1] and .[0] > 0')"
kill -9 $pid
wait $pid 2>wait.txt
"$EVENTRING" export --to openmetrics -o dead.om busy.eventring || fail "dead: $?"
has "totals" 'eventring_events_total{name="tick"' "$(cat dead.om)"
ends 2 "must be at least 1ms" "$EVENTRING" export --to openmetrics --every 0.1ms -o x.om whole.eventring
ends 2 "goes with --to openmetrics" "$EVENTRING" export --to csv --every 1 -o x.csv whole.eventring
finish
