/* SPDX-License-Identifier: MIT */
/* cmd_spans.c: `eventring spans`: the longest spans of the program, and what their time was
 * spent on: the collector, waiting, being suspended, the span itself. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/histogram.h"
#include "analysis/saturating.h"
#include "analysis/shares.h"
#include "analysis/so_far.h"
#include "analysis/top.h"
#include "analysis/units.h"
#include "question.h"
#include "text_table.h"

/* What some spans took together. */
struct times {
  uint64_t ns, suspended;
  uint64_t own, own_of;                 /* of those of which it is known; ns of these */
  uint64_t part[EVA_PARTS], parts_of;   /* the same */
};

struct kind { /* the spans of one definition */
  uint16_t id;
  uint64_t open;
  struct eva_so_far longest_open;
  struct times times;
  uint64_t plain, plain_own; /* ns of those of which all is known and that have nothing in the
                                other parts: in `times` once all is read. (Each is as short as
                                a batch, so these do not wrap.) */
  struct eva_histogram durations;
};

struct row {
  uint64_t ns; /* its key */
  uint64_t begin_ns, context;
  uint32_t domain, incarnation;
  uint16_t id;
  struct eva_span_time time;
};

struct open { /* a span that has not ended */
  uint64_t ns;  /* its key: for how long, so far */
  uint64_t begin_ns, context;
  uint32_t domain, incarnation;
  uint16_t id;
  struct eva_so_far so_far;
};

struct spans {
  struct question q;
  uint64_t over_ns, over;
  struct eva_shares *shares;
  struct kind *kinds[EVENTRING_MAX_EVENTS];
  struct eva_top top, names; /* rows; pointers to kinds by their total (struct name) */
  struct eva_top open;       /* the longest of those that are open */
  uint64_t open_count;
  struct eva_known known;
  struct eventring_event late; /* the first event after the window; zeroed: none came */
  size_t kind_count;
};

struct name {
  uint64_t total;
  const struct kind *kind;
};

/* ---- Reading ------------------------------------------------------------------------- */

static bool wants_class(const struct question *q, uint8_t ring, uint8_t event_class) {
  if (q->classes) return q->classes >> event_class & 1;
  return ring == EVENTRING_USER || event_class == EVENTRING_CLASS_USER;
}

/* Is it one of the program's, or of what was asked for? */
static bool wants(const struct question *q, const struct eventring_event *event) {
  if (!question_wants_domain(q, event->domain)) return false;
  if (q->name && strcmp(q->name, event->name) != 0) return false;
  return wants_class(q, event->ring, event->event_class);
}

