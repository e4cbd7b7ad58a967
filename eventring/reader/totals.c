/* SPDX-License-Identifier: MIT */
/* totals.c: what all events of a recording add up to, also those that are gone.
 *
 * The producer adds the events of a block to the rows of its ring when it leaves the
 * block; producer/totals.c has the design and the steps T1 to T4. The word `folded` has
 * the number of the last block that was added. So the totals of a ring are its rows plus
 * the events of the block after block `folded`, if there is one; this block is read like
 * any other. A ring whose producer has left no block yet has no rows. A ring is read
 * again when `folded` has changed (T5). This is rare, but a hostile file may do it at
 * each try, so the tries of all rings together are limited. If a process fills blocks
 * faster than they are read, only the rows are taken. A copy has complete rows, of all
 * rings together.
 *
 * A figure that grows in a live process must not become less from one reading to the
 * next, by this or another reader: a program that computes rates would take that for a
 * restart.
 *
 * - If the newest block is left out, `folded` has changed since any reading that included
 *   that block. So the rows have all events of that reading.
 * - The ticks of a span of the newest block are not known, only its times in ns: the span
 *   counts with the fewest ticks that convert to these times. The producer later adds at
 *   least as many.
 * - Ticks are converted at a fixed rate, which is that of the second calibration, after a
 *   second, and not at the newest rate. Histograms are in ns. (For an ended process the
 *   newest, best rate is used.)
 * - The reason of a span that ends in the newest block is looked for in the earlier
 *   blocks. If its begin was overwritten, the span counts in its histogram only when the
 *   producer adds it.
 */
#include "reader/totals.h"

#include <stdlib.h>
#include <string.h>

#include "eventring/tools.h"
#include "format/array.h"
#include "format/atomics.h"
#include "format/reasons.h"

enum {
  ROW_WORDS = sizeof(struct format_total) / 8,
  MOST_RETRIES = 400,  /* retries for all rings together */
  MOST_HISTOGRAMS = 4096,
  /* index of the segment with the steady rate: 0 is from the start, 1 and 2 are from the
     first calibration, 3 and 4 from the second */
  STEADY_SEGMENT = 4,
  BLOCKS_BACK = 16     /* blocks in which the begin of a span is looked for */
};
_Static_assert(EVENTRING_HISTOGRAM_BUCKETS == FORMAT_HISTOGRAM_BOUNDS + 1, "buckets");

struct page { /* a block of the file */
  uint32_t block, number;
  uint16_t ring; /* slot * EVENTRING_RINGS + ring */
  uint16_t kind; /* TOTALS or HISTOGRAMS */
};

struct pages { /* in the order of their rings, kinds and numbers */
  struct page *page;
  uint32_t count, room;
};

/* ---- Tables ------------------------------------------------------------------------ */

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

/* Returns the sums of a span and a reason, made at first use, or NULL if there are too
   many or no memory. */
static struct format_sums *find_histogram(struct evr_totals_table *table, unsigned id,
                                          uint64_t reason) {
  for (uint32_t i = 0; i < table->histograms; i++)
    if (record_number(table->histogram[i].first) == id && table->histogram[i].reason == reason)
      return &table->histogram[i].sums[0];
  if (table->histograms == MOST_HISTOGRAMS ||
      !EVR_MAKE_ROOM(table->histogram, table->histogram_room, table->histograms, 16))
    return NULL;
  table->histogram[table->histograms++] = (struct format_total){
      .first = format_record(ROW_WORDS, 1, id), .reason = reason};
  return &table->histogram[table->histograms - 1].sums[0];
}

static void add_buckets(struct format_sums *sums, const struct format_sums *more) {
  for (unsigned n = 0; n < FORMAT_TOTAL_BUCKETS; n++) sums->bucket[n] += more->bucket[n];
}

static void note_last(struct format_sums *sums, uint64_t value, uint64_t ticks) {
  if (ticks < sums->last_ticks) return;
  sums->last = value;
  sums->last_ticks = ticks;
}

static bool is_counter(const eventring_cursor *c, unsigned id) {
  const struct eventring_def *def = evr_definition_of(&c->definitions, id);
  return def && def->kind == EVENTRING_DEF_COUNTER;
}

/* Adds a row of the file to the row of its definition. Returns false when out of
   memory. */
