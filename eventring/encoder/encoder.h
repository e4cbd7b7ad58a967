/* SPDX-License-Identifier: MIT */
/* encoder.h: writes a recording out of events that come from elsewhere.
 *
 *   encoder.c           opening, finishing, output, places in the file, the front
 *   encoder_blocks.c    blocks of events: their headers, lists of open spans, words
 *   encoder_events.c    what an event, a loss or a suspension puts into them
 *   encoder_catalogue.c definitions, classes, rings
 *   encoder_records.c   blocks of records; domains, processes
 *   encoder_memory.c    functions, stacks, heap profiles
 *   encoder_profiles.c  profiles of calls
 *
 * The file has layout 2 and is a stream in all its rings: a ring appends blocks to a unit of
 * 16 blocks, and then claims the next one. Its ticks are nanoseconds (clock 1). A block is
 * filled in memory and written once, with its checksum. The front is written last, so what
 * was not finished is no recording.
 *
 * A ring has its open spans in the same stacks as a reader (span_stack.h), which follow the
 * rules of FORMAT.md, section 9. So the list of a header is what a reader knows at that
 * place. Three things are not events but change what is open:
 *  - a loss ends the block. `before` of the next one counts it, and a reader adopts the list
 *    of that block. So what is torn or found before the next event needs no words;
 *  - without a loss, remarks 5 and 6 tear a span, or say that it is open;
 *  - another incarnation tears all.
 *
 * Where reading begins, `before` of the first block is missed if bit 0 of the header's flags
 * is set, and lost if not. The bit holds for the whole file. It is set when a ring has missed
 * something; a ring that has lost its first events begins with a block without events, so
 * that they are lost either way.
 *
 * For how long a context was suspended is known, of what a cursor has delivered, from the
 * ends of its spans alone, as a sum. An end that says more than the stacks know is preceded
 * by a suspend and a resume that make up for the difference. The sums of all spans are then
 * right, as a suspension within an inner span is one within the outer ones; when it was is
 * not known.
 *
 * Failures. What is wrong with an argument changes nothing. A lack of memory, or of room, or
 * an error of the output makes the file useless: it is remembered, and returned by all
 * further calls. */
#ifndef EVENTRING_ENCODER_H
#define EVENTRING_ENCODER_H

#include "encoder/encoder_stacks.h"
#include "format/error.h"
#include "format/format.h"
#include "format/span_stack.h"

#pragma GCC visibility push(hidden)

enum {
  ENCODER_RINGS = EVENTRING_MAX_DOMAINS * EVENTRING_RINGS,
  ENCODER_BUFFER = 256 * 1024,
  ENCODER_HASH = 2 * EVENTRING_MAX_EVENTS, /* a power of 2 */
  ENCODER_MOST_LIVES = 8192                /* blocks, the budget of a stream */
};

struct encoder_ring {
  uint16_t slot;
  uint8_t ring;
  bool pending;      /* something is to be said by a block that was not begun yet */
  uint32_t at;       /* words of the block that is being filled; 0: none is */
  uint64_t sequence; /* of the latest block; 0: none yet */
  uint64_t place;    /* of that, a block of the file */
  uint64_t unit;     /* at which its unit begins */
  uint32_t used;     /* blocks of that; FORMAT_UNIT: it is full, or there is none */
  uint64_t events;   /* up to here, with those that are missing */
  uint64_t latest;   /* time of what came last */
  uint64_t gap_ns;   /* of the loss before the next block; 0: none */
  struct format_position position; /* of what comes next; incarnation 0: nothing came yet */
  struct evr_span_stacks spans;
  uint64_t words[FORMAT_BLOCK_WORDS];
};

struct encoder_records { /* of one kind */
  uint64_t sequence; /* of the block that is being filled; 0: none yet */
  uint64_t records, dropped;
  uint64_t before;   /* records before that block */
  uint32_t at;       /* its words */
  uint64_t words[FORMAT_BLOCK_WORDS];
};

struct encoder_definition;

