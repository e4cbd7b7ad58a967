/* SPDX-License-Identifier: MIT */
/* lib_domain.c: the module `saros.domain`: spawning, joining, handles (doc/DOMAINS.md).
 *
 * A domain is created in its own thread (domain_thread), which makes its state, opens its
 * libraries, and decodes the function and its arguments from the message of the domain
 * that spawned it. Then the thread calls the function with a message handler that makes a
 * traceback, encodes the outcome, and closes the state. Only then do joins return: a
 * domain that was joined has freed all its memory.
 *
 * A handle is a userdata with a counted pointer to the Peer (runtime/peer.h). The outcome
 * can be decoded only once; the handle keeps the decoded outcome (user value 1) for
 * further joins.
 */
#include "channel.h"
#include "clock.h"
#include "domain.h"
#include "field_names.h"
#include "gc.h"
#include "lib_domain.h"
#include "peer.h"
#include "lualib.h"
#include "memprof_inherit.h"
#include "message.h"
#include "retry.h"
#include "thread.h"
#include "traces.h"
#include "probes.h"
#include "transfer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HANDLE_TYPE "domain.handle"
#define PREPARED_KEY "domain.prepared" /* key in the registry: the types are made */
#define METATABLES_KEY "domain.metatables"

/* The start data of a new domain; malloc'ed, freed by its thread. */
typedef struct Birth {
  /* the function and its arguments, or the arguments of the file */
  Message *message;
  /* the profile of allocations to be inherited; NULL if there is none */
  Message *profile;
  char *file;               /* name of the file to run; NULL if a function is to run */
  /* package.path and cpath of the domain that spawned it; may be NULL */
  char *path, *cpath;
  bool no_environment;      /* saros -E */
  /* `trace` is valid: from the span that spawned the domain, or inherited there */
  bool has_trace;
  struct eventring_trace trace;
  bool arrived;             /* the arguments have been handed to the new domain */
} Birth;

/* The number of domains that were started and do not have their arguments yet. In a
 * forked child it still counts the domains of the parent. Atomic, sequentially
 * consistent. */
static int arriving;

static void arrive(Birth *b) {
  if (!b->arrived) __atomic_fetch_sub(&arriving, 1, __ATOMIC_SEQ_CST);
  b->arrived = true;
}

static void free_birth(Birth *b) {
  message_free(b->message);
  message_free(b->profile);
  free(b->file);
  free(b->path);
  free(b->cpath);
  free(b);
}

/* ---- what every domain has ----------------------------------------------- */

static void prepare_metatables(lua_State *L) {
  lua_newtable(L);
  L->domain->sharing.metatables = (Table *)lua_topointer(L, -1);
  lua_setfield(L, LUA_REGISTRYINDEX, METATABLES_KEY);
}

static int handle_index(lua_State *L);
static int handle_collect(lua_State *L);
static int handle_tostring(lua_State *L);
static int handle_join(lua_State *L);
static int handle_cancel(lua_State *L);

static void prepare_handles(lua_State *L) {
  static const luaL_Reg metamethods[] = {
      {"__gc", handle_collect}, {"__tostring", handle_tostring}, {NULL, NULL}};
  static const luaL_Reg methods[] = {
      {"join", handle_join}, {"cancel", handle_cancel}, {NULL, NULL}};
  luaL_newmetatable(L, HANDLE_TYPE);
  luaL_setfuncs(L, metamethods, 0);
  luaL_newlib(L, methods);
  lua_pushcclosure(L, handle_index, 1);
  lua_setfield(L, -2, "__index");
  lua_pushliteral(L, "domain");
  lua_setfield(L, -2, "__metatable");
  lua_pop(L, 1);
}

void domain_lib_prepare(lua_State *L) {
  if (lua_getfield(L, LUA_REGISTRYINDEX, PREPARED_KEY) == LUA_TNIL) {
    prepare_metatables(L);
    prepare_handles(L);
    channel_lib_prepare(L);
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    L->domain->sharing.loaded = (Table *)lua_topointer(L, -1);
    lua_pop(L, 1);
    lua_pushboolean(L, 1);
    lua_setfield(L, LUA_REGISTRYINDEX, PREPARED_KEY);
  }
  lua_pop(L, 1);
}

