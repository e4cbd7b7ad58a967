/* SPDX-License-Identifier: MIT */
/* cmd_heap.c: `eventring heap`: shows what was allocated and what is alive, and where. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figures.h"
#include "analysis/saturating.h"
#include "analysis/so_far.h"
#include "domain_state.h"
#include "formats.h"
#include "heap_export.h"
#include "heap_query.h"
#include "heap_view.h"

enum { SHOWN = 30 };

struct heap_command {
  struct heap_query h;
  const char *to, *output;
  enum heap_by by;
  struct heap_view view;
  const struct eva_amount *all; /* the sum of all nodes */
  const struct eva_heap_state *state;
};

static const char *const measure_names[] = {[EVA_LIVE] = "live", [EVA_ALLOCATED] = "allocated",
                                            [EVA_PEAK] = "peak",
                                            [EVA_TEMPORARY] = "temporary"};

/* ---- Rows --------------------------------------------------------------------- */

/* A node of the view. In text its figures include its callees, in JSON they do not. */
struct row {
  const struct heap_view *view;
  const struct heap_node *node;
  const struct eva_amount *amounts;
  unsigned indent;
};

VIEW_GETTER(bytes, struct eva_amount) { return view_uint(eva_whole(row->bytes)); }
VIEW_GETTER(bytes_error, struct eva_amount) { return view_uint(eva_whole(eva_amount_error(row))); }
VIEW_GETTER(objects, struct eva_amount) { return view_uint(eva_whole(row->objects)); }
VIEW_GETTER(samples, struct eva_amount) { return view_uint(eva_whole(row->samples)); }

#define FIGURE(name, form, get, measure) \
  {name, NULL, form, VIEW_GET(UINT, get), .offset = (measure) * sizeof(struct eva_amount)}
#define FIGURES(name, measure)                                        \
  FIGURE(name "_bytes", VIEW_BYTES, bytes, measure),                  \
  FIGURE(name "_bytes_error", VIEW_BYTES, bytes_error, measure),      \
  FIGURE(name "_samples", VIEW_COUNT, samples, measure)
static VIEW(amounts_view, struct eva_amount,
    FIGURES("live", EVA_LIVE),
    FIGURE("live_objects", VIEW_COUNT, objects, EVA_LIVE),
    FIGURES("allocated", EVA_ALLOCATED),
    FIGURE("allocated_objects", VIEW_COUNT, objects, EVA_ALLOCATED),
    FIGURES("peak", EVA_PEAK),
    FIGURES("temporary", EVA_TEMPORARY),
    FIGURE("temporary_objects", VIEW_COUNT, objects, EVA_TEMPORARY),
    FIGURE("samples", VIEW_COUNT, samples, EVA_ALLOCATED))

/* Returns the bytes by which rows are ordered; no value for other measures. */
VIEW_GETTER(main_bytes, struct row) {
  const bool is_main = column->argument == row->view->main;
  return is_main ? view_uint(eva_whole(row->amounts[column->argument].bytes)) : view_none();
}
VIEW_GETTER(share, struct row) {
  const double all = row->view->nodes[0].total[row->view->main].bytes;
  return view_double(all > 0 ? row->amounts[row->view->main].bytes / all : 0);
}
VIEW_GETTER(main_error, struct row) {
  return view_uint(eva_whole(eva_amount_error(&row->amounts[row->view->main])));
}
VIEW_GETTER(main_objects, struct row) {
  return view_uint(eva_whole(row->amounts[row->view->main].objects));
}
VIEW_GETTER(also_allocated, struct row) {
  if (row->view->main != EVA_LIVE) return view_none();
  return view_uint(eva_whole(row->amounts[EVA_ALLOCATED].bytes));
}
VIEW_GETTER(label, struct row) {
  memset(to->room, ' ', row->indent);
  heap_label(to->room + row->indent, row->view, row->node);
  return view_text(to->room);
}

static bool has_source(const void *row) {
  return ((const struct row *)row)->view->by <= BY_FUNCTION;
}
static bool is_stack(const void *row) { return ((const struct row *)row)->view->by == BY_STACK; }
VIEW_GETTER(name, struct row) { return view_text(heap_name(row->view, row->node, to->room)); }
VIEW_GETTER(source, struct row) { return view_text(heap_source(row->view, row->node)); }
VIEW_GETTER(line, struct row) { return view_uint(row->node->line); }
static bool has_through(const void *row) { return ((const struct row *)row)->node->through != 0; }
VIEW_GETTER(through, struct row) {
  const char *name = heap_through(row->view, row->node);
  return view_text(name != NULL ? name : "?");
}

