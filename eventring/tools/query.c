/* SPDX-License-Identifier: MIT */
/* query.c: shared code of the commands that answer a query. */
#include "query.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/ending.h"
#include "analysis/figures.h"
#include "analysis/names.h"
#include "class_list.h"
#include "text_table.h"

int query_open(struct query *q, const struct operands *operands) {
  int status = reader_open(&q->reader, operands, q->prefix,
                           EVENTRING_OPEN_MERGED | EVENTRING_OPEN_AHEAD);
  if (!goes_on(status)) return status;
  q->target = operands->command ? NULL : operands->words[0];
  q->info.size = sizeof q->info;
  q->totals.size = sizeof q->totals;
  eventring_cursor_info(q->reader.cursor, &q->info); /* the poll reports any error */
  if (class_find(q->reader.cursor, q->class_name, &q->classes) &&
      time_window_apply(&q->window, q->reader.cursor)) return STATUS_GO_ON;
  return reader_close(&q->reader, STATUS_WRONG);
}

/* ---- Reading ------------------------------------------------------------------ */

static void note_time(struct query *q, uint64_t ns) {
  if (!query_is_past_start(q, ns) || query_is_past_end(q, ns)) return;
  if (!q->first_ns || ns < q->first_ns) q->first_ns = ns;
  if (ns > q->last_ns) q->last_ns = ns;
}

static int on_event(void *context, const struct eventring_event *event) {
  struct query *q = context;
  if (!(event->flags & EVENTRING_SYNTHETIC)) note_time(q, event->ns);
  return q->callbacks->event(q->context, event);
}

static int note_event(void *context, const struct eventring_event *event) {
  note_time(context, event->ns);
  return 0;
}

static int on_batch(void *context, const struct eventring_batch *batch) {
  struct query *q = context;
  if (batch->earliest_ns >= q->window.since) {
    note_time(q, batch->earliest_ns);
    note_time(q, batch->latest_ns);
  } else if (batch->latest_ns >= q->window.since) {
    eventring_batch_each(batch, note_event, q);
  }
  return q->batch(q->context, batch);
}

static int on_lost(void *context, const struct eventring_loss *loss) {
  const struct query *q = context;
  return q->callbacks->lost ? q->callbacks->lost(q->context, loss) : 0;
}

/* Runs the command again, on all recordings, if further processes of the PROGRAM have
   recorded. The command has printed nothing yet. */
static void answer_for_all(struct query *q) {
  char *all = reader_merge(&q->reader);
  if (!all) return;
  int status = run_of_file(all);
  free(all);
  end_command(reader_close(&q->reader, status));
}

void query_read(struct query *q, const struct eventring_callbacks *callbacks,
                int (*switched)(void *, const struct eventring_switch *), void *context) {
  static const struct eventring_callbacks own = {sizeof own, on_event, on_lost};
  q->callbacks = callbacks;
  q->context = context;
  if (switched) eventring_cursor_switches(q->reader.cursor, switched, context);
  /* (with `until`, reading ends at an event, and its batch could hold later ones) */
  if (q->batch && q->window.until == UINT64_MAX) {
    eventring_cursor_order(q->reader.cursor, q->order);
    const unsigned contents = EVENTRING_BATCH_ALL & ~EVENTRING_BATCH_CONTEXTS;
    if (eventring_cursor_batches(q->reader.cursor, contents, on_batch, q) == EVENTRING_E_MEMORY)
      no_memory();
  }
  const struct reading reading = {.callbacks = &own, .context = q,
                                  .follow = q->limit_ns > 0 || q->reader.launched,
                                  .limit_ns = q->limit_ns, .until = q->window.until};
  reader_run(&q->reader, &reading);
  answer_for_all(q);
  eventring_cursor_info(q->reader.cursor, &q->info);
  eventring_cursor_totals(q->reader.cursor, &q->totals);
}

void query_open_spans(const struct query *q, struct eva_known *known,
                      const struct eventring_event *late,
                      int (*open)(void *context, const struct eventring_event *begin),
                      void *context) {
  struct eventring_event begin;
  eva_known_find(known, q->reader.cursor, q->window.until);
  eventring_open_spans(q->reader.cursor, open, context);
  /* the span that the first event after the window has ended */
  if (eva_open_before(late, q->window.until, &begin)) open(context, &begin);
}

struct open_span query_open_span(const struct query *q, const struct eva_known *known,
                                 const struct eventring_event *begin) {
  const struct eva_so_far so_far = eva_so_far(known, q->reader.cursor, begin);
  return (struct open_span){.ns = so_far.ns, .begin_ns = begin->ns, .context = begin->context,
                            .domain = begin->domain, .incarnation = begin->incarnation,
                            .id = begin->id, .so_far = so_far};
}

bool query_can_look_up(const struct query *q) {
  enum { MOST = 64 }; /* for more, it is better to read the whole recording once */
  return q->target && q->info.liveness != EVENTRING_LIVE && q->top <= MOST;
}

eventring_cursor *query_look_up(struct query *q, uint64_t ns) {
  if (!q->again && eventring_open_any(&q->again, q->target,
                                      EVENTRING_OPEN_MERGED | EVENTRING_OPEN_FOLLOW, NULL))
    q->again = NULL;
  else
    eventring_cursor_again(q->again, ns);
  return q->again;
}

