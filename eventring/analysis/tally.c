/* tally.c: statistics over the events of one recording. */
#include "analysis/tally.h"

#include <stdlib.h>
#include <string.h>

struct tally *tally_new(void) { return need_zeroed(1, sizeof(struct tally)); }

static struct tally_domain *domain_at(struct tally *tally, uint32_t slot) {
  struct tally_domain *domain = &tally->domains[slot % EVENTRING_MAX_DOMAINS];
  if (!domain->used) {
    domain->used = true;
    domain->info.slot = slot % EVENTRING_MAX_DOMAINS;
    tally->domains_used++;
  }
  return domain;
}

static struct tally_entry *entry_at(struct tally_domain *domain, uint16_t id) {
  size_t place = id % EVENTRING_MAX_EVENTS;
  if (!domain->entries)
    domain->entries = need_zeroed(EVENTRING_MAX_EVENTS, sizeof *domain->entries);
  if (!domain->entries[place])
    domain->entries[place] = need_zeroed(1, sizeof **domain->entries);
  return domain->entries[place];
}

static struct tally_span *span_of(struct tally_entry *entry) {
  if (!entry->span) entry->span = need_zeroed(1, sizeof *entry->span);
  return entry->span;
}

static struct tally_counter *counter_of(struct tally_entry *entry) {
  if (!entry->counter) entry->counter = need_zeroed(1, sizeof *entry->counter);
  return entry->counter;
}

static int64_t saturating_sum(int64_t a, int64_t b) {
  int64_t sum;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b < 0 ? INT64_MIN : INT64_MAX;
}

/* ---- One event ----------------------------------------------------------- */

static void describe(struct tally_entry *entry,
                     const struct eventring_event *event) {
  if (entry->name) return;
  entry->id = event->id;
  entry->ring = event->ring;
  entry->event_class = event->event_class;
  entry->name = event->name;
  entry->unit = event->def && event->def->unit ? event->def->unit : "";
}

static void add_end(struct tally_span *span,
                    const struct eventring_event *event) {
  if (event->flags & EVENTRING_TORN || !(event->flags & EVENTRING_MATCHED))
    span->torn++;
  else
    histogram_add(&span->durations, event->ns > event->begin_ns
                                        ? event->ns - event->begin_ns : 0);
}

static void add_integer(struct tally_counter *counter, int64_t value) {
  if (counter->samples == 0 || value < counter->min) counter->min = value;
  if (counter->samples == 0 || value > counter->max) counter->max = value;
  counter->sum = saturating_sum(counter->sum, value);
  counter->last = value;
}

static void add_double(struct tally_counter *counter, double value) {
  if (counter->samples == 0 || value < counter->dmin) counter->dmin = value;
  if (counter->samples == 0 || value > counter->dmax) counter->dmax = value;
  counter->dsum += value;
  counter->dlast = value;
  counter->is_double = true;
}

static void add_counter(struct tally_counter *counter,
                        const struct eventring_event *event) {
  switch (event->payload) {
    case EVENTRING_INT: add_integer(counter, event->value.i); break;
    case EVENTRING_UINT:
      add_integer(counter, event->value.u > INT64_MAX ? INT64_MAX
                                                      : (int64_t)event->value.u);
      break;
    case EVENTRING_DOUBLE: add_double(counter, event->value.d); break;
    default: return; /* not a number: no counter of ours */
  }
  counter->samples++;
}

static void add_event(struct tally_entry *entry,
                      const struct eventring_event *event) {
  switch (event->kind) {
    case EVENTRING_BEGIN: break; /* told by its end, or open at the end; its value: add_named */
    case EVENTRING_END: add_end(span_of(entry), event); break;
    case EVENTRING_COUNTER: add_counter(counter_of(entry), event); break;
    case EVENTRING_LIFECYCLE: entry->lifecycle++; break;
    default: entry->events++; break;
  }
}

