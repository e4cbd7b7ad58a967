/* SPDX-License-Identifier: MIT */
/* saver_records.c: the records of a recording, copied; and when anything was lost.
 *
 * Blocks of records are the claimed blocks in no ring (record_scan.c says more). Each has
 * a block of its own in the file, where a longer copy replaces a shorter one. When the
 * producer uses such a block again, for a kind whose oldest block is reused, the copy of
 * the old block stays and the new one gets another block of the file. So the file has all
 * lives of domains. Blocks of heap profiles, which are rewritten all the time, keep
 * theirs. Blocks of profiles of calls use two in turn: while one is used for a newer
 * profile, which may not be whole yet, the copy of the previous profile stays in the
 * other.
 *
 * A block that is being filled is copied with its words so far and their checksum; at the
 * end the copy is sealed, as in a snapshot. A damaged block is copied with its damage,
 * and never sealed; if copies are checked, only the part that readers use is copied.
 *
 * Losses are known from `before` of the blocks. A list of intervals is kept here, whose
 * union is the time in which anything was lost. */
#include "reader/saver.h"

#include <string.h>

#include "format/array.h"
#include "format/checksum.h"

/* ---- Blocks of records ------------------------------------------------------------- */

static int list_block(eventring_saver *saver, uint64_t block, struct eventring_error *error) {
  if (!EVR_MAKE_ROOM(saver->records, saver->record_room, saver->record_count, 64))
    return evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for records");
  saver->records[saver->record_count++] = (struct saver_block){.block = (uint32_t)block};
  return EVENTRING_OK;
}

/* Removes from the list the blocks that are now known to belong to a ring. */
static void drop_blocks_of_rings(eventring_saver *saver) {
  uint32_t kept = 0;
  if (saver->record_runs == saver->meta->run_count) return;
  for (uint32_t i = 0; i < saver->record_count; i++) {
    const struct saver_block *b = &saver->records[i];
    if (b->sequence || !evr_metadata_run_end(saver->meta, b->block)) saver->records[kept++] = *b;
  }
  saver->record_count = kept;
  saver->record_runs = saver->meta->run_count;
}

static int list_units(eventring_saver *saver, struct eventring_error *error) {
  const struct evr_unit_list *units = &saver->meta->units.records;
  for (; saver->record_next < units->count && saver->record_count < EVR_MOST_LOOSE_BLOCKS;
       saver->record_next++)
    for (uint32_t k = 0; k < FORMAT_UNIT; k++) {
      int status = list_block(saver, units->block[saver->record_next] + (uint64_t)k, error);
      if (status != EVENTRING_OK) return status;
    }
  return EVENTRING_OK;
}

int saver_list_records(eventring_saver *saver, struct eventring_error *error) {
  const struct evr_metadata *meta = saver->meta;
  if (evr_metadata_has_streams(meta)) return list_units(saver, error);
  drop_blocks_of_rings(saver);
  while (saver->record_next < meta->status.claimed &&
         saver->record_count < EVR_MOST_LOOSE_BLOCKS) {
    uint64_t end = evr_metadata_run_end(meta, saver->record_next);
    int status = end ? EVENTRING_OK : list_block(saver, saver->record_next, error);
    if (status != EVENTRING_OK) return status;
    saver->record_next = end ? end : saver->record_next + 1;
  }
  return EVENTRING_OK;
}

bool saver_claim_block(eventring_saver *saver, uint64_t *block) {
  if (saver->record_used == FORMAT_UNIT) {
    if (!saver_claim(saver, 0, &saver->record_unit)) return false;
    saver->record_used = 0;
  }
  *block = saver->record_unit + saver->record_used++;
  return true;
}

/* Gives another block of the file to a block of the recording that has been used again
   since it was copied to b->copy. Returns false if there is none. */
static bool claim_again(eventring_saver *saver, struct saver_block *b,
                        const struct format_block *h) {
  const bool takes_turns = b->sequence && b->kind == FORMAT_PROFILES && h->kind == FORMAT_PROFILES;
  const struct saver_block before = *b;
  uint64_t copy = before.former;
  if (!(takes_turns && before.has_former) && !saver_claim_block(saver, &copy)) return false;
  *b = (struct saver_block){.block = before.block, .copy = (uint32_t)copy,
                            .former = before.copy, .has_former = takes_turns,
                            .sequence = h->sequence, .kind = h->kind};
  return true;
}

void saver_put_block(struct saver_output *out, const uint64_t *words, uint32_t end,
                     uint64_t block) {
  uint64_t *to = (uint64_t *)(out->buffer + out->used);
  memcpy(to, words, end * sizeof *to);
  memset(to + end, 0, (FORMAT_BLOCK_WORDS - end) * sizeof *to);
  saver_add_piece(out, format_block_offset(block), out->used, FORMAT_BLOCK_BYTES,
                  EVENTRING_PIECE_RECORDS);
  out->used += FORMAT_BLOCK_BYTES;
}

