/* SPDX-License-Identifier: MIT */
/* moments.c: sections `instants` and `links`. */
#include "view/moments.h"

#include <stdlib.h>

#include "analysis/top.h"
#include "format/array.h"
#include "format/table.h"
#include "view/events.h"
#include "view/lists.h"
#include "view/values.h"

enum { MOST = 1 << 14, MOST_LINKS = 1 << 12, MOST_WAITING = 1 << 16, LEVELS = 6 };

struct instant {
  uint64_t ns;
  struct page_value *value;
  uint32_t track;
  uint16_t id;
};

struct point { /* the last point of a link */
  uint64_t link, ns;
  uint32_t track;
  uint16_t id;
};

struct link {
  uint64_t took; /* key of eva_top */
  uint64_t from_ns, to_ns;
  uint32_t from, to; /* tracks */
  uint16_t id;
};

struct page_moments {
  struct page_run *run;
  struct instant *instant;
  size_t count, room;
  uint64_t apart; /* least time between two instants of one name and track */
  uint64_t seen, seen_links;
  struct evr_table last; /* number of the last instant of each name and track, plus 1 */
  struct evr_table waiting; /* struct point */
  struct eva_top links;
};

struct page_moments *page_moments_new(struct page_run *run) {
  struct page_moments *moments = calloc(1, sizeof *moments);
  if (!moments) return NULL;
  moments->run = run;
  moments->links = (struct eva_top){.size = sizeof(struct link), .most = MOST_LINKS};
  return moments;
}

void page_moments_free(struct page_moments *moments) {
  if (!moments) return;
  for (size_t i = 0; i < moments->count; i++) page_value_drop(moments->instant[i].value);
  for (size_t i = 0; i < moments->waiting.room; i++)
    free((void *)moments->waiting.entries[i].value);
  evr_table_free(&moments->waiting);
  evr_table_free(&moments->last);
  eva_top_free(&moments->links);
  free(moments->instant);
  free(moments);
}

/* ---- Instants --------------------------------------------------------------------- */

static bool is_alike(const void *context, uintptr_t value, const void *key) {
  const struct page_moments *moments = context;
  const struct instant *a = &moments->instant[value - 1], *b = key;
  return a->track == b->track && a->id == b->id;
}

/* Returns the entry that holds the number of the last instant of the same name and track,
   or NULL when out of memory. */
static uintptr_t *last_like(struct page_moments *moments, const struct instant *instant) {
  const uint64_t hash =
      evr_hash_word(evr_hash_seed(), (uint64_t)instant->track << 16 | instant->id);
  return evr_table_take(&moments->last, hash, is_alike, moments, instant);
}

/* Keeps an instant if it is far enough from the last one of the same name and track. */
static int add_instant(struct page_moments *moments, const struct instant *instant) {
  uintptr_t *last = last_like(moments, instant);
  if (!last) return EVENTRING_E_MEMORY;
  const bool is_near = *last && instant->ns - moments->instant[*last - 1].ns < moments->apart;
  if (is_near) {
    page_value_drop(instant->value);
    return EVENTRING_OK;
  }
  if (!EVR_MAKE_ROOM(moments->instant, moments->room, moments->count, 64))
    return EVENTRING_E_MEMORY;
  moments->instant[moments->count++] = *instant;
  *last = moments->count;
  return EVENTRING_OK;
}

/* Removes instants until there are at most `most`. */
static int thin(struct page_moments *moments, size_t most) {
  int status = EVENTRING_OK;
  while (moments->count > most && moments->apart < UINT64_MAX / 4 && status == EVENTRING_OK) {
    const size_t count = moments->count;
    moments->apart = moments->apart ? 2 * moments->apart : 1000;
    moments->count = 0;
    evr_table_free(&moments->last);
    for (size_t i = 0; i < count && status == EVENTRING_OK; i++) {
      const struct instant instant = moments->instant[i];
      status = add_instant(moments, &instant);
    }
  }
  return status;
}

/* Tells whether an event is shown as an instant. Samples of allocations are not: there
   are many of them, and the page shows their sums. */
static bool is_shown(const struct eventring_event *event) {
  return event->event_class != EVENTRING_CLASS_ALLOC && event->payload != EVENTRING_SAMPLE;
}

/* ---- Links ------------------------------------------------------------------------ */

static bool is_point(const void *none, uintptr_t value, const void *key) {
  const struct point *a = (const struct point *)value, *b = key;
  (void)none;
  return a->link == b->link && a->id == b->id;
}

static int add_link(struct page_moments *moments, const struct point *from,
                    const struct point *to) {
  const struct link link = {.took = to->ns > from->ns ? to->ns - from->ns : 0,
                            .from_ns = from->ns, .to_ns = to->ns, .from = from->track,
                            .to = to->track, .id = to->id};
  moments->seen_links++;
  return eva_top_add(&moments->links, &link);
}

/* Adds a point: a begin starts a link, an end closes it, and any other point continues
   it. */
