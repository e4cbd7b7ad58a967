/* SPDX-License-Identifier: MIT */
/* cmd_pauses.c: `eventring pauses`: the longest steps of the collector, each with its reason,
 * what it did, and what the program was doing.
 *
 * The steps are in the runtime ring, of which there is little. So of a recording that does not
 * go on only that is read, and what the program was doing at the steps that are shown is looked
 * up afterwards, in the blocks around them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/gc_clock.h"
#include "analysis/histogram.h"
#include "analysis/read.h"
#include "analysis/saturating.h"
#include "analysis/so_far.h"
#include "analysis/steps.h"
#include "analysis/top.h"
#include "analysis/units.h"
#include "question.h"
#include "text_table.h"

/* The steps of one definition that ran for one reason. */
struct kind {
  uint16_t id;
  int reason;
  uint64_t off_cpu, interrupted, unmeasured;
  struct eva_histogram durations;
};

struct row {
  uint64_t ns; /* its key */
  struct eva_step step;
};

struct open { /* a step that has not ended */
  struct eva_step step;
  struct eva_so_far so_far;
};

struct gap { /* events of a ring that were lost: the loss is known with the next event only */
  uint32_t domain, ring;
  uint64_t from, until; /* times of the events around it */
};

struct pauses {
  struct question q;
  uint64_t over_ns;
  struct eva_shares *shares;
  struct eva_steps steps;
  struct eva_gc_clock clocks[EVENTRING_MAX_DOMAINS]; /* of the rings that have steps */
  struct kind *kinds;
  size_t kind_count;
  struct eva_top top;
  uint64_t over; /* how many are longer than over_ns */
  struct eva_known known;
  struct open *open;
  size_t open_count;
  struct eventring_event late; /* the end, after the window, of ... */
  struct eva_step late_step;   /* ... this step; zeroed: there was none */
  uint64_t last_ns[EVENTRING_MAX_DOMAINS][EVENTRING_RINGS]; /* of events, with `shares` */
  struct gap *gaps;            /* with `shares` */
  size_t gap_count;
  const char *target; /* NULL: a program was launched */
};

/* ---- Reading ------------------------------------------------------------------------- */

static struct kind *kind_of(struct pauses *p, const struct eva_step *step) {
  for (size_t i = 0; i < p->kind_count; i++)
    if (p->kinds[i].id == step->id && p->kinds[i].reason == step->reason) return &p->kinds[i];
  p->kinds = need_resized(p->kinds, p->kind_count + 1, sizeof *p->kinds);
  p->kinds[p->kind_count] = (struct kind){.id = step->id, .reason = step->reason};
  return &p->kinds[p->kind_count++];
}

static void count_step(struct kind *kind, const struct eva_step *step) {
  if (step->off_cpu < 0) kind->unmeasured++;
  if (step->off_cpu > 0) {
    kind->off_cpu = eva_add(kind->off_cpu, (uint64_t)step->off_cpu);
    kind->interrupted++;
  }
  if (eva_histogram_add(&kind->durations, step->ns) < 0) no_memory();
}

static void on_step(void *context, const struct eva_step *step) {
  struct pauses *p = context;
  uint64_t end = step->begin_ns + step->ns;
  if (!question_is_past_start(&p->q, end) || question_is_past_end(&p->q, end) ||
      !question_wants_domain(&p->q, step->domain))
    return;
  count_step(kind_of(p, step), step);
  if (step->ns < p->over_ns) return;
  p->over++;
  if (p->q.top && eva_top_add(&p->top, &(struct row){step->ns, *step}) < 0) no_memory();
}

static void note_late(struct pauses *p, const struct eventring_event *end) {
  const struct eva_step *step = eva_steps_open(&p->steps, end);
  if (!step || p->late_step.begin_ns) return;
  p->late = *end;
  p->late_step = *step;
}

static uint64_t *last_of(struct pauses *p, uint32_t domain, uint8_t ring) {
  return &p->last_ns[domain % EVENTRING_MAX_DOMAINS][ring % EVENTRING_RINGS];
}

