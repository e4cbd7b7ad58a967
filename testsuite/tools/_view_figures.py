# SPDX-License-Identifier: MIT
"""Compares the figures of a page of `eventring view` with what the commands say.

    _view_figures.py EVENTRING PAGE FILE [--ranges N] [--spans all|some] [COMMAND-OPTION...]

Says what differs, a line each; the exit status is 1 then. The options (--since 1, --domain 0) are
those that the page was made with. Of N random ranges of cells the figures are those of
`stats --since --until`. With `--spans some` each span of the page must be one of `dump`, with
`all` each of `dump` must be in the page.
"""
import json
import random
import subprocess
import sys

from _view import Page, pairs, rows, undo

eventring, path, file = sys.argv[1:4]
options, ranges, spans_wanted = [], 8, "some"
words = iter(sys.argv[4:])
for word in words:
    if word == "--ranges":
        ranges = int(next(words))
    elif word == "--spans":
        spans_wanted = next(words)
    else:
        options.append(word)

page = Page(path)
head, grid = page.head, page.head["grid"]
begin, start, cell_ns, cells = (int(grid["begin_ns"]), int(grid["start_ns"]), grid["cell_ns"],
                                grid["cells"])
wrong = []


def differ(what, command, shown):
    if command != shown:
        wrong.append(f"{what}: the command says {command}, the page {shown}")


def ask(command, *more):
    done = subprocess.run([eventring, command, "--json", *more, file], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=False)
    return json.loads(done.stdout)


def slot_of(row):
    return head["domains"][row["domain"]]["slot"]


def id_of(index):
    return None if index is None or index < 0 else head["names"][index]["id"]


# ---- Series ---------------------------------------------------------------------------------

def by_place(of):
    section = page.section("series") or {"series": []}
    return {(slot_of(s), id_of(s["name"])): s for s in section["series"] if s["of"] == of}


def sums(series, first=0, last=cells):
    """The figures of cells [first, last), of which the series knows the borders."""
    level, picked = series["level"], {}
    numbers = undo(series["cell_d"])
    at = [i for i, n in enumerate(numbers) if first <= n << level < last]
    for key in ("count", "sum", "own", "own_count", "off_cpu", "suspended"):
        if key in series:
            picked[key] = sum(series[key][i] for i in at)
    if "longest" in series:
        picked["longest"] = max((series["longest"][i] for i in at), default=0)
    if "histogram" in series:
        picked["in buckets"] = sum(n for i in at for _, n in pairs(series["histogram"][i]))
    return picked


def knows(level, first, last):
    size = 1 << level
    return first % size == 0 and (last % size == 0 or last >= cells)


def check_sums(what, series):
    total, found = series["total"], sums(series)
    for key in ("count", "sum", "own", "off_cpu", "suspended", "longest"):
        if key in total and key in found:
            differ(f"{what}: {key} of all cells", total[key], found[key])
    if "histogram" in total:
        differ(f"{what}: buckets", total["count"], sum(n for _, n in pairs(total["histogram"])))
    if "in buckets" in found:
        differ(f"{what}: buckets of cells", total["count"], found["in buckets"])


MEMBERS = (("count", "count"), ("total_ns", "sum"), ("own_ns", "own"), ("max_ns", "longest"),
           ("off_cpu_ns", "off_cpu"), ("suspended_ns", "suspended"), ("torn", "torn"),
           ("open", "open"))


def check_spans(of, list_of_command, answer):
    shown = by_place(of)
    for row in answer[list_of_command]:
        place = (row["domain"], row["id"])
        series = shown.pop(place, None)
        if series is None:
            wrong.append(f"{of} {row['name']} of domain {row['domain']} is not in the page")
            continue
        check_sums(f"{of} {row['name']}", series)
        for member, key in MEMBERS:
            if key in series["total"] and member in row and not (of == "async" and
                                                                  key == "suspended"):
                differ(f"{of} {row['name']}: {key}", row[member], series["total"][key])
    for place in shown:
        wrong.append(f"{of} {place} is in the page alone")