/* A value that stands for another definition counts as one event of that. */
static void add_named(struct tally_domain *domain,
                      const struct eventring_event *event) {
  if (event->payload != EVENTRING_INT || !event->def || !event->def->unit ||
      event->flags & EVENTRING_SYNTHETIC ||
      strcmp(event->def->unit, EVENTRING_UNIT_ID) != 0 ||
      event->value.u >= EVENTRING_MAX_EVENTS)
    return;
  struct tally_entry *entry = entry_at(domain, (uint16_t)event->value.u);
  entry->id = (uint16_t)event->value.u;
  entry->ring = event->ring;
  entry->event_class = event->event_class;
  entry->events++;
}

/* Those that were never seen themselves; without a definition they have no name. */
static void name_entries(struct tally_domain *domain,
                         const eventring_cursor *cursor) {
  for (size_t id = 0; domain->entries && id < EVENTRING_MAX_EVENTS; id++) {
    struct tally_entry *entry = domain->entries[id];
    if (!entry || entry->name) continue;
    const struct eventring_def *def = eventring_cursor_def(cursor, entry->id);
    entry->name = def ? def->name : "?";
    entry->unit = "";
  }
}

static int on_event(void *context, const struct eventring_event *event) {
  struct tally *tally = context;
  struct tally_domain *domain = domain_at(tally, event->domain);
  struct tally_entry *entry = entry_at(domain, event->id);
  describe(entry, event);
  add_event(entry, event);
  add_named(domain, event);
  gc_clock_event(&domain->clocks[event->ring % EVENTRING_RINGS], event);
  if (!(event->flags & EVENTRING_SYNTHETIC)) {
    if (tally->first_ns == 0 || event->ns < tally->first_ns)
      tally->first_ns = event->ns;
    if (event->ns > tally->last_ns) tally->last_ns = event->ns;
  }
  return 0;
}

static int on_lost(void *context, const struct eventring_loss *loss) {
  struct tally_domain *domain = domain_at(context, loss->domain);
  gc_clock_lost(&domain->clocks[loss->ring % EVENTRING_RINGS], loss);
  return 0;
}

const struct eventring_callbacks tally_callbacks = {on_event, on_lost};

static int on_open_span(void *context, const struct eventring_event *event) {
  struct tally_entry *entry = entry_at(domain_at(context, event->domain), event->id);
  describe(entry, event);
  span_of(entry)->open++;
  return 0;
}

/* ---- The end ------------------------------------------------------------- */

/* Until when an alive domain was watched: now when it still runs, else the end
   of the recording, which of a process that died is the last thing it wrote. */
static uint64_t end_of_watching(const struct tally *tally) {
  if (tally->info.liveness == EVENTRING_LIVE) return eventring_now();
  if (tally->info.liveness == EVENTRING_ENDED && tally->info.end_ns > 0)
    return tally->info.end_ns;
  return tally->last_ns;
}

static void take_domain(struct tally *tally, eventring_cursor *cursor,
                        unsigned slot) {
  struct eventring_domain_info info;
  if (eventring_cursor_domain(cursor, slot, &info) < 0) return;
  struct tally_domain *domain = domain_at(tally, slot);
  domain->info = info;
  for (int ring = 0; ring < EVENTRING_RINGS; ring++)
    domain->rings[ring].seen =
        eventring_cursor_ring(cursor, slot, (enum eventring_ring)ring,
                              &domain->rings[ring].info) >= 0;
}

/* A domain is watched while either ring is; what counts is the ring that holds
   the collector's spans, the runtime ring in any host that obeys the header. */
static void stop_clocks(struct tally *tally, struct tally_domain *domain) {
  uint64_t end = end_of_watching(tally);
  if (!domain->info.alive && domain->info.stop_ns > 0)
    end = domain->info.stop_ns;
  for (int ring = 0; ring < EVENTRING_RINGS; ring++) {
    struct gc_clock *clock = &domain->clocks[ring];
    bool newest = clock->incarnation == domain->info.incarnation;
    gc_clock_stop(clock, newest ? end : 0);
    domain->in_gc = saturating_add(domain->in_gc, clock->in_gc);
  }
  domain->watched = domain->clocks[EVENTRING_RUNTIME].watched;
  if (domain->watched == 0)
    domain->watched = domain->clocks[EVENTRING_USER].watched;
}

