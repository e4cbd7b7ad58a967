# SPDX-License-Identifier: MIT
"""What each tool says of a recording, as facts (facts.py)."""
import collections
import json
import os
import re
import subprocess

import facts
import places

ALL = "100000000"  # as many rows as there are


class Failed(Exception):
    """A tool ended with another status than 0, or printed what nobody can read."""


def run(*command, statuses=(0,)):
    done = subprocess.run(command, timeout=300, capture_output=True, check=False)
    if done.returncode not in statuses:
        raise Failed("%s: status %d: %s" % (" ".join(command[1:]), done.returncode,
                                            done.stderr.decode("utf-8", "replace").strip()))
    return done.stdout.decode("utf-8")


kept = None  # what the command has printed, by its arguments: where it is a dictionary


def eventring(*arguments, statuses=(0,)):
    if kept is not None and arguments in kept:
        return kept[arguments]
    text = run(os.environ["EVENTRING"], *arguments, statuses=statuses)
    if kept is not None:
        kept[arguments] = text
    return text


# ---- Objects of --json, by the table ------------------------------------------------------------


def rows_of(text):
    return [line.split() for line in text.strip().split("\n") if line]


PLACES = {(command, place): (kind, keys) for command, place, kind, *keys in rows_of(places.PLACES)}
RENAMED = {tuple(row[:3]): tuple(row[3:]) for row in rows_of(places.RENAMED)}
reached = set()  # rows of PLACES


class Walk:
    """Takes the figures out of one object that a command printed."""

    def __init__(self, command, catalogue, by=None, given=None, called=None):
        self.command, self.catalogue, self.by, self.given = command, catalogue, by, given or {}
        self.called, self.found = called or command, {}

    def facts_of(self, place):
        return self.found.setdefault(place, facts.Facts("%s %s" % (self.called, place)))

    def definition(self, held):
        if held.get("id") is not None:
            return self.catalogue.of_id(held["id"])
        d = self.catalogue.only(held["name"])
        return (d["name"], d["class"], d["ring"]) if d else (held["name"], "?", "?")

    def subject(self, kind, keys, held, around, key):
        if keys == ["*BY"]:
            return ("%s-%s" % (kind[:-3], self.by), *name_by(self.by, held))
        words = []
        for word in keys:
            if word == "def":
                words += self.definition(held)
            elif word == "*":
                words.append(key)
            elif word[0] == "^":
                words.append(next(o[word[1:]] for o in reversed(around) if word[1:] in o))
            else:
                words.append(self.given[word] if word in self.given else held.get(word))
        return (kind, *words)

    def object(self, place, held, around=(), key=None):
        row = PLACES.get((self.command, place))
        if row is None:
            raise Failed("%s --json: %s is not in the table of places" % (self.command, place))
        reached.add((self.command, place))
        kind, keys = self.given.get(row[0], row[0]), row[1]
        if kind == "-":
            return
        subject = self.subject(kind, keys, held, around, key)
        for name, value in held.items():
            inner = name if place == "." else place + "." + name
            if isinstance(value, dict):
                self.dictionary(inner, value, (*around, held))
            elif isinstance(value, list):
                self.list(inner, value, (*around, held), subject, name)
            elif name not in [word.lstrip("^") for word in keys] and not (
                    name in ("id", "name") and "def" in keys):
                about, figure = RENAMED.get((self.command, place, name), (None, name))
                if about == "-":
                    continue
                self.facts_of(place).add((about,) if about not in (None, kind) else subject,
                                         figure, value)

    def dictionary(self, place, held, around):
        """An object, or objects by their keys."""
        if (self.command, place + "{}") in PLACES:
            for key, value in held.items():
                self.object(place + "{}", value, around, key)
        else:
            self.object(place, held, around)

    def list(self, place, held, around, subject, name):
        if held and not isinstance(held[0], dict):
            self.facts_of(place).add(subject, name, str(held))
        for value in held:
            if isinstance(value, dict):
                self.object(place + "[]", value, around)


def name_by(by, held):
    """What tells the rows of `heap` and `profile` apart."""
    if by == "stack":
        frames = held["stack"]
        return (frames if isinstance(frames, str) else
                tuple((f["name"], f["source"], f["line"]) for f in frames),)
    if by in ("line", "function"):
        through = (held["through"],) if "through" in held else () # a function of C, in a heap
        return held["name"], held["source"], held["line"], *through
    return (held["name"],)


