/* SPDX-License-Identifier: MIT */
/* cmd_spans.c: `eventring spans`: shows the longest spans of the program, and what their
 * time was spent on: the collector, waiting, being suspended, the span itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figures.h"
#include "analysis/histogram.h"
#include "analysis/read_all.h"
#include "analysis/saturating.h"
#include "analysis/shares.h"
#include "analysis/so_far.h"
#include "analysis/top.h"
#include "dump_format.h"
#include "query.h"
#include "view/events.h"
#include "view/lists.h"
#include "view/spans.h"
#include "view_tables.h"

/* The sum of the times of some spans. */
struct times {
  uint64_t ns, suspended;
  uint64_t own, own_of;                 /* own ns of the spans whose own time is known,
                                           and whole ns of these spans */
  uint64_t part[EVA_PARTS], parts_of;   /* ns of the parts of the spans whose parts are
                                           known, and whole ns of these spans */
};

struct kind { /* the spans of one definition */
  uint16_t id;
  uint64_t open;
  struct eva_so_far longest_open;
  struct times times;
  /* ns of the spans that are fully known and have no time in the other parts; added to
     `times` after reading. (A span is at most as long as a batch, so these do not
     wrap.) */
  uint64_t plain, plain_own;
  struct eva_histogram durations;
};

struct row {
  uint64_t ns; /* key of eva_top */
  uint64_t begin_ns, context;
  uint32_t domain, incarnation;
  uint16_t id;
  struct eva_span_time time;
  /* set for rows that are shown: */
  struct times times; /* times of this span alone */
  char *value;        /* value of its begin, as text; NULL if it has none or the value is
                         not known */
  const struct page_value *said; /* the same value, if the span comes from a page */
};

struct spans {
  struct query q;
  uint64_t over_ns, over;
  struct eva_shares *shares;
  struct kind *kinds[EVENTRING_MAX_EVENTS];
  struct eva_top top, names; /* `top` has struct row, `names` has struct name: kinds by
                                their total */
  struct eva_top open;       /* the longest open spans */
  uint64_t open_count;
  struct eva_known known;
  struct eventring_event late; /* the first event after the window; zeroed: none came */
  size_t kind_count;
  struct page_run *page; /* source of the spans; NULL if the spans were read */
};

struct name {
  uint64_t total;
  const struct kind *kind;
};

/* ---- Reading ------------------------------------------------------------------ */

static bool wants_class(const struct query *q, uint8_t ring, uint8_t event_class) {
  if (q->classes) return q->classes >> event_class & 1;
  return ring == EVENTRING_USER || event_class == EVENTRING_CLASS_USER;
}

/* Tells whether an event belongs to a span of the program, or to a span that was asked
   for. */
static bool wants(const struct query *q, const struct eventring_event *event) {
  if (!query_wants_domain(q, event->domain)) return false;
  if (!name_choice_wants(&q->name, event->name)) return false;
  return wants_class(q, event->ring, event->event_class);
}

/* Looks for the chosen name among the present definitions. */
static void look_for_name(struct query *q) {
  name_choice_look(&q->name, q->reader.cursor,
                   q->classes ? q->classes : EVENTRING_CLASS_BIT(EVENTRING_CLASS_USER));
}

static struct kind *kind_of(struct spans *s, uint16_t id) {
  struct kind **kept = &s->kinds[id % EVENTRING_MAX_EVENTS];
  if (!*kept) {
    look_for_name(&s->q); /* a running program defines names as it uses them */
    *kept = need_zeroed(1, sizeof **kept);
    (*kept)->id = id;
    s->kind_count++;
  }
  return *kept;
}

static void add_times(struct times *sum, const struct eva_span_time *time) {
  sum->ns = eva_add(sum->ns, time->ns);
  sum->suspended = eva_add(sum->suspended, time->suspended);
  if (time->knows_own) {
    sum->own = eva_add(sum->own, time->own);
    sum->own_of = eva_add(sum->own_of, time->ns);
  }
  if (!time->knows_parts) return;
  for (int p = 0; p < EVA_PARTS; p++) sum->part[p] = eva_add(sum->part[p], time->part[p]);
  sum->parts_of = eva_add(sum->parts_of, time->ns);
}