static int add_point(struct page_moments *moments, const struct point *point, uint8_t role) {
  const uint64_t hash =
      evr_hash_word(evr_hash_word(evr_hash_seed(), point->id), point->link);
  struct point *before =
      (struct point *)evr_table_find(&moments->waiting, hash, is_point, NULL, point);
  int status = EVENTRING_OK;
  if (before && role != EVENTRING_ROLE_BEGIN) status = add_link(moments, before, point);
  if (before && role != EVENTRING_ROLE_END) *before = *point;
  if (before && role == EVENTRING_ROLE_END) {
    evr_table_drop(&moments->waiting, hash, (uintptr_t)before);
    free(before);
  }
  if (before || role == EVENTRING_ROLE_END || moments->waiting.used >= MOST_WAITING) return status;
  uintptr_t *value = evr_table_take(&moments->waiting, hash, is_point, NULL, point);
  struct point *made = value ? malloc(sizeof *made) : NULL;
  if (!made) return EVENTRING_E_MEMORY;
  *made = *point;
  *value = (uintptr_t)made;
  return EVENTRING_OK;
}

int page_moments_add(struct page_moments *moments, const struct eventring_event *event,
                     uint32_t track) {
  int status = EVENTRING_OK;
  if (event->kind == EVENTRING_LINKED)
    status = add_point(moments, &(struct point){event->link, event->ns, track, event->id},
                       event->role);
  if (status != EVENTRING_OK || !is_shown(event)) return status;
  moments->seen++;
  status = add_instant(moments, &(struct instant){event->ns, page_value_keep(event), track,
                                                  event->id});
  return status == EVENTRING_OK && moments->count > MOST ? thin(moments, MOST / 2) : status;
}

/* ---- Section `instants` ----------------------------------------------------------- */

static void *begin(struct page_run *run) { return run->events->moments; }

static int by_track(const void *a, const void *b) {
  const struct instant *x = a, *y = b;
  if (x->track != y->track) return x->track < y->track ? -1 : 1;
  if (x->ns != y->ns) return x->ns < y->ns ? -1 : 1;
  return (x->id > y->id) - (x->id < y->id);
}

static void put_instants(const struct page_run *run, const struct instant *instant, size_t count,
                         struct eva_json *json) {
  eva_json_open_object(json);
  eva_json_uint_at(json, "track", instant->track);
  PAGE_DIFFERENCES(json, "at_d", count, page_grid_time(&run->grid, instant[i].ns));
  PAGE_COLUMN(json, "name", count, page_name(run->lists, instant[i].id));
  PAGE_COLUMN(json, "value", count,
              page_text_of(run->events->texts, instant[i].value, PAGE_TEXTS_OF_INSTANTS));
  eva_json_close_object(json);
}

static bool write_instants(void *state, struct eva_json *json, unsigned level,
                           struct page_left *left) {
  struct page_moments *moments = state;
  if (!moments->count) return false;
  moments->run->events->status = thin(moments, MOST >> level);
  page_texts_forget(moments->run->events->texts, PAGE_TEXTS_OF_INSTANTS);
  qsort(moments->instant, moments->count, sizeof *moments->instant, by_track);
  eva_json_open_object(json);
  eva_json_key(json, "tracks");
  eva_json_open_array(json);
  for (size_t i = 0, end; i < moments->count; i = end) {
    const struct instant *first = &moments->instant[i];
    for (end = i + 1; end < moments->count && moments->instant[end].track == first->track;) end++;
    put_instants(moments->run, first, end - i, json);
  }
  eva_json_close_array(json);
  eva_json_close_object(json);
  if (moments->count < moments->seen)
    *left = (struct page_left){"instants, one by one", moments->count, moments->seen,
                               "the number of instants"};
  return true;
}

const struct page_part page_part_instants = {.name = "instants", .levels = LEVELS, .begin = begin,
                                             .write = write_instants, .also = &page_part_texts};

/* ---- Section `links` -------------------------------------------------------------- */

static int finish(void *state) {
  eva_top_sort(&((struct page_moments *)state)->links);
  return EVENTRING_OK;
}

static const struct link *link_at(const struct page_moments *moments, size_t i) {
  return eva_top_row(&moments->links, i);
}

static bool write_links(void *state, struct eva_json *json, unsigned level,
                        struct page_left *left) {
  const struct page_moments *moments = state;
  const struct page_run *run = moments->run;
  if (!moments->links.count) return false;
  size_t most = MOST_LINKS >> level, count = moments->links.count;
  if (count > most) count = most;
  eva_json_open_object(json);
  PAGE_COLUMN(json, "name", count, page_name(run->lists, link_at(moments, i)->id));
  PAGE_COLUMN(json, "from_track", count, link_at(moments, i)->from);
  PAGE_DIFFERENCES(json, "from_d", count, page_grid_time(&run->grid, link_at(moments, i)->from_ns));
  PAGE_COLUMN(json, "to_track", count, link_at(moments, i)->to);
  PAGE_COLUMN(json, "to", count, page_grid_time(&run->grid, link_at(moments, i)->to_ns));
  eva_json_close_object(json);
  if (count < moments->seen_links)
    *left = (struct page_left){"links", count, moments->seen_links, "the number of links"};
  return true;
}

const struct page_part page_part_links = {.name = "links", .levels = LEVELS, .begin = begin,
                                          .finish = finish, .write = write_links};
