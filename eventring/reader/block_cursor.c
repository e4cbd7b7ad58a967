/* SPDX-License-Identifier: MIT */
/* block_cursor.c: a cursor that goes from block to block of one ring.
 *
 * Invariants
 *
 *  - `next` is beyond every block that was held or tried;
 *  - a block that is held was whole and valid when it was copied; it is read to its end
 *    even when the producer has overwritten it in the meantime;
 *  - a block says how many events were written before it. So the exact number of events
 *    between two blocks is known, however many blocks lie between.
 *
 * A block whose place is about to be used again must not be reported as damaged
 * (may_be_gone). This is the property "sound" of testsuite/model/block_transition.pml.
 *
 * A cursor whose next block was overwritten goes to a block that the producer will not
 * reach soon: `distance` blocks after the oldest.
 *
 * A cursor that has held no block may look for one downwards instead. Then `next` is
 * below every block that was tried, and a block that was overwritten ends the search,
 * since all before it were overwritten, too.
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

/* Returns how many blocks from `sequence` on may be read at once: as many as follow each
   other in the file and leave the producer a quarter of the ring. */
static uint64_t readable(const struct evr_block_cursor *cursor, uint64_t sequence, uint64_t head) {
  uint64_t count = blocks_of(cursor) / 4, row = place_of(cursor, sequence).row;
  if (count > cursor->room_count) count = cursor->room_count;
  if (count > head - sequence) count = head - sequence;
  return count > row ? row : count;
}

/* ---- With a thread (ahead.h) ----------------------------------------------------- */

enum {
  MOST_THREADS = 4, /* threads a recording: each takes 0.5 MB, 3.5 MB if it decodes */
  VAIN = 8,  /* after this many declined parts in a row, no block is decoded ahead */
  MANY = 256 /* blocks that make a thread worthwhile */
};

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

/* Asks the thread to read as much as it has room for. */
static void ask_for_more(struct evr_block_cursor *cursor, uint64_t head) {
  while (cursor->asking < head && evr_ahead_has_room(cursor->thread)) {
    uint64_t count = readable(cursor, cursor->asking, head);
    if (!count) return;
    evr_ahead_ask(cursor->thread, cursor->asking, place_of(cursor, cursor->asking).offset,
                  (unsigned)count, cursor->batched != NULL && cursor->declined < VAIN);
    cursor->asking += count;
  }
}

/* Takes from the thread the piece that begins with block `sequence`. If the thread has no
   such piece, makes it go on from `sequence`, or ends it if there is nothing left to
   read. Returns whether the cursor has blocks of a piece now. */
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

/* Tells whether the cursor has a thread, and starts one if that is worth it. A child of a
   fork goes on without a thread. */
static bool has_thread(struct evr_block_cursor *cursor, uint64_t sequence, uint64_t head) {
  if (is_for_thread(cursor, sequence, head)) start_thread(cursor);
  if (cursor->thread && !evr_ahead_is_here(cursor->thread)) cursor->thread = NULL;
  return cursor->thread != NULL;
}

/* ---- Without --------------------------------------------------------------------- */

/* Reads some blocks at once, with block `sequence` as the first: takes them from the
   thread, or reads them with pread. Returns whether there are any. */
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

/* Holds a block that was read ahead. Returns false if the block is not valid; it is then
   copied alone and checked more closely. */
static bool hold_ahead(struct evr_block_cursor *cursor, uint64_t sequence) {
  const uint64_t i = sequence - cursor->ahead;
  cursor->held = cursor->piece ? &cursor->piece->block[i] : &cursor->rooms[i];
  if (cursor->piece) {
    cursor->decoded = cursor->piece->valid[i] ? &cursor->piece->decoding[i] : NULL;
    return cursor->piece->valid[i];
  }
  bool valid = evr_block_valid(cursor->held, sequence, cursor->slot, cursor->ring,
                               cursor->meta->header.start_ticks);
  if (!valid) cursor->ahead_count = 0; /* the rooms are needed for other copies */
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

/* Tells whether the writer of the file may have left out blocks. */
static bool may_lack_blocks(const struct evr_metadata *meta) {
  return meta->header.flags & FORMAT_INCOMPLETE;
}

/* Tells whether a block was left out, which means that it is all zero. */
static bool is_missing(const struct evr_block_cursor *cursor, uint64_t sequence) {
  uint64_t words[FORMAT_BLOCK_WORDS], any = 0;
  if (evr_source_read(&cursor->meta->source, place_of(cursor, sequence).offset, words, sizeof words,
                      NULL) != EVENTRING_OK)
    return false;
  for (unsigned i = 0; i < FORMAT_BLOCK_WORDS; i++) any |= words[i];
  return !any;
}

/* Tells whether a block of a stream may be gone without damage. This is so for a block
   that the writer of the file has left out, and for a block in the last place of a
   stretch of units: that place is used again for later blocks, up to the beginning of the
   next stretch. */
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
  /* pairs with W4 of `there` (producer/lane.c), which comes after W5 of the block before
     `there`: so the head that is loaded from here on is at least the number of that
     block */
  evr_fence_acquire();
  return there > sequence &&
         there <= evr_metadata_head(cursor->meta, cursor->slot, cursor->ring) + 1 &&
         evr_stretches_find(stream, there) == stretch;
}

