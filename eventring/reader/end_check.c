/* SPDX-License-Identifier: MIT */
/* end_check.c: what must hold of a file that nobody writes into any more.
 *
 * Most of a file has checksums: header, finished blocks, records, and after an orderly
 * end the front. The parts that a process changes until it is killed have no checksum:
 * heads, counters, entries of the domain table, the newest block of each ring. This file
 * compares these parts with the rest, once, when all events have been delivered. So the
 * check costs nothing per event. The comparisons allow for what a kill may interrupt
 * (doc/FORMAT.md, section 12): either one of the two compared values was stored long
 * before the other, or the comparison allows for one more step. */
#include "reader/cursor.h"

/* The most by which times of a ring may go back, in ns: a signal handler may interrupt a
   probe. */
static const uint64_t most_backwards_ns = 60000000000;

static void note(eventring_cursor *c, unsigned slot, const char *what) {
  evr_note_damage(&c->meta.damage, "domain %u: %s", slot, what);
}

/* ---- Times ------------------------------------------------------------------------ */

void evr_check_start(eventring_cursor *c) {
  const struct format_header *h = &c->meta.header;
  const struct format_segment *first = &c->meta.conversion.segment[0];
  bool is_ns = h->clock == FORMAT_CLOCK_MONOTONIC;
  if (first->from_ticks != h->start_ticks || first->from_ns != h->start_ns ||
      (is_ns && first->multiplier != (uint64_t)1 << FORMAT_CLOCK_SHIFT))
    evr_note_damage(&c->meta.damage, "the clock does not begin at the start of the recording");
}

static void check_times(eventring_cursor *c, unsigned slot, unsigned ring,
                        const struct evr_block *block) {
  const struct evr_metadata *meta = &c->meta;
  struct evr_block_walk walk = evr_block_walk(block);
  uint64_t latest = 0, word;
  while ((word = evr_block_next_event(&walk)) != 0) {
    uint64_t ticks = word_ticks(word, walk.position.base);
    uint64_t ns = evr_metadata_ns(meta, ticks);
    if (ticks < meta->header.start_ticks || ns + most_backwards_ns < latest) {
      evr_note_damage(&c->meta.damage, "domain %u, ring %u: times in block %llu are not possible",
                      slot, ring, (unsigned long long)evr_block_header(block)->sequence);
      return;
    }
    if (ns > latest) latest = ns;
  }
}

/* ---- Rings ------------------------------------------------------------------------ */

/* Tells whether a block has an event. (The head is stored after the header, and before
   the first event.) */
static bool has_event(const uint64_t *words) {
  return words[evr_first_event(words)] != 0;
}

static bool read_block(const eventring_cursor *c, uint64_t offset, uint64_t *words) {
  return evr_source_read(&c->meta.source, offset, words, FORMAT_BLOCK_BYTES, NULL) == EVENTRING_OK;
}

/* Tells whether `words` may lie at the place of block `next`, the block after the newest.
   In a ring that has been filled once, this place holds the oldest block; before that, it
   is empty. The exception is a process that was killed after it had begun to write block
   `next`: this block then has no events yet, and its sequence is 0 or `next`. (The place
   is also empty if there was no room for it.) */
static bool may_be_next(eventring_cursor *c, unsigned slot, unsigned ring, const uint64_t *words,
                        uint64_t next) {
  const struct evr_places *places = &c->meta.places[slot][ring];
  const struct evr_block_cursor at = {.meta = &c->meta, .slot = slot, .ring = ring};
  uint64_t oldest = next > places->count ? next - places->count : 0;
  bool is_ended = c->meta.status.state == FORMAT_ENDED && c->meta.status.checksum;
  if (oldest < places->floor) oldest = 0; /* the ring has grown, and this place is new */
  if (words[0] == oldest || (oldest && !words[0] && !evr_block_cursor_lacks(&at, oldest)))
    return true;
  return !is_ended && (!words[0] || (words[0] == next && !has_event(words)));
}

/* Tells whether a stream has a place for this block that no other block uses. */
static bool is_in_stream(const struct evr_metadata *meta, unsigned slot, unsigned ring,
                         uint64_t sequence) {
  const struct evr_stretch *s = evr_stretches_find(&meta->units.stream[slot][ring], sequence);
  return s && sequence - s->sequence < s->blocks;
}

