/* SPDX-License-Identifier: MIT */
/* mend_blocks.c: the blocks of a damaged file, each by what it says of itself (mend.c). */
#include "reader/mend_scan.h"

#include <stdlib.h>
#include <string.h>

#include "format/array.h"
#include "format/checksum.h"

enum {
  MOST_UNFINISHED = 1 << 16,
  MOST_TRIED = 2048 /* blocks of records: 2 ms each */
};

static int no_memory(struct evr_scan *s) {
  return evr_fail(s->error, EVENTRING_E_MEMORY, 0, "no memory to repair a file");
}

/* ---- A checksum that becomes right --------------------------------------------------- */

static bool is_one_byte(uint32_t bits) {
  unsigned bytes = 0;
  for (unsigned shift = 0; shift < 32; shift += 8) bytes += (bits >> shift & 0xff) != 0;
  return bytes == 1;
}

bool evr_mend_byte(uint64_t *words, uint32_t count, uint32_t skip, uint64_t fixed,
                   uint32_t *checksum) {
  struct evr_sums sums = {0, 0};
  uint64_t found_delta = 0;
  uint32_t found_at = 0;
  evr_sums_add(&sums, words, count);
  uint32_t now = evr_sums_checksum(&sums), found = is_one_byte(now ^ *checksum);
  for (uint32_t i = 0; i < count; i++)
    for (unsigned shift = 0; shift < 64; shift += 8) {
      if (i == skip && fixed >> shift & 0xff) continue;
      for (uint64_t value = 0; value < 256; value++) {
        uint64_t delta = (value << shift) - (words[i] & (uint64_t)0xff << shift);
        struct evr_sums other = {sums.plain + delta, sums.weighted + (count - i) * delta};
        if (evr_sums_checksum(&other) != *checksum || !delta) continue;
        found_at = i, found_delta = delta, found++;
      }
    }
  if (found != 1) return false;
  if (!found_delta) *checksum = now;
  words[found_at] += found_delta;
  return true;
}

/* ---- Blocks of events ---------------------------------------------------------------- */

static bool is_of_a_ring(const struct format_block *h) {
  return h->domain < EVENTRING_MAX_DOMAINS && h->ring < EVENTRING_RINGS && h->sequence &&
         h->sequence <= FORMAT_MAX_SEQUENCE;
}

static int take_sound(struct evr_scan *s, const struct format_block *h, uint64_t block) {
  uint64_t *head = &s->mended->head[h->domain][h->ring];
  if (h->sequence > *head) *head = h->sequence;
  return evr_units_add(&s->mended->units, h->domain, h->ring, h->sequence, (uint32_t)block,
                       s->error);
}

/* Of the block in which the file ends: the events before its end, as a finished block. */
static bool seal_cut_block(struct evr_scan *s, uint64_t *words, uint64_t block) {
  struct format_block *h = (struct format_block *)words;
  uint64_t there = s->file_bytes - format_block_offset(block);
  uint32_t limit = (uint32_t)(there / 8), at = evr_first_event(words);
  if (there >= FORMAT_BLOCK_BYTES || at > limit) return false;
  while (at < limit && word_kind(words[at]) && at + 1 + word_length(words[at]) <= limit)
    at += 1 + word_length(words[at]);
  memset(words + at, 0, (FORMAT_BLOCK_WORDS - at) * sizeof *words);
  h->committed = h->checksum = 0;
  words[FORMAT_SEAL_WORD] = evr_seal(at, evr_checksum(words, at));
  return true;
}

static bool is_valid(struct evr_scan *s, const uint64_t *words) {
  const struct format_block *h = (const struct format_block *)words;
  struct evr_block room;
  memcpy(room.words, words, sizeof room.words);
  room.have = h->committed;
  return h->committed >= FORMAT_BLOCK_HEADER_WORDS && h->committed <= FORMAT_BLOCK_WORDS &&
         (h->committed == FORMAT_BLOCK_WORDS || !words[h->committed]) &&
         evr_block_valid(&room, h->sequence, h->domain, h->ring, s->start_ticks);
}

