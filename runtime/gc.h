/* SPDX-License-Identifier: MIT */
/* runtime/gc.h: interface of the collector (design and state machine: gc.c).
 *
 * The invariants of an object's `gc` bits
 *
 *   GC_YOUNG  allocated since the last minor collection. A minor collection
 *             marks young objects only; a survivor is old at once.
 *   GC_CLEAN  old and not in the remembered set. A clean object refers to no
 *             young object (its large parts: except on marked cards), and,
 *             once scanned by the major cycle that marks, to no white one.
 *             Stores that would break this go through the barrier, which puts
 *             the object into the remembered set and clears the bit.
 *   GC_MARK   equal to Gc.mark_sense: marked ("black" or "grey") in the current
 *             major cycle, or, when none marks, alive at the last one. A new
 *             cycle flips the sense, which makes every old object white.
 *   GC_LARGE  (old objects) a LargeHeader stands before it; its `mark` byte does
 *             what line bytes do for others.
 *
 * Rules for users of the collector
 *
 *   1. Only gc_check, gc_full, gc_step_by and gc_frame collect, and what makes room: gc_make_room,
 *      stack_grow_or_collect, callinfo_extend. When one of them is called, everything needed
 *      afterwards is reachable from the registry, a stack slot below top, an open upvalue or an
 *      object that is.
 *   2. L->top is at or above every live slot of the running frame at that
 *      moment; slots above it are set to nil. Stacks may move in it (finalizers
 *      run there; a stack that has become far too large is shrunk).
 *   3. A store of a value into an object that may be old is followed (or
 *      preceded) by gc_barrier, gc_barrier_table or gc_barrier_object, with no
 *      gc_check between the two.
 *   4. The parts of a prototype are marked up to its counts. Code that builds one keeps
 *      the counts equal to the allocated sizes, and unused entries initialized, whenever
 *      something may collect.
 *   5. Code that writes to the stack of a thread that does not run, or lets a thread run,
 *      calls gc_thread_resumed for it.
 */
#ifndef SAROS_RUNTIME_GC_H
#define SAROS_RUNTIME_GC_H
#include "object.h"

/* The phases of a major cycle, in order; minor collections go on between any
 * two slices. GC_PHASE(id, name, what a slice does in it) */
#define GC_PHASES(GC_PHASE) \
  GC_PHASE(IDLE, "idle", "no cycle: waits for the threshold") \
  GC_PHASE(MARK, "mark", "scans grey objects, in slices") \
  GC_PHASE(ATOMIC, "atomic", "a minor, the first weak values, the first dead that have " \
           "finalizers; not divided") \
  GC_PHASE(REVIVE, "revive", "scans what those refer to, in slices") \
  GC_PHASE(SEPARATE, "separate", "a minor, more weak values, more of the dead that have " \
           "finalizers; after the last marking is over; not divided") \
  GC_PHASE(CLEAR, "clear", "removes the entries of weak keys that are dead, in slices") \
  GC_PHASE(SWEEP_STRINGS, "sweep_strings", "unlinks dead strings from the intern table") \
  GC_PHASE(SWEEP_LARGE, "sweep_large", "frees unmarked large objects and parts") \
  GC_PHASE(SWEEP_BLOCKS, "sweep_blocks", "clears the lines of dead objects, block by block") \
  GC_PHASE(FINISH, "finish", "figures, next threshold") \
  GC_PHASE(TRIM, "trim", "gives free memory back to the system")

typedef enum GcPhase {
#define GC_PHASE(id, name, what) GC_PHASE_##id,
  GC_PHASES(GC_PHASE)
#undef GC_PHASE
  GC_PHASE_COUNT
} GcPhase;

typedef enum GcMode { GC_MODE_INCREMENTAL, GC_MODE_GENERATIONAL } GcMode;

/* A growing array of pointers outside the heap. */
typedef struct GcVector {
  void **items;
  size_t n, capacity;
} GcVector;

/* A card of a large part of a clean table that was written to. */
typedef struct GcCard {
  Table *table;
  uint32_t card;
  uint32_t node; /* 0: of the array part, 1: of the node part */
} GcCard;

typedef struct GcCards {
  GcCard *items;
  size_t n, capacity;
} GcCards;

