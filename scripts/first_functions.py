#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lists the functions of a library that ran: first_functions.py LIBRARY CALLGRIND-OUTPUT...

Prints those of the first output, an empty line, and those that are only in the others, for
vm/first.list and eventring/first.list. The outputs are of a host that runs on the library, which
must have its symbols:

    LD_LIBRARY_PATH=.libs valgrind --tool=callgrind --callgrind-out-file=out lighttpd -D -f FILE
"""
import os
import re
import subprocess
import sys

# What the compiler adds to the name of a copy or a part of a function.
SUFFIX = re.compile(r"\.(constprop|isra|part|cold)\b.*")


def functions_of(library):
    """Names of the functions that the library defines, without those of the C runtime."""
    lines = subprocess.run(["nm", "--defined-only", library], capture_output=True, text=True,
                           check=True).stdout.splitlines()
    names = {fields[2] for fields in map(str.split, lines) if fields[1] in "tT"}
    ours = {SUFFIX.sub("", name) for name in names if ".cold" not in name}
    return ours - {"_init", "_fini", "deregister_tm_clones", "register_tm_clones", "frame_dummy",
                   "__do_global_dtors_aux"}


def ran(output, library):
    """Names of the functions of the library that have a cost of their own in the output. Names
    are written once, with a number that stands for them later."""
    names, objects, found, inside = {}, {}, set(), False
    with open(output) as lines:
        for line in lines:
            match = re.match(r"(c?)(ob|fn)=\((\d+)\)(?: (.*))?", line)
            if not match:
                continue
            called, kind, number, name = match.groups()
            table = objects if kind == "ob" else names
            if name:
                table[number] = name.strip()
            if called:
                continue
            if kind == "ob":
                inside = os.path.basename(objects[number]) == os.path.basename(library)
            elif inside:
                found.add(SUFFIX.sub("", names[number].split("'")[0]))
    return found


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    library = os.path.realpath(sys.argv[1])
    known = functions_of(library)
    first = ran(sys.argv[2], library) & known
    print(*sorted(first), sep="\n")
    others = set().union(*(ran(output, library) for output in sys.argv[3:])) & known - first
    if others:
        print("", *sorted(others), sep="\n")


main()
