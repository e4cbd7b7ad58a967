/* SPDX-License-Identifier: MIT */
/* block_cursor.c: from block to block of one ring.
 *
 * Invariants
 *  - `next` is beyond every block that was held or tried;
 *  - a block that is held was whole and valid when it was copied; it is read to its end
 *    even when the producer has overwritten it in the meantime;
 *  - a block says how many events were written before it. So the exact number of events
 *    between two blocks is known, however many blocks lie between.
 *
 * That a block is called damaged only when it is, and not when its place is about to be used
 * again (may_be_gone), is the property "sound" of testsuite/model/block_transition.pml.
 *
 * A cursor that finds its next block overwritten goes to one that the producer will not
 * reach soon: `distance` blocks after the oldest.
 *
 * A cursor that has held no block may look for one downwards instead: then `next` is below
 * every block that was tried, and a block that was overwritten is the end, for so are all
 * before it.
 */
#include "reader/block_cursor.h"

#include "format/atomics.h"
#include "format/law.h"

void evr_block_cursor_init(struct evr_block_cursor *cursor, struct evr_metadata *meta,
                           unsigned slot, unsigned ring, struct eventring_error *damage) {
  *cursor = (struct evr_block_cursor){
      .meta = meta, .slot = slot, .ring = ring, .damage = damage, .next = 1};
}

unsigned evr_block_cursor_rooms(const struct evr_block_cursor *cursor) {
  return evr_source_mapped(&cursor->meta->source) ? 1 : EVR_AHEAD;
}

uint64_t evr_block_cursor_head(struct evr_block_cursor *cursor) {
  return evr_metadata_head(cursor->meta, cursor->slot, cursor->ring);
}

static uint32_t blocks_of(const struct evr_block_cursor *cursor) {
  return evr_metadata_blocks(cursor->meta, cursor->slot, cursor->ring);
}

static bool is_stream(const struct evr_block_cursor *cursor) {
  return evr_metadata_is_stream(cursor->meta, cursor->slot, cursor->ring);
}

static uint64_t oldest_of(const struct evr_block_cursor *cursor, uint64_t head) {
  return evr_metadata_oldest(cursor->meta, cursor->slot, cursor->ring, head);
}

static struct evr_location place_of(const struct evr_block_cursor *cursor, uint64_t sequence) {
  return evr_metadata_place(cursor->meta, cursor->slot, cursor->ring, sequence);
}

/* ---- Copying ---------------------------------------------------------------------- */

static bool is_ahead(const struct evr_block_cursor *cursor, uint64_t sequence) {
  return sequence - cursor->ahead < cursor->ahead_count;
}

/* How many blocks from `sequence` on may be read at once: as many as follow each other in the
   file and leave the producer a quarter of the ring. */
static uint64_t readable(const struct evr_block_cursor *cursor, uint64_t sequence, uint64_t head) {
  uint64_t count = blocks_of(cursor) / 4, row = place_of(cursor, sequence).row;
  if (count > cursor->room_count) count = cursor->room_count;
  if (count > head - sequence) count = head - sequence;
  return count > row ? row : count;
}

/* ---- With a thread (ahead.h) --------------------------------------------------------- */

enum { MOST_THREADS = 4, /* of a recording; each takes half a megabyte, and three more
                       where it decodes */
       VAIN = 8,         /* parts that are declined: then no more blocks are decoded ahead */
       MANY = 256        /* blocks that are worth a thread */ };

static void end_thread(struct evr_block_cursor *cursor) {
  if (!cursor->thread) return;
  evr_ahead_end(cursor->thread);
  cursor->thread = NULL;
  cursor->meta->threads--;
}

void evr_block_cursor_end(struct evr_block_cursor *cursor) { end_thread(cursor); }

static void start_thread(struct evr_block_cursor *cursor) {
  struct evr_metadata *meta = cursor->meta;
  const struct evr_ahead_ring ring = {
      .source = &meta->source, .slot = cursor->slot, .ring = cursor->ring,
      .ring_blocks = blocks_of(cursor), .start_ticks = meta->header.start_ticks,
      .head_offset = evr_metadata_head_offset(cursor->slot, cursor->ring),
      .batched = cursor->batched, .contents = cursor->contents, .conversion = &meta->conversion};
  cursor->was_threaded = true;
  cursor->thread = evr_ahead_start(&ring);
  if (cursor->thread) meta->threads++;
}

