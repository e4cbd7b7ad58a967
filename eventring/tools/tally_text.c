/* SPDX-License-Identifier: MIT */
/* tally_text.c: statistics as tables for people, in lines of at most 80 characters (the
 * path of the file may be longer).
 *
 * The time in the collector comes first, a row a domain. Then come the tables of all
 * domains together, if there are several, then those of each domain.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "follow.h"
#include "text_table.h"
#include "tally_print.h"
#include "tool.h"
#include "analysis/ending.h"
#include "analysis/reach.h"
#include "analysis/saturating.h"
#include "analysis/units.h"

/* What a group of tables is made of: one domain, or the sums of all. */
struct section {
  const struct tally_choice *choice;
  const struct eva_tally *tally;
  const struct eva_tally_domain *domain;
  bool total;
  FILE *out;
  struct table *table; /* that is being filled */
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

/* The same of a time. */
static void cell_part(struct table *table, uint64_t ns) {
  if (ns == 0)
    table_cell(table, "-");
  else
    cell_duration(table, ns);
}

/* The same of one that there may not be. */
static void cell_figure(struct table *table, uint64_t ns, bool is_there) {
  if (is_there) cell_duration(table, ns);
  else table_cell(table, "-");
}

static void print_line(FILE *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void print_line(FILE *out, const char *format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  table_wrapped(out, text, 0, 0);
}

/* The name of the newest domain in a slot, and how many had it before. */
static void domain_text(char *text, size_t room, const struct eva_tally_domain *domain) {
  size_t before = domain->lives.count > 1 ? domain->lives.count - 1 : 0;
  int length = snprintf(text, room, "domain %u", domain->info.slot);
  if (domain->info.name[0])
    length += snprintf(text + length, room - (size_t)length, " (%s)", domain->info.name);
  if (before)
    snprintf(text + length, room - (size_t)length, ", with %zu before it", before);
}

/* With one domain there is nothing to be told apart. */
static void finish(const char *title, const char *remark, const struct section *section,
                   struct table *table) {
  char whose[EVENTRING_MAX_DOMAIN_NAME + 64] = "all domains";
  bool several = section->tally->domains_used > 1;
  if (!section->total) domain_text(whose, sizeof whose, section->domain);
  if (table->used > 0) {
    fputc('\n', section->out);
    print_line(section->out, "%s%s%s%s", title, several ? ", " : "", several ? whose : "",
               remark);
  }
  table_print(table, section->out, 2);
}

static void fill(struct section *section, struct table *table, enum tally_table which,
                 void (*visit)(void *, const struct eva_tally_entry *)) {
  section->table = table;
  tally_choose(section->domain, section->choice, which, visit, section);
}

/* Of what was added in the time watched. */
static void cell_rate(const struct section *section, double amount) {
  char figure[EVA_FIGURE];
  uint64_t ns = section->domain->watched;
  table_cell(section->table, ns ? eva_double_text(figure, amount * 1e9 / (double)ns) : "-");
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

/* That a process ended in an unusual way, and the first line of its error. */
static void print_end(const struct eventring_info *info, FILE *out) {
  const struct eva_ending ending = eva_ending_of(info);
  char how[EVA_ENDING];
  if (!eva_ended_unusually(&ending)) return;
  eva_ending_text(how, &ending);
  fprintf(out, "ended: %s%s", how, how[0] && ending.error[0] ? ": " : "");
  print_foreign(out, ending.error, strcspn(ending.error, "\n"));
  fputc('\n', out);
}

static void print_head(const struct eva_tally *tally, FILE *out) {
  char figure[EVA_FIGURE], process[PROCESS_TEXT];
  const struct eventring_info *info = &tally->info;
  print_line(out, "%s, process %s, %s", info->program, process_text(process, info),
             liveness_text(info->liveness));
  print_foreign_text(out, info->path);
  fputc('\n', out);
  print_end(info, out);
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
  table_cell(table, entry->name);
  const bool any = durations->count > 0;
  char so_far[EVA_SO_FAR];
  cell_count(table, durations->count);
  cell_figure(table, durations->total, any);
  cell_figure(table, span->own, span->own_count > 0);
  cell_figure(table, eva_histogram_mean(durations), any);
  cell_figure(table, durations->min, any);
  cell_figure(table, durations->max, any);
#define CELL(title, key, q) cell_figure(table, eva_histogram_quantile(durations, q), any);
  EVA_TALLY_QUANTILES(CELL)
#undef CELL
  cell_part(table, span->off_cpu);
  cell_part(table, span->suspended);
  cell_exception(table, span->torn);
  cell_exception(table, span->open);
  table_cell(table, span->open ? eva_so_far_text(so_far, &span->longest_open) : "-");
}

static void span_row(void *context, const struct eva_tally_entry *entry) {
  duration_row(context, entry, entry->span);
}

static void async_row(void *context, const struct eva_tally_entry *entry) {
  duration_row(context, entry, entry->async);
}

static void print_durations(struct section *section, const char *title, const char *remark,
                            enum tally_table which,
                            void (*row)(void *, const struct eva_tally_entry *)) {
#define TITLE(title, key, q) title,
  TABLE(table, "<span", "count", "total", "?own", "mean", "min", "max",
        "|" EVA_TALLY_QUANTILES(TITLE) "?off CPU", "?suspended", "?torn", "?open", "?open for");
#undef TITLE
  fill(section, &table, which, row);
  finish(title, remark, section, &table);
}

enum { WORD_BYTES = 8 }; /* of the events' words, on any machine */

static void words_cell(struct table *table, int64_t words) {
  char figure[EVA_FIGURE];
  uint64_t bytes = words < 0 ? 0 : eva_times((uint64_t)words, WORD_BYTES);
  table_cell(table, words < 0 ? "-" : eva_bytes_text(figure, bytes));
}

/* The same of a second of the time watched. */
static void words_rate_cell(struct table *table, int64_t words, uint64_t watched) {
  double rate = watched ? (double)words * WORD_BYTES * 1e9 / (double)watched : 0;
  char text[EVA_FIGURE + 4], figure[EVA_FIGURE];
  snprintf(text, sizeof text, "%s/s", eva_bytes_text(figure, eva_whole(rate)));
  table_cell(table, words < 0 || !watched ? "-" : text);
}

/* What one row shows: one domain, several of one name that used a slot in turn, or
   all. */
struct domain_figures {
  uint64_t watched;
  struct eva_gc_times times;
  int64_t allocated, promoted; /* -1: not known */
};

static void gc_cpu_cells(struct table *table, const struct domain_figures *figures) {
  char figure[EVA_FIGURE];
  uint64_t cpu;
  bool known = eva_gc_times_cpu(&figures->times, &cpu);
  table_cell(table, known ? eva_duration_text(figure, cpu) : "-");
  uint64_t on_cpu = eva_gc_times_on_cpu(&figures->times, figures->watched);
  table_cell(table, known ? eva_percent_text(figure, cpu, on_cpu) : "-");
}

static void gc_row(struct table *table, const char *name, const char *label,
                   const struct domain_figures *figures) {
  char figure[EVA_FIGURE];
  table_cell(table, name);
  table_cell(table, label);
  cell_duration(table, figures->watched);
  cell_duration(table, figures->times.in_gc);
  table_cell(table, eva_percent_text(figure, figures->times.in_gc, figures->watched));
  gc_cpu_cells(table, figures);
  cell_duration(table, figures->times.in_finalizers);
  words_cell(table, figures->allocated);
  words_rate_cell(table, figures->allocated, figures->watched);
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
    figures->watched += life->watched;
    eva_gc_times_add(&figures->times, &life->times);
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

static void fill_domains(const struct eva_tally *tally, const struct tally_choice *choice,
                         struct table *table, domain_row_writer *row) {
  const struct eva_tally_domain *all = &tally->all;
  size_t rows = 0;
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++)
    rows += tally->domains[slot].lives.count;
  if (rows > 1 && choice->domain == UINT64_MAX)
    row(table, "all", "", &(struct domain_figures){all->watched, all->times, all->allocated,
                                                   all->promoted});
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++)
    if (tally->domains[slot].used && tally_wants_domain(choice, slot))
      fill_slot(&tally->domains[slot], table, row);
}

/* A host need not have a collector. */
static bool has_collector(const struct eva_tally *tally) {
  const struct eva_tally_domain *all = &tally->all;
  return all->times.in_gc > 0 || all->times.in_finalizers > 0 || all->allocated >= 0 ||
         all->promoted >= 0;
}

static void finish_domains(const char *title, struct table *table, FILE *out) {
  if (table->used > 0) fprintf(out, "\n%s\n", title);
  table->keys = 2;
  table_print(table, out, 2);
}

static void print_domains(const struct eva_tally *tally, const struct tally_choice *choice,
                          FILE *out) {
  if (has_collector(tally)) {
    TABLE(table, "domain", "<name", "watched", "in GC", "share", "GC CPU", "share",
          "finalizers", "|allocated", "a second", "promoted");
    fill_domains(tally, choice, &table, gc_row);
    finish_domains("Time in the collector", &table, out);
  } else {
    TABLE(table, "domain", "<name", "watched");
    fill_domains(tally, choice, &table, domain_row);
    finish_domains("Domains", &table, out);
  }
}

static void counter_row(void *context, const struct eva_tally_entry *entry) {
  const struct section *section = context;
  struct table *table = section->table;
  const struct eva_tally_counter *counter = entry->counter;
  char figure[EVA_FIGURE];
  if (!counter || counter->samples == 0) return;
  bool is_sum = entry->measure == EVENTRING_DIFFERENCE;
  table_cell(table, entry->name);
  table_cell(table, entry->unit);
  cell_count(table, counter->samples);
#define CELL(field) \
  table_cell(table, counter->is_double ? eva_double_text(figure, counter->d##field) \
                                       : eva_signed_text(figure, counter->field))
  if (is_sum) CELL(sum); else table_cell(table, "-");
  if (is_sum) cell_rate(section, counter->is_double ? counter->dsum : (double)counter->sum);
  else table_cell(table, "-");
  table_cell(table, eva_double_text(figure, eva_tally_mean(counter)));
  CELL(min);
  CELL(max);
  /* there is no last one of several domains */
  if (is_sum || section->total) table_cell(table, "-"); else CELL(last);
#undef CELL
}

static void print_counters(struct section *section) {
  TABLE(table, "<counter", "<unit", "samples", "?sum", "?a second", "mean", "|min", "max", "?last");
  fill(section, &table, TALLY_COUNTERS, counter_row);
  finish("Counters", "", section, &table);
}

static void event_row(void *context, const struct eva_tally_entry *entry) {
  const struct section *section = context;
  if (entry->events + entry->lifecycle == 0) return;
  table_cell(section->table, entry->name);
  cell_count(section->table, entry->events + entry->lifecycle);
  cell_rate(section, (double)(entry->events + entry->lifecycle));
}

static void print_events(struct section *section) {
  TABLE(table, "<event", "count", "a second");
  fill(section, &table, TALLY_EVENTS, event_row);
  finish("Events", "", section, &table);
}

/* How far back a ring reaches from the last event that was seen. */
static void cell_reach(struct table *table, const struct eva_tally *tally,
                       const struct eventring_ring_info *info) {
  char figure[EVA_FIGURE];
  bool whole = eva_ring_is_whole(info);
  table_cell(table, whole ? "all"
                          : eva_duration_text(figure, eva_ring_reach(info, tally->last_ns)));
}

static void ring_row(struct table *table, const struct eva_tally *tally, const char *name,
                     const struct eventring_ring_info *info) {
  table_cell(table, name);
  cell_count(table, info->emitted);
  cell_count(table, info->delivered);
  cell_exception(table, info->missed);
  cell_exception(table, info->lost);
  cell_exception(table, info->torn);
  cell_reach(table, tally, info);
}

/* The sum holds what all of them hold. */
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

/* A ring of the domain, or the sum of those of all. */
static struct eva_tally_ring ring_of(const struct section *section, int ring) {
  struct eva_tally_ring sum = {0};
  if (!section->total) return section->domain->rings[ring];
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++)
    if (section->tally->domains[slot].used)
      add_ring(&sum, &section->tally->domains[slot].rings[ring]);
  return sum;
}

static void print_rings(struct section *section) {
  TABLE(table, "<ring", "emitted", "delivered", "missed", "lost", "torn", "holds");
  for (int ring = 0; ring < EVENTRING_RINGS; ring++) {
    struct eva_tally_ring figures = ring_of(section, ring);
    if (figures.seen) {
      const char *name = section->tally->ring_names[ring];
      ring_row(&table, section->tally, name, &figures.info);
    }
  }
  bool first = section->total || section->tally->domains_used == 1;
  finish("Rings", first ? " (missed: overwritten before reading began; lost: since; holds: "
                          "the time that it reaches back)" : "",
         section, &table);
}

static void print_section(const struct eva_tally *tally, const struct eva_tally_domain *domain,
                          const struct tally_choice *choice, FILE *out) {
  struct section section = {.choice = choice, .tally = tally, .domain = domain,
                            .total = domain == &tally->all, .out = out};
  print_durations(&section, "Spans", "", TALLY_SPANS, span_row);
  print_durations(&section, "Async spans", section.total ? "" : " (by the domain of the begin)",
                  TALLY_ASYNC, async_row);
  print_counters(&section);
  print_events(&section);
  if (!choice->name && !choice->classes) print_rings(&section);
}

void tally_print_text(const struct eva_tally *tally, const struct tally_choice *choice,
                      FILE *out) {
  bool is_all = choice->domain == UINT64_MAX;
  print_head(tally, out);
  if (!choice->name) print_domains(tally, choice, out);
  if (is_all && tally->domains_used > 1) print_section(tally, &tally->all, choice, out);
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++)
    if (tally->domains[slot].used && tally_wants_domain(choice, slot) &&
        (!is_all || choice->by_domain || tally->domains_used == 1))
      print_section(tally, &tally->domains[slot], choice, out);
}
