/* SPDX-License-Identifier: MIT */
/* cmd_heap.c: `eventring heap`: what was allocated and what is alive, and where. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/saturating.h"
#include "analysis/units.h"
#include "formats.h"
#include "heap_export.h"
#include "heap_question.h"
#include "heap_view.h"
#include "text_table.h"

enum { SHOWN = 30 };

struct heap_command {
  struct heap_question h;
  const char *by_name, *to, *output;
  enum heap_by by;
  struct heap_view view;
};

static const char *const measure_names[] = {[EVA_LIVE] = "live", [EVA_ALLOCATED] = "allocated",
                                            [EVA_PEAK] = "peak",
                                            [EVA_TEMPORARY] = "temporary"};

/* ---- Text ------------------------------------------------------------------------------ */

static uint64_t whole(double value) {
  return eva_whole(value);
}

static void cell_bytes(struct table *table, double bytes) {
  char figure[EVA_FIGURE];
  table_cell(table, bytes >= 0.5 ? eva_bytes_text(figure, whole(bytes)) : "-");
}

static void cell_count(struct table *table, double count) {
  char figure[EVA_FIGURE];
  table_cell(table, count >= 0.5 ? eva_count_text(figure, whole(count)) : "-");
}

/* "812.0 MiB +- 3.1 MiB in 12,345 objects". */
static void print_amount(const char *name, const struct eva_amount *amount, FILE *out) {
  char bytes[EVA_FIGURE], error[EVA_FIGURE], count[EVA_FIGURE];
  fprintf(out, "%-10s %s", name, eva_bytes_text(bytes, whole(amount->bytes)));
  if (eva_amount_error(amount) >= 0.5)
    fprintf(out, " +- %s", eva_bytes_text(error, whole(eva_amount_error(amount))));
  if (amount->objects >= 0.5)
    fprintf(out, " in %s objects", eva_count_text(count, whole(amount->objects)));
  fputc('\n', out);
}

/* What is missing from the rows, or may not add up. */
static void print_caveats(const struct heap_command *c, FILE *out) {
  const struct eva_heap_state *s = eva_heap_state(c->h.heap);
  char figure[EVA_FIGURE], bytes[EVA_FIGURE];
  if (s->lost_entries)
    fprintf(out, "%s sites found no room in the file: %s of what is allocated is not below\n",
            eva_count_text(figure, s->lost_entries),
            eva_bytes_text(bytes, whole(s->lost[EVA_ALLOCATED].bytes)));
  if (s->dropped)
    fprintf(out, "the profiles of %s ended domains were overwritten by later ones\n",
            eva_count_text(figure, s->dropped));
  if (s->torn)
    fprintf(out, "%s profiles changed while they were read: figures may not add up\n",
            eva_count_text(figure, s->torn));
  if (s->from_events && s->unknown_frees)
    fprintf(out, "%s blocks died whose allocation is before the window or is not in the "
            "ring\n", eva_count_text(figure, s->unknown_frees));
}

static void print_rate(const struct heap_command *c, FILE *out) {
  const struct eva_heap_state *s = eva_heap_state(c->h.heap);
  char figure[EVA_FIGURE], as_of[HEAP_AS_OF];
  fprintf(out, "sampled at %g a word", s->most_rate);
  if (s->least_rate < s->most_rate) fprintf(out, " (and less, down to %g)", s->least_rate);
  fprintf(out, "; %s collections\n", eva_count_text(figure, s->collections));
  if (heap_as_of(as_of, c->h.heap, c->h.q.info.start_ns))
    fprintf(out, "alive is what was alive %s\n", as_of);
}

static void print_summary(const struct heap_command *c, FILE *out) {
  const struct heap_node *all = &c->view.nodes[0];
  print_rate(c, out);
  for (int m = 0; m < EVA_MEASURES; m++)
    if (all->total[m].samples > 0) print_amount(measure_names[m], &all->total[m], out);
  print_caveats(c, out);
}

struct shown { /* of the tree */
  const struct heap_command *c;
  struct table *table;
  uint64_t top;
  uint32_t *children, *next; /* by node: the first child; the next of its parent; 0: none */
};

