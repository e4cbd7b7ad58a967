/* SPDX-License-Identifier: MIT */
/* links.c: finds the end of each async span and its begin. */
#include "analysis/links_table.h"

#include <stdlib.h>

/* Doubles the room of the table. Returns false, with nothing changed: no memory. */
bool eva_links_make_room(struct eva_links *links) {
  const struct eva_links before = *links;
  const size_t room = before.room ? 2 * before.room : 32;
  struct eva_link *entries = calloc(room, sizeof *entries);
  if (!entries) return false;
  *links = (struct eva_links){entries, room, before.used, evr_hash_seed()};
  for (size_t i = 0; i < before.room; i++)
    if (!eva_link_is_free(&before.entries[i]))
      *eva_link_entry(links, before.entries[i].id, before.entries[i].link) = before.entries[i];
  free(before.entries);
  return true;
}

int eva_links_take(struct eva_links *links, const struct eva_link_event *event,
                   struct eva_link_outcome *outcome) {
  if (eva_links_are_full(links) && !eva_links_make_room(links)) return EVENTRING_E_MEMORY;
  eva_link_take(links, eva_link_entry(links, event->id, event->link), event, outcome);
  return EVENTRING_OK;
}

void eva_links_each(const struct eva_links *links,
                    void (*visit)(void *context, const struct eva_link *link), void *context) {
  for (size_t i = 0; i < links->room; i++)
    if (!eva_link_is_free(&links->entries[i])) visit(context, &links->entries[i]);
}

void eva_links_free(struct eva_links *links) {
  free(links->entries);
  *links = (struct eva_links){0};
}
