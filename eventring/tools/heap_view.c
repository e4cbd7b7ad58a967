/* SPDX-License-Identifier: MIT */
/* heap_view.c: makes the rows of a heap, in the groups that the options choose.
 *
 * Rows by stack form a tree of nodes. The stacks of a recording form a tree, too, but
 * with a node for each position (line and column): here, nodes with the same parent,
 * function and line become one. */
#include "heap_view.h"
#include "eventring/tools.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figures.h"
#include "format/table.h"

const char *const heap_by_names[] = {
    [BY_STACK] = "stack", [BY_LINE] = "line", [BY_FUNCTION] = "function", [BY_KIND] = "kind",
    [BY_ORIGIN] = "origin", [BY_SPAN] = "span", [BY_DOMAIN] = "domain", [BY_DOMAIN + 1] = NULL};

enum { OTHER_STACK = UINT32_MAX }; /* the stack of all blocks that found no room in the
                                      profile */

/* ---- Nodes -------------------------------------------------------------------- */

static bool is_node(const void *context, uintptr_t value, const void *key) {
  const struct heap_view *v = context;
  const struct heap_node *a = &v->nodes[value], *b = key;
  return a->parent == b->parent && a->function == b->function && a->line == b->line &&
         a->key == b->key && a->through == b->through;
}

static uint32_t node_for(struct heap_view *v, struct heap_node n) {
  uint64_t hash = evr_hash_word(evr_hash_seed(), n.parent | (uint64_t)n.function << 32);
  hash = evr_hash_word(hash, n.line | (uint64_t)(n.key ^ n.through) << 32);
  uintptr_t *node = evr_table_take(&v->table, hash, is_node, v, &n);
  if (!node) no_memory();
  if (!*node) {
    *node = v->count;
    *NEED_NEXT(v->nodes, v->count) = n;
  }
  return (uint32_t)*node;
}

/* Maps a stack of the recording to its node, or to 0 if that is not known yet. */
struct memo {
  uint32_t *node;
  uint32_t count;
};

/* Returns the node of a stack, after adding the nodes from the outermost frame to the
   innermost. */
static uint32_t node_of_stack(struct heap_view *v, struct memo *memo, uint32_t stack) {
  struct eventring_stack_info info;
  uint32_t path[EVENTRING_MAX_DEPTH], depth = 0, node = 0, at = stack;
  while (at && depth < EVENTRING_MAX_DEPTH) {
    if (at < memo->count && memo->node[at]) {
      node = memo->node[at];
      break;
    }
    if (eventring_cursor_stack(v->cursor, at, &info) != 0) break;
    path[depth++] = at;
    at = info.parent;
  }
  if (!depth && !node) return node_for(v, (struct heap_node){.key = stack == OTHER_STACK});
  while (depth-- > 0) {
    eventring_cursor_stack(v->cursor, path[depth], &info);
    node = node_for(v, (struct heap_node){.parent = node, .function = info.function,
                                          .line = info.line});
    if (path[depth] < memo->count) memo->node[path[depth]] = node;
  }
  return node;
}

/* Returns the node of the line that allocates. A function without lines (a C function)
   counts for the line of the innermost caller that has a line. If there is no such
   caller, the function counts for itself. */
static struct heap_node key_of_line(const struct heap_view *v, uint32_t stack) {
  struct eventring_stack_info info, inner;
  struct heap_node key = {.key = stack == OTHER_STACK};
  if (eventring_cursor_stack(v->cursor, stack, &inner) != 0) return key;
  info = inner;
  for (int depth = 0; !info.line && info.parent && depth < EVENTRING_MAX_DEPTH; depth++)
    if (eventring_cursor_stack(v->cursor, info.parent, &info) != 0) break;
  key.function = info.line ? info.function : inner.function;
  key.line = info.line;
  if (info.line && !inner.line) key.through = inner.function;
  return key;
}

