/* SPDX-License-Identifier: MIT */
/* ring.c: the rings of a recording: a block source for each ring of each slot.
 *
 * A ring has N places for blocks; block number s (from 1) lies at place (s - 1) mod N. In
 * the first round the places are zero; in later rounds each holds an older block. A ring
 * gets its places when its first event is written: from the extent of its slot if that
 * has room, else from a new one. growth.c may give it more places.
 *
 * On a disk, the space of an extent is reserved when the extent is claimed, and its pages
 * are made ready then (in a ring larger than the default, the rest when the first round
 * reaches them). On tmpfs, where reserving is the larger part of the cost, the library
 * only checks that there is space, and makes the places ready in parts: at the start
 * those that a short program uses, the others during the first round.
 *
 * No room. If there is none for the places from `ready` on, the ring goes on at its first
 * place. The sequences of the missing places are left out, so that all others stay where
 * they belong. This loses no event; the ring only has fewer blocks. In later rounds the
 * ring tries again (room.h), and goes on normally when there is room. Places are made
 * ready in ascending order, so all places from the first unused one to the last are 0; by
 * this readers recognize unused places (doc/FORMAT.md, section 6). A ring without even a
 * first place writes into memory of its own, one block over the other. Its first block in
 * the file says how many events were before it; until there is such a block, the status
 * page counts these events, block by block.
 */
#include "producer/ring.h"

#include <errno.h>

#include "format/error.h"
#include "producer/lane.h"
#include "producer/lock.h"
#include "producer/space.h"

enum {
  /* places of a ring that are made ready at the start, on tmpfs and on a disk, and the
     most that are made ready at a time later */
  READY_FIRST = 1,
  READY_FIRST_ON_DISK = 64,
  READY_MOST = 16
};

/* ---- The source ------------------------------------------------------------------ */

/* Makes more of a ring's `blocks` places ready: several, or one if there is room for only
   one. */
static __attribute__((cold, noinline)) int make_more_ready(struct evr_ring *ring, uint32_t blocks,
                                                           struct eventring_error *error) {
  struct evr_recording *r = ring->recording;
  uint32_t from = ring->ready;
  uint32_t count = r->in_memory ? READY_FIRST : READY_FIRST_ON_DISK;
  if (from) count = from < READY_MOST ? from : READY_MOST;
  if (count > blocks - from) count = blocks - from;
  /* further runs are ready when they are added */
  const struct evr_ring_run *first = &ring->run[0];
  int status = evr_extents_make_ready(&r->extents, first->extent, first->at + from, count, error);
  if (status != EVENTRING_OK && count > 1) {
    count = 1;
    status = evr_extents_make_ready(&r->extents, first->extent, first->at + from, count, error);
  }
  if (status == EVENTRING_OK) ring->ready = from + count;
  return status;
}

static struct format_block *block_at(const struct evr_ring *ring, uint32_t at) {
  const struct evr_ring_run *run = ring->run;
  uint64_t from = 0;
  for (; at >= run->end; run++) from = run->end;
  return (struct format_block *)(run->extent->map + (run->at + at - from) * FORMAT_BLOCK_BYTES);
}

/* Takes blocks for the ring, from the extent of its slot or from a new one, with or
   without space. */
static int take_blocks(struct evr_recording *r, struct evr_slot *slot, uint32_t blocks,
                       struct eventring_error *error) {
  if (slot->extent && slot->extent->blocks - slot->used >= blocks) return EVENTRING_OK;
  const struct evr_extent *extent;
  int status = evr_extents_claim_locked(&r->extents, blocks, EVR_CLAIM_NOW, &extent, error);
  if (status == EVENTRING_E_SPACE || status == EVENTRING_E_LIMIT)
    status = evr_extents_claim_locked(&r->extents, blocks, EVR_CLAIM_BARE, &extent, error);
  if (status != EVENTRING_OK) return status;
  slot->extent = extent;
  slot->used = 0;
  return EVENTRING_OK;
}

