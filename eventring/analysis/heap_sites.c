/* SPDX-License-Identifier: MIT */
/* heap_sites.c: what was allocated and what is alive, by stack, from a recording. */
#include "analysis/heap_sites.h"
#include "eventring/tools.h"
#include "format/array.h"
#include "format/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct block { /* a block that is alive and whose allocation was seen */
  uint64_t number;
  uint32_t domain, row; /* if `row` is UINT32_MAX, the element is free, and `domain` is
                           the index of the next free one */
  uint64_t born; /* number of collections before its allocation */
  struct eva_amount amount;
};

struct domain { /* what the events of a domain say */
  double rate;
  uint64_t collections; /* number of collections while it was sampled */
  uint64_t over_ns;     /* when the profile ended; 0 while it goes on */
  uint64_t said_over_ns; /* end of the domain's last profile according to the file */
  bool known;           /* there was a profile */
};

struct eva_heap {
  struct eva_heap_row *rows;
  uint32_t count, room;
  struct evr_table row_of;   /* maps a site to the number of its row, plus 1 */
  struct eva_heap_state state;
  uint64_t only, since, survived;
  uint64_t parts; /* one bit for each kind of blocks that are parts of objects and do not
                     count as objects */
  struct block *blocks;
  uint32_t blocks_count, blocks_room, blocks_free; /* blocks_free is the first free
                                                      element, or UINT32_MAX */
  struct evr_table block_of; /* maps a live block to its index, plus 1 */
  struct domain domain[EVENTRING_MAX_DOMAINS];
  double live, peak; /* bytes of all rows, now and at the peak */
};

struct eva_heap *eva_heap_new(void) {
  struct eva_heap *h = calloc(1, sizeof *h);
  if (!h) return NULL;
  h->only = UINT64_MAX;
  h->blocks_free = UINT32_MAX;
  h->state.live_words = UINT64_MAX;
  return h;
}

void eva_heap_free(struct eva_heap *h) {
  if (!h) return;
  free(h->rows);
  evr_table_free(&h->row_of);
  free(h->blocks);
  evr_table_free(&h->block_of);
  free(h);
}

void eva_heap_only_domain(struct eva_heap *h, uint64_t domain) { h->only = domain; }

const struct eva_heap_state *eva_heap_state(const struct eva_heap *h) { return &h->state; }

size_t eva_heap_rows(const struct eva_heap *h, const struct eva_heap_row **rows) {
  *rows = h->rows;
  return h->count;
}

void eva_amount_add(struct eva_amount *sum, const struct eva_amount *more) {
  sum->samples += more->samples;
  sum->bytes += more->bytes;
  sum->objects += more->objects;
  sum->variance += more->variance;
}

/* Returns u / 2 + sqrt(variance + (u / 2)^2). At the rate r a sampled word stands for s
 * bytes. If the true amount is T, the variance is T s (1 - r), here T u; the bound T
 * solves T - bytes = sqrt(T u). */
double eva_amount_error(const struct eva_amount *amount) {
  if (!(amount->variance > 0) || !(amount->bytes > 0)) return 0;
  double u = amount->variance / amount->bytes;
  return u / 2 + sqrt(amount->variance + u * u / 4);
}

static void take_away(struct eva_amount *from, const struct eva_amount *less) {
  from->samples -= less->samples;
  from->bytes -= less->bytes;
  from->objects -= less->objects;
  from->variance -= less->variance;
}

/* ---- Rows -------------------------------------------------------------------------- */

static bool is_row(const void *context, uintptr_t value, const void *key) {
  const struct eva_heap *h = context;
  const struct eva_heap_row *a = &h->rows[value - 1], *b = key;
  return a->stack == b->stack && a->domain == b->domain && a->span == b->span &&
         a->kind == b->kind && a->origin == b->origin;
}

/* Returns the number of the row of this site, made if there is none; UINT32_MAX: no
   memory. */
