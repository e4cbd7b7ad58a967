/* SPDX-License-Identifier: MIT */
/* runtime/gc_finalize.c: finalizers (__gc).
 *
 * An object is registered when it gets a metatable with __gc (GC_FINALIZE says so). It is
 * then in Gc.finalizable, in order of registration, until a collection finds it dead. The
 * collection resurrects the object with all that it refers to and moves it to the queue
 * Gc.finalizers, whose objects are roots. Of the objects that one collection finds, the
 * one that was registered last comes first in the queue. The next gc_check empties the
 * queue by calling the finalizers, in the span run_finalizers (no span of the collector)
 * and with the collector switched off. Before the call of its finalizer the object
 * becomes an ordinary one, so it may be registered again.
 *
 * Gc.finalizable: the first finalizable_old objects are old; a minor collection examines
 * only the objects after them. The major marking, when nothing else is grey, goes through
 * the old ones in pieces and notes those that it has not reached as candidates. The steps
 * that end the marking examine candidates only, each step a bounded number of them.
 * The dead are in Gc.found until all that they refer to is marked, in slices. Their
 * slots stay empty until the next cycle closes the gaps.
 *
 * Without memory for these records (gc_overflow.c), registering is an error, and a dead
 * object that cannot be noted lives until a later collection. Objects for which the queue
 * has no room wait in Gc.found, which becomes the queue when the queue is empty. At
 * domain_close, where nothing can be postponed, Gc.finalizable itself becomes the queue.
 */
#include "gc_internal.h"

#include <errno.h>
#include <string.h>

#include "gc.h"
#include "known_names.h"
#include "thread.h"
#include "throw.h"

#define PREFETCH_AHEAD 16 /* objects: each header is likely to be a cache miss */
#define REVIVE_WORK 96    /* work of making one object grey again */

/* Makes room for one more object in the list of those with finalizers. */
static NOINLINE void make_room_for_finalizer(lua_State *L) {
  Domain *d = L->domain;
  GcVector *all = &d->gc.finalizable;
  size_t size = all->capacity * 2 * sizeof *all->items, given = 0;
  gc_collect_for(L, size, false);
  while (!GC_TRY_ROOM(d, all))
    if (!heap_is_hosted(&d->heap) || !heap_hosted_give_back(d, size, &given)) error_memory(L);
}

void gc_register_finalizer(lua_State *L, GCObject *o) {
  Domain *d = L->domain;
  GcVector *all = &d->gc.finalizable;
  if ((o->gc & GC_FINALIZE) || d->gc.closing) return;
  if (!GC_TRY_ROOM(d, all)) make_room_for_finalizer(L);
  o->gc |= GC_FINALIZE;
  all->items[all->n++] = o;
}

/* ---- minor collections --------------------------------------------------- */

static void reverse_vector(void **items, size_t n) {
  for (size_t i = 0; i + 1 < n; i++) {
    void *o = items[--n];
    items[n] = items[i];
    items[i] = o;
  }
}

#define OBJECTS_AT_ONCE 64 /* examined between two checks of the work */

/* Resurrects the object if it is dead (returns true), and queues it; its slot is then
 * empty. An object for which the queue has no room keeps its slot. */
static bool separate_young_object(Domain *d, void **slot) {
  GCObject *o = *slot;
  if (o == NULL || !is_young(o)) return false;
  if (GC_TRY_PUSH(d, &d->gc.finalizers, o)) *slot = NULL;
  visit(d, o, SCAN_MINOR);
  return true;
}

/* Separates dead objects from the last one on, which is the order of their finalizers.
 * Returns false if the piece is over before all are examined. */
static bool separate_down(Domain *d, bool *revived) {
  Gc *gc = &d->gc;
  void **items = gc->finalizable.items;
  while (gc->separate_at > gc->finalizable_old) {
    if (gc_piece_is_over(gc)) return false;
    for (int i = 0; i < OBJECTS_AT_ONCE && gc->separate_at > gc->finalizable_old; i++) {
      size_t at = --gc->separate_at;
      if (at >= PREFETCH_AHEAD) __builtin_prefetch(items[at - PREFETCH_AHEAD]);
      if (separate_young_object(d, &items[at])) *revived = true;
      gc->step_work += OBJECT_WORK;
    }
  }
  return true;
}

/* Closes the gaps before `separate_end`, where no object is young now. */
static void close_gaps(Gc *gc) {
  void **items = gc->finalizable.items;
  size_t kept = gc->finalizable_old;
  for (size_t i = kept; i < gc->separate_end; i++)
    if (items[i] != NULL) items[kept++] = items[i];
  size_t behind = gc->finalizable.n - gc->separate_end;
  if (behind > 0) memmove(items + kept, items + gc->separate_end, behind * sizeof *items);
  gc->finalizable.n = kept + behind;
  gc->finalizable_old = kept;
  gc->separate_at = gc->separate_end = 0;
}

