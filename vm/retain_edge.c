/* SPDX-License-Identifier: MIT */
/* vm/retain_edge.c: what an object refers to, and how (retain.c).
 *
 * An edge is a number that says which reference of the parent holds the child:
 *
 *  table      i: slot i of the array part; array_size + 2 j: value of node j;
 *             array_size + 2 j + 1: key of node j; EDGE_METATABLE
 *  function   i: upvalue i; EDGE_CODE: its prototype
 *  upvalue    0: its value; EDGE_CODE: the thread whose stack has it
 *  userdata   i: user value i; EDGE_METATABLE
 *  thread     i: slot i of its stack
 *  prototype  EDGE_CODE
 */
#include <string.h>

#include "func.h"
#include "gc.h"
#include "retain_edge.h"
#include "retain_walk.h"
#include "str.h"
#include "table.h"

/* A table with more string keys than this is a map, whose keys are not distinguished. */
enum { MOST_FIELDS = 64 };

/* ---- shapes ---------------------------------------------------------------- */

static bool is_step(const Shape *s, uint32_t parent, Step step) {
  return s->parent == parent && s->step.kind == step.kind && s->step.of == step.of &&
         s->step.in == step.in;
}

/* Tells whether a step repeats the last one, as in a list of tables that are linked by a
 * field. An element of an element does not count: it is often of another kind. */
static bool repeats(const RetainWalk *w, uint32_t shape, Step step) {
  const Shape *s = &w->shapes[shape];
  return shape != 0 && step.kind != STEP_ANY && s->step.kind == step.kind &&
         s->step.of == step.of && s->step.in == step.in && step.kind != STEP_ROOT;
}

static uint32_t shape_hash(uint32_t parent, Step step) {
  uint64_t h = (uint64_t)(uintptr_t)step.of * UINT64_C(0x9e3779b97f4a7c15);
  h = (h ^ (uint64_t)(uintptr_t)step.in ^ (uint64_t)step.kind << 56) * UINT64_C(0xff51afd7ed558ccd);
  return (uint32_t)((h ^ parent) * UINT64_C(0xc4ceb9fe1a85ec53) >> 40) & (2 * MOST_SHAPES - 1);
}

uint32_t retain_shape(RetainWalk *w, uint32_t shape, Step step) {
  if (step.kind == STEP_VALUE) return shape;
  if (w->shapes[shape].step.kind == STEP_MORE && shape != 0) return shape;
  if (repeats(w, shape, step)) {
    w->shapes[shape].repeated = true;
    return shape;
  }
  if (w->shapes[shape].depth >= MOST_DEPTH) step = (Step){STEP_MORE, NULL, NULL};
  uint32_t i = shape_hash(shape, step);
  for (; w->shape_index[i] != 0; i = (i + 1) & (2 * MOST_SHAPES - 1))
    if (is_step(&w->shapes[w->shape_index[i]], shape, step)) return w->shape_index[i];
  /* the object counts for the shape before the step */
  if (w->nshapes == MOST_SHAPES) return shape;
  w->shapes[w->nshapes] = (Shape){
      .step = step, .parent = shape, .depth = (uint16_t)(w->shapes[shape].depth + 1)};
  return w->shape_index[i] = w->nshapes++;
}

void retain_reach(RetainWalk *w, GCObject *o, uint32_t parent, uint32_t edge, uint32_t shape) {
  if (!retain_visit(w, o)) return;
  w->queue[w->n++] = (Visited){.object_shape = (uint64_t)(uintptr_t)o >> 3 << SHAPE_BITS | shape,
                               .parent = parent,
                               .edge = edge};
}

/* ---- following ------------------------------------------------------------- */

typedef struct From {
  RetainWalk *w;
  uint32_t parent, shape;
} From;

/* Follows a reference. The shape is made only for an object that was not visited: there
   may be room for one shape only. */
static void follow(From from, GCObject *o, uint32_t edge, Step step) {
  if (o == NULL || retain_was_visited(from.w, o)) return;
  retain_reach(from.w, o, from.parent, edge, retain_shape(from.w, from.shape, step));
}

static void follow_value(From from, const TValue *v, uint32_t edge, Step step) {
  if (is_collected(v)) follow(from, v->v.gc, edge, step);
}

#define STEP(kind) ((Step){kind, NULL, NULL})
#define STEP_OF(kind, what) ((Step){kind, what, NULL})

static void follow_later(From from) {
  if (from.w->nlater == MOST_LATER) from.w->end = RETAIN_OUT_OF_MEMORY;
  else from.w->later[from.w->nlater++] = from.parent;
}

/* ---- tables ---------------------------------------------------------------- */

enum { WEAK_VALUE = 1, WEAK_KEY = 2 };

static unsigned weakness(const Domain *d, const Table *t) {
  const String *mode = retain_meta_string(d, t->metatable, META_MODE);
  if (mode == NULL) return 0;
  return (strchr(mode->data, 'v') ? WEAK_VALUE : 0) | (strchr(mode->data, 'k') ? WEAK_KEY : 0);
}