/* An object with much in it that a marking is scanning piece by piece. */
typedef struct GcPartial {
  GCObject *object;
  uint32_t first;     /* slot of the array part or of the stack, or element, to go on from */
  uint32_t node_from; /* table: node to go on from */
  /* thread: 0 slots, 1 frames, 2 open upvalues; prototype: which of its parts */
  uint32_t stage;
  union {
    CallInfo *frame;  /* to go on with, downwards */
    UpValue *upvalue; /* NULL: from the first */
  } at;
} GcPartial;

typedef struct GcPartials {
  GcPartial *items;
  size_t n, capacity;
} GcPartials;

/* An object with a finalizer that the major marking had not reached when it was examined.
 * Its place in Gc.finalizable is empty for it. */
typedef struct GcCandidate {
  GCObject *object;
  size_t place;
} GcCandidate;

typedef struct GcCandidates {
  GcCandidate *items;
  size_t n, capacity;
} GcCandidates;

/* Slots of a weak table that a marking has found and not followed. */
typedef struct GcWeakRange {
  Table *table;
  uint32_t from, to; /* slots or nodes [from, to), as far as the part reaches */
  uint32_t node;     /* 0: of the array part, 1: of the node part */
} GcWeakRange;

typedef struct GcWeakRanges {
  GcWeakRange *items;
  size_t n, capacity;
  size_t closed; /* the first `closed` have been looked through, and cannot be made longer */
} GcWeakRanges;

typedef struct GcWeakLists {
  GcWeakRanges values;     /* weak values, strong keys */
  GcWeakRanges ephemerons; /* weak keys: a value counts once its key is alive */
  GcWeakRanges all;        /* both weak */
} GcWeakLists;

/* How far the lists of a minor marking have been compared with the tables; cleared of dead
 * values; of dead keys. */
typedef struct GcWeakMark {
  uint32_t checked_values, checked_ephemerons, checked_all;
  uint32_t values, all;
  uint32_t keys, all_keys;
} GcWeakMark;

/* An entry of a table with weak keys and values, whose key the major marking had not
 * reached when it examined the entry. */
typedef struct GcWeakEntry {
  Table *table;
  GCObject *key;
  uint32_t node; /* where it was then */
} GcWeakEntry;

typedef struct GcWeakEntries {
  GcWeakEntry *items;
  size_t n, capacity;
} GcWeakEntries;

/* What the major marking has left for its end. Ephemerons: gc_ephemeron.c. */
typedef struct GcWeakLeft {
  GcWeakRanges values;   /* single slots and nodes: the value had not been reached, the key had */
  GcWeakEntries entries; /* the key had not */
  size_t values_done, entries_done; /* of the first n of each, the values were examined */
  size_t keys_done;      /* the first n entries were removed, in GC_PHASE_CLEAR */
  bool first_done;       /* all that was left before objects with finalizers were revived */
} GcWeakLeft;

/* An ephemeron whose key a marking has not reached. */
typedef struct GcEphemeron {
  Table *table;   /* NULL: done with */
  GCObject *key;
  uint32_t node;  /* where it was when it was noted */
  uint32_t next;  /* index + 1 in the same bucket; 0 ends it */
} GcEphemeron;

#define GC_EPHEMERON_SEGMENT 512u /* buckets */
#define GC_EPHEMERON_LEAST 64u    /* before the first segment */
typedef struct GcEphemerons {
  GcEphemeron *items;
  size_t n, capacity;
  GcVector reached;    /* keys, whose entries are to be followed */
  bool reached_lost;   /* there are more, which it had no room for */
  /* of buckets, behind `first`; a bucket: index + 1 of the first entry, 0: none */
  uint32_t **segments;
  uint32_t directory;  /* room in it */
  uint32_t size, mask; /* buckets in use, as in StringTable */
  uint32_t first[GC_EPHEMERON_LEAST];
} GcEphemerons;

/* When a cycle begins and by when it is to have ended, in bytes of one measure
   (gc_pace.c). */
typedef struct GcGoal {
  size_t threshold, goal;
  size_t base;  /* the measure at the end of the last cycle */
  size_t paced; /* at the last slice */
} GcGoal;

/* Figures since the domain began; for recordings and tests. */
typedef struct GcStats {
  uint64_t minors, majors, slices, finalizers;
  uint64_t promoted_bytes; /* by minor collections */
  uint64_t asked_bytes;    /* of allocations, as far as they are recorded (gc_record_asked) */
} GcStats;

