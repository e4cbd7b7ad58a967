/* SPDX-License-Identifier: MIT */
/* runtime/gc_internal.h: marking, shared by the parts of the collector (gc_*.c).
 *
 * One scanner serves both markings; each is instantiated with a constant kind:
 *
 *   SCAN_MINOR  a young object found is promoted: it becomes old, clean and of the colour
 *               that means marked, its lines are marked, and it is on Gc.promoted until
 *               it is scanned. An old white one turns grey (while a major cycle marks).
 *   SCAN_MAJOR  a white object found turns grey: it and its lines are marked, and it is
 *               on Gc.grey until it is scanned. A young one is left to minor collections.
 *
 * Scanning an object marks the lines of its parts, since they are found through the
 * object alone.
 */
#ifndef SAROS_RUNTIME_GC_INTERNAL_H
#define SAROS_RUNTIME_GC_INTERNAL_H

#include "domain.h"
#include "gc.h"
#include "gc_time.h"
#include "heap.h"
#include "mappings.h"
#include "stress.h"
#include "table.h"
#include "probes.h"

typedef enum ScanKind { SCAN_MINOR, SCAN_MAJOR } ScanKind;

/* ---- arrays of records (gc_records.c) ------------------------------------ */

/* Calls `part` for each list of objects that the collector has room for. */
void gc_each_list(const Gc *gc, MemoryPart *part, void *context);
/* Moves those that are mappings to the memory of malloc, before the heap becomes hosted:
 * then its allocator takes them back. Returns false, with nothing moved, if out of
 * memory. */
bool gc_leave_mappings(Domain *d);
/* Gives back unused ends of arrays, at most `most` bytes in all. Returns true when none
 * is left to shrink. */
bool gc_shrink_records(Domain *d, size_t most);
void gc_free_records(Domain *d);
/* Makes room for one more item; returns false, with the array unchanged, when there is no
 * memory. */
bool gc_vector_try_extend(Domain *d, void *items, size_t *capacity, size_t item_size);
#define GC_TRY_ROOM(d, v) \
  ((v)->n < (v)->capacity || \
   gc_vector_try_extend(d, &(v)->items, &(v)->capacity, sizeof *(v)->items))

/* Makes room for a record that can do without memory (gc_overflow.c); returns false if
 * there is none. GC_TRY_PUSH adds the item, or is false if there is no room. */
bool gc_vector_extend_patiently(Domain *d, void *items, size_t *capacity, size_t item_size);
#define GC_TRY_PUSH(d, v, ...) \
  (likely(!stress_record_fails() && \
          ((v)->n < (v)->capacity || \
           gc_vector_extend_patiently(d, &(v)->items, &(v)->capacity, sizeof *(v)->items))) && \
   ((v)->items[(v)->n++] = (__VA_ARGS__), true))

/* Notes an object that the minor or the major marking is to scan. */
#define GC_PUSH_PROMOTED(d, o) \
  (GC_TRY_PUSH(d, &(d)->gc.promoted, o) ? (void)0 : gc_overflow_minor(d, o))
#define GC_PUSH_GREY(d, o) (GC_TRY_PUSH(d, &(d)->gc.grey, o) ? (void)0 : gc_overflow_major(d, o))

#define OBJECT_WORK 32 /* work of examining an object, beyond its bytes */

/* Strings made since the last minor collection of which one step unlinks the dead, unless
 * they are all in the cache: some 0.3 ms. */
#ifdef SAROS_STRESS
#define GC_STRINGS_AT_ONCE 4
#else
#define GC_STRINGS_AT_ONCE 8192
#endif

/* The number in a frame, and where each bucket of a large intern table is a cache
 * miss. */
#define GC_STRINGS_IN_FRAME 512
#define GC_STRINGS_COLD 1024
#define GC_COLD_BUCKETS (1u << 17)
ALWAYS_INLINE size_t gc_strings_at_once(const Domain *d) {
  if (d->gc.deadline != 0) return GC_STRINGS_IN_FRAME;
  bool cold = d->strings.size >= GC_COLD_BUCKETS && GC_STRINGS_COLD < GC_STRINGS_AT_ONCE;
  return cold ? GC_STRINGS_COLD : GC_STRINGS_AT_ONCE;
}

