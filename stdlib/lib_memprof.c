/* SPDX-License-Identifier: MIT */
/* lib_memprof.c - the guest module `saros.memprof`: samples of allocations with callbacks
 * (doc/MEMPROF.md; the sampler: runtime/memprof.c).
 *
 * A sampler is a userdata with the number of its profile. In the registry lie, as long as a
 * profile has blocks that are tracked, its callbacks; the values of all blocks, by a number
 * that the sampler keeps for each; and one table a stack. */
#define LUA_LIB

#include <math.h>
#include <string.h>

#include "domain.h"
#include "field_names.h"
#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"
#include "memprof.h"
#include "thread.h"

#define SAMPLER_TYPE "memprof.sampler"
#define DEFAULT_DEPTH 64
#define SNAPSHOT_SPARE 16 /* samples of what the snapshot itself asks for */

static const char state_key; /* in the registry: table of the following, by their numbers */
enum { STATE_CALLBACKS = 1, STATE_VALUES, STATE_STACKS, STATE_NAMES, STATES = STATE_NAMES };

static const char *const callback_names[] = {"alloc_young", "alloc_old", "promote",
                                             "dealloc_young", "dealloc_old", NULL};
#define CALLBACKS 5

static const char *const kind_names[] = {
#define MEMPROF_KIND(id, name, doc) name,
#include "memprof.def"
};
static const char *const origin_names[] = {
#define MEMPROF_ORIGIN(id, name, doc) name,
#include "memprof.def"
};

typedef struct Sampler {
  uint32_t profile;
  bool stopped, discarded;
} Sampler;

/* ---- state --------------------------------------------------------------- */

/* Pushes the table of this number. */
static void push_state(lua_State *L, int which) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &state_key) != LUA_TTABLE) {
    lua_pop(L, 1);
    lua_createtable(L, STATES, 0);
    for (int i = 1; i <= STATES; i++) {
      lua_newtable(L);
      lua_rawseti(L, -2, i);
    }
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &state_key);
  }
  lua_rawgeti(L, -1, which);
  lua_remove(L, -2);
}

/* Pops a value, keeps it for a block and returns its number. Slot 1 of the values links the
 * numbers that are free (luaL_ref). */
static uint32_t keep_value(lua_State *L, uint32_t number) {
  push_state(L, STATE_VALUES);
  lua_insert(L, -2);
  if (number == 0) number = (uint32_t)luaL_ref(L, -2);
  else lua_rawseti(L, -2, number);
  lua_pop(L, 1);
  return number;
}

static void push_value(lua_State *L, uint32_t number) {
  push_state(L, STATE_VALUES);
  lua_rawgeti(L, -1, number);
  lua_remove(L, -2);
}

static void forget_value(lua_State *L, uint32_t number) {
  if (number == 0) return;
  push_state(L, STATE_VALUES);
  luaL_unref(L, -1, (int)number);
  lua_pop(L, 1);
}

/* ---- samples as tables ----------------------------------------------------- */

static void put_string(lua_State *L, const char *field, const char *text) {
  lua_pushstring(L, text);
  lua_setfield(L, -2, field);
}

static void put_integer(lua_State *L, const char *field, uint64_t n) {
  lua_pushinteger(L, (lua_Integer)n);
  lua_setfield(L, -2, field);
}

static void make_frame(lua_State *L, const MemprofFrame *frame) {
  const MemprofFunction *f = memprof_function(L->domain, frame->function);
  lua_createtable(L, 0, 4);
  put_string(L, "name", f->name);
  put_string(L, "source", f->source);
  if (frame->line > 0) put_integer(L, "line", frame->line);
  if (frame->column > 0) put_integer(L, "column", frame->column);
}