static uint32_t node_of_row(struct heap_view *v, struct memo *memo,
                            const struct eva_heap_row *row) {
  struct eventring_stack_info info = {0};
  struct heap_node key = {0};
  switch (v->by) {
    case BY_STACK:
      return node_of_stack(v, memo, row->stack);
    case BY_LINE: key = key_of_line(v, row->stack); break;
    case BY_FUNCTION:
      if (eventring_cursor_stack(v->cursor, row->stack, &info) != 0)
        key.key = row->stack == OTHER_STACK;
      key.function = info.function;
      break;
    case BY_KIND: key.key = row->kind; break;
    case BY_ORIGIN: key.key = row->origin; break;
    case BY_SPAN: key.key = row->span; break;
    case BY_DOMAIN: key.key = row->domain; break;
  }
  return node_for(v, key);
}

static void add_all(struct eva_amount *sum, const struct eva_amount *more) {
  for (int m = 0; m < EVA_MEASURES; m++) eva_amount_add(&sum[m], &more[m]);
}

/* Adds up the totals. (A caller has a smaller index than its callees.) */
static void sum_up(struct heap_view *v) {
  for (uint32_t i = 1; i < v->count; i++)
    memcpy(v->nodes[i].total, v->nodes[i].self, sizeof v->nodes[i].self);
  for (uint32_t i = v->count; i-- > 1;)
    add_all(v->nodes[v->nodes[i].parent].total, v->nodes[i].total);
}

static const struct heap_view *sorting;

static int compare(const void *left, const void *right) {
  uint32_t m = *(const uint32_t *)left, n = *(const uint32_t *)right;
  double a = sorting->nodes[m].total[sorting->main].bytes;
  double b = sorting->nodes[n].total[sorting->main].bytes;
  if (a != b) return a > b ? -1 : 1;
  a = sorting->nodes[m].total[EVA_ALLOCATED].bytes;
  b = sorting->nodes[n].total[EVA_ALLOCATED].bytes;
  if (a != b) return a > b ? -1 : 1;
  return m < n ? -1 : 1; /* a caller before its callees */
}

static void put_in_order(struct heap_view *v) {
  v->order = need_zeroed(v->count, sizeof *v->order);
  for (uint32_t i = 1; i < v->count; i++) v->order[i - 1] = i;
  sorting = v;
  qsort(v->order, v->count - 1, sizeof *v->order, compare);
  for (uint32_t i = 0; i + 1 < v->count; i++) v->nodes[v->order[i]].rank = i;
}

void heap_view_make(struct heap_view *v, const struct eva_heap *heap, enum heap_by by,
                    enum eva_measure main, eventring_cursor *cursor) {
  const struct eva_heap_row *rows;
  size_t count = eva_heap_rows(heap, &rows);
  *v = (struct heap_view){.by = by, .main = main, .cursor = cursor, .count = 1};
  v->nodes = need_zeroed(1, sizeof *v->nodes);
  struct eventring_info info = {.size = sizeof info};
  eventring_cursor_info(cursor, &info);
  struct memo memo = {.count = info.stack_end};
  memo.node = need_zeroed(memo.count + 1, sizeof *memo.node);
  for (size_t i = 0; i < count; i++) {
    uint32_t node = node_of_row(v, &memo, &rows[i]);
    add_all(v->nodes[node].self, rows[i].amount);
  }
  free(memo.node);
  evr_table_free(&v->table);
  sum_up(v);
  put_in_order(v);
}

void heap_view_free(struct heap_view *v) {
  free(v->nodes);
  free(v->order);
  evr_table_free(&v->table);
}

/* ---- Names -------------------------------------------------------------------- */

static bool is_code(enum heap_by by) { return by <= BY_FUNCTION; }

static const char *or_number(const char *name, const char *what, uint32_t n, char number[24]) {
  if (name) return name;
  snprintf(number, 24, "%s %" PRIu32, what, n);
  return number;
}

