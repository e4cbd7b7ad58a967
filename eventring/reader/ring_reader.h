/* SPDX-License-Identifier: MIT */
/* ring_reader.h: the reader of one ring. */
#ifndef EVENTRING_RING_READER_H
#define EVENTRING_RING_READER_H

#include "format/law.h"
#include "format/span_stack.h"
#include "reader/block_cursor.h"
#include "reader/definitions.h"

#pragma GCC visibility push(hidden)

enum { EVR_CONTEXT_LEFT = 16, EVR_CONTEXT_RESUMED = 17 };

/* a loss, event or switch to be delivered before the next event of the block */
struct evr_pending {
  /* 0: a loss; EVENTRING_BEGIN or _END: a synthetic event; EVR_CONTEXT_...: a switch */
  uint8_t kind;
  uint8_t flags;
  uint16_t id;
  uint32_t depth;
  uint32_t incarnation;
  uint64_t context;
  uint64_t when;     /* in ticks; for an end, in ns */
  uint64_t value;    /* number of events lost, or the ticks of the begin */
};

struct evr_backwards;

struct evr_ring_reader {
  struct evr_block_cursor blocks; /* `rooms` is NULL until something is read; owned */
  struct evr_definitions *definitions;
  uint32_t at;              /* next word to interpret of the block held ... */
  uint32_t end;             /* ... and where this poll ends in it */
  /* base of times, context and incarnation of the events from word `at` on */
  struct format_position position;
  uint64_t tags; /* fields that all events of the ring have in common (delivery.c) */
  /* time by which the next event or loss is ordered among the rings, in ns */
  uint64_t order_ns;
  uint64_t missed, delivered, lost, torn;
  /* events of the present run (delivery.c), not yet counted in blocks.position and
     `delivered` */
  uint64_t in_run;
  uint64_t batched; /* number of events of the last batch; 0 if the last try made none */
  uint64_t opened_head;     /* newest block when the cursor was opened */
  /* the spans of the block held seem to be nested (delivery.c) */
  bool nested;
  bool joined;              /* the reader has its first position */
  bool sought;              /* reading begins at a time (eventring_cursor_seek) */
  bool limit_moved;         /* a jump has moved the limit; at most once in a poll */
  bool tells_switches;      /* switches of contexts are queued, too */
  uint64_t remarks_unknown;
  const struct evr_log *log; /* the log of switches that applies to the block held */
  uint32_t process;         /* number of the process of `log`, from the block's header */
  uint32_t switches;        /* number of entries of the log that have been applied */
  bool missed_switches;     /* some entries were gone */
  uint64_t switch_due;      /* ticks before which no further entry applies */
  uint32_t switches_known;  /* number of entries for which switch_due was computed */
  uint64_t now;             /* ticks at which the queued events became known */
  uint64_t known_ns;        /* time of the last event of the ring that was delivered */
  uint64_t limit_sequence;  /* this poll ends at word limit_at of this block */
  uint32_t limit_at;
  struct evr_span_stacks spans;
  struct evr_pending *pending;
  uint32_t pending_count, pending_room, pending_at;
  struct eventring_event event; /* the last event delivered; filled in again each time */
  struct evr_backwards *back; /* NULL unless the reader reads backwards (backwards.c) */
  /* For the second law of ring_reader.c: delivered begins less the ends that match one;
     and whether some begins or ends were left out when out of memory. */
  EVR_IN_DEBUG(uint64_t balance; bool is_unbalanced;)
};

/* Tells whether the first law of ring_reader.c holds. The first law holds after each run
   of events; the second law (evr_ring_reader_is_balanced) holds where nothing is
   queued. */
static inline bool evr_ring_reader_is_accounted(const struct evr_ring_reader *reader) {
  uint64_t accounted = reader->missed + reader->delivered + reader->lost;
  return accounted == reader->blocks.position + reader->blocks.recounted;
}

#ifdef SAROS_DEBUG
static inline bool evr_ring_reader_is_balanced(const struct evr_ring_reader *reader) {
  return reader->is_unbalanced || reader->balance == reader->spans.spans;
}

/* Takes into account a begin or an end that is about to be delivered. */
static inline void evr_ring_reader_balance(struct evr_ring_reader *reader,
                                           const struct eventring_event *event) {
  unsigned torn = event->flags & (EVENTRING_TORN | EVENTRING_SYNTHETIC);
  if (event->kind == EVENTRING_BEGIN) reader->balance++;
  else if (event->kind == EVENTRING_END && torn != EVENTRING_TORN) reader->balance--;
  /* this may be the begin or the end of a span that is hidden because too many are
     open */
  if (reader->spans.hidden) reader->is_unbalanced = true;
}
#endif

struct evr_ring_reader *evr_ring_reader_new(struct evr_metadata *meta,
                                            struct evr_definitions *definitions,
                                            unsigned slot, unsigned ring,
                                            uint64_t opened_head);
void evr_ring_reader_free(struct evr_ring_reader *reader);
/* Moves the reader before the first event written from now on (EVENTRING_OPEN_NOW). */
void evr_ring_reader_join_now(struct evr_ring_reader *reader, unsigned *budget);
/* Makes the reader begin near `ns`. To be called before anything was read. */
void evr_ring_reader_seek(struct evr_ring_reader *reader, uint64_t ns);
/* Allocates rooms for blocks: blocks.room_count, or, if this is 0, as many as the cursor
   can use. Returns false if there is no memory. */
bool evr_ring_reader_make_room(struct evr_ring_reader *reader);
/* Tells whether the events before the first block were gone when the cursor was
   opened. */
bool evr_ring_reader_began_late(const struct evr_ring_reader *reader);
void evr_ring_reader_note_no_block(struct evr_ring_reader *reader);
/* Begins with the block that was found (for backwards.c), before its first event: queues
   the begins of the spans that are open there, and what is missing. */
void evr_ring_reader_begin(struct evr_ring_reader *reader);
/* Goes on from the end of the block held to `next`, the following block, before its first
   event. */
void evr_ring_reader_enter(struct evr_ring_reader *reader, struct evr_block *next);
/* Returns the ticks from which on entries of the log are to be applied. */
static inline uint64_t evr_ring_reader_switch_due(const struct evr_ring_reader *reader) {
  uint32_t switches = reader->log->written;
  if (reader->switches == switches) return UINT64_MAX;
  return reader->switches_known == switches ? reader->switch_due : 0;
}
/* Notes how far the producer has come. Returns false if there is nothing to deliver. */
bool evr_ring_reader_limit(struct evr_ring_reader *reader, unsigned *budget);
/* Goes on after the end of the block held. Returns false if there is nothing more up to
   the limit. Each unreadable block takes 1 from *budget. */
bool evr_ring_reader_go_on(struct evr_ring_reader *reader, unsigned *budget);
/* Applies what was switched up to `ticks` (control.c). */
void evr_ring_reader_switch(struct evr_ring_reader *reader, uint64_t ticks);
/* Tells whether one of these classes was switched on after a span began at `ticks`, by
   entries of the log that have not been applied yet. */
bool evr_ring_reader_was_off(const struct evr_ring_reader *reader, uint64_t classes,
                             uint64_t ticks);
/* Applies a remark of the block held, which begins at `words`. */
void evr_ring_reader_remark(struct evr_ring_reader *reader, const uint64_t *words);

#pragma GCC visibility pop

#endif /* EVENTRING_RING_READER_H */
