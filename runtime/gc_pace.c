/* SPDX-License-Identifier: MIT */
/* runtime/gc_pace.c: when the collector works, and how much at a time.
 *
 * Debt is what allocation took since the last minor collection, plus a share for what the
 * next one must examine (heap_debt). A minor collection is due when the debt reaches the
 * nursery. While a cycle is active a slice is due each eighth of the nursery, so that a
 * minor collection and a slice never add up to one pause.
 *
 * Two measures say when a cycle begins and when it must have ended. Each has a threshold
 * and a goal, which follow from the end of the last cycle (L: the bytes of objects that
 * were live then, without what is wasted in their lines) and from the parameters. The
 * measure that is nearer its goal counts.
 *
 *   old        bytes of the lines of old objects. They may grow by p percent of L, or by
 *              LEAST_GROWTH if that is more; p is `major_mul` in generational mode,
 *              `pause` - 100 in incremental mode. This bounds the memory of every program
 *              in both modes. The goal is a part of that growth. It depends on how much
 *              of what was promoted since the cycle before has died. Where the heap only
 *              grows, a cycle finds nothing, so in a large heap the work is spread over
 *              most of the growth. Where the new replaces the old, or will once a small
 *              heap has grown up, the peak is as high as the goal, so the goal is nearer.
 *   allocated  bytes ever allocated, in incremental mode only: a cycle begins when p
 *              percent of L have been allocated since the last one, and is to end after
 *              as much again, so that dead objects are found and finalized even when
 *              nothing grows.
 *
 * A slice does a share of the work that is left in the cycle (marking and sweeping): the
 * growth of the measure since the last slice, as a share of what was left until the goal.
 * What exceeds MOST_SLICE stays in the backlog.
 *
 * The bound. Slices come twice as often when they would not end the cycle within it. A
 * cycle that has not ended when the old bytes have grown by all that they may
 * (Gc.most_old), and by the largest part that a table got in the meantime, is finished at
 * once (gc_pace_is_over), slice after slice, before the program goes on. The bytes that
 * are not old were taken since the last minor collection: at most a nursery, the
 * allocation that exceeded it, the very large object that is no debt yet, and what a
 * table grew by while nothing new was made (GcDue). doc/COLLECTOR.md has what follows,
 * and the proof; debug builds assert it after each step (gc_pace_verify).
 *
 * Large allocations. One that adds 1 MiB or more to the debt makes more work due at once
 * than a step has time for: a byte of the minor collection under way for each byte of
 * that debt, and two bytes of the cycle for each byte beyond the trigger, at most
 * SLICES_AT_ONCE * MOST_SLICE. The growth of a part in use counts for the cycle only,
 * since no collection would free it. The step takes up to STEP_NS longer, for a program
 * that makes nothing small, and the rest is carried over (Gc.overdue_minor,
 * Gc.overdue_cycle): steps come twice as often until it is paid, by half of what each
 * does. A step does at least 64 KiB of a minor collection for LEAST_INTERVAL / 2 of
 * debt, sixteen bytes for each, so W bytes are paid before W / 8 more were allocated in
 * small objects. Memory stays within its bound:
 *
 *   minor   What is old or was taken since the last minor collection is U bytes, and
 *           most_old - U is the room that is left. At most a half of the room may be
 *           overdue, or what the last allocation has made due, if it fits into the room.
 *           Each overdue byte keeps at most one byte longer that would have been freed,
 *           so U stays below most_old while anything is carried over.
 *   cycle   Slices are carried over as long as the cycle can still end before
 *           gc_pace_is_over, with LATE_WORK bytes of work for each byte of debt.
 *
 * What exceeds that is done at once, whatever time it takes: an allocation stall. So is
 * all of it while L is below SMALL_HEAP: little work, and much memory by comparison.
 *
 * The program's share. Until a cycle is over the collector does at most MOST_SLICE of
 * work for each eighth of a nursery (a part of it when it is late or work is overdue),
 * and for a large allocation twice its size, within SLICES_AT_ONCE times MOST_SLICE.
 */