/* Stores where readers find the ring, and raises the number of rings. */
static void publish_ring_locked(struct evr_ring *ring, uint32_t blocks) {
  struct evr_recording *r = ring->recording;
  struct format_ring *entry = &evr_domain_entry(r, ring->slot)->ring[ring->index];
  const struct evr_ring_run *run = &ring->run[0];
  __atomic_store_n(&entry->first, run->extent->first + run->at, __ATOMIC_RELAXED);
  /* release: pairs with the acquire fence R0 in read_rings (reader/metadata.c): a reader
     that sees the size sees the place. The first head, which is stored with release,
     comes later */
  __atomic_store_n(&entry->blocks, blocks, __ATOMIC_RELEASE);
  uint64_t *made = &evr_status(r)->kind[FORMAT_EVENTS].records;
  /* release: pairs with the acquire fence of readers in read_status
     (reader/metadata.c) */
  __atomic_store_n(made, *made + 1, __ATOMIC_RELEASE);
}

/* Enters the file: the ring has places from now on. Blocks that were written outside the
   file do not count as blocks of the ring. */
static void enter_file(struct evr_ring *ring, uint32_t blocks) {
  ring->blocks = blocks;
  ring->round_ticks = evr_clock_ticks(ring->recording->clock);
  ring->source.sequence = 0;
  evr_room_count_aside(ring->recording, &ring->room, 0);
  ring->source.head = &evr_domain_entry(ring->recording, ring->slot)->ring[ring->index].head;
}

/* Finds places for a ring that has none, and makes the first ones ready. */
static int begin_ring(struct evr_ring *ring, struct eventring_error *error) {
  struct evr_recording *r = ring->recording;
  struct evr_slot *slot = &r->slot[ring->slot];
  struct evr_ring_run *run = &ring->run[0];
  uint32_t blocks = format_ring_blocks(r->header.wsize);
  int status = EVENTRING_OK;
  evr_lock();
  if (r->ended || r->extents.file.fd < 0)
    status = evr_fail(error, EVENTRING_E_STATE, 0, "the recording has ended");
  if (status == EVENTRING_OK && !run->extent) {
    status = take_blocks(r, slot, blocks, error);
    if (status == EVENTRING_OK) {
      *run = (struct evr_ring_run){.extent = slot->extent, .at = slot->used, .end = blocks};
      slot->used += blocks;
    }
  }
  if (status == EVENTRING_OK) status = make_more_ready(ring, blocks, error);
  if (status == EVENTRING_OK) publish_ring_locked(ring, blocks);
  evr_unlock();
  if (status == EVENTRING_OK) enter_file(ring, blocks);
  return status;
}

static int failure_of(const struct eventring_error *error) {
  if (error->sys_errno) return error->sys_errno;
  return error->code == EVENTRING_E_FULL ? EFBIG : ENOMEM;
}

/* Tells whether there is a place behind the ready ones. Tries to make one ready, if it is
   time to. */
static bool find_room(struct evr_ring *ring) {
  struct eventring_error error = {0};
  struct evr_recording *r = ring->recording;
  if (evr_room_is_hopeless(r, &ring->room)) return false;
  int status = ring->blocks ? make_more_ready(ring, ring->blocks, &error)
                            : begin_ring(ring, &error);
  if (status == EVENTRING_OK) evr_room_found(r, &ring->room);
  else evr_room_lacks(r, &ring->room, failure_of(&error));
  return status == EVENTRING_OK;
}

/* Goes on without room: at the first place, or in memory if there is none. */
static void do_without(struct evr_ring *ring, uint32_t at, struct evr_place *place) {
  if (!ring->blocks) {
    ring->source.sequence = 0;
    evr_room_count_aside(ring->recording, &ring->room, ring->source.events);
    *place = (struct evr_place){.block = (struct format_block *)ring->writer->aside, .used = true};
    return;
  }
  *place = (struct evr_place){.block = block_at(ring, 0), .used = true,
                              .skipped = ring->blocks - at};
}

static int next_place(struct evr_block_source *source, struct evr_place *place,
                      struct eventring_error *error) {
  struct evr_ring *ring = (struct evr_ring *)source;
  (void)error;
  uint32_t at = source->sequence & (ring->blocks - 1); /* a power of two, or 0 */
  if (__builtin_expect(at >= ring->ready, 0)) {
    if (!find_room(ring)) {
      do_without(ring, at, place);
      return EVENTRING_OK;
    }
    at = source->sequence & (ring->blocks - 1);
  }
  place->block = block_at(ring, at);
  place->used = at < ring->written;
  place->skipped = 0;
  if (!place->used) ring->written = at + 1;
  return EVENTRING_OK;
}

/* ---- Making a ring --------------------------------------------------------------- */

