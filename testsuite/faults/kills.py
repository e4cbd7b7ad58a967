# SPDX-License-Identifier: MIT
"""Kills producers and recorders at random moments, and compares what is left with the truth.

    SAROS=... EVENTRING=... kills.py [--kills N] [--seed N]

The producer is a Lua program whose events in ring user are counters with the values 1, 2, 3, ...,
and that writes how far it came to a file of its own. So the k-th event of the ring has value k,
and for every file that is left:

  - stats ends with status 0 and says nothing on standard error;
  - of each ring, emitted = missed + delivered + lost;
  - the values that dump delivers are as many as stats says; they rise, are greater than missed, and
    at most emitted;
  - where nothing can be lost but at the front (the producer's own ring), they are the last ones;
  - what the program says to have written is not more than what was emitted, together with the
    events of a ring without a block, of which those of the last two blocks may be unknown;
  - the files of a rotation follow each other: one misses at least what the one before had emitted
    (more, if blocks were overwritten between them; up to a block less, if the recorder was killed
    before it had ended that file).

In turn, the producer or the recorder is killed, and the recording is a ring, a stream, a stream
with a limit, a ring or a stream on a disk that is full, a recording, one with --zstd, one that
rotates by size or by time, one on a disk that is full. The disk is a tmpfs, which root alone can
mount: without one those turns are left out, and that is said. The table has a row for each.
Status 1: something differs; each finding is a line.
"""
import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PROGRAM = """
local eventring = require "saros.eventring"
local counter, number = eventring.counter, 0
local progress = io.open("progress", "w")
progress:setvbuf("no")
while true do
  for _ = 1, 500 do number = number + 1 counter("number", number) end
  progress:seek("set")
  progress:write(("%020d"):format(number))
  local at = os.clock()
  while os.clock() < at + 0.0005 do end
end
"""

# name, who is killed, environment, arguments of record, is on the full disk
TURNS = [
    ("ring", "producer", {"START": "1"}, None, False),
    ("stream", "producer", {"STREAM": "{dir}/stream.eventring"}, None, False),
    ("stream with a limit", "producer", {"STREAM": "{dir}/stream.eventring,max=1M"}, None, False),
    ("ring, disk full", "producer", {"START": "1", "WSIZE": "16"}, None, True),
    ("stream, disk full", "producer", {"STREAM": "{dir}/stream.eventring"}, None, True),
]
for options in ("", "--zstd", "--rotate-size 512K", "--rotate-time 20ms",
                "--zstd --rotate-size 256K"):
    for victim in ("producer", "recorder"):
        TURNS.append((f"record {options}".strip(), victim, {"START": "1", "RINGS": "."},
                      options.split(), False))
TURNS.append(("record, disk full", "recorder", {"START": "1", "RINGS": "."}, [], True))
TURNS.append(("record, disk full", "producer", {"START": "1", "RINGS": "."}, [], True))

TWO_BLOCKS = 512  # events, at most

saros, eventring = (os.path.abspath(os.environ[name]) for name in ("SAROS", "EVENTRING"))
arguments = argparse.ArgumentParser()
arguments.add_argument("--kills", type=int, default=1000)
arguments.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
options = arguments.parse_args()
findings = []


def run(*command):
    done = subprocess.run([eventring, *command], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr.strip()


class Files:
    """What the files of a turn say, in the order in which they were written."""

    def __init__(self, what):
        self.what = what
        self.aside = 0  # events of rings without a block, in the file read last
        self.sums = {"files": 0, "emitted": 0, "delivered": 0, "missed": 0, "lost": 0}

    def wrong(self, path, text):
        findings.append(f"{self.what}: {os.path.basename(path)}: {text}")

    def read(self, path):
        """The sums of ring user, and its values; None: it cannot be read, which was said."""
        status, text, errors = run("stats", "--json", path)
        if status != 0 or errors:
            return self.wrong(path, f"stats: status {status}: {errors}")
        answer = json.loads(text)
        rings = [pair for domain in answer["domains"] for pair in domain["rings"].items()]
        for name, ring in rings:
            parts = sum(int(ring[key]) for key in ("missed", "delivered", "lost"))
            if int(ring["emitted"]) != parts:
                self.wrong(path, f"ring {name}: {ring}")
        user = [ring for name, ring in rings if name == "user"]
        status, text, errors = run("dump", "--json", "--ring", "user", path)
        if status != 0 or errors:
            return self.wrong(path, f"dump: status {status}: {errors}")
        events = [json.loads(line) for line in text.splitlines()]
        values = [event["value"] for event in events if event.get("name") == "number"]
        sums = {key: sum(int(ring[key]) for ring in user) for key in self.sums if key != "files"}
        self.aside = int(answer.get("events_dropped", 0))
        self.sums["files"] += 1
        for key, value in sums.items():
            self.sums[key] += value
        return sums, values

    def check(self, path, newest_are_kept):
        found = self.read(path)
        if not found:
            return None
        sums, values = found
        if len(values) != sums["delivered"]:
            self.wrong(path, f"{len(values)} values, delivered {sums['delivered']}")
        if any(left >= right for left, right in zip(values, values[1:])):
            self.wrong(path, "the values do not rise")
        if values and not (sums["missed"] < values[0] and values[-1] <= sums["emitted"]):
            self.wrong(path, f"values {values[0]} to {values[-1]}: {sums}")
        if newest_are_kept and values and values != list(range(values[0], sums["emitted"] + 1)):
            self.wrong(path, f"the values are not the last {len(values)} of {sums['emitted']}")
        return sums


def number_in(name):
    return int((re.findall(r"\.(\d+)\.eventring", name) or ["0"])[0])


def files_in(folder, without):
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder), key=number_in)
            if name.endswith(".eventring") and os.path.join(folder, name) != without]


