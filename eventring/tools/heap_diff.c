/* SPDX-License-Identifier: MIT */
/* heap_diff.c: finds what grew between two heap profiles, whose figures are estimates.
 *
 * Rows are matched by name and site (diff_match.h): two recordings of a program have
 * different ids, and it may have been edited in between. The error of a difference is
 * that of two independent estimates. For two copies of one process, which share some
 * blocks, this is more than the real error. A difference counts if it exceeds three
 * standard errors. */
#include "heap_diff.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figures.h"
#include "analysis/saturating.h"
#include "diff_match.h"
#include "heap_query.h"
#include "heap_view.h"

enum { SIGMAS = 3 };

struct side {
  struct heap_query h;
  struct heap_view view;
  bool open;
};

struct row {
  char *name;
  const char *source;
  uint32_t line;
  size_t side;
  char label[HEAP_LABEL];
  struct eva_amount live[2], allocated[2]; /* amounts on side A and on side B */
};

struct diff {
  struct side side[2];
  enum heap_by by;
  struct row *rows; /* rows that differ come first */
  size_t count, beyond; /* number of rows, and of rows that differ by more than the
                           error */
  uint64_t top;
};

/* ---- Reading ------------------------------------------------------------------ */

static int read_side(struct side *s, char *path, enum heap_by by) {
  char *words[] = {path, NULL};
  struct operands operands = {.words = words, .count = 1};
  s->h = (struct heap_query)HEAP_QUERY_NEW;
  int status = heap_query_read(&s->h, &operands);
  if (!goes_on(status)) return status;
  s->open = true;
  heap_view_make(&s->view, s->h.heap, by, EVA_LIVE, s->h.q.reader.cursor);
  return STATUS_GO_ON;
}

static void add_rows(struct diff *d, int which) {
  const struct heap_view *v = &d->side[which].view;
  d->rows = need_resized(d->rows, d->count + v->count, sizeof *d->rows);
  for (uint32_t i = 1; i < v->count; i++) {
    const struct heap_node *node = &v->nodes[i];
    struct row *row = &d->rows[d->count++];
    char number[24], name[2 * HEAP_LABEL];
    const char *through = heap_through(v, node);
    snprintf(name, sizeof name, "%s%s%s", heap_name(v, node, number), through ? " > " : "",
             through ? through : "");
    *row = (struct row){.name = need_copy(name),
                        .source = heap_source(v, node), .line = node->line,
                        .side = (size_t)which};
    heap_label(row->label, v, node);
    row->live[which] = node->total[EVA_LIVE];
    row->allocated[which] = node->total[EVA_ALLOCATED];
  }
}

static double delta(const struct row *r) { return r->live[1].bytes - r->live[0].bytes; }

static double error_of(const struct row *r) {
  return hypot(eva_amount_error(&r->live[0]), eva_amount_error(&r->live[1]));
}

static bool is_beyond(const struct row *r) { return fabs(delta(r)) > SIGMAS * error_of(r) + 0.5; }

static int compare_deltas(const void *left, const void *right) {
  const struct row *a = left, *b = right;
  if (is_beyond(a) != is_beyond(b)) return is_beyond(a) ? -1 : 1;
  return (delta(a) < delta(b)) - (delta(a) > delta(b));
}

/* Joins the rows of the same site into one row, A's row if A has one. */
static void match(struct diff *d, bool lines) {
  struct diff_site *sites = need_zeroed(d->count + 1, sizeof *sites);
  size_t kept = 0;
  for (size_t i = 0; i < d->count; i++)
    sites[i] = (struct diff_site){.name = d->rows[i].name, .source = d->rows[i].source,
                                    .line = d->rows[i].line, .run = d->rows[i].side};
  diff_match(sites, d->count, 2, lines);
  for (size_t i = 0; i < d->count; i++) {
    struct row *to = &d->rows[sites[i].same], *from = &d->rows[i];
    for (int side = 0; to != from && side < 2; side++) {
      eva_amount_add(&to->live[side], &from->live[side]);
      eva_amount_add(&to->allocated[side], &from->allocated[side]);
    }
  }
  for (size_t i = 0; i < d->count; i++) {
    if (sites[i].same != i) free(d->rows[i].name);
    else d->rows[kept++] = d->rows[i];
  }
  free(sites);
  d->count = kept;
  if (d->count) qsort(d->rows, d->count, sizeof *d->rows, compare_deltas);
  while (d->beyond < d->count && is_beyond(&d->rows[d->beyond])) d->beyond++;
}

/* ---- Writing ------------------------------------------------------------------ */

static double total(const struct diff *d, int side) {
  return d->side[side].view.nodes[0].total[EVA_LIVE].bytes;
}

static void print_as_of(const struct diff *d) {
  char as_of[HEAP_AS_OF];
  for (int side = 0; side < 2; side++)
    if (heap_as_of(as_of, d->side[side].h.heap, d->side[side].h.q.info.start_ns))
      printf("alive in %c: %s\n", 'A' + side, as_of);
}

VIEW_GETTER(figure, double) { return view_uint(eva_whole(*row)); }
VIEW_GETTER(change, struct row) { return view_int(llround(delta(row))); }
VIEW_GETTER(error_bytes, struct row) { return view_uint(eva_whole(error_of(row))); }
VIEW_GETTER(beyond_error, struct row) { return view_bool(is_beyond(row)); }

