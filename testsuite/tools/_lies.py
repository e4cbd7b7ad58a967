#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""_lies.py FOLDER SEED COUNT: answers to `eventring retain` that are wrong, a file each.

Those named bad_* are not valid, those named good_* are; of the others, which are mutations of
a valid one, nobody says."""
import os
import random
import sys

folder, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
TOTAL = b"total\t3\t400\t0\t1000\t10\n"
KIND = b"kind\t2\t300\t1\ttable Session\n"
HELD = b"held\t2\t300\t3\t_G.KEPT[1]\t_G.KEPT[*]\n"
SITE = b"site\t1\t100\t0\tmain (a.lua:3)\n"
WAY = b"way\t2\t2\t300\t3\t_G.MORE[1]\t_G.MORE[*]\n"
CUT = b"cut\t3\t4\t5\t6\n"


def lines(*parts, head=b"retain\t2\n", total=TOTAL, end=b"end\n"):
    return head + total + b"".join(parts) + end


valid = lines(KIND, HELD, HELD, SITE, HELD, WAY, CUT)
answers = {
    "good_all": valid,
    "good_empty": lines(),
    "good_unknown_lines": lines(b"later\t1\n", KIND, b"\n", b"\t\t\t\t\t\t\t\t\t\n", HELD),
    "good_largest_numbers": lines(
        KIND.replace(b"300", b"18446744073709551615"),
        HELD.replace(b"300", b"18446744073709551615"),
        total=TOTAL.replace(b"400", b"18446744073709551615")),
    "good_texts": lines(KIND.replace(b"Session", b"\x1b[2J\xff\xfe\x80\r" + b"x" * 5000),
                        HELD.replace(b"KEPT", "\u202e\u2028é".encode() + b"\x7f\xc3(" * 300)),
    "good_empty_texts": lines(b"kind\t1\t1\t0\t\n", b"held\t1\t1\t0\t\t\n"),
    "good_without_more": lines(KIND, HELD, HELD, SITE, HELD),
    "good_largest_cut": lines(KIND, CUT.replace(b"4", b"18446744073709551615")),
    "good_many_ways": lines(KIND, SITE, *[WAY] * 100000),
    "good_repeats": lines(*[KIND, HELD] * 500),
    "bad_nothing": b"",
    "bad_end_alone": b"\nend\n",
    "bad_no_head": lines(KIND, HELD, head=b""),
    "bad_version": lines(KIND, HELD, head=b"retain\t3\n"),
    "bad_head": lines(KIND, HELD, head=b"retain\t2\t2\n"),
    "bad_no_total": lines(KIND, HELD, total=b""),
    "bad_two_totals": lines(TOTAL),
    "bad_total_is_short": lines(total=b"total\t1\t2\t3\t4\n"),
    "bad_total_is_long": lines(total=b"total\t1\t2\t3\t4\t5\t6\n"),
    "bad_total_comes_late": lines(KIND, total=b"") .replace(b"end\n", TOTAL + b"end\n"),
    "bad_holder_of_nothing": lines(HELD, KIND),
    "bad_way_of_nothing": lines(WAY),
    "bad_way_of_0": lines(KIND, WAY.replace(b"way\t2", b"way\t0")),
    "bad_way_of_another": lines(KIND, WAY),
    "bad_way_is_short": lines(KIND, SITE, b"way\t2\t2\t300\t3\t_G\n"),
    "bad_two_cuts": lines(CUT, CUT),
    "bad_cut_is_short": lines(b"cut\t1\t2\n"),
    "bad_kind_is_short": lines(b"kind\t1\t1\t0\n"),
    "bad_kind_alone": lines(b"kind\n", b"held\n"),
    "bad_negative": lines(KIND.replace(b"300", b"-300")),
    "bad_overflow": lines(KIND.replace(b"300", b"18446744073709551616")),
    "bad_number": lines(KIND.replace(b"300", b"0x300")),
    "bad_empty_number": lines(KIND.replace(b"300", b"")),
    "bad_blank_number": lines(KIND.replace(b"300", b" 300")),
    "bad_byte_0": lines(KIND.replace(b"Session", b"Ses\0ion"), HELD),
    "bad_byte_0_first": b"\0" + valid,
    "bad_cut": valid[:-1],
    "bad_no_end": lines(KIND, HELD, end=b""),
    "bad_many_kinds": lines(*[KIND] * 100000),
    "bad_many_holders": lines(KIND, *[b"held\t1\t1\t1\ta\ta\n"] * 600000),
    "bad_long": lines(KIND) + b"x" * (20 << 20) + b"\nend\n",
}


def mutate(draw):
    text = bytearray(valid * draw.choice([1, 1, 3]))
    for _ in range(draw.randint(1, 8)):
        at = draw.randrange(len(text))
        what = draw.randrange(5)
        if what == 0:
            text[at] = draw.randrange(256)
        elif what == 1:
            del text[at:at + draw.randint(1, 20)]
        elif what == 2:
            text[at:at] = text[draw.randrange(len(text)):][:draw.randint(1, 200)]
        elif what == 3:
            text[at:at] = draw.choice([b"\t", b"\n", b"\t\t", b"\nend\n", b"99999999999999999999"])
        else:
            text[at:at] = bytes(draw.randrange(256) for _ in range(draw.randint(1, 30)))
        if not text:
            text = bytearray(b"x")
    if draw.random() < 0.8:
        text += b"\nend\n"
    return bytes(text)


draw = random.Random(seed)
for i in range(count):
    answers[f"mutated_{seed}_{i}"] = mutate(draw)
for name, answer in answers.items():
    with open(os.path.join(folder, name), "wb") as file:
        file.write(answer)
