# SPDX-License-Identifier: MIT
"""The operator's questions about the server of hour.py, one command each, with the truth where the
clients or the system know it."""
import json
import threading
import time

SHOWN = 18  # lines of an answer
SLOW_MS = 300


class Questions(threading.Thread):
    """Asks in a thread of its own, while the clients go on."""

    def __init__(self, server, commands, findings, hung, killed):
        super().__init__(daemon=True)
        self.server, self.commands, self.findings = server, commands, findings
        self.hung = hung      # () -> how many coroutines hang, as the server has said to clients
        self.killed = killed  # the file of the life that was killed, its pid, when that was (ns)
        self.wants, self.slow = [], None  # operations for the clients to do; [begin, end] of "slow"
        self.answers, self.failure = [], None

    def run(self):
        try:
            self.ask_all()
        except Exception as error:  # whatever it is: the main thread raises it
            self.failure = error

    def ask(self, question, *arguments, seconds=0, cut=None):
        result = self.commands.run(*arguments, seconds=seconds)
        lines = result.out.splitlines()
        if cut:
            lines = cut(lines)
        shown = lines[:SHOWN] + ([f"... ({len(lines) - SHOWN} lines more)"] if len(lines) > SHOWN else [])
        self.answers.append([question, str(result), result.took, result.status, shown, "-"])
        return result

    def truth(self, holds, text):
        self.answers[-1][5] = ("holds: " if holds else "DOES NOT HOLD: ") + text
        if not holds:
            self.findings.add(f"{self.answers[-1][1]}: {text}")

    def as_json(self, *arguments, seconds=0):
        result = self.commands.run(*arguments, seconds=seconds, is_json=True)
        return json.loads(result.out)

    def wait_for(self, *operations):
        self.wants.extend(operations)
        while self.wants:  # whoever does them takes them off
            time.sleep(0.05)

    def ask_all(self):
        pid = str(self.server.pid)
        self.commands.run("control", "--memprof", "0.01", "--enable", "calls,gc,user", "--hold", "30", pid)
        self.wait_for(*["remember"] * 40, "hang")
        self.collector(pid)
        self.allocations(pid)
        self.holders(pid)
        self.slowest(pid)
        self.before_the_kill()
        self.coroutines(pid)
        self.losses(pid)
        self.commands.run("control", "--memprof", "off", "--disable", "calls", pid)

    def collector(self, pid):
        before = self.server.processor_seconds()
        self.ask("Is it the collector?", "stats", "--class", "gc", "--from-now", "--seconds", "5", pid,
                 seconds=5)
        answer = self.as_json("stats", "--json", "--class", "gc", "--from-now", "--seconds", "5", pid, seconds=5)
        used, gc = self.server.processor_seconds() - before, answer["total"]["gc_cpu_ns"] / 1e9
        self.truth(gc <= used, f"in the collector {gc:.3f} s of processor time in 5 s; the process "
                   f"had {used:.2f} s in twice that")

    def allocations(self, pid):
        result = self.ask("Which line allocates?", "heap", "--by", "line", "--live", "--top", "5", pid)
        rows = [line for line in result.out.splitlines() if "mod_hour.lua" in line or "remember" in line]
        self.truth(bool(rows), "what the module keeps is among the first lines")

    def holders(self, pid):
        result = self.ask("What holds it?", "retain", "--name", "remembered", "--top", "3", pid)
        self.truth("remembered" in result.out, "the path names the table `remembered`")

    def slowest(self, pid):
        self.wait_for("slow")
        self.ask("Which calls were the longest?", "spans", "--class", "calls", "--last", "20", "--top", "12", pid,
                 cut=lambda lines: lines[next((i for i, line in enumerate(lines)
                                               if line.startswith("The longest")), 0):])
        self.ask("Which request was the slowest, without instrumentation?",
                 "spans", "--class", "calls", "--name", "slow_request", "--last", "20", pid)
        rows = self.as_json("spans", "--json", "--class", "calls", "--name", "slow_request", "--last", "20",
                            pid)["rows"]
        if not rows:
            self.truth(False, "the request is not there")
            return
        row, (begin, end) = max(rows, key=lambda each: each["duration_ns"]), self.slow
        inside = begin <= row["ns"] and row["ns"] + row["duration_ns"] <= end
        self.truth(inside and row["duration_ns"] >= SLOW_MS * 1e6,
                   f"the client waited {(end - begin) / 1e6:.3f} ms, the recording says "
                   f"{row['duration_ns'] / 1e6:.3f} ms, within that time: {inside}")

    def before_the_kill(self):
        path, pid, when = self.killed
        self.ask("What happened before kill -9?", "autopsy", "--brief", path)
        answer = self.as_json("autopsy", "--json", path)
        last = answer["window"]["last_ns"]
        self.truth(answer["end_reason"] == "killed" and answer["own_pid"] == pid and last <= when,
                   f"process {pid} was killed; its last event is {(when - last) / 1e6:.1f} ms before that")

    def coroutines(self, pid):
        self.ask("Which coroutines hang?", "coroutines", "--longer", "1", "--top", "3", pid)
        answer = self.as_json("coroutines", "--json", "--longer", "0", "--top", "1000", pid)
        found = sum(row["count"] for row in answer["rows"]
                    if any(frame.get("name") == "wait_for_ever" for frame in row["frames"]))
        self.truth(found == self.hung(), f"{found} wait in wait_for_ever, the server said {self.hung()}")

    def losses(self, pid):
        def rings(lines):
            at = next((i for i, line in enumerate(lines) if line.startswith("Rings")), 0)
            return lines[at:at + 12]
        self.ask("Was anything lost?", "stats", "--seconds", "1", pid, seconds=1, cut=rings)