static struct kind *kind_of(struct spans *s, uint16_t id) {
  struct kind **place = &s->kinds[id % EVENTRING_MAX_EVENTS];
  if (!*place) {
    *place = need_zeroed(1, sizeof **place);
    (*place)->id = id;
    s->kind_count++;
  }
  return *place;
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

/* (Events of a window without an end.) */
static bool wants_brief(struct spans *s, const struct eventring_batch *batch,
                        const struct eventring_brief *event) {
  if (!wants_class(&s->q, batch->ring, event->event_class)) return false;
  if (s->q.name && strcmp(s->q.name, question_name(&s->q, event->id)) != 0) return false;
  return question_is_past_start(&s->q, batch->earliest_ns + event->after);
}

static bool wants_all(const struct question *q, const struct eventring_batch *batch) {
  bool classes = q->classes ? !(batch->classes & ~q->classes) : batch->ring == EVENTRING_USER;
  return classes && !q->name && question_is_past_start(q, batch->earliest_ns);
}

static void note_brief(struct spans *s, const struct eventring_batch *batch,
                       const struct eventring_brief *ended, const struct eva_span_time *time) {
  note_long(s, &(struct row){.ns = time->ns,
                             .begin_ns = batch->earliest_ns + ended->after - time->ns,
                             .context = batch->context, .domain = batch->domain,
                             .incarnation = batch->incarnation, .id = ended->id, .time = *time});
}

/* A span may be one of the rows if it took so long. */
static uint64_t least_row(const struct spans *s) {
  uint64_t least = s->q.top ? eva_top_least(&s->top) : UINT64_MAX;
  return least > s->over_ns ? least : s->over_ns;
}

/* A span of a batch that is counted, and is perhaps one of the rows. */
static void note_ended(struct spans *s, const struct eventring_batch *batch,
                       const struct eventring_brief *ended, const struct eva_span_time *time) {
  if (time->ns < s->over_ns) return;
  s->over++;
  if (time->ns >= least_row(s)) note_brief(s, batch, ended, time);
}

/* One of which there are few: it began before the batch (`outer`), or may not be wanted. */
static void count_carefully(struct spans *s, const struct eventring_batch *batch,
                            const struct eventring_brief *ended,
                            const struct eva_span_time *outer) {
  const struct eva_span_time plain = eva_shares_time(ended);
  if (!wants_all(&s->q, batch) && !wants_brief(s, batch, ended)) return;
  count_in_kind(kind_of(s, ended->id), outer ? outer : &plain);
  note_ended(s, batch, ended, outer ? outer : &plain);
}

/* `times`: of those that began before the batch. (The loop has what it needs in locals.) */
static void count_ended(struct spans *s, const struct eventring_batch *batch,
                        const struct eva_span_time *times) {
  const struct eventring_brief *ended = batch->ended, *const end = ended + batch->ended_count;
  const bool all = wants_all(&s->q, batch);
  struct kind *const *const kinds = s->kinds;
  /* those that take less are not noted; all are `over` nothing, also those */
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
  if (question_is_past_end(&s->q, event->ns)) s->late = *event;
  if (ended && wants(&s->q, event) && question_is_past_start(&s->q, event->ns) &&
      !question_is_past_end(&s->q, event->ns))
    count_span(s, event, &time);
  return 0;
}

static int on_batch(void *context, const struct eventring_batch *batch) {
  struct spans *s = context;
  struct eva_span_time times[EVENTRING_BATCH];
  int taken = eva_shares_batch(s->shares, batch, times);
  if (taken < 0) no_memory();
  if (!taken) return eventring_batch_each(batch, on_event, s);
  if (question_wants_domain(&s->q, batch->domain)) count_ended(s, batch, times);
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
  if (!wants(&s->q, event) || question_is_past_end(&s->q, event->ns)) return 0;
  struct kind *kind = kind_of(s, event->id);
  struct open open = {.begin_ns = event->ns, .context = event->context, .domain = event->domain,
                      .incarnation = event->incarnation, .id = event->id,
                      .so_far = eva_so_far(&s->known, s->q.reader.cursor, event)};
  open.ns = open.so_far.ns;
  s->open_count++;
  if (!kind->open++) kind->longest_open = open.so_far;
  kind->longest_open = eva_so_far_longer(kind->longest_open, open.so_far);
  if (s->q.top && eva_top_add(&s->open, &open) < 0) no_memory();
  return 0;
}

static void read_open(struct spans *s) {
  struct eventring_event late;
  s->open = (struct eva_top){.size = sizeof(struct open), .most = s->q.top};
  eva_known_find(&s->known, s->q.reader.cursor, s->q.window.until);
  eventring_open_spans(s->q.reader.cursor, on_open, s);
  /* that which the first event after the window has ended */
  if (eva_open_before(&s->late, s->q.window.until, &late)) on_open(s, &late);
  eva_top_sort(&s->open);
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

static void read_recording(struct spans *s) {
  static const struct eventring_callbacks callbacks = {on_event, on_lost};
  s->shares = eva_shares_new();
  if (!s->shares) no_memory();
  s->top = (struct eva_top){.size = sizeof(struct row), .most = s->q.top};
  s->q.batch = on_batch;
  question_read(&s->q, &callbacks, on_switch, s);
  read_open(s);
  eva_top_sort(&s->top);
  sort_names(s);
}

static const struct kind *kind_at(const struct spans *s, size_t i) {
  return ((const struct name *)eva_top_row(&s->names, i))->kind;
}

static const struct row *row_at(const struct spans *s, size_t i) {
  return eva_top_row(&s->top, i);
}

static const struct open *open_at(const struct spans *s, size_t i) {
  return eva_top_row(&s->open, i);
}

/* ---- Text ---------------------------------------------------------------------------- */

static void cell_duration(struct table *table, uint64_t ns) {
  char figure[EVA_FIGURE];
  table_cell(table, eva_duration_text(figure, ns));
}

/* "12.3%"; "-": none of it, "?": not known. */
static void cell_share(struct table *table, uint64_t part, uint64_t whole, bool known) {
  char text[16];
  double share = whole ? 100.0 * (double)part / (double)whole : 0;
  snprintf(text, sizeof text, "%.1f%%", share > 100 ? 100.0 : share);
  table_cell(table, !known ? "?" : part ? text : "-");
}

static void share_cells(struct table *table, const struct times *times) {
  for (int p = 0; p < EVA_PARTS; p++)
    cell_share(table, times->part[p], times->parts_of, times->parts_of > 0 || !times->ns);
  cell_share(table, times->suspended, times->ns, true);
  cell_share(table, times->own, times->own_of, times->own_of > 0 || !times->ns);
}

#define SHARE_TITLES "?GC", "?waits", "?suspended", "own"

static void print_names(const struct spans *s) {
  char figure[EVA_FIGURE];
  TABLE(table, "<+span", "count", "total", "median", "longest", SHARE_TITLES, "?open");
  size_t shown = s->names.count < s->q.top ? s->names.count : s->q.top;
  for (size_t i = 0; i < shown; i++) {
    const struct kind *kind = kind_at(s, i);
    table_cell(&table, question_name(&s->q, kind->id));
    table_cell(&table, eva_count_text(figure, kind->durations.count));
    if (kind->durations.count) {
      cell_duration(&table, kind->durations.total);
      cell_duration(&table, eva_histogram_quantile(&kind->durations, 50000));
      cell_duration(&table, kind->durations.max);
    } else {
      for (int none = 0; none < 3; none++) table_cell(&table, "-");
    }
    share_cells(&table, &kind->times);
    table_cell(&table, kind->open ? eva_count_text(figure, kind->open) : "-");
  }
  table_print(&table, stdout, 2);
  if (shown < s->names.count) printf("  and %zu more (--top)\n", s->names.count - shown);
}

static void print_rows(const struct spans *s) {
  char moment[MOMENT_TEXT], domain[16], figure[EVA_FIGURE];
  TABLE(table, "at", "domain", "duration", SHARE_TITLES, "<+span");
  bool several = false;
  for (size_t i = 1; i < s->top.count; i++) several |= row_at(s, i)->domain != row_at(s, 0)->domain;
  if (s->over_ns)
    printf("\n%s of at least %s", eva_count_text(figure, s->over),
           eva_duration_text((char[EVA_FIGURE]){0}, s->over_ns));
  puts(s->top.count ? "\nThe longest (at: seconds; own: not in spans within)" : "");
  for (size_t i = 0; i < s->top.count; i++) {
    const struct row *row = row_at(s, i);
    struct times times = {0};
    add_times(&times, &row->time);
    snprintf(domain, sizeof domain, "%u", row->domain);
    table_cell(&table, moment_text(moment, &s->q, row->begin_ns));
    table_cell(&table, several ? domain : "");
    cell_duration(&table, row->ns);
    share_cells(&table, &times);
    table_cell(&table, question_name(&s->q, row->id));
  }
  table_print(&table, stdout, 2);
}

static void print_open(const struct spans *s) {
  char moment[MOMENT_TEXT], figure[EVA_FIGURE], text[EVA_SO_FAR];
  if (!s->open.count) return;
  printf("\nOpen: %s%s\n", eva_count_text(figure, s->open_count),
         s->open_count > s->open.count ? ", the longest" : "");
  TABLE(table, "at", "domain", "for", "<+span");
  for (size_t i = 0; i < s->open.count; i++) {
    const struct open *open = open_at(s, i);
    table_cell(&table, moment_text(moment, &s->q, open->begin_ns));
    snprintf(text, sizeof text, "%u", open->domain);
    table_cell(&table, text);
    table_cell(&table, eva_so_far_text(text, &open->so_far));
    table_cell(&table, question_name(&s->q, open->id));
  }
  table_print(&table, stdout, 2);
}

static void print_text(const struct spans *s) {
  question_head(&s->q, stdout);
  if (s->kind_count == 0) {
    puts("\nNo such span was recorded.");
    return;
  }
  puts("\nSpans by name (shares of their time; own: not in spans within)");
  print_names(s);
  print_rows(s);
  print_open(s);
}

/* ---- JSON ---------------------------------------------------------------------------- */

static void put_known(struct eva_json *json, const char *key, uint64_t ns, bool known) {
  eva_json_key(json, key);
  if (known) eva_json_uint(json, ns);
  else eva_json_null(json);
}

static void put_kind(struct eva_json *json, const struct spans *s, const struct kind *kind) {
  const struct eva_histogram *durations = &kind->durations;
  const struct times *times = &kind->times;
  eva_json_open_object(json);
  question_put_name(&s->q, json, "name", kind->id);
  eva_json_uint_at(json, "id", kind->id);
  eva_json_uint_at(json, "count", durations->count);
  eva_json_uint_at(json, "open", kind->open);
  eva_json_uint_at(json, "total_ns", durations->total);
  eva_json_uint_at(json, "min_ns", durations->min);
  eva_json_uint_at(json, "p50_ns", eva_histogram_quantile(durations, 50000));
  eva_json_uint_at(json, "p99_ns", eva_histogram_quantile(durations, 99000));
  eva_json_uint_at(json, "max_ns", durations->max);
  eva_json_uint_at(json, "suspended_ns", times->suspended);
  eva_json_uint_at(json, "own_ns", times->own);
  eva_json_uint_at(json, "own_of_ns", times->own_of);
  eva_json_uint_at(json, "gc_ns", times->part[EVA_COLLECTOR]);
  eva_json_uint_at(json, "waiting_ns", times->part[EVA_WAITING]);
  eva_json_uint_at(json, "parts_of_ns", times->parts_of);
  if (kind->open) eva_so_far_put(json, &kind->longest_open);
  eva_json_close_object(json);
}

static void put_row(struct eva_json *json, const struct spans *s, const struct row *row) {
  const struct eva_span_time *time = &row->time;
  eva_json_open_object(json);
  question_put_name(&s->q, json, "name", row->id);
  eva_json_uint_at(json, "id", row->id);
  eva_json_uint_at(json, "ns", row->begin_ns);
  eva_json_uint_at(json, "domain", row->domain);
  eva_json_uint_at(json, "incarnation", row->incarnation);
  eva_json_uint_at(json, "context", row->context);
  eva_json_uint_at(json, "duration_ns", row->ns);
  eva_json_uint_at(json, "suspended_ns", time->suspended);
  put_known(json, "own_ns", time->own, time->knows_own);
  put_known(json, "gc_ns", time->part[EVA_COLLECTOR], time->knows_parts);
  put_known(json, "waiting_ns", time->part[EVA_WAITING], time->knows_parts);
  eva_json_close_object(json);
}

static void put_open(struct eva_json *json, const struct spans *s, const struct open *open) {
  eva_json_open_object(json);
  question_put_name(&s->q, json, "name", open->id);
  eva_json_uint_at(json, "id", open->id);
  eva_json_uint_at(json, "ns", open->begin_ns);
  eva_json_uint_at(json, "domain", open->domain);
  eva_json_uint_at(json, "incarnation", open->incarnation);
  eva_json_uint_at(json, "context", open->context);
  eva_so_far_put(json, &open->so_far);
  eva_json_close_object(json);
}

static void print_json(const struct spans *s) {
  struct eva_json json;
  eva_json_start(&json, stdout);
  eva_json_open_object(&json);
  question_put_head(&s->q, &json);
  eva_json_key(&json, "total");
  eva_json_open_object(&json);
  uint64_t count = 0;
  for (size_t i = 0; i < s->names.count; i++) count += kind_at(s, i)->durations.count;
  eva_json_uint_at(&json, "count", count);
  eva_json_uint_at(&json, "over", s->over);
  eva_json_uint_at(&json, "open", s->open_count);
  eva_json_key(&json, "names");
  eva_json_open_array(&json);
  for (size_t i = 0; i < s->names.count; i++) put_kind(&json, s, kind_at(s, i));
  eva_json_close_array(&json);
  eva_json_close_object(&json);
  eva_json_key(&json, "rows");
  eva_json_open_array(&json);
  for (size_t i = 0; i < s->top.count; i++) put_row(&json, s, row_at(s, i));
  eva_json_close_array(&json);
  eva_json_key(&json, "open_spans");
  eva_json_open_array(&json);
  for (size_t i = 0; i < s->open.count; i++) put_open(&json, s, open_at(s, i));
  eva_json_close_array(&json);
  eva_json_close_object(&json);
  eva_json_line(&json);
}

/* ---- The command --------------------------------------------------------------------- */

static int read_words(const struct command *self, int count, char **words, struct spans *s,
                      struct operands *operands) {
  struct question *q = &s->q;
  const struct option_spec specs[] = {
      QUESTION_SPECS(q),
      {"class", 'c', OPTION_TEXT, &q->class_name, "NAME",
       "spans of this class, not those of the program"},
      {"name", 0, OPTION_TEXT, &q->name, "NAME", "only spans of this name"},
      {"over", 0, OPTION_SECONDS, &s->over_ns, "TIME", "only those that took TIME or more: 1ms"}};
  int status = options_parse(self, OPTION_SPECS(specs), count, words, operands);
  if (status < 0) status = question_check(self, q);
  return status >= 0 ? status : require_target(self, operands, true);
}

static void free_spans(struct spans *s) {
  for (int id = 0; id < EVENTRING_MAX_EVENTS; id++)
    if (s->kinds[id]) eva_histogram_free(&s->kinds[id]->durations), free(s->kinds[id]);
  eva_top_free(&s->top);
  eva_top_free(&s->names);
  eva_top_free(&s->open);
  eva_shares_free(s->shares);
  free(s);
}

int command_spans(const struct command *self, int count, char **words) {
  struct spans *s = need_zeroed(1, sizeof *s);
  struct operands operands;
  s->q = (struct question)QUESTION_NEW(8);
  int status = read_words(self, count, words, s, &operands);
  if (status < 0) status = question_open(&s->q, &operands);
  if (status < 0) {
    read_recording(s);
    (s->q.json ? print_json : print_text)(s);
    status = reader_close(&s->q.reader, STATUS_OK);
  }
  free_spans(s);
  return status;
}