static void cell_share(struct table *table, double part, double all) {
  char text[16];
  snprintf(text, sizeof text, "%.1f%%", all > 0 ? 100 * part / all : 0.0);
  table_cell(table, text);
}

static void add_row(const struct heap_command *c, struct table *table,
                    const struct heap_node *node, unsigned indent) {
  char label[HEAP_LABEL + 64];
  const struct eva_amount *amount = &node->total[c->view.main];
  memset(label, ' ', indent);
  heap_label(label + indent, &c->view, node);
  cell_bytes(table, amount->bytes);
  cell_share(table, amount->bytes, c->view.nodes[0].total[c->view.main].bytes);
  cell_bytes(table, eva_amount_error(amount));
  cell_count(table, amount->objects);
  if (c->view.main == EVA_LIVE) cell_bytes(table, node->total[EVA_ALLOCATED].bytes);
  table_cell(table, label);
}

/* Children in the order of their ranks: pushed from the last to the first. */
static void link_children(struct shown *s) {
  const struct heap_view *v = &s->c->view;
  for (uint32_t i = v->count - 1; i-- > 0;) {
    uint32_t node = v->order[i], parent = v->nodes[node].parent;
    s->next[node] = s->children[parent];
    s->children[parent] = node;
  }
}

/* Does the tree branch below a node, or allocate the node itself a part of that? */
static bool branches(const struct shown *s, uint32_t node) {
  const struct heap_view *v = &s->c->view;
  uint32_t child = s->children[node];
  return !child || s->next[child] || v->nodes[node].self[v->main].bytes > 0;
}

/* Without recursion: a stack may be deep. */
static void add_tree(const struct shown *s) {
  enum { MOST_INDENT = 24 };
  const struct heap_view *v = &s->c->view;
  uint32_t node = s->children[0];
  unsigned *indent = need_zeroed(v->count, sizeof *indent);
  while (node) {
    uint32_t parent = v->nodes[node].parent;
    unsigned deeper = parent && branches(s, parent) ? 2 : 0;
    indent[node] = (parent ? indent[parent] : 0) + deeper;
    bool shown = v->nodes[node].rank < s->top;
    if (shown)
      add_row(s->c, s->table, &v->nodes[node],
              indent[node] < MOST_INDENT ? indent[node] : MOST_INDENT);
    if (shown && s->children[node]) {
      node = s->children[node];
      continue;
    }
    while (node && !s->next[node]) node = v->nodes[node].parent;
    if (node) node = s->next[node];
  }
  free(indent);
}

static void add_rows(const struct heap_command *c, struct table *table, uint64_t top) {
  const struct heap_view *v = &c->view;
  if (v->by != BY_STACK) {
    for (uint32_t i = 0; i + 1 < v->count && i < top; i++)
      add_row(c, table, &v->nodes[v->order[i]], 0);
    return;
  }
  struct shown shown = {.c = c, .table = table, .top = top};
  shown.children = need_zeroed(v->count, sizeof *shown.children);
  shown.next = need_zeroed(v->count, sizeof *shown.next);
  link_children(&shown);
  add_tree(&shown);
  free(shown.children);
  free(shown.next);
}

/* Of an answer without rows: what it says. */
static void print_nothing(const struct heap_command *c, FILE *out) {
  static const char *const what[] = {[EVA_LIVE] = "is alive", [EVA_ALLOCATED] = "was allocated",
                                     [EVA_PEAK] = "was alive",
                                     [EVA_TEMPORARY] = "died in its first collection"};
  const struct heap_question *h = &c->h;
  if (h->survived)
    fprintf(out, "nothing that was sampled lived through %" PRIu64 " collections\n", h->survived);
  else
    fprintf(out, "nothing that was sampled%s %s%s\n",
            h->q.domain != UINT64_MAX ? " in this domain" : "", what[c->view.main],
            eva_heap_state(h->heap)->from_events ? " within the time asked for" : "");
}

