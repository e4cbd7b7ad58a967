# SPDX-License-Identifier: MIT
"""What a timeline must show, a line each and sorted, so that two of them can be compared:

    _facts.py dump DUMP [START_NS]        of what `eventring dump --json` has printed
    _facts.py rows DUMP ROWS [START_NS]   of what Perfetto's trace processor has read

DUMP says which names are spans. Lines:

    span PLACE NAME CLASS BEGIN DURATION DEPTH [open]   (of an open one duration -1)
    torn PLACE NAME CLASS BEGIN AT_LEAST   (a span without length: its end was not recorded)
    point PLACE NAME CLASS TIME [VALUE] [torn]
    counter PLACE NAME TIME VALUE
    async NAME BEGIN DURATION
    flow NAME PLACE TIME          each arrow, where it begins
    problem NAME COUNT            what the trace processor finds wrong
    lost PLACE TIME COUNT
"""
import json
import re
import sys


def read(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def place(event):
    return f"{event['domain']}{' ' + event['domain_name'] if event.get('domain_name') else ''} {event['ring']}"


def number(value):
    return f"{float(value):.12g}"


class Depths:
    """Of spans in a timeline, where one that is torn has no length, and nothing within."""
    def __init__(self, events):
        self.around, self.torn, open_spans = {}, set(), {}
        for e in events:
            if e["kind"] == "begin":
                stack = open_spans.setdefault((e["domain"], e["ring"], e.get("context")), [])
                del stack[e["depth"]:]
                stack += [None] * (e["depth"] - len(stack)) # found open later, inside this one
                self.around[self.key(e, e["ns"])] = list(stack)
                stack.append(self.key(e, e["ns"]))
            elif e["kind"] == "end":
                key = self.key(e, e["begin_ns"] if e.get("synthetic")
                               else e["ns"] - e.get("duration_ns", 0))
                stack = open_spans.get(key[:3], [])
                if key in stack:
                    stack.remove(key)
                if e.get("synthetic"):
                    self.torn.add(key)

    @staticmethod
    def key(e, begin_ns):
        return e["domain"], e["ring"], e.get("context"), e["name"], begin_ns

    def of(self, e):
        begin_ns = e["ns"] - e.get("duration_ns", 0)
        return sum(key not in self.torn for key in self.around[self.key(e, begin_ns)])


def of_dump(events, start):
    links, facts, depths = {}, [], Depths(events)
    add = lambda *words: facts.append("\t".join(str(word) for word in words))
    for e in events:
        kind, ns, where = e["kind"], e["ns"] - start, place(e) if "ring" in e else ""
        if kind == "end":
            begin = ns - e["duration_ns"] if "duration_ns" in e else None
            if e.get("synthetic"):
                add("torn", where, e["name"], e["class"], e["begin_ns"] - start,
                    ns - (e["begin_ns"] - start))
            elif begin is None:
                add("point", where, e["name"], e["class"], ns, "torn")
            else:
                add("span", where, e["name"], e["class"], begin, ns - begin, depths.of(e))
        elif kind == "open":
            add("span", where, e["name"], e["class"], ns, -1, depths.of(e), "open")
        elif kind == "counter":
            add("counter", where.rsplit(" ", 1)[0], e["name"], ns, number(e["value"]))
        elif kind == "lost":
            add("lost", where, ns, e["count"])
        elif kind in ("event", "lifecycle"):
            value = e.get("value")
            simple = isinstance(value, (int, float, str)) and not isinstance(value, bool)
            add("point", where, e["name"], e["class"], ns, *([value] if simple else []))
        elif "link" in e:
            links.setdefault((e["name"], e["link"]), []).append((ns, e["role"], where, e["kind"]))
    for (name, _), points in links.items():
        points.sort(key=lambda point: point[0])
        if any(point[1] == "step" for point in points):
            facts += ["\t".join(["flow", name, point[2], str(point[0])]) for point in points[:-1]]
            continue
        begin = None
        for ns, role, _, _ in points:
            if role == "begin":
                begin = ns
            elif begin is not None:
                add("async", name, begin, ns - begin)
                begin = None
        if begin is not None:
            add("async", name, begin, -1)
    return facts


def of_rows(events, rows, start):
    spans = {e["name"] for e in events if e["kind"] in ("begin", "end", "open")}
    asyncs = {e["name"] for e in events if "link" in e}
    flows = {e["name"] for e in events if e.get("role") == "step"}
    facts = []
    add = lambda *words: facts.append("\t".join(str(word) for word in words))
    for row in rows:
        what, name = row["what"], row["name"]
        if what == "problem":
            add("problem", name, row["value"])
            continue
        where = " ".join(filter(None, [row["thread"], row.get("track")]))
        where = re.sub(r" \+\d+$", "", where)
        ns = row["ts"] - start
        if what == "counter":
            if row["thread"]:
                name, where = name, row["thread"]
            else: # Chrome's: "NAME DOMAIN"
                name, where = re.match(r"(\S+) (.*)", name).groups()
            add("counter", where, name, ns, number(row["value"]))
        elif what == "flow":
            add("flow", name, where, ns)
        elif name == "events lost":
            add("lost", where, ns, row["count"])
        elif name in flows:
            pass # the points of its arrows
        elif name in asyncs:
            add("async", name, ns, row["dur"])
        elif row["torn"] == "its begin is unknown":
            add("point", where, name, row["class"], ns, "torn")
        elif row["torn"]:
            assert row["dur"] == 0, row
            add("torn", where, name, row["class"], ns, row["at_least"])
        elif name in spans:
            add("span", where, name, row["class"], ns, row["dur"], row["depth"],
                *(["open"] if row["dur"] < 0 else []))
        else:
            add("point", where, name, row["class"], ns,
                *([row["value"]] if row["value"] is not None else []))
    return facts


mode, dump, *rest = sys.argv[1:]
events = read(dump)
if mode == "dump":
    facts = of_dump(events, int(rest[0]) if rest else 0)
else:
    facts = of_rows(events, read(rest[0]), int(rest[1]) if len(rest) > 1 else 0)
sys.stdout.reconfigure(encoding="utf-8")
print("\n".join(sorted(facts)))