/* Checks the place of the block after the newest, because a head that is too small hides
   later blocks. */
static void check_next(eventring_cursor *c, unsigned slot, unsigned ring) {
  uint64_t words[FORMAT_BLOCK_WORDS], next = c->meta.ring[slot][ring].head + 1;
  struct evr_location place = evr_metadata_place(&c->meta, slot, ring, next);
  if (evr_metadata_is_stream(&c->meta, slot, ring) && !is_in_stream(&c->meta, slot, ring, next))
    return;
  if (read_block(c, place.offset, words) &&
      !may_be_next(c, slot, ring, words, next))
    evr_note_damage(&c->meta.damage, "domain %u, ring %u: the place of block %llu has block %llu",
                    slot, ring, (unsigned long long)next, (unsigned long long)words[0]);
}

/* Tells whether the file is an unfinished copy of rings. In such a file, blocks and
   records may be ahead of the front. */
static bool is_unfinished_copy(const struct evr_metadata *meta) {
  return (meta->header.flags & (FORMAT_INCOMPLETE | FORMAT_COPY)) == FORMAT_INCOMPLETE &&
         meta->status.state != FORMAT_ENDED;
}

/* Checks the times of the block that a process was filling when it was killed. */
static void check_newest(eventring_cursor *c, unsigned slot, unsigned ring) {
  const struct evr_metadata *meta = &c->meta;
  uint64_t head = meta->ring[slot][ring].head;
  struct evr_block block;
  if (head && evr_block_copy(&meta->source, evr_metadata_place(meta, slot, ring, head).offset, head,
                             slot, ring, meta->header.start_ticks, false, true, &block, NULL) ==
                  EVR_READ_OK && !evr_block_header(&block)->committed)
    check_times(c, slot, ring, &block);
}

/* Notes as damage a unit that has events and is in no ring, because this means that the
   entry of its ring is damaged. Also notes as damage a unit whose blocks are in another
   unit of the ring, too. */
static void check_loose_units(eventring_cursor *c, unsigned slot, unsigned ring) {
  const struct evr_stretches *s = &c->meta.units.stream[slot][ring];
  bool is_stream = evr_metadata_is_stream(&c->meta, slot, ring);
  /* after a gap, a stream begins a new unit */
  bool has_gaps = c->meta.header.flags & FORMAT_INCOMPLETE;
  uint64_t words[FORMAT_BLOCK_WORDS], end = 0;
  for (uint32_t i = 0; i < s->count; end = s->list[i].sequence + s->list[i].blocks, i++) {
    const struct evr_stretch *stretch = &s->list[i];
    bool is_twice = is_stream && !has_gaps && stretch->sequence < end;
    bool is_there = is_stream || evr_metadata_run_end(&c->meta, stretch->first);
    if ((is_there && !is_twice) || !read_block(c, format_block_offset(stretch->first), words) ||
        !has_event(words))
      continue;
    evr_note_damage(&c->meta.damage, "domain %u, ring %u: block %u of the file has events, and %s",
                    slot, ring, stretch->first,
                    is_twice ? "another one is at its place in the ring" : "is in no ring");
    return;
  }
}

static void check_all_units(eventring_cursor *c) {
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++)
    for (unsigned ring = 0; ring < EVENTRING_RINGS; ring++) check_loose_units(c, slot, ring);
}

/* Notes as damage a block that has events and belongs to no ring, because this means that
   the entry of its ring is damaged. */
static void check_loose_blocks(eventring_cursor *c) {
  const struct evr_record_scan *scan = &c->definitions.scan;
  for (uint32_t i = 0; i < scan->count; i++) {
    uint64_t words[FORMAT_BLOCK_WORDS];
    uint32_t block = scan->blocks[i].block;
    if (scan->blocks[i].kind == FORMAT_EVENTS && !evr_metadata_run_end(&c->meta, block) &&
        read_block(c, format_block_offset(block), words) && has_event(words)) {
      evr_note_damage(&c->meta.damage, "block %u of the file has events, and is in no ring", block);
      return;
    }
  }
}