uint64_t domain_lib_deadline(lua_State *L, int index) {
  if (lua_isnoneornil(L, index)) return NO_DEADLINE;
  lua_Number seconds = luaL_checknumber(L, index);
  if (!(seconds > 0)) return 0;
  if (seconds > 1e9) return NO_DEADLINE - 1;
  return monotonic_ns() + (uint64_t)(seconds * 1e9);
}

/* ---- the life of a domain ------------------------------------------------ */

static void set_package_field(lua_State *L, const char *field, const char *value) {
  if (value == NULL || lua_getglobal(L, LUA_LOADLIBNAME) != LUA_TTABLE) return;
  lua_pushstring(L, value);
  lua_setfield(L, -2, field);
  lua_pop(L, 1);
}

/* Opens the libraries and applies the settings. The argument is the Birth. */
static int prepare_domain(lua_State *L) {
  const Birth *b = lua_touserdata(L, 1);
  if (b->no_environment) {
    lua_pushboolean(L, 1);
    lua_setfield(L, LUA_REGISTRYINDEX, "LUA_NOENV");
  }
  lua_gc(L, LUA_GCSTOP);
  luaL_openlibs(L);
  set_package_field(L, "path", b->path);
  set_package_field(L, "cpath", b->cpath);
  domain_lib_prepare(L);
  lua_gc(L, LUA_GCRESTART);
  lua_gc(L, LUA_GCGEN, 0, 0);
  if (b->has_trace) traces_inherit_from(L, &b->trace);
  return 0;
}

/* Sets the global `arg`, as a script sees it: the file at 0, then the n arguments, which
   are on the stack. */
static void set_arg(lua_State *L, const char *file, int n) {
  lua_createtable(L, n, 1);
  lua_pushstring(L, file);
  lua_rawseti(L, -2, 0);
  for (int i = 1; i <= n; i++) {
    lua_pushvalue(L, -1 - n + i - 1);
    lua_rawseti(L, -2, i);
  }
  lua_setglobal(L, "arg");
}

static void inherit_profile(lua_State *L, Birth *b) {
  Message *m = b->profile;
  b->profile = NULL;
  memprof_inherit(L, m);
}

/* Decodes the function and its arguments, and calls it; returns the function's results.
   The argument is the Birth. */
static int run_birth(lua_State *L) {
  Birth *b = lua_touserdata(L, 1);
  lua_settop(L, 0);
  if (b->profile != NULL) inherit_profile(L, b);
  if (b->file != NULL && luaL_loadfile(L, b->file) != LUA_OK) return lua_error(L);
  Message *m = b->message;
  b->message = NULL;
  int n = transfer_decode(L, m);
  arrive(b);
  if (b->file != NULL) set_arg(L, b->file, n);
  gc_record_memory(L->domain);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

/* The address of this variable is a key in the registry, for the last error and its text
   with a traceback. */
static const char description_key;

/* Handles an error: makes and keeps a text with a traceback. The error itself stays
 * unchanged, for functions that close variables. */
static int describe_error(lua_State *L) {
  lua_settop(L, 1);
  luaL_tolstring(L, 1, NULL);
  lua_pushfstring(L, "%s\nin domain %d (%s)", lua_tostring(L, 2), (int)L->domain->id,
                  L->domain->peer->name);
  luaL_traceback(L, L, lua_tostring(L, -1), 1);
  lua_createtable(L, 2, 0);
  lua_pushvalue(L, 1);
  lua_rawseti(L, -2, 1);
  lua_pushvalue(L, -2);
  lua_rawseti(L, -2, 2);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &description_key);
  lua_settop(L, 1);
  return 1;
}

typedef struct Outcome {
  PeerStatus status;
  Message *message;
  char *failure;
} Outcome;

static Outcome failed_outcome(Message *m, const char *text) {
  /* the text is NULL if there is no memory, which is then reported */
  return (Outcome){PEER_FAILED, m, strdup(text)};
}

/* Returns the text that describe_error made of the error on top, or NULL if there is
 * none. The text stays on the stack, below the error. Raises nothing. */