static uint64_t count_records(const uint64_t *words, uint32_t from, uint32_t end) {
  uint64_t count = 0;
  for (uint32_t at = from; at < end; at += record_words(words[at])) count++;
  return count;
}

/* Keeps the part of a damaged block that readers use, in a file that is checked. Returns
   false if readers use no part of it: complete records of a damaged unfinished block are
   valid, but nothing of a damaged finished block is. */
static bool keep_what_holds(const eventring_saver *saver, uint64_t *words, uint32_t end) {
  struct format_block *h = (struct format_block *)words;
  if (!saver->options.checked || h->committed) return false;
  words[FORMAT_SEAL_WORD] = 0;
  words[FORMAT_SO_FAR_WORD] = evr_seal(end, evr_checksum_so_far(words, end));
  return true;
}

/* Takes a copy of a block, whose first `end` words are known to be complete. */
static void take_block(eventring_saver *saver, struct saver_block *b, uint64_t *words,
                       uint32_t end, bool sound, struct saver_output *out) {
  const struct format_block *h = (const struct format_block *)words;
  uint32_t from = b->sequence == h->sequence ? b->end : FORMAT_BLOCK_HEADER_WORDS;
  bool valid = sound && evr_records_valid(words, end, sound) &&
               evr_records_vouched_for(words, end);
  if (!valid && saver->meta->over)
    evr_note_damage(&saver->meta->damage, "block %u of the file has records, and is not valid",
                    b->block);
  if (!valid) valid = keep_what_holds(saver, words, end);
  if (!valid && saver->options.checked) return;
  if (saver->merge) {
    saver_merge_records(saver, words, end, valid, out);
    return;
  }
  if (!saver_strip_records(saver, words, end, valid)) return;
  bool is_new = !b->sequence;
  /* the copy stays where it is, as the block does in the recording */
  if (b->sequence && format_is_in_place(h->kind)) {
    b->sequence = h->sequence;
  } else if (b->sequence != h->sequence) {
    if (!claim_again(saver, b, h)) return;
  }
  b->sealed = h->committed != 0;
  if (valid && saver->ending && !b->sealed) {
    memset(words + end, 0, (FORMAT_BLOCK_WORDS - end) * sizeof *words);
    words[FORMAT_SEAL_WORD] = evr_seal(end, evr_checksum(words, end));
  }
  b->unwritten = false;
  b->end = end;
  b->records = (uint32_t)count_records(words, FORMAT_BLOCK_HEADER_WORDS, end);
  if (format_is_in_place(h->kind)) saver->record_counts[h->kind] += is_new;
  else if (h->kind < FORMAT_KINDS)
    saver->record_counts[h->kind] += count_records(words, from, end);
  saver_put_block(out, words, end, b->copy);
}

/* Tells whether a block may have changed since it was copied. Some kinds use their oldest
   block again. */
static bool may_change(const struct saver_block *b) {
  return !b->sealed || b->unwritten || b->kind == FORMAT_LIVES || b->kind > FORMAT_CLOCK;
}

static int copy_block(eventring_saver *saver, struct saver_block *b, struct saver_output *out,
                      struct eventring_error *error) {
  uint64_t *words = saver->room.words;
  uint32_t end;
  bool sound;
  if (!may_change(b)) return EVENTRING_OK;
  int status = evr_records_copy(&saver->meta->source, format_block_offset(b->block), words,
                                &end, &sound, error);
  if (status != EVENTRING_OK || !end) return status;
  const struct format_block *h = (const struct format_block *)words;
  if (h->kind == FORMAT_EVENTS || h->kind == FORMAT_TOTALS || h->kind == FORMAT_HISTOGRAMS)
    return EVENTRING_OK;
  /* the file does not reach the end of the recording */
  if (h->kind == FORMAT_ENDINGS && saver->cut_short) return EVENTRING_OK;
  bool same = h->sequence == b->sequence && end == b->end && !b->unwritten &&
              (h->committed != 0) == b->sealed;
  if (!same || (saver->ending && !b->sealed)) take_block(saver, b, words, end, sound, out);
  return EVENTRING_OK;
}

int saver_copy_records(eventring_saver *saver, struct saver_output *out,
                       struct eventring_error *error) {
  int status = EVENTRING_OK;
  while (status == EVENTRING_OK && saver->at < saver->record_count && saver_room(out))
    status = copy_block(saver, &saver->records[saver->at++], out, error);
  return status;
}

/* ---- Totals ------------------------------------------------------------------------ */

/* Collects the totals of all rings up to the end of the file. The pages of the recording
   are not copied, because they change together with its blocks. */
static int collect_totals(eventring_saver *saver, struct eventring_error *error) {
  saver->totals = calloc(1, sizeof *saver->totals);
  if (!saver->totals) return evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for totals");
  int status = evr_totals_collect(saver->cursor, saver->totals, error);
  if (status == EVENTRING_E_NOT_FOUND)
    /* the recording has none, so the file has none */
    saver->totals->count = saver->totals->histograms = 0;
  return status == EVENTRING_E_NOT_FOUND ? EVENTRING_OK : status;
}

