/* SPDX-License-Identifier: MIT */
/* tally_views.c: prints statistics as tables for people and as JSON. No line of the text
 * is wider than the page (text_table.h), except perhaps the path of the file.
 *
 * In text the time in the collector comes first, with a row for each domain. Then come
 * the tables for all domains together, if there are several, then those for each
 * domain. */
#include <stdio.h>
#include <string.h>

#include "analysis/ending.h"
#include "analysis/figures.h"
#include "analysis/names.h"
#include "analysis/reach.h"
#include "analysis/saturating.h"
#include "eventring/tools.h"
#include "reader.h"
#include "shared_views.h"
#include "tally_print.h"

/* ---- Entries: spans, counters, events ----------------------------------------- */

struct lists { /* the source of rows */
  const struct eva_tally *tally;
  const struct tally_choice *choice;
  const struct eva_tally_domain *domain; /* a domain, or `all`; NULL for each chosen
                                            domain */
};

struct row {
  struct eva_tally_entry entry;
  const char *ring;
  uint32_t domain;
  bool is_of_domain; /* the row belongs to a domain; else it has the sums over all
                        domains */
  bool is_gc, is_sync, measures_off_cpu;
  const struct eva_tally_span *span;
  struct eva_tally_counter counter;
  uint64_t events, watched;
};

struct adding {
  struct view_to *to;
  const struct eva_tally *tally;
  const struct eva_tally_domain *domain;
  enum tally_table table;
};

static void add_entry(void *context, const struct eva_tally_entry *entry) {
  const struct adding *adding = context;
  static const struct eva_tally_counter no_counter;
  const bool is_async = adding->table == TALLY_ASYNC;
  view_row(adding->to,
           &(struct row){.entry = *entry,
                         .ring = adding->tally->ring_names[entry->ring % EVENTRING_RINGS],
                         .domain = adding->domain->info.slot,
                         .is_of_domain = adding->domain != &adding->tally->all,
                         .is_gc = entry->event_class == EVENTRING_CLASS_GC,
                         .is_sync = !is_async,
                         .measures_off_cpu = entry->measure == EVENTRING_OFF_CPU,
                         .span = is_async ? entry->async : entry->span,
                         .counter = entry->counter ? *entry->counter : no_counter,
                         .events = entry->events + entry->lifecycle,
                         .watched = adding->domain->watched});
}

static void add_entries(struct view_to *to, const struct lists *lists, enum tally_table table) {
  const struct eva_tally *tally = lists->tally;
  struct adding adding = {to, tally, lists->domain, table};
  if (lists->domain) return tally_choose(lists->domain, lists->choice, table, add_entry, &adding);
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++) {
    adding.domain = &tally->domains[slot];
    if (adding.domain->used && tally_wants_domain(lists->choice, slot))
      tally_choose(adding.domain, lists->choice, table, add_entry, &adding);
  }
}

static void add_spans(struct view_to *to, const void *row) { add_entries(to, row, TALLY_SPANS); }
static void add_async(struct view_to *to, const void *row) { add_entries(to, row, TALLY_ASYNC); }
static void add_counters(struct view_to *to, const void *row) {
  add_entries(to, row, TALLY_COUNTERS);
}
static void add_events(struct view_to *to, const void *row) { add_entries(to, row, TALLY_EVENTS); }

#define IDENTITY                                                                             \
  {"domain", NULL, VIEW_PLAIN, ROW(domain), VIEW_IF(is_of_domain),               \
   .flags = VIEW_PART},                                                                      \
      {"id", NULL, VIEW_PLAIN, ROW(entry.id)}, {"ring", NULL, VIEW_PLAIN, ROW(ring)}

static bool has_any(const void *row) {
  return ((const struct eva_tally_span *)row)->durations.count > 0;
}
static bool has_own(const void *row) { return ((const struct eva_tally_span *)row)->own_count > 0; }
static bool is_open(const void *row) { return ((const struct eva_tally_span *)row)->open > 0; }

VIEW_GETTER(mean, struct eva_histogram) { return view_uint(eva_histogram_mean(row)); }

