/* SPDX-License-Identifier: MIT */
/* tally.c: statistics over the events of one recording. */
#include "analysis/tally.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/links_table.h"
#include "analysis/lives.h"
#include "analysis/names.h"
#include "analysis/saturating.h"

struct eva_tally *eva_tally_new(void) {
  struct eva_tally *tally = calloc(1, sizeof *tally);
  if (tally) tally->until = UINT64_MAX;
  return tally;
}

static struct eva_tally_domain *domain_at(struct eva_tally *tally, uint32_t slot) {
  struct eva_tally_domain *domain = &tally->domains[slot % EVENTRING_MAX_DOMAINS];
  if (!domain->used) {
    domain->used = true;
    domain->info.slot = slot % EVENTRING_MAX_DOMAINS;
    tally->domains_used++;
  }
  return domain;
}

/* The next functions return NULL if there is no memory. */

static struct eva_tally_entry *entry_at(struct eva_tally_domain *domain, uint16_t id) {
  size_t index = id % EVENTRING_MAX_EVENTS;
  if (!domain->entries)
    domain->entries = calloc(EVENTRING_MAX_EVENTS, sizeof *domain->entries);
  if (!domain->spans) domain->spans = calloc(EVENTRING_MAX_EVENTS, sizeof *domain->spans);
  if (!domain->counters) domain->counters = calloc(EVENTRING_MAX_EVENTS, sizeof *domain->counters);
  if (!domain->entries || !domain->spans || !domain->counters) return NULL;
  if (!domain->entries[index])
    domain->entries[index] = calloc(1, sizeof **domain->entries);
  if (index >= domain->end) domain->end = index + 1;
  return domain->entries[index];
}

static struct eva_tally_span *span_at(struct eva_tally_span **span) {
  if (!*span) *span = calloc(1, sizeof **span);
  return *span;
}

static struct eva_tally_span *span_of(struct eva_tally_domain *domain,
                                      struct eva_tally_entry *entry) {
  return domain->spans[entry->id % EVENTRING_MAX_EVENTS] = span_at(&entry->span);
}

static struct eva_tally_counter *counter_of(struct eva_tally_entry *entry) {
  if (!entry->counter) entry->counter = calloc(1, sizeof *entry->counter);
  return entry->counter;
}

/* ---- The beginning --------------------------------------------------------- */

void eva_tally_begin(struct eva_tally *tally, eventring_cursor *cursor) {
  struct eventring_info info = {.size = sizeof info};
  struct eventring_domain_info domain = {.size = sizeof domain};
  uint64_t now = eventring_now();
  if (eventring_cursor_info(cursor, &info) < 0 || info.liveness != EVENTRING_LIVE ||
      info.state != EVENTRING_RUNNING)
    return;
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++)
    if (eventring_cursor_domain(cursor, slot, &domain) == EVENTRING_OK && domain.alive)
      eva_gc_clock_begin(&domain_at(tally, slot)->clock,
                         now > tally->since ? now : tally->since, domain.incarnation);
}

/* ---- One event ----------------------------------------------------------- */

/* Adds a number to the amount of the entry's quantity, if amounts of this quantity are
   kept. */
static void add_amount(const struct eva_tally_entry *entry, int64_t number, int64_t *allocated,
                       int64_t *promoted) {
  const int64_t words = strcmp(entry->unit, "words") == 0 ? number : number / 8;
  if (entry->quantity == EVENTRING_QUANTITY_ALLOCATED) eva_add_words(allocated, words);
  if (entry->quantity == EVENTRING_QUANTITY_PROMOTED) eva_add_words(promoted, words);
}

bool eva_tally_has_sum(const struct eva_tally_entry *entry) {
  return entry->measure == EVENTRING_DIFFERENCE || entry->measure == EVENTRING_MEASURE_NONE;
}

double eva_tally_mean(const struct eva_tally_counter *counter) {
  if (counter->samples == 0) return 0;
  return (counter->is_double ? counter->dsum : (double)counter->sum) / (double)counter->samples;
}

static void describe(struct eva_tally_entry *entry,
                     const struct eventring_event *event) {
  if (entry->name) return;
  entry->measure = event->def ? event->def->measure : EVENTRING_MEASURE_NONE;
  entry->quantity = event->def ? event->def->quantity : EVENTRING_QUANTITY_NONE;
  entry->is_async = event->def && event->def->kind == EVENTRING_DEF_ASYNC;
  entry->id = event->id;
  entry->ring = event->ring;
  entry->event_class = event->event_class;
  entry->name = event->name;
  entry->unit = event->def && event->def->unit ? event->def->unit : "";
}

