/* SPDX-License-Identifier: MIT */
/* pause_frames.c: see pause_frames.h. analysis/frames.h finds what the time of a frame
 * was spent on. This file counts frames and keeps the longest missed ones. */
#include "pause_frames.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figures.h"
#include "analysis/frames.h"
#include "analysis/histogram.h"
#include "analysis/saturating.h"
#include "analysis/so_far.h"
#include "analysis/top.h"
#include "text_table.h"
#include "view.h"

struct times {
  uint64_t collector, off_cpu, program; /* ns of each part, in the frames with known time
                                           in the collector */
};

struct cause { /* the missed frames that have this cause */
  enum eva_frame_cause cause;
  struct eva_histogram durations;
  struct times times;
};

struct row {
  uint64_t ns; /* key of eva_top */
  struct eva_frame frame;
  enum eva_frame_cause cause;
};

struct frames {
  struct query *q;
  uint64_t limit_ns;
  const char *span;
  struct eva_shares *shares;
  struct eva_frames *frames;
  struct eva_histogram durations;
  struct times times;
  uint64_t missed, torn;
  /* number of missed frames that would have fitted without this part */
  uint64_t without_collector, without_off_cpu;
  uint64_t most_collector;    /* most ns of the collector in one frame */
  uint64_t unknown_collector; /* number of frames with unknown time in the collector */
  uint64_t unknown_off_cpu;   /* number of frames with unknown time off the processor
                                 outside pauses */
  struct cause causes[EVA_FRAME_CAUSES];
  struct eva_top top;
  struct eva_known known;
  struct eventring_event late; /* the first event after the window; zeroed: none came */
  struct open_span *open; /* frames that have not ended */
  size_t open_count;
};

/* In the order in which they are shown. */
static const struct { enum eva_frame_cause cause; const char *name, *title; } cause_names[] = {
    {EVA_FRAME_COLLECTOR, "collector", "collector"}, {EVA_FRAME_OFF_CPU, "off_cpu", "off CPU"},
    {EVA_FRAME_PROGRAM, "program", "program"},       {EVA_FRAME_UNKNOWN, "unknown", "unknown"}};
enum { CAUSES = sizeof cause_names / sizeof cause_names[0] };
_Static_assert((int)CAUSES == (int)EVA_FRAME_CAUSES, "each cause has a name");

static struct view_value cause_value(enum eva_frame_cause cause, bool is_title) {
  size_t i = 0;
  while (cause_names[i].cause != cause) i++;
  return view_text(is_title ? cause_names[i].title : cause_names[i].name);
}

/* ---- Reading ------------------------------------------------------------------ */

static void add_times(struct times *sum, const struct eva_frame *frame) {
  if (!frame->knows_collector) return;
  sum->collector = eva_add(sum->collector, frame->collector);
  sum->off_cpu = eva_add(sum->off_cpu, frame->off_cpu);
  sum->program = eva_add(sum->program, frame->program);
}

static void count_missed(struct frames *f, const struct eva_frame *frame) {
  const struct row row = {frame->ns, *frame, eva_frame_cause(frame, f->limit_ns)};
  struct cause *cause = &f->causes[row.cause];
  f->missed++;
  f->without_collector += frame->ns - frame->collector <= f->limit_ns;
  f->without_off_cpu += frame->ns - frame->off_cpu <= f->limit_ns;
  add_times(&cause->times, frame);
  if (eva_histogram_add(&cause->durations, frame->ns) < 0 ||
      (f->q->top && eva_top_add(&f->top, &row) < 0))
    no_memory();
}

static void on_frame(void *context, const struct eva_frame *frame) {
  struct frames *f = context;
  const uint64_t end = frame->begin_ns + frame->ns;
  if (!query_is_past_start(f->q, end) || query_is_past_end(f->q, end) ||
      !query_wants_domain(f->q, frame->domain))
    return;
  if (eva_histogram_add(&f->durations, frame->ns) < 0) no_memory();
  add_times(&f->times, frame);
  if (frame->collector > f->most_collector) f->most_collector = frame->collector;
  f->unknown_collector += !frame->knows_collector;
  f->unknown_off_cpu += !frame->knows_off_cpu;
  if (frame->ns > f->limit_ns) count_missed(f, frame);
}

