/* SPDX-License-Identifier: MIT */
/* coroutines_file.c: what a recording knows of coroutines.
 *
 * A coroutine gets a number, its context, with its first event. While it has open spans,
 * it records when it is suspended and resumed. So it is known since when coroutines with
 * open spans have been suspended. For other coroutines this is not known, and no stack is
 * known.
 */
#include "coroutines_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figures.h"
#include "analysis/so_far.h"
#include "reader.h"
#include "shared_views.h"

enum { CHAIN = 256 /* bytes for the names of a context's open spans */ };

/* What is known of a context. */
struct context {
  uint64_t number, left_ns; /* left_ns is the time of its suspension, 0 if it was
                               resumed */
  uint32_t domain, incarnation;
  size_t row; /* number of its row, from 1 on; 0 if it has none */
};

/* A context with open spans; after grouping, one context of a group. */
struct context_row {
  uint64_t context;
  uint32_t domain, incarnation;
  char domain_name[EVENTRING_MAX_DOMAIN_NAME + 1];
  char spans[CHAIN];     /* "request > query", the outermost first */
  uint64_t suspended_ns; /* ns for which it has been suspended; 0 if it runs or waits for
                            a coroutine that it resumed */
  bool suspended;
  uint64_t open_ns;      /* ns for which its outermost span has been open */
  uint64_t count, shortest_ns; /* number of contexts in the group, and their shortest
                                  suspension */
};

struct listing {
  const struct coroutines_request *request;
  struct reader reader;
  struct eventring_info info;
  struct eva_known known;
  struct context *contexts; /* a hash table of `room` buckets; a bucket is free if its
                               number is 0 */
  size_t context_count, room;
  struct context_row *rows;
  size_t row_count;
  uint64_t coroutines, groups;
};

/* ---- contexts ------------------------------------------------------------- */

static struct context *bucket_of(const struct listing *l, uint64_t number, uint32_t domain,
                                uint32_t incarnation) {
  uint64_t hash = (number * 128 + domain + ((uint64_t)incarnation << 40)) *
                  UINT64_C(0x9e3779b97f4a7c15);
  size_t i = (size_t)(hash >> 20) & (l->room - 1);
  for (; l->contexts[i].number != 0; i = (i + 1) & (l->room - 1))
    if (l->contexts[i].number == number && l->contexts[i].domain == domain &&
        l->contexts[i].incarnation == incarnation)
      break;
  return &l->contexts[i];
}

static void grow_table(struct listing *l) {
  struct listing larger = {.room = l->room ? 2 * l->room : 1024};
  larger.contexts = need_zeroed(larger.room, sizeof *larger.contexts);
  for (size_t i = 0; i < l->room; i++) {
    const struct context *c = &l->contexts[i];
    if (c->number != 0) *bucket_of(&larger, c->number, c->domain, c->incarnation) = *c;
  }
  free(l->contexts);
  l->contexts = larger.contexts;
  l->room = larger.room;
}

/* Returns a context. A new one is added, as not suspended. */
static struct context *context_of(struct listing *l, uint64_t number, uint32_t domain,
                                  uint32_t incarnation) {
  if (2 * l->context_count >= l->room) grow_table(l);
  struct context *c = bucket_of(l, number, domain, incarnation);
  if (c->number == 0) {
    *c = (struct context){.number = number, .domain = domain, .incarnation = incarnation};
    l->context_count++;
  }
  return c;
}

static int on_switch(void *listing, const struct eventring_switch *change) {
  if (change->context == 0) return 0;
  context_of(listing, change->context, change->domain, change->incarnation)->left_ns =
      change->resumed ? 0 : change->ns;
  return 0;
}

/* Handles an event. An event of a suspended context shows that it was resumed. */
static int on_event(void *listing, const struct eventring_event *event) {
  struct listing *l = listing;
  if (event->context == 0 || l->room == 0 || event->flags & EVENTRING_SYNTHETIC) return 0;
  bucket_of(l, event->context, event->domain, event->incarnation)->left_ns = 0;
  return 0;
}

