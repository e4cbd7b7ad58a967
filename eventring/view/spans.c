/* SPDX-License-Identifier: MIT */
/* spans.c: spans that are kept whole, and sections `spans` and `cover`. (The file is long
 * because what is kept of a span, by its cell (an interval of time, grid.h) and by its
 * name, decides what the sections show, in the same order.) */
#include "view/spans.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/saturating.h"
#include "analysis/top.h"
#include "format/array.h"
#include "view/cell_array.h"
#include "view/events.h"
#include "view/lists.h"
#include "view/share.h"

enum {
  OF_NAME = 8,        /* longest spans that are kept of a name, and last ones; fewer if
                         there are many names */
  MOST_TORN = 4096,   /* torn and open spans that are kept */
  LEVELS = 8,
  MOST_DEPTH = 4095,  /* deeper spans are covered at this depth */
  ROWS_OF_MIB = 1 << 15 /* most rows of section `spans` in a page of 1 MiB */
};

struct longest {
  struct page_span span;
  struct page_owner owner;
};

struct name {
  uint8_t ring; /* ring of its first span */
  uint32_t room; /* room for longest spans, and for last spans */
  uint32_t longest_count, last_count, next_last;
  struct longest longest[]; /* behind them are the last ones: last_of */
};

struct piece { /* the part of a cell that spans of a track and depth take */
  uint32_t cell, count;
  uint64_t ns;
  struct page_span longest; /* the longest span that ended in it; ns is 0 if none */
};

struct cover {
  uint32_t track, depth;
  uint8_t level;
  struct piece *piece;
  size_t count, room;
  struct page_value *held; /* value of the span that is open there */
  uint64_t held_ns;        /* begin of that span */
};

/* Sums of the spans of a depth. */
struct sums {
  uint64_t ns;
  uint32_t count, took;
  const struct eventring_brief *longest;
};

struct page_spans {
  struct page_run *run;
  struct page_grid grid; /* the grid at the last span that was taken, since the queue
                            lags */
  struct page_cell_at now; /* cell of the last span */
  size_t most, used; /* bytes of pieces */
  struct name *name[EVENTRING_MAX_EVENTS];
  size_t names;            /* number of names of the user's ring */
  size_t most_rows;        /* most rows of section `spans` */
  uint32_t of_name;        /* `room` of each of these names */
  struct least {
    uint64_t ns;    /* least length that may be among the longest of the name or of all */
    uint32_t noted; /* last batch from which the name got a last span */
  } least[EVENTRING_MAX_EVENTS];
  struct longest longest[PAGE_LONGEST]; /* the longest of all spans of the user's ring */
  uint32_t longest_count;
  uint64_t least_of_all; /* least length that may be among `longest` */
  struct page_values values;
  struct cover **cover; /* for each track, an array by depth */
  uint32_t *depths;
  struct page_owner *owner;
  size_t tracks;
  struct page_span *torn;
  size_t torn_count, torn_room;
  uint64_t torn_seen, seen;
  uint32_t batches;
  struct sums sums[EVENTRING_BATCH + 1]; /* sums of the batch, by depth; zeroed between
                                            batches */
  bool keeps_all;
  struct page_span *all;
  size_t all_count, all_room;
  size_t cover_whole; /* bytes that the pieces needed at first */
};

struct page_spans *page_spans_new(struct page_run *run, size_t room, bool keeps_all) {
  struct page_spans *spans = calloc(1, sizeof *spans);
  if (!spans) return NULL;
  spans->run = run;
  spans->grid = run->grid;
  spans->most = room;
  spans->keeps_all = keeps_all;
  spans->of_name = OF_NAME;
  spans->most_rows = run->limit ? ROWS_OF_MIB * (run->limit >> 10) >> 10 : SIZE_MAX;
  return spans;
}

/* Replaces a span by another one, with its value. */
static void set(struct page_span *into, const struct page_span *span) {
  struct page_value *before = into->value;
  *into = *span;
  page_value_use(into->value);
  page_value_drop(before);
}

static void drop_values(const struct page_span *span, size_t count) {
  for (size_t i = 0; i < count; i++) page_value_drop(span[i].value);
}

static struct page_span *last_of(struct name *name) {
  return (struct page_span *)(name->longest + name->room);
}

static void free_name(struct name *name) {
  if (!name) return;
  for (uint32_t i = 0; i < name->longest_count; i++) page_value_drop(name->longest[i].span.value);
  drop_values(last_of(name), name->last_count);
  free(name);
}

static void free_cover(struct cover *cover) {
  for (size_t i = 0; i < cover->count; i++) page_value_drop(cover->piece[i].longest.value);
  page_value_drop(cover->held);
  free(cover->piece);
}