def by_json(command, catalogue, *arguments, by=None, given=None, called=None, form=None):
    """Facts of what `eventring COMMAND --json ARGUMENTS` prints, each object apart. `form`: the name
    in the table of places, where the command prints various objects."""
    text = eventring(command, "--json", *arguments)
    walk = Walk(form or command, catalogue, by, given, called)
    for line in text.split("\n"):
        if line:
            walk.object(".", json.loads(line))
    return list(walk.found.values())


def of_list(path, catalogue):
    """Its line in a list of its folder, where what is called .eventring is."""
    folder = os.path.dirname(path) or "."
    walk = Walk("list", catalogue)
    for line in eventring("list", "--json", folder).split("\n"):
        if line and os.path.realpath(json.loads(line)["path"]) == os.path.realpath(path):
            walk.object(".", json.loads(line))
    return list(walk.found.values())


def of_stack(path, catalogue):
    """Status 1: there is none."""
    walk = Walk("stack", catalogue)
    walk.object(".", json.loads(eventring("stack", "--json", path, statuses=(0, 1))))
    return list(walk.found.values())


# ---- Events: the same figures, counted by whoever reads events ----------------------------------


class Counted:
    """Adds up events that a tool lists. Those that it does not tell apart share a subject."""

    def __init__(self, tool):
        self.all, self.has_lost = facts.Facts(tool), False
        self.spans = collections.defaultdict(list)

    def span(self, name, domain, span):
        """`span` has what is known of begin_ns, duration_ns, suspended_ns, off_cpu_ns, own_ns,
        torn, open, context, incarnation; and async."""
        self.spans[("span", *name)].append(span)
        self.spans[("span-of-domain", domain, *name)].append(span)
        if not span.get("torn") and not span.get("open") and not span.get("async"):
            subject = self.one_span(name, domain, span)
            for figure in ("duration_ns", "suspended_ns", "own_ns", "off_cpu_ns"):
                if span.get(figure) is not None:
                    self.all.add(subject, figure, span[figure])

    def one_span(self, name, domain, span):
        return ("one-span", domain, span["incarnation"], span["context"], span["begin_ns"], *name)

    def listed(self, item):
        """An event, as `autopsy` lists the last ones."""
        subject = ("last-event", item["domain"], item.get("context", 0),
                   item.get("begin_ns", item["ns"]), item["name"])
        if item["kind"] == "open":
            self.all.add(("open-span", *subject[1:]), "depth", item["depth"])
        elif item["kind"] == "end" and "duration_ns" in item:
            self.all.add(subject, "duration_ns", item["duration_ns"])
        elif item["kind"] not in ("begin", "end"):
            self.all.add(subject, "-", None)

    def counter(self, name, domain, value):
        for subject in ("counter", *name), ("counter-of-domain", domain, *name):
            self.all.total(subject, "samples", 1)
            if facts.is_number(value):
                self.all.values[subject, "-"].append(value)

    def event(self, name, domain):
        self.all.total(("event", *name), "count", 1)
        self.all.total(("event-of-domain", domain, *name), "count", 1)

    def loss(self, domain, ring, count, before):
        self.has_lost = True
        for subject in ("recording",), ("ring", domain, ring):
            self.all.total(subject, "missed" if before else "lost", count)

    def delivered(self, domain, ring):
        for subject in ("recording",), ("ring", domain, ring):
            self.all.total(subject, "delivered", 1)

    def finish(self):
        for subject, spans in self.spans.items():
            figures_of_spans(self.all, subject, spans)
        for (subject, figure), values in list(self.all.values.items()):
            if figure == "-" and subject[0].startswith("counter"):
                figures_of_counter(self.all, subject, values)
                del self.all.values[subject, figure]
        return self.all