#include "gc_internal.h"

#include "clock.h"
#include "gc.h"
#include "gc_inline.h"
#include "heap.h"
#include "memprof.h"

#define NURSERY_MIN ((size_t)64 << 10)
#define NURSERY_MAX ((size_t)64 << 20)
/* The default nursery of the incremental mode begins with NURSERY_FIRST bytes. A minor
 * collection that examines more than a part of them enlarges it by a part, up to
 * GC_NURSERY. */
#define NURSERY_FIRST ((size_t)128 << 10)
#define NURSERY_WORK_PART 8
#define NURSERY_GROWTH_PART 8
#define SLICES_PER_NURSERY 8
#define LEAST_INTERVAL ((size_t)8 << 10) /* least debt after a slice cut short */
/* Part of the nursery, as debt, after which more is reclaimed of what a minor collection
 * has left. */
#define REST_PART 64
/* A minor collection may be overdue by half of the room that is left up to
 * Gc.most_old. */
#define OVERDUE_PART 2
#define LATE_WORK 8 /* times the debt; what slices do that come as often as they may */
#define SLICES_AT_ONCE 8 /* for one large allocation */
#define STEP_NS 100000 /* CPU time after which a step begins no more work */
#define SMALL_STEP_NS 250000 /* in a small heap: a nursery's survivors are one step */
#define SPREAD 4 /* slices that work off most of the backlog */
#define INTERVAL_MOST ((size_t)128 << 10)  /* bytes of debt between two slices */
#define LEAST_GROWTH ((size_t)2 << 20)     /* old bytes that a small heap may grow by */
#define LEAST_ROOM ((size_t)4 << 20)       /* bytes allocated between two cycles */
/* The parts of the allowed growth at which a cycle begins and has its goal. STEADY holds
 * where all that is promoted dies, GROWING where nothing does. */
#define BEGIN_PART 0.125
#define GOAL_STEADY_SMALL 0.25
#define GOAL_STEADY_LARGE 0.75
#define GOAL_GROWING_SMALL 0.5
#define GOAL_GROWING_LARGE 0.875
/* bytes of live objects that are in the cache: a cycle takes a few ms */
#define SMALL_HEAP ((double)(8 << 20))
/* bytes of live objects whose cycle takes as long as the 100 ms of the program's share */
#define LARGE_HEAP ((double)(32 << 20))
#define LEAST_SLICE GC_LEAST_SLICE
#define MOST_SLICE GC_MOST_SLICE
/* bytes of cycle work in a step that the program asks for */
#define LEAST_STEP ((size_t)2 << 10)
/* in generational mode, an eighth of the bytes asked for is cycle work */
#define STEP_SHARE 8

static size_t percent(size_t bytes, int p) { return bytes / 100 * (size_t)(p > 0 ? p : 0); }

/* ---- measures and goals -------------------------------------------------- */

static size_t total_allocated(const Domain *d) {
  return d->heap.allocated_bytes + heap_taken(&d->heap);
}

static void set_goal(GcGoal *g, size_t threshold, size_t goal) {
  g->threshold = threshold;
  g->goal = goal;
}

static double interpolate(double from, double to, double part) { return from + (to - from) * part; }

/* Returns the part of the growth by which a cycle is to have ended. */
static double goal_part(const Gc *gc) {
  double large = ((double)gc->live_bytes - SMALL_HEAP) / (LARGE_HEAP - SMALL_HEAP);
  large = large < 0 ? 0 : large > 1 ? 1 : large;
  return interpolate(interpolate(GOAL_GROWING_SMALL, GOAL_GROWING_LARGE, large),
                     interpolate(GOAL_STEADY_SMALL, GOAL_STEADY_LARGE, large), gc->death_rate);
}

/* Sets thresholds and goals. Some of what was promoted during the cycle is probably dead:
 * its estimated bytes are taken from the allowed growth, up to half of that growth. */
