/* SPDX-License-Identifier: MIT */
/* cmd_pauses.c: `eventring pauses`: the longest steps of the collector, each with its
 * reason, what it did, and what the program was doing. (--frames: pause_frames.c.)
 *
 * The steps are in the runtime ring, which is small. So if a recording does not go on,
 * only the runtime ring is read. For the steps that are shown, the blocks around them
 * tell afterwards what the program was doing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figures.h"
#include "analysis/gaps.h"
#include "analysis/gc_clock.h"
#include "analysis/histogram.h"
#include "analysis/read_all.h"
#include "analysis/saturating.h"
#include "analysis/so_far.h"
#include "analysis/steps.h"
#include "analysis/top.h"
#include "pause_frames.h"
#include "query.h"
#include "view/events.h"
#include "view/pauses.h"
#include "view_tables.h"

/* The steps of one definition that ran for one reason. */
struct kind {
  uint16_t id;
  int reason;
  uint64_t off_cpu, interrupted, unmeasured;
  struct eva_histogram durations;
};

struct sums {
  struct eva_histogram durations;
  struct eva_gc_times times;
  uint64_t watched, interrupted, unmeasured, off_cpu;
};

struct row {
  uint64_t ns; /* key of eva_top */
  struct eva_step step;
};

struct open { /* a step that has not ended */
  struct eva_step step;
  struct eva_so_far so_far;
};

struct pauses {
  struct query q;
  uint64_t over_ns;
  struct eva_shares *shares;
  struct eva_steps steps;
  struct eva_gc_clock clocks[EVENTRING_MAX_DOMAINS]; /* clocks of the runtime rings, by
                                                        slot */
  struct kind *kinds;
  size_t kind_count;
  struct eva_top top;
  uint64_t over; /* number of steps longer than over_ns */
  struct eva_known known;
  struct open *open;
  size_t open_count;
  struct sums sums;
  struct eventring_event late; /* the first event after the window, if it ends
                                  late_step */
  struct eva_step late_step;   /* zeroed: there was none */
  uint64_t last_ns[EVENTRING_MAX_DOMAINS][EVENTRING_RINGS]; /* time of the newest event of
                                                               each ring, if there are
                                                               `shares` */
  struct eva_gaps gaps;        /* gaps of the rings, if there are `shares` */
};

/* ---- Reading ------------------------------------------------------------------ */

static struct kind *kind_of(struct pauses *p, const struct eva_step *step) {
  for (size_t i = 0; i < p->kind_count; i++)
    if (p->kinds[i].id == step->id && p->kinds[i].reason == step->reason) return &p->kinds[i];
  struct kind *kind = NEED_NEXT(p->kinds, p->kind_count);
  *kind = (struct kind){.id = step->id, .reason = step->reason};
  return kind;
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
  if (!query_is_past_start(&p->q, end) || query_is_past_end(&p->q, end) ||
      !query_wants_domain(&p->q, step->domain))
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
  if (!query_wants_domain(&p->q, event->domain)) return 0;
  if (p->shares) {
    if (eva_shares_event(p->shares, event, &time, &ended) < 0) no_memory();
    if (!(event->flags & EVENTRING_SYNTHETIC)) *last_of(p, event->domain, event->ring) = event->ns;
  }
  if (event->kind == EVENTRING_END && query_is_past_end(&p->q, event->ns)) note_late(p, event);
  eva_steps_event(&p->steps, p->shares, event);
  if (event->ring != EVENTRING_RUNTIME || query_is_past_end(&p->q, event->ns)) return 0;
  struct eva_gc_clock *clock = &p->clocks[event->domain % EVENTRING_MAX_DOMAINS];
  if (query_is_past_start(&p->q, event->ns))
    eva_gc_clock_cut(clock, p->q.window.since, event->incarnation);
  eva_gc_clock_event(clock, event);
  return 0;
}

static void note_gap(struct pauses *p, const struct eventring_loss *loss) {
  if (loss->ring != EVENTRING_USER && loss->ring != EVENTRING_CALLS) return;
  if (eva_gaps_add(&p->gaps, loss, *last_of(p, loss->domain, loss->ring)) < 0) no_memory();
}

