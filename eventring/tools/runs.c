/* SPDX-License-Identifier: MIT */
/* runs.c: the figures of several recordings.
 *
 * The times of two runs of the same program differ by some percent, on a busy machine by
 * many times that. The work that they do hardly differs. So there are two kinds of main
 * figures: times and work.
 *
 * The main time is the CPU time of the program, or if that is unknown the run time, in
 * which the scheduler's decisions are noise. CPU time, too, is longer if other programs
 * use the same caches and cores. The speed of the machine during a run shows in the time
 * that the collector takes for its work. So CPU times are corrected to equal speed before
 * they are compared.
 *
 * The main figures of work are what was allocated, how many steps the collector took and
 * what these did (the counter pause_work, if there is one). They are exact, whatever else
 * the machine does: with fewer runs than a test needs, differences in work are still
 * reported, but none in times. Without the counter pause_work, the time in the collector
 * and the mean length of its steps are main figures, too. If events are missing, sums are
 * per second. */
#include "runs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/histogram.h"
#include "analysis/steps.h"
#include "analysis/tally.h"
#include "reader.h"

enum { WORD_BYTES = 8 }; /* size of the words in events, on any machine */
#define SPEED "collector, CPU/MiB" /* the collector's CPU time for its work */
#define CPU_TIME "CPU time"
#define AT_EQUAL_SPEED "CPU time, equal speed"

/* One run being read. */
struct reading_run {
  struct runs *runs;
  size_t n;
  struct eva_tally *tally;
  struct eva_steps steps;
  struct eva_histogram pauses;
  uint64_t cpu, unmeasured;
  const struct eva_tally_counter *work; /* the counter pause_work; NULL if there is
                                           none */
};

static struct figure *figure_at(struct runs *runs, const char *name, enum unit unit,
                                enum figure_group group) {
  for (size_t i = 0; i < runs->figures; i++)
    if (runs->figure[i].group == group && strcmp(runs->figure[i].name, name) == 0)
      return &runs->figure[i];
  struct figure *figure = NEED_NEXT(runs->figure, runs->figures);
  *figure = (struct figure){.unit = unit, .group = group, .exact = unit != UNIT_NS};
  snprintf(figure->name, sizeof figure->name, "%s", name);
  figure->value = need_zeroed(runs->count, sizeof *figure->value);
  for (size_t i = 0; i < runs->count; i++) figure->value[i] = NAN;
  return figure;
}

static void set(const struct reading_run *run, const char *name, enum unit unit,
                enum figure_group group, double value, double weight) {
  struct figure *figure = figure_at(run->runs, name, unit, group);
  figure->value[run->n] = value;
  if (weight > figure->weight) figure->weight = weight;
}

/* ---- Reading ------------------------------------------------------------------ */

static void on_step(void *context, const struct eva_step *step) {
  struct reading_run *run = context;
  if (eva_histogram_add(&run->pauses, step->ns) < 0) no_memory();
  if (step->off_cpu < 0) run->unmeasured++;
  else run->cpu += step->ns - (uint64_t)step->off_cpu;
}

static int on_event(void *context, const struct eventring_event *event) {
  struct reading_run *run = context;
  eva_steps_event(&run->steps, NULL, event);
  return eva_tally_callbacks.event(run->tally, event);
}

static int on_lost(void *context, const struct eventring_loss *loss) {
  return eva_tally_callbacks.lost(((struct reading_run *)context)->tally, loss);
}

/* Sets a figure to a sum; if events are missing, to the sum per second. */
static void set_sum(const struct reading_run *run, const char *name, enum unit unit,
                    enum figure_group group, double sum) {
  const struct eva_tally *tally = run->tally;
  char text[64];
  bool whole = tally->totals.missed + tally->totals.lost == 0;
  snprintf(text, sizeof text, whole ? "%s" : "%s, a second", name);
  double seconds = (double)tally->all.watched / 1e9;
  if (!whole && !(seconds > 0)) return;
  set(run, text, unit, group, whole ? sum : sum / seconds, sum);
  if (!whole) figure_at(run->runs, text, unit, group)->exact = false;
}

