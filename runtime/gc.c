/* SPDX-License-Identifier: MIT */
/* runtime/gc.c: the collector's state machine and its steps.
 *
 * Overview
 * --------
 * The collector does not move objects. It is generational by sticky marks, with an
 * incremental major cycle. Invariants and rules for its users: gc.h. The heap: heap.c.
 * The parts:
 *
 *   gc_minor.c     minor collections: mark and promote what is young
 *   gc_mark.c      marking of the major cycle     gc_scan.c  what objects refer to
 *   gc_sweep.c     strings, large ones, blocks    gc_weak.c  weak tables
 *   gc_finalize.c  __gc                           gc_barrier.c  remembered set
 *   gc_external.c  memory outside the heap       gc_records.c  the arrays of records
 *   gc_pace.c      when, and how much at once    gc_overflow.c  records without room
 *   gc_frame.c     as much as there is time for
 *   gc_verify.c    the invariants as a program
 *
 * The major cycle goes through the phases of GC_PHASES (gc.h). Each has a function below
 * that returns the next phase. A slice runs phases until its work is done; minor
 * collections run between slices in every phase.
 *
 *   IDLE -> MARK -> ATOMIC [-> REVIVE -> SEPARATE ...] -> CLEAR -> SWEEP_STRINGS ->
 *   SWEEP_LARGE -> SWEEP_BLOCKS -> FINISH -> TRIM -> IDLE
 *
 * A step is what the program waits for at a gc_check: a minor collection or a slice.
 * gc_pace.c says when each is due and derives the bound on memory.
 *
 * Minor collections run in incremental mode too, but finalizers of young objects wait for
 * the end of a cycle there. So a finalizer that was called shows that a whole cycle has
 * ended, as in the reference implementation.
 */
#include "gc.h"

#include <stdlib.h>

#include "clock.h"
#include "eventring/stack.h"
#include "footprint.h"
#include "gc_inline.h"
#include "gc_internal.h"
#include "heap.h"
#include "mapping_ahead.h"
#include "mappings.h"
#include "memprof.h"
#include "str.h"
#include "thread.h"
#include "throw.h"

#define FINALIZERS_AT_ONCE 32
#define SEPARATE_AT_ONCE 2048 /* objects with finalizers */
#define SEPARATE_IN_FRAME 512
#define RELEASE_BYTES ((size_t)1 << 20) /* given back to the system at once */
#define RELEASE_LEAST ((size_t)64 << 10) /* given back at once when a step's time is up */
#define RELEASE_IN_FRAME ((size_t)128 << 10)
#define TRIM_BUCKETS 1024               /* of the intern table, merged at once */
#define WIDE_FRAME ((size_t)256 << 10) /* bytes of slots */
#define PATIENCE 4 /* debt for which a collection waits, by the bytes of the wide frame */
#define MOST_WAITS 1000 /* slices that a cycle waits until no dead strings are left */
#define LEAST_STEP_KIB 16    /* a step waits until the program has asked for as much */
#define TIMED_STEP_KIB 512   /* up to this size a requested step is bounded in time */
#define LEAST_MINOR_KIB 64   /* LEAST_STEP_KIB in generational mode */

/* ---- the phases ---------------------------------------------------------- */

static GcPhase phase_idle(Domain *d) {
  Gc *gc = &d->gc;
  gc->cycle++;
  PROBE_LIFECYCLE(d, MAJOR_BEGIN, gc->cycle);
  gc_pace_begin_cycle(d);
  gc_start_marking(d);
  return GC_PHASE_MARK;
}

static GcPhase phase_mark(Domain *d, size_t work) {
  PROBE_BEGIN(d, MARK);
  bool done = gc_mark_some(d, work);
  PROBE_END(d, MARK);
  return done ? GC_PHASE_ATOMIC : GC_PHASE_MARK;
}

/* Takes an undivided step at the end of marking, which has a slice to itself. */
static GcPhase phase_undivided(Domain *d, size_t work) {
  size_t at_once = d->gc.deadline != 0 ? SEPARATE_IN_FRAME : SEPARATE_AT_ONCE;
  size_t most = work == SIZE_MAX ? SIZE_MAX : at_once;
  GcPhase next =
      d->gc.phase == GC_PHASE_ATOMIC ? gc_mark_atomic(d, most) : gc_mark_separate(d, most);
  if (next == GC_PHASE_CLEAR) PROBE_COUNTER(d, LIVE_WORDS, d->gc.marked_bytes / 8);
  return next;
}