/* Blocks, of those allocated from, that one step examines: some 0.03 ms. A nursery is 32
 * whole blocks; in a fragmented heap it has one hole in each of a thousand blocks. */
#ifdef SAROS_STRESS
#define GC_BLOCKS_AT_ONCE 2
#else
#define GC_BLOCKS_AT_ONCE 96
#endif

/* ---- cards --------------------------------------------------------------- */

/* bytes for each bit of a card's byte, which marks the slot or node that begins there */
#define CARD_GRANULE 16
#define card_bit(offset) ((uint8_t)(1u << ((offset) / CARD_GRANULE & 7)))

/* ---- colours ------------------------------------------------------------- */

#define is_young(o) ((o)->gc & GC_YOUNG)
#define is_marked(d, o) ((((o)->gc ^ (d)->gc.mark_sense) & GC_MARK) == 0)
#define is_marking(d) ((d)->gc.marking_mask != 0)

/* Tells whether the object is dead for a marking of this kind that is complete. */
ALWAYS_INLINE bool is_dead(Domain *d, const GCObject *o, ScanKind kind) {
  return kind == SCAN_MINOR ? is_young(o) : !is_young(o) && !is_marked(d, o);
}

/* ---- memory of objects --------------------------------------------------- */

/* Returns the bytes of the object itself without its parts; sets *base to its first
 * byte. */
size_t gc_object_extent(const GCObject *o, char **base);

#define string_bytes(s) heap_round(offsetof(String, data) + string_len(s) + 1)
#define array_bytes(t) ((size_t)(t)->array_size * sizeof(TValue))
#define node_bytes(t) ((size_t)table_node_count(t) * sizeof(Node))

/* Returns the bytes of the parts of a table that are scanned whole with it. */
ALWAYS_INLINE size_t small_part_bytes(const Table *t) {
  size_t array = array_bytes(t), node = node_bytes(t);
  return (heap_is_large(array) ? 0 : array) + (heap_is_large(node) ? 0 : node);
}

/* Marks memory like mark_memory if it is large or in a hosted heap (gc_mark.c). */
size_t gc_mark_aside(Domain *d, const void *p, size_t size);

/* Marks the lines of an object or part whose object is promoted, marked or rescanned;
 * returns the bytes of the lines. */
ALWAYS_INLINE size_t mark_memory(Domain *d, const void *p, size_t size) {
  if (unlikely(size > d->heap.masked_most)) return gc_mark_aside(d, p, size);
  heap_mark_lines(p, size, d->gc.line_bit);
  return size;
}

ALWAYS_INLINE void mark_part(Domain *d, const void *p, size_t size, ScanKind kind) {
  if (size > 0) d->gc.part_bytes[kind] += mark_memory(d, p, size);
}

/* ---- visiting ------------------------------------------------------------ */

void gc_promote(Domain *d, GCObject *o);   /* a young object is reachable (gc_minor.c) */
void gc_make_grey(Domain *d, GCObject *o); /* an old white one is reachable (gc_mark.c) */

ALWAYS_INLINE void visit(Domain *d, GCObject *o, ScanKind kind) {
  uint8_t gc = o->gc;
  if (kind == SCAN_MINOR) {
    if (gc & GC_YOUNG) gc_promote(d, o);
    else if (unlikely((gc ^ d->gc.mark_sense) & GC_MARK)) gc_make_grey(d, o);
  } else if (((gc ^ d->gc.mark_sense) & GC_MARK) && !(gc & GC_YOUNG)) {
    gc_make_grey(d, o);
  }
}

#define VISIT(d, object, kind) \
  do { \
    if ((object) != NULL) visit(d, (GCObject *)(object), kind); \
  } while (0)

ALWAYS_INLINE void visit_value(Domain *d, const TValue *v, ScanKind kind) {
  if (is_collected(v)) visit(d, v->v.gc, kind);
}

