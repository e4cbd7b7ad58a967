/* SPDX-License-Identifier: MIT */
/* runtime/gc_frame.c: collecting until a deadline.
 *
 * gc_frame does the work that is left in units, each of about GC_QUANTUM of work, and
 * reads the clock between units. It begins a unit if the longest recent unit of the same
 * kind fits into the time that is left. So the frame does not exceed its time, unless a
 * unit takes longer than any before it, or the system takes the processor away.
 *
 *   unit      a quantum of a minor marking; its roots; its end; a quantum of a phase of
 *             the cycle; or a few finalizers
 *   estimate  Gc.unit_ns, the CPU time of the longest unit of a kind. It shrinks between
 *             frames, never within one: by an eighth of its difference to the longest
 *             unit of the last frame that had one of this kind. It also shrinks by an
 *             eighth if half a frame was too short for the unit, which might never begin
 *             otherwise. So the longest unit is remembered for some dozens of frames.
 *             Where CPU time is not measured, wall time up to MOST_UNIT_NS counts.
 *   pieces    large parts are scanned GC_FRAME_PIECE elements at a time, not GC_PIECE
 *             (Gc.piece): each element may be two cache misses, and 1024 elements took
 *             0.1 to 0.4 ms.
 *
 * The end of a minor collection takes as long as the memory that it frees at once needs,
 * which is known in advance (gc_minor.c). The undivided steps at the end of marking begin
 * when nothing is young and nothing grey: the frame has done that work first, and the
 * program does not run in between.
 *
 * A frame begins a minor collection when it is worth one (WORTH_PART), and a cycle when
 * one is due. It does this also while the collector is stopped.
 */
#include "clock.h"
#include "gc.h"
#include "gc_internal.h"
#include "gc_time.h"
#include "heap.h"
#include "thread.h"

#define FIRST_UNIT_NS 30000 /* the estimate before anything was measured */
#define MOST_UNIT_NS 300000
#define LEAVE_NS 5000 /* for leaving the collector */
#define WORTH_PART 8  /* a nursery's part that is worth a minor collection: one eighth */
#define FINALIZERS_AT_ONCE 4

/* ---- time ---------------------------------------------------------------- */

/* Returns the CPU time of the unit that runs, which has taken `ns` of wall time. Called
 * only for a unit that may raise an estimate, since it reads clocks. */
static uint32_t cpu_time_of_unit(const Gc *gc, uint64_t ns) {
  if (gc->unit_off_cpu == 0) return ns < MOST_UNIT_NS ? (uint32_t)ns : MOST_UNIT_NS;
  uint64_t off_cpu = eventring_off_cpu_since(gc->unit_off_cpu);
  ns -= off_cpu < ns ? off_cpu : ns;
  return ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

static void measure_unit(Gc *gc, uint64_t ns) {
  uint32_t *longest = &gc->frame_ns[gc->unit];
  /* no estimate for END: its time depends on what it examines */
  if (gc->unit == GC_UNIT_END || ns <= *longest) return;
  uint32_t cpu = cpu_time_of_unit(gc, ns);
  if (cpu > *longest) *longest = cpu;
  if (cpu > gc->unit_ns[gc->unit]) gc->unit_ns[gc->unit] = cpu;
}

/* Lowers the estimates towards the longest units of the last frame, which is over. */
static void forget_some(Gc *gc) {
  for (int i = 0; i < GC_UNIT_NONE; i++) {
    uint32_t *known = &gc->unit_ns[i], last = gc->frame_ns[i];
    if (last > 0 && last < *known) *known -= (*known - last + 7) / 8;
    gc->frame_ns[i] = 0;
  }
}

bool gc_unit_begins(Gc *gc, GcUnit unit, uint64_t least_ns) {
  uint64_t now = monotonic_ns();
  if (gc->unit != GC_UNIT_NONE) measure_unit(gc, now - gc->unit_begun);
  gc->unit = GC_UNIT_NONE;
  uint64_t needed = gc->unit_ns[unit] > least_ns ? gc->unit_ns[unit] : least_ns;
  if (now + needed + LEAVE_NS > gc->deadline) {
    bool is_long = needed > (gc->deadline - gc->frame_begun) / 2;
    if (is_long) gc->unit_ns[unit] -= gc->unit_ns[unit] / 8;
    return false;
  }
  gc->unit = (uint8_t)unit;
  gc->unit_begun = now;
  gc->unit_off_cpu = eventring_off_cpu_begin();
  return true;
}

static bool goes_on_in_frame(Gc *gc) {
  if (!gc_unit_begins(gc, GC_UNIT_MINOR, 0)) return false;
  gc_piece_ends_at(gc, gc_work_done(gc) + GC_QUANTUM);
  return true;
}

NOINLINE bool gc_piece_goes_on(Gc *gc) {
  size_t done = gc_work_done(gc);
  if (gc->deadline != 0) return goes_on_in_frame(gc);
  if (done >= gc->minor_most) return false;
  if (done >= gc->minor_least && gc_time_is_up(gc)) return false;
  gc_piece_ends_at(gc, gc->minor_most);
  return true;
}

static void begin_frame(Gc *gc, uint64_t ns) {
  gc->frame_begun = monotonic_ns();
  gc->deadline = gc->frame_begun + ns;
  gc->unit = GC_UNIT_NONE;
  gc->step_work = 0;
  gc->piece = GC_FRAME_PIECE;
  forget_some(gc);
}

static void end_frame(Gc *gc) {
  if (gc->unit != GC_UNIT_NONE) measure_unit(gc, monotonic_ns() - gc->unit_begun);
  gc->unit = GC_UNIT_NONE;
  gc->deadline = 0;
  gc->piece = GC_PIECE;
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

/* Runs a part of a minor collection; returns false if there was no time for all of it. */
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
  if (is_worth_a_minor(d) && !(collect_young(d) && finish_last_minor(d))) return false;
  return !is_cycle_left(d) || gc_slice_until_deadline(d, EV_REASON_FRAME);
}

static void run_finalizers(lua_State *L) {
  Gc *gc = &L->domain->gc;
  while (gc->finalizers.n > 0 && gc_unit_begins(gc, GC_UNIT_FINALIZERS, 0))
    gc_run_finalizers(L, FINALIZERS_AT_ONCE);
}

void gc_frame_init(Gc *gc) {
  gc->piece = GC_PIECE;
  for (int i = 0; i < GC_UNIT_NONE; i++) gc->unit_ns[i] = FIRST_UNIT_NS;
}

bool gc_frame(lua_State *L, uint64_t ns) {
  Domain *d = L->domain;
  Gc *gc = &d->gc;
  gc_time_record(d); /* time off the processor, by frames of the program */
  if (gc->running || ns == 0) return is_work_left(d);
  begin_frame(gc, ns);
  gc_enter(L);
  collect(d);
  gc_pace_slice_done(d);
  gc_leave(L);
  run_finalizers(L);
  end_frame(gc);
  return is_work_left(d);
}