/* Tells whether the cycle has to wait for dead strings that minor collections have left
 * in the intern table. While there are any, it is not known whether other strings have
 * died, so the sweep would have to examine all. The cycle waits for at most MOST_WAITS
 * slices, since a program may go on making very many strings. */
static bool strings_are_left(Domain *d) {
  Gc *gc = &d->gc;
  size_t before = gc->step_work, most = gc->deadline != 0 ? before + GC_QUANTUM : SIZE_MAX - 1;
  bool left = gc->dead_strings.n > 0 && gc->waits_for_strings++ < MOST_WAITS &&
              !gc_finish_last(d, EV_REASON_PACE, most);
  gc->slice_work += gc->step_work - before;
  return left;
}

static GcPhase phase_clear(Domain *d, size_t work) {
  Gc *gc = &d->gc;
  size_t before = gc->slice_work;
  PROBE_BEGIN(d, WEAK);
  bool done = gc_clear_some_tables(d, work);
  size_t used = gc->slice_work - before;
  if (done) done = gc_clear_some_keys(d, work > used ? work - used : 0);
  PROBE_END(d, WEAK);
  if (!done || strings_are_left(d)) return GC_PHASE_CLEAR;
  gc->waits_for_strings = 0;
  gc_start_sweeping(d);
  return GC_PHASE_SWEEP_STRINGS;
}

static GcPhase phase_revive(Domain *d, size_t work) {
  PROBE_BEGIN(d, MARK);
  GcPhase next = gc_mark_revive(d, work);
  PROBE_END(d, MARK);
  return next;
}

/* Settles the sampler's samples, at a time when no string can be brought back any more
 * and nothing old is reclaimed yet. Returns true when all are settled. */
static bool settle_samples(Domain *d, size_t work) {
  size_t done = 0;
  bool all = d->memprof == NULL || memprof_major(d, work, &done);
  d->gc.slice_work += done;
  d->gc.step_work += done;
  return all;
}

static GcPhase phase_sweep(Domain *d, size_t work) {
  GcPhase phase = d->gc.phase;
  PROBE_BEGIN(d, SWEEP);
  bool done = phase == GC_PHASE_SWEEP_STRINGS ? gc_sweep_strings(d, work)
              : phase == GC_PHASE_SWEEP_LARGE ? gc_sweep_large(d, work)
                                              : gc_sweep_blocks(d, work);
  if (done && phase == GC_PHASE_SWEEP_STRINGS) done = settle_samples(d, work);
  PROBE_END(d, SWEEP);
  return done ? phase + 1 : phase;
}

static uint32_t nursery_blocks(const Gc *gc) {
  return (uint32_t)(gc->nursery_bytes >> HEAP_BLOCK_SHIFT);
}

/* Records the memory of a domain: its heap with free memory in it, what its objects hold
 * outside, its rings, and its code (part of the heap). */
void gc_record_memory(Domain *d) {
  const Heap *h = &d->heap;
  size_t large = h->young_large_bytes + h->old_large_bytes - h->external_bytes;
  PROBE_COUNTER(d, MEMORY_HEAP, ((size_t)h->nblocks << HEAP_BLOCK_SHIFT) + large);
  PROBE_COUNTER(d, MEMORY_EXTERNAL, h->external_bytes + h->buffer_bytes);
  PROBE_COUNTER(d, MEMORY_CODE, d->gc.code + d->gc.young_code);
  PROBE_COUNTER(d, MEMORY_RINGS, eventring_domain_bytes(d->rings));
  footprint_reckon(d);
}

/* Ends the cycle, and keeps the memory that may be allocated before the next cycle. */
static GcPhase phase_finish(Domain *d) {
  gc_pace_end_cycle(d);
  domain_drop_spare(d);
  heap_trim_start(&d->heap,
                  nursery_blocks(&d->gc) + (uint32_t)(gc_pace_room(d) >> HEAP_BLOCK_SHIFT));
  return GC_PHASE_TRIM;
}

/* Gives memory back to the system until that is done or the next cycle is due. */
static GcPhase phase_trim(Domain *d, size_t work) {
  Gc *gc = &d->gc;
  bool undivided = work == SIZE_MAX;
  size_t most = undivided ? SIZE_MAX : gc->deadline != 0 ? RELEASE_IN_FRAME : RELEASE_BYTES;
  gc->slice_work += undivided ? 0 : work;
  bool done = string_table_trim(d, undivided ? UINT32_MAX : TRIM_BUCKETS);
  done = gc_shrink_records(d, most) && done;
  done = heap_trim(&d->heap, most) && done;
  if (!done && !gc_pace_cycle_is_due(d)) return GC_PHASE_TRIM;
  heap_keep_spare(&d->heap);
  gc->stats.majors++;
  memprof_collected(d);
  memprof_dump(false);
  gc_record_memory(d);
  PROBE_LIFECYCLE(d, MAJOR_END, gc->cycle);
  return GC_PHASE_IDLE;
}