ALWAYS_INLINE void visit_values(Domain *d, const TValue *v, size_t n, ScanKind kind) {
  for (const TValue *end = v + n; v < end; v++) visit_value(d, v, kind);
}

/* Forgets the key of an empty node, which does not keep it alive; its address stays for
 * `next`. */
ALWAYS_INLINE void forget_key(Node *n) {
  if (n->key_tag & TAG_COLLECTED) n->key_tag = TAG_DEADKEY;
}

ALWAYS_INLINE void visit_nodes(Domain *d, Node *n, size_t count, ScanKind kind) {
  for (Node *end = n + count; n < end; n++) {
    if (n->tag == TAG_NIL) {
      forget_key(n);
      continue;
    }
    if (n->key_tag & TAG_COLLECTED) visit(d, n->key.gc, kind);
    if (n->tag & TAG_COLLECTED) visit(d, n->v.gc, kind);
  }
}

/* ---- scanning (gc_scan.c) ------------------------------------------------ */

/* Tells whether scanning the object can find anything. */
ALWAYS_INLINE bool has_references(const GCObject *o) {
  if (o->type == TYPE_SHORT_STRING || o->type == TYPE_LONG_STRING) return false;
  if (o->type != LUA_TUSERDATA) return true;
  const Userdata *u = (const Userdata *)o;
  return u->metatable != NULL || u->nuservalues > 0 || u->external != NULL;
}

/* Scans one object; returns the bytes that it and its parts take. */
size_t gc_scan_minor(Domain *d, GCObject *o);
size_t gc_scan_major(Domain *d, GCObject *o);
/* Scans the next Gc.piece elements of the object on top of Gc.minor_partial or
 * Gc.partial. The major function returns the bytes scanned. */
#ifdef SAROS_STRESS
#define GC_PIECE 32
#define GC_FRAME_PIECE 8
#else
#define GC_PIECE 256
#define GC_FRAME_PIECE 64
#endif
void gc_scan_piece_minor(Domain *d);
size_t gc_scan_piece_major(Domain *d);
/* Scans a thread (gc_thread.c). The minor function examines what may have changed since
 * the last scan, the major ones everything, in pieces if the thread is deep.
 * gc_scan_thread_piece returns true after the last piece. */
size_t gc_scan_thread_minor(Domain *d, lua_State *co);
size_t gc_scan_thread_major(Domain *d, lua_State *co);
bool gc_scan_thread_piece(Domain *d, GcPartial *p, size_t *work);
/* Marks the record of what the userdata holds outside the heap; there must be one. */
void gc_mark_external(Domain *d, Userdata *u, ScanKind kind);
/* Scans the roots of every marking, running threads included. */
void gc_scan_roots_minor(Domain *d);
void gc_scan_roots_major(Domain *d);

/* ---- weak tables (gc_weak.c) --------------------------------------------- */

typedef enum Weakness { WEAK_NONE, WEAK_VALUES, WEAK_KEYS, WEAK_BOTH } Weakness;

Weakness gc_weakness(Domain *d, const Table *t);
/* Notes the weak references of the table for later, and the strong ones beside them. */
void gc_scan_weak_major(Domain *d, Weakness w, Table *t);
/* Follows the strong references among these slots of a weak table and notes slots whose
 * object may die. from..to as in GcWeakRange. */
void gc_scan_weak_minor(Domain *d, Weakness w, GcWeakRange range);
/* Scans one slot or node, which must exist, on a marked card in the same way. */
void gc_scan_weak_card(Domain *d, Weakness w, GcWeakRange entry);
/* Follows what was noted of tables that are no longer weak, or weak in another way.
 * Returns false if the piece is over before all is checked. */
bool gc_check_weak_minor(Domain *d);
/* Makes gc_check_weak_minor check all again: a weak table has got another kind of
 * metatable between two pieces. */
void gc_weakness_changed(Domain *d);
/* Follows all that a minor marking has yet to follow, the values of ephemerons included;
 * returns false if the piece is over before that. */