static bool add_row(const eventring_cursor *c, struct evr_totals_table *table,
                    const struct format_total *row, const struct format_sums *more) {
  const unsigned id = record_number(row->first);
  struct format_sums *sums = find_row(table, id, row->payload);
  if (!sums) return false;
  sums->count += more->count;
  sums->sum = format_total_add(row->payload, sums->sum, more->sum);
  if (is_counter(c, id)) {
    sums->negative += more->negative;
    note_last(sums, more->last, more->last_ticks);
  } else {
    add_buckets(sums, more);
  }
  return true;
}

static bool add_histogram(struct evr_totals_table *table, const struct format_total *row,
                          const struct format_sums *more) {
  struct format_sums *sums = find_histogram(table, record_number(row->first), row->reason);
  if (!sums) return false;
  sums->count += more->count;
  sums->sum += more->sum;
  add_buckets(sums, more);
  return true;
}

static bool add_table(const eventring_cursor *c, struct evr_totals_table *table,
                      const struct evr_totals_table *more) {
  for (uint32_t i = 0; i < more->count; i++)
    if (!add_row(c, table, &more->row[i], &more->row[i].sums[0])) return false;
  for (uint32_t i = 0; i < more->histograms; i++)
    if (!add_histogram(table, &more->histogram[i], &more->histogram[i].sums[0])) return false;
  return true;
}

static void clear_table(struct evr_totals_table *table) {
  for (uint32_t i = 0; i < table->count; i++) table->of[record_number(table->row[i].first)] = 0;
  table->count = table->histograms = 0;
}

void evr_totals_free(struct evr_totals_table *table) {
  free(table->row);
  free(table->histogram);
}

/* ---- Pages ------------------------------------------------------------------------- */

static int compare_pages(const void *left, const void *right) {
  const struct page *a = left, *b = right;
  if (a->ring != b->ring) return a->ring < b->ring ? -1 : 1;
  if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
  return (a->number > b->number) - (a->number < b->number);
}

static bool is_page(unsigned kind) {
  return kind == FORMAT_TOTALS || kind == FORMAT_HISTOGRAMS;
}

static int list_pages(const eventring_cursor *c, struct pages *pages,
                      struct eventring_error *error) {
  const struct evr_record_scan *scan = &c->definitions.scan;
  for (uint32_t i = 0; i < scan->count; i++) {
    uint64_t words[FORMAT_BLOCK_HEADER_WORDS];
    const struct format_block *h = (const struct format_block *)words;
    if (scan->blocks[i].kind && !is_page(scan->blocks[i].kind)) continue;
    int status = evr_source_read(&c->meta.source, format_block_offset(scan->blocks[i].block), words,
                                 sizeof words, error);
    if (status != EVENTRING_OK) return status;
    if (!h->sequence || !is_page(h->kind) || h->domain >= EVENTRING_MAX_DOMAINS ||
        h->ring >= EVENTRING_RINGS)
      continue;
    if (!EVR_MAKE_ROOM(pages->page, pages->room, pages->count, 16))
      return evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for totals");
    pages->page[pages->count++] = (struct page){
        .block = scan->blocks[i].block, .number = h->incarnation, .kind = h->kind,
        .ring = (uint16_t)(h->domain * EVENTRING_RINGS + h->ring)};
  }
  if (pages->count) qsort(pages->page, pages->count, sizeof *pages->page, compare_pages);
  return EVENTRING_OK;
}

/* Adds the rows of a page that contain the events up to block `folded`. */
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
    const struct format_sums *sums = &row->sums[second];
    if (is_there[second] && !(page->kind == FORMAT_TOTALS ? add_row(c, table, row, sums)
                                                          : add_histogram(table, row, sums)))
      status = evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for totals");
  }
  return status;
}

static uint64_t read_folded(const eventring_cursor *c, const struct page *first) {
  uint64_t folded = 0;
  evr_source_read(&c->meta.source, format_block_offset(first->block) + 8 * FORMAT_TOTALS_FOLDED,
                  &folded, sizeof folded, NULL);
  /* acquire fence: pairs with T4 (producer/totals.c): rows copied after this fence have
     the events up to block `folded` */
  evr_fence_acquire();
  return folded;
}