/* Adds a span whose begin and end are known. `own`: its own time in ns; -1: not known. */
static int add_whole(struct eva_tally_span *span, uint64_t took, int64_t own) {
  if (eva_histogram_add(&span->durations, took) < 0) return EVENTRING_E_MEMORY;
  if (own < 0) return EVENTRING_OK;
  span->own = eva_add(span->own, (uint64_t)own);
  span->own_count++;
  return EVENTRING_OK;
}

static int add_end(struct eva_tally_span *span, const struct eventring_event *event) {
  const int64_t took = eventring_event_took(event), off_cpu = eventring_event_off_cpu(event);
  if (!span) return EVENTRING_E_MEMORY;
  if (took < 0) {
    span->torn++;
    return EVENTRING_OK;
  }
  span->suspended = eva_add(span->suspended, event->suspended_ns);
  span->off_cpu = eva_add(span->off_cpu, off_cpu > 0 ? (uint64_t)off_cpu : 0);
  span->interrupted += off_cpu > 0;
  return add_whole(span, (uint64_t)took, eventring_event_own(event));
}

static void add_integer(struct eva_tally_counter *counter, int64_t value) {
  if (counter->samples == 0 || value < counter->min) counter->min = value;
  if (counter->samples == 0 || value > counter->max) counter->max = value;
  counter->sum = eva_add_signed(counter->sum, value);
  counter->last = value;
}

static void add_double(struct eva_tally_counter *counter, double value) {
  if (counter->samples == 0 || value < counter->dmin) counter->dmin = value;
  if (counter->samples == 0 || value > counter->dmax) counter->dmax = value;
  counter->dsum += value;
  counter->dlast = value;
  counter->is_double = true;
}

static int add_counter(struct eva_tally_counter *counter,
                       const struct eventring_event *event) {
  if (!counter) return EVENTRING_E_MEMORY;
  switch (event->payload) {
    case EVENTRING_INT: add_integer(counter, event->value.i); break;
    case EVENTRING_UINT:
      add_integer(counter, event->value.u > INT64_MAX ? INT64_MAX
                                                      : (int64_t)event->value.u);
      break;
    case EVENTRING_DOUBLE: add_double(counter, event->value.d); break;
    default: return EVENTRING_OK; /* not a number: libeventring writes no such counter */
  }
  counter->samples++;
  return EVENTRING_OK;
}

static int add_event(struct eva_tally_domain *domain, struct eva_tally_entry *entry,
                     const struct eventring_event *event) {
  switch (event->kind) {
    case EVENTRING_BEGIN: break; /* counted at its end, or as open; its value: in
                                    add_named */
    case EVENTRING_END: return add_end(span_of(domain, entry), event);
    case EVENTRING_COUNTER: return add_counter(counter_of(entry), event);
    case EVENTRING_LIFECYCLE: entry->lifecycle++; break;
    default: entry->events++; break;
  }
  return EVENTRING_OK;
}

/* Counts a value that stands for another definition as one event of that definition. */
static int add_named(struct eva_tally_domain *domain,
                     const struct eventring_event *event) {
  int id = eva_named_by(event);
  if (id < 0) return EVENTRING_OK;
  struct eva_tally_entry *entry = entry_at(domain, (uint16_t)id);
  if (!entry) return EVENTRING_E_MEMORY;
  entry->id = (uint16_t)id;
  entry->ring = event->ring;
  entry->event_class = event->event_class;
  entry->events++;
  return EVENTRING_OK;
}

/* Gives names to the entries without an event of their own. Without a definition they
   have no name ("?"). */
static void name_entries(struct eva_tally_domain *domain,
                         const eventring_cursor *cursor) {
  for (size_t id = 0; id < domain->end; id++) {
    struct eva_tally_entry *entry = domain->entries[id];
    if (!entry || entry->name) continue;
    const struct eventring_def *def = eventring_cursor_def(cursor, entry->id);
    entry->name = def ? def->name : "?";
    entry->unit = "";
  }
}

/* ---- Async spans ---------------------------------------------------------- */

static bool is_async_end(const struct eventring_event *event) {
  return event->kind == EVENTRING_LINKED && event->def &&
         event->def->kind == EVENTRING_DEF_ASYNC &&
         (event->role == EVENTRING_ROLE_BEGIN || event->role == EVENTRING_ROLE_END);
}

/* Returns the figures of an async span in the domain of `point`; NULL: no memory. `like`:
   the entry of its definition in `domain`. (The point's domain may not have had an event
   of the definition yet, so this function fills in the entry.) */
