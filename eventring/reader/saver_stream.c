/* SPDX-License-Identifier: MIT */
/* saver_stream.c: the blocks of one ring, and what is missing of them.
 *
 * A run of complete blocks is copied at once, and checked afterwards by the sequence of
 * its first block (steps R1, R3 to R5 of block.c; R0 is the head of the last refresh).
 * The producer uses the places of a ring in order: before it stores anything into the
 * place of a later block of the run, it has done W1 of the block in the place of the
 * first. So if the first block is still in its place (R4, R5), all blocks of the run are
 * whole. If it is gone, the head says how many are gone: before W1 of the block that
 * takes the place of block s, the head was s + places - 1.
 *
 * The blocks of a stream stay where they are, except for the one in the last place of a
 * stretch, which is used again while there is no room. So if a run ends in such a place,
 * its last block is compared once more.
 *
 * In the copy, only the headers of the blocks and the events of the last block of a run
 * are examined: they give the number of known events and the time of the last known
 * event. Other faults of a block are left to the readers of the file, unless the user
 * wants everything checked. */
#include "reader/saver.h"

#include <stdlib.h>
#include <string.h>

#include "format/checksum.h"
#include "format/law.h"

enum { TRIES = 4 /* copies of a ring that the producer may overtake in one fill */ };

/* ---- Blocks of the file ------------------------------------------------------------ */

void saver_add_piece(struct saver_output *out, uint64_t offset, size_t from, size_t size,
                     unsigned what) {
  struct eventring_piece *last = out->count ? &out->pieces[out->count - 1] : NULL;
  if (last && last->kind == what && last->offset % SAVER_UNIT_BYTES == 0 &&
      last->offset + last->size == offset && last->from + last->size == from)
    last->size += size;
  else
    out->pieces[out->count++] = (struct eventring_piece){offset, from, size, what};
}

bool saver_claim(eventring_saver *saver, unsigned reserved, uint64_t *unit) {
  if (saver->claimed + (1 + (uint64_t)reserved) * FORMAT_UNIT > saver->most) {
    saver->full = true;
    return false;
  }
  *unit = saver->claimed;
  saver->claimed += FORMAT_UNIT;
  return true;
}

/* Returns how many units the newest blocks and the records may need at the end. */
static unsigned reserve(const eventring_saver *saver) { return saver->made_count + 4; }

/* Tells whether a stream has room for a block, and claims a unit if it needs one. */
static bool have_unit(eventring_saver *saver, struct saver_stream *stream, unsigned reserved) {
  if (stream->used < FORMAT_UNIT) return true;
  if (!saver_claim(saver, reserved, &stream->unit)) return false;
  stream->used = 0;
  return true;
}

/* Gives blocks of the file to `count` blocks that begin at `from` of the buffer. Returns
   how many found room. */
static uint32_t assign_blocks(eventring_saver *saver, struct saver_stream *stream,
                              struct saver_output *out, size_t from, uint32_t count) {
  uint32_t assigned = 0;
  while (assigned < count && out->count < out->room &&
         have_unit(saver, stream, reserve(saver))) {
    uint32_t left = count - assigned, take = FORMAT_UNIT - stream->used;
    if (take > left) take = left;
    saver_add_piece(out, format_block_offset(stream->unit + stream->used),
                    from + assigned * (size_t)FORMAT_BLOCK_BYTES,
                    take * (size_t)FORMAT_BLOCK_BYTES, EVENTRING_PIECE_EVENTS);
    stream->used += take;
    assigned += take;
  }
  return assigned;
}

/* ---- Rings ------------------------------------------------------------------------- */