static bool has_many_fields(const Table *t) {
  uint32_t n = table_node_count(t), fields = 0;
  if (n <= MOST_FIELDS) return false;
  for (uint32_t i = 0; i < n && fields <= MOST_FIELDS; i++)
    fields += t->node[i].tag != TAG_NIL && tag_type(t->node[i].key_tag) == LUA_TSTRING;
  return fields > MOST_FIELDS;
}

static bool has_names(const From *from, const Table *t) {
  const RetainWalk *w = from->w;
  if (t == w->loaded || t == w->globals || t == as_table(&w->d->registry)) return true;
  return !has_many_fields(t);
}

static Step step_to_value(const Node *n, bool named) {
  if (named && n->key_tag == TAG_SHORT_STRING) return STEP_OF(STEP_FIELD, n->key.gc);
  return STEP(STEP_ANY);
}

static void follow_nodes(From from, const Table *t, unsigned weak) {
  const bool named = has_names(&from, t);
  const uint32_t n = table_node_count(t);
  for (uint32_t i = 0; i < n; i++) {
    const Node *node = &t->node[i];
    const uint32_t edge = t->array_size + 2 * i;
    if (node->tag == TAG_NIL) continue;
    if (!(weak & WEAK_KEY) && (node->key_tag & TAG_COLLECTED))
      follow(from, node->key.gc, edge + 1, STEP(STEP_KEY));
    if (!weak && (node->tag & TAG_COLLECTED))
      follow(from, node->v.gc, edge, step_to_value(node, named));
  }
}

static void follow_table(From from, const Table *t) {
  const unsigned weak = weakness(from.w->d, t);
  follow(from, (GCObject *)t->metatable, EDGE_METATABLE, STEP(STEP_METATABLE));
  if (!(weak & WEAK_VALUE))
    for (uint32_t i = 0; i < t->array_size; i++)
      follow_value(from, &t->array[i], i, STEP(STEP_ANY));
  follow_nodes(from, t, weak);
  if (weak != WEAK_KEY) return;
  follow_later(from);
}

/* Tells whether a key is alive. Strings and values that are not collected do not act as
   weak keys. */
static bool key_is_alive(RetainWalk *w, const Node *n) {
  if (!(n->key_tag & TAG_COLLECTED) || tag_type(n->key_tag) == LUA_TSTRING) return true;
  return retain_was_visited(w, n->key.gc);
}

static void follow_weak_table(RetainWalk *w, uint32_t parent) {
  const Table *t = (const Table *)visited_object(&w->queue[parent]);
  From from = {w, parent, visited_shape(&w->queue[parent])};
  const bool named = has_names(&from, t);
  for (uint32_t i = 0, n = table_node_count(t); i < n; i++) {
    const Node *node = &t->node[i];
    if (!(node->tag & TAG_COLLECTED) || node->tag == TAG_NIL || !key_is_alive(w, node)) continue;
    follow(from, node->v.gc, t->array_size + 2 * i, step_to_value(node, named));
    if ((node->key_tag & TAG_COLLECTED) && tag_type(node->key_tag) == LUA_TSTRING)
      follow(from, node->key.gc, t->array_size + 2 * i + 1, STEP(STEP_KEY));
  }
}

/* ---- functions, userdata ---------------------------------------------------- */

static void follow_closure(From from, const LuaClosure *c) {
  follow(from, (GCObject *)c->p, EDGE_CODE, STEP(STEP_CODE));
  for (uint32_t i = 0; i < c->nupvalues; i++) {
    const String *name = c->p != NULL && i < c->p->nupvalues ? c->p->upvalues[i].name : NULL;
    follow(from, (GCObject *)c->upvalues[i], i, STEP_OF(STEP_UPVALUE, name));
  }
}

static void follow_prototype(From from, const Prototype *p) {
  const Step code = STEP(STEP_CODE);
  follow(from, (GCObject *)p->source, EDGE_CODE, code);
  follow(from, (GCObject *)p->name, EDGE_CODE, code);
  for (uint32_t i = 0; i < p->nconstants; i++) follow_value(from, &p->k[i], EDGE_CODE, code);
  for (uint32_t i = 0; i < p->nprotos; i++) follow(from, (GCObject *)p->p[i], EDGE_CODE, code);
  for (uint32_t i = 0; i < p->nlocals; i++)
    follow(from, (GCObject *)p->locals[i].name, EDGE_CODE, code);
  for (uint32_t i = 0; p->upvalues != NULL && i < p->nupvalues; i++)
    follow(from, (GCObject *)p->upvalues[i].name, EDGE_CODE, code);
}

static void follow_values(From from, const TValue *v, uint32_t n, StepKind kind) {
  for (uint32_t i = 0; i < n; i++) follow_value(from, &v[i], i, STEP(kind));
}

/* ---- threads --------------------------------------------------------------- */