/* Tells whether the producer may have begun to reuse the place of a block that is no
   longer there. Before W1 of the next block in this place the producer has done W5 of the
   block with the preceding number, so the head is at least this number. (W1 is a release
   store, and the head is loaded after W1 was seen.) */
static bool may_be_gone(const struct evr_block_cursor *cursor, uint64_t sequence) {
  struct evr_metadata *meta = cursor->meta;
  if (is_stream(cursor)) return may_be_gone_from_stream(cursor, sequence);
  /* pairs with W1 (producer/lane.c): the load that saw W1 was perhaps relaxed */
  evr_fence_acquire();
  uint64_t head = evr_metadata_head(meta, cursor->slot, cursor->ring);
  return head - sequence >= blocks_of(cursor) - 1 ||
         sequence < oldest_of(cursor, head);
}

/* Tells whether the place of a block in the file is empty and the header says that blocks
   may be missing. The writer of the file could not copy such a block: its events are
   lost, and `before` of the next block says how many they were. Returns true only for a
   file that nobody writes into any more, so the places in the file's units bound the
   number of such blocks. */
static bool is_left_out(const struct evr_block_cursor *cursor, uint64_t sequence) {
  const struct evr_metadata *meta = cursor->meta;
  if (!may_lack_blocks(meta) || !is_stream(cursor) || !meta->over || !meta->heads_are_final)
    return false;
  const struct evr_stretch *stretch =
      evr_stretches_find(&meta->units.stream[cursor->slot][cursor->ring], sequence);
  return stretch && sequence - stretch->sequence < stretch->blocks && is_missing(cursor, sequence);
}

/* Returns the last sequence of the round of the ring that has `sequence`. A round has as
   many blocks as the ring had places before it grew. */
static uint64_t end_of_round(const struct evr_block_cursor *cursor, uint64_t sequence) {
  uint64_t places = cursor->meta->places[cursor->slot][cursor->ring].run[0].end;
  return (sequence + places - 1) / places * places;
}

/* Tells whether the producer has left out this sequence, and all others to the end of the
   round, because there was no room for their places. Then the head is at the end of the
   round or later, and the places up to the last one were never used. The block of the
   head is present unless the round has just ended; if it is missing at another time,
   somebody has removed blocks. */
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

/* Notes that a block could not be read, or not to its end, although the head says that it
   is there. */
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
  cursor->sequence = 0; /* the block held is done with, and its room is overwritten */
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

/* Returns the next block after a block that was left out. The following blocks in the
   same hole of the file were left out, too; asking where the hole ends is faster than
   reading them. */
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

/* ---- Both ends ------------------------------------------------------------------- */

/* Bounds the search for the newest and the oldest block: a block may be overwritten
   before it is copied, or be missing from its unit of a stream. */
enum { TRIES = FORMAT_UNIT + 8 };

/* Holds the newest block that is present: block `head`, a later block if a live producer
   went on, or an earlier block if the newest are missing, as after a full disk. */
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

enum { MOST_UNREADABLE = 256 /* in a row: then a part counts as unreadable */ };

/* Finds the first block from *sequence on, and before `end`, that is present and valid.
   Sets *sequence to its number and *ns to the time at which it begins. Returns false if
   there is none. The whole block is checked, since a damaged time would lead to another
   part of the ring. */
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

/* Returns the last block that begins at `ns` or before, or, if none does, the oldest
   one. */
static uint64_t bisect(const struct evr_block_cursor *cursor, uint64_t oldest, uint64_t head,
                       uint64_t ns) {
  /* `low` begins at `ns` or before, if any block does; `high` begins later */
  uint64_t low = oldest, high = head + 1;
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