static bool is_for_thread(const struct evr_block_cursor *cursor, uint64_t sequence,
                          uint64_t head) {
  const struct evr_metadata *meta = cursor->meta;
  return cursor->threaded && !cursor->was_threaded && meta->over &&
         !meta->source.packed && head - sequence >= MANY &&
         cursor->room_count > 1 && meta->threads < MOST_THREADS;
}

/* Lets it read as much as it has room for. */
static void ask_for_more(struct evr_block_cursor *cursor, uint64_t head) {
  while (cursor->asking < head && evr_ahead_has_room(cursor->thread)) {
    uint64_t count = readable(cursor, cursor->asking, head);
    if (!count) return;
    evr_ahead_ask(cursor->thread, cursor->asking, place_of(cursor, cursor->asking).offset,
                  (unsigned)count, cursor->batched != NULL && cursor->declined < VAIN);
    cursor->asking += count;
  }
}

/* The piece of the thread that begins with block `sequence`. It has none: it is to go on
   from there, or, if there is nothing left, to end. */
static bool take_piece(struct evr_block_cursor *cursor, uint64_t sequence, uint64_t head) {
  cursor->piece = NULL;
  if (evr_ahead_first(cursor->thread) != sequence) {
    evr_ahead_forget(cursor->thread);
    cursor->asking = sequence;
  }
  ask_for_more(cursor, head);
  if (!evr_ahead_first(cursor->thread)) {
    if (sequence >= head) end_thread(cursor);
    return false;
  }
  cursor->piece = evr_ahead_take(cursor->thread);
  cursor->ahead = sequence;
  cursor->ahead_count = cursor->piece->count;
  ask_for_more(cursor, head);
  return cursor->ahead_count > 0;
}

/* Is there one? A child of a fork goes on without. */
static bool has_thread(struct evr_block_cursor *cursor, uint64_t sequence, uint64_t head) {
  if (is_for_thread(cursor, sequence, head)) start_thread(cursor);
  if (cursor->thread && !evr_ahead_is_here(cursor->thread)) cursor->thread = NULL;
  return cursor->thread != NULL;
}

/* ---- Without ------------------------------------------------------------------------- */

/* With pread: reads some blocks at once, with block `sequence` as the first. */
static bool read_ahead(struct evr_block_cursor *cursor, uint64_t sequence, uint64_t head) {
  const struct evr_metadata *meta = cursor->meta;
  cursor->ahead_count = 0;
  if (has_thread(cursor, sequence, head)) return take_piece(cursor, sequence, head);
  cursor->piece = NULL;
  uint64_t count = readable(cursor, sequence, head);
  if (count < 2) return false;
  cursor->ahead = sequence;
  cursor->ahead_count = evr_blocks_copy(
      &meta->source, place_of(cursor, sequence).offset, sequence,
      evr_metadata_head_offset(cursor->slot, cursor->ring), blocks_of(cursor), cursor->rooms,
      (unsigned)count);
  return cursor->ahead_count > 0;
}

/* Holds a block that was read ahead. False: it is not valid; copied alone, it is checked more
   closely. */
static bool hold_ahead(struct evr_block_cursor *cursor, uint64_t sequence) {
  const uint64_t i = sequence - cursor->ahead;
  cursor->held = cursor->piece ? &cursor->piece->block[i] : &cursor->rooms[i];
  if (cursor->piece) {
    cursor->decoded = cursor->piece->valid[i] ? &cursor->piece->decoding[i] : NULL;
    return cursor->piece->valid[i];
  }
  bool valid = evr_block_valid(cursor->held, sequence, cursor->slot, cursor->ring,
                               cursor->meta->header.start_ticks);
  if (!valid) cursor->ahead_count = 0; /* the rooms are needed */
  return valid;
}