static const TValue *end_of_frame(const lua_State *co, const CallInfo *ci) {
  if (ci != co->ci) return ci->next->func;
  return is_lua_frame(ci) && ci->top > co->top ? ci->top : co->top;
}

const CallInfo *retain_frame_of(const lua_State *co, uint32_t edge) {
  const CallInfo *ci = co->ci;
  while (ci != NULL && ci->func > co->stack + edge) ci = ci->prev;
  return ci;
}

static const String *name_of_local(const Prototype *p, int number, uint32_t pc) {
  for (uint32_t i = 0; i < p->nlocals && p->locals[i].start_pc <= pc; i++)
    if (pc < p->locals[i].end_pc && --number == 0) return p->locals[i].name;
  return NULL;
}

static uint32_t pc_of(const CallInfo *ci) {
  ptrdiff_t pc = ci->u.lua.pc - frame_closure(ci)->p->code - 1;
  return pc > 0 ? (uint32_t)pc : 0;
}

Step retain_slot_step(const lua_State *co, const CallInfo *ci, const TValue *slot) {
  if (ci == NULL || !is_lua_frame(ci) || ci == &co->base_ci) return STEP(STEP_TEMPORARY);
  const Prototype *p = frame_closure(ci)->p;
  Step step = {STEP_TEMPORARY, NULL, p};
  const String *name =
      slot > ci->func ? name_of_local(p, (int)(slot - ci->func), pc_of(ci)) : NULL;
  if (name != NULL) step = (Step){STEP_LOCAL, name, p};
  return step;
}

/* Follows the slots that the frames use, variables or temporaries. The slots above them
 * are nil, or dead for the collector. */
static void follow_slots(From from, const lua_State *co, bool temporaries) {
  if (co->stack == NULL) return;
  for (const CallInfo *ci = co->ci; ci != NULL; ci = ci->prev)
    for (const TValue *v = ci->func, *end = end_of_frame(co, ci); v < end; v++) {
      if (!is_collected(v)) continue;
      const Step step = retain_slot_step(co, ci, v);
      if ((step.kind == STEP_TEMPORARY) != temporaries) continue;
      follow(from, v->v.gc, (uint32_t)(v - co->stack), step);
    }
}

static void follow_thread(From from, const lua_State *co) {
  follow_slots(from, co, false);
  follow_later(from);
}

/* ---- what comes last -------------------------------------------------------- */

static const GCObject *later_object(const RetainWalk *w, uint32_t i) {
  return visited_object(&w->queue[w->later[i]]);
}

static void follow_temporaries(RetainWalk *w, uint32_t parent) {
  const Visited *v = &w->queue[parent];
  const lua_State *co = (const lua_State *)visited_object(v);
  const From from = {w, parent, visited_shape(v)};
  follow_slots(from, co, true);
  follow(from, (GCObject *)co->created_in, EDGE_CODE, STEP(STEP_CODE));
  follow(from, (GCObject *)co->resumed_in, EDGE_CODE, STEP(STEP_CODE));
}

bool retain_follow_later(RetainWalk *w) {
  const uint32_t before = w->n;
  for (uint32_t i = 0; i < w->nlater; i++)
    if (later_object(w, i)->type == LUA_TTABLE) follow_weak_table(w, w->later[i]);
  if (w->n > before) return true;
  for (uint32_t i = 0; i < w->nlater; i++)
    if (later_object(w, i)->type == LUA_TTHREAD) follow_temporaries(w, w->later[i]);
  return w->n > before;
}

/* ---- all ------------------------------------------------------------------- */

void retain_follow(RetainWalk *w, uint32_t i) {
  const GCObject *o = visited_object(&w->queue[i]);
  const From from = {w, i, visited_shape(&w->queue[i])};
  switch (o->type) {
    case LUA_TTABLE: follow_table(from, (const Table *)o); break;
    case TYPE_LUA_CLOSURE: follow_closure(from, (const LuaClosure *)o); break;
    case TYPE_C_CLOSURE: {
      const CClosure *c = (const CClosure *)o;
      follow_values(from, c->upvalues, c->nupvalues, STEP_UPVALUE);
      break;
    }
    case TYPE_UPVALUE: {
      const UpValue *uv = (const UpValue *)o;
      follow_value(from, uv->v, 0, STEP(STEP_VALUE));
      if (upvalue_is_open(uv))
        follow(from, (GCObject *)uv->u.open.thread, EDGE_CODE, STEP(STEP_CODE));
      break;
    }
    case LUA_TUSERDATA: {
      const Userdata *u = (const Userdata *)o;
      follow(from, (GCObject *)u->metatable, EDGE_METATABLE, STEP(STEP_METATABLE));
      follow_values(from, u->uservalues, u->nuservalues, STEP_USER_VALUE);
      break;
    }
    case TYPE_PROTO: follow_prototype(from, (const Prototype *)o); break;
    case LUA_TTHREAD: follow_thread(from, (const lua_State *)o); break;
    default: break; /* strings refer to nothing */
  }
}