void page_spans_free(struct page_spans *spans) {
  if (!spans) return;
  for (size_t i = 0; i < EVENTRING_MAX_EVENTS; i++) free_name(spans->name[i]);
  for (size_t i = 0; i < spans->longest_count; i++) page_value_drop(spans->longest[i].span.value);
  for (size_t t = 0; t < spans->tracks; t++) {
    for (uint32_t d = 0; d < spans->depths[t]; d++) free_cover(&spans->cover[t][d]);
    free(spans->cover[t]);
  }
  drop_values(spans->torn, spans->torn_count);
  drop_values(spans->all, spans->all_count);
  free(spans->cover);
  free(spans->depths);
  free(spans->owner);
  free(spans->torn);
  free(spans->all);
  page_values_free(&spans->values);
  free(spans);
}

/* ---- Cover ------------------------------------------------------------------------ */

static int make_tracks(struct page_spans *spans, size_t tracks) {
  if (tracks <= spans->tracks) return EVENTRING_OK;
  struct cover **cover = reallocarray(spans->cover, tracks, sizeof *cover);
  if (cover) spans->cover = cover;
  uint32_t *depths = reallocarray(spans->depths, tracks, sizeof *depths);
  if (depths) spans->depths = depths;
  struct page_owner *owner = reallocarray(spans->owner, tracks, sizeof *owner);
  if (owner) spans->owner = owner;
  if (!cover || !depths || !owner) return EVENTRING_E_MEMORY;
  for (; spans->tracks < tracks; spans->tracks++)
    cover[spans->tracks] = NULL, depths[spans->tracks] = 0,
    owner[spans->tracks] = (struct page_owner){0};
  return EVENTRING_OK;
}

int page_spans_own(struct page_spans *spans, uint32_t track, const struct page_owner *owner) {
  if (make_tracks(spans, track + 1) < 0) return EVENTRING_E_MEMORY;
  spans->owner[track] = *owner;
  return EVENTRING_OK;
}

static int make_depths(struct page_spans *spans, uint32_t track, uint32_t depths) {
  const uint32_t had = spans->depths[track];
  if (depths <= had) return EVENTRING_OK;
  struct cover *cover = reallocarray(spans->cover[track], depths, sizeof *cover);
  if (!cover) return EVENTRING_E_MEMORY;
  spans->cover[track] = cover;
  for (uint32_t d = had; d < depths; d++) cover[d] = (struct cover){.track = track, .depth = d};
  spans->depths[track] = depths;
  return EVENTRING_OK;
}

static __attribute__((noinline)) struct cover *make_cover(struct page_spans *spans,
                                                          uint32_t track, uint32_t depth) {
  if (depth > MOST_DEPTH) depth = MOST_DEPTH;
  if (track >= spans->tracks && make_tracks(spans, track + 1) < 0) return NULL;
  if (depth >= spans->depths[track] && make_depths(spans, track, depth + 1) < 0) return NULL;
  return &spans->cover[track][depth];
}

/* Returns the cover of a track at a depth, made if there is none, or NULL when out of
   memory. (This function and piece_at are called for each span.) */
static inline struct cover *cover_at(struct page_spans *spans, uint32_t track, uint32_t depth) {
  if (__builtin_expect(track < spans->tracks && depth < spans->depths[track], 1))
    return &spans->cover[track][depth];
  return make_cover(spans, track, depth);
}

static __attribute__((noinline)) struct piece *make_piece(struct page_spans *spans,
                                                          struct cover *cover, uint32_t cell) {
  const size_t before = cover->count;
  struct piece *piece = PAGE_ROW_OF(cover->piece, cover->count, cover->room, cell);
  spans->used += (cover->count - before) * sizeof *piece;
  return piece;
}

/* Returns the piece of a cell, which is mostly the last one, or NULL when out of
   memory. */
static inline struct piece *piece_at(struct page_spans *spans, struct cover *cover, uint32_t cell) {
  if (__builtin_expect(cover->count && cover->piece[cover->count - 1].cell == cell, 1))
    return &cover->piece[cover->count - 1];
  return make_piece(spans, cover, cell);
}

static void merge_piece(struct piece *into, const struct piece *from) {
  into->count += from->count;
  into->ns += from->ns;
  if (from->longest.ns > into->longest.ns) set(&into->longest, &from->longest);
  page_value_drop(from->longest.value);
}

static void join_pieces(struct cover *cover) {
  PAGE_JOIN_ROWS(cover->piece, cover->count, merge_piece(into, from));
}

static void each_cover(struct page_spans *spans, void (*visit)(void *, struct cover *),
                       void *context) {
  for (size_t t = 0; t < spans->tracks; t++)
    for (uint32_t d = 0; d < spans->depths[t]; d++)
      if (spans->cover[t][d].count) visit(context, &spans->cover[t][d]);
}

static void halve_cover(void *none, struct cover *cover) {
  (void)none;
  if (cover->level) cover->level--;
  else join_pieces(cover);
}

void page_spans_tell_depths(const struct page_spans *spans) {
  for (uint32_t t = 0; t < spans->tracks; t++)
    page_track_deepen(spans->run->lists, t, spans->depths[t]);
}