/* A file has as many as it has rings at most, but for damage. */
static int note_unfinished(struct evr_scan *s, const struct format_block *h, uint64_t block) {
  if (s->unfinished_count == MOST_UNFINISHED) {
    s->report->damaged_events++;
    return EVENTRING_OK;
  }
  if (!evr_make_room(&s->unfinished, &s->unfinished_room, s->unfinished_count, 64,
                     sizeof *s->unfinished))
    return no_memory(s);
  s->unfinished[s->unfinished_count++] =
      (struct evr_unfinished){h->sequence, (uint32_t)block, h->domain, h->ring};
  return EVENTRING_OK;
}

static bool is_damaged_record(struct evr_scan *s, uint64_t *words);
static int take_known_records(struct evr_scan *s, uint64_t *words, uint64_t block);

static int take_events(struct evr_scan *s, uint64_t *words, uint64_t block) {
  const struct format_block *h = (const struct format_block *)words;
  if (!is_of_a_ring(h)) {
    s->report->damaged_events++;
    return EVENTRING_OK;
  }
  if (!h->committed && format_block_offset(block + 1) <= s->file_bytes)
    return note_unfinished(s, h, block);
  if (is_valid(s, words)) return take_sound(s, h, block);
  if (is_damaged_record(s, words)) return take_known_records(s, words, block);
  s->report->damaged_events++;
  if (!evr_mended_has_room(s) || !seal_cut_block(s, words, block) || !is_valid(s, words))
    return EVENTRING_OK;
  int status = evr_mended_patch(s, block, words);
  return status == EVENTRING_OK ? take_sound(s, h, block) : status;
}

static bool is_readable(struct evr_scan *s, const struct evr_unfinished *u) {
  struct evr_block room;
  return evr_block_copy(&s->mended->file, format_block_offset(u->block), u->sequence, u->slot,
                        u->ring, s->start_ticks, false, true, &room, s->error) == EVR_READ_OK;
}

/* May a ring without finished blocks have this one? Its number of a domain may be damaged. */
static bool may_be_first(struct evr_scan *s, const struct evr_unfinished *u) {
  uint64_t known = evr_mended_domains(s->mended)[u->slot].incarnation;
  for (unsigned ring = 0; ring < EVENTRING_RINGS; ring++) known |= s->mended->head[u->slot][ring];
  return known || u->sequence == 1;
}

/* The unfinished blocks that are the head of their ring in the front, or that follow the newest
   finished one. */
static int take_newest(struct evr_scan *s, bool by_front) {
  int status = EVENTRING_OK;
  for (uint32_t i = 0; status == EVENTRING_OK && i < s->unfinished_count; i++) {
    struct evr_unfinished *u = &s->unfinished[i];
    uint64_t head = s->mended->head[u->slot][u->ring];
    uint64_t front = evr_mended_domains(s->mended)[u->slot].ring[u->ring].head;
    bool is_newest = u->sequence > head && !s->has_newest[u->slot][u->ring] &&
                     (by_front ? u->sequence == front
                      : head ? u->sequence == head + 1 : may_be_first(s, u));
    if (!is_newest || !is_readable(s, u)) continue;
    const struct format_block h = {.sequence = u->sequence, .domain = u->slot, .ring = u->ring};
    status = take_sound(s, &h, u->block);
    s->has_newest[u->slot][u->ring] = true;
    u->sequence = 0;
  }
  return status;
}

/* When all other blocks are known. */
static int take_unfinished(struct evr_scan *s) {
  int status = take_newest(s, true);
  if (status == EVENTRING_OK) status = take_newest(s, false);
  for (uint32_t i = 0; i < s->unfinished_count; i++)
    s->report->damaged_events += s->unfinished[i].sequence != 0;
  return status;
}

/* ---- The clock ----------------------------------------------------------------------- */

enum { SEGMENT_WORDS = sizeof(struct format_segment) / 8,
       MOST_SEGMENTS = (FORMAT_BLOCK_WORDS - FORMAT_BLOCK_HEADER_WORDS) / SEGMENT_WORDS };

static bool is_about(uint64_t value, uint64_t other) {
  uint64_t apart = value > other ? value - other : other - value;
  return apart <= other / 16;
}

