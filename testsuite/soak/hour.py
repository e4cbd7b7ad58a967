# SPDX-License-Identifier: MIT
"""hour.py: Debian's Prosody as a daemon, under load, with everything switched at random.

    SAROS=... EVENTRING=... LUA_REFERENCE=lua5.4 hour.py [--seconds N] [--seed N] [--rate N]
                                                         [--report FILE] [--log FILE]

Two servers of the same configuration: one under `saros`, which records into a small tmpfs of its
own, one under `lua5.4`. The same operations are done on both, some a second, in an order that the
seed draws (_hour_clients.py); what clients receive must be the same. Meanwhile commands switch and
read all that can be switched and read from outside (_hour_switches.py); each is logged and judged
(_hour_commands.py). A recorder goes on all the time, for as long as there is a file. At

    20 %  both servers are killed (SIGKILL) and started again, the recorded one with a stream
    40 %  both end in order (SIGTERM) and are started again
    60 %  the disk of the recording is full for some seconds
    75 %  the file of the recording is deleted
   100 %  the operator's questions are asked, one command each (_hour_questions.py)

Findings: clients receive something else; a command ends with a status that is not documented, says
what it does not say elsewhere, speaks of damage or takes 20 s; what was switched is not so; counts
do not add up; the recorder's counts are not those of the file; the server under saros says errors
that the other one does not; its memory or descriptors grow, where those of the other one do not;
children that nobody waits for; what the questions are answered with is not the truth. Status 1:
there are findings, each of which is a line. Without a tmpfs, which root alone can mount, the
disk does not get full, and that is said.
"""
import argparse
import difflib
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import _hour_clients as clients
from _hour_commands import Commands, Findings
from _hour_questions import SLOW_MS, Questions
from _hour_server import Server, await_that
from _hour_switches import Switches

DISK = "48m"
RECORDED = {"SAROS_EVENTRING_START": "1", "SAROS_EVENTRING_GROW": "16M"}


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--rate", type=float, default=6, help="operations a second")
    parser.add_argument("--report")
    parser.add_argument("--log")
    return parser.parse_args()


class Keeper:
    """A recorder that keeps all of a life, in files that go round."""

    def __init__(self, hour, number):
        self.hour, self.number = hour, number
        self.folder = os.path.join(hour.work, f"kept{number}")
        os.mkdir(self.folder)
        self.summary = os.path.join(self.folder, "summary.json")
        with open(self.summary, "wb") as out, open(self.summary + ".err", "wb") as err:
            self.process = hour.commands.start(
                "record", "--json", "-q", "--zstd", "--rotate-size", "4M", "--keep", "2", "-o",
                os.path.join(self.folder, "all.eventring"), str(hour.tested.pid), out=out, err=err)

    def end(self, left=None):
        """The recording has ended, as `left` is what is left of it."""
        try:
            status = self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.hour.findings.add(f"recorder {self.number} does not end")
            return
        with open(self.summary, encoding="utf-8") as file, \
             open(self.summary + ".err", encoding="utf-8") as err:
            text, errors = file.read(), err.read().strip()
        self.hour.findings.note(f"recorder {self.number}: status {status}: {text.strip()} {errors}")
        if status != 0 or not text:
            self.hour.findings.add(f"recorder {self.number}: status {status}: {errors}")
            return
        summary = json.loads(text)
        self.hour.kept.append(summary)
        for each in [summary] + summary["rings"]:
            if each["emitted"] != each["missed"] + each["saved"] + each["lost"]:
                self.hour.findings.add(f"recorder {self.number}: {each}")
        if left:
            emitted = sum(ring["emitted"] for domain in left["domains"] for ring in domain["rings"].values())
            if emitted != summary["emitted"]:
                self.hour.findings.add(f"recorder {self.number}: {summary['emitted']} emitted, "
                                       f"in the file that is left {emitted}")
        shutil.rmtree(self.folder)


