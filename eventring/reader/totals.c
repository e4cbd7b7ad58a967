/* SPDX-License-Identifier: MIT */
/* totals.c: what all events of a recording add up to, also those that are gone.
 *
 * The producer adds the events of a ring to its rows when it leaves a block; producer/totals.c has
 * the design and the steps T1 to T4. So the totals of a ring are its rows, and the events of the
 * block after the one that `folded` says, if there is one: that block is read like any other. A
 * ring that has left no block yet has no rows. A ring is tried again while `folded` changes
 * (T5): that is rare, but a hostile file may do it at each try, so all rings together have a
 * bounded number of tries. A copy has rows that are complete, of all rings together.
 */
#include "reader/totals.h"

#include <stdlib.h>
#include <string.h>

#include "eventring/tools.h"
#include "format/array.h"
#include "format/atomics.h"

enum { ROW_WORDS = sizeof(struct format_total) / 8, MOST_RETRIES = 400 /* of all rings */ };

struct page { /* a block of the file */
  uint32_t block, number;
  uint16_t ring; /* slot * EVENTRING_RINGS + ring */
};

struct pages { /* in the order of their rings and numbers */
  struct page *page;
  uint32_t count, room;
};

/* ---- Tables ------------------------------------------------------------------------------ */

static struct format_sums *find_row(struct evr_totals_table *table, unsigned id,
                                    uint64_t payload) {
  if (!table->of[id]) {
    if (!EVR_MAKE_ROOM(table->row, table->room, table->count, 16)) return NULL;
    table->row[table->count++] = (struct format_total){
        .first = format_record(ROW_WORDS, 1, id), .payload = payload};
    table->of[id] = (uint16_t)table->count;
  }
  return &table->row[table->of[id] - 1].sums[0];
}

/* False: no memory. */
static bool add_row(struct evr_totals_table *table, const struct format_total *row,
                    const struct format_sums *more) {
  struct format_sums *sums = find_row(table, record_number(row->first), row->payload);
  if (!sums) return false;
  sums->count += more->count;
  sums->sum = format_total_add(row->payload, sums->sum, more->sum);
  for (unsigned n = 0; n < FORMAT_TOTAL_BUCKETS; n++) sums->bucket[n] += more->bucket[n];
  return true;
}

static void clear_table(struct evr_totals_table *table) {
  for (uint32_t i = 0; i < table->count; i++) table->of[record_number(table->row[i].first)] = 0;
  table->count = 0;
}

void evr_totals_free(struct evr_totals_table *table) { free(table->row); }

/* ---- Pages -------------------------------------------------------------------------------- */

static int compare_pages(const void *left, const void *right) {
  const struct page *a = left, *b = right;
  if (a->ring != b->ring) return a->ring < b->ring ? -1 : 1;
  return (a->number > b->number) - (a->number < b->number);
}

static int list_pages(const eventring_cursor *c, struct pages *pages,
                      struct eventring_error *error) {
  const struct evr_record_scan *scan = &c->definitions.scan;
  for (uint32_t i = 0; i < scan->count; i++) {
    uint64_t words[FORMAT_BLOCK_HEADER_WORDS];
    const struct format_block *h = (const struct format_block *)words;
    if (scan->blocks[i].kind && scan->blocks[i].kind != FORMAT_TOTALS) continue;
    int status = evr_source_read(&c->meta.source, format_block_offset(scan->blocks[i].block), words,
                                 sizeof words, error);
    if (status != EVENTRING_OK) return status;
    if (!h->sequence || h->kind != FORMAT_TOTALS || h->domain >= EVENTRING_MAX_DOMAINS ||
        h->ring >= EVENTRING_RINGS)
      continue;
    if (!EVR_MAKE_ROOM(pages->page, pages->room, pages->count, 16))
      return evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for totals");
    pages->page[pages->count++] = (struct page){
        .block = scan->blocks[i].block, .number = h->incarnation,
        .ring = (uint16_t)(h->domain * EVENTRING_RINGS + h->ring)};
  }
  if (pages->count) qsort(pages->page, pages->count, sizeof *pages->page, compare_pages);
  return EVENTRING_OK;
}

/* Adds the rows of a page as they are with the events up to block `folded`. */
static int add_page(const eventring_cursor *c, const struct page *page, uint64_t folded,
                    struct evr_totals_table *table, struct eventring_error *error) {
  uint64_t words[FORMAT_BLOCK_WORDS];
  int status = evr_source_read(&c->meta.source, format_block_offset(page->block), words,
                               sizeof words, error);
  const struct format_total *row = (struct format_total *)(words + FORMAT_BLOCK_HEADER_WORDS);
  for (unsigned i = 0; status == EVENTRING_OK && i < FORMAT_TOTAL_ROWS; i++, row++) {
    if (record_words(row->first) != ROW_WORDS ||
        record_number(row->first) >= EVENTRING_MAX_EVENTS)
      break;
    const bool is_there[2] = {row->sums[0].through <= folded, row->sums[1].through <= folded};
    bool second = is_there[1] && (!is_there[0] || row->sums[1].through > row->sums[0].through);
    if (is_there[second] && !add_row(table, row, &row->sums[second]))
      status = evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for totals");
  }
  return status;
}

