# SPDX-License-Identifier: MIT
"""format_reader.py FILE: prints the events of an .eventring file that does not
change any more, one a line, ring by ring:

    ns domain incarnation ring kind name value

Written from doc/FORMAT.md alone, without a look at the C sources: where the two
disagree, one of them is wrong.
"""
import struct
import sys

data = open(sys.argv[1], "rb").read()


def u32(at):
    return struct.unpack_from("<I", data, at)[0]


def u64(at):
    return struct.unpack_from("<Q", data, at)[0]


def text(at, size):
    return data[at:at + size].split(b"\0")[0].decode("utf-8", "replace")


# Header, status, catalogue (sections 2, 3, 6)
assert data[:8] == b"\x89EVRING\n" and u32(8) == 1 and u32(12) == 0x01020304
wsize, ring_bytes, stride = u32(36), u64(40), u64(48)
assert ring_bytes == 8 << wsize and stride == -(-2 * ring_bytes // 65536) * 65536
blocks = ring_bytes // 4096
laid_out, definitions, segments = u32(4096 + 4), u32(4096 + 8), u32(4096 + 12)
segment = [struct.unpack_from("<QQQ", data, 4096 + 32 + 32 * i) for i in range(segments)]


def to_ns(ticks):
    for from_ticks, from_ns, multiplier in reversed(segment):
        if ticks >= from_ticks:
            return from_ns + ((ticks - from_ticks) * multiplier >> 40)
    return segment[0][1]


catalogue = {}
for i in range(definitions):
    at = 65536 + i // 16 * 4096
    assert u64(at) == i // 16 + 1 and u32(at + 8) == 2
    at += 64 + i % 16 * 240
    if data[at + 2]:
        catalogue[i] = (data[at + 2], data[at + 5], text(at + 8, 96))


# Blocks (section 7)
def valid(at, sequence, head, slot, ring):
    kind, domain, of_ring, incarnation, opened = struct.unpack_from("<IHHIH", data, at + 8)
    return (u64(at) == sequence and kind == 1 and domain == slot and of_ring == ring
            and incarnation and opened <= 64 and u64(at + 40) < 512 * sequence
            and (sequence == head or u32(at + 28)))


def payload_of(form, words):
    if not words:
        return ""
    if form == 1:
        return struct.unpack("<q", struct.pack("<Q", words[0]))[0]
    if form == 2:
        return words[0]
    if form == 3:
        return struct.unpack("<d", struct.pack("<Q", words[0]))[0]
    raw = struct.pack("<%dQ" % (len(words) - 1), *words[1:])
    return raw[:words[0] & ~(1 << 63)].decode("utf-8", "replace")


def events(at):
    """(ticks, kind, id, payload words) of a block"""
    base, opened = u64(at + 32), struct.unpack_from("<H", data, at + 20)[0]
    place, end = at + 64 + 16 * opened, at + 4096
    while place < end and u64(place):
        word = u64(place)
        kind, length, number = word & 7, word >> 3 & 127, word >> 10 & 8191
        words = struct.unpack_from("<%dQ" % length, data, place + 8)
        place += 8 + 8 * length
        assert place <= end
        behind = (word >> 23) - base & (1 << 41) - 1
        if behind >> 40:
            behind -= 1 << 41
        if kind == 7:
            base = words[0] if number == 0 and length else base
        else:
            yield base + behind, kind, number, words
    assert u32(at + 28) in (0, (place - at) // 8)


kinds = {1: "begin", 2: "end", 3: "counter", 4: "event", 5: "lifecycle"}
for slot in range(laid_out):
    for ring, ring_name in enumerate(("runtime", "user")):
        head = u64(12288 + 128 * slot + 64 + 8 * ring)
        count = None
        for sequence in range(max(1, head - blocks + 1), head + 1):
            at = 2162688 + slot * stride + ring * ring_bytes + (sequence - 1) % blocks * 4096
            if not valid(at, sequence, head, slot, ring):
                continue
            assert count in (None, u64(at + 40))
            count = u64(at + 40)
            for ticks, kind, number, words in events(at):
                _, form, name = catalogue[number]
                print(to_ns(ticks), slot, u32(at + 16), ring_name, kinds[kind], name,
                      payload_of(form, words), sep="\t")
                count += 1
