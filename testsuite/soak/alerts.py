#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the configuration of doc/OPERATIONS.md: the alerts fire as they should, and only then.

Ten programs that record come and go for two minutes. Debian's Prometheus scrapes `eventring serve`,
and node_exporter, which takes up the file of `eventring metrics --every`; its alerts go to
Alertmanager, and from there to a server of this script. The configurations are the blocks of the
page, with other addresses, and shorter durations: those up to ten minutes are divided by 15, as
the interval of scraping is, and longer ones by 300.

For each alert there is one program that does what it is for, beside such as do much, and begin and
end in all ways. Status 1 when an alert is missing, comes twice or for another program, does not
resolve, or when Prometheus has series of a process that has ended. At the end `serve` and `metrics`
are killed, and that is told as well.

  SAROS=... EVENTRING=... alerts.py
"""
import http.server
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

from _services import Services, skip_without

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parent.parent / "doc/OPERATIONS.md"
PACKAGES = "prometheus", "prometheus-alertmanager", "prometheus-node-exporter"

SERVICE = """
local eventring, domain = require "saros.eventring", require "saros.domain"
local began, kept, n = domain.now(), {}, 0
local function age() return domain.now() - began end
local function request() -- keeps 5,000 things
  eventring.begin_span("request")
  for i = 1, 300 do
    n = n + 1
    kept[n % 5000 + 1] = {n, tostring(n)}
  end
  eventring.end_span("request")
  domain.sleep(0.02)
end
local function serve(till) while age() < till do request() end end
-- collects for the first of each 0.1 seconds
local function collect(seconds, till)
  while age() < till do
    local at = domain.now()
    repeat collectgarbage() until domain.now() > at + seconds
    domain.sleep(0.1 - seconds)
  end
end
"""

# By name; what is written below them is run after SERVICE. Times are seconds since the start.
PROGRAMS = {
    "serves": "serve(1000)",
    "churns": "serve(tonumber(arg[1]))",
    # one pause of more than 50 ms, of a reason that there was no step of before: what is marked lies
    # anywhere in memory
    "pauses": """
serve(12)
local many = {}
for i = 1, 2000000 do many[i] = {tostring(i)} end
for i = #many, 2, -1 do
  local other = math.random(i)
  many[i], many[other] = many[other], many[i]
end
collectgarbage()
many = nil
collectgarbage()
serve(1000)
""",
    "collects": """
for i = 1, 20000 do kept[i] = {i} end
serve(3)
collect(0.06, 80)
serve(1000)
""",
    # six domains, each of which collects for little of its time
    "divides": """
local workers = {}
for i = 1, 6 do
  workers[i] = domain.spawn(function() SERVICE
    collect(0.006, 60)
  end)
end
for i = 1, 6 do workers[i]:join() end
""",
    "leaks": """
