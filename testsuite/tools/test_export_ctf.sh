# SPDX-License-Identifier: MIT
# What `export --to ctf` writes, read by babeltrace2: events with places, times, depths, values,
# begins of spans, what is torn; and events that were discarded.
. "$TESTSUITE/tools/_timeline.sh"
command -v babeltrace2 >/dev/null ||
  { echo "babeltrace2 is missing (Debian package: babeltrace2)"; exit 77; }
record_all
for name in whole few damaged; do
  export_to ctf $name $name.ctf
  babeltrace2 --clock-cycles $name.ctf >$name.text 2>$name.warnings || fail "babeltrace2: $(cat $name.warnings)"
  python3 - $name.dump $name.text $name.warnings <<'PY' >facts.txt 2>&1 || fail "$name: $(tail -20 facts.txt)"
import collections, json, re, sys
RINGS = {"0": "runtime", "1": "user", "2": "alloc", "3": "calls"}
expected, actual, begun = collections.Counter(), collections.Counter(), {}
for line in open(sys.argv[1], encoding="utf-8"):
    e = json.loads(line)
    kind, where = e["kind"], (str(e.get("domain")), e.get("ring"))
    if kind == "lost":
        expected["discarded", *where, e["count"]] += 1
        continue
    if kind == "open" or "name" not in e:
        continue
    same = (*where, e.get("context"), e["depth"], e["name"])
    words = [e["ns"], *where, str(e.get("context", 0)), str(e["depth"])]
    if kind == "begin" and e.get("synthetic"):
        words = ["-", *words[1:], e["name"] + ":open", "begin_ns=" + str(e["ns"])]
    elif kind == "begin":
        begun[same] = e["ns"]
        words += [e["name"] + ":begin", ""]
    elif kind == "end":
        made = e.get("synthetic")
        begin = e["ns"] - e["duration_ns"] if "duration_ns" in e else begun.get(same) if made else 0
        torn = (2 if made else 1) if e.get("torn") else 0
        words += [e["name"] + ":end", f"begin_ns={begin} torn={torn}"]
    elif "link" in e:
        words += [f"{e['name']}:{e['role']}", f"link={e['link']}"]
    else:
        value = e.get("value")
        simple = isinstance(value, (int, float)) and not isinstance(value, bool)
        words += [e["name"], f"value={float(value):.6g}" if simple else ""]
    expected[tuple(words)] += 1
for line in open(sys.argv[2], encoding="utf-8"):
    match = re.match(r"\[(\d+)\] \(.*?\) (.+?): \{ domain = (\d+), ring = (\d+) \}, "
                     r"\{ context = (\d+), depth = (\d+) \}, \{ ?(.*)\}$", line)
    ns, name, domain, ring, context, depth, rest = match.groups()
    fields = dict(re.findall(r"(\w+) = ([^ ,]+)", rest))
    words = [int(ns), domain, RINGS[ring], context, depth, name]
    if name == "eventring_domain":
        continue
    if name.endswith(":open"):
        words = ["-", *words[1:], f"begin_ns={fields['begin_ns']}"]
    elif "torn" in fields:
        words += [f"begin_ns={fields['begin_ns']} torn={fields['torn']}"]
    elif "link" in fields:
        words += [f"link={fields['link']}"]
    else:
        try:
            words += [f"value={float(fields['value']):.6g}"]
        except (KeyError, ValueError):
            words += [""]
    actual[tuple(words)] += 1
for line in open(sys.argv[3], encoding="utf-8"):
    for count, domain, ring in re.findall(r"discarded (\d+) events .*/d(\d+)r(\d+)\"", line):
        actual["discarded", domain, RINGS[ring], int(count)] += 1
wrong = [(key, expected[key], actual[key]) for key in expected.keys() | actual.keys()
         if expected[key] != actual[key]]
print(*sorted(wrong, key=str)[:20], sep="\n")
sys.exit(bool(wrong) or not expected)
PY
done
has "discarded events in between" "discarded" "$(cat damaged.warnings)"
has "a text" 'a \"note\"' "$(grep -m 1 note: whole.text)"
ends 1 "whole.ctf" "$EVENTRING" export --to ctf -o whole.ctf whole.eventring
finish
