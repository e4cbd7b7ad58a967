/* runtime/gc_finalize.c: finalizers (__gc).
 *
 * An object is registered when it gets a metatable with __gc (GC_FINALIZE says
 * so) and is then in Gc.finalizable, in order of registration, until a
 * collection finds it dead. It is then brought back with all that it refers
 * to and moves to the queue Gc.finalizers, whose objects are roots; those that
 * one collection finds go there last registered first. The queue is emptied at
 * the next gc_check by calling the finalizers, outside any span and with the
 * collector switched off. Before its call the object is an ordinary one again, so
 * it may be registered anew.
 *
 * Gc.finalizable: the first finalizable_old objects are old; a minor collection
 * looks at the others only.
 */
#include "gc_trace.h"
#include "trace.h"

#define PREFETCH_AHEAD 16 /* objects: each header is likely to be a cache miss */

void gc_register_finalizer(lua_State *L, GCObject *o) {
  Domain *d = L->domain;
  if ((o->gc & GC_FINALIZE) || d->gc.closing) return;
  o->gc |= GC_FINALIZE;
  GC_PUSH(d, &d->gc.finalizable, o);
}

/* ---- finding the dead ------------------------------------------------------- */

/* Takes the dead ones from Gc.finalizable[from..] and queues them, last first. */
static size_t queue_dead(Domain *d, size_t from, ScanKind kind) {
  GcVector *all = &d->gc.finalizable, *queue = &d->gc.finalizers;
  size_t kept = from, first = queue->n;
  for (size_t i = from; i < all->n; i++) {
    GCObject *o = all->items[i];
    if (i + PREFETCH_AHEAD < all->n) __builtin_prefetch(all->items[i + PREFETCH_AHEAD]);
    if (is_dead(d, o, kind)) GC_PUSH(d, queue, o);
    else all->items[kept++] = o;
  }
  all->n = kept;
  for (size_t i = first, j = queue->n; i + 1 < j; i++) {
    void *o = queue->items[--j];
    queue->items[j] = queue->items[i];
    queue->items[i] = o;
  }
  return queue->n - first;
}

void gc_keep_young_finalizable(Domain *d) {
  Gc *gc = &d->gc;
  for (size_t i = gc->finalizable_old; i < gc->finalizable.n; i++) visit(d, gc->finalizable.items[i], SCAN_MINOR);
  gc->finalizable_old = gc->finalizable.n;
}

size_t gc_separate_finalizers(Domain *d, ScanKind kind) {
  Gc *gc = &d->gc;
  size_t from = kind == SCAN_MINOR ? gc->finalizable_old : 0;
  if (from == gc->finalizable.n) return 0;
  TRACE_BEGIN(d, FINALIZERS);
  size_t found = queue_dead(d, from, kind);
  for (size_t i = gc->finalizers.n - found; i < gc->finalizers.n; i++) {
    if (kind == SCAN_MINOR) visit(d, gc->finalizers.items[i], SCAN_MINOR);
    else visit(d, gc->finalizers.items[i], SCAN_MAJOR);
  }
  gc->finalizable_old = gc->finalizable.n; /* after a minor trace nothing in it is young */
  TRACE_END(d, FINALIZERS);
  return found;
}

/* ---- calling --------------------------------------------------------------------- */

static GCObject *next_in_queue(Gc *gc) {
  GCObject *o = gc->finalizers.items[gc->finalizers_first++];
  if (gc->finalizers_first == gc->finalizers.n) gc->finalizers.n = gc->finalizers_first = 0;
  o->gc &= (uint8_t)~GC_FINALIZE;
  return o;
}

static Table *metatable_of_object(GCObject *o) {
  return o->type == LUA_TTABLE ? ((Table *)o)->metatable : ((Userdata *)o)->metatable;
}

/* Its metatable may have lost the finalizer since. */
static void call_one(lua_State *L, GCObject *o) {
  Domain *d = L->domain;
  const TValue *f = table_fast_metamethod(d, metatable_of_object(o), META_GC);
  if (f == NULL || is_nil(f) || d->hooks.call_finalizer == NULL) return;
  value_copy(L->top, f);
  set_object(L->top + 1, o, (uint8_t)(o->type | TAG_COLLECTED));
  L->top += 2;
  d->hooks.call_finalizer(L);
  d->gc.stats.finalizers++;
}

void gc_run_finalizers(lua_State *L, size_t most) {
  Gc *gc = &L->domain->gc;
  if (gc->finalizers.n == 0 || gc->running) return;
  uint64_t before = gc->stats.finalizers;
  gc->running = 1;
  for (; gc->finalizers.n > 0 && most > 0; most--) call_one(L, next_in_queue(gc));
  gc->running = 0;
  TRACE_LIFECYCLE(L->domain, FINALIZERS_RUN, gc->stats.finalizers - before);
}

static void queue_all(Domain *d) {
  GcVector *all = &d->gc.finalizable;
  while (all->n > 0) {
    void *o = all->items[--all->n];
    GC_PUSH(d, &d->gc.finalizers, o);
  }
  d->gc.finalizable_old = 0;
}

void gc_finalize_all(lua_State *L) {
  Domain *d = L->domain;
  d->gc.closing = 1;
  d->gc.running = 0; /* a finalizer may be what closes the domain; the others still have their turn */
  queue_all(d);
  gc_run_finalizers(L, SIZE_MAX);
}