static uint32_t row_for(struct eva_heap *h, const struct eva_heap_row *r) {
  uint64_t hash = evr_hash_word(evr_hash_seed(), r->stack | (uint64_t)r->domain << 32);
  hash = evr_hash_word(hash, r->span | (uint64_t)r->kind << 16 | (uint64_t)r->origin << 24);
  if (!EVR_MAKE_ROOM(h->rows, h->room, h->count, 128)) return UINT32_MAX;
  uintptr_t *value = evr_table_take(&h->row_of, hash, is_row, h, r);
  if (!value) return UINT32_MAX;
  if (!*value) {
    h->rows[h->count] = *r;
    *value = ++h->count;
  }
  return (uint32_t)*value - 1;
}

static void note_rate(struct eva_heap_state *s, double rate) {
  if (!(rate > 0 && rate <= 1)) return;
  if (!s->most_rate || rate < s->least_rate) s->least_rate = rate;
  if (rate > s->most_rate) s->most_rate = rate;
}

/* ---- Profiles ---------------------------------------------------------------------- */

struct reading {
  struct eva_heap *heap;
  uint32_t last[EVENTRING_MAX_DOMAINS]; /* number of the last profile of each slot */
  struct {
    uint32_t profile; /* number of the slot's profile with the highest peak */
    double bytes;     /* this peak; profiles of a slot do not overlap in time */
  } peak[EVENTRING_MAX_DOMAINS];
  bool no_memory;
};

/* Tells whether the profile is the last one of its slot. What is alive of a profile is
   unknown once another profile has followed it. */
static bool is_last(const struct reading *reading, const struct eventring_heap *heap) {
  return heap->domain < EVENTRING_MAX_DOMAINS && reading->last[heap->domain] == heap->number;
}

static bool has_peak(const struct reading *reading, const struct eventring_heap *heap) {
  return heap->domain < EVENTRING_MAX_DOMAINS &&
         reading->peak[heap->domain].profile == heap->number;
}

static int note_profile(void *context, const struct eventring_heap *heap) {
  struct reading *reading = context;
  if (heap->domain >= EVENTRING_MAX_DOMAINS) return 0;
  reading->last[heap->domain] = heap->number;
  if (heap->peak.bytes >= reading->peak[heap->domain].bytes) {
    reading->peak[heap->domain].profile = heap->number;
    reading->peak[heap->domain].bytes = heap->peak.bytes;
  }
  return 0;
}

static struct eva_amount of(const struct eventring_amount *a) {
  return (struct eva_amount){(double)a->samples, a->bytes, a->objects, a->bytes_variance};
}

static void add(struct eva_amount *sum, const struct eventring_amount *more) {
  struct eva_amount amount = of(more);
  eva_amount_add(sum, &amount);
}

/* Finds the kinds of blocks that are parts of objects. The recording gives them names
   that end in " part" (eventring_memory_name). */
static void find_parts(struct eva_heap *h, const eventring_cursor *cursor) {
  static const char part[] = " part";
  for (unsigned kind = 0; kind < 64; kind++) {
    const char *name = eventring_cursor_name(cursor, EVENTRING_NAME_MEMORY_KIND, kind);
    const size_t size = name != NULL ? strlen(name) : 0;
    if (size >= sizeof part && strcmp(name + size - (sizeof part - 1), part) == 0)
      h->parts |= UINT64_C(1) << kind;
  }
}

static bool is_part(const struct eva_heap *h, unsigned kind) { return h->parts >> kind & 1; }

static bool wants(const struct eva_heap *h, uint32_t domain) {
  return h->only == UINT64_MAX || h->only == domain;
}

static int on_heap(void *context, const struct eventring_heap *heap) {
  const struct reading *reading = context;
  struct eva_heap *h = reading->heap;
  struct eva_heap_state *s = &h->state;
  note_rate(s, heap->rate);
  if (!wants(h, heap->domain)) return 0;
  s->profiles++;
  s->running += !heap->over;
  if (heap->over && is_last(reading, heap)) {
    s->over++;
    if (heap->ns > s->over_ns) s->over_ns = heap->ns;
  }
  s->torn += heap->torn;
  s->lost_entries += heap->lost_entries;
  if (is_last(reading, heap)) add(&s->lost[EVA_LIVE], &heap->lost_live);
  add(&s->lost[EVA_ALLOCATED], &heap->lost_allocated);
  s->words += heap->words;
  if (heap->live_words != UINT64_MAX && is_last(reading, heap))
    s->live_words = (s->live_words == UINT64_MAX ? 0 : s->live_words) + heap->live_words;
  s->collections += heap->collections;
  if (!s->start_ns || heap->start_ns < s->start_ns) s->start_ns = heap->start_ns;
  if (heap->ns > s->ns) s->ns = heap->ns;
  return 0;
}