bool gc_settle_ephemerons_minor(Domain *d);
/* Clears what was noted since the last call, at the end of a minor marking. More marking
 * may follow after the values. Returns false if the piece is over before all is done. */
bool gc_clear_weak_values_minor(Domain *d);
bool gc_clear_weak_keys_minor(Domain *d);
void gc_forget_weak_minor(Domain *d);
/* Clears entries for the major marking: at most `most` of the entries left if their
 * values are dead; entries with dead keys, for `work`, when marking is over. Returns true
 * when all is done. */
bool gc_clear_some_values(Domain *d, size_t most);
bool gc_clear_some_keys(Domain *d, size_t work);
void gc_forget_weak_major(Domain *d);
/* Looks through some of the slots that the major marking has noted; returns the number of
 * bytes, 0 if none is left. */
size_t gc_settle_weak_piece(Domain *d);
ALWAYS_INLINE bool gc_weak_noted(const Gc *gc) {
  return gc->noted_weak.values.n + gc->noted_weak.ephemerons.n + gc->noted_weak.all.n > 0;
}

/* Ephemerons that wait for their keys (gc_ephemeron.c) */
void gc_ephemerons_init(GcEphemerons *e);
void gc_ephemerons_free(Domain *d, GcEphemerons *e); /* frees its index */
size_t gc_await(Domain *d, Table *t, Node *n, ScanKind kind); /* returns the work */
void gc_reached(Domain *d, GCObject *key, ScanKind kind); /* key has GC_AWAITED */
/* Follows the values of one key that was reached; returns the work, 0 if there is no such
 * key. */
size_t gc_follow_reached(Domain *d, ScanKind kind);
ALWAYS_INLINE bool gc_any_reached(const Gc *gc) {
  return gc->major_ephemerons.reached.n > 0 || gc->major_ephemerons.reached_lost;
}
void gc_follow_value(Domain *d, const Node *n, ScanKind kind);
/* Notes a table that has an unreached key; returns false if there is
 * no memory. gc_clear_some_tables clears the entries of dead keys when marking is over,
 * and returns true when all is done. */
bool gc_note_clearing(Domain *d, Table *t);
bool gc_clear_some_tables(Domain *d, size_t work);
void gc_forget_awaited(Domain *d, ScanKind kind);
/* Returns the node of an entry that was at `at`, NULL if the entry was removed. */
Node *gc_node_of(Table *t, const GCObject *key, uint32_t at);

/* ---- steps (gc.c) -------------------------------------------------------- */

/* Begins, and with gc_leave ends, the work of the collector on behalf of this thread. */
void gc_enter(lua_State *L);
void gc_leave(lua_State *L);
/* Runs a slice of the cycle, which is begun if need be, until the cycle ends or there is
 * no time for another unit (gc_unit_begins); returns true if the cycle has ended. */
bool gc_slice_until_deadline(Domain *d, EventId reason);

/* ---- frames (gc_frame.c) ------------------------------------------------- */

#define GC_LOOK_WORK ((size_t)16 << 10) /* work between two readings of the clock */
#define GC_QUANTUM ((size_t)8 << 10)    /* the same, within a frame (gc_frame.c) */
void gc_frame_init(Gc *gc);
/* Ends the unit that runs, and begins another one of this kind if there is time for it.
 * Returns whether there is. The unit takes `least_ns` or the estimate, whichever is
 * more. */
bool gc_unit_begins(Gc *gc, GcUnit unit, uint64_t least_ns);
/* Tells whether a piece of a minor collection goes on after Gc.minor_look. */
bool gc_piece_goes_on(Gc *gc);

/* ---- the other parts ----------------------------------------------------- */

void gc_minor(Domain *d, EventId reason); /* gc_minor.c */
/* Runs a piece of a minor collection, which ends when Gc.step_work is about `most`;
 * returns true when the collection has ended. */
bool gc_minor_some(Domain *d, EventId reason, size_t most);
/* Reclaims, for at most a step, what minor collections have left (dead strings). Returns
 * true when none is left. */