/* The part that grows now is in use. While its growth alone makes a step due, the step
 * waits until something new is made: a program that has filled a table may drop it before
 * it makes the next. */
typedef enum GcDue { GC_NOT_DUE, GC_DUE_WITH_NEW, GC_DUE } GcDue;

/* Of the thread that ran the domain last (gc_time.h). */
typedef struct GcTime {
  uint64_t seen;    /* eventring_off_cpu_begin, as of the end of its last span; 0: not read yet */
  uintptr_t thread; /* pthread_self */
  uint32_t open;    /* spans that are measured now, nested */
} GcTime;

/* By clock_ticks: when minor collections scanned threads. */
typedef struct GcTicks {
  uint32_t scanned;     /* when the last piece of one began; at first: when the domain began */
  uint32_t all_scanned; /* the same of the last one that left no thread to the next */
} GcTicks;

/* What a frame (gc_frame.c) begins only if there is time for it: a quantum of a phase of the
 * cycle (by its number), of a minor marking; what that begins and ends with; finalizers. */
typedef enum GcUnit {
  GC_UNIT_MINOR = GC_PHASE_COUNT,
  GC_UNIT_ROOTS,
  GC_UNIT_END,
  GC_UNIT_FINALIZERS,
  GC_UNIT_NONE
} GcUnit;