static int on_event(void *context, const struct eventring_event *event) {
  struct pauses *p = context;
  struct eva_span_time time;
  bool ended;
  if (!question_wants_domain(&p->q, event->domain)) return 0;
  if (p->shares) {
    if (eva_shares_event(p->shares, event, &time, &ended) < 0) no_memory();
    if (!(event->flags & EVENTRING_SYNTHETIC)) *last_of(p, event->domain, event->ring) = event->ns;
  }
  if (event->kind == EVENTRING_END && question_is_past_end(&p->q, event->ns)) note_late(p, event);
  eva_steps_event(&p->steps, p->shares, event);
  if (event->ring != EVENTRING_RUNTIME || question_is_past_end(&p->q, event->ns)) return 0;
  struct eva_gc_clock *clock = &p->clocks[event->domain % EVENTRING_MAX_DOMAINS];
  if (question_is_past_start(&p->q, event->ns))
    eva_gc_clock_cut(clock, p->q.window.since, event->incarnation);
  eva_gc_clock_event(clock, event);
  return 0;
}

static void note_gap(struct pauses *p, const struct eventring_loss *loss) {
  if (loss->ring != EVENTRING_USER && loss->ring != EVENTRING_CALLS) return;
  p->gaps = need_resized(p->gaps, p->gap_count + 1, sizeof *p->gaps);
  p->gaps[p->gap_count++] =
      (struct gap){loss->domain, loss->ring, *last_of(p, loss->domain, loss->ring), loss->ns};
}

static int on_lost(void *context, const struct eventring_loss *loss) {
  struct pauses *p = context;
  if (!question_wants_domain(&p->q, loss->domain)) return 0;
  if (p->shares) {
    eva_shares_lost(p->shares, loss);
    note_gap(p, loss);
  }
  if (loss->ring == EVENTRING_RUNTIME)
    eva_gc_clock_lost(&p->clocks[loss->domain % EVENTRING_MAX_DOMAINS], loss);
  return 0;
}

static int on_switch(void *context, const struct eventring_switch *change) {
  eva_shares_switch(((struct pauses *)context)->shares, change);
  return 0;
}

static int longer_in_all(const void *a, const void *b) {
  uint64_t x = ((const struct kind *)a)->durations.total;
  uint64_t y = ((const struct kind *)b)->durations.total;
  return (x < y) - (x > y);
}

/* `begin`: of the span that is the step. */
static void add_open(struct pauses *p, const struct eva_step *step,
                     const struct eventring_event *begin) {
  if (!question_wants_domain(&p->q, begin->domain) || question_is_past_end(&p->q, begin->ns))
    return;
  p->open = need_resized(p->open, p->open_count + 1, sizeof *p->open);
  p->open[p->open_count++] =
      (struct open){*step, eva_so_far(&p->known, p->q.reader.cursor, begin)};
}

static int on_open(void *context, const struct eventring_event *begin) {
  struct pauses *p = context;
  const struct eva_step *step = eva_steps_open(&p->steps, begin);
  if (step) add_open(p, step, begin);
  return 0;
}

static void read_open(struct pauses *p) {
  struct eventring_event begin;
  eva_known_find(&p->known, p->q.reader.cursor, p->q.window.until);
  eventring_open_spans(p->q.reader.cursor, on_open, p);
  if (eva_open_before(&p->late, p->q.window.until, &begin)) add_open(p, &p->late_step, &begin);
}

/* ---- What the program was doing, looked up ------------------------------------------- */

struct lookup {
  const struct eva_step *step;
  struct eva_shares *shares;
};

static int look_at_event(void *context, const struct eventring_event *event) {
  const struct lookup *lookup = context;
  struct eva_span_time time;
  bool ended;
  if (event->ns > lookup->step->begin_ns) return 1;
  if (eva_shares_event(lookup->shares, event, &time, &ended) < 0) no_memory();
  return 0;
}

static int look_at_loss(void *context, const struct eventring_loss *loss) {
  eva_shares_lost(((struct lookup *)context)->shares, loss);
  return 0;
}

static int look_at_switch(void *context, const struct eventring_switch *change) {
  const struct lookup *lookup = context;
  if (change->ns > lookup->step->begin_ns) return 1;
  eva_shares_switch(lookup->shares, change);
  return 0;
}