/* Copies a block, or takes it from those read ahead. */
static enum evr_read copy_block(struct evr_block_cursor *cursor, uint64_t sequence,
                                uint64_t head, struct eventring_error *error) {
  cursor->decoded = NULL;
  if ((is_ahead(cursor, sequence) || read_ahead(cursor, sequence, head)) &&
      hold_ahead(cursor, sequence))
    return EVR_READ_OK;
  cursor->held = cursor->rooms;
  return evr_block_copy(&cursor->meta->source, place_of(cursor, sequence).offset, sequence,
                        cursor->slot, cursor->ring, cursor->meta->header.start_ticks,
                        sequence < head, cursor->meta->over, cursor->held, error);
}

/* ---- Failures ---------------------------------------------------------------------- */

/* May whoever wrote the file have left out blocks? */
static bool may_lack_blocks(const struct evr_metadata *meta) {
  return meta->header.flags & FORMAT_INCOMPLETE;
}

/* A block that was left out is all zero. */
static bool is_missing(const struct evr_block_cursor *cursor, uint64_t sequence) {
  uint64_t words[FORMAT_BLOCK_WORDS], any = 0;
  if (evr_source_read(&cursor->meta->source, place_of(cursor, sequence).offset, words, sizeof words,
                      NULL) != EVENTRING_OK)
    return false;
  for (unsigned i = 0; i < FORMAT_BLOCK_WORDS; i++) any |= words[i];
  return !any;
}

/* In a stream: the last place of a stretch of units, which was used for later blocks or is about
   to be, up to the one before the next stretch; or a block that whoever wrote the file has left
   out. */
static bool may_be_gone_from_stream(const struct evr_block_cursor *cursor, uint64_t sequence) {
  const struct evr_metadata *meta = cursor->meta;
  const struct evr_stretches *stream = &meta->units.stream[cursor->slot][cursor->ring];
  const struct evr_stretch *stretch = evr_stretches_find(stream, sequence);
  uint64_t at = stretch ? sequence - stretch->sequence : 0, there;
  bool has_place = stretch && at < stretch->blocks;
  bool is_last = stretch && at + 1 >= stretch->blocks;
  if (evr_source_read(&meta->source, place_of(cursor, sequence).offset, &there, sizeof there,
                      NULL) != EVENTRING_OK)
    return false;
  if (may_lack_blocks(meta) && (!has_place || !there)) return true;
  if (!is_last || !there) return is_last;
  evr_fence_acquire(); /* W4 of `there` comes after W5 of the block before it */
  return there > sequence &&
         there <= evr_metadata_head(cursor->meta, cursor->slot, cursor->ring) + 1 &&
         evr_stretches_find(stream, there) == stretch;
}

/* Has the producer begun to reuse the place of a block that is no longer there? Before
   W1 of its successor it has done W5 of the block before that one (W1 is a release store,
   and the head is loaded after it was seen). */
static bool may_be_gone(const struct evr_block_cursor *cursor, uint64_t sequence) {
  struct evr_metadata *meta = cursor->meta;
  if (is_stream(cursor)) return may_be_gone_from_stream(cursor, sequence);
  evr_fence_acquire(); /* that load was perhaps a relaxed one */
  uint64_t head = evr_metadata_head(meta, cursor->slot, cursor->ring);
  return head - sequence >= blocks_of(cursor) - 1 ||
         sequence < oldest_of(cursor, head);
}

/* Has the file nothing in the place of a block, and does it say that blocks may be missing? Whoever
   wrote it could not copy such a block: its events are lost, and `before` of the next one says how
   many. Of a file that nobody writes into any more; So there are at most as many of them as the
   units of the file have places. */
static bool is_left_out(const struct evr_block_cursor *cursor, uint64_t sequence) {
  const struct evr_metadata *meta = cursor->meta;
  if (!may_lack_blocks(meta) || !is_stream(cursor) || !meta->over || !meta->heads_are_final)
    return false;
  const struct evr_stretch *stretch =
      evr_stretches_find(&meta->units.stream[cursor->slot][cursor->ring], sequence);
  return stretch && sequence - stretch->sequence < stretch->blocks && is_missing(cursor, sequence);
}

/* The last sequence of the round of a ring that `sequence` is in, by the places that it had
   before it grew. */