static struct eva_tally_span *async_of(struct eva_tally *tally, uint16_t id,
                                       const struct eva_link_point *point, uint32_t domain,
                                       const struct eva_tally_entry *like) {
  if (point->domain == domain && like->async && like->name) return like->async;
  struct eva_tally_entry *entry = entry_at(domain_at(tally, point->domain), id);
  if (!entry) return NULL;
  if (!entry->name) {
    entry->id = like->id, entry->ring = like->ring, entry->event_class = like->event_class;
    entry->name = like->name, entry->unit = like->unit;
  }
  return span_at(&entry->async);
}

/* Counts the outcome of an event of definition `id` in `domain`. */
static int count_outcome(struct eva_tally *tally, const struct eva_tally_entry *entry, uint16_t id,
                         uint32_t domain, const struct eva_link_outcome *outcome) {
  if (__builtin_expect(outcome->torn.there, 0)) {
    struct eva_tally_span *span = async_of(tally, id, &outcome->torn, domain, entry);
    if (!span) return EVENTRING_E_MEMORY;
    span->torn++;
  }
  if (!outcome->paired) return EVENTRING_OK;
  struct eva_tally_span *span = async_of(tally, id, &outcome->begin, domain, entry);
  if (!span) return EVENTRING_E_MEMORY;
  return eva_histogram_add(&span->durations, outcome->end.ns - outcome->begin.ns);
}

/* Counts the outcome of an event that was taken earlier. */
static int count_found(void *context, uint16_t id, const struct eva_link_outcome *outcome) {
  struct eva_tally *tally = context;
  const struct eva_link_point *point = outcome->paired ? &outcome->begin : &outcome->torn;
  /* the entry was made when the earlier event came */
  struct eva_tally_domain *domain = &tally->domains[point->domain % EVENTRING_MAX_DOMAINS];
  struct eva_tally_entry *entry = domain->entries[id % EVENTRING_MAX_EVENTS];
  if (!entry) return EVENTRING_E_MEMORY;
  return count_outcome(tally, entry, id, point->domain, outcome);
}

/* Returns the time up to which all rings have delivered their begins and ends;
   UINT64_MAX: the events come in order. */
static uint64_t settled_ns(const struct eva_tally *tally) {
  return tally->apart ? eventring_cursor_settled(tally->apart) : UINT64_MAX;
}

static unsigned ring_number(uint32_t domain, unsigned ring) {
  return domain % EVENTRING_MAX_DOMAINS * EVENTRING_RINGS + ring % EVENTRING_RINGS;
}

/* Takes a begin or an end of an async span. Its outcome is known once no other ring can
   have an earlier begin or end any more. */
static __attribute__((noinline)) int add_async(struct eva_tally *tally,
                                               const struct eva_tally_entry *entry, unsigned ring,
                                               struct eva_link_event event, uint64_t settled) {
  struct eva_link_outcome outcome;
  int status;
  if (tally->apart) {
    const unsigned number = ring_number(event.domain, ring);
    uint64_t *latest = &tally->async_ns[number];
    if (event.at_ns > *latest) *latest = event.at_ns;
    event.ns = *latest;
    status = eva_link_order_take(&tally->async, &event, number, settled, &outcome);
  } else {
    event.order = 0;
    status = eva_links_take(&tally->async.links, &event, &outcome);
  }
  return status == EVENTRING_OK ? count_outcome(tally, entry, event.id, event.domain, &outcome)
                                : status;
}

static struct eva_link_event link_event_of(const struct eventring_event *event) {
  return (struct eva_link_event){.link = event->link, .at_ns = event->ns, .domain = event->domain,
                                 .id = event->id, .role = event->role};
}

int eva_tally_apart(struct eva_tally *tally, eventring_cursor *cursor) {
  int status = eventring_cursor_order(cursor, EVENTRING_ORDER_BLOCKS);
  if (status != EVENTRING_OK) return status;
  tally->apart = cursor;
  tally->async.found = count_found;
  tally->async.context = tally;
  return EVENTRING_OK;
}

static void add_open(struct eva_tally_span *span, struct eva_so_far so_far) {
  span->longest_open = span->open ? eva_so_far_longer(span->longest_open, so_far) : so_far;
  span->open++;
}

static struct eva_so_far so_far_of(const struct eva_tally *tally,
                                   const struct eva_link_point *begin) {
  const struct eventring_event open = {.ns = begin->ns, .domain = begin->domain};
  return eva_so_far(&tally->known, tally->cursor, &open);
}

/* Counts what still waits at the end: a begin as open, an end as torn. */
static void leave_async(void *context, const struct eva_link *link) {
  struct eva_tally *tally = context;
  const struct eva_link_point *points[] = {&link->begin, &link->end};
  for (int i = 0; i < 2; i++) {
    if (!points[i]->there) continue;
    struct eva_tally_domain *domain = domain_at(tally, points[i]->domain);
    struct eva_tally_entry *entry = entry_at(domain, link->id);
    struct eva_tally_span *span = entry ? span_at(&entry->async) : NULL;
    if (!span) tally->status = EVENTRING_E_MEMORY;
    else if (i == 0) add_open(span, so_far_of(tally, points[i]));
    else span->torn++;
  }
}