#define ANY .has = has_any, .flags = VIEW_TEXT_IF
static VIEW(span_view, struct eva_tally_span,
    {"count", "count", VIEW_COUNT, ROW(durations.count)},
    {"total_ns", "total", VIEW_NS, ROW(durations.total), ANY},
    {NULL, "?own", VIEW_NS, ROW(own), .has = has_own},
    {"mean_ns", "mean", VIEW_NS, VIEW_GET(UINT, mean), ANY},
    {"min_ns", "min", VIEW_NS, ROW(durations.min), ANY},
    {"max_ns", "max", VIEW_NS, ROW(durations.max), ANY},
    {"p50_ns", "|p50", VIEW_NS, VIEW_GET(UINT, view_quantile), .argument = 50000, ANY},
    {"p90_ns", "p90", VIEW_NS, VIEW_GET(UINT, view_quantile), .argument = 90000, ANY},
    {"p99_ns", "p99", VIEW_NS, VIEW_GET(UINT, view_quantile), .argument = 99000, ANY},
    {"p999_ns", "p99.9", VIEW_NS, VIEW_GET(UINT, view_quantile), .argument = 99900, ANY},
    {NULL, "?off CPU", VIEW_NS, ROW(off_cpu), .flags = VIEW_DASH_0},
    {"suspended_ns", "?suspended", VIEW_NS, ROW(suspended), .flags = VIEW_DASH_0},
    {"torn", "?torn", VIEW_COUNT, ROW(torn), .flags = VIEW_DASH_0},
    {"open", "?open", VIEW_COUNT, ROW(open), .flags = VIEW_DASH_0},
    {NULL, "?open for", VIEW_PLAIN, VIEW_GET(TEXT, view_so_far),
     .offset = offsetof(struct eva_tally_span, longest_open), .has = is_open},
    {.form = VIEW_INCLUDE, .offset = offsetof(struct eva_tally_span, longest_open),
     .has = is_open, .view = &so_far_view})

static VIEW(own_view, struct eva_tally_span,
    {"own_ns", NULL, VIEW_NS, ROW(own)},
    {"own_count", NULL, VIEW_COUNT, ROW(own_count), .help = "spans of which `own_ns` is known"})

static VIEW(off_cpu_view, struct eva_tally_span,
    {"interrupted", NULL, VIEW_COUNT, ROW(interrupted)},
    {"off_cpu_ns", NULL, VIEW_NS, ROW(off_cpu)})

#define OF_SPAN .form = VIEW_INCLUDE, .offset = offsetof(struct row, span), .flags = VIEW_POINTER
static VIEW(duration_view, struct row,
    IDENTITY,
    {"name", "<span", VIEW_PLAIN, ROW(entry.name)},
    {"gc", NULL, VIEW_PLAIN, ROW(is_gc)},
    {OF_SPAN, .view = &span_view},
    {OF_SPAN, .view = &own_view, VIEW_IF(is_sync)},
    {OF_SPAN, .view = &off_cpu_view, VIEW_IF(measures_off_cpu)})

enum figure { SUM, MIN, MAX, LAST };

VIEW_GETTER(figure, struct row) {
  const struct eva_tally_counter *c = &row->counter;
  const int64_t whole[] = {c->sum, c->min, c->max, c->last};
  const double real[] = {c->dsum, c->dmin, c->dmax, c->dlast};
  return c->is_double ? view_double(real[column->argument]) : view_int(whole[column->argument]);
}

/* Returns a rate: an amount divided by the time watched. */
static struct view_value rate(struct view_to *to, double amount, uint64_t watched) {
  return view_text(watched ? eva_double_text(to->room, amount * 1e9 / (double)watched) : NULL);
}
VIEW_GETTER(sum_rate, struct row) {
  const struct eva_tally_counter *c = &row->counter;
  return rate(to, c->is_double ? c->dsum : (double)c->sum, row->watched);
}
VIEW_GETTER(event_rate, struct row) { return rate(to, (double)row->events, row->watched); }
VIEW_GETTER(counter_mean, struct row) { return view_double(eva_tally_mean(&row->counter)); }

static bool has_sum(const void *row) {
  return eva_tally_has_sum(&((const struct row *)row)->entry);
}
static bool is_difference(const void *row) {
  return ((const struct row *)row)->entry.measure == EVENTRING_DIFFERENCE;
}
/* Tells whether a counter has a last value: the sum of several domains has none. */
static bool has_last(const void *row) {
  return ((const struct row *)row)->is_of_domain && !is_difference(row);
}