static const char *find_description(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &description_key) != LUA_TTABLE) return lua_pop(L, 1), NULL;
  lua_rawgeti(L, -1, 1);
  bool same = lua_rawequal(L, -1, -3);
  lua_pop(L, 1);
  lua_rawgeti(L, -1, 2);
  lua_replace(L, -2);
  lua_insert(L, -2);
  return same ? lua_tostring(L, -2) : NULL;
}

/* Makes the outcome of the error on top of the stack. */
static Outcome outcome_of_error(lua_State *L) {
  char why[512];
  const char *described = find_description(L), *text = lua_tostring(L, -1);
  if (described == NULL)
    return failed_outcome(NULL, text != NULL ? text : "error in error handling");
  Message *m = text != NULL ? NULL : transfer_try_encode(L, 1, "error", false, why, sizeof why);
  return failed_outcome(m, described);
}

static Outcome outcome_of_results(lua_State *L, int n) {
  char why[512];
  Message *m = transfer_try_encode(L, n, "result", false, why, sizeof why);
  return m != NULL ? (Outcome){PEER_DONE, m, NULL} : failed_outcome(NULL, why);
}

static Outcome run_domain(lua_State *L, Birth *b) {
  lua_pushcfunction(L, prepare_domain);
  lua_pushlightuserdata(L, b);
  if (lua_pcall(L, 1, 0, 0) != LUA_OK) return outcome_of_error(L);
  lua_pushcfunction(L, describe_error);
  lua_pushcfunction(L, run_birth);
  lua_pushlightuserdata(L, b);
  if (lua_pcall(L, 1, LUA_MULTRET, 1) != LUA_OK) return outcome_of_error(L);
  return outcome_of_results(L, lua_gettop(L) - 1);
}

/* Runs a domain from its start to its end: the body of its thread. */
static void domain_thread(Peer *peer, void *birth) {
  lua_State *L = luaL_newstate();
  Outcome outcome = {PEER_FAILED, NULL, NULL};
  if (L != NULL) {
    outcome = run_domain(L, birth);
    lua_close(L);
  }
  arrive(birth);
  free_birth(birth);
  peer_finish(peer, outcome.status, outcome.message, outcome.failure);
}

/* ---- spawning ------------------------------------------------------------ */

static size_t read_memory(lua_State *L, int arg) {
  lua_Integer bytes = 0;
  int ok = 1;
  if (lua_getfield(L, arg, "memory") != LUA_TNIL) bytes = lua_tointegerx(L, -1, &ok);
  luaL_argcheck(L, ok && bytes >= 0, arg, "option 'memory' is not a number of bytes");
  lua_pop(L, 1);
  return (size_t)bytes;
}

DomainOptions domain_lib_options(lua_State *L, int arg) {
  static const char *const names[] = {"name", "memory", NULL};
  DomainOptions options = {NULL, 0};
  check_field_names(L, arg, "option", names);
  options.memory = read_memory(L, arg);
  if (lua_getfield(L, arg, "name") != LUA_TNIL) {
    options.name = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
    luaL_argcheck(L, options.name != NULL, arg, "option 'name' is not a string");
  }
  return options;
}

/* Reads the table of options at index 1, if there is one, and replaces it with the name.
 * Sets *first to the index of the argument behind it. */
static DomainOptions read_options(lua_State *L, int *first) {
  DomainOptions options = {NULL, 0};
  *first = lua_istable(L, 1) ? 2 : 1;
  if (*first == 1) return options;
  options = domain_lib_options(L, 1);
  lua_replace(L, 1);
  return options;
}

/* Pushes a field of the package table, which may be anything, or nil. */
static void push_package_field(lua_State *L, const char *field) {
  int result = lua_gettop(L) + 1;
  lua_pushnil(L);
  if (L->domain->sharing.loaded == NULL) return;
  lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  if (lua_getfield(L, -1, LUA_LOADLIBNAME) == LUA_TTABLE) {
    lua_getfield(L, -1, field);
    lua_replace(L, result);
  }
  lua_settop(L, result);
}

static char *copy_string(lua_State *L, int index) {
  return lua_type(L, index) == LUA_TSTRING ? strdup(lua_tostring(L, index)) : NULL;
}