void query_looked_up(struct query *q) {
  eventring_close(q->again);
  q->again = NULL;
}

/* ---- Text --------------------------------------------------------------------- */

const char *query_name(const struct query *q, int id) {
  const struct eventring_def *def =
      id < 0 ? NULL : eventring_cursor_def(q->reader.cursor, (unsigned)id);
  return def ? def->name : "?";
}

char *moment_text(char text[MOMENT_TEXT], const struct query *q, uint64_t ns) {
  uint64_t start = q->info.start_ns, us = (ns > start ? ns - start : start - ns) / 1000;
  snprintf(text, MOMENT_TEXT, "%s%" PRIu64 ".%06" PRIu64, ns < start ? "-" : "", us / 1000000,
           us % 1000000);
  return text;
}

static void print_end(const struct eventring_info *info, FILE *out) {
  const struct eva_ending ending = eva_ending_of(info);
  char how[EVA_ENDING];
  eva_ending_text(how, &ending);
  if (info->liveness == EVENTRING_LIVE) fputs(", still running", out);
  else if (info->liveness == EVENTRING_SAVED) fputs(", a saved copy", out);
  else if (how[0]) fprintf(out, ", ended: %s", how);
  else fputs(info->liveness == EVENTRING_ENDED ? ", ended" : ", died", out);
}

/* Prints a path. If it does not fit, prints only its end, which distinguishes files. */
static void print_path(FILE *out, const char *path, size_t width) {
  size_t size = strlen(path), skipped = 0;
  if (size > width)
    for (skipped = size - width + 3; (path[skipped] & 0xC0) == 0x80;) skipped++;
  fputs(skipped ? "..." : "", out);
  print_foreign_text(out, path + skipped);
}

static bool heads_are_brief;

void query_heads_are_brief(void) { heads_are_brief = true; }

static void print_who(const struct eventring_info *info, FILE *out) {
  enum { PATH_WIDTH = 78 };
  char process[PROCESS_TEXT], no_room[EVA_NO_ROOM];
  size_t line = table_line(info->program, PATH_WIDTH / 2);
  print_foreign(out, info->program, line);
  fprintf(out, "%s, process %s", info->program[line] ? "..." : "", process_text(process, info));
  print_end(info, out);
  fputc('\n', out);
  if (eva_no_room_text(no_room, info)[0]) table_say(out, 0, 4, "no room: %s", no_room);
  print_path(out, info->path, PATH_WIDTH);
  fputc('\n', out);
}

void query_head(const struct query *q, FILE *out) {
  const struct eventring_info *info = &q->info;
  if (!heads_are_brief) print_who(info, out);
  fprintf(out, "events over %s",
          eva_duration(q->last_ns > q->first_ns ? q->last_ns - q->first_ns : 0));
  if (q->totals.lost) fprintf(out, "; %s were lost", eva_count(q->totals.lost));
  if (info->events_dropped)
    fprintf(out, "; %s of rings that found no room are gone", eva_count(info->events_dropped));
  if (q->totals.missed && !q->window.since)
    fprintf(out, "; %s before them were overwritten", eva_count(q->totals.missed));
  fputc('\n', out);
}

/* ---- Views -------------------------------------------------------------------- */

VIEW(open_span_view, struct open_span,
    {"ns", "at", VIEW_MOMENT, ROW(begin_ns)},
    {"domain", "domain", VIEW_PLAIN, ROW(domain)},
    {"incarnation", NULL, VIEW_PLAIN, ROW(incarnation)},
    {"context", NULL, VIEW_PLAIN, ROW(context)},
    {NULL, "for", VIEW_PLAIN, VIEW_GET(TEXT, view_so_far),
     .offset = offsetof(struct open_span, so_far)},
    {.form = VIEW_INCLUDE, .offset = offsetof(struct open_span, so_far), .view = &so_far_view})

static VIEW(window_view, struct query,
    {"start_ns", NULL, VIEW_MOMENT, ROW(info.start_ns), .help = "of the recording"},
    {"since_ns", NULL, VIEW_MOMENT, ROW(window.since), .flags = VIEW_NO_0},
    {"until_ns", NULL, VIEW_MOMENT, ROW(window.until), .flags = VIEW_NO_MAX},
    {"first_ns", NULL, VIEW_MOMENT, ROW(first_ns), .help = "of the events in the window"},
    {"last_ns", NULL, VIEW_MOMENT, ROW(last_ns)})

VIEW(query_view, struct query,
    {.form = VIEW_INCLUDE, .offset = offsetof(struct query, info), .view = &head_view},
    {"window", NULL, VIEW_OBJECT, .view = &window_view},
    {"loss", NULL, VIEW_OBJECT, .offset = offsetof(struct query, totals), .view = &loss_view})

struct view_to query_output(const struct query *q) {
  return (struct view_to){.out = stdout, .as = q->as, .cursor = q->reader.cursor,
                          .start_ns = q->info.start_ns};
}

void query_put(const struct query *q, view_function *view, const void *answer) {
  struct view_to to = query_output(q);
  view_object(&to, view, answer);
}
