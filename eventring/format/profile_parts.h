/* SPDX-License-Identifier: MIT */
/* profile_parts.h: builds the blocks of a profile of calls (kind 10) in private memory.
   The caller fills the head of each part when the number of parts is known. */
#ifndef EVENTRING_PROFILE_PARTS_H
#define EVENTRING_PROFILE_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "eventring/calls.h"
#include "format/format.h"

#pragma GCC visibility push(hidden)

struct evr_profile_parts {
  uint64_t (*words)[FORMAT_BLOCK_WORDS];
  uint32_t *ends; /* words of each part */
  uint32_t count, room, end_room;
  /* words of the head of each part, after the header of the block; left 0 */
  unsigned head_words;
  bool failed;         /* out of memory */
};

struct evr_profile_node {
  uint32_t parent, function; /* UINT32_MAX for the root, and the parent of flat calls */
  uint32_t open;
  uint64_t figures[FORMAT_NODE_FIGURES];
  const uint32_t *histogram; /* FORMAT_PROFILE_BUCKETS buckets */
};

/* Begins the first part. */
void evr_profile_parts_begin(struct evr_profile_parts *parts, unsigned head_words);
/* Adds a function. Texts that are too long lose their beginning: the end of a path says
   more. */
void evr_profile_parts_function(struct evr_profile_parts *parts, uint32_t number,
                                const struct eventring_calls_function *function);
/* Adds a node. `type`: FORMAT_PROFILE_NODE or FORMAT_PROFILE_FLAT. */
void evr_profile_parts_node(struct evr_profile_parts *parts, unsigned type, uint32_t number,
                            const struct evr_profile_node *node);
void evr_profile_parts_free(struct evr_profile_parts *parts);

#pragma GCC visibility pop

#endif /* EVENTRING_PROFILE_PARTS_H */