static Peer **new_handle(lua_State *L) {
  Peer **h = lua_newuserdatauv(L, sizeof *h, 1);
  *h = NULL;
  luaL_setmetatable(L, HANDLE_TYPE);
  return h;
}

static const char *const spawn_errors[] = {
  [SPAWN_TOO_MANY] = "too many domains: 128 run already", [SPAWN_NO_MEMORY] = "not enough memory",
  [SPAWN_NO_THREAD] = "cannot start a thread", [SPAWN_ENDING] = "the program is ending"};

/* The values that are pushed before a message is made, because nothing may raise an error
 * from then until the message has an owner. */
enum { AT_HANDLE, AT_PATH, AT_CPATH, AT_NO_ENVIRONMENT, AT_PROFILE, AT_MUST_INHERIT,
       AT_TRACE, PREPARED };

/* Pushes the trace that the new domain inherits, as a string, or nil. */
static void push_trace(lua_State *L) {
  struct eventring_trace trace;
  if (traces_outgoing(L, &trace)) lua_pushlstring(L, (const char *)&trace, sizeof trace);
  else lua_pushnil(L);
}

/* Puts the prepared values below the values from `first` on. */
static void prepare_spawn(lua_State *L, int first) {
  new_handle(L);
  push_package_field(L, "path");
  push_package_field(L, "cpath");
  lua_getfield(L, LUA_REGISTRYINDEX, "LUA_NOENV");
  lua_pushboolean(L, memprof_push_inheritance(L));
  push_trace(L);
  lua_rotate(L, first, PREPARED);
  luaL_checkstack(L, 1, NULL); /* encode_profile */
}

/* Returns the profile of allocations for the new domain, or NULL. A callback that cannot
 * be sent is an error or a warning; the error frees the message of the function. */
static Message *encode_profile(lua_State *L, int prepared, Message *function) {
  char why[512];
  if (lua_isnil(L, prepared + AT_PROFILE)) return NULL;
  lua_pushvalue(L, prepared + AT_PROFILE);
  Message *m = transfer_try_encode(L, 1, "callbacks", false, why, sizeof why);
  lua_pop(L, 1);
  if (m != NULL) return m;
  if (lua_toboolean(L, prepared + AT_MUST_INHERIT)) {
    message_free(function);
    luaL_error(L, "the profile of allocations cannot be inherited: %s", why);
  }
  lua_warning(L, "a spawned domain does not inherit the profile of allocations: ", 1);
  lua_warning(L, why, 0);
  return NULL;
}

static Birth *new_birth(lua_State *L, int prepared, Message *m, Message *profile,
                        const char *file) {
  Birth *b = calloc(1, sizeof *b);
  if (b == NULL) {
    message_free(m);
    message_free(profile);
    luaL_error(L, "not enough memory");
  }
  b->message = m;
  b->profile = profile;
  b->file = file != NULL ? strdup(file) : NULL;
  b->path = copy_string(L, prepared + AT_PATH);
  b->cpath = copy_string(L, prepared + AT_CPATH);
  b->no_environment = lua_toboolean(L, prepared + AT_NO_ENVIRONMENT);
  b->has_trace = !lua_isnil(L, prepared + AT_TRACE);
  if (b->has_trace) memcpy(&b->trace, lua_tostring(L, prepared + AT_TRACE), sizeof b->trace);
  if (file != NULL && b->file == NULL) {
    free_birth(b);
    luaL_error(L, "not enough memory");
  }
  return b;
}

/* The time for a domain whose channel was orphaned to end, and for a new domain to
 * receive its arguments. It is enough on a busy machine, too. */
#define PATIENCE_NS UINT64_C(3000000000)

/* Tells whether a domain may end soon: A channel may have been orphaned a short time ago,
 * so that a domain that waits on it fails. Or a new domain may not have received its
 * arguments yet, so that it is not known whether a channel among them is garbage. */
static bool may_end_soon(uint64_t since) {
  const uint64_t now = monotonic_ns(), orphaned = channel_last_orphaned();
  return (orphaned != 0 && now < orphaned + PATIENCE_NS) ||
         (__atomic_load_n(&arriving, __ATOMIC_SEQ_CST) > 0 && now < since + PATIENCE_NS);
}

