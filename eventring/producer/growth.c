/* SPDX-License-Identifier: MIT */
/* growth.c: rings that grow until they hold the requested time.
 *
 * A ring of T places that would hold less than the control page's hold_ns gets another
 * run of places, so that it has 2 T (or 4 T in its first round) from then on. Blocks stay
 * where they are: block s lies at place (s - 1) mod T before and at place (s - 1) mod 2 T
 * afterwards. If the number of the present round (counted from 1) is odd, the two places
 * are the same for each block of this round. When the last place has been taken, there
 * are no blocks of an earlier round. So a ring grows only when the last place of such a
 * round has been taken. Readers check for a new run when the head of a ring passes a
 * multiple of its places (doc/FORMAT.md, section 6).
 *
 * The run is prepared in advance: during the second half of the round, as soon as the
 * ring is going to be too small at the present rate, the blocks are claimed, and with
 * each change of blocks some of them are reserved and made present. So no change of
 * blocks takes long, and if there is no room, the ring stays as it is. A run that was
 * prepared and not needed is kept for a later round.
 *
 * All runs together have at most header.grow_blocks blocks, those of one ring at most a
 * quarter of them.
 */
#include "producer/growth.h"

#include "producer/lock.h"
#include "producer/space.h"

enum {
  PREPARE_MOST = 16,    /* most blocks that a change of blocks makes ready */
  MOST_EXTENTS = EVR_MAX_EXTENTS / 2, /* the rest is for rings and records */
  PAGE_BYTES = 4096
};

/* Returns the number of the present round, from 1. */
static uint64_t round_of(const struct evr_ring *ring) {
  return (ring->source.sequence - 1) / ring->blocks + 1;
}

/* Tells whether the full ring will hold less than 1.25 times `ns`, at the rate of this
   round. The additional quarter is a margin because rates vary. */
static bool is_short_of(const struct evr_ring *ring, uint32_t place, uint64_t ticks,
                        uint64_t ns) {
  unsigned __int128 elapsed = (unsigned __int128)(ticks - ring->round_ticks) *
                              ring->recording->multiplier >> FORMAT_CLOCK_SHIFT;
  return elapsed * ring->blocks < ((unsigned __int128)ns + ns / 4) * (place + 1);
}

/* ---- Claiming ---------------------------------------------------------------------- */

/* Makes ready the pages of the run table that the slot needs. */
static bool make_row_ready(struct evr_recording *r, unsigned slot) {
  uint64_t from = slot * sizeof(struct format_runs);
  uint64_t last = (from + sizeof(struct format_runs) - 1) / PAGE_BYTES;
  for (uint64_t page = from / PAGE_BYTES; page <= last; page++) {
    uint64_t at = FORMAT_RUNS_OFFSET + page * PAGE_BYTES;
    if (r->run_pages & 1u << page) continue;
    int fd = evr_descriptor_use(&r->extents.file, r->path);
    if (fd < 0 || evr_space_reserve(fd, r->in_memory, at, PAGE_BYTES) != 0) return false;
    evr_space_touch_ahead(r->front + at, PAGE_BYTES);
    r->run_pages |= 1u << page;
  }
  return true;
}

static bool has_budget(const struct evr_ring *ring, uint32_t places) {
  const struct evr_recording *r = ring->recording;
  uint32_t budget = r->header.grow_blocks, more = places - ring->blocks;
  return places <= FORMAT_MAX_RING_BLOCKS && places - ring->run[0].end <= budget / 4 &&
         more <= budget - r->grown;
}

static bool claim_locked(struct evr_ring *ring, unsigned slot, uint32_t places) {
  struct evr_recording *r = ring->recording;
  struct evr_ring_run *run = &ring->run[ring->runs];
  uint32_t more = places - ring->blocks;
  struct eventring_error error;
  if (r->ended || r->extents.file.fd < 0 || evr_recording_is_lost(r) ||
      r->extents.count >= MOST_EXTENTS || !has_budget(ring, places) || !make_row_ready(r, slot) ||
      evr_extents_claim_locked(&r->extents, more, EVR_CLAIM_LATER, &run->extent, &error) !=
          EVENTRING_OK)
    return false;
  run->at = 0;
  run->end = places;
  r->grown += more;
  return true;
}

