/* SPDX-License-Identifier: MIT */
/* runtime/memprof.h: sampling of allocations (design: top of memprof.c).
 *
 * Only the OS thread that runs a domain touches what it samples. */
#ifndef SAROS_RUNTIME_MEMPROF_H
#define SAROS_RUNTIME_MEMPROF_H

#include "domain.h"
#include "memprof_kinds.h"

#define MEMPROF_MAX_DEPTH 1024 /* frames of a sample */
#define MEMPROF_LEAST_RATE 1e-9 /* smaller ones, and 0, sample nothing */

typedef struct Memprof Memprof;

/* ---- for the heap and the collector ---------------------------------------
 *
 * While Heap.watched is set. None of them collects or raises. */

/* `size` bytes at p were allocated, or added to the block at p. `owner`: of a part. */
void memprof_took(lua_State *L, void *p, size_t size, MemprofKind kind, void *owner);
/* A userdata holds `more` bytes more outside the heap; `record` stands for all of them. */
void memprof_took_external(lua_State *L, void *record, size_t more, Userdata *owner);
/* The part is given back. */
void memprof_part_gone(Domain *d, const void *part);
/* A frame of a thread and those that follow it. */
void memprof_frames_gone(Domain *d, const CallInfo *first);
void memprof_part_moved(Domain *d, const void *from, void *to);

/* Young blocks have met their fate: all that can be reached is promoted, and nothing is
   reclaimed yet. */
void memprof_minor(Domain *d);
/* The same for old ones: marking is over, no string can come back, nothing is reclaimed.
   Examines some of them, adds to *work; true when that was the last. */
bool memprof_major(Domain *d, size_t most, size_t *work);
/* Samples for the recording as that wants it from now on; not within an allocation. */
void memprof_follow_recording(Domain *d);
/* At which rate the domain samples for the recording; 0: it does not. */
double memprof_recording_rate(const Domain *d);
/* A collection is over, or the process ends: the heap profile of the recording is brought
   up to date. */
void memprof_collected(Domain *d);
/* SAROS_MEMPROF_DUMP (memprof_dump.c): reads it; is it set? */
bool memprof_dump_configure(void);
/* Writes the heap profiles as text, if that is set: at the end of a major cycle; `last`: of
   the process. Any thread. */
void memprof_dump(bool last);
void memprof_dump_after_fork(void);
/* The process ends, and its domain is not closed: what its recording should say. */
void memprof_leave(Domain *d);
/* The domain ends: so do all blocks. Runs the callbacks that are due. */
void memprof_end(lua_State *L);
void memprof_free(Domain *d);

/* Callbacks should run as soon as the running function can be interrupted. */
void memprof_call_for_attention(Domain *d);
/* Are callbacks due, and none is running? */
bool memprof_is_due(const Domain *d);
/* Runs them if this is a place for it: raises what they raise. */
void memprof_safe_point(lua_State *L);

/* Why what follows is allocated; MEMPROF_ORIGINS: the frame says. Returns the former. */
ALWAYS_INLINE MemprofOrigin memprof_set_origin(Domain *d, MemprofOrigin origin) {
  MemprofOrigin before = (MemprofOrigin)d->origin;
  d->origin = (uint8_t)origin;
  return before;
}

/* ---- for the guest's module ------------------------------------------------ */

/* What a profile of the guest wants to know. */
enum {
  MEMPROF_WANTS_ALLOC = 1,   /* else the sample itself is the value of a block */
  MEMPROF_WANTS_PROMOTE = 2,
  MEMPROF_WANTS_YOUNG = 4,   /* deaths of young blocks, */
  MEMPROF_WANTS_OLD = 8      /* of old ones */
};

typedef struct MemprofModule {
  /* Calls back what is due, see memprof_next; raises what a callback raises. */
  lua_CFunction run;
  /* The value of a block that is not tracked any more; 0: it has none. Must not raise. */
  void (*forget)(lua_State *L, uint32_t value);
} MemprofModule;

