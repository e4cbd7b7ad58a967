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
  is "samples of $name" "$(grep -vc '^#' $name.om)" "$(grep -c eventring $name.samples)"
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
finish
