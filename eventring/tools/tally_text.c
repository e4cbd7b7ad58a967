/* SPDX-License-Identifier: MIT */
/* tally_text.c: statistics as tables for people. */
#include <string.h>

#include "text_table.h"
#include "tally_print.h"
#include "tool.h"
#include "analysis/units.h"

/* What a table's rows are written with: one domain after another. */
struct section {
  struct table *table;
  const char *domain; /* the first cell of each row */
};

static void cell_count(struct table *table, uint64_t count) {
  char figure[EVA_FIGURE];
  table_cell(table, eva_count_text(figure, count));
}

static void cell_duration(struct table *table, uint64_t ns) {
  char figure[EVA_FIGURE];
  table_cell(table, eva_duration_text(figure, ns));
}

/* A count that is mostly 0 and matters when it is not. */
static void cell_exception(struct table *table, uint64_t count) {
  if (count == 0)
    table_cell(table, "-");
  else
    cell_count(table, count);
}

/* Fills a table with what `visit` makes of each entry: domain by domain, and
   of all together where there are several. */
static void fill(const struct eva_tally *tally, struct table *table,
                 void (*visit)(void *, const struct eva_tally_entry *)) {
  char name[16];
  struct section section = {table, name};
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++) {
    if (!tally->domains[slot].used) continue;
    snprintf(name, sizeof name, "%u", slot);
    eva_tally_each(&tally->domains[slot], visit, &section);
  }
  section.domain = "all";
  if (tally->domains_used > 1) eva_tally_each(&tally->all, visit, &section);
}

static void finish(const char *title, struct table *table, FILE *out) {
  if (table->used > 0) fprintf(out, "\n%s\n", title);
  table_print(table, out, 2);
}

/* ---- Sections ------------------------------------------------------------ */

static const char *liveness_text(enum eventring_liveness liveness) {
  switch (liveness) {
    case EVENTRING_LIVE: return "still running";
    case EVENTRING_ENDED: return "ended";
    case EVENTRING_DEAD: return "died without an orderly end";
    case EVENTRING_SAVED: return "a saved copy";
  }
  return "unknown";
}

static void print_head(const struct eva_tally *tally, FILE *out) {
  char figure[EVA_FIGURE];
  const struct eventring_info *info = &tally->info;
  print_foreign_text(out, info->program);
  fprintf(out, ", process %ld, %s\n", (long)info->pid, liveness_text(info->liveness));
  print_foreign_text(out, info->path);
  fputc('\n', out);
  if (tally->last_ns > tally->first_ns)
    fprintf(out, "events over %s\n",
            eva_duration_text(figure, tally->last_ns - tally->first_ns));
  if (info->state == EVENTRING_PAUSED || info->state == EVENTRING_STANDBY)
    fprintf(out, "recording is %s\n", info->state == EVENTRING_PAUSED
                                          ? "paused" : "not started (standby)");
}

static void duration_row(const struct section *section, const struct eva_tally_entry *entry,
                         const struct eva_tally_span *span) {
  struct table *table = section->table;
  if (!span) return;
  const struct eva_histogram *durations = &span->durations;
  table_cell(table, section->domain);
  table_cell(table, entry->name);
  cell_count(table, durations->count);
  cell_duration(table, durations->total);
  cell_duration(table, eva_histogram_mean(durations));
  cell_duration(table, durations->min);
#define CELL(title, key, q) cell_duration(table, eva_histogram_quantile(durations, q));
  EVA_TALLY_QUANTILES(CELL)
#undef CELL
  cell_duration(table, durations->max);
  if (span->suspended == 0)
    table_cell(table, "-");
  else
    cell_duration(table, span->suspended);
  cell_exception(table, span->torn);
  cell_exception(table, span->open);
}

static void span_row(void *context, const struct eva_tally_entry *entry) {
  duration_row(context, entry, entry->span);
}

static void async_row(void *context, const struct eva_tally_entry *entry) {
  duration_row(context, entry, entry->async);
}

static void print_durations(const struct eva_tally *tally, const char *title,
                            void (*row)(void *, const struct eva_tally_entry *), FILE *out) {
#define TITLE(title, key, q) title,
  TABLE(table, "domain", "<span", "count", "total", "mean", "min",
        EVA_TALLY_QUANTILES(TITLE) "max", "suspended", "torn", "open");
#undef TITLE
  fill(tally, &table, row);
  finish(title, &table, out);
}

static void words_cell(struct table *table, int64_t words) {
  char figure[EVA_FIGURE];
  table_cell(table, words < 0 ? "-" : eva_signed_text(figure, words));
}

/* What one row shows: one domain, several of one name that used a slot in turn, or
   all. */
struct domain_figures {
  uint64_t watched, in_gc;
  int64_t allocated, promoted; /* -1: not known */
};

static void gc_row(struct table *table, const char *name, const char *label,
                   const struct domain_figures *figures) {
  char figure[EVA_FIGURE];
  table_cell(table, name);
  table_cell(table, label);
  cell_duration(table, figures->watched);
  cell_duration(table, figures->in_gc);
  table_cell(table, eva_percent_text(figure, figures->in_gc, figures->watched));
  words_cell(table, figures->allocated);
  words_cell(table, figures->promoted);
}

static void domain_row(struct table *table, const char *name, const char *label,
                       const struct domain_figures *figures) {
  table_cell(table, name);
  table_cell(table, label);
  cell_duration(table, figures->watched);
}

typedef void domain_row_writer(struct table *table, const char *name, const char *label,
                               const struct domain_figures *figures);

/* Adds up lives [first, ...) while they have the same name; returns where the next
   begins. */
