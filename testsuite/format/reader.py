# SPDX-License-Identifier: MIT
"""reader.py FILE: what is in an .eventring file that nobody writes into any more.

Written from doc/FORMAT.md alone, whose sections are named below; where the two disagree, one
of them is wrong. It prints JSON objects, one a line, with the keys of `eventring dump --json`,
ring after ring, and last how the process ended, unless that is not known or was in order:
exit status 0, or stopped. Within a ring the order is that of the file: events; "lost", where events are
missing; ends with "torn" and "synthetic", where it becomes known that a span has no end that
can be known; begins with "synthetic", where a span is found to be open; and last the spans
that are still "open". Damage and what was passed over are told on standard error.

Exit status: 0; 1 where there is damage; 2 when the file cannot be read at all.
"""
import collections
import json
import struct
import sys

BLOCK_WORDS = 512
BLOCK_BYTES = 4096
FRONT_BYTES = 65536
HEADER_WORDS = 8       # of a block
MOST_OPEN = 64         # spans in the list of a block; and those that an end looks at
LOG_ENTRIES = 64
NAMES_OF_KINDS = {1: "begin", 2: "end", 3: "counter", 4: "event", 5: "lifecycle", 6: "linked"}
NAMES_OF_QUANTITIES = {1: "allocated", 2: "promoted", 3: "heap", 4: "pause_work", 5: "off_cpu",
                       6: "cycle_begin", 7: "cycle_end"}
NAMES_OF_ROLES = {1: "begin", 2: "end", 3: "step"}
BEGIN, END, LINKED, REMARK = 1, 2, 6, 7
KINDS_OF_DEFINITION = {1: (1,), 2: (1,), 3: (2,), 4: (3,), 5: (4,), 6: (5, 6)}  # by kind of event
OTHER = 6              # the id that stands in for unknown events
EVENTS, DEFINITIONS, STRINGS, LIVES, CLOCK, SWITCHES, ENDINGS, PROCESSES = 1, 2, 3, 6, 7, 8, 16, 17
FUNCTIONS, STACKS, HEAPS, HEAP_PAGES, FOOTPRINTS = 4, 5, 11, 12, 18
PROFILES = 10
REREAD = (PROFILES, HEAPS, HEAP_PAGES, FOOTPRINTS)  # blocks that are read as a whole
LAST_STACKS = 19
NONE = 0xFFFFFFFF
STOPPED, EXIT, SIGNAL, DELETED = 1, 2, 3, 4  # why it ended
TOP_BIT = 1 << 63


def split_records(words, end):
    """The records of a block that is finished; None: they do not end where it says."""
    at, records = HEADER_WORDS, []
    if not HEADER_WORDS <= end <= BLOCK_WORDS:
        return None
    while at < BLOCK_WORDS and words[at]:
        size = words[at] & 0xFFFF
        if size == 0 or at + size > BLOCK_WORDS:
            return None
        records.append(words[at:at + size])
        at += size
    return records if at == end else None


def root_is_valid(words, records):
    if not records or len(records[0]) < 23 or records[0][0] >> 16 & 0xFFFF != 1:
        return False
    root = records[0]
    rate = struct.unpack("<d", struct.pack("<Q", root[2]))[0]
    pages, entries = root[6] & 0xFFFFFFFF, root[6] >> 32
    return (root[1] & 0xFFFFFFFF < 128 and 0 < rate <= 1 and pages <= 2048 and
            entries <= 56 * pages and 1 <= root[22] & 0xFFFFFFFF <= 64 and
            root[0] >> 32 == words[5] & 0xFFFFFFFF)


def part_is_valid(records):
    """A block of a profile of calls."""
    if not records or len(records[0]) < 8 or records[0][0] >> 16 & 0xFFFF != 1:
        return False
    head = records[0]
    parts, nodes = head[3] & 0xFFFFFFFF, head[6] >> 32
    return (head[1] & 0xFFFFFFFF < 128 and head[1] >> 32 != 0 and head[2] != 0 and
            head[0] >> 32 < parts and nodes != 0)


def profile_function(record, number):
    """(name, source, line); None: it is not valid."""
    if len(record) < 3 or record[0] >> 32 != number:
        return None
    name, source = record[2] & 0xFFFFFFFF, record[2] >> 32
    raw = bytes_of(record)
    if name > 200 or source > 200 or 24 + name + source > len(raw):
        return None
    return raw[24:24 + name], raw[24 + name:24 + name + source], record[1] & 0xFFFFFFFF


def profile_node(record, number, functions, flat=False):
    """(function, calls, exclusive ticks, buckets, flat calls and ticks below it); None: it is
    not valid. `flat`: the record is of flat calls."""
    if len(record) < 3 or record[0] >> 32 != number:
        return None
    parent, function = record[1] & 0xFFFFFFFF, record[1] >> 32
    figures, first, buckets = record[2] & 0xFFFF, record[2] >> 16 & 0xFF, record[2] >> 24 & 0xFF
    there = [bit for bit in range(16) if figures >> bit & 1]
    size = 3 + len(there) + (buckets + 1) // 2
    if flat:
        is_placed = parent == NONE and (function == NONE or function < functions)
    else:
        is_placed = (parent, function) == (NONE, NONE) if number == 0 else \
            parent < number and function < functions
    if not is_placed or figures >> (5 if flat else 7) or size > len(record) or first + buckets > 25:
        return None
    value = dict(zip(there, record[3:]))
    if value.get(2, 0) > value.get(3, 0):
        return None
    return function, value.get(0, 0), value.get(1, 0), buckets, value.get(5, 0), value.get(6, 0)


def profile_of(parts):
    """The functions, the nodes and the flat calls of the records of each part, by number; None:
    not valid."""
    head = parts[0][0]
    functions, nodes, flat = [], [], []
    for number, records in enumerate(parts):
        if records[0][0] >> 32 != number or records[0][1:] != head[1:]:
            return None
        for record in records[1:]:
            kind = record[0] >> 16 & 0xFFFF
            if kind == 2:
                functions.append(profile_function(record, len(functions)))
            elif kind == 3:
                nodes.append(profile_node(record, len(nodes), len(functions)))
            elif kind == 4:
                flat.append(profile_node(record, len(flat), len(functions), flat=True))
    if None in functions or None in nodes or None in flat or len(parts) != head[3] & 0xFFFFFFFF:
        return None
    if (len(functions), len(nodes)) != (head[6] & 0xFFFFFFFF, head[6] >> 32):
        return None
    if len(flat) != (head[9] & 0xFFFFFFFF if len(head) > 9 else 0):
        return None
    return functions, nodes, flat


def row_is_valid(record, number):
    """A row of what memory is used for."""
    if len(record) < 4 or record[0] >> 16 & 0xFFFF != 2 or record[0] >> 32 != number:
        return False
    whose, where = record[3] & 0xFF, record[3] >> 8 & 0xFF
    name, doc = record[3] >> 16 & 0xFFFF, record[3] >> 32 & 0xFFFF
    return (whose <= 1 and where <= 1 and record[1] <= record[2] and 1 <= name <= 31 and
            doc <= 119 and name + doc <= 8 * (len(record) - 4))