static void run_phase(Domain *d, size_t work) {
  Gc *gc = &d->gc;
  switch ((GcPhase)gc->phase) {
    case GC_PHASE_IDLE: gc->phase = phase_idle(d); break;
    case GC_PHASE_MARK: gc->phase = phase_mark(d, work); break;
    case GC_PHASE_ATOMIC:
    case GC_PHASE_SEPARATE: gc->phase = phase_undivided(d, work); break;
    case GC_PHASE_REVIVE: gc->phase = phase_revive(d, work); break;
    case GC_PHASE_CLEAR: gc->phase = phase_clear(d, work); break;
    case GC_PHASE_SWEEP_STRINGS:
    case GC_PHASE_SWEEP_LARGE:
    case GC_PHASE_SWEEP_BLOCKS: gc->phase = phase_sweep(d, work); break;
    case GC_PHASE_FINISH: gc->phase = phase_finish(d); break;
    case GC_PHASE_TRIM: gc->phase = phase_trim(d, work); break;
    case GC_PHASE_COUNT: rt_assert(!"phase of the collector");
  }
  gc_note_dead_strings(gc);
  if (gc->verify) gc_verify(d, "slice of the major cycle");
}

static bool is_undivided(const Gc *gc) {
  return gc->phase == GC_PHASE_ATOMIC || gc->phase == GC_PHASE_SEPARATE;
}

static bool slice_over(const Gc *gc, size_t work) {
  return gc->phase == GC_PHASE_IDLE || gc->slice_work >= work ||
         (is_undivided(gc) && gc->slice_work > GC_LEAST_SLICE) || gc_time_is_up(gc);
}

/* Carries over the work of a slice whose time is up. `done` includes the work of a minor
 * collection within an undivided step. The next slice goes on with that collection, and
 * the later it comes the more young objects it finds. */
static void cut_slice(Domain *d, size_t done, size_t wanted) {
  Gc *gc = &d->gc;
  if (gc->slice_work < wanted) gc->backlog += wanted - gc->slice_work;
  if (gc->minor_begun) wanted = GC_MINOR_PIECE;
  gc_pace_cut(d, done, wanted > GC_LEAST_SLICE ? wanted : GC_LEAST_SLICE);
}

static void run_slice(Domain *d, size_t work, EventId reason) {
  Gc *gc = &d->gc;
  uint64_t begun = gc_time_begin(d);
  PROBE_BEGIN_REASON(d, MAJOR_SLICE, reason);
  size_t before = gc->step_work;
  gc->slice_work = 0;
  do {
    bool alone = is_undivided(gc);
    run_phase(d, work == SIZE_MAX ? work : work - gc->slice_work);
    if (alone) break;
  } while (!slice_over(gc, work));
  gc->stats.slices++;
  gc_pace_slice_done(d);
  if (work != SIZE_MAX && gc->phase != GC_PHASE_IDLE && gc_time_is_up(gc))
    cut_slice(d, gc->step_work - before, work);
  PROBE_END_OFF_CPU(d, MAJOR_SLICE, gc_time_end(d, begun));
}

static bool run_phase_unit(Domain *d) {
  if (!gc_unit_begins(&d->gc, d->gc.phase, 0)) return false;
  run_phase(d, GC_QUANTUM);
  return true;
}

bool gc_slice_until_deadline(Domain *d, EventId reason) {
  Gc *gc = &d->gc;
  bool goes_on;
  uint64_t begun = gc_time_begin(d);
  PROBE_BEGIN_REASON(d, MAJOR_SLICE, reason);
  gc->slice_work = 0;
  do goes_on = run_phase_unit(d); while (goes_on && gc->phase != GC_PHASE_IDLE);
  gc->stats.slices++;
  gc_pace_slice_done(d);
  PROBE_END_OFF_CPU(d, MAJOR_SLICE, gc_time_end(d, begun));
  return goes_on;
}

static void finish_cycle(Domain *d, EventId reason) {
  while (d->gc.phase != GC_PHASE_IDLE) run_slice(d, SIZE_MAX, reason);
}