static uint64_t read_folded(const eventring_cursor *c, const struct page *first) {
  uint64_t folded = 0;
  evr_source_read(&c->meta.source, format_block_offset(first->block) + 8 * FORMAT_TOTALS_FOLDED,
                  &folded, sizeof folded, NULL);
  evr_fence_acquire(); /* pairs with T4, and with T2 */
  return folded;
}

/* ---- The block after that ------------------------------------------------------------------- */

struct adding {
  const eventring_cursor *cursor;
  struct evr_totals_table *table;
  bool no_memory;
};

static uint64_t multiplier_of(const struct evr_metadata *meta) {
  return meta->conversion.segment[meta->conversion.segments - 1].multiplier;
}

static uint64_t ns_of(const struct evr_metadata *meta, uint64_t ticks) {
  return (uint64_t)((unsigned __int128)ticks * multiplier_of(meta) >> FORMAT_CLOCK_SHIFT);
}

static uint64_t ticks_of(const struct evr_metadata *meta, uint64_t ns) {
  return (uint64_t)(((unsigned __int128)ns << FORMAT_CLOCK_SHIFT) / multiplier_of(meta));
}

static int add_event(void *context, const struct eventring_event *event) {
  struct adding *adding = context;
  const int64_t took = eventring_event_took(event);
  bool is_span = event->kind == EVENTRING_BEGIN || event->kind == EVENTRING_END;
  if (event->flags & EVENTRING_SYNTHETIC || (is_span && took < 0)) return 0;
  struct format_sums *sums =
      find_row(adding->table, event->id, event->def ? event->def->payload : 0);
  if (!sums) {
    adding->no_memory = true;
    return 1;
  }
  sums->count++;
  if (is_span) {
    uint64_t ticks = ticks_of(&adding->cursor->meta, (uint64_t)took);
    sums->sum += ticks;
    sums->bucket[format_total_bucket(ticks)]++;
  } else if (event->kind == EVENTRING_COUNTER && event->payload <= EVENTRING_DOUBLE) {
    sums->sum = format_total_add(event->payload, sums->sum, event->value.u);
  }
  return 0;
}

static int pass_loss(void *context, const struct eventring_loss *loss) {
  (void)context, (void)loss;
  return 0;
}

/* False: it is not there. */
static bool read_block(struct evr_ring_reader *reader, uint64_t sequence, struct evr_sink *sink) {
  struct eventring_error damage = {0}; /* a poll reports it */
  unsigned budget = 1;
  reader->blocks.damage = &damage;
  reader->blocks.room_count = 1;
  reader->blocks.next = sequence;
  if (!evr_ring_reader_make_room(reader) ||
      !evr_block_cursor_previous(&reader->blocks, &budget) || reader->blocks.sequence != sequence)
    return false;
  evr_ring_reader_begin(reader);
  reader->end = reader->blocks.held->have;
  evr_ring_reader_drain(reader, UINT64_MAX, sink);
  return true;
}

static bool add_block(eventring_cursor *c, unsigned ring, uint64_t sequence,
                      struct evr_totals_table *table) {
  struct adding adding = {.cursor = c, .table = table};
  struct evr_sink sink = {.callbacks = {sizeof sink.callbacks, add_event, pass_loss},
                          .context = &adding, .left = UINT64_MAX, .budget = 1};
  struct evr_ring_reader *reader = evr_ring_reader_new(
      &c->meta, &c->definitions, ring / EVENTRING_RINGS, ring % EVENTRING_RINGS, 0);
  bool is_there = reader && (sequence > evr_block_cursor_head(&reader->blocks) ||
                             read_block(reader, sequence, &sink));
  evr_ring_reader_free(reader);
  return is_there && !adding.no_memory;
}

/* ---- All rings --------------------------------------------------------------------------- */

/* The totals of a ring that has these pages, or none, at one moment. Each try but the first
   takes one of *retries. */
static int collect_ring(eventring_cursor *c, unsigned ring, const struct page *page,
                        uint32_t pages, unsigned *retries, struct evr_totals_table *table,
                        struct eventring_error *error) {
  for (bool again = false;; again = true) {
    uint64_t folded = pages ? read_folded(c, page) : 0;
    int status = again ? evr_metadata_refresh(&c->meta, error) : EVENTRING_OK;
    clear_table(table);
    for (uint32_t i = 0; status == EVENTRING_OK && i < pages; i++)
      status = add_page(c, &page[i], folded, table, error);
    if (status != EVENTRING_OK) return status;
    bool is_whole = folded == UINT64_MAX || add_block(c, ring, folded + 1, table);
    evr_fence_acquire();
    if (is_whole && (!pages || read_folded(c, page) == folded)) return EVENTRING_OK; /* T5 */
    if (c->meta.over || !*retries) break;
    --*retries;
  }
  return evr_fail(error, EVENTRING_E_NOT_FOUND, 0, "the file does not have all totals");
}