typedef struct Gc {
  uint8_t pending;      /* GcDue: a collection step is due at the next gc_check */
  uint8_t marking_mask; /* GC_CLEAN while a major cycle marks, else 0 */
  uint8_t mark_sense;   /* GC_MARK or 0: the colour that means marked */
  uint8_t line_bit;     /* 1 or 2: what marks a line in the current cycle */
  uint8_t phase;        /* GcPhase */
  uint8_t mode;         /* GcMode */
  uint8_t stopped;      /* by gc_stop */
  uint8_t running;      /* inside the collector or a finalizer: gc_check does nothing */
  uint8_t in_finalizers; /* gc_run_finalizers calls them: its span is open */
  uint8_t emergency;    /* an allocation failed: collect everything at the next gc_check */
  uint8_t memory_due;   /* the last emergency found too little memory: an error is due */
  uint8_t closing;      /* domain_close has begun: no new finalizers */
  uint8_t verify;       /* run the heap verifier after each phase (SAROS_VERIFY=1) */
  /* What the fast paths of marking do not do themselves (gc_set_aside): promotion of objects
   * that have one of these bits; while not 0, all but strings of the type below. */
  uint8_t promote_aside, grey_aside;
  uint8_t plain_string; /* TYPE_SHORT_STRING, or no type */
  uint16_t waits_for_strings; /* of the present cycle (gc.c) */
  uint16_t piece; /* elements of a large part that are scanned at once: GC_PIECE, less in a frame */
  uint8_t rest_last; /* the last step reclaimed what minor collections had left */
  uint8_t strings_may_be_dead; /* one that the intern table finds (gc_note_dead_strings) */
  /* parameters of the incremental mode: percent, percent, log2 of bytes */
  int pause, stepmul, stepsize;
  int minor_mul, major_mul;     /* of the generational mode: percent */
  /* Pacing (gc_pace.c) */
  size_t nursery_bytes; /* debt that starts a minor collection */
  size_t grown_nursery; /* of the incremental mode; 0: it has not grown */
  size_t minor_work;    /* bytes examined by the present minor collection, or by its pieces so far */
  size_t trigger;       /* debt from which on a step is due */
  size_t slice_at;      /* debt at which the next slice is due, while a cycle is active */
  GcGoal by_old, by_allocated;
  size_t most_old;      /* bytes of old objects beyond which a cycle is finished at once */
  /* of old objects at the end of the last major, without what was alive for a finalizer
     only */
  size_t live_bytes;
  double death_rate;    /* share of what was promoted before that which died until then */
  size_t unsure_bytes;  /* of those, what was promoted during that cycle and is likely to be dead */
  /* stats.promoted_bytes when this cycle began, the last one ended */
  uint64_t promoted_before, promoted_at_end;
  /* marked in this cycle for finalizers only, what is held outside included */
  size_t revived_bytes;
  size_t due;           /* work that growth has made due and slices have not done yet */
  size_t live_at_begin; /* heap.live_bytes when this cycle began */
  size_t marked_bytes;  /* scanned in this cycle: objects with their parts */
  size_t marked_strings; /* short ones, by it and, while it goes on, by minor collections */
  /* Bytes in lines, for heap.live_bytes: of objects promoted by this minor collection
   * [0] and of those marked by this major cycle [1], those promoted since it
   * began included; and of their parts. */
  size_t object_bytes[2], part_bytes[2];
  size_t code_bytes[2]; /* of prototypes with their parts, counted likewise */
  size_t code;          /* of those alive at the last look and promoted since */
  size_t young_code;    /* made since the last minor collection */
  size_t stack_bytes[2], stacks; /* the same of threads, with their slots and frames */
  size_t slice_work;    /* done in this slice */
  size_t step_work;     /* in this step of the collector: bytes examined (doc/COLLECTOR.md) */
  uint64_t slices_before;  /* stats.slices as of the last minor collection that was due */
  GcTime time;
  GcTicks ticks;
  /* Minor collections in pieces (gc_minor.c) */
  uint8_t minor_begun;     /* one is under way */
  uint8_t minor_ends;      /* its next piece is to be the last, if that can be */
  uint8_t minor_thread_left; /* this piece has left slots of a thread for the next */
  uint8_t thread_pieces;   /* pieces that have, one after the other */
  const CallInfo *waits_for; /* a frame that collections wait for (gc.c) */
  size_t waits_from;       /* debt since when */
  size_t debt_before;      /* when the last piece ended */
  size_t owed_kib;         /* of steps that the program asked for, below LEAST_STEP_KIB */
  /* bytes of large strings that may yet stay young in this minor collection */
  size_t stay_most;
  /* step_work at which this piece is to end; SIZE_MAX: it is not divided */
  size_t minor_most;
  size_t minor_look;       /* at which it looks at the clock next; at most minor_most */
  size_t minor_least;      /* before which time does not end it */
  /* Time of a step (gc_pace.c) */
  uint64_t step_until;     /* by monotonic_ns: it begins no more work then; 0: it is not bounded */
  uint64_t step_off_cpu;   /* eventring_off_cpu_begin, as of when step_until was set */
  /* Frames (gc_frame.c) */
  uint64_t frame_begun;    /* by monotonic_ns */
  uint64_t deadline;       /* of the frame, by monotonic_ns; 0: none runs */
  uint64_t unit_begun;     /* by the same clock */
  uint64_t unit_off_cpu;   /* eventring_off_cpu_begin then */
  uint32_t unit_ns[GC_UNIT_NONE]; /* what the longest of each kind took lately */
  uint32_t frame_ns[GC_UNIT_NONE]; /* and in this frame; 0: there was none */
  uint8_t unit;            /* GcUnit that runs */
  /* Markings */
  lua_State *caller;   /* the thread that called the collector; NULL outside */
  GcVector promoted;   /* minor: promoted, not yet scanned */
  GcVector grey;       /* major: marked, not yet scanned */
  GcPartials partial;  /* major: objects of which pieces are yet to be scanned */
  GcPartials minor_partial; /* the same for the minor marking */
  GcVector remembered; /* old objects that were written to */
  lua_State *remembered_threads; /* and threads, linked by next_remembered */
  size_t remembered_threads_n;
  GcCards cards;
  GcVector new_interned; /* short strings made since the last minor */
  /* those made before it which it has left in the intern table, if they are still young: they
   * are dead, and their blocks wait (gc_sweep.c) */
  GcVector dead_strings;
  GcVector finalizable; /* objects with finalizers in order of registration; NULL: none any more */
  size_t finalizable_old;     /* the first n are old */
  /* of the others, those in [separate_at, separate_end) are yet to be examined by a minor
   * collection that has begun to, from the last on; separate_end 0: none has */
  size_t separate_at, separate_end;
  /* the major marking has examined the first sifted_from, and keeps those that it reached
   * in the first sifted_to places */
  size_t sifted_from, sifted_to;
  GcCandidates candidates;
  /* dead ones of this major cycle, to be revived; before them those of earlier cycles that
   * the queue had no room for */
  GcVector found;
  size_t revived;             /* the first n of them are grey or black */
  GcVector finalizers;        /* to be called, from finalizers_first on */
  size_t finalizers_first;
  GcEphemerons minor_ephemerons, major_ephemerons;
  GcWeakLists minor_weak;
  GcWeakLists noted_weak; /* major: found while marking, not examined yet */
  GcWeakLeft weak_left;
  size_t minor_ephemerons_settled; /* the first n of minor_weak.ephemerons */
  GcWeakMark minor_weak_done;
  uint8_t minor_resumed;  /* this piece is not the first: the program ran meanwhile */
  uint8_t minor_rechecks; /* of this minor collection (gc_weakness_changed) */
  /* tables in which the major marking has found a weak key that it had not reached */
  GcVector clearing;
  uint32_t clearing_from; /* node of the last of them to go on from, in GC_PHASE_CLEAR */
  /* What found no room in these (gc_overflow.c) */
  uint8_t overflow_minor, overflow_major; /* an object with its bit set may wait for that marking */
  uint8_t overflow_large;                 /* one of them may be large */
  uint8_t interned_lost;                  /* new_interned is not complete */
  /* where the major marking's pass over the bits stands; NULL: none */
  struct Chunk *overflow_chunk;
  uint32_t overflow_word;                 /* and where in it */
  /* Sweep */
  uint32_t sweep_bucket;
  uint32_t sweep_block;
  struct Chunk *sweep_chunk;
  struct LargeHeader *sweep_large;
  uint64_t cycle; /* number of the current (or last) major cycle */
  uint32_t stress_count; /* gc_checks until the next slice or verification, in stress builds */
  uint32_t verify_count;
  uint32_t stress_inserts; /* new keys of large tables (table.c) */
  GcStats stats;
} Gc;

