/* SPDX-License-Identifier: MIT */
/* format.h: the layout of an .eventring file, version 3.
 *
 * doc/FORMAT.md is the specification; this header states the layout in C, with every
 * offset asserted. (The header is long because the whole layout is in one place.) All
 * integers are little-endian and naturally aligned.
 *
 *   offset  size
 *   0       4096      file header: written once, then constant
 *   4096    4096      status page: written by the producer while it runs
 *   8192    4096      control page: written by the producer and by tools
 *   12288   32768     domain table: 128 entries of 256 bytes
 *   45056   20480     run table: 128 entries of 160 bytes
 *   65536   ...       blocks of 4096 bytes, claimed in ascending order: runs of blocks
 *                     that are rings of events, and blocks of records
 *
 * Struct members that more than one thread or process touches are accessed with __atomic
 * builtins only; the comment of each member says who writes it.
 */
#ifndef EVENTRING_FORMAT_H
#define EVENTRING_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "eventring/types.h"
#include "eventring/word.h"

#define FORMAT_MAGIC "\x89" "EVRING\n"
enum {
  FORMAT_VERSION = 3,
  FORMAT_BYTE_ORDER = 0x01020304,

  FORMAT_HEADER_OFFSET = 0,
  FORMAT_STATUS_OFFSET = 4096,
  FORMAT_CONTROL_OFFSET = 8192,
  FORMAT_DOMAINS_OFFSET = 12288,
  FORMAT_RUNS_OFFSET = 45056,
  FORMAT_FRONT_BYTES = 65536, /* header, pages and tables, which are mapped together */
  /* domain table and run table */
  FORMAT_TABLES_BYTES = FORMAT_FRONT_BYTES - FORMAT_DOMAINS_OFFSET,
  FORMAT_BLOCKS_OFFSET = 65536,

  FORMAT_BLOCK_BYTES = 4096,
  FORMAT_BLOCK_WORDS = 512,
  FORMAT_BLOCK_HEADER_WORDS = 8,
  FORMAT_PAYLOAD_WORDS = 127, /* most words that may follow an event word */
  FORMAT_MAX_OPEN = 64,       /* open spans listed in a block's header */
  FORMAT_OPEN_WORDS = 4,      /* words of each entry of this list */
  FORMAT_END_SEARCH = 64,     /* innermost spans of a context that an end may close */

  FORMAT_MIN_RING_BLOCKS = 4,
  FORMAT_MAX_RING_BLOCKS = 32768,
  FORMAT_MORE_RUNS = 4,       /* runs of a ring beyond its first */
  FORMAT_RUN_UNIT = 16,       /* runs begin at multiples of this many blocks */
  FORMAT_UNIT = 16,           /* blocks of a stream come in units of this many */
  FORMAT_MAX_BLOCKS = 1 << 30, /* blocks of a file: 4 TiB */

  FORMAT_CLOCK_SHIFT = 40,
  FORMAT_LOG_ENTRIES = 64
};

/* Name of the event of class user that has the ids of a span (<eventring/trace.h>). */
#define FORMAT_TRACE_NAME "trace"
enum { FORMAT_TRACE_BYTES = 33 };

/* How the blocks are laid out in the file. */
enum format_layout {
  FORMAT_FLIGHT_RECORDER = 1, /* rings, reused in a circle by a producer */
  FORMAT_STREAM = 2           /* some rings are streams: blocks are appended */
};

enum format_clock {
  FORMAT_CLOCK_MONOTONIC = 1, /* ticks are nanoseconds of CLOCK_MONOTONIC */
  FORMAT_CLOCK_TSC = 2,       /* invariant time stamp counter of x86-64 */
  FORMAT_CLOCK_CNTVCT = 3     /* virtual counter of arm64 */
};

/* Kinds of blocks: X(NAME, kind, budget in blocks, full). `full` says what happens when
   the budget is used up: DROPPED, OLDEST_GOES, or IN_PLACE (blocks are rewritten, each by
   its own owner). Kind 10 is profiles of calls (struct format_profile); kinds 9 and 13 to
   15 are reserved. */
enum { /* 32, 16 and 4 MiB */
  FORMAT_PROFILE_BUDGET = 8192, FORMAT_TOTALS_BUDGET = 4096, FORMAT_HISTOGRAMS_BUDGET = 1024
};
#define FORMAT_RECORD_KINDS(X) \
  X(DEFINITIONS, 2, 640, DROPPED) \
  X(STRINGS, 3, 1024, DROPPED) \
  X(FUNCTIONS, 4, 2048, DROPPED) \
  X(STACKS, 5, 4096, DROPPED) \
  X(LIVES, 6, 64, OLDEST_GOES) \
  X(CLOCK, 7, 128, DROPPED) \
  X(SWITCHES, 8, 8192, DROPPED) \
  X(PROFILES, 10, FORMAT_PROFILE_BUDGET, OLDEST_GOES) \
  X(HEAPS, 11, 512, IN_PLACE) \
  X(HEAP_PAGES, 12, 4096, IN_PLACE) \
  X(ENDINGS, 16, 2, OLDEST_GOES) \
  X(PROCESSES, 17, 256, DROPPED) \
  X(FOOTPRINTS, 18, 256, IN_PLACE) \
  X(LAST_STACKS, 19, 32, OLDEST_GOES) \
  X(TOTALS, 20, FORMAT_TOTALS_BUDGET, IN_PLACE) \
  X(HISTOGRAMS, 21, FORMAT_HISTOGRAMS_BUDGET, IN_PLACE)

enum format_kind {
  FORMAT_EVENTS = 1,
#define FORMAT_KIND(name, kind, budget, full) FORMAT_##name = kind,
  FORMAT_RECORD_KINDS(FORMAT_KIND)
#undef FORMAT_KIND
  FORMAT_KINDS = 64 /* kinds that the status page counts */
};

