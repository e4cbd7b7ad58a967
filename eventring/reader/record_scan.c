/* SPDX-License-Identifier: MIT */
/* record_scan.c: finding and reading blocks of records.
 *
 * Nothing in the file points to these blocks: they are all the claimed blocks that are in
 * no ring, and their headers say what they hold. So damage to one block affects no other.
 * The scan keeps a list of these blocks, with the word up to which each has been read;
 * the counts of records in the status page say when to read again. A block of a ring that
 * the domain table does not show yet looks unused; it leaves the list when the ring is
 * known.
 *
 * Where blocks of a kind are rewritten, their order in the file is not the order of their
 * records. So a scan first reads the sequences, and then reads the blocks in the order of
 * the sequences. A block that is begun between these two steps is left for the next scan,
 * which the count of records makes due.
 */
#include "reader/record_scan.h"

#include <stdlib.h>

#include "format/array.h"
#include "reader/block.h"

bool evr_kind_is_known(unsigned kind) {
  switch (kind) {
#define KNOWN(name, number, budget, full) case FORMAT_##name:
      FORMAT_RECORD_KINDS(KNOWN)
#undef KNOWN
      return true;
    default:
      return false;
  }
}

/* Tells whether this kind rewrites its oldest block. In a stream only the kinds ENDINGS
   and LAST_STACKS do. */
static bool turns_over(const struct evr_metadata *meta, unsigned kind) {
  /* profiles.c reads profiles, not this scan */
  if (kind == FORMAT_PROFILES) return false;
  if (evr_metadata_has_streams(meta) && !(meta->header.flags & FORMAT_INCOMPLETE))
    return kind == FORMAT_ENDINGS || kind == FORMAT_LAST_STACKS;
  switch (kind) {
#define CASE_DROPPED(kind)
#define CASE_IN_PLACE(kind)
#define CASE_OLDEST_GOES(kind) case kind:
#define CASE(name, kind, budget, full) CASE_##full(kind)
      FORMAT_RECORD_KINDS(CASE)
      return true;
#undef CASE
#undef CASE_OLDEST_GOES
#undef CASE_IN_PLACE
#undef CASE_DROPPED
    default:
      return false;
  }
}

bool evr_record_scan_has_news(const struct evr_record_scan *scan,
                              const struct evr_metadata *meta) {
  uint64_t there = evr_metadata_has_streams(meta) ? meta->units.records.count
                                                  : meta->status.claimed;
  if (scan->next < there) return true;
  for (int kind = 0; kind < FORMAT_KINDS; kind++)
    if (scan->seen[kind] != meta->status.kind[kind].records) return true;
  return false;
}

static int add_block(struct evr_record_scan *scan, uint64_t block,
                     struct eventring_error *error) {
  if (!EVR_MAKE_ROOM(scan->blocks, scan->room, scan->count, 32))
    return evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for a cursor");
  scan->blocks[scan->count++] = (struct evr_record_block){.block = (uint32_t)block};
  return EVENTRING_OK;
}

/* Removes from the list the blocks that are now known to belong to a ring. */
static void drop_blocks_of_rings(struct evr_record_scan *scan, const struct evr_metadata *meta) {
  uint32_t kept = 0;
  if (scan->runs == meta->run_count) return;
  for (uint32_t i = 0; i < scan->count; i++) {
    const struct evr_record_block *b = &scan->blocks[i];
    bool may_be_one = !b->kind || b->kind == FORMAT_EVENTS;
    if (!may_be_one || !evr_metadata_run_end(meta, b->block)) scan->blocks[kept++] = *b;
  }
  scan->count = kept;
  scan->runs = meta->run_count;
}

/* Lists the blocks of newly found units that have records. */
static int list_units(struct evr_record_scan *scan, struct evr_metadata *meta,
                      struct eventring_error *error) {
  const struct evr_unit_list *units = &meta->units.records;
  for (; scan->next < units->count; scan->next++) {
    if (scan->count >= EVR_MOST_LOOSE_BLOCKS) {
      evr_note_damage(&meta->damage, "more than %d blocks of the file have records",
                      EVR_MOST_LOOSE_BLOCKS);
      break;
    }
    for (uint32_t k = 0; k < FORMAT_UNIT; k++) {
      int status = add_block(scan, units->block[scan->next] + k, error);
      if (status != EVENTRING_OK) return status;
    }
  }
  return EVENTRING_OK;
}

