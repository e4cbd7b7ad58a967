/* SPDX-License-Identifier: MIT */
/* stdlib/memprof_samples.c: what module memprof keeps for a domain.
 *
 * A callback costs little compared with making its argument, a table. So this table is
 * made in one step, as a copy of `shape`, a table with all the keys of a sample. The
 * strings of kinds and origins are made once, and samples of one stack share the table of
 * that stack.
 *
 * All of this is in a userdata in the registry. The objects that the userdata points to
 * are held by a table, which is its user value. */
#include "memprof_samples.h"

#include <string.h>

#include "api.h"
#include "eventring.h"
#include "gc_inline.h"
#include "lauxlib.h"
#include "str.h"
#include "table.h"
#include "thread.h"

static const char *const kind_names[] = {
#define MEMPROF_KIND(id, name, doc) name,
#include "memprof.def"
};
static const char *const origin_names[] = {
#define MEMPROF_ORIGIN(id, name, doc) name,
#include "memprof.def"
};

enum { IN_SAMPLES, IN_WORDS, IN_KIND, IN_ORIGIN, IN_DOMAIN, IN_NS, IN_STACK, IN_SPAN,
       FIELDS };
static const char *const field_names[FIELDS] = {"samples", "words", "kind", "origin", "domain",
                                                "ns", "stack", "span"};

struct Samples {
  Table *held;       /* holds all objects below */
  Table *callbacks;  /* a table of functions for each profile; the running sampler */
  Table *values;     /* values of blocks, by their numbers */
  Table *stacks;     /* tables of stacks, by the numbers of the stacks */
  Table *spans;      /* names of spans, by their ids */
  Table *shape;      /* the shape of a sample */
  String *kinds[MEMPROF_KINDS], *origins[MEMPROF_ORIGINS];
  uint32_t nodes[FIELDS]; /* nodes of the fields in `shape` */
  uint32_t nheld, stacks_at; /* number of elements of `held`; index of `stacks` there */
  /* number of tables in `stacks`, and memprof_stacks_age when `stacks` was new */
  uint32_t nstacks, age;
  uint32_t nvalues;  /* the greatest number that was used */
  uint32_t free;     /* a free number, or 0; the value under it is the next free number */
};

/* the most tables of stacks that are kept; then all are made again */
#define MOST_STACKS 4096
#define RUNNING 0 /* index of the running sampler; profiles are numbered from 1 on */

static const char samples_key; /* its address is the key in the registry */

/* ---- making it ------------------------------------------------------------- */

static Table *hold_table(lua_State *L, Samples *s, uint32_t keys) {
  lua_createtable(L, 0, (int)keys);
  Table *t = as_table(L->top - 1);
  table_set_int(L, s->held, ++s->nheld, L->top - 1);
  lua_pop(L, 1);
  return t;
}

static String *hold_string(lua_State *L, Samples *s, const char *text) {
  lua_pushstring(L, text);
  String *string = as_string(L->top - 1);
  table_set_int(L, s->held, ++s->nheld, L->top - 1);
  lua_pop(L, 1);
  return string;
}

static void make_shape(lua_State *L, Samples *s) {
  TValue domain;
  set_int(&domain, L->domain->id);
  s->shape = hold_table(L, s, FIELDS);
  for (int i = 0; i < FIELDS; i++)
    table_set_str(L, s->shape, hold_string(L, s, field_names[i]), &domain);
  for (int i = 0; i < FIELDS; i++) {
    const TValue *value = table_get_str(s->shape, string_from_c(L, field_names[i]));
    s->nodes[i] = (uint32_t)((const Node *)value - s->shape->node);
  }
}

Samples *samples_of(lua_State *L) {
  /* the key is not pushed, since the stack may be full (forget, after an error) */
  TValue key;
  set_light(&key, (void *)(uintptr_t)&samples_key);
  const TValue *found = table_get(as_table(&L->domain->registry), &key);
  return is_userdata(found) ? userdata_payload(as_userdata(found)) : NULL;
}

Samples *samples_make(lua_State *L) {
  Samples *s = samples_of(L);
  if (s != NULL) return s;
  s = lua_newuserdatauv(L, sizeof *s, 1);
  memset(s, 0, sizeof *s);
  lua_newtable(L);
  s->held = as_table(L->top - 1);
  lua_setiuservalue(L, -2, 1);
  s->callbacks = hold_table(L, s, 0);
  s->values = hold_table(L, s, 0);
  s->stacks = hold_table(L, s, 0);
  s->stacks_at = s->nheld;
  s->spans = hold_table(L, s, 0);
  make_shape(L, s);
  for (int i = 0; i < MEMPROF_KINDS; i++) s->kinds[i] = hold_string(L, s, kind_names[i]);
  for (int i = 0; i < MEMPROF_ORIGINS; i++) s->origins[i] = hold_string(L, s, origin_names[i]);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &samples_key);
  return s;
}

/* ---- callbacks and values ---------------------------------------------------- */

void samples_set_callbacks(lua_State *L, Samples *s, uint32_t profile) {
  table_set_int(L, s->callbacks, profile, L->top - 1);
  lua_pop(L, 1);
}

static void push_at(lua_State *L, Table *t, uint32_t n) {
  api_push_value(L, table_get_int(t, n));
}

