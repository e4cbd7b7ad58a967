/* SPDX-License-Identifier: MIT */
/* packed_map.h: which packet has which bytes of the plain file (packed_map.c). */
#ifndef EVENTRING_PACKED_MAP_H
#define EVENTRING_PACKED_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

struct evr_packed_extent { /* a range of the plain file that one packet has */
  uint64_t offset;   /* offset in the plain file, in bytes */
  uint64_t sequence; /* sequence of the packet */
  uint64_t packet;   /* offset of the packet in the packed file */
  uint32_t bytes;
  uint32_t from;     /* offset of its first byte in the unpacked packet */
};

struct evr_packed_map {
  struct evr_packed_extent *list; /* sorted by offset, without overlaps */
  size_t count;
  /* added since the last evr_packed_map_settle, in the order of addition */
  struct evr_packed_extent *fresh;
  size_t fresh_count, fresh_room;
};

/* Adds an extent, which becomes visible with the next evr_packed_map_settle. Returns
   false if there is no memory. */
bool evr_packed_map_add(struct evr_packed_map *map, const struct evr_packed_extent *extent);
/* Merges the added extents into the list. Returns false, with nothing changed, when out
   of memory. */
bool evr_packed_map_settle(struct evr_packed_map *map);
/* Returns the extent that contains this byte, else the first extent after the byte, or
   NULL if there is none. */
const struct evr_packed_extent *evr_packed_map_find(const struct evr_packed_map *map,
                                                    uint64_t offset);
void evr_packed_map_clear(struct evr_packed_map *map);

#pragma GCC visibility pop

#endif /* EVENTRING_PACKED_MAP_H */
