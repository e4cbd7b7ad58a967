# SPDX-License-Identifier: MIT
"""report.py SOURCE_TREE BUILD [--lines]: which branches of libeventring the tests have taken.

Reads what gcov says of the objects of format/, producer/ and reader/ in a build with --coverage
(coverage.sh makes one) and prints a table by folder and file. A branch counts once, whichever of
the objects that hold its line took it. `exceptions.txt` beside this file names branches that no
test takes, with the reason; they are not counted, and shown in a column of their own. An entry
that matches no missing branch is an error: it is stale.

--lines: also prints each line with a branch that was not taken. Status 1: a folder is below
BAR, or an exception is stale.
"""
import collections
import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

FOLDERS = ("format", "producer", "reader")
BAR = 90.0


def gcov_documents(build):
    """One for each object that has counts."""
    data = sorted(p for p in build.rglob("*.gcda")
                  if "eventring" in p.parts or "eventring_" in p.name)
    with tempfile.TemporaryDirectory() as scratch:
        for path in data:
            subprocess.run(["gcov", "--branch-probabilities", "--json-format", str(path)],
                           cwd=scratch, check=False, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
            for packed in pathlib.Path(scratch).glob("*.gcov.json.gz"):
                with gzip.open(packed, "rt", encoding="utf-8") as file:
                    yield json.load(file)
                packed.unlink()


def file_of(document, name, tree):
    """The path below eventring/ of a source of the three folders, or None."""
    path = os.path.realpath(os.path.join(document["current_working_directory"], name))
    parts = pathlib.Path(os.path.relpath(path, tree)).parts
    if len(parts) == 3 and parts[0] == "eventring" and parts[1] in FOLDERS:
        return parts[1] + "/" + parts[2]
    return None


def collect(tree, build):
    """{file: {(function, line): [times each branch was taken]}}"""
    files = collections.defaultdict(dict)
    for document in gcov_documents(build):
        for file in document["files"]:
            name = file_of(document, file["file"], tree)
            for line in file["lines"] if name else ():
                counts = [branch["count"] for branch in line["branches"]]
                if not counts:
                    continue
                at = (line.get("function_name", ""), line["line_number"])
                before = files[name].get(at)
                # a function that is inlined differently has other branches: the most counts
                if before and len(before) == len(counts):
                    counts = [a + b for a, b in zip(before, counts)]
                elif before and sum(map(bool, before)) >= sum(map(bool, counts)):
                    counts = before
                files[name][at] = counts
    return files


def read_exceptions(path):
    """(file, text of the line, reason), in the order of the file."""
    entries, file = [], None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if not line[0].isspace():
            file = line.strip()
            continue
        match = re.fullmatch(r"\s+(.*\S)\s+:: (\S.*)", line)
        if not match:
            sys.exit("%s:%d: not `  TEXT :: REASON`" % (path, number))
        entries.append((file, match[1], match[2]))
    return entries


class Folder:
    def __init__(self):
        self.rows = []
        self.taken = self.branches = self.excepted = 0

    def add(self, name, taken, branches, excepted):
        self.rows.append((name, taken, branches, excepted))
        self.taken += taken
        self.branches += branches
        self.excepted += excepted


def share(taken, branches):
    return 100.0 * taken / branches if branches else 100.0


def print_row(name, taken, branches, excepted):
    print("%-28s %6d of %6d  %6.1f %%  %8s" % (name, taken, branches, share(taken, branches),
                                              excepted or ""))


def main():
    tree, build = (pathlib.Path(p).resolve() for p in sys.argv[1:3])
    exceptions = read_exceptions(pathlib.Path(__file__).with_name("exceptions.txt"))
    used, folders, missing = set(), collections.defaultdict(Folder), []
    for name, lines in sorted(collect(tree, build).items()):
        source = (tree / "eventring" / name).read_text(encoding="utf-8").splitlines()
        taken = branches = excepted = 0
        for (_, number), counts in sorted(lines.items(), key=lambda item: item[0][1]):
            text, hit = source[number - 1], sum(map(bool, counts))
            reason = next((i for i, (file, part, _) in enumerate(exceptions)
                           if file == name and part in text), None)
            if hit < len(counts) and reason is not None:
                used.add(reason)
                excepted += len(counts) - hit
                taken, branches = taken + hit, branches + hit
                continue
            taken, branches = taken + hit, branches + len(counts)
            if hit < len(counts):
                missing.append("%s:%d: %d of %d: %s" % (name, number, hit, len(counts),
                                                        text.strip()))
        folders[name.split("/")[0]].add(name, taken, branches, excepted)
    print("%-28s %6s    %6s  %8s  %8s" % ("branches", "taken", "all", "", "excepted"))
    status = 0
    for name in FOLDERS:
        folder = folders[name]
        print_row(name + "/", folder.taken, folder.branches, folder.excepted)
        for row in folder.rows:
            print_row("  " + row[0], *row[1:])
        if share(folder.taken, folder.branches) < BAR or not folder.branches:
            print("FAILED: %s/ is below %.0f %%" % (name, BAR))
            status = 1
    if "--lines" in sys.argv[3:]:
        print("\nNot taken:\n" + "\n".join(missing))
    for i, (file, part, _) in enumerate(exceptions):
        if i not in used:
            print("FAILED: exceptions.txt: %s: %s: no such branch, or it is taken" % (file, part))
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
