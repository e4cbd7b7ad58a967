/* SPDX-License-Identifier: MIT */
/* runtime/gc_time.h: for how long a domain's thread was not on a processor, in the spans of
 * the collector and between them.
 *
 * The ends of the spans minor, major and major_slice carry the time off the processor
 * within them; the counter off_cpu carries that before them, so that tools know how much
 * of the time watched was the thread's at all. Neither is written when it is 0, so a
 * program that nobody interrupts records none of it.
 */
#ifndef SAROS_RUNTIME_GC_TIME_H
#define SAROS_RUNTIME_GC_TIME_H

#include "domain.h"
#include "probes.h"

/* Out of line of those below. */
uint64_t gc_time_read(Domain *d);
uint64_t gc_time_passed(Domain *d, uint64_t begun);

/* Before the begin of such a span: what gc_time_end gets; 0: nothing is measured. */
static inline uint64_t gc_time_begin(Domain *d) {
  return PROBE_ENABLED(d, MINOR) ? gc_time_read(d) : 0;
}
/* Before its end: for how many ns the thread was not on a processor. */
static inline uint64_t gc_time_end(Domain *d, uint64_t begun) {
  return begun != 0 ? gc_time_passed(d, begun) : 0;
}

/* A domain begins, or ends: records the time since the last span, if there was one. */
void gc_time_record(Domain *d);

#endif