def await_true(condition, process):
    end = time.monotonic() + 60
    while not condition() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.005)


def stop(process):
    process.send_signal(signal.SIGKILL)
    process.wait()


def fill(folder):
    with open(os.path.join(folder, "filler"), "wb", buffering=0) as filler:
        try:
            while filler.write(bytes(4096)):
                pass
        except OSError:
            pass  # that it is full is what is wanted


def producer_environment(settings, folder, rings):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("SAROS_")}
    environment.update(SAROS_EVENTRING_WSIZE="12", SAROS_EVENTRING_SECONDS="0",
                       SAROS_EVENTRING_PREFIX=rings)
    for name, value in settings.items():
        if name != "RINGS":
            environment["SAROS_EVENTRING_" + name] = value.format(dir=folder)
    return environment


def written_by(work):
    """How far the program says it is; 0: it has not begun."""
    try:
        with open(os.path.join(work, "progress"), encoding="ascii") as progress:
            return int(progress.read() or 0)
    except FileNotFoundError:
        return 0


def one_turn(turn, number, work, disk):
    """Runs, kills, compares; the sums of its files."""
    name, victim, settings, record, on_disk = turn
    folder = disk if on_disk else os.path.join(work, "files")
    rings = os.path.join(work, "rings") if record is not None else folder
    for path in (folder, rings):
        os.makedirs(path, exist_ok=True)
    producer = subprocess.Popen([saros, "count.lua"], cwd=work,
                                env=producer_environment(settings, folder, rings))
    own = os.path.join(rings, f"{producer.pid}.eventring")
    if "STREAM" in settings:
        own = os.path.join(folder, "stream.eventring")
    recorder = None
    await_true(lambda: os.path.exists(own), producer)
    if on_disk and record is None:
        await_true(lambda: written_by(work) > 0, producer)  # the file has room for its blocks then
        fill(folder)
    if record is not None:
        # its errors (the disk is full) are no finding: it is its file that counts
        recorder = subprocess.Popen([eventring, "record", "-q", "--buffer-size", "64K", *record,
                                     "-o", os.path.join(folder, "saved.eventring"),
                                     str(producer.pid)], stderr=subprocess.DEVNULL)
    time.sleep(random.uniform(0.01, 0.4))
    if victim == "recorder":
        stop(recorder)
    written = written_by(work)
    stop(producer)
    if recorder:
        recorder.wait()
    files = Files(f"{number}: {name}, {victim} killed")
    compare(files, turn, folder, own, written)
    if os.path.exists(os.path.join(work, "progress")):
        os.remove(os.path.join(work, "progress"))
    for path in {folder, rings}:
        for left in os.listdir(path):
            os.remove(os.path.join(path, left))
    return files.sums


def compare(files, turn, folder, own, written):
    name, victim, _, record, on_disk = turn
    emitted = None
    if os.path.exists(own):
        sums = files.check(own, record is not None or name.startswith("ring"))
        emitted = sums and sums["emitted"]
        in_no_block = files.aside + TWO_BLOCKS if not emitted else 0
        if sums and emitted + in_no_block < written:
            files.wrong(own, f"the program has written {written}, emitted is {emitted}, of rings "
                        f"without a block {files.aside}")
    else:
        files.wrong(own, "is not there")
    before = None
    if record is None:
        return
    saved = files_in(folder, own)
    for path in saved:
        sums = files.check(path, False)
        if not sums or not sums["emitted"]:
            continue  # no block came while this was the file
        # (the newest block of a file that was not ended may be in the next one, too)
        in_both = TWO_BLOCKS // 2 if victim == "recorder" else 0
        if before and sums["missed"] + in_both < before["emitted"]:
            files.wrong(path, f"misses {sums['missed']}, "
                        f"the file before it ends at {before['emitted']}")
        before = sums
    if victim == "producer" and not on_disk and before and before["emitted"] != emitted:
        files.wrong(own, f"emitted is {emitted}, and {before['emitted']} in the recording")


def main():
    random.seed(options.seed)
    print(f"kills.py --kills {options.kills} --seed {options.seed}", flush=True)
    work = tempfile.mkdtemp(prefix="saros-kills.")
    disk = os.path.join(work, "disk")
    os.mkdir(disk)
    with open(os.path.join(work, "count.lua"), "w", encoding="ascii") as program:
        program.write(PROGRAM)
    has_disk = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", disk],
                              stderr=subprocess.DEVNULL, check=False).returncode == 0
    turns = [turn for turn in TURNS if has_disk or not turn[4]]
    if not has_disk:
        print("no disk that is full: a tmpfs cannot be mounted")
    rows = {}
    try:
        for number in range(options.kills):
            turn = turns[number % len(turns)]
            sums = one_turn(turn, number, work, disk)
            row = rows.setdefault(f"{turn[0]}, {turn[1]}", {"kills": 0})
            row["kills"] += 1
            for key, value in sums.items():
                row[key] = row.get(key, 0) + value
    finally:
        if has_disk:
            subprocess.run(["umount", disk], check=False)
        shutil.rmtree(work)
    keys = ["kills", "files", "emitted", "missed", "delivered", "lost"]
    print(f"{'':34}" + "".join(f"{key:>13}" for key in keys))
    for name, row in rows.items():
        print(f"{name:34}" + "".join(f"{row.get(key, 0):13,}" for key in keys))
    print("\n".join(findings[:50]) if findings else "no finding")
    return 1 if findings else 0


sys.exit(main())