/* ---- The block after that ---------------------------------------------------------- */

struct reasoned { /* a span that has a reason */
  uint16_t id, reason;
  bool began; /* its begin was found */
  bool bare;  /* its begin has no value */
  bool ended;
  uint64_t context, begin_ns, took;
};

struct adding {
  const eventring_cursor *cursor;
  struct evr_totals_table *table;
  struct reasoned *reasoned;
  /* number of entries of `reasoned`; their room; number of entries whose begin was not
     found */
  uint32_t count, room, unknown;
  bool no_memory;
};

/* Returns a rate reduced by its uncertainty, which is about 10^-3 until the second
   calibration and 10^-6 after it (calibration.c). So sums are at first too small by this
   uncertainty, and later sums are never less. */
static uint64_t less_what_is_unsure(uint64_t multiplier, uint32_t segments) {
  return multiplier - (multiplier >> (segments == 1 ? 9 : 16));
}

static uint64_t multiplier_of(const struct evr_metadata *meta) {
  const struct evr_conversion *known = &meta->conversion;
  if (meta->over || meta->header.clock == FORMAT_CLOCK_MONOTONIC)
    return known->segment[known->segments - 1].multiplier;
  if (known->segments > STEADY_SEGMENT) return known->segment[STEADY_SEGMENT].multiplier;
  return less_what_is_unsure(known->segment[known->segments - 1].multiplier, known->segments);
}

static uint64_t ns_of(const struct evr_metadata *meta, uint64_t ticks) {
  return (uint64_t)((unsigned __int128)ticks * multiplier_of(meta) >> FORMAT_CLOCK_SHIFT);
}

/* Returns the ticks of a duration in ns; while the process lives, the fewest ticks that
   may take so long. */
static uint64_t ticks_of(const struct evr_metadata *meta, uint64_t ns) {
  enum { NEWEST = 5 /* the newest segments, one of which was valid when the newest block
                       was written */ };
  uint64_t multiplier = 1;
  if (meta->over)
    return (uint64_t)(((unsigned __int128)ns << FORMAT_CLOCK_SHIFT) / multiplier_of(meta));
  for (uint32_t i = 0; i < NEWEST && i < meta->conversion.segments; i++) {
    const uint64_t m = meta->conversion.segment[meta->conversion.segments - 1 - i].multiplier;
    if (m > multiplier) multiplier = m;
  }
  return ns ? (uint64_t)(((unsigned __int128)(ns - 1) << FORMAT_CLOCK_SHIFT) / multiplier) : 0;
}

static bool is_reasoned(const struct eventring_def *def) { return def && evr_has_reasons(def); }

/* Tells whether a begin has a reason. A span whose begin has no value has no histogram,
   as in the producer. */
static bool has_value(const struct eventring_event *begin) {
  return begin->payload == EVENTRING_UINT || begin->payload == EVENTRING_INT;
}

static uint16_t reason_of(const struct eventring_event *begin) {
  return begin->value.u < EVENTRING_MAX_EVENTS ? (uint16_t)begin->value.u : 0;
}

static void take_reason(struct reasoned *r, const struct eventring_event *begin) {
  r->bare = !has_value(begin);
  r->reason = r->bare ? 0 : reason_of(begin);
}

/* Returns the span of which an event is the missing begin or end, or NULL. */
static struct reasoned *find_reasoned(const struct adding *adding,
                                      const struct eventring_event *event) {
  for (uint32_t i = adding->count; i-- > 0;) {
    struct reasoned *r = &adding->reasoned[i];
    if (r->id == event->id && r->context == event->context && r->begin_ns == event->begin_ns &&
        (event->kind == EVENTRING_END ? !r->ended : !r->began))
      return r;
  }
  return NULL;
}

static bool note_reasoned(struct adding *adding, const struct eventring_event *event,
                          int64_t took) {
  struct reasoned *r = event->kind == EVENTRING_END ? find_reasoned(adding, event) : NULL;
  if (!r) {
    if (!EVR_MAKE_ROOM(adding->reasoned, adding->room, adding->count, 32)) return false;
    r = &adding->reasoned[adding->count++];
    *r = (struct reasoned){.id = event->id, .context = event->context, .begin_ns = event->begin_ns,
                           .began = event->kind == EVENTRING_BEGIN};
    if (r->began) take_reason(r, event);
    else adding->unknown++;
  }
  if (event->kind == EVENTRING_END) {
    r->ended = true;
    r->took = (uint64_t)took;
  }
  return true;
}

