/* SPDX-License-Identifier: MIT */
/* heap_diff.c: what grew between two heap profiles, of which figures are estimates.
 *
 * Rows are matched by name and place (diff_match.h): two recordings of a program have
 * different ids, and it may have been edited in between. The error of a difference is that of two independent estimates; of two
 * copies of one process, in which some blocks are the same, that is more than it is. A
 * difference counts if it is beyond three standard errors. */
#include "heap_diff.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/units.h"
#include "diff_match.h"
#include "heap_question.h"
#include "heap_view.h"
#include "text_table.h"

enum { SIGMAS = 3 };

struct side {
  struct heap_question h;
  struct heap_view view;
  bool open;
};

struct row {
  char *name;
  const char *source;
  uint32_t line;
  size_t side;
  char label[HEAP_LABEL];
  struct eva_amount live[2], allocated[2]; /* of A and of B */
};

struct diff {
  struct side side[2];
  struct row *rows;
  size_t count;
};

/* ---- Reading -------------------------------------------------------------------------- */

static int read_side(struct side *s, char *path, enum heap_by by) {
  char *words[] = {path, NULL};
  struct operands operands = {.words = words, .count = 1};
  s->h = (struct heap_question)HEAP_QUESTION_NEW;
  int status = heap_question_read(&s->h, &operands);
  if (status >= 0) return status;
  s->open = true;
  heap_view_make(&s->view, s->h.heap, by, EVA_LIVE, s->h.q.reader.cursor);
  return -1;
}

