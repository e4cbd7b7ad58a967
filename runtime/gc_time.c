/* SPDX-License-Identifier: MIT */
/* runtime/gc_time.c: see gc_time.h. */
#include "gc_time.h"

#include <pthread.h>

/* Records the time off the processor since the last span, unless another thread ran the
 * domain then. */
static void record_since_last(Domain *d, uint64_t now) {
  GcTime *t = &d->gc.time;
  uintptr_t thread = (uintptr_t)pthread_self();
  if (t->seen != 0 && t->thread == thread && now > t->seen)
    PROBE_COUNTER(d, OFF_CPU, now - t->seen);
  t->seen = now;
  t->thread = thread;
}

uint64_t gc_time_read(Domain *d) {
  uint64_t now = eventring_off_cpu_begin();
  if (now != 0 && d->gc.time.open++ == 0) record_since_last(d, now);
  return now;
}

uint64_t gc_time_passed(Domain *d, uint64_t begun) {
  GcTime *t = &d->gc.time;
  uint64_t off_cpu = eventring_off_cpu_since(begun);
  t->open--;
  t->seen = begun + off_cpu;
  return off_cpu;
}

void gc_time_record(Domain *d) {
  uint64_t now = PROBE_ENABLED(d, OFF_CPU) ? eventring_off_cpu_begin() : 0;
  if (now != 0) record_since_last(d, now);
}