static size_t add_lives(const struct eva_lives *lives, size_t first,
                        struct domain_figures *figures) {
  size_t i = first;
  const char *name = eva_life_name(&lives->life[first]);
  *figures = (struct domain_figures){.allocated = -1, .promoted = -1};
  for (; i < lives->count && strcmp(eva_life_name(&lives->life[i]), name) == 0; i++) {
    const struct eva_life *life = &lives->life[i];
    figures->watched += eva_life_watched(life);
    figures->in_gc += life->in_gc;
    if (life->allocated >= 0) eva_add_words(&figures->allocated, life->allocated);
    if (life->promoted >= 0) eva_add_words(&figures->promoted, life->promoted);
  }
  return i;
}

static void fill_slot(const struct eva_tally_domain *domain, struct table *table,
                      domain_row_writer *row) {
  char name[16], label[EVENTRING_MAX_DOMAIN_NAME + 32];
  const struct eva_lives *lives = &domain->lives;
  struct domain_figures figures;
  snprintf(name, sizeof name, "%u", domain->info.slot);
  for (size_t i = 0, next; i < lives->count; i = next) {
    next = add_lives(lives, i, &figures);
    snprintf(label, sizeof label, next - i > 1 ? "%s (%zu in turn)" : "%s",
             eva_life_name(&lives->life[i]), next - i);
    row(table, name, label, &figures);
  }
}

static void fill_domains(const struct eva_tally *tally, struct table *table,
                         domain_row_writer *row) {
  const struct eva_tally_domain *all = &tally->all;
  size_t rows = 0;
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++) {
    if (tally->domains[slot].used) fill_slot(&tally->domains[slot], table, row);
    rows += tally->domains[slot].lives.count;
  }
  if (rows > 1)
    row(table, "all", "", &(struct domain_figures){all->watched, all->in_gc, all->allocated,
                                                   all->promoted});
}

/* A host need not have a collector. */
static bool has_collector(const struct eva_tally *tally) {
  const struct eva_tally_domain *all = &tally->all;
  return all->in_gc > 0 || all->allocated >= 0 || all->promoted >= 0;
}

static void print_domains(const struct eva_tally *tally, FILE *out) {
  if (has_collector(tally)) {
    TABLE(table, "domain", "<name", "watched", "in GC", "share",
          "words allocated", "words promoted");
    fill_domains(tally, &table, gc_row);
    finish("Time in the collector", &table, out);
  } else {
    TABLE(table, "domain", "<name", "watched");
    fill_domains(tally, &table, domain_row);
    finish("Domains", &table, out);
  }
}

static void counter_row(void *context, const struct eva_tally_entry *entry) {
  const struct section *section = context;
  struct table *table = section->table;
  const struct eva_tally_counter *counter = entry->counter;
  char figure[EVA_FIGURE];
  if (!counter || counter->samples == 0) return;
  bool is_sum = entry->measure == EVENTRING_DIFFERENCE;
  table_cell(table, section->domain);
  table_cell(table, entry->name);
  table_cell(table, entry->unit);
  cell_count(table, counter->samples);
#define CELL(field) \
  table_cell(table, counter->is_double ? eva_double_text(figure, counter->d##field) \
                                       : eva_signed_text(figure, counter->field))
  if (is_sum) CELL(sum); else table_cell(table, "-");
  table_cell(table, eva_double_text(figure, eva_tally_mean(counter)));
  CELL(min);
  CELL(max);
  /* there is no last one of several domains */
  if (is_sum || section->domain[0] == 'a') table_cell(table, "-"); else CELL(last);
#undef CELL
}

static void print_counters(const struct eva_tally *tally, FILE *out) {
  TABLE(table, "domain", "<counter", "<unit", "samples", "sum", "mean", "min", "max",
        "last");
  fill(tally, &table, counter_row);
  finish("Counters", &table, out);
}

static void event_row(void *context, const struct eva_tally_entry *entry) {
  const struct section *section = context;
  if (entry->events + entry->lifecycle == 0) return;
  table_cell(section->table, section->domain);
  table_cell(section->table, entry->name);
  cell_count(section->table, entry->events + entry->lifecycle);
}

static void print_events(const struct eva_tally *tally, FILE *out) {
  TABLE(table, "domain", "<event", "count");
  fill(tally, &table, event_row);
  finish("Events", &table, out);
}

static void ring_row(struct table *table, const struct eva_tally *tally,
                     const struct eva_tally_domain *domain, int ring) {
  const struct eventring_ring_info *info = &domain->rings[ring].info;
  char name[16];
  snprintf(name, sizeof name, "%u", domain->info.slot);
  table_cell(table, name);
  table_cell(table, tally->ring_names[ring]);
  cell_count(table, info->emitted);
  cell_count(table, info->delivered);
  cell_exception(table, info->missed);
  cell_exception(table, info->lost);
  cell_exception(table, info->torn);
}

static void print_rings(const struct eva_tally *tally, FILE *out) {
  TABLE(table, "domain", "<ring", "emitted", "delivered", "missed", "lost", "torn");
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++)
    for (int ring = 0; ring < EVENTRING_RINGS; ring++)
      if (tally->domains[slot].used && tally->domains[slot].rings[ring].seen)
        ring_row(&table, tally, &tally->domains[slot], ring);
  finish("Rings (missed: overwritten before reading began; lost: while reading)",
         &table, out);
}

void tally_print_text(const struct eva_tally *tally, FILE *out) {
  print_head(tally, out);
  print_domains(tally, out);
  print_durations(tally, "Spans", span_row, out);
  print_durations(tally, "Async spans (from begin to end, wherever that is; by the domain of "
                         "the begin)", async_row, out);
  print_counters(tally, out);
  print_events(tally, out);
  print_rings(tally, out);
}