def footprint_is_valid(words, records):
    if not records or len(records[0]) < 9 or records[0][0] >> 16 & 0xFFFF != 1:
        return False
    slot, incarnation = records[0][1] & 0xFFFFFFFF, records[0][1] >> 32
    return (slot < 128 and slot == words[1] >> 16 & 0xFFFF and incarnation != 0 and
            records[0][0] >> 32 == len(records) - 1 and
            all(row_is_valid(record, number) for number, record in enumerate(records[1:])))


class Refused(Exception):
    """The file is no recording, or one that this reader does not know."""


class Report:
    """What is told beside the events."""

    def __init__(self):
        self.is_damaged = False
        self.passed_over = collections.Counter()

    def damage(self, text):
        self.is_damaged = True
        print("damage:", text, file=sys.stderr)


# ---- Words and texts (section 1) -------------------------------------------------------------


def wrap(number):
    return number & 0xFFFFFFFFFFFFFFFF


def bytes_of(words):
    return struct.pack("<%dQ" % len(words), *words)


def is_control(character):
    return ord(character) < 32 or 127 <= ord(character) <= 159


def characters(raw):
    """The characters of UTF-8, and their lengths; None: a byte that is none."""
    at = 0
    while at < len(raw):
        for length in (1, 2, 3, 4):
            try:
                character = raw[at:at + length].decode("utf-8")
                break
            except UnicodeDecodeError:
                character = ""
        if len(character) != 1:
            character, length = None, 1
        yield character, length
        at += length


def clean(raw, allowed=""):
    """A name as it is shown; control characters that are allowed stay."""
    return "".join("?" * length if character is None or
                   is_control(character) and character not in allowed else character
                   for character, length in characters(raw))


def exact(raw):
    """A name as it was, in JSON: bytes that are not UTF-8 are U+FFFD."""
    return "".join(character or "\ufffd" for character, _ in characters(raw))


def fixed_text(raw):
    """A text of fixed room, which ends with a 0."""
    return clean(raw[:-1].split(b"\0", 1)[0])


def checksum(words, left_out=(6,)):
    """Section 8."""
    count = len(words)
    taken = [0 if i in left_out else word for i, word in enumerate(words)]
    a = wrap(sum(taken))
    b = wrap(sum((count - i) * word for i, word in enumerate(taken)))
    c = wrap(a + (b << 21 | b >> 43))
    return wrap(c * 0x9E3779B97F4A7C15) >> 32


def full_time(word, base):
    """Section 7."""
    distance = (word >> 23) - base & (1 << 41) - 1
    if distance >> 40:
        distance -= 1 << 41
    return wrap(base + distance)


def first_event(words):
    return HEADER_WORDS + 4 * (words[1] >> 48) + (words[1] >> 40 & 0xFF)


def has_event(words):
    """Of a block of events."""
    opened, brief = words[1] >> 48, words[1] >> 40 & 0xFF
    if opened + brief > MOST_OPEN:
        opened, brief = MOST_OPEN, 0
    return words[8 + 4 * opened + brief] != 0


# ---- The front (sections 2 to 4, 6) ----------------------------------------------------------


class Definition:
    def __init__(self, name, kind, event_class, payload, measure, quantity, unit, fields, since):
        self.name = name
        self.quantity = NAMES_OF_QUANTITIES.get(quantity, "?") if quantity else None
        self.kind = kind
        self.says_off_cpu = kind == 1 and measure == 4
        self.event_class = event_class
        self.payload = payload
        self.unit = unit
        self.fields = fields
        self.since = since


Switch = collections.namedtuple("Switch", "ticks classes until")
Segment = collections.namedtuple("Segment", "from_ticks from_ns multiplier")
Place = collections.namedtuple("Place", "slot ring head first blocks runs floor")
Run = collections.namedtuple("Run", "first start end")


