/* SPDX-License-Identifier: MIT */
/* runtime/gc.h: interface of the collector (design and state machine: gc.c).
 *
 * The invariants of an object's `gc` bits
 *
 *   GC_YOUNG  allocated since the last minor collection. A minor collection marks young
 *             objects only; a survivor is old at once.
 *   GC_CLEAN  old and not in the remembered set. A clean object refers to no young object
 *             (its large parts may, on marked cards). Once scanned by a major cycle that
 *             marks, it refers to no white object either. Stores that would break this
 *             go through the barrier, which puts the object into the remembered set and
 *             clears the bit.
 *   GC_MARK   equal to Gc.mark_sense: marked ("black" or "grey") in the current major
 *             cycle, or, when none marks, alive at the last one. A new cycle flips the
 *             sense, which makes every old object white.
 *   GC_LARGE  (old objects) a LargeHeader precedes the object; its `mark` byte does what
 *             line bytes do for other objects.
 *
 * Rules for users of the collector
 *
 *   1. Only gc_check, gc_full, gc_step_by, gc_frame and the functions that make room
 *      (gc_make_room, stack_grow_or_collect, callinfo_extend) collect. When one of them
 *      is called, everything needed afterwards is reachable from the registry, a stack
 *      slot below top, an open upvalue or another reachable object.
 *   2. At that moment L->top is at or above every live slot of the running frame; slots
 *      above it are set to nil. Stacks may move during the call (finalizers run there; a
 *      stack that has become far too large is shrunk).
 *   3. A store of a value into an object that may be old is followed (or preceded) by
 *      gc_barrier, gc_barrier_table or gc_barrier_object, with no gc_check in between.
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
  uint32_t node; /* 0: a card of the array part, 1: a card of the node part */
} GcCard;

typedef struct GcCards {
  GcCard *items;
  size_t n, capacity;
} GcCards;

/* A large object that a marking is scanning piece by piece. */
typedef struct GcPartial {
  GCObject *object;
  uint32_t first;     /* slot of the array part or stack, or element, to go on from */
  uint32_t node_from; /* table: node to go on from */
  /* thread: 0 slots, 1 frames, 2 open upvalues; prototype: which of its parts */
  uint32_t stage;
  union {
    CallInfo *frame;  /* frame to go on from, downwards */
    UpValue *upvalue; /* upvalue to go on from; NULL: the first */
  } at;
} GcPartial;

typedef struct GcPartials {
  GcPartial *items;
  size_t n, capacity;
} GcPartials;

/* An object with a finalizer that the major marking had not reached when it examined the
 * object. The object's slot in Gc.finalizable is empty in the meantime. */
typedef struct GcCandidate {
  GCObject *object;
  size_t slot;
} GcCandidate;

typedef struct GcCandidates {
  GcCandidate *items;
  size_t n, capacity;
} GcCandidates;

/* Slots of a weak table that a marking has found and not followed. */
typedef struct GcWeakRange {
  Table *table;
  uint32_t from, to; /* slots or nodes [from, to), as far as the part reaches */
  uint32_t node;     /* 0: slots of the array part, 1: nodes */
} GcWeakRange;

typedef struct GcWeakRanges {
  GcWeakRange *items;
  size_t n, capacity;
  size_t closed; /* the first `closed` ranges were examined and cannot be made longer */
} GcWeakRanges;

typedef struct GcWeakLists {
  GcWeakRanges values;     /* weak values, strong keys */
  GcWeakRanges ephemerons; /* weak keys: a value counts once its key is alive */
  GcWeakRanges all;        /* both weak */
} GcWeakLists;

/* How many ranges of each list of a minor marking have been checked against their tables,
 * cleared of dead values, and cleared of dead keys. */
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
  uint32_t node; /* the entry's node at that time */
} GcWeakEntry;

typedef struct GcWeakEntries {
  GcWeakEntry *items;
  size_t n, capacity;
} GcWeakEntries;