static const char *name_of_domain(const struct heap_view *v, uint32_t slot, char number[24]) {
  static struct eventring_domain_info info = {.size = sizeof info};
  bool known = eventring_cursor_domain((eventring_cursor *)v->cursor, slot, &info) == 0;
  return or_number(known && info.name[0] ? info.name : NULL, "domain", slot, number);
}

const char *heap_name(const struct heap_view *v, const struct heap_node *n, char number[24]) {
  struct eventring_function_info f;
  const struct eventring_def *def;
  switch (v->by) {
    case BY_KIND:
      return or_number(eventring_cursor_name(v->cursor, EVENTRING_NAME_MEMORY_KIND, n->key), "kind",
                       n->key, number);
    case BY_ORIGIN:
      return or_number(eventring_cursor_name(v->cursor, EVENTRING_NAME_MEMORY_ORIGIN, n->key),
                       "origin", n->key, number);
    case BY_SPAN:
      def = n->key ? eventring_cursor_def(v->cursor, n->key - 1) : NULL;
      return def ? def->name : n->key ? "?" : "(no span)";
    case BY_DOMAIN:
      return name_of_domain(v, n->key, number);
    default:
      if (n->key) return "(found no room)";
      if (eventring_cursor_function(v->cursor, n->function, &f) != 0) return "?";
      return f.name[0] ? f.name : "?";
  }
}

const char *heap_through(const struct heap_view *v, const struct heap_node *n) {
  struct eventring_function_info f;
  if (!n->through || eventring_cursor_function(v->cursor, n->through, &f) != 0) return NULL;
  return f.name;
}

const char *heap_source(const struct heap_view *v, const struct heap_node *n) {
  struct eventring_function_info f;
  if (!is_code(v->by) || eventring_cursor_function(v->cursor, n->function, &f) != 0) return "";
  return f.source;
}

/* Returns the line that is shown with a node. */
static uint32_t line_of(const struct heap_view *v, const struct heap_node *n) {
  struct eventring_function_info f;
  if (v->by != BY_FUNCTION) return n->line;
  return eventring_cursor_function(v->cursor, n->function, &f) == 0 ? f.line : 0;
}

/* Copies a text. If it is too long, copies only its beginning, or its end, which
   distinguishes paths. Returns the bytes. */
static size_t shorten(char *to, const char *text, size_t most, bool keep_end) {
  size_t size = strlen(text), skipped = 0;
  if (size <= most) return (size_t)sprintf(to, "%s", text);
  if (!keep_end)
    return (size_t)sprintf(to, "%.*s...", (int)eventring_text_fit(text, size, most - 3), text);
  for (skipped = size - most + 3; (text[skipped] & 0xC0) == 0x80;) skipped++;
  return (size_t)sprintf(to, "...%s", text + skipped);
}

void heap_label(char label[HEAP_LABEL], const struct heap_view *v, const struct heap_node *n) {
  enum { NAME = 28, SOURCE = 32 }; /* bytes */
  char number[24];
  size_t used = shorten(label, heap_name(v, n, number), NAME, false);
  const char *source = heap_source(v, n);
  uint32_t line = line_of(v, n);
  if (!source[0]) return;
  used += (size_t)sprintf(label + used, "  ");
  used += shorten(label + used, source, SOURCE, true);
  if (line) used += (size_t)sprintf(label + used, ":%" PRIu32, line);
  const char *through = heap_through(v, n);
  if (!through) return;
  used += (size_t)sprintf(label + used, " > ");
  shorten(label + used, through, NAME, false);
}

bool heap_as_of(char text[static HEAP_AS_OF], const struct eva_heap *heap, uint64_t start_ns) {
  const struct eva_heap_state *s = eva_heap_state(heap);
  if (!s->over || s->over_ns < start_ns) return false;
  snprintf(text, HEAP_AS_OF, "when %ssampling ended, %s after the start", s->running ? "some " : "",
           eva_duration(s->over_ns - start_ns));
  return true;
}