static void count_in_kind(struct kind *kind, const struct eva_span_time *time) {
  add_times(&kind->times, time);
  if (eva_histogram_add(&kind->durations, time->ns) < 0) no_memory();
}

/* Tells which of two spans of equal length comes first: the span that began first. */
static int is_earlier(const void *a, const void *b) {
  const struct row *x = a, *y = b;
  if (x->begin_ns != y->begin_ns) return x->begin_ns < y->begin_ns;
  if (x->domain != y->domain) return x->domain < y->domain;
  return x->id < y->id;
}

static void note_long(struct spans *s, const struct row *row) {
  if (s->q.top && eva_top_add(&s->top, row) < 0) no_memory();
}

static void count_span(struct spans *s, const struct eventring_event *event,
                       const struct eva_span_time *time) {
  count_in_kind(kind_of(s, event->id), time);
  if (time->ns < s->over_ns) return;
  s->over++;
  note_long(s, &(struct row){.ns = time->ns, .begin_ns = event->begin_ns,
                             .context = event->context, .domain = event->domain,
                             .incarnation = event->incarnation, .id = event->id, .time = *time});
}

/* Tells whether a span of a batch is wanted. (There are batches only if the window has no
   end.) */
static bool wants_brief(struct spans *s, const struct eventring_batch *batch,
                        const struct eventring_brief *event) {
  const struct eventring_def *def = eventring_cursor_def(batch->cursor, event->id);
  if (!wants_class(&s->q, batch->ring, def->event_class)) return false;
  if (!name_choice_wants(&s->q.name, query_name(&s->q, event->id))) return false;
  return query_is_past_start(&s->q, batch->earliest_ns + event->after);
}

static bool wants_all(const struct query *q, const struct eventring_batch *batch) {
  bool classes = q->classes ? !(batch->classes & ~q->classes) : batch->ring == EVENTRING_USER;
  return classes && !q->name.text && query_is_past_start(q, batch->earliest_ns);
}

static void note_brief(struct spans *s, const struct eventring_batch *batch,
                       const struct eventring_brief *ended, const struct eva_span_time *time) {
  note_long(s, &(struct row){.ns = time->ns,
                             .begin_ns = batch->earliest_ns + ended->after - time->ns,
                             .context = batch->context, .domain = batch->domain,
                             .incarnation = batch->incarnation, .id = ended->id, .time = *time});
}

/* Returns how long a span must have taken to become one of the rows. */
static uint64_t least_row(const struct spans *s) {
  uint64_t least = s->q.top ? eva_top_least(&s->top) : UINT64_MAX;
  return least > s->over_ns ? least : s->over_ns;
}

/* Counts a span of a batch that may be longer than over_ns, and makes it a row if it is
   long enough. */
static void note_ended(struct spans *s, const struct eventring_batch *batch,
                       const struct eventring_brief *ended, const struct eva_span_time *time) {
  if (time->ns < s->over_ns) return;
  s->over++;
  if (time->ns >= least_row(s)) note_brief(s, batch, ended, time);
}

/* Counts a span that needs care: a span that began before the batch (then `outer` has its
   times), or that may not be wanted. */
static void count_carefully(struct spans *s, const struct eventring_batch *batch,
                            const struct eventring_brief *ended,
                            const struct eva_span_time *outer) {
  const struct eva_span_time plain = eva_shares_time(ended);
  if (!wants_all(&s->q, batch) && !wants_brief(s, batch, ended)) return;
  count_in_kind(kind_of(s, ended->id), outer ? outer : &plain);
  note_ended(s, batch, ended, outer ? outer : &plain);
}

/* Counts the spans of a batch; `times` has the times of the spans that began before the
   batch. (The loop keeps its data in local variables.) */