bool gc_finish_last(Domain *d, EventId reason, size_t most);
void gc_drain_minor(Domain *d);
/* Returns the work of the step, with the bytes that this piece has promoted. */
ALWAYS_INLINE size_t gc_work_done(const Gc *gc) {
  return gc->step_work + gc->object_bytes[SCAN_MINOR] + gc->part_bytes[SCAN_MINOR];
}
ALWAYS_INLINE bool gc_piece_is_over(Gc *gc) {
  return unlikely(gc_work_done(gc) >= gc->minor_look) && !gc_piece_goes_on(gc);
}
/* Makes the piece end when gc_work_done is `most`, or earlier when its time is up. */
ALWAYS_INLINE void gc_piece_ends_at(Gc *gc, size_t most) {
  size_t look = gc_work_done(gc) + GC_LOOK_WORK;
  gc->minor_most = most;
  gc->minor_look = most == SIZE_MAX || gc->step_until == 0 || most < look ? most : look;
}
bool gc_drain_some(Domain *d);      /* false: the piece is over before all is done */
void gc_drain_promoted(Domain *d);  /* scans Gc.promoted and Gc.minor_partial */
void gc_rescan(Domain *d, GCObject *o);            /* an old object */
void gc_remember_thread(Domain *d, lua_State *co); /* gc_barrier.c */
/* Notes an object for which a record had no room (gc_overflow.c). gc_scan_overflowed
 * scans all such objects by the minor marking. gc_refill_grey moves some grey ones to
 * Gc.grey when Gc.grey is empty, and returns the work, 0 if there are none. */
void gc_overflow_minor(Domain *d, GCObject *o);
void gc_overflow_major(Domain *d, GCObject *o);
bool gc_has_overflowed(Domain *d, const GCObject *o);
void gc_scan_overflowed(Domain *d);
size_t gc_refill_grey(Domain *d);
void gc_forget_overflowed_major(Domain *d);
ALWAYS_INLINE bool gc_has_grey(const Gc *gc) {
  return gc->grey.n > 0 || gc->partial.n > 0 || gc->overflow_major || gc->overflow_chunk != NULL;
}
void gc_start_marking(Domain *d);        /* gc_mark.c */
bool gc_mark_some(Domain *d, size_t work); /* true when nothing grey is left */
/* Takes an undivided step at the end of marking (gc_mark_revive: a divided one in
 * between). Each returns the next phase. At most `most` objects with finalizers are found
 * dead at once. */
GcPhase gc_mark_atomic(Domain *d, size_t most);
GcPhase gc_mark_separate(Domain *d, size_t most);
GcPhase gc_mark_revive(Domain *d, size_t work);
void gc_regrey(Domain *d, GCObject *o);
/* Keeps the young objects with finalizers alive in a minor collection (gc_finalize.c).
 * gc_separate_young instead moves the dead among them to Gc.finalizers and resurrects
 * them (*revived: there were some). Both return false if the piece is over before
 * that. */
bool gc_keep_young_finalizable(Domain *d);
bool gc_separate_young(Domain *d, bool *revived);
/* Handles objects with finalizers in the major marking. gc_sift_finalizable looks for
 * objects that were not reached, some at a time, and returns the work (0: no more).
 * gc_separate_some separates at most `most` dead from live ones; gc_revive_some makes the
 * dead grey again, some at a time; both return true when done. gc_queue_found queues
 * them. */
void gc_sift_start(Domain *d);
size_t gc_sift_finalizable(Domain *d);
void gc_sift_end(Domain *d);
bool gc_separate_some(Domain *d, size_t most);
bool gc_revive_some(Domain *d, size_t most);
void gc_queue_found(Domain *d);
/* Reclaims young memory after a minor marking (gc_sweep.c): unlinks dead young strings
 * and frees the memory, in pieces if the strings are very many. gc_reclaim_rest goes on
 * with that and returns true when it is done. gc_note_dead_strings notes whether the
 * intern table may have dead strings. */
