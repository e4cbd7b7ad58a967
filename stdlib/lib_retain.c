/* SPDX-License-Identifier: MIT */
/* stdlib/lib_retain.c: the guest module `saros.retain`: who holds the objects of this
 * domain (vm/retain.h).
 */
#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"
#include "lib_retain.h"
#include "set_field.h"
#include "thread.h"
#include "walk_report.h"

#include <stdlib.h>
#include <string.h>

typedef struct Report {
  uint32_t n;      /* kinds */
  uint32_t nsites; /* sites, which follow the kinds */
  RetainEnd end;
  RetainAmount total;
  RetainKind kinds[]; /* room for twice WalkOptions.top */
} Report;

typedef struct Options {
  WalkOptions walk;
  const char *kind;
} Options;

/* ---- options --------------------------------------------------------------- */

/* Reads the options. The text of `kind` stays on the stack. */
static void read_options(lua_State *L, Options *o) {
  static const char *const names[] = {"top", "objects", "seconds", "kind", NULL};
  o->kind = NULL;
  if (!walk_options(L, names, &o->walk)) return;
  if (lua_getfield(L, 1, "kind") != LUA_TNIL && lua_type(L, -1) != LUA_TSTRING)
    luaL_argerror(L, 1, "field 'kind' is not a string");
  o->kind = lua_tostring(L, -1);
}

/* ---- the walk -------------------------------------------------------------- */

static void add_sites(Report *r, RetainWalk *w, const Options *o) {
  RetainSites *sites = retain_sites(w);
  const uint32_t n = sites != NULL ? retain_site_count(sites) : 0;
  for (uint32_t i = 0; i < n && r->nsites < o->walk.top; i++) {
    RetainKind *site = &r->kinds[r->n + r->nsites];
    retain_describe_site(sites, i, RETAIN_HOLDERS, site);
    r->nsites += o->kind == NULL || strstr(site->name, o->kind) != NULL;
  }
  retain_sites_end(sites);
}

/* Returns a report, malloc'ed, or NULL if there is no memory. */
static Report *make_report(Domain *d, const Options *o) {
  Report *r = malloc(sizeof *r + 2 * (size_t)o->walk.top * sizeof *r->kinds);
  RetainWalk *w = r != NULL ? retain_walk(d, &o->walk.limits) : NULL;
  if (w == NULL) {
    free(r);
    return NULL;
  }
  r->n = r->nsites = 0;
  r->end = retain_how_it_ended(w);
  r->total = retain_total(w);
  for (uint32_t i = 0; i < retain_kinds(w) && r->n < o->walk.top; i++) {
    retain_describe(w, i, RETAIN_HOLDERS, &r->kinds[r->n]);
    r->n += o->kind == NULL || strstr(r->kinds[r->n].name, o->kind) != NULL;
  }
  add_sites(r, w, o);
  retain_end(w);
  return r;
}

/* ---- results --------------------------------------------------------------- */

static void set_amount(lua_State *L, RetainAmount amount) {
  set_integer(L, "objects", (lua_Integer)amount.objects);
  set_integer(L, "bytes", (lua_Integer)amount.bytes);
}

static void push_holder(lua_State *L, const RetainHolder *h) {
  lua_createtable(L, 0, 5);
  set_amount(L, h->amount);
  set_text(L, "path", h->path);
  set_text(L, "shape", h->shape);
  set_integer(L, "steps", h->steps);
}

static void push_kind(lua_State *L, const RetainKind *k, bool is_site) {
  lua_createtable(L, 0, 5);
  set_amount(L, k->amount);
  set_text(L, is_site ? "site" : "kind", k->name);
  set_integer(L, "more_holders", k->more_holders);
  lua_createtable(L, (int)k->nholders, 0);
  for (uint32_t i = 0; i < k->nholders; i++) {
    push_holder(L, &k->holders[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "holders");
}

static void push_kinds(lua_State *L, const RetainKind *kinds, uint32_t n, bool are_sites) {
  lua_createtable(L, (int)n, 0);
  for (uint32_t i = 0; i < n; i++) {
    push_kind(L, &kinds[i], are_sites);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

static int push_report(lua_State *L) {
  const Report *r = lua_touserdata(L, 1);
  lua_createtable(L, 0, 5);
  set_amount(L, r->total);
  walk_set_cut_off(L, r->end);
  push_kinds(L, r->kinds, r->n, false);
  lua_setfield(L, -2, "kinds");
  push_kinds(L, r->kinds + r->n, r->nsites, true);
  lua_setfield(L, -2, "sites");
  return 1;
}

/* Implements retain.report([options]) -> {objects, bytes, kinds = {{kind, objects, bytes,
 * holders = ...}}, sites = {{site, ...}}}. */
int retain_report(lua_State *L) {
  Options options;
  lua_settop(L, 1);
  read_options(L, &options);
  return walk_return_report(L, make_report(L->domain, &options), push_report);
}

LUAMOD_API int luaopen_retain(lua_State *L) {
  static const luaL_Reg functions[] = {{"report", retain_report}, {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