/* (Errors of the file were reported when it was read.) */
static void look_up(const struct pauses *p, struct eva_step *step) {
  static const struct eventring_callbacks callbacks = {look_at_event, look_at_loss};
  struct lookup lookup = {step, eva_shares_new()};
  eventring_cursor *cursor;
  if (!lookup.shares) no_memory();
  if (eventring_open_any(&cursor, p->target, EVENTRING_OPEN_MERGED | EVENTRING_OPEN_FOLLOW,
                         NULL) == 0) {
    eventring_cursor_seek(cursor, step->begin_ns);
    eventring_cursor_select(cursor, 1u << EVENTRING_USER | 1u << EVENTRING_CALLS);
    eventring_cursor_switches(cursor, look_at_switch, &lookup);
    eva_read_all(cursor, &callbacks, &lookup);
    step->span = eva_shares_running(lookup.shares, step->domain, EVENTRING_USER);
    step->function = eva_shares_running(lookup.shares, step->domain, EVENTRING_CALLS);
    eventring_close(cursor);
  }
  eva_shares_free(lookup.shares);
}

static int compare_gaps(const void *a, const void *b) {
  const struct gap *x = a, *y = b;
  if (x->domain != y->domain) return x->domain < y->domain ? -1 : 1;
  if (x->ring != y->ring) return x->ring < y->ring ? -1 : 1;
  return x->until < y->until ? -1 : x->until > y->until;
}

/* Gaps of a ring do not overlap: the first that ends after this time begins before it, or none. */
static bool is_in_gap(const struct pauses *p, uint32_t domain, uint8_t ring, uint64_t ns) {
  const struct gap wanted = {.domain = domain, .ring = ring, .until = ns};
  size_t low = 0, high = p->gap_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (compare_gaps(&p->gaps[middle], &wanted) <= 0) low = middle + 1;
    else high = middle;
  }
  const struct gap *gap = &p->gaps[low];
  return low < p->gap_count && gap->domain == domain && gap->ring == ring && gap->from <= ns;
}

/* A step that begins within a gap was given the span that was open before the gap, as the loss was
   not known yet. */
static void forget_in_gaps(struct pauses *p) {
  if (!p->gap_count) return;
  qsort(p->gaps, p->gap_count, sizeof *p->gaps, compare_gaps);
  for (size_t i = 0; i < p->top.count; i++) {
    struct eva_step *step = &((struct row *)eva_top_place(&p->top, i))->step;
    if (is_in_gap(p, step->domain, EVENTRING_USER, step->begin_ns)) step->span = -1;
    if (is_in_gap(p, step->domain, EVENTRING_CALLS, step->begin_ns)) step->function = -1;
  }
}

static bool can_look_up(const struct pauses *p) {
  enum { MOST = 64 }; /* beyond that it is better to read all of it at once */
  return p->target && p->q.info.liveness != EVENTRING_LIVE && p->q.top <= MOST;
}

static void read_recording(struct pauses *p) {
  static const struct eventring_callbacks callbacks = {on_event, on_lost};
  bool looks_up = can_look_up(p);
  if (looks_up) eventring_cursor_select(p->q.reader.cursor, 1u << EVENTRING_RUNTIME);
  else if (!(p->shares = eva_shares_new())) no_memory();
  p->steps.report = on_step;
  p->steps.context = p;
  p->top = (struct eva_top){.size = sizeof(struct row), .most = p->q.top};
  question_read(&p->q, &callbacks, looks_up ? NULL : on_switch, p);
  read_open(p);
  eva_steps_finish(&p->steps);
  eva_top_sort(&p->top);
  for (size_t i = 0; looks_up && i < p->top.count; i++)
    look_up(p, &((struct row *)eva_top_place(&p->top, i))->step);
  forget_in_gaps(p);
  if (p->kind_count) qsort(p->kinds, p->kind_count, sizeof *p->kinds, longer_in_all);
}

/* ---- Sums ---------------------------------------------------------------------------- */

struct sums {
  struct eva_histogram durations;
  struct eva_gc_times times;
  uint64_t watched, interrupted, unmeasured, off_cpu;
};

/* The domain was watched until the last moment at which it is known to have been there. */
static void stop_clock(struct pauses *p, unsigned slot) {
  struct eva_gc_clock *clock = &p->clocks[slot];
  if (clock->incarnation == 0) return;
  if (p->q.window.since) eva_gc_clock_cut(clock, p->q.window.since, clock->incarnation);
  eva_gc_clock_stop(clock,
                    eva_known_until(&p->known, p->q.reader.cursor, slot, clock->incarnation));
}

