/* SPDX-License-Identifier: MIT */
/* runtime/memprof.h: sampling of allocations (design: top of memprof.c).
 *
 * Only the OS thread that runs a domain touches the domain's samples. */
#ifndef SAROS_RUNTIME_MEMPROF_H
#define SAROS_RUNTIME_MEMPROF_H

#include "domain.h"
#include "memprof_kinds.h"

#define MEMPROF_MAX_DEPTH 1024 /* the most frames of a sample */
#define MEMPROF_LEAST_RATE 1e-9 /* smaller rates, and 0, sample nothing */

typedef struct Memprof Memprof;

/* ---- for the heap and the collector ---------------------------------------
 *
 * These functions are to be called while Heap.watched is set. None of them collects or
 * raises. */

/* Reports that `size` bytes at p were allocated, or added to the block at p. `owner` is
 * the object that owns a part. */
void memprof_took(lua_State *L, void *p, size_t size, MemprofKind kind, void *owner);
/* Reports that a userdata holds `more` additional bytes outside the heap; `record` stands
 * for all of the userdata's bytes there. */
void memprof_took_external(lua_State *L, void *record, size_t more, Userdata *owner);
/* Reports that the part is given back. */
void memprof_part_gone(Domain *d, const void *part);
/* Reports that a frame of a thread, and all frames that follow it, are freed. */
void memprof_frames_gone(Domain *d, const CallInfo *first);
void memprof_part_moved(Domain *d, const void *from, void *to);

/* Finds out what has become of young blocks: all that can be reached is promoted, and
 * nothing is reclaimed yet. */
void memprof_minor(Domain *d);
/* Finds out what has become of old blocks: marking is over, no string can come back, and
 * nothing is reclaimed yet. Examines some of the blocks, with at most `most` work, and
 * adds its work to *work. Returns true when the last block was examined. */
bool memprof_major(Domain *d, size_t most, size_t *work);
/* Makes the domain sample for the recording at the rate that the recording wants now.
 * Must not be called within an allocation. */
void memprof_follow_recording(Domain *d);
/* Returns the rate at which the domain samples for the recording, or 0 if it does not. */
double memprof_recording_rate(const Domain *d);
/* Brings the heap profile of the recording up to date. Called when a collection is over,
 * or the process ends. */
void memprof_collected(Domain *d);
/* Reads SAROS_MEMPROF_DUMP (memprof_dump.c). Returns whether it is set. */
bool memprof_dump_configure(void);
/* Writes the heap profiles as text, if SAROS_MEMPROF_DUMP is set. Called at the end of a
 * major cycle, or with `last` at the end of the process. Any thread. */
void memprof_dump(bool last);
void memprof_dump_after_fork(void);
/* Completes the heap profile of the recording for a domain that is not closed although
 * the process ends. */
void memprof_leave(Domain *d);
/* Ends the tracking of all blocks, as the domain ends, and runs the callbacks that are
 * due. */
void memprof_end(lua_State *L);
void memprof_free(Domain *d);

/* Asks for callbacks to run as soon as the running function can be interrupted. */
void memprof_call_for_attention(Domain *d);
/* Tells whether callbacks are due and none is running. */
bool memprof_is_due(const Domain *d);
/* Runs the callbacks that are due, if they may run here. Raises their errors. */
void memprof_safe_point(lua_State *L);

/* Sets the origin of the allocations that follow; MEMPROF_ORIGINS for the origin of the
 * running frame. Returns the former origin. */
ALWAYS_INLINE MemprofOrigin memprof_set_origin(Domain *d, MemprofOrigin origin) {
  MemprofOrigin before = (MemprofOrigin)d->origin;
  d->origin = (uint8_t)origin;
  return before;
}

/* ---- for the guest's module ------------------------------------------------ */

/* What a profile of the guest wants to know. */
enum {
  MEMPROF_WANTS_ALLOC = 1,   /* if not set, the sample itself is the value of a block */
  MEMPROF_WANTS_PROMOTE = 2,
  MEMPROF_WANTS_YOUNG = 4,   /* deaths of young blocks */
  MEMPROF_WANTS_OLD = 8      /* deaths of old blocks */
};

typedef struct MemprofModule {
  /* Runs the callbacks that are due (see memprof_next). Raises their errors. */
  lua_CFunction run;
  /* Handles the value of a block that is not tracked any more; `value` is 0 if it has
   * none. Must not raise. */
  void (*forget)(lua_State *L, uint32_t value);
} MemprofModule;

