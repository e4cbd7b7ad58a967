/* SPDX-License-Identifier: MIT */
/* runtime/heap_measure.h: what the memory of a heap is used for (heap_measure.c). */
#ifndef SAROS_RUNTIME_HEAP_MEASURE_H
#define SAROS_RUNTIME_HEAP_MEASURE_H

#include "eventring/footprint.h"
#include "heap.h"

/* Bytes that take memory now, and bytes of addresses that the heap has for it. */
typedef struct MemoryAmount {
  size_t resident, reserved;
} MemoryAmount;

typedef struct HeapMemory {
  MemoryAmount live;  /* old objects and parts, in whole lines */
  MemoryAmount young; /* made since the last minor collection */
  MemoryAmount free;  /* to allocate from */
  MemoryAmount own;   /* the heap's: tables of lines, blocks and cards */
  MemoryAmount dead;  /* parts that died, kept for a new use */
  MemoryAmount loose; /* of live and young ones, what malloc gave, unless `hosted` */
  bool hosted;
  /* What userdata hold outside the heap, as they state; what follows a counter of messages,
   * which are counted where they lie. */
  size_t external, messages;
} HeapMemory;

/* By the heap's own counts: takes no time. It takes what is mapped for large objects for
 * resident, and knows nothing of `loose` and `messages`. */
void heap_reckon(const Heap *h, HeapMemory *m);
/* The system is asked which pages are there: some ns for each, and for each large object. */
void heap_measure(const Heap *h, struct eventring_pages *pages, HeapMemory *m);

/* heap_extent.c: adds what is in extents and belongs to no large allocation. */
void extent_measure(const Heap *h, struct eventring_pages *pages, HeapMemory *m);
size_t extent_round(size_t size); /* bytes that an allocation of `size` takes there */
/* Adds `bytes` that begin at p. */
void heap_measure_range(struct eventring_pages *pages, MemoryAmount *amount, const void *p,
                        size_t bytes);

#endif