int page_spans_halve(struct page_spans *spans) {
  each_cover(spans, halve_cover, NULL);
  spans->grid.cell_ns *= 2;
  spans->now = (struct page_cell_at){0};
  return EVENTRING_OK;
}

struct fitting {
  struct page_need *needs;
  size_t count, at, bytes;
};

static void count_cover(void *context, struct cover *cover) {
  struct fitting *fitting = context;
  fitting->count++;
  fitting->bytes += cover->count * sizeof *cover->piece;
}

/* Adds the need of a cover. Deeper spans have less weight, so they lose room first. */
static void need_cover(void *context, struct cover *cover) {
  struct fitting *fitting = context;
  fitting->needs[fitting->at++] = (struct page_need){
      .weight = 1 / (1.0 + cover->depth) , .bytes = cover->count * sizeof *cover->piece};
}

static void fit_one(void *context, struct cover *cover) {
  struct fitting *fitting = context;
  const struct page_need *need = &fitting->needs[fitting->at++];
  while (cover->level < PAGE_CELLS_LOG2 && cover->count * sizeof *cover->piece > need->allowed) {
    cover->level++;
    join_pieces(cover);
  }
}

static size_t cover_bytes(struct page_spans *spans) {
  struct fitting fitting = {0};
  each_cover(spans, count_cover, &fitting);
  return fitting.bytes;
}

static int fit_cover(struct page_spans *spans, size_t room) {
  struct fitting fitting = {0};
  each_cover(spans, count_cover, &fitting);
  fitting.needs = calloc(fitting.count ? fitting.count : 1, sizeof *fitting.needs);
  if (!fitting.needs) return EVENTRING_E_MEMORY;
  each_cover(spans, need_cover, &fitting);
  page_share(fitting.needs, fitting.count, room);
  fitting.at = 0;
  each_cover(spans, fit_one, &fitting);
  free(fitting.needs);
  spans->used = cover_bytes(spans);
  return EVENTRING_OK;
}

/* Adds a span that lies in several cells to its cover: to each cell its time there, and
   one to the count of the first cell. */
static int cover_cells(struct page_spans *spans, struct cover *cover,
                       const struct page_span *span) {
  const struct page_grid *grid = &spans->grid;
  const uint64_t end = span->begin_ns + span->ns;
  const uint32_t last = page_grid_cell(grid, end);
  uint64_t from = span->begin_ns > grid->begin_ns ? span->begin_ns : grid->begin_ns;
  struct piece *piece = NULL;
  for (uint32_t cell = page_grid_cell(grid, span->begin_ns), first = cell; cell <= last; cell++) {
    const uint64_t next = page_grid_begin(grid, cell + 1),
                   to = cell < last && next < end ? next : end;
    piece = piece_at(spans, cover, cell >> cover->level);
    if (!piece) return EVENTRING_E_MEMORY;
    if (to > from) piece->ns += to - from;
    if (cell == first && span->begin_ns >= grid->begin_ns) piece->count++;
    from = to;
  }
  if (piece && span->ns >= piece->longest.ns) set(&piece->longest, span);
  return EVENTRING_OK;
}

/* Adds a span to its cover. Most spans lie in one cell, the same as that of the span
   before. */
static int cover_span(struct page_spans *spans, struct cover *cover, const struct page_span *span) {
  const uint32_t cell = page_grid_cell_at(&spans->grid, &spans->now, span->begin_ns);
  if (!page_cell_has(&spans->now, span->begin_ns) ||
      !page_cell_has(&spans->now, span->begin_ns + span->ns))
    return cover_cells(spans, cover, span);
  struct piece *piece = piece_at(spans, cover, cell >> cover->level);
  if (!piece) return EVENTRING_E_MEMORY;
  piece->ns += span->ns;
  piece->count++;
  if (span->ns >= piece->longest.ns) set(&piece->longest, span);
  return EVENTRING_OK;
}

/* ---- By name ---------------------------------------------------------------------- */

static uint64_t end_of(const struct page_span *span) { return span->begin_ns + span->ns; }

static int longer_first(const void *a, const void *b) {
  const struct page_span *x = a, *y = b;
  return (x->ns < y->ns) - (x->ns > y->ns);
}

static int later_first(const void *a, const void *b) {
  const uint64_t x = end_of(a), y = end_of(b);
  return (x < y) - (x > y);
}

static struct name *new_name(uint8_t ring, uint32_t room) {
  struct name *name = calloc(1, sizeof *name + room * (sizeof(struct longest) +
                                                       sizeof(struct page_span)));
  if (name) name->ring = ring, name->room = room;
  return name;
}

static uint32_t shortest_of(const struct name *name) {
  uint32_t at = 0;
  for (uint32_t i = 1; i < name->longest_count; i++)
    if (name->longest[i].span.ns < name->longest[at].span.ns) at = i;
  return at;
}

