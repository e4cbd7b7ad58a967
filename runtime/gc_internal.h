/* SPDX-License-Identifier: MIT */
/* runtime/gc_internal.h: marking, shared by the parts of the collector (gc_*.c).
 *
 * One scanner serves both markings; each is instantiated with a constant kind:
 *
 *   SCAN_MINOR  a young object found is promoted: old, clean, of the colour that means
 *               marked, its lines marked, on Gc.promoted until it is scanned. An old
 *               white one (only while a major cycle marks) turns grey.
 *   SCAN_MAJOR  a white object found turns grey: marked, its lines marked, on Gc.grey
 *               until it is scanned. A young one is left to the minor collections.
 *
 * Scanning an object marks the lines of its parts, since they are found
 * through it alone.
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

/* ---- growing arrays (gc.c) ----------------------------------------------- */

/* Calls `part` for each list of objects that the collector has room for. */
void gc_each_list(const Gc *gc, MemoryPart *part, void *context);
/* Makes room for one more item; false, and the array as it was, when there is no
 * memory. */
bool gc_vector_try_extend(Domain *d, void *items, size_t *capacity, size_t item_size);
#define GC_TRY_ROOM(d, v) \
  ((v)->n < (v)->capacity || \
   gc_vector_try_extend(d, &(v)->items, &(v)->capacity, sizeof *(v)->items))

/* Adds the item to the array; false: there is no room (gc_overflow.c says what is done
 * instead). */
bool gc_vector_extend_patiently(Domain *d, void *items, size_t *capacity, size_t item_size);
#define GC_TRY_PUSH(d, v, ...) \
  (likely(!stress_record_fails() && \
          ((v)->n < (v)->capacity || \
           gc_vector_extend_patiently(d, &(v)->items, &(v)->capacity, sizeof *(v)->items))) && \
   ((v)->items[(v)->n++] = (__VA_ARGS__), true))

/* Notes an object that the minor, the major marking is to scan. */
#define GC_PUSH_PROMOTED(d, o) \
  (GC_TRY_PUSH(d, &(d)->gc.promoted, o) ? (void)0 : gc_overflow_minor(d, o))
#define GC_PUSH_GREY(d, o) (GC_TRY_PUSH(d, &(d)->gc.grey, o) ? (void)0 : gc_overflow_major(d, o))

#define OBJECT_WORK 32 /* work of examining an object, beyond its bytes */

/* Strings made since the last minor collection that are unlinked in one step if they are
 * dead, unless all is in the cache: some 0.3 ms. */
#ifdef SAROS_STRESS
#define GC_STRINGS_AT_ONCE 4
#else
#define GC_STRINGS_AT_ONCE 8192
#endif

/* The same in a frame, and where the intern table is so large that each bucket is a cache miss. */
#define GC_STRINGS_IN_FRAME 512
#define GC_STRINGS_COLD 1024
#define GC_COLD_BUCKETS (1u << 17)
ALWAYS_INLINE size_t gc_strings_at_once(const Domain *d) {
  if (d->gc.deadline != 0) return GC_STRINGS_IN_FRAME;
  bool cold = d->strings.size >= GC_COLD_BUCKETS && GC_STRINGS_COLD < GC_STRINGS_AT_ONCE;
  return cold ? GC_STRINGS_COLD : GC_STRINGS_AT_ONCE;
}

/* Blocks that were allocated from and are examined in one step: some 0.03 ms. A nursery is 32
 * whole ones; of a heap in fragments it has a hole from each of a thousand. */
#ifdef SAROS_STRESS
#define GC_BLOCKS_AT_ONCE 2
#else
#define GC_BLOCKS_AT_ONCE 96
#endif

/* ---- cards --------------------------------------------------------------- */

/* bytes that a bit of a card's byte stands for: the slot or node that begins there */
#define CARD_GRANULE 16
#define card_bit(offset) ((uint8_t)(1u << ((offset) / CARD_GRANULE & 7)))

/* ---- colours ------------------------------------------------------------- */

#define is_young(o) ((o)->gc & GC_YOUNG)
#define is_marked(d, o) ((((o)->gc ^ (d)->gc.mark_sense) & GC_MARK) == 0)
#define is_marking(d) ((d)->gc.marking_mask != 0)

/* Is the object dead for a marking of this kind, once that is complete? */
ALWAYS_INLINE bool is_dead(Domain *d, const GCObject *o, ScanKind kind) {
  return kind == SCAN_MINOR ? is_young(o) : !is_young(o) && !is_marked(d, o);
}