/* Lists newly claimed blocks, except those of rings. */
static int list_blocks(struct evr_record_scan *scan, struct evr_metadata *meta,
                       struct eventring_error *error) {
  while (scan->next < meta->status.claimed) {
    if (scan->count == EVR_MOST_LOOSE_BLOCKS) {
      evr_note_damage(&meta->damage, "more than %d blocks of the file are in no ring",
                      EVR_MOST_LOOSE_BLOCKS);
      scan->next = meta->status.claimed;
      break;
    }
    uint64_t end = evr_metadata_run_end(meta, scan->next);
    int status = end ? EVENTRING_OK : add_block(scan, scan->next, error);
    if (status != EVENTRING_OK) return status;
    scan->next = end ? end : scan->next + 1;
  }
  return EVENTRING_OK;
}

static void note_damage(struct evr_metadata *meta, struct evr_record_block *b) {
  evr_note_damage(&meta->damage, "block %u of the file (kind %u) is not valid", b->block,
                  b->kind);
  b->finished = true;
}

/* Notes the kind of a block that was unused at the last scan. */
static void identify_block(struct evr_record_scan *scan, struct evr_record_block *b,
                           const struct format_block *h) {
  b->sequence = h->sequence;
  b->kind = h->kind;
  b->at = FORMAT_BLOCK_HEADER_WORDS;
  bool is_known = evr_kind_is_known(h->kind);
  b->finished = !is_known || format_is_in_place(h->kind);
  if (!is_known && h->kind != FORMAT_EVENTS) scan->unknown++;
}

static int take_records(struct evr_record_scan *scan, struct evr_record_block *b,
                        const uint64_t *words, uint32_t end, evr_take_record *take, void *context,
                        struct eventring_error *error) {
  int status = EVENTRING_OK;
  for (; status == EVENTRING_OK && b->at < end; b->at += record_words(words[b->at])) {
    scan->taken[b->kind]++;
    status = take(context, (enum format_kind)b->kind, words + b->at,
                  record_words(words[b->at]), error);
  }
  return status;
}

static int read_block(struct evr_record_scan *scan, struct evr_metadata *meta,
                      struct evr_record_block *b, evr_take_record *take, void *context,
                      struct eventring_error *error) {
  uint64_t words[FORMAT_BLOCK_WORDS];
  const struct format_block *h = (const struct format_block *)words;
  uint32_t end;
  bool sound;
  int status =
      evr_records_copy(&meta->source, format_block_offset(b->block), words, &end, &sound, error);
  if (status != EVENTRING_OK || !end) return status;
  /* the block was begun after the sequences were read */
  if (h->sequence != b->found) return EVENTRING_OK;
  if (h->sequence != b->sequence) identify_block(scan, b, h);
  if (b->finished) return EVENTRING_OK;
  bool valid = evr_records_valid(words, end, sound);
  if (!valid || !sound || !evr_records_vouched_for(words, end)) note_damage(meta, b);
  if (valid) status = take_records(scan, b, words, end, take, context, error);
  b->finished = b->finished || h->committed != 0;
  return status;
}

static bool may_have_news(const struct evr_metadata *meta, const struct evr_record_block *b) {
  return !b->finished || turns_over(meta, b->kind);
}

static int compare_found(const void *left, const void *right) {
  const struct evr_record_block *a = left, *b = right;
  if (a->found != b->found) return a->found < b->found ? -1 : 1;
  return (a->block > b->block) - (a->block < b->block);
}

/* Puts the blocks in the order in which they were begun. */
static int order_blocks(struct evr_record_scan *scan, const struct evr_metadata *meta,
                        struct eventring_error *error) {
  for (uint32_t i = 0; i < scan->count; i++) {
    struct evr_record_block *b = &scan->blocks[i];
    if (!may_have_news(meta, b)) continue;
    int status = evr_source_read(&meta->source, format_block_offset(b->block), &b->found,
                                 sizeof b->found, error);
    if (status != EVENTRING_OK) return status;
  }
  if (scan->count) qsort(scan->blocks, scan->count, sizeof *scan->blocks, compare_found);
  return EVENTRING_OK;
}

int evr_record_scan(struct evr_record_scan *scan, struct evr_metadata *meta,
                    evr_take_record *take, void *context, struct eventring_error *error) {
  if (!evr_record_scan_has_news(scan, meta)) return EVENTRING_OK;
  drop_blocks_of_rings(scan, meta);
  int status = evr_metadata_has_streams(meta) ? list_units(scan, meta, error)
                                              : list_blocks(scan, meta, error);
  if (status == EVENTRING_OK) status = order_blocks(scan, meta, error);
  for (uint32_t i = 0; status == EVENTRING_OK && i < scan->count; i++) {
    struct evr_record_block *b = &scan->blocks[i];
    if (may_have_news(meta, b) && b->found)
      status = read_block(scan, meta, b, take, context, error);
  }
  for (int kind = 0; status == EVENTRING_OK && kind < FORMAT_KINDS; kind++)
    scan->seen[kind] = meta->status.kind[kind].records;
  return status;
}

void evr_record_scan_free(struct evr_record_scan *scan) { free(scan->blocks); }
