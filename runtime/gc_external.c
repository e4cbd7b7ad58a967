/* SPDX-License-Identifier: MIT */
/* runtime/gc_external.c: memory outside the heap that userdata hold.
 *
 * The collector cannot see memory such as a buffer of C, a handle of a library or memory
 * that ffi.gc is to free. A program that drops small userdata with large buffers would
 * fill the machine before a collection is due. So the owner states how much it holds
 * (lua_external_memory), and from then on these bytes count like bytes of the heap.
 *
 * Data. Userdata.external is a LargeHeader without an allocation behind it;
 * LargeHeader.size is the number of bytes stated. The header is in the lists of large
 * allocations and is a part of its owner, as a large array is a part of a table. It is
 * made young, is promoted and marked when its owner is scanned, and is freed by a minor
 * collection or by the sweep that does not find it marked. So everything that counts,
 * limits and paces allocations (debt, bytes of old objects, goals, the bound, a domain's
 * limit) counts these bytes too, and the death of an owner costs only the freeing of the
 * header. A program that states nothing pays one test for each userdata that is scanned.
 *
 * Differences from a large part: marking it is no work (Heap.external_bytes, in work_left
 * of gc_pace.c), the sweep has no pages to give back, and its bytes are not among the
 * bytes asked for.
 *
 * Memory that other threads free (messages that other domains receive) is in a counter
 * that LargeHeader.size follows: upwards when the owner adds to the counter, downwards
 * when a major cycle marks the header.
 *
 * Buffers of strings under construction (luaL_Buffer) are allocated by malloc too. They
 * are in use until they are given back, so a collection cannot free them: they only count
 * in `collectgarbage "count"` and towards a domain's limit. The sampler counts them as
 * memory that the buffer's userdata holds.
 *
 * Finalizers. Most owners have one. It runs soon after the cycle that found the owner
 * dead and frees the bytes then; the object itself is freed only by the next cycle. At
 * the end of the first cycle the bytes are still held. If they counted as live, the goals
 * would leave room in proportion to them, and such memory would grow from cycle to cycle.
 * So these bytes are noted (LargeHeader.revived) and do not count as live at the end of
 * the cycle (Gc.revived_bytes). When the owner states that they are gone, the goals,
 * which were set above them, are lowered.
 */
#include "gc_internal.h"

#include <malloc.h>

#include "gc.h"
#include "gc_inline.h"
#include "heap.h"
#include "memprof.h"
#include "thread.h"
#include "throw.h"

/* The most bytes that count for one owner and for all of them. Owners may state more than
   exists, but the sums must not wrap. */
#define MOST_BYTES ((size_t)1 << 46)
#define MOST_IN_ALL ((size_t)1 << 60)

/* Lowers the size to the counter's value if another thread has reduced the counter. */
static void follow_counter(Domain *d, LargeHeader *held) {
  size_t now = __atomic_load_n(held->now, __ATOMIC_RELAXED);
  if (now < held->size) heap_large_set_external(d, held, now);
}

void gc_mark_external(Domain *d, Userdata *u, ScanKind kind) {
  LargeHeader *held = u->external;
  if (kind == SCAN_MAJOR) {
    if (held->now != NULL) follow_counter(d, held);
    held->revived = d->gc.phase == GC_PHASE_REVIVE;
    if (held->revived) d->gc.revived_bytes += held->size;
  }
  heap_large_promote(&d->heap, held, d->gc.line_bit);
}

/* Tells whether this cycle has counted Gc.revived_bytes, what only finalizers keep alive,
 * and has not subtracted it from the live bytes yet. */
static bool revived_now(const Gc *gc) {
  return gc->phase >= GC_PHASE_REVIVE && gc->phase <= GC_PHASE_FINISH;
}

/* Lowers the goals, or Gc.revived_bytes, when an owner that waited for its finalizer
 * states fewer bytes. An owner that states more than before is alive again. */
static void note_revived(Domain *d, LargeHeader *held, size_t bytes) {
  Gc *gc = &d->gc;
  size_t freed = bytes < held->size ? held->size - bytes : 0;
  if (!revived_now(gc)) gc_pace_lower(d, freed);
  else gc->revived_bytes -= freed < gc->revived_bytes ? freed : gc->revived_bytes;
  if (bytes > held->size) held->revived = 0;
}

static LargeHeader *begin_to_hold(lua_State *L, Userdata *u) {
  Domain *d = L->domain;
  LargeHeader *held = stress_allocation_fails() ? NULL : heap_large_external(&d->heap);
  if (held == NULL) return NULL;
  u->external = held;
  gc_part_changed(L, u);
  return held;
}

bool gc_try_set_external(lua_State *L, Userdata *u, size_t bytes) {
  Domain *d = L->domain;
  LargeHeader *held = u->external;
  size_t others = d->heap.external_bytes - (held != NULL ? held->size : 0);
  if (bytes > MOST_BYTES) bytes = MOST_BYTES;
  if (bytes > MOST_IN_ALL - others) bytes = MOST_IN_ALL - others;
  if (held == NULL && bytes == 0) return true;
  if (held == NULL && (held = begin_to_hold(L, u)) == NULL) return false;
  if (held->revived) note_revived(d, held, bytes);
  size_t more = bytes > held->size ? bytes - held->size : 0;
  heap_large_set_external(d, held, bytes);
  if (unlikely(d->heap.watched) && more > 0) memprof_took_external(L, held + 1, more, u);
  if (bytes > 0) return true;
  if (unlikely(d->heap.watched)) memprof_part_gone(d, held + 1);
  gc_large_part_gone(d, held);
  u->external = NULL;
  return true;
}

void gc_set_external(lua_State *L, Userdata *u, size_t bytes) {
  if (gc_try_set_external(L, u, bytes)) return;
  gc_note_emergency(L->domain);
  error_memory(L);
}

/* Follows the counter upwards. A decrease needs no action: the next cycle sees it. */
void gc_follow_external(lua_State *L, Userdata *u, const size_t *bytes) {
  Domain *d = L->domain;
  size_t now = __atomic_load_n(bytes, __ATOMIC_RELAXED);
  if (u->external != NULL && now <= u->external->size) return;
  if (now == 0 || !gc_try_set_external(L, u, now)) return;
  if (unlikely(u->external == NULL)) return; /* others state MOST_IN_ALL */
  u->external->now = bytes;
  if (gc_is_wanted(d) && d->hooks.interrupt != NULL) d->hooks.interrupt(L);
}

/* ---- buffers of strings under construction ------------------------------- */

#define TRIM_LEAST ((size_t)1 << 20)

bool gc_note_buffer(Domain *d, size_t before, size_t now) {
  Heap *h = &d->heap;
  if (now > before && !heap_has_room(h, now - before)) return false;
  h->buffer_bytes += now - before; /* modulo arithmetic when it shrinks */
  if (now < before) h->malloc_freed += before - now;
  return true;
}

void gc_sample_buffer(lua_State *L, Userdata *owner, size_t before, size_t now) {
  if (likely(!L->domain->heap.watched)) return;
  void *record = owner + 1; /* the key of the buffer's memory in the sampler */
  if (now > before) memprof_took_external(L, record, now - before, owner);
  else if (now == 0) memprof_part_gone(L->domain, record);
}

/* Trims the free memory of malloc, which keeps up to 64 MiB of a freed long buffer for
 * the next one. */
void gc_trim_malloc(Domain *d) {
  if (d->heap.malloc_freed < TRIM_LEAST) return;
  d->heap.malloc_freed = 0;
  malloc_trim(0);
}
