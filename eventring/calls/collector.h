/* SPDX-License-Identifier: MIT */
/* collector.h: the tries of all threads of a process, in its memory. Not a part of the
 * interface. A recording has the newest profile of each domain (eventring_calls_write),
 * also of domains that have ended and of a process that was killed, and takes no lock and
 * copies no nodes at a safepoint. The collector is the alternative with which tests
 * compare that.
 */
#ifndef EVENTRING_CALLS_COLLECTOR_H
#define EVENTRING_CALLS_COLLECTOR_H

#include "eventring/calls.h"

#pragma GCC visibility push(hidden)

/* Collects the tries of threads as they end, for others to read. Any thread. */
typedef struct evc_collector evc_collector;

evc_collector *evc_collector_new(size_t budget);
void evc_collector_free(evc_collector *collector);

enum evc_posted {
  EVC_POSTED,
  EVC_PARTLY, /* some of its paths found no room: their calls are flat in the copy */
  EVC_REFUSED /* no memory; the refusal is counted */
};
/* Copies a trie; tries of the same thread are merged. On the thread of the trie. */
enum evc_posted evc_post(evc_collector *collector, const eventring_calls *calls,
                         uint64_t thread);
/* Returns the number of tries that were collected, or that were refused. */
size_t evc_collected(evc_collector *collector);
uint64_t evc_refused(evc_collector *collector);

/* A buffer that a collector was serialized to: a block for each trie. Its words:
     0      words of the block, this one included
     1      the thread
     2      nodes
   then each node, parents first, flat ones at the end: words of the node, number of its
   parent (2^64 - 1: the root, 2^64 - 2: it is flat), id, count, exclusive, least, most,
   suspended, lost calls, lost ticks, open, then the buckets up to the last one that is
   not 0. */
struct evc_buffer {
  const uint64_t *words;
  size_t count;
};
/* Returns the next buffer, or {NULL, 0} after the last one; the call after that begins
   anew. A buffer is valid until the next call for the collector. */
struct evc_buffer evc_serialize(evc_collector *collector);
/* Drops all tries. */
void evc_collector_reset(evc_collector *collector);

#pragma GCC visibility pop

#endif /* EVENTRING_CALLS_COLLECTOR_H */