static int add_event(void *context, const struct eventring_event *event) {
  struct adding *adding = context;
  const int64_t took = eventring_event_took(event);
  bool is_span = event->kind == EVENTRING_BEGIN || event->kind == EVENTRING_END;
  if (event->flags & EVENTRING_SYNTHETIC) return 0;
  if (is_span && (took >= 0 || event->kind == EVENTRING_BEGIN) && is_reasoned(event->def) &&
      !note_reasoned(adding, event, took)) {
    adding->no_memory = true;
    return 1;
  }
  if (is_span && took < 0) return 0;
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
    /* (the time must be later than those in the rows, but need not be exact) */
    note_last(sums, event->value.u, evr_metadata_ticks(&adding->cursor->meta, event->ns));
    sums->negative += event->payload != EVENTRING_UINT && event->value.i < 0;
  }
  return 0;
}

/* Handles an event of an earlier block: uses only begins that are missing. */
static int find_begin(void *context, const struct eventring_event *event) {
  struct adding *adding = context;
  if (event->kind != EVENTRING_BEGIN || event->flags & EVENTRING_SYNTHETIC ||
      !is_reasoned(event->def))
    return 0;
  struct reasoned *r = find_reasoned(adding, event);
  if (!r) return 0;
  r->began = true;
  take_reason(r, event);
  adding->unknown--;
  return 0;
}

static bool add_reasoned(struct adding *adding) {
  for (uint32_t i = 0; i < adding->count; i++) {
    const struct reasoned *r = &adding->reasoned[i];
    if (!r->began || r->bare || !r->ended) continue;
    struct format_sums *sums = find_histogram(adding->table, r->id, r->reason);
    if (!sums) return false;
    sums->count++;
    sums->sum += r->took;
    sums->bucket[format_histogram_bucket(r->took)]++;
  }
  return true;
}

static int pass_loss(void *context, const struct eventring_loss *loss) {
  (void)context, (void)loss;
  return 0;
}