static struct saver_stream *new_stream(struct evr_metadata *meta, unsigned index,
                                       uint64_t since_ns) {
  struct saver_stream *stream = calloc(1, sizeof *stream);
  unsigned slot = index / EVENTRING_RINGS, ring = index % EVENTRING_RINGS;
  if (!stream) return NULL;
  stream->slot = (uint16_t)slot;
  stream->ring = (uint16_t)ring;
  stream->used = FORMAT_UNIT;
  stream->limit = UINT64_MAX;
  stream->next = evr_metadata_oldest(meta, slot, ring, meta->ring[slot][ring].head);
  if (since_ns) {
    struct evr_block_cursor blocks;
    evr_block_cursor_init(&blocks, meta, slot, ring, &meta->damage);
    evr_block_cursor_seek(&blocks, since_ns);
    stream->next = blocks.next;
  }
  stream->account = (struct eventring_saver_ring){.domain = slot, .ring = (uint8_t)ring};
  return stream;
}

static bool is_wanted(const eventring_saver *saver, unsigned slot) {
  const uint64_t *domains = saver->options.domains;
  return !(domains[0] | domains[1]) || domains[slot / 64] >> slot % 64 & 1;
}

int saver_take_rings(eventring_saver *saver, struct eventring_error *error) {
  struct evr_metadata *meta = saver->meta;
  /* rings that were made later are not part of the file */
  if (saver->ending) return EVENTRING_OK;
  for (; saver->taken < meta->made_count; saver->taken++) {
    unsigned index = meta->made[saver->taken];
    if (!is_wanted(saver, index / EVENTRING_RINGS)) continue;
    struct saver_stream *stream = new_stream(meta, index, saver->options.since_ns);
    if (!stream) return evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for a ring");
    saver->stream[index] = stream;
    saver->made[saver->made_count++] = (uint16_t)index;
  }
  return EVENTRING_OK;
}

void saver_hand_on(struct saver_stream *stream, struct saver_stream *next) {
  *next = (struct saver_stream){
      .slot = stream->slot, .ring = stream->ring, .next = stream->next, .limit = UINT64_MAX,
      .used = FORMAT_UNIT, .known_ticks = stream->known_ticks,
      .passed = stream->passed, .begun = stream->begun,
      .account = {.domain = stream->slot, .ring = (uint8_t)stream->ring,
                  .known = stream->account.known, .missed = stream->account.known,
                  .places = stream->account.places}};
  stream->limit = stream->next - 1;
}

static uint64_t head_of(const eventring_saver *saver, const struct saver_stream *stream) {
  return saver->meta->ring[stream->slot][stream->ring].head;
}

void saver_end_ring(eventring_saver *saver, struct saver_stream *stream) {
  struct evr_metadata *meta = saver->meta;
  struct evr_block_cursor blocks;
  uint64_t head = stream->limit = head_of(saver, stream);
  if (!saver->options.until_ns) return;
  evr_block_cursor_init(&blocks, meta, stream->slot, stream->ring, &meta->damage);
  stream->limit = evr_block_cursor_last(&blocks, saver->options.until_ns);
  saver->cut_short |= stream->limit < head;
}

uint64_t saver_backlog(const eventring_saver *saver, const struct saver_stream *stream) {
  uint64_t head = head_of(saver, stream);
  uint64_t end = head <= stream->limit ? head : stream->limit + 1;
  return end > stream->next ? end - stream->next : 0;
}

/* ---- What a block says ------------------------------------------------------------- */

static bool is_block_of(const struct saver_stream *stream, const struct format_block *h,
                        uint64_t sequence) {
  return h->sequence == sequence && h->kind == FORMAT_EVENTS && h->domain == stream->slot &&
         h->ring == stream->ring && h->committed >= FORMAT_BLOCK_HEADER_WORDS &&
         h->committed <= FORMAT_BLOCK_WORDS && h->before < FORMAT_MAX_SEQUENCE;
}

struct extent { /* the events of a block, as its header and words say */
  uint64_t before, events, from, to; /* ticks */
};

/* Copies a complete block into saver->room. Tells whether it is valid. */
static bool take_valid(eventring_saver *saver, const struct saver_stream *stream,
                       const uint8_t *bytes) {
  struct evr_block *room = &saver->room;
  memcpy(room->words, bytes, sizeof room->words);
  const struct format_block *h = evr_block_header(room);
  room->have = evr_block_whole_length(room->words);
  return evr_block_valid(room, h->sequence, stream->slot, stream->ring,
                         saver->meta->header.start_ticks);
}

