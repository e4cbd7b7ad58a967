/* SPDX-License-Identifier: MIT */
/* lists.h: the lists of `head` that other sections refer to by index: names, domains,
 * tracks.
 *
 * Names are the definitions of the catalogue, by id. Figures are kept by slot, and belong
 * to the newest domain in it; `head.domains` has all domains that the recording still
 * has. A track is a row of a ring of a slot (export/tracks.h, where names call it a
 * lane): row 0 has what belongs to no context; a context has another row while it has
 * spans open.
 *
 * Errors: the index -1 if there is no such name, domain or track, or no memory for it.
 * Threads: one at a time.
 */
#ifndef EVENTRING_VIEW_LISTS_H
#define EVENTRING_VIEW_LISTS_H

#include "view/part.h"

struct page_lists;

/* Makes empty lists. Returns NULL when out of memory. */
struct page_lists *page_lists_new(eventring_cursor *cursor);
void page_lists_free(struct page_lists *lists);
/* Fills the lists of names and domains with their present state. To be called after
   reading, before anything is written. Returns 0 or EVENTRING_E_MEMORY. */
int page_lists_fill(struct page_lists *lists);

/* Returns the index of a name or a domain, once the lists are filled. */
int page_name(const struct page_lists *lists, int id);
int page_domain(const struct page_lists *lists, uint32_t slot);
/* Returns the index of a track, which is made if there is none. Indices of tracks are
   valid during reading, too. */
struct page_lane {
  uint32_t slot, lane;
  uint8_t ring;
};
int page_track(struct page_lists *lists, const struct page_lane *lane, uint64_t context);
/* Gives a track rows for at least `depths` depths of spans. */
void page_track_deepen(struct page_lists *lists, uint32_t track, uint32_t depths);

/* Returns which row of which ring a track is. */
struct page_lane page_track_lane(const struct page_lists *lists, uint32_t track);

/* Writes the members `names`, `domains` and `tracks` of `head`. */
void page_lists_write(const struct page_lists *lists, const struct page_grid *grid,
                      struct eva_json *json);

#endif