#define FIGURE(which) VIEW_COUNT, VIEW_GET(DOUBLE, figure), .argument = (which)
static VIEW(counter_view, struct row,
    IDENTITY,
    {"name", "<counter", VIEW_PLAIN, ROW(entry.name)},
    {"unit", "<unit", VIEW_PLAIN, ROW(entry.unit)},
    {"measure", NULL, VIEW_MEASURE, ROW(entry.measure)},
    {"samples", "samples", VIEW_COUNT, ROW(counter.samples)},
    {"sum", NULL, FIGURE(SUM), .has = has_sum, .flags = VIEW_MAYBE},
    {NULL, "?sum", FIGURE(SUM), .has = is_difference},
    {NULL, "?a second", VIEW_PLAIN, VIEW_GET(TEXT, sum_rate), .has = is_difference},
    {"mean", "mean", VIEW_PLAIN, VIEW_GET(DOUBLE, counter_mean), .flags = VIEW_MAYBE},
    {"min", "|min", FIGURE(MIN), .flags = VIEW_MAYBE},
    {"max", "max", FIGURE(MAX), .flags = VIEW_MAYBE},
    {"last", NULL, FIGURE(LAST), VIEW_IF(is_of_domain), .flags = VIEW_MAYBE},
    {NULL, "?last", FIGURE(LAST), .has = has_last})

static VIEW(event_view, struct row,
    IDENTITY,
    {"name", "<event", VIEW_PLAIN, ROW(entry.name)},
    {"count", "count", VIEW_COUNT, ROW(events)},
    {NULL, "a second", VIEW_PLAIN, VIEW_GET(TEXT, event_rate)})

static VIEW(list_view, struct lists,
    {"async_spans", NULL, VIEW_ROWS, .view = &duration_view, .rows = add_async},
    {"counters", NULL, VIEW_ROWS, .view = &counter_view, .rows = add_counters},
    {"events", NULL, VIEW_ROWS, .view = &event_view, .rows = add_events})

/* ---- Time in the collector ---------------------------------------------------- */

/* Figures of one domain, of several domains with one name that used a slot in turn, or of
   all domains. */
struct figures {
  uint64_t watched;
  struct eva_gc_times times;
  int64_t allocated, promoted; /* -1: not known */
};
_Static_assert(sizeof(struct figures) <= VIEW_MADE, "made for a view");

static double share(uint64_t part, uint64_t whole) {
  return whole ? (double)part / (double)whole : 0;
}
VIEW_GETTER(gc_share, struct figures) {
  return view_double(share(row->times.in_gc, row->watched));
}
VIEW_GETTER(finalizers_share, struct figures) {
  return view_double(share(row->times.in_finalizers, row->watched));
}
VIEW_GETTER(gc_cpu, struct figures) {
  uint64_t cpu;
  return eva_gc_times_cpu(&row->times, &cpu) ? view_uint(cpu) : view_none();
}
VIEW_GETTER(gc_cpu_share, struct figures) {
  uint64_t cpu;
  if (!eva_gc_times_cpu(&row->times, &cpu)) return view_none();
  return view_double(share(cpu, eva_gc_times_on_cpu(&row->times, row->watched)));
}
/* Returns what was allocated per second of time watched. */
VIEW_GETTER(allocation_rate, struct figures) {
  if (row->allocated < 0 || !row->watched) return view_none();
  double a_second = (double)row->allocated * 8e9 / (double)row->watched;
  return view_printf(to, "%s/s", eva_bytes(eva_whole(a_second)));
}

static VIEW(gc_view, struct figures,
    {"watched_ns", "watched", VIEW_NS, ROW(watched)},
    {"gc_ns", "in GC", VIEW_NS, ROW(times.in_gc)},
    {"gc_share", "share", VIEW_SHARE, VIEW_GET(DOUBLE, gc_share), .flags = VIEW_MAYBE},
    {"gc_cpu_ns", "GC CPU", VIEW_NS, VIEW_GET(UINT, gc_cpu)},
    {"gc_cpu_share", "share", VIEW_SHARE, VIEW_GET(DOUBLE, gc_cpu_share)},
    {"finalizers_ns", "finalizers", VIEW_NS, ROW(times.in_finalizers)},
    {"finalizers_share", NULL, VIEW_SHARE, VIEW_GET(DOUBLE, finalizers_share),
     .flags = VIEW_MAYBE},
    {"allocated_words", "|allocated", VIEW_WORDS, ROW(allocated), .flags = VIEW_NOT_NEGATIVE},
    {NULL, "a second", VIEW_PLAIN, VIEW_GET(TEXT, allocation_rate)},
    {"promoted_words", "promoted", VIEW_WORDS, ROW(promoted), .flags = VIEW_NOT_NEGATIVE})