static void count_ended(struct spans *s, const struct eventring_batch *batch,
                        const struct eva_span_time *times) {
  const struct eventring_brief *ended = batch->ended, *const end = ended + batch->ended_count;
  const bool all = wants_all(&s->q, batch);
  struct kind *const *const kinds = s->kinds;
  /* shorter spans are not noted, but count as `over` if over_ns is 0 */
  uint64_t noted = s->over_ns ? s->over_ns : least_row(s), over = 0;
  for (; ended < end; ended++) {
    struct kind *kind = kinds[ended->id];
    if (__builtin_expect(ended->began_before || !all || !kind, 0)) {
      count_carefully(s, batch, ended, ended->began_before ? times++ : NULL);
      continue;
    }
    if (eva_histogram_add(&kind->durations, ended->took) < 0) no_memory();
    kind->plain += ended->took;
    kind->plain_own += ended->took - ended->within;
    if (__builtin_expect(ended->took < noted, 1)) {
      over++;
      continue;
    }
    const struct eva_span_time plain = eva_shares_time(ended);
    note_ended(s, batch, ended, &plain);
    if (!s->over_ns) noted = least_row(s);
  }
  if (!s->over_ns) s->over += over;
}

static int on_event(void *context, const struct eventring_event *event) {
  struct spans *s = context;
  struct eva_span_time time;
  bool ended = false;
  if (eva_shares_event(s->shares, event, &time, &ended) < 0) no_memory();
  if (query_is_past_end(&s->q, event->ns)) s->late = *event;
  if (ended && wants(&s->q, event) && query_is_past_start(&s->q, event->ns) &&
      !query_is_past_end(&s->q, event->ns))
    count_span(s, event, &time);
  return 0;
}

static int on_batch(void *context, const struct eventring_batch *batch) {
  struct spans *s = context;
  struct eva_span_time times[EVENTRING_BATCH];
  int taken = eva_shares_batch(s->shares, batch, times);
  if (taken < 0) no_memory();
  if (!taken) return eventring_batch_each(batch, on_event, s);
  if (query_wants_domain(&s->q, batch->domain)) count_ended(s, batch, times);
  return 0;
}

static int on_lost(void *context, const struct eventring_loss *loss) {
  eva_shares_lost(((struct spans *)context)->shares, loss);
  return 0;
}

static int on_switch(void *context, const struct eventring_switch *change) {
  eva_shares_switch(((struct spans *)context)->shares, change);
  return 0;
}

static int on_open(void *context, const struct eventring_event *event) {
  struct spans *s = context;
  if (!wants(&s->q, event) || query_is_past_end(&s->q, event->ns)) return 0;
  struct kind *kind = kind_of(s, event->id);
  const struct open_span open = query_open_span(&s->q, &s->known, event);
  s->open_count++;
  if (!kind->open++) kind->longest_open = open.so_far;
  kind->longest_open = eva_so_far_longer(kind->longest_open, open.so_far);
  if (s->q.top && eva_top_add(&s->open, &open) < 0) no_memory();
  return 0;
}

static void add_plain(struct kind *kind) {
  struct times *times = &kind->times;
  times->ns = eva_add(times->ns, kind->plain);
  times->own = eva_add(times->own, kind->plain_own);
  times->own_of = eva_add(times->own_of, kind->plain);
  times->parts_of = eva_add(times->parts_of, kind->plain);
}

static void sort_names(struct spans *s) {
  s->names = (struct eva_top){.size = sizeof(struct name), .most = s->kind_count};
  for (int id = 0; id < EVENTRING_MAX_EVENTS; id++) {
    struct kind *kind = s->kinds[id];
    if (kind) add_plain(kind);
    if (kind && eva_top_add(&s->names, &(struct name){kind->times.ns, kind}) < 0) no_memory();
  }
  eva_top_sort(&s->names);
}

/* ---- The values of the longest spans, looked up ------------------------------- */

struct lookup {
  struct row *row;
  eventring_cursor *cursor;
};

