/* SPDX-License-Identifier: MIT */
/* format.h: the layout of an .eventring file, version 1.
 *
 * doc/FORMAT.md is the specification; this header is the same in C, with every
 * offset asserted. All integers are little-endian and naturally aligned.
 *
 *   offset  size
 *   0       4096      file header: written once, then constant
 *   4096    4096      status page: written by the producer while it runs
 *   8192    4096      control page: written by the producer and by tools
 *   12288   16384     domain table: 128 entries of 128 bytes
 *   65536   2 MiB     catalogue: 512 blocks of 16 definitions
 *   2162688 ...       rings: for slot i at rings_offset + i * domain_stride the
 *                     runtime ring, then the user ring
 *
 * Struct members that more than one thread or process touches are accessed with
 * __atomic builtins only; each says who writes it.
 */
#ifndef EVENTRING_FORMAT_H
#define EVENTRING_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "eventring.h"
#include "eventring/word.h"

#define FORMAT_MAGIC "\x89" "EVRING\n"
enum {
  FORMAT_VERSION = 1,
  FORMAT_BYTE_ORDER = 0x01020304,

  FORMAT_HEADER_OFFSET = 0,
  FORMAT_STATUS_OFFSET = 4096,
  FORMAT_CONTROL_OFFSET = 8192,
  FORMAT_DOMAINS_OFFSET = 12288,
  FORMAT_FRONT_BYTES = 65536, /* all of the above, mapped as one piece */
  FORMAT_CATALOGUE_OFFSET = 65536,

  FORMAT_BLOCK_BYTES = 4096,
  FORMAT_BLOCK_WORDS = 512,
  FORMAT_BLOCK_HEADER_WORDS = 8,
  FORMAT_PAYLOAD_WORDS = 127, /* most words that may follow an event word */
  FORMAT_MAX_OPEN = 64,       /* open spans kept in a block's header */
  FORMAT_OPEN_WORDS = 2,      /* words of each */

  FORMAT_DEFINITIONS_PER_BLOCK = 16,
  FORMAT_CATALOGUE_BLOCKS = EVENTRING_MAX_EVENTS / FORMAT_DEFINITIONS_PER_BLOCK,
  FORMAT_CATALOGUE_BYTES = FORMAT_CATALOGUE_BLOCKS * FORMAT_BLOCK_BYTES,
  FORMAT_RINGS_OFFSET = FORMAT_CATALOGUE_OFFSET + FORMAT_CATALOGUE_BYTES,
  FORMAT_STRIDE_UNIT = 65536, /* rings of a slot start on such a boundary */

  FORMAT_CLOCK_SEGMENTS = 4,
  FORMAT_CLOCK_SHIFT = 40,
  FORMAT_LOG_ENTRIES = 64
};

/* How the blocks are laid out in the file. */
enum format_layout {
  FORMAT_FLIGHT_RECORDER = 1, /* rings, reused in a circle by a producer */
  FORMAT_STREAM = 2,          /* blocks appended (not written by version 1) */
  FORMAT_SNAPSHOT = 3         /* a copy of a flight recorder, not changing */
};

enum format_clock {
  FORMAT_CLOCK_MONOTONIC = 1, /* ticks are nanoseconds of CLOCK_MONOTONIC */
  FORMAT_CLOCK_TSC = 2,       /* invariant time stamp counter of x86-64 */
  FORMAT_CLOCK_CNTVCT = 3     /* virtual counter of arm64 */
};

enum format_block_kind {
  FORMAT_BLOCK_EVENTS = 1,
  FORMAT_BLOCK_CATALOGUE = 2
  /* Reserved: 3 strings, 4 prototypes, 5 call stacks, 6 call trie, 7 allocation
     profile, 8 live samples, 9 loss, 10 index, 11 end of file. A reader passes
     over the kinds that it doesn't know. */
};

/* Word kind 7: not an event but a remark to the reader; the id tells which. */
enum { FORMAT_WORD_META = 7 };
enum { FORMAT_META_REBASE = 0 /* 1 payload word: the new base of the block */ };