/* ---- The callbacks --------------------------------------------------------- */

static int add_to_life(struct eva_tally_domain *domain, const struct eva_tally_entry *entry,
                       const struct eventring_event *event) {
  size_t known = domain->lives.count;
  bool is_known = known && domain->lives.life[known - 1].incarnation == event->incarnation;
  bool adds = entry->quantity && event->payload == EVENTRING_INT;
  if (!adds && is_known) return EVENTRING_OK;
  struct eva_life *life = eva_lives_at(&domain->lives, event->incarnation);
  if (!life) return EVENTRING_E_MEMORY;
  if (adds) add_amount(entry, event->value.i, &life->allocated, &life->promoted);
  return EVENTRING_OK;
}

static int count_event(struct eva_tally *tally, struct eva_tally_domain *domain,
                       const struct eventring_event *event) {
  struct eva_tally_entry *entry = entry_at(domain, event->id);
  if (!entry) return EVENTRING_E_MEMORY;
  describe(entry, event);
  int status = is_async_end(event)
                   ? add_async(tally, entry, event->ring, link_event_of(event), settled_ns(tally))
                   : add_event(domain, entry, event);
  if (status == EVENTRING_OK) status = add_to_life(domain, entry, event);
  return status == EVENTRING_OK ? add_named(domain, event) : status;
}

/* Credits what the clock has counted to the domain for which it ran, and resets the
   clock. */
static int credit_clock(struct eva_tally_domain *domain) {
  struct eva_gc_clock *clock = &domain->clock;
  struct eva_life *life = eva_lives_at(&domain->lives, clock->incarnation);
  if (!life) return EVENTRING_E_MEMORY;
  life->watched = eva_add(life->watched, clock->watched);
  eva_gc_times_add(&life->times, &clock->times);
  *clock = (struct eva_gc_clock){.is_cut = clock->is_cut};
  return EVENTRING_OK;
}

/* Sets the clock to this incarnation, after crediting the previous incarnation. */
static int turn_clock(struct eva_tally_domain *domain, uint32_t incarnation) {
  struct eva_gc_clock *clock = &domain->clock;
  if (clock->incarnation == 0 || clock->incarnation == incarnation) return EVENTRING_OK;
  eva_gc_clock_stop(clock, 0);
  return credit_clock(domain);
}

/* Returns the clock for an event at `ns` in a domain of this incarnation. Time before
   `since` is dropped. */
static struct eva_gc_clock *clock_at(struct eva_tally *tally, struct eva_tally_domain *domain,
                                     uint32_t incarnation, uint64_t ns) {
  if (ns < tally->since) return &domain->clock;
  eva_gc_clock_cut(&domain->clock, tally->since, incarnation);
  if (tally->status == EVENTRING_OK) tally->status = turn_clock(domain, incarnation);
  return &domain->clock;
}

static void count(struct eva_tally *tally, const struct eventring_event *event) {
  struct eva_tally_domain *domain = domain_at(tally, event->domain);
  if (tally->status == EVENTRING_OK) tally->status = count_event(tally, domain, event);
  domain->counted[event->ring % EVENTRING_RINGS] = event->incarnation;
  if (event->flags & EVENTRING_SYNTHETIC) return;
  if (tally->first_ns == 0 || event->ns < tally->first_ns) tally->first_ns = event->ns;
  if (event->ns > tally->last_ns) tally->last_ns = event->ns;
}

static int on_open_span(void *context, const struct eventring_event *event) {
  struct eva_tally *tally = context;
  if (event->ns > tally->until) return EVENTRING_OK;
  struct eva_tally_domain *domain = domain_at(tally, event->domain);
  struct eva_tally_entry *entry = entry_at(domain, event->id);
  if (entry) describe(entry, event);
  if (!entry || !span_of(domain, entry)) return EVENTRING_E_MEMORY;
  add_open(entry->span, eva_so_far(&tally->known, tally->cursor, event));
  return EVENTRING_OK;
}

/* Counts an event of the usual kind: the begin or end of a span whose definition the
   domain has had before, and which does nothing to the clock but move it on. Returns
   false, with nothing done, for any other event. */