/* A number for a profile that is not used until it is started; 0: no memory. */
uint32_t memprof_new(Domain *d);
/* Starts it in this domain; one that samples is stopped. */
void memprof_start(lua_State *L, uint32_t profile, double rate, uint32_t depth, unsigned wants,
                   const MemprofModule *module);
bool memprof_is_sampling(const Domain *d, uint32_t profile); /* 0: any of the guest's */
uint32_t memprof_running(const Domain *d); /* the one that samples; 0: none */
/* Nothing more is sampled, and what was not called back is dropped. */
void memprof_stop(Domain *d, uint32_t profile);
/* And nothing is tracked any more: no callback follows. */
void memprof_discard(Domain *d, uint32_t profile);
/* Stopped, its callbacks for what is tracked follow, and nobody asks for it any more: its
   number is used again after the last. */
void memprof_give_up(Domain *d, uint32_t profile);

/* Runs the callbacks that are due, from a C function of the module: raises what they
   raise. */
void memprof_flush(lua_State *L);

/* A tracked block, for callbacks. */
typedef struct MemprofSample {
  uint64_t words, samples; /* asked for; of these, sampled */
  uint64_t ns;             /* of the monotonic clock */
  uint32_t stack;          /* 0: none */
  uint32_t value;          /* 1 and more: what the module keeps for it; 0: nothing yet */
  uint32_t profile;
  uint16_t span;           /* id of the innermost open user span, plus 1; 0: none */
  uint8_t kind, origin;    /* MemprofKind, MemprofOrigin */
} MemprofSample;

typedef enum MemprofCallback {
  MEMPROF_NOTHING,
  MEMPROF_ALLOC_YOUNG,
  MEMPROF_ALLOC_OLD,
  MEMPROF_PROMOTE,
  MEMPROF_DEALLOC_YOUNG,
  MEMPROF_DEALLOC_OLD
} MemprofCallback;

/* The next callback that is due: fills *sample, and *id, which memprof_called wants; if the
 * callback raises, the block is not tracked any more. While it runs the guest is not
 * sampled. */
MemprofCallback memprof_next(Domain *d, uint32_t *id, MemprofSample *sample);
/* It has returned: `keep`: tracking goes on, with this value; else it ends. */
void memprof_called(Domain *d, uint32_t id, bool keep, uint32_t value);

/* A value that no block has any more, once each; 0: there is none. */
uint32_t memprof_dropped(Domain *d);

/* Calls f for each block of the profile that is tracked and alive. */
void memprof_each(Domain *d, uint32_t profile,
                  void (*f)(void *context, const MemprofSample *sample), void *context);

typedef struct MemprofFigures {
  uint64_t words;   /* asked for while the profile sampled, outside callbacks */
  uint64_t samples; /* of these, sampled */
  uint64_t lost;    /* of these, in blocks that there was no memory to track */
  uint64_t tracked; /* blocks */
  uint64_t unknown_stacks; /* samples of this domain whose stack found no room */
  uint64_t seed;
} MemprofFigures;
void memprof_figures(const Domain *d, uint32_t profile, MemprofFigures *figures);

/* ---- stacks (memprof_stack.c) ---------------------------------------------- */

typedef struct MemprofFunction {
  char *name, *source; /* printable; allocated */
  uint32_t line, last_line; /* where it is defined; 0: unknown */
  uint32_t recorded;   /* its number in recordings; 0: none yet */
  uint32_t frames;     /* of stacks, that are its */
  uint32_t number;     /* of the prototype; 0: it is one of C */
  const void *f;       /* of C */
} MemprofFunction;

typedef struct MemprofFrame {
  uint32_t function;    /* index, memprof_function */
  uint32_t line;        /* 0: unknown */
  uint32_t column;      /* 0: unknown */
} MemprofFrame;

/* Frames of a stack, innermost first, until the next allocation. It is not forgotten before
 * another one is asked for. */
const MemprofFrame *memprof_stack(const Domain *d, uint32_t stack, uint32_t *depth);
/* Changes when a number may stand for another stack than before. */
uint32_t memprof_stacks_age(const Domain *d);
/* Its texts stay while a stack has it, the struct until the next allocation. */
const MemprofFunction *memprof_function(const Domain *d, uint32_t function);

#endif
