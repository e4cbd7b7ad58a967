# SPDX-License-Identifier: MIT
"""Hostile texts for test_foreign_text.sh.

_foreign_text.py write FILE      a recording whose names, texts and payloads are all hostile
_foreign_text.py name SIZE AT    hostile bytes, which a file's name or an argument may have
_foreign_text.py check FOLDER    are the outputs free of what a terminal must not get?
_foreign_text.py commands FILE   the names in commands.def

What is hostile is listed here again, not taken from the library.
"""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "format"))
import mutate
import producer
import reader

CHARACTERS = (list(range(1, 32)) + list(range(127, 160)) + [0x61C, 0x200E, 0x200F, 0x2028, 0x2029]
              + list(range(0x202A, 0x202F)) + list(range(0x2066, 0x206A))
              + [0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF, 0xFFF9, 0xFFFA, 0xFFFB, 0xE0041])
INVALID = [b"\x9b31m", b"\x9d0;t\x9c", b"\xc0\x9b", b"\xe0\x82\x9b", b"\xf0\x80\x82\x9b", b"\xc2",
           b"\xe2\x80", b"\xf3\xa0\x81", b"\xed\xa0\x80", b"\xff\xfe", b"\xf4\x90\x80\x80"]
# the sequences of terminals, then the code points one by one, then what is not UTF-8
PIECES = ([b"\x1b[31m", b"\x1b]0;t\x07", "\x9b2J".encode()] + [chr(c).encode() for c in CHARACTERS]
          + INVALID)
PLACEHOLDER = "h"
LOSSLESS = "".join(map(chr, CHARACTERS))  # JSON has it as it was


def hostile(size, at):
    """`size` bytes of all that is hostile, from the at-th piece on, with letters between."""
    text = b""
    while len(text) < size:
        text += b"x" + PIECES[at % len(PIECES)]
        at += 1
    return text[:size]


def write(path):
    """Placeholders first, then hostile bytes in their place."""
    recording = producer.Recording()
    producer.RINGS = producer.CLASSES = []
    producer.PRESENT_LIVES = [(0, 1, PLACEHOLDER * 47)]
    recording.segment(producer.START_TICKS, producer.START_NS, 1 << 40)
    ring = producer.Ring(recording, 0, 1)
    ticks = producer.START_TICKS + 10
    recording.life(1, 0, 1, ticks, PLACEHOLDER * 47)
    for i in range(30):
        kind, payload = ((1, 0), (2, 1), (3, 4), (3, 6), (3, 5), (5, 0))[i % 6]
        recording.define(16 + i, kind, "%02d" % i + PLACEHOLDER * 90, payload=payload,
                         event_class=i % 8, unit=PLACEHOLDER * 23, doc=PLACEHOLDER * 100,
                         fields=PLACEHOLDER * 40 + "," + PLACEHOLDER * 40)
        text = producer.text_words(PLACEHOLDER.encode() * (40 + i))
        if kind == 1:
            ring.begin(16 + i, ticks)
            if i % 4:
                ring.end(16 + i, ticks + 5)
        elif kind == 2:
            ring.event(producer.COUNTER, 16 + i, ticks, (i,))
        elif kind == 5:
            ring.event(producer.LINKED, 16 + i, ticks, (i, 1))
            ring.event(producer.LINKED, 16 + i, ticks + 1, (i, 2))
        elif payload == 6:
            ring.event(producer.EVENT, 16 + i, ticks, (2 | 4 << 4 | 5 << 8,) + text + text)
        else:
            ring.event(producer.EVENT, 16 + i, ticks, text)
        ticks += 100
    ring.next_incarnation(ticks)                     # a domain that only the table may name
    ring.event(producer.COUNTER, 17, ticks + 5, (1,))
    recording.define(50, 3, "lossless", payload=4)
    ring.event(producer.EVENT, 50, ticks + 6, producer.text_words(LOSSLESS.encode()))
    for each in recording.rings + list(recording.records.values()):
        each.finish()
    front = bytearray(producer.front(recording, "dead", ticks + 10))
    for i in range(72):                              # of rings and classes
        front[424 + 16 * i:439 + 16 * i] = PLACEHOLDER.encode() * 15
    front[168:423] = PLACEHOLDER.encode() * 255
    data = front + b"".join(reader.bytes_of(words) for words in recording.blocks)
    places = []

    def replace(match):
        places.append(match.start())
        return hostile(len(match.group()), 7 * len(places))

    damage = mutate.Damage(re.sub(b"h{15,}", replace, bytes(data)))
    damage.seal()
    with open(path, "wb") as file:
        file.write(damage.data)


def what_is_wrong(what, raw):
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return "not UTF-8: %r" % raw[max(0, error.start - 60):error.end + 9]
    for at, character in enumerate(text):
        if character == "\n" or text[at - 1:at + 1] == "\n\t":  # lines of a traceback
            continue
        if ord(character) in CHARACTERS or character == "\0":
            return "U+%04X in %r" % (ord(character), text[max(0, at - 60):at + 20])
    if "--json" in what:
        values = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
        if "dump" in what and values:
            found = [value["value"] for value in values if value.get("name") == "lossless"]
            if not found or found != [LOSSLESS] * len(found):  # of a merge: several
                return "not what was recorded: %r" % found
    return None


def check(folder):
    """Each output, and beside it the command."""
    failures = 0
    for name in os.listdir(folder):
        if name.endswith(".command"):
            continue
        with open(os.path.join(folder, name + ".command"), encoding="utf-8", errors="backslashreplace") as file:
            what = file.read()
        with open(os.path.join(folder, name), "rb") as file:
            wrong = what_is_wrong(what, file.read())
        if wrong:
            failures += 1
            print(ascii("FAILED: %s: %s" % (what, wrong)))
    sys.exit(1 if failures else 0)


def main():
    what, *rest = sys.argv[1:]
    if what == "write":
        write(*rest)
    elif what == "name":
        name = hostile(int(rest[0]), int(rest[1])).replace(b"/", b"_").replace(b"\0", b"_")
        sys.stdout.buffer.write(name)
    elif what == "check":
        check(*rest)
    else:
        with open(rest[0], encoding="utf-8") as file:
            print(*re.findall(r"^COMMAND\((\w+),", file.read(), re.M))


if __name__ == "__main__":
    main()
