/* SPDX-License-Identifier: MIT */
/* runtime/domain.h: the state of a domain: heap, collector, globals, rings; its birth and
 * end.
 *
 * Only the OS thread that runs a domain touches its Domain.
 */
#ifndef SAROS_RUNTIME_DOMAIN_H
#define SAROS_RUNTIME_DOMAIN_H

#include "assumed.h"
#include "eventring.h"
#include "gc.h"
#include "heap.h"
#include "known_names.h"
#include "object.h"
#include "runtime_hooks.h"
#include "str.h"

/* How the environment sets the seed of the hashes. A fixed seed gives the same hashes,
 * and so the same instruction counts, in each run. It must not be used for programs that
 * take input from others. */
typedef enum HashSeed { HASH_SEED_RANDOM, HASH_SEED_FIXED, HASH_SEED_INVALID } HashSeed;

/* Reads SAROS_HASH_SEED. Sets *seed if it returns HASH_SEED_FIXED. Any thread. */
HashSeed domain_fixed_seed(uint64_t *seed);

struct Channel;
struct Peer;

/* Tables for passing values to other domains, filled by the library of domains. They are
 * also in the registry. */
typedef struct Sharing {
  Table *loaded;            /* package.loaded */
  /* metatables that domains agree on: metatable -> name, name -> metatable */
  Table *metatables;
  Table *channel_metatable; /* metatable of the handles of channels */
  /* pushes this domain's handle; raises */
  void (*push_channel)(lua_State *L, struct Channel *channel);
} Sharing;

/* The names of events that the guest has used are kept by the kind of their
 * definition. */
enum {
  EVENT_NAMES_SPAN,
  EVENT_NAMES_COUNTER,
  EVENT_NAMES_INSTANT,
  EVENT_NAMES_ASYNC,
  EVENT_NAME_KINDS
};
#define EVENT_IDS 256
typedef struct EventIds {
  /* id for each kind of name, 0 if not yet recorded; may have EVENT_ID_IS_DOUBLE */
  uint16_t id[EVENT_NAME_KINDS];
} EventIds;
#define EVENT_ID_IS_DOUBLE 0x8000 /* set for a counter with floating-point values */
typedef struct EventNames {
  /* name -> entry of the module eventring; also in the registry; NULL if not yet made */
  Table *table;
  uint32_t count; /* number of names in the table */
} EventNames;

struct Domain {
  Heap heap;
  Gc gc;
  StringTable strings;
  uint32_t seed;           /* seed of string hashes */
  uint32_t ncalls;         /* number of nested C calls in all threads */
  lua_State *main_thread;
  lua_State *current;      /* the thread that runs */
  struct ErrorJump *error_jump; /* innermost protected point */
  TValue registry;
  Table *metatables[LUA_NUMTYPES]; /* metatables of the basic types */
  String *meta_names[META_COUNT];
  String *names[NAME_COUNT];
  String *memory_error;    /* preallocated message */
  TValue nil;              /* a read-only nil */
  lua_CFunction panic;
  lua_WarnFunction warnf;
  void *warn_ud;
  /* the allocator that lua_getallocf returns; Heap.allocf is NULL if the heap maps
   * memory */
  lua_Alloc allocf;
  void *alloc_ud;
  void *compile_spare; /* memory kept for the next compilation (vm/arena.c), or NULL */
  size_t compile_spare_bytes;
  RuntimeHooks hooks;
  /* the domain's rings; not NULL between probes_domain_start and _stop (probes.h) */
  struct eventring_domain *rings;
  EventNames event_names[EVENT_NAME_KINDS]; /* names of the module eventring */
  /* ids of names, by String.extra: EVENT_IDS entries, or domain_no_event_ids */
  EventIds *event_ids;
  uint32_t event_ids_count; /* number of indices that were given, from 1 on */
  Assumptions assumed;
  uint64_t contexts;      /* number of ids that coroutines were given (vm/contexts.c) */
  bool traces;            /* a span or thread has, or has had, a trace (vm/traces.c) */
  /* how many numbers were given to spans that hide a trace (vm/traces.c) */
  uint32_t unrecorded_spans;
  Sharing sharing;
  /* the part that other domains may access; not NULL once the domain is complete */
  struct Peer *peer;
  /* the recording was on standby when the domain began, and has not started since then
   * (runtime/probes.c) */
  bool rings_wait;
  /* monotonic time at which the footprint was last written (footprint.c) */
  uint64_t footprint_ns;
  /* MemprofOrigin of allocations; MEMPROF_ORIGINS if the running frame decides */
  uint8_t origin;
  /* pid of the child that answers a question of a tool, or 0 (vm/question.c) */
  int answerer;
  uint32_t id;
  int introspection_slot; /* of the domains that other processes find (introspection.c) */
  /* Calls (vm/watch.c) */
  uint32_t watch;          /* number of the last watch of calls */
  /* state of the sampler (memprof.c); NULL if nothing was ever sampled */
  struct Memprof *memprof;
  struct CallWatcher *watcher; /* the watcher of calls, or NULL */
  lua_State *watched;      /* the running thread, as last reported to the watcher */
  uint8_t noting;       /* each instruction is stored in its frame (vm/noting.c) */
  /* number of loops and calls until the next check whether `noting` is still wanted */
  uint32_t noting_left;
  uint64_t stack_ns;    /* time when its last stack was written in the child of a fork */
  /* number of the last request for a last stack (vm/last_stack.c) */
  uint32_t stack_asked;
  /* the process's profile, or NULL (vm/call_profile.h) */
  struct CallProfile *own_profile;
  /* functions called while there was a profile, or NULL */
  struct CalledFunctions *called;
  FirstStrings first_strings;
};

/* Returns the domain to which the heap belongs. */
static inline Domain *heap_domain(Heap *h) {
  return (Domain *)((char *)h - offsetof(Domain, heap));
}

/* Creates a domain, from its heap to its main thread. Returns the main thread, or NULL if
 * out of memory. All memory comes from f, which lua_getallocf returns; if f is NULL, the
 * heap maps memory. */
lua_State *domain_new(lua_Alloc f, void *ud);
/* Makes the domain take its memory from f from now on. */
void domain_host(Domain *d, lua_Alloc f, void *ud);
/* The EventIds of String.extra 0 alone, which stands for no name. */
HIDDEN extern EventIds domain_no_event_ids[1];
/* Frees Domain.compile_spare. */
void domain_drop_spare(Domain *d);
/* Runs the finalizers and frees the domain, whose main thread is L. */
void domain_close(lua_State *L);

#endif
