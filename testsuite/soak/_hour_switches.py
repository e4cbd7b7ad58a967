# SPDX-License-Identifier: MIT
"""Switches everything of a live process at random, for hour.py, and reads it by every command.

What was switched is remembered, and `control --status` has to say it, after each switch and still
when the file was deleted. Every copy that is made is compared with itself: of each ring, emitted
is missed + delivered + lost.
"""
import glob
import os
import shutil
import threading
import time

CLASSES = ("gc", "finalizers", "domain", "user", "load", "io", "ffi", "gc_detail", "calls", "alloc")
AT_START = {"gc", "finalizers", "domain", "user", "load"}
WRITTEN = (r".* events, [\d.,]+ \w+$|.*\d events before them are not there$|"
           r".*\d events among them are lost$")  # of cut and strip
NOT_SAMPLED = "no allocations were sampled"


class Switches(threading.Thread):
    def __init__(self, server, commands, findings, random, work):
        super().__init__(daemon=True)
        self.server, self.commands, self.findings = server, commands, findings
        self.random, self.work = random, work
        self.stopping, self.idle = threading.Event(), threading.Event()
        self.hold = threading.Event()  # the main thread wants the process for itself
        self.count, self.failure = 0, None
        self.copies = os.path.join(work, "copies")  # of triggers
        self.forget()

    def forget(self):
        """The process is another one."""
        self.classes, self.paused, self.profile, self.memprof = set(AT_START), False, False, False
        self.triggers = []

    def run(self):
        switches = [getattr(self, name) for name in sorted(dir(self)) if name.startswith("switch_")]
        try:
            while not self.stopping.is_set():
                if self.hold.is_set():
                    self.idle.set()
                    time.sleep(0.05)
                    continue
                self.idle.clear()
                self.random.choice(switches)()
                self.count += 1
                self.stopping.wait(self.random.uniform(0, 0.8))
        except Exception as error:  # whatever it is: the main thread raises it
            self.failure = error
        self.idle.set()

    def pause_switching(self):
        self.hold.set()
        self.idle.wait()
        if self.failure:
            raise self.failure

    def go_on(self):
        self.hold.clear()

    def calm(self):
        """As at the start, and what is remembered, too. While switching is paused."""
        others = sorted(set(CLASSES) - AT_START)
        self.commands.run("control", "--resume", "--profile", "off", "--memprof", "off", "--trigger", "off",
                          "--enable", ",".join(sorted(AT_START)), "--disable", ",".join(others), self.pid)
        self.forget()

    # ---- What is switched ----------------------------------------------------------------

    @property
    def pid(self):
        return str(self.server.pid)

    def control(self, *arguments, may_say=""):
        """Changes something; True: it has to be so now. Then the status has to say all that is set."""
        result = self.commands.run("control", *arguments, self.pid, may_say=may_say)
        return result.status == 0 and not result.disturbed

    def check_status(self):
        end = time.monotonic() + 10
        while True:
            result = self.commands.run("control", "--status", "--json", self.pid, is_json=True)
            if result.disturbed or result.status != 0:
                return
            differences = self.differences(result.json())
            if not differences:
                return
            if time.monotonic() > end:
                self.findings.add(f"{result}: {'; '.join(differences)}")
                self.forget_what_differs(result.json())
                return
            time.sleep(0.2)

    def differences(self, status):
        said = {name for name, on in status["classes"].items() if on} - {"lifecycle"}
        triggers = [row["condition"] for row in status["triggers"] if row["set_by"] == "control"]
        pairs = [("classes", self.classes, said), ("state", "paused" if self.paused else "running", status["state"]),
                 ("profile", "on" if self.profile else "off", status["profile"]),
                 # without its class, allocations are not sampled
                 ("memprof", self.memprof and "alloc" in self.classes, bool(status["memprof_rate"])),
                 ("triggers", self.triggers, triggers)]
        return [f"{what} is {said}, was set to {wanted}" for what, wanted, said in pairs if wanted != said]

    def forget_what_differs(self, status):
        self.classes = {name for name, on in status["classes"].items() if on} - {"lifecycle"}
        self.paused, self.profile = status["state"] == "paused", status["profile"] in ("on", "asked")
        self.memprof = bool(status["memprof_rate"])
        self.triggers = [row["condition"] for row in status["triggers"] if row["set_by"] == "control"]

    def switch_classes_on(self):
        chosen = self.random.sample(CLASSES, self.random.randrange(1, 4))
        if self.control("--enable", ",".join(chosen)):
            self.classes |= set(chosen)
        self.check_status()

    def switch_classes_off(self):
        chosen = self.random.sample(CLASSES, self.random.randrange(1, 4))
        if self.control("--disable", ",".join(chosen)):
            self.classes -= set(chosen)
        self.check_status()

    def switch_start(self):
        if self.control("--start"):
            self.paused = False
        self.check_status()

    def switch_pause(self):
        if self.control("--pause"):
            self.paused = True
        self.check_status()
        if self.control("--resume"):
            self.paused = False
        self.check_status()

    def switch_profile(self):
        if self.control("--profile", "off" if self.profile else "calls"):
            self.profile = not self.profile
        self.check_status()

    def switch_memprof(self):
        rate = self.random.choice(("off", "on", "0.001", "0.01", "0.1", "1"))
        if self.control("--memprof", rate):
            self.memprof = rate != "off"
            (self.classes.add if self.memprof else self.classes.discard)("alloc")
        self.check_status()

    def switch_triggers(self):
        condition = self.random.choice(("", "pause > 100us", "heap > 10M", 'span("parse") > 1us',
                                        'counter("nothing") > 1', "error; signal"))
        options = f", dir={self.copies}, cooldown=200ms, max={self.random.randrange(1, 4)}, size=100M"
        if not condition:
            done, wanted = self.control("--trigger", "off"), []
        else:
            wanted = condition.split("; ")
            done = self.control("--trigger", ";".join(each + options for each in wanted))
        if done:
            self.triggers = wanted
            if any(each.startswith(("pause", "heap")) for each in wanted):
                self.classes.add("gc")
            if any(each.startswith(("span", "counter")) for each in wanted):
                self.classes.add("user")
        self.check_status()
        for copy in glob.glob(os.path.join(self.copies, "*.eventring")):
            self.check_file(copy)
            os.remove(copy)

    def switch_wrong_trigger(self):
        self.commands.run("control", "--trigger", "pause > 1ms, dir=/no/such/dir", self.pid, statuses=(1,))
        self.check_status()

    def switch_hold(self):
        self.control("--hold", self.random.choice(("0", "2", "10", "500ms")))

    # ---- What is read, and copied ---------------------------------------------------------

    def check_file(self, path):
        """Of each ring: emitted = missed + delivered + lost."""
        result = self.commands.run("stats", "--json", path, is_json=True)
        if result.status == 0:
            self.check_law(result, result.json())
            return result.json()
        return None

    def check_law(self, result, answer):
        for domain in answer["domains"]:
            for name, ring in domain["rings"].items():
                if ring["emitted"] != ring["missed"] + ring["delivered"] + ring["lost"]:
                    self.findings.add(f"{result}: ring {name}: {ring}")

    def new_file(self, name):
        path = os.path.join(self.work, name)
        for left in glob.glob(glob.escape(path) + "*"):
            shutil.rmtree(left) if os.path.isdir(left) else os.remove(left)
        return path

    def read(self, *arguments, **judged):
        return self.commands.run(*arguments, self.pid, **judged)

    def switch_snapshot(self):
        path = self.new_file("copy.eventring")
        how = self.random.choice((("snapshot", "-o"), ("control", "--snapshot")))
        if self.read(*how, path).status == 0:
            self.check_file(path)
            self.random.choice((self.read_copy, self.cut_copy, self.export_copy))(path)
        self.new_file("copy.eventring")

    def read_copy(self, path):
        for command in (("show",), ("spans",), ("pauses",), ("autopsy",), ("dump", "--last", "1")):
            self.commands.run(*command, "--json", path, is_json=True)

    def cut_copy(self, path):
        part = self.new_file("part.eventring")
        if self.commands.run("cut", "-o", part, "--last", "2", path, may_say=WRITTEN).status == 0:
            self.check_file(part)
        part = self.new_file("part.eventring")
        if self.commands.run("strip", "-o", part, path, may_say=WRITTEN).status == 0:
            self.check_file(part)
        self.new_file("part.eventring")

    def export_copy(self, path):
        to = self.random.choice(("perfetto", "chrome", "sqlite", "csv", "ctf", "openmetrics"))
        self.commands.run("export", "--to", to, "-o", self.new_file("exported"), path)
        self.new_file("exported")

    def switch_record(self):
        path = self.new_file("recorded.eventring")
        how = self.random.choice(((), ("--zstd",), ("--zstd=9",), ("--writer", "aio"), ("--writer", "serial"),
                                  ("--writer", "threads"), ("--sync",), ("--rotate-time", "500ms"),
                                  ("--rotate-size", "2M"), ("--buffers", "1", "--buffer-size", "64K")))
        seconds = self.random.randrange(1, 4)
        result = self.read("record", "-q", "--json", "--seconds", str(seconds), *how, "-o", path,
                           seconds=seconds, is_json=True)
        if result.status == 0 and result.out:
            summary = result.json()
            if summary["emitted"] != summary["missed"] + summary["saved"] + summary["lost"]:
                self.findings.add(f"{result}: {summary}")
            files = [self.check_file(file) for file in glob.glob(os.path.join(self.work, "recorded*"))]
            saved = sum(ring["delivered"] for file in files if file
                        for domain in file["domains"] for ring in domain["rings"].values())
            if None not in files and saved != summary["saved"]:
                self.findings.add(f"{result}: saved {summary['saved']}, in the files {saved}")
        self.new_file("recorded")

    def switch_counts(self):
        """Of a live process that pauses, what is emitted is known exactly."""
        if not self.control("--pause"):
            return
        self.paused = True
        result = self.read("stats", "--json", "--seconds", "0.1", seconds=1, is_json=True)
        if result.status == 0:
            self.check_law(result, result.json())
        if self.control("--resume"):
            self.paused = False

    def switch_stats(self):
        self.read("stats", "--seconds", "1", seconds=1)

    def switch_pauses(self):
        self.read("pauses", *self.random.choice(((), ("--seconds", "1"))), seconds=1)

    def switch_spans(self):
        self.read("spans", *self.random.choice(((), ("--class", "gc"), ("--class", "calls"))))

    def switch_stack(self):
        self.read("stack", *self.random.choice(((), ("--locals",), ("--coroutines",))))

    def switch_coroutines(self):
        self.read("coroutines", *self.random.choice(((), ("--longer", "1"), ("--leaked", "1"))))

    def switch_memory(self):
        self.read("memory")

    def switch_heap(self):
        self.read("heap", "--by", self.random.choice(("line", "stack", "kind", "function", "span")),
                  may_fail=NOT_SAMPLED)

    def switch_retain(self):
        self.read("retain", "--top", "3")

    def switch_profile_hz(self):
        self.read("profile", "--hz", self.random.choice(("100", "1000")), "--seconds", "1", seconds=1)

    def switch_profile_read(self):
        if self.profile:
            self.read("profile", *self.random.choice(((), ("--tree",), ("--by", "line"))))

    def switch_view(self):
        seconds = self.random.randrange(3)
        self.read("view", "--seconds", str(seconds), "-o", self.new_file("page.html"), seconds=seconds)
        self.new_file("page.html")

    def switch_others(self):
        self.read(*self.random.choice((("show",), ("autopsy",), ("dump", "--last", "1"))))
        self.commands.run("list")

    def switch_sql(self):
        self.commands.run("sql", self.pid, "select name, count(*) from spans group by name")

    def switch_check(self):
        self.read("check", "-e", "count(minor) >= 0", statuses=(0, 3))