/* A ring's head beyond this is nonsense (thousands of years of blocks). */
#define FORMAT_MAX_SEQUENCE ((uint64_t)1 << 56)

/* Bit 63 of the first payload word of a string or bytes event. */
#define FORMAT_BYTES_TRUNCATED ((uint64_t)1 << 63)

/* These structures lie over memory that is also read and written as 64-bit words:
   the compiler must not assume that the two never meet. */
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
  uint32_t wsize;
  uint64_t ring_bytes;
  uint64_t domain_stride;
  uint64_t rings_offset;
  uint64_t catalogue_offset;
  uint32_t catalogue_blocks;
  uint32_t definition_bytes;
  uint64_t status_offset;
  uint64_t control_offset;
  uint64_t domains_offset;
  int32_t pid;
  uint32_t clock;
  uint64_t process_start;
  uint64_t start_ticks;
  uint64_t start_ns;
  int64_t start_wall_ns;
  uint64_t reserved[3];
  char program[EVENTRING_MAX_PROGRAM + 1];
  uint64_t reserved2[8];
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
FORMAT_AT(format_header, wsize, 36);
FORMAT_AT(format_header, ring_bytes, 40);
FORMAT_AT(format_header, domain_stride, 48);
FORMAT_AT(format_header, rings_offset, 56);
FORMAT_AT(format_header, catalogue_offset, 64);
FORMAT_AT(format_header, catalogue_blocks, 72);
FORMAT_AT(format_header, definition_bytes, 76);
FORMAT_AT(format_header, status_offset, 80);
FORMAT_AT(format_header, control_offset, 88);
FORMAT_AT(format_header, domains_offset, 96);
FORMAT_AT(format_header, pid, 104);
FORMAT_AT(format_header, clock, 108);
FORMAT_AT(format_header, process_start, 112);
FORMAT_AT(format_header, start_ticks, 120);
FORMAT_AT(format_header, start_ns, 128);
FORMAT_AT(format_header, start_wall_ns, 136);
FORMAT_AT(format_header, program, 168);
FORMAT_AT(format_header, classes, 488);
_Static_assert(sizeof(struct format_header) == 1000, "format_header");

/* ---- Status page ------------------------------------------------------- */

/* Ticks become nanoseconds by straight pieces that join: for the last segment
   whose from_ticks is not after the ticks,
     ns = from_ns + ((ticks - from_ticks) * multiplier >> 40)
   computed in 128 bits. A segment, once counted, never changes, and it is
   published long before its from_ticks is reached: all readers convert alike. */
struct format_segment {
  uint64_t from_ticks;
  uint64_t from_ns;
  uint64_t multiplier; /* nanoseconds per tick, times 2^40 */
  uint64_t reserved;
} FORMAT_ALIAS;

enum format_state {
  FORMAT_RECORDING = 1, /* or standing by: no domain laid out, gate closed */
  FORMAT_ENDED = 2
};

struct format_status { /* written by the producer under its lock */
  uint32_t state;        /* enum format_state; release */
  uint32_t laid_out;     /* slots 0 .. laid_out-1 have rings; release */
  uint32_t definitions;  /* definitions in the catalogue; release */
  uint32_t segments;     /* 1 .. FORMAT_CLOCK_SEGMENTS; release */
  uint64_t end_ticks;    /* valid when ended */
  uint64_t rejected;     /* malformed control words put right (fetch_add) */
  struct format_segment segment[FORMAT_CLOCK_SEGMENTS];
} FORMAT_ALIAS;
FORMAT_AT(format_status, laid_out, 4);
FORMAT_AT(format_status, definitions, 8);
FORMAT_AT(format_status, segments, 12);
FORMAT_AT(format_status, end_ticks, 16);
FORMAT_AT(format_status, rejected, 24);
FORMAT_AT(format_status, segment, 32);
_Static_assert(sizeof(struct format_status) == 160, "format_status");

/* ---- Control page ------------------------------------------------------ */

/* A log of the moments at which classes were switched on (again). A span of
   such a class that began before has a part that was not recorded. */
struct format_switch {
  uint64_t ticks;
  uint64_t what; /* low half: classes switched on; high half: number of this
                    entry + 1 (32 bits), stored last, with release */
} FORMAT_ALIAS;