local leak = {}
while true do -- faster and faster
  request()
  for i = 1, 10 * age() do leak[#leak + 1] = {n, i} end
end
""",
    # more than the stream may have
    "fills": """
serve(15)
while true do
  for i = 1, 3000 do eventring.counter("queue", i) end
  request()
end
""",
    # computes, and says so ten times a second
    "computes": """
while age() < 68 do
  local at = domain.now()
  repeat for i = 1, 10000 do n = n + i % 7 end until domain.now() > at + 0.1
  eventring.counter("done", n)
end
""",
    "hangs": "serve(70) while true do n = n + 1 end",
}

# Which alert is for which program; whether it resolves while the program lives
EXPECTED = {
    ("LongPause", "pauses.lua"): True,
    ("MuchCollecting", "collects.lua"): True,
    ("HeapGrows", "leaks.lua"): False,
    ("NoRoom", "fills.lua"): False,
    ("BusyAndSilent", "hangs.lua"): False,
}
# Others may record on this machine
OURS = "|".join(name + ".lua" for name in PROGRAMS)

CHURNING = 3         # programs that begin and end all the time
SETTLES = 20.0       # seconds until Prometheus knows who lives; it would keep a series for 5 minutes
DOWN = 1.0           # seconds from the end of serve or metrics to its start: a scrape is missed
TELLS = 60.0         # until an alert says that serve and metrics do not run
RESOLVES = 60.0      # until the last alert has gone


def block(first):
    return subprocess.run(["awk", "-v", "first=" + first, "-f", HERE.parent / "_indented_block.awk", PAGE],
                          check=True, stdout=subprocess.PIPE, text=True).stdout


def shorten(text):
    """Durations such as `15s` and `[5m]`."""
    def shorter(match):
        seconds = int(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2]]
        return "%ds" % (seconds / (15 if seconds <= 600 else 300))
    return re.sub(r"\b([0-9]+)([smh])\b", shorter, text)


def at_address(text, **addresses):
    for known, actual in addresses.items():
        port = known.removeprefix("port")
        if "127.0.0.1:" + port not in text:
            raise RuntimeError("the page does not have 127.0.0.1:" + port)
        text = text.replace("127.0.0.1:" + port, actual)
    return text


class Alerts(http.server.BaseHTTPRequestHandler):
    """What Alertmanager sends: one entry for each time that an alert begins to fire."""
    entries = {}
    lock = threading.Lock()

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.lock:
            for alert in body["alerts"]:
                labels = alert["labels"]
                entry = (labels["alertname"], labels.get("program"), labels.get("pid"),
                         labels.get("instance"), alert["startsAt"])
                if alert["status"] == "firing":
                    self.entries.setdefault(entry, None)
                else:
                    self.entries[entry] = time.monotonic()
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass

    @classmethod
    def taken(cls):
        """(alert, program, pid, instance, start): when it was resolved, or None."""
        with cls.lock:
            return dict(cls.entries)


class Operated(Services):
    def begin(self):
        self.wrong, self.slowest = [], 0.0
        self.programs, self.churning, self.churned = {}, {}, 0
        for name, text in PROGRAMS.items():
            (self.folder / (name + ".lua")).write_text(SERVICE + text.replace("SERVICE", SERVICE))
        (self.folder / "recordings").mkdir()
        (self.folder / "textfile").mkdir()
        self.start_serve()
        self.start_metrics()
        exporter = self.start_server(
            ["prometheus-node-exporter", "--collector.disable-defaults", "--collector.textfile",
             "--collector.textfile.directory=textfile", "--web.listen-address=127.0.0.1:%d"], "/")
        self.jobs = {self.address: "eventring", "127.0.0.1:%d" % exporter: "node"}
        self.start_receiver()
        self.start_prometheus(at_address(
            shorten(block("global:")), port9464=self.address, port9100="127.0.0.1:%d" % exporter,
            port9093="127.0.0.1:%d" % self.start_alertmanager()))

    def start_metrics(self):
        self.metrics = self.start([os.environ["EVENTRING"], "metrics", "--every", "1",
                                   "-o", "textfile/eventring.prom"])

    def start_receiver(self):
        self.receiver = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Alerts)
        threading.Thread(target=self.receiver.serve_forever, daemon=True).start()

    def start_alertmanager(self):
        (self.folder / "alertmanager.yml").write_text(at_address(
            shorten(block("route:")), port9095="127.0.0.1:%d" % self.receiver.server_port))
        (self.folder / "eventring.rules.yml").write_text(shorten(block("groups:")))
        return self.start_server(
            ["prometheus-alertmanager", "--config.file=alertmanager.yml", "--storage.path=am",
             "--cluster.listen-address=", "--web.listen-address=127.0.0.1:%d"], "/-/ready")

    def run(self, name, *words, env=None):
        p = self.start([os.environ["SAROS"], name + ".lua", *words], env=env or {
            "SAROS_EVENTRING_START": "1", "SAROS_EVENTRING_PREFIX": str(self.folder / "recordings")},
            # the kernel shares processors among sessions: it gets more in one of its own
            start_new_session=name == "hangs")
        self.programs.setdefault(name, []).append(p)
        return p

    def run_all(self):
        for name in PROGRAMS:
            if name == "fills":
                self.run(name, env={"SAROS_EVENTRING_STREAM": str(self.folder / "recordings/%p,max=1M")})
            elif name != "churns":
                self.run(name)

    def churn(self):
        """Ends those whose time has come: by themselves, by SIGTERM and by SIGKILL in turn."""
        now = time.monotonic()
        for p, (end, number) in list(self.churning.items()):
            if p.poll() is None and now > end:
                if number:
                    p.send_signal(number)
                    p.wait()
                elif now > end + 20:
                    raise RuntimeError("program %d does not end" % p.pid)
            if p.poll() is not None:
                del self.churning[p]
        while len(self.churning) < CHURNING:
            self.churned += 1
            seconds = 4 + 5 * self.churned % 7
            number = (0, signal.SIGTERM, signal.SIGKILL)[self.churned % 3]
            p = self.run("churns", str(seconds if number == 0 else 1000))
            self.churning[p] = now + seconds, number

    def end(self, name, number):
        p = self.programs[name][0]
        p.send_signal(number)
        p.wait()

    def control(self, name, option):
        subprocess.run([os.environ["EVENTRING"], "control", option, str(self.programs[name][0].pid)], check=True)

    def restart_serve(self):
        port = int(self.address.rsplit(":", 1)[1])
        self.stop(self.serve)
        time.sleep(DOWN)
        self.start_serve(port)

    def restart_metrics(self):
        self.stop(self.metrics)
        if (self.folder / "textfile/eventring.prom").exists():
            self.wrong.append("the file of metrics is there, which nobody brings up to date")
        time.sleep(DOWN)
        self.start_metrics()

    def living(self):
        return {str(p.pid) for group in self.programs.values() for p in group if p.poll() is None}

    def check_living(self):
        """Prometheus has series of the processes that live, and of no other; rules' ones too."""
        asked = time.monotonic()
        while True:
            living = self.living()
            known = {job: set() for job in self.jobs.values()}
            for sample in self.query('group by (instance, pid) ({__name__=~"eventring[_:].*",program=~"%s"})' % OURS):
                known[self.jobs[sample["metric"]["instance"]]].add(sample["metric"]["pid"])
            took = time.monotonic() - asked
            if living == self.living() and all(pids == living for pids in known.values()):
                self.slowest = max(self.slowest, took)
                return
            if took > SETTLES:
                self.wrong += ["%s has %s, but %s live" % (job, sorted(pids - living), sorted(living - pids))
                               for job, pids in known.items() if pids != living]
                return
            time.sleep(0.2)

    def check_counters(self):
        """None went back. Returns how many series there were."""
        series = 0
        for name in self.ask("label/__name__/values"):
            if not re.match(r"eventring_.*_(total|count|sum|bucket)$", name):
                continue
            back = self.query("resets(%s[10m]) > 0" % name)
            series += int(self.query("count(count_over_time(%s[10m]))" % name)[0]["value"][1])
            self.wrong += ["%s went back: %s" % (name, sample["metric"]) for sample in back]
        return series

    def had_long_pause(self, pid):
        """Are there steps that took longer?"""
        total = 'sum(last_over_time(eventring_gc_duration_seconds_%%s{job="eventring",pid="%s"%%s}[10m]))' % pid
        return bool(self.query("%s - %s > 0" % (total % ("count", ""), total % ("bucket", ',le="0.05"'))))

    def most_of_a_processor(self, name):
        """Where others take the processors, an endless loop does not get what its rule asks for."""
        rate = 'rate(eventring_process_cpu_time_seconds_total{job="eventring",program="%s.lua"}[8s])' % name
        return max(float(s["value"][1]) for s in self.query("max_over_time(%s[10m:1s])" % rate))

    def check_alerts(self, lived_until):
        seen = {}
        for (alert, program, pid, instance, _), resolved in Alerts.taken().items():
            seen.setdefault((alert, program, self.jobs.get(instance)), []).append((pid, resolved))
        for (alert, program), while_alive in EXPECTED.items():
            for job in self.jobs.values():
                fired = seen.pop((alert, program, job), [])
                process = self.programs[program.removesuffix(".lua")][0]
                if [pid for pid, _ in fired] != [str(process.pid)]:
                    self.wrong.append("%s of %s %d, by %s: %s" % (alert, program, process.pid, job, fired or "never"))
                elif fired[0][1] is None:
                    self.wrong.append("%s of %s, by %s: never resolved" % (alert, program, job))
                elif while_alive and fired[0][1] > lived_until:
                    self.wrong.append("%s of %s, by %s: resolved after its end only" % (alert, program, job))
        for (alert, program, job), fired in seen.items():
            for pid, _ in fired if re.fullmatch(OURS, program or "") else ():
                if alert == "LongPause" and self.had_long_pause(pid):
                    print("%s of %s %s, by %s: it had one" % (alert, program, pid, job))
                else:
                    self.wrong.append("%s of %s %s, by %s, which it is not for" % (alert, program, pid, job))

    def check_watchers(self):
        """serve and metrics are killed; the file of metrics stays."""
        def told():
            return sorted(self.jobs.get(instance, instance) for alert, _, _, instance, _ in Alerts.taken()
                          if alert == "NotScraped")
        if told():
            self.wrong.append("NotScraped of %s, which ran" % told())
        for p in self.serve, self.metrics:
            p.kill()
            p.wait()
        killed = time.monotonic()
        while told() != ["eventring", "node"] and time.monotonic() < killed + TELLS:
            time.sleep(0.2)
        if told() != ["eventring", "node"]:
            self.wrong.append("NotScraped of serve and metrics, which were killed: %s" % (told() or "never"))


def main():
    skip_without(*PACKAGES)
    with Operated() as fleet:
        fleet.begin()
        fleet.run_all()
        began = time.monotonic()
        plan = [(20, fleet.check_living), (26, fleet.restart_serve),
                (30, lambda: fleet.control("computes", "--pause")), (32, fleet.restart_metrics),
                (44, fleet.check_living),
                (62, lambda: fleet.control("computes", "--resume")), (72, fleet.check_living),
                (80, lambda: fleet.end("leaks", signal.SIGKILL)),
                (85, lambda: fleet.end("fills", signal.SIGTERM)),
                (95, fleet.check_living), (108, lambda: fleet.end("hangs", signal.SIGKILL))]
        while plan or time.monotonic() < began + 120:
            if plan and time.monotonic() > began + plan[0][0]:
                plan.pop(0)[1]()
            fleet.churn()
            time.sleep(0.1)
        lived_until = time.monotonic()
        series = fleet.check_counters()
        for group in fleet.programs.values():
            for p in group:
                fleet.stop(p)
        fleet.check_living()
        while None in Alerts.taken().values() and time.monotonic() < lived_until + RESOLVES:
            time.sleep(0.2)
        fleet.check_alerts(lived_until)
        fleet.check_watchers()
        print("hangs.lua had %.2f of a processor at most" % fleet.most_of_a_processor("hangs"))
        processes = sum(map(len, fleet.programs.values()))
        print("%d processes, %d of which came and went, %d series that count; %d alerts, %d wrong"
              % (processes, fleet.churned, series, len(Alerts.taken()), len(fleet.wrong)))
        print("Prometheus knew who lives after at most %.1f s" % fleet.slowest)
    print(*fleet.wrong[:20], sep="\n", end="\n" if fleet.wrong else "")
    return bool(fleet.wrong) or series < 1000


if __name__ == "__main__":
    sys.exit(main())