static SpawnResult try_spawn(Peer **peer, DomainOptions options, Birth *b) {
  /* counted first: the new domain may have its arguments before peer_spawn returns */
  __atomic_fetch_add(&arriving, 1, __ATOMIC_SEQ_CST);
  const SpawnResult result = peer_spawn(peer, options.name, options.memory, domain_thread, b);
  if (result != SPAWN_OK) __atomic_fetch_sub(&arriving, 1, __ATOMIC_SEQ_CST);
  return result;
}

/* Spawns a domain. If there is no room for another one, some domains may be waiting
 * forever on channels that are garbage. Once these channels are collected, the domains
 * fail because their channel is orphaned, and end. So this function collects and tries
 * again. */
static SpawnResult spawn_or_collect(lua_State *L, Peer **peer, DomainOptions options, Birth *b) {
  SpawnResult result = try_spawn(peer, options, b);
  if (result == SPAWN_OK || result == SPAWN_ENDING || !collect_for_retry(L, EAGAIN)) return result;
  const uint64_t since = monotonic_ns();
  result = try_spawn(peer, options, b);
  while (result != SPAWN_OK && result != SPAWN_ENDING && may_end_soon(since)) {
    peer_await_end();
    result = try_spawn(peer, options, b);
  }
  return result;
}

/* Pushes the handle of a new domain. */
static int start_domain(lua_State *L, int prepared, DomainOptions options, Message *m,
                        const char *file) {
  Message *profile = encode_profile(L, prepared, m);
  Birth *b = new_birth(L, prepared, m, profile, file);
  Peer *peer;
  SpawnResult result = spawn_or_collect(L, &peer, options, b);
  if (result != SPAWN_OK) {
    free_birth(b);
    return luaL_error(L, "%s", spawn_errors[result]);
  }
  *(Peer **)lua_touserdata(L, prepared + AT_HANDLE) = peer;
  lua_settop(L, prepared + AT_HANDLE);
  peer_hand_over(domain_lib_self(L));
  return 1;
}

/* Implements domain.spawn([options,] f, ...) -> handle. Runs f(...) in a new domain: f,
 * its upvalues and the arguments are copied. The options are {name = string, memory =
 * bytes of heap}. */
static int domain_spawn(lua_State *L) {
  int first;
  DomainOptions options = read_options(L, &first);
  luaL_checktype(L, first, LUA_TFUNCTION);
  prepare_spawn(L, first);
  Message *m = transfer_encode(L, lua_gettop(L) - first - PREPARED + 1, "arg", true);
  return start_domain(L, first, options, m, NULL);
}

/* Implements domain.spawn_file([options,] path, ...) -> handle. Runs the file as a script
 * with those arguments, in `...` and the global `arg`. join raises the errors of the
 * file. */
static int domain_spawn_file(lua_State *L) {
  int first;
  DomainOptions options = read_options(L, &first);
  const char *file = luaL_checkstring(L, first);
  prepare_spawn(L, first + 1);
  Message *m = transfer_encode(L, lua_gettop(L) - first - PREPARED, "arg", false);
  return start_domain(L, first + 1, options, m, file);
}

/* ---- handles ------------------------------------------------------------- */

static Peer *check_handle(lua_State *L, int index) {
  Peer **h = luaL_checkudata(L, index, HANDLE_TYPE);
  if (*h == NULL) luaL_argerror(L, index, "handle was given up, or its domain never started");
  return *h;
}

/* Decodes the outcome, in the first join. Pushes a list of the results with its length
 * `n`, or a table with the error in the field `error`. */
