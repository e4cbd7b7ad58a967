/* SPDX-License-Identifier: MIT */
/* runtime/gc_time.h: for how long a domain's thread was not on a processor, in the spans
 * of the collector and between them.
 *
 * The ends of the spans minor, major and major_slice carry the time off the processor
 * within the span. The counter off_cpu carries the time before the span, so that tools
 * know how much of the watched time the thread had at all. Neither is written when it is
 * 0, so a program that nobody interrupts records none of it.
 */
#ifndef SAROS_RUNTIME_GC_TIME_H
#define SAROS_RUNTIME_GC_TIME_H

#include "domain.h"
#include "probes.h"

/* Measures out of line, for gc_time_begin and gc_time_end. */
uint64_t gc_time_read(Domain *d);
uint64_t gc_time_passed(Domain *d, uint64_t begun);

/* Returns what gc_time_end needs, before a span begins; 0 if nothing is measured. */
static inline uint64_t gc_time_begin(Domain *d) {
  return PROBE_ENABLED(d, MINOR) ? gc_time_read(d) : 0;
}
/* Returns for how many ns the thread was off the processor, before the span ends. */
static inline uint64_t gc_time_end(Domain *d, uint64_t begun) {
  return begun != 0 ? gc_time_passed(d, begun) : 0;
}

/* Records the time since the last span, if there was one, when a domain begins or
 * ends. */
void gc_time_record(Domain *d);

#endif