/* The rate from one segment to the next; 0: the two cannot follow each other. */
static uint64_t rate_between(const struct format_segment *from, const struct format_segment *to) {
  return evr_clock_measured((struct evr_pair){from->from_ticks, from->from_ns},
                            (struct evr_pair){to->from_ticks, to->from_ns});
}

/* Clocks change their rate a little. */
static bool may_follow(const struct format_segment *before, const struct format_segment *next) {
  return evr_segment_valid(next, before) &&
         is_about(rate_between(before, next), before->multiplier);
}

/* The segments of a block, at most MOST_SEGMENTS; those that are not possible get the
   multiplier 0. */
static unsigned read_segments(const uint64_t *words, uint32_t end, struct format_segment *to) {
  unsigned count = 0;
  for (uint32_t at = FORMAT_BLOCK_HEADER_WORDS; at < end; at += record_words(words[at])) {
    if (record_words(words[at]) < SEGMENT_WORDS || count == MOST_SEGMENTS) continue;
    memcpy(&to[count], words + at, sizeof to[count]);
    to[count].first = format_record(SEGMENT_WORDS, 1, 0);
    if (!evr_segment_valid(&to[count], NULL)) to[count].multiplier = 0;
    count++;
  }
  return count;
}

/* The first segment begins where the header, which is right, says. Its rate may be damaged, too:
   the next segment that is sound says about what it was. Multiplier 0: nothing says it. */
static struct format_segment make_first(const struct format_header *h,
                                        const struct format_segment *said, unsigned count) {
  struct format_segment first = {format_record(SEGMENT_WORDS, 1, 0), h->start_ticks, h->start_ns,
                                 count ? said[0].multiplier : 0};
  uint64_t rate = 0;
  for (unsigned i = 1; i < count && !rate; i++)
    if (said[i].multiplier) rate = rate_between(&first, &said[i]);
  if (h->clock == FORMAT_CLOCK_MONOTONIC) first.multiplier = (uint64_t)1 << FORMAT_CLOCK_SHIFT;
  else if (rate && !is_about(rate, first.multiplier)) first.multiplier = rate;
  return first;
}

/* Keeps the segments of a damaged block that may follow each other. Returns where they end. */
static uint32_t keep_segments(struct evr_scan *s, uint64_t *words, uint32_t end) {
  const struct format_block *h = (const struct format_block *)words;
  struct format_segment said[MOST_SEGMENTS];
  unsigned count = read_segments(words, end, said);
  uint32_t to = FORMAT_BLOCK_HEADER_WORDS;
  const struct format_segment *last = NULL;
  if (count && h->sequence == 1 && !s->report->header_doubtful)
    said[0] = make_first(evr_mended_header(s->mended), said, count);
  for (unsigned i = 0; i < count; i++) {
    if (last ? !may_follow(last, &said[i]) : !evr_segment_valid(&said[i], NULL)) continue;
    last = &said[i];
    memcpy(words + to, last, sizeof *last);
    to += SEGMENT_WORDS;
  }
  memset(words + to, 0, (FORMAT_BLOCK_WORDS - to) * sizeof *words);
  return to;
}

/* ---- Blocks of records --------------------------------------------------------------- */

/* Leaves out the records that are not valid, and says how long the rest is. */
static uint32_t drop_invalid(uint64_t *words, uint32_t end, unsigned kind) {
  uint32_t to = FORMAT_BLOCK_HEADER_WORDS, next;
  for (uint32_t at = to; at < end; at = next) {
    unsigned count = record_words(words[at]);
    next = at + count;
    if (!evr_record_is_valid(kind, words + at, count)) continue;
    memmove(words + to, words + at, count * sizeof *words);
    to += count;
  }
  memset(words + to, 0, (FORMAT_BLOCK_WORDS - to) * sizeof *words);
  return to;
}

static void seal(uint64_t *words, uint32_t end) {
  memset(words + end, 0, (FORMAT_BLOCK_WORDS - end) * sizeof *words);
  words[FORMAT_SEAL_WORD] = evr_seal(end, evr_checksum(words, end));
}