static void take_outcome(lua_State *L, Peer *peer) {
  if (__atomic_exchange_n(&peer->joined, true, __ATOMIC_RELAXED))
    luaL_error(L, "domain was joined by another one");
  Message *m = peer->outcome;
  peer->outcome = NULL;
  int base = lua_gettop(L), n = 0;
  /* acquire: pairs with the release store of status in peer_finish */
  bool is_error = __atomic_load_n(&peer->status, __ATOMIC_ACQUIRE) == PEER_FAILED;
  if (m != NULL) {
    /* `peer` is not used from here on: a finalizer may release the handle */
    n = transfer_decode(L, m);
  } else if (is_error) {
    lua_pushstring(L, peer->failure != NULL ? peer->failure : "not enough memory");
    n = 1;
  }
  lua_createtable(L, n, 2);
  for (int k = 1; k <= n; k++) {
    lua_pushvalue(L, base + k);
    lua_rawseti(L, -2, k);
  }
  lua_pushinteger(L, n);
  lua_setfield(L, -2, is_error ? "error" : "n");
  if (n > 0) lua_replace(L, base + 1);
  lua_settop(L, base + 1);
}

/* Unpacks the outcome on top: returns the results, or raises the error. */
static int give_outcome(lua_State *L) {
  int list = lua_gettop(L);
  if (lua_getfield(L, list, "error") != LUA_TNIL) {
    lua_rawgeti(L, list, 1);
    return lua_error(L);
  }
  lua_getfield(L, list, "n");
  int n = (int)lua_tointeger(L, -1);
  luaL_checkstack(L, n, "too many results");
  for (int k = 1; k <= n; k++) lua_rawgeti(L, list, k);
  return n;
}

static WaitResult wait_for_end(lua_State *L, Peer *peer, uint64_t deadline) {
  PROBE_BEGIN(L->domain, DOMAIN_JOIN);
  WaitResult result = peer_join(domain_lib_self(L), peer, deadline);
  PROBE_END(L->domain, DOMAIN_JOIN);
  if (result == WAIT_ATTENTION) peer_take_up(L);
  return result;
}

/* Implements handle:join([seconds]) -> results of the domain's function. Raises the
 * function's error: a string has the traceback in the domain added; any other value is
 * unchanged. Returns nil, "timeout" after the time. A second join gives the same result
 * again. */
static int handle_join(lua_State *L) {
  Peer *peer = check_handle(L, 1);
  uint64_t deadline = domain_lib_deadline(L, 2);
  if (peer == domain_lib_self(L)) return luaL_error(L, "a domain cannot join itself");
  lua_settop(L, 1);
  if (wait_for_end(L, peer, deadline) == WAIT_TIMEOUT) {
    lua_pushnil(L);
    lua_pushliteral(L, "timeout");
    return 2;
  }
  if (lua_getiuservalue(L, 1, 1) == LUA_TNIL) {
    lua_pop(L, 1);
    take_outcome(L, peer);
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, 1, 1);
  }
  return give_outcome(L);
}

/* Implements handle:cancel(): raises an error in the domain at its next safepoint. */
static int handle_cancel(lua_State *L) {
  peer_cancel(check_handle(L, 1));
  return 0;
}

static const char *status_text(Peer *peer) {
  /* acquire: pairs with the release in peer_finish (peer.c), so that was_cancelled is
     seen */
  switch ((PeerStatus)__atomic_load_n(&peer->status, __ATOMIC_ACQUIRE)) {
    case PEER_DONE: return "done";
    case PEER_FAILED: return peer->was_cancelled ? "cancelled" : "failed";
    case PEER_RUNNING: break;
  }
  return __atomic_load_n(&peer->wait_kind, __ATOMIC_RELAXED) != WAIT_NOTHING ? "waiting"
                                                                                   : "running";
}

/* Implements the fields of a handle: status ("running", "waiting", "done", "failed",
 * "cancelled"), id, name; the methods are in upvalue 1. */
static int handle_index(lua_State *L) {
  Peer *peer = check_handle(L, 1);
  const char *key = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  if (strcmp(key, "status") == 0) lua_pushstring(L, status_text(peer));
  else if (strcmp(key, "id") == 0) lua_pushinteger(L, peer->id);
  else if (strcmp(key, "name") == 0) lua_pushstring(L, peer->name);
  else lua_rawget(L, lua_upvalueindex(1));
  return 1;
}

static int handle_collect(lua_State *L) {
  Peer **h = luaL_checkudata(L, 1, HANDLE_TYPE);
  if (*h != NULL) peer_release(*h);
  *h = NULL;
  return 0;
}

