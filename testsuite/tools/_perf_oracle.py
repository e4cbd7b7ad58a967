# SPDX-License-Identifier: MIT
"""Samples as the versions and the fields (-F) of perf script print them, at random, and what
a merge with a recording must make of them: the oracle of test_perf_random.sh.

    _perf_oracle.py SEED DUMP SHOW TEXT EXPECTED

Prints the event that alone is to be counted, or nothing.

DUMP and SHOW are a recording by `eventring dump --json` and `show --json`. TEXT gets the
samples, EXPECTED lines "STACK COUNT" as `--to folded` prints them, sorted.
"""
import collections
import json
import random
import sys

COMMS = ["saros", "a program", "sa ros 12", "K 5", "[kworker/0]", ":4711", "x.y:", "perf-exec"]
SYMBOLS = ["main", "add", "fade", "operator<(int, long)", "std::map<int (*)(char)>::find(int const&)",
           "foo.constprop.0", "__memcmp_evex_movbe", "pthread_mutex_lock@@GLIBC_2.2.5", "a+0x", "[unknown]"]
FILES = ["/usr/bin/saros", "/usr/lib/x86_64-linux-gnu/libc.so.6", "/opt/my app (x86)/lib a.so",
         "/tmp/perf-12.map", "[kernel.kallsyms]", "[vdso]", "[unknown]", "/tmp/gone (deleted)", "//anon"]
EVENTS = ["cpu-clock", "cpu-clock:pppH", "task-clock:u", "cycles", "cpu_core/cycles/", "page-faults",
          "sched:sched_switch"]


class Recording:
    """The spans that each domain had open, event by event."""

    def __init__(self, dump, show):
        self.lives = []  # of domains: tid, and (ns, stack) from each event on
        lives = {}
        for domain in show["domains"]:
            for life in domain["lives"]:
                steps = []
                lives[domain["domain"], life["incarnation"]] = steps
                self.lives.append((life["tid"], steps))
        open_spans = collections.defaultdict(list)
        for event in dump:
            key = event["domain"], event["incarnation"]
            spans = open_spans[key]
            of = event["ring"], event.get("context", 0)
            if event["kind"] == "begin":
                spans.append((of, event["name"]))
            elif event["kind"] == "end":
                mine = [i for i, span in enumerate(spans) if span[0] == of]
                del spans[mine[-1]]
            lives[key].append((event["ns"], tuple(name for _, name in spans)))
        self.start = min(steps[0][0] for _, steps in self.lives)
        self.end = max(steps[-1][0] for _, steps in self.lives)
        self.pid = next(e["value"] for e in dump if e["name"] == "recorder_start")

    @staticmethod
    def stack_at(steps, ns):
        stack = None
        for at, now in steps:
            if at > ns:
                break
            stack = now
        return stack


