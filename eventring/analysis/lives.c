/* SPDX-License-Identifier: MIT */
/* lives.c: the domains that ran in a slot of a recording. */
#include "analysis/lives.h"

/* Returns the oldest incarnation that has a record. Records are dropped in the order of
   their starts, so the search ends at the first one that is missing, whatever number a
   damaged file claims. */
static uint32_t oldest_known(eventring_cursor *cursor, unsigned slot, uint32_t newest) {
  struct eventring_domain_info life = {.size = sizeof life};
  uint32_t oldest = newest;
  while (oldest > 1 && eventring_cursor_life(cursor, slot, oldest - 1, &life) == 0) oldest--;
  return oldest;
}

void eva_each_life(eventring_cursor *cursor, unsigned slot,
                   void (*visit)(void *context, const struct eventring_domain_info *life),
                   void *context) {
  struct eventring_domain_info newest = {.size = sizeof newest}, life = {.size = sizeof life};
  if (eventring_cursor_domain(cursor, slot, &newest) < 0) return;
  for (uint32_t n = oldest_known(cursor, slot, newest.incarnation); n < newest.incarnation; n++)
    if (eventring_cursor_life(cursor, slot, n, &life) == 0) visit(context, &life);
  visit(context, &newest);
}
