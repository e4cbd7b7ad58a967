# SPDX-License-Identifier: MIT
"""Do all tools say the same of a recording?

  figures.py check FILE...     each figure that two tools share is equal in both

See facts.py for what a figure is, places.py for what tools share, exceptions.py for what may
differ. The environment variables EVENTRING and SAROS name the programs.
"""
import argparse
import collections
import fnmatch
import json
import os
import random
import sys

import exceptions
import exports
import facts
import places
import profiles
import recordings
import tools

# How far a figure may be apart where a tool has it from events or writes it as text: a part of
# it, and an amount.
QUANTILE = (0.0041, 1)  # within 0.4 % of the duration of its rank
TEXT = (1e-12, 0)
WITHIN = {"p50_ns": QUANTILE, "p90_ns": QUANTILE, "p99_ns": QUANTILE, "p999_ns": QUANTILE,
          "gc_share": TEXT, "sum": TEXT, "mean": TEXT, "last": TEXT, "min": TEXT, "max": TEXT,
          "mean_ns": (0, 0.999),  # whole ns, except of `check`
          # estimates, of which each row is rounded
          **{part + figure: (0, 60) for part in ("live", "allocated", "peak", "temporary")
             for figure in ("_bytes", "_objects")}}


def all_facts(path, truth, exported=True):
    show = json.loads(tools.eventring("show", "--json", path))
    catalogue = facts.Catalogue(show)
    found = tools.by_json("show", catalogue, path)
    found += tools.by_json("stats", catalogue, path)
    for c in show["classes"]:
        found += tools.by_json("spans", catalogue, "--top", tools.ALL, "--class", c["name"], path,
                               given={"class": c["name"]}, called="spans of " + c["name"])
    found += tools.by_json("pauses", catalogue, "--top", tools.ALL, path,
                           given={"recording-read": "recording"})
    # (with few rows it reads the ring of the runtime alone)
    found += tools.by_json("pauses", catalogue, path, called="pauses of 8",
                           given={"recording-read": "recording-runtime"})
    for name, event_class, ring in frames_of(catalogue):
        found += tools.by_json("pauses", catalogue, "--frames", "0", "--frame-span", name, "--top",
                               tools.ALL, path, form="frames", called="frames of " + name,
                               given={"name": name, "class": event_class, "ring": ring,
                                      "frame": name})
    found += tools.by_json("autopsy", catalogue, "--top", "1000", "--last", "1000000", path)
    found += tools.of_check(path, catalogue)
    found += tools.of_list(path, catalogue)
    found += tools.of_stack(path, catalogue)
    if answers(path, "memory", "does not say what its memory is used for"):
        found += tools.by_json("memory", catalogue, path)
    found += tools.of_sql(path, catalogue)
    found.append(tools.of_dump(path, catalogue))
    if exported:
        found += exported_facts(path, catalogue)
    if truth is not None and not any(lost_something(each) for each in found):
        found.append(of_truth(truth, catalogue))
    return catalogue, found + [summed(each) for each in found] + laws(found) + \
        list(listings(found))


def frames_of(catalogue):
    """Spans that may be the frames of a program: two, as each is read by itself."""
    spans = sorted(d["name"] for d in catalogue.by_id.values()
                   if d["kind"] == "span" and d["ring"] == "user" and catalogue.only(d["name"]))
    return [(name, catalogue.only(name)["class"], "user") for name in spans[:2]]


def exported_facts(path, catalogue):
    found = [reader(path, catalogue) for reader in (exports.of_sqlite, exports.of_csv,
                                                     exports.of_chrome, exports.of_openmetrics)]
    found += filter(None, [exports.of_ctf(path, catalogue)])
    if answers(path, "heap", "no allocations were sampled"):
        found += profiles.heap_of(path, catalogue)
    if answers(path, "profile", "no profile of calls"):
        found += profiles.calls_of(path, catalogue)
    return found


def answers(path, command, refusal):
    """Does the recording have what this command is about?"""
    try:
        tools.eventring(command, "--json", path)
        return True
    except tools.Failed as failure:
        if refusal not in str(failure):
            raise
        return False


def lost_something(found):
    return any(sum(found.values.get((("recording",), figure), ())) for figure in ("missed", "lost"))