/* Of a finished block: either checksum, or one byte. */
static bool mend_finished(uint64_t *words, uint32_t end) {
  uint64_t said = words[FORMAT_SEAL_WORD];
  uint32_t count = (uint32_t)said;
  words[FORMAT_SEAL_WORD] = 0;
  uint32_t so_far = (uint32_t)words[FORMAT_SO_FAR_WORD];
  if (so_far && so_far == end && evr_records_vouched_for(words, end)) {
    seal(words, end);
    return true;
  }
  uint32_t checksum = (uint32_t)(said >> 32);
  bool mended = count >= FORMAT_BLOCK_HEADER_WORDS && count <= FORMAT_BLOCK_WORDS &&
                evr_mend_byte(words, count, FORMAT_SEAL_WORD, UINT64_MAX, &checksum);
  words[FORMAT_SEAL_WORD] = evr_seal(count, checksum);
  return mended;
}

static bool mend_unfinished(uint64_t *words) {
  uint64_t said = words[FORMAT_SO_FAR_WORD];
  uint32_t count = (uint32_t)said, checksum = (uint32_t)(said >> 32);
  if (count < FORMAT_BLOCK_HEADER_WORDS || count > FORMAT_BLOCK_WORDS) return false;
  words[FORMAT_SO_FAR_WORD] = words[FORMAT_SEAL_WORD] = 0;
  bool mended = evr_mend_byte(words, count, FORMAT_SO_FAR_WORD, UINT64_MAX, &checksum);
  words[FORMAT_SO_FAR_WORD] = evr_seal(count, checksum);
  return mended;
}

static bool records_hold(uint64_t *words, uint32_t end, bool sound) {
  return sound && evr_records_valid(words, end, sound) && evr_records_vouched_for(words, end);
}

static uint32_t end_of_records(const uint64_t *words, bool *sound) {
  *sound = true;
  return evr_records_walk(words, sound);
}

/* Puts a damaged block right, as far as it says enough. */
static int mend_records(struct evr_scan *s, uint64_t *words, uint64_t block) {
  struct format_block *h = (struct format_block *)words;
  bool sound;
  uint32_t end = end_of_records(words, &sound);
  if (records_hold(words, end, sound)) return EVENTRING_OK;
  bool finished = h->committed != 0, mended = false;
  if (evr_mended_has_room(s) && s->tried++ < MOST_TRIED) /* each takes milliseconds */
    mended = finished ? mend_finished(words, end) : mend_unfinished(words);
  end = end_of_records(words, &sound);
  if (mended && records_hold(words, end, sound)) {
    s->report->mended_records++;
    return evr_mended_patch(s, block, words);
  }
  s->report->damaged_records++;
  if (finished && h->kind != FORMAT_CLOCK) return evr_mended_patch(s, block, NULL);
  end = h->kind == FORMAT_CLOCK ? keep_segments(s, words, end)
                                : drop_invalid(words, end, h->kind);
  words[FORMAT_SO_FAR_WORD] = 0;
  seal(words, end);
  return evr_mended_patch(s, block, words);
}

static void note_clock(struct evr_scan *s, const uint64_t *words, bool is_sound) {
  const struct format_block *h = (const struct format_block *)words;
  if (h->kind != FORMAT_CLOCK || !words[FORMAT_BLOCK_HEADER_WORDS]) return;
  s->has_clock = true;
  if (h->sequence == 1 && (is_sound || !s->first.multiplier))
    memcpy(&s->first, words + FORMAT_BLOCK_HEADER_WORDS, sizeof s->first);
}

/* Where the block with this key is in the table, or belongs. */
static uint64_t *place_of_key(const uint64_t *table, uint32_t room, uint64_t key) {
  uint32_t i = (uint32_t)(key * 0x9e3779b97f4a7c15u >> 32) & (room - 1);
  while (table[i] && table[i] != key) i = (i + 1) & (room - 1);
  return (uint64_t *)table + i;
}

static bool grow_table(struct evr_scan *s) {
  uint32_t room = s->records_room ? 2 * s->records_room : 256;
  uint64_t *table = calloc(room, sizeof *table);
  if (!table) return false;
  for (uint32_t i = 0; i < s->records_room; i++)
    if (s->records[i]) *place_of_key(table, room, s->records[i]) = s->records[i];
  free(s->records);
  s->records = table;
  s->records_room = room;
  return true;
}