static void set_span(void *context, const struct eva_tally_entry *entry) {
  const struct reading_run *run = context;
  char name[EVENTRING_MAX_NAME + 16];
  const struct eva_tally_span *span = entry->span ? entry->span : entry->async;
  bool is_own = entry->event_class == EVENTRING_CLASS_GC ||
                entry->event_class == EVENTRING_CLASS_LOAD ||
                entry->event_class == EVENTRING_CLASS_FINALIZERS;
  if (is_own || !span || !span->durations.count) return;
  double count = (double)span->durations.count, total = (double)span->durations.total;
  snprintf(name, sizeof name, "%s, mean", entry->name);
  set(run, name, UNIT_NS, FIGURES_SPANS, total / count, total);
  snprintf(name, sizeof name, "%s, count", entry->name);
  set(run, name, UNIT_COUNT, FIGURES_SPANS, count, total);
}

static void set_pauses(const struct reading_run *run) {
  const struct eva_histogram *pauses = &run->pauses;
  if (!pauses->count) return;
  double count = (double)pauses->count;
  if (!run->unmeasured) {
    set_sum(run, "collector, CPU", UNIT_NS, FIGURES_MAIN, (double)run->cpu);
    set(run, "pause, mean CPU", UNIT_NS, FIGURES_MAIN, (double)run->cpu / count, 0);
    if (run->work && run->work->sum > 0)
      set(run, SPEED, UNIT_NS, FIGURES_PAUSES,
          (double)run->cpu / (double)run->work->sum * (1 << 20), 0);
  }
  set_sum(run, "collector", UNIT_NS, FIGURES_MAIN, (double)pauses->total);
  set(run, "pause, mean", UNIT_NS, FIGURES_MAIN, (double)pauses->total / count, 0);
  set_sum(run, "pauses, count", UNIT_COUNT, FIGURES_WORK, count);
  if (run->work && run->work->sum > 0) {
    set_sum(run, "collector, work", UNIT_BYTES, FIGURES_WORK, (double)run->work->sum);
    set(run, "pause, mean work", UNIT_BYTES, FIGURES_WORK, (double)run->work->sum / count, 0);
    set(run, "pause, most work", UNIT_BYTES, FIGURES_WORK, (double)run->work->max, 0);
  }
  set(run, "pause, median", UNIT_NS, FIGURES_PAUSES,
      (double)eva_histogram_quantile(pauses, 50000), 0);
  set(run, "pause, p99", UNIT_NS, FIGURES_PAUSES,
      (double)eva_histogram_quantile(pauses, 99000), 0);
  set(run, "pause, longest", UNIT_NS, FIGURES_PAUSES, (double)pauses->max, 0);
}

/* Tells whether domains report the time that they spent off the processor. */
static bool says_off_cpu(const eventring_cursor *cursor) {
  for (unsigned id = 0; id < EVENTRING_MAX_EVENTS; id++) {
    const struct eventring_def *def = eventring_cursor_def(cursor, id);
    if (def && def->quantity == EVENTRING_QUANTITY_OFF_CPU) return true;
  }
  return false;
}

/* Sets the CPU time of all domains, without waiting. If events are missing, does not set
   it: it would cover a different part of each run. */
static void set_cpu_time(const struct reading_run *run, const eventring_cursor *cursor) {
  const struct eva_tally *tally = run->tally;
  uint64_t collector;
  bool known = tally->totals.missed + tally->totals.lost == 0 && says_off_cpu(cursor) &&
               eva_gc_times_cpu(&tally->all.times, &collector);
  uint64_t ns = eva_gc_times_on_cpu(&tally->all.times, tally->all.watched);
  if (known && ns) set(run, CPU_TIME, UNIT_NS, FIGURES_MAIN, (double)ns, 0);
}