static void make_figures(void *made, const void *row) {
  const struct eva_tally_domain *d = row;
  *(struct figures *)made = (struct figures){d->watched, d->times, d->allocated, d->promoted};
}
static void make_sums(void *made, const void *row) {
  make_figures(made, &((const struct eva_tally *)row)->all);
}
static void make_life_figures(void *made, const void *row) {
  const struct eva_life *l = row;
  *(struct figures *)made = (struct figures){l->watched, l->times, l->allocated, l->promoted};
}

/* A row of the text. */
struct named_figures {
  const char *slot, *name;
  struct figures figures;
};
#define NAMES {NULL, "domain", VIEW_PLAIN, ROW(slot)}, {NULL, "<name", VIEW_PLAIN, ROW(name)}
static VIEW_WITH(named_gc_view, struct named_figures, (.keys = 2),
    NAMES,
    {.form = VIEW_INCLUDE, .offset = offsetof(struct named_figures, figures), .view = &gc_view})

static VIEW_WITH(watched_view, struct named_figures, (.keys = 2),
    NAMES,
    {NULL, "watched", VIEW_NS, ROW(figures.watched)})

/* Adds up lives [first, ...) while they have the same name. Returns where the next such
   run of lives begins. */
static size_t add_lives(const struct eva_lives *lives, size_t first,
                        struct figures *figures) {
  size_t i = first;
  const char *name = eva_life_name(&lives->life[first]);
  *figures = (struct figures){.allocated = -1, .promoted = -1};
  for (; i < lives->count && strcmp(eva_life_name(&lives->life[i]), name) == 0; i++) {
    const struct eva_life *life = &lives->life[i];
    figures->watched += life->watched;
    eva_gc_times_add(&figures->times, &life->times);
    if (life->allocated >= 0) eva_add_words(&figures->allocated, life->allocated);
    if (life->promoted >= 0) eva_add_words(&figures->promoted, life->promoted);
  }
  return i;
}

static void add_slot(struct view_to *to, const struct eva_tally_domain *domain) {
  char slot[16], label[EVENTRING_MAX_DOMAIN_NAME + 32];
  const struct eva_lives *lives = &domain->lives;
  struct named_figures row = {slot, label, {0}};
  snprintf(slot, sizeof slot, "%u", domain->info.slot);
  for (size_t i = 0, next; i < lives->count; i = next) {
    next = add_lives(lives, i, &row.figures);
    snprintf(label, sizeof label, next - i > 1 ? "%s (%zu in turn)" : "%s",
             eva_life_name(&lives->life[i]), next - i);
    view_row(to, &row);
  }
}

static void add_named_figures(struct view_to *to, const void *context) {
  const struct lists *lists = context;
  const struct eva_tally *tally = lists->tally;
  struct named_figures all = {"all", "", {0}};
  size_t rows = 0;
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++)
    rows += tally->domains[slot].lives.count;
  make_figures(&all.figures, &tally->all);
  if (rows > 1 && lists->choice->domain == UINT64_MAX) view_row(to, &all);
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++)
    if (tally->domains[slot].used && tally_wants_domain(lists->choice, slot))
      add_slot(to, &tally->domains[slot]);
}

/* ---- Domains and rings -------------------------------------------------------- */

/* Adds a ring to a sum. (The oldest event of the sum is the newest of the rings' oldest
   events, from which on all rings are complete.) */
static void add_ring(struct eva_tally_ring *sum, const struct eva_tally_ring *ring) {
  if (ring->seen && !eva_ring_is_whole(&ring->info) && ring->info.oldest_ns > sum->info.oldest_ns)
    sum->info.oldest_ns = ring->info.oldest_ns;
  sum->info.available += ring->info.available;
  sum->seen |= ring->seen;
  sum->info.emitted += ring->info.emitted;
  sum->info.delivered += ring->info.delivered;
  sum->info.missed += ring->info.missed;
  sum->info.lost += ring->info.lost;
  sum->info.torn += ring->info.torn;
}

/* Returns a ring of the domain, or the sum over this ring of all domains. */
static struct eva_tally_ring ring_of(const struct eva_tally *tally,
                                     const struct eva_tally_domain *domain, int ring) {
  struct eva_tally_ring sum = {0};
  if (domain != &tally->all) return domain->rings[ring];
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++)
    if (tally->domains[slot].used) add_ring(&sum, &tally->domains[slot].rings[ring]);
  return sum;
}