static VIEW(site_view, struct row,
    {"name", NULL, VIEW_PLAIN, VIEW_GET(TEXT, name)},
    {"source", NULL, VIEW_PLAIN, VIEW_GET(TEXT, source), .has = has_source, .flags = VIEW_MAYBE},
    {"line", NULL, VIEW_PLAIN, VIEW_GET(U32, line), .has = has_source, .flags = VIEW_MAYBE})

/* Puts the frames of a stack, innermost first. */
static void stack_rows(struct view_to *to, const void *row) {
  struct row frame = *(const struct row *)row;
  view_row(to, &frame);
  while (frame.node->parent) {
    frame.node = &frame.view->nodes[frame.node->parent];
    view_row(to, &frame);
  }
}

#define MAIN(measure) VIEW_GET(UINT, main_bytes), .argument = measure, .flags = VIEW_DASH_0
static VIEW(row_view, struct row,
    {NULL, "?live", VIEW_BYTES, MAIN(EVA_LIVE)},
    {NULL, "?allocated", VIEW_BYTES, MAIN(EVA_ALLOCATED)},
    {NULL, "?peak", VIEW_BYTES, MAIN(EVA_PEAK)},
    {NULL, "?temporary", VIEW_BYTES, MAIN(EVA_TEMPORARY)},
    {NULL, "share", VIEW_SHARE, VIEW_GET(DOUBLE, share)},
    {NULL, "?error", VIEW_BYTES, VIEW_GET(UINT, main_error), .flags = VIEW_DASH_0},
    {NULL, "?objects", VIEW_COUNT, VIEW_GET(UINT, main_objects), .flags = VIEW_DASH_0},
    {NULL, "?allocated", VIEW_BYTES, VIEW_GET(UINT, also_allocated), .flags = VIEW_DASH_0},
    {NULL, VIEW_BY, VIEW_PLAIN, VIEW_GET(TEXT, label)},
    {.form = VIEW_INCLUDE, .view = &site_view},
    {"through", NULL, VIEW_PLAIN, VIEW_GET(TEXT, through), .has = has_through,
     .flags = VIEW_MAYBE},
    {"stack", .form = VIEW_ROWS, .view = &site_view, .rows = stack_rows, .has = is_stack},
    {.form = VIEW_INCLUDE, .offset = offsetof(struct row, amounts), .flags = VIEW_POINTER,
     .view = &amounts_view})

/* Puts the rows that have allocated themselves. (By stack, a row is a stack that has
   allocated; its callers are not rows.) */
static void all_rows(struct view_to *to, const void *heap) {
  const struct heap_command *c = heap;
  const struct heap_view *v = &c->view;
  uint64_t top = c->h.q.top ? c->h.q.top : UINT64_MAX;
  for (uint32_t i = 0; i + 1 < v->count && top; i++) {
    const struct heap_node *node = &v->nodes[v->order[i]];
    if (!(node->self[EVA_ALLOCATED].samples > 0)) continue;
    view_row(to, &(struct row){v, node, node->self, 0});
    top--;
  }
}

#define LOST(measure) \
  VIEW_GET(UINT, bytes), .offset = offsetof(struct eva_heap_state, lost[measure])
static VIEW(state_view, struct eva_heap_state,
    {"rate", NULL, VIEW_PLAIN, ROW(most_rate), .help = "samples a word"},
    {"profiles", NULL, VIEW_COUNT, ROW(profiles)},
    {"collections", NULL, VIEW_COUNT, ROW(collections)},
    {"counted_words", NULL, VIEW_WORDS, ROW(words)},
    {"counted_live_words", NULL, VIEW_WORDS, ROW(live_words), .flags = VIEW_NO_MAX},
    {"since_ns", NULL, VIEW_MOMENT, ROW(start_ns)},
    {"ns", NULL, VIEW_MOMENT, ROW(ns)},
    {"sampling_ended_ns", NULL, VIEW_MOMENT, ROW(over_ns), .flags = VIEW_NO_0},
    {"running_profiles", NULL, VIEW_COUNT, ROW(running)},
    {"torn_profiles", NULL, VIEW_COUNT, ROW(torn)},
    {"dropped_profiles", NULL, VIEW_COUNT, ROW(dropped)},
    {"lost_sites", NULL, VIEW_COUNT, ROW(lost_entries)},
    {"lost_allocated_bytes", NULL, VIEW_BYTES, LOST(EVA_ALLOCATED)},
    {"lost_live_bytes", NULL, VIEW_BYTES, LOST(EVA_LIVE)},
    {"unknown_frees", NULL, VIEW_COUNT, ROW(unknown_frees)},
    {"from_events", NULL, VIEW_PLAIN, ROW(from_events)})

