/* SPDX-License-Identifier: MIT */
/* runtime/footprint.c: what the memory of a domain is used for (footprint.def), as rows
 * of the recording (eventring/footprint.h). Without a recording nothing is measured. */
#include "footprint.h"

#include <pthread.h>
#include <unistd.h>

#include "channel.h"
#include "clock.h"
#include "eventring/footprint.h"
#include "gc_internal.h"
#include "heap_measure.h"
#include "mapping_ahead.h"
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

/* Sets the amount of a part of the live memory, and subtracts it from FOOTPRINT_LIVE. The
 * amount was measured by the last marking. */
static void set_part_of_live(Footprint *f, FootprintId id, size_t bytes) {
  MemoryAmount *live = &f->amount[FOOTPRINT_LIVE];
  if (bytes > live->resident) bytes = live->resident;
  set(f, id, bytes);
  live->resident -= bytes;
  live->reserved -= bytes;
}

static void set_heap(Footprint *f, const Domain *d, const HeapMemory *m) {
  f->amount[FOOTPRINT_LIVE] = m->live;
  set_part_of_live(f, FOOTPRINT_CODE, d->gc.code);
  set_part_of_live(f, FOOTPRINT_STACKS, d->gc.stacks);
  f->amount[FOOTPRINT_YOUNG] = m->young;
  f->amount[FOOTPRINT_FREE] = m->free;
  f->amount[FOOTPRINT_DEAD] = m->dead;
  f->amount[FOOTPRINT_HEAP_OWN] = m->own;
  f->amount[FOOTPRINT_LOOSE] = m->loose;
  set(f, FOOTPRINT_EXTERNAL, m->external);
  set(f, FOOTPRINT_DOMAIN_OWN, sizeof *d);
}

/* Tells whether the amount comes from the state's allocator, whose memory is taken to be
 * malloc's. */
static bool is_hosted(const Domain *d, FootprintId id) {
  return heap_is_hosted(&d->heap) && id <= FOOTPRINT_HEAP_OWN;
}

/* Writes the rows of the domain and, if `all`, also those of the process. */
static void write_rows(Domain *d, const Footprint *f, bool all, unsigned flags) {
  struct eventring_footprint_row rows[FOOTPRINT_COUNT];
  size_t n = 0;
  for (FootprintId id = 0; id < FOOTPRINT_COUNT; id++) {
    if (is_of_process(id) && !all) continue;
    rows[n] = titles[id];
    if (rows[n].in == EVENTRING_FOOTPRINT_MAPPED && is_hosted(d, id))
      rows[n].in = EVENTRING_FOOTPRINT_MALLOC;
    rows[n].resident = f->amount[id].resident;
    rows[n++].reserved = f->amount[id].reserved;
  }
  /* an error is ignored: a recording without room has no footprint, on which nothing
   * depends */
  eventring_footprint_write(d->rings, rows, n, flags);
}

/* Measures what the recorder has mapped. */
static void measure_recorder(const Domain *d, struct eventring_pages *pages, Footprint *f) {
  struct eventring_footprint_own own;
  if (eventring_footprint_own(d->rings, pages, &own) != 0) return;
  f->amount[FOOTPRINT_LANES] = (MemoryAmount){own.domain_resident, own.domain_reserved};
  f->amount[FOOTPRINT_RECORDER] = (MemoryAmount){own.process_resident, own.process_reserved};
}

typedef struct Measuring {
  struct eventring_pages *pages;
  MemoryAmount *amount;
} Measuring;

static void measure_list(void *measuring, const void *items, size_t bytes) {
  const Measuring *m = measuring;
  heap_measure_range(m->pages, m->amount, items, bytes);
}

static void add_bytes(void *amount, const void *items, size_t bytes) {
  MemoryAmount *a = amount;
  (void)items;
  a->resident += bytes;
  a->reserved += bytes;
}

/* Measures the stack of this thread, except the main thread's, which has a row of its own
 * in the system's list. */
static void measure_stack(struct eventring_pages *pages, MemoryAmount *amount) {
  pthread_attr_t attributes;
  void *stack;
  size_t size;
  if (gettid() == getpid() || pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  if (pthread_attr_getstack(&attributes, &stack, &size) == 0)
    heap_measure_range(pages, amount, stack, size);
  pthread_attr_destroy(&attributes);
}

static Measuring measuring(struct eventring_pages *pages, Footprint *f, FootprintId id) {
  return (Measuring){pages, &f->amount[id]};
}

static void measure_lists(Domain *d, struct eventring_pages *pages, Footprint *f) {
  Measuring strings = measuring(pages, f, FOOTPRINT_STRINGS);
  Measuring lists = measuring(pages, f, FOOTPRINT_COLLECTOR);
  Measuring kept = measuring(pages, f, FOOTPRINT_KEPT);
  string_table_each_part(&d->strings, measure_list, &strings);
  gc_each_list(&d->gc, measure_list, &lists);
  mapping_each_kept(measure_list, &kept);
  mapping_ahead_each(measure_list, &kept);
}

void footprint_measure(Domain *d) {
  Footprint f = {0};
  HeapMemory heap;
  struct eventring_pages pages;
  eventring_pages_open(&pages);
  heap_measure(&d->heap, &pages, &heap);
  set_heap(&f, d, &heap);
  measure_lists(d, &pages, &f);
  measure_stack(&pages, &f.amount[FOOTPRINT_STACK]);
  measure_recorder(d, &pages, &f);
  eventring_pages_close(&pages);
  channel_measure(&f.amount[FOOTPRINT_MESSAGES].reserved,
                  &f.amount[FOOTPRINT_LARGE_MESSAGES].reserved);
  set(&f, FOOTPRINT_MESSAGES, f.amount[FOOTPRINT_MESSAGES].reserved);
  set(&f, FOOTPRINT_LARGE_MESSAGES, f.amount[FOOTPRINT_LARGE_MESSAGES].reserved);
  write_rows(d, &f, true, EVENTRING_FOOTPRINT_MEASURED | EVENTRING_FOOTPRINT_SYSTEM);
  d->footprint_ns = mapping_now();
}

/* Time from which malloc may be measured again. It is measured at most once a second, and
 * for at most a ten-thousandth of the time. */
static uint64_t malloc_due_ns;

static void note_asked(uint64_t begun) {
  const uint64_t share = 10000;
  uint64_t took = (monotonic_ns() - begun) * share;
  __atomic_store_n(&malloc_due_ns, begun + (took > OLD_NS ? took : OLD_NS), __ATOMIC_RELAXED);
}

void footprint_reckon(Domain *d) {
  if (eventring_domain_slot(d->rings) < 0) return;
  Footprint f = {0};
  HeapMemory heap;
  heap_reckon(&d->heap, &heap);
  set_heap(&f, d, &heap);
  string_table_each_part(&d->strings, add_bytes, &f.amount[FOOTPRINT_STRINGS]);
  gc_each_list(&d->gc, add_bytes, &f.amount[FOOTPRINT_COLLECTOR]);
  uint64_t now = monotonic_ns();
  bool asks = now >= __atomic_load_n(&malloc_due_ns, __ATOMIC_RELAXED);
  write_rows(d, &f, false, asks ? EVENTRING_FOOTPRINT_SYSTEM : 0);
  if (asks) note_asked(now);
  d->footprint_ns = mapping_now();
}

void footprint_reckon_if_old(Domain *d) {
  if (mapping_now() - d->footprint_ns >= OLD_NS) footprint_reckon(d);
}