static struct evr_writer *make_ring(struct evr_recording *r, unsigned slot,
                                    enum eventring_ring index,
                                    struct eventring_error *error) {
  struct evr_writer *writer = evr_space_zeroed(sizeof *writer);
  if (!writer) {
    evr_fail(error, EVENTRING_E_MEMORY, errno, "no memory for a ring of %.250s", r->path);
    return NULL;
  }
  struct evr_ring *ring = &r->slot[slot].ring[index];
  *ring = (struct evr_ring){.source = {.next_place = next_place}, .recording = r, .runs = 1,
                            .slot = (uint16_t)slot, .index = (uint16_t)index};
  writer->source = &ring->source;
  return writer;
}

/* Claims a page of totals or histograms. */
static struct format_block *claim_totals(void *recording, enum format_kind kind) {
  struct evr_recording *r = recording;
  int saved = errno; /* a probe leaves errno as it is */
  evr_lock();
  const bool is_totals = kind == FORMAT_TOTALS;
  const uint64_t budget = is_totals ? FORMAT_TOTALS_BUDGET : FORMAT_HISTOGRAMS_BUDGET;
  struct format_count *count = &evr_status(r)->kind[kind], *known = &r->total_pages[!is_totals];
  bool may_have = !r->ended && known->records < budget;
  struct format_block *page = may_have ? r->records.claim(r->records.owner, kind) : NULL;
  /* release, both: pairs with the acquire fence of readers in read_status
     (reader/metadata.c), which then look for the page */
  if (page) __atomic_store_n(&count->records, ++known->records, __ATOMIC_RELEASE);
  else if (!r->ended) __atomic_store_n(&count->dropped, ++known->dropped, __ATOMIC_RELEASE);
  evr_unlock();
  errno = saved;
  return page;
}

static uint64_t took(void *recording, uint64_t from_ticks, uint64_t to_ticks) {
  int saved = errno;
  evr_lock();
  const uint64_t ns = evr_recording_took_locked(recording, from_ticks, to_ticks);
  evr_unlock();
  errno = saved;
  return ns;
}

struct evr_writer *evr_ring_writer_locked(struct evr_recording *r, unsigned slot,
                                          enum eventring_ring ring,
                                          struct eventring_error *error) {
  struct evr_writer *writer = r->slot[slot].ring[ring].writer;
  if (writer) return writer;
  bool is_stream = r->streams.rings >> ring & 1;
  writer = (is_stream ? evr_stream_writer_locked : make_ring)(r, slot, ring, error);
  r->slot[slot].ring[ring].writer = writer;
  if (!writer) return NULL;
  writer->totals.claim = claim_totals;
  writer->totals.took = took;
  writer->totals.owner = r;
  writer->totals.slot = (uint16_t)slot;
  writer->totals.ring = (uint16_t)ring;
  return writer;
}

uint64_t evr_ring_bytes(const struct evr_recording *r, unsigned slot) {
  uint64_t blocks = 0;
  for (int i = 0; i < EVENTRING_RINGS; i++) blocks += r->slot[slot].ring[i].blocks;
  return blocks * FORMAT_BLOCK_BYTES;
}

/* ---- The end --------------------------------------------------------------------- */

void evr_ring_finish_slot_locked(struct evr_recording *r, unsigned slot) {
  for (int i = 0; i < EVENTRING_RINGS; i++) {
    struct evr_writer *writer = r->slot[slot].ring[i].writer;
    if (writer) evr_writer_finish(writer);
  }
}

void evr_ring_finish_free_slots_locked(struct evr_recording *r) {
  for (unsigned slot = 0; slot < r->slots; slot++)
    if (!r->slot[slot].owner) evr_ring_finish_slot_locked(r, slot);
}

void evr_ring_count_aside_locked(struct evr_recording *r) {
  for (unsigned slot = 0; slot < r->slots; slot++)
    for (int i = 0; i < EVENTRING_RINGS; i++) {
      struct evr_ring *ring = &r->slot[slot].ring[i];
      if (!ring->blocks) evr_room_count_aside(r, &ring->room, ring->source.events);
    }
}

void evr_ring_free_all(struct evr_recording *r) {
  for (unsigned slot = 0; slot < r->slots; slot++)
    for (int i = 0; i < EVENTRING_RINGS; i++) {
      struct evr_writer *writer = r->slot[slot].ring[i].writer;
      if (writer) evr_space_free(writer, sizeof *writer);
    }
}
