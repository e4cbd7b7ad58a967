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

/* Makes the next gc_check collect everything. */
ALWAYS_INLINE void gc_note_emergency(Domain *d) {
  d->gc.emergency = 1;
  d->gc.pending = GC_DUE;
}

/* Returns what a debt of that many bytes makes due. */
ALWAYS_INLINE GcDue gc_due(const Gc *gc, const Heap *h, size_t debt) {
  if (debt < gc->trigger) return GC_NOT_DUE;
  return debt - h->growing_bytes >= gc->trigger ? GC_DUE : GC_DUE_WITH_NEW;
}

/* Notes a step that is due because bytes were taken from the heap. */
ALWAYS_INLINE void heap_note_taken(Domain *d) {
  const Heap *h = &d->heap;
  size_t debt = heap_debt(h);
  if (unlikely(debt >= d->gc.trigger) && d->gc.pending != GC_DUE)
    d->gc.pending = gc_due(&d->gc, h, debt);
  if (unlikely(h->limit_bytes != 0) && heap_old_bytes(h) + heap_taken(h) >= h->limit_trigger)
    gc_note_emergency(d);
}

/* Runs a collection step if one is due (rules 1 and 2 of gc.h must hold). */
ALWAYS_INLINE void gc_check(lua_State *L) {
#ifdef SAROS_STRESS
  gc_step(L);
#else
  if (unlikely(L->domain->gc.pending)) gc_step(L);
#endif
}

/* Lets no gc_check collect or call finalizers. Whoever catches the error for whose sake
 * this is sets Gc.running to what it was before. */
ALWAYS_INLINE void gc_hold(Domain *d) { d->gc.running = 1; }

/* Tells whether a step is due that should not wait for a new allocation; for code in
   which nothing new is made. */
ALWAYS_INLINE bool gc_is_wanted(const Domain *d) {
  return d->gc.pending == GC_DUE && !d->gc.running && !d->gc.closing;
}

/* Makes room for an allocation of unknown size; call it before the allocation, where
 * rules 1 and 2 of gc.h hold. Only for large sizes is the system asked for memory. */
ALWAYS_INLINE void gc_make_room(lua_State *L, size_t size) {
  if (unlikely(size >= L->domain->heap.ask_from)) gc_collect_for(L, size, false);
}

/* Makes room, like gc_make_room, for a part of a table that is in use. */
ALWAYS_INLINE void gc_make_room_to_grow(lua_State *L, size_t size) {
  if (unlikely(size > HEAP_SMALL_MAX)) gc_collect_for(L, size, true);
}

/* Collects only what a failed allocation wants collected. Called where an error was
 * caught; before that, the error's own message might find no room. */
ALWAYS_INLINE void gc_check_emergency(lua_State *L) {
  if (unlikely(L->domain->gc.emergency)) gc_recover(L);
}

/* Notes that `parent` now refers to `child`. */
ALWAYS_INLINE void gc_barrier_object(lua_State *L, void *parent, void *child) {
  uint8_t gc = ((GCObject *)parent)->gc;
  if (gc & GC_CLEAN) {
    Domain *d = L->domain;
    if ((((((GCObject *)child)->gc & GC_YOUNG) << 1) | d->gc.marking_mask) & GC_CLEAN)
      gc_remember(d, (GCObject *)parent);
  }
}

/* Notes that `parent` now holds the value. */
ALWAYS_INLINE void gc_barrier(lua_State *L, void *parent, const TValue *value) {
  if (is_collected(value)) gc_barrier_object(L, parent, value->v.gc);
}

/* Notes that the table now holds the value in a slot of its parts. For a new key call it
 * with the key as value and the node as slot. */
ALWAYS_INLINE void gc_barrier_table(lua_State *L, Table *t, const void *slot, const TValue *value) {
  if (is_collected(value) && (t->gc & GC_CLEAN)) {
    Domain *d = L->domain;
    if (((value->v.gc->gc << 1) | d->gc.marking_mask) & GC_CLEAN) gc_remember_slot(d, t, slot);
  }
}

/* Notes that a node of the table got the contents of another node. This matters if cards
 * are marked and the table is not logged, or if the major marking has already scanned one
 * of the two nodes. */
ALWAYS_INLINE void gc_barrier_moved(lua_State *L, Table *t, const Node *to) {
  Domain *d = L->domain;
  if ((t->gc & GC_CLEAN) &&
      (d->gc.marking_mask || heap_is_large(table_node_count(t) * sizeof(Node))))
    gc_remember_slot(d, t, to);
}

/* Notes a value that a resize puts into a new part, before gc_table_resized is called.
 * The function for a node notes its key and its value. */
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

/* Tells whether the node has a dead key. While entries of ephemerons with dead keys are
 * being removed, such an entry counts as absent. */
ALWAYS_INLINE bool gc_node_is_dead(const Domain *d, const Node *n) {
  if (likely(d->gc.phase != GC_PHASE_CLEAR) || !(n->key_tag & TAG_COLLECTED)) return false;
  uint8_t gc = n->key.gc->gc;
  return tag_type(n->key_tag) != LUA_TSTRING && !(gc & GC_YOUNG) &&
         ((gc ^ d->gc.mark_sense) & GC_MARK);
}

/* Tells whether Gc.new_interned has room for a short string that was made. */
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

/* Keeps alive a string that the intern table already held and returns now. The string may
 * be dead from the end of a marking until it is unlinked. */
ALWAYS_INLINE void gc_string_found(Domain *d, String *s) {
  if (unlikely(d->gc.strings_may_be_dead)) gc_resurrect_string(d, s);
}
#endif