/* Entries that the major marking has left for its end. Ephemerons: gc_ephemeron.c. */
typedef struct GcWeakLeft {
  GcWeakRanges values;   /* single slots and nodes whose value was not reached */
  GcWeakEntries entries; /* entries whose key was not reached */
  size_t values_done, entries_done; /* items of each whose values were examined */
  size_t keys_done;      /* entries that GC_PHASE_CLEAR has examined for dead keys */
  bool first_done;       /* values were cleared once, before objects were revived */
} GcWeakLeft;

/* An ephemeron whose key a marking has not reached. */
typedef struct GcEphemeron {
  Table *table;   /* NULL if the entry is done */
  GCObject *key;
  uint32_t node;  /* the entry's node when it was noted */
  uint32_t next;  /* index + 1 of the next entry in the bucket; 0 ends it */
} GcEphemeron;

#define GC_EPHEMERON_SEGMENT 512u /* buckets */
#define GC_EPHEMERON_LEAST 64u    /* buckets before the first segment */
typedef struct GcEphemerons {
  GcEphemeron *items;
  size_t n, capacity;
  GcVector reached;    /* keys that were reached and whose entries are to be followed */
  bool reached_lost;   /* `reached` had no room for some keys */
  /* buckets after those in `first`; a bucket is index + 1 of its first entry, or 0 */
  uint32_t **segments;
  uint32_t directory;  /* capacity of `segments` */
  uint32_t size, mask; /* buckets in use, as in StringTable */
  uint32_t first[GC_EPHEMERON_LEAST];
} GcEphemerons;

/* When a cycle begins and by when it should have ended, in bytes of one measure
   (gc_pace.c). */
typedef struct GcGoal {
  size_t threshold, goal;
  size_t base;  /* the measure at the end of the last cycle */
  size_t paced; /* the measure at the last slice */
} GcGoal;

/* Figures since the domain began, for recordings and tests. */
typedef struct GcStats {
  uint64_t minors, majors, slices, finalizers;
  uint64_t promoted_bytes; /* by minor collections */
  uint64_t asked_bytes;    /* of allocations that were recorded (gc_record_asked) */
} GcStats;

/* What the debt makes due. GC_DUE_WITH_NEW: only the growth of a part in use makes a step
 * due. The step waits until something new is made, since a program that has filled a
 * table may drop it before it makes the next. */
typedef enum GcDue { GC_NOT_DUE, GC_DUE_WITH_NEW, GC_DUE } GcDue;

/* Times of the thread that ran the domain last (gc_time.h). */
typedef struct GcTime {
  uint64_t seen;    /* eventring_off_cpu_begin at the last span's end; 0: not read */
  uintptr_t thread; /* pthread_self */
  uint32_t open;    /* nested spans that are measured now */
} GcTime;

/* Values of clock_ticks at minor collections. */
typedef struct GcTicks {
  uint32_t scanned;     /* when the last piece began; at first when the domain began */
  uint32_t all_scanned; /* `scanned` of the last collection that left out no thread */
} GcTicks;

