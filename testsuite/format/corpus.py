# SPDX-License-Identifier: MIT
"""The files of corpus/, each as a program of its time recorded it, and what readers say of them.

  corpus.py add NAME FILE     puts FILE, which this reader.py and `eventring dump` agree on, into
                              the folder, with what they say of it
  corpus.py answer NAME       keeps what the commands answer about a file of the folder
  corpus.py convert FILE      makes a file of version 2, layout 1, one of version 3 (README says why)
  corpus.py check             does every reader say the same of each of them as was said then?

NAME.eventring.gz is a file, NAME.expected.gz the items that reader.py found in it; of these the
keys of KEPT count, so that a reader may show more or less of what follows from the definitions.
The readers are reader.py, `eventring dump` of the file and of a snapshot of it, `eventring stats`,
and the cursor of guest programs. NAME.answers.gz is what the commands of ANSWERS say as JSON, with
their status: of that nothing may change or be missing, but a later version may say more (doc/VERSIONS.md:
new members of objects). A file without NAME.expected.gz is of a version that is not
read: each command must refuse it, say why, and leave it alone.
The environment variables EVENTRING and SAROS name the programs.
"""
import collections
import gzip
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys

import compare
import reader

CORPUS = pathlib.Path(__file__).parent / "corpus"
KEPT = ("domain", "incarnation", "domain_name", "ring", "kind", "name", "id", "ns", "begin_ns",
        "duration_ns", "suspended_ns", "context", "value", "role", "link", "count", "torn",
        "synthetic")
OF_SPANS = ("begin", "end", "open")  # what has a depth
# What a command needs that a build may be without is none of these.
ANSWERS = ("show", "stats", "pauses --top 5", "spans --top 5", "heap --top 5", "heap --by line",
           "memory", "autopsy", "coroutines", "profile --top 10", "profile --by stack", "stack")
REFUSAL = "format version %s; this reader knows version"
COUNT_EVENTS = """
local cursor = assert(require "eventring".cursor { path = arg[1] })
local seen, callbacks = 0, {}
for _, name in ipairs { "runtime_begin", "runtime_end", "runtime_counter", "lifecycle",
                        "user_begin", "user_end", "user_counter", "user_event", "async_begin",
                        "async_end" } do
  callbacks[name] = function() seen = seen + 1 end
end
repeat until cursor:poll(callbacks) == 0
local info = cursor:info()
assert(seen > 0 and cursor:finished() and not info.live)
print(math.tointeger(info.delivered), math.tointeger(info.missed), math.tointeger(info.lost))
"""

failures = 0


def check(what, expected, found):
    global failures
    if expected != found:
        failures += 1
        print("FAILED: %s: expected %s, got %s" % (what, expected, found))