void gc_pace_set_goals(Domain *d) {
  Gc *gc = &d->gc;
  bool generational = gc->mode == GC_MODE_GENERATIONAL;
  int p = generational ? gc->major_mul : gc->pause - 100;
  size_t room = percent(gc->live_bytes, p), sure = percent(gc->live_bytes - gc->unsure_bytes, p);
  size_t growth = sure > gc->unsure_bytes + sure / 2 ? sure - gc->unsure_bytes : sure / 2;
  if (room < LEAST_ROOM) room = LEAST_ROOM;
  if (growth < LEAST_GROWTH) growth = LEAST_GROWTH;
  set_goal(&gc->by_old, gc->by_old.base + (size_t)((double)growth * BEGIN_PART),
           gc->by_old.base + (size_t)((double)growth * goal_part(gc)));
  gc->most_old = gc->by_old.base + growth;
  if (generational) set_goal(&gc->by_allocated, SIZE_MAX, SIZE_MAX);
  else set_goal(&gc->by_allocated, gc->by_allocated.base + room, gc->by_allocated.base + 2 * room);
}

/* Estimates the share of what was promoted since the last cycle that has died, from the
 * bytes that this cycle freed: 0 if the heap grows, 1 if the new replaces the old. */
static double death_rate(const Domain *d) {
  const Gc *gc = &d->gc;
  size_t promoted = gc->stats.promoted_bytes - gc->promoted_at_end,
         before = gc->by_old.base + promoted;
  size_t now = heap_old_bytes(&d->heap), freed = before > now ? before - now : 0;
  return freed >= promoted ? 1.0 : (double)freed / (double)promoted;
}

/* Ends a cycle. What finalizers kept alive dies in the next cycle, so it gives no room
 * for growth: otherwise a program whose objects all have finalizers would take more with
 * every cycle. */
void gc_pace_end_cycle(Domain *d) {
  Gc *gc = &d->gc;
  gc->death_rate = death_rate(d);
  size_t likely_dead =
      (size_t)((double)(gc->stats.promoted_bytes - gc->promoted_before) * gc->death_rate);
  size_t found = d->heap.live_bytes + d->heap.old_large_bytes;
  gc->promoted_at_end = gc->stats.promoted_bytes;
  d->heap.largest_part = 0;
  gc->by_old.base = heap_old_bytes(&d->heap);
  gc->by_allocated.base = total_allocated(d);
  gc->live_bytes = found > gc->revived_bytes ? found - gc->revived_bytes : 0;
  gc->unsure_bytes = likely_dead < gc->live_bytes ? likely_dead : gc->live_bytes;
  gc_pace_set_goals(d);
}

bool gc_pace_cycle_is_due(const Domain *d) {
  return heap_old_bytes(&d->heap) >= d->gc.by_old.threshold ||
         total_allocated(d) >= d->gc.by_allocated.threshold;
}

void gc_pace_begin_cycle(Domain *d) {
  d->gc.by_old.paced = heap_old_bytes(&d->heap);
  d->gc.by_allocated.paced = total_allocated(d);
  d->gc.promoted_before = d->gc.stats.promoted_bytes;
  d->gc.live_at_begin = d->heap.live_bytes;
  d->gc.backlog = 0;
}

/* Tells whether the old bytes exceed their bound. A rehashed table gets a part of twice
 * the size at once: a cycle need not make up for that within one step. */
bool gc_pace_is_over(const Domain *d) {
  return heap_old_bytes(&d->heap) > d->gc.most_old + d->heap.largest_part;
}

static void lower_measure(size_t *measure, size_t bytes) {
  *measure -= bytes < *measure ? bytes : *measure;
}

/* Lowers the measures by bytes that were old when the last cycle ended. No room was given
 * in proportion to these bytes, so their release gives no room to others. */
void gc_pace_lower(Domain *d, size_t bytes) {
  Gc *gc = &d->gc;
  lower_measure(&gc->by_old.threshold, bytes);
  lower_measure(&gc->by_old.goal, bytes);
  lower_measure(&gc->by_old.base, bytes);
  lower_measure(&gc->by_old.paced, bytes);
  lower_measure(&gc->most_old, bytes);
}