class Hour:
    def __init__(self, chosen):
        self.options = chosen
        self.work = tempfile.mkdtemp(prefix="saros-hour.")
        self.log = open(chosen.log or os.path.join(self.work, "log.txt"), "w", encoding="utf-8")
        self.findings = Findings(self.log)
        self.random = random.Random(chosen.seed)
        self.disk = os.path.join(self.work, "disk")
        os.mkdir(self.disk)
        self.has_disk = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", self.disk],
                                       stderr=subprocess.DEVNULL, check=False).returncode == 0
        for folder in ("commands", "copies", "left"):
            os.mkdir(os.path.join(self.work, folder))
        self.commands = Commands(os.path.abspath(os.environ["EVENTRING"]),
                                 os.path.join(self.work, "commands"), self.findings)
        self.reference = Server("lua5.4", os.environ["LUA_REFERENCE"], os.path.join(self.work, "lua"))
        self.tested = Server("saros", os.path.abspath(os.environ["SAROS"]), os.path.join(self.work, "saros"))
        self.worlds = [clients.World(self.reference), clients.World(self.tested)]
        self.switches = Switches(self.tested, self.commands, self.findings,
                                 random.Random(chosen.seed + 1), os.path.join(self.work, "commands"))
        self.switches.copies = os.path.join(self.work, "copies")
        self.kept, self.keeper, self.keepers, self.killed = [], None, 0, None
        self.done, self.differences, self.hung = 0, 0, 0
        self.times = {}    # of an operation: [count, sum, longest] for each server
        self.samples = []  # (life, figures of each server)
        self.settled = []  # figures of each server, in the last life
        self.life = 0
        self.next_sample = 0

    # ---- Lives ---------------------------------------------------------------------------

    def recording(self):
        """What `list` says of it."""
        for line in self.commands.run("list", "--json", self.disk, is_json=True).out.splitlines():
            row = json.loads(line)
            if row["pid"] == self.tested.pid and row["liveness"] == "live":
                return row
        return None

    def path_of_recording(self):
        row = self.recording()
        if not row:
            raise RuntimeError(f"process {self.tested.pid} does not record any more")
        return row["path"]

    def begin_life(self, **variables):
        self.life += 1
        self.hung = 0
        self.reference.start()
        self.tested.start(SAROS_EVENTRING_PREFIX=self.disk, **RECORDED, **variables)
        self.compare("connect", [world.connect() for world in self.worlds])
        await_that("it records", self.recording)
        self.new_keeper()

    def new_keeper(self):
        self.keepers += 1
        self.keeper = Keeper(self, self.keepers)

    def restart(self, how, **variables):
        name = signal.Signals(how).name
        self.findings.note(f"---- {name}")
        self.commands.begin_disturbance(name)
        for world in self.worlds:
            if how == signal.SIGTERM:
                world.leave()
        self.reference.end(how)
        path, pid = self.path_of_recording(), self.tested.pid
        self.tested.end(how)
        killed_at = time.monotonic_ns()
        for world in self.worlds:
            world.leave()
        self.look_at_what_is_left(how, path, pid, killed_at)
        self.begin_life(**variables)
        self.switches.pause_switching()
        self.switches.forget_what_differs(self.commands.run(
            "control", "--status", "--json", str(self.tested.pid), is_json=True).json())
        self.commands.end_disturbance(name)
        self.switches.go_on()

    def look_at_what_is_left(self, how, path, pid, killed_at):
        is_stream = os.path.basename(path).startswith("stream")
        left = None
        if how == signal.SIGKILL or is_stream:
            left = self.switches.check_file(path)
            if left:
                # the next life has the disk for itself
                aside = shutil.move(path, os.path.join(self.work, "left"))
            else:
                self.findings.add(f"{path} is not left, or cannot be read")
        elif os.path.exists(path):
            self.findings.add(f"{path} is left after {how}")
        if how == signal.SIGKILL and left:
            self.killed = (aside, pid, killed_at)
        self.keeper.end(left)

    # ---- Hardships -----------------------------------------------------------------------

    def fill_disk(self):
        if not self.has_disk:
            return
        self.findings.note("---- the disk is full")
        with open(os.path.join(self.disk, "filler"), "wb", buffering=0) as filler:
            try:
                while filler.write(bytes(1 << 16)):
                    pass
            except OSError:
                pass  # that it is full is what is wanted
        self.go_on_for(min(15, self.options.seconds / 20))
        os.remove(os.path.join(self.disk, "filler"))
        self.findings.note("---- the disk has room")
        self.go_on_for(2)
        row = self.recording()
        if not row or row["no_room"] or row["state"] not in ("running", "paused"):
            self.findings.add(f"2 s after the disk has room: {row}")

    def delete_file(self):
        self.findings.note("---- the file is deleted")
        path = self.path_of_recording()
        inode = os.stat(path).st_ino
        os.remove(path)
        self.go_on_for(3)
        if not os.path.exists(path) or os.stat(path).st_ino == inode:
            self.findings.add("3 s after its file was deleted there is no other one")
            return
        self.keeper.end()
        self.new_keeper()

    # ---- Operations ----------------------------------------------------------------------

    def compare(self, what, received):
        if received[0] == received[1]:
            return
        self.differences += 1
        if self.differences <= 20:
            lines = list(difflib.unified_diff(*received, "lua5.4", "saros", lineterm="", n=0))
            self.findings.add(f"clients receive something else: {what}: " + " / ".join(lines)[:3000])

    def operate(self, name, who, arguments):
        received, times = [], []
        for world in self.worlds:
            result, begin, end = clients.timed(world.do, name, who, arguments)
            received.append(result)
            times.append((begin, end))
        self.compare((name, who, arguments["id"]), received)
        row = self.times.setdefault(name, [[0, 0, 0], [0, 0, 0]])
        for sums, (begin, end) in zip(row, times):
            sums[0] += 1
            sums[1] += end - begin
            sums[2] = max(sums[2], end - begin)
        self.hung += name == "hang"
        self.done += 1
        return times[1]

    def go_on_for(self, seconds, asking=None):
        """Does operations at the rate for that long, or until the thread that asks has ended."""
        next_time = time.monotonic()
        end = next_time + seconds
        wants = asking.wants if isinstance(asking, Questions) else []
        while time.monotonic() < end and (not asking or asking.is_alive()):
            operation = clients.draw(self.random, self.done)
            if wants:
                wanted = wants[0]
                times = self.operate(wanted, "alice/desk", dict(operation[2], ms=SLOW_MS))
                if wanted == "slow":
                    asking.slow = times
                wants.pop(0)
            else:
                self.operate(*operation)
            self.sample()
            if self.switches.failure:
                raise self.switches.failure
            next_time = max(next_time + 1 / self.options.rate, time.monotonic() - 2)
            time.sleep(max(0, next_time - time.monotonic()))

    def sample(self):
        if time.monotonic() < self.next_sample:
            return
        self.next_sample = time.monotonic() + max(1, self.options.seconds / 720)
        figures = self.figures()
        if None not in figures:
            self.samples.append((self.life, *figures))
            self.findings.note(f"life {self.life}, lua5.4 {figures[0]}, saros {figures[1]}")

    def figures(self):
        return [server.figures() for server in (self.reference, self.tested)]

    def settle(self):
        """What both take when nothing is switched on but a recording."""
        self.switches.pause_switching()
        self.switches.calm()
        self.go_on_for(min(20, self.options.seconds / 20))
        self.switches.check_status()
        # a process is asked while it has something to do
        asking = threading.Thread(target=lambda: self.findings.note(
            self.commands.run("memory", str(self.tested.pid)).out))
        asking.start()
        self.go_on_for(60, asking)
        asking.join()
        figures = self.figures()
        self.findings.note(f"settled, lua5.4 {figures[0]}, saros {figures[1]}")
        self.settled.append(figures)
        self.switches.go_on()

    # ---- The whole -----------------------------------------------------------------------

    def run(self):
        seconds = self.options.seconds
        stream = f"{self.disk}/stream-%p,max=12M,rings=user+runtime"
        self.begin_life()
        self.switches.start()
        self.go_on_for(seconds * 0.2)
        self.restart(signal.SIGKILL, SAROS_EVENTRING_STREAM=stream)
        self.go_on_for(seconds * 0.2)
        self.restart(signal.SIGTERM)
        self.go_on_for(seconds * 0.18)
        self.settle()
        self.fill_disk()
        self.go_on_for(seconds * 0.15)
        self.delete_file()
        self.go_on_for(seconds * 0.05)
        self.settle()
        self.go_on_for(seconds * 0.2)
        self.settle()
        self.findings.note("---- questions")
        self.switches.pause_switching()
        questions = Questions(self.tested, self.commands, self.findings, lambda: self.hung, self.killed)
        questions.start()
        self.go_on_for(300, questions)
        if questions.is_alive():
            self.findings.add("the questions are not answered in 300 s")
        elif questions.failure:
            raise questions.failure
        self.finish()
        return questions.answers

    def finish(self):
        self.findings.note("---- the end")
        self.switches.stopping.set()
        zombies = self.tested.zombies()
        if zombies:
            self.findings.add(f"{zombies} children have ended and nobody has waited for them")
        for world in self.worlds:
            world.leave()
        path = self.path_of_recording()
        for server in (self.reference, self.tested):
            server.end(signal.SIGTERM)
        self.look_at_what_is_left(signal.SIGTERM, path, None, None)
        if self.reference.errors() != self.tested.errors():
            more = [line for line in self.tested.errors() if line not in self.reference.errors()]
            self.findings.add(f"errors in the log of the server under saros: {more[:5]}")
        self.judge_growth()

    def judge_growth(self):
        """From the second time that all was settled to the third, which is a fifth of the run."""
        for what, spare in (("anonymous", 1024), ("descriptors", 0), ("threads", 0), ("mappings", 64)):
            grown = [self.settled[2][which][what] - self.settled[1][which][what] for which in (0, 1)]
            if what == "anonymous":
                spare += 0.05 * self.settled[1][1][what]
            if grown[1] > max(grown[0], 0) + spare:
                self.findings.add(f"{what} of the server under saros grows by {grown[1]}, "
                                  f"of that under lua5.4 by {grown[0]}")

    def close(self):
        """No process and no mount stays, whatever has happened."""
        self.switches.stopping.set()
        for server in (self.reference, self.tested):
            server.end(signal.SIGKILL)
        if self.keeper and self.keeper.process.poll() is None:
            self.keeper.process.kill()
        if self.has_disk:
            subprocess.run(["umount", "-l", self.disk], check=False)
        shutil.rmtree(self.work, ignore_errors=True)


