/* SPDX-License-Identifier: MIT */
/* stdlib/lib_profile.c: the guest module `saros.profile`: an exact profile of the calls
 * of this domain.
 *
 * A profiler owns the profile from its start until the profiler is collected. It can
 * report the profile at any time, as a table of functions that is made from the trie of
 * calls (vm/call_profile.h).
 */
#define LUA_LIB

#include <stdlib.h>
#include <string.h>

#include "call_profile.h"
#include "field_names.h"
#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"

#define PROFILER_TYPE "profile.profiler"
#define REPORT_TYPE "profile.report"

typedef struct Profiler {
  CallProfile *profile; /* NULL if it was never started */
  bool runs;
  double least; /* seconds; functions whose calls all took less are left out */
} Profiler;

/* ---- start and stop ------------------------------------------------------ */

/* Returns a pattern or a list of patterns as text on the stack, or NULL if there is
   none. */
static const char *check_patterns(lua_State *L, const char *field) {
  luaL_Buffer b;
  const int type = lua_getfield(L, 1, field);
  if (type == LUA_TNIL) return NULL;
  if (type == LUA_TSTRING) return lua_tostring(L, -1);
  if (type != LUA_TTABLE)
    luaL_argerror(L, 1, lua_pushfstring(L, "field '%s' is neither a string nor a list", field));
  const int list = lua_gettop(L);
  luaL_buffinit(L, &b);
  for (lua_Integer i = 1, n = luaL_len(L, list); i <= n; i++) {
    if (lua_geti(L, list, i) != LUA_TSTRING)
      luaL_argerror(L, 1, lua_pushfstring(L, "element %I of '%s' is no string", i, field));
    luaL_addvalue(&b);
    if (i < n) luaL_addchar(&b, ',');
  }
  luaL_pushresult(&b);
  return lua_tostring(L, -1);
}

static double check_number_field(lua_State *L, const char *field, int least, const char *unit) {
  if (lua_getfield(L, 1, field) == LUA_TNIL) return 0;
  if (!lua_isnumber(L, -1))
    luaL_argerror(L, 1, lua_pushfstring(L, "field '%s' is not a number", field));
  if (!(lua_tonumber(L, -1) >= least))
    luaL_argerror(L, 1, lua_pushfstring(L, "field '%s' must be at least %d %s, got %s", field,
                                        least, unit, luaL_tolstring(L, -1, NULL)));
  return lua_tonumber(L, -1);
}

static CallProfileOptions check_options(lua_State *L, double *least) {
  static const char *const names[] = {"cpu", "budget", "include", "exclude", "least", NULL};
  CallProfileOptions options = {0};
  *least = 0;
  if (lua_isnoneornil(L, 1)) return options;
  luaL_checktype(L, 1, LUA_TTABLE);
  check_field_names(L, 1, "option", names);
  lua_getfield(L, 1, "cpu");
  options.cpu = lua_toboolean(L, -1);
  const double budget = check_number_field(L, "budget", CALL_PROFILE_LEAST, "bytes");
  if (budget > 1e12) luaL_argerror(L, 1, "field 'budget' is too large");
  options.budget = (size_t)budget;
  *least = check_number_field(L, "least", 0, "seconds");
  options.include = check_patterns(L, "include");
  options.exclude = check_patterns(L, "exclude");
  return options;
}

static Profiler *new_profiler(lua_State *L) {
  Profiler *p = lua_newuserdatauv(L, sizeof *p, 0);
  *p = (Profiler){0};
  luaL_setmetatable(L, PROFILER_TYPE);
  return p;
}

static void begin(lua_State *L, Profiler *p, const CallProfileOptions *options) {
  bool no_memory;
  p->profile = call_profile_start(L, options, &no_memory);
  if (p->profile == NULL)
    luaL_error(L, no_memory ? "not enough memory for a profile"
                            : "the calls of this domain are profiled already");
  p->runs = true;
}

/* Implements profile.start([options]) -> profiler. */
static int start(lua_State *L) {
  double least;
  lua_settop(L, 1);
  const CallProfileOptions options = check_options(L, &least);
  Profiler *p = new_profiler(L);
  p->least = least;
  begin(L, p, &options);
  return 1;
}