class Recording:
    def __init__(self, path, report):
        self.report = report
        with open(path, "rb") as file:
            self.data = file.read()
        self.read_header()
        self.read_status()
        self.read_log()
        self.read_places()
        self.definitions = {}
        self.strings = {}
        self.segments = []
        self.lives = {}
        self.error = None      # with which the process ended: its ticks and text
        self.times = {}        # of lives: tid, start, stop
        self.read_records()
        if not self.segments:
            raise Refused("there is no valid clock segment")
        self.check_start()
        self.check_end()

    def number(self, form, offset):
        size = struct.calcsize("<" + form)
        if offset + size > len(self.data):
            raise Refused("the file ends before offset %d" % (offset + size))
        return struct.unpack_from("<" + form, self.data, offset)[0]

    def block(self, index):
        return struct.unpack_from("<512Q", self.data, FRONT_BYTES + BLOCK_BYTES * index)

    def read_header(self):
        if self.data[:8] != b"\x89EVRING\n":
            raise Refused("not a recording")
        if self.number("I", 12) == 0x04030201:
            raise Refused("recorded with the other byte order")
        if self.number("I", 8) != 3:
            raise Refused("format version %d" % self.number("I", 8))
        fields = [("I", 12, 0x01020304), ("I", 16, FRONT_BYTES), ("I", 20, BLOCK_BYTES),
                  ("I", 28, 128), ("I", 32, 8), ("I", 36, 256), ("Q", 40, 4096), ("Q", 48, 8192),
                  ("Q", 56, 12288), ("Q", 64, FRONT_BYTES)]
        for form, offset, expected in fields:
            if self.number(form, offset) != expected:
                raise Refused("the header's field at %d is not %d" % (offset, expected))
        self.check_header()
        self.layout = self.number("I", 24)
        if self.layout not in (1, 2) or self.number("I", 76) not in (1, 2, 3):
            raise Refused("unknown layout or clock")
        if not 11 <= self.number("I", 112) <= 24:
            raise Refused("wsize is out of range")
        self.clock = self.number("I", 76)
        flags = self.number("I", 124)
        self.is_incomplete = bool(flags & 1)
        self.is_copy, self.went_on = bool(flags & 2), bool(flags & 4)
        self.has_streams = self.layout == 2
        self.start_ticks = self.number("Q", 88)
        self.start_ns = self.number("Q", 96)
        self.ring_names = [fixed_text(self.data[424 + 16 * i:440 + 16 * i]) for i in range(8)]
        self.class_names = [fixed_text(self.data[552 + 16 * i:568 + 16 * i]) for i in range(64)]

    def check_header(self):
        if len(self.data) < 1576:
            raise Refused("the file ends within the header")
        said = self.number("I", 120)
        words = struct.unpack("<197Q", self.data[:120] + bytes(4) + self.data[124:1576])
        if said and said != checksum(words, ()):
            self.report.damage("the checksum of the header")

    def read_status(self):
        self.state = self.number("I", 4096)
        self.slots = self.number("I", 4100)
        self.claimed = self.number("Q", 4104)
        self.front_checksum = self.number("I", 4096 + 52)
        if (self.state not in (1, 2) or self.slots > 128
                or (self.has_streams and self.claimed % 16)):
            raise Refused("the status page is not valid")
        missing = FRONT_BYTES + BLOCK_BYTES * self.claimed - len(self.data)
        if missing > 0 and len(self.data) < FRONT_BYTES:
            raise Refused("the file is shorter than its %d blocks need" % self.claimed)
        if missing > 0: # nobody writes into what this reads
            self.report.damage("the file was cut short")
            self.data += bytes(missing)
        self.has_ended = self.number("I", 4096) == 2
        self.end_ticks = self.number("Q", 4112)
        self.end_reason, self.end_detail = self.number("I", 4136), self.number("I", 4140)

    def read_log(self):
        """Entries up to the first that is not valid, and whether older ones are gone."""
        self.wanted = self.number("Q", 8192 + 8)
        switches = self.number("I", 8192 + 40)
        oldest = max(0, switches - LOG_ENTRIES)
        self.log = []
        for n in range(oldest, switches):
            at = 8192 + 1024 + 32 * (n % LOG_ENTRIES)
            number, ticks, classes, until = struct.unpack_from("<4Q", self.data, at)
            if number != n + 1:
                break
            self.log.append(Switch(ticks, classes, until))
        self.is_log_cut = oldest > 0
        self.process_logs = collections.defaultdict(list)

    def log_of(self, process):
        """The log that holds in a block of this process, and whether older entries are gone."""
        if not process:
            return self.log, self.is_log_cut
        log = self.process_logs.get(process, [])
        return log[-LOG_ENTRIES:], len(log) > LOG_ENTRIES

    def take_logged(self, process, record):
        if len(record) < 4 or not 1 <= process <= 16384:
            self.report.damage("an entry of the log of process %d" % process)
        else:
            self.process_logs[process].append(Switch(*record[1:4]))

    def read_places(self):
        self.places = []
        self.run_blocks = 0                      # of all rings so far
        self.read_units()
        for slot in range(self.slots):
            for ring in range(8):
                at = 12288 + 256 * slot + 128 + 16 * ring
                head, first, blocks = struct.unpack_from("<QII", self.data, at)
                if head == 0:
                    continue
                if self.has_streams and blocks == 1 << 31 and first == 0 and head <= 1 << 56:
                    self.places.append(Place(slot, ring, head, 0, blocks, [], 1))
                    continue
                is_power = blocks & (blocks - 1) == 0 and 4 <= blocks <= 32768
                is_valid = (is_power and first + blocks <= self.claimed
                            and self.run_blocks + blocks <= self.claimed)
                self.run_blocks += blocks if is_valid else 0
                if not is_valid or head > 1 << 56:
                    self.report.damage("domain %d, ring %d: its place or head" % (slot, ring))
                    continue
                runs, floor = self.read_runs(slot, ring, head, [Run(first, 0, blocks)])
                self.places.append(Place(slot, ring, head, first, runs[-1].end, runs, floor))

    def read_units(self):
        """Section 6, streams: the blocks of each stream, by sequence; and units of records."""
        self.streams = collections.defaultdict(dict)
        self.record_units = []
        self.units = []                          # (first sequence, slot, ring, block)
        for unit in range(0, self.claimed - 15, 16) if self.has_streams else ():
            headers = [self.block(unit + k)[:2] for k in range(16)]
            if headers[0][0] and headers[0][1] & 0xFFFF != EVENTS:
                self.record_units.append(unit)
                continue
            said = collections.Counter(
                (sequence - k, word >> 16 & 0xFFFF, word >> 32 & 0xFF)
                for k, (sequence, word) in enumerate(headers)
                if sequence > k and word & 0xFFFF == EVENTS)
            if not said:
                continue
            (first, slot, ring), _ = said.most_common(1)[0]
            self.units.append((first, slot, ring, unit))
            for k, (sequence, _) in enumerate(headers):
                if k == 15 and sequence > first + k:      # there was no room for others
                    self.streams[slot, ring][sequence] = unit + k
                else:
                    self.streams[slot, ring][first + k] = unit + k

    def read_runs(self, slot, ring, head, runs):
        """The runs by which a ring has grown, and the first block that may be there."""
        *words, rounds = struct.unpack_from("<5I", self.data, 45056 + 160 * slot + 20 * ring)
        for word in words:
            first, end, start = (word & 0x3FFFFFF) * 16, 1 << (word >> 26 & 31), runs[-1].end
            if word == 0:
                break
            if (not word >> 31 or not start < end <= 32768 or
                    first + end - start > self.claimed
                    or self.run_blocks + end - start > self.claimed):
                self.report.damage("domain %d, ring %d: a run" % (slot, ring))
                break
            self.run_blocks += end - start
            runs.append(Run(first, start, end))
        if len(runs) == 1:
            return runs, 1
        before = runs[-1].start
        if not 1 <= rounds <= head // before:
            self.report.damage("domain %d, ring %d: its rounds" % (slot, ring))
            return runs, 1
        return runs, (rounds - 1) * before + 1

    def block_of(self, place, sequence):
        """Where a block of a ring lies."""
        if not place.runs:
            return self.streams[place.slot, place.ring][sequence]
        at = (sequence - 1) % place.blocks
        run = next(run for run in place.runs if at < run.end)
        return run.first + at - run.start

    def table_name(self, slot, incarnation):
        at = 12288 + 256 * slot
        if self.number("I", at + 4) != incarnation:
            return ""
        return fixed_text(self.data[at + 32:at + 80])

    def domain_name(self, slot, incarnation):
        if (slot, incarnation) in self.lives:
            return self.lives[slot, incarnation]
        return self.table_name(slot, incarnation)

    def ring_name(self, ring):
        return self.ring_names[ring] or "ring%d" % ring

    def class_name(self, event_class):
        return self.class_names[event_class] or "?"

    # -- Records (section 5)

    def read_records(self):
        in_rings = set()
        for place in self.places:
            for run in place.runs:
                in_rings.update(range(run.first, run.first + run.end - run.start))
        by_kind = collections.defaultdict(list)
        self.taken = collections.Counter()       # records of each kind
        self.functions = {}                      # id: (name, source, line)
        self.stacks = {}                         # id: (parent, function, line, column)
        self.last_stacks = {}                    # by slot: the newest, see take_last_stack
        self.heap_roots = collections.defaultdict(list)  # by number: (generation, record)
        self.heap_pages = collections.defaultdict(list)  # by number and page: the same
        # by life and number of the profile: number of the part, its records
        self.parts = collections.defaultdict(lambda: collections.defaultdict(list))
        self.footprints = {}                     # by slot: root, rows
        self.loose = []                          # blocks of events that are in no ring
        indices = range(self.claimed)
        if self.has_streams:
            indices = [unit + k for unit in self.record_units for k in range(16)]
        for index in indices:
            if index in in_rings:
                continue
            words = self.block(index)
            if words[0] != 0:
                by_kind[words[1] & 0xFFFF].append((words[0], index, words))
        for kind, blocks in by_kind.items():
            if EVENTS < kind < 10 or kind in (ENDINGS, PROCESSES, LAST_STACKS):
                for sequence, index, words in sorted(blocks):
                    self.read_record_block(kind, index, words)
            elif kind in (HEAPS, HEAP_PAGES):
                self.read_heap_blocks(kind, blocks)
            elif kind == PROFILES:
                self.read_parts(blocks)
            elif kind == FOOTPRINTS:
                self.read_footprints(blocks)
            elif kind == EVENTS:
                self.loose += [words for _, _, words in blocks]
            else:
                self.report.passed_over["blocks of kind %d" % kind] += len(blocks)

    def read_heap_blocks(self, kind, blocks):
        """Heap profiles: roots by profile, and pages by profile and page, newest last."""
        for sequence, index, words in sorted(blocks):
            end = words[6] & 0xFFFFFFFF
            records = split_records(words, end)
            if records is None or checksum(words[:end]) != words[6] >> 32:
                self.report.damage("block %d of the file, of kind %d" % (index, kind))
            elif kind == HEAPS and not root_is_valid(words, records):
                self.report.damage("the heap profile in block %d of the file" % index)
            elif kind == HEAPS:
                self.heap_roots[words[5] & 0xFFFFFFFF].append((sequence, records[0]))
            else:
                place = words[5] & 0xFFFFFFFF, words[5] >> 32
                self.heap_pages[place].append((sequence, records))

    def read_parts(self, blocks):
        """Profiles of calls: parts by life and number of the profile."""
        for _, index, words in sorted(blocks):
            end = words[6] & 0xFFFFFFFF
            records = split_records(words, end)
            if records is None or checksum(words[:end]) != words[6] >> 32:
                self.report.damage("block %d of the file, of kind %d" % (index, PROFILES))
            elif part_is_valid(records):
                head = records[0]
                self.parts[head[1]][head[2]].append((head[0] >> 32, records))

    def profiles(self):
        """The newest valid profile of each life: slot, incarnation, functions, nodes."""
        for life in sorted(self.parts):
            for number in sorted(self.parts[life], reverse=True):
                parts = sorted(self.parts[life][number], key=lambda part: part[0])
                found = profile_of([records for _, records in parts])
                if found:
                    yield (life & 0xFFFFFFFF, life >> 32, *found)
                    break

    def read_footprints(self, blocks):
        """What memory is used for: by slot, the latest rows."""
        for sequence, index, words in sorted(blocks):
            end = words[6] & 0xFFFFFFFF
            records = split_records(words, end)
            if records is None or checksum(words[:end]) != words[6] >> 32 or \
                    not footprint_is_valid(words, records):
                self.report.damage("block %d of the file, of kind %d" % (index, FOOTPRINTS))
                continue
            rows = []
            for record in records[1:]:
                raw, name = bytes_of(record), record[3] >> 16 & 0xFFFF
                rows.append((clean(raw[32:32 + name]), record[1], record[2]))
            self.footprints[records[0][1] & 0xFFFFFFFF] = records[0], rows

    def heaps(self):
        """What each heap profile says: its root, its entries, and whether it is whole."""
        for number in sorted(self.heap_roots):
            generation, root = max(self.heap_roots[number])
            pages, entries = root[6] & 0xFFFFFFFF, []
            is_whole = True
            for page in range(pages):
                there = sorted(self.heap_pages.get((number, page), []), key=lambda p: p[0])
                usable = [p for p in there if p[0] <= generation] or there[:1]
                is_whole = is_whole and bool(usable) and usable[-1][0] <= generation
                entries += usable[-1][1] if usable else []
            entries = [e for e in entries if e[0] >> 16 & 0xFFFF == 1 and len(e) >= 9 and
                       e[1] >> 16 & 0xFF < 64 and e[1] >> 24 & 0xFF < 16]
            sums = [sum(e[word] for e in entries) for word in (4, 5, 2)]
            lost = root[18], root[19], root[20]
            is_whole = is_whole and len(entries) == root[6] >> 32 and \
                [wrap(s + l) for s, l in zip(sums, lost)] == [root[9], root[10], root[11]]
            yield number, root, entries, is_whole

    def read_record_block(self, kind, index, words):
        at, records, is_sound = HEADER_WORDS, [], True
        while at < BLOCK_WORDS and words[at]:
            size = words[at] & 0xFFFF
            if size == 0 or at + size > BLOCK_WORDS:
                is_sound = False
                break
            records.append(words[at:at + size])
            at += size
        committed, expected = words[6] & 0xFFFFFFFF, words[6] >> 32
        if words[3] and not words[6]:
            so_far, said = words[3] & 0xFFFFFFFF, words[3] >> 32
            if not 8 <= so_far <= at or checksum(words[:so_far], (3, 6)) != said:
                self.report.damage("a record in block %d of the file, of kind %d" % (index, kind))
        if committed and (not is_sound or committed != at or checksum(words[:at]) != expected):
            self.report.damage("block %d of the file, of kind %d" % (index, kind))
            return
        if not is_sound:
            self.report.damage("a record in block %d of the file" % index)
        self.taken[kind] += len(records)
        for record in records:
            self.take_record(kind, record)

    def take_record(self, kind, record):
        of_type, number = record[0] >> 16 & 0xFFFF, record[0] >> 32
        takers = {(DEFINITIONS, 1): self.take_definition, (CLOCK, 1): self.take_segment,
                  (LIVES, 1): self.take_name_of_life, (LIVES, 2): self.take_end_of_life,
                  (LIVES, 3): self.take_name_of_life, (ENDINGS, 1): self.take_error,
                  (FUNCTIONS, 1): self.take_function, (STACKS, 2): self.take_stack,
                  (LAST_STACKS, 1): self.take_last_stack, (SWITCHES, 2): self.take_logged,
                  (STRINGS, 2): self.take_memory_name, (STRINGS, 3): self.take_memory_name}
        if (kind, of_type) in takers:
            takers[kind, of_type](number, record)
        elif kind not in REREAD:
            self.report.passed_over["records of kind %d, type %d" % (kind, of_type)] += 1

    def take_function(self, number, record):
        raw, texts = bytes_of(record), max(0, len(record) - 3) * 8
        name_bytes, source_bytes = (record[2] & 0xFFFFFFFF, record[2] >> 32) \
            if len(record) >= 3 else (256, 0)
        if not 1 <= number <= 344064 or name_bytes > 255 or source_bytes > 1023 or \
                name_bytes + source_bytes > texts:
            self.report.damage("function %d" % number)
        elif number not in self.functions:
            name, source = raw[24:24 + name_bytes], raw[24 + name_bytes:][:source_bytes]
            self.functions[number] = (clean(name), clean(source),
                                      record[1] & 0xFFFFFFFF)

    def take_stack(self, number, record):
        if len(record) < 3 or not 1 <= number <= 688128 or record[1] & 0xFFFFFFFF >= number:
            self.report.damage("stack %d" % number)
        elif number not in self.stacks:
            parent = record[1] & 0xFFFFFFFF
            self.stacks[number] = (parent if parent in self.stacks else 0, record[1] >> 32,
                                   record[2] & 0xFFFFFFFF, record[2] >> 32)

    def take_memory_name(self, number, record):
        most = 64 if record[0] >> 16 & 0xFFFF == 2 else 16
        if len(record) < 2 or number >= most or not 1 <= record[1] <= 15 or \
                record[1] > (len(record) - 2) * 8:
            self.report.damage("the name of a kind or origin of memory")

    def take_definition(self, number, record):
        raw = bytes_of(record)
        if len(record) < 4:
            self.report.damage("a definition is too short")
            return
        kind, event_class, ring, payload, measure, quantity = raw[8:14]
        sizes = struct.unpack_from("<4H", raw, 24)
        if not (number < 8192 and 1 <= kind <= 6 and event_class < 64 and ring < 8
                and 1 <= sizes[0] <= 95 and sizes[1] <= 23 and sizes[2] <= 119
                and sizes[3] <= 119 and 32 + sum(sizes) <= len(raw)):
            self.report.damage("the definition of id %d" % number)
            return
        texts, at = [], 32
        for size in sizes:
            texts.append(clean(raw[at:at + size]))
            at += size
        name, unit, _, fields = texts
        definition = Definition(name, kind, event_class, payload, measure, quantity, unit,
                                fields, record[2])
        self.definitions.setdefault(number, definition)

    def take_segment(self, number, record):
        if len(record) < 4:
            self.report.damage("a clock segment is too short")
            return
        segment = Segment(*record[1:4])
        is_valid = 0 < segment.multiplier < 1 << 56
        if self.segments:
            before = self.segments[-1]
            is_valid &= (segment.from_ticks > before.from_ticks
                         and segment.from_ns >= before.from_ns)
        if is_valid:
            self.segments.append(segment)
        else:
            self.report.damage("a clock segment")

    def take_name_of_life(self, slot, record):
        size = record[3] if len(record) > 3 else None
        if size is None or size > 47 or 32 + size > 8 * len(record) or slot >= 128:
            self.report.damage("a life of domain %d" % slot)
            return
        place = slot, record[1] & 0xFFFFFFFF
        self.lives[place] = clean(bytes_of(record)[32:32 + size])
        self.times.setdefault(place, [0, 0, 0])
        if record[0] >> 16 & 0xFFFF == 1:
            self.times[place][:2] = record[1] >> 32, record[2]

    def take_end_of_life(self, slot, record):
        if len(record) < 3 or slot >= 128:
            self.report.damage("the end of a life of domain %d" % slot)
        elif (slot, record[1] & 0xFFFFFFFF) in self.times:
            self.times[slot, record[1] & 0xFFFFFFFF][2] = record[2]

    # -- What must hold where nobody writes any more (section 14)

    def check_start(self):
        first = self.segments[0]
        if ((first.from_ticks, first.from_ns) != (self.start_ticks, self.start_ns)
                or (self.clock == 1 and first.multiplier != 1 << 40)):
            self.report.damage("the clock does not begin at the start")

    def check_end(self):
        self.check_front()
        for slot in range(128):
            self.check_entry(slot)
        is_finished = self.is_copy or not (self.is_incomplete and self.state == 1)
        if is_finished:
            self.check_counts()
            self.check_units()
        for words in self.loose:
            if has_event(words):
                self.report.damage("a block with events is in no ring")
        for place in self.places if is_finished else ():
            self.check_next(place)

    def check_units(self):
        """Units with events that are in no ring, or claim what another one has."""
        streams = {(place.slot, place.ring) for place in self.places if not place.runs}
        in_runs = {run.first + k for place in self.places for run in place.runs
                   for k in range(run.end - run.start)}
        owned = set()
        for first, slot, ring, unit in sorted(self.units):
            claims = {(slot, ring, first + k) for k in range(16)}
            is_loose = (slot, ring) not in streams and unit not in in_runs
            is_twice = ((slot, ring) in streams and not self.is_incomplete
                        and not owned.isdisjoint(claims))
            owned |= claims
            if (is_loose or is_twice) and has_event(self.block(unit)):
                self.report.damage("domain %d, ring %d: unit %d is in no ring" % (slot, ring, unit))

    def check_front(self):
        """The checksum of status page and domain table."""
        if self.front_checksum and (self.state == 2 or self.is_copy):
            page = self.data[4096:4148] + bytes(4) + self.data[4152:5632]
            words = struct.unpack("<6848Q", page + self.data[12288:65536])
            if checksum(words, ()) != self.front_checksum:
                self.report.damage("the checksum of the front")

    def check_entry(self, slot):
        entry = self.data[12288 + 256 * slot:12544 + 256 * slot]
        version, incarnation, state, tid, start, stop = struct.unpack_from("<IIIIQQ", entry)
        if slot >= self.slots:
            if any(entry):
                self.report.damage("an entry is in use beyond the last, %d" % slot)
            return
        if incarnation == 0 or version & 1:
            return
        is_possible = stop == 0 if state == 1 else stop >= start
        if state > 1 or start < self.start_ticks or not is_possible:
            self.report.damage("the times of domain %d" % slot)
        life = self.times.get((slot, incarnation))
        if life and ((life[1] and life[:2] != [tid, start])
                     or (life[2] and stop and life[2] != stop)):
            self.report.damage("domain %d: its entry and its record differ" % slot)

    def check_counts(self):
        for kind in (*range(2, 10), ENDINGS, LAST_STACKS):
            at = 4096 + 512 + 16 * kind
            records, dropped = struct.unpack_from("<QQ", self.data, at)
            if self.taken[kind] > records + 1 or records - self.taken[kind] > dropped:
                self.report.damage("the number of records of kind %d" % kind)

    def is_left_out(self, place, sequence):
        """Was there no room for the block, and all others of its round? (Section 6.)"""
        places = place.runs[0].end - place.runs[0].start
        end = (sequence + places - 1) // places * places
        return (end <= place.head and not any(self.block(self.block_of(place, sequence)))
                and not any(self.block(self.block_of(place, end))))

    def check_next(self, place):
        """What lies where the block after the newest will be."""
        following = place.head + 1
        if not place.runs and following not in self.streams[place.slot, place.ring]:
            return
        words = self.block(self.block_of(place, following))
        is_ended = self.state == 2 and self.front_checksum
        oldest = following - place.blocks if place.runs else 0
        if words[0] == (oldest if oldest >= place.floor else 0):
            return
        if place.runs and oldest > 0 and self.is_left_out(place, oldest):
            return
        if not is_ended and (words[0] == 0 or (words[0] == following and not has_event(words))):
            return
        self.report.damage("domain %d, ring %d: the place behind the newest block"
                           % (place.slot, place.ring))

    def take_error(self, number, record):
        raw = bytes_of(record)
        if len(record) < 3 or record[2] > 2048 or 24 + record[2] > len(raw):
            self.report.damage("the record of an error")
            return
        self.error = record[1], clean(raw[24:24 + record[2]], "\n\t")

    def take_last_stack(self, number, record):
        """Of each slot the newest: (ticks, incarnation, frames, reason, activity, subject,
        value, lines of name, source and line)."""
        raw = bytes_of(record)
        if len(record) < 5:
            self.report.damage("a last stack")
            return
        reason, activity, size = record[3] & 0xFF, record[3] >> 8 & 0xFF, record[3] >> 16 & 0xFFFF
        incarnation = record[2] & 0xFFFFFFFF
        if number > 127 or not incarnation or not 1 <= reason <= 7 or activity > 3 or \
                size > 1600 or 40 + size > len(raw):
            self.report.damage("a last stack")
            return
        if number in self.last_stacks and self.last_stacks[number][0] > record[1]:
            return
        value = record[4] - (1 << 64 if record[4] >> 63 else 0)
        text = clean(raw[40:40 + size], "\n\t")
        lines = [(line.split("\t") + ["", ""])[:3] for line in text.split("\n") if line]
        self.last_stacks[number] = (record[1], incarnation, record[2] >> 32, reason, activity,
                                    record[3] >> 32, value, lines)

    # -- The end (sections 3 and 5)

    def end(self):
        """A list, which is empty when there is nothing to be said."""
        reason = self.end_reason if self.has_ended or self.end_reason == SIGNAL else 0
        text = self.error[1] if self.error else ""
        if not text and reason != SIGNAL and (reason != EXIT or self.end_detail == 0):
            return []
        names = {STOPPED: "stopped", EXIT: "exit", SIGNAL: "signal", DELETED: "deleted"}
        is_dead = not self.has_ended and not self.went_on
        item = {"kind": "ended", "end_reason": names.get(reason, "killed" if is_dead else None)}
        if reason in (EXIT, SIGNAL):
            item["end_detail"] = self.end_detail
        if text:
            item["error_text"] = text
        if self.has_ended or self.error:
            item["ns"] = self.ns(self.end_ticks if self.has_ended else self.error[0])
        return [item]

    def definition(self, id, ticks):
        """None: an event of that id and time is an (other)."""
        found = self.definitions.get(id)
        return found if found and found.since <= ticks else None

    # -- Times (kind 7)

    def segment_at(self, ticks):
        holding = self.segments[0]
        for segment in self.segments:
            if segment.from_ticks <= ticks:
                holding = segment
        return holding

    def ns(self, ticks):
        segment = self.segment_at(ticks)
        if ticks < segment.from_ticks:
            return segment.from_ns
        return wrap(segment.from_ns + ((ticks - segment.from_ticks) * segment.multiplier >> 40))

    def duration_ns(self, ticks, end):
        return wrap(ticks * self.segment_at(end).multiplier >> 40)