/* Returns how many bytes old objects grow by from the begin of a cycle to its goal. */
size_t gc_pace_room(const Domain *d) { return d->gc.by_old.goal - d->gc.by_old.threshold; }

/* ---- the work of a slice ------------------------------------------------- */

static size_t least_slice(const Gc *gc) {
  size_t least = gc->mode == GC_MODE_INCREMENTAL ? percent(LEAST_SLICE, gc->stepmul) : LEAST_SLICE;
  return least < 1024 ? 1024 : least > MOST_SLICE ? MOST_SLICE : least;
}

/* Returns the work left in the cycle. Objects promoted during the cycle are marked at
 * promotion; the growth of large parts is not. Small objects cost more than their bytes,
 * so a quarter is added. Memory outside the heap is nothing to mark. */
static size_t work_left(const Domain *d) {
  const Gc *gc = &d->gc;
  size_t known = gc->live_at_begin + d->heap.old_large_bytes, external = d->heap.external_bytes,
         mark = 0;
  known -= external < known ? external : known;
  if (gc->phase < GC_PHASE_CLEAR && known > gc->marked_bytes) mark = known - gc->marked_bytes;
  return mark + mark / 4 + gc_sweep_work(d);
}

/* Returns the growth of the measure since the last slice, as a share of what was left
 * until the goal. */
static double advance_goal(GcGoal *g, size_t now) {
  size_t grown = now > g->paced ? now - g->paced : 0,
         left = g->goal > g->paced ? g->goal - g->paced : 0;
  g->paced = now;
  return grown >= left ? 1.0 : (double)grown / (double)left;
}

/* Tells whether slices every `part` bytes of debt would fail to end the cycle before
 * gc_pace_is_over. */
static bool is_late(const Domain *d, size_t part) {
  size_t old = heap_old_bytes(&d->heap), left = old < d->gc.most_old ? d->gc.most_old - old : 0;
  return work_left(d) / MOST_SLICE > left / part;
}

static bool is_slice_overdue(const Gc *gc) {
  return gc->overdue_cycle > 0 && gc->phase != GC_PHASE_IDLE && gc->backlog >= MOST_SLICE;
}

bool gc_pace_is_overdue(const Gc *gc) {
  return gc->minor_begun ? gc->overdue_minor > 0 : is_slice_overdue(gc);
}

static size_t slice_interval(const Domain *d) {
  size_t part = d->gc.nursery_bytes / SLICES_PER_NURSERY;
  if (part > INTERVAL_MOST) part = INTERVAL_MOST;
  if (is_late(d, part)) part /= 2;
  return gc_pace_is_overdue(&d->gc) ? part / 2 : part;
}

/* Returns the work of the next slice. Old objects grow at minor collections, and the
 * first slices after a minor collection work that growth off: there are no slices during
 * a divided one. */
size_t gc_pace_slice(Domain *d) {
  Gc *gc = &d->gc;
  double by_old = advance_goal(&gc->by_old, heap_old_bytes(&d->heap)),
         by_allocated = advance_goal(&gc->by_allocated, total_allocated(d));
  double added = (by_old > by_allocated ? by_old : by_allocated) * (double)work_left(d);
  gc->backlog +=
      gc->mode == GC_MODE_INCREMENTAL ? percent((size_t)added, gc->stepmul) : (size_t)added;
  size_t work = gc->backlog / SPREAD, least = least_slice(gc);
  if (work < least) work = least;
  if (work > MOST_SLICE) work = MOST_SLICE;
  gc->backlog -= work < gc->backlog ? work : gc->backlog;
  return work;
}

/* Returns the cycle's work for collectgarbage("step", kib). In generational mode the
 * minor collection is the step: most of what is allocated dies there and is no work for
 * the cycle. */