static bool take_key(struct evr_scan *s, const struct format_block *h, bool *is_twice) {
  uint64_t key = h->sequence << 8 | h->kind;
  if (2 * s->records_count >= s->records_room && !grow_table(s)) return false;
  uint64_t *place = place_of_key(s->records, s->records_room, key);
  *is_twice = *place != 0;
  s->records_count += !*is_twice;
  *place = key;
  return true;
}

/* Has the last patch this block? */
static struct evr_patch *patch_of(struct evr_scan *s, uint64_t block) {
  struct evr_mended *m = s->mended;
  struct evr_patch *last = m->patch_count ? &m->patches[m->patch_count - 1] : NULL;
  return last && last->block == block ? last : NULL;
}

static void leave_out(struct evr_patch *patch) {
  free(patch->words);
  patch->words = NULL;
}

/* A block of records that is sound, perhaps by its patch. If one of this kind and number is there
   already, one of the two was copied to where it does not belong. */
static int leave_out_second(struct evr_scan *s, const struct format_block *h, uint64_t block) {
  struct evr_patch *patch = patch_of(s, block);
  bool is_twice;
  if (format_is_in_place(h->kind)) return EVENTRING_OK;
  if (!take_key(s, h, &is_twice)) return no_memory(s);
  if (!is_twice) return EVENTRING_OK;
  s->report->damaged_records++;
  if (!patch) return evr_mended_patch(s, block, NULL);
  leave_out(patch);
  return EVENTRING_OK;
}

/* When all are known: of those that are not sound, only what no other one has. */
static int leave_out_doubtful(struct evr_scan *s) {
  struct evr_mended *m = s->mended;
  for (uint32_t i = 0; i < m->patch_count; i++) {
    struct evr_patch *patch = &m->patches[i];
    bool is_twice;
    if (!patch->is_doubtful || !patch->words) continue;
    const struct format_block *h = (const struct format_block *)patch->words;
    if (format_is_in_place(h->kind)) continue;
    if (!take_key(s, h, &is_twice)) return no_memory(s);
    if (is_twice) leave_out(patch);
  }
  return EVENTRING_OK;
}

static int take_records(struct evr_scan *s, uint64_t *words, uint64_t block) {
  struct evr_unit_list *units = &s->mended->units.records;
  uint32_t unit = (uint32_t)(block - block % FORMAT_UNIT);
  uint64_t damaged = s->report->damaged_records;
  int status = mend_records(s, words, block);
  bool is_sound = s->report->damaged_records == damaged;
  if (status == EVENTRING_OK && is_sound)
    status = leave_out_second(s, (const struct format_block *)words, block);
  if (status != EVENTRING_OK) return status;
  struct evr_patch *patch = patch_of(s, block);
  if (patch) patch->is_doubtful = !is_sound;
  if (!patch || patch->words) note_clock(s, words, is_sound);
  if (units->count && units->block[units->count - 1] == unit) return EVENTRING_OK;
  return evr_units_add_records(&s->mended->units, unit, s->error);
}

/* ---- All blocks ---------------------------------------------------------------------- */

/* A block of records of which the one damaged byte is in what says that it is one. */
static bool is_damaged_record(struct evr_scan *s, uint64_t *words) {
  uint64_t copy[FORMAT_BLOCK_WORDS];
  const struct format_block *h = (const struct format_block *)copy;
  bool sound;
  memcpy(copy, words, sizeof copy);
  if (!evr_mended_has_room(s) || s->tried >= MOST_TRIED) return false;
  s->tried++;
  if (!(h->committed ? mend_finished(copy, 0) : mend_unfinished(copy))) return false;
  uint32_t end = end_of_records(copy, &sound);
  return h->sequence && evr_kind_is_known(h->kind) && h->kind != FORMAT_EVENTS &&
         records_hold(copy, end, sound);
}

/* Only in a unit with records somebody looks at it. */
static int pass_over_unknown(struct evr_scan *s, uint64_t block) {
  const struct evr_unit_list *units = &s->mended->units.records;
  uint64_t unit = block - block % FORMAT_UNIT;
  s->report->damaged_events++;
  if (units->count && units->block[units->count - 1] == unit)
    return evr_mended_patch(s, block, NULL);
  if (s->unknown_count && s->unknown[0] / FORMAT_UNIT != unit / FORMAT_UNIT) s->unknown_count = 0;
  s->unknown[s->unknown_count++] = block;
  return EVENTRING_OK;
}