static int on_entry(void *context, const struct eventring_heap *heap,
                    const struct eventring_heap_entry *e) {
  struct reading *reading = context;
  struct eva_heap *h = reading->heap;
  struct eva_heap_row key = {.stack = e->stack, .domain = heap->domain, .span = e->span,
                             .kind = e->kind, .origin = e->origin};
  if (!wants(h, heap->domain) || !e->allocated.samples) return 0;
  uint32_t at = row_for(h, &key);
  if (at == UINT32_MAX) {
    reading->no_memory = true;
    return 1;
  }
  struct eva_amount *amount = h->rows[at].amount;
  if (is_last(reading, heap)) add(&amount[EVA_LIVE], &e->live);
  add(&amount[EVA_ALLOCATED], &e->allocated);
  add(&amount[EVA_TEMPORARY], &e->temporary);
  if (has_peak(reading, heap)) add(&amount[EVA_PEAK], &e->peak);
  for (int m = 0; m < EVA_MEASURES && is_part(h, e->kind); m++) amount[m].objects = 0;
  return 0;
}

int eva_heap_read(struct eva_heap *h, eventring_cursor *cursor) {
  static const struct eventring_heap_callbacks callbacks = {on_heap, on_entry};
  static const struct eventring_heap_callbacks first = {note_profile, NULL};
  struct reading reading = {.heap = h};
  struct eventring_info info = {.size = sizeof info};
  find_parts(h, cursor);
  int status = eventring_cursor_heaps(cursor, &first, &reading);
  if (status == EVENTRING_OK) status = eventring_cursor_heaps(cursor, &callbacks, &reading);
  if (eventring_cursor_info(cursor, &info) == EVENTRING_OK) h->state.dropped = info.heaps_dropped;
  return reading.no_memory ? EVENTRING_E_MEMORY : status;
}

/* ---- Events ------------------------------------------------------------------------ */

void eva_heap_window(struct eva_heap *h, uint64_t since, uint64_t survived) {
  h->since = since;
  h->survived = survived;
  h->state.from_events = true;
}

static int on_rate(void *context, const struct eventring_heap *heap) {
  struct eva_heap *h = context;
  if (!wants(h, heap->domain) || heap->domain >= EVENTRING_MAX_DOMAINS) return 0;
  h->domain[heap->domain].rate = heap->rate;
  h->domain[heap->domain].said_over_ns = heap->over ? heap->ns : 0;
  h->domain[heap->domain].known = true;
  note_rate(&h->state, heap->rate);
  return 0;
}

int eva_heap_rates(struct eva_heap *h, eventring_cursor *cursor) {
  static const struct eventring_heap_callbacks callbacks = {on_rate, NULL};
  find_parts(h, cursor);
  return eventring_cursor_heaps(cursor, &callbacks, h);
}

static uint64_t hash_of(uint32_t domain, uint64_t number) {
  return evr_hash_word(evr_hash_word(evr_hash_seed(), domain), number);
}

static bool is_block(const void *context, uintptr_t value, const void *key) {
  const struct eva_heap *h = context;
  const struct block *a = &h->blocks[value - 1], *b = key;
  return a->number == b->number && a->domain == b->domain;
}