/* Updates `least` of a name. (least_of_all never decreases.) */
static void tell_least(struct page_spans *spans, size_t id) {
  const struct name *name = spans->name[id];
  const bool is_full = name->longest_count == name->room;
  uint64_t ns = is_full ? name->longest[shortest_of(name)].span.ns + 1 : 0;
  if (name->ring == EVENTRING_USER && spans->least_of_all < ns) ns = spans->least_of_all;
  spans->least[id].ns = ns;
}

/* Drops the spans of a name for which there is no longer room. */
static int lessen_name(struct page_spans *spans, size_t id) {
  struct name *name = spans->name[id], *less = new_name(name->ring, spans->of_name);
  if (!less) return EVENTRING_E_MEMORY;
  const uint32_t room = less->room;
  qsort(name->longest, name->longest_count, sizeof *name->longest, longer_first);
  qsort(last_of(name), name->last_count, sizeof *last_of(name), later_first);
  less->longest_count = name->longest_count < room ? name->longest_count : room;
  for (uint32_t i = 0; i < less->longest_count; i++) {
    less->longest[i] = name->longest[i];
    page_value_use(less->longest[i].span.value);
  }
  less->last_count = name->last_count < room ? name->last_count : room;
  less->next_last = less->last_count % room;
  for (uint32_t i = 0; i < less->last_count; i++) /* the next one replaces the oldest */
    set(&last_of(less)[less->last_count - 1 - i], &last_of(name)[i]);
  free_name(name);
  spans->name[id] = less;
  tell_least(spans, id);
  return EVENTRING_OK;
}

/* Drops spans of all names: there are too many names for the page to show as many spans
   of each. */
static int lessen_names(struct page_spans *spans) {
  int status = EVENTRING_OK;
  spans->of_name /= 2;
  for (size_t id = 0; id < EVENTRING_MAX_EVENTS && status == EVENTRING_OK; id++)
    if (spans->name[id] && spans->name[id]->ring == EVENTRING_USER) status = lessen_name(spans, id);
  return status;
}

/* Makes a name. Returns NULL when out of memory. Rings other than the user's have few
   names, so these get full room. */
static struct name *make_name(struct page_spans *spans, uint8_t ring) {
  if (ring != EVENTRING_USER) return new_name(ring, OF_NAME);
  while (spans->of_name > 1 && 2 * spans->of_name * (spans->names + 1) > spans->most_rows)
    if (lessen_names(spans) < 0) return NULL;
  spans->names++;
  return new_name(ring, spans->of_name);
}

/* Returns the name of a span, or NULL when out of memory. */
static inline struct name *name_at(struct page_spans *spans, const struct page_span *span) {
  struct name **name = &spans->name[span->id % EVENTRING_MAX_EVENTS];
  if (__builtin_expect(!*name, 0)) *name = make_name(spans, spans->owner[span->track].ring);
  return *name;
}

static void add_longest(struct name *name, const struct page_span *span,
                        const struct page_owner *owner) {
  const bool is_full = name->longest_count == name->room;
  struct longest *into = &name->longest[is_full ? shortest_of(name) : name->longest_count++];
  if (is_full && span->ns <= into->span.ns) return;
  set(&into->span, span);
  into->owner = *owner;
}

static void add_longest_of_all(struct page_spans *spans, const struct page_span *span,
                               const struct page_owner *owner) {
  struct longest *const all = spans->longest;
  if (span->ns < spans->least_of_all) return;
  if (spans->longest_count == PAGE_LONGEST) page_value_drop(all[--spans->longest_count].span.value);
  uint32_t at = spans->longest_count++;
  for (; at > 0 && all[at - 1].span.ns < span->ns; at--) all[at] = all[at - 1];
  all[at] = (struct longest){*span, *owner};
  page_value_use(span->value);
  if (spans->longest_count == PAGE_LONGEST)
    spans->least_of_all = all[PAGE_LONGEST - 1].span.ns + 1;
}

/* Adds a span that may be among the longest. */
static void try_longest(struct page_spans *spans, struct name *name, const struct page_span *span) {
  const size_t id = span->id % EVENTRING_MAX_EVENTS;
  const struct page_owner *owner = &spans->owner[span->track];
  if (span->ns < spans->least[id].ns) return;
  if (owner->ring == EVENTRING_USER) add_longest_of_all(spans, span, owner);
  add_longest(name, span, owner);
  tell_least(spans, id);
}

static void visit_longest(const struct longest *longest, uint32_t count, bool of_users,
                          page_longest_visit *visit, void *context) {
  for (uint32_t i = 0; i < count; i++)
    if ((longest[i].owner.ring == EVENTRING_USER) == of_users)
      visit(context, &longest[i].span, &longest[i].owner);
}

void page_spans_longest(const struct page_spans *spans, page_longest_visit *visit, void *context) {
  visit_longest(spans->longest, spans->longest_count, true, visit, context);
  for (unsigned id = 0; id < EVENTRING_MAX_EVENTS; id++)
    if (spans->name[id])
      visit_longest(spans->name[id]->longest, spans->name[id]->longest_count, false, visit,
                    context);
}

