/* SPDX-License-Identifier: MIT */
/* delivery.h: the events of a block, handed to the callbacks. */
#ifndef EVENTRING_DELIVERY_H
#define EVENTRING_DELIVERY_H

#include "reader/ring_reader.h"

#pragma GCC visibility push(hidden)

/* Where a poll delivers to. */
struct evr_sink {
  struct eventring_callbacks callbacks; /* both set */
  void *context;
  int (*switched)(void *context, const struct eventring_switch *change); /* may be NULL */
  void *switched_context;
  /* NULL: every event goes to the callbacks; else there is room for a batch (batch.c): */
  int (*batch)(void *context, const struct eventring_batch *batch);
  void *batch_context;
  unsigned contents; /* enum eventring_batch_contents */
  struct evr_batch_room *room;
  const eventring_cursor *cursor;
  uint32_t most;      /* words of a run, at most */
  uint64_t left;      /* events that may still be delivered */
  uint64_t delivered; /* real ones */
  unsigned budget;    /* unreadable blocks that may still be tried */
  bool by_block;      /* a ring makes way for others at the end of each block */
  bool stopped;       /* by a callback or by the maximum */
};

/* Estimates what the block held contains, after something was copied into it. */
void evr_ring_reader_survey(struct evr_ring_reader *reader);

/* Finds what is to be delivered next and sets reader->order_ns. Returns false at the
   limit. */
bool evr_ring_reader_look(struct evr_ring_reader *reader, unsigned *budget);
/* Delivers what is not later than `until`, as long as the sink wants more. Returns true,
   with order_ns set, if something is left. */
bool evr_ring_reader_drain(struct evr_ring_reader *reader, uint64_t until,
                           struct evr_sink *sink);
enum evr_ready {
  EVR_DELIVERED,   /* a batch */
  EVR_READY_LATER, /* a decoded batch begins after the next sink->most words */
  EVR_NOT_DECODED  /* no decoded batch can be used */
};
/* Delivers the batch that begins with the event that evr_ring_reader_look has found, if a
   thread has decoded it. */
enum evr_ready evr_ring_reader_ready(struct evr_ring_reader *reader, uint64_t until,
                                     struct evr_sink *sink);
/* Delivers the event that evr_ring_reader_look has found, and those after it, as a batch,
   up to the first one that a batch cannot have (batch.c). Returns false if nothing could
   be delivered in this way. */
bool evr_ring_reader_batch(struct evr_ring_reader *reader, uint64_t until,
                           struct evr_sink *sink);
/* Fills in what the payload of an event says: link and role, value, flags. The event is
   the word `word` and those after it. `d` is NULL if it has no definition. */
void evr_event_payload(struct eventring_event *event, const struct evr_definition *d,
                       const uint64_t *word);
/* Fills in a synthetic begin for entry `index` of a stack. */
void evr_ring_reader_open_span(const struct evr_ring_reader *reader,
                               const struct evr_span_stack *stack, uint32_t index,
                               struct eventring_event *event);

#pragma GCC visibility pop

#endif /* EVENTRING_DELIVERY_H */