/* ---- collecting (gc.c) --------------------------------------------------- */

/* What is due: a minor collection, a slice of the major cycle, finalizers. Called by
   gc_check. */
void gc_step(lua_State *L);
/* The same where an error was caught: raises none of its own. */
void gc_recover(lua_State *L);
/* A whole major cycle, from a fresh start, and its finalizers. */
void gc_full(lua_State *L);
/* Before an allocation of `size` bytes, where rules 1 and 2 hold: collects what is due,
 * and everything if the system would refuse it. `growing`: for a part of a table that is
 * in use. Call it through gc_make_room, gc_make_room_to_grow. */
void gc_collect_for(lua_State *L, size_t size, bool growing);
/* After a refusal, where rules 1 and 2 hold: collects everything; false where that must not be.
 * Finalizers do not run and stacks do not move. */
bool gc_collect_in_need(lua_State *L);
void gc_stop(Domain *d);
void gc_restart(Domain *d);
/* Bytes in use: live at the last collection and allocated since. */
size_t gc_count(Domain *d);
/* Work as if `kib` KiB had been allocated (0: one basic step); true when a major cycle
 * ended. Collects although stopped. */
bool gc_step_by(lua_State *L, size_t kib);
/* Collects for at most `ns` nanoseconds, in units that are begun only if they are likely to
 * fit; returns whether work is left. Collects although stopped (gc_frame.c). */
bool gc_frame(lua_State *L, uint64_t ns);
/* Sets the mode, returns the former one. In incremental mode minor collections
 * run too (they are what keeps dead temporaries cheap). */
GcMode gc_set_mode(lua_State *L, GcMode mode);
bool gc_is_running(Domain *d); /* not stopped */
/* What is due has changed. */
void gc_set_trigger(Domain *d);
/* A parameter of pacing has changed. */
void gc_pace_set_goals(Domain *d);

/* The prototype is complete. */
void gc_note_code(Domain *d, const Prototype *p);
/* Bytes of an object with its parts, and of what a userdata is stated to hold outside the
 * heap. Changes nothing; any time. */
size_t gc_object_bytes(const GCObject *o);
/* Records what memory the domain takes (events of class domain). */
void gc_record_memory(Domain *d);
/* Records the words asked for since it was called last: at each minor collection, and when
 * the domain or the process ends, so that the sum is exact then. Owner. */
void gc_record_asked(Domain *d);

bool gc_init(Domain *d); /* false: no memory */
/* Whether marking begins or ends, or the heap is hosted from now on: what is marked aside. */
void gc_set_aside(Domain *d);
void gc_close(Domain *d);