def median_of(samples, which, what, life):
    values = [sample[which][what] for sample in samples if sample[0] == life]
    return statistics.median(values) if values else 0


def report(hour, answers, out):
    def say(text=""):
        print(text, file=out)
    say(f"hour.py --seconds {hour.options.seconds:g} --seed {hour.options.seed} --rate {hour.options.rate:g}")
    if not hour.has_disk:
        say("no tmpfs can be mounted: the disk was never full")
    say(f"{hour.done:,} operations on each server, {hour.differences} with different answers; "
        f"{hour.switches.count:,} switches; {sum(hour.commands.runs.values()):,} commands")
    say(f"\n{'operation':20}{'count':>7}{'lua5.4 mean':>14}{'longest':>12}{'saros mean':>14}{'longest':>12}  ms")
    for name, row in sorted(hour.times.items()):
        say(f"{name:20}{row[0][0]:7,}" + "".join(
            f"{total / count / 1e6:14.2f}{longest / 1e6:12.2f}" for count, total, longest in row))
    say(f"\n{'command':20}{'runs':>7}{'longest, s':>12}  (beyond the seconds that it was to watch)")
    for name, runs in sorted(hour.commands.runs.items()):
        say(f"{name:20}{runs:7,}{hour.commands.slowest[name]:12.2f}")
    say("statuses: " + ", ".join(f"{key} ({count})" for key, count in sorted(hour.commands.statuses.items())
                                 if not key.endswith(": 0")))
    say(f"\n{'life, median':20}{'lua5.4':>12}{'saros':>12}")
    for life in range(1, hour.life + 1):
        for what in ("anonymous", "resident", "descriptors", "threads", "mappings"):
            say(f"{life}, {what:17}" + "".join(f"{median_of(hour.samples, which, what, life):12,.0f}"
                                               for which in (1, 2)))
    for i, settled in enumerate(hour.settled, 1):
        say(f"settled {i}, anonymous  " + "".join(f"{each['anonymous']:12,}" for each in settled))
    say(f"\n{'recorder':10}" + "".join(f"{key:>14}" for key in ("emitted", "missed", "saved", "lost", "files")))
    for i, each in enumerate(hour.kept, 1):
        say(f"{i:<10}" + "".join(f"{each[key]:14,}" for key in ("emitted", "missed", "saved", "lost", "files")))
    for question, command, took, status, lines, truth in answers:
        say(f"\n{question}\n  $ {command}\n  {took:.2f} s, status {status}; truth: {truth}")
        for line in lines:
            say(f"    {line}")
    say(f"\n{len(hour.findings.list)} findings")
    for text in hour.findings.list:
        say(f"  {text}")


def main():
    chosen = options()
    print(f"hour.py --seconds {chosen.seconds:g} --seed {chosen.seed} --rate {chosen.rate:g}", flush=True)
    hour, answers = Hour(chosen), []
    try:
        answers = hour.run()
    except Exception as error:  # what is known so far is reported
        hour.findings.add(f"it ended early: {type(error).__name__}: {error}")
        raise
    finally:
        try:
            report(hour, answers, sys.stdout)
            if chosen.report:
                with open(chosen.report, "w", encoding="utf-8") as out:
                    report(hour, answers, out)
        finally:
            hour.close()
    return 1 if hour.findings.list else 0


sys.exit(main())