/* Adds a span as the last one of its name, and takes over its value. (The ends of a name
   come in order, except across rings and within a batch.) */
static void add_last(struct name *name, const struct page_span *span) {
  struct page_span *into = &last_of(name)[name->next_last];
  struct page_value *before = into->value;
  *into = *span;
  page_value_drop(before);
  if (++name->next_last == name->room) name->next_last = 0;
  if (name->last_count < name->room) name->last_count++;
}

/* ---- One span --------------------------------------------------------------------- */

int page_spans_begin(struct page_spans *spans, const struct page_span_begin *begin) {
  struct cover *cover = cover_at(spans, begin->track, begin->depth);
  if (!cover) return EVENTRING_E_MEMORY;
  page_value_drop(cover->held);
  cover->held = page_value_copy(&spans->values, &begin->said);
  cover->held_ns = begin->ns;
  return EVENTRING_OK;
}

/* Returns the value held for the span that ends, or NULL if none is known. The cover
   holds no value afterwards. */
static struct page_value *let_go(struct cover *cover, const struct page_span *span) {
  struct page_value *held = cover->held;
  cover->held = NULL;
  if (!held || cover->held_ns == span->begin_ns) return held;
  page_value_drop(held);
  return NULL;
}

static int keep(struct page_spans *spans, const struct page_span *span) {
  if (!EVR_MAKE_ROOM(spans->all, spans->all_room, spans->all_count, 1024))
    return EVENTRING_E_MEMORY;
  spans->all[spans->all_count] = (struct page_span){0};
  set(&spans->all[spans->all_count++], span);
  return EVENTRING_OK;
}

static int add_torn(struct page_spans *spans, const struct page_span *span) {
  spans->torn_seen++;
  if (spans->torn_count == MOST_TORN && !spans->keeps_all) return EVENTRING_OK;
  if (!EVR_MAKE_ROOM(spans->torn, spans->torn_room, spans->torn_count, 16))
    return EVENTRING_E_MEMORY;
  spans->torn[spans->torn_count] = (struct page_span){0};
  set(&spans->torn[spans->torn_count++], span);
  return EVENTRING_OK;
}

static int fit(struct page_spans *spans) {
  if (spans->used <= spans->most) return EVENTRING_OK;
  const int status = fit_cover(spans, spans->most / 2);
  /* if each cover has a single cell, no more can be joined, so there must be more room */
  if (spans->used > spans->most / 4 * 3) spans->most = 2 * spans->used;
  return status;
}

int page_spans_add(struct page_spans *spans, struct page_span *span) {
  struct cover *cover = cover_at(spans, span->track, span->depth);
  struct name *name = name_at(spans, span);
  if (!cover || !name) return EVENTRING_E_MEMORY;
  int status = EVENTRING_OK;
  spans->seen++;
  span->value = let_go(cover, span);
  if (spans->keeps_all && !span->flags) status = keep(spans, span);
  if (status == EVENTRING_OK && !(span->flags & PAGE_SPAN_NO_BEGIN))
    status = cover_span(spans, cover, span);
  if (span->flags) {
    if (status == EVENTRING_OK) status = add_torn(spans, span);
    page_value_drop(span->value);
  } else {
    try_longest(spans, name, span);
    add_last(name, span);
  }
  return status == EVENTRING_OK ? fit(spans) : status;
}

int page_spans_add_plain(struct page_spans *spans, const struct page_plain_span *plain) {
  struct page_span span = {.ns = plain->ns, .begin_ns = plain->begin_ns, .own = plain->own,
                           .off_cpu = -1, .track = plain->track, .depth = plain->depth,
                           .id = plain->id, .knows_own = true, .knows_parts = true};
  return page_spans_add(spans, &span);
}

size_t page_spans_names(const struct page_spans *spans) { return spans->names; }

/* Fetches a name into the cache: with thousands of names, none is in the cache when its
   next span ends. */
void page_spans_soon(const struct page_spans *spans, uint16_t id, int step) {
  const struct name *name = spans->name[id % EVENTRING_MAX_EVENTS];
  if (!name) return;
  if (step == 0) {
    const char *last = (const char *)(name->longest + spans->of_name);
    __builtin_prefetch(name, 1);
    __builtin_prefetch(last, 1);
    __builtin_prefetch(last + 64, 1);
  } else {
    __builtin_prefetch(last_of((struct name *)(uintptr_t)name)[name->next_last].value, 1);
  }
}

/* ---- A batch ---------------------------------------------------------------------- */

static struct page_span span_of(const struct eventring_batch *batch,
                                const struct eventring_brief *ended, uint32_t track,
                                uint32_t depth) {
  return (struct page_span){.ns = ended->took,
                            .begin_ns = batch->earliest_ns + ended->after - ended->took,
                            .own = ended->took - ended->within, .off_cpu = -1, .track = track,
                            .depth = depth, .id = ended->id, .knows_own = true,
                            .knows_parts = true};
}

