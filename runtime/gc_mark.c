/* SPDX-License-Identifier: MIT */
/* runtime/gc_mark.c: marking of the major cycle.
 *
 * Incremental update: the marking starts from the roots, goes on in slices, and ends with
 * one undivided step. Between slices the program can hide a white object in a black one
 * only through the write barrier, which logs the black object; the next minor collection
 * turns grey the objects that it refers to. Stacks have no barrier, but threads that ran
 * are in the remembered set.
 *
 * Each undivided step begins with a minor collection. After it nothing is young and every
 * logged object has been followed; only the objects found by that are left to mark. If
 * they are many (the program can move objects out of sight), the step ends there and is
 * tried again after further slices. Then weak tables and finalizers are settled. When
 * objects with finalizers have died, that takes more than one such step: dead objects are
 * found a bounded number at a time, and what they refer to is marked in slices before
 * weak keys are examined.
 *
 * Large tables, prototypes and deep threads are put on Gc.partial and scanned Gc.piece
 * slots at a time; the objects found are scanned before the next piece, so the mark stack
 * stays small and a slice short.
 *
 * Work is measured in bytes of the objects and parts scanned, plus OBJECT_WORK for each
 * object, since a small one costs a cache miss.
 */
#include "gc_internal.h"

#include "gc.h"
#include "heap.h"
#include "thread.h"

#define VALUES_AT_ONCE 2048 /* weak values that are examined in an undivided step */
#define VALUES_IN_FRAME 512
#define ATOMIC_WORK ((size_t)512 << 10) /* of marking in an undivided step */

/* Sets which objects the fast paths of marking leave to the general one. In a hosted heap
 * all are left to it, since their lines are found by looking for the block. */
void gc_set_aside(Domain *d) {
  bool hosted = heap_is_hosted(&d->heap);
  d->gc.promote_aside = hosted ? GC_AWAITED | GC_YOUNG : GC_AWAITED;
  d->gc.grey_aside = hosted || !is_marking(d);
  d->gc.plain_string = hosted ? UINT8_MAX : TYPE_SHORT_STRING;
}

NOINLINE size_t gc_mark_aside(Domain *d, const void *p, size_t size) {
  if (heap_is_large(size)) {
    heap_large_promote(&d->heap, heap_large_of(p), d->gc.line_bit);
    return 0;
  }
  heap_mark_hosted(&d->heap, p, size, d->gc.line_bit);
  return size;
}

/* Marks a short string: half of all objects are short strings, and they refer to
 * nothing. */
ALWAYS_INLINE void mark_short_string(Domain *d, String *s) {
  size_t size = heap_round(offsetof(String, data) + s->short_len + 1u);
  s->gc ^= GC_MARK;
  heap_mark_lines(s, size, d->gc.line_bit);
  d->gc.object_bytes[SCAN_MAJOR] += size;
  d->gc.marked_bytes += size;
  d->gc.marked_strings++;
}

/* Marks a short string in a hosted heap. */
static void mark_hosted_string(Domain *d, String *s) {
  size_t size = string_bytes(s);
  s->gc ^= GC_MARK;
  d->gc.object_bytes[SCAN_MAJOR] += mark_memory(d, s, size);
  d->gc.marked_bytes += size;
  d->gc.marked_strings++;
}

static void make_any_grey(Domain *d, GCObject *o) {
  char *base;
  o->gc ^= GC_MARK;
  if (unlikely(o->gc & GC_AWAITED)) gc_reached(d, o, SCAN_MAJOR);
  size_t size = gc_object_extent(o, &base);
  d->gc.object_bytes[SCAN_MAJOR] += mark_memory(d, base, size);
  if (heap_is_large(size)) o->gc |= GC_LARGE;
  if (has_references(o)) GC_PUSH_GREY(d, o); /* counted when scanned */
  else d->gc.marked_bytes += size;
}

static NOINLINE void make_grey_aside(Domain *d, GCObject *o) {
  if (o->type == TYPE_SHORT_STRING) mark_hosted_string(d, (String *)o);
  else if (is_marking(d) || o->type == TYPE_LONG_STRING) make_any_grey(d, o);
}

