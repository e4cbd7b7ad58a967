# SPDX-License-Identifier: MIT
"""Damages recordings and compares what `eventring cut` makes of them.

  _damage.py EVENTRING FILE SEED TURNS

Each turn damages a copy of FILE at random places. What the damaged file delivers is what its copy
has, no less and nothing else. The copy reads without a complaint that was not made of the file, known = missed + delivered + lost in each ring, and a copy of it has the same events.
Where there is no copy the damaged file delivers nothing either. The status is that of reading it.
"""
import collections
import json
import os
import random
import subprocess
import sys

FRONT, BLOCK = 65536, 4096
command, original, seed, turns = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
draw = random.Random(seed)
DAMAGED, COPY, AGAIN = "damaged.eventring", "copy.eventring", "again.eventring"


def run(*words):
    return subprocess.run([command, *words], capture_output=True, text=True, errors="replace",
                          timeout=60, check=False)


def events(path):
    """What was written, as far as it is delivered, without what readers make up."""
    found = collections.Counter()
    for line in run("dump", "--json", path).stdout.splitlines():
        event = json.loads(line)
        if event.get("synthetic") or event["kind"] in ("lost", "open", "end"):
            continue
        if "id" in event:
            found[event["ns"], event["domain"], event["ring"], event["id"]] += 1
    return found


def blocks(data):
    """Numbers of blocks of events, and of records."""
    kinds = {1: [], 2: []}
    for at in range(FRONT, len(data) - BLOCK + 1, BLOCK):
        kind = int.from_bytes(data[at + 8:at + 10], "little")
        if any(data[at:at + 8]):
            kinds[1 if kind == 1 else 2].append(at)
    return kinds[1], kinds[2]


def newer(data, event_blocks):
    """Without the oldest of each ring, which a killed process may have begun to overwrite."""
    rings = collections.defaultdict(list)
    for at in event_blocks:
        rings[data[at + 10:at + 13]].append((data[at:at + 8][::-1], at))
    return [at for ring in rings.values() for _, at in sorted(ring)[1:]]


def flip(data, at, size):
    for i in range(at, min(at + size, len(data))):
        data[i] ^= draw.randrange(1, 256)


def damage(data, where):
    """Returns the damaged bytes."""
    event_blocks, record_blocks = blocks(data)
    changed = bytearray(data)
    if where == "events":
        for _ in range(draw.choice((1, 1, 3, 20))):
            flip(changed, draw.choice(event_blocks) + draw.randrange(BLOCK),
                 draw.choice((1, 1, 8, 300)))
    elif where == "byte":
        flip(changed, draw.choice((0, 4096, 12288, 45056)) + draw.randrange(1536), 1)
    elif where == "front":
        for _ in range(draw.choice((1, 4))):
            flip(changed, draw.choice((0, 4096, 8192, 12288, 45056)) + draw.randrange(1536),
                 draw.choice((1, 8, 64)))
    elif where == "records":
        flip(changed, draw.choice(record_blocks) + draw.randrange(BLOCK), draw.choice((1, 8)))
    elif where == "heads":
        slot, ring = draw.randrange(4), draw.randrange(2)
        flip(changed, 12288 + 256 * slot + 128 + 16 * ring, draw.choice((1, 8, 16)))
    elif where == "cut":
        del changed[draw.randrange(FRONT + BLOCK, len(data)):]
    elif where == "copied":  # what a disk wrote to another place, or twice
        for _ in range(draw.choice((1, 1, 2, 6))):
            source = draw.choice(draw.choice((event_blocks, record_blocks)))
            to = draw.choice(draw.choice((event_blocks, event_blocks, record_blocks)))
            size = draw.choice((BLOCK, BLOCK, 512, 16 * BLOCK))
            part = data[source:source + size]
            changed[to:to + len(part)] = part[:len(changed) - to]
    elif where == "exchanged":
        for _ in range(draw.choice((1, 1, 2, 6))):
            one, other = draw.choice(event_blocks), draw.choice(event_blocks + record_blocks)
            changed[one:one + BLOCK], changed[other:other + BLOCK] = \
                changed[other:other + BLOCK], changed[one:one + BLOCK]
    elif where == "zeros":
        at = draw.choice(newer(data, event_blocks) or event_blocks)
        changed[at:at + BLOCK] = bytes(BLOCK)
    return bytes(changed)


def fail(turn, where, text):
    print(f"FAILED: {original}, seed {seed}, turn {turn}, {where}: {text}")
    sys.exit(1)


def check_sound(turn, where):
    """The copy reads without a complaint of its own, and its accounts hold."""
    for words in (("dump",), ("stats", "--json"), ("show",)):
        read = run(*words, COPY)
        # what cannot be told from the truth is copied, as a damaged header: said of both
        if (read.returncode or read.stderr) and not run(*words, DAMAGED).stderr:
            fail(turn, where, f"{words}: {read.returncode}, {read.stderr}")
        if words[0] == "stats":
            for domain in json.loads(read.stdout)["domains"]:
                for name, ring in domain["rings"].items():
                    if ring["emitted"] != ring["missed"] + ring["delivered"] + ring["lost"]:
                        fail(turn, where, f"counts of {name}: {ring}")


def check(turn, where):
    for path in (COPY, AGAIN):
        if os.path.exists(path):
            os.unlink(path)
    result = run("cut", "-o", COPY, DAMAGED)
    if result.returncode not in (0, 1):
        fail(turn, where, f"status {result.returncode}: {result.stderr}")
    delivered = events(DAMAGED)
    if not os.path.exists(COPY):
        if delivered or not result.stderr:
            fail(turn, where, f"no file, {sum(delivered.values())} events; {result.stderr}")
        return
    check_sound(turn, where)
    copied = events(COPY)
    if copied != delivered:
        fail(turn, where, f"missing {list((delivered - copied).items())[:3]}, "
                          f"made up {list((copied - delivered).items())[:3]}; {result.stderr}")
    read = run("dump", DAMAGED)
    if result.returncode != read.returncode:
        fail(turn, where, f"status {result.returncode}: {result.stderr}; dump: {read.stderr}")
    run("cut", "-o", AGAIN, COPY)
    if events(AGAIN) != copied:
        fail(turn, where, "copied again it differs")


def main():
    with open(original, "rb") as file:
        data = file.read()
    whole = events(original)
    kinds = ("events", "events", "byte", "front", "records", "heads", "cut", "zeros",
             "copied", "exchanged")
    for turn in range(turns):
        where = kinds[turn % len(kinds)]
        with open(DAMAGED, "wb") as file:
            file.write(damage(data, where))
        check(turn, where)
    print(f"{turns} turns, {sum(whole.values())} events")


main()