static bool is_frame(const struct frames *f, const struct eventring_event *event) {
  return query_wants_domain(f->q, event->domain) && strcmp(event->name, f->span) == 0;
}

static int on_event(void *context, const struct eventring_event *event) {
  struct frames *f = context;
  struct eva_span_time time;
  bool ended = false;
  if (eva_shares_event(f->shares, event, &time, &ended) < 0 ||
      eva_frames_event(f->frames, event, ended ? &time : NULL) < 0)
    no_memory();
  if (query_is_past_end(f->q, event->ns)) f->late = *event;
  else if (event->kind == EVENTRING_END && !ended && event->flags & EVENTRING_TORN &&
           query_is_past_start(f->q, event->ns) && is_frame(f, event))
    f->torn++;
  return 0;
}

static int on_lost(void *context, const struct eventring_loss *loss) {
  struct frames *f = context;
  eva_shares_lost(f->shares, loss);
  eva_frames_lost(f->frames, loss);
  return 0;
}

static int on_switch(void *context, const struct eventring_switch *change) {
  eva_shares_switch(((struct frames *)context)->shares, change);
  return 0;
}

static int on_open(void *context, const struct eventring_event *begin) {
  struct frames *f = context;
  if (!is_frame(f, begin) || query_is_past_end(f->q, begin->ns)) return 0;
  *NEED_NEXT(f->open, f->open_count) = query_open_span(f->q, &f->known, begin);
  return 0;
}

static void read_recording(struct frames *f) {
  static const struct eventring_callbacks callbacks = {sizeof callbacks, on_event, on_lost};
  f->shares = eva_shares_new();
  f->frames = eva_frames_new(f->span, on_frame, f);
  if (!f->shares || !f->frames) no_memory();
  f->top = (struct eva_top){.size = sizeof(struct row), .most = f->q->top};
  for (size_t i = 0; i < CAUSES; i++) f->causes[i].cause = (enum eva_frame_cause)i;
  query_read(f->q, &callbacks, on_switch, f);
  eva_frames_finish(f->frames);
  query_open_spans(f->q, &f->known, &f->late, on_open, f);
  eva_top_sort(&f->top);
}

/* ---- Views -------------------------------------------------------------------- */

static VIEW(times_view, struct times,
    {"collector_ns", "?collector", VIEW_NS, ROW(collector), .flags = VIEW_DASH_0},
    {"off_cpu_ns", "?off CPU", VIEW_NS, ROW(off_cpu), .flags = VIEW_DASH_0,
     .help = "a lower bound; includes the time in pauses"},
    {"program_ns", "program", VIEW_NS, ROW(program)})

static VIEW(duration_view, struct eva_histogram,
    {"count", "frames", VIEW_COUNT, ROW(count)},
    {"total_ns", NULL, VIEW_NS, ROW(total)},
    {"p50_ns", "median", VIEW_NS, VIEW_GET(UINT, view_quantile), .argument = 50000},
    {"p99_ns", "p99", VIEW_NS, VIEW_GET(UINT, view_quantile), .argument = 99000},
    {"p999_ns", "p99.9", VIEW_NS, VIEW_GET(UINT, view_quantile), .argument = 99900},
    {"max_ns", "longest", VIEW_NS, ROW(max)})

VIEW_GETTER(cause_of, struct cause) { return cause_value(row->cause, false); }
VIEW_GETTER(cause_title, struct cause) { return cause_value(row->cause, true); }

static VIEW(cause_view, struct cause,
    {NULL, "<because of", VIEW_PLAIN, VIEW_GET(TEXT, cause_title)},
    {"cause", NULL, VIEW_PLAIN, VIEW_GET(TEXT, cause_of)},
    {"missed", "frames", VIEW_COUNT, ROW(durations.count)},
    {"max_ns", "longest", VIEW_NS, ROW(durations.max)},
    {.form = VIEW_INCLUDE, .offset = offsetof(struct cause, times), .view = &times_view})

