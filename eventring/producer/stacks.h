/* SPDX-License-Identifier: MIT */
/* stacks.h: the functions and call stacks of this process: see stacks.c. */
#ifndef EVENTRING_STACKS_H
#define EVENTRING_STACKS_H

#include "eventring/memory.h"
#include "producer/recording.h"

#pragma GCC visibility push(hidden)

/* The stacks that a domain has seen, used by its owner. All zero: empty. */
struct evr_stack_cache {
  struct evr_seen_stack *seen;
  uint32_t size, count; /* a power of two; at most half of it is used */
};
void evr_stack_cache_free(struct evr_stack_cache *cache);
uint32_t evr_stack_find(struct evr_stack_cache *cache, const struct eventring_frame *frames,
                        size_t count, eventring_resolve *resolve, void *context);

/* Writes all known functions and stacks into a recording that has none yet. */
void evr_stacks_publish_locked(struct evr_recording *recording);

#pragma GCC visibility pop

#endif /* EVENTRING_STACKS_H */