def check_events(answer):
    shown = by_place("event")
    for row in answer["events"]:
        series = shown.pop((row["domain"], row["id"]), None)
        differ(f"event {row['name']}", row["count"], series and series["total"]["count"])
        if series:
            check_sums(f"event {row['name']}", series)
    for place in shown:
        wrong.append(f"event {place} is in the page alone")


def check_counters(answer):
    section = page.section("counters") or {"counters": []}
    shown = {(slot_of(c), id_of(c["name"])): c for c in section["counters"]}
    for row in answer["counters"]:
        counter = shown.pop((row["domain"], row["id"]), None)
        if counter is None:
            wrong.append(f"counter {row['name']} is not in the page")
            continue
        scale, name = counter["scale"], f"counter {row['name']}"
        differ(f"{name}: samples", row["samples"], sum(counter["samples"]))
        figures = {"min": min(counter["least"]), "max": max(counter["most"]),
                   "last": counter["last"][-1]}
        if "sum" in row:
            figures["sum"] = sum(counter["sum"])
        for key, value in figures.items():
            near = abs(row[key] - value / scale) <= len(counter["sum"]) / scale
            if row[key] != value and not (scale > 1 and near):
                differ(f"{name}: {key}", row[key], value / scale)


def check_range(first, last):
    since, until = (begin + first * cell_ns - start) / 1e9, begin + last * cell_ns - start - 1
    words = ["--since", f"{since:.9f}", "--until", f"{until / 1e9:.9f}"]
    if "--domain" in options:
        words += ["--domain", options[options.index("--domain") + 1]]
    answer = ask("stats", *words)
    shown, checked = by_place("span"), 0
    for row in answer["spans"]:
        series = shown.get((row["domain"], row["id"]))
        if series is None or not knows(series["level"], first, last):
            continue
        found = sums(series, first, last)
        what = f"cells {first} to {last}: {row['name']}"
        for member, key in MEMBERS:
            if key == "own" and row["own_count"] < row["count"]:
                continue  # reading began within some, of which the command cannot know it
            if key in found and member in row:
                differ(f"{what}: {key}", row[member], found[key])
        checked += 1
    events = by_place("event")
    for row in answer["events"]:
        series = events.get((row["domain"], row["id"]))
        if series and knows(series["level"], first, last):
            differ(f"cells {first} to {last}: {row['name']}", row["count"],
                   sums(series, first, last)["count"])
    return checked


# ---- Pauses -----------------------------------------------------------------------------------

def check_pauses():
    answer = ask("pauses", "--top", "100000", *options)
    kinds = {}
    for series in (page.section("series") or {"series": []})["series"]:
        if series["of"] == "pause":
            names = head["names"]
            reason = series["reason"]
            key = (names[series["name"]]["name"], names[reason]["name"] if reason is not None else None)
            count, total = kinds.get(key, (0, 0))
            kinds[key] = (count + series["total"]["count"], total + series["total"]["sum"])
            check_sums(f"pauses {key}", series)
    said = {(k["step"], k["reason"]): (k["count"], k["total_ns"]) for k in answer["total"]["kinds"]}
    differ("pauses by reason", said, kinds)
    steps = {(r["ns"], r["domain"]): r for r in answer["rows"]}
    pauses = page.section("pauses") or {}
    for row in rows(pauses, ("begin_d", "length", "off_cpu", "work", "domain", "name", "reason",
                             "span")) if pauses else []:
        step = steps.get((row["begin"] + begin, head["domains"][row["domain"]]["slot"]))
        if step is None:
            wrong.append(f"no pause begins at {row['begin']}")
            continue
        name = head["names"][row["name"]]["name"]
        differ("a pause", (step["duration_ns"], step["step"]), (row["length"], name))
        differ("work of a pause", step["work_bytes"], None if row["work"] < 0 else row["work"])
        span = head["names"][row["span"]]["name"] if row["span"] >= 0 else None
        differ("span of a pause", step["span"], span)


# ---- Spans ------------------------------------------------------------------------------------

