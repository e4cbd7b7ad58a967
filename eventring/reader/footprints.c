/* SPDX-License-Identifier: MIT */
/* footprints.c: what memory was used for (eventring/footprint.h).
 *
 * A slot has two blocks, which producer/footprint.c writes in turn; the newer valid block
 * counts. Each block is a seqlock. The block that is being rewritten is always the older
 * block. */
#include "eventring/footprint.h"

#include <string.h>

#include "format/text.h"
#include "reader/block.h"
#include "reader/cursor.h"

enum {
  HEAD_WORDS = sizeof(struct format_footprint) / 8,
  ROW_WORDS = sizeof(struct format_footprint_row) / 8,
  MOST_ROWS = (FORMAT_BLOCK_WORDS - FORMAT_BLOCK_HEADER_WORDS - HEAD_WORDS) / (ROW_WORDS + 1)
};

struct slots { /* the newest block of each slot */
  /* generation of the newest block; 0 if there is none */
  uint64_t generation[EVENTRING_MAX_DOMAINS];
  uint32_t block[EVENTRING_MAX_DOMAINS];
};

struct rows { /* the rows that were read, with copies of their texts */
  struct eventring_footprint_row row[MOST_ROWS];
  char names[MOST_ROWS][EVENTRING_MAX_FOOTPRINT_NAME + 1];
  char docs[MOST_ROWS][EVENTRING_MAX_FOOTPRINT_DOC + 1];
};

/* ---- Validity ---------------------------------------------------------------------- */

static bool row_is_valid(const uint64_t *record, uint32_t number) {
  struct format_footprint_row r;
  if (record_words(*record) < ROW_WORDS || record_type(*record) != FORMAT_FOOTPRINT_ROW ||
      record_number(*record) != number)
    return false;
  memcpy(&r, record, sizeof r);
  return r.name_bytes >= 1 && r.name_bytes <= EVENTRING_MAX_FOOTPRINT_NAME &&
         r.doc_bytes <= EVENTRING_MAX_FOOTPRINT_DOC && r.of <= EVENTRING_FOOTPRINT_PROCESS &&
         r.in <= EVENTRING_FOOTPRINT_MALLOC && r.resident_bytes <= r.reserved_bytes &&
         r.name_bytes + (unsigned)r.doc_bytes <= (record_words(*record) - ROW_WORDS) * 8;
}

/* Tells whether a block whose records are sound is a footprint, and copies its head to
   *f. */
static bool is_valid(const uint64_t *words, uint32_t end, struct format_footprint *f) {
  uint32_t at = FORMAT_BLOCK_HEADER_WORDS, rows = 0;
  const struct format_block *b = (const struct format_block *)words;
  if (end < at + HEAD_WORDS || record_words(words[at]) < HEAD_WORDS ||
      record_type(words[at]) != FORMAT_FOOTPRINT)
    return false;
  memcpy(f, words + at, sizeof *f);
  if (f->slot >= EVENTRING_MAX_DOMAINS || f->slot != b->domain || !f->incarnation) return false;
  for (at += record_words(words[at]); at < end; at += record_words(words[at]), rows++)
    if (!row_is_valid(words + at, rows)) return false;
  return rows == record_number(f->first) && rows <= MOST_ROWS;
}

/* Copies a block. Sets *end to 0 if there is no footprint, or it is not valid. */
static int copy_block(eventring_cursor *c, uint32_t block, uint64_t *words, uint32_t *end,
                      struct format_footprint *f) {
  const struct format_block *b = (const struct format_block *)words;
  bool sound;
  int status = evr_records_copy(&c->meta.source, format_block_offset(block), words, end, &sound,
                                &c->error);
  if (status != EVENTRING_OK || !*end) return status;
  bool is_one = b->kind == FORMAT_FOOTPRINTS;
  if (is_one && b->committed && evr_records_valid(words, *end, sound) &&
      is_valid(words, *end, f))
    return EVENTRING_OK;
  if (is_one && c->meta.over)
    evr_note_damage(&c->meta.damage, "block %u of the file says what memory is used for, and is "
                    "not valid", block);
  *end = 0;
  return EVENTRING_OK;
}