struct format_control { /* written by the producer and by tools, atomically */
  uint64_t gate;     /* low half: classes in force (what probes test); high
                        half: classes wanted. They differ while paused. */
  uint32_t switches; /* number of the next entry of the log (fetch_add) */
  uint32_t reserved[13];
  struct format_switch log[FORMAT_LOG_ENTRIES]; /* entry n at n % 64 */
} FORMAT_ALIAS;
FORMAT_AT(format_control, switches, 8);
FORMAT_AT(format_control, log, 64);
_Static_assert(sizeof(struct format_control) == 1088, "format_control");

/* ---- Domain table ------------------------------------------------------ */

enum format_slot_state { FORMAT_SLOT_FREE = 0, FORMAT_SLOT_ALIVE = 1 };

struct format_domain { /* written by the owner of the slot */
  uint32_t version;     /* odd while the fields up to `name` change */
  uint32_t incarnation; /* 0: never used */
  uint32_t state;       /* enum format_slot_state */
  int32_t tid;
  uint64_t start_ticks;
  uint64_t stop_ticks;  /* 0 while alive */
  char name[EVENTRING_MAX_DOMAIN_NAME + 1];
  uint64_t head[EVENTRING_RINGS]; /* sequence number of the newest block of each
                                     ring, 0: none yet; release */
  uint64_t reserved[6];
} FORMAT_ALIAS;
FORMAT_AT(format_domain, start_ticks, 16);
FORMAT_AT(format_domain, stop_ticks, 24);
FORMAT_AT(format_domain, name, 32);
FORMAT_AT(format_domain, head, 64);
_Static_assert(sizeof(struct format_domain) == 128, "format_domain");

/* ---- Blocks ------------------------------------------------------------ */

struct format_block { /* written by the owner of the ring */
  uint64_t sequence;      /* 1, 2, ...; 0: invalid, being rewritten */
  uint32_t kind;          /* enum format_block_kind */
  uint16_t domain;
  uint16_t ring;
  uint32_t incarnation;
  uint16_t open;          /* entries of the stack of open spans that follow */
  uint16_t reserved;
  uint32_t open_hidden;   /* open spans inside these that are not listed */
  uint32_t committed;     /* words of the block, header included, when it is
                             complete; 0 while it is being filled; release */
  uint64_t base_ticks;    /* of the times of its events */
  uint64_t events_before; /* events in this ring before this block */
  uint64_t reserved2[2];
} FORMAT_ALIAS;
FORMAT_AT(format_block, kind, 8);
FORMAT_AT(format_block, domain, 12);
FORMAT_AT(format_block, ring, 14);
FORMAT_AT(format_block, incarnation, 16);
FORMAT_AT(format_block, open, 20);
FORMAT_AT(format_block, open_hidden, 24);
FORMAT_AT(format_block, committed, 28);
FORMAT_AT(format_block, base_ticks, 32);
FORMAT_AT(format_block, events_before, 40);
_Static_assert(sizeof(struct format_block) == 8 * FORMAT_BLOCK_HEADER_WORDS,
               "format_block");

/* Open spans. One entry of the stack in a header: an event word of kind BEGIN and length
   0 with the time bits zero, then the ticks of the begin. Who writes headers
   (producer/openspans.c) and who reads events (reader/span_stack.c) keep such a stack by
   the same rules:
    - a begin is pushed; when there is no room (in a header: or while any is hidden) it is
      only counted, as hidden;
    - an end closes the innermost span of its id among those that began after the hidden
      ones. If there is none, it closes a hidden one, and if nothing is hidden, the
      innermost span of its id;
    - other spans stay: those of interleaving coroutines need not nest;
    - an end that finds none is ignored by who writes, and torn for who reads. */

struct format_definition {
  uint16_t id;
  uint8_t kind;
  uint8_t event_class;
  uint8_t ring;
  uint8_t payload;
  uint16_t reserved;
  char name[EVENTRING_MAX_NAME + 1];
  char unit[EVENTRING_MAX_UNIT + 1];
  char doc[EVENTRING_MAX_DOC + 1];
  uint64_t reserved2;
} FORMAT_ALIAS;
FORMAT_AT(format_definition, name, 8);
FORMAT_AT(format_definition, unit, 104);
FORMAT_AT(format_definition, doc, 120);
_Static_assert(sizeof(struct format_definition) == 240, "format_definition");

