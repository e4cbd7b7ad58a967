/* SPDX-License-Identifier: MIT */
/* lib_memprof.c - the guest module `saros.memprof`: samples of allocations with callbacks
 * (doc/MEMPROF.md; the sampler: runtime/memprof.c).
 *
 * A sampler is a userdata with the number of its profile. The data that its callbacks
 * need is in Samples (memprof_samples.c). */
#define LUA_LIB

#include <math.h>
#include <string.h>

#include "api.h"
#include "domain.h"
#include "field_names.h"
#include "lauxlib.h"
#include "lib_retain.h"
#include "lua.h"
#include "lualib.h"
#include "memprof.h"
#include "memprof_inherit.h"
#include "memprof_samples.h"
#include "thread.h"
#include "transfer.h"

#define SAMPLER_TYPE "memprof.sampler"
#define DEFAULT_DEPTH 64
#define SNAPSHOT_SPARE 16 /* room for samples of memory that the snapshot requests */

static const char *const callback_names[] = {"alloc_young", "alloc_old", "promote",
                                             "dealloc_young", "dealloc_old", NULL};
#define CALLBACKS 5
/* Indices in a profile's table, behind the indices of its callbacks: the data for a
   domain that inherits the profile. */
enum { PROFILE_RATE = MEMPROF_DEALLOC_OLD + 1, PROFILE_DEPTH, PROFILE_INHERIT };

typedef struct Sampler {
  uint32_t profile;
  bool stopped, discarded;
} Sampler;

/* ---- callbacks ------------------------------------------------------------- */

static bool is_alloc(MemprofCallback what) {
  return what == MEMPROF_ALLOC_YOUNG || what == MEMPROF_ALLOC_OLD;
}

static bool is_last(MemprofCallback what) {
  return what == MEMPROF_DEALLOC_YOUNG || what == MEMPROF_DEALLOC_OLD;
}

/* Pushes the argument of the callback: the sample, or the value that the last callback
   returned. */
static void push_argument(lua_State *L, Samples *s, MemprofCallback what,
                          const MemprofSample *sample) {
  if (is_alloc(what)) samples_push(L, s, sample);
  else samples_push_value(L, s, sample->value);
}

/* Calls a callback and leaves its result on the stack, or nil after the last callback of
 * a block. Without a callback for allocations, the value of a block is its sample. */
static void call_back(lua_State *L, Samples *s, MemprofCallback what,
                      const MemprofSample *sample) {
  api_push_value(L, samples_callback(s, sample->profile, what));
  bool has_callback = !lua_isnil(L, -1);
  if (!has_callback) lua_pop(L, 1);
  push_argument(L, s, what, sample);
  if (has_callback) lua_call(L, 1, is_last(what) ? 0 : 1);
  if (is_last(what)) lua_pushnil(L);
}

/* Calls all callbacks that are due, up to the first error. */
static int run_callbacks(lua_State *L) {
  Domain *d = L->domain;
  Samples *s = samples_of(L);
  MemprofCallback what;
  MemprofSample sample;
  uint32_t id;
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  while ((sample.value = memprof_dropped(d)) != 0) samples_forget_value(L, s, sample.value);
  while ((what = memprof_next(d, &id, &sample)) != MEMPROF_NOTHING) {
    call_back(L, s, what, &sample);
    bool keep = !lua_isnil(L, -1);
    if (keep) {
      sample.value = samples_keep_value(L, s, sample.value);
    } else {
      samples_forget_value(L, s, sample.value);
      lua_pop(L, 1);
    }
    memprof_called(d, id, keep, keep ? sample.value : 0);
  }
  return 0;
}

static void forget_value(lua_State *L, uint32_t value) {
  if (value != 0) samples_forget_value(L, samples_of(L), value);
}

static const MemprofModule module = {run_callbacks, forget_value};

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