def check_cover(events):
    """Cells of depths: by domain and depth, all spans of `dump` and how long they took."""
    recorded, shown = {}, {}
    for event in events:
        if event.get("kind") == "end" and event.get("duration_ns") is not None:
            key = (event["domain"], event["depth"])
            count, ns = recorded.get(key, (0, 0))
            recorded[key] = (count + 1, ns + event["duration_ns"])
    for cover in (page.section("cover") or {"tracks": []})["tracks"]:
        key = (slot_of(head["tracks"][cover["track"]]), cover["depth"])
        count, ns = shown.get(key, (0, 0))
        shown[key] = (count + sum(cover["count"]), ns + sum(cover["ns"]))
    differ("spans by domain and depth", recorded, shown)


def check_moments(events):
    """Each instant and each link of the page is one of `dump`."""
    recorded, points = set(), set()
    for event in events:
        recorded.add((event["domain"], event["id"], event["ns"] - begin))
        if "link" in event:
            points.add((event["id"], event["ns"] - begin, event["domain"]))
    for track in (page.section("instants") or {"tracks": []})["tracks"]:
        slot = slot_of(head["tracks"][track["track"]])
        for row in rows(track):
            if (slot, id_of(row["name"]), row["at"]) not in recorded:
                wrong.append(f"no event is the instant {row} of domain {slot}")
    links = page.section("links")
    for row in rows(links) if links else []:
        for at, track in (("from", "from_track"), ("to", "to_track")):
            slot = slot_of(head["tracks"][row[track]])
            if (id_of(row["name"]), row[at], slot) not in points:
                wrong.append(f"no event is at an end of the link {row}")


def check_kept(events):
    """Each span of the page is one of `dump`; all are, if that is asked for."""
    recorded = {}
    for event in events:
        if event.get("kind") == "end" and event.get("duration_ns") is not None:
            key = (event["domain"], event["id"], event["ns"] - event["duration_ns"] - begin,
                   event["duration_ns"], event["depth"])
            recorded[key] = recorded.get(key, 0) + 1
    shown = {}
    sections = ["spans"] + [chunk["section"] for chunk in head["chunks"]]
    for section in sections:
        for track in (page.section(section) or {"tracks": []})["tracks"]:
            slot = slot_of(head["tracks"][track["track"]])
            for row in rows(track):
                if not row["flags"]:
                    key = (slot, id_of(row["name"]), row["begin"], row["length"], row["depth"])
                    shown[key] = shown.get(key, 0) + 1
    for key in shown:
        if shown[key] > recorded.get(key, 0):
            wrong.append(f"span {key} is not in dump so often")
    if spans_wanted == "all":
        differ("spans", sum(recorded.values()), sum(shown.values()))
        for key in recorded:
            if shown.get(key, 0) != recorded[key]:
                wrong.append(f"span {key} of dump is not in the page")
    return len(shown)


for left in head["left_out"]:
    if left["kept"] >= left["of"]:
        wrong.append(f"nothing was left out: {left}")
answer = ask("stats", *options)
check_spans("span", "spans", answer)
check_spans("async", "async_spans", answer)
check_events(answer)
check_counters(answer)
loss = answer["loss"]
differ("totals", [loss["delivered"], loss["lost"], loss["missed"], loss["torn"]],
       [head["totals"][k] for k in ("events", "lost", "missed", "torn")])
check_pauses()
checked = 0
draw = random.Random(4711)
for _ in range(ranges):
    level = draw.randrange(0, 8)
    places = [i << level for i in range((cells >> level) + 1)]
    first, last = sorted(draw.sample(places, 2)) if len(places) > 1 else (0, cells)
    checked += check_range(first, last)
text = subprocess.run([eventring, "dump", "--json", *options, file], stdout=subprocess.PIPE,
                      stderr=subprocess.DEVNULL, check=False).stdout
events = [event for event in map(json.loads, text.splitlines()) if "id" in event]
kept = check_kept(events)
check_moments(events)
if not options and not any(row["torn"] or row["open"] for row in answer["spans"]):
    check_cover(events)
if wrong:
    print("\n".join(wrong[:40]))
    sys.exit(1)
print(f"{checked} rows of ranges, {kept} spans")