static void add_words(int64_t *words, const struct tally_entry *entry,
                      const char *name) {
  if (!entry->counter || entry->event_class != EVENTRING_CLASS_GC ||
      strcmp(entry->name, name) != 0)
    return;
  *words = saturating_sum(*words < 0 ? 0 : *words, entry->counter->sum);
}

static void sum_words(void *context, const struct tally_entry *entry) {
  struct tally_domain *domain = context;
  add_words(&domain->allocated, entry, "allocated_words");
  add_words(&domain->promoted, entry, "promoted_words");
}

static void merge_span(struct tally_entry *into, const struct tally_span *from) {
  struct tally_span *span = span_of(into);
  histogram_merge(&span->durations, &from->durations);
  span->torn += from->torn;
  span->open += from->open;
}

static void merge_counter(struct tally_entry *into,
                          const struct tally_counter *from) {
  struct tally_counter *counter = counter_of(into);
  if (from->samples == 0) return;
  bool first = counter->samples == 0;
  if (first || from->min < counter->min) counter->min = from->min;
  if (first || from->max > counter->max) counter->max = from->max;
  if (first || from->dmin < counter->dmin) counter->dmin = from->dmin;
  if (first || from->dmax > counter->dmax) counter->dmax = from->dmax;
  counter->sum = saturating_sum(counter->sum, from->sum);
  counter->dsum += from->dsum;
  counter->samples += from->samples;
  counter->is_double |= from->is_double;
}

static void merge_entry(void *context, const struct tally_entry *from) {
  struct tally_entry *into = entry_at(context, from->id);
  if (!into->name) {
    into->id = from->id, into->ring = from->ring;
    into->event_class = from->event_class;
    into->name = from->name, into->unit = from->unit;
  }
  if (from->span) merge_span(into, from->span);
  if (from->counter) merge_counter(into, from->counter);
  into->events += from->events;
  into->lifecycle += from->lifecycle;
}

static void merge_domain(struct tally_domain *all,
                         const struct tally_domain *domain) {
  all->used = true;
  tally_each(domain, merge_entry, all);
  all->watched = saturating_add(all->watched, domain->watched);
  all->in_gc = saturating_add(all->in_gc, domain->in_gc);
}

void tally_finish(struct tally *tally, eventring_cursor *cursor) {
  eventring_open_spans(cursor, on_open_span, tally);
  eventring_cursor_info(cursor, &tally->info);
  eventring_cursor_totals(cursor, &tally->totals);
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++)
    take_domain(tally, cursor, slot);
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++) {
    struct tally_domain *domain = &tally->domains[slot];
    domain->allocated = domain->promoted = -1;
    if (!domain->used) continue;
    stop_clocks(tally, domain);
    name_entries(domain, cursor);
    tally_each(domain, sum_words, domain);
    merge_domain(&tally->all, domain);
  }
  tally->all.allocated = tally->all.promoted = -1;
  tally_each(&tally->all, sum_words, &tally->all);
}

void tally_each(const struct tally_domain *domain,
                void (*visit)(void *context, const struct tally_entry *entry),
                void *context) {
  for (size_t id = 0; domain->entries && id < EVENTRING_MAX_EVENTS; id++)
    if (domain->entries[id]) visit(context, domain->entries[id]);
}

static void free_domain(struct tally_domain *domain) {
  for (size_t id = 0; domain->entries && id < EVENTRING_MAX_EVENTS; id++) {
    struct tally_entry *entry = domain->entries[id];
    if (!entry) continue;
    if (entry->span) histogram_free(&entry->span->durations);
    free(entry->span);
    free(entry->counter);
    free(entry);
  }
  free(domain->entries);
}

void tally_free(struct tally *tally) {
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++)
    free_domain(&tally->domains[slot]);
  free_domain(&tally->all);
  free(tally);
}