static void make_stack(lua_State *L, uint32_t stack) {
  uint32_t depth;
  memprof_stack(L->domain, stack, &depth);
  lua_createtable(L, (int)depth, 0);
  for (uint32_t i = 0; i < depth; i++) {
    MemprofFrame frame = memprof_stack(L->domain, stack, &depth)[i]; /* may have moved */
    make_frame(L, &frame);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* All samples of a stack share one table. */
static void push_stack(lua_State *L, uint32_t stack) {
  push_state(L, STATE_STACKS);
  if (lua_rawgeti(L, -1, stack) == LUA_TNIL) {
    lua_pop(L, 1);
    make_stack(L, stack);
    lua_pushvalue(L, -1);
    lua_rawseti(L, -3, stack);
  }
  lua_remove(L, -2);
}

static void push_sample(lua_State *L, const MemprofSample *sample) {
  lua_createtable(L, 0, 8);
  put_integer(L, "samples", sample->samples);
  put_integer(L, "words", sample->words);
  put_string(L, "kind", kind_names[sample->kind]);
  put_string(L, "origin", origin_names[sample->origin]);
  put_integer(L, "domain", L->domain->id);
  put_integer(L, "ns", sample->ns);
  push_stack(L, sample->stack);
  lua_setfield(L, -2, "stack");
}

/* ---- callbacks ------------------------------------------------------------- */

/* The callback that is being called, for when it raises. */
typedef struct Call {
  MemprofCallback what;
  uint32_t id;
  MemprofSample sample;
} Call;

static bool is_alloc(MemprofCallback what) {
  return what == MEMPROF_ALLOC_YOUNG || what == MEMPROF_ALLOC_OLD;
}

/* Pushes the function; false: there is none, and nothing was pushed. */
static bool push_callback(lua_State *L, const Call *call) {
  push_state(L, STATE_CALLBACKS);
  lua_rawgeti(L, -1, call->sample.profile);
  lua_rawgeti(L, -1, call->what);
  lua_replace(L, -3);
  lua_pop(L, 1);
  if (!lua_isnil(L, -1)) return true;
  lua_pop(L, 1);
  return false;
}

/* What the callback gets: the sample, or what the last one has returned. */
static void push_argument(lua_State *L, const Call *call) {
  if (is_alloc(call->what)) push_sample(L, &call->sample);
  else push_value(L, call->sample.value);
}

static bool is_last(const Call *call) {
  return call->what == MEMPROF_DEALLOC_YOUNG || call->what == MEMPROF_DEALLOC_OLD;
}

/* Leaves the result on the stack. */
static int run_call(lua_State *L) {
  const Call *call = lua_touserdata(L, 1);
  if (!push_callback(L, call)) { /* no callback for allocations: the sample is the value */
    push_argument(L, call);
    return 1;
  }
  push_argument(L, call);
  lua_call(L, 1, is_last(call) ? 0 : 1);
  return is_last(call) ? 0 : 1;
}

static void finish_call(lua_State *L, const Call *call, bool returned) {
  bool keep = returned && !is_last(call) && !lua_isnil(L, -1);
  uint32_t value = call->sample.value;
  if (keep) {
    lua_pushvalue(L, -1);
    value = keep_value(L, value);
  } else {
    forget_value(L, value);
  }
  memprof_called(L->domain, call->id, keep, keep ? value : 0);
}

/* Calls back all that is due, or up to the first error, which it raises. */
static int run_callbacks(lua_State *L) {
  Call call;
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  while ((call.what = memprof_next(L->domain, &call.id, &call.sample)) != MEMPROF_NOTHING) {
    lua_settop(L, 0);
    lua_pushcfunction(L, run_call);
    lua_pushlightuserdata(L, &call);
    int status = lua_pcall(L, 1, is_last(&call) ? 0 : 1, 0);
    finish_call(L, &call, status == LUA_OK);
    if (status != LUA_OK) return lua_error(L);
  }
  return 0;
}

/* ---- start ------------------------------------------------------------------ */

static lua_Number check_rate(lua_State *L) {
  lua_getfield(L, 1, "rate");
  if (lua_isnil(L, -1)) luaL_argerror(L, 1, "field 'rate' is missing");
  if (lua_type(L, -1) != LUA_TNUMBER) luaL_argerror(L, 1, "field 'rate' is not a number");
  lua_Number rate = lua_tonumber(L, -1);
  if (!(rate >= 0 && rate <= 1)) luaL_argerror(L, 1, "field 'rate' is not in [0, 1]");
  lua_pop(L, 1);
  return rate;
}

static uint32_t check_depth(lua_State *L) {
  int is_integer = 1;
  lua_Integer depth = DEFAULT_DEPTH;
  if (lua_getfield(L, 1, "depth") != LUA_TNIL) depth = lua_tointegerx(L, -1, &is_integer);
  if (!is_integer || lua_type(L, -1) == LUA_TSTRING || depth < 0 || depth > MEMPROF_MAX_DEPTH)
    luaL_argerror(L, 1, lua_pushfstring(L, "field 'depth' is not an integer in [0, %d]",
                                        MEMPROF_MAX_DEPTH));
  lua_pop(L, 1);
  return (uint32_t)depth;
}

/* Pushes a table with the functions by their MemprofCallback; returns what is wanted. */
static unsigned check_callbacks(lua_State *L) {
  static const unsigned wants[CALLBACKS] = {MEMPROF_WANTS_ALLOC, MEMPROF_WANTS_ALLOC,
                                            MEMPROF_WANTS_PROMOTE, MEMPROF_WANTS_YOUNG,
                                            MEMPROF_WANTS_OLD};
  unsigned wanted = 0;
  lua_createtable(L, CALLBACKS, 0);
  int functions = lua_gettop(L);
  if (lua_getfield(L, 1, "callbacks") == LUA_TNIL) {
    lua_pop(L, 1);
    return 0;
  }
  if (!lua_istable(L, -1)) luaL_argerror(L, 1, "field 'callbacks' is not a table");
  check_field_names(L, lua_gettop(L), "callback", callback_names);
  for (int i = 0; i < CALLBACKS; i++) {
    if (lua_getfield(L, -1, callback_names[i]) != LUA_TNIL) {
      if (!lua_isfunction(L, -1))
        luaL_argerror(L, 1, lua_pushfstring(L, "callback '%s' is not a function",
                                            callback_names[i]));
      wanted |= wants[i];
    }
    lua_rawseti(L, functions, MEMPROF_ALLOC_YOUNG + i);
  }
  lua_pop(L, 1);
  return wanted;
}

/* memprof.start{rate=, depth=, callbacks=} -> sampler. */
static int start_sampler(lua_State *L) {
  static const char *const options[] = {"rate", "depth", "callbacks", NULL};
  luaL_checktype(L, 1, LUA_TTABLE);
  check_field_names(L, 1, "option", options);
  lua_Number rate = check_rate(L);
  uint32_t depth = check_depth(L);
  unsigned wants = check_callbacks(L);
  Sampler *s = lua_newuserdatauv(L, sizeof *s, 0);
  *s = (Sampler){0};
  luaL_setmetatable(L, SAMPLER_TYPE);
  push_state(L, STATE_CALLBACKS);
  lua_pushvalue(L, -3);
  s->profile = memprof_new(L->domain);
  if (s->profile == 0) return luaL_error(L, "not enough memory");
  lua_rawseti(L, -2, s->profile);
  lua_pop(L, 1);
  push_state(L, STATE_VALUES); /* so that it exists before the first callback */
  lua_pop(L, 1);
  memprof_start(L, s->profile, rate, depth, wants, run_callbacks);
  return 1;
}

/* memprof.is_sampling() -> does a profile of this domain sample? */
static int is_sampling(lua_State *L) {
  lua_pushboolean(L, memprof_is_sampling(L->domain, 0));
  return 1;
}

/* ---- samplers ---------------------------------------------------------------- */

static Sampler *check_sampler(lua_State *L) {
  Sampler *s = luaL_checkudata(L, 1, SAMPLER_TYPE);
  if (!s->stopped && !memprof_is_sampling(L->domain, s->profile)) s->stopped = true;
  return s;
}

static bool check_flush(lua_State *L) {
  static const char *const options[] = {"flush", NULL};
  if (lua_isnoneornil(L, 2)) return false;
  luaL_checktype(L, 2, LUA_TTABLE);
  check_field_names(L, 2, "option", options);
  if (lua_getfield(L, 2, "flush") != LUA_TNIL && !lua_isboolean(L, -1))
    luaL_argerror(L, 2, "field 'flush' is not a boolean");
  return lua_toboolean(L, -1);
}

/* sampler:stop([{flush=}]). */
static int sampler_stop(lua_State *L) {
  Sampler *s = check_sampler(L);
  bool flush = check_flush(L);
  if (s->discarded) return luaL_error(L, "this sampler was discarded");
  if (s->stopped) return luaL_error(L, "this sampler does not run: it was stopped");
  if (flush) memprof_flush(L);
  if (memprof_is_sampling(L->domain, s->profile)) memprof_stop(L->domain, s->profile);
  s->stopped = true;
  return 0;
}

/* sampler:discard(). */
static int sampler_discard(lua_State *L) {
  Sampler *s = check_sampler(L);
  if (s->discarded) return luaL_error(L, "this sampler was discarded already");
  if (!s->stopped) return luaL_error(L, "this sampler runs: stop it first");
  s->discarded = true;
  memprof_discard(L->domain, s->profile);
  return 0;
}

typedef struct Listing {
  MemprofSample *samples;
  size_t n, room;
} Listing;

static void add_sample(void *context, const MemprofSample *sample) {
  Listing *listing = context;
  if (listing->n < listing->room) listing->samples[listing->n++] = *sample;
}

/* sampler:snapshot() -> {words=, samples=, lost=, tracked=, seed=, rows={samples}}. */
static int sampler_snapshot(lua_State *L) {
  Sampler *s = check_sampler(L);
  MemprofFigures figures;
  if (s->discarded) return luaL_error(L, "this sampler was discarded");
  memprof_figures(L->domain, s->profile, &figures);
  Listing listing = {.room = figures.tracked + SNAPSHOT_SPARE};
  lua_settop(L, 1);
  listing.samples = lua_newuserdatauv(L, listing.room * sizeof *listing.samples, 0);
  memprof_each(L->domain, s->profile, add_sample, &listing);
  lua_createtable(L, 0, 6);
  put_integer(L, "words", figures.words);
  put_integer(L, "samples", figures.samples);
  put_integer(L, "lost", figures.lost);
  put_integer(L, "seed", figures.seed);
  lua_createtable(L, (int)listing.n, 0);
  for (size_t i = 0; i < listing.n; i++) {
    push_sample(L, &listing.samples[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "rows");
  return 1;
}

LUAMOD_API int luaopen_memprof(lua_State *L) {
  static const luaL_Reg methods[] = {{"stop", sampler_stop},
                                     {"discard", sampler_discard},
                                     {"snapshot", sampler_snapshot},
                                     {NULL, NULL}};
  static const luaL_Reg functions[] = {
    {"start", start_sampler}, {"is_sampling", is_sampling}, {NULL, NULL}};
  if (luaL_newmetatable(L, SAMPLER_TYPE)) {
    luaL_newlib(L, methods);
    lua_setfield(L, -2, "__index");
  }
  lua_pop(L, 1);
  luaL_newlib(L, functions);
  return 1;
}