/* Returns what a block says of its events. A block that is damaged has no events. */
static struct extent extent_of(eventring_saver *saver, const struct saver_stream *stream,
                               const uint8_t *bytes) {
  const struct format_block *h = (const struct format_block *)bytes;
  struct extent extent = {h->before, 0, h->base_ticks, h->base_ticks};
  if (take_valid(saver, stream, bytes)) {
    extent.events = evr_block_events(&saver->room);
    extent.to = evr_block_newest_ticks(&saver->room);
  }
  return extent;
}

/* ---- Accounts ---------------------------------------------------------------------- */

/* Tells whether the law of saver.h holds. */
static bool is_accounted(const struct saver_stream *stream) {
  const struct eventring_saver_ring *a = &stream->account;
  return a->known + stream->recounted == a->missed + a->saved + a->lost;
}

static void raise_known(struct saver_stream *stream, const struct extent *last) {
  stream->account.known = last->before + last->events;
  stream->known_ticks = last->to;
}

/* Counts the copy of a newest block as saved: the copy stays in the file, since the whole
   block could not be copied. It may not be written yet. */
static void keep_newest(struct saver_stream *stream) {
  const struct extent last = {stream->newest.before, stream->newest.events, 0,
                              stream->newest.ticks};
  stream->account.saved += last.events;
  raise_known(stream, &last);
  stream->copied = stream->newest.sequence;
  stream->expected = 0;
  stream->kept = stream->newest;
  stream->newest.sequence = 0;
}

/* Tells whether the events before the first block of a ring were lost. They were not if
   they were overwritten before the saver began, or not wanted. */
static bool is_lost_from_start(const eventring_saver *saver, const struct saver_stream *stream) {
  const struct evr_metadata *meta = saver->meta;
  if (saver->options.since_ns) return false;
  if (evr_metadata_is_stream(meta, stream->slot, stream->ring))
    return !(meta->header.flags & FORMAT_INCOMPLETE);
  return saver->over &&
         evr_metadata_oldest(meta, stream->slot, stream->ring, head_of(saver, stream)) == 1;
}

/* Puts a block without events in front of a ring of a merged file whose first events are
   lost. Otherwise readers would count these events as missed. */
static void mark_lost_start(eventring_saver *saver, struct saver_stream *stream,
                            const struct format_block *h) {
  if (!saver->merge || stream->begun || !h->before || !is_lost_from_start(saver, stream) ||
      !have_unit(saver, stream, reserve(saver)))
    return;
  saver_merge_lost(saver, stream, h, stream->unit + stream->used++);
}

/* Counts the events between the known events and a block that is about to be counted. */
static void count_gap(eventring_saver *saver, struct saver_stream *stream, uint64_t sequence,
                      uint64_t before, uint64_t ticks) {
  if (stream->newest.sequence && stream->newest.sequence < sequence) keep_newest(stream);
  bool is_first = !stream->begun;
  stream->begun = true;
  if (is_first && !is_lost_from_start(saver, stream)) {
    stream->account.missed = before;
  } else if (before > stream->account.known) {
    stream->account.lost += before - stream->account.known;
    if (sequence != stream->expected) stream->account.gaps++;
    saver_note_loss(saver, stream, stream->known_ticks, ticks);
  } else if (before < stream->account.known) {
    stream->recounted += stream->account.known - before;
    evr_note_backwards(&saver->meta->damage, stream->slot, sequence);
  }
  /* the events in the block are added when they are saved */
  stream->account.known = before;
}

static void count_run(eventring_saver *saver, struct saver_stream *stream,
                      const uint8_t *blocks, uint32_t count) {
  const struct format_block *first = (const struct format_block *)blocks;
  struct extent last =
      extent_of(saver, stream, blocks + (count - 1) * (size_t)FORMAT_BLOCK_BYTES);
  if (last.before < first->before) last.before = first->before; /* the file is damaged */
  stream->account.saved += last.before - first->before + last.events;
  stream->account.blocks += count;
  stream->newest.sequence = 0;
  raise_known(stream, &last);
}