/* ---- contexts with open spans ---------------------------------------------- */

static void add_row(struct listing *l, struct context *c, const struct eventring_event *open) {
  struct eventring_domain_info life = {.size = sizeof life, .name = "?"};
  struct context_row *row = NEED_NEXT(l->rows, l->row_count);
  *row = (struct context_row){.context = open->context, .domain = open->domain, .count = 1,
                              .incarnation = open->incarnation,
                              .open_ns = eva_so_far(&l->known, l->reader.cursor, open).ns};
  eventring_cursor_life(l->reader.cursor, open->domain, open->incarnation, &life);
  snprintf(row->domain_name, sizeof row->domain_name, "%s", life.name);
  const uint64_t until =
      eva_known_until(&l->known, l->reader.cursor, open->domain, open->incarnation);
  row->suspended = c->left_ns != 0;
  if (row->suspended && until > c->left_ns) row->suspended_ns = until - c->left_ns;
  c->row = l->row_count;
}

static int on_open(void *listing, const struct eventring_event *open) {
  struct listing *l = listing;
  if (open->context == 0 || open->flags & EVENTRING_MAY_BE_OVER ||
      (l->request->domain != UINT64_MAX && l->request->domain != open->domain))
    return 0;
  struct context *c = context_of(l, open->context, open->domain, open->incarnation);
  if (c->row == 0) add_row(l, c, open);
  struct context_row *row = &l->rows[c->row - 1];
  const size_t used = strlen(row->spans);
  snprintf(row->spans + used, sizeof row->spans - used, "%s%s", used ? " > " : "", open->name);
  return 0;
}

/* ---- groups ----------------------------------------------------------------- */

static int compare_chains(const struct context_row *a, const struct context_row *b) {
  if (a->domain != b->domain) return a->domain < b->domain ? -1 : 1;
  if (a->incarnation != b->incarnation) return a->incarnation < b->incarnation ? -1 : 1;
  if (a->suspended != b->suspended) return a->suspended ? -1 : 1;
  return strcmp(a->spans, b->spans);
}

static int by_age(const void *left, const void *right) {
  const struct context_row *a = left, *b = right;
  if (a->suspended_ns != b->suspended_ns) return a->suspended_ns < b->suspended_ns ? 1 : -1;
  if (a->open_ns != b->open_ns) return a->open_ns < b->open_ns ? 1 : -1;
  return (a->context > b->context) - (a->context < b->context);
}

static int by_chain(const void *left, const void *right) {
  const int order = compare_chains(left, right);
  return order != 0 ? order : by_age(left, right);
}

/* Makes groups; each is represented by its longest suspended context. */
static void make_groups(struct listing *l) {
  size_t kept = 0;
  if (l->row_count > 0) qsort(l->rows, l->row_count, sizeof *l->rows, by_chain);
  for (size_t i = 0; i < l->row_count; i++) {
    struct context_row row = l->rows[i];
    if (row.suspended_ns < l->request->least_ns) continue;
    l->coroutines++;
    row.shortest_ns = row.suspended_ns;
    if (kept == 0 || compare_chains(&l->rows[kept - 1], &row) != 0) {
      l->rows[kept++] = row;
      continue;
    }
    l->rows[kept - 1].count++;
    l->rows[kept - 1].shortest_ns = row.suspended_ns;
  }
  l->groups = l->row_count = kept;
  if (kept > 0) qsort(l->rows, kept, sizeof *l->rows, by_age);
  if (l->row_count > l->request->top) l->row_count = (size_t)l->request->top;
}

static void read_recording(struct listing *l) {
  static const struct eventring_callbacks callbacks = {sizeof callbacks, on_event, NULL};
  eventring_cursor *cursor = l->reader.cursor;
  const struct reading reading = {.callbacks = &callbacks, .context = l, .until = UINT64_MAX};
  eventring_cursor_switches(cursor, on_switch, l);
  reader_run(&l->reader, &reading);
  l->info.size = sizeof l->info;
  eventring_cursor_info(cursor, &l->info);
  eva_known_find(&l->known, cursor, UINT64_MAX);
  eventring_open_spans(cursor, on_open, l);
  make_groups(l);
}

