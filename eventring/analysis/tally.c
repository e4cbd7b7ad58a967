/* SPDX-License-Identifier: MIT */
/* tally.c: statistics over the events of one recording. */
#include "analysis/tally.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/saturating.h"

struct eva_tally *eva_tally_new(void) { return calloc(1, sizeof(struct eva_tally)); }

static struct eva_tally_domain *domain_at(struct eva_tally *tally, uint32_t slot) {
  struct eva_tally_domain *domain = &tally->domains[slot % EVENTRING_MAX_DOMAINS];
  if (!domain->used) {
    domain->used = true;
    domain->info.slot = slot % EVENTRING_MAX_DOMAINS;
    tally->domains_used++;
  }
  return domain;
}

/* The three below are NULL when there is no memory. */

static struct eva_tally_entry *entry_at(struct eva_tally_domain *domain, uint16_t id) {
  size_t place = id % EVENTRING_MAX_EVENTS;
  if (!domain->entries)
    domain->entries = calloc(EVENTRING_MAX_EVENTS, sizeof *domain->entries);
  if (!domain->entries) return NULL;
  if (!domain->entries[place])
    domain->entries[place] = calloc(1, sizeof **domain->entries);
  return domain->entries[place];
}

static struct eva_tally_span *span_of(struct eva_tally_entry *entry) {
  if (!entry->span) entry->span = calloc(1, sizeof *entry->span);
  return entry->span;
}

static struct eva_tally_counter *counter_of(struct eva_tally_entry *entry) {
  if (!entry->counter) entry->counter = calloc(1, sizeof *entry->counter);
  return entry->counter;
}

/* ---- One event ----------------------------------------------------------- */

static void describe(struct eva_tally_entry *entry,
                     const struct eventring_event *event) {
  if (entry->name) return;
  entry->id = event->id;
  entry->ring = event->ring;
  entry->event_class = event->event_class;
  entry->name = event->name;
  entry->unit = event->def && event->def->unit ? event->def->unit : "";
}

static int add_end(struct eva_tally_span *span, const struct eventring_event *event) {
  if (!span) return EVENTRING_E_MEMORY;
  if (!(event->flags & EVENTRING_TORN) && event->flags & EVENTRING_MATCHED)
    return eva_histogram_add(&span->durations, event->ns > event->begin_ns
                                                   ? event->ns - event->begin_ns : 0);
  span->torn++;
  return EVENTRING_OK;
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
    default: return EVENTRING_OK; /* not a number: no counter of ours */
  }
  counter->samples++;
  return EVENTRING_OK;
}

static int add_event(struct eva_tally_entry *entry, const struct eventring_event *event) {
  switch (event->kind) {
    case EVENTRING_BEGIN: break; /* told by its end, or open at the end; its value: add_named */
    case EVENTRING_END: return add_end(span_of(entry), event);
    case EVENTRING_COUNTER: return add_counter(counter_of(entry), event);
    case EVENTRING_LIFECYCLE: entry->lifecycle++; break;
    default: entry->events++; break;
  }
  return EVENTRING_OK;
}

/* A value that stands for another definition counts as one event of that. */
static int add_named(struct eva_tally_domain *domain,
                     const struct eventring_event *event) {
  if (event->payload != EVENTRING_INT || !event->def || !event->def->unit ||
      event->flags & EVENTRING_SYNTHETIC ||
      strcmp(event->def->unit, EVENTRING_UNIT_ID) != 0 ||
      event->value.u >= EVENTRING_MAX_EVENTS)
    return EVENTRING_OK;
  struct eva_tally_entry *entry = entry_at(domain, (uint16_t)event->value.u);
  if (!entry) return EVENTRING_E_MEMORY;
  entry->id = (uint16_t)event->value.u;
  entry->ring = event->ring;
  entry->event_class = event->event_class;
  entry->events++;
  return EVENTRING_OK;
}

/* Those that were never seen themselves; without a definition they have no name. */
static void name_entries(struct eva_tally_domain *domain,
                         const eventring_cursor *cursor) {
  for (size_t id = 0; domain->entries && id < EVENTRING_MAX_EVENTS; id++) {
    struct eva_tally_entry *entry = domain->entries[id];
    if (!entry || entry->name) continue;
    const struct eventring_def *def = eventring_cursor_def(cursor, entry->id);
    entry->name = def ? def->name : "?";
    entry->unit = "";
  }
}

static int count_event(struct eva_tally_domain *domain,
                       const struct eventring_event *event) {
  struct eva_tally_entry *entry = entry_at(domain, event->id);
  if (!entry) return EVENTRING_E_MEMORY;
  describe(entry, event);
  int status = add_event(entry, event);
  return status == EVENTRING_OK ? add_named(domain, event) : status;
}

static int on_event(void *context, const struct eventring_event *event) {
  struct eva_tally *tally = context;
  if (tally->status != EVENTRING_OK) return tally->status;
  struct eva_tally_domain *domain = domain_at(tally, event->domain);
  tally->status = count_event(domain, event);
  eva_gc_clock_event(&domain->clocks[event->ring % EVENTRING_RINGS], event);
  if (!(event->flags & EVENTRING_SYNTHETIC)) {
    if (tally->first_ns == 0 || event->ns < tally->first_ns)
      tally->first_ns = event->ns;
    if (event->ns > tally->last_ns) tally->last_ns = event->ns;
  }
  return tally->status;
}