static uint64_t end_of_round(const struct evr_block_cursor *cursor, uint64_t sequence) {
  uint64_t places = cursor->meta->places[cursor->slot][cursor->ring].run[0].end;
  return (sequence + places - 1) / places * places;
}

/* Has the producer left out this sequence, and all others to the end of the round, because
   there was no room for their places? Then the head is beyond these, and the places, up to the
   last one, were never used. The block of the head is there, unless the round has just ended:
   where it is not, somebody took blocks away. */
static bool is_skipped(const struct evr_block_cursor *cursor, uint64_t sequence) {
  if (is_stream(cursor)) return false;
  uint64_t head = cursor->meta->ring[cursor->slot][cursor->ring].head;
  uint64_t end = end_of_round(cursor, sequence);
  return end <= head && is_missing(cursor, sequence) && is_missing(cursor, end) &&
         (head == end_of_round(cursor, head) || !is_missing(cursor, head));
}

uint64_t evr_block_cursor_after(const struct evr_block_cursor *cursor, uint64_t sequence) {
  if (is_stream(cursor))
    return evr_metadata_after(cursor->meta, cursor->slot, cursor->ring, sequence);
  return is_skipped(cursor, sequence) ? end_of_round(cursor, sequence) + 1 : sequence + 1;
}

bool evr_block_cursor_lacks(const struct evr_block_cursor *cursor, uint64_t sequence) {
  return !is_left_out(cursor, sequence) && !may_be_gone(cursor, sequence) &&
         !is_skipped(cursor, sequence);
}

/* A block that should be there by the head could not be read, or not to its end. */
static void note_failure(const struct evr_block_cursor *cursor, uint64_t sequence,
                         enum evr_read status, const struct eventring_error *error) {
  if (status == EVR_READ_FAILED)
    *cursor->damage = *error;
  else if (status == EVR_READ_CORRUPT)
    evr_note_damage(cursor->damage, "domain %u, ring %u: block %llu is not valid",
                    cursor->slot, cursor->ring, (unsigned long long)sequence);
  else if (!may_be_gone(cursor, sequence))
    evr_note_damage(cursor->damage, "domain %u, ring %u: block %llu is not there",
                    cursor->slot, cursor->ring, (unsigned long long)sequence);
}

/* ---- The next block -------------------------------------------------------------- */

static bool read_block(struct evr_block_cursor *cursor, uint64_t sequence, uint64_t head,
                       unsigned *budget) {
  struct eventring_error error = {0};
  cursor->sequence = 0; /* the block held is done with and overwritten */
  enum evr_read status = copy_block(cursor, sequence, head, &error);
  if (status == EVR_READ_OK) return true;
  cursor->left_out = status == EVR_READ_GONE && is_left_out(cursor, sequence);
  if (cursor->left_out || (status == EVR_READ_GONE && is_skipped(cursor, sequence))) return false;
  if (*budget) --*budget;
  cursor->failed = status == EVR_READ_FAILED;
  if (cursor->failed) *budget = 0;
  note_failure(cursor, sequence, status, &error);
  return false;
}

void evr_block_cursor_count(struct evr_block_cursor *cursor, uint64_t sequence) {
  uint64_t before = evr_block_header(cursor->held)->before, position = cursor->position;
  cursor->backwards = before < position;
  cursor->gap = cursor->backwards ? 0 : before - position;
  cursor->position = before;
  cursor->recounted += before < position ? position - before : 0;
  if (cursor->backwards) evr_note_backwards(cursor->damage, cursor->slot, sequence);
}

static void hold_block(struct evr_block_cursor *cursor, uint64_t sequence, bool complete) {
  cursor->sequence = sequence;
  cursor->next = sequence + 1;
  cursor->complete = complete;
  evr_block_cursor_count(cursor, sequence);
}

/* The block after one that was left out. Those that lie behind it in a hole of the file were left out,
   too: to ask where the hole ends takes less than to read them. */
