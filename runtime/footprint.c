/* SPDX-License-Identifier: MIT */
/* runtime/footprint.c: what the memory of a domain is used for (footprint.def), as rows of
 * the recording (eventring/footprint.h). Without a recording nothing is measured. */
#include "footprint.h"

#include <pthread.h>
#include <unistd.h>

#include "channel.h"
#include "eventring/footprint.h"
#include "gc_internal.h"
#include "heap_measure.h"
#include "mappings.h"
#include "str.h"

#define OLD_NS UINT64_C(1000000000)

typedef enum FootprintId {
#define FOOTPRINT(id, name, of, in, what) FOOTPRINT_##id,
#include "footprint.def"
  FOOTPRINT_COUNT
} FootprintId;

typedef struct Footprint {
  MemoryAmount amount[FOOTPRINT_COUNT];
} Footprint;

static const struct eventring_footprint_row titles[FOOTPRINT_COUNT] = {
#define FOOTPRINT(id, text, whose, where, what) \
  {.name = text, .doc = what, .of = EVENTRING_FOOTPRINT_##whose, \
   .in = EVENTRING_FOOTPRINT_##where},
#include "footprint.def"
};

static bool is_of_process(FootprintId id) {
  return titles[id].of == EVENTRING_FOOTPRINT_PROCESS;
}

static void set(Footprint *f, FootprintId id, size_t bytes) {
  f->amount[id] = (MemoryAmount){bytes, bytes};
}

/* Code is a part of what is live; its amount is as of the last marking. */
static void set_live(Footprint *f, MemoryAmount live, size_t code) {
  if (code > live.resident) code = live.resident;
  set(f, FOOTPRINT_CODE, code);
  f->amount[FOOTPRINT_LIVE] = (MemoryAmount){live.resident - code, live.reserved - code};
}

static void set_heap(Footprint *f, const Domain *d, const HeapMemory *m) {
  set_live(f, m->live, d->gc.code);
  f->amount[FOOTPRINT_YOUNG] = m->young;
  f->amount[FOOTPRINT_FREE] = m->free;
  f->amount[FOOTPRINT_DEAD] = m->dead;
  f->amount[FOOTPRINT_HEAP_OWN] = m->own;
  f->amount[FOOTPRINT_LOOSE] = m->loose;
  set(f, FOOTPRINT_EXTERNAL, m->external);
  set(f, FOOTPRINT_DOMAIN_OWN, sizeof *d);
}

/* `rows`: of the domain alone, or all. */
static void write_rows(Domain *d, const Footprint *f, bool all, unsigned flags) {
  struct eventring_footprint_row rows[FOOTPRINT_COUNT];
  size_t n = 0;
  for (FootprintId id = 0; id < FOOTPRINT_COUNT; id++) {
    if (is_of_process(id) && !all) continue;
    rows[n] = titles[id];
    rows[n].resident = f->amount[id].resident;
    rows[n++].reserved = f->amount[id].reserved;
  }
  /* where the recording has no room for it, it has none: nothing depends on it */
  eventring_footprint_write(d->rings, rows, n, flags);
}

static void measure_list(void *amount, const void *items, size_t bytes) {
  heap_measure_range(amount, items, bytes);
}

static void add_bytes(void *amount, const void *items, size_t bytes) {
  MemoryAmount *a = amount;
  (void)items;
  a->resident += bytes;
  a->reserved += bytes;
}

/* That of the main thread has a name of its own in the system's list. */
static void measure_stack(MemoryAmount *amount) {
  pthread_attr_t attributes;
  void *stack;
  size_t size;
  if (gettid() == getpid() || pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  if (pthread_attr_getstack(&attributes, &stack, &size) == 0)
    heap_measure_range(amount, stack, size);
  pthread_attr_destroy(&attributes);
}

void footprint_measure(Domain *d) {
  Footprint f = {0};
  HeapMemory heap;
  heap_measure(&d->heap, &heap);
  set_heap(&f, d, &heap);
  string_table_each_part(&d->strings, measure_list, &f.amount[FOOTPRINT_STRINGS]);
  gc_each_list(&d->gc, measure_list, &f.amount[FOOTPRINT_COLLECTOR]);
  channel_measure(&f.amount[FOOTPRINT_MESSAGES].reserved,
                  &f.amount[FOOTPRINT_LARGE_MESSAGES].reserved);
  set(&f, FOOTPRINT_MESSAGES, f.amount[FOOTPRINT_MESSAGES].reserved);
  set(&f, FOOTPRINT_LARGE_MESSAGES, f.amount[FOOTPRINT_LARGE_MESSAGES].reserved);
  mapping_each_kept(measure_list, &f.amount[FOOTPRINT_KEPT]);
  measure_stack(&f.amount[FOOTPRINT_STACK]);
  write_rows(d, &f, true, EVENTRING_FOOTPRINT_MEASURED | EVENTRING_FOOTPRINT_SYSTEM);
  d->footprint_ns = mapping_now();
}

void footprint_reckon(Domain *d) {
  Footprint f = {0};
  HeapMemory heap;
  heap_reckon(&d->heap, &heap);
  set_heap(&f, d, &heap);
  string_table_each_part(&d->strings, add_bytes, &f.amount[FOOTPRINT_STRINGS]);
  gc_each_list(&d->gc, add_bytes, &f.amount[FOOTPRINT_COLLECTOR]);
  write_rows(d, &f, false, 0);
  d->footprint_ns = mapping_now();
}

void footprint_reckon_if_old(Domain *d) {
  if (mapping_now() - d->footprint_ns >= OLD_NS) footprint_reckon(d);
}
