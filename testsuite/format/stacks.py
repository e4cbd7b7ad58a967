# SPDX-License-Identifier: MIT
"""stacks.py FILE [COUNT SEED]: do reader.py and `eventring stack --json` agree on the last
stacks of FILE? With COUNT: also on what is left of them when their blocks are damaged, COUNT
times, in a few places, most often with checksums that are made right again. The environment
variable EVENTRING names the command. A file on which the two differ is kept as
differs-NUMBER.eventring.
"""
import json
import os
import random
import struct
import subprocess
import sys

import heaps
import mutate
import reader

REASONS = ("?", "period", "long step of the collector", "trigger", "error", "signal",
           "out of memory", "end")
ACTIVITIES = ("running", "collecting", "finalizing", "waiting")


def by_page(path):
    try:
        recording = reader.Recording(path, reader.Report())
    except reader.Refused:
        return None
    rows = []
    for slot, found in sorted(recording.last_stacks.items()):
        _, _, frames, reason, activity, subject, value, lines = found
        rows.append([slot, frames, REASONS[reason], ACTIVITIES[activity], subject, value,
                     [line[:2] for line in lines]])
    return rows


def by_command(path):
    done = subprocess.run([os.environ["EVENTRING"], "stack", "--json", path], timeout=120,
                          capture_output=True, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError("status %d: %s" % (done.returncode, done.stderr[-2000:]))
    if not done.stdout.strip():
        return None
    return [[row["domain"], row["below"] + len(row["frames"]), row["reason"], row["activity"],
             row.get("subject", 0), row["value"],
             [[frame["name"], frame["source"]] for frame in row["frames"]]]
            for row in json.loads(done.stdout)["rows"]]


def agree(mine, theirs):
    """Lines that nobody would write, such as empty ones, may be split in other ways."""
    if mine is None or theirs is None:
        return mine is None or not mine or theirs is None
    if len(mine) != len(theirs):
        return False
    for a, b in zip(mine, theirs):
        is_damaged = a[1] < len(a[6]) or len(a[6]) != len(b[6])
        if a[0] != b[0] or a[2:6] != b[2:6] or (not is_damaged and a != b):
            return False
    return True


def damage(data):
    damaged = mutate.Damage(data)
    blocks = [at for at in damaged.blocks
              if struct.unpack_from("<H", data, at + 8)[0] == reader.LAST_STACKS]
    for _ in range(random.choice((1, 1, 2, 4))):
        block = random.choice(blocks)
        end = 8 * max(8, struct.unpack_from("<I", data, block + 24)[0])
        damaged.change(block + random.randrange(64, min(end, 4088)), random.choice((1, 2, 4, 8)))
        if random.random() < 0.8:
            heaps.seal(damaged.data, block)
    return bytes(damaged.data)


def main():
    path, count, seed = sys.argv[1], *(int(word) for word in (sys.argv[2:4] or (0, 0)))
    mine, theirs = by_page(path), by_command(path)
    if not mine or mine != theirs:
        print("by the page:", mine, "by the command:", theirs)
        return 1
    data, bad = open(path, "rb").read(), 0
    for number in range(count):
        random.seed(seed * 1000003 + number)
        with open("damaged.eventring", "wb") as out:
            out.write(damage(data))
        mine, theirs = by_page("damaged.eventring"), by_command("damaged.eventring")
        if not agree(mine, theirs):
            bad += 1
            os.rename("damaged.eventring", "differs-%d.eventring" % number)
            print(number, "by the page:", mine, "by the command:", theirs)
    print("%d damaged files, %d differ" % (count, bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