static void find_work(void *context, const struct eva_tally_entry *entry) {
  struct reading_run *run = context;
  bool is_it = entry->quantity == EVENTRING_QUANTITY_PAUSE_WORK;
  if (is_it && entry->counter && !entry->counter->is_double) run->work = entry->counter;
}

static void set_figures(struct reading_run *run, const eventring_cursor *cursor) {
  const struct eva_tally *tally = run->tally;
  const struct eventring_info *info = &tally->info;
  uint64_t end = info->liveness == EVENTRING_ENDED && info->end_ns ? info->end_ns : tally->last_ns;
  if (end > info->start_ns)
    set(run, "run time", UNIT_NS, FIGURES_MAIN, (double)(end - info->start_ns), 0);
  set_cpu_time(run, cursor);
  eva_tally_each(&tally->all, find_work, run);
  set_pauses(run);
  if (tally->all.allocated >= 0)
    set_sum(run, "allocated", UNIT_BYTES, FIGURES_WORK,
            (double)tally->all.allocated * WORD_BYTES);
  if (tally->all.promoted >= 0)
    set_sum(run, "promoted", UNIT_BYTES, FIGURES_PAUSES, (double)tally->all.promoted * WORD_BYTES);
  eva_tally_each(&tally->all, set_span, run);
}

static void describe(struct run *run, const struct eva_tally *tally) {
  snprintf(run->program, sizeof run->program, "%s", tally->info.program);
  run->missing = tally->totals.missed + tally->totals.lost;
}

static void read_run(struct reading_run *run, struct reader *reader) {
  static const struct eventring_callbacks callbacks = {sizeof callbacks, on_event, on_lost};
  run->tally = eva_tally_new();
  if (!run->tally) no_memory();
  run->steps.report = on_step;
  run->steps.context = run;
  reader_run(reader, &(struct reading){.callbacks = &callbacks, .context = run,
                                       .follow = reader->launched, .until = UINT64_MAX});
  eva_steps_finish(&run->steps);
}

static void forget_run(struct reading_run *run) {
  eva_tally_free(run->tally);
  eva_histogram_free(&run->pauses);
}

/* Reads a run: first the recording of one process; then, if other processes have
   recorded, the recording of all. */
static void read_processes(struct reading_run *run, struct reader *reader) {
  read_run(run, reader);
  char *all = reader_merge(reader);
  if (all && reader_go_on_in(reader, all, EVENTRING_OPEN_MERGED)) {
    forget_run(run);
    *run = (struct reading_run){.runs = run->runs, .n = run->n};
    read_run(run, reader);
  }
  free(all);
}

int runs_read(struct runs *runs, size_t n, struct reader *reader) {
  struct reading_run run = {.runs = runs, .n = n};
  read_processes(&run, reader);
  if (eva_tally_finish(run.tally, reader->cursor) < 0) no_memory();
  describe(&runs->run[n], run.tally);
  set_figures(&run, reader->cursor);
  forget_run(&run);
  int status = reader_close(reader, STATUS_OK);
  return status == STATUS_OK ? STATUS_GO_ON : status;
}

/* ---- Comparing ---------------------------------------------------------------- */

static bool is_in_all(const struct figure *figure, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (isnan(figure->value[i])) return false;
  return true;
}

static bool has(const struct runs *runs, const char *name) {
  for (size_t i = 0; i < runs->figures; i++)
    if (strcmp(runs->figure[i].name, name) == 0) return is_in_all(&runs->figure[i], runs->count);
  return false;
}

/* Removes figures from the main ones: wall time if there is CPU time, and the time of the
   collector if there is its work. */
