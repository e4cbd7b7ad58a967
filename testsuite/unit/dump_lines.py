# SPDX-License-Identifier: MIT
"""dump_lines.py: turns what `eventring dump --json` prints into the lines of
format_reader.py."""
import json
import sys


def text_of(value):
    return value["hex"] if isinstance(value, dict) else str(value)


def value_of(event):
    if event["kind"] == "linked":
        return "%s of %d" % (event["role"], event["link"])
    value = event.get("value", event.get("hex", ""))
    if isinstance(value, dict):
        value = list(value.values())
    return ",".join(map(text_of, value)) if isinstance(value, list) else value


for line in sys.stdin:
    event = json.loads(line)
    if event["kind"] not in ("lost", "open") and not event.get("synthetic"):
        print(event["ns"], event["domain"], event["incarnation"], event["ring"], event["kind"],
              event["name"], event.get("context", 0), value_of(event), sep="\t")
