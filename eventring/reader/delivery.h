/* SPDX-License-Identifier: MIT */
/* delivery.h: the events of a block, handed to the callbacks. */
#ifndef EVENTRING_DELIVERY_H
#define EVENTRING_DELIVERY_H

#include "reader/ring_reader.h"

#pragma GCC visibility push(hidden)

/* Where a poll delivers to. */
struct evr_sink {
  struct eventring_callbacks callbacks; /* both callbacks are set */
  void *context;
  /* NULL if switches are not delivered */
  int (*switched)(void *context, const struct eventring_switch *change);
  void *switched_context;
  /* takes batches (batch.c), for which there is `room`; NULL if every event goes to the
     callbacks */
  int (*batch)(void *context, const struct eventring_batch *batch);
  void *batch_context;
  unsigned contents; /* enum eventring_batch_contents */
  struct evr_batch_room *room;
  const eventring_cursor *cursor;
  uint32_t most;      /* greatest number of words of a run */
  uint64_t left;      /* events that may still be delivered */
  uint64_t delivered; /* real events delivered in this poll */
  unsigned budget;    /* unreadable blocks that may still be tried */
  bool by_block;      /* the poll goes on with another ring at the end of each block */
  bool stopped;       /* a callback or the maximum of events has ended the poll */
};

/* Estimates what the block held contains, after something was copied into it. */
void evr_ring_reader_survey(struct evr_ring_reader *reader);

/* Finds the event or loss to be delivered next, and sets reader->order_ns. Returns false
   at the limit. */
bool evr_ring_reader_look(struct evr_ring_reader *reader, unsigned *budget);
/* Delivers events and losses that are not later than `until`, as long as the sink wants
   more. Returns true, with order_ns set, if any are left. */
bool evr_ring_reader_drain(struct evr_ring_reader *reader, uint64_t until,
                           struct evr_sink *sink);
enum evr_ready {
  EVR_DELIVERED,   /* a batch was delivered */
  EVR_READY_LATER, /* a decoded batch begins after the next sink->most words */
  EVR_NOT_DECODED  /* no decoded batch can be used */
};
/* Delivers the batch that begins with the event that evr_ring_reader_look has found, if a
   thread has decoded it. */
enum evr_ready evr_ring_reader_ready(struct evr_ring_reader *reader, uint64_t until,
                                     struct evr_sink *sink);
/* Delivers the event that evr_ring_reader_look has found and the events after it as a
   batch, up to the first event that a batch cannot have (batch.c). Returns false if there
   is no such batch. */
bool evr_ring_reader_batch(struct evr_ring_reader *reader, uint64_t until,
                           struct evr_sink *sink);
/* Fills in what the payload of an event says: link and role, value, flags. `word` points
   to the event word, which the payload follows. `d` is NULL if the event has no
   definition. */
void evr_event_payload(struct eventring_event *event, const struct evr_definition *d,
                       const uint64_t *word);
/* Fills in a synthetic begin for entry `index` of a stack. */
void evr_ring_reader_open_span(const struct evr_ring_reader *reader,
                               const struct evr_span_stack *stack, uint32_t index,
                               struct eventring_event *event);

#pragma GCC visibility pop

#endif /* EVENTRING_DELIVERY_H */