struct eventring_encoder {
  eventring_encoder_write *write;
  void *context;
  struct eventring_error failure; /* code 0: none */
  bool finished;
  bool incomplete;   /* a ring has missed its first events */
  uint64_t claimed;  /* blocks of the file */
  uint64_t end;      /* bytes of the file that were written, up to the last one */
  uint64_t latest;   /* time of what came last of all rings */
  uint64_t record_unit;
  uint32_t record_used; /* blocks of that */
  uint32_t processes;
  uint32_t slots;
  uint64_t lives_dropped;
  struct format_header header;
  struct format_domain domain[EVENTRING_MAX_DOMAINS];
  struct encoder_ring *ring[ENCODER_RINGS];       /* by slot * EVENTRING_RINGS + ring */
  struct encoder_records *records[FORMAT_KINDS];  /* NULL: none of this kind yet */
  struct encoder_definition *definition[EVENTRING_MAX_EVENTS];
  struct encoder_stacks stacks;
  uint32_t ids;                /* that are taken: 0 .. ids-1 */
  uint16_t hash[ENCODER_HASH]; /* id + 1; 0: none */
  uint64_t buffer_offset;      /* where its bytes belong */
  size_t buffered;
  uint8_t buffer[ENCODER_BUFFER];
};

/* Remembers a failure that makes the file useless, fills *error, returns the code. */
int encoder_fail(eventring_encoder *encoder, struct eventring_error *error, int code,
                 const char *text);
/* 0, or what makes a call impossible: no encoder, a failure before, or that it is finished. */
int encoder_check(eventring_encoder *encoder, struct eventring_error *error);
/* Puts bytes into the file. */
int encoder_put(eventring_encoder *encoder, uint64_t offset, const void *bytes, size_t size,
                struct eventring_error *error);
/* The next block of a unit, a new one if *used says that it is full. */
int encoder_claim(eventring_encoder *encoder, uint64_t *unit, uint32_t *used, uint64_t *block,
                  struct eventring_error *error);

/* The ring, made if it is not there; NULL: no memory. */
struct encoder_ring *encoder_ring(eventring_encoder *encoder, unsigned slot, unsigned ring,
                                  struct eventring_error *error);
void encoder_ring_free(struct encoder_ring *ring);
/* Begins a block whose times refer to `ns`; there is none. */
int encoder_block_begin(eventring_encoder *encoder, struct encoder_ring *ring, uint64_t ns,
                        struct eventring_error *error);
/* Seals the block, if there is one, and writes it. */
int encoder_block_end(eventring_encoder *encoder, struct encoder_ring *ring,
                      struct eventring_error *error);
/* Ends the ring: also what no event came after is said. */
int encoder_ring_end(eventring_encoder *encoder, struct encoder_ring *ring,
                     struct eventring_error *error);
/* Appends a word with its payload, of an event or a remark that is at `ns`, and belongs to
   this incarnation and context. */
int encoder_append(eventring_encoder *encoder, struct encoder_ring *ring, uint64_t tail,
                   uint64_t ns, uint32_t incarnation, uint64_t context,
                   const uint64_t *payload, struct eventring_error *error);
/* Makes another incarnation that of what comes next: all open spans are torn. */
void encoder_set_incarnation(struct encoder_ring *ring, uint32_t incarnation);

/* Seals a block of `end` words, of a kind that is not appended to, writes and counts it. */
int encoder_put_block(eventring_encoder *encoder, enum format_kind kind, uint64_t *words,
                      uint32_t end, struct eventring_error *error);
/* Counts one that has no room. 0, or E_MEMORY. */
int encoder_drop(eventring_encoder *encoder, enum format_kind kind,
                 struct eventring_error *error);
void encoder_stacks_free(struct encoder_stacks *stacks);
/* Appends a record of `words` words. *dropped: there is no room for more of its kind. */
int encoder_record(eventring_encoder *encoder, enum format_kind kind, const uint64_t *record,
                   unsigned words, bool *dropped, struct eventring_error *error);
/* Writes the blocks of records that are being filled. */
int encoder_records_end(eventring_encoder *encoder, struct eventring_error *error);
/* Makes domains for slots that have rings only. */
int encoder_complete_domains(eventring_encoder *encoder, struct eventring_error *error);
/* Notes the error with which the process ended. */
int encoder_ending(eventring_encoder *encoder, const struct eventring_info *info,
                   struct eventring_error *error);

/* The definitions that every catalogue has. */
int encoder_define_builtins(eventring_encoder *encoder, struct eventring_error *error);
void encoder_catalogue_free(eventring_encoder *encoder);

#pragma GCC visibility pop

#endif /* EVENTRING_ENCODER_H */
