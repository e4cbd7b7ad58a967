/* SPDX-License-Identifier: MIT */
/* stdlib/lib_retain.c: the guest module `saros.retain`: who holds the objects of this
 * domain (vm/retain.h).
 *
 * The walk is over, and its results are copied out of the mapping, before anything is
 * allocated that might raise: retain_describe reads objects that a collection may free. */
#include "field_names.h"
#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"
#include "lib_retain.h"
#include "retain.h"
#include "thread.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_TOP = 10, MOST_TOP = 1000 };

typedef struct Report {
  uint32_t n;      /* kinds */
  uint32_t nsites; /* behind them */
  RetainEnd end;
  RetainAmount total;
  RetainKind kinds[]; /* room for twice Options.top */
} Report;

typedef struct Options {
  RetainLimits limits;
  uint32_t top;
  const char *kind;
} Options;

/* ---- options --------------------------------------------------------------- */

static lua_Integer integer_option(lua_State *L, const char *name, lua_Integer least,
                                  lua_Integer most, lua_Integer otherwise) {
  int is_integer = 1;
  lua_Integer value = otherwise;
  if (lua_getfield(L, 1, name) != LUA_TNIL) {
    value = lua_tointegerx(L, -1, &is_integer);
    if (!is_integer || value < least || value > most)
      luaL_argerror(L, 1, lua_pushfstring(L, "field '%s' is not an integer from %I to %I", name,
                                          (LUAI_UACINT)least, (LUAI_UACINT)most));
  }
  lua_pop(L, 1);
  return value;
}

static uint64_t seconds_option(lua_State *L) {
  uint64_t ns = 0;
  if (lua_getfield(L, 1, "seconds") != LUA_TNIL) {
    lua_Number seconds = lua_tonumber(L, -1);
    if (lua_type(L, -1) != LUA_TNUMBER || !(seconds > 0 && seconds <= 1e6))
      luaL_argerror(L, 1, "field 'seconds' is not a number above 0 and up to 1000000");
    ns = (uint64_t)ceil((double)seconds * 1e9);
  }
  lua_pop(L, 1);
  return ns;
}

/* The text of `kind` stays on the stack. */
static void read_options(lua_State *L, Options *o) {
  static const char *const names[] = {"top", "objects", "seconds", "kind", NULL};
  *o = (Options){.top = DEFAULT_TOP};
  if (lua_isnoneornil(L, 1)) return;
  luaL_checktype(L, 1, LUA_TTABLE);
  check_field_names(L, 1, "option", names);
  o->top = (uint32_t)integer_option(L, "top", 1, MOST_TOP, DEFAULT_TOP);
  o->limits.objects = (uint64_t)integer_option(L, "objects", 1, UINT32_MAX - 1, 0);
  o->limits.ns = seconds_option(L);
  if (lua_getfield(L, 1, "kind") != LUA_TNIL && lua_type(L, -1) != LUA_TSTRING)
    luaL_argerror(L, 1, "field 'kind' is not a string");
  o->kind = lua_tostring(L, -1);
}

/* ---- the walk -------------------------------------------------------------- */

static void add_sites(Report *r, RetainWalk *w, const Options *o) {
  RetainSites *sites = retain_sites(w);
  for (uint32_t i = 0; sites != NULL && i < retain_site_count(sites) && r->nsites < o->top; i++) {
    RetainKind *site = &r->kinds[r->n + r->nsites];
    retain_describe_site(sites, i, RETAIN_HOLDERS, site);
    r->nsites += o->kind == NULL || strstr(site->name, o->kind) != NULL;
  }
  retain_sites_end(sites);
}

/* malloc'ed; NULL: no memory. */
static Report *make_report(Domain *d, const Options *o) {
  Report *r = malloc(sizeof *r + 2 * (size_t)o->top * sizeof *r->kinds);
  RetainWalk *w = r != NULL ? retain_walk(d, &o->limits) : NULL;
  if (w == NULL) {
    free(r);
    return NULL;
  }
  r->n = r->nsites = 0;
  r->end = retain_how_it_ended(w);
  r->total = retain_total(w);
  for (uint32_t i = 0; i < retain_kinds(w) && r->n < o->top; i++) {
    retain_describe(w, i, RETAIN_HOLDERS, &r->kinds[r->n]);
    r->n += o->kind == NULL || strstr(r->kinds[r->n].name, o->kind) != NULL;
  }
  add_sites(r, w, o);
  retain_end(w);
  return r;
}

/* ---- results --------------------------------------------------------------- */

static void set_amount(lua_State *L, RetainAmount amount) {
  lua_pushinteger(L, (lua_Integer)amount.objects);
  lua_setfield(L, -2, "objects");
  lua_pushinteger(L, (lua_Integer)amount.bytes);
  lua_setfield(L, -2, "bytes");
}

static void set_text(lua_State *L, const char *name, const char *text) {
  lua_pushstring(L, text);
  lua_setfield(L, -2, name);
}

static void push_holder(lua_State *L, const RetainHolder *h) {
  lua_createtable(L, 0, 5);
  set_amount(L, h->amount);
  set_text(L, "path", h->path);
  set_text(L, "shape", h->shape);
  lua_pushinteger(L, h->steps);
  lua_setfield(L, -2, "steps");
}

static void push_kind(lua_State *L, const RetainKind *k, bool is_site) {
  lua_createtable(L, 0, 5);
  set_amount(L, k->amount);
  set_text(L, is_site ? "site" : "kind", k->name);
  lua_pushinteger(L, k->more_holders);
  lua_setfield(L, -2, "more_holders");
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

static const char *const ends[] = {[RETAIN_COMPLETE] = NULL, [RETAIN_OUT_OF_OBJECTS] = "objects",
                                   [RETAIN_OUT_OF_TIME] = "seconds",
                                   [RETAIN_OUT_OF_MEMORY] = "memory"};

static int push_report(lua_State *L) {
  const Report *r = lua_touserdata(L, 1);
  lua_createtable(L, 0, 5);
  set_amount(L, r->total);
  if (ends[r->end] != NULL) set_text(L, "cut_off", ends[r->end]);
  push_kinds(L, r->kinds, r->n, false);
  lua_setfield(L, -2, "kinds");
  push_kinds(L, r->kinds + r->n, r->nsites, true);
  lua_setfield(L, -2, "sites");
  return 1;
}

/* retain.report([options]) -> {objects, bytes, kinds = {{kind, objects, bytes, holders = ...}},
 *                              sites = {{site, ...}}} */
int retain_report(lua_State *L) {
  Options options;
  lua_settop(L, 1);
  read_options(L, &options);
  Report *r = make_report(L->domain, &options);
  if (r == NULL) return luaL_error(L, "not enough memory for the walk");
  lua_pushcfunction(L, push_report);
  lua_pushlightuserdata(L, r);
  int status = lua_pcall(L, 1, 1, 0);
  free(r);
  return status == LUA_OK ? 1 : lua_error(L);
}

LUAMOD_API int luaopen_retain(lua_State *L) {
  static const luaL_Reg functions[] = {{"report", retain_report}, {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
