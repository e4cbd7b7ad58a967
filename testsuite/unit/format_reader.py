# SPDX-License-Identifier: MIT
"""format_reader.py FILE: prints the events of an .eventring file that does not
change any more, one a line, ring by ring:

    ns domain incarnation ring kind name context value

Written from doc/FORMAT.md alone: where the two disagree, one of them is wrong.
"""
import struct
import sys

data = open(sys.argv[1], "rb").read()
MASK = (1 << 64) - 1


def u16(at):
    return struct.unpack_from("<H", data, at)[0]


def u32(at):
    return struct.unpack_from("<I", data, at)[0]


def u64(at):
    return struct.unpack_from("<Q", data, at)[0]


def words_of(at, count):
    return struct.unpack_from("<%dQ" % count, data, at)


def text(at, size):
    return data[at:at + size].split(b"\0")[0].decode("utf-8", "replace")


# Header and status page (sections 2 and 3)
assert data[:8] == b"\x89EVRING\n" and u32(8) == 2 and u32(12) == 0x01020304
assert (u32(16), u32(20), u32(28), u32(32), u32(36)) == (65536, 4096, 128, 8, 256)
start_ticks = u64(88)
ring_names = [text(424 + 16 * i, 16) for i in range(8)]
slots, claimed = u32(4096 + 4), u64(4096 + 8)
assert len(data) >= 65536 + 4096 * claimed


# Checksum (section 8)
def checksum(at, count):
    words = list(words_of(at, count))
    words[6] = 0
    a = sum(words) & MASK
    b = sum((count - i) * w for i, w in enumerate(words)) & MASK
    c = (a + (b << 21 | b >> 43)) & MASK
    return (c * 0x9e3779b97f4a7c15 & MASK) >> 32


def finished_is_right(at, end):
    committed = u32(at + 48)
    if not committed:
        return True
    return (committed == (end - at) // 8 and (committed == 512 or u64(end) == 0)
            and u32(at + 52) == checksum(at, committed))


# Domain table (section 6)
class Ring:
    def __init__(self, slot, index):
        at = 12288 + 256 * slot + 128 + 16 * index
        self.slot, self.index = slot, index
        self.head, self.first, self.blocks = u64(at), u32(at + 8), u32(at + 12)

    def block(self, sequence):
        return 65536 + 4096 * (self.first + (sequence - 1) % self.blocks)


rings = [Ring(slot, index) for slot in range(slots) for index in range(8)]
rings = [ring for ring in rings if ring.blocks]

# Records (section 5)
records = {}
in_rings = set()
for ring in rings:
    in_rings.update(range(ring.first, ring.first + ring.blocks))
for block in range(claimed):
    at = 65536 + 4096 * block
    if block in in_rings or not u64(at):
        continue
    kind, place = u16(at + 8), at + 64
    while place < at + 4096 and u64(place):
        head = u64(place)
        size = head & 0xffff
        assert size and place + 8 * size <= at + 4096
        records.setdefault(kind, []).append(
            (u64(at), head >> 16 & 0xffff, head >> 32, place + 8, size - 1))
        place += 8 * size
    assert finished_is_right(at, place), "block of records"
for kind in records:
    records[kind].sort(key=lambda record: (record[0], record[3]))
    assert len(records[kind]) + u64(4096 + 512 + 16 * kind + 8) >= u64(4096 + 512 + 16 * kind)

catalogue = {}
for _, of, number, at, size in records.get(2, ()):
    if of == 1 and number not in catalogue:
        bytes_of = struct.unpack_from("<4H", data, at + 16)
        catalogue[number] = (data[at], data[at + 3], data[at + 24:at + 24 + bytes_of[0]].decode(),
                             u64(at + 8))
segments = [words_of(at, 3) for _, of, _, at, _ in records[7] if of == 1]
lives = len(records.get(6, ()))


def to_ns(ticks):
    for from_ticks, from_ns, multiplier in reversed(segments):
        if ticks >= from_ticks:
            return from_ns + ((ticks - from_ticks) * multiplier >> 40)
    return segments[0][1]


# Event blocks (section 7)
def value_of(form, words, at):
    if form == 1:
        return struct.unpack("<q", struct.pack("<Q", words[0]))[0]
    if form == 2:
        return words[0]
    if form == 3:
        return struct.unpack("<d", struct.pack("<Q", words[0]))[0]
    size = words[0] & ~(1 << 63)
    value = data[at + 8:at + 8 + size]
    return value.decode("utf-8", "replace") if form == 4 else value.hex()


roles = {1: "begin", 2: "end", 3: "step"}


def payload_of(kind, form, words, at):
    if kind == 6:
        return "%s of %d" % (roles[words[1]], words[0])
    if not words:
        return ""
    if form == 6:
        result, place = [], 1
        for i in range(words[0] & 15):
            of = words[0] >> 4 + 4 * i & 15
            result.append(str(value_of(of, words[place:], at + 8 * place)))
            place += 1 if of <= 3 else 1 + ((words[place] & ~(1 << 63)) + 7) // 8
        return ",".join(result)
    return value_of(form if 1 <= form <= 5 else 2, words, at)


def events(at, ring):
    """(ticks, kind, id, payload words, their place, incarnation, context) of a block, and
    its end"""
    base, context, incarnation = u64(at + 24), u64(at + 32), u32(at + 40)
    place, found = at + 64 + 32 * u16(at + 14), []
    while place < at + 4096 and u64(place):
        word = u64(place)
        kind, length, number = word & 7, word >> 3 & 127, word >> 10 & 8191
        words = words_of(place + 8, length)
        behind = (word >> 23) - base & (1 << 41) - 1
        if behind >> 40:
            behind -= 1 << 41
        assert kind and place + 8 + 8 * length <= at + 4096
        if kind != 7:
            found.append((base + behind, kind, number, words, place + 8, incarnation, context))
        elif number == 0:
            base = words[0]
        elif number == 1:
            context = words[0]
        elif number == 3 and length:
            context = words[0]
        elif number == 4:
            incarnation, context = words[0] if length else incarnation + 1, 0
        place += 8 + 8 * length
    return found, place


def valid(at, sequence, ring):
    if not (u64(at) == sequence and u16(at + 8) == 1 and u16(at + 10) == ring.slot
            and data[at + 12] == ring.index and u32(at + 40) and u16(at + 14) <= 64
            and u64(at + 16) < 512 * sequence and u64(at + 24) >= start_ticks):
        return False
    _, end = events(at, ring)
    return (u32(at + 48) or sequence == ring.head) and finished_is_right(at, end)


kinds = {1: "begin", 2: "end", 3: "counter", 4: "event", 5: "lifecycle", 6: "linked"}
for ring in rings:
    count = None
    for sequence in range(max(1, ring.head - ring.blocks + 1), ring.head + 1):
        at = ring.block(sequence)
        if not valid(at, sequence, ring):
            continue
        assert count is None or count <= u64(at + 16)
        count = u64(at + 16)
        found, _ = events(at, ring)
        for ticks, kind, number, words, place, incarnation, context in found:
            _, form, name, since = catalogue.get(number, catalogue[6])
            if ticks < since:
                _, form, name, since = catalogue[6]
            print(to_ns(ticks), ring.slot, incarnation, ring_names[ring.index], kinds[kind], name,
                  context, payload_of(kind, form, words, place), sep="\t")
        count += len(found)