static void end(lua_State *L, Profiler *p) {
  if (!p->runs) return;
  p->runs = false;
  if (call_profile_of(L->domain) == p->profile) call_profile_stop(L, p->profile);
}

static Profiler *check_profiler(lua_State *L) {
  Profiler *p = luaL_checkudata(L, 1, PROFILER_TYPE);
  if (p->profile == NULL) luaL_argerror(L, 1, "it was not started");
  return p;
}

/* Implements profiler:stop() -> profiler. Does nothing if the profiler is stopped. */
static int stop(lua_State *L) {
  end(L, check_profiler(L));
  lua_settop(L, 1);
  return 1;
}

static int close_profiler(lua_State *L) {
  Profiler *p = luaL_checkudata(L, 1, PROFILER_TYPE);
  end(L, p);
  return 0;
}

static int collect_profiler(lua_State *L) {
  Profiler *p = luaL_checkudata(L, 1, PROFILER_TYPE);
  end(L, p);
  call_profile_free(p->profile);
  p->profile = NULL;
  return 0;
}

/* ---- reports ------------------------------------------------------------- */

typedef struct Row {
  uint64_t count, inclusive, exclusive, suspended, least, most, open;
  uint32_t active;
} Row;

typedef struct Sums {
  const eventring_calls *calls;
  size_t nodes;
  uint64_t *inclusive; /* inclusive ticks of each node */
  /* first child and next sibling of each node; 0 if there is none */
  size_t *first, *next;
  Row *rows;           /* the row of each function */
  uint64_t lost_calls, lost_ticks; /* calls whose path was not kept, and their ticks */
} Sums;

static void link_nodes(Sums *s) {
  for (size_t i = s->nodes; i-- > 0;) {
    const struct eventring_calls_node *n = eventring_calls_node_at(s->calls, i);
    const struct eventring_calls_lost lost = eventring_calls_lost_below(s->calls, n);
    s->inclusive[i] += n->exclusive + lost.ticks;
    s->lost_calls += lost.calls;
    s->lost_ticks += lost.ticks;
    if (i == 0) continue;
    const size_t parent = n->parent;
    s->inclusive[parent] += s->inclusive[i];
    s->next[i] = s->first[parent];
    s->first[parent] = i;
  }
}

static void add_figures(const Sums *s, Row *row, const struct eventring_calls_node *n) {
  const struct eventring_calls_rest *rest = eventring_calls_rest_of(s->calls, n);
  row->count += n->count;
  row->open += rest->open;
  row->exclusive += n->exclusive;
  row->suspended += rest->suspended;
  if (n->most != 0 && (row->most == 0 || n->least < row->least)) row->least = n->least;
  if (n->most > row->most) row->most = n->most;
}

static void add_node(Sums *s, size_t node) {
  const struct eventring_calls_node *n = eventring_calls_node_at(s->calls, node);
  Row *row = &s->rows[n->id];
  add_figures(s, row, n);
  /* a recursive call counts once */
  if (row->active++ == 0) row->inclusive += s->inclusive[node];
}

/* Adds the calls whose path was not kept; what they called is not known. */
static void add_flat(Sums *s) {
  const struct eventring_calls_node *n;
  for (size_t i = 0; (n = eventring_calls_flat_at(s->calls, i)) != NULL; i++) {
    Row *row = &s->rows[n->id != EVENTRING_CALLS_NO_ID ? n->id : CALLED_OTHER];
    add_figures(s, row, n);
    row->inclusive += n->exclusive;
  }
}

/* Adds all nodes but the root, depth first. */
static void add_nodes(Sums *s) {
  size_t node = s->first[0];
  while (node != 0) {
    add_node(s, node);
    size_t down = s->first[node];
    while (down == 0 && node != 0) {
      const struct eventring_calls_node *n = eventring_calls_node_at(s->calls, node);
      s->rows[n->id].active--;
      down = s->next[node];
      node = n->parent;
    }
    node = down;
  }
}

static void push_ns(lua_State *L, const char *field, uint64_t ticks, double ns_per_tick) {
  lua_pushinteger(L, (lua_Integer)((double)ticks * ns_per_tick));
  lua_setfield(L, -2, field);
}