static void all_causes(struct view_to *to, const void *answer) {
  const struct frames *f = answer;
  for (size_t i = 0; i < CAUSES; i++) {
    const struct cause *cause = &f->causes[cause_names[i].cause];
    if (cause->durations.count || !view_is_text(to)) view_row(to, cause);
  }
}

VIEW_GETTER(row_cause, struct row) { return cause_value(row->cause, false); }
VIEW_GETTER(row_cause_title, struct row) { return cause_value(row->cause, true); }
VIEW_GETTER(over, struct row) {
  return view_uint(row->ns - ((const struct frames *)to->context)->limit_ns);
}

static VIEW(row_view, struct row,
    {"ns", "at", VIEW_MOMENT, ROW(frame.begin_ns)},
    {"domain", "=domain", VIEW_PLAIN, ROW(frame.domain)},
    {"incarnation", NULL, VIEW_PLAIN, ROW(frame.incarnation)},
    {"context", NULL, VIEW_PLAIN, ROW(frame.context)},
    {"duration_ns", "frame", VIEW_NS, ROW(ns)},
    {"over_ns", NULL, VIEW_NS, VIEW_GET(UINT, over)},
    {"cause", NULL, VIEW_PLAIN, VIEW_GET(TEXT, row_cause)},
    {NULL, "<because of", VIEW_PLAIN, VIEW_GET(TEXT, row_cause_title)},
    {"collector_ns", "?collector", VIEW_NS, ROW(frame.collector), VIEW_IF(frame.knows_collector),
     .flags = VIEW_DASH_0},
    {"pauses", NULL, VIEW_COUNT, ROW(frame.pauses)},
    {"off_cpu_ns", "?off CPU", VIEW_NS, ROW(frame.off_cpu), .flags = VIEW_DASH_0},
    {"off_cpu_known", NULL, VIEW_PLAIN, ROW(frame.knows_off_cpu),
     .help = "whether the time off the processor is known outside pauses, too"},
    {"program_ns", "program", VIEW_NS, ROW(frame.program), VIEW_IF(frame.knows_collector)},
    {"name", NULL, VIEW_DEF, ROW(frame.id)})

static void all_rows(struct view_to *to, const void *answer) {
  const struct frames *f = answer;
  for (size_t i = 0; i < f->top.count; i++) view_row(to, eva_top_row(&f->top, i));
}

static void all_open(struct view_to *to, const void *answer) {
  const struct frames *f = answer;
  for (size_t i = 0; i < f->open_count; i++) view_row(to, &f->open[i]);
}

static VIEW(total_view, struct frames,
    {.form = VIEW_INCLUDE, .offset = offsetof(struct frames, durations), .view = &duration_view},
    {"missed", NULL, VIEW_COUNT, ROW(missed), .help = "frames that took longer than `limit_ns`"},
    {"without_collector", NULL, VIEW_COUNT, ROW(without_collector),
     .help = "missed frames that would have fitted without the collector"},
    {"without_off_cpu", NULL, VIEW_COUNT, ROW(without_off_cpu),
     .help = "missed frames that would have fitted with a processor all the time"},
    {.form = VIEW_INCLUDE, .offset = offsetof(struct frames, times), .view = &times_view},
    {"most_collector_ns", NULL, VIEW_NS, ROW(most_collector),
     .help = "most time of the collector in one frame"},
    {"unknown_collector", NULL, VIEW_COUNT, ROW(unknown_collector),
     .help = "frames of which the collector's time is not known"},
    {"unknown_off_cpu", NULL, VIEW_COUNT, ROW(unknown_off_cpu),
     .help = "frames of which the time off the processor outside pauses is not known"},
    {"torn", NULL, VIEW_COUNT, ROW(torn)},
    {"open", NULL, VIEW_COUNT, ROW(open_count)},
    {"causes", NULL, VIEW_ROWS, .view = &cause_view, .rows = all_causes})

VIEW(pause_frames_view, struct frames,
    {.form = VIEW_INCLUDE, .offset = offsetof(struct frames, q), .flags = VIEW_POINTER,
     .view = &query_view},
    {"limit_ns", NULL, VIEW_NS, ROW(limit_ns)},
    {"span", NULL, VIEW_PLAIN, ROW(span)},
    {"total", NULL, VIEW_OBJECT, .view = &total_view},
    {"open_frames", NULL, VIEW_ROWS, .view = &open_span_view, .rows = all_open},
    {"rows", NULL, VIEW_ROWS, .view = &row_view, .rows = all_rows, .flags = VIEW_MAIN})

