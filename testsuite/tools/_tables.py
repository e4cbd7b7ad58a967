# SPDX-License-Identifier: MIT
"""What the tables of a recording must say, a line each and sorted, so that two of them can be
compared:

    _tables.py dump DUMP        of what `eventring dump --json` has printed
    _tables.py sqlite DATABASE  of the tables of a database
    _tables.py csv FILE         of the rows of a CSV file
    _tables.py json FILE        of what `eventring sql --json` has printed for all tables
"""
import csv
import json
import re
import sqlite3
import sys

COLUMNS = {
    "span": ["begin_ns", "end_ns", "duration_ns", "name", "class", "domain", "domain_name", "ring",
             "context", "depth", "torn"],
    "counter": ["ns", "name", "class", "domain", "domain_name", "ring", "value"],
    "event": ["ns", "kind", "name", "class", "domain", "domain_name", "ring", "link", "value"],
    "loss": ["ns", "domain", "domain_name", "ring", "count", "before"]}


def plain(value):
    if value is None or value == "":
        return "-"
    try:
        return f"{float(value):.17g}"
    except ValueError:
        return str(value)


def line(what, row):
    return "\t".join([what] + [plain(row.get(column)) for column in COLUMNS[what]])


def value_of(value):
    """As tables have it: one alone as itself, several values as text."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, dict) and list(value) == ["hex"]:
        return value["hex"]
    if isinstance(value, (list, dict)):
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return value


def of_dump(path):
    begun = {}
    for text in open(path, encoding="utf-8"):
        e = json.loads(text)
        kind, row = e["kind"], dict(e)
        same = (e.get("domain"), e.get("ring"), e.get("context"), e.get("depth"), e.get("name"))
        if kind == "begin":
            begun[same] = e["ns"]
        elif kind == "end":
            made = e.get("synthetic")
            begin = e["ns"] - e["duration_ns"] if "duration_ns" in e else begun.get(same) if made else None
            row.update(begin_ns=begin, end_ns=e["ns"],
                       torn=("end" if made else "begin") if e.get("torn") else None)
            yield line("span", row)
        elif kind == "open":
            row.update(begin_ns=e["ns"])
            yield line("span", row)
        elif kind == "counter":
            yield line("counter", row)
        elif kind == "lost":
            row.update(before=int(e["before"]))
            yield line("loss", row)
        elif "name" in e:
            row.update(kind=e.get("role", kind), value=value_of(e.get("value")))
            yield line("event", row)


def of_sqlite(path):
    db = sqlite3.connect(path)
    db.row_factory = sqlite3.Row
    assert db.execute("pragma integrity_check").fetchone()[0] == "ok"
    for what in COLUMNS:
        for row in db.execute(f"select * from {'losses' if what == 'loss' else what + 's'}"):
            yield line(what, dict(row))


def unescaped(text):
    """What csv writes as \\xNN, since it is not printable."""
    return re.sub(rb"\\x([0-9A-F]{2})", lambda match: bytes([int(match[1], 16)]),
                  text.encode()).decode()


def of_csv(path):
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["what"] in COLUMNS:
                row = {name: unescaped(text) for name, text in row.items()}
                row["begin_ns"] = row["ns"]
                yield line(row["what"], row)


def of_json(path):
    with open(path, encoding="utf-8") as file:
        for what, text in zip(COLUMNS, file):
            for row in json.loads(text)["rows"]:
                yield line(what, row)


sys.stdout.reconfigure(encoding="utf-8")
print("\n".join(sorted({"dump": of_dump, "sqlite": of_sqlite, "csv": of_csv,
                        "json": of_json}[sys.argv[1]](sys.argv[2]))))