static void print_text(struct heap_command *c, FILE *out) {
  static const char *const live[] = {"live", "share", "?error", "?objects", "?allocated", "<+"};
  static const char *const other[] = {"bytes", "share", "?error", "?objects", "<+"};
  const char *titles[6];
  char last[32];
  bool is_live = c->view.main == EVA_LIVE;
  size_t columns = is_live ? 6 : 5;
  uint64_t top = c->h.q.top ? c->h.q.top : SHOWN;
  struct table table;
  memcpy(titles, is_live ? live : other, columns * sizeof *titles);
  if (!is_live) titles[0] = measure_names[c->view.main];
  snprintf(last, sizeof last, "<+%s", heap_by_names[c->by]);
  titles[columns - 1] = last;
  question_head(&c->h.q, out);
  print_summary(c, out);
  fputc('\n', out);
  if (!(c->view.nodes[0].total[c->view.main].samples > 0)) {
    print_nothing(c, out);
    return;
  }
  table_init(&table, titles, columns);
  add_rows(c, &table, top);
  table_print(&table, out, 0);
  if (c->view.count - 1 > top)
    fprintf(out, "and %" PRIu64 " more (--top)\n", c->view.count - 1 - top);
}

/* ---- JSON ------------------------------------------------------------------------------ */

static void put_figure(struct eva_json *json, const char *name, const char *what, double value) {
  char key[48];
  snprintf(key, sizeof key, "%s_%s", name, what);
  eva_json_uint_at(json, key, whole(value));
}

static void put_amounts(struct eva_json *json, const struct eva_amount *amounts) {
  for (int m = 0; m < EVA_MEASURES; m++) {
    put_figure(json, measure_names[m], "bytes", amounts[m].bytes);
    put_figure(json, measure_names[m], "bytes_error", eva_amount_error(&amounts[m]));
    if (m != EVA_PEAK) put_figure(json, measure_names[m], "objects", amounts[m].objects);
    put_figure(json, measure_names[m], "samples", amounts[m].samples);
  }
  eva_json_uint_at(json, "samples", whole(amounts[EVA_ALLOCATED].samples));
}

static void put_total(struct eva_json *json, const struct heap_command *c) {
  const struct eva_heap_state *s = eva_heap_state(c->h.heap);
  eva_json_key(json, "total");
  eva_json_open_object(json);
  put_amounts(json, c->view.nodes[0].total);
  eva_json_double_at(json, "rate", s->most_rate);
  eva_json_uint_at(json, "profiles", s->profiles);
  eva_json_uint_at(json, "collections", s->collections);
  eva_json_uint_at(json, "counted_words", s->words);
  eva_json_key(json, "counted_live_words");
  if (s->live_words != UINT64_MAX) eva_json_uint(json, s->live_words);
  else eva_json_null(json);
  eva_json_uint_at(json, "since_ns", s->start_ns);
  eva_json_uint_at(json, "ns", s->ns);
  eva_json_key(json, "sampling_ended_ns");
  if (s->over) eva_json_uint(json, s->over_ns);
  else eva_json_null(json);
  eva_json_uint_at(json, "running_profiles", s->running);
  eva_json_uint_at(json, "torn_profiles", s->torn);
  eva_json_uint_at(json, "dropped_profiles", s->dropped);
  eva_json_uint_at(json, "lost_sites", s->lost_entries);
  put_figure(json, "lost_allocated", "bytes", s->lost[EVA_ALLOCATED].bytes);
  put_figure(json, "lost_live", "bytes", s->lost[EVA_LIVE].bytes);
  eva_json_uint_at(json, "unknown_frees", s->unknown_frees);
  eva_json_bool_at(json, "from_events", s->from_events);
  eva_json_close_object(json);
}

static void put_place(struct eva_json *json, const struct heap_view *v,
                      const struct heap_node *node) {
  char number[24];
  eva_json_string_at(json, "name", heap_name(v, node, number));
  if (v->by > BY_FUNCTION) return;
  eva_json_string_at(json, "source", heap_source(v, node));
  eva_json_uint_at(json, "line", node->line);
}

/* Innermost first. */
static void put_stack(struct eva_json *json, const struct heap_view *v,
                      const struct heap_node *node) {
  eva_json_key(json, "stack");
  eva_json_open_array(json);
  for (;; node = &v->nodes[node->parent]) {
    eva_json_open_object(json);
    put_place(json, v, node);
    eva_json_close_object(json);
    if (!node->parent) break;
  }
  eva_json_close_array(json);
}