static void full_cycle(Domain *d, EventId reason) {
  uint64_t begun = gc_time_begin(d);
  PROBE_BEGIN_REASON(d, MAJOR, reason);
  if (d->gc.minor_begun) gc_minor(d, reason);
  finish_cycle(d, reason);
  gc_minor(d, reason); /* young objects promoted while a cycle marks would survive it */
  do run_slice(d, SIZE_MAX, reason); while (d->gc.phase != GC_PHASE_IDLE);
  heap_trim_start(&d->heap, nursery_blocks(&d->gc));
  heap_trim(&d->heap, SIZE_MAX);
  heap_trim_parts(&d->heap);
  heap_large_release(&d->heap, SIZE_MAX);
  mapping_drop_all();
  mapping_ahead_drop();
  heap_keep_spare(&d->heap);
  gc_trim_malloc(d);
  PROBE_END_OFF_CPU(d, MAJOR, gc_time_end(d, begun));
}

/* ---- collecting ---------------------------------------------------------- */

void gc_enter(lua_State *L) {
  if (unlikely(L->domain->hooks.interlude != NULL))
    L->domain->hooks.interlude(L->domain, INTERLUDE_COLLECTOR, true);
  L->domain->gc.running = 1;
  L->domain->gc.caller = L;
}

void gc_leave(lua_State *L) {
  L->domain->gc.running = 0;
  L->domain->gc.caller = NULL;
  gc_set_trigger(L->domain);
  if (unlikely(memprof_is_due(L->domain))) memprof_call_for_attention(L->domain);
  if (unlikely(L->domain->hooks.interlude != NULL))
    L->domain->hooks.interlude(L->domain, INTERLUDE_COLLECTOR, false);
}

/* Returns the work of the first piece of a minor collection, or of a piece that follows.
 * A nursery of the default size is collected in one piece, even if all of it survives. */
static size_t minor_piece(const Gc *gc) { return gc->minor_begun ? GC_MINOR_PIECE : GC_MINOR_WORK; }

static void begin_if_due(Domain *d) {
  if (gc_pace_cycle_is_due(d)) run_slice(d, 1, EV_REASON_THRESHOLD);
}

/* Runs a slice with a minor collection if none has run since the last one: a program that
 * allocates a nursery at once leaves no room for slices in between. If the minor
 * collection did much, the slice runs at the next safepoint. */
static void catch_up(Domain *d) {
  Gc *gc = &d->gc;
  bool none = gc->stats.slices == gc->slices_before;
  if (gc->phase == GC_PHASE_IDLE) begin_if_due(d);
  else if (none && (gc->step_work > GC_MINOR_WORK || gc_time_is_up(gc))) gc->slice_at = 0;
  else if (none) run_slice(d, gc_pace_slice(d), EV_REASON_PACE);
  gc->slices_before = gc->stats.slices;
}

/* Runs a piece of a minor collection. Slices of a cycle wait until the collection
 * ends. */
static void collect_young(Domain *d) {
  bool done = gc_minor_some(d, EV_REASON_NURSERY, minor_piece(&d->gc));
  if (done) gc_pace_slice_done(d);
  else gc_pace_cut(d, d->gc.step_work, GC_MINOR_PIECE);
  footprint_reckon_if_old(d);
  if (done) catch_up(d);
}

/* Tells whether the step reclaims what minor collections have left. Such steps and slices
 * take turns where both are due. */
static bool is_turn_of_rest(const Domain *d) {
  const Gc *gc = &d->gc;
  if (!gc_rest_is_left(d)) return false;
  size_t debt = heap_debt(&d->heap);
  if (gc->phase == GC_PHASE_IDLE || debt < gc->slice_at) return true;
  return debt >= gc->rest_at && !gc->rest_last;
}

static void do_what_is_due(Domain *d) {
  Gc *gc = &d->gc;
  size_t debt = heap_debt(&d->heap) - (gc->pending == GC_DUE ? d->heap.growing_bytes : 0);
  if (gc->emergency) {
    gc->emergency = 0;
    full_cycle(d, EV_REASON_EMERGENCY);
  } else if (debt >= gc->nursery_bytes) {
    collect_young(d);
  } else if (is_turn_of_rest(d)) {
    gc_finish_last(d, EV_REASON_NURSERY, SIZE_MAX - 1);
    gc->rest_last = 1;
  } else if (gc->minor_begun) {
    collect_young(d); /* begun by collectgarbage("step") with a nursery not full */
  } else if (gc->phase != GC_PHASE_IDLE) {
    run_slice(d, gc_pace_slice(d), EV_REASON_PACE);
    gc->rest_last = 0;
  } else {
    begin_if_due(d); /* a parameter has changed, or an old array has grown */
  }
  heap_large_release(&d->heap, gc_time_is_up(gc) ? RELEASE_LEAST : RELEASE_BYTES);
}

