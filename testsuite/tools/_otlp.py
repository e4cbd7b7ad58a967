# SPDX-License-Identifier: MIT
"""Reads OTLP, as protocol buffers by the numbers of _otlp.proto and as lines of JSON.

    _otlp.py same PROTOBUF JSON [MESSAGE]   both say the same
    _otlp.py check DUMP SHOW JSON [remote]  the traces of a recording are what `eventring dump
                                            --json` has printed of it; prints what was checked;
                                            `remote`: some parents are in other processes
    _otlp.py spans JSON [SCRIPT]            a line for each span: name, trace, id, parent, kind,
                                            flags, links; of a script of traced_host
    _otlp.py metrics TEXT JSON              the metrics are those of the text of Prometheus; prints
                                            how many samples
    _otlp.py folded JSON VALUE              stacks of a profile, as `export --to folded` has them
    _otlp.py sdk PROTOBUF PROTOBUF          two serializers wrote the same spans; prints how many
    _otlp.py sums STATS JSON                what spans there are, and how long, as `stats --json`
"""
import base64
import collections
import json
import os
import re
import struct
import sys

from _pprof import varint

FIELD = re.compile(r"^\s*(repeated|optional)?\s*(\w+) (\w+) = (\d+);(.*)$")


def schema(path):
    messages, name = {}, None
    text = open(path, encoding="utf-8").read().replace("{ ", "{\n")
    for line in re.sub(r"; (?!//)", ";\n", text).splitlines():
        begin, field = re.match(r"^message (\w+) {", line), FIELD.match(line)
        if begin:
            name = begin[1]
            messages[name] = {}
        elif field and name:
            repeated, kind, key, number, note = field.groups()
            if kind == "bytes" and key.endswith("Id"):
                kind = "id"
            messages[name][int(number)] = (key, kind, repeated == "repeated")
    return messages


MESSAGES = schema(os.path.join(os.path.dirname(os.path.abspath(__file__)), "_otlp.proto"))
PACKED = {"double": "<d", "fixed64": "<Q", "sfixed64": "<q"}


def number(kind, raw):
    if kind in ("int64", "int32"):
        raw -= (raw >> 63) << 64
    if kind in ("int64", "uint64", "fixed64", "sfixed64"):
        return str(raw)
    return bool(raw) if kind == "bool" else raw


def double(value):
    if value != value:
        return "NaN"
    return "Infinity" if value == float("inf") else "-Infinity" if value == -float("inf") else value


def unpack(kind, data):
    """A packed list, or a number that is one of a list."""
    if kind in PACKED:
        values = [v for v, in struct.iter_unpack(PACKED[kind], data)]
        return [double(v) if kind == "double" else str(v) for v in values]
    values, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        values.append(number(kind, value))
    return values


def part(kind, data):
    if kind == "string":
        return data.decode("utf-8")
    if kind == "id":
        return data.hex()
    return base64.b64encode(data).decode() if kind == "bytes" else decode(data, kind)


def decode(data, message):
    fields, at, found = MESSAGES[message], 0, {}
    while at < len(data):
        key, at = varint(data, at)
        name, kind, repeated = fields[key >> 3]
        form = key & 7
        if form == 0:
            value, at = varint(data, at)
            value = number(kind, value)
        elif form in (1, 5):
            size = 8 if form == 1 else 4
            raw = data[at:at + size]
            at += size
            assert len(raw) == size
            value = (double(struct.unpack("<d", raw)[0]) if kind == "double" else
                     str(struct.unpack("<q" if kind == "sfixed64" else "<Q", raw)[0]) if form == 1 else
                     struct.unpack("<I", raw)[0])
        else:
            assert form == 2, form
            size, at = varint(data, at)
            assert at + size <= len(data)
            if repeated and kind not in MESSAGES and kind not in ("string", "bytes", "id"):
                found.setdefault(name, []).extend(unpack(kind, data[at:at + size]))
                at += size
                continue
            value = part(kind, data[at:at + size])
            at += size
        if repeated:
            found.setdefault(name, []).append(value)
        else:
            assert name not in found, name
            found[name] = value
    assert at == len(data)
    return found


def of_json(path):
    """All lines as one message."""
    data = {}
    for line in open(path, encoding="utf-8"):
        assert len(line) < 1 << 20, len(line)
        for key, value in json.loads(line).items():
            if isinstance(value, list):
                data.setdefault(key, []).extend(value)
            else:
                assert data.setdefault(key, value) == value
    return data