/* Units that a frame (gc_frame.c) begins only if there is time: a quantum of a phase of
 * the cycle (by the number of the phase) or of a minor marking; a minor marking's roots
 * and end; finalizers. */
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
  uint8_t stopped;      /* gc_stop was called */
  uint8_t running;      /* inside the collector or a finalizer: gc_check does nothing */
  uint8_t in_finalizers; /* gc_run_finalizers calls finalizers: its span is open */
  uint8_t emergency;    /* an allocation failed: the next gc_check collects everything */
  uint8_t memory_due;   /* the last emergency found too little memory: an error is due */
  uint8_t closing;      /* domain_close has begun: no new finalizers */
  uint8_t verify;       /* run the heap verifier after each phase (SAROS_VERIFY=1) */
  /* Objects that the fast paths of marking leave to slower ones (gc_set_aside):
   * promote_aside: objects with one of these bits; grey_aside: if not 0, all objects but
   * strings of type plain_string. */
  uint8_t promote_aside, grey_aside;
  uint8_t plain_string; /* TYPE_SHORT_STRING, or no type */
  uint16_t waits_for_strings; /* slices in which the present cycle has waited (gc.c) */
  uint16_t piece; /* elements of a large part scanned at once: GC_PIECE or less */
  uint8_t rest_last; /* the last step reclaimed what minor collections had left */
  uint8_t strings_may_be_dead; /* the intern table may hold some (gc_note_dead_strings) */
  /* parameters of the incremental mode: percent, percent, log2 of bytes */
  int pause, stepmul, stepsize;
  int minor_mul, major_mul;     /* of the generational mode: percent */
  /* Pacing (gc_pace.c) */
  size_t nursery_bytes; /* debt that starts a minor collection */
  size_t grown_nursery; /* bytes; of the incremental mode; 0 if it has not grown */
  size_t minor_work;    /* bytes that the present minor collection has examined so far */
  size_t trigger;       /* debt from which on a step is due */
  size_t slice_at;      /* debt at which the next slice is due, while a cycle is active */
  size_t rest_at;       /* debt at which more of what gc_rest_is_left tells of is due */
  GcGoal by_old, by_allocated;
  size_t most_old;      /* bytes of old objects above which a cycle is finished at once */
  /* bytes of old objects at the end of the last cycle, without those that only a
   * finalizer kept alive */
  size_t live_bytes;
  double death_rate;    /* share of bytes promoted between cycles that died */
  size_t unsure_bytes;  /* of live_bytes, promoted during that cycle and likely dead */
  /* stats.promoted_bytes when this cycle began, and when the last one ended */
  uint64_t promoted_before, promoted_at_end;
  /* marked in this cycle for finalizers only, including memory held outside the heap */
  size_t revived_bytes;
  size_t backlog;       /* work that growth has made due and slices have not done yet */
  size_t live_at_begin; /* heap.live_bytes when this cycle began */
  size_t marked_bytes;  /* scanned in this cycle: objects with their parts */
  /* short strings marked by this cycle and, while it goes on, by minor collections */
  size_t marked_strings;
  /* Bytes in lines, for heap.live_bytes: of objects, and of their parts. [0] counts what
   * this minor collection has promoted, [1] what this major cycle has marked and what was
   * promoted since it began. */
  size_t object_bytes[2], part_bytes[2];
  size_t code_bytes[2]; /* of prototypes with their parts, counted likewise */
  size_t code;          /* of prototypes alive at the last count or promoted since */
  size_t young_code;    /* of prototypes made since the last minor collection */
  /* code_bytes and code, but of threads with their slots and frames */
  size_t stack_bytes[2], stacks;
  size_t slice_work;    /* work done in this slice */
  size_t step_work;     /* bytes examined in this step (doc/COLLECTOR.md) */
  uint64_t slices_before;  /* stats.slices at the last minor collection that was due */
  GcTime time;
  GcTicks ticks;
  /* Minor collections in pieces (gc_minor.c) */
  uint8_t minor_begun;     /* a minor collection is under way */
  uint8_t minor_ends;      /* its next piece is to be the last, if that is possible */
  uint8_t minor_thread_left; /* this piece has left slots of a thread for the next */
  uint8_t thread_pieces;   /* successive pieces that have left such slots */
  /* KiB of work on a minor collection that large allocations have made due at once and
   * that steps have yet to do beyond their own (gc_pace.c) */
  uint32_t overdue_minor;
  const CallInfo *waits_for; /* a frame that collections wait for (gc.c) */
  size_t waits_from;       /* debt when the wait began */
  size_t debt_before;      /* gc_pace_debt when the last piece ended */
  size_t owed_kib;         /* of steps that the program asked for, below LEAST_STEP_KIB */
  /* bytes of large strings that may yet stay young in this minor collection */
  size_t stay_most;
  /* step_work at which this piece is to end; SIZE_MAX: it is not divided */
  size_t minor_most;
  size_t minor_look;       /* work at which the clock is read next; at most minor_most */
  size_t minor_least;      /* work before which time does not end the piece */
  /* Time of a step (gc_pace.c) */
  uint64_t step_until;     /* monotonic_ns at which no more work begins; 0: no bound */
  uint64_t step_off_cpu;   /* eventring_off_cpu_begin when step_until was set */
  /* Frames (gc_frame.c) */
  uint64_t frame_begun;    /* monotonic_ns at the start of the frame */
  uint64_t deadline;       /* monotonic_ns at its end; 0: no frame runs */
  uint64_t unit_begun;     /* monotonic_ns at the start of the unit */
  uint64_t unit_off_cpu;   /* eventring_off_cpu_begin at the start of the unit */
  uint32_t unit_ns[GC_UNIT_NONE]; /* time of the longest recent unit of each kind */
  uint32_t frame_ns[GC_UNIT_NONE]; /* the longest in this frame; 0: there was none */
  uint8_t unit;            /* the GcUnit that runs */
  /* Markings */
  lua_State *caller;   /* the thread that called the collector; NULL outside */
  GcVector promoted;   /* minor: promoted, not yet scanned */
  GcVector grey;       /* major: marked, not yet scanned */
  GcPartials partial;  /* major: objects of which pieces are yet to be scanned */
  GcPartials minor_partial; /* minor: objects of which pieces are yet to be scanned */
  GcVector remembered; /* old objects that were written to */
  lua_State *remembered_threads; /* threads that ran, linked by next_remembered */
  size_t remembered_threads_n;
  GcCards cards;
  GcVector new_interned; /* short strings made since the last minor collection */
  /* Short strings that the last minor collection has left in the intern table. Those that
   * are still young are dead, and their blocks wait to be reclaimed (gc_sweep.c). */
  GcVector dead_strings;
  GcVector finalizable; /* objects with finalizers, in order of registration, or NULL */
  size_t finalizable_old;     /* the first n are old */
  /* slots of young objects, [separate_at, separate_end), that a minor collection has yet
   * to examine, from the last one on; separate_end is 0 if none has begun to */
  size_t separate_at, separate_end;
  /* the major marking has examined the first sifted_from objects, and keeps those that it
   * reached in the first sifted_to slots */
  size_t sifted_from, sifted_to;
  GcCandidates candidates;
  /* dead objects that this major cycle revives, after those of earlier cycles for which
   * the queue had no room */
  GcVector found;
  size_t revived;             /* the first n of `found` are grey or black */
  GcVector finalizers;        /* objects to finalize, from finalizers_first on */
  size_t finalizers_first;
  GcEphemerons minor_ephemerons, major_ephemerons;
  GcWeakLists minor_weak;
  GcWeakLists noted_weak; /* major: found while marking, not examined yet */
  GcWeakLeft weak_left;
  size_t minor_ephemerons_settled; /* items of minor_weak.ephemerons that are settled */
  GcWeakMark minor_weak_done;
  uint8_t minor_resumed;  /* this piece is not the first: the program ran in between */
  uint8_t minor_rechecks; /* times that this minor collection began its checks again */
  uint32_t overdue_cycle; /* the same as overdue_minor, of the cycle */
  /* tables in which the major marking has found a weak key that it had not reached */
  GcVector clearing;
  uint32_t clearing_from; /* node of the last one to go on from in GC_PHASE_CLEAR */
  /* Records that found no room (gc_overflow.c) */
  /* an object with its bit set may wait for that marking */
  uint8_t overflow_minor, overflow_major;
  uint8_t overflow_large;                 /* such an object may be large */
  uint8_t interned_lost;                  /* new_interned is not complete */
  /* chunk and word at which the major marking's pass over the bits goes on; NULL: no
   * pass */
  struct Chunk *overflow_chunk;
  uint32_t overflow_word;
  /* Sweep */
  uint32_t sweep_bucket;
  uint32_t sweep_block;
  struct Chunk *sweep_chunk;
  struct LargeHeader *sweep_large;
  uint64_t cycle; /* number of the current (or last) major cycle */
  uint32_t stress_count; /* steps of the collector in stress builds */
  uint32_t verify_count; /* steps until the next verification there */
  uint32_t stress_inserts; /* new keys of large tables (table.c) */
  GcStats stats;
} Gc;

