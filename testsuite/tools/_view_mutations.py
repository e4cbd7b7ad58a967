# SPDX-License-Identifier: MIT
"""Pages of damaged recordings.

    _view_mutations.py EVENTRING RUNS SEED FILE...

Damages one of the files in a few places, and lets `eventring view` make a page of it: there is a
page whose sections can be read, or a message, status 1 and no file. Says what is wrong, a line
each, and leaves the file as damaged-N.eventring; the exit status is 1 then.
"""
import os
import random
import subprocess
import sys

from _view import Page

eventring, runs, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
draw = random.Random(seed)
whole = {}
for path in sys.argv[4:]:
    with open(path, "rb") as file:
        whole[path] = file.read()
OPTIONS = ([], ["--full"], ["--size", "220K"], ["--last", "0.01"], ["--domain", "0"])
MOST = {0: 1 << 20, 2: 220 << 10}


def damage(path):
    data = bytearray(whole[path])
    used = [at for at in range(0, len(data), 4096) if any(data[at:at + 4096])]
    for _ in range(draw.randrange(1, 8)):
        at = min(draw.choice(used) + draw.randrange(4096), len(data) - 8)
        word, kind = at & ~7, draw.randrange(5)
        if kind == 0:
            data[at] = draw.randrange(256)
        elif kind == 1:
            data[word:word + 8] = draw.randbytes(8)
        elif kind == 2:
            data[word:word + 8] = b"\xff" * 8
        elif kind == 3:
            data[word:word + 8] = bytes(8)
        else:
            data[at] ^= 1 << draw.randrange(8)
    if draw.random() < 0.05:
        del data[draw.randrange(len(data)):]
    with open("damaged.eventring", "wb") as file:
        file.write(data)


def look(run, option):
    """What is wrong with what the run has left; None: nothing."""
    if os.path.exists("damaged.html.partial"):
        return "left a part of a page"
    if run.returncode not in (0, 1):
        return f"status {run.returncode}"
    if not os.path.exists("damaged.html"):
        return None if run.returncode == 1 and run.stderr else "neither a page nor a message"
    page = Page("damaged.html")
    for name in page.names:
        page.section(name)
    if len(page.text) > MOST.get(option, len(page.text)):
        return f"a page of {len(page.text)} bytes"
    return None


wrong = 0
for number in range(runs):
    path, option = draw.choice(sorted(whole)), draw.randrange(len(OPTIONS))
    damage(path)
    for name in ("damaged.html", "damaged.html.partial"):
        if os.path.exists(name):
            os.remove(name)
    try:
        run = subprocess.run([eventring, "view", *OPTIONS[option], "-o", "damaged.html",
                              "damaged.eventring"], stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False,
                             timeout=30 * float(os.environ.get("TEST_SLOWNESS", "1")))
        said = look(run, option)
    except Exception as error:  # whatever it is, the run is to be looked at
        said, run = repr(error), None
    if said:
        wrong += 1
        print(f"run {number}, {path} {OPTIONS[option]}: {said}",
              run.stderr.decode(errors="replace")[-2000:] if run else "")
        os.rename("damaged.eventring", f"damaged-{number}.eventring")
sys.exit(1 if wrong else 0)