static void push_row(lua_State *L, const CalledFunction *f, const Row *row, double ns) {
  lua_createtable(L, 0, 12);
  lua_pushstring(L, f->name);
  lua_setfield(L, -2, "name");
  lua_pushstring(L, f->source);
  lua_setfield(L, -2, "source");
  lua_pushinteger(L, f->line);
  lua_setfield(L, -2, "line");
  lua_pushinteger(L, (lua_Integer)row->count);
  lua_setfield(L, -2, "count");
  lua_pushinteger(L, (lua_Integer)row->open);
  lua_setfield(L, -2, "began_before");
  push_ns(L, "inclusive", row->inclusive, ns);
  push_ns(L, "exclusive", row->exclusive, ns);
  push_ns(L, "suspended", row->suspended, ns);
  if (row->most == 0) return;
  push_ns(L, "min", row->least, ns);
  push_ns(L, "max", row->most, ns);
}

static bool is_shown(const Row *row, double least_ticks) {
  if (row->count + row->open == 0) return false;
  return least_ticks <= 0 || row->open > 0 || (double)row->most >= least_ticks;
}

static const char order_code[] =
    "return function(a, b) if a.exclusive ~= b.exclusive then return a.exclusive > b.exclusive end "
    "if a.count ~= b.count then return a.count > b.count end return a.name < b.name end";

static void sort_rows(lua_State *L) {
  lua_getglobal(L, "table");
  const bool has_sort = lua_istable(L, -1) && lua_getfield(L, -1, "sort") == LUA_TFUNCTION;
  if (!has_sort) {
    lua_settop(L, lua_gettop(L) - 2);
    return;
  }
  lua_remove(L, -2);
  lua_pushvalue(L, -2);
  if (luaL_loadbuffer(L, order_code, sizeof order_code - 1, "=profile") != LUA_OK) lua_error(L);
  lua_call(L, 0, 1);
  lua_call(L, 2, 0);
}

static void push_report(lua_State *L, const Profiler *p, const Sums *s, size_t functions) {
  const double ns = eventring_ns_per_tick();
  lua_createtable(L, 0, 8);
  luaL_setmetatable(L, REPORT_TYPE);
  push_ns(L, "total", s->inclusive[0], ns);
  lua_pushinteger(L, (lua_Integer)s->lost_calls);
  lua_setfield(L, -2, "lost_calls");
  push_ns(L, "lost", s->lost_ticks, ns);
  lua_pushboolean(L, s->lost_calls != 0 || s->lost_ticks != 0);
  lua_setfield(L, -2, "budget_full");
  push_ns(L, "outside", eventring_calls_node_at(s->calls, 0)->exclusive, ns);
  lua_pushboolean(L, call_profile_is_cpu(p->profile));
  lua_setfield(L, -2, "cpu");
  lua_createtable(L, (int)functions, 0);
  lua_Integer count = 0;
  for (size_t i = 0; i < functions; i++) {
    if (!is_shown(&s->rows[i], p->least * 1e9 / ns)) continue;
    push_row(L, call_profile_function(p->profile, i), &s->rows[i], ns);
    lua_seti(L, -2, ++count);
  }
  sort_rows(L);
  lua_setfield(L, -2, "rows");
}

/* Implements profiler:report() -> table of what was called so far: total, outside, lost,
 * lost_calls, budget_full, cpu, and rows, ordered by exclusive time, the longest first.
 * Times are integers of ns. */
static int report(lua_State *L) {
  const Profiler *p = check_profiler(L);
  const size_t functions = call_profile_functions(p->profile);
  Sums s = {.calls = call_profile_calls(p->profile)};
  call_profile_charge(p->profile);
  s.nodes = eventring_calls_count(s.calls);
  const size_t bytes = s.nodes * (sizeof *s.inclusive + sizeof *s.first + sizeof *s.next);
  char *memory = lua_newuserdatauv(L, bytes + functions * sizeof *s.rows, 0);
  memset(memory, 0, bytes + functions * sizeof *s.rows);
  s.inclusive = (uint64_t *)memory;
  s.first = (size_t *)(s.inclusive + s.nodes);
  s.next = s.first + s.nodes;
  s.rows = (Row *)(s.next + s.nodes);
  link_nodes(&s);
  add_nodes(&s);
  add_flat(&s);
  push_report(L, p, &s, functions);
  return 1;
}

