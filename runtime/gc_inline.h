/* SPDX-License-Identifier: MIT */
/* runtime/gc_inline.h: fast paths of heap and collector: allocation, gc_check, write
   barriers. */
#ifndef SAROS_RUNTIME_GC_INLINE_H
#define SAROS_RUNTIME_GC_INLINE_H

#include "domain.h"
#include "thread.h"

/* Allocates `size` bytes (multiple of 8) for an object; never collects; raises
 * LUA_ERRMEM.  The caller sets the header with object_init before anything else
 * can allocate, and every field that a marking reads before the next gc_check. */
ALWAYS_INLINE void *heap_alloc(lua_State *L, size_t size, MemprofKind kind) {
#ifdef SAROS_STRESS
  return heap_alloc_slow(L, size, kind);
#endif
  Heap *h = &L->domain->heap;
  char *p = h->cursor;
  /* A hole can be longer than HEAP_SMALL_MAX: what is large must not land in it. */
  if (unlikely(heap_is_large(size) || size > (size_t)(h->limit - p)))
    return heap_alloc_slow(L, size, kind);
  h->cursor = p + size;
  return p;
}

/* Everything is to be collected at the next gc_check. */
ALWAYS_INLINE void gc_note_emergency(Domain *d) {
  d->gc.emergency = 1;
  d->gc.pending = GC_DUE;
}

/* What this debt makes due. */
ALWAYS_INLINE GcDue gc_due(const Gc *gc, const Heap *h, size_t debt) {
  if (debt < gc->trigger) return GC_NOT_DUE;
  return debt - h->growing_bytes >= gc->trigger ? GC_DUE : GC_DUE_WITH_NEW;
}

/* Bytes were taken: a collection may be due. */
ALWAYS_INLINE void heap_note_taken(Domain *d) {
  const Heap *h = &d->heap;
  size_t debt = heap_debt(h);
  if (unlikely(debt >= d->gc.trigger) && d->gc.pending != GC_DUE)
    d->gc.pending = gc_due(&d->gc, h, debt);
  if (unlikely(h->limit_bytes != 0) && heap_old_bytes(h) + heap_taken(h) >= h->limit_trigger)
    gc_note_emergency(d);
}

/* A place where a collection may run (rules 1 and 2 of gc.h). */
ALWAYS_INLINE void gc_check(lua_State *L) {
#ifdef SAROS_STRESS
  gc_step(L);
#else
  if (unlikely(L->domain->gc.pending)) gc_step(L);
#endif
}

/* For places where nothing new is made: would a gc_check do something that should not
   wait? */
ALWAYS_INLINE bool gc_is_wanted(const Domain *d) {
  return d->gc.pending == GC_DUE && !d->gc.running && !d->gc.closing;
}

/* To be called before an allocation of unknown size, where rules 1 and 2 of gc.h hold.
 * The system is asked for large ones only. */
ALWAYS_INLINE void gc_make_room(lua_State *L, size_t size) {
  if (unlikely(size >= L->domain->heap.ask_from)) gc_collect_for(L, size, false);
}

/* The same for a part of a table that is in use. */
ALWAYS_INLINE void gc_make_room_to_grow(lua_State *L, size_t size) {
  if (unlikely(size > HEAP_SMALL_MAX)) gc_collect_for(L, size, true);
}

/* A gc_check for what a failed allocation wants collected, and nothing else: where an
 * error was caught. Until then its own message might find no room. */
ALWAYS_INLINE void gc_check_emergency(lua_State *L) {
  if (unlikely(L->domain->gc.emergency)) gc_recover(L);
}

/* parent now refers to child. */
ALWAYS_INLINE void gc_barrier_object(lua_State *L, void *parent, void *child) {
  uint8_t gc = ((GCObject *)parent)->gc;
  if (gc & GC_CLEAN) {
    Domain *d = L->domain;
    if ((((((GCObject *)child)->gc & GC_YOUNG) << 1) | d->gc.marking_mask) & GC_CLEAN)
      gc_remember(d, (GCObject *)parent);
  }
}

/* parent now holds the value. */
ALWAYS_INLINE void gc_barrier(lua_State *L, void *parent, const TValue *value) {
  if (is_collected(value)) gc_barrier_object(L, parent, value->v.gc);
}

/* The table now holds the value in a slot of its parts. (A new key too: call it
 * for the key with the node as slot.) */
ALWAYS_INLINE void gc_barrier_table(lua_State *L, Table *t, const void *slot, const TValue *value) {
  if (is_collected(value) && (t->gc & GC_CLEAN)) {
    Domain *d = L->domain;
    if (((value->v.gc->gc << 1) | d->gc.marking_mask) & GC_CLEAN) gc_remember_slot(d, t, slot);
  }
}

/* A node of the table got the contents of another one. This matters if cards are marked
 * rather than the table logged, and if the major marking has already scanned one of the
 * two places. */
ALWAYS_INLINE void gc_barrier_moved(lua_State *L, Table *t, const Node *to) {
  Domain *d = L->domain;
  if ((t->gc & GC_CLEAN) &&
      (d->gc.marking_mask || heap_is_large(table_node_count(t) * sizeof(Node))))
    gc_remember_slot(d, t, to);
}

/* The same while a resize fills new parts, before gc_table_resized; n holds key and
   value. */
ALWAYS_INLINE void gc_barrier_reinserted(lua_State *L, Table *t, const void *slot,
                                         const TValue *value) {
  if ((t->gc & GC_CLEAN) && is_collected(value) && (value->v.gc->gc & GC_YOUNG))
    gc_remember_slot(L->domain, t, slot);
}
ALWAYS_INLINE void gc_barrier_reinserted_node(lua_State *L, Table *t, const Node *n) {
  if ((t->gc & GC_CLEAN) == 0) return;
  if (((n->tag & TAG_COLLECTED) && (n->v.gc->gc & GC_YOUNG)) ||
      ((n->key_tag & TAG_COLLECTED) && (n->key.gc->gc & GC_YOUNG)))
    gc_remember_slot(L->domain, t, n);
}

/* While the entries of ephemerons with dead keys are being removed, they count as
 * absent. */
ALWAYS_INLINE bool gc_node_is_dead(const Domain *d, const Node *n) {
  if (likely(d->gc.phase != GC_PHASE_CLEAR) || !(n->key_tag & TAG_COLLECTED)) return false;
  uint8_t gc = n->key.gc->gc;
  return tag_type(n->key_tag) != LUA_TSTRING && !(gc & GC_YOUNG) &&
         ((gc ^ d->gc.mark_sense) & GC_MARK);
}

/* A short string was made; there may be room to note it. */
ALWAYS_INLINE bool gc_interned_has_room(const Domain *d) {
#ifdef SAROS_STRESS
  return (void)d, false;
#endif
  return d->gc.new_interned.n < d->gc.new_interned.capacity;
}
ALWAYS_INLINE void gc_note_interned(Domain *d, String *s) {
  if (likely(gc_interned_has_room(d))) d->gc.new_interned.items[d->gc.new_interned.n++] = s;
  else gc_note_interned_slow(d, s);
}

/* The intern table returns a string that was there. It may be dead from the end of a
 * marking on, until it is unlinked. */
ALWAYS_INLINE void gc_string_found(Domain *d, String *s) {
  if (unlikely(d->gc.strings_may_be_dead)) gc_resurrect_string(d, s);
}
#endif