/* ---- A run ------------------------------------------------------------------------- */

/* Copies bytes of one run of places, without checks. */
static int copy_bytes(const struct evr_source *source, uint64_t offset, uint8_t *to,
                      size_t size, struct eventring_error *error) {
  bool lent = evr_source_lent(source);
  /* lent memory is mapped block by block */
  size_t step = lent ? FORMAT_BLOCK_BYTES : size;
  for (size_t at = 0; at < size; at += step) {
    const uint64_t *from = evr_source_words(source, offset + at, step);
    if (from && evr_source_mapped(source)) {
      evr_copy_many_words((uint64_t *)(to + at), from, step / sizeof *from);
      if (evr_source_mapped(source)) continue;
    }
    if (lent) return evr_fail(error, EVENTRING_E_TRUNCATED, 0, "not mapped");
    int status = evr_source_read_file(source, offset + at, to + at, step, error);
    if (status != EVENTRING_OK) return status;
  }
  return EVENTRING_OK;
}

/* Counts how many blocks at the beginning of a copied run were overwritten during the
   copy. */
static int count_lapped(eventring_saver *saver, struct saver_stream *stream, uint64_t offset,
                        uint32_t places, uint64_t *lapped, struct eventring_error *error) {
  uint64_t sequence, next = stream->next;
  /* R4: pairs with W2 (lane.c) */
  evr_fence_acquire();
  int status = evr_source_read(&saver->meta->source, offset, &sequence, sizeof sequence, error);
  *lapped = 0;
  /* R5. A file that nobody writes any more is not overwritten: another sequence is
     damage */
  if (status != EVENTRING_OK || sequence == next || saver->meta->over) return status;
  /* acquire fence: pairs with W1 and W4 (lane.c): the head that is read next is at least
     the number of the block before the block that was seen */
  evr_fence_acquire();
  uint64_t head = evr_metadata_head(saver->meta, stream->slot, stream->ring);
  uint64_t safe = head + 2 > places ? head + 2 - places : 1;
  *lapped = safe > next ? safe - next : 1;
  return status;
}

/* Checks a copied run of a stream, in which only the last place is used again: drops the
   last block of the run if it was overwritten during the copy. */
static int check_last(eventring_saver *saver, const struct saver_stream *stream, uint64_t offset,
                      uint32_t row, uint32_t *count, struct eventring_error *error) {
  uint64_t sequence;
  if (*count < row) return EVENTRING_OK;
  offset += (*count - 1) * (uint64_t)FORMAT_BLOCK_BYTES;
  /* R4: pairs with W2 (lane.c) */
  evr_fence_acquire();
  int status = evr_source_read(&saver->meta->source, offset, &sequence, sizeof sequence, error);
  if (status == EVENTRING_OK && sequence != stream->next + *count - 1) --*count; /* R5 */
  return status;
}

static bool is_sound(eventring_saver *saver, const struct saver_stream *stream,
                     const uint8_t *block, uint64_t sequence) {
  return is_block_of(stream, (const struct format_block *)block, sequence) &&
         (!saver->options.checked || take_valid(saver, stream, block));
}

/* Returns the least possible number of events before the block that follows the block in
   saver->room. Counting the events takes as long as checking the block, so it is done
   only when nobody writes any more. */
static uint64_t least_after(const eventring_saver *saver) {
  const struct evr_block *block = &saver->room;
  return evr_block_header(block)->before + (saver->meta->over ? evr_block_events(block) : 0);
}

/* Returns how many blocks of a copied run, from the first one on, are valid. If blocks
   are checked, a run ends before a block whose count of earlier events goes back, and
   before a gap of more events than the previous block has words. (Smaller gaps are events
   that signal handlers have dropped.) */