# ---- Payloads (section 7) --------------------------------------------------------------------


class WrongLength(Exception):
    """The payload is not what its definition says."""


def signed(word):
    return word - (1 << 64) if word >= TOP_BIT else word


def double(word):
    value = struct.unpack("<d", struct.pack("<Q", word))[0]
    if value != value:
        return "nan"
    if value in (float("inf"), float("-inf")):
        return "inf" if value > 0 else "-inf"
    return value


NUMBERS = {1: signed, 2: lambda word: word, 3: double}
STRING, BYTES, VALUES, STACK_ID, SAMPLE = 4, 5, 6, 8, 9


def take_bytes(words):
    """The bytes of a string, whether it was cut, and the words behind it."""
    if not words:
        raise WrongLength
    size = words[0] & ~TOP_BIT
    count = 1 + (size + 7) // 8
    if size > 1008 or count > len(words):
        raise WrongLength
    return bytes_of(words[1:count])[:size], bool(words[0] & TOP_BIT), words[count:]


def take_value(form, words):
    """One of several values, whether it was cut, and the words behind it."""
    if form in NUMBERS and words:
        return NUMBERS[form](words[0]), False, words[1:]
    if form not in (STRING, BYTES):
        raise WrongLength
    raw, is_cut, rest = take_bytes(words)
    if form == STRING:
        try:
            return raw.decode("utf-8"), is_cut, rest
        except UnicodeDecodeError:
            pass
    return {"hex": raw.hex()}, is_cut, rest