static void put_page_of_totals(eventring_saver *saver, enum format_kind kind,
                               const struct format_total *row, uint32_t rows,
                               struct saver_output *out) {
  uint64_t words[FORMAT_BLOCK_WORDS] = {0}, block;
  struct format_block *h = (struct format_block *)words;
  uint32_t end = FORMAT_BLOCK_HEADER_WORDS + rows * (uint32_t)(sizeof(struct format_total) / 8);
  if (!saver_claim_block(saver, &block)) return;
  h->sequence = 1;
  h->kind = kind;
  h->incarnation = (uint32_t)++saver->record_counts[kind];
  if (kind == FORMAT_TOTALS) words[FORMAT_TOTALS_FOLDED] = UINT64_MAX;
  memcpy(h + 1, row, rows * sizeof *row);
  words[FORMAT_SEAL_WORD] = evr_seal(end, evr_checksum(words, end));
  saver_put_block(out, words, end, block);
}

int saver_copy_totals(eventring_saver *saver, struct saver_output *out,
                      struct eventring_error *error) {
  int status = EVENTRING_OK;
  bool has_them = saver->ending && !saver->merge;
  if (has_them && !saver->totals) status = collect_totals(saver, error);
  while (has_them && status == EVENTRING_OK) {
    const struct evr_totals_table *t = saver->totals;
    const bool is_row = saver->totals_put < t->count;
    uint32_t rows = t->count + (is_row ? 0 : t->histograms) - saver->totals_put;
    if (!rows) break;
    if (!saver_room(out)) return status;
    if (rows > FORMAT_TOTAL_ROWS) rows = FORMAT_TOTAL_ROWS;
    put_page_of_totals(saver, is_row ? FORMAT_TOTALS : FORMAT_HISTOGRAMS,
                       is_row ? t->row + saver->totals_put
                              : t->histogram + (saver->totals_put - t->count), rows, out);
    saver->totals_put += rows;
  }
  saver->stage = SAVER_LAST;
  return status;
}

static bool is_within(uint64_t block, uint64_t offset, size_t size) {
  uint64_t at = format_block_offset(block);
  return at >= offset && at < offset + size;
}

void saver_records_unwritten(eventring_saver *saver, uint64_t offset, size_t size) {
  for (uint32_t i = 0; i < saver->record_count; i++) {
    struct saver_block *b = &saver->records[i];
    if (b->sequence && is_within(b->copy, offset, size)) b->unwritten = true;
  }
}

uint64_t saver_missing_records(const eventring_saver *saver, unsigned kind) {
  uint64_t missing = 0;
  for (uint32_t i = 0; i < saver->record_count; i++) {
    const struct saver_block *b = &saver->records[i];
    if (b->unwritten && b->kind == kind) missing += b->records;
  }
  return missing;
}

/* ---- The time in which anything was lost ------------------------------------------- */

static void remove_interval(eventring_saver *saver, unsigned at) {
  memmove(&saver->interval[at], &saver->interval[at + 1],
          (--saver->intervals - at) * sizeof saver->interval[0]);
}

/* Counts and drops the oldest interval. Time before its end is not counted again. */
static void settle_oldest(eventring_saver *saver) {
  saver->loss_ns += saver->interval[0].to - saver->interval[0].from;
  saver->loss_floor = saver->interval[0].to;
  remove_interval(saver, 0);
}

static void add_interval(eventring_saver *saver, uint64_t from, uint64_t to) {
  if (from < saver->loss_floor) from = saver->loss_floor;
  if (to <= from) return;
  unsigned at = 0;
  while (at < saver->intervals && saver->interval[at].to < from) at++;
  while (at < saver->intervals && saver->interval[at].from <= to) {
    if (saver->interval[at].from < from) from = saver->interval[at].from;
    if (saver->interval[at].to > to) to = saver->interval[at].to;
    remove_interval(saver, at);
  }
  memmove(&saver->interval[at + 1], &saver->interval[at],
          (saver->intervals - at) * sizeof saver->interval[0]);
  saver->interval[at] = (struct saver_interval){from, to};
  if (++saver->intervals == SAVER_INTERVALS) settle_oldest(saver);
}

uint64_t saver_loss_ns(const eventring_saver *saver) {
  uint64_t ns = saver->loss_ns;
  for (unsigned i = 0; i < saver->intervals; i++)
    ns += saver->interval[i].to - saver->interval[i].from;
  return ns;
}

void saver_note_loss(eventring_saver *saver, struct saver_stream *stream, uint64_t from,
                     uint64_t to) {
  uint64_t from_ns = evr_metadata_ns(saver->meta, from), to_ns = evr_metadata_ns(saver->meta, to);
  if (to_ns > from_ns) stream->account.lost_ns += to_ns - from_ns;
  if (to_ns > from_ns) add_interval(saver, from_ns, to_ns);
}