static int look_at_event(void *context, const struct eventring_event *event) {
  const struct lookup *lookup = context;
  struct row *row = lookup->row;
  char *text = NULL;
  size_t size;
  if (event->kind != EVENTRING_BEGIN || event->ns != row->begin_ns || event->id != row->id ||
      event->domain != row->domain || (row->incarnation && event->context != row->context))
    return event->ns > row->begin_ns;
  row->incarnation = event->incarnation;
  row->context = event->context;
  FILE *out = open_memstream(&text, &size);
  if (!out) no_memory();
  dump_value(out, lookup->cursor, event);
  fclose(out);
  row->value = text;
  return 1;
}

/* Looks up the value of a row. (Errors of the file were reported when it was read.) */
static void look_up(struct spans *s, struct row *row) {
  static const struct eventring_callbacks callbacks = {sizeof callbacks, look_at_event, NULL};
  struct lookup lookup = {row, query_look_up(&s->q, row->begin_ns)};
  if (!lookup.cursor) return;
  eva_read_all(lookup.cursor, &callbacks, &lookup);
}

static void complete_rows(struct spans *s) {
  bool looks_up = query_can_look_up(&s->q);
  for (size_t i = 0; i < s->top.count; i++) {
    struct row *row = eva_top_at(&s->top, i);
    add_times(&row->times, &row->time);
    if (looks_up) look_up(s, row);
  }
  query_looked_up(&s->q);
}

static void read_recording(struct spans *s) {
  static const struct eventring_callbacks callbacks = {sizeof callbacks, on_event, on_lost};
  s->shares = eva_shares_new();
  if (!s->shares) no_memory();
  s->top = (struct eva_top){.size = sizeof(struct row), .most = s->q.top, .before = is_earlier};
  s->q.batch = on_batch;
  s->q.order = EVA_SHARES_ORDER;
  look_for_name(&s->q);
  query_read(&s->q, &callbacks, on_switch, s);
  s->open = (struct eva_top){.size = sizeof(struct open_span), .most = s->q.top};
  query_open_spans(&s->q, &s->known, &s->late, on_open, s);
  eva_top_sort(&s->open);
  eva_top_sort(&s->top);
  complete_rows(s);
  sort_names(s);
}

static const struct kind *kind_at(const struct spans *s, size_t i) {
  return ((const struct name *)eva_top_row(&s->names, i))->kind;
}

/* ---- Views -------------------------------------------------------------------- */

enum { SUSPENDED = EVA_PARTS, OWN };

/* Returns a share: "12.3%"; "-" if it is 0, "?" if it is not known. */
VIEW_GETTER(share, struct times) {
  const bool is_part = column->argument < EVA_PARTS;
  uint64_t of = is_part ? row->parts_of : column->argument == OWN ? row->own_of : row->ns;
  uint64_t part = is_part ? row->part[column->argument]
                  : column->argument == OWN ? row->own : row->suspended;
  if (!of && row->ns) return view_text("?");
  if (!part || !of) return view_none();
  double share = 100.0 * (double)part / (double)of;
  return view_printf(to, "%.1f%%", share > 100 ? 100.0 : share);
}

static VIEW(share_view, struct times,
    {NULL, "?GC", VIEW_PLAIN, VIEW_GET(TEXT, share), .argument = EVA_COLLECTOR},
    {NULL, "?waits", VIEW_PLAIN, VIEW_GET(TEXT, share), .argument = EVA_WAITING},
    {NULL, "?suspended", VIEW_PLAIN, VIEW_GET(TEXT, share), .argument = SUSPENDED},
    {NULL, "own", VIEW_PLAIN, VIEW_GET(TEXT, share), .argument = OWN})

static bool is_open(const void *row) { return ((const struct kind *)row)->open > 0; }

