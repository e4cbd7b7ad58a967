#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Ten programs that record, `eventring serve`, and a Prometheus that scrapes it each second.

What Prometheus has at the end is compared with the lossless streams of the programs: histograms of
the steps of the collector and all that counts, to the unit. Before that the programs, which do the
same work in each period, are scraped in every other period, and their processor time is compared; as
a control, the periods without scraping are compared among themselves in the same way. Says what
`serve` took. Status 1 when a figure differs.

  SAROS=... EVENTRING=... fleet.py [--seconds=120] [--programs=10]
"""
import argparse
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import _metrics  # noqa: E402
from _services import Services, skip_without  # noqa: E402

PROGRAM = """
local eventring = require "eventring"
local kept, n = {}, 0
for line in io.lines() do
  eventring.begin_span("request")
  for i = 1, 3000 do kept[(n * 7 + i) % 20000 + 1] = {i, tostring(i)} end
  n = n + 1
  if n % 100 == 0 then collectgarbage() end
  eventring.end_span("request")
  eventring.counter("queue", n % 10)
  eventring.event("done")
end
"""
TICK = 0.05   # seconds from one request of a program to the next
PERIOD = 6.0  # seconds of scraping, and without it


def cpu_seconds(pid):
    fields = pathlib.Path("/proc/%d/stat" % pid).read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_at_most(pid):
    text = pathlib.Path("/proc/%d/status" % pid).read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", text).group(1)) / 1024


class Fleet(Services):
    def begin(self, programs):
        (self.folder / "work.lua").write_text(PROGRAM)
        self.programs = [self.start([os.environ["SAROS"], "work.lua"], stdin=subprocess.PIPE,
                                    env={"SAROS_EVENTRING_STREAM": str(self.folder / ("w%d" % n))})
                         for n in range(programs)]
        self.start_serve()
        self.start_prometheus(
            "global: {scrape_interval: 1s, scrape_timeout: 1s}\n"
            "scrape_configs:\n- job_name: saros\n  static_configs:\n  - targets: ['%s']\n" % self.address)

    def work(self, seconds):
        """The same work in each period, whatever the time takes."""
        for _ in range(round(seconds / TICK)):
            began = time.monotonic()
            for p in self.programs:
                p.stdin.write(b"\n")
                p.stdin.flush()
            time.sleep(max(0, TICK - (time.monotonic() - began)))


def own_time(fleet, seconds):
    """Processor time of the programs in periods with and without scraping."""
    scraped, alone = [], []
    for n in range(max(2, round(seconds / PERIOD))):
        fleet.serve.send_signal(signal.SIGCONT if n % 2 else signal.SIGSTOP)
        before = sum(cpu_seconds(p.pid) for p in fleet.programs)
        fleet.work(PERIOD)
        (scraped if n % 2 else alone).append(sum(cpu_seconds(p.pid) for p in fleet.programs) - before)
    fleet.serve.send_signal(signal.SIGCONT)
    return scraped, alone


def compare(fleet, number):
    p = fleet.programs[number]
    actual = {}
    for sample in fleet.query('{__name__=~"eventring_.*",pid="%d"}' % p.pid):
        labels = {k: v for k, v in sample["metric"].items()
                  if k not in ("__name__", "pid", "program", "instance", "job")}
        name = sample["metric"]["__name__"].removeprefix("eventring_")
        actual[(name, *sorted(labels.items()))] = float(sample["value"][1])
    dump = fleet.folder / ("%d.json" % number)
    with open(dump, "wb") as out:
        subprocess.run([os.environ["EVENTRING"], "dump", "--json", str(fleet.folder / ("w%d.eventring" % number))],
                       stdout=out, check=True)
    expected = _metrics.count(dump)
    return len(expected), _metrics.compare(actual, expected)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--programs", type=int, default=10)
    options = parser.parse_args()
    skip_without("prometheus")
    wrong, compared = [], 0
    with Fleet() as fleet:
        fleet.begin(options.programs)
        began, before = time.monotonic(), cpu_seconds(fleet.serve.pid)
        scraped, alone = own_time(fleet, options.seconds)
        share = 100 * (cpu_seconds(fleet.serve.pid) - before) / ((time.monotonic() - began) / 2)
        time.sleep(4)
        for n in range(options.programs):
            figures, differing = compare(fleet, n)
            compared += figures
            wrong += ["program %d: %s" % (n, line) for line in differing]
        print("%d programs, %.0f s: %d figures of Prometheus are those of the streams, %d are not"
              % (options.programs, options.seconds, compared - len(wrong), len(wrong)))
        print("serve: %.2f %% of a processor while it was scraped, %.1f MiB at most"
              % (share, resident_at_most(fleet.serve.pid)))
        if len(alone) > 3 and len(scraped) > 1:
            half = len(alone) // 2
            print("programs, CPU of a period scraped / not: min %.3f, median %.3f (control %.3f, %.3f)" % (
                min(scraped) / min(alone), statistics.median(scraped) / statistics.median(alone),
                min(alone[half:]) / min(alone[:half]),
                statistics.median(alone[half:]) / statistics.median(alone[:half])))
    print(*wrong[:20], sep="\n", end="")
    return bool(wrong) or compared < 60 * options.programs


if __name__ == "__main__":
    sys.exit(main())
