/* SPDX-License-Identifier: MIT */
/* stacks.c: the functions and stacks of a recording, read and checked.
 *
 * Ids are indices into two tables, each as large as its largest id. An id is valid only
 * if the budget of its kind has room for so many records, so that a damaged file cannot
 * make the tables larger than the file. The parent of a node has a smaller id than the
 * node: there are no cycles, and the depth of a node follows from that of its parent. */
#include "reader/stacks.h"

#include <stdlib.h>
#include <string.h>

#include "format/sized.h"
#include "format/text.h"
#include "reader/cursor.h"

enum {
  RECORD_WORDS_PER_BLOCK = FORMAT_BLOCK_WORDS - FORMAT_BLOCK_HEADER_WORDS,
  FUNCTION_WORDS = sizeof(struct format_function) / 8,
  NODE_WORDS = sizeof(struct format_stack_node) / 8,
  /* numbers of records that the budgets have room for */
  MOST_FUNCTIONS = 2048 * RECORD_WORDS_PER_BLOCK / FUNCTION_WORDS,
  MOST_NODES = 4096 * (RECORD_WORDS_PER_BLOCK / NODE_WORDS)
};

struct evr_function {
  uint32_t line, last_line;
  char *source; /* points into `texts` */
  char texts[]; /* name and source, each terminated */
};

/* ---- Validity ---------------------------------------------------------------------- */

bool evr_stacks_record_valid(unsigned kind, const uint64_t *record) {
  uint32_t number = record_number(*record);
  bool is_kind = record_type(*record) == FORMAT_MEMORY_KIND;
  switch (kind) {
    case FORMAT_FUNCTIONS: return number >= 1 && number <= MOST_FUNCTIONS;
    case FORMAT_STACKS: return number >= 1 && number <= MOST_NODES && (uint32_t)record[1] < number;
    case FORMAT_STRINGS:
      return number < (is_kind ? FORMAT_MEMORY_KINDS : FORMAT_MEMORY_ORIGINS) && record[1] >= 1;
    default: return true;
  }
}

/* ---- Taking ------------------------------------------------------------------------ */

/* Extends a table of elements of `size` bytes, zeroed, up to index `at`. */
static bool reach(void *table, uint32_t *room, uint32_t at, size_t size) {
  void *old;
  if (at < *room) return true;
  uint32_t more = *room ? 2 * *room : 64;
  if (more <= at) more = at + 1;
  memcpy(&old, table, sizeof old);
  char *grown = realloc(old, more * size);
  if (!grown) return false;
  memset(grown + *room * size, 0, (more - *room) * size);
  memcpy(table, &grown, sizeof grown);
  *room = more;
  return true;
}

static void take_text(char *to, const char *from, size_t bytes) {
  memcpy(to, from, bytes);
  to[bytes] = 0;
  evr_text_clean_bytes(to, bytes);
}

static bool take_function(struct evr_stacks *s, const uint64_t *record) {
  struct format_function f;
  memcpy(&f, record, sizeof f);
  uint32_t id = record_number(f.first);
  if (!reach(&s->functions, &s->function_room, id, sizeof *s->functions)) return false;
  if (s->functions[id]) return true; /* the first record counts */
  struct evr_function *to = malloc(sizeof *to + f.name_bytes + f.source_bytes + 2);
  if (!to) return false;
  const char *texts = (const char *)(record + FUNCTION_WORDS);
  *to = (struct evr_function){.line = f.line, .last_line = f.last_line};
  to->source = to->texts + f.name_bytes + 1;
  take_text(to->texts, texts, f.name_bytes);
  take_text(to->source, texts + f.name_bytes, f.source_bytes);
  s->functions[id] = to;
  if (id >= s->function_end) s->function_end = id + 1;
  return true;
}

/* Takes a node. A node whose parent is not there becomes an outermost one. */
static bool take_node(struct evr_stacks *s, const uint64_t *record) {
  struct format_stack_node n;
  memcpy(&n, record, sizeof n);
  uint32_t id = record_number(n.first);
  if (!reach(&s->nodes, &s->node_room, id, sizeof *s->nodes)) return false;
  if (s->nodes[id].depth) return true;
  uint32_t above = n.parent ? s->nodes[n.parent].depth : 0;
  s->nodes[id] = (struct evr_stack_node){above ? n.parent : 0, n.function, n.line, n.column,
                                         above + 1};
  if (id >= s->node_end) s->node_end = id + 1;
  return true;
}

static void take_name(struct evr_stacks *s, const uint64_t *record) {
  uint32_t i = record_number(*record);
  char *to = record_type(*record) == FORMAT_MEMORY_KIND ? s->kind[i] : s->origin[i];
  take_text(to, (const char *)(record + 2), record[1]);
}

bool evr_stacks_take(struct evr_stacks *s, unsigned kind, const uint64_t *record) {
  if (kind == FORMAT_FUNCTIONS) return take_function(s, record);
  if (kind == FORMAT_STACKS) return take_node(s, record);
  if (kind == FORMAT_STRINGS) take_name(s, record);
  return true;
}

void evr_stacks_free(struct evr_stacks *s) {
  for (uint32_t i = 0; i < s->function_end; i++) free(s->functions[i]);
  free(s->functions);
  free(s->nodes);
}

/* ---- Public ------------------------------------------------------------------------ */

int eventring_cursor_function(const eventring_cursor *cursor, uint32_t id,
                              struct eventring_function_info *info) {
  const struct evr_stacks *s = &cursor->definitions.stacks;
  const struct evr_function *f = id < s->function_end ? s->functions[id] : NULL;
  if (!f) return EVENTRING_E_NOT_FOUND;
  *info = (struct eventring_function_info){f->texts, f->source, f->line, f->last_line};
  return EVENTRING_OK;
}

int eventring_cursor_stack(const eventring_cursor *cursor, uint32_t id,
                           struct eventring_stack_info *info) {
  const struct evr_stacks *s = &cursor->definitions.stacks;
  if (id >= s->node_end || !s->nodes[id].depth) return EVENTRING_E_NOT_FOUND;
  const struct evr_stack_node *n = &s->nodes[id];
  *info = (struct eventring_stack_info){n->parent, n->function, n->line, n->column, n->depth};
  return EVENTRING_OK;
}