static int on_lost(void *context, const struct eventring_loss *loss) {
  struct eva_tally *tally = context;
  struct eva_tally_domain *domain = domain_at(tally, loss->domain);
  eva_gc_clock_lost(&domain->clocks[loss->ring % EVENTRING_RINGS], loss);
  return tally->status;
}

const struct eventring_callbacks eva_tally_callbacks = {on_event, on_lost};

static int on_open_span(void *context, const struct eventring_event *event) {
  struct eva_tally *tally = context;
  struct eva_tally_entry *entry = entry_at(domain_at(tally, event->domain), event->id);
  if (entry) describe(entry, event);
  if (!entry || !span_of(entry)) return EVENTRING_E_MEMORY;
  entry->span->open++;
  return EVENTRING_OK;
}

/* ---- The end ------------------------------------------------------------- */

/* Until when an alive domain was watched: now when it still runs, else the end
   of the recording, which of a process that died is the last thing it wrote. */
static uint64_t end_of_watching(const struct eva_tally *tally) {
  if (tally->info.liveness == EVENTRING_LIVE) return eventring_now();
  if (tally->info.liveness == EVENTRING_ENDED && tally->info.end_ns > 0)
    return tally->info.end_ns;
  return tally->last_ns;
}

static void take_domain(struct eva_tally *tally, eventring_cursor *cursor,
                        unsigned slot) {
  struct eventring_domain_info info;
  if (eventring_cursor_domain(cursor, slot, &info) < 0) return;
  struct eva_tally_domain *domain = domain_at(tally, slot);
  domain->info = info;
  for (int ring = 0; ring < EVENTRING_RINGS; ring++)
    domain->rings[ring].seen =
        eventring_cursor_ring(cursor, slot, (enum eventring_ring)ring,
                              &domain->rings[ring].info) >= 0;
}

/* A domain is watched while either ring is; what counts is the ring that holds
   the collector's spans, the runtime ring in any host that obeys the header. */
static void stop_clocks(struct eva_tally *tally, struct eva_tally_domain *domain) {
  uint64_t end = end_of_watching(tally);
  if (!domain->info.alive && domain->info.stop_ns > 0)
    end = domain->info.stop_ns;
  for (int ring = 0; ring < EVENTRING_RINGS; ring++) {
    struct eva_gc_clock *clock = &domain->clocks[ring];
    bool newest = clock->incarnation == domain->info.incarnation;
    eva_gc_clock_stop(clock, newest ? end : 0);
    domain->in_gc = eva_add(domain->in_gc, clock->in_gc);
  }
  domain->watched = domain->clocks[EVENTRING_RUNTIME].watched;
  if (domain->watched == 0)
    domain->watched = domain->clocks[EVENTRING_USER].watched;
}

static void add_words(int64_t *words, const struct eva_tally_entry *entry,
                      const char *name) {
  if (!entry->counter || entry->event_class != EVENTRING_CLASS_GC ||
      strcmp(entry->name, name) != 0)
    return;
  *words = eva_add_signed(*words < 0 ? 0 : *words, entry->counter->sum);
}

static void sum_words(void *context, const struct eva_tally_entry *entry) {
  struct eva_tally_domain *domain = context;
  add_words(&domain->allocated, entry, "allocated_words");
  add_words(&domain->promoted, entry, "promoted_words");
}

static int merge_span(struct eva_tally_entry *into, const struct eva_tally_span *from) {
  struct eva_tally_span *span = span_of(into);
  if (!span) return EVENTRING_E_MEMORY;
  span->torn += from->torn;
  span->open += from->open;
  return eva_histogram_merge(&span->durations, &from->durations);
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
  }
  into->events += from->events;
  into->lifecycle += from->lifecycle;
  int status = from->span ? merge_span(into, from->span) : EVENTRING_OK;
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
  all->in_gc = eva_add(all->in_gc, domain->in_gc);
}

int eva_tally_finish(struct eva_tally *tally, eventring_cursor *cursor) {
  int status = eventring_open_spans(cursor, on_open_span, tally);
  if (tally->status == EVENTRING_OK) tally->status = status;
  eventring_cursor_info(cursor, &tally->info);
  eventring_cursor_totals(cursor, &tally->totals);
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++)
    take_domain(tally, cursor, slot);
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++) {
    struct eva_tally_domain *domain = &tally->domains[slot];
    domain->allocated = domain->promoted = -1;
    if (!domain->used) continue;
    stop_clocks(tally, domain);
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
  for (size_t id = 0; domain->entries && id < EVENTRING_MAX_EVENTS; id++)
    if (domain->entries[id]) visit(context, domain->entries[id]);
}

static void free_domain(struct eva_tally_domain *domain) {
  for (size_t id = 0; domain->entries && id < EVENTRING_MAX_EVENTS; id++) {
    struct eva_tally_entry *entry = domain->entries[id];
    if (!entry) continue;
    if (entry->span) eva_histogram_free(&entry->span->durations);
    free(entry->span);
    free(entry->counter);
    free(entry);
  }
  free(domain->entries);
}

void eva_tally_free(struct eva_tally *tally) {
  if (!tally) return;
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++)
    free_domain(&tally->domains[slot]);
  free_domain(&tally->all);
  free(tally);
}