def decode_values(fields, words):
    values, rest, cut = [], words[1:], {}
    for i in range(words[0] & 15):
        value, is_cut, rest = take_value(words[0] >> (4 + 4 * i) & 15, rest)
        values.append(value)
        if is_cut:
            cut = {"truncated": True}
    if rest:
        raise WrongLength
    if not fields:
        return {"value": values, **cut}
    names = fields.split(",")
    named = {}
    for i, value in enumerate(values):
        named[names[i] if i < len(names) and names[i] else str(i + 1)] = value
    return {"value": named, **cut}


def decode_sample(words):
    return {"block": words[2] & (1 << 40) - 1, "words": words[1] & (1 << 48) - 1,
            "samples": words[1] >> 48 | words[2] >> 40 << 16, "stack": words[0] & 0xFFFFFFFF,
            "span": words[0] >> 32 & 0x3FFF, "kind": words[0] >> 46 & 63,
            "origin": words[0] >> 52 & 15}


def decode_known(recording, definition, words):
    form = definition.payload
    if form in NUMBERS and len(words) == 1:
        shown = {"value": NUMBERS[form](words[0])}
        if definition.unit == "id" and form in (1, 2) and words[0] in recording.definitions:
            shown["value_name"] = recording.definitions[words[0]].name
        return shown
    if form in (STRING, BYTES):
        raw, is_cut, rest = take_bytes(words)
        if rest:
            raise WrongLength
        shown = {"hex": raw.hex()}
        if form == STRING:
            try:
                shown = {"value": raw.decode("utf-8")}
            except UnicodeDecodeError:
                pass
        return {**shown, "truncated": True} if is_cut else shown
    if form == VALUES:
        return decode_values(definition.fields, words)
    if form == STACK_ID and len(words) == 1:
        return {"stack_id": words[0]}
    if form == SAMPLE and len(words) == 3:
        return {"sample": decode_sample(words)}
    raise WrongLength