/* ---- Records ---------------------------------------------------------------------- */

/* Compares the number of records with the counts of the status page. A record is stored
   before it is counted, so there may be one record more. Kinds whose blocks are rewritten
   in place are left out, because the status page counts blocks of these kinds. */
static void check_counts(eventring_cursor *c) {
#define IS_COUNTED_DROPPED true
#define IS_COUNTED_OLDEST_GOES true
#define IS_COUNTED_IN_PLACE false
#define CHECK(name, number, budget, full) \
  if (IS_COUNTED_##full && number != FORMAT_PROFILES) { /* rewritten as a whole */ \
    const struct format_count *count = &c->meta.status.kind[number]; \
    uint64_t taken = c->definitions.scan.taken[number]; \
    if (taken > count->records + 1 || \
        (count->records > taken && count->records - taken > count->dropped)) \
      evr_note_damage(&c->meta.damage, "%llu of %llu records of kind %d are there", \
                      (unsigned long long)taken, (unsigned long long)count->records, number); \
  }
  FORMAT_RECORD_KINDS(CHECK)
#undef CHECK
#undef IS_COUNTED_IN_PLACE
#undef IS_COUNTED_OLDEST_GOES
#undef IS_COUNTED_DROPPED
}

/* ---- The domain table -------------------------------------------------------------- */

static bool is_blank(const struct format_domain *d) {
  const uint64_t *words = (const uint64_t *)d;
  uint64_t any = 0;
  for (size_t i = 0; i < sizeof *d / 8; i++) any |= words[i];
  return !any;
}

static bool times_are_possible(const struct evr_metadata *meta, const struct format_domain *d) {
  bool alive = d->state == FORMAT_SLOT_ALIVE;
  return d->state <= FORMAT_SLOT_ALIVE && d->start_ticks >= meta->header.start_ticks &&
         (alive ? d->stop_ticks == 0 : d->stop_ticks >= d->start_ticks);
}

/* Tells whether an entry and a record of the same life agree. The entry or the record may
   be older, but values that both have must be equal. The record of the start of a long
   life may be gone. */
static bool agrees(const struct format_domain *d, const struct evr_life *life) {
  if (!life) return true;
  bool start = !life->start_ticks ||
               (life->tid == d->tid && life->start_ticks == d->start_ticks);
  return start && (!life->stop_ticks || !d->stop_ticks || life->stop_ticks == d->stop_ticks);
}

static void check_table(eventring_cursor *c) {
  struct format_domain table[EVENTRING_MAX_DOMAINS];
  if (evr_source_read(&c->meta.source, FORMAT_DOMAINS_OFFSET, table, sizeof table, NULL) !=
      EVENTRING_OK)
    return;
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++) {
    const struct format_domain *d = &table[slot];
    if (slot >= c->meta.status.slots) {
      if (!is_blank(d)) note(c, slot, "its entry is in use, beyond the last");
      continue;
    }
    /* a process that was killed while it changed the entry left the version odd */
    if (!d->incarnation || d->version & 1) continue;
    if (!times_are_possible(&c->meta, d)) note(c, slot, "its times are not possible");
    else if (!agrees(d, evr_definitions_life(&c->definitions, slot, d->incarnation)))
      note(c, slot, "its entry and its record differ");
  }
}

/* ---- All of it --------------------------------------------------------------------- */

void evr_check_end(eventring_cursor *c) {
  struct evr_metadata *meta = &c->meta;
  bool is_whole = !is_unfinished_copy(meta);
  if (meta->header.flags & FORMAT_COPY || meta->status.state == FORMAT_ENDED)
    evr_metadata_check_front(meta, &meta->damage);
  check_table(c);
  evr_check_heaps(c);
  evr_check_footprints(c);
  if (is_whole) {
    check_counts(c);
    check_all_units(c);
  }
  check_loose_blocks(c);
  for (unsigned n = 0; n < meta->made_count; n++) {
    unsigned slot = meta->made[n] / EVENTRING_RINGS, ring = meta->made[n] % EVENTRING_RINGS;
    if (is_whole) check_next(c, slot, ring);
    check_newest(c, slot, ring);
  }
}
