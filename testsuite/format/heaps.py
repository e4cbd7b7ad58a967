# SPDX-License-Identifier: MIT
"""heaps.py FILE [COUNT SEED]: do reader.py and `eventring heap --json` agree on the heap
profiles of FILE? With COUNT: also on what is left of them when blocks of functions, stacks and
profiles are damaged, COUNT times, in a few places, most often with checksums that are made
right again. Other outputs of the command are not compared, but must come. The environment
variable EVENTRING names the command. A file on which the two differ is kept as
differs-NUMBER.eventring.
"""
import json
import os
import random
import struct
import subprocess
import sys

import mutate
import reader

OF_HEAPS = (reader.STRINGS, reader.FUNCTIONS, reader.STACKS, reader.HEAPS, reader.HEAP_PAGES)


def by_page(path):
    """By profile: allocated samples, live samples, entries, whole; None: refused."""
    try:
        recording = reader.Recording(path, reader.Report())
    except reader.Refused:
        return None
    totals = {"profiles": 0, "torn": 0, "allocated": 0, "lost": 0}
    for _, root, entries, is_whole in recording.heaps():
        totals["profiles"] += 1
        totals["torn"] += not is_whole
        totals["allocated"] += sum(entry[4] for entry in entries)
        totals["lost"] += root[17]
    return totals


def run(*options):
    return subprocess.run([os.environ["EVENTRING"], *options], timeout=120, capture_output=True,
                          check=False)


def by_command(path):
    done = run("heap", "--json", "--by", "kind", path)
    if done.returncode not in (0, 1):
        raise RuntimeError("status %d: %s" % (done.returncode, done.stderr[-2000:]))
    if not done.stdout.strip():
        return None
    total = json.loads(done.stdout)["total"]
    return {"profiles": total["profiles"], "torn": total["torn_profiles"],
            "allocated": total["allocated_samples"], "lost": total["lost_sites"]}


def close(mine, theirs):
    """Sums of numbers that were made up may not be whole as doubles; beyond 2^64 the command's
    stay there."""
    if mine is None or theirs is None or not mine["profiles"]:
        return True  # a file is refused, or has no profile, with a message
    return all(mine[key] == theirs[key] or
               (key == "allocated" and (mine[key] >= 1 << 63 and theirs[key] >= 1 << 62 or
                                        abs(mine[key] - theirs[key]) <= 1e-9 * mine[key]))
               for key in mine)


def differs(path):
    mine, theirs = by_page(path), by_command(path)
    for options in (("heap",), ("heap", "--since", "0"), ("heap", "--by", "line", "--json"),
                    ("heap", "--to", "pprof"), ("heap", "--to", "folded"),
                    ("heap", "--to", "speedscope"), ("dump", "--json")):
        done = run(*options, path)
        if done.returncode not in (0, 1):
            return "%s: status %d: %s" % (options, done.returncode, done.stderr[-2000:])
    return None if close(mine, theirs) else "%s by the page, %s by the command" % (mine, theirs)


def damage(data):
    """In blocks of these kinds; their checksums are right again, most of the time."""
    damaged = mutate.Damage(data)
    blocks = [at for at in damaged.blocks
              if struct.unpack_from("<H", data, at + 8)[0] in OF_HEAPS]
    for _ in range(random.choice((1, 1, 2, 4))):
        block = random.choice(blocks)
        end = 8 * max(8, struct.unpack_from("<I", data, block + 48)[0] or 60)
        place = random.randrange(64, min(end, 4096)) if random.random() < 0.9 else \
            random.randrange(64)
        damaged.change(block + place, random.choice((1, 2, 4, 8)))
        if random.random() < 0.8:
            seal(damaged.data, block)
    return bytes(damaged.data)


def seal(data, block):
    words = list(struct.unpack_from("<512Q", data, block))
    committed = words[6] & 0xFFFFFFFF
    if 8 <= committed <= 512:
        words[6] = committed | reader.checksum(words[:committed]) << 32
    so_far = words[3] & 0xFFFFFFFF
    if not committed and 8 <= so_far <= 512:
        words[3] = so_far | reader.checksum(words[:so_far], (3, 6)) << 32
    struct.pack_into("<512Q", data, block, *words)


def main():
    path, count, seed = sys.argv[1], *(int(word) for word in (sys.argv[2:4] or (0, 0)))
    mine, theirs = by_page(path), by_command(path)
    print(path, mine)
    if mine != theirs:
        print("the command:", theirs)
        return 1
    data, bad = open(path, "rb").read(), 0
    for number in range(count):
        random.seed(seed * 1000003 + number)
        with open("damaged.eventring", "wb") as out:
            out.write(damage(data))
        what = differs("damaged.eventring")
        if what:
            bad += 1
            os.rename("damaged.eventring", "differs-%d.eventring" % number)
            print("%d: %s" % (number, what))
    print("%d damaged files, %d differ" % (count, bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
