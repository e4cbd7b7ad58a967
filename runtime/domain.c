/* SPDX-License-Identifier: MIT */
/* runtime/domain.c: birth and end of a domain.
 *
 * A domain is one Domain, in the first chunk of its heap or from the state's allocator.
 * All its other data is in its heap, except the intern table's later buckets, the
 * collector's own arrays and large allocations. The registry is filled by the vm.
 */
#include "domain.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "func.h"
#include "gc_internal.h"
#include "gc_time.h"
#include "introspection.h"
#include "memprof.h"
#include "peer.h"
#include "probes.h"
#include "table.h"
#include "thread.h"
#include "throw.h"

static const KnownText metamethod_names[META_COUNT] = {
#define METAMETHOD(id, name) {name, sizeof name - 1},
#include "metamethods.def"
#undef METAMETHOD
};

static const KnownText names[NAME_COUNT] = {
#define TYPE_NAME(type, text) [NAME_##type] = {text, sizeof text - 1},
#define NAME(id, text) [NAME_##id] = {text, sizeof text - 1},
#include "known_names.def"
#undef NAME
#undef TYPE_NAME
};
static const KnownText memory_error = {"not enough memory", sizeof "not enough memory" - 1};
_Static_assert(NAME_NIL == LUA_TNIL && NAME_THREAD == LUA_TTHREAD,
               "types in the order of their numbers");

HashSeed domain_fixed_seed(uint64_t *seed) {
  const char *text = secure_getenv("SAROS_HASH_SEED");
  if (text == NULL || *text == '\0') return HASH_SEED_RANDOM;
  char *end;
  errno = 0;
  *seed = strtoull(text, &end, 0);
  return *end == '\0' && errno == 0 ? HASH_SEED_FIXED : HASH_SEED_INVALID;
}

#define SEEDS 32

/* Gets a random seed. Asks the system for the seeds of several states at once, since one
 * system call takes about as long as much of the remaining work for a new state. */
static bool next_seed(uint64_t *seed) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static uint64_t seeds[SEEDS];
  static uint32_t left;
  pthread_mutex_lock(&lock);
  if (left == 0 && getrandom(seeds, sizeof seeds, GRND_NONBLOCK) == (ssize_t)sizeof seeds)
    left = SEEDS;
  bool any = left > 0;
  if (any) *seed = seeds[--left];
  pthread_mutex_unlock(&lock);
  return any;
}

static uint64_t random_seed(const Domain *d) {
  uint64_t seed;
  if (domain_fixed_seed(&seed) == HASH_SEED_FIXED || next_seed(&seed)) return seed;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (uint64_t)((uintptr_t)d >> 4) << 32 ^ (uint64_t)now.tv_nsec ^ (uint64_t)now.tv_sec << 20;
}

static void make_strings(lua_State *L) {
  Domain *d = L->domain;
  string_table_init(d);
  string_make_known(L, &memory_error, 1, &d->memory_error);
  string_make_known(L, metamethod_names, META_COUNT, d->meta_names);
  string_make_known(L, names, NAME_COUNT, d->names);
}

EventIds domain_no_event_ids[1];

static Domain *allocate_domain(lua_Alloc f, void *ud) {
  _Static_assert(sizeof(Domain) <= HEAP_HOME_MOST, "a domain lies in the first chunk of its heap");
  if (f == NULL) return heap_new_home();
  void *memory = f(ud, NULL, 0, sizeof(Domain));
  return memory != NULL ? memset(memory, 0, sizeof(Domain)) : NULL;
}

/* Frees the domain and its heap. The domain lies in the heap, unless the heap had an
 * allocator from the beginning. */
static void release_domain(Domain *d) {
  bool at_home = d->heap.home != NULL;
  heap_close(&d->heap);
  if (!at_home) d->heap.allocf(d->heap.alloc_ud, d, sizeof *d, 0);
}

void domain_drop_spare(Domain *d) {
  heap_memory_free(d, d->compile_spare, d->compile_spare_bytes);
  d->compile_spare = NULL;
}

void domain_host(Domain *d, lua_Alloc f, void *ud) {
  if (!heap_is_hosted(&d->heap) && !gc_leave_mappings(d)) return; /* it stays as it is */
  d->allocf = f;
  d->alloc_ud = ud;
  heap_host(&d->heap, f, ud);
}

static void free_domain(Domain *d) {
  introspection_remove(d);
  peer_forget_domain(d->peer);
  probes_domain_stop(d);
  peer_detach(d->peer);
  string_table_free(d);
  domain_drop_spare(d);
  assumed_free(d);
  if (d->event_ids != domain_no_event_ids)
    heap_memory_free(d, d->event_ids, EVENT_IDS * sizeof *d->event_ids);
  memprof_free(d);
  gc_close(d);
  release_domain(d);
}

/* Takes the steps of domain_new that may raise, with an ErrorJump of their own. */
static bool complete_domain(lua_State *L) {
  Domain *d = L->domain;
  ErrorJump jump = {.prev = NULL, .status = LUA_OK};
  d->error_jump = &jump;
  if (setjmp(jump.buf) == 0) make_strings(L);
  d->error_jump = NULL;
  return jump.status == LUA_OK;
}

lua_State *domain_new(lua_Alloc f, void *ud) {
  Domain *d = allocate_domain(f, ud);
  if (d == NULL) return NULL;
  d->event_ids = domain_no_event_ids;
  heap_init(&d->heap, f == NULL);
  if (f != NULL) domain_host(d, f, ud);
  d->seed = (uint32_t)random_seed(d);
  if (!table_has_secret()) table_set_secret(random_seed(d));
  d->peer = peer_attach(d);
  if (d->peer == NULL) {
    release_domain(d);
    return NULL;
  }
  d->id = d->peer->id;
  d->origin = MEMPROF_ORIGINS;
  probes_domain_start(d, d->peer->name);
  if (d->peer->spawned) PROBE_LIFECYCLE(d, DOMAIN_SPAWN, d->id);
  heap_set_limit(&d->heap, d->peer->memory_limit);
  void *memory = gc_init(d) ? heap_try_alloc(d, thread_bytes()) : NULL;
  lua_State *L = memory != NULL ? thread_prepare(d, memory) : NULL;
  if (L == NULL || !thread_make_stack(L)) {
    free_domain(d);
    return NULL;
  }
  d->main_thread = d->current = L;
  if (!complete_domain(L)) {
    free_domain(d);
    return NULL;
  }
  gc_time_record(d);
  d->gc.running = 0;
  introspection_add(d);
  memprof_follow_recording(d);
  return L;
}

void domain_close(lua_State *L) {
  Domain *d = L->domain;
  gc_record_memory(d);
  peer_record_end(d->peer);
  L = d->main_thread;
  d->current = L;
  upvalue_close(L, L->stack);
  gc_finalize_all(L);
  memprof_end(L);
  if (d->hooks.profile_end != NULL) d->hooks.profile_end(d);
  if (d->hooks.close_ffi != NULL) d->hooks.close_ffi(d->hooks.ffi);
  gc_record_asked(d);
  free_domain(d);
}