static void demote(struct runs *runs) {
  static const char *const pairs[][2] = {{"run time", CPU_TIME},
                                         {CPU_TIME, AT_EQUAL_SPEED},
                                         {"collector", "collector, CPU"},
                                         {"collector, a second", "collector, CPU, a second"},
                                         {"pause, mean", "pause, mean CPU"},
                                         {"collector, CPU", "collector, work"},
                                         {"collector, CPU, a second", "collector, work, a second"},
                                         {"pause, mean CPU", "pause, mean work"}};
  for (size_t i = 0; i < runs->figures; i++)
    for (size_t p = 0; p < sizeof pairs / sizeof pairs[0]; p++)
      if (strcmp(runs->figure[i].name, pairs[p][0]) == 0 && has(runs, pairs[p][1]))
        runs->figure[i].group = FIGURES_PAUSES;
}

static struct figure *find(const struct runs *runs, const char *name) {
  for (size_t i = 0; i < runs->figures; i++)
    if (strcmp(runs->figure[i].name, name) == 0) return &runs->figure[i];
  return NULL;
}

/* Returns the values of A, followed by the values of B. */
static double *sides_of(const struct runs *runs, const struct figure *figure) {
  double *sides = need_zeroed(runs->count, sizeof *sides);
  for (size_t i = 0; i < runs->count; i++)
    sides[i % 2 * (runs->count / 2) + i / 2] = figure->value[i];
  return sides;
}

static void compare(const struct runs *runs, struct figure *figure) {
  size_t half = runs->count / 2;
  double *sides = sides_of(runs, figure);
  if (strcmp(figure->name, AT_EQUAL_SPEED) == 0) {
    double *speed = sides_of(runs, find(runs, SPEED));
    figure->comparison =
        eva_compare_at_equal(sides, speed, half, sides + half, speed + half, half);
    free(speed);
  } else {
    figure->comparison = eva_compare(sides, half, sides + half, half);
  }
  figure->compared = true;
  free(sides);
}

/* Adds the CPU time at equal speed. If there are too few runs to know how times depend on
   the speed, they are compared as they are. */
static void add_equal_speed(struct runs *runs) {
  if (!has(runs, CPU_TIME) || !has(runs, SPEED) || runs->count / 2 < EVA_LEAST_RUNS) return;
  struct figure *figure = figure_at(runs, AT_EQUAL_SPEED, UNIT_NS, FIGURES_MAIN);
  memcpy(figure->value, find(runs, CPU_TIME)->value, runs->count * sizeof *figure->value);
}

/* With these values, all tests together find a change by chance in 1 of 20 comparisons of
   a program with itself. */
static const double alphas[FIGURE_GROUPS] = {
    [FIGURES_MAIN] = 0.03, [FIGURES_WORK] = 0.005, [FIGURES_PAUSES] = 0.01,
    [FIGURES_SPANS] = 0.005};

static void judge(struct runs *runs, enum figure_group group) {
  struct eva_comparison *list = need_zeroed(runs->figures, sizeof *list);
  size_t count = 0, next = 0;
  for (size_t i = 0; i < runs->figures; i++)
    if (runs->figure[i].compared && runs->figure[i].group == group)
      list[count++] = runs->figure[i].comparison;
  eva_compare_verdicts(list, count, alphas[group]);
  for (size_t i = 0; i < runs->figures; i++)
    if (runs->figure[i].compared && runs->figure[i].group == group)
      runs->figure[i].comparison = list[next++];
  free(list);
}

void runs_compare(struct runs *runs) {
  add_equal_speed(runs);
  demote(runs);
  for (size_t i = 0; i < runs->figures; i++)
    if (is_in_all(&runs->figure[i], runs->count)) compare(runs, &runs->figure[i]);
  for (int group = 0; group < FIGURE_GROUPS; group++) judge(runs, (enum figure_group)group);
}

void runs_free(struct runs *runs) {
  for (size_t i = 0; i < runs->figures; i++) free(runs->figure[i].value);
  for (size_t i = 0; i < runs->count; i++) free(runs->run[i].command);
  free(runs->figure);
  free(runs->run);
}
