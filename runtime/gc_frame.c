/* SPDX-License-Identifier: MIT */
/* runtime/gc_frame.c: collecting until a deadline.
 *
 * gc_frame does what is left to do in units, each of about GC_QUANTUM of work, and reads the
 * clock between them. A unit is begun if the longest that one of its kind took lately fits
 * into the time that is left. So the frame does not exceed its time, unless a unit takes
 * longer than any before it, or the system takes the processor away.
 *
 *   unit      a quantum of a minor marking; its roots; its end; a quantum of a phase of the
 *             cycle; a few finalizers
 *   estimate  Gc.unit_ns, a maximum that shrinks: by a 64th of the difference with each
 *             shorter unit, by an eighth when a whole frame was too short for it. What a
 *             unit lost to other threads counts up to MOST_UNIT_NS only.
 *
 * The end of a minor collection takes the time of what it has to free at once, which is known
 * before (gc_minor.c). The undivided steps at the end of marking begin when nothing is young
 * and nothing grey: the frame has seen to that first, and no program runs in between.
 *
 * A frame begins a minor collection when it is worth one (WORTH_PART), and a cycle when one
 * is due. It does this also while the collector is stopped.
 */
#include "clock.h"
#include "gc.h"
#include "gc_internal.h"
#include "gc_time.h"
#include "heap.h"
#include "thread.h"

#define FIRST_UNIT_NS 30000 /* the estimate before anything was measured */
#define MOST_UNIT_NS 300000
#define LEAVE_NS 5000 /* for the way out of the collector */
#define WORTH_PART 8  /* of a nursery */
#define FINALIZERS_AT_ONCE 4

/* ---- time ---------------------------------------------------------------- */

static void measure_unit(Gc *gc, uint64_t ns) {
  uint32_t *known = &gc->unit_ns[gc->unit];
  if (gc->unit == GC_UNIT_END) return; /* takes as long as it has to look through */
  if (ns > MOST_UNIT_NS) ns = MOST_UNIT_NS;
  if (ns >= *known) *known = (uint32_t)ns;
  else *known -= (*known - (uint32_t)ns) / 64;
}

bool gc_unit_begins(Gc *gc, GcUnit unit, uint64_t least_ns) {
  uint64_t now = monotonic_ns();
  if (gc->unit != GC_UNIT_NONE) measure_unit(gc, now - gc->unit_begun);
  gc->unit = GC_UNIT_NONE;
  uint64_t needed = gc->unit_ns[unit] > least_ns ? gc->unit_ns[unit] : least_ns;
  if (now + needed + LEAVE_NS > gc->deadline) {
    if (gc->units_done == 0) gc->unit_ns[unit] -= gc->unit_ns[unit] / 8;
    return false;
  }
  gc->unit = (uint8_t)unit;
  gc->unit_begun = now;
  gc->units_done++;
  return true;
}

NOINLINE bool gc_piece_goes_on(Gc *gc) {
  if (!gc_unit_begins(gc, GC_UNIT_MINOR, 0)) return false;
  gc->minor_most = gc_work_done(gc) + GC_QUANTUM;
  return true;
}

static void begin_frame(Gc *gc, uint64_t ns) {
  gc->deadline = monotonic_ns() + ns;
  gc->unit = GC_UNIT_NONE;
  gc->units_done = 0;
  gc->step_work = 0;
}

/* ---- the work of a frame ------------------------------------------------- */

static bool is_worth_a_minor(const Domain *d) {
  const Gc *gc = &d->gc;
  return gc->minor_begun || heap_debt(&d->heap) >= gc->nursery_bytes / WORTH_PART;
}

static bool is_cycle_left(const Domain *d) {
  return d->gc.phase != GC_PHASE_IDLE || gc_pace_cycle_is_due(d);
}

static bool is_work_left(const Domain *d) {
  return is_worth_a_minor(d) || gc_rest_is_left(d) || is_cycle_left(d) || d->gc.finalizers.n > 0;
}

/* False: there was no time for all of it. */
static bool collect_young(Domain *d) {
  if (!gc_unit_begins(&d->gc, GC_UNIT_MINOR, 0)) return false;
  return gc_minor_some(d, EV_REASON_FRAME, d->gc.step_work + GC_QUANTUM);
}

static bool finish_last_minor(Domain *d) {
  if (!gc_rest_is_left(d)) return true;
  return gc_unit_begins(&d->gc, GC_UNIT_MINOR, 0) &&
         gc_finish_last(d, EV_REASON_FRAME, d->gc.step_work + GC_QUANTUM);
}

static bool collect(Domain *d) {
  if (!finish_last_minor(d)) return false;
  if (is_worth_a_minor(d) && !collect_young(d)) return false;
  return !is_cycle_left(d) || gc_slice_until_deadline(d, EV_REASON_FRAME);
}

static void run_finalizers(lua_State *L) {
  Gc *gc = &L->domain->gc;
  while (gc->finalizers.n > 0 && gc_unit_begins(gc, GC_UNIT_FINALIZERS, 0))
    gc_run_finalizers(L, FINALIZERS_AT_ONCE);
}

void gc_frame_init(Gc *gc) {
  for (int i = 0; i < GC_UNIT_NONE; i++) gc->unit_ns[i] = FIRST_UNIT_NS;
}

bool gc_frame(lua_State *L, uint64_t ns) {
  Domain *d = L->domain;
  Gc *gc = &d->gc;
  gc_time_record(d); /* so that what was off the processor is known of each frame of the program */
  if (gc->running || ns == 0) return is_work_left(d);
  begin_frame(gc, ns);
  gc_enter(L);
  collect(d);
  gc_pace_slice_done(d);
  gc_leave(L);
  run_finalizers(L);
  gc->deadline = 0;
  return is_work_left(d);
}
