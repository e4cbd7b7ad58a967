# SPDX-License-Identifier: MIT
"""Runs the command `eventring` for hour.py, logs each run, and judges it: it ends in time, with a
status that is documented, says nothing but what it may say, and never speaks of damage."""
import json
import os
import re
import subprocess
import tempfile
import threading
import time

IN_TIME = 20  # seconds, beside those that a command was asked to watch
FAULT = re.compile(r"damage|not valid|corrupt|Sanitizer|Assertion|runtime error:|Traceback")
# what any command may say on standard error
MAY_SAY = (r"no room: |"                     # the disk is full
           r"was deleted: this is what |")  # and the process goes on in a new file


class Findings:
    def __init__(self, log):
        self.log, self.began, self.list, self.lock = log, time.monotonic(), [], threading.Lock()

    def note(self, text):
        with self.lock:
            self.log.write(f"{time.monotonic() - self.began:9.2f} {text}\n")
            self.log.flush()

    def add(self, text):
        self.note(f"FINDING {text}")
        with self.lock:
            self.list.append(text)


class Result:
    def __init__(self, arguments, status, out, err, took, during):
        self.arguments, self.status, self.out, self.err = arguments, status, out, err
        self.took, self.during = took, during
        self.disturbed = bool(during)

    def __str__(self):
        return "eventring " + " ".join(self.arguments)

    def json(self):
        return json.loads(self.out)


class Commands:
    """Who runs commands, and what disturbs them at the moment."""

    def __init__(self, program, work, findings):
        self.program, self.work, self.findings = program, work, findings
        self.lock, self.under_way, self.past = threading.Lock(), set(), []
        self.runs, self.statuses, self.slowest = {}, {}, {}
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith("SAROS_")}

    # A disturbance is something by which commands may fail: the process ends or starts.
    def begin_disturbance(self, what):
        with self.lock:
            self.under_way.add(what)
            self.past.append([what, time.monotonic(), float("inf")])

    def end_disturbance(self, what):
        with self.lock:
            self.under_way.discard(what)
            for each in self.past:
                if each[0] == what and each[2] == float("inf"):
                    each[2] = time.monotonic()

    def disturbances(self, begin, end):
        with self.lock:
            return {what for what, since, until in self.past if since <= end and until >= begin}

    def start(self, *arguments, out=subprocess.DEVNULL, err=subprocess.DEVNULL):
        """One that goes on in the background."""
        self.findings.note("start: eventring " + " ".join(arguments))
        return subprocess.Popen([self.program, *arguments], cwd=self.work, env=self.environment,
                                stdin=subprocess.DEVNULL, stdout=out, stderr=err)

    def run(self, *arguments, seconds=0, statuses=(0,), may_say="", may_fail=None,
            is_json=False):
        """may_say: what may stand on standard error, a regular expression for the begins of lines;
        may_fail: what it says where status 1 is right."""
        begin = time.monotonic()
        with tempfile.TemporaryFile(dir=self.work) as out, tempfile.TemporaryFile(dir=self.work) as err:
            process = subprocess.Popen([self.program, *arguments], cwd=self.work, stdout=out,
                                       stderr=err, stdin=subprocess.DEVNULL, env=self.environment)
            try:
                status = process.wait(120 + seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                status = "hung"
            out.seek(0)
            err.seek(0)
            texts = [file.read().decode(errors="replace") for file in (out, err)]
        end = time.monotonic()
        result = Result(arguments, status, texts[0], texts[1].strip(), end - begin,
                        self.disturbances(begin, end))
        if may_fail and status == 1 and may_fail in texts[1]:
            statuses = (1,)
        self.judge(result, seconds, statuses, may_say, is_json)
        return result

    def judge(self, result, seconds, statuses, may_say, is_json):
        said = " | ".join(result.err.splitlines())
        self.findings.note(f"{result.took:6.2f} s, status {result.status}: {result}"
                           + (f": {said[:300]}" if said else "")
                           + (f" ({', '.join(sorted(result.during))})" if result.during else ""))
        name = result.arguments[0]
        self.runs[name] = self.runs.get(name, 0) + 1
        key = f"{name}: {result.status}"
        self.statuses[key] = self.statuses.get(key, 0) + 1
        self.slowest[name] = max(self.slowest.get(name, 0), result.took - seconds)
        if result.took > IN_TIME + seconds:
            self.findings.add(f"{result}: took {result.took:.1f} s")
        if FAULT.search(result.err) or (not is_json and FAULT.search(result.out)):
            self.findings.add(f"{result}: {said[:1000]} {FAULT.findall(result.out)[:3]}")
        if result.disturbed:
            if result.status not in (0, 1, *statuses):
                self.findings.add(f"{result}: status {result.status}: {said[:500]}")
            return
        if result.status not in statuses:
            self.findings.add(f"{result}: status {result.status}: {said[:500]}")
        elif result.status == 0:
            allowed = re.compile(MAY_SAY + (may_say or "(?!)"))
            for line in result.err.splitlines():
                if not allowed.search(line):
                    self.findings.add(f"{result}: says: {line[:500]}")
        if is_json and result.status == 0:
            try:
                for line in result.out.splitlines():
                    json.loads(line)
            except ValueError as error:
                self.findings.add(f"{result}: no JSON: {error}")
