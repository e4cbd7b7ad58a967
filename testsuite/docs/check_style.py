#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Do C files keep to what HACKING.md asks of their comments and of their layout?

    check_style.py FILE|FOLDER...

- A comment directly above a function begins with a verb in the third person: "Returns ...",
  "Writes ...", "Tells whether ...".
- No line of a comment is longer than 90 columns.
- A memory order that is not relaxed has a comment on its line or on one of the four above it (it
  names the partner), unless it is SEQ_CST and the file's first comment says what is sequentially
  consistent in it.
- Atomic operations are those of GCC (__atomic_load_n, ...), not those of <stdatomic.h>: words of a
  mapped file are plain integers, and a file that has both is read twice.
- No line of code is longer than 100 columns, and no `case` stands at the column of its `switch`.
- No header includes the processor's intrinsics: they have 60,000 lines, which each source that
  includes the header would compile.
Prints what is wrong; status 1 if there is something.
"""
import os
import re
import sys

MOST_COLUMNS = 90 # of comments
MOST_CODE_COLUMNS = 100
ABOVE = 4
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)
VERB = re.compile(r"[A-Z][a-z]+s\b(?!['’])")
NO_VERB = {"This", "Its", "As", "Those", "Others", "Likewise", "Less", "Is", "Was", "Does", "Has",
           "Always", "Besides", "Perhaps", "Words", "Bytes", "Names", "Values", "Lines", "Events",
           "Ids", "Threads", "Times", "Errors", "Things", "Domains", "Readers", "Spans", "Us"}
FUNCTION = re.compile(r"(?!typedef\b|extern\b|(?:static |const )*(?:struct|union|enum)(?: \w+)? ?\{)"
                      r"(?:[\w*]+[\s*]+)*(?:__attribute__\s*\(\(.*?\)\)\s*)?(?:[\w*]+[\s*]+)+([a-z_]\w*)\s*\(")
TOTAL = re.compile("sequentially\\s[*\\s]*consistent")
C11_ATOMIC = re.compile(r"\b_Atomic\b|\bmemory_order_|\batomic_(?:load|store|fetch|exchange|compare|init|bool|int)")
ORDER = re.compile(r"__ATOMIC_(?:ACQUIRE|RELEASE|ACQ_REL|SEQ_CST|CONSUME)|"
                   r"memory_order_(?:acquire|release|acq_rel|seq_cst)")
SWITCH = re.compile(r" *(?:\} )?(?:else )?switch \(")
INTRINSICS = re.compile(r"\s*#\s*include\s*<\w*intrin\.h>")
CASE = re.compile(r" *(?:case\b.*:|default:)")


def comments(text):
    """The comments, as (begin, end)."""
    return [m.span() for m in COMMENT.finditer(text) if m.group(0)[0] == "/"]


def words_of(comment):
    lines = (line.strip() for line in comment[2:-2].split("\n"))
    return " ".join(re.sub(r"^\* ?", "", line) for line in lines).strip()


def check(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    found = comments(text)
    lines = text.split("\n")
    begins = [0]
    for line in lines:
        begins.append(begins[-1] + len(line) + 1)
    commented = set()
    number = 0
    for begin, end in found:
        while begins[number + 1] <= begin:
            number += 1
        last = number + text.count("\n", begin, end)
        for at in range(number, last + 1):
            commented.add(at)
            if len(lines[at]) > MOST_COLUMNS and (at < last or begins[at] + MOST_COLUMNS < end):
                yield at, f"a line of comment with {len(lines[at])} columns"
        if begin == begins[number] and text.startswith("/*", begin) and text[end:end + 1] == "\n":
            words, after = words_of(text[begin:end]), re.split(r"[;{=]", text[end + 1:end + 600])[0]
            function = FUNCTION.match(after)
            if function and words[:2] not in ("--", "==") and "SPDX" not in words:
                verb = VERB.match(words)
                if not verb or verb.group(0) in NO_VERB:
                    yield number, f"{function.group(1)}: begins with no verb: {words[:60]}"
    if path.endswith(".h"):
        for at, line in enumerate(lines):
            if INTRINSICS.match(line):
                yield at, "a header that includes the processor's intrinsics"
    switches = []
    for at, line in enumerate(lines):
        if len(line) > MOST_CODE_COLUMNS and at not in commented:
            yield at, f"a line of code with {len(line)} columns"
        indent = len(line) - len(line.lstrip())
        if SWITCH.match(line):
            switches.append(indent)
        elif CASE.match(line) and switches and indent == switches[-1]:
            yield at, "a case at the column of its switch"
    total = any(TOTAL.search(text[begin:end]) for begin, end in found[:2])
    for at, line in enumerate(lines):
        code = COMMENT.sub("", line)
        if C11_ATOMIC.search(code) and "ffi" not in path:
            yield at, "a C11 atomic beside those of GCC"
        if total and "SEQ_CST" in code:
            continue
        if ORDER.search(COMMENT.sub("", line)) and not line.lstrip().startswith("#define") \
                and not commented.intersection(range(at - ABOVE, at + 1)):
            yield at, "a memory order without its partner"


def files(places):
    for place in places:
        if os.path.isfile(place):
            yield place
        for folder, _, names in sorted(os.walk(place)):
            yield from (os.path.join(folder, name) for name in sorted(names) if name[-2:] in (".c", ".h"))


wrong = [f"{path}:{at + 1}: {what}" for path in files(sys.argv[1:]) for at, what in check(path)]
print("\n".join(wrong), end="\n" if wrong else "")
sys.exit(1 if wrong else 0)