struct ring_row {
  const char *name;
  struct eventring_ring_info info;
  uint64_t last_ns; /* time of the last event seen, from which the reach counts back */
};

VIEW_GETTER(reach, struct ring_row) {
  if (eva_ring_is_whole(&row->info)) return view_text("all");
  return view_text(eva_duration_text(to->room, eva_ring_reach(&row->info, row->last_ns)));
}

static VIEW(ring_view, struct ring_row,
    {NULL, "<ring", VIEW_PLAIN, ROW(name)},
    {"emitted", "emitted", VIEW_COUNT, ROW(info.emitted)},
    {"delivered", "delivered", VIEW_COUNT, ROW(info.delivered)},
    {"missed", "missed", VIEW_COUNT, ROW(info.missed), .flags = VIEW_DASH_0},
    {"lost", "lost", VIEW_COUNT, ROW(info.lost), .flags = VIEW_DASH_0},
    {"torn", "torn", VIEW_COUNT, ROW(info.torn), .flags = VIEW_DASH_0},
    {NULL, "holds", VIEW_PLAIN, VIEW_GET(TEXT, reach)},
    {"available", NULL, VIEW_COUNT, ROW(info.available)},
    {"oldest_ns", NULL, VIEW_MOMENT, ROW(info.oldest_ns)},
    {"newest_ns", NULL, VIEW_MOMENT, ROW(info.newest_ns)})

/* Adds rows for the rings of a domain. (`to->context` is the tally.) */
static void add_rings(struct view_to *to, const void *domain) {
  const struct eva_tally *tally = to->context;
  for (int ring = 0; ring < EVENTRING_RINGS; ring++) {
    struct eva_tally_ring of = ring_of(tally, domain, ring);
    const char *name = tally->ring_names[ring];
    if (of.seen) view_named_row(to, name, &(struct ring_row){name, of.info, tally->last_ns});
  }
}

VIEW_GETTER(life_name, struct eva_life) { return view_text(eva_life_name(row)); }
static bool has_info(const void *row) { return ((const struct eva_life *)row)->info != NULL; }

static VIEW(info_view, struct eventring_domain_info,
    {"alive", NULL, VIEW_PLAIN, ROW(alive)},
    {"tid", NULL, VIEW_PLAIN, ROW(tid)},
    {"start_ns", NULL, VIEW_MOMENT, ROW(start_ns)},
    {"stop_ns", NULL, VIEW_MOMENT, ROW(stop_ns)})

static VIEW(life_view, struct eva_life,
    {"incarnation", NULL, VIEW_PLAIN, ROW(incarnation)},
    {"name", NULL, VIEW_PLAIN, VIEW_GET(TEXT, life_name), .flags = VIEW_MAYBE},
    {.form = VIEW_INCLUDE, .offset = offsetof(struct eva_life, info), .flags = VIEW_POINTER,
     .has = has_info, .view = &info_view},
    {.form = VIEW_INCLUDE, .make = make_life_figures, .view = &gc_view})

static void add_lives_of(struct view_to *to, const void *domain) {
  const struct eva_lives *lives = &((const struct eva_tally_domain *)domain)->lives;
  for (size_t i = 0; i < lives->count; i++) view_row(to, &lives->life[i]);
}

static VIEW(domain_view, struct eva_tally_domain,
    {"domain", NULL, VIEW_PLAIN, ROW(info.slot)},
    {"name", NULL, VIEW_PLAIN, ROW(info.name)},
    {"incarnation", NULL, VIEW_PLAIN, ROW(info.incarnation)},
    {"alive", NULL, VIEW_PLAIN, ROW(info.alive)},
    {.form = VIEW_INCLUDE, .make = make_figures, .view = &gc_view},
    {"lives", NULL, VIEW_ROWS, .view = &life_view, .rows = add_lives_of},
    {"rings", NULL, VIEW_MAP, .view = &ring_view, .rows = add_rings})

static void add_domains(struct view_to *to, const void *row) {
  const struct lists *lists = row;
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++)
    if (lists->tally->domains[slot].used && tally_wants_domain(lists->choice, slot))
      view_row(to, &lists->tally->domains[slot]);
}

/* ---- All that was recorded ---------------------------------------------------- */