/* ---- what is shown ------------------------------------------------------------ */

VIEW_GETTER(state, struct context_row) {
  return view_text(row->suspended ? "suspended" : "not suspended");
}

static VIEW(row_view, struct context_row,
    {"domain", "=domain", VIEW_PLAIN, ROW(domain)},
    {"domain_name", NULL, VIEW_PLAIN, ROW(domain_name)},
    {"state", "<=", VIEW_PLAIN, VIEW_GET(TEXT, state)},
    {"count", "coroutines", VIEW_COUNT, ROW(count)},
    {"suspended_ns", "suspended", VIEW_NS, ROW(suspended_ns), .flags = VIEW_DASH_0,
     .help = "for how long the longest suspended has been"},
    {"shortest_ns", NULL, VIEW_NS, ROW(shortest_ns),
     .help = "for how long the shortest suspended has been"},
    {"open_ns", "open", VIEW_NS, ROW(open_ns), .flags = VIEW_DASH_0,
     .help = "for how long the outermost span of the longest suspended has been open"},
    {"context", "e.g.", VIEW_PLAIN, ROW(context), .help = "context of the longest suspended"},
    {"spans", "<+spans, the outermost first", VIEW_PLAIN, ROW(spans)})

static void all_rows(struct view_to *to, const void *listing) {
  const struct listing *l = listing;
  for (size_t i = 0; i < l->row_count; i++) view_row(to, &l->rows[i]);
}

static VIEW(known_view, struct eva_known,
    {"is_now", NULL, VIEW_PLAIN, ROW(is_now),
     .help = "false: times are lower bounds, up to the last moment known"})

static VIEW(total_view, struct listing,
    {"coroutines", NULL, VIEW_COUNT, ROW(coroutines)},
    {"groups", NULL, VIEW_COUNT, ROW(groups)})

VIEW(coroutines_file_view, struct listing,
    {.form = VIEW_INCLUDE, .offset = offsetof(struct listing, info), .view = &head_view},
    {.form = VIEW_INCLUDE, .offset = offsetof(struct listing, known), .view = &known_view},
    {"rows", .form = VIEW_ROWS, .view = &row_view, .rows = all_rows, .flags = VIEW_MAIN},
    {"total", .form = VIEW_OBJECT, .view = &total_view})

static void print_text(const struct listing *l, struct view_to *to) {
  char process[PROCESS_TEXT];
  table_say(stdout, 0, 4, "%s, process %s: %s coroutines had spans open", l->info.program,
            process_text(process, &l->info), eva_count(l->coroutines));
  view_table(to, &row_view, all_rows, l, 2);
  if (l->groups > l->row_count)
    printf("and %s more groups (--top)\n", eva_count(l->groups - l->row_count));
  if (!l->known.is_now && l->coroutines > 0)
    table_say(stdout, 0, 0, "Times are up to the last moment that the recording knows of, so they "
              "are the least.");
  table_say(stdout, 0, 0, "A recording knows nothing of coroutines without open spans, and of none "
            "its stack, its memory, or the lines that created and resumed it (of a live process: "
            "eventring coroutines PID).");
}

int coroutines_file_show(const char *path, const struct coroutines_request *request) {
  struct listing l = {.request = request};
  int status = reader_open_target(&l.reader, path, EVENTRING_OPEN_MERGED);
  if (!goes_on(status)) return status;
  read_recording(&l);
  struct view_to to = {.out = stdout, .as = request->as, .cursor = l.reader.cursor,
                       .start_ns = l.info.start_ns};
  if (view_wants_text(&request->as)) print_text(&l, &to);
  else view_object(&to, &coroutines_file_view, &l);
  free(l.contexts);
  free(l.rows);
  return reader_close(&l.reader, STATUS_OK);
}
