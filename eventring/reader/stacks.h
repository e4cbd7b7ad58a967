/* SPDX-License-Identifier: MIT */
/* stacks.h: the functions and stacks of a recording, and names of kinds of memory. */
#ifndef EVENTRING_READER_STACKS_H
#define EVENTRING_READER_STACKS_H

#include <stdbool.h>

#include "eventring/memory.h"
#include "format/format.h"
#include "format/samples.h"

#pragma GCC visibility push(hidden)

struct evr_function; /* stacks.c */

struct evr_stack_node {
  uint32_t parent, function, line, column;
  uint32_t depth; /* 0 if the node is missing */
};

struct evr_stacks {
  struct evr_function **functions; /* the functions by id; NULL if missing */
  uint32_t function_room, function_end;
  struct evr_stack_node *nodes; /* the nodes by id */
  uint32_t node_room, node_end;
  char kind[FORMAT_MEMORY_KINDS][EVENTRING_MAX_CLASS_NAME + 1];
  char origin[FORMAT_MEMORY_ORIGINS][EVENTRING_MAX_CLASS_NAME + 1];
};

/* Tells whether a record of kind STRINGS, FUNCTIONS or STACKS has a possible number and
   possible references. The record has the form of its kind. Records of other kinds count
   as valid. */
bool evr_stacks_record_valid(unsigned kind, const uint64_t *record);
/* Takes a valid record. Returns false when out of memory. */
bool evr_stacks_take(struct evr_stacks *stacks, unsigned kind, const uint64_t *record);
void evr_stacks_free(struct evr_stacks *stacks);

#pragma GCC visibility pop

#endif /* EVENTRING_READER_STACKS_H */