static VIEW(kind_view, struct kind,
    {"name", "<+span", VIEW_DEF, ROW(id)},
    {"id", NULL, VIEW_PLAIN, ROW(id)},
    {"count", "count", VIEW_COUNT, ROW(durations.count)},
    {"total_ns", "total", VIEW_NS, ROW(durations.total), .flags = VIEW_DASH_0},
    {"min_ns", NULL, VIEW_NS, ROW(durations.min)},
    {"p50_ns", "median", VIEW_NS, VIEW_QUANTILE(struct kind, durations, 50000),
     .flags = VIEW_DASH_0},
    {"p99_ns", NULL, VIEW_NS, VIEW_QUANTILE(struct kind, durations, 99000)},
    {"max_ns", "longest", VIEW_NS, ROW(durations.max), .flags = VIEW_DASH_0},
    {.form = VIEW_INCLUDE, .offset = offsetof(struct kind, times), .view = &share_view},
    {"suspended_ns", NULL, VIEW_NS, ROW(times.suspended)},
    {"own_ns", NULL, VIEW_NS, ROW(times.own)},
    {"own_of_ns", NULL, VIEW_NS, ROW(times.own_of), .help = "durations of which `own` is known"},
    {"gc_ns", NULL, VIEW_NS, ROW(times.part[EVA_COLLECTOR])},
    {"waiting_ns", NULL, VIEW_NS, ROW(times.part[EVA_WAITING])},
    {"parts_of_ns", NULL, VIEW_NS, ROW(times.parts_of),
     .help = "durations of which `gc` and `waiting` are known"},
    {"open", "?open", VIEW_COUNT, ROW(open), .flags = VIEW_DASH_0},
    {.form = VIEW_INCLUDE, .offset = offsetof(struct kind, longest_open), .has = is_open,
     .view = &so_far_view})

static void all_kinds(struct view_to *to, const void *answer) {
  const struct spans *s = answer;
  size_t count = s->names.count;
  if (view_is_text(to) && count > s->q.top) count = s->q.top;
  for (size_t i = 0; i < count; i++) view_row(to, kind_at(s, i));
}

VIEW_GETTER(value, struct row) {
  const size_t sign = strlen(" = ");
  return view_text(row->value && strlen(row->value) > sign ? row->value + sign : NULL);
}

static VIEW(row_view, struct row,
    {"ns", "at", VIEW_MOMENT, ROW(begin_ns)},
    {"domain", "=domain", VIEW_PLAIN, ROW(domain)},
    {"incarnation", NULL, VIEW_PLAIN, ROW(incarnation)},
    {"context", NULL, VIEW_PLAIN, ROW(context)},
    {"duration_ns", "duration", VIEW_NS, ROW(ns)},
    {.form = VIEW_INCLUDE, .offset = offsetof(struct row, times), .view = &share_view},
    {"suspended_ns", NULL, VIEW_NS, ROW(time.suspended)},
    {"own_ns", NULL, VIEW_NS, ROW(time.own), VIEW_IF(time.knows_own)},
    {"gc_ns", NULL, VIEW_NS, ROW(time.part[EVA_COLLECTOR]), VIEW_IF(time.knows_parts)},
    {"waiting_ns", NULL, VIEW_NS, ROW(time.part[EVA_WAITING]),
     VIEW_IF(time.knows_parts)},
    {"name", "<+span", VIEW_DEF, ROW(id)},
    {"id", NULL, VIEW_PLAIN, ROW(id)},
    {"value_text", "<?+value", VIEW_PLAIN, VIEW_GET(TEXT, value), .flags = VIEW_MAYBE,
     .help = "of its begin, as in the text of `dump`"})

static void all_rows(struct view_to *to, const void *answer) {
  const struct spans *s = answer;
  for (size_t i = 0; i < s->top.count; i++) view_row(to, eva_top_row(&s->top, i));
}

static VIEW(open_view, struct open_span,
    {.form = VIEW_INCLUDE, .view = &open_span_view},
    {"name", "<+span", VIEW_DEF, ROW(id)},
    {"id", NULL, VIEW_PLAIN, ROW(id)})

static void all_open(struct view_to *to, const void *answer) {
  const struct spans *s = answer;
  for (size_t i = 0; i < s->open.count; i++) view_row(to, eva_top_row(&s->open, i));
}

VIEW_GETTER(count, struct spans) {
  uint64_t sum = 0;
  for (size_t i = 0; i < row->names.count; i++) sum += kind_at(row, i)->durations.count;
  return view_uint(sum);
}