def differences(found):
    """Each figure on which tools differ: subject, figure, and the values by tool. Also how many
    were compared."""
    by_figure = collections.defaultdict(dict)
    for each in found:
        for (subject, figure), values in each.values.items():
            by_figure[subject, figure].setdefault(each.tool, []).extend(values)
    shared, differing = collections.Counter(), []
    for (subject, figure), values in by_figure.items():
        kept = {tool: held for tool, held in values.items()
                if not exceptions.excepted(subject[0], figure, tool)}
        if len(kept) < 2:
            continue
        shared[subject[0], figure] += 1
        first = next(iter(kept.values()))
        if not all(facts.same(first, other, *WITHIN.get(figure, (0, 0))) for other in kept.values()):
            differing.append((subject, figure, kept))
    return shared, differing


def of_truth(rows, catalogue):
    """What the program knows of itself."""
    found = facts.Facts("the program")
    for row in rows:
        d = catalogue.only(row["name"])
        subject = ("rings", row["name"]) if row["kind"] == "ring" else (
            row["kind"], *((d["name"], d["class"], d["ring"]) if d else (row["name"], "?", "?")))
        for figure, value in row["figures"].items():
            found.add(subject, figure, value)
    return found


# Figures that add up: those of the parts are those of the whole, of the same tool. A part's subject
# is that of the whole with more words.
PARTS = {"span-of-domain": ("span", 2), "counter-of-domain": ("counter", 2),
         "event-of-domain": ("event", 2), "domain": ("total", None), "ring": ("recording", None),
         "steps-of-kind": ("steps", None),
         **{"heap-" + by: ("heap", None)
            for by in ("line", "function", "stack", "kind", "origin", "span", "domain")},
         **{"profile-" + by: ("profile", None) for by in ("line", "function", "stack")}}
ADDITIVE = {"count", "torn", "open", "total_ns", "suspended_ns", "own_ns", "own_count",
            "interrupted", "samples", "sum", "watched_ns", "gc_ns", "gc_cpu_ns", "finalizers_ns",
            "allocated_words", "promoted_words", "delivered", "missed", "lost", "off_cpu_ns",
            "live_bytes", "allocated_bytes", "peak_bytes", "temporary_bytes", "exclusive_ns"}


def summed(found):
    """What the parts in `found` add up to."""
    whole = facts.Facts("sum:" + found.tool)
    for (subject, figure), values in found.values.items():
        if subject[0] in PARTS and figure in ADDITIVE:
            kind, first = PARTS[subject[0]]
            about = (kind, *(subject[first:] if first else ()))
            known = [value for value in values if value is not None]
            if known:
                whole.total(about, "ns" if figure == "exclusive_ns" else figure, sum(known))
    return whole


def listings(found):
    """Which subjects each group of tools lists (places.LISTED)."""
    groups = [tools.rows_of(row)[0] for row in places.LISTED.strip().split("\n")]
    lists = [(kind, how, pattern, {
        subject for each in found if fnmatch.fnmatchcase(each.tool.replace(" ", ""), pattern)
        for (subject, figure), values in each.values.items()
        if subject[0] == kind and (figure not in ("count", "torn", "open") or any(values))
        and not (kind == "span" and figure not in ("count", "torn", "open"))})
        for kind, how, pattern in groups]
    for kind, how, pattern, subjects in lists:
        listed = facts.Facts("listed:" + pattern)
        everything = set().union(*(other[3] for other in lists if other[0] == kind))
        for subject in everything if how == "all" else subjects:
            listed.add(subject, "is there", subject in subjects)
        yield listed


def laws(found):
    """Events + missed + lost = emitted: of each ring, and of all, whoever counts them."""
    emitted, kept = {}, []
    for each in found:
        if each.tool == "show domains[].rings{}":
            emitted = {subject: values[0] for (subject, figure), values in each.values.items()
                       if figure == "emitted"}
    emitted["recording",] = sum(emitted.values())
    emitted["recording-runtime",] = sum(count for subject, count in emitted.items()
                                        if subject[-1] == "runtime")
    for each in found:
        law = facts.Facts("law:" + each.tool)
        for subject, count in emitted.items():
            parts = [each.values.get((subject, figure)) for figure in ("delivered", "missed", "lost")]
            if parts[0] and (all(parts) or each.tool == "dump"):
                law.add(subject, "emitted", sum(values[0] for values in parts if values))
        kept.append(law)
    shown = facts.Facts("show emitted")
    for subject, count in emitted.items():
        shown.add(subject, "emitted", count)
    return [*kept, shown]


# How many figures of a kind differed: of which figure, and of what.
differing_kinds = collections.Counter()


def report(recording, shared, differing):
    differing_kinds.update((figure, subject[0]) for subject, figure, _ in differing)
    for subject, figure, values in differing[:40]:
        print("FAILED: %s: %s of %s" % (recording.path, figure, " ".join(map(str, subject))))
        for tool, held in values.items():
            print("    %-28s %s" % (tool, ", ".join(map(str, held))[:100]))
    print("%s (%s): %d figures of %d kinds compared, %d differ"
          % (recording.path, recording.kind, sum(shared.values()), len(shared), len(differing)))
    return len(differing)