/* Tells whether the figures have an age. A live process writes its profiles at
   collections. In between, and while the process is asleep, they do not change. */
static bool has_age(const struct heap_command *c) {
  const struct eva_heap_state *s = eva_heap_state(c->h.heap);
  return c->h.q.info.liveness == EVENTRING_LIVE && !s->from_events && s->running > 0 && s->ns > 0;
}

static uint64_t age_ns(const struct heap_command *c) {
  const uint64_t ns = eva_heap_state(c->h.heap)->ns, now = eva_end(c->h.q.reader.cursor);
  return now > ns ? now - ns : 0;
}

static bool has_age_row(const void *heap) { return has_age(heap); }
VIEW_GETTER(age, struct heap_command) { return view_uint(age_ns(row)); }

static VIEW(total_view, struct heap_command,
    {.form = VIEW_INCLUDE, .offset = offsetof(struct heap_command, all), .flags = VIEW_POINTER,
     .view = &amounts_view},
    {.form = VIEW_INCLUDE, .offset = offsetof(struct heap_command, state), .flags = VIEW_POINTER,
     .view = &state_view},
    {"age_ns", NULL, VIEW_NS, VIEW_GET(UINT, age), .has = has_age_row, .flags = VIEW_PART,
     .help = "since a live process wrote it"})

VIEW_GETTER(by, struct heap_command) { return view_text(heap_by_names[row->by]); }
VIEW_GETTER(order, struct heap_command) { return view_text(measure_names[row->view.main]); }

static VIEW(heap_answer_view, struct heap_command,
    {.form = VIEW_INCLUDE, .offset = offsetof(struct heap_command, h.q), .view = &query_view},
    {"by", NULL, VIEW_PLAIN, VIEW_GET(TEXT, by)},
    {"order", NULL, VIEW_PLAIN, VIEW_GET(TEXT, order)},
    {"total", .form = VIEW_OBJECT, .view = &total_view},
    {"rows", .form = VIEW_ROWS, .view = &row_view, .rows = all_rows, .flags = VIEW_MAIN})

/* ---- Text --------------------------------------------------------------------- */

/* Prints an amount: "live       812.0 MiB +- 3.1 MiB in 12,345 objects". */
static void print_amount(const char *name, const struct eva_amount *amount, FILE *out) {
  fprintf(out, "%-10s %s", name, eva_bytes(eva_whole(amount->bytes)));
  if (eva_amount_error(amount) >= 0.5)
    fprintf(out, " +- %s", eva_bytes(eva_whole(eva_amount_error(amount))));
  if (amount->objects >= 0.5)
    fprintf(out, " in %s objects", eva_count(eva_whole(amount->objects)));
  fputc('\n', out);
}

/* Prints what the rows lack, or why they may not add up. */
static void print_caveats(const struct heap_command *c, FILE *out) {
  const struct eva_heap_state *s = eva_heap_state(c->h.heap);
  if (s->lost_entries)
    fprintf(out, "%s sites found no room in the file: %s of what is allocated is not below\n",
            eva_count(s->lost_entries), eva_bytes(eva_whole(s->lost[EVA_ALLOCATED].bytes)));
  if (s->dropped)
    fprintf(out, "the profiles of %s ended domains were overwritten by later ones\n",
            eva_count(s->dropped));
  if (s->torn)
    fprintf(out, "%s profiles changed while they were read: figures may not add up\n",
            eva_count(s->torn));
  if (s->from_events && s->unknown_frees)
    fprintf(out, "%s blocks died whose allocation is before the window or is not in the "
            "ring\n", eva_count(s->unknown_frees));
}