/* ---- Text --------------------------------------------------------------------- */

/* Prints the names of spans of the program, so that the user can choose one. */
static void print_names(const struct frames *f) {
  enum { SHOWN = 10 };
  unsigned count = 0;
  for (unsigned id = 0; id < EVENTRING_MAX_EVENTS; id++) {
    const struct eventring_def *def = eventring_cursor_def(f->q->reader.cursor, id);
    if (!def || def->kind != EVENTRING_DEF_SPAN || def->event_class != EVENTRING_CLASS_USER ||
        strcmp(def->name, f->span) == 0)
      continue;
    if (count < SHOWN) {
      fputs(count ? ", " : "Spans that there are (--frame-span): ", stdout);
      print_foreign_text(stdout, def->name);
    }
    count++;
  }
  if (count) puts(count > SHOWN ? " ..." : "");
}

static void print_none(const struct frames *f) {
  fputs("\nNo frame has ended: no span of the name `", stdout);
  print_foreign_text(stdout, f->span);
  puts("' was recorded.");
  print_names(f);
}

static void say_unknown(uint64_t frames, const char *what) {
  if (!frames) return;
  table_say(stdout, 2, 2, "of %s frames the recording does not say %s", eva_count(frames), what);
}

static void print_lengths(const struct frames *f) {
  printf("\n%s frames, %s took longer than %s: %s\n", eva_count(f->durations.count),
         eva_count(f->missed), eva_duration(f->limit_ns),
         eva_percent(f->missed, f->durations.count));
  printf("  median %s, p99 %s, p99.9 %s, longest %s\n",
         eva_duration(eva_histogram_quantile(&f->durations, 50000)),
         eva_duration(eva_histogram_quantile(&f->durations, 99000)),
         eva_duration(eva_histogram_quantile(&f->durations, 99900)),
         eva_duration(f->durations.max));
  if (f->unknown_collector < f->durations.count)
    printf("  collector %s of their time, at most %s in one\n",
           eva_percent(f->times.collector, f->durations.total), eva_duration(f->most_collector));
  say_unknown(f->unknown_collector, "what the collector took");
  say_unknown(f->unknown_off_cpu, "for how long they had no processor");
}

static void print_would_have_fitted(const struct frames *f) {
  printf("  would have fitted without the collector: %s, with a processor all the time: %s\n",
         eva_count(f->without_collector), eva_count(f->without_off_cpu));
}

static void print_text(const struct frames *f, struct view_to *to) {
  char open[EVA_FIGURE + 8];
  query_head(f->q, stdout);
  if (f->durations.count == 0) {
    print_none(f);
  } else {
    print_lengths(f);
    view_section(to, "Missed", &cause_view, all_causes, f);
    if (f->missed) print_would_have_fitted(f);
    view_section(to, "The longest of these", &row_view, all_rows, f);
  }
  snprintf(open, sizeof open, "Open: %s", eva_count(f->open_count));
  view_section(to, open, &open_span_view, all_open, f);
}

/* ---- The command -------------------------------------------------------------- */

static void free_frames(struct frames *f) {
  for (size_t i = 0; i < CAUSES; i++) eva_histogram_free(&f->causes[i].durations);
  eva_histogram_free(&f->durations);
  eva_top_free(&f->top);
  eva_frames_free(f->frames);
  eva_shares_free(f->shares);
  free(f->open);
}

int pause_frames(struct query *q, const struct operands *operands,
                 const struct frame_choice *choice) {
  struct frames f = {.q = q, .limit_ns = choice->limit_ns,
                     .span = choice->span ? choice->span : "frame"};
  int status = query_open(q, operands);
  if (!goes_on(status)) return status;
  read_recording(&f);
  struct view_to to = query_output(q);
  to.context = &f;
  if (view_wants_text(&q->as)) print_text(&f, &to);
  else view_object(&to, &pause_frames_view, &f);
  free_frames(&f);
  return reader_close(&q->reader, STATUS_OK);
}
