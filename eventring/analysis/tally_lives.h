/* SPDX-License-Identifier: MIT */
/* tally_lives.h: what of a slot's figures belongs to which of the domains that ran in it.
 *
 * Lives are appended as they come by, once more when they come by again (each ring has
 * its own order); eva_lives_join puts them in order and adds up those of one incarnation.
 *
 * Units: nanoseconds, words. Errors: EVENTRING_E_MEMORY, and nothing is added. Threads:
 * as the tally that it is part of.
 */
#ifndef EVENTRING_ANALYSIS_TALLY_LIVES_H
#define EVENTRING_ANALYSIS_TALLY_LIVES_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/gc_clock.h"

struct eva_life {
  uint32_t incarnation;
  uint64_t watched;    /* as long as its runtime ring was: 0 where all of that is lost */
  struct eva_gc_times times;
  int64_t allocated, promoted; /* -1: no counter says */
  struct eventring_domain_info *info; /* NULL: the recording no longer has it */
};

/* A zeroed struct holds none. */
struct eva_lives {
  struct eva_life *life;
  size_t count, room;
};

/* The entry of an incarnation, the last one or a new one; NULL: no memory. Valid until
   the next call. */
struct eva_life *eva_lives_at(struct eva_lives *lives, uint32_t incarnation);
/* One entry an incarnation, ascending. */
void eva_lives_join(struct eva_lives *lives);
/* Takes what the recording says of one of them. */
int eva_lives_describe(struct eva_lives *lives, const struct eventring_domain_info *info);
void eva_lives_free(struct eva_lives *lives);

/* Its name; "" when it has none or the recording no longer has it. */
const char *eva_life_name(const struct eva_life *life);
/* Adds words to a sum that is -1 until the first. */
void eva_add_words(int64_t *words, int64_t more);

#endif