static int handle_tostring(lua_State *L) {
  Peer *peer = check_handle(L, 1);
  lua_pushfstring(L, "domain %d (%s)", (int)peer->id, peer->name);
  return 1;
}

/* ---- the module ---------------------------------------------------------- */

/* Implements domain.self() -> handle of the running domain. */
static int domain_self(lua_State *L) {
  Peer **h = new_handle(L);
  *h = domain_lib_self(L);
  peer_hold(*h);
  return 1;
}

/* Implements domain.count() -> number of domains that run, this one included. */
static int domain_count(lua_State *L) {
  lua_pushinteger(L, peer_count());
  return 1;
}

/* Implements domain.cpus() -> number of processors that the program may use. */
static int domain_cpus(lua_State *L) {
  lua_pushinteger(L, peer_processors());
  return 1;
}

/* Implements domain.now() -> seconds of a clock that never goes back, as a float. */
static int domain_now(lua_State *L) {
  lua_pushnumber(L, (lua_Number)monotonic_ns() / 1e9);
  return 1;
}

/* Implements domain.sleep(seconds). A cancelled domain is woken. */
static int sleep_for(lua_State *L) {
  Peer *me = domain_lib_self(L);
  luaL_checknumber(L, 1);
  uint64_t deadline = domain_lib_deadline(L, 1);
  WaitResult result;
  do { /* sleeps again if it was woken for a masked request */
    peer_prepare(me, WAIT_SLEEP, 0);
    result = peer_wait(me, deadline);
  } while (result == WAIT_NOTIFIED);
  if (result == WAIT_ATTENTION) peer_take_up(L);
  peer_end_wait(me);
  return 0;
}

/* Implements __close of the guard of `masked`. */
static int end_mask(lua_State *L) {
  peer_unmask(domain_lib_self(L));
  return 0;
}

/* Implements domain.masked(f, ...) -> results of f(...). Cancelling and SIGINT wait until
 * f ends. The guard is upvalue 1, and its __close ends the mask. f is masked from its
 * first step on. */
static int domain_masked(lua_State *L) {
  if (luaL_getmetafield(L, 1, "__call") == LUA_TNIL) luaL_checktype(L, 1, LUA_TFUNCTION);
  else lua_pop(L, 1);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_toclose(L, 1);
  peer_mask(domain_lib_self(L));
  lua_call(L, lua_gettop(L) - 2, LUA_MULTRET);
  return lua_gettop(L) - 1;
}

static void open_masked(lua_State *L) {
  lua_newuserdatauv(L, 0, 0);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, end_mask);
  lua_setfield(L, -2, "__close");
  lua_setmetatable(L, -2);
  lua_pushcclosure(L, domain_masked, 1);
  lua_setfield(L, -2, "masked");
}

/* Implements domain.metatable(name, table): gives a metatable a name in this domain. A
 * table with that metatable is sent with the name, and gets the receiver's metatable of
 * the same name. */
static int agree_on_metatable(lua_State *L) {
  luaL_checkstring(L, 1);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  lua_getfield(L, LUA_REGISTRYINDEX, METATABLES_KEY);
  lua_pushvalue(L, 1);
  lua_pushvalue(L, 2);
  lua_rawset(L, 3);
  lua_pushvalue(L, 2);
  lua_pushvalue(L, 1);
  lua_rawset(L, 3);
  lua_settop(L, 2);
  return 1;
}

int luaopen_domain(lua_State *L) {
  static const luaL_Reg functions[] = {
    {"spawn", domain_spawn}, {"spawn_file", domain_spawn_file}, {"self", domain_self},
    {"count", domain_count}, {"cpus", domain_cpus}, {"now", domain_now},
    {"sleep", sleep_for}, {"metatable", agree_on_metatable}, {NULL, NULL}};
  domain_lib_prepare(L);
  luaL_newlib(L, functions);
  channel_lib_open(L);
  open_masked(L);
  /* upvalues of pool: the module, and what the Lua code of pool makes */
  lua_pushvalue(L, -1);
  lua_pushnil(L);
  lua_pushcclosure(L, pool_lib_pool, 2);
  lua_setfield(L, -2, "pool");
  return 1;
}