/* Tells whether blocks of this kind are rewritten in place, each by its own owner.
   Several blocks may then have the same sequence number; only the newest copy counts. */
static inline bool format_is_in_place(unsigned kind) {
  return kind == FORMAT_HEAPS || kind == FORMAT_HEAP_PAGES || kind == FORMAT_FOOTPRINTS ||
         kind == FORMAT_TOTALS || kind == FORMAT_HISTOGRAMS;
}

/* Word kind 7: not an event but a remark to the reader; its id says which remark. */
enum { FORMAT_WORD_REMARK = 7 };
enum format_remark {
  FORMAT_REMARK_REBASE = 0,      /* payload: the new base */
  FORMAT_REMARK_CONTEXT = 1,     /* payload: the context of the events that follow */
  FORMAT_REMARK_SUSPEND = 2, /* payload: none (for the present context) or a context */
  FORMAT_REMARK_RESUME = 3, /* payload: none (for the present context) or a context */
  /* payload: none (for the next incarnation) or an incarnation */
  FORMAT_REMARK_INCARNATION = 4
};

/* The largest valid head (thousands of years of blocks). */
#define FORMAT_MAX_SEQUENCE ((uint64_t)1 << 56)

/* Bit 63 of the first payload word of a string or bytes event. */
#define FORMAT_BYTES_TRUNCATED ((uint64_t)1 << 63)
/* Bit 63 of the suspended time in the list of open spans. */
#define FORMAT_OPEN_SUSPENDED ((uint64_t)1 << 63)

/* These structures lie over memory that is also read and written as 64-bit words: the
   compiler must assume that these accesses may alias. */
#define FORMAT_ALIAS __attribute__((may_alias))

/* ---- File header ------------------------------------------------------- */

struct format_header {
  char magic[8];
  uint32_t version;
  uint32_t byte_order;
  uint32_t front_bytes;
  uint32_t block_bytes;
  uint32_t layout;
  uint32_t max_domains;
  uint32_t rings_per_domain;
  uint32_t domain_bytes;
  uint64_t status_offset;
  uint64_t control_offset;
  uint64_t domains_offset;
  uint64_t blocks_offset;
  int32_t pid;
  uint32_t clock;
  uint64_t process_start;
  uint64_t start_ticks;
  uint64_t start_ns;
  int64_t start_wall_ns;
  uint32_t wsize;
  uint32_t grow_blocks; /* number of blocks by which all rings together may grow */
  /* checksum of the header, with this field taken as 0; 0 if there is none */
  uint32_t checksum;
  uint32_t flags;    /* FORMAT_INCOMPLETE ... */
  uint32_t reserved[10];
  char program[EVENTRING_MAX_PROGRAM + 1];
  char rings[EVENTRING_RINGS][EVENTRING_MAX_CLASS_NAME + 1];
  char classes[EVENTRING_MAX_CLASSES][EVENTRING_MAX_CLASS_NAME + 1];
} FORMAT_ALIAS;

