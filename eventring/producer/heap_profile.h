/* SPDX-License-Identifier: MIT */
/* heap_profile.h: the heap profile of a domain: see heap_profile.c. */
#ifndef EVENTRING_PRODUCER_HEAP_PROFILE_H
#define EVENTRING_PRODUCER_HEAP_PROFILE_H

#include "eventring/memory.h"
#include "producer/recording.h"

#pragma GCC visibility push(hidden)

/* Keeps the code that runs for each sample together, on few cache lines. */
#define EVR_SAMPLE_PATH __attribute__((section(".text.hot.sample")))

struct evr_heap; /* its functions are for the owner, except *_locked */

/* Returns an empty profile, or NULL when out of memory. */
struct evr_heap *evr_heap_new(double rate);
void evr_heap_free(struct evr_heap *heap);

uint32_t evr_heap_number(const struct evr_heap *heap);
/* Loads what a sample needs into the cache. */
void evr_heap_expect(const struct evr_heap *heap);
void evr_heap_allocate(struct evr_heap *heap, const struct eventring_sample *sample,
                       struct eventring_tracked *tracked);
/* Counts a block that is no longer alive. Returns false when the block belongs to another
   profile. */
bool evr_heap_release(struct evr_heap *heap, const struct eventring_tracked *block);
/* Counts a collection; returns its number. */
uint64_t evr_heap_collect(struct evr_heap *heap, const struct eventring_collection *collection);

struct evr_heap_owner { /* the owner of a profile */
  uint32_t slot, incarnation;
  bool over; /* the profile ends */
};
/* Brings the copy in the file of this recording up to date. Takes the mutex when the
   profile needs further blocks, or if `over`. */
void evr_heap_publish(struct evr_heap *heap, struct evr_recording *recording,
                      struct evr_heap_owner owner);
/* Detaches the profile from a recording that its domain leaves; the recording keeps its
   copy of the profile. */
void evr_heap_detach_locked(struct evr_heap *heap);
/* Drops the parent's recording in a forked child. `own`: the profile is that of a domain
   of the thread that forked. */
void evr_heap_after_fork(struct evr_heap *heap, bool own);
/* Frees the lists of profiles that have ended in a recording. */
void evr_heaps_free(struct evr_recording *recording);

#pragma GCC visibility pop

#endif /* EVENTRING_PRODUCER_HEAP_PROFILE_H */
