/* SPDX-License-Identifier: MIT */
/* vm/frame_names.c: names and places of frames for the sampler of allocations.
 *
 * Asked for in the middle of allocations: only reads. */
#include "frame_names.h"

#include <stdio.h>
#include <string.h>

#include "debuginfo.h"
#include "domain.h"
#include "table.h"
#include "thread.h"

/* The key of a function in a table of functions; NULL: it is not there. */
static const String *key_of_function(const Table *t, const TValue *f) {
  for (uint32_t i = 0; i < table_node_count(t); i++) {
    const Node *n = &t->node[i];
    if (n->tag == f->tag && n->v.p == f->v.p && n->key_tag == TAG_SHORT_STRING)
      return (const String *)n->key.gc;
  }
  return NULL;
}

/* registry._LOADED, found without making a string. */
static const Table *loaded_modules(const Domain *d) {
  const Table *registry = as_table(&d->registry);
  for (uint32_t i = 0; i < table_node_count(registry); i++) {
    const Node *n = &registry->node[i];
    if (n->tag == TAG_TABLE && n->key_tag == TAG_SHORT_STRING &&
        strcmp(((const String *)n->key.gc)->data, "_LOADED") == 0)
      return (const Table *)n->v.gc;
  }
  return NULL;
}

/* "string.rep", of a function that a library has; "" if it is none. */
static void library_name(const Table *loaded, const TValue *f, char *name) {
  *name = '\0';
  if (loaded == NULL) return;
  for (uint32_t i = 0; i < table_node_count(loaded); i++) {
    const Node *n = &loaded->node[i];
    if (n->tag != TAG_TABLE || n->key_tag != TAG_SHORT_STRING) continue;
    const String *key = key_of_function((const Table *)n->v.gc, f);
    const char *module = ((const String *)n->key.gc)->data;
    if (key == NULL) continue;
    if (strcmp(module, "_G") == 0) snprintf(name, MEMPROF_NAME_SIZE, "%s", key->data);
    else snprintf(name, MEMPROF_NAME_SIZE, "%s.%s", module, key->data);
    return;
  }
}

/* What the caller calls it. */
static const char *called_name(lua_State *L, CallInfo *frame) {
  const char *name = NULL;
  if (frame->status & CALL_TAIL || frame->prev == NULL || frame->prev == &L->base_ci) return NULL;
  return debug_name_of_call(L, frame->prev, &name) != NULL ? name : NULL;
}

static void lua_frame_name(lua_State *L, CallInfo *frame, char *name, char *source,
                           uint32_t *line, uint32_t *last_line) {
  const Prototype *p = frame_closure(frame)->p;
  const char *called = called_name(L, frame);
  if (p->source != NULL) chunk_id(source, p->source->data, string_len(p->source));
  *line = p->line_defined;
  *last_line = p->last_line_defined;
  if (p->line_defined == 0) snprintf(name, MEMPROF_NAME_SIZE, "main chunk");
  else if (called != NULL) snprintf(name, MEMPROF_NAME_SIZE, "%s", called);
  else snprintf(name, MEMPROF_NAME_SIZE, "function <%s:%u>", source, (unsigned)*line);
}

void frame_name(lua_State *L, CallInfo *frame, char *name, char *source, uint32_t *line,
                uint32_t *last_line) {
  if (is_lua_frame(frame)) {
    lua_frame_name(L, frame, name, source, line, last_line);
    return;
  }
  snprintf(source, LUA_IDSIZE, "[C]");
  library_name(loaded_modules(L->domain), frame->func, name);
  if (*name != '\0') return;
  const char *called = called_name(L, frame);
  snprintf(name, MEMPROF_NAME_SIZE, "%s", called != NULL ? called : "?");
}

void frame_place(const Prototype *p, uint32_t pc, uint32_t *line, uint32_t *column) {
  int at, in_line;
  if (!debuginfo_position(p, (int)pc, &at, &in_line)) at = in_line = 0;
  *line = at > 0 ? (uint32_t)at : 0;
  *column = (uint32_t)in_line;
}