/* Tells whether rows have a source; the context of `to` is the struct diff. */
static bool has_source(const struct view_to *to) {
  return ((const struct diff *)to->context)->by <= BY_FUNCTION;
}
VIEW_GETTER(source, struct row) { return view_text(has_source(to) ? row->source : NULL); }
VIEW_GETTER(line, struct row) { return has_source(to) ? view_uint(row->line) : view_none(); }

#define FIGURE(member) VIEW_GET(UINT, figure), .offset = offsetof(struct row, member)
static VIEW(row_view, struct row,
    {"change_bytes", "change", VIEW_BYTES, VIEW_GET(INT, change), .flags = VIEW_DASH_0},
    {"name", NULL, VIEW_PLAIN, ROW(name)},
    {"source", NULL, VIEW_PLAIN, VIEW_GET(TEXT, source), .flags = VIEW_MAYBE},
    {"line", NULL, VIEW_PLAIN, VIEW_GET(U32, line), .flags = VIEW_MAYBE},
    {"change_bytes_error", "error", VIEW_BYTES, VIEW_GET(UINT, error_bytes), .flags = VIEW_DASH_0},
    {"a_live_bytes", "A", VIEW_BYTES, FIGURE(live[0].bytes), .flags = VIEW_DASH_0},
    {"b_live_bytes", "B", VIEW_BYTES, FIGURE(live[1].bytes), .flags = VIEW_DASH_0},
    {NULL, VIEW_BY, VIEW_PLAIN, ROW(label)},
    {"a_live_objects", NULL, VIEW_COUNT, FIGURE(live[0].objects)},
    {"b_live_objects", NULL, VIEW_COUNT, FIGURE(live[1].objects)},
    {"a_allocated_bytes", NULL, VIEW_BYTES, FIGURE(allocated[0].bytes)},
    {"b_allocated_bytes", NULL, VIEW_BYTES, FIGURE(allocated[1].bytes)},
    {"beyond_error", NULL, VIEW_PLAIN, VIEW_GET(BOOL, beyond_error)})

VIEW_GETTER(total_live, struct diff) { return view_uint(eva_whole(total(row, column->argument))); }
VIEW_GETTER(sigmas, struct diff) { return view_uint(SIGMAS); }
VIEW_GETTER(by_name, struct diff) { return view_text(heap_by_names[row->by]); }

static VIEW(total_view, struct diff,
    {"a_live_bytes", NULL, VIEW_BYTES, VIEW_GET(UINT, total_live), .argument = 0},
    {"b_live_bytes", NULL, VIEW_BYTES, VIEW_GET(UINT, total_live), .argument = 1},
    {"sigmas", NULL, VIEW_PLAIN, VIEW_GET(UINT, sigmas), .help = "standard errors"})

/* Puts the rows; in text, only those that differ. */
static void put_rows(struct view_to *to, const void *diff) {
  const struct diff *d = diff;
  for (size_t i = 0; i < (view_is_text(to) ? d->beyond : d->count) && i < d->top; i++)
    view_row(to, &d->rows[i]);
}

VIEW(heap_diff_view, struct diff,
    {"by", NULL, VIEW_PLAIN, VIEW_GET(TEXT, by_name)},
    {"total", .form = VIEW_OBJECT, .view = &total_view},
    {"rows", .form = VIEW_ROWS, .view = &row_view, .rows = put_rows, .flags = VIEW_MAIN})

static void print_text(const struct diff *d, struct view_to *to) {
  char by[32];
  size_t shown = d->beyond < d->top ? d->beyond : (size_t)d->top;
  snprintf(by, sizeof by, "<+%s", heap_by_names[d->by]);
  to->by = by;
  printf("alive in A %s, in B %s; what differs by more than %d standard errors:\n",
         eva_bytes(eva_whole(total(d, 0))), eva_bytes(eva_whole(total(d, 1))), SIGMAS);
  print_as_of(d);
  putchar('\n');
  view_table(to, &row_view, put_rows, d, 0);
  if (!shown) puts("nothing");
  if (shown < d->count)
    printf("%s more, or within the error\n", eva_count(d->count - shown));
}

/* ---- The command -------------------------------------------------------------- */

int heap_diff(const struct heap_diff *options, char **paths) {
  struct diff d = {.by = options->by};
  struct view_to to = {.out = stdout, .context = &d, .as = options->as};
  int status = STATUS_GO_ON, worst = STATUS_OK;
  for (int side = 0; goes_on(status) && side < 2; side++) {
    status = read_side(&d.side[side], paths[side], d.by);
    if (goes_on(status)) add_rows(&d, side);
  }
  if (goes_on(status)) {
    const bool is_text = view_wants_text(&options->as);
    match(&d, d.by == BY_LINE);
    d.top = options->top ? options->top : is_text ? 20 : UINT64_MAX;
    if (is_text) print_text(&d, &to);
    else view_object(&to, &heap_diff_view, &d);
  }
  for (size_t i = 0; i < d.count; i++) free(d.rows[i].name);
  free(d.rows);
  for (int side = 0; side < 2; side++) {
    if (!d.side[side].open) continue;
    heap_view_free(&d.side[side].view);
    int closed = heap_query_close(&d.side[side].h, STATUS_OK);
    if (closed > worst) worst = closed;
  }
  return goes_on(status) ? worst : status;
}
