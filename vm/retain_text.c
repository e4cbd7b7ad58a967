/* SPDX-License-Identifier: MIT */
/* vm/retain_text.c: paths as text (retain.c).
 *
 *  _G.cache.sessions[17].user
 *  main thread.<local conf in app.lua:3>["a key"].<metatable>.__index
 *  package.loaded.json.encode.<upvalue buffers>[*]
 *
 * Names and other strings are chosen by the program: they are shown escaped
 * (eventring_printable) and cut. No function of stdio is used: it may take locks.
 */
#include <string.h>

#include "debuginfo.h"
#include "eventring/types.h"
#include "function_names.h"
#include "retain_edge.h"
#include "retain_walk.h"
#include "str.h"

enum { SHOWN_KEY_BYTES = 40, SHOWN_STEPS = 8 /* at each end of a long path */ };

/* ---- text ------------------------------------------------------------------ */

static void add_raw(Text *t, const char *s, size_t n) {
  size_t room = t->size - 1 - t->used;
  if (n > room) n = room;
  memcpy(t->at + t->used, s, n);
  t->used += n;
  t->at[t->used] = '\0';
}

void text_add(Text *t, const char *s) { add_raw(t, s, strlen(s)); }

void text_add_bytes(Text *t, const char *s, size_t n, size_t most) {
  char safe[4 * 128 + 1];
  bool cut = n > most;
  if (cut) n = most;
  if (n > (sizeof safe - 1) / 4) n = (sizeof safe - 1) / 4;
  text_add(t, eventring_printable(safe, sizeof safe, s, n));
  if (cut) text_add(t, "...");
}

void text_add_int(Text *t, int64_t i) {
  char digits[24], *p = digits + sizeof digits - 1;
  uint64_t n = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
  *p = '\0';
  do *--p = (char)('0' + n % 10);
  while ((n /= 10) != 0);
  if (i < 0) *--p = '-';
  text_add(t, p);
}

/* Adds the position of a function, "app.lua:12". */
static void add_position(Text *t, const Prototype *p) {
  char id[LUA_IDSIZE];
  if (p->source == NULL) {
    text_add(t, "?");
  } else {
    chunk_id(id, p->source->data, string_len(p->source));
    text_add_bytes(t, id, strlen(id), sizeof id);
  }
  if (p->line_defined == 0) return;
  text_add(t, ":");
  text_add_int(t, p->line_defined);
}

/* Adds a function, "function M.f app.lua:12". */
void text_add_function(Text *t, const Prototype *p) {
  text_add(t, "function ");
  if (p == NULL) return text_add(t, "?");
  const char *name = prototype_own_name(p);
  text_add_bytes(t, name, strlen(name), FUNCTION_NAME_SIZE);
  text_add(t, " ");
  add_position(t, p);
}

/* ---- steps ----------------------------------------------------------------- */

static bool is_identifier(const String *s) {
  size_t n = string_len(s);
  if (n == 0 || n > SHOWN_KEY_BYTES || (s->data[0] >= '0' && s->data[0] <= '9')) return false;
  for (size_t i = 0; i < n; i++) {
    const char c = s->data[i];
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    if (!letter && !(c >= '0' && c <= '9')) return false;
  }
  return true;
}

static void add_string_key(Text *t, const String *s) {
  text_add(t, is_identifier(s) ? "." : "[\"");
  text_add_bytes(t, s->data, string_len(s), SHOWN_KEY_BYTES);
  if (!is_identifier(s)) text_add(t, "\"]");
}

static void add_variable(Text *t, const char *what, const String *name, const Prototype *in) {
  text_add(t, ".<");
  text_add(t, what);
  if (name != NULL) {
    text_add(t, " ");
    text_add_bytes(t, name->data, string_len(name), SHOWN_KEY_BYTES);
  }
  if (in != NULL) {
    text_add(t, " in ");
    add_position(t, in);
  }
  text_add(t, ">");
}

static void add_step(Text *t, Step step) {
  switch (step.kind) {
    case STEP_ROOT: text_add(t, step.of); break;
    case STEP_FIELD: add_string_key(t, step.of); break;
    case STEP_ANY: text_add(t, "[*]"); break;
    case STEP_KEY: text_add(t, ".<key>"); break;
    case STEP_METATABLE: text_add(t, ".<metatable>"); break;
    case STEP_UPVALUE: add_variable(t, "upvalue", step.of, NULL); break;
    case STEP_USER_VALUE: text_add(t, ".<user value>"); break;
    case STEP_LOCAL: add_variable(t, "local", step.of, step.in); break;
    case STEP_TEMPORARY: add_variable(t, "temporary", NULL, step.in); break;
    case STEP_CODE: text_add(t, ".<code>"); break;
    case STEP_VALUE: break;
    case STEP_MORE: text_add(t, " ..."); break;
  }
}

/* ---- shapes ---------------------------------------------------------------- */