static bool are_complete(const eventring_cursor *c, const struct pages *pages) {
  return pages->count && read_folded(c, &pages->page[0]) == UINT64_MAX;
}

/* Adds ring after ring. Those of which all is in the first block have no pages. */
static int collect_rings(eventring_cursor *c, const struct pages *pages,
                         struct evr_totals_table *table, struct eventring_error *error) {
  struct evr_totals_table *of_ring = calloc(1, sizeof *of_ring);
  int status = of_ring ? EVENTRING_OK : evr_fail(error, EVENTRING_E_MEMORY, 0,
                                                 "no memory for totals");
  bool is_copy = are_complete(c, pages);
  unsigned retries = MOST_RETRIES;
  uint32_t at = 0;
  for (unsigned ring = 0; status == EVENTRING_OK && ring < EVR_ALL_RINGS; ring++) {
    const uint32_t first = at;
    while (at < pages->count && pages->page[at].ring == ring) at++;
    bool is_made = evr_metadata_blocks(&c->meta, ring / EVENTRING_RINGS, ring % EVENTRING_RINGS);
    if (at == first && (!is_made || is_copy)) continue;
    const struct page *own = at > first ? &pages->page[first] : NULL;
    status = collect_ring(c, ring, own, at - first, &retries, of_ring, error);
    for (uint32_t i = 0; status == EVENTRING_OK && i < of_ring->count; i++)
      if (!add_row(table, &of_ring->row[i], &of_ring->row[i].sums[0]))
        status = evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for totals");
  }
  if (of_ring) evr_totals_free(of_ring);
  free(of_ring);
  return status;
}

int evr_totals_collect(eventring_cursor *c, struct evr_totals_table *table,
                       struct eventring_error *error) {
  struct pages pages = {0};
  if (c->meta.status.kind[FORMAT_TOTALS].dropped)
    return evr_fail(error, EVENTRING_E_NOT_FOUND, 0, "there was no room for all totals");
  if (c->meta.is_torn_copy) /* its pages are of other moments than its rings */
    return evr_fail(error, EVENTRING_E_NOT_FOUND, 0, "it was copied while it was written");
  int status = list_pages(c, &pages, error);
  if (status == EVENTRING_OK) status = collect_rings(c, &pages, table, error);
  free(pages.page);
  return status;
}

/* ---- For users ---------------------------------------------------------------------------- */

static int deliver(eventring_cursor *c, const struct format_total *row,
                   int (*take)(void *context, const struct eventring_recorded *recorded),
                   void *context) {
  const struct evr_definition *d = c->definitions.definition[record_number(row->first)];
  const struct format_sums *sums = &row->sums[0];
  struct eventring_recorded recorded = {.id = (uint16_t)record_number(row->first),
                                        .def = d ? &d->def : NULL, .count = sums->count};
  if (d && d->def.kind == EVENTRING_DEF_SPAN) {
    recorded.ns = ns_of(&c->meta, sums->sum);
    recorded.least_ns = ns_of(&c->meta, (uint64_t)1 << FORMAT_TOTAL_SHIFT);
    memcpy(recorded.bucket, sums->bucket, sizeof recorded.bucket);
  } else if (d && d->def.kind == EVENTRING_DEF_COUNTER) {
    recorded.sum.u = sums->sum;
  }
  return take(context, &recorded);
}

int eventring_cursor_recorded(eventring_cursor *c,
                              int (*take)(void *context,
                                          const struct eventring_recorded *recorded),
                              void *context) {
  if (!c || !take) return EVENTRING_E_ARGUMENT;
  if (c->busy) return EVENTRING_E_BUSY;
  struct evr_totals_table *table = calloc(1, sizeof *table);
  if (!table) return evr_fail(&c->error, EVENTRING_E_MEMORY, 0, "no memory for totals");
  c->meta.over = evr_metadata_liveness(&c->meta) != EVENTRING_LIVE;
  int status = evr_metadata_refresh(&c->meta, &c->error);
  if (status == EVENTRING_OK)
    status = evr_definitions_catch_up(&c->definitions, &c->meta, &c->error);
  if (status == EVENTRING_OK) status = evr_totals_collect(c, table, &c->error);
  for (uint32_t i = 0; status == EVENTRING_OK && i < table->count; i++)
    status = deliver(c, &table->row[i], take, context);
  evr_totals_free(table);
  free(table);
  return status;
}