static void add_rows(struct diff *d, int which) {
  const struct heap_view *v = &d->side[which].view;
  d->rows = need_resized(d->rows, d->count + v->count, sizeof *d->rows);
  for (uint32_t i = 1; i < v->count; i++) {
    const struct heap_node *node = &v->nodes[i];
    struct row *row = &d->rows[d->count++];
    char number[24];
    *row = (struct row){.name = need_copy(heap_name(v, node, number)),
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

/* Rows of the same place become one: that of A, if it has one. */
static void match(struct diff *d, bool lines) {
  struct diff_place *places = need_zeroed(d->count + 1, sizeof *places);
  size_t kept = 0;
  for (size_t i = 0; i < d->count; i++)
    places[i] = (struct diff_place){.name = d->rows[i].name, .source = d->rows[i].source,
                                    .line = d->rows[i].line, .run = d->rows[i].side};
  diff_match(places, d->count, 2, lines);
  for (size_t i = 0; i < d->count; i++) {
    struct row *to = &d->rows[places[i].same], *from = &d->rows[i];
    for (int side = 0; to != from && side < 2; side++) {
      eva_amount_add(&to->live[side], &from->live[side]);
      eva_amount_add(&to->allocated[side], &from->allocated[side]);
    }
  }
  for (size_t i = 0; i < d->count; i++) {
    if (places[i].same != i) free(d->rows[i].name);
    else d->rows[kept++] = d->rows[i];
  }
  free(places);
  d->count = kept;
  if (d->count) qsort(d->rows, d->count, sizeof *d->rows, compare_deltas);
}

/* ---- Writing -------------------------------------------------------------------------- */

static uint64_t whole(double value) { return value > 0 ? (uint64_t)(value + 0.5) : 0; }

static void cell_bytes(struct table *table, double bytes, bool is_signed) {
  char figure[EVA_FIGURE], text[EVA_FIGURE + 2];
  const char *sign = !is_signed ? "" : bytes < 0 ? "-" : "+";
  snprintf(text, sizeof text, "%s%s", sign, eva_bytes_text(figure, whole(fabs(bytes))));
  table_cell(table, fabs(bytes) >= 0.5 ? text : "-");
}

static double total(const struct diff *d, int side) {
  return d->side[side].view.nodes[0].total[EVA_LIVE].bytes;
}

static void print_as_of(const struct diff *d) {
  char as_of[HEAP_AS_OF];
  for (int side = 0; side < 2; side++)
    if (heap_as_of(as_of, d->side[side].h.heap, d->side[side].h.q.info.start_ns))
      printf("alive in %c: %s\n", 'A' + side, as_of);
}

static void print_text(const struct diff *d, const char *by, uint64_t top) {
  static const char *titles[] = {"change", "error", "A", "B", "<+"};
  char last[32], a[EVA_FIGURE], b[EVA_FIGURE], figure[EVA_FIGURE];
  size_t shown = 0;
  struct table table;
  snprintf(last, sizeof last, "<+%s", by);
  titles[4] = last;
  printf("alive in A %s, in B %s; what differs by more than %d standard errors:\n",
         eva_bytes_text(a, whole(total(d, 0))), eva_bytes_text(b, whole(total(d, 1))), SIGMAS);
  print_as_of(d);
  putchar('\n');
  table_init(&table, titles, sizeof titles / sizeof titles[0]);
  for (; shown < d->count && shown < top && is_beyond(&d->rows[shown]); shown++) {
    const struct row *r = &d->rows[shown];
    cell_bytes(&table, delta(r), true);
    cell_bytes(&table, error_of(r), false);
    cell_bytes(&table, r->live[0].bytes, false);
    cell_bytes(&table, r->live[1].bytes, false);
    table_cell(&table, r->label);
  }
  table_print(&table, stdout, 0);
  if (!shown) puts("nothing");
  if (shown < d->count)
    printf("%s more, or within the error\n", eva_count_text(figure, d->count - shown));
}

static void put_row(struct eva_json *json, const struct row *r, bool has_source) {
  eva_json_open_object(json);
  eva_json_string_at(json, "name", r->name);
  if (has_source) eva_json_string_at(json, "source", r->source);
  if (has_source) eva_json_uint_at(json, "line", r->line);
  eva_json_uint_at(json, "a_live_bytes", whole(r->live[0].bytes));
  eva_json_uint_at(json, "b_live_bytes", whole(r->live[1].bytes));
  eva_json_uint_at(json, "a_live_objects", whole(r->live[0].objects));
  eva_json_uint_at(json, "b_live_objects", whole(r->live[1].objects));
  eva_json_uint_at(json, "a_allocated_bytes", whole(r->allocated[0].bytes));
  eva_json_uint_at(json, "b_allocated_bytes", whole(r->allocated[1].bytes));
  eva_json_int_at(json, "change_bytes", (int64_t)llround(delta(r)));
  eva_json_uint_at(json, "change_bytes_error", whole(error_of(r)));
  eva_json_bool_at(json, "beyond_error", is_beyond(r));
  eva_json_close_object(json);
}

static void print_json(const struct diff *d, enum heap_by by, uint64_t top) {
  struct eva_json json;
  eva_json_start(&json, stdout);
  eva_json_open_object(&json);
  eva_json_uint_at(&json, "version", 1);
  eva_json_string_at(&json, "by", heap_by_names[by]);
  eva_json_key(&json, "total");
  eva_json_open_object(&json);
  eva_json_uint_at(&json, "a_live_bytes", whole(total(d, 0)));
  eva_json_uint_at(&json, "b_live_bytes", whole(total(d, 1)));
  eva_json_uint_at(&json, "sigmas", SIGMAS);
  eva_json_close_object(&json);
  eva_json_key(&json, "rows");
  eva_json_open_array(&json);
  for (size_t i = 0; i < d->count && i < top; i++)
    put_row(&json, &d->rows[i], by == BY_LINE || by == BY_FUNCTION);
  eva_json_close_array(&json);
  eva_json_close_object(&json);
  eva_json_line(&json);
}

/* ---- The command ------------------------------------------------------------------------ */

static int find_by(const struct command *self, const char *name, enum heap_by *by) {
  *by = BY_LINE;
  if (!name) return -1;
  for (int i = BY_LINE; heap_by_names[i]; i++)
    if (strcmp(heap_by_names[i], name) == 0) {
      *by = (enum heap_by)i;
      return -1;
    }
  return usage_error(self, "`--by %s': must be line, function, kind, origin, span or domain", name);
}

int heap_diff(const struct command *self, const struct heap_diff *options, char **paths) {
  struct diff d = {0};
  enum heap_by by;
  int status = find_by(self, options->by_name, &by), worst = STATUS_OK;
  for (int side = 0; status < 0 && side < 2; side++) {
    status = read_side(&d.side[side], paths[side], by);
    if (status < 0) add_rows(&d, side);
  }
  if (status < 0) {
    match(&d, by == BY_LINE);
    uint64_t top = options->top ? options->top : options->json ? UINT64_MAX : 20;
    if (options->json) print_json(&d, by, top);
    else print_text(&d, heap_by_names[by], top);
  }
  for (size_t i = 0; i < d.count; i++) free(d.rows[i].name);
  free(d.rows);
  for (int side = 0; side < 2; side++) {
    if (!d.side[side].open) continue;
    heap_view_free(&d.side[side].view);
    int closed = heap_question_close(&d.side[side].h, STATUS_OK);
    if (closed > worst) worst = closed;
  }
  return status >= 0 ? status : worst;
}