VIEW_GETTER(recorded_name, struct eventring_recorded) { return view_text(row->def->name); }
VIEW_GETTER(recorded_mean, struct eventring_recorded) { return view_uint(row->ns / row->count); }
VIEW_GETTER(recorded_sum, struct eventring_recorded) {
  if (row->def->payload == EVENTRING_DOUBLE) return view_double(row->sum.d);
  return row->def->payload == EVENTRING_UINT ? view_uint(row->sum.u) : view_int(row->sum.i);
}
static bool has_duration(const void *row) {
  const struct eventring_recorded *r = row;
  return r->def->kind == EVENTRING_DEF_SPAN && r->count > 0;
}
static bool is_summed(const void *row) {
  const struct eventring_def *def = ((const struct eventring_recorded *)row)->def;
  return def->kind == EVENTRING_DEF_COUNTER &&
         (def->measure == EVENTRING_DIFFERENCE || def->measure == EVENTRING_MEASURE_NONE);
}

static VIEW(recorded_view, struct eventring_recorded,
    {"id", NULL, VIEW_PLAIN, ROW(id)},
    {"name", "<event", VIEW_PLAIN, VIEW_GET(TEXT, recorded_name)},
    {"count", "count", VIEW_COUNT, ROW(count)},
    {"total_ns", "?total", VIEW_NS, ROW(ns), .has = has_duration, .flags = VIEW_PART},
    {"mean_ns", "?mean", VIEW_NS, VIEW_GET(UINT, recorded_mean), .has = has_duration,
     .flags = VIEW_PART},
    {"sum", "?sum", VIEW_COUNT, VIEW_GET(DOUBLE, recorded_sum), .has = is_summed,
     .flags = VIEW_PART})

struct recorded_to {
  struct view_to *to;
  const struct tally_choice *choice;
};

static int add_recorded_row(void *context, const struct eventring_recorded *recorded) {
  const struct recorded_to *rows = context;
  const struct eventring_def *def = recorded->def;
  if (def && recorded->count && tally_wants(rows->choice, def->name, def->event_class))
    view_row(rows->to, recorded);
  return 0;
}

/* Adds a row for each chosen definition with events, which sums up all that was recorded,
   read or not. Adds none if the file has no such sums. */
static void add_recorded(struct view_to *to, const void *row) {
  const struct lists *lists = row;
  struct recorded_to rows = {to, lists->choice};
  const struct eventring_recorded_callbacks callbacks = {.recorded = add_recorded_row};
  int status = eventring_cursor_recorded(to->cursor, false, &callbacks, &rows);
  if (status == EVENTRING_E_MEMORY) no_memory();
  if (status < 0 && status != EVENTRING_E_NOT_FOUND)
    complain("%s", eventring_cursor_error(to->cursor)->text);
}

/* Tells whether something that was chosen was recorded but not read. */
static bool lacks_something(const struct lists *lists) {
  const struct eva_tally *tally = lists->tally;
  return tally->totals.missed + tally->totals.lost > 0 && !tally->since &&
         tally->until == UINT64_MAX && lists->choice->domain == UINT64_MAX;
}

/* ---- All of it ---------------------------------------------------------------- */

struct answer {
  const struct eva_tally *tally;
  struct lists each, sums;
};

static VIEW(window_view, struct eva_tally,
    {"start_ns", NULL, VIEW_MOMENT, ROW(info.start_ns), .help = "of the recording"},
    {"since_ns", NULL, VIEW_MOMENT, ROW(since), .flags = VIEW_NO_0},
    {"until_ns", NULL, VIEW_MOMENT, ROW(until), .flags = VIEW_NO_MAX},
    {"first_ns", NULL, VIEW_MOMENT, ROW(first_ns)},
    {"last_ns", NULL, VIEW_MOMENT, ROW(last_ns)})

#define TALLY(member) .offset = offsetof(struct eva_tally, member)
static VIEW(tally_view, struct eva_tally,
    {.form = VIEW_INCLUDE, TALLY(info), .view = &head_view},
    {"state", NULL, VIEW_STATE, ROW(info.state)},
    {"first_ns", NULL, VIEW_MOMENT, ROW(first_ns)},
    {"last_ns", NULL, VIEW_MOMENT, ROW(last_ns)},
    {"window", NULL, VIEW_OBJECT, .view = &window_view},
    {"loss", NULL, VIEW_OBJECT, TALLY(totals), .view = &loss_view})

static VIEW(sum_view, struct eva_tally,
    {.form = VIEW_INCLUDE, .make = make_sums, .view = &gc_view},
    {.form = VIEW_INCLUDE, TALLY(totals), .view = &loss_view})

#define TALLY_OF_ANSWER \
  .form = VIEW_INCLUDE, .offset = offsetof(struct answer, tally), .flags = VIEW_POINTER