static bool count_plain(struct eva_tally *tally, const struct eventring_event *event) {
  struct eva_tally_domain *domain = &tally->domains[event->domain % EVENTRING_MAX_DOMAINS];
  struct eva_gc_clock *clock = &domain->clock;
  const bool is_clocked = event->ring == EVENTRING_RUNTIME;
  if (event->kind > EVENTRING_END || event->payload != EVENTRING_NONE ||
      domain->counted[event->ring % EVENTRING_RINGS] != event->incarnation ||
      event->flags & EVENTRING_SYNTHETIC || event->ns < tally->since || !domain->entries ||
      !tally->first_ns || (is_clocked && !eva_gc_clock_only_moves(clock, event)))
    return false;
  struct eva_tally_entry *entry = domain->entries[event->id % EVENTRING_MAX_EVENTS];
  if (!entry || !entry->name || !entry->span) return false;
  if (is_clocked && event->ns > clock->last) clock->last = event->ns;
  if (event->ns > tally->last_ns) tally->last_ns = event->ns;
  if (event->ns < tally->first_ns) tally->first_ns = event->ns;
  if (event->kind == EVENTRING_END) tally->status = add_end(entry->span, event);
  return true;
}

static int on_event(void *context, const struct eventring_event *event) {
  struct eva_tally *tally = context;
  if (tally->status != EVENTRING_OK) return tally->status;
  if (event->ns > tally->until) {
    tally->late = *event;
    return tally->status;
  }
  if (count_plain(tally, event)) return tally->status;
  if (event->ns >= tally->since) count(tally, event);
  if (event->ring == EVENTRING_RUNTIME)
    eva_gc_clock_event(clock_at(tally, domain_at(tally, event->domain), event->incarnation,
                                event->ns), event);
  return tally->status;
}

/* ---- Batches --------------------------------------------------------------- */

/* Tells whether the batch can be counted as a whole, provided that the clock can take it
   as a whole. */
static bool is_plain(const struct eva_tally *tally, const struct eventring_batch *batch) {
  const struct eva_tally_domain *domain = &tally->domains[batch->domain % EVENTRING_MAX_DOMAINS];
  return domain->counted[batch->ring % EVENTRING_RINGS] == batch->incarnation &&
         batch->earliest_ns >= tally->since && batch->latest_ns <= tally->until &&
         domain->entries && tally->first_ns;
}

/* Lets the clock take the events of the batch, most of which only move it on. Returns
   false if the caller must pass them one by one. */
static bool drive_clock(struct eva_gc_clock *clock, const struct eventring_batch *batch) {
  const uint64_t clocked = 1ull << EVENTRING_CLASS_GC | 1ull << EVENTRING_CLASS_FINALIZERS;
  if (batch->ring != EVENTRING_RUNTIME) return true;
  if (batch->classes & clocked) return eva_gc_clock_batch(clock, batch);
  if (!clock->running || clock->incarnation != batch->incarnation) return false;
  if (batch->latest_ns > clock->last) clock->last = batch->latest_ns;
  return true;
}

static void move_on(struct eva_tally *tally, const struct eventring_batch *batch) {
  if (batch->latest_ns > tally->last_ns) tally->last_ns = batch->latest_ns;
  if (batch->earliest_ns < tally->first_ns) tally->first_ns = batch->earliest_ns;
}

/* Returns the entry of a definition, which may have had no event yet; NULL: no memory. */
static __attribute__((noinline)) struct eva_tally_entry *
make_entry(struct eva_tally_domain *domain, const struct eventring_batch *batch, uint16_t id) {
  struct eva_tally_entry *entry = entry_at(domain, id);
  const struct eventring_def *def = eventring_cursor_def(batch->cursor, id);
  const struct eventring_event event = {.id = id, .ring = batch->ring, .def = def,
                                        .event_class = def->event_class, .name = def->name};
  if (entry) describe(entry, &event);
  return entry;
}

static inline struct eva_tally_entry *entry_of(struct eva_tally_domain *domain,
                                               const struct eventring_batch *batch, uint16_t id) {
  struct eva_tally_entry *entry = domain->entries[id];
  return entry && entry->name ? entry : make_entry(domain, batch, id);
}

/* Makes the figures of the spans of a definition. False: no memory. */
static bool make_span(struct eva_tally_domain *domain, const struct eventring_batch *batch,
                      const struct eventring_brief *brief) {
  struct eva_tally_entry *entry = entry_of(domain, batch, brief->id);
  return entry && span_of(domain, entry);
}