/* Returns the block of this number, made if there is none; NULL: no memory. */
static struct block *block_for(struct eva_heap *h, uint32_t domain, uint64_t number) {
  const struct block key = {.number = number, .domain = domain};
  if (h->blocks_free == UINT32_MAX) {
    if (!EVR_MAKE_ROOM(h->blocks, h->blocks_room, h->blocks_count, 1024)) return NULL;
    h->blocks[h->blocks_count] = (struct block){.row = UINT32_MAX, .domain = UINT32_MAX};
    h->blocks_free = h->blocks_count++;
  }
  uintptr_t *value = evr_table_take(&h->block_of, hash_of(domain, number), is_block, h, &key);
  if (!value) return NULL;
  if (!*value) {
    *value = h->blocks_free + 1;
    h->blocks_free = h->blocks[h->blocks_free].domain;
  }
  return &h->blocks[*value - 1];
}

static void forget_block(struct eva_heap *h, struct block *b) {
  const uint32_t at = (uint32_t)(b - h->blocks);
  evr_table_drop(&h->block_of, hash_of(b->domain, b->number), at + 1);
  b->row = UINT32_MAX;
  b->domain = h->blocks_free;
  h->blocks_free = at;
}

static double chance(double rate, uint64_t words) {
  double all = 0, part = rate;
  for (; words; words >>= 1) {
    if (words & 1) all += part - all * part;
    part += part - part * part;
  }
  return all;
}

static struct eva_amount amount_of(const struct eventring_sample *s, double rate) {
  double n = (double)s->samples;
  return (struct eva_amount){n, n / rate * 8, 1 / chance(rate, s->words ? s->words : 1),
                             n * (1 - rate) / (rate * rate) * 64};
}

/* Stores what is alive as the new peak, if it exceeds the old peak by more than the
   fraction `part`. */
static void note_peak(struct eva_heap *h, double part) {
  if (h->live <= h->peak * (1 + part)) return;
  h->peak = h->live;
  for (uint32_t i = 0; i < h->count; i++) h->rows[i].amount[EVA_PEAK] = h->rows[i].amount[EVA_LIVE];
}

/* Returns the site of a sample, without figures. */
static struct eva_heap_row site_of(uint32_t domain, const struct eventring_sample *s) {
  return (struct eva_heap_row){.stack = s->stack, .domain = domain, .span = s->span,
                               .kind = s->kind, .origin = s->origin};
}

/* Returns what a sample stands for. */
static struct eva_amount weight_of(const struct eva_heap *h, const struct eventring_sample *s,
                                   double rate) {
  struct eva_amount amount = amount_of(s, rate);
  if (is_part(h, s->kind)) amount.objects = 0;
  return amount;
}

static int on_alloc(struct eva_heap *h, const struct eventring_event *event,
                    const struct eventring_memory *m) {
  struct domain *d = &h->domain[event->domain];
  const struct eva_heap_row key = site_of(event->domain, &m->sample);
  if (!(d->rate > 0)) return EVENTRING_OK; /* no profile says the rate */
  uint32_t row = row_for(h, &key);
  struct block *b = row == UINT32_MAX ? NULL : block_for(h, event->domain, m->block);
  if (!b) return EVENTRING_E_MEMORY;
  struct eva_amount amount = weight_of(h, &m->sample, d->rate);
  *b = (struct block){m->block, event->domain, row, d->collections, amount};
  if (h->survived) return EVENTRING_OK;
  eva_amount_add(&h->rows[row].amount[EVA_ALLOCATED], &amount);
  eva_amount_add(&h->rows[row].amount[EVA_LIVE], &amount);
  h->live += amount.bytes;
  return EVENTRING_OK;
}

static bool survived(const struct eva_heap *h, const struct block *b) {
  return h->domain[b->domain].collections - b->born >= h->survived;
}

/* Ends a block that is not alive any more. `died` is true if it was freed, false if it
   can no longer be followed. */
static void end_block(struct eva_heap *h, struct block *b, bool died) {
  struct eva_amount *amount = h->rows[b->row].amount;
  if (h->survived && survived(h, b)) eva_amount_add(&amount[EVA_ALLOCATED], &b->amount);
  if (!h->survived) {
    take_away(&amount[EVA_LIVE], &b->amount);
    if (died && h->domain[b->domain].collections == b->born)
      eva_amount_add(&amount[EVA_TEMPORARY], &b->amount);
    h->live -= b->amount.bytes;
  }
  forget_block(h, b);
}

