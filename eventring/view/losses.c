/* SPDX-License-Identifier: MIT */
/* losses.c: section `losses`: events that were overwritten before they could be read. */
#include <stdlib.h>

#include "analysis/saturating.h"
#include "format/array.h"
#include "view/lists.h"

enum { MOST = 4096 };

struct losses {
  struct page_run *run;
  struct eventring_loss *loss;
  size_t count, room;
  uint64_t seen;
};

static void *begin(struct page_run *run) {
  struct losses *losses = calloc(1, sizeof *losses);
  if (losses) losses->run = run;
  return losses;
}

/* Joins pairs of successive losses of a ring. Returns false if there are none. */
static bool join_some(struct losses *losses) {
  size_t kept = 0;
  for (size_t i = 0; i < losses->count; i++) {
    struct eventring_loss *before = kept ? &losses->loss[kept - 1] : NULL;
    const struct eventring_loss *loss = &losses->loss[i];
    if (before && kept % 2 && before->domain == loss->domain && before->ring == loss->ring)
      before->count = eva_add(before->count, loss->count);
    else losses->loss[kept++] = *loss;
  }
  bool joined = kept < losses->count;
  losses->count = kept;
  return joined;
}

static int track_of(const struct losses *losses, const struct eventring_loss *loss) {
  const struct page_lane lane = {.slot = loss->domain, .ring = loss->ring};
  return page_track(losses->run->lists, &lane, 0);
}

static int lost(void *state, const struct eventring_loss *loss) {
  struct losses *losses = state;
  if (!page_wants_domain(losses->run, loss->domain) || !page_wants_time(losses->run, loss->ns))
    return EVENTRING_OK;
  losses->seen++;
  /* the track is made now, because head, which lists it, is written first */
  if (track_of(losses, loss) < 0) return EVENTRING_E_MEMORY;
  if (losses->count == MOST) join_some(losses);
  if (!EVR_MAKE_ROOM(losses->loss, losses->room, losses->count, 16)) return EVENTRING_E_MEMORY;
  losses->loss[losses->count++] = *loss;
  return EVENTRING_OK;
}

static bool write(void *state, struct eva_json *json, unsigned level, struct page_left *left) {
  struct losses *losses = state;
  const struct page_run *run = losses->run;
  if (!losses->count) return false;
  for (size_t most = MOST >> (2 * level); losses->count > most && join_some(losses);) {}
  eva_json_open_object(json);
  const struct eventring_loss *loss = losses->loss;
  const size_t count = losses->count;
  PAGE_COLUMN(json, "domain", count, page_domain(run->lists, loss[i].domain));
  PAGE_COLUMN(json, "ring", count, loss[i].ring);
  PAGE_COLUMN(json, "track", count, track_of(losses, &loss[i]));
  PAGE_COLUMN(json, "at", count, page_grid_time(&run->grid, loss[i].ns));
  PAGE_COLUMN(json, "count", count, loss[i].count);
  PAGE_COLUMN(json, "before", count, (loss[i].flags & EVENTRING_LOST_BEFORE) != 0);
  eva_json_close_object(json);
  if (losses->count < losses->seen)
    *left = (struct page_left){"losses", losses->count, losses->seen, "several are one"};
  return true;
}

static void free_losses(void *state) {
  struct losses *losses = state;
  free(losses->loss);
  free(losses);
}

const struct page_part page_part_losses = {
    .name = "losses", .levels = 2, .begin = begin, .lost = lost, .write = write,
    .free = free_losses};