def figures_of_spans(found, subject, spans):
    torn = sum(1 for span in spans if span.get("torn"))
    still = sum(1 for span in spans if span.get("open"))
    whole = [span for span in spans if not span.get("torn") and not span.get("open")]
    found.add(subject, "torn", torn)
    found.add(subject, "open", still)
    found.add(subject, "count", len(whole))
    durations = sorted(span["duration_ns"] for span in whole)
    found.add(subject, "total_ns", sum(durations))
    if not durations:
        return
    for figure, value in ("min_ns", durations[0]), ("max_ns", durations[-1]), \
            ("mean_ns", sum(durations) // len(durations)):
        found.add(subject, figure, value)
    for figure, share in ("p50_ns", 50), ("p90_ns", 90), ("p99_ns", 99), ("p999_ns", 99.9):
        rank = max(1, -(-len(durations) * int(share * 10) // 1000))
        found.add(subject, figure, durations[rank - 1])
    if all(span.get("suspended_ns") is not None for span in whole):
        found.add(subject, "suspended_ns", sum(span["suspended_ns"] for span in whole))
    if all(span.get("off_cpu_ns") is not None for span in whole):
        found.add(subject, "off_cpu_ns", sum(span["off_cpu_ns"] for span in whole))
    own = [span["own_ns"] for span in whole if span.get("own_ns") is not None]
    if own:
        found.add(subject, "own_ns", sum(own))
        found.add(subject, "own_count", len(own))
        found.add(subject, "own_of_ns", sum(span["duration_ns"] for span in whole
                                            if span.get("own_ns") is not None))


def figures_of_counter(found, subject, values):
    found.add(subject, "min", min(values))
    found.add(subject, "max", max(values))
    found.add(subject, "sum", sum(values))
    found.add(subject, "mean", sum(values) / len(values))
    if subject[0] == "counter-of-domain":
        found.add(subject, "last", values[-1])


# ---- dump, and whoever prints the same items -----------------------------------------------------


class Nesting:
    """Own times: what a span's duration leaves when the time of its suspension and the spans
    directly within it, of the same ring and context, are taken away. Of whole spans."""

    def __init__(self):
        self.stacks = collections.defaultdict(list)
        self.crossed = set()  # rings in which another span than the innermost has ended

    def where(self, item):
        return item["domain"], item["ring"], item.get("context", 0)

    def begin(self, item):
        stack = self.stacks[self.where(item)]
        del stack[item["depth"]:]
        known = not item.get("synthetic")
        stack.append([item["ns"], 0 if known and item["depth"] == len(stack) else None])

    def lost(self, domain, ring):
        """Of spans that are open across a loss it is not known."""
        for where, stack in self.stacks.items():
            if where[:2] == (domain, ring):
                stack[:] = [[ns, None] for ns, _ in stack]

    def end(self, item):
        """The own time, or None where it is not known."""
        stack = self.stacks[self.where(item)]
        depth = item["depth"]
        if len(stack) > depth and "begin_ns" in item and \
                (len(stack) > depth + 1 or stack[depth][0] != item["begin_ns"]):
            self.crossed.add(item["ring"])
        inner = stack[depth][1] if len(stack) > depth else None
        del stack[depth:]
        whole = item.get("duration_ns")
        running = None if whole is None else whole - item.get("suspended_ns", 0)
        if stack and stack[-1][1] is not None and len(stack) == depth:
            stack[-1][1] = None if running is None else stack[-1][1] + running
        own = None if running is None or inner is None else running - inner
        # (while a class is off, spans stay open in the list that are over)
        return own if own is not None and own >= 0 else None


class Links:
    """Pairs the begins and ends of async spans."""

    def __init__(self, counted, catalogue):
        self.counted, self.catalogue, self.begun = counted, catalogue, {}

    def item(self, item):
        name = self.catalogue.of_id(item["id"])
        key = item["id"], item["link"]
        where = {"incarnation": item["incarnation"], "context": item.get("context", 0),
                 "async": True}
        if item["role"] == "begin":
            if key in self.begun:
                self.torn(name, *self.begun[key])
            self.begun[key] = item["domain"], item["ns"], where
        elif key in self.begun:
            domain, ns, where = self.begun.pop(key)
            self.counted.span(name, domain, dict(where, begin_ns=ns, duration_ns=item["ns"] - ns))
        else:
            self.torn(name, item["domain"], None, where)

    def torn(self, name, domain, ns, where):
        self.counted.span(name, domain, dict(where, begin_ns=ns, torn=True))

    def finish(self):
        for (number, _), (domain, ns, where) in self.begun.items():
            self.counted.span(self.catalogue.of_id(number), domain,
                              dict(where, begin_ns=ns, open=True))


class Steps:
    """The topmost spans of some classes of a domain, in a ring."""

    def __init__(self, *classes):
        self.classes, self.begun, self.all = classes, {}, []
        self.torn = 0

    def item(self, item):
        if item["class"] not in self.classes:
            return
        where = item["domain"], item["incarnation"], item["ring"], item.get("context", 0)
        begun = self.begun.get(where)
        if item["kind"] == "begin" and (begun is None or item["depth"] <= begun["depth"]):
            self.begun[where] = item
        elif item["kind"] == "end" and begun is not None and item["depth"] <= begun["depth"]:
            del self.begun[where]
            if "duration_ns" in item and not item.get("torn"):
                self.all.append(item)
            else:
                self.torn += 1

    def facts(self, found):
        subject = ("steps",)
        durations = sorted(item["duration_ns"] for item in self.all)
        found.add(subject, "count", len(durations))
        found.add(subject, "total_ns", sum(durations))
        found.add(subject, "torn", self.torn)
        if durations:
            found.add(subject, "max_ns", durations[-1])
            found.add(subject, "p99_ns", durations[-(-len(durations) * 99 // 100) - 1])
        for item in self.all:
            one = ("one-step", item["domain"], item["incarnation"], item["begin_ns"])
            found.add(one, "duration_ns", item["duration_ns"])
            found.add(one, "name", item["name"])

    def within(self, span):
        """How long steps of its domain went on in a span, those that have not ended, too."""
        ended = sum(max(0, min(item["ns"], span["ns"]) - max(item["begin_ns"], span["begin_ns"]))
                    for item in self.all if item["domain"] == span["domain"])
        return ended + sum(max(0, span["ns"] - max(item["ns"], span["begin_ns"]))
                           for (domain, *_), item in self.begun.items()
                           if domain == span["domain"])


def of_items(tool, items, catalogue):
    counted, nesting = Counted(tool), Nesting()
    links = Links(counted, catalogue)
    steps, waits = Steps("gc"), Steps("domain", "io")
    whole = []  # spans that were never suspended: what is within them is theirs
    for item in items:
        kind, domain = item["kind"], item.get("domain")
        if kind == "ended":
            continue
        if kind == "lost":
            counted.loss(domain, item["ring"], item["count"], item["before"])
            nesting.lost(domain, item["ring"])
            continue
        if not item.get("synthetic") and kind != "open":
            counted.delivered(domain, item["ring"])
        if item.get("unknown"):
            continue
        name = catalogue.of_id(item["id"])
        counted.listed(item)
        if kind in ("begin", "end"):
            steps.item(item)
            waits.item(item)
        if kind == "begin":
            nesting.begin(item)
        elif kind in ("end", "open"):
            own = nesting.end(item) if kind == "end" else None
            if "duration_ns" in item and not item.get("suspended_ns"):
                whole.append(item)
            counted.span(name, domain, {
                "begin_ns": item.get("begin_ns"), "duration_ns": item.get("duration_ns"),
                "suspended_ns": item.get("suspended_ns", 0), "own_ns": own,
                "off_cpu_ns": item.get("off_cpu_ns"), "torn": item.get("torn"),
                "open": kind == "open", "incarnation": item["incarnation"],
                "context": item.get("context", 0)})
        elif kind == "counter":
            counted.counter(name, domain, item.get("value"))
        elif kind == "linked" and catalogue.by_id[item["id"]]["kind"] == "async":
            links.item(item)
        else:
            counted.event(name, domain)
    links.finish()
    steps.facts(counted.all)
    if not counted.has_lost and len(whole) * (len(steps.all) + len(waits.all)) < 1000000:
        for item in whole:
            subject = counted.one_span(catalogue.of_id(item["id"]), item["domain"], {
                "incarnation": item["incarnation"], "context": item.get("context", 0),
                "begin_ns": item["begin_ns"]})
            counted.all.add(subject, "gc_ns", steps.within(item))
            counted.all.add(subject, "waiting_ns", waits.within(item))
    found = counted.finish()
    found.crossed = nesting.crossed
    return found


def of_dump(path, catalogue):
    lines = eventring("dump", "--json", path).split("\n")
    return of_items("dump", [json.loads(line) for line in lines if line], catalogue)


# ---- sql -------------------------------------------------------------------------------------------


def of_tables(tool, catalogue, spans, counters, events, losses):
    """Tables as `sql` has them: rows are dictionaries."""
    counted = Counted(tool)
    name = lambda row: catalogue.of_name(row["name"], row["class"], row["ring"])
    for row in spans:
        counted.span(name(row), row["domain"], {
            "begin_ns": row["begin_ns"], "duration_ns": row["duration_ns"],
            "suspended_ns": row["suspended_ns"] or 0, "off_cpu_ns": row["off_cpu_ns"],
            "torn": row["torn"], "open": row["end_ns"] is None and not row["torn"],
            "incarnation": row["incarnation"], "context": row["context"] or 0})
    for row in counters:
        counted.counter(name(row), row["domain"], row["value"])
    for row in events:
        counted.event(name(row), row["domain"])
    for row in losses:
        counted.loss(row["domain"], row["ring"], row["count"], row["before"])
    return counted.finish()


def of_sql(path, catalogue):
    tables = ["spans", "counters", "events", "losses", "recording", "domains"]
    text = eventring("sql", "--json", path, "; ".join("select * from " + name for name in tables))
    found = {name: json.loads(line)["rows"] for name, line in zip(tables, text.split("\n"))}
    row, others = facts.Facts("sql recording"), facts.Facts("sql domains")
    for name, value in found["recording"][0].items():
        row.add(("recording",), name, value)
    for domain in found["domains"]:
        for name, value in domain.items():
            if name != "domain":
                others.add(("domain", domain["domain"]), name, value)
    return [of_tables("sql", catalogue, *(found[name] for name in tables[:4])), row, others]


# ---- check -----------------------------------------------------------------------------------------

FIGURES_OF_CHECK = {"count": "count", "sum": "total_ns", "min": "min_ns", "max": "max_ns",
                    "mean": "mean_ns", "p50": "p50_ns", "p99": "p99_ns"}


def quoted(name):
    return '"%s"' % name.replace("\\", "\\\\").replace('"', '\\"')


def is_nameable(name):
    return len(name.encode()) <= 95 and all(ord(letter) >= 32 for letter in name)


def rules_for(catalogue):
    """What each rule's value is: the subject and the figure, by the rule's text. Names that two
    definitions share are left out: a rule is about one of them."""
    rules = {"max(pause) < 0ns": (("steps",), "max_ns"),
             "count(pause) < 0": (("steps",), "count"),
             "sum(pause) < 0ns": (("steps",), "total_ns"),
             "p99(pause) < 0ns": (("steps",), "p99_ns")}
    for d in catalogue.by_id.values():
        name = d["name"]
        if not is_nameable(name) or catalogue.only(name) is not d or \
                catalogue.only(name + "_begin"):
            continue
        subject = (name, d["class"], d["ring"])
        if d["kind"] in ("span", "async"):
            for figure, known in FIGURES_OF_CHECK.items():
                unit = "" if figure == "count" else "ns"
                rules["%s(%s) < 0%s" % (figure, quoted(name), unit)] = ("span", *subject), known
        elif d["kind"] == "counter":
            for figure in "count", "sum", "min", "max", "mean":
                known = "samples" if figure == "count" else figure
                rules["%s(%s) < -9e15" % (figure, quoted(name))] = ("counter", *subject), known
        elif d["kind"] in ("event", "lifecycle", "flow"):
            rules["count(%s) < 0" % quoted(name)] = ("event", *subject), "count"
    return {text.replace("-9e15", "-9000000000000000"): what for text, what in rules.items()}


def of_check(path, catalogue):
    rules = rules_for(catalogue)
    found = facts.Facts("check rules")
    text = eventring("check", "--json", *[w for rule in rules for w in ("-e", rule)], path,
                     statuses=(0, 3))
    walk = Walk("check", catalogue)
    read = json.loads(text)
    walk.object(".", read)
    for row in read["rows"]:
        if "at_least" in row:
            continue  # the value is that of a span that is open, or has it in it
        if row["value"] is not None and not (row["values"] == 0 and "count" not in row["rule"]
                                             and "sum" not in row["rule"]):
            found.add(*rules[row["rule"]], row["value"])
    return [found] + [held for place, held in walk.found.items() if place != "rows[]"]
