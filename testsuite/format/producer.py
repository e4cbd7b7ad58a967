# SPDX-License-Identifier: MIT
"""producer.py MODE FILE: writes FILE, and FILE.expected with what a reader is to print of it.

Written from doc/FORMAT.md alone. The file has what the real library writes seldom or never:
blocks, records, remarks and payloads of kinds that no reader knows, ids without a definition,
times further apart than a word tells, hundreds of open spans, more lives of domains than their
blocks hold. MODE is how the recording came to its end:

    ended     in an orderly way
    dead      killed
    dying     killed while it began a block
    damage    like ended, and a block in the middle of a ring has a wrong bit
    copy      copied while it ran, with a block missing

It is one long file as readers of FORMAT.md are to find a whole producer in one place.
"""
import json
import struct
import sys

MODES = ("ended", "dead", "dying", "damage", "copy")
WORD = (1 << 64) - 1
BLOCK_WORDS = 512
START_TICKS = (1 << 41) * 57 - 3000      # so that the low 41 bits turn over early
START_NS = 48_000_000_000_000
FAR = 1 << 42                            # further than an event word tells
BEGIN, END, COUNTER, EVENT, LIFECYCLE, LINKED, REMARK = range(1, 8)
KIND_NAMES = {BEGIN: "begin", END: "end", COUNTER: "counter", EVENT: "event",
              LIFECYCLE: "lifecycle", LINKED: "linked"}
REBASE, CONTEXT, SUSPEND, RESUME, INCARNATION = range(5)
CLASSES = ["lifecycle", "gc", "domain", "user", "load", "calls", "alloc", "io"]
RINGS = ["runtime", "user", "alloc", "calls"]
PRESENT_LIVES = [(0, 1, "main"), (1, 39, "renamed"), (2, 9, "one of many")]  # in the table


def checksum(words, left_out=(6,)):
    words = [0 if i in left_out else word for i, word in enumerate(words)]
    a = b = 0
    for word in words:
        a = (a + word) & WORD
        b = (b + a) & WORD             # n - i times word i
    c = (a + ((b << 21 | b >> 43) & WORD)) & WORD
    return (c * 0x9E3779B97F4A7C15 & WORD) >> 32


def double_bits(value):
    return struct.unpack("<Q", struct.pack("<d", value))[0]


