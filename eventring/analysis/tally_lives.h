/* SPDX-License-Identifier: MIT */
/* tally_lives.h: assigns the figures of a slot to the domains that ran in it.
 *
 * Lives are appended in the order of events. Each ring has its own order, so a life may
 * be appended several times; eva_lives_join sorts the lives and adds up the entries of
 * each incarnation.
 *
 * Units: nanoseconds, words. Errors: EVENTRING_E_MEMORY, and nothing is added. Threads:
 * as for the tally that it is part of.
 */
#ifndef EVENTRING_ANALYSIS_TALLY_LIVES_H
#define EVENTRING_ANALYSIS_TALLY_LIVES_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/gc_clock.h"

struct eva_life {
  uint32_t incarnation;
  uint64_t watched;    /* ns for which the life's runtime ring was watched; 0 if all of
                          the ring is lost */
  struct eva_gc_times times;
  int64_t allocated, promoted; /* -1: no counter gives them */
  struct eventring_domain_info *info; /* NULL if the recording no longer has it */
};

/* A zeroed struct holds no lives. */
struct eva_lives {
  struct eva_life *life;
  size_t count, room;
};

/* Returns the entry of an incarnation, either the last one or a new one; NULL: no memory.
   It is valid until the next call. */
struct eva_life *eva_lives_at(struct eva_lives *lives, uint32_t incarnation);
/* Joins the entries into one for each incarnation, in ascending order. */
void eva_lives_join(struct eva_lives *lives);
/* Takes what the recording says of each of the domains. */
int eva_lives_describe(struct eva_lives *lives, const struct eventring_domain_info *info);
void eva_lives_free(struct eva_lives *lives);

/* Returns the name of the domain; "" if it has none or the recording no longer has it. */
const char *eva_life_name(const struct eva_life *life);
/* Adds words to a sum; a sum of -1 has no words yet. */
void eva_add_words(int64_t *words, int64_t more);

#endif