static bool claim_run(struct evr_ring *ring, unsigned slot, unsigned factor) {
  evr_lock();
  bool done = claim_locked(ring, slot, ring->blocks * factor) ||
              (factor > 2 && claim_locked(ring, slot, ring->blocks * 2));
  evr_unlock();
  ring->refused = !done;
  ring->prepared = 0;
  return done;
}

/* ---- Preparing and adding ---------------------------------------------------------- */

/* Makes as many blocks of the run ready as are due at this place, several at a time. */
static bool prepare_run(struct evr_ring *ring, uint32_t place) {
  const struct evr_ring_run *run = &ring->run[ring->runs];
  struct evr_recording *r = ring->recording;
  struct eventring_error error;
  uint32_t half = ring->blocks / 2, more = run->end - ring->blocks;
  uint32_t due = (uint32_t)((uint64_t)more * (place + 1 - half) / half);
  uint32_t count = due - ring->prepared;
  if (due <= ring->prepared || (count < PREPARE_MOST && due < more)) return true;
  if (count > PREPARE_MOST) count = PREPARE_MOST;
  if (evr_extents_make_ready(&r->extents, run->extent, ring->prepared, count, &error) !=
      EVENTRING_OK)
    return false;
  ring->prepared += count;
  return true;
}

/* Adds the run to the ring: from now on its places are used. */
static void add_run(struct evr_ring *ring, unsigned slot, unsigned index) {
  const struct evr_ring_run *run = &ring->run[ring->runs];
  struct format_runs *row =
      (struct format_runs *)(ring->recording->front + FORMAT_RUNS_OFFSET) + slot;
  struct format_growth *growth = &row->ring[index];
  uint32_t rounds = (uint32_t)round_of(ring);
  __atomic_store_n(&growth->rounds, rounds, __ATOMIC_RELAXED);
  /* release: pairs with the acquire fence in read_growth (reader/metadata.c): a reader
     that sees the run sees the rounds. A head beyond this round comes later */
  __atomic_store_n(&growth->run[ring->runs - 1], format_run(run->extent->first, run->end),
                   __ATOMIC_RELEASE);
  ring->blocks = ring->ready = run->end;
  ring->runs++;
}

/* Tells whether the ring may have `factor` times its places when this round is over. */
static bool is_moment_for(uint64_t round, unsigned factor) {
  return (round & (factor - 1)) == 1 && round <= UINT32_MAX;
}

/* Lets the ring grow in the second half of a round in which it is too small. */
static void grow(struct evr_ring *ring, unsigned slot, unsigned index, uint32_t place,
                 bool much) {
  uint64_t round = round_of(ring);
  const struct evr_ring_run *run = &ring->run[ring->runs];
  if (ring->refused) return;
  if (!run->extent &&
      (!is_moment_for(round, 2) || !claim_run(ring, slot, round == 1 && much ? 4 : 2)))
    return;
  if (!is_moment_for(round, run->end / ring->blocks)) return;
  ring->refused = !prepare_run(ring, place);
  if (place == ring->blocks - 1 && ring->prepared == run->end - ring->blocks)
    add_run(ring, slot, index);
}

void evr_ring_follow(struct evr_ring *ring, unsigned slot, unsigned index, uint64_t ticks) {
  if (!ring->blocks) return; /* a stream */
  uint32_t place = (uint32_t)(ring->source.sequence - 1) & (ring->blocks - 1);
  if (!place) {
    ring->round_ticks = ticks;
    ring->refused = false;
  }
  if (place < ring->blocks / 2 || ring->runs == 1 + FORMAT_MORE_RUNS) return;
  uint64_t hold = __atomic_load_n(&evr_control(ring->recording)->hold_ns, __ATOMIC_RELAXED);
  if (is_short_of(ring, place, ticks, hold))
    grow(ring, slot, index, place, is_short_of(ring, place, ticks, hold / 2));
}