/* Implements profile.run(f, ...) -> report, results of f. An error of f ends the
   profile. */
static int run(lua_State *L) {
  const CallProfileOptions options = {0};
  luaL_checktype(L, 1, LUA_TFUNCTION);
  Profiler *p = new_profiler(L);
  lua_insert(L, 1);
  begin(L, p, &options);
  const int status = lua_pcall(L, lua_gettop(L) - 2, LUA_MULTRET, 0);
  end(L, p);
  if (status != LUA_OK) return lua_error(L);
  lua_pushcfunction(L, report);
  lua_pushvalue(L, 1);
  lua_call(L, 1, 1);
  lua_replace(L, 1);
  return lua_gettop(L);
}

/* ---- text ---------------------------------------------------------------- */

enum { SHOWN_ROWS = 20, LINE_ROOM = 256 };

static const char *field_text(lua_State *L, const char *field) {
  lua_getfield(L, -1, field);
  const char *text = lua_tostring(L, -1);
  lua_pop(L, 1); /* the row keeps it */
  return text != NULL ? text : "?";
}

static lua_Number field_number(lua_State *L, int index, const char *field) {
  lua_getfield(L, index, field);
  const lua_Number number = lua_tonumber(L, -1);
  lua_pop(L, 1);
  return number;
}

static void add_losses(lua_State *L, luaL_Buffer *b, char line[static LINE_ROOM]) {
  const lua_Number calls = field_number(L, 1, "lost_calls"), ns = field_number(L, 1, "lost");
  if (calls == 0 && ns == 0) return;
  snprintf(line, LINE_ROOM,
           "the budget was full: %.0f calls, %.3f ms, are counted by function, with the time "
           "they took themselves (option budget gives paths more room)\n", calls, ns / 1e6);
  luaL_addstring(b, line);
}

static int report_text(lua_State *L) {
  luaL_Buffer b;
  char line[LINE_ROOM];
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  const lua_Number total = field_number(L, 1, "total");
  if (lua_getfield(L, 1, "rows") != LUA_TTABLE) return luaL_error(L, "no report");
  luaL_buffinit(L, &b);
  snprintf(line, sizeof line, "%12s %12s %12s %7s  function\n", "calls", "inclusive ms", "own ms",
           "share");
  luaL_addstring(&b, line);
  for (lua_Integer i = 1; i <= SHOWN_ROWS; i++) {
    if (lua_geti(L, 2, i) != LUA_TTABLE) {
      lua_pop(L, 1);
      break;
    }
    const lua_Number own = field_number(L, -1, "exclusive");
    const char *name = field_text(L, "name"), *source = field_text(L, "source");
    const long at = (long)field_number(L, -1, "line");
    snprintf(line, sizeof line, "%12.0f %12.3f %12.3f %5.1f %%  %.80s",
             field_number(L, -1, "count"),
             field_number(L, -1, "inclusive") / 1e6, own / 1e6, total > 0 ? own * 100 / total : 0,
             name);
    if (at > 0)
      snprintf(line + strlen(line), sizeof line - strlen(line), " %.60s:%ld", source, at);
    lua_pop(L, 1);
    luaL_addstring(&b, line);
    luaL_addchar(&b, '\n');
  }
  add_losses(L, &b, line);
  luaL_pushresult(&b);
  return 1;
}

/* ---- the module ---------------------------------------------------------- */

int luaopen_profile(lua_State *L) {
  static const luaL_Reg methods[] = {{"stop", stop}, {"report", report}, {NULL, NULL}};
  static const luaL_Reg metamethods[] = {
      {"__gc", collect_profiler}, {"__close", close_profiler}, {NULL, NULL}};
  static const luaL_Reg functions[] = {{"start", start}, {"run", run}, {NULL, NULL}};
  luaL_newmetatable(L, PROFILER_TYPE);
  luaL_setfuncs(L, metamethods, 0);
  luaL_newlib(L, methods);
  lua_setfield(L, -2, "__index");
  luaL_newmetatable(L, REPORT_TYPE);
  lua_pushcfunction(L, report_text);
  lua_setfield(L, -2, "__tostring");
  luaL_newlib(L, functions);
  return 1;
}