static VIEW(total_view, struct answer,
    {TALLY_OF_ANSWER, .view = &sum_view},
    {"spans", NULL, VIEW_ROWS, .offset = offsetof(struct answer, sums), .view = &duration_view,
     .rows = add_spans},
    {.form = VIEW_INCLUDE, .offset = offsetof(struct answer, sums), .view = &list_view})

VIEW(stats_view, struct answer,
    {TALLY_OF_ANSWER, .view = &tally_view},
    {"domains", NULL, VIEW_ROWS, .offset = offsetof(struct answer, each), .view = &domain_view,
     .rows = add_domains},
    {"spans", NULL, VIEW_ROWS, .offset = offsetof(struct answer, each), .view = &duration_view,
     .rows = add_spans, .flags = VIEW_MAIN},
    {.form = VIEW_INCLUDE, .offset = offsetof(struct answer, each), .view = &list_view},
    {"total", NULL, VIEW_OBJECT, .view = &total_view},
    {"recorded", NULL, VIEW_ROWS, .offset = offsetof(struct answer, each), .view = &recorded_view,
     .rows = add_recorded})

/* ---- For a page --------------------------------------------------------------- */

struct ring_of_domain {
  const struct eva_tally_domain *domain;
  struct ring_row ring;
};

static VIEW(domain_of_ring_view, struct eva_tally_domain,
    {"domain", "=domain", VIEW_PLAIN, ROW(info.slot)})
static VIEW(each_ring_view, struct ring_of_domain,
    {.form = VIEW_INCLUDE, .offset = offsetof(struct ring_of_domain, domain),
     .flags = VIEW_POINTER, .view = &domain_of_ring_view},
    {"ring", "<ring", VIEW_PLAIN, ROW(ring.name)},
    {.form = VIEW_INCLUDE, .offset = offsetof(struct ring_of_domain, ring), .view = &ring_view})

static void add_each_ring(struct view_to *to, const void *row) {
  const struct lists *lists = row;
  for (unsigned i = 0; i < EVENTRING_MAX_DOMAINS * EVENTRING_RINGS; i++) {
    const struct eva_tally_domain *domain = &lists->tally->domains[i / EVENTRING_RINGS];
    const unsigned ring = i % EVENTRING_RINGS;
    if (!domain->used || !tally_wants_domain(lists->choice, i / EVENTRING_RINGS) ||
        !domain->rings[ring].seen)
      continue;
    view_row(to, &(struct ring_of_domain){
                     domain, {lists->tally->ring_names[ring], domain->rings[ring].info,
                              lists->tally->last_ns}});
  }
}

static VIEW(data_view, struct answer,
    {.form = VIEW_INCLUDE, .view = &stats_view},
    {"rings", NULL, VIEW_ROWS, .offset = offsetof(struct answer, each), .view = &each_ring_view,
     .rows = add_each_ring})

void tally_data(const struct eva_tally *tally, const struct tally_choice *choice, const char *path,
                struct eva_json *json) {
  struct view_to to = {.cursor = tally->cursor, .start_ns = tally->info.start_ns,
                       .context = tally};
  const struct answer answer = {tally, {tally, choice, NULL}, {tally, choice, &tally->all}};
  view_data(&to, json, &data_view, path, &answer);
}

/* ---- Text --------------------------------------------------------------------- */

static const char *liveness_text(enum eventring_liveness liveness) {
  switch (liveness) {
    case EVENTRING_LIVE: return "still running";
    case EVENTRING_ENDED: return "ended";
    case EVENTRING_DEAD: return "died without an orderly end";
    case EVENTRING_SAVED: return "a saved copy";
  }
  return "unknown";
}

/* Prints that a process ended unusually, with the first line of its error. */
static void print_end(const struct eventring_info *info, FILE *out) {
  const struct eva_ending ending = eva_ending_of(info);
  char how[EVA_ENDING];
  if (!eva_ended_unusually(&ending)) return;
  eva_ending_text(how, &ending);
  table_say(out, 0, 4, "ended: %s%s%.*s", how, how[0] && ending.error[0] ? ": " : "",
            (int)strcspn(ending.error, "\n"), ending.error);
}