static VIEW(total_view, struct spans,
    {"count", NULL, VIEW_COUNT, VIEW_GET(UINT, count)},
    {"over", NULL, VIEW_COUNT, ROW(over), .help = "number of spans of at least --over"},
    {"open", NULL, VIEW_COUNT, ROW(open_count)},
    {"names", NULL, VIEW_ROWS, .view = &kind_view, .rows = all_kinds})

static VIEW(spans_view, struct spans,
    {.form = VIEW_INCLUDE, .offset = offsetof(struct spans, q), .view = &query_view},
    {"total", NULL, VIEW_OBJECT, .view = &total_view},
    {"rows", NULL, VIEW_ROWS, .view = &row_view, .rows = all_rows, .flags = VIEW_MAIN},
    {"open_spans", NULL, VIEW_ROWS, .view = &open_view, .rows = all_open})

static bool is_span_of_class(const struct eventring_def *def, uint64_t classes) {
  return def && def->kind == EVENTRING_DEF_SPAN && classes >> def->event_class & 1;
}

/* Returns how many spans of these classes are defined. If `prints`, prints the first
   names. */
static unsigned name_spans(const struct query *q, uint64_t classes, bool prints) {
  enum { SHOWN = 10 };
  unsigned count = 0;
  for (unsigned id = 0; id < EVENTRING_MAX_EVENTS; id++) {
    const struct eventring_def *def = eventring_cursor_def(q->reader.cursor, id);
    if (!is_span_of_class(def, classes)) continue;
    if (prints && count < SHOWN) {
      fputs(count ? ", " : "Those that there are: ", stdout);
      print_foreign_text(stdout, def->name);
    }
    count++;
  }
  if (prints && count) puts(count > SHOWN ? " ..." : "");
  return count;
}

/* Prints that no span was found, and what to ask instead. */
static void print_none(const struct spans *s) {
  const struct query *q = &s->q;
  const uint64_t user = EVENTRING_CLASS_BIT(EVENTRING_CLASS_USER);
  const uint64_t classes = q->classes ? q->classes : user;
  if (classes & ~q->info.classes)
    printf("\nClass `%s' is not recorded (switch it on: `eventring control PID --enable CLASS').\n",
           q->class_name ? q->class_name : "user");
  else if (q->class_name || name_spans(q, user, false) > 0)
    puts("\nNo such span was recorded.");
  else
    puts("\nThe program has recorded no span of its own. It can: eventring.span(name, f) in\n"
         "Lua, the probes of libeventring in C. What shows more without that:\n"
         "  eventring pauses PID|FILE           the steps of the collector\n"
         "  eventring profile --hz 1000 PID     where the time goes, by samples\n"
         "  eventring spans --class CLASS ...   the spans of a class of the runtime");
  if (q->name.text) name_spans(q, classes, true);
}

static void print_text(const struct spans *s) {
  struct view_to to = query_output(&s->q);
  char open[EVA_FIGURE + 32];
  query_head(&s->q, stdout);
  if (s->kind_count == 0) {
    print_none(s);
    return;
  }
  view_section(&to, "Spans by name (shares of their time; own: not in spans within)", &kind_view,
               all_kinds, s);
  if (s->q.top < s->names.count)
    printf("  and %zu more (--top)\n", s->names.count - (size_t)s->q.top);
  if (s->over_ns)
    printf("\n%s of at least %s\n", eva_count(s->over), eva_duration(s->over_ns));
  view_section(&to, "The longest (own: not in spans within)", &row_view, all_rows, s);
  snprintf(open, sizeof open, "Open: %s%s", eva_count(s->open_count),
           s->open_count > s->open.count ? ", the longest" : "");
  view_section(&to, open, &open_view, all_open, s);
}

/* ---- The command -------------------------------------------------------------- */

static int read_words(const struct command *self, int count, char **words, struct spans *s,
                      struct operands *operands) {
  struct query *q = &s->q;
  const struct option_spec specs[] = {
      QUERY_SPECS(q, spans_view),
      {"class", 'c', OPTION_TEXT, &q->class_name, "NAME",
       "spans of this class, not those of the program"},
      NAME_SPEC(&q->name, "spans"),
      {"over", 0, OPTION_SECONDS, &s->over_ns, "TIME", "only those that took TIME or more: 1ms"}};
  int status = options_parse(self, OPTION_SPECS(specs), count, words, operands);
  if (goes_on(status)) status = time_window_check(self, &q->window);
  return goes_on(status) ? require_target(self, operands, true) : status;
}