#ifdef SAROS_STRESS
#define STRESS_ROUND 1024 /* gc_checks */

/* Returns the work of a piece: often so little that the piece ends between the promotion
 * of an object and its scan, or between two parts of a table. */
static size_t stress_piece(const Gc *gc) { return gc->stress_count % 8 == 0 ? 8192 : 64; }

/* Tells whether the collector does no more than what is due. For half of each round it
 * never does, so that a missing root or barrier shows at once. For the other half objects
 * may grow up while they are young, and the program does more than one store between two
 * pieces of a collection. */
static bool stress_waits(const Gc *gc) {
  uint32_t random = gc->stress_count * UINT32_C(0x9E3779B1) >> 16;
  return gc->stress_count % STRESS_ROUND > STRESS_ROUND / 2 &&
         random % (gc->minor_begun ? 4 : 64) != 0;
}

/* Collects, half of the times in pieces; at some gc_checks it also runs a slice or the
 * verifier, which examines the whole heap. */
static void stress_step(Domain *d) {
  Gc *gc = &d->gc;
  gc->stress_count++;
  if (stress_waits(gc)) {
    if (gc_due(gc, &d->heap, heap_debt(&d->heap)) != GC_NOT_DUE) do_what_is_due(d);
    return;
  }
  if (gc->minor_begun || gc->stress_count % 2 == 0)
    gc_minor_some(d, EV_REASON_STRESS, gc->step_work + stress_piece(gc));
  else gc_minor(d, EV_REASON_STRESS);
  if (gc->phase != GC_PHASE_SWEEP_STRINGS) string_table_trim(d, 2);
  if (gc->stress_count % 3 == 0)
    run_slice(d, gc->phase == GC_PHASE_MARK ? 2048 : 16384, EV_REASON_STRESS);
  if (gc->verify_count-- == 0) {
    gc_verify(d, "stress");
    gc->verify_count = (uint32_t)(heap_old_bytes(&d->heap) >> 9) + 16;
  }
}
#define do_step(d) ((d)->gc.emergency || !stress_collects() ? do_what_is_due(d) : stress_step(d))
#else
#define do_step(d) do_what_is_due(d)
#endif

#define LONG_STEP_NS 10000000 /* the waiting program's stack is recorded from then on */

/* The beginning of a step whose CPU time is recorded. */
typedef struct StepTime {
  uint64_t wall, off_cpu; /* off_cpu is 0 if the time is not recorded */
} StepTime;

static StepTime begin_timing(Domain *d) {
  uint64_t off_cpu = PROBE_ENABLED(d, PAUSE_CPU) ? eventring_off_cpu_begin() : 0;
  return (StepTime){off_cpu != 0 ? monotonic_ns() : 0, off_cpu};
}

static void end_timing(Domain *d, StepTime begun) {
  if (begun.off_cpu == 0) return;
  uint64_t off_cpu = eventring_off_cpu_since(begun.off_cpu), wall = monotonic_ns() - begun.wall;
  PROBE_COUNTER(d, PAUSE_CPU, wall > off_cpu ? wall - off_cpu : 0);
  if (unlikely(wall >= LONG_STEP_NS) && d->hooks.stack_note != NULL)
    d->hooks.stack_note(d, EVENTRING_STACK_STEP, (int64_t)wall);
}

static void slice_counted(Domain *d, size_t work, EventId reason) {
  d->gc.step_work = 0;
  run_slice(d, work, reason);
  PROBE_COUNTER(d, PAUSE_WORK, d->gc.step_work);
}

static void collect_young_counted(Domain *d) {
  d->gc.step_work = 0;
  collect_young(d);
  PROBE_COUNTER(d, PAUSE_WORK, d->gc.step_work);
}

/* Begins a span of several steps at once, which keep memory within its bound. */
static uint64_t begin_stall(Domain *d, EventId reason) {
  uint64_t begun = gc_time_begin(d);
  PROBE_BEGIN_REASON(d, ALLOCATION_STALL, reason);
  return begun;
}

static void end_stall(Domain *d, uint64_t begun) {
  PROBE_END_OFF_CPU(d, ALLOCATION_STALL, gc_time_end(d, begun));
}