def decode_payload(recording, definition, kind, words):
    if not words:
        return {}
    if definition and kind != END and definition.kind in KINDS_OF_DEFINITION[kind]:
        try:
            return decode_known(recording, definition, words)
        except WrongLength:
            pass
    return {"hex": bytes_of(words).hex()}


# ---- Open spans (section 9) ------------------------------------------------------------------


class Span:
    def __init__(self, id, begin, suspended_before):
        self.id = id
        self.begin = begin
        self.suspended_before = suspended_before  # of its context, when it began


class Context:
    def __init__(self):
        self.spans = []        # outermost first
        self.suspended = 0     # ticks, so far
        self.left_at = None    # when it is suspended

    def take(self, depth):
        span = self.spans.pop(depth)
        if not self.spans:
            self.left_at = None
        return span

    def suspend(self, ticks):
        if self.spans and self.left_at is None:
            self.left_at = ticks

    def resume(self, ticks):
        if self.left_at is not None:
            self.suspended += max(0, ticks - self.left_at)
            self.left_at = None


# ---- One ring (sections 7, 9, 11) ------------------------------------------------------------


class Ring:
    def __init__(self, recording, place):
        self.recording = recording
        self.report = recording.report
        self.place = place
        self.items = []
        self.contexts = collections.defaultdict(Context)
        self.hidden = 0
        self.context = 0
        self.incarnation = None
        self.events_known = 0
        self.is_joined = False
        self.process = None            # whose log holds
        self.pending_switches = []
        self.known_ns = 0              # time of the last event
        self.base = 0                  # that times refer to

    # -- What is printed

    def show(self, kind, ns, id, ticks, context, more):
        definition = self.recording.definition(id, ticks)
        item = {"ns": ns, "domain": self.place.slot, "incarnation": self.incarnation,
                "ring": self.recording.ring_name(self.place.ring), "kind": kind,
                "name": definition.name if definition else "(other)", "id": id}
        name = self.recording.domain_name(self.place.slot, self.incarnation)
        if name:
            item["domain_name"] = name
        if definition:
            item["class"] = self.recording.class_name(definition.event_class)
        else:
            item["unknown"] = True
        if context:
            item["context"] = context
        item.update(more)
        self.items.append(item)

    def show_span(self, kind, span, context, depth, more):
        begin_ns = self.recording.ns(span.begin)
        self.show(kind, begin_ns, span.id, span.begin, context, {"depth": depth, **more})

    def last_known(self):
        """Section 9, rule 8: what is torn by a loss, or by the end of a domain."""
        return max(self.known_ns, self.recording.ns(self.base))

    def tear(self, context, depth, ns):
        span = self.contexts[context].take(depth)
        begin_ns = self.recording.ns(span.begin)
        self.show_span("end", span, context, depth,
                       {"torn": True, "synthetic": True, "begin_ns": begin_ns,
                        "ns": max(ns, begin_ns)})

    def tear_where(self, is_torn, ns):
        for context, state in self.contexts.items():
            for depth in reversed(range(len(state.spans))):
                if is_torn(context, state.spans[depth]):
                    self.tear(context, depth, ns)

    # -- Blocks

    def run(self):
        place = self.place
        for sequence in self.sequences():
            words = self.recording.block(self.recording.block_of(place, sequence))
            end = self.end_of_block(sequence, words)
            if end:
                self.read_block(words, end)
            if end and sequence == place.head and not words[6] & 0xFFFFFFFF:
                self.check_times(words, end)
        if not self.is_joined:
            self.report.damage("domain %d, ring %d: no valid block" % (place.slot, place.ring))
        for context, state in self.contexts.items():
            for depth, span in enumerate(state.spans):
                more = {"may_be_over": True} if self.may_be_over(span) else {}
                self.show_span("open", span, context, depth, {"synthetic": True, **more})
        return self.items

    def may_be_over(self, span):
        """Section 4, after the last event."""
        recording = self.recording
        definition = recording.definitions.get(span.id)
        paused = not recording.wanted & 1 and recording.end_reason != SIGNAL
        is_off = definition and not (recording.wanted | 1) >> definition.event_class & 1
        return bool(paused or is_off or any(
            (not definition or switch.classes >> definition.event_class & 1) and
            span.begin < switch.until for switch in self.pending_switches))

    def sequences(self):
        """Those of the blocks that may be there."""
        place = self.place
        if place.runs:
            return range(max(place.floor, place.head - place.blocks + 1), place.head + 1)
        there = self.recording.streams[place.slot, place.ring]
        return sorted(sequence for sequence in there if sequence <= place.head)

    def end_of_block(self, sequence, words):
        """Where the event words of a valid block end; None: it is not valid, or not there."""
        head = self.place.head
        if words[0] != sequence:
            is_begun = (sequence == head - self.place.blocks + 1 or
                        self.place.runs and self.recording.is_left_out(self.place, sequence))
            if not self.place.runs:
                is_begun = self.recording.is_incomplete and not any(words)
            if not is_begun:
                self.damage(sequence, "not there")
            return None
        kind, slot = words[1] & 0xFFFF, words[1] >> 16 & 0xFFFF
        ring, opened = words[1] >> 32 & 0xFF, (words[1] >> 48) + (words[1] >> 40 & 0xFF)
        if (kind, slot, ring) != (EVENTS, self.place.slot, self.place.ring):
            return self.damage(sequence, "kind, domain or ring")
        if words[5] & 0xFFFFFFFF == 0 or opened > MOST_OPEN or words[2] >= 1 << 56:
            return self.damage(sequence, "incarnation, open or before")
        if words[3] < self.recording.start_ticks:
            return self.damage(sequence, "base_ticks")
        at = first_event(words)
        while at < BLOCK_WORDS and words[at]:
            if words[at] & 7 == 0:
                return self.damage(sequence, "an event word of kind 0")
            at += 1 + (words[at] >> 3 & 127)
        if at > BLOCK_WORDS:
            return self.damage(sequence, "an event reaches beyond it")
        committed, expected = words[6] & 0xFFFFFFFF, words[6] >> 32
        if (sequence < head or committed) and (
                committed != at or checksum(words[:at]) != expected):
            return self.damage(sequence, "committed or checksum")
        return at

    def check_times(self, words, end):
        """Of a block that was being filled when nobody wrote any more."""
        at, base, latest = first_event(words), words[3], 0
        while at < end:
            word = words[at]
            ticks = full_time(word, base)
            ns = self.recording.ns(ticks)
            if word & 7 == REMARK:
                if word >> 10 & 8191 == 0 and word >> 3 & 127:
                    base = words[at + 1]
            elif ticks < self.recording.start_ticks or wrap(ns + 60_000_000_000) < latest:
                self.damage(words[0], "times")
                return
            else:
                latest = max(latest, ns)
            at += 1 + (word >> 3 & 127)

    def damage(self, sequence, what):
        self.report.damage("domain %d, ring %d, block %d: %s" % (
            self.place.slot, self.place.ring, sequence, what))

    def read_block(self, words, end):
        before, base = words[2], words[3]
        incarnation = words[5] & 0xFFFFFFFF
        losses = []
        if before > self.events_known:
            losses.append({"kind": "lost", "domain": self.place.slot,
                           "ring": self.recording.ring_name(self.place.ring),
                           "count": before - self.events_known})
        elif before < self.events_known:
            self.report.damage("domain %d: `before` goes back" % self.place.slot)
        process = words[7] & 0xFFFFFFFF
        if process != self.process:
            self.process = process
            self.begin_log(words[3])
        if self.is_joined and incarnation != self.incarnation:
            self.begin_incarnation()
        self.incarnation = incarnation
        if not self.is_joined: # what is open where reading begins was begun before the loss
            self.take_over_list(words, base, [])
            self.items += losses
        elif before != self.events_known:
            self.take_over_list(words, base, losses)
        self.is_joined = True
        self.events_known = before
        self.context = words[4]
        self.read_events(words, first_event(words), end, base)

    def begin_incarnation(self):
        self.tear_where(lambda context, span: True, self.last_known())
        self.contexts.clear()
        self.hidden = 0

    def take_over_list(self, words, base, losses):
        """What is torn comes before the loss that tears it, what it hides behind it."""
        entries = []
        for i in range(words[1] >> 48):
            word, begin, context, suspended = words[8 + 4 * i:12 + 4 * i]
            entries.append((word >> 10 & 8191, begin, context, suspended))
        at = HEADER_WORDS + 4 * (words[1] >> 48)
        for word in words[at:first_event(words)]:         # brief ones
            entries.append((word >> 10 & 8191, full_time(word, base), words[4], 0))
        listed = {entry[:3] for entry in entries}
        self.tear_where(lambda context, span: (span.id, span.begin, context) not in listed,
                        self.last_known())
        self.items += losses
        had = {(span.id, span.begin, context)
               for context, state in self.contexts.items() for span in state.spans}
        self.contexts.clear()
        self.hidden = words[5] >> 32
        for id, begin, context, suspended in entries:
            self.take_over_entry(id, begin, context, suspended, base,
                                 (id, begin, context) in had)
        self.begin_log(base)
        self.apply_switches(base)

    def begin_log(self, base):
        log, is_cut = self.recording.log_of(self.process)
        self.pending_switches = list(log)
        if is_cut:
            until = log[0].ticks if log else base
            self.pending_switches.insert(0, Switch(until, wrap(-1), until))

    def take_over_entry(self, id, begin, context, suspended, ticks, is_known):
        state = self.contexts[context]
        span = Span(id, begin, state.suspended - (suspended & ~TOP_BIT))
        if suspended & TOP_BIT:
            state.left_at = ticks
        if not is_known:
            self.show_span("begin", span, context, len(state.spans), {"synthetic": True})
        state.spans.append(span)

    # -- Events

    def read_events(self, words, at, end, base):
        self.base = base
        while at < end:
            word = words[at]
            kind, count, id = word & 7, word >> 3 & 127, word >> 10 & 8191
            payload = words[at + 1:at + 1 + count]
            at += 1 + count
            ticks = full_time(word, base)
            if kind != REMARK:
                self.events_known += 1
                self.take_event(kind, id, ticks, payload)
                self.known_ns = self.recording.ns(ticks)
            elif id == 0:
                base = self.base = payload[0] if payload else base
            else:
                self.take_remark(id, ticks, payload)

    def take_remark(self, id, ticks, payload):
        context = payload[0] if payload else self.context
        if id == 1:
            self.context = context
        elif id == 2:
            self.contexts[context].suspend(ticks)
        elif id == 3:
            self.context = context
            self.contexts[context].resume(ticks)
        elif id == 4:
            self.begin_incarnation()
            next_one = payload[0] if payload else self.incarnation + 1
            self.incarnation = next_one & 0xFFFFFFFF
            self.context = 0
        else:
            self.report.passed_over["remarks %d" % id] += 1

    def apply_switches(self, ticks):
        """Section 4, at an event or at a list of open spans."""
        for switch in list(self.pending_switches):
            if switch.ticks <= ticks:
                self.tear_classes(switch)
                if switch.until <= ticks:
                    self.pending_switches.remove(switch)

    def tear_classes(self, switch):
        def is_torn(context, span):
            definition = self.recording.definitions.get(span.id)
            is_of_class = not definition or switch.classes >> definition.event_class & 1
            return is_of_class and span.begin < switch.until
        self.tear_where(is_torn, self.recording.ns(switch.ticks))

    def take_event(self, kind, id, ticks, payload):
        state = self.contexts[self.context]
        state.resume(ticks)
        self.apply_switches(ticks)
        definition = self.recording.definition(id, ticks)
        more = {"depth": 0}
        if kind == LINKED and len(payload) >= 2:
            more["role"] = NAMES_OF_ROLES.get(payload[1], "?")
            more["link"] = payload[0]
            payload = payload[2:]
        elif kind == LINKED:
            more.update({"role": "?", "link": 0})
        off_cpu = None
        if kind == END and definition and definition.says_off_cpu and len(payload) <= 1:
            off_cpu, payload = sum(payload), []
        more.update(decode_payload(self.recording, definition, kind, payload))
        ns = self.recording.ns(ticks)
        if kind == BEGIN:
            more["depth"] = len(state.spans)
            state.spans.append(Span(id, ticks, state.suspended))
        elif kind == END:
            more.update(self.close_span(state, id, ticks, ns))
            if off_cpu is not None and "duration_ns" in more:
                more["off_cpu_ns"] = min(off_cpu, more["duration_ns"])
        self.show(NAMES_OF_KINDS[kind], ns, id, ticks, self.context, more)

    def close_span(self, state, id, ticks, ns):
        for depth in reversed(range(len(state.spans))[-MOST_OPEN:]):
            if state.spans[depth].id == id:
                span = state.take(depth)
                begin_ns = min(ns, self.recording.ns(span.begin))
                closed = {"depth": len(state.spans), "begin_ns": begin_ns,
                          "duration_ns": ns - begin_ns}
                suspended = min(ns - begin_ns, self.recording.duration_ns(
                    wrap(state.suspended - span.suspended_before), ticks))
                if suspended:
                    closed["suspended_ns"] = suspended
                return closed
        self.hidden = max(0, self.hidden - 1)
        return {"depth": len(state.spans), "torn": True}


def read_file(path, report):
    """All items, ring after ring. Raises Refused."""
    recording = Recording(path, report)
    items = [item for place in recording.places for item in Ring(recording, place).run()]
    return items + recording.end()


def read_quantities(path):
    """What the numbers of events are of, by their ids."""
    definitions = Recording(path, Report()).definitions
    return {id: each.quantity for id, each in definitions.items() if each.quantity}


def main():
    report = Report()
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    try:
        items = read_file(sys.argv[1], report)
    except Refused as refusal:
        print("refused:", refusal, file=sys.stderr)
        return 2
    for item in items:
        print(json.dumps(item, ensure_ascii=False))
    for what, count in sorted(report.passed_over.items()):
        print("passed over: %d %s" % (count, what), file=sys.stderr)
    return 1 if report.is_damaged else 0


if __name__ == "__main__":
    sys.exit(main())
