/* SPDX-License-Identifier: MIT */
/* runtime/memprof_internal.h: what the files of the sampler share (design: memprof.c). */
#ifndef SAROS_RUNTIME_MEMPROF_INTERNAL_H
#define SAROS_RUNTIME_MEMPROF_INTERNAL_H

#include <stddef.h>

#include "eventring/memory.h"
#include "heap.h"
#include "memprof.h"

/* ---- random distances (memprof_random.c) ----------------------------------- */

#define SKIPS_AT_ONCE 64

/* The two meters that count the words asked for. */
typedef enum Meter {
  METER_CURSOR,    /* heap_asked_at_cursor */
  METER_ELSEWHERE, /* heap_asked_elsewhere */
  METERS
} Meter;

/* The samples of one subscriber: each word asked for is a sample with probability
   `rate`. */
typedef struct MemprofStream {
  /* first byte of the next sampled word on each meter; SAMPLE_NEVER if off */
  _Alignas(64) uint64_t at[METERS];
  double rate, scale; /* scale: -1 / ln(1 - rate) */
  /* from this size on, the samples of a block are not drawn one by one */
  uint64_t many_words;
  uint32_t left;     /* number of `skips` that are not used yet */
  uint64_t random[4]; /* state of the generator */
  uint64_t skips[SKIPS_AT_ONCE];
} MemprofStream;

void stream_seed(MemprofStream *s, uint64_t seed);
/* Starts the stream at the present values of the meters; stream_stop turns it off. */
void stream_start(MemprofStream *s, double rate, const Heap *h);
ALWAYS_INLINE void stream_stop(MemprofStream *s) {
  for (int meter = 0; meter < METERS; meter++) s->at[meter] = SAMPLE_NEVER;
}
/* Returns the number of sampled words before byte `end`, which is at least one, and draws
   the next sample. */
uint64_t stream_take(MemprofStream *s, Meter meter, uint64_t end);

/* ---- stacks (memprof_stack.c) ---------------------------------------------- */

typedef struct StackKey { uint32_t function, pc; } StackKey;

#define MEMPROF_MOST_STACKS 65536
#define MEMPROF_MOST_FRAMES (1u << 20) /* the most frames of all stacks */

/* A hash of the keys of a stack, outermost first. Its 128 bits identify the stack. */
typedef struct StackHash { uint64_t a, b; } StackHash;

typedef struct InternedStack {
  StackHash hash;
  /* keys, outermost first; the frames of the stack follow, innermost first */
  StackKey *keys;
  union {
    uint32_t recorded; /* number of the stack in recordings, or 0 */
    uint32_t next;     /* if the entry is free, the next free entry, or 0 */
  };
  uint16_t depth;    /* 0 if the entry is free */
  /* the stack was found again, or a block has it, since stacks were last forgotten */
  bool found;
} InternedStack;
_Static_assert(MEMPROF_MAX_DEPTH <= UINT16_MAX, "InternedStack.depth");
_Static_assert(sizeof(InternedStack) == 32, "two of them to a line of the cache");

ALWAYS_INLINE MemprofFrame *frames_of(const InternedStack *stack) {
  return (MemprofFrame *)(stack->keys + stack->depth);
}

typedef struct CNumber { const void *f; uint32_t function; } CNumber;
typedef struct NumberIndex { uint32_t number, function; } NumberIndex;

typedef struct NotedFrame {
  StackHash hash;        /* hash of the stack up to this frame */
  const Instruction *pc; /* instruction of a Lua frame; otherwise another address */
  uint32_t entries;      /* CallInfo.entries */
  /* number of the stack that ends with this frame, or 0 if it was not captured */
  uint32_t stack;
} NotedFrame;

/* How far forgetting has come (memprof_forget.c). */
typedef struct Forgetting {
  enum { FORGET_NOTHING, FORGET_MARKING, FORGET_SWEEPING } phase;
  /* number of the next entry or stack, and how many a step examines */
  uint32_t at, step;
  uint8_t *recorded; /* a bit for each number in recordings: some block has that stack */
  uint32_t most_recorded;      /* the largest of these numbers */
  /* list of forgotten stacks, whose numbers are not given again before the end */
  uint32_t freed, freed_last;
} Forgetting;

