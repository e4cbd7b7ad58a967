# SPDX-License-Identifier: MIT
"""Compares what a heap profile estimates with the truth: by site (source and line), what the
profile of the same deterministic program says at rate 1.

    truth.py SAROS EVENTRING RATE RUNS live|allocated|both COMMAND...

Each COMMAND is the arguments of SAROS, in one word. It is run once at rate 1 and RUNS times
at RATE, each time with a seed of its own. Of each site with more than 1 % of the bytes the
number of samples is binomial; a site whose number is as improbable as 5.7 standard
deviations (3e-9 on either side) is wrong. So is a share of estimates beyond 3 of the
standard errors that the profile states, if above 1 % by more than chance. Status 1: something
is wrong. TRUTH_SEED=N repeats a run.
"""
import json
import math
import os
import random
import shutil
import subprocess
import sys

LEAST_SHARE = 0.01
LEAST_CHANCE = 3e-9
MOST_BEYOND = 0.01


def profile(saros, eventring, command, rate, seed):
    shutil.rmtree("recorded", ignore_errors=True)
    os.mkdir("recorded")
    environment = dict(os.environ, SAROS_MEMPROF=repr(rate), SAROS_MEMPROF_SEED=str(seed),
                       SAROS_EVENTRING_PRESERVE="1", SAROS_EVENTRING_PREFIX="recorded",
                       SAROS_HASH_SEED="1")
    subprocess.run([saros] + command.split(), env=environment, check=True,
                   stdout=subprocess.DEVNULL)
    (file,) = os.listdir("recorded")
    heap = json.loads(subprocess.run([eventring, "heap", "--json", "--by", "line", "--top",
                                      "100000", "recorded/" + file], check=True,
                                     stdout=subprocess.PIPE).stdout)
    shutil.rmtree("recorded")
    if heap["total"]["torn_profiles"] or heap["total"]["lost_sites"]:
        sys.exit("the profile of %s is not whole" % command)
    sites = {}
    for row in heap["rows"]: # names are those of the first caller; a site may have two
        site = sites.setdefault((row["source"], row["line"]), {})
        for measure in ("live", "allocated"):
            bytes_, error = row[measure + "_bytes"], row[measure + "_bytes_error"]
            before = site.get(measure, (0, 0))
            site[measure] = (before[0] + bytes_, math.hypot(before[1], error))
    return sites, heap["total"]


def log_chance(words, rate, n):
    """ln P(N = n), N binomial."""
    if n < 0 or n > words:
        return -math.inf
    return (math.lgamma(words + 1) - math.lgamma(n + 1) - math.lgamma(words - n + 1) +
            n * math.log(rate) + (words - n) * math.log1p(-rate))


def chance_beyond(words, rate, n):
    """P that a binomial number is at least as far on this side of its mean."""
    step = 1 if n > words * rate else -1
    total, k = 0.0, n
    while True:
        chance = math.exp(log_chance(words, rate, k))
        total += chance
        if chance < total * 1e-12 or k < 0 or k > words or total > 0.1:
            return total
        k += step


class Results:
    def __init__(self):
        self.estimates = self.sites = self.beyond = 0
        self.farthest = 0.0
        self.wrong = []

    def add(self, what, words, rate, estimate, error):
        deviation = 8 * math.sqrt(words * (1 - rate) / rate)
        z = (estimate - 8 * words) / deviation
        self.estimates += 1
        self.farthest = max(self.farthest, abs(z))
        if abs(estimate - 8 * words) > 3 * error:
            self.beyond += 1
        if chance_beyond(words, rate, round(estimate * rate / 8)) < LEAST_CHANCE:
            self.wrong.append("%s: %d bytes instead of %d, %.2f deviations" %
                              (what, estimate, 8 * words, z))


def compare(results, measure, command, truth, total, estimated, rate):
    whole = total[measure + "_bytes"]
    for site, row in truth.items():
        bytes_ = row[measure][0]
        if bytes_ <= LEAST_SHARE * whole:
            continue
        words = round(bytes_ / 8)
        results.sites += 1
        # nothing was sampled, nothing is stated: the bound of none
        none = (0, 8 * (1 - rate) / rate)
        estimate, error = estimated.get(site, {}).get(measure, none)
        what = "%s, line %s, %s" % (command, site[1], measure)
        results.add(what, words, rate, estimate, error if estimate else none[1])


def main():
    saros, eventring, rate, runs, measures = sys.argv[1:6]
    rate, runs = float(rate), int(runs)
    measures = ("live", "allocated") if measures == "both" else (measures,)
    seed = int(os.environ.get("TRUTH_SEED") or random.SystemRandom().randrange(1 << 30))
    all_results = {measure: Results() for measure in measures}
    for command in sys.argv[6:]:
        truth, total = profile(saros, eventring, command, 1, 0)
        results = {measure: Results() for measure in measures}
        for run in range(runs):
            estimated, _ = profile(saros, eventring, command, rate, seed + run)
            for measure in measures:
                for r in (results[measure], all_results[measure]):
                    compare(r, measure, command, truth, total, estimated, rate)
        for measure, r in results.items():
            print("%s: %s, %d estimates of %d sites, farthest %.2f deviations, "
                  "beyond 3 stated errors: %d" % (command.split("/")[-1], measure, r.estimates,
                                                  r.sites // runs, r.farthest, r.beyond))
    wrong = []
    for measure, r in all_results.items():
        most = r.estimates * MOST_BEYOND
        print("all: %s, %d estimates, farthest %.2f deviations, beyond 3 stated errors: %d "
              "(%.2f %%)" % (measure, r.estimates, r.farthest, r.beyond,
                             100 * r.beyond / max(r.estimates, 1)))
        if r.beyond > most + 5.7 * math.sqrt(most) + 5:
            wrong.append("%s: %d of %d estimates are beyond 3 standard errors" %
                         (measure, r.beyond, r.estimates))
        wrong += r.wrong
        if r.estimates == 0:
            wrong.append("%s: no site was compared" % measure)
    for text in wrong:
        print("%s (TRUTH_SEED=%d)" % (text, seed))
    sys.exit(1 if wrong else 0)


main()