/* Queues and resurrects the dead among the young objects. Objects registered between two
 * pieces are examined in a round of their own. */
bool gc_separate_young(Domain *d, bool *revived) {
  Gc *gc = &d->gc;
  bool done = true;
  *revived = false;
  if (gc->finalizable_old == gc->finalizable.n) return true;
  PROBE_BEGIN(d, FINALIZERS);
  while (done && gc->finalizable_old < gc->finalizable.n) {
    if (gc->separate_end == 0) gc->separate_at = gc->separate_end = gc->finalizable.n;
    done = separate_down(d, revived);
    if (done) close_gaps(gc);
    if (done && gc->finalizable_old == gc->finalizable.n) break;
  }
  PROBE_END(d, FINALIZERS);
  return done;
}

/* Keeps all young objects alive. A piece in generational mode may have separated some,
 * whose slots stay empty. */
bool gc_keep_young_finalizable(Domain *d) {
  Gc *gc = &d->gc;
  gc->separate_at = gc->separate_end = 0;
  for (; gc->finalizable_old < gc->finalizable.n; gc->finalizable_old++) {
    if (gc->finalizable_old % OBJECTS_AT_ONCE == 0 && gc_piece_is_over(gc)) return false;
    VISIT(d, gc->finalizable.items[gc->finalizable_old], SCAN_MINOR);
    gc->step_work += OBJECT_WORK;
  }
  return true;
}

/* ---- the major marking --------------------------------------------------- */

void gc_sift_start(Domain *d) { d->gc.sifted_from = d->gc.sifted_to = 0; }

/* Moves the object down to the next slot in the order. A candidate is not stored there;
 * the slot stays empty until it is decided whether the candidate is dead. */
static void sift_object(Domain *d, GCObject *o) {
  Gc *gc = &d->gc;
  bool white = !is_young(o) && !is_marked(d, o);
  if (white && GC_TRY_PUSH(d, &gc->candidates, (GcCandidate){o, gc->sifted_to})) {
    gc->sifted_to++; /* the candidate's slot is empty */
    return;
  }
  if (white) visit(d, o, SCAN_MAJOR);
  gc->finalizable.items[gc->sifted_to++] = o;
}

size_t gc_sift_finalizable(Domain *d) {
  Gc *gc = &d->gc;
  size_t n = 0;
  if (gc->sifted_from >= gc->finalizable_old) return 0;
  PROBE_BEGIN(d, FINALIZERS);
  for (; gc->sifted_from < gc->finalizable_old && n < d->gc.piece; n++) {
    void **at = &gc->finalizable.items[gc->sifted_from++];
    GCObject *o = *at;
    if (gc->sifted_from + PREFETCH_AHEAD < gc->finalizable_old)
      __builtin_prefetch(at[PREFETCH_AHEAD]);
    *at = NULL;
    if (o != NULL) sift_object(d, o);
  }
  PROBE_END(d, FINALIZERS);
  return n * OBJECT_WORK;
}

/* Cuts off the empty slots at the end. All objects were examined and none is young. */
void gc_sift_end(Domain *d) {
  Gc *gc = &d->gc;
  rt_assert(gc->sifted_from == gc->finalizable.n && gc->finalizable_old == gc->finalizable.n &&
            gc->candidates.n == 0);
  gc->finalizable.n = gc->finalizable_old = gc->sifted_from = gc->sifted_to;
}

/* Separates dead candidates from the last one on, which is the order of their
 * finalizers. */
bool gc_separate_some(Domain *d, size_t most) {
  Gc *gc = &d->gc;
  GcCandidates *c = &gc->candidates;
  if (c->n == 0) return true;
  PROBE_BEGIN(d, FINALIZERS);
  size_t n = c->n < most ? c->n : most;
  gc->step_work += n * OBJECT_WORK;
  for (; n > 0; n--) {
    GcCandidate last = c->items[--c->n];
    if (c->n > PREFETCH_AHEAD) __builtin_prefetch(c->items[c->n - PREFETCH_AHEAD].object);
    bool dead = !is_marked(d, last.object);
    if (dead && GC_TRY_PUSH(d, &gc->found, last.object)) continue;
    if (dead) visit(d, last.object, SCAN_MAJOR);
    gc->finalizable.items[last.slot] = last.object;
  }
  PROBE_END(d, FINALIZERS);
  return c->n == 0;
}