/* ---- collecting (gc.c) --------------------------------------------------- */

/* Takes the step that is due: a minor collection or a slice of the major cycle, and
   finalizers. Called by gc_check. */
void gc_step(lua_State *L);
/* Takes the step that is due where an error was caught; raises no error of its own. */
void gc_recover(lua_State *L);
/* Runs a whole major cycle from a fresh start, and its finalizers. */
void gc_full(lua_State *L);
/* Collects what is due before an allocation of `size` bytes, where rules 1 and 2 hold,
 * and collects everything if the system would refuse the memory. `growing`: for a part of
 * a table that is in use. Call it through gc_make_room or gc_make_room_to_grow. */
void gc_collect_for(lua_State *L, size_t size, bool growing);
/* Collects everything after memory was refused, where rules 1 and 2 hold. Returns false
 * where collecting is not allowed. Finalizers do not run and stacks do not move. */
bool gc_collect_in_need(lua_State *L);
void gc_stop(Domain *d);
void gc_restart(Domain *d);
/* Returns the bytes in use: live at the last collection or allocated since. */
size_t gc_count(Domain *d);
/* Works as if `kib` KiB had been allocated (0: one basic step); returns true if a major
 * cycle ended. Collects although stopped. */
bool gc_step_by(lua_State *L, size_t kib);
/* Collects for at most `ns` nanoseconds, in units that are begun only if they are likely
 * to fit; returns whether work is left. Collects although stopped (gc_frame.c). */