/* ---- memory of objects --------------------------------------------------- */

/* Bytes of the object itself, its parts excluded; *base where they begin. */
size_t gc_object_extent(const GCObject *o, char **base);

#define string_bytes(s) heap_round(offsetof(String, data) + string_len(s) + 1)
#define array_bytes(t) ((size_t)(t)->array_size * sizeof(TValue))
#define node_bytes(t) ((size_t)table_node_count(t) * sizeof(Node))

/* Bytes of the parts of a table that are scanned whole with it. */
ALWAYS_INLINE size_t small_part_bytes(const Table *t) {
  size_t array = array_bytes(t), node = node_bytes(t);
  return (heap_is_large(array) ? 0 : array) + (heap_is_large(node) ? 0 : node);
}

/* The same for what is large or in a hosted heap (gc_mark.c). */
size_t gc_mark_aside(Domain *d, const void *p, size_t size);

/* Marks what an object or part covers, since it is promoted or marked or its owner
 * rescanned; returns the bytes of the lines. */
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
void gc_make_grey(Domain *d, GCObject *o); /* an old white object is reachable (gc_mark.c) */

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

/* The key of an empty node is not kept alive; its address stays for `next`. */
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

/* Whether scanning the object can find anything. */
ALWAYS_INLINE bool has_references(const GCObject *o) {
  if (o->type == TYPE_SHORT_STRING || o->type == TYPE_LONG_STRING) return false;
  if (o->type != LUA_TUSERDATA) return true;
  const Userdata *u = (const Userdata *)o;
  return u->metatable != NULL || u->nuservalues > 0 || u->external != NULL;
}

/* Scan one object; return the bytes that it and its parts take. */
size_t gc_scan_minor(Domain *d, GCObject *o);
size_t gc_scan_major(Domain *d, GCObject *o);
/* What is on top of Gc.minor_partial or Gc.partial: its next Gc.piece elements. The major
 * one returns their bytes. */
#define GC_PIECE 256
#define GC_FRAME_PIECE 64
void gc_scan_piece_minor(Domain *d);
size_t gc_scan_piece_major(Domain *d);
/* Threads (gc_thread.c): the minor one examines what may have changed since the last one,
 * the major ones at everything, in pieces when that is much; true when it was the last. */
size_t gc_scan_thread_minor(Domain *d, lua_State *co);
size_t gc_scan_thread_major(Domain *d, lua_State *co);
bool gc_scan_thread_piece(Domain *d, GcPartial *p, size_t *work);
/* Marks what the userdata holds outside the heap, which is something. */
void gc_mark_external(Domain *d, Userdata *u, ScanKind kind);
/* The roots of every marking, running threads included. */
void gc_scan_roots_minor(Domain *d);
void gc_scan_roots_major(Domain *d);

/* ---- weak tables (gc_weak.c) --------------------------------------------- */

typedef enum Weakness { WEAK_NONE, WEAK_VALUES, WEAK_KEYS, WEAK_BOTH } Weakness;

Weakness gc_weakness(Domain *d, const Table *t);
/* Notes the weak references of the table for later, and the strong ones beside them. */
void gc_scan_weak_major(Domain *d, Weakness w, Table *t);
/* Follows the strong references among these slots of a weak table and notes the others of
 * which the object may have to go. from..to as in GcWeakRange. */
void gc_scan_weak_minor(Domain *d, Weakness w, GcWeakRange range);
/* The same for one slot or node, which exists, on a marked card. */
void gc_scan_weak_card(Domain *d, Weakness w, GcWeakRange entry);
/* Follows what was noted of tables that are weak in another way by now, or not at all; false:
 * the piece is over before all is checked. */
bool gc_check_weak_minor(Domain *d);
/* A weak table has got another kind of metatable between two pieces: all is checked again. */
void gc_weakness_changed(Domain *d);
/* Follows all that a minor marking has yet to follow, the values of ephemerons included;
 * false: the piece is over before. */
bool gc_settle_ephemerons_minor(Domain *d);
/* Steps at the end of a minor marking, of what was noted since they were taken last; the
 * first may be followed by more marking. False: the piece is over before all is done. */
bool gc_clear_weak_values_minor(Domain *d);
bool gc_clear_weak_keys_minor(Domain *d);
void gc_forget_weak_minor(Domain *d);
/* Of the major marking: the values of at most `most` of the entries left; keys, for
 * `work`, when marking is over. True: all is done. */