/* ---- memory outside the heap (gc_external.c) ----------------------------- */

/* The userdata holds `bytes` bytes outside the heap from now on. Never collects; raises
 * LUA_ERRMEM when it held none and there is no memory to note that it does. */
void gc_set_external(lua_State *L, Userdata *u, size_t bytes);
/* The same; false instead of raising. */
bool gc_try_set_external(lua_State *L, Userdata *u, size_t bytes);
/* It holds the number of bytes in the counter. This domain adds to the counter before it
 * calls this; others subtract from it. The counter lasts until 0 is set. Never raises;
 * collects at the next safepoint. */
void gc_follow_external(lua_State *L, Userdata *u, const _Atomic size_t *bytes);

/* A luaL_Buffer's memory is about to change its size in bytes; false: the domain may not
 * use as much. It is in use, so it is no reason for a collection. */
bool gc_note_buffer(Domain *d, size_t before, size_t now);
/* It has: the userdata that holds it, for the sampler. */
void gc_sample_buffer(lua_State *L, Userdata *owner, size_t before, size_t now);
/* Has malloc give back to the system what it keeps of Heap.malloc_freed: after a full collection,
   and when the sampler has freed its stacks. */
void gc_trim_malloc(Domain *d);

/* ---- finalizers (gc_finalize.c) ------------------------------------------ */

/* Notes that the table or userdata has a metatable with __gc. Called by
 * setmetatable; a second call does nothing until the finalizer has been called. */
void gc_register_finalizer(lua_State *L, GCObject *o);
/* Calls at most `most` pending finalizers, in a span of its own; outside any span of the
 * collector. */
void gc_run_finalizers(lua_State *L, size_t most);
/* The finalizer that runs, if one does, will not return: it ends the process or closes
 * the domain. Ends the span. */
void gc_leave_finalizers(Domain *d);
/* At domain_close: calls all finalizers, last registered first. */
void gc_finalize_all(lua_State *L);

/* ---- barriers (inline halves: gc_inline.h) ------------------------------- */

void gc_remember(Domain *d, GCObject *parent);
void gc_remember_slot(Domain *d, Table *t, const void *slot);
/* The parts of the table were replaced by new ones or changed their places. Before,
 * all that was put into the new node part or into a grown array went through
 * gc_barrier_reinserted. `moved`: not all values are where they were in the array part. */
void gc_table_resized(lua_State *L, Table *t, bool moved);
/* Gives the table another metatable, or none (NULL); a barrier for that is the caller's. */
void gc_set_metatable(lua_State *L, Table *t, Table *mt);
/* The thread runs from now on, or its stack was written to. */
void gc_thread_resumed(lua_State *L, lua_State *co);
/* `slots` more slots of its stack may be in use. */
void gc_stack_widened(lua_State *L, size_t slots);
/* A slot of this frame of the thread, which is not the current one, was written to. */
void gc_frame_changed(lua_State *L, CallInfo *ci);
/* A part of the object (code, constants, CallInfo, ...) was allocated or replaced: its
 * lines must be marked again. */
void gc_part_changed(lua_State *L, void *owner);

/* Takes the entry out of the node; the key's address stays for `next`. */
void gc_clear_node(Node *n);

/* ---- strings ------------------------------------------------------------- */

/* A new short string was put into the intern table: gc_note_interned (gc_inline.h) where
 * it has no room. */
void gc_note_interned_slow(Domain *d, String *s);
void gc_resurrect_string(Domain *d, String *s);

/* ---- large parts (called by heap.c) -------------------------------------- */

void gc_large_part_gone(Domain *d, struct LargeHeader *large);   /* frees it */
/* its address is about to change */
void gc_large_part_moving(Domain *d, struct LargeHeader *large);

/* ---- verifier (gc_verify.c) ---------------------------------------------- */

/* Checks every invariant of the heap from the roots; aborts with a message that
 * names the object and the rule when one is broken. */
void gc_verify(Domain *d, const char *when);
/* Before a scan of the thread's slots from `watermark` on (gc_thread.c): the n below it
 * refer to no young object. */
void gc_verify_watermark(Domain *d, const lua_State *co, const TValue *watermark, size_t n);
#endif