/* A unit has records: what was passed over in it must not be seen. */
static int patch_unknown(struct evr_scan *s, uint64_t block) {
  int status = EVENTRING_OK;
  for (unsigned i = 0; i < s->unknown_count && status == EVENTRING_OK; i++)
    if (s->unknown[i] / FORMAT_UNIT == block / FORMAT_UNIT)
      status = evr_mended_patch(s, s->unknown[i], NULL);
  s->unknown_count = 0;
  return status;
}

static int take_known_records(struct evr_scan *s, uint64_t *words, uint64_t block) {
  int status = patch_unknown(s, block);
  return status == EVENTRING_OK ? take_records(s, words, block) : status;
}

static int take_block(struct evr_scan *s, uint64_t *words, uint64_t block) {
  const struct format_block *h = (const struct format_block *)words;
  bool may_be_record = words[FORMAT_SEAL_WORD] || words[FORMAT_SO_FAR_WORD];
  if (h->sequence && h->kind == FORMAT_EVENTS) return take_events(s, words, block);
  if ((h->sequence && evr_kind_is_known(h->kind)) ||
      (may_be_record && is_damaged_record(s, words)))
    return take_known_records(s, words, block);
  if (h->sequence) return pass_over_unknown(s, block); /* of no kind that a producer writes */
  s->report->damaged_events += s->ended && h->committed;
  return EVENTRING_OK;
}

/* Where another file begins behind this one, it is not of this one. */
static bool is_another_file(const struct evr_scan *s, const uint64_t *words) {
  return words[0] == ((const uint64_t *)s->mended->front)[0];
}

int evr_mend_blocks(struct evr_scan *s) {
  int status = EVENTRING_OK;
  for (uint64_t at = 0; status == EVENTRING_OK && at < s->blocks; at += EVR_MEND_AHEAD) {
    if (evr_source_is_hole(&s->mended->file, format_block_offset(at),
                           EVR_MEND_AHEAD * (size_t)FORMAT_BLOCK_BYTES))
      continue;
    uint64_t count = s->blocks - at < EVR_MEND_AHEAD ? s->blocks - at : EVR_MEND_AHEAD;
    status = evr_source_read_padded(&s->mended->file, format_block_offset(at), s->words,
                                    count * FORMAT_BLOCK_BYTES, s->error);
    for (uint64_t i = 0; status == EVENTRING_OK && i < count && at + i < s->blocks; i++) {
      if (is_another_file(s, s->words[i])) s->blocks = at + i;
      else status = take_block(s, s->words[i], at + i);
    }
  }
  if (status == EVENTRING_OK) status = leave_out_doubtful(s);
  if (status == EVENTRING_OK) status = take_unfinished(s);
  if (status == EVENTRING_OK) s->report->damaged_events += evr_units_sort(&s->mended->units);
  return status;
}

/* A clock that is all the header says, in a block behind those of the file. */
int evr_mend_clock(struct evr_scan *s) {
  uint64_t words[FORMAT_BLOCK_WORDS] = {0};
  const struct format_header *h = evr_mended_header(s->mended);
  struct format_block *block = (struct format_block *)words;
  const struct format_segment segment = {format_record(sizeof segment / 8, 1, 0), h->start_ticks,
                                         h->start_ns, (uint64_t)1 << FORMAT_CLOCK_SHIFT};
  s->report->clock_made = true;
  block->sequence = 1;
  block->kind = FORMAT_CLOCK;
  memcpy(words + FORMAT_BLOCK_HEADER_WORDS, &segment, sizeof segment);
  seal(words, FORMAT_BLOCK_HEADER_WORDS + sizeof segment / 8);
  uint64_t unit = (s->blocks + FORMAT_UNIT - 1) / FORMAT_UNIT * FORMAT_UNIT;
  s->blocks = unit + FORMAT_UNIT;
  int status = evr_mended_patch(s, unit, words);
  return status == EVENTRING_OK
             ? evr_units_add_records(&s->mended->units, (uint32_t)unit, s->error) : status;
}
