/* SPDX-License-Identifier: MIT */
/* lane.h: the lanes of a domain: writing events into blocks.
 *
 * Only the thread that owns the domain writes a lane, with two exceptions: any thread
 * that holds the mutex may store `gate` (which classes pass), and NULL into `limit`,
 * which sends the next probe into the slow path. The owner that sets a new limit checks
 * `attention` afterwards, so that the request can't be lost (evr_lane_publish_limit).
 *
 * All positions and counts are kept here, in private memory: nothing that the producer
 * reads from a block or from the file decides where it writes. A lane reads nothing from
 * the file but the log of the control page.
 */
#ifndef EVENTRING_LANE_H
#define EVENTRING_LANE_H

#include "eventring/probe.h"
#include "format/format.h"
#include "producer/block_source.h"
#include "producer/classes.h"
#include "producer/open_spans.h"

#pragma GCC visibility push(hidden)

/* The write state of one ring: its block source, its present block and what the next
   block header needs. A lane is opened on it to write events. The writer belongs to the
   ring and outlasts the domain: the next domain of the slot opens its lane on it and goes
   on in the present block. While a lane is open on it, only the owner uses the writer.
   The structure is large and begins as zeros; unused pages are not touched. */
struct evr_writer {
  struct evr_block_source *source;
  uint64_t *end;          /* end of the present block, and the value of `limit` unless
                             someone asks for attention; NULL if there is no block yet */
  uint64_t *first;        /* first event word of the present block */
  uint64_t *next;         /* where the next word goes while no lane is open */
  uint64_t extra;         /* the lane's `extra` while no lane is open */
  uint64_t base_ticks;    /* base of the times in the block from here on */
  uint64_t block_ticks;   /* the base_ticks of the block's header */
  uint32_t incarnation;   /* incarnation of the events last written */
  uint32_t switches_seen; /* entries of the control log that were applied to `open` */
  uint32_t careful;       /* events that must take the slow path yet (lane.c, Signals) */
  uint64_t dropped;       /* dropped events of domains that are gone */
  struct evr_open_spans open; /* spans open at the start of the present block */
  struct evr_totals totals;   /* totals of all blocks before the present one */
  uint64_t aside[FORMAT_BLOCK_WORDS]; /* a block outside the file, for a ring that has
                                         none in the file yet (ring.c) */
};

struct evr_lanes {
  struct eventring_domain hot; /* must be first: the host has a pointer to it */
  struct evr_writer *writer[EVENTRING_RINGS]; /* NULL if the lane is not open */
  uint64_t dropped[EVENTRING_RINGS]; /* events of signal handlers that were dropped */
  uint64_t dropped_seen[EVENTRING_RINGS]; /* how many of `dropped` are already counted */
  /* set by the code that opens the lanes, while they are open: */
  const struct format_control *control; /* has the log of switched classes */
  const uint64_t *recalibrate_at; /* ticks; atomic: later events take the slow path
                                     (calibration.c) */
  enum format_clock clock;
  uint16_t slot;        /* slot and incarnation of the domain, for block headers */
  uint32_t incarnation;
  uint32_t attention;   /* atomic: the recording has ended and is to be released */
  bool writing;         /* the slow path is running (lane.c, Signals) */
};

/* Opens a lane on a ring: in the ring's present block, after a remark with the
   incarnation, or in a first block from its source. On failure the lane stays closed.
   Owner. */
int evr_lane_open(struct evr_lanes *lanes, enum eventring_ring ring,
                  struct evr_writer *writer, struct eventring_error *error);
/* Closes the lane, if it is open; the ring keeps its present block. Owner, or, for a
   domain that has stopped, under the mutex. */
void evr_lane_close(struct evr_lanes *lanes, enum eventring_ring ring);
/* Finishes the present block of a ring on which no lane is open; nothing is written
   afterwards. The events in it are not in the totals. */
void evr_writer_finish(struct evr_writer *writer);
/* Writes an event into an open lane, with a time of its clock. Returns EVENTRING_OK,
   EVR_NEW_BLOCK when the event began a block, or the error with which the source gave no
   block; the event is then lost. The begin of a span that begins a block gets a later
   time, and *ticks is set to it. To be called between evr_lane_begin_writing and
   evr_lane_end_writing. Owner. */
enum { EVR_NEW_BLOCK = 1 };
int evr_lane_write(struct evr_lanes *lanes, enum eventring_ring ring, uint64_t tail,
                   uint64_t *ticks, const uint64_t *payload, size_t words,
                   struct eventring_error *error);
/* Makes `context` the context of the events that follow. Returns what evr_lane_write
   does. */
int evr_lane_set_context(struct evr_lanes *lanes, enum eventring_ring ring, uint64_t context,
                         uint64_t ticks, struct eventring_error *error);
/* Notes that a context is left (FORMAT_REMARK_SUSPEND) or goes on (_RESUME). Returns what
   evr_lane_write does. */
int evr_lane_switch_context(struct evr_lanes *lanes, enum eventring_ring ring,
                            enum format_remark remark, uint64_t context, uint64_t ticks,
                            struct eventring_error *error);
/* Returns the number of events written so far into the ring on which a lane is open
   (owner), or into one on which no lane is open. */
uint64_t evr_lane_emitted(const struct evr_lanes *lanes, enum eventring_ring ring);
uint64_t evr_writer_emitted(const struct evr_writer *writer);

/* Lets probes write up to the end of the block, unless someone asks for attention or the
   ring is watched (watch.h). The store of limit comes before the load of attention. The
   signal fence orders them for the compiler; request_attention_locked (domains.c) does so
   for the processor: it runs a barrier on all threads between storing attention and
   storing NULL into limit. So either this load sees the request, or the NULL of the
   request is the later store. (A fence here would cost every transition.) */
static inline void evr_lane_publish_limit(struct evr_lanes *lanes,
                                          enum eventring_ring ring) {
  struct eventring_lane *lane = &lanes->hot.lane[ring];
  const struct evr_writer *writer = lanes->writer[ring];
  if (!writer || writer->careful) return; /* the limit is NULL and stays so */
  __atomic_store_n(&lane->limit, writer->end, __ATOMIC_RELAXED);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  if (__atomic_load_n(&lanes->attention, __ATOMIC_RELAXED) || evr_watch_covers(ring))
    __atomic_store_n(&lane->limit, NULL, __ATOMIC_RELAXED);
}

/* Keeps probes of signal handlers from writing into the lanes until evr_lane_end_writing.
   Returns whether this is the outermost call; pass the result to evr_lane_end_writing.
   Owner. */
static inline bool evr_lane_begin_writing(struct evr_lanes *lanes,
                                          enum eventring_ring ring) {
  if (lanes->writing) return false;
  lanes->writing = true;
  __atomic_store_n(&lanes->hot.lane[ring].limit, NULL, __ATOMIC_RELAXED);
  /* signal fence: a signal handler on this thread that interrupts what follows finds
     `writing` set and no limit */
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  return true;
}

static inline void evr_lane_end_writing(struct evr_lanes *lanes, enum eventring_ring ring,
                                        bool outermost) {
  if (!outermost) return;
  /* signal fence: for a handler on this thread, `writing` is cleared after what
     precedes */
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  lanes->writing = false;
  evr_lane_publish_limit(lanes, ring);
}

/* Counts an event that a signal handler could not write. */
static inline void evr_lane_drop(struct evr_lanes *lanes, enum eventring_ring ring) {
  lanes->dropped[ring]++;
}

#pragma GCC visibility pop

#endif /* EVENTRING_LANE_H */