static void add_up(struct pauses *p, struct sums *sums) {
  for (size_t i = 0; i < p->kind_count; i++) {
    const struct kind *kind = &p->kinds[i];
    if (eva_histogram_merge(&sums->durations, &kind->durations) < 0) no_memory();
    sums->interrupted += kind->interrupted;
    sums->unmeasured += kind->unmeasured;
    sums->off_cpu = eva_add(sums->off_cpu, kind->off_cpu);
  }
  for (unsigned i = 0; i < EVENTRING_MAX_DOMAINS; i++) {
    stop_clock(p, i);
    sums->watched = eva_add(sums->watched, p->clocks[i].watched);
    eva_gc_times_add(&sums->times, &p->clocks[i].times);
  }
}

/* ---- Text ---------------------------------------------------------------------------- */

static void cell_duration(struct table *table, uint64_t ns) {
  char figure[EVA_FIGURE];
  table_cell(table, eva_duration_text(figure, ns));
}

static void cell_step(struct table *table, const struct question *q, int id, int reason) {
  char text[2 * EVENTRING_MAX_NAME + 8];
  const char *name = question_name(q, id);
  snprintf(text, sizeof text, reason < 0 ? "%s" : "%s, %s", name, question_name(q, reason));
  table_cell(table, text);
}

static void print_kinds(const struct pauses *p) {
  char figure[EVA_FIGURE];
  TABLE(table, "<+step, reason", "count", "total", "median", "p99", "longest", "?off CPU");
  for (size_t i = 0; i < p->kind_count; i++) {
    const struct kind *kind = &p->kinds[i];
    cell_step(&table, &p->q, kind->id, kind->reason);
    table_cell(&table, eva_count_text(figure, kind->durations.count));
    cell_duration(&table, kind->durations.total);
    cell_duration(&table, eva_histogram_quantile(&kind->durations, 50000));
    cell_duration(&table, eva_histogram_quantile(&kind->durations, 99000));
    cell_duration(&table, kind->durations.max);
    table_cell(&table, kind->off_cpu ? eva_duration_text(figure, kind->off_cpu) : "-");
  }
  table_print(&table, stdout, 2);
}

/* The phases that took at least a fifth of it, the longest first. */
static void did_text(char *text, size_t room, const struct question *q,
                     const struct eva_step *step) {
  size_t used = 0;
  uint64_t below = UINT64_MAX;
  text[0] = '\0';
  for (unsigned n = 0; n < step->phases; n++) {
    const struct eva_phase *longest = NULL;
    for (unsigned i = 0; i < step->phases; i++)
      if (step->phase[i].ns < below && (!longest || step->phase[i].ns > longest->ns))
        longest = &step->phase[i];
    if (!longest || longest->ns < step->ns / 5 || used >= room) return;
    below = longest->ns;
    used += (size_t)snprintf(text + used, room - used, "%s%s", used ? ", " : "",
                             question_name(q, longest->id));
  }
}

static void within_text(char *text, size_t room, const struct question *q,
                        const struct eva_step *step) {
  int used = snprintf(text, room, "%s", step->span >= 0 ? question_name(q, step->span) : "");
  if (step->function >= 0)
    snprintf(text + used, room - (size_t)used, "%s%s", used ? ": " : "",
             question_name(q, step->function));
}

static void print_row(struct table *table, const struct pauses *p, const struct eva_step *step,
                      bool several) {
  char text[EVA_STEP_PHASES * (EVENTRING_MAX_NAME + 2)], moment[MOMENT_TEXT];
  table_cell(table, moment_text(moment, &p->q, step->begin_ns));
  snprintf(text, sizeof text, "%u", step->domain);
  table_cell(table, several ? text : "");
  cell_duration(table, step->ns);
  if (step->off_cpu < 0) table_cell(table, "-");
  else cell_duration(table, step->ns - (uint64_t)step->off_cpu);
  cell_step(table, &p->q, step->id, step->reason);
  did_text(text, sizeof text, &p->q, step);
  table_cell(table, text);
  within_text(text, sizeof text, &p->q, step);
  table_cell(table, text);
}

static bool has_several_domains(const struct pauses *p) {
  for (size_t i = 1; i < p->top.count; i++)
    if (((const struct row *)eva_top_row(&p->top, i))->step.domain !=
        ((const struct row *)eva_top_row(&p->top, 0))->step.domain)
      return true;
  return false;
}