typedef struct Stacks {
  /* The members read for each sample come first, in one cache line. `notes` are the
     frames of the main thread when it was last captured, by CallInfo.depth, from 1 on. */
  _Alignas(64) NotedFrame *notes;
  StackKey *noted_keys;  /* keys of the noted frames */
  InternedStack *stacks; /* from 1 on */
  uint32_t *buckets, mask; /* an empty bucket is 0 */
  uint32_t noted;        /* number of notes that are valid */
  /* number of the last stack captured without its outer frames, and the number of its
     frames */
  uint32_t latest, latest_depth;
  /* how many stacks and frames may still be added before stacks are forgotten again */
  uint32_t new_stacks, new_frames;
  StackKey *keys; /* room for the keys of the stack that is being captured */
  uint32_t nstacks, stacks_room, free_stack;
  uint32_t in_use, nframes; /* number of stacks in use, and of their frames */
  uint32_t age;             /* how often stacks were forgotten */
  Forgetting forgetting;
  uint32_t asked;        /* number of the last stack that memprof_stack was asked for */
  uint32_t most_recorded; /* largest number of a stack in recordings */
  uint64_t unknown; /* number of captures of stacks for which there was no room */
  MemprofFunction *functions;
  /* functions[0] stands for frames without a function */
  uint32_t nfunctions, functions_room;
  /* a free function, or 0; its `line` is the next free function */
  uint32_t free_function;
  CNumber *c_functions;  /* C functions by address; open addressing */
  uint32_t c_mask, c_used;
  NumberIndex *numbers;  /* function_id of prototypes -> function; open addressing */
  uint32_t numbers_mask, numbers_used;
} Stacks;

bool stacks_init(Stacks *s, uint64_t seed);
void stacks_free(Stacks *s);
/* Makes *s empty. Returns the stacks that it had, which stacks_release frees in steps.
   Returns NULL if out of memory; then nothing has changed. */
Stacks *stacks_set_aside(Stacks *s, uint64_t seed);
/* Frees some of the stacks that were set aside, and adds their bytes to *bytes. Returns
   true when all are freed. */
bool stacks_release(Stacks *aside, size_t *bytes);
/* Captures the stack of L, and of the threads that wait for it. Returns the number of the
   stack, or 0 if out of memory. */
uint32_t stacks_capture(lua_State *L, Stacks *s, uint32_t depth);
/* Makes a step of forgetting the stacks that nobody needs (memprof_forget.c). */
void stacks_forget(Memprof *m);
void stacks_await_new(Stacks *s);
_Static_assert(offsetof(Stacks, keys) <= 64, "a line");
ALWAYS_INLINE uint32_t hash_word(uint64_t word) {
  return (uint32_t)((word * UINT64_C(0x9E3779B97F4A7C15)) >> 32);
}
/* Forgets all notes, since frames may have been replaced. */
ALWAYS_INLINE void stacks_forget_notes(Stacks *s) { s->noted = 0; }

/* ---- tracked blocks -------------------------------------------------------- */

typedef enum Subscriber { SUBSCRIBER_GUEST, SUBSCRIBER_RECORDING, SUBSCRIBERS } Subscriber;

enum {
  /* a part, which is alive if `owner` is; `owner` is NULL if there was none */
  TRACKED_PART = 1,
  TRACKED_LISTED = 2,    /* the entry is in one of the lists */
  TRACKED_QUEUED = 4,    /* a callback is due */
  TRACKED_OLD = 8,
  TRACKED_BORN_OLD = 16,
  TRACKED_GONE = 32,     /* the block is dead, or not tracked any more */
  TRACKED_CALLED = 64,   /* the allocation has been called back */
  TRACKED_PROMOTED = 128, /* the promotion is to be called back as well */
  TRACKED_LOST = 256      /* gone for lack of memory: nothing is called back any more */
};

typedef struct Tracked {
  void *block;
  GCObject *owner;
  union {
    MemprofSample guest;
    uint64_t recording[5];
  };
  /* for a part, index of the next part in its bucket, or 0; for a free entry, index of
     the next free entry */
  uint32_t next;
  uint16_t flags; /* TRACKED_* */
  uint8_t subscriber;
  uint8_t origin;
} Tracked;
_Static_assert(sizeof(MemprofSample) == 40, "as much as the recording keeps");
_Static_assert(sizeof(Tracked) == 64, "the price of a tracked block: a line of the cache");
_Static_assert(sizeof(struct eventring_tracked) <= sizeof(uint64_t[5]), "room in an entry");

/* Returns what the recording keeps in the entry of a block. */
ALWAYS_INLINE struct eventring_tracked *tracked_of(const Tracked *t) {
  return (struct eventring_tracked *)t->recording;
}

typedef struct Ids {
  uint32_t *items;
  size_t n, capacity;
} Ids;

typedef struct Profile {
  uint8_t used, sampling, discarded, given_up;
  uint8_t wants;
  uint32_t depth;
  uint32_t blocks;   /* tracked blocks */
  uint64_t from;     /* memprof_asked when it began */
  uint64_t words, samples, lost;
} Profile;

ALWAYS_INLINE bool profile_has_callbacks(const Profile *p) { return p->wants != 0; }

#define FATES_AT_ONCE 32 /* fates that are written with one reading of the clock */