def plain(value):
    """An AnyValue."""
    (kind, v), = value.items() or ((None, None),)
    if kind == "intValue":
        return int(v)
    if kind == "arrayValue":
        return [plain(x) for x in v.get("values", [])]
    if kind == "kvlistValue":
        return attributes(v.get("values", []))
    return v


def attributes(items):
    keys = [item["key"] for item in items]
    assert len(set(keys)) == len(keys), keys
    return {item["key"]: plain(item["value"]) for item in items}


def spans_of(data):
    for resource in data["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            yield from scope.get("spans", [])


def check_tree(spans, has_remote):
    ids = {span["spanId"]: span for span in spans}
    assert len(ids) == len(spans), "ids are not unique"
    for span in spans:
        assert re.fullmatch("[0-9a-f]{32}", span["traceId"]) and int(span["traceId"], 16)
        assert re.fullmatch("[0-9a-f]{16}", span["spanId"]) and int(span["spanId"], 16)
        begin, end = int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])
        assert begin <= end
        for event in span.get("events", []):
            said, at = attributes(event.get("attributes", [])), int(event["timeUnixNano"])
            assert begin <= at and at + said.get("eventring.duration_ns", 0) <= end, (span, event)
        parent = ids.get(span.get("parentSpanId"))
        assert parent or "parentSpanId" not in span or (has_remote and span["kind"] == 2), "no parent"
        if parent:
            assert parent["traceId"] == span["traceId"]
            assert int(parent["startTimeUnixNano"]) <= begin
        for link in span.get("links", []):
            assert ids[link["spanId"]]["traceId"] == link["traceId"]


def facts_of_dump(events, wall):
    """Spans, and steps of the runtime, each with how often."""
    spans, steps, ends = collections.Counter(), collections.Counter(), collections.Counter()
    depth, asyncs, points = {}, {}, 0
    for e in events:
        kind = e["kind"]
        if kind in ("begin", "end") and e["ring"] == "runtime":
            place = e["domain"], e["class"]
            begin = e["begin_ns"] if e.get("synthetic") and kind == "end" else \
                e["ns"] - e["duration_ns"] if "duration_ns" in e else None
            if kind == "begin":
                if place not in depth:
                    depth[place] = e["depth"]
            elif place not in depth or e["depth"] <= depth[place]:
                torn = e.get("torn") or begin is None
                steps[e["name"], e["domain"], None if begin is None else wall(begin), bool(torn)] += 1
                depth.pop(place, None)
        elif kind == "end":
            mark = "its end was not recorded" if e.get("synthetic") else \
                None if "duration_ns" in e else "its begin is unknown"
            begin = e["begin_ns"] if e.get("synthetic") else e["ns"] - e.get("duration_ns", 0)
            spans[e["name"], e["class"], e["domain"], wall(begin), wall(e["ns"]), mark] += 1
        elif kind == "open" and e["ring"] != "runtime":
            spans[e["name"], e["class"], e["domain"], wall(e["ns"]), None, "open"] += 1
        elif kind == "event" and e["ring"] != "runtime":
            points += e["name"] != "trace"
        elif "link" in e and e["kind"] == "linked" or "link" in e:
            asyncs.setdefault((e["name"], e["link"]), []).append((e["ns"], e["role"], e["domain"], e["class"]))
    flows = {name for (name, _), parts in asyncs.items() if any(p[1] == "step" for p in parts)}
    for (name, _), parts in asyncs.items():
        parts.sort(key=lambda p: p[0])
        if name in flows:
            points += len(parts)
            continue
        begin = None
        for ns, role, domain, of_class in parts:
            if role == "begin":
                begin = ns, domain
            elif begin:
                spans[name, of_class, begin[1], wall(begin[0]), wall(ns), None] += 1
                begin = None
            else:
                spans[name, of_class, domain, wall(ns), wall(ns), "its begin is unknown"] += 1
        if begin:
            spans[name, of_class, begin[1], wall(begin[0]), None, "open"] += 1
    return spans, steps, points