static void on_free(struct eva_heap *h, const struct eventring_event *event, uint64_t number) {
  const struct block key = {.number = number, .domain = event->domain};
  uintptr_t value =
      evr_table_find(&h->block_of, hash_of(event->domain, number), is_block, h, &key);
  if (value) end_block(h, &h->blocks[value - 1], true);
  else h->state.unknown_frees++;
}

/* Ends all blocks of a domain in which a new profile begins, since no event about blocks
   of the old profile will come. */
static void forget_domain(struct eva_heap *h, uint32_t domain) {
  for (uint32_t i = 0; i < h->blocks_count; i++)
    if (h->blocks[i].row != UINT32_MAX && h->blocks[i].domain == domain)
      end_block(h, &h->blocks[i], false);
}

/* Takes an event that says the rate. A rate above 0 begins a profile. The rate 0 ends it;
   what was alive then stays counted as alive. */
static void on_rate_event(struct eva_heap *h, const struct eventring_event *event, double rate) {
  struct domain *d = &h->domain[event->domain];
  if (rate > 0 && d->known) forget_domain(h, event->domain);
  d->known = true;
  d->over_ns = rate > 0 ? 0 : event->ns;
  d->rate = rate;
  note_rate(&h->state, rate);
}

int eva_heap_event(struct eva_heap *h, const struct eventring_event *event) {
  struct eventring_memory m;
  enum eventring_memory_event what = eventring_event_memory(event, &m);
  if (!what || !wants(h, event->domain)) return EVENTRING_OK;
  struct domain *d = &h->domain[event->domain];
  h->state.ns = event->ns;
  switch (what) {
    case EVENTRING_MEMORY_ALLOC:
      return event->ns >= h->since ? on_alloc(h, event, &m) : EVENTRING_OK;
    case EVENTRING_MEMORY_FREE_YOUNG:
    case EVENTRING_MEMORY_FREE_OLD:
      on_free(h, event, m.block);
      break;
    case EVENTRING_MEMORY_COLLECTED:
      if (!d->over_ns) d->collections++;
      h->state.collections += event->ns >= h->since;
      /* not each time, if the heap grows slowly */
      if (!h->survived) note_peak(h, 1.0 / 32);
      break;
    case EVENTRING_MEMORY_RATE:
      on_rate_event(h, event, m.rate);
      break;
    default:
      break;
  }
  return EVENTRING_OK;
}

bool eva_heap_allocation(struct eva_heap *h, const struct eventring_event *event,
                         struct eva_heap_row *row) {
  struct eventring_memory m;
  enum eventring_memory_event what = eventring_event_memory(event, &m);
  struct domain *d = &h->domain[event->domain];
  if (what == EVENTRING_MEMORY_RATE) d->rate = m.rate;
  if (what != EVENTRING_MEMORY_ALLOC || !wants(h, event->domain) || !(d->rate > 0)) return false;
  *row = site_of(event->domain, &m.sample);
  row->amount[EVA_ALLOCATED] = weight_of(h, &m.sample, d->rate);
  return true;
}

/* Counts the last profile of a domain, as running or ended. Its events say when it ended;
   if they were overwritten, the profile in the file does. */
static void count_profile(struct eva_heap *h, const struct domain *d) {
  const uint64_t over_ns = d->over_ns ? d->over_ns : d->said_over_ns;
  h->state.running += d->known && !over_ns;
  h->state.over += over_ns != 0;
  if (over_ns > h->state.over_ns) h->state.over_ns = over_ns;
}

int eva_heap_settle(struct eva_heap *h) {
  for (int i = 0; i < EVENTRING_MAX_DOMAINS; i++) count_profile(h, &h->domain[i]);
  if (!h->survived) note_peak(h, 0);
  for (uint32_t i = 0; h->survived && i < h->blocks_count; i++) {
    const struct block *b = &h->blocks[i];
    if (b->row == UINT32_MAX || !survived(h, b)) continue;
    eva_amount_add(&h->rows[b->row].amount[EVA_ALLOCATED], &b->amount);
    eva_amount_add(&h->rows[b->row].amount[EVA_LIVE], &b->amount);
  }
  return EVENTRING_OK;
}