/* Tells whether a span may be among the last ones. One span of a name in a batch is
   enough as a last one, except at the known end of a file, where all are taken. */
static bool may_be_last(const struct page_spans *spans, const struct page_span *span) {
  return spans->run->live ||
         page_grid_cell(&spans->grid, end_of(span)) == PAGE_CELLS - 1;
}

/* Notes a span that may be among the longest of its name, or is among its last ones in
   the batch. */
static int note(struct page_spans *spans, const struct page_span *span) {
  struct name *name = name_at(spans, span);
  if (!name) return EVENTRING_E_MEMORY;
  uint32_t *noted = &spans->least[span->id].noted;
  try_longest(spans, name, span);
  if (*noted != spans->batches) add_last(name, span);
  *noted = may_be_last(spans, span) ? spans->batches - 1 : spans->batches;
  return EVENTRING_OK;
}

/* Adds up the spans of a batch by depth, from depth_around on. Reads from the last end to
   the first: the spans around a span include those that began before the batch and ended
   after the span (`outer`). Returns the number of depths, or E_MEMORY. (The loop has what
   it needs in locals.) */
static int sum_up(struct page_spans *spans, const struct eventring_batch *batch, uint32_t track,
                  struct sums *sums) {
  const uint32_t number = ++spans->batches;
  uint32_t outer = 0, most = 0;
  for (size_t i = batch->ended_count; i-- > 0;) {
    const struct eventring_brief *ended = &batch->ended[i];
    if (__builtin_expect(ended->began_before, 0)) {
      outer++;
      continue;
    }
    const uint32_t depth = outer + ended->depth;
    const struct least *least = &spans->least[ended->id];
    struct sums *sum = &sums[depth];
    sum->ns += ended->took;
    sum->count++;
    if (ended->took >= sum->took) sum->took = ended->took, sum->longest = ended;
    if (depth >= most) most = depth + 1;
    if (__builtin_expect(ended->took >= least->ns || least->noted != number, 0)) {
      const struct page_span span = span_of(batch, ended, track, batch->depth_around + depth);
      if (note(spans, &span) < 0) return EVENTRING_E_MEMORY;
    }
  }
  return (int)most;
}

static int add_sums(struct page_spans *spans, const struct eventring_batch *batch, uint32_t track,
                    const struct sums *sums, uint32_t depth) {
  const uint32_t cell = page_grid_cell_at(&spans->grid, &spans->now, batch->latest_ns);
  struct cover *cover = cover_at(spans, track, batch->depth_around + depth);
  struct piece *piece = cover ? piece_at(spans, cover, cell >> cover->level) : NULL;
  if (!piece) return EVENTRING_E_MEMORY;
  piece->ns += sums->ns;
  piece->count += sums->count;
  spans->seen += sums->count;
  if (sums->took < piece->longest.ns) return EVENTRING_OK;
  const struct page_span longest =
      span_of(batch, sums->longest, track, batch->depth_around + depth);
  set(&piece->longest, &longest);
  return EVENTRING_OK;
}

int page_spans_batch(struct page_spans *spans, const struct eventring_batch *batch,
                     uint32_t track) {
  struct sums *sums = spans->sums;
  const int depths = sum_up(spans, batch, track, sums);
  int status = depths < 0 ? depths : EVENTRING_OK;
  for (int depth = 0; depth < depths && status == EVENTRING_OK; depth++)
    if (sums[depth].count) status = add_sums(spans, batch, track, &sums[depth], (uint32_t)depth);
  if (depths > 0) memset(sums, 0, (size_t)depths * sizeof *sums);
  return status == EVENTRING_OK ? fit(spans) : status;
}

/* ---- Section `cover` -------------------------------------------------------------- */

static void *begin(struct page_run *run) { return run->events->spans; }

static void put_cover(void *context, struct cover *cover) {
  struct eva_json *json = context;
  eva_json_open_object(json);
  eva_json_uint_at(json, "track", cover->track);
  eva_json_uint_at(json, "depth", cover->depth);
  eva_json_uint_at(json, "level", cover->level);
  PAGE_DIFFERENCES(json, "cell_d", cover->count, cover->piece[i].cell);
  PAGE_COLUMN(json, "ns", cover->count, cover->piece[i].ns);
  PAGE_COLUMN(json, "count", cover->count, cover->piece[i].count);
  eva_json_close_object(json);
}

static bool write_cover(void *state, struct eva_json *json, unsigned level,
                        struct page_left *left) {
  struct page_spans *spans = state;
  if (!spans->tracks) return false;
  if (!level) spans->cover_whole = cover_bytes(spans);
  else spans->run->events->status = fit_cover(spans, spans->cover_whole >> level);
  eva_json_open_object(json);
  eva_json_key(json, "tracks");
  eva_json_open_array(json);
  each_cover(spans, put_cover, json);
  eva_json_close_array(json);
  eva_json_close_object(json);
  const size_t bytes = cover_bytes(spans);
  if (bytes < spans->cover_whole)
    *left = (struct page_left){"cells of depths", bytes / sizeof(struct piece),
                               spans->cover_whole / sizeof(struct piece), NULL};
  return true;
}

