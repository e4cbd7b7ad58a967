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

/* The environment's setting for the seed of the hashes. A fixed seed gives the same
 * hashes in each run, and so the same instruction counts; not for programs with input
 * from others. */
typedef enum HashSeed { HASH_SEED_RANDOM, HASH_SEED_FIXED, HASH_SEED_INVALID } HashSeed;

/* Reads SAROS_HASH_SEED; *seed is set if it returns HASH_SEED_FIXED. From any
   thread. */
HashSeed domain_fixed_seed(uint64_t *seed);

struct Channel;
struct Peer;

/* Tables for passing values to other domains; filled by the library of domains. They are
 * in the registry, too. */
typedef struct Sharing {
  Table *loaded;            /* package.loaded */
  Table *metatables;        /* agreed on: metatable -> name, name -> metatable */
  Table *channel_metatable; /* of the userdata that are handles of channels */
  void (*push_channel)(lua_State *L, struct Channel *channel); /* this domain's handle; raises */
} Sharing;

/* Names of events that the guest has used, by the kind of their definition. */
enum {
  EVENT_NAMES_SPAN,
  EVENT_NAMES_COUNTER,
  EVENT_NAMES_INSTANT,
  EVENT_NAMES_ASYNC,
  EVENT_NAME_KINDS
};
#define EVENT_IDS 256
typedef struct EventIds {
  uint16_t id[EVENT_NAME_KINDS]; /* 0: not yet recorded; may have EVENT_ID_IS_DOUBLE */
} EventIds;
#define EVENT_ID_IS_DOUBLE 0x8000 /* of a counter */
typedef struct EventNames {
  Table *table;   /* name -> what the module eventring keeps of it; also in the registry;
                     NULL: not yet made */
  uint32_t count; /* names in it */
} EventNames;

struct Domain {
  Heap heap;
  Gc gc;
  StringTable strings;
  uint32_t seed;           /* of string hashes */
  uint32_t ncalls;         /* C calls nested (all threads) */
  lua_State *main_thread;
  lua_State *current;      /* the thread that runs */
  struct ErrorJump *error_jump; /* innermost protected point */
  TValue registry;
  Table *metatables[LUA_NUMTYPES]; /* of the basic types */
  String *meta_names[META_COUNT];
  String *names[NAME_COUNT];
  String *memory_error;    /* preallocated message */
  TValue nil;              /* a read-only nil */
  lua_CFunction panic;
  lua_WarnFunction warnf;
  void *warn_ud;
  /* what lua_getallocf returns; the heap's own (Heap.allocf) is NULL where it maps memory */
  lua_Alloc allocf;
  void *alloc_ud;
  void *compile_spare;     /* memory kept for the next compilation (vm/arena.c), or NULL */
  size_t compile_spare_bytes;
  RuntimeHooks hooks;
  /* its rings; not NULL between probes_domain_start and _stop (probes.h) */
  struct eventring_domain *rings;
  EventNames event_names[EVENT_NAME_KINDS]; /* module eventring's */
  /* The ids of what the first names stand for, by String.extra: [EVENT_IDS], or
     domain_no_event_ids */
  EventIds *event_ids;
  uint32_t event_ids_count; /* indices given: 1 and up */
  Assumptions assumed;
  uint64_t contexts;      /* ids given to coroutines (vm/contexts.c) */
  bool traces;            /* a span or thread has, or has had, a trace (vm/traces.c) */
  uint32_t unrecorded_spans; /* numbers given to spans that hide a trace (the same) */
  Sharing sharing;
  struct Peer *peer; /* the part that other domains may touch; not NULL once it is complete */
  /* the recording stood by when the domain began, and was not started since
     (runtime/probes.c) */
  bool rings_wait;
  uint64_t footprint_ns; /* of the monotonic clock: when it was last written (footprint.c) */
  uint8_t origin; /* MemprofOrigin of what is allocated; MEMPROF_ORIGINS: the frame says */
  /* child that answers a question of a tool, or 0 (vm/question.c) */
  int answerer;
  uint32_t id;
  int place; /* among those that other processes find (introspection.c) */
  /* Calls (vm/watch.c) */
  uint32_t watch;          /* number of the last watch of calls */
  struct Memprof *memprof; /* what is sampled (memprof.c); NULL: nothing ever was */
  struct CallWatcher *watcher; /* NULL: they are not watched */
  lua_State *watched;      /* the running thread, as last reported to the watcher */
  uint8_t noting;       /* each instruction is noted in its frame (vm/noting.c) */
  uint32_t noting_left; /* loops and calls until it is looked whether that is still wanted */
  uint64_t stack_ns;    /* when its last stack was written in the child of a fork */
  uint32_t stack_asked; /* number of the last stack that was asked for (vm/last_stack.c) */
  struct CallProfile *own_profile; /* that of the process; NULL: none (vm/call_profile.h) */
  struct CalledFunctions *called;  /* what was called while there was a profile, or NULL */
  FirstStrings first_strings;
};

/* Whose heap it is. */
static inline Domain *heap_domain(Heap *h) {
  return (Domain *)((char *)h - offsetof(Domain, heap));
}

/* Everything from heap to main thread; NULL when memory is short. All memory comes from f,
 * which lua_getallocf returns; NULL: the heap maps it. */
lua_State *domain_new(lua_Alloc f, void *ud);
/* From now on memory comes from f. */
void domain_host(Domain *d, lua_Alloc f, void *ud);
/* Of String.extra 0 alone, which is no name. */
HIDDEN extern EventIds domain_no_event_ids[1];
/* Frees Domain.compile_spare. */
void domain_drop_spare(Domain *d);
/* L: the main thread. Runs finalizers, frees all. */
void domain_close(lua_State *L);

#endif