size_t gc_pace_step(const Domain *d, size_t kib) {
  if (d->gc.mode == GC_MODE_GENERATIONAL)
    return kib > 0 ? percent(kib << 10, d->gc.stepmul) / STEP_SHARE : LEAST_STEP;
  return kib > 0 ? percent(kib << 10, d->gc.stepmul) : least_slice(&d->gc);
}

/* ---- when ---------------------------------------------------------------- */

/* Sets when the next slice is due after one that was cut short. Work and debt stay in
 * proportion, which is all that the proofs above need. Twice as much work makes up for
 * the time in which slices wait for pieces of minor collections. */
void gc_pace_cut(Domain *d, size_t done, size_t wanted) {
  size_t interval = slice_interval(d) / 2,
         least = gc_pace_is_overdue(&d->gc) ? LEAST_INTERVAL / 2 : LEAST_INTERVAL;
  if (done < wanted) interval = (size_t)((double)interval * (double)done / (double)wanted);
  if (interval < least) interval = least;
  d->gc.slice_at = heap_debt(&d->heap) + interval;
}

void gc_pace_rest_done(Domain *d) {
  size_t interval = d->gc.nursery_bytes / REST_PART;
  d->gc.rest_at = heap_debt(&d->heap) + (interval < LEAST_INTERVAL ? LEAST_INTERVAL : interval);
}

/* ---- large allocations --------------------------------------------------- */

static uint32_t add_kib(uint32_t kib, size_t bytes) {
  size_t sum = kib + (bytes >> 10);
  return sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
}

static uint32_t less_kib(uint32_t kib, size_t bytes) {
  return bytes >> 10 < kib ? kib - (uint32_t)(bytes >> 10) : 0;
}

static bool carries_over(const Gc *gc) { return (double)gc->live_bytes >= SMALL_HEAP; }

size_t gc_pace_debt(const Domain *d) {
  return heap_debt(&d->heap) - (carries_over(&d->gc) ? d->heap.growing_bytes : 0);
}

size_t gc_pace_owe(Domain *d, size_t excess, size_t debt) {
  Gc *gc = &d->gc;
  size_t pieces = gc->minor_begun ? debt / GC_MINOR_PIECE : 0, slices = 2 * excess / MOST_SLICE;
  if (slices > SLICES_AT_ONCE) slices = SLICES_AT_ONCE;
  if (slices < 2) slices = 0; /* the step that was due is worth as much */
  gc->overdue_minor = gc->minor_begun ? add_kib(gc->overdue_minor, pieces * GC_MINOR_PIECE) : 0;
  gc->overdue_cycle = add_kib(gc->overdue_cycle, slices * MOST_SLICE);
  if (!is_slice_overdue(gc)) gc->overdue_cycle = 0;
  return pieces * GC_MINOR_PIECE;
}

bool gc_pace_pays_now(const Domain *d, size_t own) {
  const Gc *gc = &d->gc;
  if (!carries_over(gc)) return gc_pace_is_overdue(gc);
  if (!gc->minor_begun) return is_slice_overdue(gc) && is_late(d, MOST_SLICE / LATE_WORK);
  size_t used = heap_old_bytes(&d->heap) + heap_taken(&d->heap),
         room = used < gc->most_old ? gc->most_old - used : 0, most = room / OVERDUE_PART;
  if (most < own && own <= room) most = own;
  return (size_t)gc->overdue_minor << 10 > most;
}

void gc_pace_pay(Gc *gc, size_t work) {
  if (gc->minor_begun) gc->overdue_minor = less_kib(gc->overdue_minor, work);
  else gc->overdue_cycle = less_kib(gc->overdue_cycle, work);
}

/* ---- time ---------------------------------------------------------------- */

void gc_time_starts(Domain *d) {
  Gc *gc = &d->gc;
  bool small = heap_old_bytes(&d->heap) < (size_t)LARGE_HEAP;
  gc->step_until = monotonic_ns() + (small ? SMALL_STEP_NS : STEP_NS);
  gc->step_off_cpu = eventring_off_cpu_begin();
}

bool gc_time_goes_on(Gc *gc) {
  if (gc->step_until == 0) return false;
  gc->step_until += STEP_NS;
  return !gc_time_passed_by(gc);
}

