# SPDX-License-Identifier: MIT
"""compare.py WHAT FILE [EXPECTED]: do reader.py and `eventring dump --json` agree on FILE?

The environment variable EVENTRING names the command. EXPECTED has lines like those of
reader.py, by whoever wrote the file. Compared are, ring by ring, the events in their order,
with all that is known of them, and the numbers of lost events between them; between two events,
in any order, the spans that are torn or found to be open; the spans that are open at the end;
and how the process ended. It prints how many there are of each kind; the exit status is 1 when something differs.
"""
import collections
import contextlib
import io
import json
import os
import subprocess
import sys

import reader

Reading = collections.namedtuple("Reading", "status items said")


def read_by_page(path):
    report, said = reader.Report(), io.StringIO()
    with contextlib.redirect_stderr(said):
        try:
            items = reader.read_file(path, report)
        except reader.Refused as refusal:
            return Reading(2, [], str(refusal))
    return Reading(1 if report.is_damaged else 0, items, said.getvalue())


def read_by_dump(path):
    run = subprocess.run([os.environ["EVENTRING"], "dump", "--json", path], timeout=60,
                         capture_output=True, check=False)
    lines = run.stdout.decode("utf-8").split("\n")
    items = [json.loads(line) for line in lines if line]
    for item in items: # of the JSON, which the page of the format knows nothing of
        assert item.pop("version") == 1, item
    return Reading(run.returncode, items, run.stderr.decode("utf-8", "replace"))


# ---- Comparing -------------------------------------------------------------------------------


def with_one_kind_of_number(value):
    """1 and 1.0 are one number. Python's integers have as many bits as it takes."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: with_one_kind_of_number(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [with_one_kind_of_number(inner) for inner in value]
    return value


def left_out_of(item, as_written):
    """What the file does not say, so that each reader shows what it likes."""
    if item["kind"] == "lost":
        return ("ns", "incarnation", "domain_name", "before")
    left_out = ["so_far_ns", "at_least"]  # the command computes them (test_hanging.sh)
    if as_written and item.get("torn") and item.get("synthetic"):
        left_out.append("ns")
    if item.get("unknown"):
        left_out.append("class")
    return left_out + ["may_be_over"] * as_written


def is_between_events(item, is_first):
    """So is the loss of what was overwritten before reading began: the begins of what was
    open then come before it by their time, and behind it in readings of earlier builds."""
    return (item.get("synthetic") or item["kind"] == "open" or
            (item["kind"] == "lost" and is_first))


def by_ring(items, as_written):
    """For each ring the texts of its items; those between two events in an order of its own."""
    rings = collections.defaultdict(lambda: ([], []))
    for item in items:
        order, between = rings[item.get("domain", -1), item.get("ring", "the end")]
        kept = {key: value for key, value in item.items() if key not in left_out_of(item, as_written)}
        text = json.dumps(with_one_kind_of_number(kept), sort_keys=True, ensure_ascii=False)
        if is_between_events(item, not order):
            between.append(text)
        else:
            order += sorted(between) + [text]
            between.clear()
    return {place: order + sorted(between) for place, (order, between) in rings.items()}


def differences(first, second, as_written=False):
    """The first difference of each ring."""
    one, other = by_ring(first, as_written), by_ring(second, as_written)
    found = []
    for place in sorted(set(one) | set(other)):
        left, right = one.get(place, []), other.get(place, [])
        if left == right:
            continue
        at = 0
        while at < min(len(left), len(right)) and left[at] == right[at]:
            at += 1
        found.append("domain %d, ring %s, at %d of %d and %d:\n  %s\n  %s" % (
            *place, at, len(left), len(right),
            left[at] if at < len(left) else "nothing",
            right[at] if at < len(right) else "nothing"))
    return found


def compare(path):
    """The reading by the page, and what differs between the two: an empty list, nothing."""
    page, dump = read_by_page(path), read_by_dump(path)
    found = differences(page.items, dump.items)
    if dump.status not in (0, 1) or (page.status == 0) != (dump.status == 0):
        found.append("by the page: status %d, %s\n  by dump: status %d, %s" % (
            page.status, page.said, dump.status, dump.said))
    return page, found


def quantities_by_show(path):
    run = subprocess.run([os.environ["EVENTRING"], "show", "--json", path], timeout=60,
                         capture_output=True, check=False)
    rows = json.loads(run.stdout)["catalogue"]
    return {row["id"]: row["quantity"] for row in rows if "quantity" in row}


def main():
    what, path = sys.argv[1:3]
    page, found = compare(path)
    if len(sys.argv) > 3:
        with open(sys.argv[3], encoding="utf-8") as file:
            expected = [json.loads(line) for line in file]
        found += ["as written, and read: " + text for text in differences(expected, page.items, as_written=True)]
    if page.status < 2 and reader.read_quantities(path) != quantities_by_show(path):
        found.append("%s\n  %s" % (reader.read_quantities(path), quantities_by_show(path)))
    if not page.items:
        found.append("nothing in it")
    for text in found:
        print("FAILED: %s: by the page, and by dump:\n%s" % (what, text))
    counts = collections.Counter(item["kind"] for item in page.items)
    print("%s: %s" % (what, ", ".join("%d %s" % (n, kind) for kind, n in sorted(counts.items()))))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