#define FORMAT_AT(type, member, offset) \
  _Static_assert(offsetof(struct type, member) == (offset), #type "." #member)
FORMAT_AT(format_header, version, 8);
FORMAT_AT(format_header, byte_order, 12);
FORMAT_AT(format_header, front_bytes, 16);
FORMAT_AT(format_header, block_bytes, 20);
FORMAT_AT(format_header, layout, 24);
FORMAT_AT(format_header, max_domains, 28);
FORMAT_AT(format_header, rings_per_domain, 32);
FORMAT_AT(format_header, domain_bytes, 36);
FORMAT_AT(format_header, status_offset, 40);
FORMAT_AT(format_header, control_offset, 48);
FORMAT_AT(format_header, domains_offset, 56);
FORMAT_AT(format_header, blocks_offset, 64);
FORMAT_AT(format_header, pid, 72);
FORMAT_AT(format_header, clock, 76);
FORMAT_AT(format_header, process_start, 80);
FORMAT_AT(format_header, start_ticks, 88);
FORMAT_AT(format_header, start_ns, 96);
FORMAT_AT(format_header, start_wall_ns, 104);
FORMAT_AT(format_header, wsize, 112);
FORMAT_AT(format_header, grow_blocks, 116);
FORMAT_AT(format_header, checksum, 120);
FORMAT_AT(format_header, flags, 124);
FORMAT_AT(format_header, program, 168);
FORMAT_AT(format_header, rings, 424);
FORMAT_AT(format_header, classes, 552);
_Static_assert(sizeof(struct format_header) == 1576, "format_header");

/* header.flags */
enum {
  FORMAT_INCOMPLETE = 1,   /* blocks may be missing */
  /* a complete copy of another recording at one moment, into which nobody writes */
  FORMAT_COPY = 2,
  FORMAT_WENT_ON = 4       /* the file is a copy, and the process went on */
};

/* ---- Status page ------------------------------------------------------- */

enum format_state {
  /* the recording runs or stands by (then no domain has rings, and the gate is closed) */
  FORMAT_RECORDING = 1,
  FORMAT_ENDED = 2
};

struct format_count { /* count of the records of one kind */
  uint64_t records; /* stored with release */
  uint64_t dropped;
} FORMAT_ALIAS;

struct format_status { /* written by the producer under its lock */
  uint32_t state;      /* enum format_state; stored with release */
  uint32_t slots;      /* slots 0 .. slots-1 have been used; release */
  uint64_t claimed;    /* blocks 0 .. claimed-1 are claimed; release */
  uint64_t end_ticks;  /* valid when ended */
  /* number of malformed control words that were corrected (fetch_add) */
  uint64_t rejected;
  uint64_t obeys;      /* bit n: the producer acts on control word n */
  uint32_t end_reason; /* enum format_end_reason; release; valid when ended, and
                          FORMAT_END_SIGNAL when the process is dead */
  uint32_t end_detail;
  uint32_t preserve;   /* enum format_preserve */
  /* checksum of this page (with this field taken as 0), the domain table and the run
     table, once nothing writes into them any more; 0 if there is none */
  uint32_t checksum;
  uint32_t no_room;    /* rings that found no room at their last attempt; release */
  uint32_t unrecorded; /* domains that found the domain table full, so far */
  uint64_t no_room_ticks; /* ticks since which no_room is not 0 */
  uint64_t redacted;   /* classes that are never recorded, whoever switches them on */
  uint64_t reserved[54];
  struct format_count kind[FORMAT_KINDS];
} FORMAT_ALIAS;
FORMAT_AT(format_status, slots, 4);
FORMAT_AT(format_status, claimed, 8);
FORMAT_AT(format_status, end_ticks, 16);
FORMAT_AT(format_status, rejected, 24);
FORMAT_AT(format_status, obeys, 32);
FORMAT_AT(format_status, end_reason, 40);
FORMAT_AT(format_status, preserve, 48);
FORMAT_AT(format_status, checksum, 52);
FORMAT_AT(format_status, no_room, 56);
FORMAT_AT(format_status, unrecorded, 60);
FORMAT_AT(format_status, no_room_ticks, 64);
FORMAT_AT(format_status, redacted, 72);
FORMAT_AT(format_status, kind, 512);
_Static_assert(sizeof(struct format_status) == 1536, "format_status");

/* The state of a trigger of the process (<eventring/conditions.h>). Lies behind the
   status, outside the checksum of the status. Members are consistent only one by one: an
   entry may be changing. */
struct format_trigger { /* written by the producer, under the lock of the triggers */
  uint32_t number; /* number of the trigger; 0 if there is none */
  uint16_t event;  /* id of its event; 0 if it has none */
  uint8_t owner;   /* enum eventring_trigger_owner */
  uint8_t reserved;
  uint32_t fired, saved, skipped, failed; /* at most UINT32_MAX */
  /* enum eventring_result of the last copy that failed; 0 if none failed */
  int32_t error;
  uint32_t reserved_1;
  uint64_t bytes;  /* bytes that its copies take on the disk */
} FORMAT_ALIAS;
FORMAT_AT(format_trigger, fired, 8);
FORMAT_AT(format_trigger, error, 24);
FORMAT_AT(format_trigger, bytes, 32);
_Static_assert(sizeof(struct format_trigger) == 40, "format_trigger");
enum { FORMAT_TRIGGER_STATES = 64, FORMAT_TRIGGER_STATES_OFFSET = 4096 + 1536 };

enum format_end_reason {
  FORMAT_END_NOT_SAID = 0,
  FORMAT_END_STOPPED = 1,
  FORMAT_END_EXIT = 2,  /* detail: the exit status */
  FORMAT_END_SIGNAL = 3, /* detail: the number of the signal */
  FORMAT_END_DELETED = 4 /* the file was deleted: the process goes on recording in
                            another */
};

enum format_preserve { /* what becomes of the file at the end */
  FORMAT_PRESERVE_NOT_SAID = 0,
  FORMAT_PRESERVE_NEVER = 1,
  FORMAT_PRESERVE_ALWAYS = 2,
  FORMAT_PRESERVE_ON_ERROR = 3
};

/* Tells whether the recording has ended and was kept because of its configuration. */
static inline int format_is_preserved(const struct format_status *s) {
  return s->state == FORMAT_ENDED && (s->preserve == FORMAT_PRESERVE_ALWAYS ||
                                      s->preserve == FORMAT_PRESERVE_NOT_SAID);
}

/* ---- Control page ------------------------------------------------------ */

/* A log entry: when classes were switched on (again). A span of such a class that began
   before then was not recorded completely. */
struct format_switch {
  /* number of this entry + 1, stored last, with release; 0 while it is being written */
  uint64_t number;
  uint64_t ticks;
  uint64_t classes; /* classes that were switched on; 0 if the change was not made */
  uint64_t until;   /* ticks after the gate was changed; UINT64_MAX if not yet */
} FORMAT_ALIAS;

/* Control words: bits of format_status.obeys. */
enum format_control_word {
  FORMAT_WORD_WANTED = 0,
  FORMAT_WORD_SAMPLE_RATE = 1,
  FORMAT_WORD_CALL_PROFILE = 2,
  FORMAT_WORD_HOLD = 4,
  FORMAT_WORD_TRIGGERS = 5,
  FORMAT_WORD_STACKS = 6,
  FORMAT_WORD_QUESTION = 8,
  FORMAT_WORD_SPANS = 9
};

struct format_question { /* eventring/question.h */
  /* 0 if no question is open; written by the asker; the producer clears it */
  uint32_t number;
  uint32_t kinds;
  int32_t asker;   /* pid of the asker, or 0 */
  uint32_t last;   /* the number of the last question */
  uint64_t ticks;  /* when the last question was asked */
  uint64_t reserved;
  /* answers by slot; 0 if there is none yet. Cleared by the asker, else written by the
     owner of the slot */
  uint32_t answers[EVENTRING_MAX_DOMAINS];
} FORMAT_ALIAS;

/* Bits of format_control.requests. */
enum {
  FORMAT_REQUEST_CALLS = 1, /* keep a profile of calls */
  FORMAT_REQUEST_SPANS = 2, /* class calls, or its list of functions, has changed */
  FORMAT_REQUEST_QUESTION = 4, /* a question is open */
  /* set by the producer: it keeps a profile because of CALLS */
  FORMAT_REQUEST_OBEYED = 8,
  /* each domain is to write its stack once for each value of `stacks` */
  FORMAT_REQUEST_STACKS = 16,
  FORMAT_REQUEST_LINES = 32 /* the memory of the process has a request for lines */
};

enum { FORMAT_LIST_BYTES = 480, FORMAT_TRIGGERS_BYTES = FORMAT_LIST_BYTES };

/* A text that other processes replace as a whole. */
struct format_list {
  uint32_t version; /* odd while the text changes */
  uint32_t bytes;
  char text[FORMAT_LIST_BYTES];
} FORMAT_ALIAS;
FORMAT_AT(format_list, text, 8);
_Static_assert(sizeof(struct format_list) == 488, "format_list");

struct format_control { /* written by the producer and by tools, atomically */
  uint64_t gate;         /* classes in force, which probes test; follows from `wanted` */
  uint64_t wanted;       /* classes wanted; bit 0: the recording runs */
  uint64_t sample_rate;  /* samples a word, an IEEE 754 double */
  uint32_t requests;     /* FORMAT_REQUEST_...; others set them and wake who waits here */
  uint32_t reserved;
  uint64_t hold_ns;      /* time that rings grow to hold, in ns; 0 if they do not grow */
  uint32_t switches;     /* number of the next entry of the log (fetch_add) */
  uint32_t stacks;       /* number of the present request FORMAT_REQUEST_STACKS */
  uint64_t reserved2[10];
  struct format_question question;
  uint64_t reserved3[44];
  struct format_switch log[FORMAT_LOG_ENTRIES]; /* entry n at n % 64 */
  struct format_list triggers;
  /* functions whose calls are spans while class calls is on; empty for all functions */
  struct format_list spans;
} FORMAT_ALIAS;
FORMAT_AT(format_control, wanted, 8);
FORMAT_AT(format_control, sample_rate, 16);
FORMAT_AT(format_control, requests, 24);
FORMAT_AT(format_control, hold_ns, 32);
FORMAT_AT(format_control, switches, 40);
FORMAT_AT(format_control, stacks, 44);
FORMAT_AT(format_control, question, 128);
FORMAT_AT(format_question, answers, 32);
FORMAT_AT(format_control, log, 1024);
FORMAT_AT(format_control, triggers, 3072);
FORMAT_AT(format_control, spans, 3560);
_Static_assert(sizeof(struct format_control) == 4048, "format_control");

/* Returns the gate that follows from the classes wanted. */
static inline uint64_t format_gate(uint64_t wanted) { return wanted & 1 ? wanted : 0; }

/* ---- Domain table ------------------------------------------------------ */

enum format_slot_state { FORMAT_SLOT_FREE = 0, FORMAT_SLOT_ALIVE = 1 };

struct format_ring {
  /* sequence of the newest block, or 0; written by the owner of the slot; stored with
     release */
  uint64_t head;
  uint32_t first;  /* first block of the ring's first run; written once, before `head` */
  /* number of blocks of the first run, a power of 2; 0 if the ring is not made;
     FORMAT_STREAM_RING if its blocks lie in units of a stream; written together with
     `first` */
  uint32_t blocks;
} FORMAT_ALIAS;
#define FORMAT_STREAM_RING 0x80000000u

struct format_domain { /* written by the owner of the slot */
  uint32_t version;     /* odd while the fields up to `name` change */
  uint32_t incarnation; /* 0 if the slot was never used */
  uint32_t state;       /* enum format_slot_state */
  int32_t tid;
  uint64_t start_ticks;
  uint64_t stop_ticks;  /* 0 while alive */
  char name[EVENTRING_MAX_DOMAIN_NAME + 1];
  /* number of its record of kind PROCESSES; 0 for the process of the header */
  uint32_t process;
  uint32_t reserved;
  uint64_t reserved2[5];
  struct format_ring ring[EVENTRING_RINGS];
} FORMAT_ALIAS;
FORMAT_AT(format_domain, start_ticks, 16);
FORMAT_AT(format_domain, stop_ticks, 24);
FORMAT_AT(format_domain, name, 32);
FORMAT_AT(format_domain, process, 80);
FORMAT_AT(format_domain, ring, 128);
_Static_assert(sizeof(struct format_domain) == 256, "format_domain");
_Static_assert(FORMAT_DOMAINS_OFFSET + EVENTRING_MAX_DOMAINS * sizeof(struct format_domain) ==
                   FORMAT_RUNS_OFFSET, "domain table");

/* ---- Run table --------------------------------------------------------- */

/* How a ring has grown. Written by the owner of the slot, under the lock. */
struct format_growth {
  uint32_t run[FORMAT_MORE_RUNS]; /* in the order of their places; stored with release */
  /* the last run was added when the head was `rounds` times the number of places before
     that run; written before the run */
  uint32_t rounds;
} FORMAT_ALIAS;

struct format_runs { /* the runs of a slot */
  struct format_growth ring[EVENTRING_RINGS];
} FORMAT_ALIAS;
_Static_assert(sizeof(struct format_runs) == 160, "format_runs");
_Static_assert(FORMAT_RUNS_OFFSET + EVENTRING_MAX_DOMAINS * sizeof(struct format_runs) ==
                   FORMAT_FRONT_BYTES, "run table");

/* Returns a word of format_growth.run: where the run begins, and how many places the ring
   has including this run. The word 0 means that there is no run. */
static inline uint32_t format_run(uint32_t first, uint32_t places) {
  return 1u << 31 | (uint32_t)__builtin_ctz(places) << 26 | first / FORMAT_RUN_UNIT;
}
static inline uint32_t run_first(uint32_t word) {
  return (word & ((1u << 26) - 1)) * FORMAT_RUN_UNIT;
}
static inline uint32_t run_places(uint32_t word) { return 1u << (word >> 26 & 31); }

/* ---- Blocks ------------------------------------------------------------ */

/* What the headers of all blocks have in common. */
struct format_block { /* written by the owner of the ring, or under the lock */
  /* number of the block in its ring or of its kind: 1, 2, ...; 0 if not valid; stored
     with release */
  uint64_t sequence;
  uint16_t kind;       /* enum format_kind */
  uint16_t domain;     /* events: the slot of the ring */
  uint8_t ring;        /* events: the ring */
  uint8_t open_brief;  /* events: open spans listed in one word each */
  /* events: open spans listed before those of open_brief, in FORMAT_OPEN_WORDS words
     each */
  uint16_t open;
  uint64_t before;     /* events or records written before this block */
  /* events: base of their times, in ticks; records: FORMAT_SO_FAR_WORD */
  uint64_t base_ticks;
  uint64_t context;    /* events: context of the first event; IN_PLACE: reserved */
  /* events: incarnation of the first event; IN_PLACE: number of the profile */
  uint32_t incarnation;
  uint32_t open_hidden;/* events: open spans not listed; IN_PLACE: number of the page */
  /* number of words of a finished block, header included; 0 while it is being filled;
     stored together with the checksum, with release */
  uint32_t committed;
  uint32_t checksum;
  /* events: number of the record of kind PROCESSES whose log of switches applies; 0 for
     the log of the control page */
  uint32_t process;
  uint32_t reserved2;
} FORMAT_ALIAS;
FORMAT_AT(format_block, kind, 8);
FORMAT_AT(format_block, domain, 10);
FORMAT_AT(format_block, ring, 12);
FORMAT_AT(format_block, open_brief, 13);
FORMAT_AT(format_block, open, 14);
FORMAT_AT(format_block, before, 16);
FORMAT_AT(format_block, base_ticks, 24);
FORMAT_AT(format_block, context, 32);
FORMAT_AT(format_block, incarnation, 40);
FORMAT_AT(format_block, open_hidden, 44);
FORMAT_AT(format_block, committed, 48);
FORMAT_AT(format_block, checksum, 52);
FORMAT_AT(format_block, process, 56);
_Static_assert(sizeof(struct format_block) == 8 * FORMAT_BLOCK_HEADER_WORDS,
               "format_block");
enum {
  /* word of the header of a block of records: number of words written so far in the low
     half, their checksum in the high half; stored with release */
  FORMAT_SO_FAR_WORD = 3,
  /* word of a block's header: `committed` in the low half, the checksum in the high
     half */
  FORMAT_SEAL_WORD = 6
};

/* An entry of the list of open spans. A brief entry is only the event word of the
   begin. */
struct format_open {
  uint64_t tail;      /* event word of kind BEGIN, length and time 0 */
  uint64_t ticks;     /* ticks of the begin */
  uint64_t context;
  /* ticks for which it was suspended up to base_ticks; with FORMAT_OPEN_SUSPENDED if it
     is suspended at base_ticks */
  uint64_t suspended;
} FORMAT_ALIAS;
_Static_assert(sizeof(struct format_open) == 8 * FORMAT_OPEN_WORDS, "format_open");

/* ---- Records ------------------------------------------------------------ */

/* Returns the first word of a record: words, type and number. */
static inline uint64_t format_record(unsigned words, unsigned type, uint32_t number) {
  return words | (uint64_t)type << 16 | (uint64_t)number << 32;
}
static inline unsigned record_words(uint64_t first) { return first & 0xffff; }
static inline unsigned record_type(uint64_t first) { return first >> 16 & 0xffff; }
static inline uint32_t record_number(uint64_t first) { return first >> 32; }

/* Types of records; a kind with a single type uses 1. */
enum format_life { FORMAT_LIFE_START = 1, FORMAT_LIFE_STOP = 2, FORMAT_LIFE_RENAME = 3 };

struct format_definition { /* kind DEFINITIONS; the texts follow, without gaps */
  uint64_t first;
  uint8_t kind;    /* enum eventring_def_kind */
  uint8_t event_class;
  uint8_t ring;
  uint8_t payload;
  uint8_t measure; /* enum eventring_measure, for counters and spans */
  uint8_t quantity; /* enum eventring_quantity */
  uint8_t reserved[2];
  uint64_t since_ticks; /* ticks at which it was registered */
  uint16_t name_bytes, unit_bytes, doc_bytes, fields_bytes;
} FORMAT_ALIAS;
_Static_assert(sizeof(struct format_definition) == 32, "format_definition");

/* Kind LIVES. The name follows, except in STOP. After the name in START there may be one
   more word, the number of the domain's process. */
struct format_life_record {
  uint64_t first;       /* number: the slot */
  uint32_t incarnation;
  int32_t tid;          /* only in START */
  uint64_t ticks;
  uint64_t name_bytes;  /* missing in STOP */
} FORMAT_ALIAS;

struct format_segment { /* kind CLOCK */
  uint64_t first;
  uint64_t from_ticks;
  uint64_t from_ns;
  uint64_t multiplier; /* nanoseconds per tick, times 2^40 */
} FORMAT_ALIAS;

/* Kind SWITCHES, an entry of the log of a process, as in the control page. The number is
   that of the process. */
enum { FORMAT_LOGGED = 2 /* type */ };
struct format_switch_record {
  uint64_t first;
  uint64_t ticks;
  uint64_t classes;
  uint64_t until;
} FORMAT_ALIAS;

struct format_ending { /* kind ENDINGS; the text follows */
  uint64_t first; /* number: bytes of the whole text before it was cut */
  uint64_t ticks;
  uint64_t bytes; /* at most EVENTRING_MAX_END_TEXT */
} FORMAT_ALIAS;

enum { FORMAT_STACK_TEXT = 1600, FORMAT_STACK_REASONS = 7, FORMAT_STACK_ACTIVITIES = 3 };

struct format_last_stack { /* kind LAST_STACKS; the text follows. Number: slot */
  uint64_t first;
  uint64_t ticks;
  uint32_t incarnation;
  /* number of functions on the stack, also those that are not in the text */
  uint32_t frames;
  uint8_t reason;   /* 1 to FORMAT_STACK_REASONS */
  uint8_t activity; /* at most FORMAT_STACK_ACTIVITIES */
  uint16_t bytes;   /* bytes of the text, at most FORMAT_STACK_TEXT */
  uint32_t subject; /* what the domain waits for */
  int64_t value;    /* for a step, its ns; for a signal, its number */
} FORMAT_ALIAS;
FORMAT_AT(format_last_stack, incarnation, 16);
FORMAT_AT(format_last_stack, reason, 24);
FORMAT_AT(format_last_stack, subject, 28);
FORMAT_AT(format_last_stack, value, 32);
_Static_assert(sizeof(struct format_last_stack) == 40, "format_last_stack");

/* Kind PROFILES: types of records. */
enum {
  FORMAT_PROFILE_PART = 1, FORMAT_PROFILE_FUNCTION = 2, FORMAT_PROFILE_NODE = 3,
  FORMAT_PROFILE_FLAT = 4
};

struct format_profile { /* the first record of each block; number: the part, from 0 */
  uint64_t first;
  uint32_t slot, incarnation;
  uint64_t written;   /* number of this profile among those of the domain, from 1 */
  uint32_t parts, flags;
  uint64_t start_ticks, written_ticks;
  uint32_t functions, nodes;
  uint64_t backwards;
  /* multiplier of its ticks; 0 if that of the clock segment of its time applies */
  uint64_t multiplier;
  uint32_t flat;       /* number of records of flat calls */
  uint32_t reserved;
} FORMAT_ALIAS;
_Static_assert(sizeof(struct format_profile) == 80, "format_profile");

/* number: of the function, from 0; name and source follow, without gaps */
struct format_profile_function {
  uint64_t first;
  uint32_t line, kind;
  uint32_t name_bytes, source_bytes;
} FORMAT_ALIAS;
_Static_assert(sizeof(struct format_profile_function) == 24, "format_profile_function");

enum { /* figures of a node; each is a word, present if its bit is set */
  FORMAT_NODE_COUNT, FORMAT_NODE_EXCLUSIVE, FORMAT_NODE_LEAST, FORMAT_NODE_MOST,
  FORMAT_NODE_SUSPENDED, FORMAT_NODE_LOST_CALLS, FORMAT_NODE_LOST_TICKS,
  FORMAT_NODE_FIGURES
};
/* number: of the node, from 0; the figures follow, then 32-bit buckets */
struct format_profile_node {
  uint64_t first;
  /* UINT32_MAX in the root. In FLAT, `parent` is always UINT32_MAX, and `function` is
     when it is not known */
  uint32_t parent, function;
  uint16_t figures;          /* bits of the figures that follow */
  uint8_t first_bucket, buckets;
  uint32_t open;
} FORMAT_ALIAS;
_Static_assert(sizeof(struct format_profile_node) == 24, "format_profile_node");
enum {
  FORMAT_PROFILE_BUCKETS = 25,
  FORMAT_PROFILE_TEXT = 200 /* most bytes of a name or a source */
};

struct format_process { /* kind PROCESSES; the texts follow, without gaps */
  uint64_t first;        /* number: that of the process, from 1 */
  int32_t pid;
  uint32_t liveness;     /* enum eventring_liveness of the process's own recording */
  uint32_t end_reason, end_detail; /* as in format_status */
  uint64_t start_ticks;
  uint64_t end_ticks;    /* 0 if not known */
  int64_t start_wall_ns;
  int64_t shift_ns;      /* ns added to the times of its own recording */
  uint64_t events, missed, lost; /* counts of events of its own recording */
  uint64_t error_ticks;  /* ticks at which it noted an error, or 0 */
  uint16_t program_bytes, source_bytes, error_bytes, reserved;
} FORMAT_ALIAS;
_Static_assert(sizeof(struct format_process) == 96, "format_process");

/* Types of records of kind STRINGS. */
enum format_string { FORMAT_MEMORY_KIND = 2, FORMAT_MEMORY_ORIGIN = 3 };

struct format_function { /* kind FUNCTIONS; name and source follow, without gaps */
  uint64_t first; /* number: its id, from 1 */
  uint32_t line, last_line;
  uint32_t name_bytes, source_bytes;
} FORMAT_ALIAS;
_Static_assert(sizeof(struct format_function) == 24, "format_function");

enum { FORMAT_STACK_NODE = 2 /* type of records of kind STACKS */ };

struct format_stack_node { /* kind STACKS, type 2 */
  uint64_t first;    /* number: its id, from 1 */
  uint32_t parent;   /* id of the stack of the caller; less than its own; 0 if none */
  uint32_t function; /* id of the function of the innermost frame */
  uint32_t line, column; /* position in the function; 0 if not known */
} FORMAT_ALIAS;
_Static_assert(sizeof(struct format_stack_node) == 24, "format_stack_node");

/* Amounts of a heap profile. `objects` is an estimate, in units of 2^-16. */
struct format_amount {
  uint64_t samples, objects;
} FORMAT_ALIAS;
enum { FORMAT_OBJECTS_SHIFT = 16 };

struct format_heap { /* kind HEAPS */
  uint64_t first;        /* number: that of the profile, from 1 */
  uint32_t slot, incarnation;
  uint64_t rate;         /* samples a word, an IEEE 754 double */
  uint64_t start_ticks;  /* the profile covers allocations from these ticks on */
  uint64_t ticks;        /* the profile covers allocations up to these ticks */
  uint64_t collections;  /* number of collections in between */
  uint32_t pages, entries;
  uint64_t words;        /* words allocated: counted, not estimated */
  /* words of these that are alive, counted; UINT64_MAX if not known */
  uint64_t live_words;
  struct format_amount allocated, live, temporary;
  uint64_t peak_samples; /* most samples that were alive at the end of a collection */
  uint64_t peak_ticks;   /* ticks at which that was so */
  uint64_t lost_entries; /* entries that found no page */
  struct format_amount lost_allocated, lost_live; /* share of these entries in the sums */
  uint32_t word_bytes;
  uint32_t over;         /* 1 if the profile has ended */
} FORMAT_ALIAS;
_Static_assert(sizeof(struct format_heap) == 23 * 8, "format_heap");

struct format_heap_entry { /* kind HEAP_PAGES */
  uint64_t first;        /* number: the stack */
  uint16_t span;         /* id of the definition of a span, plus 1; 0 if none */
  uint8_t kind, origin;
  uint32_t reserved;
  struct format_amount live, allocated;
  struct format_amount temporary; /* allocations that died in their first collection */
  uint64_t peak_samples; /* samples alive at peak_ticks of the profile */
} FORMAT_ALIAS;
_Static_assert(sizeof(struct format_heap_entry) == 72, "format_heap_entry");

enum {
  FORMAT_HEAP_ENTRY_WORDS = sizeof(struct format_heap_entry) / 8,
  FORMAT_HEAP_PAGE_ENTRIES =
      (FORMAT_BLOCK_WORDS - FORMAT_BLOCK_HEADER_WORDS) / FORMAT_HEAP_ENTRY_WORDS
};

/* What the memory of a domain is used for. */
enum format_footprint_type { FORMAT_FOOTPRINT = 1, FORMAT_FOOTPRINT_ROW = 2 };

struct format_footprint { /* kind FOOTPRINTS, type 1: the first record of its block */
  uint64_t first;          /* number: of rows that follow */
  uint32_t slot, incarnation;
  uint64_t ticks;          /* ticks at which it was written */
  uint64_t flags;          /* bit 0: `resident_bytes` of the rows were measured */
  /* resident bytes of the process; UINT64_MAX if not known, also in the next members */
  uint64_t resident_bytes;
  uint64_t shared_bytes;   /* bytes of these that are mapped from files, or shared */
  uint64_t malloc_used, malloc_free; /* bytes of the arenas of the C library */
  uint64_t malloc_mapped;  /* bytes of allocations with mappings of their own */
} FORMAT_ALIAS;
_Static_assert(sizeof(struct format_footprint) == 72, "format_footprint");

struct format_footprint_row { /* kind FOOTPRINTS, type 2; texts follow, no gaps */
  uint64_t first;          /* number: of the row, from 0 */
  uint64_t resident_bytes, reserved_bytes;
  uint8_t of, in;          /* enum eventring_footprint_of, _in */
  uint16_t name_bytes, doc_bytes, reserved;
} FORMAT_ALIAS;
_Static_assert(sizeof(struct format_footprint_row) == 32, "format_footprint_row");

enum {
  FORMAT_TOTAL_BUCKETS = 32,
  /* bucket n has durations below 2^(n + 6) ticks; the last bucket also has all longer
     ones */
  FORMAT_TOTAL_SHIFT = 6,
  FORMAT_TOTAL_ROWS = 7,    /* rows of a block */
  /* word of the header of page 1: number of the ring's block up to which all events are
     counted in the rows; UINT64_MAX if all events are; stored with release */
  FORMAT_TOTALS_FOLDED = 2
};

struct format_sums {
  uint64_t through; /* includes the events of the ring up to this block */
  uint64_t count;   /* complete spans, or other events */
  /* sum of ticks of spans, of values of counters (an integer or a double), or of ns of a
     histogram */
  uint64_t sum;
  union {
    uint64_t bucket[FORMAT_TOTAL_BUCKETS]; /* spans by ticks; in a histogram, by ns */
    struct {
      uint64_t last;       /* only for counters: the last value */
      uint64_t last_ticks; /* time of the last value; 0 if there was none */
      uint64_t negative;   /* number of runs of values that contained a negative one */
    };
  };
} FORMAT_ALIAS;

struct format_total { /* kind TOTALS; number: id of the definition */
  uint64_t first;
  union {
    uint64_t payload; /* enum eventring_payload of the definition */
    /* for kind HISTOGRAMS, where `number` is the id of a span: the value of its begins,
       also an id */
    uint64_t reason;
  };
  struct format_sums sums[2]; /* written in turns */
} FORMAT_ALIAS;
_Static_assert(sizeof(struct format_total) == 576, "format_total");
_Static_assert(FORMAT_BLOCK_HEADER_WORDS + FORMAT_TOTAL_ROWS * sizeof(struct format_total) / 8 ==
                   FORMAT_BLOCK_WORDS, "rows of totals");

static inline unsigned format_total_bucket(uint64_t ticks) {
  unsigned n = 63 - (unsigned)__builtin_clzll(ticks >> (FORMAT_TOTAL_SHIFT - 1) | 1);
  return n < FORMAT_TOTAL_BUCKETS ? n : FORMAT_TOTAL_BUCKETS - 1;
}

/* Upper bounds of the buckets of a histogram: 1, 2 and 5 times powers of ten, from 100 ns
   to 10 s. Longer durations are in the bucket after them. */
enum { FORMAT_HISTOGRAM_BOUNDS = 25 };
static const uint64_t format_histogram_bounds[FORMAT_HISTOGRAM_BOUNDS] = {
#define FORMAT_DECADE(ns) ns, 2 * (ns), 5 * (ns)
    FORMAT_DECADE(UINT64_C(100)), FORMAT_DECADE(UINT64_C(1000)), FORMAT_DECADE(UINT64_C(10000)),
    FORMAT_DECADE(UINT64_C(100000)), FORMAT_DECADE(UINT64_C(1000000)),
    FORMAT_DECADE(UINT64_C(10000000)), FORMAT_DECADE(UINT64_C(100000000)),
    FORMAT_DECADE(UINT64_C(1000000000)), UINT64_C(10000000000)
#undef FORMAT_DECADE
};
static inline unsigned format_histogram_bucket(uint64_t ns) {
  unsigned n = 0;
  while (n < FORMAT_HISTOGRAM_BOUNDS && ns > format_histogram_bounds[n]) n++;
  return n;
}

/* Adds one more value, integer or double, to the sum of the values of a counter. */
static inline uint64_t format_total_add(uint64_t payload, uint64_t sum, uint64_t value) {
  double total, more;
  if (payload != EVENTRING_DOUBLE) return sum + value;
  __builtin_memcpy(&total, &sum, sizeof total);
  __builtin_memcpy(&more, &value, sizeof more);
  total += more;
  __builtin_memcpy(&sum, &total, sizeof sum);
  return sum;
}

/* Returns the number of words that a text takes in a record. */
static inline unsigned format_text_words(size_t bytes) { return (unsigned)((bytes + 7) / 8); }

/* ---- Event words ------------------------------------------------------- */

_Static_assert(EVENTRING_WORD_TIME_SHIFT + EVENTRING_WORD_TIME_BITS == 64, "word");
_Static_assert(EVENTRING_WORD_ID_SHIFT + EVENTRING_WORD_ID_BITS ==
                   EVENTRING_WORD_TIME_SHIFT, "word");
_Static_assert(EVENTRING_MAX_EVENTS == 1 << EVENTRING_WORD_ID_BITS, "word");
_Static_assert(FORMAT_PAYLOAD_WORDS == (1 << EVENTRING_WORD_LENGTH_BITS) - 1, "word");
_Static_assert(EVENTRING_MAX_PAYLOAD == 8 * (FORMAT_PAYLOAD_WORDS - 1), "word");
/* The largest event fits in a block with the longest list of open spans and the remarks
   that may come before it: rebase, incarnation, context. */
_Static_assert(FORMAT_BLOCK_HEADER_WORDS + FORMAT_MAX_OPEN * FORMAT_OPEN_WORDS +
                       6 + 1 + FORMAT_PAYLOAD_WORDS <= FORMAT_BLOCK_WORDS, "block");

/* The length bits of an event word; the length bits and the kind bits. */
#define FORMAT_LENGTH_MASK ((uint64_t)FORMAT_PAYLOAD_WORDS << EVENTRING_WORD_LENGTH_SHIFT)
#define FORMAT_WHAT_MASK (FORMAT_LENGTH_MASK | 7)
#define FORMAT_TAIL_MASK (((uint64_t)1 << EVENTRING_WORD_TIME_SHIFT) - 1)

static inline unsigned word_kind(uint64_t word) { return word & 7; }
static inline unsigned word_length(uint64_t word) {
  return word >> EVENTRING_WORD_LENGTH_SHIFT & FORMAT_PAYLOAD_WORDS;
}
static inline unsigned word_id(uint64_t word) {
  return word >> EVENTRING_WORD_ID_SHIFT & (EVENTRING_MAX_EVENTS - 1);
}
/* Returns the full time: the ticks nearest to `base` with these 41 low bits. */
static inline uint64_t word_ticks(uint64_t word, uint64_t base) {
  /* the shift drops the tail, which takes no borrow */
  uint64_t behind = word - (base << EVENTRING_WORD_TIME_SHIFT);
  return base + (uint64_t)((int64_t)behind >> EVENTRING_WORD_TIME_SHIFT);
}
/* Tells whether the word is an event, and not a remark to the reader. */
static inline int word_is_event(uint64_t word) { return word_kind(word) != FORMAT_WORD_REMARK; }

/* The properties of the events that follow, as remarks set them. */
struct format_position {
  uint64_t base;        /* base of their times, in ticks */
  uint64_t context;
  uint32_t incarnation;
};
/* Applies a remark, which begins at `words` and may reach up to `end`. A remark that is
   not known, or is cut off, changes nothing. Returns the context of a suspend or a
   resume, and 0 for other remarks. */
static inline uint64_t format_apply_remark(const uint64_t *words, const uint64_t *end,
                                           struct format_position *position) {
  int payload = word_length(*words) >= 1 && end - words >= 2;
  uint64_t value = payload ? words[1] : position->context;
  switch (word_id(*words)) {
    case FORMAT_REMARK_REBASE:
      if (payload) position->base = value;
      break;
    case FORMAT_REMARK_CONTEXT:
      if (payload) position->context = value;
      break;
    case FORMAT_REMARK_SUSPEND:
      return value;
    case FORMAT_REMARK_RESUME:
      position->context = value;
      return value;
    case FORMAT_REMARK_INCARNATION:
      position->incarnation = payload ? (uint32_t)value : position->incarnation + 1;
      position->context = 0;
      break;
    default:
      break;
  }
  return 0;
}
/* Distance from a base, in ticks, up to which word_ticks is exact. */
#define FORMAT_TIME_SPAN (((uint64_t)1 << (EVENTRING_WORD_TIME_BITS - 1)) - 1)

/* Returns the offset in the file of a block. */
static inline uint64_t format_block_offset(uint64_t block) {
  return FORMAT_BLOCKS_OFFSET + block * FORMAT_BLOCK_BYTES;
}
/* Returns the number of blocks of a ring of 2^wsize words. */
static inline uint32_t format_ring_blocks(unsigned wsize) {
  return (uint32_t)(((uint64_t)8 << wsize) / FORMAT_BLOCK_BYTES);
}

#endif /* EVENTRING_FORMAT_H */