/* Counts the spans that ended. (The loop keeps its data in local variables.) */
static int count_ended(struct eva_tally_domain *domain, const struct eventring_batch *batch) {
  const struct eventring_brief *ended = batch->ended, *const end = ended + batch->ended_count;
  const struct eventring_outer *outer = batch->outer;
  struct eva_tally_span *const *spans = domain->spans;
  for (; ended < end; ended++) {
    struct eva_tally_span *span = spans[ended->id];
    if (__builtin_expect(!span, 0)) {
      if (!make_span(domain, batch, ended)) return EVENTRING_E_MEMORY;
      span = spans[ended->id];
    }
    if (__builtin_expect(ended->began_before, 0)) {
      if (add_whole(span, outer->took, eventring_outer_own(outer)) < 0) return EVENTRING_E_MEMORY;
      span->suspended = eva_add(span->suspended, outer->suspended);
      outer++;
      continue;
    }
    if (eva_histogram_add(&span->durations, ended->took) < 0) return EVENTRING_E_MEMORY;
    span->own = eva_add(span->own, ended->took - ended->within);
    span->own_count++;
  }
  return EVENTRING_OK;
}

/* Takes a begin or an end of an async span in a batch, as add_async does. */
static inline __attribute__((always_inline)) int
add_async_point(struct eva_tally *tally, const struct eva_tally_entry *entry,
                const struct eventring_batch *batch, const struct eventring_point *point,
                uint64_t settled) {
  const struct eva_link_point at = {batch->earliest_ns + point->after, batch->domain, true};
  const unsigned number = ring_number(batch->domain, batch->ring);
  struct eva_link_point begin;
  enum eva_link_met met = EVA_LINK_OTHER;
  if (tally->apart && at.ns >= tally->async_ns[number]) {
    tally->async_ns[number] = at.ns;
    met = eva_link_order_meet(&tally->async, point->id, point->value,
                              point->payload == EVENTRING_ROLE_END, at, number, settled, &begin);
  }
  if (met == EVA_LINK_WAITS) return EVENTRING_OK;
  if (__builtin_expect(met == EVA_LINK_OTHER, 0))
    return add_async(tally, entry, batch->ring,
                     (struct eva_link_event){.link = point->value, .at_ns = at.ns,
                                             .domain = batch->domain, .id = point->id,
                                             .role = point->payload}, settled);
  struct eva_tally_span *span = async_of(tally, point->id, &begin, batch->domain, entry);
  return span ? eva_histogram_add(&span->durations, at.ns - begin.ns) : EVENTRING_E_MEMORY;
}

static inline __attribute__((always_inline)) int
count_linked(struct eva_tally *tally, struct eva_tally_entry *entry,
             const struct eventring_batch *batch, const struct eventring_point *point,
             uint64_t settled) {
  if (entry->is_async && (point->payload == EVENTRING_ROLE_BEGIN ||
                          point->payload == EVENTRING_ROLE_END))
    return add_async_point(tally, entry, batch, point, settled);
  entry->events++;
  return EVENTRING_OK;
}

/* Counts a number of a counter. */
static inline void count_number(struct eva_tally_counter *counter,
                                const struct eventring_point *point) {
  if (__builtin_expect(point->payload == EVENTRING_DOUBLE, 0)) {
    double value;
    memcpy(&value, &point->value, sizeof value);
    add_double(counter, value);
  } else {
    const bool is_too_great = point->payload == EVENTRING_UINT && point->value > INT64_MAX;
    add_integer(counter, is_too_great ? INT64_MAX : (int64_t)point->value);
  }
  counter->samples++;
}

/* Makes the figures of a definition that has numbers; NULL: no memory. */
static __attribute__((noinline)) struct eva_tally_counter *
make_counter(struct eva_tally_domain *domain, const struct eventring_batch *batch, uint16_t id) {
  struct eva_tally_entry *entry = entry_of(domain, batch, id);
  return entry ? domain->counters[id] = counter_of(entry) : NULL;
}

static int count_points(struct eva_tally *tally, struct eva_tally_domain *domain,
                        const struct eventring_batch *batch) {
  const struct eventring_point *point = batch->points, *const end = point + batch->point_count;
  const uint64_t settled = settled_ns(tally); /* the same for a whole block */
  int status = EVENTRING_OK;
  for (; point < end && status == EVENTRING_OK; point++) {
    if (point->kind == EVENTRING_COUNTER) {
      struct eva_tally_counter *counter = domain->counters[point->id];
      if (__builtin_expect(!counter, 0)) counter = make_counter(domain, batch, point->id);
      if (__builtin_expect(!counter, 0)) return EVENTRING_E_MEMORY;
      count_number(counter, point);
      continue;
    }
    struct eva_tally_entry *entry = entry_of(domain, batch, point->id);
    if (__builtin_expect(!entry, 0)) return EVENTRING_E_MEMORY;
    switch (point->kind) {
      case EVENTRING_LINKED: status = count_linked(tally, entry, batch, point, settled); break;
      case EVENTRING_END: /* counted with its span */
        entry->span->off_cpu = eva_add(entry->span->off_cpu, point->value);
        entry->span->interrupted += point->value > 0;
        break;
      default: entry->events++; break;
    }
  }
  return status;
}

