/* SPDX-License-Identifier: MIT */
/* last_stack.h: the last stacks of domains, out of records of kind LAST_STACKS. */
#ifndef EVENTRING_READER_LAST_STACK_H
#define EVENTRING_READER_LAST_STACK_H

#include "format/format.h"

#pragma GCC visibility push(hidden)

struct evr_last_stack { /* the newest last stack of a slot */
  struct format_last_stack record;
  char text[FORMAT_STACK_TEXT + 1]; /* made harmless */
};

/* Tells whether a record of kind LAST_STACKS, whose form was checked, is valid. */
bool evr_last_stack_valid(const uint64_t *record);
/* Takes a valid record. `stacks` is indexed by slot; an entry is NULL if there is none.
   Returns false when out of memory. */
bool evr_last_stack_take(struct evr_last_stack **stacks, const uint64_t *record);

#pragma GCC visibility pop

#endif /* EVENTRING_READER_LAST_STACK_H */