def check(dump, show, path, remote=""):
    info = json.load(open(show, encoding="utf-8"))
    wall = lambda ns: ns - info["start_ns"] + info["start_wall_ns"]
    events = [json.loads(line) for line in open(dump, encoding="utf-8")]
    expected, steps, points = facts_of_dump(events, wall)
    data = of_json(path)
    spans = list(spans_of(data))
    check_tree(spans, remote == "remote")
    found, found_steps, found_points, dropped = collections.Counter(), collections.Counter(), 0, 0
    for span in spans:
        said = attributes(span["attributes"])
        mark = "open" if said.get("eventring.open") else said.get("eventring.torn")
        found[span["name"], said["eventring.class"], said["eventring.domain"],
              int(span["startTimeUnixNano"]),
              None if mark == "open" else int(span["endTimeUnixNano"]), mark] += 1
        dropped += span.get("droppedEventsCount", 0)
        for event in span.get("events", []):
            more = attributes(event.get("attributes", []))
            if "eventring.class" in more:
                found_steps[event["name"], said["eventring.domain"], int(event["timeUnixNano"]),
                            "eventring.duration_ns" not in more] += 1
            else:
                found_points += 1
    assert found == expected, (list((found - expected).items())[:4], list((expected - found).items())[:4])
    assert not found_steps - steps, list((found_steps - steps).items())[:4]
    scope = attributes(data["resourceSpans"][-1]["scopeSpans"][0]["scope"].get("attributes", []))
    outside = scope.get("eventring.steps_outside_spans", 0)
    outside_points = scope.get("eventring.events_outside_spans", 0)
    assert sum(found_steps.values()) + found_points + dropped + outside + outside_points == \
        sum(steps.values()) + points, (sum(found_steps.values()), found_points, dropped, outside,
                                       outside_points, sum(steps.values()), points)
    lost = sum(e["count"] for e in events if e["kind"] == "lost")
    assert scope.get("eventring.events_missed", 0) + scope.get("eventring.events_lost", 0) == lost
    print("spans", len(spans), "steps", sum(found_steps.values()), "points", found_points,
          "dropped", dropped, "outside", outside, outside_points, "lost", lost,
          "marked", sum(mark is not None for *_, mark in found.elements()),
          "links", sum(len(span.get("links", [])) for span in spans))


def whole(data):
    """Of each resource its last scope, and all items: messages are cut elsewhere in each format."""
    found = {}
    found["dictionary"] = data.pop("dictionary", None)
    (key, resources), = data.items()
    of_scopes = key.replace("resource", "scope")
    for resource in resources:
        who = json.dumps(resource["resource"])
        for scope in resource[of_scopes]:
            found[who, "scope"] = scope["scope"]
            for key, items in scope.items():
                if key != "scope":
                    found.setdefault(who, []).extend(items)
    return found


def same(path, lines, message="TracesData"):
    binary, text = whole(decode(open(path, "rb").read(), message)), whole(of_json(lines))
    assert binary == text, "protocol buffers and JSON differ"


def sums(stats, path):
    counts, times = collections.Counter(), collections.Counter()
    for span in spans_of(of_json(path)):
        said = attributes(span["attributes"])
        if "eventring.link" in said:
            continue # `stats` has async spans in another table
        place = said["eventring.domain"], span["name"]
        whole = not said.get("eventring.open") and "eventring.torn" not in said
        counts[place + ("count" if whole else "open" if said.get("eventring.open") else "torn",)] += 1
        if whole:
            times[place] += int(span["endTimeUnixNano"]) - int(span["startTimeUnixNano"])
    expected, expected_times = collections.Counter(), collections.Counter()
    for row in json.load(open(stats, encoding="utf-8"))["spans"]:
        if row["ring"] == "runtime":
            continue
        place = row["domain"], row["name"]
        for key in ("count", "torn", "open"):
            expected[place + (key,)] += row[key]
        expected_times[place] += row["total_ns"]
    assert +counts == +expected, (+counts, +expected)
    assert +times == +expected_times, (times, expected_times)


def without_nothing(value):
    """Without members that are 0 or empty, which may be left out; attributes in order."""
    if isinstance(value, list):
        return [without_nothing(each) for each in value]
    if not isinstance(value, dict):
        return value
    inner = {key: without_nothing(each) for key, each in value.items()}
    kept = {key: each for key, each in inner.items()
            if each not in (0, "0", "", [], {}) or key.endswith("Value")}
    kept.get("attributes", []).sort(key=lambda attribute: attribute["key"])
    return kept


def sdk(path, other):
    ours, theirs = ({span["spanId"]: without_nothing(span) for span in
                     spans_of(decode(open(each, "rb").read(), "TracesData"))} for each in (path, other))
    for id in {*ours, *theirs}:
        assert ours.get(id) == theirs.get(id), (ours.get(id), theirs.get(id))
    print(len(ours))