/* ---- Walk -------------------------------------------------------------------------- */

static int find_newest(eventring_cursor *c, struct slots *slots) {
  const struct evr_record_scan *scan = &c->definitions.scan;
  uint64_t words[FORMAT_BLOCK_WORDS];
  struct format_footprint f;
  int status = EVENTRING_OK;
  memset(slots, 0, sizeof *slots);
  for (uint32_t i = 0; status == EVENTRING_OK && i < scan->count; i++) {
    uint32_t end = 0;
    if (scan->blocks[i].kind && scan->blocks[i].kind != FORMAT_FOOTPRINTS) continue;
    status = copy_block(c, scan->blocks[i].block, words, &end, &f);
    if (status != EVENTRING_OK || !end || words[0] <= slots->generation[f.slot]) continue;
    slots->generation[f.slot] = words[0];
    slots->block[f.slot] = scan->blocks[i].block;
  }
  return status;
}

void evr_check_footprints(eventring_cursor *c) {
  struct slots slots;
  find_newest(c, &slots);
}

static void take_text(char *to, const char *from, size_t bytes) {
  memcpy(to, from, bytes);
  to[bytes] = '\0';
  evr_text_clean_bytes(to, bytes);
}

static void take_rows(struct rows *rows, const uint64_t *words, uint32_t end) {
  uint32_t n = 0, at = FORMAT_BLOCK_HEADER_WORDS;
  for (at += record_words(words[at]); at < end; at += record_words(words[at]), n++) {
    struct format_footprint_row r;
    const char *text = (const char *)(words + at) + sizeof r;
    memcpy(&r, words + at, sizeof r);
    take_text(rows->names[n], text, r.name_bytes);
    take_text(rows->docs[n], text + r.name_bytes, r.doc_bytes);
    rows->row[n] = (struct eventring_footprint_row){
        .name = rows->names[n], .doc = rows->docs[n], .resident = r.resident_bytes,
        .reserved = r.reserved_bytes, .of = (enum eventring_footprint_of)r.of,
        .in = (enum eventring_footprint_in)r.in};
  }
}

/* Delivers the footprint of the block that was found, or the newer footprint if the block
   has been rewritten since. */
static int deliver(eventring_cursor *c, uint32_t block, eventring_take_footprint *take,
                   void *context) {
  uint64_t words[FORMAT_BLOCK_WORDS];
  struct format_footprint f;
  struct rows rows;
  uint32_t end = 0;
  int status = copy_block(c, block, words, &end, &f);
  if (status != EVENTRING_OK || !end) return status;
  take_rows(&rows, words, end);
  const struct eventring_footprint footprint = {
      .domain = f.slot, .incarnation = f.incarnation,
      .ns = evr_metadata_ns(&c->meta, f.ticks), .measured = f.flags & 1,
      .rows = record_number(f.first), .resident = f.resident_bytes, .shared = f.shared_bytes,
      .malloc_used = f.malloc_used, .malloc_free = f.malloc_free,
      .malloc_mapped = f.malloc_mapped};
  return take(context, &footprint, rows.row);
}

int eventring_cursor_footprints(eventring_cursor *c, eventring_take_footprint *take,
                                void *context) {
  struct slots slots;
  c->meta.over |= evr_metadata_is_settled(&c->meta);
  int status = evr_definitions_catch_up(&c->definitions, &c->meta, &c->error);
  if (status == EVENTRING_OK) status = find_newest(c, &slots);
  for (unsigned slot = 0; status == EVENTRING_OK && slot < EVENTRING_MAX_DOMAINS; slot++)
    if (slots.generation[slot]) status = deliver(c, slots.block[slot], take, context);
  return status;
}
