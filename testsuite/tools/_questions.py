# SPDX-License-Identifier: MIT
# Computes from `dump --json` what `pauses --json` and `spans --json` say, and compares.
#
#   _questions.py DUMP PAUSES SPANS: differences, one a line; exit status 1 if there are any
import json, sys

events = [json.loads(line) for line in open(sys.argv[1])]
pauses = json.load(open(sys.argv[2]))
spans = json.load(open(sys.argv[3]))
failed = False


def differ(what, expected, actual):
    global failed
    if expected != actual:
        failed = True
        print(f"{what}: expected {expected}, got {actual}")


# ---- Steps: the topmost spans of class gc

open_gc, steps, intervals = {}, [], {}
for e in events:
    if e.get("class") != "gc" or e["kind"] not in ("begin", "end"):
        continue
    d = e["domain"]
    if e["kind"] == "begin" and d not in open_gc:
        open_gc[d] = e
    elif e["kind"] == "end" and d in open_gc and e["depth"] == open_gc[d]["depth"]:
        b = open_gc.pop(d)
        steps.append({"ns": b["ns"], "domain": d, "duration_ns": e["ns"] - b["ns"],
                      "step": b["name"], "reason": b.get("value_name"),
                      "off_cpu_ns": e.get("off_cpu_ns", 0)})
        intervals.setdefault(d, []).append((b["ns"], e["ns"]))

differ("steps", len(steps), pauses["total"]["count"])
differ("their time", sum(s["duration_ns"] for s in steps), pauses["total"]["total_ns"])
longest = sorted((s["duration_ns"] for s in steps), reverse=True)[:len(pauses["rows"])]
differ("the longest", longest, [r["duration_ns"] for r in pauses["rows"]])
by_time = {(s["domain"], s["ns"]): s for s in steps}
for row in pauses["rows"]:
    step = by_time.get((row["domain"], row["ns"]))
    if not step:
        differ("a step", "one of the dump", row)
        continue
    for key in ("step", "reason"):
        differ(f"{key} of {row['ns']}", step[key], row[key])
    if row["cpu_ns"] is not None:
        differ("cpu", step["duration_ns"] - step["off_cpu_ns"], row["cpu_ns"])
    if sum(p["ns"] for p in row["phases"]) > row["duration_ns"]:
        differ("phases", "no more than the step", row)

# ---- Spans of the program


def in_gc(domain, begin, end):
    return sum(max(0, min(e, end) - max(b, begin)) for b, e in intervals.get(domain, []))


ended = [e for e in events if e.get("kind") == "end" and e.get("ring") == "user" and "begin_ns" in e]
names = {n["name"]: n for n in spans["total"]["names"]}
for name in {e["name"] for e in ended}:
    own = [e for e in ended if e["name"] == name]
    if name not in names:
        differ("name", name, None)
        continue
    differ(f"count of {name}", len(own), names[name]["count"])
    differ(f"total of {name}", sum(e["ns"] - e["begin_ns"] for e in own), names[name]["total_ns"])
    if not any(e.get("suspended_ns") for e in own):
        differ(f"collector in {name}", sum(in_gc(e["domain"], e["begin_ns"], e["ns"]) for e in own),
               names[name]["gc_ns"])
for row in spans["rows"]:
    whole = row["duration_ns"]
    if row["gc_ns"] is not None and row["gc_ns"] + row["suspended_ns"] > whole:
        differ("parts", "no more than the span", row)
sys.exit(failed)