bool gc_clear_some_values(Domain *d, size_t most);
bool gc_clear_some_keys(Domain *d, size_t work);
void gc_forget_weak_major(Domain *d);
/* Looks through some of what the major marking has noted; returns the number of bytes, 0
 * when there is none. */
size_t gc_settle_weak_piece(Domain *d);
ALWAYS_INLINE bool gc_weak_noted(const Gc *gc) {
  return gc->noted_weak.values.n + gc->noted_weak.ephemerons.n + gc->noted_weak.all.n > 0;
}

/* Ephemerons that wait for their keys (gc_ephemeron.c) */
void gc_ephemerons_init(GcEphemerons *e);
void gc_ephemerons_free(Domain *d, GcEphemerons *e); /* its index */
size_t gc_await(Domain *d, Table *t, Node *n, ScanKind kind); /* returns the work */
void gc_reached(Domain *d, GCObject *key, ScanKind kind); /* a key that is awaited */
/* the values of one such key; 0: there is none */
size_t gc_follow_reached(Domain *d, ScanKind kind);
ALWAYS_INLINE bool gc_any_reached(const Gc *gc) {
  return gc->major_ephemerons.reached.n > 0 || gc->major_ephemerons.reached_lost;
}
void gc_follow_value(Domain *d, const Node *n, ScanKind kind);
/* The table has a dead key, as far as is known now; false: no memory. Clears those that
 * are dead when marking is over; true: all is done. */
bool gc_note_clearing(Domain *d, Table *t);
bool gc_clear_some_tables(Domain *d, size_t work);
void gc_forget_awaited(Domain *d, ScanKind kind);
/* The node of an entry that was at `at`; NULL when it was removed. */
Node *gc_node_of(Table *t, const GCObject *key, uint32_t at);

/* ---- steps (gc.c) -------------------------------------------------------- */

/* The collector runs for this thread; it has done what it was to do. */
void gc_enter(lua_State *L);
void gc_leave(lua_State *L);
/* A slice of the cycle, which is begun if need be, until it ends or there is no time for
 * more (gc_unit_begins); true: it has ended. */
bool gc_slice_until_deadline(Domain *d, EventId reason);

/* ---- frames (gc_frame.c) ------------------------------------------------- */

#define GC_LOOK_WORK ((size_t)16 << 10) /* the same outside frames */
#define GC_QUANTUM ((size_t)8 << 10) /* work between two looks at the clock */
void gc_frame_init(Gc *gc);
/* Ends the unit that runs. Is there time for another one of this kind, which takes
 * `least_ns` or what is known to be usual, if that is more? */
bool gc_unit_begins(Gc *gc, GcUnit unit, uint64_t least_ns);
/* The piece of a minor collection has come to Gc.minor_look: does it go on? */
bool gc_piece_goes_on(Gc *gc);

/* ---- the other parts ----------------------------------------------------- */

void gc_minor(Domain *d, EventId reason); /* gc_minor.c */
/* A piece of one, which ends when Gc.step_work has come to about `most`; true: the
 * collection has ended. */
bool gc_minor_some(Domain *d, EventId reason, size_t most);
/* Goes on with the dead strings that collections have left, for at most a step. True: none is
 * left. */
bool gc_finish_last(Domain *d, EventId reason, size_t most);
void gc_drain_minor(Domain *d);
/* Has the step, with what this piece has promoted, done its work? */
ALWAYS_INLINE size_t gc_work_done(const Gc *gc) {
  return gc->step_work + gc->object_bytes[SCAN_MINOR] + gc->part_bytes[SCAN_MINOR];
}
ALWAYS_INLINE bool gc_piece_is_over(Gc *gc) {
  return unlikely(gc_work_done(gc) >= gc->minor_look) && !gc_piece_goes_on(gc);
}
/* The piece ends when gc_work_done is `most`, or earlier when its time is up. */
ALWAYS_INLINE void gc_piece_ends_at(Gc *gc, size_t most) {
  size_t look = gc_work_done(gc) + GC_LOOK_WORK;
  gc->minor_most = most;
  gc->minor_look = most == SIZE_MAX || gc->step_until == 0 || most < look ? most : look;
}
bool gc_drain_some(Domain *d);            /* false: the piece is over before all is done */
void gc_drain_promoted(Domain *d);           /* what is on Gc.promoted alone */
void gc_rescan(Domain *d, GCObject *o);   /* an old object */
void gc_remember_thread(Domain *d, lua_State *co); /* gc_barrier.c */
/* Objects for which a record had no room (gc_overflow.c): notes one; scans all by the
 * minor marking; moves some of those that are grey to Gc.grey, when it is empty (returns
 * the work, 0 when there are none). */
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
/* The undivided steps of the end of marking, and what is between them; each returns the
 * next phase. At most `most` objects with finalizers are found dead at once. */