/* Runs a piece of the minor collection that is under way, or a slice. */
static void run_overdue(Domain *d) {
  if (d->gc.minor_begun) collect_young_counted(d);
  else slice_counted(d, gc_pace_slice(d), EV_REASON_PACE);
}

/* Runs a part of the work that large allocations have made due, for as long as a step
 * takes, since a program may go on without small allocations. What may not be carried
 * over to later steps is done whatever time it takes, and so is all that is left of the
 * cycle when memory is beyond its bound. `excess` and `debt` as in gc_pace_owe. */
static void do_what_is_overdue(Domain *d, size_t excess, size_t debt) {
  Gc *gc = &d->gc;
  size_t own = gc_pace_owe(d, excess, debt);
  if (own + excess >= GC_MINOR_PIECE && gc_pace_is_overdue(gc) && gc_time_goes_on(gc)) {
    run_overdue(d);
    gc_pace_pay(gc, gc->step_work);
  }
  gc_time_ends(gc);
  if (gc_pace_pays_now(d, own)) {
    uint64_t begun = begin_stall(d, EV_REASON_LARGE);
    do {
      run_overdue(d);
      gc_pace_pay(gc, gc->minor_begun ? GC_MINOR_PIECE : GC_MOST_SLICE);
    } while (gc_pace_pays_now(d, own));
    end_stall(d, begun);
  }
  if (!gc_pace_is_over(d)) return;
  uint64_t begun = begin_stall(d, EV_REASON_OVER);
  do slice_counted(d, GC_MOST_SLICE, EV_REASON_OVER); while (gc_pace_is_over(d));
  end_stall(d, begun);
}

/* Counts half of what this step has done as work that was overdue; the other half was due
 * anyway. `slices` is Gc.stats.slices before the step. */
static void pay_half(Gc *gc, uint64_t slices) {
  if (gc->minor_begun) gc_pace_pay(gc, gc->step_work / 2);
  else if (gc->stats.slices != slices) gc_pace_pay(gc, gc->slice_work / 2);
}

static void do_step_measured(Domain *d) {
  bool emergency = d->gc.emergency; /* the work of an emergency is not bounded */
  uint64_t slices = d->gc.stats.slices;
  StepTime begun = begin_timing(d);
  size_t taken = heap_taken(&d->heap), excess = taken > d->gc.trigger ? taken - d->gc.trigger : 0;
  /* debt of one large allocation; a nursery's worth of it only made the step due */
  size_t made = gc_pace_debt(d), debt = made > d->gc.debt_before ? made - d->gc.debt_before : 0;
  if (!d->gc.minor_begun) debt -= debt < d->gc.nursery_bytes ? debt : d->gc.nursery_bytes;
  d->gc.step_work = 0;
  if (!emergency) gc_time_starts(d);
  do_step(d);
  if (!emergency) PROBE_COUNTER(d, PAUSE_WORK, d->gc.step_work);
  pay_half(&d->gc, slices);
  do_what_is_overdue(d, excess, debt);
  if (d->gc.minor_begun) d->gc.debt_before = gc_pace_debt(d);
  gc_pace_verify(d);
  end_timing(d, begun);
}

/* Tells whether the collection waits until the running C function returns. Each minor
 * collection scans the slots of a running C function as a whole. Very many slots
 * (table.pack) can be scanned in pieces, or have gone, once it has returned. */
static bool waits_for_return(const lua_State *L) {
  Gc *gc = &L->domain->gc;
  if (likely(is_lua_frame(L->ci))) return false;
  size_t bytes = (size_t)(L->ci->top - L->ci->func) * sizeof(TValue),
         debt = heap_debt(&L->domain->heap);
  if (likely(bytes <= WIDE_FRAME)) return false;
  if (gc->waits_for != L->ci || debt < gc->waits_from) {
    gc->waits_for = L->ci;
    gc->waits_from = debt;
  }
  return debt - gc->waits_from < PATIENCE * bytes;
}

/* Tells whether gc_step was called for callbacks of the sampler alone. */
static bool only_samples_are_due(const Domain *d) {
  const Gc *gc = &d->gc;
#ifdef SAROS_STRESS
  if (stress_collects()) return false;
#endif
  return unlikely(memprof_is_due(d)) && !gc->emergency && gc->finalizers.n == 0 &&
         gc_due(gc, &d->heap, heap_debt(&d->heap)) == GC_NOT_DUE;
}

