# SPDX-License-Identifier: MIT
"""Compares what `eventring metrics` says of a live process with its lossless stream.

_metrics.py METRICS DUMP: the text of metrics, and what `dump --json` says of the stream, which
nobody has written to in between. Figures of spans that were open when a block began, or that ended
in the newest block, are the same ones: all is compared to the unit, but the sums of spans, X
"""
import collections
import json
import re
import sys

BOUNDS = [n * 10 ** e / 1e9 for e in range(4, 9) for n in (1, 2, 5)] + [1.0, float("inf")]


def read_metrics(path):
    found = {}
    for line in open(path, encoding="utf-8"):
        if line.startswith("#"):
            continue
        name, labels, value = re.fullmatch(r"(\w+)\{(.*)\} (\S+)\n", line).groups()
        labels = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels))
        del labels["pid"], labels["program"]
        key = (name.removeprefix("eventring_"), *sorted(labels.items()))
        assert key not in found, "twice: %s" % (key,)
        found[key] = float(value)
    return found


def key(metric, /, **labels):
    return (metric, *sorted((k, str(v)) for k, v in labels.items()))


def count(dump):
    expected, open_spans = collections.Counter(), collections.defaultdict(list)
    levels = {}
    for line in open(dump, encoding="utf-8"):
        e = json.loads(line)
        kind, name, domain, cls = e["kind"], e.get("name"), e.get("domain"), e.get("class")
        if e.get("synthetic") or name is None:
            continue
        place = (domain, e.get("ring"), e.get("context"), name)
        if kind == "begin":
            open_spans[place].append(e.get("value_name"))
        elif kind == "end" and "duration_ns" in e:
            reason = open_spans[place].pop()
            ns = e["duration_ns"]
            if cls != "gc":
                expected[key("span_duration_seconds_count", name=name, **{"class": cls})] += 1
                expected[key("span_duration_seconds_sum", name=name, **{"class": cls})] += ns
            elif name in ("minor", "major", "major_slice"):
                labels = {"domain": domain, "step": name, "reason": reason}
                expected[key("gc_collections_total", domain=domain, step=name)] += 1
                expected[key("gc_duration_seconds_count", **labels)] += 1
                expected[key("gc_duration_seconds_sum", **labels)] += ns
                for bound in BOUNDS:
                    expected[key("gc_duration_seconds_bucket", le=bound, **labels)] += ns <= bound * 1e9
            else:
                expected[key("gc_phase_seconds_count", domain=domain, phase=name)] += 1
                expected[key("gc_phase_seconds_sum", domain=domain, phase=name)] += ns
        elif kind == "counter" and name in ("allocated_words", "promoted_words"):
            expected[key("memory_%s_bytes_total" % name.split("_")[0], domain=domain)] += 8 * e["value"]
        elif kind == "counter" and name == "heap_words":
            levels[key("memory_used_bytes", domain=domain)] = 8 * e["value"]
        elif kind == "counter" and name in ("pause_work", "off_cpu", "pause_cpu", "sent"):
            expected[key("amount_total", name=name, **{"class": cls})] += e["value"]
        elif kind == "counter" and name == "rest":
            expected[key("balance", name=name, **{"class": cls})] += e["value"]
        elif kind == "counter":
            levels[key("level", domain=domain, name=name, **{"class": cls})] = e["value"]
        elif kind == "lifecycle" and name == "major_end":
            expected[key("gc_cycles_total", domain=domain)] += 1
        elif kind != "open":
            expected[key("events_total", name=name, kind=kind, **{"class": cls})] += 1
    return {**expected, **{k: v for k, v in levels.items() if ("domain", "0") in k}}


def canonical(k):
    return tuple((n, str(float(v)) if n == "le" else v) for n, v in k[1:])


def compare(actual, expected):
    """What differs, as lines; both by key."""
    actual = {(k[0], *canonical(k)): v for k, v in actual.items()}
    expected = {(k[0], *canonical(k)): v for k, v in expected.items()}
    compared, wrong = {k[0] for k in expected} | {"gc_duration_seconds_bucket"}, []
    for k in sorted(expected.keys() | {k for k in actual if k[0] in compared}, key=str):
        want, have = expected.get(k), actual.get(k)
        if k[0].endswith("_sum") and want is not None and have is not None:
            exact = k[0] == "gc_duration_seconds_sum"
            if abs(have * 1e9 - want) <= (0.5 if exact else max(1000, want * 1e-4)):
                continue
        if want != have:
            wrong.append("%s: stream %s, metrics %s" % (k, want, have))
    return wrong


if __name__ == "__main__":
    in_stream = count(sys.argv[2])
    differing = compare(read_metrics(sys.argv[1]), in_stream)
    print(*differing[:20], sep="\n")
    print(len(in_stream), "figures compared", "of", len({k[0] for k in in_stream}), "metrics")
    sys.exit(bool(differing) or len(in_stream) < 60)