static uint32_t count_sound(eventring_saver *saver, const struct saver_stream *stream,
                            const uint8_t *blocks, uint32_t count) {
  uint64_t least = stream->begun ? stream->account.known : 0, most = UINT64_MAX;
  uint32_t sound = 0;
  for (; sound < count; sound++) {
    const uint8_t *block = blocks + sound * (size_t)FORMAT_BLOCK_BYTES;
    if (!is_sound(saver, stream, block, stream->next + sound)) break;
    if (!saver->options.checked) continue;
    uint64_t before = evr_block_header(&saver->room)->before;
    if ((before < least && sound) || before > most) break;
    least = least_after(saver);
    most = before + saver->room.have - evr_block_first(&saver->room);
  }
  return sound;
}

/* Shortens a run that fills units so that it ends with a unit: the next run then begins
   at a boundary, and can be written at the same time. */
static uint32_t cut_at_unit(struct saver_stream *stream, uint32_t count, bool waits) {
  uint32_t used = stream->expected == stream->next ? stream->used % FORMAT_UNIT : 0;
  uint32_t tail = (used + count) % FORMAT_UNIT;
  if (waits && used + count < FORMAT_UNIT) {
    stream->held_back = true;
    return 0;
  }
  if (used + count <= FORMAT_UNIT || tail >= count) return count;
  stream->held_back = tail != 0;
  return count - tail;
}

/* Tells whether a unit of the stream may be left unfinished for a while. */
static bool can_wait(const eventring_saver *saver, const struct saver_stream *stream) {
  uint32_t places = evr_metadata_blocks(saver->meta, stream->slot, stream->ring);
  return !saver->flushing && !saver->ending && places >= 4 * FORMAT_UNIT &&
         saver_backlog(saver, stream) <= places / 4;
}

static uint32_t length_of_run(const eventring_saver *saver, struct saver_stream *stream,
                              const struct saver_output *out, uint32_t row) {
  uint64_t count = saver_backlog(saver, stream);
  size_t room = saver_room(out);
  if (count > room) count = room;
  bool ends_row = count >= row;
  if (ends_row) count = row;
  return cut_at_unit(stream, (uint32_t)count, !ends_row && can_wait(saver, stream));
}

static void note_present(struct saver_stream *stream, uint64_t sequence) {
  if (!stream->present) stream->first = sequence;
  stream->present = true;
}

/* Skips blocks that are gone. */
static void pass_over(struct saver_stream *stream, uint64_t blocks) {
  stream->passed += blocks;
  stream->next += blocks;
  if (stream->begun && stream->passed > stream->account.longest_gap)
    stream->account.longest_gap = stream->passed;
}

/* Takes the sound blocks of a copy, which begin at `from` of the buffer. */
static void take_run(eventring_saver *saver, struct saver_stream *stream,
                     struct saver_output *out, size_t from, uint32_t count) {
  const struct format_block *h = (const struct format_block *)(out->buffer + from);
  bool goes_on = stream->expected == stream->next;
  if (!goes_on) stream->used = FORMAT_UNIT;
  mark_lost_start(saver, stream, h);
  uint32_t assigned = assign_blocks(saver, stream, out, from, count);
  if (!assigned) return;
  count_gap(saver, stream, stream->next, h->before, h->base_ticks);
  count_run(saver, stream, out->buffer + from, assigned);
  for (uint32_t i = 0; i < assigned; i++) {
    uint64_t *words = (uint64_t *)(out->buffer + from + i * (size_t)FORMAT_BLOCK_BYTES);
    saver_strip_events(saver, words, ((const struct format_block *)words)->committed);
    saver_merge_events(saver, stream, words, ((const struct format_block *)words)->committed);
  }
  stream->passed = 0;
  note_present(stream, stream->next);
  stream->next += assigned;
  stream->copied = stream->next - 1;
  stream->expected = stream->next;
  EVR_LAW(is_accounted(stream));
}

/* Tells whether a block that is not there is missing because of damage, in a file that
   nobody writes any more. */
static bool is_lacking(const eventring_saver *saver, const struct saver_stream *stream,
                       uint64_t sequence) {
  const struct evr_block_cursor at = {
      .meta = saver->meta, .slot = stream->slot, .ring = stream->ring};
  return saver->meta->over && evr_block_cursor_lacks(&at, sequence);
}

