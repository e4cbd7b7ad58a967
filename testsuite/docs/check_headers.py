#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Does each function that a public header declares say which threads may call it, what its status
means, and in which units it takes times?

    check_headers.py DIRECTORY      (eventring/include)

Says so counts where one of these holds:
- the comment above the declaration, or above the declarations that follow it without another
  comment or an empty line, names a thread: "Any thread", "Owner", "thread", "callback";
- the last comment of a section (/* ---- NAME ---- ... */, to the next section) says
  "For all: ...";
- the comment at the top of the header has a line "Threads: ...", which names the structure
  that the function takes (`eventring_cursor *`), or says "all functions".
A function that returns int says in its comment, or the one of its section, what: "Returns ...", an
error E_..., or "As eventring_...". A parameter that is a time (now, since, duration, ...) says
its unit by its name (since_ns), or one of these comments or that at the top does.
And is the header not too long? eventring.h and eventring/read.h have at most 500 lines, and
no header has two functions, X and X_sized, for one. Prints what is wrong; status 1 if there
is something.
"""
import glob
import os
import re
import sys

MOST_LINES = {"eventring.h": 500, "eventring/read.h": 500, "eventring/probe.h": 354}
WORD = re.compile(r"\b(any thread|owner|threads?|callback|async-signal-safe)\b", re.I)
STATUS = re.compile(r"\bE_[A-Z]+|\b[Rr]eturns?\b|\bas eventring_\w+|\berrors?\b", re.I)
TIME = re.compile(r"\b(?:u?int64_t|double)\s+(now|since|until|duration|timeout|period|at)\b")
UNIT = re.compile(r"\b(ticks?|ns|nanoseconds|ms|seconds)\b")
FUNCTION = re.compile(r"\b(eventring_\w+)\s*\(")

wrong = []


def blank_strings(text):
    text = re.sub(r"#ifdef __cplusplus\n.*?#endif\n", "", text, flags=re.S)
    return re.sub(r'"(\\.|[^"\\\n])*"', lambda m: '"' + " " * (len(m.group(0)) - 2) + '"', text)


def pieces(text):
    """Comments, empty lines, preprocessor lines and declarations, in their order."""
    token = re.compile(r"/\*.*?\*/|\n[ \t]*\n|^[ \t]*#(?:[^\n\\]|\\.|\\\n)*|//[^\n]*", re.S | re.M)
    at, depth, kept = 0, 0, ""
    for match in token.finditer(text):
        code = text[at:match.start()]
        kept += code
        depth += code.count("{") + code.count("(") - code.count("}") - code.count(")")
        at = match.end()
        if depth > 0:
            continue  # within a structure, a body or a list of parameters
        if kept.strip():
            yield "code", kept
        kept = ""
        part = match.group(0)
        if part.startswith("/*"):
            yield "comment", part
        elif not part.strip():
            yield "gap", ""
    kept += text[at:]
    if kept.strip():
        yield "code", kept


def declarations(code):
    """(result, name, parameters) of functions that code declares or defines inline."""
    bodies = re.compile(r"\{[^{}]*\}")
    while bodies.search(code):
        code = bodies.sub(";", code)
    for statement in code.split(";"):
        if "typedef" in statement or "=" in statement:
            continue
        match = FUNCTION.search(statement)
        if match and not statement[:match.start()].strip().endswith("#define"):
            yield statement[:match.start()].split(), match.group(1), statement[match.end():]


def check(path, name):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    lines = text.count("\n")
    if lines > MOST_LINES.get(name, lines):
        wrong.append(f"{name}: {lines} lines, more than {MOST_LINES[name]}")
    top = re.search(r"Threads: (.*?)(?:\n \*\n|\*/)", text, re.S)
    top = top.group(1) if top and top.start() < text.find("#ifndef") else ""
    types = re.findall(r"`(\w+) \*`", top)
    head = text[:text.find("#ifndef")]
    section, about, comment = False, "", ""
    for kind, part in pieces(blank_strings(text)):
        if kind == "gap":
            comment = ""
        elif kind == "comment":
            if re.match(r"/\* (--|====)", part):
                section, about = "For all:" in part, part
            comment = comment + part if comment and not WORD.search(comment) else part
        else:
            for result, function, parameters in declarations(part):
                if "int" in result and not STATUS.search(comment + about):
                    wrong.append(f"{name}: {function}: its comment does not say what it returns")
                for time in TIME.findall(parameters):
                    if not UNIT.search(comment + about + head):
                        wrong.append(f"{name}: {function}: what is the unit of `{time}'?")
                if function.endswith("_sized"):
                    wrong.append(f"{name}: {function}: the size stands in the structure")
                covered = (section or "all functions" in top or WORD.search(comment)
                           or any(re.search(rf"\b{kind} \*", parameters) for kind in types))
                if not covered:
                    wrong.append(f"{name}: {function}: its comment does not say which threads")


directory = sys.argv[1]
for header in sorted(glob.glob(os.path.join(directory, "**/*.h"), recursive=True)):
    check(header, os.path.relpath(header, directory))
for line in wrong:
    print(line)
sys.exit(1 if wrong else 0)