class Form:
    """What perf script was asked to print."""

    def __init__(self, rng):
        self.rng = rng
        self.chain = rng.random() < 0.6
        self.pid = rng.random() < 0.5
        self.cpu = rng.random() < 0.5
        self.misc = rng.random() < 0.3
        self.event = rng.random() < 0.8
        self.period = self.event and rng.random() < 0.7
        self.address = self.event and rng.random() < 0.3
        self.offset = rng.random() < 0.7
        self.file = rng.random() < 0.8
        self.file_offset = self.file and rng.random() < 0.2
        self.lines = rng.random() < 0.3
        self.ns = rng.random() < 0.7
        self.others = rng.random() < 0.3  # lines of other records
        self.events = rng.sample(EVENTS, rng.choice([1, 1, 2, 3]))
        self.written = None  # event of the last sample
        self.wanted = ""
        if self.event and rng.random() < 0.5:
            self.wanted = rng.choice(self.events)
            if rng.random() < 0.5 and self.wanted != "sched:sched_switch":
                self.wanted = self.wanted.split(":")[0]  # with any modifiers

    def is_wanted(self):
        return not self.wanted or self.written == self.wanted or (
            self.written.split(":")[0] == self.wanted and self.written != "sched:sched_switch")

    def time(self, ns):
        return ns if self.ns else ns // 1000 * 1000

    def head(self, comm, pid, tid, ns):
        rng = self.rng
        text = comm if self.chain else "%16s" % comm
        text += " %5d/%-5d" % (pid, tid) if self.pid else " %5d" % tid
        if self.cpu:
            text += " [%03d]" % rng.randrange(1100)
        if self.misc:
            text += " %-5s" % rng.choice(["U", "K", "", "GU", "?"])
        fraction = ns % 10**9 if self.ns else ns % 10**9 // 1000
        text += " %5d.%0*d: " % (ns // 10**9, 9 if self.ns else 6, fraction)
        if self.period:
            text += "%10d " % rng.randrange(1, 10**6)
        if self.event:
            self.written = rng.choice(self.events)
            text += self.written + ": "
        if self.address:
            text += " %16x" % rng.choice([0, rng.randrange(1, 2**64)])
        return text

    def frame(self, symbol, file):
        """The text, and how the frame is shown; None: it is not."""
        address = self.rng.randrange(16, 2**self.rng.choice([12, 40, 64]))
        text = "%16x %s" % (address, symbol)
        shown = symbol
        if self.offset and symbol != "[unknown]":
            text += "+0x%x" % self.rng.randrange(2**20)
        inlined = self.chain and self.rng.random() < 0.1 and symbol != "[unknown]"
        if inlined:
            return "%16x %s (inlined)" % (address, symbol), symbol + " (inlined)"
        if self.file:
            bare = file.startswith("[") or not self.file_offset
            text += " (%s)" % (file if bare else file + "+0x%x" % address)
        else:
            file = ""
        if symbol == "[unknown]" and file in ("", "[unknown]"):
            return text, None
        base = file.split("/")[-1].removesuffix(" (deleted)")
        return text, "%s (%s)" % (shown, base) if base else shown


def write_sample(form, out, comm, pid, tid, ns):
    """Returns its frames as they are shown, the outermost first."""
    rng = form.rng
    out.write(form.head(comm, pid, tid, ns))
    if not form.chain:
        while True:
            symbol, file = rng.choice(SYMBOLS), rng.choice(FILES)
            text, shown = form.frame(symbol, file)
            # an address behind another one, of a function whose name is a hexadecimal number
            # and that has no file, may be either
            if not (form.address and symbol in ("add", "fade")):
                break
        out.write(" %s\n" % text)
        if form.lines:
            out.write("  saros.c:%d\n" % rng.randrange(1000))
        return [shown] if shown else []
    out.write("\n")
    frames = []
    for _ in range(rng.randrange(6)):
        text, shown = form.frame(rng.choice(SYMBOLS), rng.choice(FILES))
        out.write("\t%s\n" % text)
        if form.lines:
            out.write("  add.c:%d\n" % rng.randrange(1000))
        if shown:
            frames.insert(0, shown)
    out.write("\n")
    return frames


def write_other(form, out, comm, pid, tid, ns):
    out.write("%s%s %5d %s: %s\n" % (
        "" if form.chain else "   ", comm, tid, "%d.%09d" % (ns // 10**9, ns % 10**9), form.rng.choice([
            "PERF_RECORD_MMAP2 %d/%d: [0x7f00(0x1000) @ 0 fe:00 1 2]: r-xp /usr/bin/saros" % (pid, tid),
            "PERF_RECORD_SWITCH OUT preempt next pid/tid: 0/0", "PERF_RECORD_LOST lost 12"])))


def main():
    seed, dump, show, text, expected = sys.argv[1:]
    rng = random.Random(int(seed))
    with open(dump) as file:
        events = [json.loads(line) for line in file]
    with open(show) as file:
        recording = Recording(events, json.load(file))
    form = Form(rng)
    counts = collections.Counter()
    with open(text, "w") as out:
        if rng.random() < 0.3:
            out.write("# ========\n# captured on: some day\n# ========\n#\n")
        for _ in range(300):
            comm = rng.choice(COMMS)
            tid, steps = rng.choice(recording.lives)
            ns = form.time(rng.choice([
                rng.randrange(steps[0][0] + 1000, steps[-1][0] + 1), rng.choice(steps)[0] + 1000]))
            if ns > steps[-1][0]:
                continue
            spans = recording.stack_at(steps, ns)
            pid = recording.pid
            kind = rng.randrange(10)
            if kind == 0:  # of another process
                pid, tid, spans = 1, 1, None
            elif kind == 1:  # of a thread that is no domain
                tid = 2**22 + 1
                spans = () if form.pid else None
            elif kind == 2 and form.others:
                write_other(form, out, comm, pid, tid, ns)
                continue
            frames = write_sample(form, out, comm, pid, tid, ns)
            if spans is not None and form.is_wanted():
                counts[tuple(spans) + tuple(frames) or ("(no native frames)",)] += 1
    print(form.wanted)
    with open(expected, "w") as out:
        for line in sorted("%s %d" % (";".join(stack).replace("\n", " "), count)
                           for stack, count in counts.items()):
            out.write(line + "\n")


main()