struct format_catalogue_block { /* written by the producer under its lock */
  uint64_t sequence; /* 1, 2, ... */
  uint32_t kind;     /* FORMAT_BLOCK_CATALOGUE */
  uint32_t reserved[13];
  struct format_definition definition[FORMAT_DEFINITIONS_PER_BLOCK];
  uint8_t unused[FORMAT_BLOCK_BYTES - 64 -
                 FORMAT_DEFINITIONS_PER_BLOCK * sizeof(struct format_definition)];
} FORMAT_ALIAS;
FORMAT_AT(format_catalogue_block, definition, 64);
_Static_assert(sizeof(struct format_catalogue_block) == FORMAT_BLOCK_BYTES,
               "format_catalogue_block");

/* ---- Event words ------------------------------------------------------- */

_Static_assert(EVENTRING_WORD_TIME_SHIFT + EVENTRING_WORD_TIME_BITS == 64, "word");
_Static_assert(EVENTRING_WORD_ID_SHIFT + EVENTRING_WORD_ID_BITS ==
                   EVENTRING_WORD_TIME_SHIFT, "word");
_Static_assert(EVENTRING_MAX_EVENTS == 1 << EVENTRING_WORD_ID_BITS, "word");
_Static_assert(FORMAT_PAYLOAD_WORDS == (1 << EVENTRING_WORD_LENGTH_BITS) - 1, "word");
_Static_assert(EVENTRING_MAX_PAYLOAD == 8 * (FORMAT_PAYLOAD_WORDS - 1), "word");
/* The largest event fits in a block whatever its stack. */
_Static_assert(FORMAT_BLOCK_HEADER_WORDS + FORMAT_MAX_OPEN * FORMAT_OPEN_WORDS +
                       2 + 1 + FORMAT_PAYLOAD_WORDS <= FORMAT_BLOCK_WORDS, "block");

/* The length bits of an event word; and with those of its kind. */
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
/* The full time: the ticks nearest to `base` with these 41 low bits. */
static inline uint64_t word_ticks(uint64_t word, uint64_t base) {
  /* the tail is shifted out, and nothing is borrowed from it */
  uint64_t behind = word - (base << EVENTRING_WORD_TIME_SHIFT);
  return base + (uint64_t)((int64_t)behind >> EVENTRING_WORD_TIME_SHIFT);
}
/* Is it an event, and not a remark to the reader? */
static inline int word_is_event(uint64_t word) { return word_kind(word) != FORMAT_WORD_META; }
/* The base of the times after a remark, which begins at `words` and may reach up to `end`;
   `base` is that before it. A remark that is no rebase, or is cut off, changes nothing. */
static inline uint64_t format_remark_base(const uint64_t *words, const uint64_t *end,
                                          uint64_t base) {
  return word_id(*words) == FORMAT_META_REBASE && word_length(*words) >= 1 && end - words >= 2
             ? words[1] : base;
}
/* Ticks from a base on for which word_ticks is exact. */
#define FORMAT_TIME_SPAN (((uint64_t)1 << (EVENTRING_WORD_TIME_BITS - 1)) - 1)

/* Geometry of a ring of 2^wsize words. */
static inline uint64_t format_ring_bytes(unsigned wsize) {
  return (uint64_t)8 << wsize;
}
static inline uint64_t format_domain_stride(unsigned wsize) {
  uint64_t bytes = format_ring_bytes(wsize) * EVENTRING_RINGS;
  return (bytes + FORMAT_STRIDE_UNIT - 1) / FORMAT_STRIDE_UNIT * FORMAT_STRIDE_UNIT;
}
static inline uint32_t format_ring_blocks(unsigned wsize) {
  return (uint32_t)(format_ring_bytes(wsize) / FORMAT_BLOCK_BYTES);
}

#endif /* EVENTRING_FORMAT_H */
