# SPDX-License-Identifier: MIT
"""What `heap`, `profile` and `diff` say of the profiles in a recording, and the exports of these,
as facts (facts.py)."""
import collections
import contextlib
import importlib.util
import json
import os
import pathlib

import facts
import tools

HEAP = {"inuse_space": "live_bytes", "inuse_objects": "live_objects",
        "alloc_space": "allocated_bytes", "alloc_objects": "allocated_objects",
        "temporary_space": "temporary_bytes", "peak_space": "peak_bytes"}
CALLS = {"time": "ns", "calls": "count"}


def heap_of(path, catalogue):
    """By all that rows are made by, and in all formats."""
    found = []
    for by in ("line", "function", "stack", "kind", "origin", "span", "domain"):
        found += tools.by_json("heap", catalogue, "--by", by, path, by=by, called="heap by " + by)
    found += of_diff("heap", "heap-line", path)
    with written("export", path, "--to", "pprof") as file:
        found.append(of_pprof(file, "heap", HEAP))
    with written("export", path, "--to", "speedscope") as file:
        found.append(of_speedscope(file, "heap", HEAP))
    for figure in ("live", "allocated", "peak", "temporary"):
        with written("export", path, "--to", "folded", "--" + figure) as file:
            found.append(of_folded(file, "heap", figure + "_bytes"))
    return found


def calls_of(path, catalogue):
    found = []
    for by in ("line", "function", "stack"):
        found += tools.by_json("profile", catalogue, "--top", "0", "--by", by, path, by=by,
                               called="profile by " + by)
    found += of_diff("profile", "profile-function", path)
    with written("profile", path, "--to", "pprof") as file:
        found.append(of_pprof(file, "profile", CALLS))
    with written("profile", path, "--to", "speedscope") as file:
        found.append(of_speedscope(file, "profile", CALLS))
    with written("profile", path, "--to", "folded") as file:
        found.append(of_folded(file, "profile", "ns"))
    with written("profile", path, "--to", "callgrind") as file:
        found.append(of_callgrind(file))
    return found


@contextlib.contextmanager
def written(command, recording, *options):
    """What a command writes into a file, which is removed again."""
    path = "figures.profile"
    tools.eventring(command, *options, "-o", path, recording)
    try:
        yield path
    finally:
        os.unlink(path)


def of_diff(what, kind, path):
    """A recording beside itself."""
    sides = {side: facts.Facts("diff --%s, %s" % (what, side)) for side in "ab"}
    for row in json.loads(tools.eventring("diff", "--" + what, "--json", path, path))["rows"]:
        function, _, through = row["name"].partition(" > ")
        subject = (kind, function, row["source"], row["line"])
        if what == "heap":
            subject += (through or None,)
        for name, value in row.items():
            if name[:2] in ("a_", "b_"):
                sides[name[0]].add(subject, name[2:], value)
    return list(sides.values())


def of_speedscope(path, subject, names):
    found = facts.Facts("speedscope of " + subject)
    for profile in json.loads(pathlib.Path(path).read_text(encoding="utf-8"))["profiles"]:
        found.add((subject,), names[profile["name"]], sum(profile["weights"]))
    return found


def of_folded(path, subject, figure):
    found = facts.Facts("folded of " + subject)
    lines = pathlib.Path(path).read_text(encoding="utf-8").split("\n")
    found.add((subject,), figure, sum(int(line.rsplit(" ", 1)[1]) for line in lines if line))
    return found


def of_pprof(path, subject, names):
    found = facts.Facts("pprof of " + subject)
    reader = pprof_reader()
    types, sums, strings = [], collections.Counter(), []
    for field, value in reader.fields(pathlib.Path(path).read_bytes()):
        if field == 1:
            types.append(dict(reader.fields(value))[1])
        elif field == 2:
            values = [v for f, v in reader.fields(value) if f == 2]
            sums.update(dict(enumerate(values)))
        elif field == 6:
            strings.append(value.decode("utf-8"))
    for place, text in enumerate(types):
        found.add((subject,), names.get(strings[text], strings[text]), sums[place])
    return found


def pprof_reader():
    """The reader of the tests of exports, as a module."""
    path = pathlib.Path(__file__).parent.parent / "tools" / "_pprof.py"
    spec = importlib.util.spec_from_file_location("pprof", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def of_callgrind(path):
    """Own costs are lines of a position and costs; those after `calls=` are of callees."""
    found, of_callee = facts.Facts("callgrind"), False
    total = collections.Counter()
    for line in pathlib.Path(path).read_text(encoding="utf-8").split("\n"):
        words = line.split()
        if words and words[0].lstrip("+-").isdigit():
            if not of_callee:
                total.update(ns=int(words[1]), count=int(words[2]))
            of_callee = False
        of_callee = line.startswith("calls=") or (of_callee and not words)
        if line.startswith("summary:"):
            found.add(("profile",), "ns", int(words[1]))
    found.add(("profile",), "own ns", total["ns"])
    return found