static int count_batch(struct eva_tally *tally, struct eva_tally_domain *domain,
                       const struct eventring_batch *batch) {
  move_on(tally, batch);
  for (size_t i = 0; i < batch->opened_count; i++)
    if (!entry_of(domain, batch, batch->opened[i].id)) return EVENTRING_E_MEMORY;
  int status = count_ended(domain, batch);
  return status == EVENTRING_OK ? count_points(tally, domain, batch) : status;
}

int eva_tally_batch(void *context, const struct eventring_batch *batch) {
  struct eva_tally *tally = context;
  if (tally->status != EVENTRING_OK) return tally->status;
  struct eva_tally_domain *domain = &tally->domains[batch->domain % EVENTRING_MAX_DOMAINS];
  if (!is_plain(tally, batch) || !drive_clock(&domain->clock, batch))
    return eventring_batch_each(batch, on_event, tally);
  return tally->status = count_batch(tally, domain, batch);
}

static int on_lost(void *context, const struct eventring_loss *loss) {
  struct eva_tally *tally = context;
  struct eva_tally_domain *domain = domain_at(tally, loss->domain);
  if (loss->ring == EVENTRING_RUNTIME)
    eva_gc_clock_lost(clock_at(tally, domain, loss->incarnation, loss->ns), loss);
  return tally->status;
}

const struct eventring_callbacks eva_tally_callbacks = {sizeof(struct eventring_callbacks),
                                                        on_event, on_lost};

/* ---- The end ------------------------------------------------------------- */

/* The state while a list of lives is taken. */
struct taking {
  struct eva_tally *tally;
  struct eva_tally_domain *domain;
};

static void take_life(void *context, const struct eventring_domain_info *info) {
  const struct taking *taking = context;
  if (eva_lives_describe(&taking->domain->lives, info) < 0)
    taking->tally->status = EVENTRING_E_MEMORY;
}

static void take_domain(struct eva_tally *tally, eventring_cursor *cursor,
                        unsigned slot) {
  struct eventring_domain_info info = {.size = sizeof info};
  if (eventring_cursor_domain(cursor, slot, &info) < 0) return;
  struct eva_tally_domain *domain = domain_at(tally, slot);
  domain->info = info;
  for (int ring = 0; ring < EVENTRING_RINGS; ring++) {
    struct eventring_ring_info *of = &domain->rings[ring].info;
    of->size = sizeof *of;
    domain->rings[ring].seen =
        eventring_cursor_ring(cursor, slot, (enum eventring_ring)ring, of) >= 0;
  }
  eva_each_life(cursor, slot, take_life, &(struct taking){tally, domain});
}

/* Stops the clock, and adds up the domains that were in the slot. */
static void stop_clock(struct eva_tally *tally, struct eva_tally_domain *domain) {
  struct eva_gc_clock *clock = &domain->clock;
  if (clock->incarnation != 0) {
    eva_gc_clock_cut(clock, tally->since, clock->incarnation);
    eva_gc_clock_stop(clock, eva_known_until(&tally->known, tally->cursor, domain->info.slot,
                                             clock->incarnation));
    if (credit_clock(domain) < 0) tally->status = EVENTRING_E_MEMORY;
  }
  eva_lives_join(&domain->lives);
  for (size_t i = 0; i < domain->lives.count; i++) {
    eva_gc_times_add(&domain->times, &domain->lives.life[i].times);
    domain->watched = eva_add(domain->watched, domain->lives.life[i].watched);
  }
}

static void sum_words(void *context, const struct eva_tally_entry *entry) {
  struct eva_tally_domain *domain = context;
  if (entry->counter)
    add_amount(entry, entry->counter->sum, &domain->allocated, &domain->promoted);
}

static int merge_span(struct eva_tally_span **into, const struct eva_tally_span *from) {
  if (!from) return EVENTRING_OK;
  struct eva_tally_span *span = span_at(into);
  if (!span) return EVENTRING_E_MEMORY;
  span->torn += from->torn;
  span->suspended = eva_add(span->suspended, from->suspended);
  span->off_cpu = eva_add(span->off_cpu, from->off_cpu);
  span->interrupted += from->interrupted;
  span->own = eva_add(span->own, from->own);
  span->own_count += from->own_count;
  if (from->open) {
    add_open(span, from->longest_open);
    span->open += from->open - 1;
  }
  return eva_histogram_borrow(&span->durations, &from->durations);
}

