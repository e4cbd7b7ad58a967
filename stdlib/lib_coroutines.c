/* SPDX-License-Identifier: MIT */
/* stdlib/lib_coroutines.c: the guest module `saros.coroutines`: which coroutines wait,
 * where, for how long, and who holds them (vm/coroutine_groups.h).
 */
#include "contexts.h"
#include "coroutine_groups.h"
#include "debuginfo.h"
#include "eventring.h"
#include "field_names.h"
#include "function_names.h"
#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"
#include "set_field.h"
#include "walk_report.h"

#include <stdlib.h>

enum { MOST_FRAMES = 32 };

/* A function and a line in it. */
typedef struct Site {
  char name[FUNCTION_NAME_SIZE], source[LUA_IDSIZE];
  uint32_t line; /* 0 if the line is not known */
} Site;

typedef struct Described {
  CoroutineGroup group;
  bool is_new;
  Site frames[MOST_FRAMES];
  uint32_t nframes, below;
  Site created, resumed;
  bool is_created_known, is_resumed_known;
  /* name of the innermost span of the coroutine that is suspended longest, or NULL */
  const char *span;
  RetainHolder holders[COROUTINE_HOLDERS];
} Described;

typedef struct Report {
  uint64_t count, bytes, groups;
  RetainEnd end;
  size_t n;
  Described described[];
} Report;

typedef struct Options {
  WalkOptions walk;
  uint64_t least_ns;
} Options;

/* ---- options ----------------------------------------------------------------- */

static void read_options(lua_State *L, Options *o) {
  static const char *const names[] = {"top", "longer", "objects", "seconds", NULL};
  o->least_ns = walk_options(L, names, &o->walk) ? option_seconds(L, 1, "longer") : 0;
}

/* ---- describing ---------------------------------------------------------------- */

static void describe_frame(lua_State *co, CallInfo *ci, Site *site) {
  uint32_t last_line, column;
  *site = (Site){.name = "?", .source = "?"};
  frame_name(co, ci, site->name, site->source, &site->line, &last_line);
  if (!is_lua_frame(ci)) return;
  const int pc = frame_pc(ci);
  frame_position(frame_closure(ci)->p, pc > 0 ? (uint32_t)pc : 0, &site->line, &column);
}

static void describe_stack(Described *to, lua_State *co) {
  for (CallInfo *ci = co->ci; ci != &co->base_ci; ci = ci->prev) {
    if (to->nframes == MOST_FRAMES) to->below++;
    else describe_frame(co, ci, &to->frames[to->nframes++]);
  }
}

static void describe_prototype(const Prototype *p, uint32_t line, Site *site) {
  prototype_name(p, site->name);
  prototype_source(p, site->source);
  site->line = line;
}

/* Describes the function of a coroutine that has not begun as its only frame. */
static void describe_new(Described *to, const lua_State *co) {
  const TValue *f = co->stack + 1;
  Site *site = &to->frames[to->nframes++];
  *site = (Site){.source = "[C]"};
  if (is_lua_closure(f))
    describe_prototype(as_lua_closure(f)->p, as_lua_closure(f)->p->line_defined, site);
  else c_function_name(co->domain, f, site->name);
}

/* Describes a line of a function. Returns false if it is not known. */
static bool describe_site(const Prototype *p, uint32_t at, Site *site) {
  if (p == NULL) return false;
  const int line = prototype_line(p, (int)at - 1);
  describe_prototype(p, line > 0 ? (uint32_t)line : 0, site);
  return true;
}

static const char *innermost_span(const lua_State *co) {
  const Context *c = context_find(co);
  return c != NULL && c->count > 0 ? eventring_event_name(c->open[c->count - 1]) : NULL;
}

static void describe(const RetainWalk *w, const CoroutineGroup *group, Described *to) {
  lua_State *co = group->longest;
  to->group = *group;
  to->is_new = coroutine_is_new(co);
  if (to->is_new) describe_new(to, co);
  else describe_stack(to, co);
  to->is_created_known = describe_site(co->created_in, co->created_at, &to->created);
  to->is_resumed_known = describe_site(co->resumed_in, co->resumed_at, &to->resumed);
  to->span = innermost_span(co);
  for (uint32_t i = 0; i < group->nholders; i++) {
    const CoroutineHolder *h = &group->holders[i];
    retain_describe_visited(w, h->first, &to->holders[i]);
  }
}