/* Marks an old white object and makes it grey if it refers to others. When marking is
 * over, white objects are dead. A minor marking may still reach one, in a table that was
 * an ephemeron table when it was marked and has yet to be cleared; such an object is
 * ignored. Dead strings are brought back elsewhere (gc_resurrect_string). */
void gc_make_grey(Domain *d, GCObject *o) {
  if (o->type == d->gc.plain_string) {
    mark_short_string(d, (String *)o);
    return;
  }
  if (unlikely(d->gc.grey_aside)) {
    make_grey_aside(d, o);
    return;
  }
  if (o->type == LUA_TTABLE) {
    o->gc ^= GC_MARK;
    if (unlikely(o->gc & GC_AWAITED)) gc_reached(d, o, SCAN_MAJOR);
    heap_mark_lines(o, sizeof(Table), d->gc.line_bit);
    d->gc.object_bytes[SCAN_MAJOR] += sizeof(Table);
    GC_PUSH_GREY(d, o);
    return;
  }
  make_any_grey(d, o);
}

void gc_regrey(Domain *d, GCObject *o) { GC_PUSH_GREY(d, o); }

void gc_start_marking(Domain *d) {
  Gc *gc = &d->gc;
  gc->mark_sense ^= GC_MARK;
  gc->line_bit ^= 3;
  gc->marking_mask = GC_CLEAN;
  gc_set_aside(d);
  gc->marked_bytes = gc->object_bytes[SCAN_MAJOR] = gc->part_bytes[SCAN_MAJOR] = 0;
  gc->code_bytes[SCAN_MAJOR] = gc->stack_bytes[SCAN_MAJOR] = gc->revived_bytes = 0;
  gc->marked_strings = 0;
  gc->grey.n = gc->partial.n = 0;
  gc_forget_overflowed_major(d);
  gc_forget_weak_major(d);
  gc_forget_awaited(d, SCAN_MAJOR);
  rt_assert(gc->clearing.n == 0);
  gc_sift_start(d);
  gc_scan_roots_major(d);
}

/* Looks for more to mark when nothing is grey. Returns the work done, 0 if nothing is
 * left. */
static size_t look_further(Domain *d) {
  size_t work = gc_refill_grey(d);
  if (work == 0) work = gc_follow_reached(d, SCAN_MAJOR);
  if (work == 0) work = gc_settle_weak_piece(d);
  return work > 0 ? work : gc_sift_finalizable(d);
}

bool gc_mark_some(Domain *d, size_t work) {
  Gc *gc = &d->gc;
  size_t done = 0, look = GC_LOOK_WORK, bytes;
  while (done < work) {
    if (unlikely(done >= look)) {
      if (gc_time_is_up(gc)) break;
      look = done + GC_LOOK_WORK;
    }
    if (gc->grey.n > 0 || gc->partial.n > 0) {
      bytes =
          gc->grey.n > 0 ? gc_scan_major(d, gc->grey.items[--gc->grey.n]) : gc_scan_piece_major(d);
      gc->marked_bytes += bytes;
    } else if ((bytes = look_further(d)) == 0) {
      break;
    }
    done += bytes + OBJECT_WORK;
  }
  gc->slice_work += done;
  gc->step_work += done;
  return !gc_has_grey(gc) && !gc_any_reached(gc) && !gc_weak_noted(gc) &&
         gc->sifted_from >= gc->finalizable_old;
}

/* ---- the end of marking -------------------------------------------------- */

/* Marks until white objects are dead: unreachable except through weak references. Returns
 * false if the program had hidden so much that marking must go on in slices first.
 * Marking ends nevertheless, since marked objects stay marked. */
static bool reach_exactly(Domain *d, bool divided) {
  bool in_frame = divided && d->gc.deadline != 0;
  size_t most = in_frame ? GC_QUANTUM : GC_MINOR_WORK, work = in_frame ? GC_QUANTUM : ATOMIC_WORK;
  most = divided ? d->gc.step_work + most : SIZE_MAX;
  /* a minor collection follows the roots for the major marking too */
  if (!gc_minor_some(d, EV_REASON_ATOMIC, most)) return false;
  if (in_frame && !gc_unit_begins(&d->gc, d->gc.phase, 0)) return false;
  return gc_mark_some(d, divided ? work : SIZE_MAX);
}

