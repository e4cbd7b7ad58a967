# SPDX-License-Identifier: MIT
"""Damages recordings and compares what `eventring repair` makes of them.

  _damage.py EVENTRING FILE SEED TURNS

Each turn damages a copy of FILE at random places. What the damaged file delivers must be in
the repaired one, and nothing else but what FILE has; of a file of rings with damaged blocks of
events exactly that.
The repaired file reads without complaint, known = missed + delivered + lost in each ring, and
repairing it again finds nothing wrong. The status is 0 only if no event of FILE is missing.
A header that is not called damaged is that of FILE.
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
DAMAGED, REPAIRED, AGAIN = "damaged.eventring", "repaired.eventring", "again.eventring"


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


def nameless(found):
    """The same without names of rings, which a damaged file may have wrong."""
    counts = collections.Counter()
    for (ns, domain, _, number), count in found.items():
        counts[ns, domain, number] += count
    return counts


def timeless(found):
    counts = collections.Counter()
    for (_, domain, ring, number), count in found.items():
        counts[domain, ring, number] += count
    return counts


def header(data):
    """What a repaired file has of its header as it was: not layout, checksum and flags."""
    return data[:24] + data[28:120] + data[128:1576]


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
    """Returns the damaged bytes. `exact`: the same events must come out."""
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


def check_header(turn, where, data, said):
    with open(REPAIRED, "rb") as file:
        repaired = file.read(1576)
    if "the header is damaged" not in said and header(repaired) != header(data):
        fail(turn, where, f"another header; {said}")


def check(turn, where, data, whole):
    may_lack, is_stream = data[124] & 1, data[124] & 2
    for path in (REPAIRED, AGAIN):
        if os.path.exists(path):
            os.unlink(path)
    result = run("repair", "-o", REPAIRED, DAMAGED)
    if result.returncode not in (0, 1):
        fail(turn, where, f"status {result.returncode}: {result.stderr}")
    if not os.path.exists(REPAIRED):
        fail(turn, where, f"nothing repaired: {result.stderr}")
    check_header(turn, where, data, result.stderr)
    for words in (("dump",), ("stats", "--json"), ("show",)):
        read = run(*words, REPAIRED)
        # the count of control words that a process ignored has no checksum: any number may be true
        said = [line for line in read.stderr.splitlines() if "malformed control word" not in line]
        if read.returncode or said:
            fail(turn, where, f"{words}: {read.returncode}, {read.stderr}; {result.stderr}")
        if words[0] == "stats":
            for domain in json.loads(read.stdout)["domains"]:
                for name, ring in domain["rings"].items():
                    if ring["emitted"] != ring["missed"] + ring["delivered"] + ring["lost"]:
                        fail(turn, where, f"counts of {name}: {ring}")
    delivered, repaired = events(DAMAGED), events(REPAIRED)
    doubtful = "header is damaged" in result.stderr or "clock is lost" in result.stderr
    clock = doubtful or "of records were left out" in result.stderr
    if clock:  # times may be others
        delivered, repaired, whole = (sum(c.values()) for c in (delivered, repaired, whole))
        if repaired > whole:
            fail(turn, where, f"{repaired} of {whole} events; {result.stderr}")
    else:
        if repaired - whole - delivered:  # unfinished blocks have no checksum
            fail(turn, where, f"made up: {list(repaired - whole)[:3]}")
        same = collections.Counter
        if "the header was put right" in result.stderr:
            same = nameless
        elif "of records were put right" in result.stderr:  # a damaged clock has other times
            same = timeless
        if same(delivered) - same(repaired):
            fail(turn, where, f"missing: {len(delivered - repaired)}; {result.stderr}")
        # a reader may miss a unit of a stream of which half of the headers are damaged
        if where == "events" and not is_stream and repaired != delivered:
            fail(turn, where, f"more: {list((repaired - delivered).items())[:3]}")
        proved = not (where == "zeros" and may_lack) and not repaired - whole
        if result.returncode == 0 and proved and repaired != whole:
            fail(turn, where, f"status 0, {sum((whole - repaired).values())} events missing")
    again = run("repair", "-o", AGAIN, REPAIRED)
    if again.returncode:
        fail(turn, where, f"repaired again: {again.stderr}")


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
        check(turn, where, data, whole)
    print(f"{turns} turns, {sum(whole.values())} events")


main()