/* Skips the next block, which is missing or damaged. */
static void skip_block(eventring_saver *saver, struct saver_stream *stream,
                       const uint8_t *block) {
  uint64_t sequence = stream->next;
  stream->held_back = false; /* no end of a run is left */
  stream->account.damaged += ((const struct format_block *)block)->sequence == sequence ||
                             is_lacking(saver, stream, sequence);
  const struct evr_block_cursor at = {
      .meta = saver->meta, .slot = stream->slot, .ring = stream->ring};
  stream->next = evr_block_cursor_after(&at, sequence);
}

int saver_copy_run(eventring_saver *saver, struct saver_stream *stream,
                   struct saver_output *out, struct eventring_error *error) {
  struct evr_metadata *meta = saver->meta;
  unsigned slot = stream->slot, ring = stream->ring;
  uint32_t places = evr_metadata_blocks(meta, slot, ring);
  bool is_stream = evr_metadata_is_stream(meta, slot, ring);
  uint64_t oldest = evr_metadata_oldest(meta, slot, ring, head_of(saver, stream)), lapped = 0;
  if (stream->next < oldest) pass_over(stream, oldest - stream->next);
  if (!saver_backlog(saver, stream)) return EVENTRING_OK;
  struct evr_location place = evr_metadata_place(meta, slot, ring, stream->next);
  uint32_t count = length_of_run(saver, stream, out, place.row);
  uint8_t *to = out->buffer + out->used;
  if (!count) return EVENTRING_OK;
  int status = copy_bytes(&meta->source, place.offset, to, count * (size_t)FORMAT_BLOCK_BYTES,
                          error);                                           /* R3 */
  if (status == EVENTRING_OK)
    status = is_stream ? check_last(saver, stream, place.offset, place.row, &count, error)
                       : count_lapped(saver, stream, place.offset, places, &lapped, error);
  if (status != EVENTRING_OK) return status;
  if (lapped && ++stream->tries >= TRIES) stream->held_back = true;
  pass_over(stream, lapped);
  if (lapped && lapped >= count) return EVENTRING_OK;
  size_t from = out->used + (size_t)lapped * FORMAT_BLOCK_BYTES;
  uint32_t sound = count_sound(saver, stream, out->buffer + from, count - (uint32_t)lapped);
  if (sound) out->used += count * (size_t)FORMAT_BLOCK_BYTES;
  if (sound) take_run(saver, stream, out, from, sound);
  else skip_block(saver, stream, out->buffer + from);
  return EVENTRING_OK;
}

/* ---- The newest block -------------------------------------------------------------- */

static bool is_unchanged(const struct saver_stream *stream, uint64_t sequence,
                         const struct evr_block *block) {
  return stream->newest.sequence == sequence && stream->newest.have == block->have;
}

/* Puts a copy of the newest block where the whole block will lie. */
static void put_newest(eventring_saver *saver, struct saver_stream *stream,
                       struct saver_output *out, uint64_t sequence) {
  struct evr_block *block = &saver->room;
  const struct format_block *h = evr_block_header(block);
  if (stream->expected != sequence) stream->used = FORMAT_UNIT;
  mark_lost_start(saver, stream, h);
  if (!have_unit(saver, stream, saver->ending ? 0 : reserve(saver))) return;
  count_gap(saver, stream, sequence, h->before, h->base_ticks);
  stream->passed = 0;
  note_present(stream, sequence);
  stream->next = stream->expected = sequence;
  stream->newest.sequence = sequence;
  stream->newest.before = h->before;
  stream->newest.events = evr_block_events(block);
  stream->newest.ticks = evr_block_newest_ticks(block);
  stream->newest.have = block->have;
  uint64_t *to = (uint64_t *)(out->buffer + out->used);
  memcpy(to, block->words, block->have * sizeof *to);
  memset(to + block->have, 0, (FORMAT_BLOCK_WORDS - block->have) * sizeof *to);
  to[FORMAT_SEAL_WORD] = evr_seal(block->have, evr_checksum(to, block->have));
  saver_strip_events(saver, to, block->have);
  saver_merge_events(saver, stream, to, block->have);
  saver_add_piece(out, format_block_offset(stream->unit + stream->used), out->used,
                  FORMAT_BLOCK_BYTES, EVENTRING_PIECE_NEWEST);
  out->used += FORMAT_BLOCK_BYTES;
}

