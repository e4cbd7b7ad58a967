/* SPDX-License-Identifier: MIT */
/* packed_map.c: which packet has which bytes of the plain file.
 *
 * The map is a sorted list of extents that do not overlap. Extents are added in the order
 * in which packets lie in the file: in bulk when a file is opened, a few at a time while
 * it is followed. They are sorted in as in a merge sort: two sorted lists become one.
 * Where two extents overlap, the extent of the newer packet counts. So memory and, apart
 * from a logarithmic factor, time are proportional to the number of extents, whatever
 * they contain. */
#include "reader/packed_map.h"

#include <stdlib.h>

struct list { /* a list of extents; `at` is the next extent */
  struct evr_packed_extent *at, *end;
};

static uint64_t end_of(const struct evr_packed_extent *e) { return e->offset + e->bytes; }

static void advance(struct list *list, uint32_t bytes) {
  struct evr_packed_extent *e = list->at;
  e->offset += bytes;
  e->from += bytes;
  e->bytes -= bytes;
  if (!e->bytes) list->at++;
}

/* Appends the first `bytes` of an extent. If they continue the last extent, that one
   grows. */
static struct evr_packed_extent *append(struct evr_packed_extent *to,
                                        const struct evr_packed_extent *first,
                                        const struct evr_packed_extent *e, uint32_t bytes) {
  struct evr_packed_extent *last = to > first ? to - 1 : NULL;
  if (last && last->packet == e->packet && end_of(last) == e->offset &&
      last->from + last->bytes == e->from) {
    last->bytes += bytes;
    return to;
  }
  *to = *e;
  to->bytes = bytes;
  return to + 1;
}

/* Returns how many bytes of an extent lie before the next extent of the other list. */
static uint32_t alone(const struct evr_packed_extent *e, const struct list *other) {
  if (other->at == other->end || other->at->offset >= end_of(e)) return e->bytes;
  return (uint32_t)(other->at->offset - e->offset);
}

/* Merges two lists into `to`, which has room for all their extents and for one more for
   each extent that is split. Where packets have the same sequence, the packet in b
   counts. Returns the number of extents in `to`. */
static size_t merge(struct list a, struct list b, struct evr_packed_extent *const to) {
  struct evr_packed_extent *next = to;
  while (a.at < a.end || b.at < b.end) {
    bool a_first = b.at == b.end || (a.at < a.end && a.at->offset < b.at->offset);
    bool b_first = a.at == a.end || (b.at < b.end && b.at->offset < a.at->offset);
    if (a_first || b_first) {
      struct list *one = a_first ? &a : &b;
      uint32_t bytes = alone(one->at, a_first ? &b : &a);
      next = append(next, to, one->at, bytes);
      advance(one, bytes);
    } else {
      uint32_t bytes = a.at->bytes < b.at->bytes ? a.at->bytes : b.at->bytes;
      next = append(next, to, a.at->sequence > b.at->sequence ? a.at : b.at, bytes);
      advance(&a, bytes);
      advance(&b, bytes);
    }
  }
  return (size_t)(next - to);
}

/* Merges b, which has the map's newest extents, over a, and frees both. Returns NULL if
   there is no memory; then only b is freed. */
static struct evr_packed_extent *merged(struct evr_packed_extent *a, size_t a_count,
                                        struct evr_packed_extent *b, size_t b_count,
                                        size_t *count) {
  if (!a_count) {
    free(a);
    *count = b_count;
    return b;
  }
  struct evr_packed_extent *to = malloc(2 * (a_count + b_count + 1) * sizeof *to);
  if (to) {
    *count = merge((struct list){a, a + a_count}, (struct list){b, b + b_count}, to);
    struct evr_packed_extent *fitted = realloc(to, (*count + 1) * sizeof *to);
    if (fitted) to = fitted;
    free(a);
  }
  free(b);
  return to;
}

/* Returns a sorted list of the first `count` extents at `from`, which are in the order in
   which they were added, or NULL if there is no memory. */
static struct evr_packed_extent *sorted(const struct evr_packed_extent *from, size_t count,
                                        size_t *made) {
  size_t half = count / 2, left_count, right_count;
  if (count == 1) {
    struct evr_packed_extent *one = malloc(sizeof *one);
    if (one) *one = *from;
    *made = 1;
    return one;
  }
  struct evr_packed_extent *left = sorted(from, half, &left_count);
  struct evr_packed_extent *right = left ? sorted(from + half, count - half, &right_count) : NULL;
  if (!right) {
    free(left);
    return NULL;
  }
  struct evr_packed_extent *all = merged(left, left_count, right, right_count, made);
  if (!all) free(left);
  return all;
}

bool evr_packed_map_add(struct evr_packed_map *map, const struct evr_packed_extent *extent) {
  if (map->fresh_count == map->fresh_room) {
    size_t room = map->fresh_room ? 2 * map->fresh_room : 256;
    struct evr_packed_extent *grown = realloc(map->fresh, room * sizeof *grown);
    if (!grown) return false;
    map->fresh = grown;
    map->fresh_room = room;
  }
  map->fresh[map->fresh_count++] = *extent;
  return true;
}

bool evr_packed_map_settle(struct evr_packed_map *map) {
  size_t fresh_count, count;
  if (!map->fresh_count) return true;
  struct evr_packed_extent *fresh = sorted(map->fresh, map->fresh_count, &fresh_count);
  if (!fresh) return false;
  struct evr_packed_extent *all = merged(map->list, map->count, fresh, fresh_count, &count);
  if (!all) return false;
  map->list = all;
  map->count = count;
  free(map->fresh); /* so many extents are unlikely to be added at once again */
  map->fresh = NULL;
  map->fresh_count = map->fresh_room = 0;
  return true;
}

const struct evr_packed_extent *evr_packed_map_find(const struct evr_packed_map *map,
                                                    uint64_t offset) {
  size_t low = 0, high = map->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (end_of(&map->list[middle]) <= offset) low = middle + 1;
    else high = middle;
  }
  return low < map->count ? &map->list[low] : NULL;
}

void evr_packed_map_clear(struct evr_packed_map *map) {
  free(map->list);
  free(map->fresh);
  *map = (struct evr_packed_map){0};
}
