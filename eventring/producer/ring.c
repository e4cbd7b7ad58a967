/* SPDX-License-Identifier: MIT */
/* ring.c: the rings of a recording: a block source for each ring of each slot.
 *
 * A ring is N places for blocks; block number s (from 1) lies at place (s - 1) mod N. In
 * its first round its places are as the kernel made them; later there was a block.
 *
 * On a disk the space of a domain's rings is reserved at once, and their pages are made
 * ready (of rings larger than the default, the rest when the first round comes to it). On
 * tmpfs, where reserving is most of the price, space is only looked for, and places are made
 * ready in parts: those that a short program uses at the start, the others in the first
 * round. Should it have filled up by then, the source fails.
 */
#include "producer/ring.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "format/error.h"
#include "producer/space.h"

enum {
  SLOTS_PER_PAGE = 4096 / sizeof(struct format_domain),
  /* places of a ring that are made ready at the start, on tmpfs and elsewhere, and later
     at once at most */
  READY_FIRST = 1,
  READY_FIRST_ON_DISK = 64,
  READY_MOST = 16
};

static int no_room(const struct evr_recording *r, int failure,
                   struct eventring_error *error) {
  return evr_fail(error, evr_code_of_errno(failure), failure,
                  "no room for the rings of a domain in %.250s", r->path);
}

/* ---- The source ---------------------------------------------------------------------- */

/* Makes more places of a ring ready, of which some are not. */
static __attribute__((cold, noinline)) int grow(struct evr_ring *ring,
                                                struct eventring_error *error) {
  const struct evr_recording *r = ring->recording;
  uint32_t from = ring->ready;
  uint32_t count = r->in_memory ? READY_FIRST : READY_FIRST_ON_DISK;
  if (from) count = from < READY_MOST ? from : READY_MOST;
  if (count > ring->blocks - from) count = ring->blocks - from;
  uint64_t at = from * (uint64_t)FORMAT_BLOCK_BYTES;
  uint64_t bytes = count * (uint64_t)FORMAT_BLOCK_BYTES;
  int failure = r->in_memory ? evr_space_reserve(r->fd, true, ring->offset + at, bytes) : 0;
  if (failure) return no_room(r, failure, error);
  evr_space_touch_ahead(ring->base + at, bytes);
  ring->ready = from + count;
  return EVENTRING_OK;
}

static int next_place(struct evr_block_source *source, struct evr_place *place,
                      struct eventring_error *error) {
  struct evr_ring *ring = (struct evr_ring *)source;
  uint64_t at = source->sequence & (ring->blocks - 1); /* a power of two */
  if (__builtin_expect(at >= ring->ready, 0)) {
    int status = grow(ring, error);
    if (status != EVENTRING_OK) return status;
  }
  place->block = (struct format_block *)(ring->base + at * FORMAT_BLOCK_BYTES);
  place->used = source->sequence >= ring->blocks;
  return EVENTRING_OK;
}

/* ---- Laying out ---------------------------------------------------------------------- */

static struct evr_ring make_ring(const struct evr_recording *r, unsigned slot,
                                 unsigned index, uint8_t *map) {
  uint64_t at = index * r->header.ring_bytes;
  return (struct evr_ring){
      .source = {.next_place = next_place, .head = &evr_domain_entry(r, slot)->head[index]},
      .recording = r,
      .base = map + at,
      .offset = FORMAT_RINGS_OFFSET + slot * r->header.domain_stride + at,
      .blocks = format_ring_blocks(r->header.wsize),
  };
}

/* Room in the file for the rings of slot number laid_out (on tmpfs a hole as yet),
   and for its entry in the domain table. */
static int extend(const struct evr_recording *r, uint64_t end) {
  struct statfs fs;
  int failure = evr_space_check_file_size(end);
  if (!failure && r->laid_out > 0 && r->laid_out % SLOTS_PER_PAGE == 0) {
    uint64_t at = FORMAT_DOMAINS_OFFSET + r->laid_out * sizeof(struct format_domain);
    failure = evr_recording_make_ready(r, r->front + at, at, 4096);
  }
  if (!failure && r->laid_out > 0 && fstatfs(r->fd, &fs) == 0) /* make_front did */
    failure = evr_space_check_free(&fs, r->header.domain_stride);
  if (!failure && ftruncate(r->fd, (off_t)end) != 0) failure = errno;
  if (!failure && !r->in_memory)
    failure = evr_space_reserve(r->fd, false, end - r->header.domain_stride,
                                r->header.domain_stride);
  return failure;
}

/* Maps the part of the file that has the rings of a slot. */
static int map_rings(struct evr_recording *r, unsigned slot, uint8_t **map,
                     struct eventring_error *error) {
  uint64_t bytes = r->header.domain_stride;
  uint64_t offset = FORMAT_RINGS_OFFSET + slot * bytes;
  if (!evr_space_leaves_room(bytes))
    return evr_fail(error, EVENTRING_E_LIMIT, 0,
                    "cannot map the rings of a domain in %.250s: the limit on "
                    "address space leaves too little for them", r->path);
  int failure = slot < r->laid_out ? 0 : extend(r, offset + bytes);
  if (failure) return no_room(r, failure, error);
  *map = evr_space_map(r->fd, offset, bytes, r);
  if (!*map)
    return evr_fail(error, EVENTRING_E_LIMIT, errno,
                    "cannot map the rings of a domain in %.250s", r->path);
  return EVENTRING_OK;
}

int evr_ring_lay_out_locked(struct evr_recording *r, unsigned slot,
                            struct eventring_error *error) {
  struct evr_slot *s = &r->slot[slot];
  if (s->map) return EVENTRING_OK;
  struct evr_ring *ring = malloc(EVENTRING_RINGS * sizeof *ring);
  if (!ring) return evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for a domain");
  uint8_t *map;
  int status = map_rings(r, slot, &map, error);
  if (status != EVENTRING_OK) {
    free(ring);
    return status;
  }
  for (unsigned i = 0; i < EVENTRING_RINGS; i++) ring[i] = make_ring(r, slot, i, map);
  s->ring = ring;
  /* release: pairs with the acquire load by cursors of this process */
  __atomic_store_n(&s->map, map, __ATOMIC_RELEASE);
  if (slot >= r->laid_out) {
    r->laid_out = slot + 1;
    __atomic_store_n(&evr_status(r)->laid_out, slot + 1, __ATOMIC_RELEASE);
  }
  return EVENTRING_OK;
}