static uint64_t after_left_out(const struct evr_block_cursor *cursor, uint64_t sequence,
                               uint64_t head) {
  const struct evr_location place = place_of(cursor, sequence);
  const uint64_t data = evr_source_data_from(&cursor->meta->source, place.offset);
  uint64_t blocks = (data - place.offset) / FORMAT_BLOCK_BYTES;
  if (blocks > place.row) blocks = place.row;
  if (blocks > head - sequence) blocks = head - sequence;
  return evr_block_cursor_after(cursor, blocks ? sequence + blocks - 1 : sequence);
}

bool evr_block_cursor_next(struct evr_block_cursor *cursor, unsigned *budget) {
  uint64_t head = evr_block_cursor_head(cursor);
  uint64_t oldest = oldest_of(cursor, head);
  if (cursor->next < oldest && !is_ahead(cursor, cursor->next)) cursor->next = oldest;
  while (*budget && cursor->next <= head) {
    uint64_t sequence = cursor->next, seen = head;
    if (read_block(cursor, sequence, head, budget)) {
      hold_block(cursor, sequence, sequence < head);
      EVR_LAW(cursor->sequence < cursor->next && cursor->sequence <= head);
      return true;
    }
    head = evr_block_cursor_head(cursor);
    uint64_t safe = oldest_of(cursor, head) + cursor->distance;
    cursor->next = cursor->left_out ? after_left_out(cursor, sequence, seen)
                                    : evr_block_cursor_after(cursor, sequence);
    if (head != seen && cursor->next < safe) cursor->next = safe;
  }
  return false;
}

bool evr_block_cursor_previous(struct evr_block_cursor *cursor, unsigned *budget) {
  while (*budget && cursor->next) {
    uint64_t head = evr_block_cursor_head(cursor), sequence = cursor->next;
    bool is_there = sequence >= oldest_of(cursor, head);
    cursor->next = is_there ? evr_metadata_before(cursor->meta, cursor->slot, cursor->ring,
                                                  sequence)
                            : 0;
    if (!is_there || !read_block(cursor, sequence, head, budget)) continue;
    uint64_t before = cursor->next;
    hold_block(cursor, sequence, sequence < head);
    cursor->next = before;
    return true;
  }
  cursor->sequence = 0;
  return false;
}

/* ---- Both ends ----------------------------------------------------------------------- */

/* At a block that may be overwritten before it is copied, or that a unit of a stream does not
   have. */
enum { TRIES = FORMAT_UNIT + 8 };

/* Goes to the newest block that is there: `head`, one behind it (a live producer went on), or,
   where the newest ones are missing, as after a full disk, one before it. */
static bool hold_newest(struct evr_block_cursor *blocks, uint64_t head) {
  unsigned tries = TRIES;
  blocks->next = head;
  if (head && evr_block_cursor_next(blocks, &tries)) return true;
  tries = TRIES;
  blocks->next = head;
  return evr_block_cursor_previous(blocks, &tries);
}

void evr_block_cursor_extent(struct evr_metadata *meta, unsigned slot, unsigned ring,
                             struct eventring_ring_info *info) {
  struct eventring_error damage = {0};
  struct evr_block block;
  struct evr_block_cursor blocks;
  unsigned tries = TRIES;
  evr_block_cursor_init(&blocks, meta, slot, ring, &damage);
  blocks.rooms = &block;
  blocks.room_count = 1;
  info->blocks_written = evr_block_cursor_head(&blocks);
  if (!hold_newest(&blocks, info->blocks_written)) return;
  uint64_t newest = blocks.sequence;
  if (newest > info->blocks_written) info->blocks_written = newest;
  info->emitted = blocks.position + evr_block_events(&block);
  info->newest_ns = evr_metadata_ns(meta, evr_block_newest_ticks(&block));
  blocks.next = evr_metadata_oldest(meta, slot, ring, newest);
  blocks.position = 0;
  if (!evr_block_cursor_next(&blocks, &tries) || blocks.sequence > newest) return;
  info->oldest_ns = evr_metadata_ns(meta, evr_block_header(&block)->base_ticks);
  info->available = info->emitted > blocks.position ? info->emitted - blocks.position : 0;
}

/* ---- A time ------------------------------------------------------------------------ */

enum { MOST_UNREADABLE = 256 /* blocks in a row, before a part is taken for unreadable */ };