static void print_head(const struct eva_tally *tally, FILE *out) {
  char process[PROCESS_TEXT], no_room[EVA_NO_ROOM];
  const struct eventring_info *info = &tally->info;
  table_say(out, 0, 0, "%s, process %s, %s", info->program, process_text(process, info),
            liveness_text(info->liveness));
  table_say(out, 0, 4, "%s", info->path);
  print_end(info, out);
  if (tally->last_ns > tally->first_ns)
    fprintf(out, "events over %s\n", eva_duration(tally->last_ns - tally->first_ns));
  if (info->state == EVENTRING_PAUSED || info->state == EVENTRING_STANDBY)
    fprintf(out, "recording is %s\n", info->state == EVENTRING_PAUSED
                                          ? "paused" : "not started (standby)");
  if (eva_no_room_text(no_room, info)[0]) table_say(out, 0, 4, "no room: %s", no_room);
}

/* Writes the name of the newest domain in a slot, and how many domains used it before. */
static void domain_text(char *text, size_t room, const struct eva_tally_domain *domain) {
  size_t before = domain->lives.count > 1 ? domain->lives.count - 1 : 0;
  int length = snprintf(text, room, "domain %u", domain->info.slot);
  if (domain->info.name[0])
    length += snprintf(text + length, room - (size_t)length, " (%s)", domain->info.name);
  if (before)
    snprintf(text + length, room - (size_t)length, ", with %zu before it", before);
}

/* Prints a table. If there is only one domain, the heading does not say which. */
static void print_table(struct view_to *to, const char *title, const char *remark,
                        const struct lists *lists, view_function *view,
                        void (*rows)(struct view_to *, const void *), const void *row) {
  char whose[EVENTRING_MAX_DOMAIN_NAME + 64] = "all domains", heading[512];
  bool several = lists->tally->domains_used > 1;
  if (lists->domain != &lists->tally->all) domain_text(whose, sizeof whose, lists->domain);
  snprintf(heading, sizeof heading, "%s%s%s%s", title, several ? ", " : "", several ? whose : "",
           remark);
  view_section(to, heading, view, rows, row);
}

static void print_section(struct view_to *to, const struct lists *lists) {
  const struct eva_tally *tally = lists->tally;
  bool total = lists->domain == &tally->all, first = total || tally->domains_used == 1;
  print_table(to, "Spans", "", lists, &duration_view, add_spans, lists);
  print_table(to, "Async spans", total ? "" : " (by the domain of the begin)", lists,
              &duration_view, add_async, lists);
  print_table(to, "Counters", "", lists, &counter_view, add_counters, lists);
  print_table(to, "Events", "", lists, &event_view, add_events, lists);
  if (lists->choice->name.text || lists->choice->classes) return;
  print_table(to, "Rings",
              first ? " (missed: overwritten before reading began; lost: since; holds: "
                      "the time that it reaches back)" : "",
              lists, &ring_view, add_rings, lists->domain);
}

/* Tells whether there is a collector: a host need not have one. */
static bool has_collector(const struct eva_tally *tally) {
  const struct eva_tally_domain *all = &tally->all;
  return all->times.in_gc > 0 || all->times.in_finalizers > 0 || all->allocated >= 0 ||
         all->promoted >= 0;
}

static void print_text(struct view_to *to, const struct lists *each) {
  const struct eva_tally *tally = each->tally;
  const struct tally_choice *choice = each->choice;
  bool is_all = choice->domain == UINT64_MAX, collects = has_collector(tally);
  print_head(tally, to->out);
  if (!choice->name.text)
    view_section(to, collects ? "Time in the collector" : "Domains",
                 collects ? &named_gc_view : &watched_view, add_named_figures, each);
  if (is_all && tally->domains_used > 1)
    print_section(to, &(struct lists){tally, choice, &tally->all});
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++)
    if (tally->domains[slot].used && tally_wants_domain(choice, slot) &&
        (!is_all || choice->by_domain || tally->domains_used == 1))
      print_section(to, &(struct lists){tally, choice, &tally->domains[slot]});
  if (lacks_something(each))
    view_section(to, "All that was recorded, of all domains, also what was not read",
                 &recorded_view, add_recorded, each);
}

void tally_print(const struct eva_tally *tally, const struct tally_choice *choice,
                 struct view_choice as, FILE *out) {
  struct view_to to = {.out = out, .as = as, .cursor = tally->cursor,
                       .start_ns = tally->info.start_ns, .context = tally};
  const struct answer answer = {tally, {tally, choice, NULL}, {tally, choice, &tally->all}};
  if (view_wants_text(&as)) print_text(&to, &answer.each);
  else view_object(&to, &stats_view, &answer);
}
