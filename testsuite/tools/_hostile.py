# SPDX-License-Identifier: MIT
"""_hostile.py slow FILE: makes a recording of a few spans over many hours, in 262 KiB.
_hostile.py chain FROM FILE: makes FILE of a recording FROM whose allocations were sampled: each of
its call stacks becomes the callee of the one before it, so that all are thousands of frames deep.
Both are valid, and small; the exporters must not make files of GiB of them."""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "format"))
import mutate
import producer

STACKS, NODE = 5, 2  # kind and type of the records
STEP = 3_000_000_000  # ticks from one span to the next


def slow(path):
    producer.PRESENT_LIVES = [(0, 1, '"' * 47)]
    recording = producer.Recording()
    producer.write_clock(recording)
    for number in range(60):
        recording.define(100 + number, 1, "%04d" % number + '"' * 91)
    recording.life(1, 0, 1, producer.START_TICKS + 5, '"' * 47)
    recording.claim(-len(recording.blocks) % 16)
    ring = producer.Ring(recording, 0, 1, blocks=32)
    ticks = producer.START_TICKS + 1000
    for number in range(6000):
        ring.begin(100 + number % 60, ticks)
        ring.end(100 + number % 60, ticks + 10)
        ticks += STEP
    for each in recording.rings + list(recording.records.values()):
        each.finish()
    with open(path, "wb") as file:
        file.write(producer.front(recording, "ended", ticks))
        for words in recording.blocks:
            file.write(struct.pack("<512Q", *words))


def chain(source, path):
    with open(source, "rb") as file:
        damage = mutate.Damage(file.read())
    for at in damage.blocks:
        words = list(struct.unpack_from("<512Q", damage.data, at))
        if words[1] & 0xFFFF != STACKS:
            continue
        place = 8
        while place < 512 and words[place] & 0xFFFF:
            number = words[place] >> 32
            if words[place] >> 16 & 0xFFFF == NODE and number > 1:
                words[place + 1] = words[place + 1] & ~0xFFFFFFFF | number - 1
            place += words[place] & 0xFFFF
        struct.pack_into("<512Q", damage.data, at, *words)
    damage.seal()
    with open(path, "wb") as file:
        file.write(damage.data)


if __name__ == "__main__":
    {"slow": slow, "chain": chain}[sys.argv[1]](*sys.argv[2:])