static int merge_counter(struct eva_tally_entry *into,
                         const struct eva_tally_counter *from) {
  struct eva_tally_counter *counter = counter_of(into);
  if (!counter) return EVENTRING_E_MEMORY;
  if (from->samples == 0) return EVENTRING_OK;
  bool first = counter->samples == 0;
  if (first || from->min < counter->min) counter->min = from->min;
  if (first || from->max > counter->max) counter->max = from->max;
  if (first || from->dmin < counter->dmin) counter->dmin = from->dmin;
  if (first || from->dmax > counter->dmax) counter->dmax = from->dmax;
  counter->sum = eva_add_signed(counter->sum, from->sum);
  counter->dsum += from->dsum;
  counter->samples += from->samples;
  counter->is_double |= from->is_double;
  return EVENTRING_OK;
}

static int merge_entry(struct eva_tally_domain *all, const struct eva_tally_entry *from) {
  struct eva_tally_entry *into = entry_at(all, from->id);
  if (!into) return EVENTRING_E_MEMORY;
  if (!into->name) {
    into->id = from->id, into->ring = from->ring;
    into->event_class = from->event_class;
    into->name = from->name, into->unit = from->unit;
    into->measure = from->measure;
    into->quantity = from->quantity;
  }
  into->events += from->events;
  into->lifecycle += from->lifecycle;
  int status = merge_span(&into->span, from->span);
  if (status == EVENTRING_OK) status = merge_span(&into->async, from->async);
  if (status != EVENTRING_OK || !from->counter) return status;
  return merge_counter(into, from->counter);
}

static void merge_visited(void *context, const struct eva_tally_entry *from) {
  struct eva_tally *tally = context;
  if (tally->status == EVENTRING_OK) tally->status = merge_entry(&tally->all, from);
}

static void merge_domain(struct eva_tally *tally, const struct eva_tally_domain *domain) {
  struct eva_tally_domain *all = &tally->all;
  all->used = true;
  eva_tally_each(domain, merge_visited, tally);
  all->watched = eva_add(all->watched, domain->watched);
  eva_gc_times_add(&all->times, &domain->times);
}

int eva_tally_finish(struct eva_tally *tally, eventring_cursor *cursor) {
  struct eventring_event late;
  tally->cursor = cursor;
  eva_known_find(&tally->known, cursor, tally->until);
  int status = eventring_open_spans(cursor, on_open_span, tally);
  if (tally->status == EVENTRING_OK) tally->status = status;
  /* if the first event after `until` ends a span, that span was open, too */
  if (tally->status == EVENTRING_OK && eva_open_before(&tally->late, tally->until, &late))
    tally->status = on_open_span(tally, &late);
  if (tally->status == EVENTRING_OK) tally->status = eva_link_order_finish(&tally->async);
  eva_links_each(&tally->async.links, leave_async, tally);
  for (unsigned ring = 0; ring < EVENTRING_RINGS; ring++)
    tally->ring_names[ring] = eva_ring_name(cursor, (uint8_t)ring);
  tally->info.size = sizeof tally->info;
  tally->totals.size = sizeof tally->totals;
  eventring_cursor_info(cursor, &tally->info);
  eventring_cursor_totals(cursor, &tally->totals);
  for (unsigned slot = 0; slot < tally->info.domains_laid_out; slot++)
    take_domain(tally, cursor, slot);
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++) {
    struct eva_tally_domain *domain = &tally->domains[slot];
    domain->allocated = domain->promoted = -1;
    if (!domain->used) continue;
    stop_clock(tally, domain);
    name_entries(domain, cursor);
    eva_tally_each(domain, sum_words, domain);
    merge_domain(tally, domain);
  }
  tally->all.allocated = tally->all.promoted = -1;
  eva_tally_each(&tally->all, sum_words, &tally->all);
  return tally->status;
}

void eva_tally_each(const struct eva_tally_domain *domain,
                void (*visit)(void *context, const struct eva_tally_entry *entry),
                void *context) {
  for (size_t id = 0; id < domain->end; id++)
    if (domain->entries[id]) visit(context, domain->entries[id]);
}

static void free_span(struct eva_tally_span *span) {
  if (span) eva_histogram_free(&span->durations);
  free(span);
}

static void free_domain(struct eva_tally_domain *domain) {
  for (size_t id = 0; id < domain->end; id++) {
    struct eva_tally_entry *entry = domain->entries[id];
    if (!entry) continue;
    free_span(entry->span);
    free_span(entry->async);
    free(entry->counter);
    free(entry);
  }
  free(domain->entries);
  free(domain->spans);
  free(domain->counters);
  eva_lives_free(&domain->lives);
}

void eva_tally_free(struct eva_tally *tally) {
  if (!tally) return;
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++)
    free_domain(&tally->domains[slot]);
  free_domain(&tally->all);
  eva_link_order_free(&tally->async);
  free(tally);
}
