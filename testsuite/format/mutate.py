# SPDX-License-Identifier: MIT
"""mutate.py COUNT SEED FILE...: damages the files in turn, COUNT times in all, each time in a
few places, and checks that reader.py and `eventring dump --json` agree on what is left: both
deliver the same events, or both refuse the file. Half of the time the checksums are made right
again, so that what lies behind them is reached. A file on which they differ is kept as
differs-NUMBER.eventring. Always the same damage for the same seed.
"""
import os
import random
import struct
import sys

import compare
import reader

WORDS_THAT_BREAK = (0, 1, 2, 3, 63, 64, 65, 511, 512, 513, 4096, 0xFFFF, 1 << 31, 1 << 32,
                    1 << 56, 1 << 63, (1 << 64) - 1)


class Damage:
    """Ways to damage `data`, whose blocks with something in them are `blocks`."""

    def __init__(self, data):
        self.data = bytearray(data)
        self.blocks = [at for at in range(reader.FRONT_BYTES, len(data), reader.BLOCK_BYTES)
                       if any(data[at:at + reader.BLOCK_BYTES])]

    def some_value(self, old):
        way = random.randrange(4)
        if way == 0:
            return random.choice(WORDS_THAT_BREAK)
        if way == 1:
            return old ^ 1 << random.randrange(64)
        if way == 2:
            return old + random.choice((-2, -1, 1, 2)) & (1 << 64) - 1
        return random.getrandbits(64)

    def change(self, offset, size):
        offset -= offset % size
        form = {1: "<B", 2: "<H", 4: "<I", 8: "<Q"}[size]
        if offset + size > len(self.data):
            return
        old, = struct.unpack_from(form, self.data, offset)
        struct.pack_into(form, self.data, offset, self.some_value(old) & (1 << 8 * size) - 1)

    def change_front(self):
        first, last = random.choice(((0, 1576), (4096, 4136), (8192, 8240), (9216, 9472),
                                     (12288, 12800)))
        self.change(random.randrange(first, last), random.choice((1, 2, 4, 8)))

    def change_header(self):
        block = random.choice(self.blocks)
        self.change(block + random.randrange(64), random.choice((1, 2, 4, 8)))

    def change_words(self):
        block = random.choice(self.blocks)
        for _ in range(random.choice((1, 1, 3, 10))):
            self.change(block + random.randrange(64, 4096), random.choice((1, 2, 8, 8)))

    def change_list(self):
        """Of open spans, and the events behind it."""
        block = random.choice(self.blocks)
        opened, = struct.unpack_from("<H", self.data, block + 14)
        last = 64 + 32 * min(opened, 64) + 256
        for _ in range(random.choice((1, 2, 5))):
            self.change(block + random.randrange(64, last), random.choice((1, 8)))

    def change_log(self):
        """A switch of all classes at some time of the recording."""
        block = random.choice(self.blocks)
        ticks, = struct.unpack_from("<Q", self.data, block + 24)
        number = random.randrange(1, 80)
        at = 8192 + 1024 + 32 * ((number - 1) % 64)
        until = random.choice((ticks, ticks + random.randrange(1 << 20), (1 << 64) - 1))
        struct.pack_into("<4Q", self.data, at, number, ticks, (1 << 64) - 1, until)
        struct.pack_into("<I", self.data, 8192 + 40, random.choice((number, number + 1, 70)))

    def swap_blocks(self):
        one, other = random.choice(self.blocks), random.choice(self.blocks)
        held = self.data[one:one + 4096]
        self.data[one:one + 4096] = self.data[other:other + 4096]
        self.data[other:other + 4096] = held

    def clear_block(self):
        block = random.choice(self.blocks)
        self.data[block:block + 4096] = bytes(4096)

    def cut(self):
        del self.data[random.randrange(len(self.data)):]

    def seal(self):
        """Makes the checksums right for where the events or records end."""
        for at in self.blocks:
            if at + 4096 > len(self.data):
                continue
            words = list(struct.unpack_from("<512Q", self.data, at))
            if words[6] & 0xFFFFFFFF == 0:
                continue
            end = end_of_words(words)
            struct.pack_into("<II", self.data, at + 48, end, reader.checksum(words[:end]))


def end_of_words(words):
    is_events = words[1] & 0xFFFF == reader.EVENTS
    at = 8 + (4 * min(64, words[1] >> 48) if is_events else 0)
    while at < 512 and words[at]:
        size = 1 + (words[at] >> 3 & 127) if is_events else words[at] & 0xFFFF
        if size == 0 or at + size > 512:
            break
        at += size
    return at


def damaged(data):
    damage = Damage(data)
    ways = ([damage.change_words] * 8 + [damage.change_header] * 4 + [damage.change_front] * 3
            + [damage.change_list] * 3 + [damage.change_log, damage.swap_blocks]
            + [damage.clear_block])
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        random.choice(ways)()
    if random.random() < 0.5:
        damage.seal()
    if random.random() < 0.05:
        damage.cut()
    return bytes(damage.data)


def main():
    count, seed = int(sys.argv[1]), int(sys.argv[2])
    files = [open(path, "rb").read() for path in sys.argv[3:]]
    failures = refused = 0
    for number in range(count):
        random.seed(seed * 1000003 + number)
        path = "differs-%d-%d.eventring" % (seed, number)
        with open(path, "wb") as file:
            file.write(damaged(files[number % len(files)]))
        page, found = compare.compare(path)
        if found:
            failures += 1
            print("FAILED: %s" % path, *found, sep="\n")
        else:
            refused += page.status == 2
            os.unlink(path)
    print("%d damaged files, %d refused by both, %d differ" % (count, refused, failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