def folded(path, value):
    data = of_json(path)
    tables = data["dictionary"]
    strings = tables["stringTable"]
    assert strings[0] == "" and all(not table[0] for table in tables.values())
    sums = collections.Counter()
    for profile in data["resourceProfiles"][0]["scopeProfiles"][0]["profiles"]:
        if strings[profile["sampleType"]["typeStrindex"]] != value:
            continue
        for sample in profile.get("samples", []):
            places = tables["stackTable"][sample["stackIndex"]].get("locationIndices", [])
            lines = [tables["locationTable"][place]["lines"][0] for place in reversed(places)]
            names = [strings[tables["functionTable"][line["functionIndex"]]["nameStrindex"]]
                     for line in lines]
            keys = [tables["attributeTable"][i]["keyStrindex"] for i in sample["attributeIndices"]]
            assert len(set(keys)) == len(keys) and 0 not in keys
            sums[";".join(names)] += int(sample["values"][0])
    for stack, sum_of_stack in sorted(sums.items()):
        print(stack, sum_of_stack)


def samples_of_text(path):
    samples = {}
    for line in open(path, encoding="utf-8"):
        if line.startswith("#"):
            continue
        name, labels, value = re.match(r"(\w+){(.*)} (\S+)$", line).groups()
        pairs = re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels)
        key = name, frozenset((k, re.sub(r"\\(.)", r"\1", v)) for k, v in pairs
                              if k not in ("pid", "program"))
        assert key not in samples, key
        samples[key] = float(value)
    return samples


def samples_of_point(metric, kind, point, add):
    labels = list(attributes(point.get("attributes", [])).items())
    begin, at = int(point.get("startTimeUnixNano", 0)), int(point["timeUnixNano"])
    assert kind == "gauge" or 0 < begin <= at, point
    if kind != "histogram":
        value = point["asInt"] if "asInt" in point else point["asDouble"]
        return add(metric["name"] + ("_total" if kind == "sum" else ""), labels, float(value))
    counts, bounds = map(int, point.get("bucketCounts", [])), point.get("explicitBounds", [])
    counts = list(counts)
    assert len(counts) == (len(bounds) + 1 if counts else 0)
    if counts:
        assert sum(counts) == int(point["count"])
    for i, bound in enumerate([*bounds, float("inf")] if counts else []):
        add(metric["name"] + "_bucket", [*labels, ("le", bound)], float(sum(counts[:i + 1])))
    add(metric["name"] + "_count", labels, float(point["count"]))
    add(metric["name"] + "_sum", labels, point["sum"])


def metrics(text, path):
    expected, found = samples_of_text(text), {}

    def add(name, labels, value):
        key = name, frozenset((k, v if k != "le" else repr(float(v))) for k, v in labels)
        assert key not in found, key
        found[key] = value
    for resource in of_json(path)["resourceMetrics"]:
        for scope in resource["scopeMetrics"]:
            for metric in scope["metrics"]:
                kind, = {"gauge", "sum", "histogram"} & set(metric)
                data = metric[kind]
                assert metric["unit"] in ("s", "By", "1") and metric["description"]
                assert kind == "gauge" or data["aggregationTemporality"] == 2
                assert kind != "sum" or data["isMonotonic"] is True
                for point in data["dataPoints"]:
                    samples_of_point(metric, kind, point, add)
    expected = {(name, frozenset((k, v if k != "le" else repr(float(v))) for k, v in labels)): value
                for (name, labels), value in expected.items()}
    # (the system charges a process that it stops some more microseconds)
    least = lambda key: 0.01 if "cpu_time" in key[0] else 5e-10 + 3e-16 * expected[key]
    differ = [key for key in {**expected, **found} if key not in found or key not in expected or
              abs(found[key] - expected[key]) > least(key)]
    assert not differ, [(key, expected.get(key), found.get(key)) for key in differ[:5]]
    print(len(found))


def show(path, script="/dev/null"):
    """Ids that an event `trace` has said are their first two digits; derived ones of a span its
    name, of a trace `of` the first span that has it."""
    said = re.findall(r"^trace (\w{32})(\w{16})(\w{16})", open(script, encoding="utf-8").read(), re.M)
    known = {id: id[:2] for ids in said for id in ids}
    spans = sorted(spans_of(of_json(path)), key=lambda span: int(span["startTimeUnixNano"]))
    for span in spans:
        known.setdefault(span["spanId"], span["name"])
    for span in spans:
        known.setdefault(span["traceId"], "of " + span["name"])
    for span in spans:
        links = [" ".join([known[link["traceId"]], known[link["spanId"]],
                           *attributes(link["attributes"]).values()])
                 for link in span.get("links", [])]
        print(span["name"], known[span["traceId"]], known[span["spanId"]],
              known.get(span["parentSpanId"], span["parentSpanId"]) if "parentSpanId" in span else "-",
              span["kind"], hex(span["flags"]), *links, sep="|")


mode, *words = sys.argv[1:]
{"same": same, "check": check, "spans": show, "sums": sums,
 "metrics": metrics, "folded": folded, "sdk": sdk}[mode](*words)