bool gc_frame(lua_State *L, uint64_t ns);
/* Sets the mode; returns the former mode. In incremental mode minor collections run too,
 * which keeps dead temporaries cheap. */
GcMode gc_set_mode(lua_State *L, GcMode mode);
bool gc_is_running(Domain *d); /* not stopped */
/* Computes the trigger again, after what is due has changed. */
void gc_set_trigger(Domain *d);
/* Computes the goals again, after a parameter of pacing has changed. */
void gc_pace_set_goals(Domain *d);

/* Counts the bytes of a prototype, which must be complete. */
void gc_note_code(Domain *d, const Prototype *p);
/* Returns the bytes of an object with its parts, and those that a userdata is stated to
 * hold outside the heap. Changes nothing; may be called at any time. */
size_t gc_object_bytes(const GCObject *o);
/* Records what memory the domain takes (events of class domain). */
void gc_record_memory(Domain *d);
/* Records the words asked for since the last call. The owner calls it at each minor
 * collection and when the domain or the process ends, so that the sum is exact then. */
void gc_record_asked(Domain *d);

bool gc_init(Domain *d); /* false: no memory */
/* Sets which objects are marked aside, when marking begins or ends or the heap becomes
 * hosted. */
void gc_set_aside(Domain *d);
void gc_close(Domain *d);

/* ---- memory outside the heap (gc_external.c) ----------------------------- */

/* Notes that the userdata holds `bytes` bytes outside the heap from now on. Never
 * collects; raises LUA_ERRMEM when the userdata held none and there is no memory for the
 * note. */
void gc_set_external(lua_State *L, Userdata *u, size_t bytes);
/* Notes external bytes like gc_set_external, but returns false instead of raising. */
bool gc_try_set_external(lua_State *L, Userdata *u, size_t bytes);
/* Makes the userdata hold the number of bytes in the counter. This domain adds to the
 * counter before it calls this function; other domains subtract from it. The counter must
 * last until the userdata's bytes are set to 0. Never raises; collects at the next
 * safepoint. */