/* When the first block from *sequence on begins that is there, valid and before `end`; sets
   *sequence. False: there is none. A time that is damaged would lead to another part of the
   ring, so all of the block is looked at. */
static bool find_begin(const struct evr_block_cursor *cursor, uint64_t *sequence, uint64_t end,
                       uint64_t *ns) {
  const struct evr_metadata *meta = cursor->meta;
  uint64_t head = meta->ring[cursor->slot][cursor->ring].head;
  struct evr_block block;
  for (int tries = 0; *sequence < end && tries < MOST_UNREADABLE; tries++) {
    if (evr_block_copy(&meta->source, place_of(cursor, *sequence).offset, *sequence, cursor->slot,
                       cursor->ring, meta->header.start_ticks, *sequence < head, meta->over,
                       &block, NULL) == EVR_READ_OK) {
      *ns = evr_metadata_ns(meta, evr_block_header(&block)->base_ticks);
      return true;
    }
    *sequence = evr_block_cursor_after(cursor, *sequence);
  }
  return false;
}

/* The last block that begins at `ns` or before, or, if none does, the oldest one. */
static uint64_t bisect(const struct evr_block_cursor *cursor, uint64_t oldest, uint64_t head,
                       uint64_t ns) {
  uint64_t low = oldest, high = head + 1; /* low begins before `ns`, if any does; high after */
  while (high - low > 1) {
    uint64_t middle = low + (high - low) / 2, found = middle, begin;
    if (find_begin(cursor, &found, high, &begin) && begin <= ns) low = found;
    else high = middle;
  }
  return low;
}

void evr_block_cursor_seek(struct evr_block_cursor *cursor, uint64_t ns) {
  uint64_t head = evr_block_cursor_head(cursor), oldest = oldest_of(cursor, head);
  uint64_t low = bisect(cursor, oldest, head, ns);
  cursor->next = low > oldest ? low - 1 : low;
}

uint64_t evr_block_cursor_last(struct evr_block_cursor *cursor, uint64_t ns) {
  uint64_t head = evr_block_cursor_head(cursor), oldest = oldest_of(cursor, head), begin;
  uint64_t low = bisect(cursor, oldest, head, ns), found = low;
  return find_begin(cursor, &found, low + 1, &begin) && begin > ns ? low - 1 : low;
}

struct evr_decoded *evr_block_cursor_decoded(const struct evr_block_cursor *cursor) {
  bool holds = cursor->decoded && cursor->piece->segments == cursor->meta->conversion.segments;
  return holds ? cursor->decoded : NULL;
}

/* ---- The block held -------------------------------------------------------------- */

bool evr_block_cursor_more(struct evr_block_cursor *cursor, uint64_t head) {
  struct eventring_error error = {0};
  uint64_t sequence = cursor->sequence;
  enum evr_read status =
      evr_block_copy_more(&cursor->meta->source, place_of(cursor, sequence).offset, sequence,
                          sequence < head, cursor->held, &error);
  if (status != EVR_READ_OK) {
    note_failure(cursor, sequence, status, &error);
    return false;
  }
  cursor->complete = sequence < head;
  return true;
}

bool evr_block_cursor_has_more(const struct evr_block_cursor *cursor) {
  return evr_block_has_more(&cursor->meta->source,
                            place_of(cursor, cursor->sequence).offset, cursor->held->have);
}

const uint64_t *evr_block_cursor_watch(const struct evr_block_cursor *cursor) {
  return evr_block_word(&cursor->meta->source, place_of(cursor, cursor->sequence).offset,
                        cursor->held->have);
}

uint32_t evr_block_cursor_length(const struct evr_block_cursor *cursor, uint64_t sequence) {
  return evr_block_length(&cursor->meta->source, place_of(cursor, sequence).offset, sequence);
}

void evr_block_cursor_check_end(const struct evr_block_cursor *cursor) {
  uint64_t sequence = cursor->sequence;
  if (!sequence || sequence != cursor->meta->ring[cursor->slot][cursor->ring].head) return;
  if (evr_block_cursor_length(cursor, sequence) != cursor->held->have)
    note_failure(cursor, sequence, EVR_READ_GONE, NULL);
}