/* By stack, a row is a stack that allocates itself: not its callers. */
static void put_rows(struct eva_json *json, const struct heap_command *c) {
  const struct heap_view *v = &c->view;
  uint64_t top = c->h.q.top ? c->h.q.top : UINT64_MAX;
  for (uint32_t i = 0; i + 1 < v->count && top; i++) {
    const struct heap_node *node = &v->nodes[v->order[i]];
    if (!(node->self[EVA_ALLOCATED].samples > 0)) continue;
    eva_json_open_object(json);
    put_place(json, v, node);
    if (v->by == BY_STACK) put_stack(json, v, node);
    put_amounts(json, node->self);
    eva_json_close_object(json);
    top--;
  }
}

static void print_json(struct heap_command *c, FILE *out) {
  struct eva_json json;
  eva_json_start(&json, out);
  eva_json_open_object(&json);
  question_put_head(&c->h.q, &json);
  eva_json_string_at(&json, "by", heap_by_names[c->by]);
  eva_json_string_at(&json, "order", measure_names[c->view.main]);
  put_total(&json, c);
  eva_json_key(&json, "rows");
  eva_json_open_array(&json);
  put_rows(&json, c);
  eva_json_close_array(&json);
  eva_json_close_object(&json);
  eva_json_line(&json);
}

/* ---- The command --------------------------------------------------------------------------- */

static int find_by(const struct command *self, struct heap_command *c) {
  if (!c->by_name) return -1;
  for (int by = 0; heap_by_names[by]; by++)
    if (strcmp(heap_by_names[by], c->by_name) == 0) {
      c->by = (enum heap_by)by;
      return -1;
    }
  return usage_error(self, "`--by %s': must be stack, line, function, kind, origin, span or domain",
                     c->by_name);
}

static int read_words(const struct command *self, int count, char **words,
                      struct heap_command *c, struct operands *operands) {
  const struct option_spec specs[] = {
      {"by", 0, OPTION_TEXT, &c->by_name, "WHAT",
       "stack (a tree), line, function, kind, origin, span or domain"},
      HEAP_MEASURE_SPECS(&c->h),
      {"json", 'j', OPTION_FLAG, &c->h.q.as.json, NULL, "one JSON object"},
      QUESTION_CHOICE_SPECS(&c->h.q),
      {"to", 0, OPTION_TEXT, &c->to, "FORMAT", "for other tools: pprof, speedscope, folded"},
      {"output", 'o', OPTION_TEXT, &c->output, "FILE", "write to FILE, which must not exist"}};
  int status = options_parse(self, OPTION_SPECS(specs), count, words, operands);
  if (status < 0) status = find_by(self, c);
  if (status < 0) status = heap_question_check(self, &c->h);
  if (status < 0 && c->to && !format_of_profiles(c->to))
    status = usage_error(self, "`--to %s': must be one of %s", c->to, formats_of_profiles());
  if (status < 0 && c->to && c->h.q.as.json) status = usage_error(self, "--json or --to, not both");
  return status >= 0 ? status : require_target(self, operands, true);
}

static int answer(struct heap_command *c) {
  enum eva_measure main = heap_question_main(&c->h);
  eventring_cursor *cursor = c->h.q.reader.cursor;
  if (c->to) return heap_export(c->h.heap, main, cursor, c->to, c->output);
  FILE *out = output_file_open(c->output);
  if (!out) return STATUS_WRONG;
  heap_view_make(&c->view, c->h.heap, c->by, main, cursor);
  (c->h.q.as.json ? print_json : print_text)(c, out);
  heap_view_free(&c->view);
  return output_file_close(out, c->output);
}

int command_heap(const struct command *self, int count, char **words) {
  struct heap_command c = {.h = HEAP_QUESTION_NEW};
  struct operands operands;
  int status = read_words(self, count, words, &c, &operands);
  if (status < 0) status = heap_question_read(&c.h, &operands);
  if (status >= 0) return status;
  return heap_question_close(&c.h, answer(&c));
}
