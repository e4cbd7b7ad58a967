# SPDX-License-Identifier: MIT
"""Compares what `eventring heap --json` says with what the host says is true.

    _heap.py TRUTH HEAP [exact]

TRUTH: a line of sample_heap; HEAP: --json, by function. Figures agree within 5.7 standard
errors; exact: they are equal (rate 1). "-" for TRUTH: only the exact counter in the recording
is compared with the estimate.
"""
import json
import math
import sys

SIGMAS = 5.7
wrong = []


def agree(what, estimate, error, true, exact):
    apart = abs(estimate - true)
    if apart > (0 if exact else SIGMAS * error + 8):
        wrong.append("%s: %d +- %d, but it is %d" % (what, estimate, error, true))


def main():
    heap = json.load(open(sys.argv[2]))
    exact = "exact" in sys.argv[3:]
    total, rows = heap["total"], {row["name"]: row for row in heap["rows"]}
    if total["torn_profiles"] or total["lost_sites"]:
        wrong.append("the profile is not whole: %s" % total)
    for measure in ("allocated", "live"):
        key = measure + "_bytes"
        summed = sum(row[key] for row in heap["rows"])
        if abs(summed - total[key]) > len(rows):
            wrong.append("%s: the rows add up to %d, not %d" % (key, summed, total[key]))
    words = {"allocated": total["counted_words"], "live": total["counted_live_words"]}
    for measure, counted in words.items():
        agree("counted " + measure, total[measure + "_bytes"], total[measure + "_bytes_error"],
              8 * counted, exact)
    if sys.argv[1] != "-":
        truth = json.load(open(sys.argv[1]))
        for name, site in truth["sites"].items():
            row = rows.get(name)
            if row is None:
                if exact or site["allocated"] * total["rate"] > 100:
                    wrong.append("%s is missing" % name)
                continue
            for measure in ("allocated", "live"):
                # the error of what is there, or of what should be
                rate = total["rate"]
                error = 8 * math.sqrt(site[measure] * (1 - rate) / rate)
                agree(name + " " + measure, row[measure + "_bytes"], error, 8 * site[measure],
                      exact)
    for text in wrong:
        print(text)
    sys.exit(1 if wrong else 0)


main()