/* Puts the functions into the table on top, by their MemprofCallback. */
static void check_callbacks(lua_State *L) {
  int functions = lua_gettop(L);
  if (lua_getfield(L, 1, "callbacks") == LUA_TNIL) {
    lua_pop(L, 1);
    return;
  }
  if (!lua_istable(L, -1)) luaL_argerror(L, 1, "field 'callbacks' is not a table");
  check_field_names_at(L, lua_gettop(L), 1, "callback", callback_names);
  for (int i = 0; i < CALLBACKS; i++) {
    if (lua_getfield(L, -1, callback_names[i]) != LUA_TNIL && !lua_isfunction(L, -1))
      luaL_argerror(L, 1, lua_pushfstring(L, "callback '%s' is not a function",
                                          callback_names[i]));
    lua_rawseti(L, functions, MEMPROF_ALLOC_YOUNG + i);
  }
  lua_pop(L, 1);
}

/* Pushes whether domains that are spawned inherit the profile: true, false, or nil for
 * "if that is possible". */
static void check_inherit(lua_State *L) {
  if (lua_getfield(L, 1, "inherit") != LUA_TNIL && !lua_isboolean(L, -1))
    luaL_argerror(L, 1, "field 'inherit' is not a boolean");
}

static unsigned wanted_by(lua_State *L, int profile) {
  static const unsigned wants[CALLBACKS] = {MEMPROF_WANTS_ALLOC, MEMPROF_WANTS_ALLOC,
                                            MEMPROF_WANTS_PROMOTE, MEMPROF_WANTS_YOUNG,
                                            MEMPROF_WANTS_OLD};
  unsigned wanted = 0;
  for (int i = 0; i < CALLBACKS; i++) {
    if (lua_rawgeti(L, profile, MEMPROF_ALLOC_YOUNG + i) != LUA_TNIL) wanted |= wants[i];
    lua_pop(L, 1);
  }
  return wanted;
}

/* Pops the table of a profile, starts the profile, and pushes its sampler. */
static void start_profile(lua_State *L) {
  int profile = lua_gettop(L);
  unsigned wants = wanted_by(L, profile);
  lua_rawgeti(L, profile, PROFILE_RATE);
  lua_Number rate = lua_tonumber(L, -1);
  lua_rawgeti(L, profile, PROFILE_DEPTH);
  uint32_t depth = (uint32_t)lua_tointeger(L, -1);
  Samples *samples = samples_make(L);
  lua_settop(L, profile);
  Sampler *s = lua_newuserdatauv(L, sizeof *s, 0);
  *s = (Sampler){0};
  luaL_setmetatable(L, SAMPLER_TYPE);
  s->profile = memprof_new(L->domain);
  if (s->profile == 0) luaL_error(L, "not enough memory");
  samples_set_running(L, samples);
  lua_pushvalue(L, profile);
  samples_set_callbacks(L, samples, s->profile);
  lua_remove(L, profile);
  memprof_start(L, s->profile, rate, depth, wants, &module);
}

/* Implements memprof.start{rate=, depth=, callbacks=, inherit=} -> sampler. */
static int start_sampler(lua_State *L) {
  static const char *const options[] = {"rate", "depth", "callbacks", "inherit", NULL};
  luaL_checktype(L, 1, LUA_TTABLE);
  check_field_names(L, 1, "option", options);
  lua_Number rate = check_rate(L);
  uint32_t depth = check_depth(L);
  lua_createtable(L, PROFILE_INHERIT, 0);
  check_callbacks(L);
  lua_pushnumber(L, rate);
  lua_rawseti(L, -2, PROFILE_RATE);
  lua_pushinteger(L, depth);
  lua_rawseti(L, -2, PROFILE_DEPTH);
  check_inherit(L);
  lua_rawseti(L, -2, PROFILE_INHERIT);
  start_profile(L);
  return 1;
}

/* Implements memprof.is_sampling() -> whether a profile of this domain samples. */
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

/* Implements sampler:stop([{flush=}]). */
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

/* Implements sampler:discard(). */
static int sampler_discard(lua_State *L) {
  Sampler *s = check_sampler(L);
  if (s->discarded) return luaL_error(L, "this sampler was discarded already");
  if (!s->stopped) return luaL_error(L, "this sampler runs: stop it first");
  s->discarded = true;
  memprof_discard(L->domain, s->profile);
  return 0;
}