void gc_follow_external(lua_State *L, Userdata *u, const size_t *bytes);

/* Counts the memory of a luaL_Buffer that is about to change its size in bytes; returns
 * false if the domain may not use as much. The memory is in use, so no collection is
 * due. */
bool gc_note_buffer(Domain *d, size_t before, size_t now);
/* Notes for the sampler that a buffer has changed its size; `owner` is its userdata. */
void gc_sample_buffer(lua_State *L, Userdata *owner, size_t before, size_t now);
/* Gives the freed memory that malloc keeps (Heap.malloc_freed) back to the system, after
 * a full collection and when the sampler has freed its stacks. */
void gc_trim_malloc(Domain *d);

/* ---- finalizers (gc_finalize.c) ------------------------------------------ */

/* Notes that the table or userdata has a metatable with __gc. Called by
 * setmetatable; a second call does nothing until the finalizer has been called. */
void gc_register_finalizer(lua_State *L, GCObject *o);
/* Calls at most `most` pending finalizers, in a span of its own, outside any span of the
 * collector. */
void gc_run_finalizers(lua_State *L, size_t most);
/* Ends the span of finalizers, if one runs that will not return since it ends the process
 * or closes the domain. */
void gc_leave_finalizers(Domain *d);
/* Calls all finalizers at domain_close, last registered first. */
void gc_finalize_all(lua_State *L);

/* ---- barriers (inline halves: gc_inline.h) ------------------------------- */

void gc_remember(Domain *d, GCObject *parent);
void gc_remember_slot(Domain *d, Table *t, const void *slot);
/* Notes that the parts of the table were replaced or moved. All values put into a new
 * node part or a grown array must have gone through gc_barrier_reinserted.
 * `moved`: not all values are where they were in the array part. */
void gc_table_resized(lua_State *L, Table *t, bool moved);
/* Gives the table another metatable, or none (NULL). The caller needs a barrier for
 * it. */
void gc_set_metatable(lua_State *L, Table *t, Table *mt);
/* Notes that the thread runs from now on, or that its stack was written to. */
void gc_thread_resumed(lua_State *L, lua_State *co);
/* Notes that `slots` more slots of the running thread's stack may be in use. */
void gc_stack_widened(lua_State *L, size_t slots);
/* Notes that a slot of a frame that is not the thread's current one was written to. */
void gc_frame_changed(lua_State *L, CallInfo *ci);
/* Notes that a part of the object (code, constants, CallInfo, ...) was allocated or
 * replaced, so that its lines must be marked again. */
void gc_part_changed(lua_State *L, void *owner);

/* Takes the entry out of the node; the key's address stays for `next`. */
void gc_clear_node(Node *n);

/* ---- strings ------------------------------------------------------------- */

/* Notes a new short string in the intern table when gc_note_interned (gc_inline.h) has no
 * room for it. */
void gc_note_interned_slow(Domain *d, String *s);
void gc_resurrect_string(Domain *d, String *s);

/* ---- large parts (called by heap.c) -------------------------------------- */

void gc_large_part_gone(Domain *d, struct LargeHeader *large);   /* frees it */
/* Notes that the address of a large part is about to change. */
void gc_large_part_moving(Domain *d, struct LargeHeader *large);

/* ---- verifier (gc_verify.c) ---------------------------------------------- */

/* Checks every invariant of the heap from the roots; aborts with a message that
 * names the object and the rule when one is broken. */
void gc_verify(Domain *d, const char *when);
/* Checks, before a scan of the thread's slots from `watermark` on (gc_thread.c), that the
 * n slots below it refer to no young object. */
void gc_verify_watermark(Domain *d, const lua_State *co, const TValue *watermark, size_t n);
#endif
