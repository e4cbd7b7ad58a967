# SPDX-License-Identifier: MIT
"""profiles.py FILE [COUNT SEED]: do reader.py and the command agree on the profiles of calls
and on what memory was used for of FILE, `eventring profile --json` and `memory --json`? With
COUNT: also on what is left of them when their blocks are damaged, COUNT times, in a few places,
most often with checksums that are made right again. EVENTRING names the command. A file on
which the two differ is kept as differs-NUMBER.eventring.
"""
import collections
import json
import os
import random
import struct
import subprocess
import sys

import reader

KINDS = (reader.PROFILES, reader.FOOTPRINTS)


def by_blocks(path):
    """Calls by the name of the function, and rows by slot and name; None: refused."""
    try:
        recording = reader.Recording(path, reader.Report())
    except reader.Refused:
        return None
    calls = collections.Counter()
    for _, _, functions, nodes, flat in recording.profiles():
        for function, count, *_ in nodes[1:] + flat:
            name = b"(other)" if function == reader.NONE else functions[function][0]
            calls[reader.exact(name.split(b"\0", 1)[0])] += count
    rows = {(slot, name): (resident, reserved)
            for slot, (_, rows) in recording.footprints.items() for name, resident, reserved in rows}
    return calls, rows


def where_flat_calls_are(path):
    """What is wrong with the sums of flat calls in the profiles of FILE, by node and by
    function; and how many flat calls there are."""
    wrong, calls = [], 0
    for slot, incarnation, _, nodes, flat in reader.Recording(path, reader.Report()).profiles():
        by_node = tuple(sum(node[i] for node in nodes) for i in (4, 5))
        by_function = tuple(sum(record[i] for record in flat) for i in (1, 2))
        calls += by_function[0]
        if by_node != by_function:
            wrong.append("domain %d.%d: %s, %s" % (slot, incarnation, by_node, by_function))
    return wrong, calls


def run(*options):
    done = subprocess.run([os.environ["EVENTRING"], *options], timeout=120, capture_output=True,
                          check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError("status %d: %s" % (done.returncode, done.stderr[-2000:]))
    return json.loads(done.stdout) if done.stdout.strip() else None


def differences(path):
    mine = by_blocks(path)
    profile, memory = run("profile", "--json", "--top", "100000", path), run("memory", "--json", path)
    if mine is None:
        return []
    found = []
    if profile is not None:
        theirs = collections.Counter()
        for row in profile["rows"]:
            theirs[row["name"]] += row["count"]
        calls = collections.Counter({name: min(n, 2 ** 64 - 1) for name, n in mine[0].items()})
        if +theirs != +calls and sum(calls.values()) < 2 ** 53:
            found.append("calls: %s" % ((+theirs - +calls) or (+calls - +theirs)))
    elif mine[0]:
        found.append("calls: the command has none")
    for row in memory["rows"] if memory else []:
        key = row["domain"], row["name"]
        if row["in"] != "system" and row["domain"] is not None and \
                mine[1].get(key) != (row["resident_bytes"], row["reserved_bytes"]):
            found.append("row %s: %s" % (key, mine[1].get(key)))
    return found


def blocks_of(data, kinds):
    places = range(reader.FRONT_BYTES, len(data) - reader.BLOCK_BYTES + 1, reader.BLOCK_BYTES)
    return [at for at in places if struct.unpack_from("<Q", data, at)[0] and
            struct.unpack_from("<H", data, at + 8)[0] in kinds]


def damaged(data, rng):
    out = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.choice(blocks_of(data, KINDS))
        end = struct.unpack_from("<I", data, at + 48)[0]
        words = rng.choice((9, max(1, min(end, 512) - 8)))  # its first record as often as all
        place = at + 64 + 8 * rng.randrange(words)
        struct.pack_into("<Q", out, place, struct.unpack_from("<Q", out, place)[0] ^
                         1 << rng.randrange(64))
        if rng.random() < 0.8:
            words = list(struct.unpack_from("<512Q", out, at))
            end = words[6] & 0xFFFFFFFF
            if 8 <= end <= 512:
                words[6] = end | reader.checksum(words[:end]) << 32
                struct.pack_into("<512Q", out, at, *words)
    return out


def main():
    path = sys.argv[1]
    count, seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0, sys.argv[3] if len(sys.argv) > 3 else "1"
    with open(path, "rb") as file:
        data = file.read()
    status = 0
    wrong, flat = where_flat_calls_are(path)
    print("%d flat calls" % flat)
    if wrong:
        status = 1
        print("; ".join(wrong))
    for number in range(count + 1):
        rng = random.Random("%s %d" % (seed, number))
        name = path if number == 0 else "damaged.eventring"
        if number:
            with open(name, "wb") as file:
                file.write(damaged(data, rng))
        found = differences(name)
        if found:
            status = 1
            print("mutation %d, seed %s: %s" % (number, seed, "; ".join(found[:3])))
            if number:
                os.rename(name, "differs-%d.eventring" % number)
    sys.exit(status)


main()