static void put_integer(lua_State *L, const char *field, uint64_t n) {
  lua_pushinteger(L, (lua_Integer)n);
  lua_setfield(L, -2, field);
}

typedef struct Listing {
  MemprofSample *samples;
  size_t n, room;
} Listing;

static void add_sample(void *context, const MemprofSample *sample) {
  Listing *listing = context;
  if (listing->n < listing->room) listing->samples[listing->n++] = *sample;
}

/* Implements sampler:snapshot() -> {words=, samples=, lost=, unknown_stacks=, seed=,
   rows={samples}}. */
static int sampler_snapshot(lua_State *L) {
  Sampler *s = check_sampler(L);
  MemprofFigures figures;
  if (s->discarded) return luaL_error(L, "this sampler was discarded");
  memprof_figures(L->domain, s->profile, &figures);
  Listing listing = {.room = figures.tracked + SNAPSHOT_SPARE};
  lua_settop(L, 1);
  listing.samples = lua_newuserdatauv(L, listing.room * sizeof *listing.samples, 0);
  memprof_each(L->domain, s->profile, add_sample, &listing);
  Samples *samples = samples_of(L);
  lua_createtable(L, 0, 6);
  put_integer(L, "words", figures.words);
  put_integer(L, "samples", figures.samples);
  put_integer(L, "lost", figures.lost);
  put_integer(L, "unknown_stacks", figures.unknown_stacks);
  put_integer(L, "seed", figures.seed);
  lua_createtable(L, (int)listing.n, 0);
  for (size_t i = 0; i < listing.n; i++) {
    samples_push(L, samples, &listing.samples[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "rows");
  return 1;
}

/* Implements __gc: the program has dropped the sampler. Callbacks for tracked blocks
   still run. */
static int sampler_collect(lua_State *L) {
  Sampler *s = check_sampler(L);
  if (!s->discarded && s->profile != 0) memprof_give_up(L->domain, s->profile);
  s->stopped = s->discarded = true;
  return 0;
}

static void make_sampler_type(lua_State *L) {
  static const luaL_Reg methods[] = {{"stop", sampler_stop},
                                     {"discard", sampler_discard},
                                     {"snapshot", sampler_snapshot},
                                     {NULL, NULL}};
  if (luaL_newmetatable(L, SAMPLER_TYPE)) {
    luaL_newlib(L, methods);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, sampler_collect);
    lua_setfield(L, -2, "__gc");
  }
  lua_pop(L, 1);
}

/* Implements memprof.sampler() -> the sampler that runs in this domain, or nil. */
static int running_sampler(lua_State *L) {
  if (!memprof_is_sampling(L->domain, 0)) return 0;
  samples_push_running(L, samples_of(L));
  return 1;
}

LUAMOD_API int luaopen_memprof(lua_State *L) {
  static const luaL_Reg functions[] = {{"start", start_sampler},
                                       {"is_sampling", is_sampling},
                                       {"sampler", running_sampler},
                                       {"retain", retain_report},
                                       {NULL, NULL}};
  make_sampler_type(L);
  luaL_newlib(L, functions);
  return 1;
}

/* ---- domains that are spawned ------------------------------------------------ */

/* Pushes the table of the profile, which is sent as a message: the callbacks are copied
   like the function of the domain. */
bool memprof_push_inheritance(lua_State *L) {
  uint32_t profile = memprof_running(L->domain);
  if (profile == 0) {
    lua_pushnil(L);
    return false;
  }
  samples_push_callbacks(L, samples_of(L), profile);
  lua_rawgeti(L, -1, PROFILE_INHERIT);
  bool never = lua_isboolean(L, -1) && !lua_toboolean(L, -1), must = lua_toboolean(L, -1);
  lua_pop(L, 1);
  if (!never) return must;
  lua_pop(L, 1);
  lua_pushnil(L);
  return false;
}

void memprof_inherit(lua_State *L, struct Message *m) {
  make_sampler_type(L);
  transfer_decode(L, m);
  start_profile(L);
  lua_pop(L, 1);
}