/* Returns a number for a profile, which is not in use until the profile is started;
 * returns 0 if out of memory. */
uint32_t memprof_new(Domain *d);
/* Starts the profile in this domain. Stops the profile that samples. */
void memprof_start(lua_State *L, uint32_t profile, double rate, uint32_t depth, unsigned wants,
                   const MemprofModule *module);
/* Tells whether the profile samples; with 0, whether any profile of the guest does. */
bool memprof_is_sampling(const Domain *d, uint32_t profile);
uint32_t memprof_running(const Domain *d); /* the profile that samples, or 0 */
/* Stops sampling for the profile. Drops blocks whose allocation was not called back. */
void memprof_stop(Domain *d, uint32_t profile);
/* Stops the profile, and ends the tracking of its blocks: no callback follows. */
void memprof_discard(Domain *d, uint32_t profile);
/* Stops a profile that nobody will use any more. The callbacks for its tracked blocks
 * still follow; after the last callback the number of the profile may be given again. */
void memprof_give_up(Domain *d, uint32_t profile);

/* Runs the callbacks that are due, from a C function of the module. Raises their
 * errors. */
void memprof_flush(lua_State *L);

/* A tracked block, for callbacks. */
typedef struct MemprofSample {
  /* number of words asked for, and how many of them were sampled */
  uint64_t words, samples;
  uint64_t ns;             /* time of the monotonic clock */
  uint32_t stack;          /* number of the stack, or 0 */
  /* number under which the module keeps a value for the block, or 0 */
  uint32_t value;
  uint32_t profile;
  uint16_t span;           /* 1 + id of the innermost open user span, or 0 */
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

/* Gets the next callback that is due: fills *sample, and *id for memprof_called. If the
 * callback raises, the block is not tracked any more. While the callback runs, the guest
 * is not sampled. */
MemprofCallback memprof_next(Domain *d, uint32_t *id, MemprofSample *sample);
/* Reports that the callback has returned. With `keep`, tracking continues with this
 * value; otherwise it ends. */
void memprof_called(Domain *d, uint32_t id, bool keep, uint32_t value);

/* Returns a value that no block has any more, or 0 if there is none. Returns each value
 * once. */
uint32_t memprof_dropped(Domain *d);

/* Calls f for each block of the profile that is tracked and alive. */
void memprof_each(Domain *d, uint32_t profile,
                  void (*f)(void *context, const MemprofSample *sample), void *context);

typedef struct MemprofFigures {
  uint64_t words;   /* words asked for while the profile sampled, outside of callbacks */
  uint64_t samples; /* how many of these were sampled */
  uint64_t lost;    /* samples in blocks that could not be tracked for lack of memory */
  uint64_t tracked; /* blocks */
  uint64_t unknown_stacks; /* samples of this domain whose stack found no room */
  uint64_t seed;
} MemprofFigures;
void memprof_figures(const Domain *d, uint32_t profile, MemprofFigures *figures);

/* ---- stacks (memprof_stack.c) ---------------------------------------------- */

typedef struct MemprofFunction {
  char *name, *source; /* printable; allocated */
  uint32_t line, last_line; /* lines of its definition; 0 if unknown */
  uint32_t recorded;   /* its number in recordings, or 0 */
  uint32_t frames;     /* number of frames of this function in all stacks */
  uint32_t number;     /* number of the prototype, or 0 for a C function */
  const void *f;       /* the C function */
} MemprofFunction;

typedef struct MemprofFrame {
  uint32_t function;    /* index for memprof_function */
  uint32_t line;        /* 0 if unknown */
  uint32_t column;      /* 0 if unknown */
} MemprofFrame;

/* Returns the frames of a stack, innermost first, and their number in *depth. They are
 * valid until the next allocation. The stack is not forgotten before this function is
 * called for another stack. */
const MemprofFrame *memprof_stack(const Domain *d, uint32_t stack, uint32_t *depth);
/* Returns a number that changes whenever numbers of stacks may have come to stand for
 * other stacks. */
uint32_t memprof_stacks_age(const Domain *d);
/* Returns the function with that index. Its texts are valid while a stack has the
 * function, the struct until the next allocation. */
const MemprofFunction *memprof_function(const Domain *d, uint32_t function);

#endif
