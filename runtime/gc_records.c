/* SPDX-License-Identifier: MIT */
/* runtime/gc_records.c: the arrays of the collector's records.
 *
 * A long array is a mapping of its own, unless the heap is hosted: all memory of a hosted
 * heap is its allocator's. gc_overflow.c does without the records for which there is no
 * memory.
 */
#include "gc_internal.h"

#include <stdlib.h>
#include <string.h>

#include "heap.h"
#include "mappings.h"

#define RECORDS_KEPT ((size_t)64 << 10) /* bytes of an array of records */
#define MAPPED_RECORDS ((size_t)128 << 10) /* bytes; from then on a mapping */
#define REFUSED_PAUSE 1000   /* records made without asking for memory after a refusal */
/* the first capacity of an array; Gc.promoted and Gc.grey have it from the beginning */
#define LEAST_RECORDS 16

/* ---- one array ----------------------------------------------------------- */

static size_t next_capacity(size_t n) { return n ? n * 2 : LEAST_RECORDS; }

/* Tells whether an array of that many bytes is a mapping of its own, whose pages move and
 * are not copied. The C library copies up to 32 MiB, and touches as many fresh bytes,
 * when an array in its heap grows. */
static bool is_mapping(const Domain *d, size_t bytes) {
  return bytes >= MAPPED_RECORDS && !heap_is_hosted(&d->heap);
}

static void free_records(Domain *d, void *items, size_t bytes) {
  if (is_mapping(d, bytes)) mapping_unmap(items, mapping_round(bytes));
  else heap_memory_free(d, items, bytes);
}

static void *move_records(Domain *d, void *items, size_t old, size_t bytes) {
  void *moved = is_mapping(d, bytes) ? mapping_new(mapping_round(bytes), 1)
                                     : heap_memory_try_resize(d, NULL, 0, bytes);
  if (moved == NULL) return NULL;
  if (old > 0) memcpy(moved, items, old < bytes ? old : bytes);
  free_records(d, items, old);
  return moved;
}

/* Resizes an array; returns NULL, with the array unchanged, when there is no memory. */
static void *resize_records(Domain *d, void *items, size_t old, size_t bytes) {
  bool was = is_mapping(d, old), will_be = is_mapping(d, bytes);
  if (was != will_be) return move_records(d, items, old, bytes);
  if (!was) return heap_memory_try_resize(d, items, old, bytes);
  return mapping_move(items, mapping_round(old), mapping_round(bytes));
}

static bool extend_array(Domain *d, void *items, size_t *capacity, size_t item_size) {
  void *grown = resize_records(d, *(void **)items, *capacity * item_size,
                               next_capacity(*capacity) * item_size);
  if (grown == NULL) return false;
  *(void **)items = grown;
  *capacity = next_capacity(*capacity);
  return true;
}

NOINLINE bool gc_vector_try_extend(Domain *d, void *items, size_t *capacity, size_t item_size) {
  return !stress_allocation_fails() && extend_array(d, items, capacity, item_size);
}

/* Extends the array, but after a refusal does not ask the system for REFUSED_PAUSE calls.
 * For callers that can do without the record in less time than a refusal takes. */
NOINLINE bool gc_vector_extend_patiently(Domain *d, void *items, size_t *capacity,
                                         size_t item_size) {
  static _Thread_local uint32_t pause;
  if (pause > 0) {
    pause--;
    return false;
  }
  if (gc_vector_try_extend(d, items, capacity, item_size)) return true;
  pause = REFUSED_PAUSE;
  return false;
}

/* ---- all arrays ---------------------------------------------------------- */

#define RECORDS(RECORD) \
  RECORD(promoted) \
  RECORD(grey) RECORD(partial) RECORD(minor_partial) RECORD(remembered) RECORD(cards) \
      RECORD(new_interned) RECORD(dead_strings) RECORD(finalizable) RECORD(finalizers) \
          RECORD(candidates) RECORD(found) \
          RECORD(clearing) RECORD(minor_weak.values) RECORD(minor_weak.ephemerons) \
              RECORD(minor_weak.all) RECORD(noted_weak.values) RECORD(noted_weak.ephemerons) \
                  RECORD(noted_weak.all) RECORD(weak_left.values) RECORD(weak_left.entries) \
                      RECORD(minor_ephemerons) RECORD(minor_ephemerons.reached) \
                          RECORD(major_ephemerons) RECORD(major_ephemerons.reached)

void gc_each_list(const Gc *gc, MemoryPart *part, void *context) {
#define PART(v) part(context, gc->v.items, gc->v.capacity * sizeof *gc->v.items);
  RECORDS(PART)
#undef PART
}

/* Lets the copy replace an array that is a mapping, if there is one. */
static void use_copy(void *items, void *copy, size_t bytes) {
  if (copy == NULL) return;
  memcpy(copy, *(void **)items, bytes);
  mapping_unmap(*(void **)items, mapping_round(bytes));
  *(void **)items = copy;
}

bool gc_leave_mappings(Domain *d) {
  Gc *gc = &d->gc;
#define ONE(v) + 1
  void *copies[0 RECORDS(ONE)];
#undef ONE
  size_t i = 0, missing = 0;
#define BYTES(v) (gc->v.capacity * sizeof *gc->v.items)
#define COPY(v) \
  copies[i] = is_mapping(d, BYTES(v)) ? malloc(BYTES(v)) : NULL; \
  missing += copies[i++] == NULL && is_mapping(d, BYTES(v));
  RECORDS(COPY)
#undef COPY
  if (missing > 0) {
    while (i-- > 0) free(copies[i]);
    return false;
  }
  i = 0;
#define USE(v) use_copy(&gc->v.items, copies[i++], BYTES(v));
  RECORDS(USE)
#undef USE
#undef BYTES
  return true;
}

/* Gives back, at most *most bytes, the unused end of an array except a little. */
static void shrink_array(Domain *d, void *items, size_t *capacity, size_t n, size_t item_size,
                         size_t *most) {
  size_t least = RECORDS_KEPT / item_size, cut;
  if (least < n) least = n;
  if (*capacity <= least) return;
  cut = *capacity - least;
  if (cut > *most / item_size) cut = *most / item_size;
  void *shrunk = cut == 0 ? NULL
                          : resize_records(d, *(void **)items, *capacity * item_size,
                                           (*capacity - cut) * item_size);
  if (shrunk == NULL) return;
  *(void **)items = shrunk;
  *capacity -= cut;
  *most -= cut * item_size;
}

bool gc_shrink_records(Domain *d, size_t most) {
  Gc *gc = &d->gc;
  size_t left = most;
#define SHRINK(v) \
  shrink_array(d, &gc->v.items, &gc->v.capacity, gc->v.n, sizeof *gc->v.items, &left);
  RECORDS(SHRINK)
#undef SHRINK
  return left == most || most == SIZE_MAX;
}

void gc_free_records(Domain *d) {
  Gc *gc = &d->gc;
#define FREE(v) free_records(d, gc->v.items, gc->v.capacity * sizeof *gc->v.items);
  RECORDS(FREE)
#undef FREE
}