static void print_rows(const struct pauses *p) {
  char figure[EVA_FIGURE];
  TABLE(table, "at", "domain", "pause", "?CPU", "<step, reason", "<phases", "<+in span");
  bool several = has_several_domains(p);
  if (p->over_ns)
    printf("\n%s of at least %s", eva_count_text(figure, p->over),
           eva_duration_text((char[EVA_FIGURE]){0}, p->over_ns));
  if (p->top.count > 0)
    printf("\n%s\n", "The longest (at: seconds; CPU less than pause: others had the processor)");
  else if (p->over_ns)
    putchar('\n');
  for (size_t i = 0; i < p->top.count; i++)
    print_row(&table, p, &((const struct row *)eva_top_row(&p->top, i))->step, several);
  table_print(&table, stdout, 2);
}

static void print_sums(const struct sums *sums) {
  char count[EVA_FIGURE], total[EVA_FIGURE], share[EVA_FIGURE], figure[EVA_FIGURE];
  printf("\n%s steps of the collector, %s: %s of the time",
         eva_count_text(count, sums->durations.count),
         eva_duration_text(total, sums->times.in_gc),
         eva_percent_text(share, sums->times.in_gc, sums->watched));
  if (sums->interrupted)
    printf("; %s were interrupted", eva_count_text(figure, sums->interrupted));
  putchar('\n');
}

static void print_open(const struct pauses *p) {
  char text[EVA_SO_FAR], moment[MOMENT_TEXT], figure[EVA_FIGURE];
  if (!p->open_count) return;
  printf("\nOpen: %s\n", eva_count_text(figure, p->open_count));
  TABLE(table, "at", "domain", "for", "<+step, reason");
  for (size_t i = 0; i < p->open_count; i++) {
    const struct open *open = &p->open[i];
    table_cell(&table, moment_text(moment, &p->q, open->step.begin_ns));
    snprintf(text, sizeof text, "%u", open->step.domain);
    table_cell(&table, text);
    table_cell(&table, eva_so_far_text(text, &open->so_far));
    cell_step(&table, &p->q, open->step.id, open->step.reason);
  }
  table_print(&table, stdout, 2);
}

static void print_text(const struct pauses *p, const struct sums *sums) {
  question_head(&p->q, stdout);
  if (sums->durations.count == 0) {
    puts(p->open_count ? "\nNo step of the collector has ended."
                       : "\nNo step of the collector was recorded.");
  } else {
    print_sums(sums);
    print_kinds(p);
    print_rows(p);
  }
  print_open(p);
}

/* ---- JSON ---------------------------------------------------------------------------- */

static void put_durations(struct eva_json *json, const struct eva_histogram *durations) {
  eva_json_uint_at(json, "count", durations->count);
  eva_json_uint_at(json, "total_ns", durations->total);
  eva_json_uint_at(json, "p50_ns", eva_histogram_quantile(durations, 50000));
  eva_json_uint_at(json, "p99_ns", eva_histogram_quantile(durations, 99000));
  eva_json_uint_at(json, "max_ns", durations->max);
}

static void put_kind(struct eva_json *json, const struct question *q, const struct kind *kind) {
  eva_json_open_object(json);
  question_put_name(q, json, "step", kind->id);
  question_put_name(q, json, "reason", kind->reason);
  put_durations(json, &kind->durations);
  eva_json_uint_at(json, "interrupted", kind->interrupted);
  eva_json_uint_at(json, "off_cpu_ns", kind->off_cpu);
  eva_json_close_object(json);
}

static void put_total(struct eva_json *json, const struct pauses *p, const struct sums *sums) {
  eva_json_key(json, "total");
  eva_json_open_object(json);
  put_durations(json, &sums->durations);
  eva_json_uint_at(json, "gc_ns", sums->times.in_gc);
  eva_json_uint_at(json, "watched_ns", sums->watched);
  eva_json_double_at(json, "gc_share",
                     sums->watched ? (double)sums->times.in_gc / (double)sums->watched : 0);
  eva_json_uint_at(json, "interrupted", sums->interrupted);
  eva_json_uint_at(json, "off_cpu_ns", sums->off_cpu);
  eva_json_uint_at(json, "unmeasured", sums->unmeasured);
  eva_json_uint_at(json, "torn", p->steps.torn);
  eva_json_uint_at(json, "open", p->open_count);
  eva_json_uint_at(json, "over", p->over);
  eva_json_key(json, "kinds");
  eva_json_open_array(json);
  for (size_t i = 0; i < p->kind_count; i++) put_kind(json, &p->q, &p->kinds[i]);
  eva_json_close_array(json);
  eva_json_close_object(json);
}