/* Returns the thread of the only live domain, or 0 if there is none or more than one. */
static int32_t only_thread(eventring_cursor *cursor) {
  int32_t tid = 0;
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++) {
    struct eventring_domain_info domain = {.size = sizeof domain};
    if (eventring_cursor_domain(cursor, slot, &domain) != 0 || !domain.alive) continue;
    if (tid) return 0;
    tid = domain.tid;
  }
  return tid;
}

static void print_summary(const struct heap_command *c, FILE *out) {
  const struct eva_heap_state *s = eva_heap_state(c->h.heap);
  char as_of[HEAP_AS_OF];
  fprintf(out, "sampled at %g a word", s->most_rate);
  if (s->least_rate < s->most_rate) fprintf(out, " (and less, down to %g)", s->least_rate);
  fprintf(out, "; %s collections\n", eva_count(s->collections));
  if (heap_as_of(as_of, c->h.heap, c->h.q.info.start_ns))
    fprintf(out, "alive is what was alive %s\n", as_of);
  if (has_age(c)) {
    char state[DOMAIN_STATE_TEXT] = "";
    const int32_t tid = only_thread(c->h.q.reader.cursor);
    if (tid) domain_thread_text(state, pid_here(&c->h.q.info), tid);
    fprintf(out, "as of %s ago%s", eva_duration(age_ns(c)), state[0] ? "; it is " : "");
    print_foreign_text(out, state);
    putc('\n', out);
  }
  for (int m = 0; m < EVA_MEASURES; m++)
    if (c->all[m].samples > 0) print_amount(measure_names[m], &c->all[m], out);
  if (c->state->words)
    fprintf(out, "%-10s %s, exactly, up to the last collection\n", "counted",
            eva_bytes(eva_times(c->state->words, 8)));
  print_caveats(c, out);
}

struct shown { /* Which part of the tree is shown. */
  const struct heap_command *c;
  struct view_to *to;
  uint64_t top;
  uint32_t *children, *next; /* by node: its first child, and the next child of its
                                parent; 0 if none */
};

static void put_node(struct view_to *to, const struct heap_view *v, uint32_t node,
                     unsigned indent) {
  view_row(to, &(struct row){v, &v->nodes[node], v->nodes[node].total, indent});
}

/* Links children in the order of their ranks: pushes the last one first. */
static void link_children(struct shown *s) {
  const struct heap_view *v = &s->c->view;
  for (uint32_t i = v->count - 1; i-- > 0;) {
    uint32_t node = v->order[i], parent = v->nodes[node].parent;
    s->next[node] = s->children[parent];
    s->children[parent] = node;
  }
}

/* Tells whether the tree branches below a node, or the node itself has allocated a part
   of its total. */
static bool branches(const struct shown *s, uint32_t node) {
  const struct heap_view *v = &s->c->view;
  uint32_t child = s->children[node];
  return !child || s->next[child] || v->nodes[node].self[v->main].bytes > 0;
}

/* Puts the nodes that are shown. Does not recurse, as a stack may be deep. */
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
    if (shown) put_node(s->to, v, node, indent[node] < MOST_INDENT ? indent[node] : MOST_INDENT);
    if (shown && s->children[node]) {
      node = s->children[node];
      continue;
    }
    while (node && !s->next[node]) node = v->nodes[node].parent;
    if (node) node = s->next[node];
  }
  free(indent);
}

static void shown_rows(struct view_to *to, const void *heap) {
  const struct heap_command *c = heap;
  const struct heap_view *v = &c->view;
  struct shown shown = {.c = c, .to = to, .top = c->h.q.top ? c->h.q.top : SHOWN};
  if (v->by != BY_STACK) {
    for (uint32_t i = 0; i + 1 < v->count && i < shown.top; i++) put_node(to, v, v->order[i], 0);
    return;
  }
  shown.children = need_zeroed(v->count, sizeof *shown.children);
  shown.next = need_zeroed(v->count, sizeof *shown.next);
  link_children(&shown);
  add_tree(&shown);
  free(shown.children);
  free(shown.next);
}