/* Reads a block. Returns false if the block is missing. */
static bool read_block(struct evr_ring_reader *reader, uint64_t sequence, struct evr_sink *sink) {
  struct eventring_error damage = {0}; /* damage is reported by a poll */
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

/* Visits block `sequence`: adds its events, or, with `find`, only looks for missing
   begins. Returns false if the block cannot be read, or when out of memory. */
static bool visit_block(eventring_cursor *c, unsigned ring, uint64_t sequence,
                        struct adding *adding, bool find) {
  struct evr_sink sink = {.callbacks = {sizeof sink.callbacks, find ? find_begin : add_event,
                                        pass_loss},
                          .context = adding, .left = UINT64_MAX, .budget = 1};
  struct evr_ring_reader *reader = evr_ring_reader_new(
      &c->meta, &c->definitions, ring / EVENTRING_RINGS, ring % EVENTRING_RINGS, 0);
  bool is_there = reader && (sequence > evr_block_cursor_head(&reader->blocks) ||
                             read_block(reader, sequence, &sink));
  evr_ring_reader_free(reader);
  return is_there && !adding->no_memory;
}

static bool add_block(eventring_cursor *c, unsigned ring, uint64_t sequence,
                      struct evr_totals_table *table) {
  struct adding adding = {.cursor = c, .table = table};
  bool is_there = visit_block(c, ring, sequence, &adding, false);
  for (uint64_t back = 1; is_there && adding.unknown && back < sequence && back <= BLOCKS_BACK;
       back++)
    if (!visit_block(c, ring, sequence - back, &adding, true)) break;
  bool has_room = add_reasoned(&adding);
  free(adding.reasoned);
  return is_there && has_room;
}

/* ---- All rings --------------------------------------------------------------------- */

/* Collects the totals of a ring at one moment from its pages, if it has any. Each try but
   the first takes 1 from *retries; the last TRIES_OF_ROWS tries read the rows alone. */
static int collect_ring(eventring_cursor *c, unsigned ring, const struct page *page,
                        uint32_t pages, unsigned *retries, struct evr_totals_table *table,
                        struct eventring_error *error) {
  enum { TRIES = 8, TRIES_OF_ROWS = 8 };
  for (unsigned tries = 0;; tries++) {
    const bool rows_only = pages && tries >= TRIES;
    uint64_t folded = pages ? read_folded(c, page) : 0;
    int status = tries && !rows_only ? evr_metadata_refresh(&c->meta, error) : EVENTRING_OK;
    clear_table(table);
    for (uint32_t i = 0; status == EVENTRING_OK && i < pages; i++)
      status = add_page(c, &page[i], folded, table, error);
    if (status != EVENTRING_OK) return status;
    bool is_whole = folded == UINT64_MAX || rows_only || add_block(c, ring, folded + 1, table);
    /* acquire fence: pairs with T2 (producer/totals.c): if a store of T3 was copied, T5
       sees the value of `folded` before that store, or a newer one */
    evr_fence_acquire();
    /* T5: `folded` is unchanged */
    if (is_whole && (!pages || read_folded(c, page) == folded)) return EVENTRING_OK;
    if (c->meta.over || !*retries || tries >= TRIES + TRIES_OF_ROWS) break;
    --*retries;
  }
  return evr_fail(error, EVENTRING_E_NOT_FOUND, 0, "the file does not have all totals");
}

static bool are_complete(const eventring_cursor *c, const struct pages *pages) {
  return pages->count && read_folded(c, &pages->page[0]) == UINT64_MAX;
}

/* The state of adding the rings one after the other. A ring that is still in its first
   block has no pages. When all rings of a slot are in the table, `end_slot` is called
   with it, and the table is cleared. If `end_slot` is NULL, the table has all slots. */
struct collecting {
  eventring_cursor *cursor;
  const struct pages *pages;
  struct evr_totals_table *table, *of_ring;
  int (*end_slot)(void *context, unsigned slot, const struct evr_totals_table *table);
  void *context;
};

static int no_memory(struct eventring_error *error) {
  return evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for totals");
}

static int collect_rings(const struct collecting *to, struct eventring_error *error) {
  const struct pages *pages = to->pages;
  bool is_copy = are_complete(to->cursor, pages);
  unsigned retries = MOST_RETRIES;
  uint32_t at = 0;
  int status = EVENTRING_OK;
  for (unsigned ring = 0; status == EVENTRING_OK && ring < EVR_ALL_RINGS; ring++) {
    const unsigned slot = ring / EVENTRING_RINGS;
    const uint32_t first = at;
    while (at < pages->count && pages->page[at].ring == ring) at++;
    bool is_made = evr_metadata_blocks(&to->cursor->meta, slot, ring % EVENTRING_RINGS);
    if (at > first || (is_made && !is_copy)) {
      const struct page *own = at > first ? &pages->page[first] : NULL;
      if (own && own->kind != FORMAT_TOTALS)
        return evr_fail(error, EVENTRING_E_NOT_FOUND, 0, "the file has no totals of a ring");
      status = collect_ring(to->cursor, ring, own, at - first, &retries, to->of_ring, error);
      if (status == EVENTRING_OK && !add_table(to->cursor, to->table, to->of_ring))
        status = no_memory(error);
    }
    if (status == EVENTRING_OK && to->end_slot && ring % EVENTRING_RINGS == EVENTRING_RINGS - 1) {
      status = to->end_slot(to->context, slot, to->table);
      clear_table(to->table);
    }
  }
  return status;
}

static int collect(eventring_cursor *c, struct evr_totals_table *table,
                   int (*end_slot)(void *context, unsigned slot,
                                   const struct evr_totals_table *table),
                   void *context, struct eventring_error *error) {
  struct pages pages = {0};
  if (c->meta.status.kind[FORMAT_TOTALS].dropped)
    return evr_fail(error, EVENTRING_E_NOT_FOUND, 0, "there was no room for all totals");
  if (c->meta.is_live_copy) /* its pages and its rings were copied at different moments */
    return evr_fail(error, EVENTRING_E_NOT_FOUND, 0, "it was copied while it was written");
  int status = list_pages(c, &pages, error);
  if (status == EVENTRING_OK && end_slot && are_complete(c, &pages))
    status = evr_fail(error, EVENTRING_E_NOT_FOUND, 0, "a copy has the totals of all domains "
                                                       "together");
  struct collecting to = {c, &pages, table, calloc(1, sizeof *to.of_ring), end_slot, context};
  if (!to.of_ring && status == EVENTRING_OK) status = no_memory(error);
  if (status == EVENTRING_OK) status = collect_rings(&to, error);
  if (to.of_ring) evr_totals_free(to.of_ring);
  free(to.of_ring);
  free(pages.page);
  return status;
}

int evr_totals_collect(eventring_cursor *c, struct evr_totals_table *table,
                       struct eventring_error *error) {
  return collect(c, table, NULL, NULL, error);
}

/* ---- For users --------------------------------------------------------------------- */

struct delivery {
  eventring_cursor *cursor;
  const struct eventring_recorded_callbacks *callbacks;
  void *context;
};

static int deliver_row(const struct delivery *to, unsigned slot, const struct format_total *row) {
  const eventring_cursor *c = to->cursor;
  const struct eventring_def *def = evr_definition_of(&c->definitions, record_number(row->first));
  const struct format_sums *sums = &row->sums[0];
  struct eventring_recorded recorded = {.id = (uint16_t)record_number(row->first), .def = def,
                                        .domain = slot, .count = sums->count};
  if (def && def->kind == EVENTRING_DEF_SPAN) {
    recorded.ns = ns_of(&c->meta, sums->sum);
    recorded.least_ns = ns_of(&c->meta, (uint64_t)1 << FORMAT_TOTAL_SHIFT);
    memcpy(recorded.bucket, sums->bucket, sizeof recorded.bucket);
  } else if (def && def->kind == EVENTRING_DEF_COUNTER) {
    recorded.sum.u = sums->sum;
    recorded.last.u = sums->last;
    recorded.negative = sums->negative != 0;
    if (sums->last_ticks) recorded.last_ns = evr_to_ns(&c->meta.conversion, sums->last_ticks);
  }
  return to->callbacks->recorded(to->context, &recorded);
}

static int deliver_histogram(const struct delivery *to, unsigned slot,
                             const struct format_total *row) {
  const struct evr_definitions *definitions = &to->cursor->definitions;
  const struct format_sums *sums = &row->sums[0];
  struct eventring_histogram h = {
      .id = (uint16_t)record_number(row->first), .reason_id = (uint16_t)row->reason, .domain = slot,
      .def = evr_definition_of(definitions, record_number(row->first)),
      .reason = row->reason ? evr_definition_of(definitions, (unsigned)row->reason) : NULL,
      .count = sums->count, .ns = sums->sum, .bound = format_histogram_bounds};
  memcpy(h.bucket, sums->bucket, sizeof h.bucket);
  return to->callbacks->histogram(to->context, &h);
}

static int deliver(void *context, unsigned slot, const struct evr_totals_table *table) {
  const struct delivery *to = context;
  int result = 0;
  for (uint32_t i = 0; to->callbacks->recorded && !result && i < table->count; i++)
    result = deliver_row(to, slot, &table->row[i]);
  for (uint32_t i = 0; to->callbacks->histogram && !result && i < table->histograms; i++)
    result = deliver_histogram(to, slot, &table->histogram[i]);
  return result;
}

int eventring_cursor_recorded(eventring_cursor *c, bool by_domain,
                              const struct eventring_recorded_callbacks *callbacks,
                              void *context) {
  if (!c || !callbacks) return EVENTRING_E_ARGUMENT;
  if (c->busy) return EVENTRING_E_BUSY;
  struct evr_totals_table *table = calloc(1, sizeof *table);
  if (!table) return no_memory(&c->error);
  struct delivery to = {c, callbacks, context};
  c->meta.over = evr_metadata_liveness(&c->meta) != EVENTRING_LIVE;
  int status = evr_metadata_refresh(&c->meta, &c->error);
  if (status == EVENTRING_OK)
    status = evr_definitions_catch_up(&c->definitions, &c->meta, &c->error);
  if (status == EVENTRING_OK)
    status = collect(c, table, by_domain ? deliver : NULL, &to, &c->error);
  if (status == EVENTRING_OK && !by_domain) status = deliver(&to, EVENTRING_MAX_DOMAINS, table);
  evr_totals_free(table);
  free(table);
  return status;
}