bool gc_revive_some(Domain *d, size_t most) {
  Gc *gc = &d->gc;
  size_t n = gc->found.n - gc->revived, at_once = most / REVIVE_WORK + 1;
  if (n > at_once) n = at_once;
  gc->slice_work += n * REVIVE_WORK;
  gc->step_work += n * REVIVE_WORK;
  for (; n > 0; n--) visit(d, gc->found.items[gc->revived++], SCAN_MAJOR);
  return gc->revived == gc->found.n;
}

static void exchange_objects(GcVector *a, GcVector *b) {
  GcVector c = *a;
  *a = *b;
  *b = c;
}

/* Appends the found objects to the queue. Those that find no room are queued later, when
 * the queue is empty. */
void gc_queue_found(Domain *d) {
  Gc *gc = &d->gc;
  GcVector *queue = &gc->finalizers, *found = &gc->found;
  if (queue->n == 0) exchange_objects(queue, found);
  size_t moved = 0;
  while (moved < found->n && GC_TRY_PUSH(d, queue, found->items[moved])) moved++;
  found->n -= moved;
  if (moved > 0) memmove(found->items, found->items + moved, found->n * sizeof *found->items);
  gc->revived = found->n; /* these are roots of the next cycle */
}

/* ---- calling ------------------------------------------------------------- */

/* Takes the first object from the queue. Objects that are in Gc.found while no cycle is
 * marking are left from earlier cycles; they become the queue when it is empty. */
static GCObject *next_in_queue(Domain *d) {
  Gc *gc = &d->gc;
  GCObject *o = gc->finalizers.items[gc->finalizers_first++];
  if (gc->finalizers_first == gc->finalizers.n) {
    gc->finalizers.n = gc->finalizers_first = 0;
    if (unlikely(gc->found.n > 0) && !is_marking(d)) gc_queue_found(d);
  }
  o->gc &= (uint8_t)~GC_FINALIZE;
  return o;
}

static Table *metatable_of_object(GCObject *o) {
  return o->type == LUA_TTABLE ? ((Table *)o)->metatable : ((Userdata *)o)->metatable;
}

/* Calls the finalizer of the object, unless its metatable has lost the finalizer
 * since. */
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

static void note_interlude(Domain *d, bool begins) {
  if (unlikely(d->hooks.interlude != NULL))
    d->hooks.interlude(d, INTERLUDE_FINALIZERS, begins);
}

/* Keeps errno: a function of the library may collect between a call of the system that
 * has failed and its report. */
void gc_run_finalizers(lua_State *L, size_t most) {
  Gc *gc = &L->domain->gc;
  if (gc->finalizers.n == 0 || gc->running) return;
  int error = errno;
  uint64_t before = gc->stats.finalizers;
  gc->running = gc->in_finalizers = 1;
  PROBE_BEGIN(L->domain, RUN_FINALIZERS);
  note_interlude(L->domain, true);
  for (; gc->finalizers.n > 0 && most > 0; most--) call_one(L, next_in_queue(L->domain));
  note_interlude(L->domain, false);
  PROBE_END(L->domain, RUN_FINALIZERS);
  gc->running = gc->in_finalizers = 0;
  PROBE_LIFECYCLE(L->domain, FINALIZERS_RUN, gc->stats.finalizers - before);
  errno = error;
}

void gc_leave_finalizers(Domain *d) {
  if (d->gc.in_finalizers) PROBE_END(d, RUN_FINALIZERS);
  d->gc.in_finalizers = 0;
}

/* Puts candidates back into their slots and makes all objects that are left the
 * queue. */
static void queue_all(Domain *d) {
  Gc *gc = &d->gc;
  GcVector *all = &gc->finalizable;
  size_t n = 0;
  while (gc->candidates.n > 0) {
    GcCandidate c = gc->candidates.items[--gc->candidates.n];
    all->items[c.slot] = c.object;
  }
  for (size_t i = 0; i < all->n; i++)
    if (all->items[i] != NULL) all->items[n++] = all->items[i];
  all->n = n;
  reverse_vector(all->items, n);
  exchange_objects(all, &gc->finalizers);
  gc->finalizable_old = gc->sifted_from = gc->sifted_to = 0;
}

/* Calls the finalizers of objects that wait already, which empties the queue, and then
 * those of all other objects. */
void gc_finalize_all(lua_State *L) {
  Domain *d = L->domain;
  d->gc.closing = 1;
  /* a finalizer may be the code that closes the domain; the other finalizers still run */
  gc_leave_finalizers(d);
  d->gc.running = 0;
  do {
    gc_queue_found(d);
    gc_run_finalizers(L, SIZE_MAX);
  } while (d->gc.found.n > 0);
  queue_all(d);
  gc_run_finalizers(L, SIZE_MAX);
}