def text_words(raw, is_cut=False):
    padded = raw + bytes(-len(raw) % 8)
    words = struct.unpack("<%dQ" % (len(padded) // 8), padded)
    return (len(raw) | is_cut << 63,) + words


def hex_of(words):
    return {"hex": struct.pack("<%dQ" % len(words), *(word & WORD for word in words)).hex()}


# ---- Blocks and records ----------------------------------------------------------------------


class Recording:
    def __init__(self):
        self.blocks = []       # lists of words
        self.records = {}      # by kind
        self.rings = []
        self.segments = []     # those that are valid
        self.definitions = {}  # id: (name, class, registered at)
        self.switches = []     # (ticks, classes, until)
        self.named = []        # lives: (sequence of the block, slot, incarnation, name)
        self.starts = {}       # of lives: ticks, by slot and incarnation

    def claim(self, count):
        first = len(self.blocks)
        self.blocks += [[0] * BLOCK_WORDS for _ in range(count)]
        return first

    def record(self, kind, of_type, number, body):
        if kind not in self.records:
            self.records[kind] = Records(self, kind, budget={6: 64, 16: 2}.get(kind, 1000))
        self.records[kind].add(of_type, number, body)

    def segment(self, from_ticks, from_ns, multiplier, is_valid=True):
        self.record(7, 1, 0, struct.pack("<3Q", from_ticks, from_ns, multiplier))
        if is_valid:
            self.segments.append((from_ticks, from_ns, multiplier))

    def segment_of(self, ticks):
        return [s for s in self.segments if s[0] <= ticks][-1]

    def ns(self, ticks):
        from_ticks, from_ns, multiplier = self.segment_of(ticks)
        return from_ns + ((ticks - from_ticks) * multiplier >> 40)

    def define(self, id, kind, name, payload=0, event_class=3, unit="", fields="", doc="",
               since=0, shown=None, measure=0, quantity=0):
        texts = [text.encode() for text in (name, unit, doc, fields)]
        body = struct.pack("<8BQ4H", kind, event_class, 1, payload,
                           1 if kind == 2 else measure, quantity, 0,
                           0, since, *map(len, texts))
        self.record(2, 1, id, body + b"".join(texts))
        self.definitions.setdefault(id, (shown or name, event_class, since))

    def life(self, of_type, slot, incarnation, ticks, name=None):
        body = struct.pack("<IiQ", incarnation, 100 + slot if of_type == 1 else 0, ticks)
        if name is not None:
            body += struct.pack("<Q", len(name.encode())) + name.encode()
        self.record(6, of_type, slot, body)
        if of_type == 1:
            self.starts[slot, incarnation] = ticks
        if name is not None:
            self.named.append((len(self.records[6].places), slot, incarnation, name))

    def names(self):
        """Of lives, by slot and incarnation, as far as records or the table have them."""
        names = {(slot, incarnation): name for slot, incarnation, name in PRESENT_LIVES}
        oldest = len(self.records[6].places) - self.records[6].budget + 1
        for sequence, slot, incarnation, name in self.named:
            if sequence >= oldest:
                names[slot, incarnation] = name
        return names


class Records:
    """Of one kind."""

    def __init__(self, recording, kind, budget):
        self.recording = recording
        self.kind = kind
        self.budget = budget
        self.places = []       # blocks of the file, by sequence
        self.count = 0         # records written, and
        self.dropped = 0       # of these, those whose block was used again
        self.counts = []       # `before` of each block
        self.at = BLOCK_WORDS

    def begin_block(self):
        if self.places:
            self.finish()
        sequence = len(self.places) + 1
        if sequence > self.budget:
            place = self.places[sequence - self.budget - 1]
            gone = sequence - self.budget - 1
            self.dropped += self.counts[gone + 1] - self.counts[gone]
        else:
            place = self.recording.claim(1)
        self.places.append(place)
        self.counts.append(self.count)
        self.words = self.recording.blocks[place]
        self.words[:] = [sequence, self.kind, self.count] + [0] * (BLOCK_WORDS - 3)
        self.at = 8

    def has_room(self, words):
        return self.at + words <= BLOCK_WORDS

    def add(self, of_type, number, body):
        body += bytes(-len(body) % 8)
        words = struct.unpack("<%dQ" % (len(body) // 8), body)
        if not self.has_room(1 + len(words)):
            self.begin_block()
        self.words[self.at] = 1 + len(words) | of_type << 16 | number << 32
        self.words[self.at + 1:self.at + 1 + len(words)] = words
        self.at += 1 + len(words)
        self.count += 1
        self.words[3] = self.at | checksum(self.words[:self.at], (3, 6)) << 32

    def finish(self):
        self.words[6] = self.at | checksum(self.words[:self.at]) << 32


# ---- Rings -----------------------------------------------------------------------------------


class Span:
    def __init__(self, id, begin, context, incarnation):
        self.id = id
        self.begin = begin
        self.context = context
        self.incarnation = incarnation
        self.suspended = 0


class Ring:
    """Writes the blocks of a ring, and remembers what happens in each (`story`)."""

    def __init__(self, recording, slot, ring, blocks=4, growth={}):
        self.growth = growth   # by which factor, by the head at which it happens
        self.recording = recording
        self.slot = slot
        self.ring = ring
        self.count = blocks
        self.first = recording.claim(blocks)
        self.first_count = blocks
        self.runs = []         # those after the first: (block, place, places with it)
        self.rounds = 0
        self.floor = 1         # blocks before it are gone
        self.head = 0
        self.events = 0
        self.open = []         # in the order of their begins
        self.hides = 0         # spans that are left out of the list though there is room
        self.left_at = {}      # contexts that are suspended
        self.context = 0
        self.incarnation = 1
        self.story = {}        # by sequence
        recording.rings.append(self)

    def place(self, sequence):
        at = (sequence - 1) % self.count
        for first, start, end in self.runs:
            if start <= at < end:
                return first + at - start
        return self.first + at

    def grow(self, factor):
        """At the end of a round."""
        self.rounds = self.head // self.count
        assert self.head % self.count == 0 and self.rounds % factor == 1
        self.recording.claim(-len(self.recording.blocks) % 16)
        first = self.recording.claim(self.count * (factor - 1))
        self.runs.append((first, self.count, self.count * factor))
        self.floor = (self.rounds - 1) * self.count + 1
        self.count *= factor

    def finish(self):
        self.words[6] = self.at | checksum(self.words[:self.at]) << 32

    def listed(self):
        own = [span for span in self.open if span.context == self.context][-64:]
        others = [span for span in self.open if span.context != self.context]
        room = min(64 - len(own), len(others))
        return own + others[len(others) - room:]

    def suspended_word(self, span, ticks):
        if span.context not in self.left_at:
            return span.suspended
        left_at = max(span.begin, self.left_at[span.context])
        return span.suspended + ticks - left_at | 1 << 63

    def begin_block(self, ticks):
        if self.head:
            self.finish()
        if self.head in self.growth:
            self.grow(self.growth[self.head])
        self.head += 1
        self.apply_switches(ticks)
        listed = self.listed()
        own = sum(span.context == self.context for span in listed)
        brief = 0                                  # as many as are possible, but not always
        while (brief < own and self.head % 3 and listed[own - brief - 1].suspended == 0 and
               self.context not in self.left_at and
               ticks - listed[own - brief - 1].begin < 1 << 40):
            brief += 1
        self.words = self.recording.blocks[self.place(self.head)]
        header = [self.head, 1 | self.slot << 16 | self.ring << 32 | brief << 40 |
                  len(listed) - brief << 48,
                  self.events, ticks, self.context,
                  self.incarnation | len(self.open) - len(listed) << 32, 0, 0]
        for span in listed[:own - brief] + listed[own:]:
            header += [BEGIN | span.id << 10, span.begin, span.context,
                       self.suspended_word(span, ticks)]
        header += [BEGIN | span.id << 10 | (span.begin & (1 << 41) - 1) << 23
                   for span in listed[own - brief:own]]
        self.words[:] = header + [0] * (BLOCK_WORDS - len(header))
        self.at = len(header)
        self.base = ticks
        self.story[self.head] = [("block", self.events, listed)]

    def tell(self, *what):
        self.story[self.head].append(what)

    def put(self, kind, id, ticks, words):
        """An event word, behind a rebase where the base is too far."""
        is_far = not self.head or not -(1 << 40) <= ticks - self.base < 1 << 40
        needed = 1 + len(words) + (2 if is_far else 0)
        if not self.head or self.at + needed > BLOCK_WORDS:
            self.begin_block(ticks)
        elif is_far:
            self.store(REMARK, REBASE, ticks, (ticks,))
            self.base = ticks
        self.store(kind, id, ticks, words)

    def store(self, kind, id, ticks, words):
        low_bits = ticks & (1 << 41) - 1
        self.words[self.at] = kind | len(words) << 3 | id << 10 | low_bits << 23
        self.words[self.at + 1:self.at + 1 + len(words)] = [word & WORD for word in words]
        self.at += 1 + len(words)

    # -- What happens

    def apply_switches(self, ticks):
        for switched_at, classes, until in self.recording.switches:
            for span in list(reversed(self.open)):
                _, event_class, _ = self.recording.definitions.get(span.id, ("", None, 0))
                is_of_class = event_class is None or classes >> event_class & 1
                if is_of_class and ticks >= switched_at and span.begin < until:
                    self.open.remove(span)
                    self.tell("torn", span)

    def event(self, kind, id, ticks, words=(), shown=None):
        """`shown`: the keys that a reader shows of the payload."""
        self.put(kind, id, ticks, words)
        self.events += 1
        self.resume_spans(self.context, ticks)
        self.apply_switches(ticks)
        shown = shown or {}
        if kind == BEGIN:
            span = Span(id, ticks, self.context, self.incarnation)
            self.open.append(span)
            self.tell("begin", span, self.incarnation, shown)
        elif kind == END:
            span = self.innermost(id)
            suspended = span.suspended if span else 0
            if span:
                self.open.remove(span)
            self.tell("end", span, id, ticks, self.context, self.incarnation, suspended, shown)
        else:
            self.tell("event", kind, id, ticks, self.context, self.incarnation, shown)

    def begin(self, id, ticks):
        self.event(BEGIN, id, ticks)

    def end(self, id, ticks):
        self.event(END, id, ticks)

    def innermost(self, id):
        own = [span for span in self.open if span.context == self.context]
        matching = [span for span in own[-64:] if span.id == id]
        return matching[-1] if matching else None

    def enter(self, context, ticks):
        self.put(REMARK, CONTEXT, ticks, (context,))
        self.context = context

    def suspend(self, ticks, context=None):
        self.put(REMARK, SUSPEND, ticks, () if context is None else (context,))
        context = self.context if context is None else context
        if context not in self.left_at and any(s.context == context for s in self.open):
            self.left_at[context] = ticks

    def resume(self, ticks, context=None):
        self.put(REMARK, RESUME, ticks, () if context is None else (context,))
        self.context = self.context if context is None else context
        self.resume_spans(self.context, ticks)

    def resume_spans(self, context, ticks):
        left_at = self.left_at.pop(context, None)
        if left_at is not None:
            for span in self.open:
                if span.context == context:
                    span.suspended += ticks - max(left_at, span.begin)

    def next_incarnation(self, ticks, incarnation=None):
        self.put(REMARK, INCARNATION, ticks, () if incarnation is None else (incarnation,))
        for span in reversed(self.open):
            self.tell("torn", span)
        self.forget_former_life()
        self.incarnation = self.incarnation + 1 if incarnation is None else incarnation

    def next_incarnation_by_header(self, ticks, lists_former=False):
        """Without a remark: what was open is torn by the header of a block, even if that lists
        it."""
        former = self.open
        self.forget_former_life()
        self.incarnation += 1
        self.open = former if lists_former else []
        self.begin_block(ticks)
        self.open = []
        for span in reversed(former):
            self.tell("torn", span)

    def forget_former_life(self):
        self.open = []
        self.left_at = {}
        self.context = 0


# ---- What a reader sees of it ----------------------------------------------------------------


class Reading:
    """What is known of a ring to a reader of the blocks that are there."""

    def __init__(self, recording, ring, missing):
        self.recording = recording
        self.ring = ring
        self.missing = missing
        self.names = recording.names()
        self.known = []        # open spans
        self.items = []

    def item(self, kind, ns, id, since, incarnation, context, more):
        name, event_class, registered = self.recording.definitions.get(id, ("", 0, WORD))
        ring = RINGS[self.ring.ring] if self.ring.ring < 4 else "ring%d" % self.ring.ring
        item = {"ns": ns, "domain": self.ring.slot, "incarnation": incarnation, "ring": ring,
                "kind": kind, "id": id, "name": name}
        if registered <= since:
            item["class"] = CLASSES[event_class]
        else:
            item.update({"name": "(other)", "unknown": True})
        if (self.ring.slot, incarnation) in self.names:
            item["domain_name"] = self.names[self.ring.slot, incarnation]
        if context:
            item["context"] = context
        item.update(more)
        self.items.append(item)

    def depth(self, span):
        return [s for s in self.known if s.context == span.context].index(span)

    def show_span(self, kind, span, more):
        self.item(kind, self.recording.ns(span.begin), span.id, span.begin, span.incarnation,
                  span.context, {"depth": self.depth(span), "synthetic": True, **more})

    def tear(self, span):
        if span in self.known:
            self.show_span("end", span,
                           {"torn": True, "begin_ns": self.recording.ns(span.begin)})
            self.known.remove(span)

    def run(self):
        events = None
        oldest = max(self.ring.floor, self.ring.head - self.ring.count + 1)
        for sequence in range(oldest, self.ring.head + 1):
            if sequence in self.missing:
                continue
            (_, before, listed), *rest = self.ring.story[sequence]
            if before != events:
                self.take_over(listed, before - (events or 0))
            events = before
            for what in rest:
                getattr(self, what[0])(*what[1:])
                events += what[0] != "torn"
        for span in self.known:
            self.show_span("open", span, {})
        return self.items

    def ring_name(self):
        return RINGS[self.ring.ring] if self.ring.ring < 4 else "ring%d" % self.ring.ring

    def take_over(self, listed, lost):
        """What is torn comes before the loss that tears it, what it hides behind it."""
        for span in reversed(self.known[:]):
            if span not in listed:
                self.tear(span)
        if lost:
            self.items.append({"kind": "lost", "domain": self.ring.slot, "count": lost,
                               "ring": self.ring_name()})
        had = self.known
        self.known = []
        for span in listed:
            self.known.append(span)
            if span not in had:
                self.show_span("begin", span, {})
        self.known.sort(key=lambda span: span.begin)

    def torn(self, span):
        self.tear(span)

    def begin(self, span, incarnation, shown):
        self.known.append(span)
        self.item("begin", self.recording.ns(span.begin), span.id, span.begin, incarnation,
                  span.context, {"depth": self.depth(span), **shown})

    def end(self, span, id, ticks, context, incarnation, suspended, shown):
        ns = self.recording.ns(ticks)
        more = {"torn": True}
        if span in self.known:
            self.known.remove(span)
            begin_ns = self.recording.ns(span.begin)
            more = {"begin_ns": begin_ns, "duration_ns": ns - begin_ns}
            suspended_ns = suspended * self.recording.segment_of(ticks)[2] >> 40
            suspended_ns = min(suspended_ns, ns - begin_ns)
            if suspended_ns:
                more["suspended_ns"] = suspended_ns
        depth = sum(s.context == context for s in self.known)
        self.item("end", ns, id, ticks, incarnation, context, {"depth": depth, **more, **shown})

    def event(self, kind, id, ticks, context, incarnation, shown):
        self.item(KIND_NAMES[kind], self.recording.ns(ticks), id, ticks, incarnation, context,
                  {"depth": 0, **shown})


# ---- The catalogue ---------------------------------------------------------------------------

WORK, INNER, DEPTH, LOAD, TEXT, RAW, SIZES, STRING, STACK = range(16, 25)
REQUEST, FLOW, TOTAL, ACCENTS, LATE, BELL, CLOSED, WHICH, BARE, UNKNOWN_PAYLOAD = range(25, 35)
BUSY, MEASURED, NOT_A_SPAN = 35, 36, 37
NEVER_DEFINED = 999


def write_catalogue(recording):
    names = ("recorder_start", "recorder_stop", "pause", "resume", "domain_start", "domain_stop")
    for id, name in enumerate(names):
        recording.define(id, 4, name, payload=1, event_class=0)
    recording.define(6, 3, "(other)")
    recording.define(WORK, 1, "work", payload=1)
    recording.define(INNER, 1, "inner")
    recording.define(DEPTH, 2, "depth", payload=1, unit="items", quantity=3)
    recording.define(LOAD, 2, "load", payload=3)
    recording.define(TEXT, 3, "text", payload=4, doc="A string.")
    recording.define(RAW, 3, "raw", payload=5)
    recording.define(SIZES, 3, "sizes", payload=6, fields="int,uint,,text,bytes")
    recording.define(STRING, 3, "string", payload=7)         # which nobody knows any more
    recording.define(STACK, 3, "stack", payload=8)
    recording.define(REQUEST, 5, "request", payload=2)
    recording.define(FLOW, 6, "flow")
    recording.define(TOTAL, 2, "total", payload=2)
    recording.define(ACCENTS, 3, "späť")
    recording.define(LATE, 3, "late", payload=1, since=START_TICKS + 150_000)
    recording.define(BELL, 3, "bell\x07 nul\0 csi\x9b", shown="bell? nul? csi??")
    recording.define(CLOSED, 1, "closed", event_class=7)
    recording.define(WHICH, 3, "which", payload=1, unit="id")
    recording.define(BARE, 3, "bare", payload=6)
    recording.define(UNKNOWN_PAYLOAD, 3, "unknown", payload=77)
    recording.define(BUSY, 1, "busy", event_class=4, quantity=200)
    recording.define(MEASURED, 1, "measured", payload=1, measure=4)
    recording.define(NOT_A_SPAN, 3, "not a span", measure=4)
    recording.define(DEPTH, 2, "a second definition, which does not hold")
    for i in range(40):                                          # a second block of them
        recording.define(100 + i, 3, "filler%d" % i, doc="d" * 110)


def write_other_records(recording):
    recording.record(2, 9, 1, b"of an unknown type")
    recording.record(3, 1, 7, struct.pack("<Q", 5) + b"seven")
    recording.record(4, 1, 1, struct.pack("<IIII", 10, 20, 4, 3) + b"mainm.c")
    recording.record(5, 1, 5, struct.pack("<II", 1, 12))
    recording.record(8, 1, 0, struct.pack("<3Q", START_TICKS + 10, 0xFF, 0xFF))
    recording.record(9, 1, 1, struct.pack("<4Q", 3, 12, START_TICKS + 1, START_TICKS + 2))
    recording.record(12, 3, 3, bytes(80))                        # kinds that no reader knows
    recording.record(63, 1, 0, b"unknown")


# By the mode: end_reason, end_detail; the end as readers show it.
ENDS = {"ended": (2, 3, {"end_reason": "exit", "end_detail": 3}),
        "dead": (0, 0, {"end_reason": "killed"}),
        "dying": (3, 11, {"end_reason": "signal", "end_detail": 11}),
        "damage": (1, 0, {"end_reason": "stopped"}),
        "copy": (0, 0, {"end_reason": None})}


def write_errors(recording, ticks):
    """More than the budget of two blocks holds; the last one is the one that counts."""
    for i in range(4):
        text = b"error %d" % i + b"." * 1990
        recording.record(16, 1, 3000, struct.pack("<QQ", ticks + i, len(text)) + text)
    text = "prog.lua:1: größer\n\tin main".encode() + b"\x1b[31m \xff \xc2\x9b \xe2\x82"
    recording.record(16, 1, len(text), struct.pack("<QQ", ticks + 4, len(text)) + text)
    recording.record(16, 7, 0, b"of an unknown type")


def shown_end(recording, mode, ticks, end_ticks):
    over = mode in ("ended", "damage")
    return {"kind": "ended", "ns": recording.ns(end_ticks if over else ticks + 4),
            "error_text": "prog.lua:1: größer\n\tin main?[31m ? ?? ??", **ENDS[mode][2]}


def write_clock(recording):
    slow, fast = (10 << 40) // 26, (11 << 40) // 26
    recording.segment(START_TICKS, START_NS, slow)
    second = START_TICKS + 200_000
    recording.segment(second, recording.ns(second), fast)
    recording.segment(second + 5, 5, 1, is_valid=False)           # its from_ns goes back
    third = START_TICKS + 300_000
    recording.segment(third, recording.ns(third), slow)


# ---- The rings -------------------------------------------------------------------------------


def write_runtime(recording):
    ring = Ring(recording, 0, 0)
    ring.event(LIFECYCLE, 0, START_TICKS + 7, (4711,), {"value": 4711})
    ring.event(LIFECYCLE, 4, START_TICKS + 8, (1,), {"value": 1})


def write_contexts(recording):
    """A ring that goes round several times, with spans in five contexts; those of context 2
    are suspended while others run, and some are never ended. It grows in its third round."""
    ring = Ring(recording, 0, 1, growth={12: 2})
    ticks = START_TICKS + 1000
    ring.begin(WORK, ticks)                                      # open to the end
    for i in range(900):
        ticks += 100
        context = i % 5
        if i in (30, 893):
            ticks += FAR
        if context in ring.left_at:
            ring.resume(ticks, context)
        elif ring.context != context:
            ring.enter(context, ticks)
        ring.begin(INNER, ticks + 3)
        if i % 3 == 0:
            ring.event(BEGIN, WORK, ticks + 6, (-5,), {"value": -5})
        ring.event(COUNTER, DEPTH, ticks + 8, (i - 450,), {"value": i - 450})
        write_links(ring, ticks + 9, i)
        if context == 2:
            ring.suspend(ticks + 10)
            ring.enter(0, ticks + 60)
            ring.event(EVENT, ACCENTS, ticks + 61)
            ring.resume(ticks + 68, 2)
        ticks += 70
        if i % 3 == 0:
            ring.end(WORK, ticks)
        ring.event(END, INNER, ticks + 1, (3,), hex_of((3,)))
        if i % 7 == 0:                                           # closed some rounds later
            ring.begin(INNER, ticks + 3)
            ring.begin(WORK, ticks + 4)
        if i % 7 == 5:
            ticks = close_latest(ring, ticks)
        if context == 4:
            ring.suspend(ticks + 6, 4)
    return ring, ticks


def write_links(ring, ticks, number):
    link = number if number % 2 else WORD - number
    role, name = ((1, "begin"), (2, "end"), (3, "step"), (257, "?"))[number % 4]
    ring.event(LINKED, REQUEST, ticks, (link, role, 9), {"link": link, "role": name, "value": 9})
    ring.event(LINKED, FLOW, ticks, (link, role), {"link": link, "role": name})


def close_latest(ring, ticks):
    for span in list(reversed(ring.open))[:2]:
        if span.begin > START_TICKS + 5000:
            ticks += 5
            if span.context != ring.context:
                ring.enter(span.context, ticks)
            ring.end(span.id, ticks)
    return ticks


def write_many_open(recording):
    """200 spans of two contexts, so that most are hidden to who comes later; then ends. The
    ring grows twice in its first round."""
    ring = Ring(recording, 0, 2, growth={4: 4, 16: 2})
    ticks = START_TICKS + 5000
    for i in range(100):
        ring.enter(1, ticks)
        ring.begin(WORK if i % 3 else INNER, ticks + 1)
        ring.enter(2, ticks + 2)
        ring.begin(INNER, ticks + 3)
        ticks += 10
    for i in range(2500):
        ring.event(COUNTER, DEPTH, ticks + i, (i,), {"value": i})
    ticks += 3000
    for i in range(90):
        ring.end(INNER, ticks + i)
    ring.enter(1, ticks + 100)
    for i in range(70):
        ring.end(WORK, ticks + 101 + i)
    ring.enter(3, ticks + 200)
    ring.end(INNER, ticks + 201)                                 # never begun in context 3
    ring.end(WORK, ticks + 202)


def write_payloads(recording):
    """A ring without a name."""
    ring = Ring(recording, 0, 5)
    ticks = START_TICKS + 100_000
    ring.event(EVENT, LATE, ticks, (5,), hex_of((5,)))
    ring.event(EVENT, NEVER_DEFINED, ticks + 1)
    ring.event(EVENT, NEVER_DEFINED, ticks + 2, (1, 2), hex_of((1, 2)))
    ring.event(EVENT, LATE, START_TICKS + 150_000, (5,), {"value": 5})
    ticks = START_TICKS + 160_000
    all_bytes = bytes(range(9))
    sizes = (5 | 1 << 4 | 2 << 8 | 3 << 12 | 4 << 16 | 5 << 20, WORD, 8, double_bits(-2.5))
    sizes += text_words(b"yes") + text_words(b"\1\2")
    named = {"int": -1, "uint": 8, "3": -2.5, "text": "yes", "bytes": {"hex": "0102"}}
    payloads = [
        (COUNTER, LOAD, (double_bits(0.1),), {"value": 0.1}),
        (COUNTER, LOAD, (double_bits(float("nan")),), {"value": "nan"}),
        (COUNTER, LOAD, (double_bits(float("-inf")),), {"value": "-inf"}),
        (COUNTER, TOTAL, (WORD,), {"value": WORD}),
        (COUNTER, TOTAL, (1, 2), hex_of((1, 2))),
        (COUNTER, TOTAL, (), {}),
        (EVENT, TEXT, text_words("häß\t".encode()), {"value": "häß\t"}),
        (EVENT, TEXT, text_words(b"x" * 1008, True), {"value": "x" * 1008, "truncated": True}),
        (EVENT, TEXT, text_words(b""), {"value": ""}),
        (EVENT, TEXT, text_words(b"\xff\0a"), {"hex": "ff0061"}),
        (EVENT, TEXT, (9, 1), hex_of((9, 1))),
        (EVENT, RAW, text_words(all_bytes), {"hex": all_bytes.hex()}),
        (EVENT, SIZES, sizes, {"value": named}),
        (EVENT, SIZES, (1 | 9 << 4, 3), hex_of((1 | 9 << 4, 3))),
        (EVENT, SIZES, (2 | 4 << 4 | 1 << 8,) + text_words(b"x" * 900, True) + (7,),
         {"value": {"int": "x" * 900, "uint": 7}, "truncated": True}),
        (EVENT, SIZES, (0,), {"value": {}}),
        (EVENT, SIZES, (0, 1), hex_of((0, 1))),
        (EVENT, BARE, (2 | 1 << 4 | 2 << 8, 3, 4), {"value": [3, 4]}),
        (EVENT, STRING, (7,), hex_of((7,))),
        (EVENT, STACK, (5,), {"stack_id": 5}),
        (EVENT, UNKNOWN_PAYLOAD, (5, 6), hex_of((5, 6))),
        (EVENT, DEPTH, (77,), hex_of((77,))),                     # its definition is a counter
        (EVENT, BELL, (), {}),
        (EVENT, WHICH, (INNER,), {"value": INNER, "value_name": "inner"}),
        (EVENT, WHICH, (-1,), {"value": -1}),
        (LINKED, FLOW, (WORD, 2), {"link": WORD, "role": "end"}),
        (LINKED, REQUEST, (3, 1, 4, 5), {"link": 3, "role": "begin", **hex_of((4, 5))}),
        (LINKED, NEVER_DEFINED, (3, 3), {"link": 3, "role": "step"}),
    ]
    for i, (kind, id, words, shown) in enumerate(payloads):
        ring.event(kind, id, ticks + i, words, shown)
    ring.put(REMARK, 77, ticks + 50, (1, 2, 3))                  # a remark that nobody knows
    ring.put(REMARK, REBASE, ticks + 50, ())                     # passed over
    ring.put(REMARK, SUSPEND, ticks + 50, (4, 5, 6))             # nothing is open there
    ring.event(COUNTER, DEPTH, ticks - 5, (1,), {"value": 1})    # times may go back
    switched_at, _, until = recording.switches[0]
    ring.begin(CLOSED, switched_at - 10)
    ring.event(EVENT, ACCENTS, switched_at - 1)                  # not torn yet
    ring.event(EVENT, ACCENTS, switched_at)
    ring.begin(CLOSED, switched_at + 1)                          # before `until`
    ring.end(CLOSED, until)
    ring.begin(CLOSED, until + 1)
    ring.end(CLOSED, until + 2)
    ring.begin(BUSY, until + 3)
    for switched_at, _, _ in recording.switches[1:]:             # the first by a dead changer
        ring.begin(CLOSED, switched_at + 1)
        ring.event(EVENT, ACCENTS, switched_at + 2)
    ring.begin(BUSY, ticks + 300_000)
    ring.end(BUSY, ticks + 300_001)


def write_suspended_over_segments(recording):
    """An event that is older than its definition, after one that is not. Then a span of which
    most of the suspended time lies before the faster segment in which it ends."""
    ring = Ring(recording, 0, 6)
    switch = START_TICKS + 200_000
    ring.event(EVENT, LATE, switch - 2_000, (1,), {"value": 1})
    ring.event(EVENT, LATE, START_TICKS + 149_999, (1,), hex_of((1,)))
    ring.event(EVENT, LATE, switch - 1_999, (1,), {"value": 1})
    ring.enter(1, switch - 1_000)
    ring.begin(INNER, switch - 1_000)
    ring.suspend(switch - 999)
    ring.resume(switch + 100)
    ring.end(INNER, switch + 101)


def write_off_cpu(recording):
    """Ends that say for how long the thread was not on a processor, and others with a
    payload."""
    ring = Ring(recording, 0, 7)
    ticks = START_TICKS + 310_000
    duration = recording.ns(ticks + 1_001) - recording.ns(ticks + 1)
    for words, shown in (((5,), {"off_cpu_ns": 5}), ((0,), {"off_cpu_ns": 0}),
                         ((), {"off_cpu_ns": 0}),
                         ((duration,), {"off_cpu_ns": duration}),
                         ((WORD,), {"off_cpu_ns": duration}),    # more than it lasted
                         ((1, 2), hex_of((1, 2)))):              # of another length: words
        ring.event(BEGIN, MEASURED, ticks + 1, (7,), {"value": 7})
        ring.event(END, MEASURED, ticks + 1_001, words, shown)
    ring.event(END, MEASURED, ticks + 1_002, (5,))               # its begin is unknown
    ring.begin(INNER, ticks + 1_003)
    ring.event(END, INNER, ticks + 1_004, (5,), hex_of((5,)))    # its definition does not say so
    ring.begin(NOT_A_SPAN, ticks + 1_005)
    ring.event(END, NOT_A_SPAN, ticks + 1_006, (5,), hex_of((5,)))


def write_odd_lists(recording):
    """Lists of open spans that the real library does not write."""
    ring = Ring(recording, 2, 1)
    ticks = START_TICKS + 260_000
    ring.events = 5                                              # which are lost
    ring.context = 1
    for id, context in ((WORK, 1), (INNER, 1), (INNER, 1), (CLOSED, 2), (NEVER_DEFINED, 3)):
        ring.open.append(Span(id, START_TICKS + 20_000 + len(ring.open), context, 1))
    ring.open[1].suspended = 500                                 # more than the outer one
    switches, recording.switches = recording.switches, []        # tear nothing here
    ring.begin_block(ticks)
    recording.switches = switches
    ring.event(EVENT, ACCENTS, ticks + 5)                        # here a reader has torn two
    ring.end(INNER, ticks + 10)
    ring.end(INNER, ticks + 11)
    ring.next_incarnation_by_header(ticks + 20, lists_former=True)
    ring.end(WORK, ticks + 21)
    ring.enter(1, ticks + 22)
    ring.end(WORK, ticks + 23)


def write_lives(recording):
    """Incarnations that share blocks, and more lives than the file has room for."""
    ring = Ring(recording, 1, 1)
    ticks = START_TICKS + 2000
    for incarnation in range(1, 40):
        if incarnation == 20:
            ring.next_incarnation_by_header(ticks)
        elif incarnation > 1:
            ring.next_incarnation(ticks, None if incarnation % 2 else incarnation)
        for i in range(9):
            ring.begin(INNER, ticks + i)
        ring.enter(incarnation, ticks + 10)
        ring.begin(WORK, ticks + 11)
        ring.suspend(ticks + 20)
        ring.enter(0, ticks + 21)
        ring.end(INNER, ticks + 22)
        ring.resume(ticks + 40, incarnation)
        ring.end(WORK, ticks + 41)
        ring.end(WORK, ticks + 42)                               # nothing is open
        recording.life(1, 1, incarnation, ticks, "life %d" % incarnation)
        if incarnation < 39:
            recording.life(2, 1, incarnation, ticks + 43)
        ticks += 400
    lives = recording.records[6]
    incarnation = 0
    while len(lives.places) < 64 or lives.has_room(40):
        incarnation += 1
        recording.life(1, 2, incarnation, ticks, "one of many")
    recording.life(1, 1, 39, ticks, "at first")
    while len(lives.places) < 65:
        incarnation += 1
        recording.life(2, 2, incarnation, ticks)
    recording.life(3, 1, 39, ticks, "renamed")
    for i in range(30):
        ring.begin(INNER, ticks + i)
    ring.enter(77, ticks + 40)
    for i in range(20):
        ring.begin(WORK, ticks + 50 + i)
    for i in range(60):
        ring.event(COUNTER, DEPTH, ticks + 100 + i, (i,), {"value": i})
    for i in range(20):
        ring.end(WORK, ticks + 1200 + i)


# ---- The file --------------------------------------------------------------------------------


def front(recording, mode, end_ticks):
    data = bytearray(65536)

    def store(offset, form, *values):
        struct.pack_into("<" + form, data, offset, *values)

    over = mode in ("ended", "damage")
    is_copy = mode == "copy"
    store(0, "8s8I4QiIQQQqI", b"\x89EVRING\n", 3, 0x01020304, 65536, 4096,
          2 if is_copy else 1, 128, 8, 256, 4096, 8192, 12288, 65536, 4711, 2, 0,
          START_TICKS, START_NS, 1795377421021456325, 11)
    store(124, "I", 7 if is_copy else 0)
    store(168, "6s", b"python")
    for i, name in enumerate(RINGS):
        store(424 + 16 * i, "16s", name.encode())
    for i, name in enumerate(CLASSES):
        store(552 + 16 * i, "16s", name.encode())
    store(4096, "IIQQQQII", 2 if over else 1, 3, len(recording.blocks), end_ticks if over else 0,
          0, 1, *ENDS[mode][:2])
    store(4096 + 512 + 16, "Q", len(recording.rings))
    for kind, records in recording.records.items():
        store(4096 + 512 + 16 * kind, "QQ", records.count, records.dropped)
    store(8192, "QQQIIQI", 0xFF, 0xFF, 0, 0, 0, 0, len(recording.switches))
    for n, switch in enumerate(recording.switches):
        store(8192 + 1024 + 32 * n, "4Q", n + 1, *switch)
    for slot, incarnation, name in PRESENT_LIVES:
        store(12288 + 256 * slot, "IIIiQQ48s", 2, incarnation, 0 if over else 1, 100 + slot,
              recording.starts[slot, incarnation], end_ticks if over else 0, name.encode())
    for ring in recording.rings:
        store(12288 + 256 * ring.slot + 128 + 16 * ring.ring, "QII", ring.head,
              *((0, 0x80000000) if is_copy else (ring.first, ring.first_count)))
        if is_copy:
            continue
        for n, (first, _, places) in enumerate(ring.runs):
            store(45056 + 160 * ring.slot + 20 * ring.ring + 4 * n, "I",
                  1 << 31 | places.bit_length() - 1 << 26 | first // 16)
        store(45056 + 160 * ring.slot + 20 * ring.ring + 16, "I", ring.rounds)
    if over or is_copy:
        words = struct.unpack("<6848Q", data[4096:5632] + data[12288:65536])
        store(4096 + 52, "I", checksum(words, ()))
    store(120, "I", checksum(struct.unpack("<197Q", data[:1576]), ()))
    return bytes(data)


def blocks_of_copy(recording):
    """All blocks as those of a file of streams: units of 16, each of one ring or of records."""
    units = [[words for words in recording.blocks if words[1] & 0xFFFF not in (0, 1)]]
    for ring in recording.rings:
        oldest = max(1, ring.head - ring.count + 1, ring.floor)
        units.append([recording.blocks[ring.place(sequence)]
                      for sequence in range(oldest, ring.head + 1)])
    blocks = []
    for unit in units:
        blocks += unit + [[0] * BLOCK_WORDS for _ in range(-len(unit) % 16)]
    return blocks


def come_to_an_end(recording, mode, contexts):
    """What the mode does to the blocks; those that are missing, by ring."""
    missing = {ring: set() for ring in recording.rings}
    if mode in ("ended", "damage", "copy"):
        for each in recording.rings + list(recording.records.values()):
            each.finish()
    if mode == "damage":
        missing[contexts] = {contexts.head - 2}
        recording.blocks[contexts.place(contexts.head - 2)][300] ^= 1 << 30
    if mode == "copy":
        missing[contexts] = {contexts.head - 1}
        recording.blocks[contexts.place(contexts.head - 1)] = [0] * BLOCK_WORDS
        recording.blocks = blocks_of_copy(recording)
    if mode == "dying":
        for ring in recording.rings:
            if ring.head >= ring.count:
                ring.finish()
                words = recording.blocks[ring.place(ring.head + 1)]
                words[0] = 0
                words[8:200] = [0] * 192
                missing[ring] = {ring.head - ring.count + 1}
    return missing


def main():
    mode, path = sys.argv[1:]
    if mode not in MODES:
        sys.exit(__doc__)
    recording = Recording()
    recording.switches = [(START_TICKS + 250_000, 1 << 7, START_TICKS + 250_005),
                          (START_TICKS + 400_000, 1 << 7, WORD),
                          (START_TICKS + 410_000, 1 << 4, START_TICKS + 410_005)]
    write_clock(recording)
    write_catalogue(recording)
    write_other_records(recording)
    recording.life(1, 0, 1, START_TICKS + 5, "main")
    write_runtime(recording)
    contexts, last = write_contexts(recording)
    write_many_open(recording)
    write_payloads(recording)
    write_suspended_over_segments(recording)
    write_off_cpu(recording)
    write_odd_lists(recording)
    write_lives(recording)
    write_errors(recording, last + 500)
    missing = come_to_an_end(recording, mode, contexts)
    with open(path, "wb") as file:
        file.write(front(recording, mode, last + 1000))
        for words in recording.blocks:
            file.write(struct.pack("<512Q", *words))
    with open(path + ".expected", "w", encoding="utf-8") as file:
        for ring in recording.rings:
            for item in Reading(recording, ring, missing[ring]).run():
                file.write(json.dumps(item) + "\n")
        end = shown_end(recording, mode, last + 500, last + 1000)
        file.write(json.dumps(end) + "\n")


if __name__ == "__main__":
    main()
