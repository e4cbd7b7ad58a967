/* SPDX-License-Identifier: MIT */
/* packed_map.h: which packet has which bytes of the plain file (packed_map.c). */
#ifndef EVENTRING_PACKED_MAP_H
#define EVENTRING_PACKED_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

struct evr_extent {  /* bytes of the plain file that one packet has */
  uint64_t offset;   /* in the plain file */
  uint64_t sequence; /* of the packet */
  uint64_t packet;   /* where that begins in the packed file */
  uint32_t bytes;
  uint32_t from;     /* first byte in the packet, when it is unpacked */
};

struct evr_packed_map {
  struct evr_extent *list; /* ascending, without overlaps */
  size_t count;
  struct evr_extent *fresh; /* as they were added */
  size_t fresh_count, fresh_room;
};

/* Adds an extent, which counts from the next evr_packed_map_settle on. False: no memory. */
bool evr_packed_map_add(struct evr_packed_map *map, const struct evr_extent *extent);
/* Puts what was added in its place. False: no memory, and nothing has changed. */
bool evr_packed_map_settle(struct evr_packed_map *map);
/* The extent with this byte, or the first one behind it; NULL: there is none. */
const struct evr_extent *evr_packed_map_find(const struct evr_packed_map *map, uint64_t offset);
void evr_packed_map_clear(struct evr_packed_map *map);

#pragma GCC visibility pop

#endif /* EVENTRING_PACKED_MAP_H */