static bool is_recollection_due(const Domain *d) {
  size_t at = d->heap.recollect_at;
  return unlikely(at != 0) && heap_debt(&d->heap) >= at;
}

/* Returns whether a hosted heap has enough memory after an emergency. What finalizers
 * held is found by another collection. If very many wait, more of them run each time, so
 * that few collections free what all of them hold. */
static HostedNeed need_after_finalizers(lua_State *L, bool finalized) {
  Domain *d = L->domain;
  HostedNeed need = heap_hosted_need(&d->heap);
  bool left = finalized;
  for (size_t most = 2 * FINALIZERS_AT_ONCE; left && need != HOSTED_ENOUGH; most *= 2) {
    left = d->gc.finalizers.n > 0;
    gc_enter(L);
    full_cycle(d, EV_REASON_EMERGENCY);
    gc_leave(L);
    need = heap_hosted_need(&d->heap);
    if (left && need != HOSTED_ENOUGH) gc_run_finalizers(L, most);
  }
  return need;
}

/* Notes whether an error is due in a hosted heap after an emergency. If nothing at all is
 * left, each gc_check becomes an emergency. */
static NOINLINE void reckon_memory(lua_State *L, bool finalized) {
  Domain *d = L->domain;
  HostedNeed need = need_after_finalizers(L, finalized);
  d->gc.memory_due = need == HOSTED_SHORT || need == HOSTED_EMPTY;
  d->gc.emergency = need == HOSTED_EMPTY;
  if (d->gc.memory_due) heap_hosted_note_error(&d->heap);
}

/* Collects what is due and runs finalizers; returns whether it was an emergency. */
static bool collect_what_is_due(lua_State *L) {
  Domain *d = L->domain;
  Gc *gc = &d->gc;
  if (gc->running || gc->closing || only_samples_are_due(d)) return false;
  if (is_recollection_due(d)) gc_note_emergency(d);
  if (!gc->emergency && waits_for_return(L)) return false;
  if (gc->stopped && !gc->emergency) {
    gc_set_trigger(d);
    return false;
  }
  bool emergency = gc->emergency;
  gc_enter(L);
  do_step_measured(d);
  gc_leave(L);
  stack_shrink(L);
  uint64_t before = gc->stats.finalizers;
  gc_run_finalizers(L, FINALIZERS_AT_ONCE);
  if (emergency && heap_is_hosted(&d->heap))
    reckon_memory(L, gc->stats.finalizers != before);
  gc_set_trigger(d);
  return emergency;
}

/* Tells whether memory is short after an emergency. */
static bool is_short_of_memory(Domain *d) {
  return heap_exceeds_limit(&d->heap) || d->gc.memory_due;
}

NOINLINE void gc_step(lua_State *L) {
  if (collect_what_is_due(L) && is_short_of_memory(L->domain)) error_memory(L);
  if (unlikely(L->domain->memprof != NULL)) memprof_safe_point(L);
}

NOINLINE void gc_recover(lua_State *L) { collect_what_is_due(L); }

void gc_full(lua_State *L) {
  Domain *d = L->domain;
  if (d->gc.running) return;
  gc_enter(L);
  full_cycle(d, EV_REASON_COLLECT);
  gc_leave(L);
  stack_shrink(L);
  gc_run_finalizers(L, SIZE_MAX);
}

/* Collects before an allocation. Finalizers do not run and stacks do not move: the caller
 * may hold pointers into them. The large object allocated last counts from now on
 * (heap_debt). */
void gc_collect_for(lua_State *L, size_t size, bool growing) {
  Domain *d = L->domain;
  Gc *gc = &d->gc;
  if (size < d->heap.ask_from || gc->running || gc->closing) return;
  if (!growing) d->heap.latest_large = 0;
  size_t debt = heap_debt(&d->heap) - (growing ? d->heap.growing_bytes : 0);
  bool due = !gc->stopped && debt >= gc->nursery_bytes && !waits_for_return(L);
  bool fits = heap_could_take(&d->heap, size);
  if (!due && fits) return;
  gc_enter(L);
  if (fits) do_step_measured(d);
  else full_cycle(d, EV_REASON_EMERGENCY);
  gc_leave(L);
}

bool gc_collect_in_need(lua_State *L) {
  Domain *d = L->domain;
  if (d->gc.running || d->gc.closing || L != d->current) return false;
  gc_enter(L);
  full_cycle(d, EV_REASON_EMERGENCY);
  gc_leave(L);
  return true;
}

/* Adds up steps that are each too small for a minor collection; returns whether the sum
 * still is. */