const struct page_part page_part_cover = {
    .name = "cover", .levels = LEVELS, .begin = begin, .write = write_cover};

/* ---- Section `spans` -------------------------------------------------------------- */

/* A span that may be shown. The lower its rank, the more important it is. */
struct shown {
  const struct page_span *span;
  uint32_t rank;
};

struct showing {
  struct page_spans *spans;
  struct shown *shown;
  size_t count, room;
  bool failed;
};

static void show(struct showing *showing, const struct page_span *span, uint32_t rank) {
  if (!EVR_MAKE_ROOM(showing->shown, showing->room, showing->count, 256)) showing->failed = true;
  else showing->shown[showing->count++] = (struct shown){span, rank};
}

static void show_pieces(void *context, struct cover *cover) {
  for (size_t i = 0; i < cover->count; i++)
    if (cover->piece[i].longest.ns || cover->piece[i].longest.begin_ns)
      show(context, &cover->piece[i].longest, 1 + cover->depth);
}

static void show_name(struct showing *showing, struct name *name) {
  struct page_span *last = last_of(name);
  qsort(name->longest, name->longest_count, sizeof *name->longest, longer_first);
  qsort(last, name->last_count, sizeof *last, later_first);
  for (uint32_t i = 0; i < name->longest_count; i++) show(showing, &name->longest[i].span, 2 * i);
  for (uint32_t i = 0; i < name->last_count; i++) show(showing, &last[i], 2 * i + 1);
}

static int compare_rank(const void *a, const void *b) {
  const struct shown *x = a, *y = b;
  if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
  return longer_first(x->span, y->span);
}

#define COMPARE(a, b) if ((a) != (b)) return (a) < (b) ? -1 : 1

/* Compares by track and begin, with outer spans before those within them. */
static int compare_spans(const struct page_span *x, const struct page_span *y) {
  COMPARE(x->track, y->track);
  COMPARE(x->begin_ns, y->begin_ns);
  COMPARE(x->depth, y->depth);
  COMPARE(y->ns, x->ns);
  COMPARE(x->id, y->id);
  return (x->flags > y->flags) - (x->flags < y->flags);
}
static int compare_shown(const void *a, const void *b) {
  return compare_spans(((const struct shown *)a)->span, ((const struct shown *)b)->span);
}

/* Removes duplicates, since many spans are kept for more than one reason. */
static void show_once(struct showing *showing) {
  size_t kept = 0;
  if (!showing->count) return;
  qsort(showing->shown, showing->count, sizeof *showing->shown, compare_shown);
  for (size_t i = 0; i < showing->count; i++) {
    struct shown *before = kept ? &showing->shown[kept - 1] : NULL;
    const struct shown *next = &showing->shown[i];
    if (!before || compare_spans(before->span, next->span) != 0) showing->shown[kept++] = *next;
    else if (next->rank < before->rank) before->rank = next->rank;
  }
  showing->count = kept;
}

/* Finds the spans to show: at most `most`, those with the lowest ranks. */
static bool find_shown(struct page_spans *spans, size_t most, struct showing *showing) {
  *showing = (struct showing){.spans = spans};
  for (size_t i = 0; i < spans->torn_count; i++) show(showing, &spans->torn[i], 0);
  for (size_t id = 0; id < EVENTRING_MAX_EVENTS; id++)
    if (spans->name[id]) show_name(showing, spans->name[id]);
  each_cover(spans, show_pieces, showing);
  show_once(showing);
  if (showing->count > most) {
    qsort(showing->shown, showing->count, sizeof *showing->shown, compare_rank);
    showing->count = most;
    qsort(showing->shown, showing->count, sizeof *showing->shown, compare_shown);
  }
  return !showing->failed;
}

#define PUT(key, value)                            \
  PAGE_COLUMN(json, key, count, __extension__({    \
    const struct page_span *span = shown[i].span;  \
    (value);                                       \
  }))

#define ANY(condition)                                               \
  __extension__({                                                    \
    bool any = false;                                                \
    for (size_t i = 0; i < count && !any; i++) {                     \
      const struct page_span *span = shown[i].span;                  \
      any = (condition);                                             \
    }                                                                \
    any;                                                             \
  })