/* Puts zeros over the copy of a newest block that goes into the next file. */
static void take_out_newest(struct saver_stream *stream, struct saver_output *out) {
  if (!stream->newest.sequence) return;
  memset(out->buffer + out->used, 0, FORMAT_BLOCK_BYTES);
  saver_add_piece(out, format_block_offset(stream->unit + stream->used), out->used,
                  FORMAT_BLOCK_BYTES, EVENTRING_PIECE_NEWEST);
  out->used += FORMAT_BLOCK_BYTES;
}

/* Notes that the zeros of take_out_newest are in the file. */
static void confirm_taken_out(eventring_saver *saver, uint64_t offset) {
  for (unsigned n = 0; saver->withdrawn && n < saver->made_count; n++) {
    struct saver_stream *stream = saver->stream[saver->made[n]];
    if (format_block_offset(stream->unit + stream->used) == offset) stream->newest.sequence = 0;
  }
}

int saver_copy_newest(eventring_saver *saver, struct saver_stream *stream,
                      struct saver_output *out, struct eventring_error *error) {
  if (saver->handed_on) {
    if (saver->withdrawn) take_out_newest(stream, out);
    return EVENTRING_OK;
  }
  struct evr_metadata *meta = saver->meta;
  unsigned slot = stream->slot, ring = stream->ring;
  uint64_t head = head_of(saver, stream);
  uint64_t sequence = head < stream->limit ? head : stream->limit;
  if (!sequence || stream->next != sequence || saver_backlog(saver, stream)) return EVENTRING_OK;
  enum evr_read result =
      evr_block_copy(&meta->source, evr_metadata_place(meta, slot, ring, sequence).offset,
                     sequence, slot, ring, meta->header.start_ticks, sequence < head,
                     saver->over, &saver->room, error);
  if (result == EVR_READ_FAILED) return error->code;
  if (saver->ending && (result == EVR_READ_CORRUPT ||
                        (result == EVR_READ_GONE && is_lacking(saver, stream, sequence))))
    stream->account.damaged++;
  if (result == EVR_READ_OK && !is_unchanged(stream, sequence, &saver->room))
    put_newest(saver, stream, out, sequence);
  if (saver->ending && stream->newest.sequence) {
    keep_newest(stream);
    stream->next++; /* the rest of the block is not copied */
  }
  EVR_LAW(is_accounted(stream));
  return EVENTRING_OK;
}

/* ---- What could not be written ----------------------------------------------------- */

struct lost_run { /* blocks of one ring that follow one another */
  struct saver_stream *stream;
  uint64_t first, last; /* sequences */
  uint64_t events, from, to; /* ticks */
  bool begun_before; /* an earlier copy of the first block is in the file */
};

/* Notes blocks at the end of a ring that are lost, so that no head shows them. */
static void note_lost_end(struct saver_stream *stream, uint64_t first, uint64_t last) {
  if (stream->lost_from && last + 1 == stream->lost_from) {
    stream->lost_from = first;
  } else if (stream->lost_from && first == stream->lost_to + 1) {
    stream->lost_to = last;
  } else if (first > stream->lost_to) {
    stream->lost_from = first;
    stream->lost_to = last;
  }
}

static void count_lost_run(eventring_saver *saver, const struct lost_run *run) {
  struct saver_stream *stream = run->stream;
  if (!stream) return;
  stream->account.saved -= run->events;
  stream->account.lost += run->events;
  stream->account.unwritten += run->events;
  EVR_LAW(is_accounted(stream));
  uint64_t first = run->first + run->begun_before;
  if (first <= run->last) note_lost_end(stream, first, run->last);
  saver_note_loss(saver, stream, run->from, run->to);
}