def run(*command):
    done = subprocess.run(command, timeout=120, capture_output=True, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode("utf-8", "replace")


def eventring(*arguments):
    return run(os.environ["EVENTRING"], *arguments)


def kept(items):
    left = []
    for item in items:
        keys = KEPT + (("depth",) if item["kind"] in OF_SPANS else ())
        left.append({key: item[key] for key in keys if key in item})
    return left


def agree(what, expected, items):
    for difference in compare.differences(kept(expected), kept(items)):
        check(what, "the same as then", difference)


def is_event(item):
    return item["kind"] not in ("lost", "open") and not item.get("synthetic")


def counts(items):
    """Events, and those that were overwritten."""
    events = sum(1 for item in items if is_event(item))
    return events, sum(item["count"] for item in items if item["kind"] == "lost")


# ---- A file that is read -----------------------------------------------------------------------


def check_dump(what, path, expected):
    reading = compare.read_by_dump(path)
    check(what + ": status and messages of dump", (0, ""), (reading.status, reading.said))
    agree(what + ", by dump", expected, reading.items)


def check_stats(name, path, expected):
    status, output, said = eventring("stats", "--json", path)
    check(name + ": status and messages of stats", (0, ""), (status, said))
    totals = collections.Counter()
    for domain in json.loads(output)["domains"] if status == 0 else []:
        for ring in domain["rings"].values():
            totals.update(ring)
    check(name + ": events and losses by stats", counts(expected),
          (totals["delivered"], totals["missed"] + totals["lost"]))
    check(name + ": events written by stats", sum(counts(expected)), totals["emitted"])


def check_cursor(name, path, expected):
    if os.environ.get("INTERPRETER") == "no":  # built without it (run-tests.sh)
        return
    status, output, said = run(os.environ["SAROS"], "count.lua", path)
    check(name + ": status and messages of a cursor", (0, ""), (status, said))
    events, missed = counts(expected)
    check(name + ": events, missed and lost by a cursor", [events, missed, 0],
          [int(number) for number in output.split()])


def answers_about(path):
    """What each command says; an answer that is no JSON is NULL, with the status that it had."""
    said = {}
    for command in ANSWERS:
        status, output, _ = eventring(*command.split(), "--json", path)
        said[command] = {"status": status, "answer": json.loads(output) if output else None}
    return said


def differences(where, then, now):
    """Where an answer has something else than then, or lacks it."""
    if isinstance(then, dict) and isinstance(now, dict):
        for key, value in then.items():
            if key not in now:
                yield "%s.%s is gone" % (where, key)
            else:
                yield from differences("%s.%s" % (where, key), value, now[key])
    elif isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        for i, (one, other) in enumerate(zip(then, now)):
            yield from differences("%s[%d]" % (where, i), one, other)
    elif then != now or type(then) is not type(now):
        yield "%s: then %s, now %s" % (where, json.dumps(then)[:200], json.dumps(now)[:200])


def check_answers(name, path):
    with gzip.open(CORPUS / (name + ".answers.gz"), "rt", encoding="utf-8") as file:
        then = json.load(file)
    check(name + ": commands that are asked", sorted(ANSWERS), sorted(then))
    for difference in differences("", then, answers_about(path)):
        check(name, "the same answers as then", difference)


def check_read(name, path):
    with gzip.open(CORPUS / (name + ".expected.gz"), "rt", encoding="utf-8") as file:
        expected = [json.loads(line) for line in file]
    page = compare.read_by_page(path)
    check(name + ": status of reader.py", (0, ""), (page.status, page.said))
    agree(name + ", by reader.py", expected, page.items)
    check_dump(name, path, expected)
    status, _, said = eventring("snapshot", "-o", name + ".copy.eventring", path)
    check(name + ": status and messages of snapshot", (0, ""), (status, said))
    check_dump(name + ", its snapshot", name + ".copy.eventring", expected)
    check_stats(name, path, expected)
    if any(map(is_event, expected)):
        check_cursor(name, path, expected)
    check_answers(name, path)
    status, output, said = eventring("show", path)
    check(name + ": show", (0, "", True), (status, said, path in output))
    print("%s: %d events, %d overwritten" % (name, *counts(expected)))


# ---- A file that is refused ----------------------------------------------------------------------


def check_refused(name, path):
    before = pathlib.Path(path).read_bytes()
    version = name[1]
    refusal = REFUSAL % version
    check(name + ": by reader.py", (2, "format version " + version), compare.read_by_page(path)[::2])
    for command in (["show"], ["dump"], ["dump", "--json"], ["stats"], ["control", "--status"],
                    ["control", "--pause"], ["snapshot", "-o", "refused"]):
        status, output, said = eventring(*command, path)
        check("%s: %s" % (name, " ".join(command)), (1, "", True),
              (status, output, "%s: %s" % (path, refusal) in said))
    if os.environ.get("INTERPRETER") != "no":
        status, _, said = run(os.environ["SAROS"], "count.lua", path)
        check(name + ": by a cursor", (1, True), (status, refusal in said))
    eventring("clean", path)
    check(name + ": left alone", True, pathlib.Path(path).read_bytes() == before)
    check(name + ": no snapshot", False, os.path.exists("refused"))
    print("%s: refused" % name)


# ---- The folder ----------------------------------------------------------------------------------


def add(name, path):
    page, found = compare.compare(path)
    if found or page.status:
        sys.exit("the readers do not agree on %s: %s" % (path, found))
    with open(path, "rb") as source, open(CORPUS / (name + ".eventring.gz"), "wb") as raw, \
            gzip.GzipFile("", "wb", 9, raw, 0) as target:
        shutil.copyfileobj(source, target)
    with open(CORPUS / (name + ".expected.gz"), "wb") as raw, \
            gzip.GzipFile("", "wb", 9, raw, 0) as target:
        for item in page.items:
            target.write((json.dumps(item, ensure_ascii=False) + "\n").encode())


def unpack(name):
    path = name + ".eventring"
    with gzip.open(CORPUS / (name + ".eventring.gz")) as source, open(path, "wb") as target:
        shutil.copyfileobj(source, target)
    return path


def answer(name):
    with open(CORPUS / (name + ".answers.gz"), "wb") as raw, \
            gzip.GzipFile("", "wb", 9, raw, 0) as target:
        target.write((json.dumps(answers_about(unpack(name)), indent=1, ensure_ascii=False) + "\n").encode())


def convert(path):
    """In layout 1 only the version has changed, and with it the checksum of the header."""
    with open(path, "r+b") as file:
        header = bytearray(file.read(1576))
        version, layout = struct.unpack_from("<I", header, 8)[0], struct.unpack_from("<I", header, 24)[0]
        if (version, layout) != (2, 1):
            sys.exit("%s: version %d, layout %d" % (path, version, layout))
        struct.pack_into("<I", header, 8, 3)
        struct.pack_into("<I", header, 120, 0)
        words = struct.unpack("<197Q", header)
        struct.pack_into("<I", header, 120, reader.checksum(words, ()))
        file.seek(0)
        file.write(header)


def check_all():
    pathlib.Path("count.lua").write_text(COUNT_EVENTS, encoding="utf-8")
    files = sorted(CORPUS.glob("*.eventring.gz"))
    for packed in files:
        name = packed.name.split(".")[0]
        path = unpack(name)
        is_read = (CORPUS / (name + ".expected.gz")).exists()
        (check_read if is_read else check_refused)(name, path)
    check("files of versions 1, 2 and 3", {"v1", "v2", "v3"}, {file.name[:2] for file in files})
    return 1 if failures else 0


def main():
    if sys.argv[1:2] == ["add"] and len(sys.argv) == 4:
        add(sys.argv[2], sys.argv[3])
        return 0
    if sys.argv[1:2] == ["answer"] and len(sys.argv) == 3:
        answer(sys.argv[2])
        return 0
    if sys.argv[1:2] == ["convert"] and len(sys.argv) == 3:
        convert(sys.argv[2])
        return 0
    return check_all() if sys.argv[1:] == ["check"] else 2


if __name__ == "__main__":
    sys.exit(main())