static int on_lost(void *context, const struct eventring_loss *loss) {
  struct pauses *p = context;
  if (!query_wants_domain(&p->q, loss->domain)) return 0;
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

/* Adds an open step; `begin` is the begin of the span that is the step. */
static void add_open(struct pauses *p, const struct eva_step *step,
                     const struct eventring_event *begin) {
  if (!query_wants_domain(&p->q, begin->domain) || query_is_past_end(&p->q, begin->ns))
    return;
  *NEED_NEXT(p->open, p->open_count) =
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

/* ---- What the program was doing, looked up ------------------------------------ */

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

/* Looks up what the program was doing at a step. (Errors of the file were reported when
   it was read.) */
static void look_up(struct pauses *p, struct eva_step *step) {
  static const struct eventring_callbacks callbacks = {sizeof callbacks, look_at_event,
                                                       look_at_loss};
  struct lookup lookup = {step, eva_shares_new()};
  eventring_cursor *cursor = query_look_up(&p->q, step->begin_ns);
  if (!lookup.shares) no_memory();
  if (cursor) {
    eventring_cursor_select(cursor, 1u << EVENTRING_USER | 1u << EVENTRING_CALLS);
    eventring_cursor_switches(cursor, look_at_switch, &lookup);
    eva_read_all(cursor, &callbacks, &lookup);
    step->span = eva_shares_running(lookup.shares, step->domain, EVENTRING_USER);
    step->function = eva_shares_running(lookup.shares, step->domain, EVENTRING_CALLS);
  }
  eva_shares_free(lookup.shares);
}

/* Removes the span of steps that begin within a gap. These steps got the span that was
   open before the gap, because the loss was not known yet. */
static void forget_in_gaps(struct pauses *p) {
  eva_gaps_sort(&p->gaps);
  for (size_t i = 0; i < p->top.count; i++) {
    struct eva_step *step = &((struct row *)eva_top_at(&p->top, i))->step;
    if (eva_gaps_has(&p->gaps, step->domain, EVENTRING_USER, step->begin_ns)) step->span = -1;
    if (eva_gaps_has(&p->gaps, step->domain, EVENTRING_CALLS, step->begin_ns))
      step->function = -1;
  }
}

static void read_recording(struct pauses *p) {
  static const struct eventring_callbacks callbacks = {sizeof callbacks, on_event, on_lost};
  bool looks_up = query_can_look_up(&p->q);
  if (looks_up) eventring_cursor_select(p->q.reader.cursor, 1u << EVENTRING_RUNTIME);
  else if (!(p->shares = eva_shares_new())) no_memory();
  p->steps.report = on_step;
  p->steps.context = p;
  p->top = (struct eva_top){.size = sizeof(struct row), .most = p->q.top};
  query_read(&p->q, &callbacks, looks_up ? NULL : on_switch, p);
  read_open(p);
  eva_steps_finish(&p->steps);
  eva_top_sort(&p->top);
  for (size_t i = 0; looks_up && i < p->top.count; i++)
    look_up(p, &((struct row *)eva_top_at(&p->top, i))->step);
  query_looked_up(&p->q);
  forget_in_gaps(p);
  if (p->kind_count) qsort(p->kinds, p->kind_count, sizeof *p->kinds, longer_in_all);
}

/* ---- Sums --------------------------------------------------------------------- */

/* Stops the clock of a domain at the last moment at which the domain is known to have
   existed, since it was watched until then. */
static void stop_clock(struct pauses *p, unsigned slot) {
  struct eva_gc_clock *clock = &p->clocks[slot];
  if (clock->incarnation == 0) return;
  if (p->q.window.since) eva_gc_clock_cut(clock, p->q.window.since, clock->incarnation);
  eva_gc_clock_stop(clock,
                    eva_known_until(&p->known, p->q.reader.cursor, slot, clock->incarnation));
}

static void add_up(struct pauses *p) {
  struct sums *sums = &p->sums;
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

/* ---- Views -------------------------------------------------------------------- */

static VIEW(duration_view, struct eva_histogram,
    {"count", "count", VIEW_COUNT, ROW(count)},
    {"total_ns", "total", VIEW_NS, ROW(total)},
    {"p50_ns", "median", VIEW_NS, VIEW_GET(UINT, view_quantile), .argument = 50000},
    {"p99_ns", "p99", VIEW_NS, VIEW_GET(UINT, view_quantile), .argument = 99000},
    {"max_ns", "longest", VIEW_NS, ROW(max)})

static const char *name_of(const struct view_to *to, int id) {
  const struct eventring_def *def = id < 0 ? NULL : eventring_cursor_def(to->cursor, (unsigned)id);
  return def ? def->name : "?";
}

static struct view_value step_text(struct view_to *to, int id, int reason) {
  return view_printf(to, reason < 0 ? "%s" : "%s, %s", name_of(to, id), name_of(to, reason));
}

VIEW_GETTER(kind_text, struct kind) { return step_text(to, row->id, row->reason); }

static VIEW(kind_view, struct kind,
    {NULL, "<+step, reason", VIEW_PLAIN, VIEW_GET(TEXT, kind_text)},
    {"step", NULL, VIEW_DEF, ROW(id)},
    {"reason", NULL, VIEW_DEF, ROW(reason), .flags = VIEW_NOT_NEGATIVE},
    {.form = VIEW_INCLUDE, .offset = offsetof(struct kind, durations), .view = &duration_view},
    {"interrupted", NULL, VIEW_COUNT, ROW(interrupted)},
    {"off_cpu_ns", "?off CPU", VIEW_NS, ROW(off_cpu), .flags = VIEW_DASH_0})

static void all_kinds(struct view_to *to, const void *answer) {
  const struct pauses *p = answer;
  for (size_t i = 0; i < p->kind_count; i++) view_row(to, &p->kinds[i]);
}

static VIEW(phase_view, struct eva_phase,
    {"name", NULL, VIEW_DEF, ROW(id)},
    {"ns", NULL, VIEW_NS, ROW(ns)})

static void all_phases(struct view_to *to, const void *row) {
  const struct eva_step *step = row;
  for (unsigned i = 0; i < step->phases; i++) view_row(to, &step->phase[i]);
}

/* Returns the names of the phases that took at least a fifth of a step, the longest
   first. */
VIEW_GETTER(did, struct eva_step) {
  size_t used = 0;
  uint64_t below = UINT64_MAX;
  to->room[0] = '\0';
  for (unsigned n = 0; n < row->phases; n++) {
    const struct eva_phase *longest = NULL;
    for (unsigned i = 0; i < row->phases; i++)
      if (row->phase[i].ns < below && (!longest || row->phase[i].ns > longest->ns))
        longest = &row->phase[i];
    if (!longest || longest->ns < row->ns / 5 || used >= sizeof to->room) break;
    below = longest->ns;
    used += (size_t)snprintf(to->room + used, sizeof to->room - used, "%s%s", used ? ", " : "",
                             name_of(to, longest->id));
  }
  return view_text(to->room);
}

VIEW_GETTER(within, struct eva_step) {
  const char *span = row->span >= 0 ? name_of(to, row->span) : "";
  if (row->function < 0) return view_text(span);
  return view_printf(to, "%s%s%s", span, span[0] ? ": " : "", name_of(to, row->function));
}

VIEW_GETTER(on_cpu, struct eva_step) {
  return row->off_cpu < 0 ? view_none() : view_int((int64_t)row->ns - row->off_cpu);
}

VIEW_GETTER(row_text, struct eva_step) { return step_text(to, row->id, row->reason); }

/* The columns of a step, ended or not. */
#define STEP_COLUMNS                                                                     \
  {NULL, "<+step, reason", VIEW_PLAIN, VIEW_GET(TEXT, row_text)},                        \
      {"step", NULL, VIEW_DEF, ROW(id)},                                                 \
      {"reason", NULL, VIEW_DEF, ROW(reason), .flags = VIEW_NOT_NEGATIVE},               \
      {"incarnation", NULL, VIEW_PLAIN, ROW(incarnation)}
static VIEW(row_view, struct eva_step,
    {"ns", "at", VIEW_MOMENT, ROW(begin_ns)},
    {"domain", "=domain", VIEW_PLAIN, ROW(domain)},
    {"duration_ns", "pause", VIEW_NS, ROW(ns)},
    {"cpu_ns", "?CPU", VIEW_NS, VIEW_GET(INT, on_cpu)},
    {"off_cpu_ns", NULL, VIEW_NS, ROW(off_cpu), .flags = VIEW_NOT_NEGATIVE},
    {"work_bytes", NULL, VIEW_BYTES, ROW(work), .flags = VIEW_NOT_NEGATIVE},
    STEP_COLUMNS,
    {NULL, "<+phases", VIEW_PLAIN, VIEW_GET(TEXT, did)},
    {"phases", NULL, VIEW_ROWS, .view = &phase_view, .rows = all_phases},
    {NULL, "<+in span", VIEW_PLAIN, VIEW_GET(TEXT, within)},
    {"span", NULL, VIEW_DEF, ROW(span), .flags = VIEW_NOT_NEGATIVE},
    {"function", NULL, VIEW_DEF, ROW(function), .flags = VIEW_NOT_NEGATIVE})

static void all_rows(struct view_to *to, const void *answer) {
  const struct pauses *p = answer;
  for (size_t i = 0; i < p->top.count; i++)
    view_row(to, &((const struct row *)eva_top_row(&p->top, i))->step);
}

static VIEW(open_view, struct eva_step,
    {"ns", "at", VIEW_MOMENT, ROW(begin_ns)},
    {"domain", "domain", VIEW_PLAIN, ROW(domain)},
    {NULL, "for", VIEW_PLAIN, VIEW_GET(TEXT, view_so_far), .offset = offsetof(struct open, so_far)},
    {.form = VIEW_INCLUDE, .offset = offsetof(struct open, so_far), .view = &so_far_view},
    STEP_COLUMNS)

static void all_open(struct view_to *to, const void *answer) {
  const struct pauses *p = answer;
  for (size_t i = 0; i < p->open_count; i++) view_row(to, &p->open[i]);
}

VIEW_GETTER(gc_share, struct sums) {
  return view_double(row->watched ? (double)row->times.in_gc / (double)row->watched : 0);
}

static VIEW(sum_view, struct sums,
    {.form = VIEW_INCLUDE, .offset = offsetof(struct sums, durations), .view = &duration_view},
    {"gc_ns", NULL, VIEW_NS, ROW(times.in_gc)},
    {"watched_ns", NULL, VIEW_NS, ROW(watched)},
    {"gc_share", NULL, VIEW_SHARE, VIEW_GET(DOUBLE, gc_share), .flags = VIEW_MAYBE},
    {"interrupted", NULL, VIEW_COUNT, ROW(interrupted)},
    {"off_cpu_ns", NULL, VIEW_NS, ROW(off_cpu)},
    {"unmeasured", NULL, VIEW_COUNT, ROW(unmeasured)})

static VIEW(total_view, struct pauses,
    {.form = VIEW_INCLUDE, .offset = offsetof(struct pauses, sums), .view = &sum_view},
    {"torn", NULL, VIEW_COUNT, ROW(steps.torn)},
    {"open", NULL, VIEW_COUNT, ROW(open_count)},
    {"over", NULL, VIEW_COUNT, ROW(over), .help = "number of steps of at least --over"},
    {"kinds", NULL, VIEW_ROWS, .view = &kind_view, .rows = all_kinds})

static VIEW_WITH(pauses_view, struct pauses, (.other = &pause_frames_view),
    {.form = VIEW_INCLUDE, .offset = offsetof(struct pauses, q), .view = &query_view},
    {"total", NULL, VIEW_OBJECT, .view = &total_view},
    {"open_steps", NULL, VIEW_ROWS, .view = &open_view, .rows = all_open},
    {"rows", NULL, VIEW_ROWS, .view = &row_view, .rows = all_rows, .flags = VIEW_MAIN})

static void print_sums(const struct sums *sums) {
  printf("\n%s steps of the collector, %s: %s of the time", eva_count(sums->durations.count),
         eva_duration(sums->times.in_gc), eva_percent(sums->times.in_gc, sums->watched));
  if (sums->interrupted)
    printf("; %s were interrupted", eva_count(sums->interrupted));
  putchar('\n');
}

static void print_text(const struct pauses *p) {
  struct view_to to = query_output(&p->q);
  char open[EVA_FIGURE + 8];
  query_head(&p->q, stdout);
  if (p->sums.durations.count == 0) {
    puts(p->open_count ? "\nNo step of the collector has ended."
                       : "\nNo step of the collector was recorded.");
  } else {
    print_sums(&p->sums);
    view_table(&to, &kind_view, all_kinds, p, 2);
    if (p->over_ns)
      printf("\n%s of at least %s\n", eva_count(p->over), eva_duration(p->over_ns));
    view_section(&to, "The longest (CPU less than pause: others had the processor)", &row_view,
                 all_rows, p);
  }
  snprintf(open, sizeof open, "Open: %s", eva_count(p->open_count));
  view_section(&to, open, &open_view, all_open, p);
}

/* ---- The command -------------------------------------------------------------- */

static int check_frames(const struct command *self, const struct pauses *p,
                        const struct frame_choice *frames) {
  const bool asked = frames->limit_ns != UINT64_MAX;
  if (asked && p->over_ns)
    return usage_error(self, "--over cannot be combined with --frames, which has its own limit");
  if (!asked && frames->span) return usage_error(self, "--frame-span needs --frames");
  return STATUS_GO_ON;
}

static int read_words(const struct command *self, int count, char **words, struct pauses *p,
                      struct frame_choice *frames, struct operands *operands) {
  struct query *q = &p->q;
  const struct option_spec specs[] = {
      QUERY_SPECS(q, pauses_view),
      {"over", 0, OPTION_SECONDS, &p->over_ns, "TIME", "only those that took TIME or more: 1ms"},
      FRAME_SPECS(frames)};
  int status = options_parse(self, OPTION_SPECS(specs), count, words, operands);
  if (goes_on(status)) status = time_window_check(self, &q->window);
  if (goes_on(status)) status = check_frames(self, p, frames);
  return goes_on(status) ? require_target(self, operands, true) : status;
}

void pauses_free(struct pauses *p) {
  if (!p) return;
  for (size_t i = 0; i < p->kind_count; i++) eva_histogram_free(&p->kinds[i].durations);
  eva_histogram_free(&p->sums.durations);
  eva_top_free(&p->top);
  eva_shares_free(p->shares);
  free(p->kinds);
  free(p->open);
  eva_gaps_free(&p->gaps);
  free(p);
}

static int answer(struct pauses *p, const struct operands *operands) {
  int status = query_open(&p->q, operands);
  if (!goes_on(status)) return status;
  read_recording(p);
  add_up(p);
  if (view_wants_text(&p->q.as)) print_text(p);
  else query_put(&p->q, &pauses_view, p);
  return reader_close(&p->q.reader, STATUS_OK);
}

int command_pauses(const struct command *self, int count, char **words) {
  struct pauses *p = need_zeroed(1, sizeof *p);
  struct frame_choice frames = FRAME_CHOICE_NONE;
  struct operands operands;
  p->q = (struct query)QUERY_NEW(8);
  int status = read_words(self, count, words, p, &frames, &operands);
  if (goes_on(status))
    status = frames.limit_ns == UINT64_MAX ? answer(p, &operands)
                                           : pause_frames(&p->q, &operands, &frames);
  pauses_free(p);
  return status;
}

/* ---- For a page --------------------------------------------------------------- */

struct pauses *pauses_taken(const struct page_run *run, uint64_t top) {
  struct pauses *p = need_zeroed(1, sizeof *p);
  struct eva_step step;
  p->top = (struct eva_top){.size = sizeof(struct row), .most = top};
  for (size_t i = 0; i < top && page_pauses_longest(run->events->pauses, i, &step); i++)
    if (eva_top_add(&p->top, &(struct row){step.ns, step}) < 0) no_memory();
  eva_top_sort(&p->top);
  if (p->top.count) return p;
  pauses_free(p);
  return NULL;
}

size_t pauses_data(const struct pauses *p, const struct page_run *run, uint64_t top,
                   struct eva_json *json) {
  struct pauses shown = *p;
  struct view_to to = {.cursor = run->cursor, .start_ns = run->info.start_ns};
  if (shown.top.count > top) shown.top.count = (size_t)top;
  view_data(&to, json, &pauses_view, "rows", &shown);
  return p->top.count;
}