def check(recording, traces):
    """How many figures differ. What the trace processor is to read goes to `traces`."""
    path = recording.path
    with open(path, "rb") as file:
        os.fsync(file)  # or its size on disk may change meanwhile
    try:
        catalogue, found = all_facts(path, recording.truth)
        if exports.processor():
            crossed = next(each.crossed for each in found if each.tool == "dump")
            kept = [each for each in found if each.tool.startswith("stats")]
            for form in "perfetto", "chrome":
                trace = os.path.abspath("trace-%d" % len(traces))
                tools.eventring("export", "--to", form, "-o", trace, path)
                traces.append((recording, catalogue, kept, crossed, form, trace))
    except tools.Failed as failure:
        print("FAILED: %s (%s): %s" % (path, recording.kind, failure))
        return 1
    return report(recording, *differences(found))


def check_traces(traces):
    """The same with what Perfetto's trace processor has read of all recordings."""
    differing = 0
    exports.process([trace for *_, trace in traces])
    for recording, catalogue, kept, crossed, form, trace in traces:
        found = exports.of_processor(form, trace, catalogue, crossed)
        differing += report(recording, *differences([*kept, found]))
    return differing


# ---- Planted errors ---------------------------------------------------------------------------


def leaves(held, path=()):
    """The places of all numbers in an object."""
    for key, value in held.items() if isinstance(held, dict) else enumerate(held):
        if isinstance(value, (dict, list)):
            yield from leaves(value, (*path, key))
        elif facts.is_number(value):
            yield (*path, key)


def alter(held, path):
    """Makes one number another one, by more than figures may be apart."""
    for key in path[:-1]:
        held = held[key]
    held[path[-1]] = held[path[-1]] * 1.02 + 3 if isinstance(held[path[-1]], float) else \
        held[path[-1]] + max(3, abs(held[path[-1]]) // 50)


def plant(recording, count, seed):
    """Alters one number of what a command prints, `count` times, and checks that this is found.
    Prints the members for which it never was: those that no other tool has."""
    chosen, tools.kept = random.Random(seed), {}
    _, before = differences(all_facts(recording.path, None, False)[1])
    whole = {words: text for words, text in tools.kept.items()
             if words[0] in ("stats", "spans", "pauses", "autopsy") and text.startswith("{")}
    found, missed = collections.Counter(), collections.Counter()
    for _ in range(count):
        words = chosen.choice(sorted(whole))
        read = json.loads(whole[words])
        path = chosen.choice(sorted(leaves(read), key=str))
        alter(read, path)
        tools.kept[words] = json.dumps(read)
        try:
            seen = differences(all_facts(recording.path, None, False)[1])[1] != before
        except tools.Failed:
            seen = True
        tools.kept[words] = whole[words]
        name = "%s %s" % (words[0], path[-1])
        (found if seen else missed)[name] += 1
    tools.kept = None
    alone = sorted(set(missed) - set(found))
    print("%d of %d altered figures were found; never: %s"
          % (sum(found.values()), count, ", ".join(alone)))
    return found, missed


# ---- All ----------------------------------------------------------------------------------------


def run(count, seed, kinds):
    yield from recordings.corpus()
    for number in range(count):
        yield recordings.make(number, seed, kinds[number % len(kinds)] if kinds else None)


def main():
    parser = argparse.ArgumentParser(description="Do all tools say the same of a recording?")
    parser.add_argument("--recordings", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", action="append", help="of these kinds only")
    parser.add_argument("file", nargs="*", help="only these recordings")
    parser.add_argument("--plant", type=int, metavar="N",
                        help="alter N figures of the recording, each alone: are they found?")
    asked = parser.parse_args()
    if asked.plant:
        found, _ = plant(recordings.Recording(asked.file[0], "given", None), asked.plant,
                         asked.seed)
        return 0 if sum(found.values()) > asked.plant // 2 else 1
    if asked.file:
        found = [recordings.Recording(path, "given", None) for path in asked.file]
    else:
        found = run(asked.recordings, asked.seed, asked.kind)
    traces = []
    failures = sum(check(recording, traces) for recording in found)
    if traces:
        failures += check_traces(traces)
    else:
        print("Perfetto's trace processor is not there (./runtests installs it, where npm is)")
    for (figure, kind), count in differing_kinds.most_common():
        print("%6d differ: %s of %s" % (count, figure, kind))
    print("%d differences" % failures)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