/* Prints why there are no rows. */
static void print_nothing(const struct heap_command *c, FILE *out) {
  static const char *const what[] = {[EVA_LIVE] = "is alive", [EVA_ALLOCATED] = "was allocated",
                                     [EVA_PEAK] = "was alive",
                                     [EVA_TEMPORARY] = "died in its first collection"};
  const struct heap_query *h = &c->h;
  if (h->survived)
    fprintf(out, "nothing that was sampled lived through %" PRIu64 " collections\n", h->survived);
  else
    fprintf(out, "nothing that was sampled%s %s%s\n",
            h->q.domain != UINT64_MAX ? " in this domain" : "", what[c->view.main],
            eva_heap_state(h->heap)->from_events ? " within the time asked for" : "");
}

static void print_text(struct heap_command *c, struct view_to *to) {
  char by[32];
  FILE *out = to->out;
  uint64_t top = c->h.q.top ? c->h.q.top : SHOWN;
  snprintf(by, sizeof by, "<+%s", heap_by_names[c->by]);
  to->by = by;
  query_head(&c->h.q, out);
  print_summary(c, out);
  fputc('\n', out);
  if (!(c->all[c->view.main].samples > 0)) {
    print_nothing(c, out);
    return;
  }
  view_table(to, &row_view, shown_rows, c, 0);
  if (c->view.count - 1 > top)
    fprintf(out, "and %" PRIu64 " more (--top)\n", c->view.count - 1 - top);
}

/* ---- The command -------------------------------------------------------------- */

static int read_words(const struct command *self, int count, char **words,
                      struct heap_command *c, struct operands *operands) {
  const struct option_spec specs[] = {
      {"by", 0, OPTION_CHOICE, CHOICE(&c->by, heap_by_names), "WHAT",
       "stack (a tree), line, function, kind, origin, span or domain"},
      HEAP_MEASURE_SPECS(&c->h),
      QUERY_SPECS(&c->h.q, heap_answer_view),
      {"to", 0, OPTION_TEXT, &c->to, "FORMAT",
       "svg (a flame graph), or pprof, speedscope, folded, otlp_profiles: for other tools"},
      {"output", 'o', OPTION_TEXT, &c->output, "FILE", "write to FILE, which must not exist"}};
  int status = options_parse(self, OPTION_SPECS(specs), count, words, operands);
  if (goes_on(status)) status = heap_query_check(self, &c->h);
  if (goes_on(status) && c->to && !format_of_profiles(c->to))
    status = usage_error(self, "`--to %s': must be one of %s", c->to, formats_of_profiles());
  if (goes_on(status) && c->to && !view_wants_text(&c->h.q.as))
    status = usage_error(self, "--json or --to, not both");
  return goes_on(status) ? require_target(self, operands, true) : status;
}

static int answer(struct heap_command *c) {
  enum eva_measure main = heap_query_main(&c->h);
  eventring_cursor *cursor = c->h.q.reader.cursor;
  if (c->to) return heap_export(c->h.heap, main, cursor, NULL, c->to, c->output);
  FILE *out = output_file_open(c->output);
  if (!out) return STATUS_WRONG;
  heap_view_make(&c->view, c->h.heap, c->by, main, cursor);
  struct view_to to = query_output(&c->h.q);
  to.out = out;
  c->all = c->view.nodes[0].total;
  c->state = eva_heap_state(c->h.heap);
  if (view_wants_text(&to.as)) print_text(c, &to);
  else view_object(&to, &heap_answer_view, c);
  heap_view_free(&c->view);
  return output_file_close(out, c->output);
}

size_t heap_data(const struct eva_heap *heap, eventring_cursor *cursor, uint64_t top,
                 struct eva_json *json) {
  struct heap_command c = {.h = HEAP_QUERY_NEW, .by = BY_LINE};
  c.h.heap = (struct eva_heap *)heap;
  c.h.q.top = top;
  struct view_to to = {.cursor = cursor};
  heap_view_make(&c.view, heap, c.by, heap_query_main(&c.h), cursor);
  view_data(&to, json, &heap_answer_view, "rows", &c);
  const size_t count = c.view.count - 1;
  heap_view_free(&c.view);
  return count;
}

int command_heap(const struct command *self, int count, char **words) {
  struct heap_command c = {.h = HEAP_QUERY_NEW};
  struct operands operands;
  int status = read_words(self, count, words, &c, &operands);
  if (goes_on(status)) status = heap_query_read(&c.h, &operands);
  if (!goes_on(status)) return status;
  return heap_query_close(&c.h, answer(&c));
}