/* Tells whether the step's time is up. Time for which the thread was off the processor
 * does not count. */
NOINLINE bool gc_time_passed_by(const Gc *gc) {
  uint64_t now = monotonic_ns();
  if (now < gc->step_until) return false;
  uint64_t off_cpu = gc->step_off_cpu != 0 ? eventring_off_cpu_since(gc->step_off_cpu) : 0;
  if (now < gc->step_until + off_cpu) return false;
  return true;
}

void gc_pace_slice_done(Domain *d) { d->gc.slice_at = heap_debt(&d->heap) + slice_interval(d); }

/* Returns the debt at which a step is due while no minor collection is under way. */
static size_t earliest(const Domain *d) {
  const Gc *gc = &d->gc;
  size_t at = gc->nursery_bytes;
  if (gc->phase != GC_PHASE_IDLE && gc->slice_at < at) at = gc->slice_at;
  if (unlikely(gc_rest_is_left(d)) && gc->rest_at < at) at = gc->rest_at;
  return at;
}

void gc_set_trigger(Domain *d) {
  Gc *gc = &d->gc;
  size_t debt = heap_debt(&d->heap);
  gc->trigger = gc->nursery_bytes;
  if (gc->stopped) gc->trigger = SIZE_MAX;
  else if (gc->minor_begun) gc->trigger = gc->slice_at;
  else gc->trigger = earliest(d);
  size_t recollect_at = d->heap.recollect_at;
  if (unlikely(recollect_at != 0) && recollect_at < gc->trigger) gc->trigger = recollect_at;
  bool empty = gc->emergency && gc->memory_due; /* nothing is allocated: no error */
  bool now = (gc->emergency && !empty) || (gc->finalizers.n > 0 && !gc->stopped) ||
             unlikely(memprof_is_due(d));
  gc->pending = now ? GC_DUE : empty ? GC_DUE_WITH_NEW : gc_due(gc, &d->heap, debt);
}

/* Returns the nursery's size before it is limited to [*least, *most]. In generational
 * mode the default minor_mul, 20, gives the default nursery. */
static size_t suitable_nursery(const Gc *gc, size_t *least, size_t *most) {
  bool generational = gc->mode == GC_MODE_GENERATIONAL;
  *least = generational || GC_NURSERY < NURSERY_FIRST ? NURSERY_MIN : NURSERY_FIRST;
  *most = generational ? NURSERY_MAX : GC_NURSERY;
  if (!generational) return gc->grown_nursery;
  return GC_NURSERY / 20 * (size_t)(gc->minor_mul > 0 ? gc->minor_mul : 1);
}

void gc_pace_set_nursery(Gc *gc) {
  size_t least, most, bytes = suitable_nursery(gc, &least, &most);
  gc->nursery_bytes = bytes < least ? least : bytes > most ? most : bytes;
}

/* Grows the nursery after a minor collection that examined much. A minor collection costs
 * 6,000 instructions and the work on what it examines. Where that is little, a small
 * nursery is cheap, and the program touches little memory. Where much survives or is
 * written to, a larger nursery shares the cost among more objects. It does not shrink.
 * The work is counted in bytes, not in time, so the size does not depend on the speed of
 * the machine. */
void gc_pace_grow_nursery(Gc *gc) {
  size_t work = gc->minor_work, nursery = gc->nursery_bytes;
  gc->minor_work = 0;
  if (gc->mode == GC_MODE_GENERATIONAL || work <= nursery / NURSERY_WORK_PART) return;
  gc->grown_nursery = nursery + nursery / NURSERY_GROWTH_PART;
  gc_pace_set_nursery(gc);
}

/* Asserts the bound (top of this file) after a step of the collector, and that no work on
 * a minor collection is overdue when none is under way. */
void gc_pace_verify(const Domain *d) {
  rt_assert(!gc_pace_is_over(d));
  rt_assert(d->gc.minor_begun || d->gc.overdue_minor == 0);
  (void)d;
}
