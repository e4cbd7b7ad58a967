# SPDX-License-Identifier: MIT
"""make figures [AWFY=FOLDER] [FIGURES_MB=1000] [ROUNDS=5]: takes the figures in short of
doc/PERFORMANCE.md again, and prints their table.

    figures.py BUILD-DIR SOURCE-DIR [--awfy=FOLDER] [--megabytes=N] [--rounds=N] [--only=WORD]

Runs the benches that the table names, one after the other, and takes from what they print the
medians. Above the table stands what the ratios depend on: how long a pair of clock reads takes on
this machine, and, where valgrind is installed, how many instructions spans take. A row whose
bench cannot run says why. Nothing else should be running.
"""
import json
import os
import re
import shutil
import subprocess
import sys

options = dict(word[2:].split("=", 1) for word in sys.argv[1:] if word.startswith("--"))
build, source = (os.path.abspath(word) for word in sys.argv[1:] if not word.startswith("--"))
rounds = options.get("rounds", "5")
saros, bench = f"{build}/saros", f"{source}/testsuite/bench"


class Unavailable(Exception):
    """A bench cannot run: why."""


def output(*command, **environment):
    """What a bench prints. Its exit status is not 0 when it misses one of its own bars."""
    done = subprocess.run(command, capture_output=True, text=True, cwd=build,
                          env=os.environ | environment)
    if not done.stdout.strip():
        raise Unavailable((done.stderr.strip() or f"status {done.returncode}").splitlines()[-1])
    return done.stdout


def probes():
    """The rows of eventring_bench, by table and name: {"median": ns, "median_ratio": ...}."""
    rows = {}
    for part in ("probes", "children"):
        command = [f"{build}/testsuite/bench/eventring_bench", "--json", f"--rounds={rounds}",
                   f"--only={part}", f"--saros={saros}", f"--folder={bench}"]
        loop = f"{build}/testsuite/bench/lttng_loop"
        if os.access(loop, os.X_OK):
            command.append(f"--lttng={loop}")
        for row in json.loads(output(*command)):
            rows.setdefault(row["name"], row)
    return rows


def instructions(body):
    """Of one run of the body of a loop in Lua: what 20,000 more of them add, by callgrind."""
    if not shutil.which("valgrind"):
        raise Unavailable("no valgrind (Debian package: valgrind)")
    counts = []
    for count in (20000, 40000):
        program = f"local e = require 'saros.eventring' local b, s = e.begin_span, e.end_span " \
                  f"for i = 1, {count} do {body} end"
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", saros, "-e",
             program], capture_output=True, text=True, cwd=build, env=os.environ | {
                "SAROS_HASH_SEED": "1", "SAROS_EVENTRING_START": "1",
                "SAROS_EVENTRING_PREFIX": "/tmp", "SAROS_EVENTRING_PRESERVE": "0"})
        found = re.search(r"Collected : (\d+)", done.stderr)
        if not found:
            raise Unavailable(done.stderr.strip().splitlines()[-1])
        counts.append(int(found.group(1)))
    return (counts[1] - counts[0]) / 20000


def awfy():
    folder = options.get("awfy") or None
    if not folder:
        raise Unavailable("AWFY=FOLDER not given")
    text = output("bash", f"{bench}/awfy.sh", f"--saros={saros}", f"--rounds={rounds}", folder)
    return text


def mean_of_awfy(text, what):
    """A geometric mean: of the minima, and of the medians, which is what the table has."""
    found = re.search(rf"^ +{what} +[\d.]+ +([\d.]+)$", text, flags=re.M)
    if not found:
        raise Unavailable(f"awfy.sh printed no line '{what}'")
    return f"{float(found.group(1)):.2f}"


def sampled():
    text = output("bash", f"{bench}/memprof.sh", f"--saros={saros}", f"--rounds={rounds}", "sample")
    found = re.search(r"into the recording, with its death +[\d.-]+ +([\d.-]+)", text)
    return f"{float(found.group(1)):.0f} ns"


def profile():
    text = output(f"{build}/testsuite/bench/profile_bench", "200")
    one = re.search(r"one callee +[\d.]+ +([\d.]+)", text).group(1)
    many = re.search(r"32 callees +[\d.]+ +([\d.]+)", text).group(1)
    return f"{one}; {many}"


def answers_text():
    if "answers" not in taken:
        taken["answers"] = output("bash", f"{bench}/answers.sh", options.get("megabytes", "1000"),
                                  rounds, BUILDDIR=build)
    return taken["answers"]


def worst():
    found = re.search(r"^worst: (.*)$", answers_text(), re.MULTILINE)
    if not found:
        raise Unavailable("no row of a kind of events")
    return found[1]


def answers():
    text = answers_text()
    times = {line.split()[0]: line.split()[3] for line in text.splitlines()
             if line.split() and line.split()[0] in ("stats", "spans", "pauses")}
    return "; ".join(times[name] for name in ("stats", "spans", "pauses"))


def ratio(name):
    def row():
        if name not in rows:
            raise Unavailable("not among the rows of eventring_bench")
        return f"{rows[name]['median_ratio']:.2f}"
    return row


def off():
    return f"{rows['disabled span']['median_over']:.2f} ns"


def lttng():
    found = [row for name, row in rows.items() if "racepoints" in name and "off" not in name]
    if not found:
        raise Unavailable("no LTTng-UST (Debian packages: liblttng-ust-dev, lttng-tools)")
    return " to ".join(sorted(f"{row['median_ratio']:.1f}" for row in found))


TABLE = [
    ("are-we-fast-yet's 14 Lua programs, run time against `lua5.4`, geometric mean",
     "make bench AWFY=FOLDER", lambda: mean_of_awfy(awfy_text(), "off / reference")),
    ("the same, recorded against not recorded", "the same",
     lambda: mean_of_awfy(awfy_text(), "on / off")),
    ("a span from C (begin and end) against two bare clock reads", "make bench-eventring",
     ratio("enabled span")),
    ("`begin_span` and `end_span` from Lua against the same", "the same",
     ratio("begin_span and end_span")),
    ("a span from C that is off", "the same", off),
    ("a sampled allocation, 10 frames deep, into the recording with its heap profile",
     "make bench-memprof", sampled),
    ("the profile of calls: entry and exit of a function against two bare clock reads, one "
     "callee; 32 callees", "make bench-profile", profile),
    ("`eventring stats`, `spans` and `pauses` of a recording against `cat` of it",
     "make bench-answers", answers),
    ("processor time of `stats` or `spans` for an event, in the slowest kind of recordings",
     "the same", worst),
    ("two tracepoints of LTTng-UST against two bare clock reads", "make bench-eventring", lttng),
]

taken = {}


def awfy_text():
    if "awfy" not in taken:
        taken["awfy"] = awfy()
    return taken["awfy"]


def value(of):
    try:
        return of()
    except Unavailable as why:
        return f"not taken: {why}"


def per_loop(body):
    return f"{instructions(body) - instructions('') :.0f}"


def conditions():
    pair = rows["pair of bare clock reads"]["median"]
    print(f"A pair of clock reads takes {pair:.1f} ns.")
    in_lua = value(lambda: per_loop("b'x' s'x'"))
    print(f"Instructions of `begin_span` and `end_span` from Lua, without the loop: {in_lua}.\n")


rows = probes()
conditions()
print("| what | result | command |\n|---|---|---|")
for what, command, of in TABLE:
    if options.get("only", "") in what:
        shown = command if command == "the same" else f"`{command}`"
        print(f"| {what} | {value(of)} | {shown} |", flush=True)