/* Forgets threads that are dead. Of those that do not run, a minor collection leaves in
 * the list only threads that a call has interrupted. An error may have ended that
 * call. */
static void forget_dead_threads(Domain *d) {
  lua_State *co = d->gc.remembered_threads, *next;
  d->gc.remembered_threads = NULL;
  d->gc.remembered_threads_n = 0;
  for (; co != NULL; co = next) {
    next = co->next_remembered;
    if (is_marked(d, co)) gc_remember_thread(d, co);
  }
}

static void end_marking(Domain *d) {
  forget_dead_threads(d);
  gc_queue_found(d);
  gc_sift_end(d);
  d->gc.marking_mask = 0;
  gc_set_aside(d);
  d->heap.live_bytes = d->gc.object_bytes[SCAN_MAJOR] + d->gc.part_bytes[SCAN_MAJOR];
  d->gc.code = d->gc.code_bytes[SCAN_MAJOR];
  d->gc.stacks = d->gc.stack_bytes[SCAN_MAJOR];
}

/* Removes entries whose values cannot be reached at that moment, some at each step. The
 * program may read other values in between: they are alive then, and reach_exactly marks
 * them. */
static bool clear_values(Domain *d, size_t most) {
  Gc *gc = &d->gc;
  size_t before = gc->step_work;
  PROBE_BEGIN(d, WEAK);
  size_t at_once = gc->deadline != 0 ? VALUES_IN_FRAME : VALUES_AT_ONCE;
  bool done = gc_clear_some_values(d, most == SIZE_MAX ? SIZE_MAX : at_once);
  PROBE_END(d, WEAK);
  gc->slice_work += gc->step_work - before; /* so the next such step gets its own slice */
  return done;
}

/* Clears weak values and finds dead objects with finalizers, in the order of the
 * language. Objects that only dead objects with finalizers refer to are removed from weak
 * values before these are resurrected, and from weak keys afterwards (GC_PHASE_CLEAR).
 * Weak values noted after the first clearing lose their entries if the resurrection has
 * not marked them. */
static GcPhase separate_dead(Domain *d, size_t most) {
  Gc *gc = &d->gc;
  if (!gc->weak_left.first_done && !(gc->weak_left.first_done = clear_values(d, most)))
    return GC_PHASE_SEPARATE;
  if (!gc_separate_some(d, most)) return GC_PHASE_SEPARATE;
  if (gc->revived < gc->found.n || gc_has_grey(gc)) return GC_PHASE_REVIVE;
  if (!clear_values(d, most)) return GC_PHASE_SEPARATE;
  end_marking(d);
  return GC_PHASE_CLEAR;
}

GcPhase gc_mark_atomic(Domain *d, size_t most) {
  GcPhase next = GC_PHASE_MARK;
  PROBE_BEGIN(d, MARK_ATOMIC);
  if (reach_exactly(d, most != SIZE_MAX)) next = separate_dead(d, most);
  PROBE_END(d, MARK_ATOMIC);
  return next;
}

/* Takes a further undivided step. The program ran since the last one and may have got
 * hold of a dead object, as a key of a weak table: the object is alive then. */
GcPhase gc_mark_separate(Domain *d, size_t most) {
  PROBE_BEGIN(d, MARK_ATOMIC);
  GcPhase next = reach_exactly(d, most != SIZE_MAX) ? separate_dead(d, most) : GC_PHASE_REVIVE;
  PROBE_END(d, MARK_ATOMIC);
  return next;
}

GcPhase gc_mark_revive(Domain *d, size_t work) {
  size_t before = d->gc.marked_bytes;
  bool done = gc_revive_some(d, work) && gc_mark_some(d, work);
  d->gc.revived_bytes += d->gc.marked_bytes - before;
  return done ? GC_PHASE_SEPARATE : GC_PHASE_REVIVE;
}
