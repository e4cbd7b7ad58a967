/* SPDX-License-Identifier: MIT */
/* mirror.h: compares what a cursor delivers backwards with what it delivers forwards.
 *
 * The comparison is ring by ring: the order in which rings take turns may differ.
 * mirror_compare reads a file forwards and backwards, and returns the number of
 * differences; it describes the first in `what`. */
#ifndef MIRROR_H
#define MIRROR_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eventring/read.h"

struct mirrored { /* an event or a loss, as numbers */
  uint64_t ns, begin_ns, suspended_ns, context, link, value, bytes, count;
  uint32_t incarnation, depth;
  uint32_t id, kind, flags; /* `kind` is 0 for a loss */
};

struct mirrored_ring { struct mirrored *list; size_t count, room; };

struct mirror {
  struct mirrored_ring ring[EVENTRING_MAX_DOMAINS * EVENTRING_RINGS];
  bool brief; /* leaves out what depends on spans that were open before a block */
};

static int mirror_add(struct mirror *mirror, unsigned domain, unsigned ring,
                      struct mirrored entry) {
  struct mirrored_ring *r = &mirror->ring[domain * EVENTRING_RINGS + ring];
  if (r->count == r->room) {
    r->room = r->room ? 2 * r->room : 256;
    r->list = realloc(r->list, r->room * sizeof *r->list);
    if (!r->list) abort();
  }
  r->list[r->count++] = entry;
  return 0;
}

static int mirror_event(void *context, const struct eventring_event *e) {
  struct mirror *mirror = context;
  struct mirrored entry = {.ns = e->ns, .begin_ns = e->begin_ns, .suspended_ns = e->suspended_ns,
                           .context = e->context, .link = e->link, .value = e->value.u,
                           .incarnation = e->incarnation, .depth = e->depth, .id = e->id,
                           .kind = e->kind, .flags = e->flags};
  if (mirror->brief && e->flags & EVENTRING_SYNTHETIC) return 0;
  if (mirror->brief) {
    entry.begin_ns = entry.suspended_ns = entry.depth = entry.flags = 0;
    if (e->kind == EVENTRING_END) entry.value = 0; /* at most the duration */
  }
  for (size_t i = 0; i < e->size; i++)
    entry.bytes = entry.bytes * 31 + ((const uint8_t *)e->bytes)[i] + 1;
  return mirror_add(mirror, e->domain, e->ring, entry);
}

static int mirror_loss(void *context, const struct eventring_loss *loss) {
  return mirror_add(context, loss->domain, loss->ring,
                    (struct mirrored){.ns = loss->ns, .count = loss->count, .flags = loss->flags,
                                      .incarnation = loss->incarnation});
}

/* Polls at most `max` events at a time. Returns the first error, or 0. */
static int mirror_read(const char *path, unsigned flags, uint64_t max, struct mirror *mirror) {
  static const struct eventring_callbacks callbacks = {sizeof callbacks, mirror_event, mirror_loss};
  eventring_cursor *cursor;
  int status = eventring_open_path(&cursor, path, flags, NULL), first = 0, errors = 0;
  if (status < 0) return status;
  do {
    status = eventring_poll(cursor, &callbacks, mirror, max);
    if (status < 0 && !first) first = status;
    errors += status < 0;
  } while (!eventring_finished(cursor) && (status != 0 || errors) && errors < 20);
  eventring_close(cursor);
  return first;
}

static void mirror_free(struct mirror *mirror) {
  for (int i = 0; i < EVENTRING_MAX_DOMAINS * EVENTRING_RINGS; i++) free(mirror->ring[i].list);
  free(mirror);
}

static size_t mirror_compare_rings(const struct mirrored_ring *forth,
                                   const struct mirrored_ring *back, int ring, char what[512]) {
  size_t count = forth->count < back->count ? forth->count : back->count;
  size_t differ = forth->count + back->count - 2 * count;
  for (size_t i = 0; i < count; i++) {
    const struct mirrored *a = &forth->list[forth->count - 1 - i], *b = &back->list[i];
    if (memcmp(a, b, sizeof *a) == 0) continue;
    if (!differ++)
      snprintf(what, 512, "ring %d, %zu before the end: kind %u id %u flags %u ns %llu, backwards "
               "kind %u id %u flags %u ns %llu", ring, i, a->kind, a->id, a->flags,
               (unsigned long long)a->ns, b->kind, b->id, b->flags, (unsigned long long)b->ns);
  }
  if (forth->count != back->count) {
    size_t used = strlen(what);
    snprintf(what + used, 512 - used, "; ring %d: %zu forwards, %zu backwards", ring, forth->count,
             back->count);
  }
  return differ;
}

/* Compares reading a file forwards and backwards. `brief` leaves out synthetic events and
   what ends say of their spans, for files with more than 64 spans open at once. Stores
   the first error of reading forwards in *status, unless `status` is NULL. */
static size_t mirror_compare(const char *path, unsigned flags, uint64_t max, bool brief,
                             int *status, char what[512]) {
  struct mirror *forth = calloc(1, sizeof *forth), *back = calloc(1, sizeof *back);
  size_t differ = 0;
  if (!forth || !back) abort();
  forth->brief = back->brief = brief;
  int first = mirror_read(path, flags, 0, forth);
  int second = mirror_read(path, flags | EVENTRING_OPEN_BACKWARDS, max, back);
  what[0] = 0;
  for (int i = 0; i < EVENTRING_MAX_DOMAINS * EVENTRING_RINGS; i++)
    differ += mirror_compare_rings(&forth->ring[i], &back->ring[i], i, what);
  if (first != second) {
    if (!differ++) snprintf(what, 512, "status %d, backwards %d", first, second);
  }
  if (status) *status = first;
  mirror_free(forth);
  mirror_free(back);
  return differ;
}

#endif /* MIRROR_H */