struct Memprof {
  MemprofStream streams[SUBSCRIBERS];
  /* the other members that each sample needs, in one cache line */
  _Alignas(64) Tracked *tracked; /* [0] is unused */
  uint32_t free, ntracked, tracked_room;
  uint32_t nparts;
  uint32_t *parts;     /* first entry of each chain, by address (heap_part_index), or 0 */
  Heap *heap;          /* the heap, which has a filter of the parts */
  Ids young, old;
  /* memory from malloc; `tracked` is at the first cache line in it */
  char *tracked_memory;
  /* number of entries of `old` that were examined, and kept */
  size_t major_from, major_to;
  Ids queue;           /* entries whose callbacks are due, from queue_first on */
  size_t queue_first;
  Ids dropped;         /* values of blocks to which nothing refers any more */
  Profile *profiles;   /* [0] is unused */
  uint32_t nprofiles, sampling; /* sampling: the guest's profile that samples, or 0 */
  const MemprofModule *module; /* NULL if no profile was started */
  bool calling;        /* a callback runs */
  uint32_t called;     /* entry of the block for which it is called, or 0 */
  uint64_t calling_from; /* memprof_asked when it began */
  double recording_rate; /* rate that the recording wants; 0 if it wants no samples */
  uint64_t recording_from; /* memprof_asked when the recording's profile began */
  uint32_t nfates;     /* number of `fates` that are not passed to the recording yet */
  struct eventring_fate fates[FATES_AT_ONCE];
  /* bytes outside the heap since the beginning, which are not in heap_asked */
  uint64_t external;
  uint64_t seed;
  Stacks stacks;
  Stacks *aside;       /* stacks of former profiles, to be freed in steps, or NULL */
};

_Static_assert(offsetof(Memprof, old) - offsetof(Memprof, tracked) == 64, "a line");

/* ---- the recording (memprof_record.c) --------------------------------------- */

#define RECORDED_DEPTH 64 /* the most frames of a sample */

void record_sample(lua_State *L, Tracked *t, uint64_t samples, uint64_t words,
                   MemprofKind kind, MemprofOrigin origin);
/* Passes the fates of blocks to the recording, several at once. To be called after
   record_promoted and record_death, before new blocks are tracked. */
void record_fates(Domain *d);
ALWAYS_INLINE void record_fate(Domain *d, Tracked *t, enum eventring_fate_kind kind) {
  Memprof *m = d->memprof;
  m->fates[m->nfates++] = (struct eventring_fate){tracked_of(t), kind};
  if (m->nfates == FATES_AT_ONCE) record_fates(d);
}
ALWAYS_INLINE void record_promoted(Domain *d, Tracked *t) {
  record_fate(d, t, EVENTRING_FATE_PROMOTED);
}
ALWAYS_INLINE void record_death(Domain *d, Tracked *t) {
  record_fate(d, t, t->flags & TRACKED_OLD ? EVENTRING_FATE_FREED_OLD
                                           : EVENTRING_FATE_FREED_YOUNG);
}
void memprof_end_recording(Domain *d);

/* ---- shared ------------------------------------------------------------------ */

/* Plants the next sample of any subscriber, and sets whether the heap reports to the
   sampler. */
void memprof_watch(Domain *d);
/* Returns the Memprof of the domain, made if needed, or NULL if out of memory. */
Memprof *memprof_of(Domain *d);
uint64_t memprof_asked(const Domain *d); /* sum of heap_asked and external, in bytes */
/* Returns 1 + the id of the innermost open span, or 0. */
uint16_t memprof_span(const lua_State *L);
/* Makes a callback due for the entry. Returns false if out of memory. */
bool memprof_enqueue(Domain *d, uint32_t id);
/* Frees the memory of tracked blocks and stacks when the recording has stopped sampling,
   unless the guest has, or had, profiles. Stacks are freed in steps, since each has
   memory of its own. */
void memprof_give_back(Memprof *m);
/* Makes a step of freeing the stacks, after each minor collection. */
void memprof_release(Domain *d);
/* Frees the entry and no longer counts the block for its profile, unless something refers
   to the entry. */
void tracked_release(Memprof *m, uint32_t id);
/* Removes chain i from the heap's filter if it has become empty. */
ALWAYS_INLINE void parts_update_filter(Memprof *m, uint32_t i) {
  if (m->parts[i] == 0) m->heap->sampled_parts[i / 64] &= ~(UINT64_C(1) << i % 64);
}
ALWAYS_INLINE void tracked_forget_part(Memprof *m, uint32_t id) {
  uint32_t i = heap_part_index(m->heap, m->tracked[id].block), *link = &m->parts[i];
  while (*link != id) link = &m->tracked[*link].next;
  *link = m->tracked[id].next;
  parts_update_filter(m, i);
  m->nparts--;
}
void tracked_die(Domain *d, uint32_t id);
/* Ends the tracking of a block for lack of memory. Its samples are lost, unless their
   callback has run. */
void tracked_lose(Domain *d, uint32_t id);
bool ids_push(Ids *ids, uint32_t id);

#endif