static bool waits_for_more(Gc *gc, size_t kib) {
  size_t least = gc->mode == GC_MODE_GENERATIONAL ? LEAST_MINOR_KIB : LEAST_STEP_KIB;
  if (kib == 0) return false;
  gc->owed_kib += kib < least ? kib : least;
  return gc->owed_kib < least;
}

/* Runs one piece of a minor collection, or pieces for all the work asked for, since much
 * may have been allocated while the collector was stopped. In turn with pieces it
 * reclaims what collections have left. Returns true when slices may follow. */
static bool collect_young_for_step(Domain *d, size_t kib) {
  Gc *gc = &d->gc;
  bool done = true;
  gc->step_work = 0;
  gc->rest_last = gc_rest_is_left(d) && !gc->rest_last;
  if (gc->rest_last) {
    do done = gc_finish_last(d, EV_REASON_STEP, SIZE_MAX - 1);
    while (!done && gc->step_work >> 10 < kib);
    if (gc->step_work >> 10 >= kib) return false;
  }
  do done = gc_minor_some(d, EV_REASON_STEP, gc->step_work + minor_piece(gc));
  while (!done && gc->step_work >> 10 < kib);
  return done;
}

bool gc_step_by(lua_State *L, size_t kib) {
  Domain *d = L->domain;
  Gc *gc = &d->gc;
  if (gc->running || waits_for_more(gc, kib)) return false;
  if (kib > 0 && kib < gc->owed_kib) kib = gc->owed_kib;
  gc->owed_kib = 0;
  size_t work = gc_pace_step(d, kib);
  uint64_t majors = gc->stats.majors;
  gc_enter(L);
  if (kib <= TIMED_STEP_KIB) gc_time_starts(d);
  if (collect_young_for_step(d, kib))
    for (size_t done = 0; done < work && gc->stats.majors == majors; done += gc->slice_work + 1024)
      run_slice(d, work - done, EV_REASON_STEP);
  gc_time_ends(gc);
  gc_leave(L);
  gc_run_finalizers(L, FINALIZERS_AT_ONCE);
  return gc->stats.majors != majors;
}

/* ---- control ------------------------------------------------------------- */

void gc_stop(Domain *d) {
  d->gc.stopped = 1;
  gc_set_trigger(d);
}

void gc_restart(Domain *d) {
  d->gc.stopped = 0;
  gc_set_trigger(d);
}

bool gc_is_running(Domain *d) { return !d->gc.stopped; }

size_t gc_count(Domain *d) {
  const Heap *h = &d->heap;
  size_t unused = (size_t)(h->hole.end - h->cursor) + (size_t)(h->medium.end - h->medium_cursor);
  return h->live_bytes + h->old_large_bytes + h->young_bytes - unused + h->young_large_bytes +
         h->buffer_bytes;
}

GcMode gc_set_mode(lua_State *L, GcMode mode) {
  Domain *d = L->domain;
  GcMode former = (GcMode)d->gc.mode;
  d->gc.mode = (uint8_t)mode;
  gc_pace_set_nursery(&d->gc);
  gc_pace_set_goals(d);
  if (!d->gc.running) gc_set_trigger(d);
  return former;
}

bool gc_init(Domain *d) {
  Gc *gc = &d->gc;
  *gc = (Gc){0};
  gc->line_bit = 1;
  gc->pause = 200;
  gc->stepmul = 100;
  gc->stepsize = 13;
  gc->minor_mul = 20;
  gc->major_mul = 100;
  gc->running = 1; /* until the domain is complete */
  gc->mode = GC_MODE_INCREMENTAL;
  gc_ephemerons_init(&gc->minor_ephemerons);
  gc_ephemerons_init(&gc->major_ephemerons);
  gc_frame_init(gc);
  gc_pace_set_nursery(gc);
  gc_pace_set_goals(d);
  gc->trigger = gc->nursery_bytes;
  gc->ticks.scanned = gc->ticks.all_scanned = clock_ticks();
#ifdef SAROS_DEBUG
  const char *verify = secure_getenv("SAROS_VERIFY");
  gc->verify = verify != NULL && verify[0] == '1';
#endif
  gc_set_aside(d);
  return GC_TRY_ROOM(d, &gc->promoted) && GC_TRY_ROOM(d, &gc->grey);
}

void gc_close(Domain *d) {
  Gc *gc = &d->gc;
  gc_free_records(d);
  gc_ephemerons_free(d, &gc->minor_ephemerons);
  gc_ephemerons_free(d, &gc->major_ephemerons);
}