void samples_push_callbacks(lua_State *L, const Samples *s, uint32_t profile) {
  push_at(L, s->callbacks, profile);
}

void samples_set_running(lua_State *L, Samples *s) {
  table_set_int(L, s->callbacks, RUNNING, L->top - 1);
}

void samples_push_running(lua_State *L, const Samples *s) { push_at(L, s->callbacks, RUNNING); }

const TValue *samples_callback(const Samples *s, uint32_t profile, MemprofCallback what) {
  return table_get_int(as_table(table_get_int(s->callbacks, profile)), what);
}

uint32_t samples_keep_value(lua_State *L, Samples *s, uint32_t number) {
  uint32_t to = number != 0 ? number : s->free != 0 ? s->free : s->nvalues + 1;
  const TValue *next = table_get_int(s->values, to);
  uint32_t then = is_int(next) ? (uint32_t)next->v.i : 0;
  table_set_int(L, s->values, to, L->top - 1); /* may raise */
  if (to > s->nvalues) s->nvalues = to;
  else if (to == s->free) s->free = then;
  lua_pop(L, 1);
  return to;
}

void samples_push_value(lua_State *L, const Samples *s, uint32_t number) {
  push_at(L, s->values, number);
}

void samples_forget_value(lua_State *L, Samples *s, uint32_t number) {
  TValue next;
  if (number == 0) return;
  set_int(&next, s->free);
  table_set_int(L, s->values, number, &next); /* replaces the value that is there */
  s->free = number;
}

/* ---- samples as tables ------------------------------------------------------- */

static void put_string(lua_State *L, const char *field, const char *text) {
  lua_pushstring(L, text);
  lua_setfield(L, -2, field);
}

static void put_integer(lua_State *L, const char *field, uint64_t n) {
  lua_pushinteger(L, (lua_Integer)n);
  lua_setfield(L, -2, field);
}

static void make_frame(lua_State *L, const MemprofFrame *frame) {
  /* a copy: the function may move */
  MemprofFunction f = *memprof_function(L->domain, frame->function);
  lua_createtable(L, 0, 4);
  put_string(L, "name", f.name);
  put_string(L, "source", f.source);
  if (frame->line > 0) put_integer(L, "line", frame->line);
  if (frame->column > 0) put_integer(L, "column", frame->column);
}

static void forget_stacks(lua_State *L, Samples *s) {
  s->age = memprof_stacks_age(L->domain);
  lua_newtable(L);
  table_set_int(L, s->held, s->stacks_at, L->top - 1);
  s->stacks = as_table(L->top - 1);
  s->nstacks = 0;
  lua_pop(L, 1);
}

/* Pushes the table of a stack, and keeps it. */
static NOINLINE void make_stack(lua_State *L, Samples *s, uint32_t stack) {
  uint32_t depth;
  if (s->nstacks++ >= MOST_STACKS) forget_stacks(L, s);
  memprof_stack(L->domain, stack, &depth);
  lua_createtable(L, (int)depth, 0);
  for (uint32_t i = 0; i < depth; i++) {
    /* fetched again: it may have moved */
    MemprofFrame frame = memprof_stack(L->domain, stack, &depth)[i];
    make_frame(L, &frame);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  table_set_int(L, s->stacks, stack, L->top - 1);
}

/* Keeps the name of a span, and returns it. */
static const TValue *keep_span(lua_State *L, Samples *s, unsigned id) {
  const char *name = eventring_event_name(id);
  lua_pushstring(L, name != NULL ? name : "?");
  table_set_int(L, s->spans, id, L->top - 1);
  lua_pop(L, 1);
  return table_get_int(s->spans, id);
}

static void push_span(lua_State *L, Samples *s, uint16_t span) {
  const TValue *name = &L->domain->nil;
  if (unlikely(span != 0)) {
    name = table_get_int(s->spans, span - 1);
    if (unlikely(is_nil(name))) name = keep_span(L, s, span - 1u);
  }
  api_push_value(L, name);
}

static void push_stack(lua_State *L, Samples *s, uint32_t stack) {
  if (unlikely(s->age != memprof_stacks_age(L->domain))) forget_stacks(L, s);
  const TValue *known = table_get_int(s->stacks, stack);
  if (unlikely(is_nil(known))) make_stack(L, s, stack);
  else api_push_value(L, known);
}

void samples_push(lua_State *L, Samples *s, const MemprofSample *sample) {
  push_stack(L, s, sample->stack);
  push_span(L, s, sample->span);
  Table *t = table_new_like(L, s->shape); /* it is young, and needs no barrier */
  const uint32_t *at = s->nodes;
  set_int(node_value(&t->node[at[IN_SAMPLES]]), (int64_t)sample->samples);
  set_int(node_value(&t->node[at[IN_WORDS]]), (int64_t)sample->words);
  set_int(node_value(&t->node[at[IN_NS]]), (int64_t)sample->ns);
  set_string(node_value(&t->node[at[IN_KIND]]), s->kinds[sample->kind]);
  set_string(node_value(&t->node[at[IN_ORIGIN]]), s->origins[sample->origin]);
  value_copy(node_value(&t->node[at[IN_STACK]]), L->top - 2);
  value_copy(node_value(&t->node[at[IN_SPAN]]), L->top - 1);
  set_table(L->top - 2, t);
  api_note_write(L);
  L->top--;
  gc_check(L);
}