/* Writes spans of one track. */
static void put_track(const struct page_spans *spans, const struct shown *shown, size_t count,
                      struct eva_json *json) {
  const struct page_run *run = spans->run;
  eva_json_open_object(json);
  eva_json_uint_at(json, "track", shown->span->track);
  PAGE_DIFFERENCES(json, "begin_d", count, page_grid_time(&spans->grid, shown[i].span->begin_ns));
  PUT("length", span->ns);
  PUT("depth", span->depth);
  PUT("name", page_name(run->lists, span->id));
  PUT("own", span->knows_own ? (int64_t)span->own : -1);
  PUT("gc", span->knows_parts ? (int64_t)span->part[EVA_COLLECTOR] : -1);
  PUT("waiting", span->knows_parts ? (int64_t)span->part[EVA_WAITING] : -1);
  PUT("suspended", span->suspended);
  if (ANY(span->off_cpu >= 0)) PUT("off_cpu", span->off_cpu);
  PUT("value", page_text_of(run->events->texts, span->value, PAGE_TEXTS_OF_SPANS));
  PUT("flags", span->flags);
  eva_json_close_object(json);
}

static void put_tracks(const struct page_spans *spans, const struct shown *shown, size_t count,
                       struct eva_json *json) {
  eva_json_open_object(json);
  eva_json_key(json, "tracks");
  eva_json_open_array(json);
  for (size_t i = 0, end; i < count; i = end) {
    for (end = i + 1; end < count && shown[end].span->track == shown[i].span->track;) end++;
    put_track(spans, shown + i, end - i, json);
  }
  eva_json_close_array(json);
  eva_json_close_object(json);
}

/* ---- Sections `spans:N` ----------------------------------------------------------- */

enum { OF_CHUNK = 20000, SHOWN = 128 /* in `flags`: the span is in section `spans` */ };

static int compare_all(const void *a, const void *b) { return compare_spans(a, b); }

static int by_begin(const void *a, const void *b) {
  const struct page_span *x = a, *y = b;
  COMPARE(x->flags & SHOWN, y->flags & SHOWN);
  COMPARE(x->begin_ns, y->begin_ns);
  return compare_spans(x, y);
}

/* Marks the spans of `all` that are shown. Both lists have the order of compare_spans. */
static void mark_shown(struct page_spans *spans, const struct showing *showing) {
  size_t next = 0;
  for (size_t i = 0; i < showing->count; i++) {
    while (next < spans->all_count && compare_spans(&spans->all[next], showing->shown[i].span) < 0)
      next++;
    if (next < spans->all_count && compare_spans(&spans->all[next], showing->shown[i].span) == 0)
      spans->all[next++].flags |= SHOWN;
  }
}

static bool put_chunk(struct page_spans *spans, const struct page_span *span, size_t count,
                      struct shown *shown) {
  const struct page_grid *grid = &spans->grid;
  struct page_chunk *chunk = page_new_chunk(spans->run->events->page);
  if (!chunk) return false;
  chunk->count = count;
  chunk->begin = page_grid_time(grid, span->begin_ns);
  for (size_t i = 0; i < count; i++) {
    const int64_t end = page_grid_time(grid, end_of(&span[i]));
    if (end > chunk->end || !i) chunk->end = end;
    shown[i] = (struct shown){&span[i], 0};
  }
  qsort(shown, count, sizeof *shown, compare_shown);
  put_tracks(spans, shown, count, &chunk->section.json);
  return page_section_end(&chunk->section);
}

/* Writes all spans that are not shown yet into chunks, in the order of their begins. */
static bool put_chunks(struct page_spans *spans, const struct showing *showing) {
  struct shown *shown = calloc(OF_CHUNK, sizeof *shown);
  if (spans->all_count) {
    qsort(spans->all, spans->all_count, sizeof *spans->all, compare_all);
    mark_shown(spans, showing);
    qsort(spans->all, spans->all_count, sizeof *spans->all, by_begin);
  }
  size_t rest = 0;
  while (rest < spans->all_count && !(spans->all[rest].flags & SHOWN)) rest++;
  bool done = shown != NULL;
  for (size_t i = 0; i < rest && done; i += OF_CHUNK)
    done = put_chunk(spans, &spans->all[i], rest - i < OF_CHUNK ? rest - i : OF_CHUNK, shown);
  free(shown);
  return done;
}

static bool write_spans(void *state, struct eva_json *json, unsigned level,
                        struct page_left *left) {
  struct page_spans *spans = state;
  struct showing showing;
  if (!spans->seen && !spans->torn_count) return false;
  page_texts_forget(spans->run->events->texts, PAGE_TEXTS_OF_SPANS);
  bool found = find_shown(spans, spans->most_rows >> level, &showing);
  if (found) put_tracks(spans, showing.shown, showing.count, json);
  if (found && spans->keeps_all) found = put_chunks(spans, &showing);
  if (showing.count < spans->seen && !spans->keeps_all)
    *left = (struct page_left){"spans, one by one", showing.count, spans->seen,
                               "the number of spans"};
  free(showing.shown);
  if (!found) spans->run->events->status = EVENTRING_E_MEMORY;
  return found;
}

const struct page_part page_part_spans = {.name = "spans", .levels = LEVELS, .begin = begin,
                                          .write = write_spans, .also = &page_part_texts};