/* Returns the copy of block `sequence` that was put into the file when it was the newest
   block, or NULL. */
static struct saver_newest *copy_of(struct saver_stream *stream, uint64_t sequence) {
  for (unsigned i = 0; i < 2; i++)
    if (stream->copy[i].sequence == sequence) return &stream->copy[i];
  return NULL;
}

/* Adds a block to a run of lost blocks, or begins the next run. Events in an earlier copy
   of the block, made when it was the newest block, are not lost. */
static void lose_block(eventring_saver *saver, struct lost_run *run,
                       struct saver_stream *stream, const uint8_t *bytes) {
  struct extent extent = extent_of(saver, stream, bytes);
  uint64_t sequence = ((const struct format_block *)bytes)->sequence;
  const struct saver_newest *copy = copy_of(stream, sequence);
  if (copy && copy->events <= extent.events) {
    extent.events -= copy->events;
    extent.from = copy->ticks;
  }
  if (run->stream == stream && sequence == run->last + 1 && !copy) {
    run->last = sequence;
    run->events += extent.events;
    run->to = extent.to;
    return;
  }
  count_lost_run(saver, run);
  *run = (struct lost_run){stream,      sequence,  sequence, extent.events,
                           extent.from, extent.to, copy != NULL};
}

/* Lets the stream begin a new unit after a missing block. If the unit ends with a copy of
   a newest block, the stream continues the unit, because the whole block replaces that
   copy. */
static void leave_unit(struct saver_stream *stream, uint64_t offset) {
  uint64_t unit = format_block_offset(stream->unit);
  bool is_in_unit = stream->used && offset >= unit && offset < unit + SAVER_UNIT_BYTES;
  if (is_in_unit && !stream->newest.sequence) stream->expected = 0;
}

void saver_confirm_newest(eventring_saver *saver, const uint8_t *block, uint64_t offset) {
  const struct format_block *h = (const struct format_block *)block;
  if (!h->sequence) {
    confirm_taken_out(saver, offset);
    return;
  }
  struct saver_stream *stream = saver->stream[h->domain * EVENTRING_RINGS + h->ring];
  struct extent extent = extent_of(saver, stream, block);
  if (stream->copy[0].sequence != h->sequence) stream->copy[1] = stream->copy[0];
  stream->copy[0] = (struct saver_newest){h->sequence, extent.before, extent.events, extent.to,
                                          h->committed};
}

static bool is_copy(const struct saver_newest *newest, const struct format_block *h) {
  return newest->sequence == h->sequence && newest->have == h->committed;
}

/* Falls back to an earlier copy of a newest block when the present copy was not written.
   If the write was interrupted in the middle of the block, the earlier copy is destroyed
   (saver_lose_blocks has forgotten it). A later copy may still be written. */
static void lose_newest(struct saver_stream *stream, const struct format_block *h) {
  if (!is_copy(&stream->newest, h)) return;
  const struct saver_newest *copy = copy_of(stream, h->sequence);
  stream->newest = copy ? *copy : (struct saver_newest){0};
}

void saver_lose_blocks(eventring_saver *saver, const uint8_t *blocks, uint64_t offset,
                       size_t size, bool newest, bool in_part) {
  struct lost_run run = {0};
  for (size_t at = 0; at + FORMAT_BLOCK_BYTES <= size; at += FORMAT_BLOCK_BYTES) {
    const struct format_block *h = (const struct format_block *)(blocks + at);
    if (!h->sequence) continue; /* zeros that replace the copy of a newest block */
    struct saver_stream *stream =
        /* the header was checked when the block was copied */
        saver->stream[h->domain * EVENTRING_RINGS + h->ring];
    struct saver_newest *copy = in_part && !at ? copy_of(stream, h->sequence) : NULL;
    if (copy) copy->sequence = 0;
    if (!newest || is_copy(&stream->kept, h)) lose_block(saver, &run, stream, blocks + at);
    if (newest) lose_newest(stream, h);
    else leave_unit(stream, offset + at);
  }
  count_lost_run(saver, &run);
}