void spans_free(struct spans *s) {
  if (!s) return;
  for (int id = 0; id < EVENTRING_MAX_EVENTS; id++)
    if (s->kinds[id]) eva_histogram_free(&s->kinds[id]->durations), free(s->kinds[id]);
  for (size_t i = 0; i < s->top.count; i++) free(((struct row *)eva_top_at(&s->top, i))->value);
  eva_top_free(&s->top);
  eva_top_free(&s->names);
  eva_top_free(&s->open);
  eva_shares_free(s->shares);
  free(s);
}

int command_spans(const struct command *self, int count, char **words) {
  struct spans *s = need_zeroed(1, sizeof *s);
  struct operands operands;
  s->q = (struct query)QUERY_NEW(8);
  int status = read_words(self, count, words, s, &operands);
  if (goes_on(status)) status = query_open(&s->q, &operands);
  if (goes_on(status)) {
    read_recording(s);
    if (view_wants_text(&s->q.as)) print_text(s);
    else query_put(&s->q, &spans_view, s);
    status = reader_close(&s->q.reader, STATUS_OK);
  }
  spans_free(s);
  return status;
}

/* ---- For a page --------------------------------------------------------------- */

static void note_kept(void *context, const struct page_span *span,
                      const struct page_owner *owner) {
  struct spans *s = context;
  const struct page_lane lane = page_track_lane(s->page->lists, span->track);
  const struct eventring_def *def = eventring_cursor_def(s->page->cursor, span->id);
  if (span->flags || !def || !wants_class(&s->q, lane.ring, def->event_class)) return;
  const struct eva_span_time time = {
      .ns = span->ns, .suspended = span->suspended, .own = span->own,
      .part = {[EVA_COLLECTOR] = span->part[EVA_COLLECTOR],
               [EVA_WAITING] = span->part[EVA_WAITING]},
      .knows_own = span->knows_own, .knows_parts = span->knows_parts};
  note_long(s, &(struct row){.ns = span->ns, .begin_ns = span->begin_ns,
                             .context = owner->context, .domain = lane.slot,
                             .incarnation = owner->incarnation, .id = span->id, .time = time,
                             .said = span->value});
}

/* Tells whether the page may have missed the values of begins. (They are kept by depth,
   and a span ends at another depth if spans around it were lost.) */
static bool misses_values(const struct page_run *run, const struct row *row) {
  return row->begin_ns < run->since || run->totals.lost || run->totals.torn;
}

static void complete_kept(struct spans *s, struct row *row) {
  size_t size;
  add_times(&row->times, &row->time);
  if (!row->said && misses_values(s->page, row)) {
    look_up(s, row);
    return;
  }
  FILE *out = open_memstream(&row->value, &size);
  if (!out) no_memory();
  page_value_print(s->page, row->said, out);
  if (fclose(out) != 0) no_memory();
}

struct spans *spans_taken(struct page_run *run, uint64_t top) {
  struct spans *s = need_zeroed(1, sizeof *s);
  s->q = (struct query)QUERY_NEW(top);
  s->q.target = run->info.path;
  s->page = run;
  s->top = (struct eva_top){.size = sizeof(struct row), .most = top, .before = is_earlier};
  page_spans_longest(run->events->spans, note_kept, s);
  eva_top_sort(&s->top);
  for (size_t i = 0; i < s->top.count; i++) complete_kept(s, eva_top_at(&s->top, i));
  query_looked_up(&s->q);
  if (s->top.count) return s;
  spans_free(s);
  return NULL;
}

void spans_data(const struct spans *s, struct eva_json *json) {
  struct view_to to = {.cursor = s->page->cursor, .start_ns = s->page->info.start_ns};
  view_data(&to, json, &spans_view, "rows", s);
}