/* Returns a report, malloc'ed, or NULL if there is no memory. */
static Report *describe_all(const RetainWalk *w, const CoroutineGroups *g, const Options *o) {
  const size_t n = g->n < o->walk.top ? g->n : o->walk.top;
  Report *r = g->no_memory ? NULL : calloc(1, sizeof *r + n * sizeof *r->described);
  if (r == NULL) return NULL;
  r->count = g->count;
  r->bytes = g->bytes;
  r->groups = g->n;
  r->end = retain_how_it_ended(w);
  r->n = n;
  for (size_t i = 0; i < n; i++) describe(w, &g->groups[i], &r->described[i]);
  return r;
}

static Report *make_report(Domain *d, const Options *o) {
  CoroutineGroups groups;
  RetainWalk *w = retain_walk(d, &o->walk.limits);
  if (w == NULL) return NULL;
  coroutine_groups_make(&groups, w, o->least_ns);
  Report *r = describe_all(w, &groups, o);
  coroutine_groups_free(&groups);
  retain_end(w);
  return r;
}

/* ---- results --------------------------------------------------------------------- */

static void set_seconds(lua_State *L, const char *name, uint64_t ns) {
  set_number(L, name, (lua_Number)ns / 1e9);
}

static void push_site(lua_State *L, const Site *site) {
  lua_createtable(L, 0, 3);
  set_text(L, "name", site->name);
  set_text(L, "source", site->source);
  if (site->line != 0) set_integer(L, "line", site->line);
}

static void push_frames(lua_State *L, const Described *d) {
  lua_createtable(L, (int)d->nframes, 0);
  for (uint32_t i = 0; i < d->nframes; i++) {
    push_site(L, &d->frames[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

static void push_holders(lua_State *L, const Described *d) {
  lua_createtable(L, (int)d->group.nholders, 0);
  for (uint32_t i = 0; i < d->group.nholders; i++) {
    lua_createtable(L, 0, 4);
    set_integer(L, "count", (lua_Integer)d->group.holders[i].count);
    set_text(L, "path", d->holders[i].path);
    set_text(L, "shape", d->holders[i].shape);
    set_integer(L, "steps", d->holders[i].steps);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

static void set_sites(lua_State *L, const Described *d) {
  push_frames(L, d);
  lua_setfield(L, -2, "frames");
  set_integer(L, "below", d->below);
  if (d->is_created_known) {
    push_site(L, &d->created);
    lua_setfield(L, -2, "created");
  }
  if (d->is_resumed_known) {
    push_site(L, &d->resumed);
    lua_setfield(L, -2, "resumed");
  }
}

static void push_group(lua_State *L, const Described *d) {
  const CoroutineGroup *g = &d->group;
  lua_createtable(L, 0, 16);
  set_text(L, "state", d->is_new ? "not begun" : "suspended");
  set_integer(L, "count", (lua_Integer)g->count);
  set_integer(L, "bytes", (lua_Integer)g->bytes);
  set_seconds(L, "least", g->least_ns);
  set_seconds(L, "most", g->most_ns);
  set_seconds(L, "shortest_least", g->shortest_least_ns);
  set_seconds(L, "shortest_most", g->shortest_most_ns);
  set_integer(L, "with_spans", (lua_Integer)g->with_spans);
  set_text(L, "span", d->span);
  set_sites(L, d);
  push_holders(L, d);
  lua_setfield(L, -2, "holders");
  set_integer(L, "held_otherwise", (lua_Integer)g->otherwise);
}

static int push_report(lua_State *L) {
  const Report *r = lua_touserdata(L, 1);
  lua_createtable(L, 0, 5);
  set_integer(L, "count", (lua_Integer)r->count);
  set_integer(L, "bytes", (lua_Integer)r->bytes);
  set_integer(L, "more_groups", (lua_Integer)(r->groups - r->n));
  walk_set_cut_off(L, r->end);
  lua_createtable(L, (int)r->n, 0);
  for (size_t i = 0; i < r->n; i++) {
    push_group(L, &r->described[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "groups");
  return 1;
}

/* Implements coroutines.report([options]) -> {count, bytes, groups = {{count, frames,
   ...}}, ...}. */
static int coroutines_report(lua_State *L) {
  Options options;
  lua_settop(L, 1);
  read_options(L, &options);
  return walk_return_report(L, make_report(L->domain, &options), push_report);
}

/* Handles a call of the module itself. */
static int call_module(lua_State *L) {
  lua_remove(L, 1);
  return coroutines_report(L);
}

LUAMOD_API int luaopen_coroutines(lua_State *L) {
  static const luaL_Reg functions[] = {{"report", coroutines_report}, {NULL, NULL}};
  luaL_newlib(L, functions);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, call_module);
  lua_setfield(L, -2, "__call");
  lua_setmetatable(L, -2);
  return 1;
}