/* A figure that may not be known. */
static void put_known(struct eva_json *json, const char *key, int64_t value) {
  eva_json_key(json, key);
  if (value >= 0) eva_json_int(json, value);
  else eva_json_null(json);
}

static void put_row(struct eva_json *json, const struct question *q,
                    const struct eva_step *step) {
  eva_json_open_object(json);
  eva_json_uint_at(json, "ns", step->begin_ns);
  eva_json_uint_at(json, "domain", step->domain);
  eva_json_uint_at(json, "incarnation", step->incarnation);
  eva_json_uint_at(json, "duration_ns", step->ns);
  put_known(json, "cpu_ns", step->off_cpu < 0 ? -1 : (int64_t)step->ns - step->off_cpu);
  put_known(json, "off_cpu_ns", step->off_cpu);
  put_known(json, "work_bytes", step->work);
  question_put_name(q, json, "step", step->id);
  question_put_name(q, json, "reason", step->reason);
  eva_json_key(json, "phases");
  eva_json_open_array(json);
  for (unsigned i = 0; i < step->phases; i++) {
    eva_json_open_object(json);
    question_put_name(q, json, "name", step->phase[i].id);
    eva_json_uint_at(json, "ns", step->phase[i].ns);
    eva_json_close_object(json);
  }
  eva_json_close_array(json);
  question_put_name(q, json, "span", step->span);
  question_put_name(q, json, "function", step->function);
  eva_json_close_object(json);
}

static void put_open(struct eva_json *json, const struct pauses *p) {
  eva_json_key(json, "open_steps");
  eva_json_open_array(json);
  for (size_t i = 0; i < p->open_count; i++) {
    const struct eva_step *step = &p->open[i].step;
    eva_json_open_object(json);
    eva_json_uint_at(json, "ns", step->begin_ns);
    eva_json_uint_at(json, "domain", step->domain);
    eva_json_uint_at(json, "incarnation", step->incarnation);
    question_put_name(&p->q, json, "step", step->id);
    question_put_name(&p->q, json, "reason", step->reason);
    eva_so_far_put(json, &p->open[i].so_far);
    eva_json_close_object(json);
  }
  eva_json_close_array(json);
}

static void print_json(const struct pauses *p, const struct sums *sums) {
  struct eva_json json;
  eva_json_start(&json, stdout);
  eva_json_open_object(&json);
  question_put_head(&p->q, &json);
  put_total(&json, p, sums);
  put_open(&json, p);
  eva_json_key(&json, "rows");
  eva_json_open_array(&json);
  for (size_t i = 0; i < p->top.count; i++)
    put_row(&json, &p->q, &((const struct row *)eva_top_row(&p->top, i))->step);
  eva_json_close_array(&json);
  eva_json_close_object(&json);
  eva_json_line(&json);
}

/* ---- The command --------------------------------------------------------------------- */

static int read_words(const struct command *self, int count, char **words, struct pauses *p,
                      struct operands *operands) {
  struct question *q = &p->q;
  const struct option_spec specs[] = {
      QUESTION_SPECS(q),
      {"over", 0, OPTION_SECONDS, &p->over_ns, "TIME", "only those that took TIME or more: 1ms"}};
  int status = options_parse(self, OPTION_SPECS(specs), count, words, operands);
  if (status < 0) status = question_check(self, q);
  return status >= 0 ? status : require_target(self, operands, true);
}

int command_pauses(const struct command *self, int count, char **words) {
  struct pauses *p = need_zeroed(1, sizeof *p);
  struct operands operands;
  struct sums sums = {0};
  p->q = (struct question)QUESTION_NEW(8);
  int status = read_words(self, count, words, p, &operands);
  if (status < 0) status = question_open(&p->q, &operands);
  p->target = operands.command ? NULL : operands.words[0];
  if (status < 0) {
    read_recording(p);
    add_up(p, &sums);
    (p->q.json ? print_json : print_text)(p, &sums);
    status = reader_close(&p->q.reader, STATUS_OK);
  }
  for (size_t i = 0; i < p->kind_count; i++) eva_histogram_free(&p->kinds[i].durations);
  eva_histogram_free(&sums.durations);
  eva_top_free(&p->top);
  eva_shares_free(p->shares);
  free(p->kinds);
  free(p->open);
  free(p->gaps);
  free(p);
  return status;
}
