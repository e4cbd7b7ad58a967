/* SPDX-License-Identifier: MIT */
/* runtime/heap_measure.h: what the memory of a heap is used for (heap_measure.c). */
#ifndef SAROS_RUNTIME_HEAP_MEASURE_H
#define SAROS_RUNTIME_HEAP_MEASURE_H

#include "eventring/footprint.h"
#include "heap.h"

/* An amount of memory: bytes that are resident, and bytes of addresses reserved for
 * them. */
typedef struct MemoryAmount {
  size_t resident, reserved;
} MemoryAmount;

typedef struct HeapMemory {
  MemoryAmount live;  /* old objects and parts, in whole lines */
  MemoryAmount young; /* objects and parts made since the last minor collection */
  MemoryAmount free;  /* memory to allocate from */
  MemoryAmount own;   /* the heap's tables of lines, blocks and cards */
  MemoryAmount dead;  /* parts that died, kept for a new use */
  MemoryAmount loose; /* part of live and young from malloc, unless `hosted` */
  bool hosted;
  /* bytes that userdata hold outside the heap, as they state; those that follow a counter
   * of messages, which are measured where they lie */
  size_t external, messages;
} HeapMemory;

/* Fills *m from the heap's own counts, which takes no time. Counts all memory mapped for
 * large objects as resident, and leaves out `loose` and `messages`. */
void heap_reckon(const Heap *h, HeapMemory *m);
/* Fills *m after asking the system which pages are resident: some ns for each page and
 * each large object. */
void heap_measure(const Heap *h, struct eventring_pages *pages, HeapMemory *m);

/* Adds what is in extents and belongs to no large allocation (heap_extent.c). */
void extent_measure(const Heap *h, struct eventring_pages *pages, HeapMemory *m);
size_t extent_round(size_t size); /* bytes that `size` takes in an extent */
/* Adds `bytes` that begin at p. */
void heap_measure_range(struct eventring_pages *pages, MemoryAmount *amount, const void *p,
                        size_t bytes);

#endif