GcPhase gc_mark_atomic(Domain *d, size_t most);
GcPhase gc_mark_separate(Domain *d, size_t most);
GcPhase gc_mark_revive(Domain *d, size_t work);
void gc_regrey(Domain *d, GCObject *o);
/* Finalizers (gc_finalize.c). A minor collection: keeps the young ones alive, or moves the
 * dead among them to Gc.finalizers and resurrects them (*revived: there were some). False: the
 * piece is over before. */
bool gc_keep_young_finalizable(Domain *d);
bool gc_separate_young(Domain *d, bool *revived);
/* The major marking: looks for objects that it has not reached, some at a time (returns the
 * work, 0 when there are no more); separates at most `most` that are dead from those that
 * are not (true: all); makes the dead grey again, some at a time; queues them. */
void gc_sift_start(Domain *d);
size_t gc_sift_finalizable(Domain *d);
void gc_sift_end(Domain *d);
bool gc_separate_some(Domain *d, size_t most);
bool gc_revive_some(Domain *d, size_t most);
void gc_queue_found(Domain *d);
/* Strings (gc_sweep.c): after a minor marking unlinks the dead ones that were made before, and
 * frees the young memory, of very many in pieces; goes on with that (true: it is done);
 * notes whether the intern table may have dead ones. */
void gc_reclaim_young(Domain *d);
bool gc_reclaim_rest(Domain *d);
void gc_note_dead_strings(Gc *gc);
ALWAYS_INLINE bool gc_rest_is_left(const Domain *d) {
  return d->gc.dead_strings.n > 0 || d->heap.waiting.first != NULL;
}
void gc_start_sweeping(Domain *d);
bool gc_sweep_strings(Domain *d, size_t work); /* each: true when done */
bool gc_sweep_large(Domain *d, size_t work);
bool gc_sweep_blocks(Domain *d, size_t work);
size_t gc_sweep_work(const Domain *d); /* what is left of it, or all */

/* ---- pacing (gc_pace.c) -------------------------------------------------- */

#define GC_LEAST_SLICE ((size_t)32 << 10) /* work */
#define GC_MOST_SLICE ((size_t)512 << 10)
#define GC_MINOR_WORK ((size_t)1536 << 10) /* of a minor collection, until it is divided */
#define GC_MINOR_PIECE ((size_t)1 << 20)   /* of the pieces that follow */
#ifndef GC_NURSERY
#define GC_NURSERY ((size_t)1 << 20)
#endif

bool gc_pace_cycle_is_due(const Domain *d);
void gc_pace_begin_cycle(Domain *d);
size_t gc_pace_slice(Domain *d); /* the work of the slice that is due now */
void gc_pace_slice_done(Domain *d);
/* The step did `done` of `wanted`, since its time was up: the rest stays due, and the next
 * one comes as much sooner. */
void gc_pace_cut(Domain *d, size_t done, size_t wanted);
/* A step begins whose time is bounded; the bound ends. */
void gc_time_starts(Domain *d);
ALWAYS_INLINE void gc_time_ends(Gc *gc) { gc->step_until = 0; }
bool gc_time_passed_by(const Gc *gc);
/* Should the step begin no more work? To be asked after each GC_LOOK_WORK. */
ALWAYS_INLINE bool gc_time_is_up(const Gc *gc) {
  return gc->step_until != 0 && gc_time_passed_by(gc);
}
/* A cycle should have ended: it is finished before the program goes on, or the next one
 * is begun and finished. That gives old objects room again. */
bool gc_pace_is_over(const Domain *d);
void gc_pace_end_cycle(Domain *d);
/* `bytes` that only finalizers kept alive over the end of the last cycle have gone. */
void gc_pace_lower(Domain *d, size_t bytes);
size_t gc_pace_room(const Domain *d); /* bytes until the next cycle begins */
/* The work of collectgarbage("step", kib). */
size_t gc_pace_step(const Domain *d, size_t kib);
void gc_pace_set_nursery(Gc *gc);
void gc_pace_grow_nursery(Gc *gc); /* at the end of a minor collection */
void gc_pace_verify(const Domain *d);

#endif
