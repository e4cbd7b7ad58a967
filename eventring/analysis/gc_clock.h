/* SPDX-License-Identifier: MIT */
/* gc_clock.h: how long one ring of one domain was watched, and how much of that time was
 * spent in the collector and in finalizers.
 *
 * Time in the collector is the time under top-level spans of class gc, which no other
 * span of class gc encloses. Time in finalizers is the same for class finalizers. (If a
 * finalizer of the host collects, that time counts in both.) The CPU time of the
 * collector is known if the ends of all its spans say for how long the thread was not on
 * a processor (measure OFF_CPU). A span whose end was not seen counts as never
 * interrupted. The counter of class gc with the quantity OFF_CPU sums up the time that
 * the thread spent off the processor outside these spans.
 *
 * Watched time consists of stretches. A stretch lasts from the first event seen (or from
 * where reading goes on after a loss) to the last one before the next loss or pause of
 * the recording, the end of the domain, or the end of watching. The gap of a loss belongs
 * to neither figure, so it does not distort the share. If a collection reaches into a
 * stretch, its part in the stretch counts. (A pause of the recording is seen in the ring
 * of the domain that asked for it; for the other domains it counts as watched.)
 *
 * Invariant: each part <= watched, unless the file's times run backwards.
 *
 * Units: nanoseconds of the recording's clock. Errors: none. Threads: a clock is used by
 * one thread at a time.
 */
#ifndef EVENTRING_ANALYSIS_GC_CLOCK_H
#define EVENTRING_ANALYSIS_GC_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "eventring/conditions.h"
#include "eventring/read.h"
#include "eventring/tools.h"

/* Parts of the time watched, in ns. */
struct eva_gc_times {
  uint64_t in_gc;         /* under spans of class gc */
  uint64_t gc_off_cpu;    /* part of in_gc for which the thread was not on a processor */
  uint64_t gc_unmeasured; /* part of in_gc under spans whose ends do not have the time off
                             the processor */
  uint64_t off_cpu;       /* time outside these spans for which the thread was not on a
                             processor */
  uint64_t in_finalizers; /* under spans of class finalizers */
};
void eva_gc_times_add(struct eva_gc_times *into, const struct eva_gc_times *more);
/* Stores the CPU time of the collector in *ns. False: it is not known. */
bool eva_gc_times_cpu(const struct eva_gc_times *times, uint64_t *ns);
/* Returns for how much of the time watched the thread was on a processor, as far as
   known. */
uint64_t eva_gc_times_on_cpu(const struct eva_gc_times *times, uint64_t watched);

/* A zeroed struct is a clock that has not seen anything. */
struct eva_gc_clock {
  uint64_t watched; /* ns in closed stretches */
  struct eva_gc_times times; /* in closed stretches */
  bool running;     /* a stretch is open; so far it lasts from `from` to `last` */
  bool is_cut;      /* eva_gc_clock_cut has set the beginning */
  bool gc_measured; /* the end of span `gc` has the time off the processor */
  uint64_t from, last;
  uint32_t incarnation;
  struct eventring_pause gc, finalizers; /* the topmost spans of these classes */
};

/* Tells whether the event does nothing but move the clock on to its time, as most do. */
static inline bool eva_gc_clock_only_moves(const struct eva_gc_clock *clock,
                                           const struct eventring_event *event) {
  return clock->running && event->incarnation == clock->incarnation &&
         !(event->flags & EVENTRING_SYNTHETIC) && event->kind != EVENTRING_LIFECYCLE &&
         event->event_class != EVENTRING_CLASS_GC &&
         event->event_class != EVENTRING_CLASS_FINALIZERS;
}
/* Starts, at `ns`, a clock that has not seen anything. */
void eva_gc_clock_begin(struct eva_gc_clock *clock, uint64_t ns, uint32_t incarnation);
/* Takes the next event or loss of the ring, in the order of delivery. */
void eva_gc_clock_event(struct eva_gc_clock *clock, const struct eventring_event *event);
void eva_gc_clock_lost(struct eva_gc_clock *clock, const struct eventring_loss *loss);
/* Takes all events of a batch at once. Returns false, with nothing done, if the caller
   must pass them one by one: a span of these classes is open before or after the batch,
   or something else is unusual. */
bool eva_gc_clock_batch(struct eva_gc_clock *clock, const struct eventring_batch *batch);
/* Forgets what was counted before `ns`; a stretch in progress begins anew at `ns`. Only
   the first call does so. `incarnation` is the incarnation of the events that follow. */
void eva_gc_clock_cut(struct eva_gc_clock *clock, uint64_t ns, uint32_t incarnation);
/* Ends the stretch, at the last event or at `end` (ns), whichever is later. */
void eva_gc_clock_stop(struct eva_gc_clock *clock, uint64_t end);

#endif