void retain_write_shape(const RetainWalk *w, uint32_t shape, Text *t) {
  uint32_t chain[MOST_DEPTH + 2], n = 0;
  for (; shape != 0 && n < MOST_DEPTH + 2; shape = w->shapes[shape].parent) chain[n++] = shape;
  while (n > 0) {
    const Shape *s = &w->shapes[chain[--n]];
    add_step(t, s->step);
    if (s->repeated && s->step.kind != STEP_MORE) text_add(t, "+");
  }
}

/* ---- paths ----------------------------------------------------------------- */

static void add_key(Text *t, const Node *n) {
  switch (tag_type(n->key_tag)) {
    case LUA_TSTRING: add_string_key(t, (const String *)n->key.gc); return;
    case LUA_TNUMBER:
      text_add(t, "[");
      if (n->key_tag == TAG_INT) text_add_int(t, n->key.i);
      else text_add(t, "a float");
      text_add(t, "]");
      return;
    case LUA_TBOOLEAN: text_add(t, n->key_tag == TAG_TRUE ? "[true]" : "[false]"); return;
    case LUA_TTABLE: text_add(t, "[a table]"); return;
    case LUA_TFUNCTION: text_add(t, "[a function]"); return;
    case LUA_TTHREAD: text_add(t, "[a thread]"); return;
    default: text_add(t, "[a userdata]");
  }
}

static void add_table_edge(Text *t, const Table *parent, uint32_t edge) {
  if (edge < parent->array_size) {
    text_add(t, "[");
    text_add_int(t, (int64_t)edge + 1);
    text_add(t, "]");
  } else if ((edge - parent->array_size) / 2 < table_node_count(parent)) {
    const Node *n = &parent->node[(edge - parent->array_size) / 2];
    add_key(t, n);
    if ((edge - parent->array_size) % 2 != 0) text_add(t, ".<key>");
  }
}

static void add_closure_edge(Text *t, const LuaClosure *c, uint32_t edge) {
  const Prototype *p = c->p;
  add_variable(t, "upvalue", edge < p->nupvalues ? p->upvalues[edge].name : NULL, NULL);
}

static void add_edge(Text *t, const GCObject *parent, uint32_t edge) {
  if (edge == EDGE_METATABLE) {
    text_add(t, ".<metatable>");
    return;
  }
  if (edge == EDGE_CODE) {
    text_add(t, ".<code>");
    return;
  }
  switch (parent->type) {
    case LUA_TTABLE: add_table_edge(t, (const Table *)parent, edge); break;
    case TYPE_LUA_CLOSURE: add_closure_edge(t, (const LuaClosure *)parent, edge); break;
    case TYPE_C_CLOSURE: case LUA_TUSERDATA:
      text_add(t, parent->type == LUA_TUSERDATA ? ".<user value " : ".<upvalue ");
      text_add_int(t, (int64_t)edge + 1);
      text_add(t, ">");
      break;
    case LUA_TTHREAD: {
      const lua_State *co = (const lua_State *)parent;
      add_step(t, retain_slot_step(co, retain_frame_of(co, edge), co->stack + edge));
      break;
    }
    default: break; /* the value of an upvalue */
  }
}

/* Tells whether an entry is a step of the path; the value of an upvalue is not. */
static bool is_step(const RetainWalk *w, uint32_t i) {
  const Visited *v = &w->queue[i];
  if (v->parent == NO_PARENT) return false;
  return visited_object(&w->queue[v->parent])->type != TYPE_UPVALUE || v->edge == EDGE_CODE;
}

uint32_t retain_steps(const RetainWalk *w, uint32_t i) {
  uint32_t n = 0;
  for (; w->queue[i].parent != NO_PARENT; i = w->queue[i].parent) n += is_step(w, i);
  return n;
}

static void add_root(const RetainWalk *w, uint32_t i, Text *t) {
  uint32_t shape = visited_shape(&w->queue[i]);
  while (w->shapes[shape].parent != 0) shape = w->shapes[shape].parent;
  add_step(t, w->shapes[shape].step);
}

/* Writes the first steps of a path and the last ones, with the number of those between.
 * The path is read backwards, a few objects at a time. */
void retain_write_path(const RetainWalk *w, uint32_t i, Text *t) {
  uint32_t first[SHOWN_STEPS + 1], last[SHOWN_STEPS];
  uint32_t nfirst = 0, nlast = 0, left_out = 0;
  const uint32_t steps = retain_steps(w, i);
  uint32_t at = i, before = steps;
  for (; w->queue[at].parent != NO_PARENT; at = w->queue[at].parent) {
    if (!is_step(w, at)) continue;
    before--;
    if (before < SHOWN_STEPS) first[nfirst++] = at;
    else if (nlast < SHOWN_STEPS) last[nlast++] = at;
    else left_out++;
  }
  add_root(w, at, t);
  while (nfirst > 0) {
    const Visited *v = &w->queue[first[--nfirst]];
    add_edge(t, visited_object(&w->queue[v->parent]), v->edge);
  }
  if (left_out > 0) {
    text_add(t, " ... ");
    text_add_int(t, left_out);
    text_add(t, left_out > 1 ? " steps ... " : " step ... ");
  }
  while (nlast > 0) {
    const Visited *v = &w->queue[last[--nlast]];
    add_edge(t, visited_object(&w->queue[v->parent]), v->edge);
  }
}