void gc_reclaim_young(Domain *d);
bool gc_reclaim_rest(Domain *d);
void gc_note_dead_strings(Gc *gc);
ALWAYS_INLINE bool gc_rest_is_left(const Domain *d) {
  return d->gc.dead_strings.n > 0 || d->heap.waiting.first != NULL;
}
void gc_start_sweeping(Domain *d);
bool gc_sweep_strings(Domain *d, size_t work); /* each returns true when done */
bool gc_sweep_large(Domain *d, size_t work);
bool gc_sweep_blocks(Domain *d, size_t work);
size_t gc_sweep_work(const Domain *d); /* the sweep's work that is left, or all */

/* ---- pacing (gc_pace.c) -------------------------------------------------- */

#define GC_LEAST_SLICE ((size_t)32 << 10) /* work */
#define GC_MOST_SLICE ((size_t)512 << 10)
#define GC_MINOR_WORK ((size_t)1536 << 10) /* of a minor collection's first piece */
#define GC_MINOR_PIECE ((size_t)1 << 20)   /* of the pieces that follow */
#ifndef GC_NURSERY
#define GC_NURSERY ((size_t)1 << 20)
#endif

bool gc_pace_cycle_is_due(const Domain *d);
void gc_pace_begin_cycle(Domain *d);
size_t gc_pace_slice(Domain *d); /* the work of the slice that is due now */
void gc_pace_slice_done(Domain *d);
/* Notes that the step did `done` of `wanted`, since its time was up. The rest stays in
 * the backlog, and the next step comes sooner in proportion. */
void gc_pace_cut(Domain *d, size_t done, size_t wanted);
/* Sets when more is due of what minor collections have left (gc_rest_is_left). */
void gc_pace_rest_done(Domain *d);
/* Returns the debt of what a minor collection may free: the growth of a part in use does
 * not count in a heap that is not small. */
size_t gc_pace_debt(const Domain *d);
/* Notes the work that an allocation has made due at once, beyond the step that was due.
 * `debt` is its debt beyond a nursery, or since the last piece of a minor collection;
 * `excess` is what it exceeded the trigger by. Returns the bytes that it added for a
 * minor collection under way. gc_pace_pays_now tells whether some of the work that is
 * overdue must not be carried over to later steps, of which the last allocation has made
 * `own` bytes due; gc_pace_pay notes that some was done. */
size_t gc_pace_owe(Domain *d, size_t excess, size_t debt);
bool gc_pace_is_overdue(const Gc *gc);
bool gc_pace_pays_now(const Domain *d, size_t own);
void gc_pace_pay(Gc *gc, size_t work);
/* Begins a step whose time is bounded; gc_time_ends ends the bound. */
void gc_time_starts(Domain *d);
/* Gives the step more time, for work that is overdue; returns whether it has any. */
bool gc_time_goes_on(Gc *gc);
ALWAYS_INLINE void gc_time_ends(Gc *gc) { gc->step_until = 0; }
bool gc_time_passed_by(const Gc *gc);
/* Tells whether the step should begin no more work. Ask after each GC_LOOK_WORK. */
ALWAYS_INLINE bool gc_time_is_up(const Gc *gc) {
  return gc->step_until != 0 && gc_time_passed_by(gc);
}
/* Tells whether a cycle should have ended. If so, it is finished before the program goes
 * on, or the next one is begun and finished, which gives old objects room again. */
bool gc_pace_is_over(const Domain *d);
void gc_pace_end_cycle(Domain *d);
/* Lowers the goals by `bytes` that only finalizers kept alive at the end of the last
 * cycle and that are now gone. */
void gc_pace_lower(Domain *d, size_t bytes);
/* Returns by how many bytes the heap may grow from the begin of a cycle to its goal. */
size_t gc_pace_room(const Domain *d);
/* Returns the work of collectgarbage("step", kib). */
size_t gc_pace_step(const Domain *d, size_t kib);
void gc_pace_set_nursery(Gc *gc);
/* Makes the nursery larger if the minor collection that has ended examined much. */
void gc_pace_grow_nursery(Gc *gc);
void gc_pace_verify(const Domain *d);

#endif
