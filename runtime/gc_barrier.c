/* SPDX-License-Identifier: MIT */
/* runtime/gc_barrier.c: slow half of the write barrier (fast half: gc_inline.h).  The
 * barrier logs objects. When a clean object comes to refer to a young one, or to any
 * object while a major cycle marks, the barrier puts it into the remembered set and
 * clears GC_CLEAN, so it is logged once. The next minor collection rescans the object
 * whole.  A table with a large part stays clean, because a store into the large part must
 * mark its card even when the table is logged for its small part. LargeHeader.logged says
 * that the table is logged; if that header goes with the part, the table is logged
 * twice. */
#include "gc_internal.h"

#include "gc.h"
#include "gc_inline.h"
#include "heap.h"
#include "thread.h"

/* Debt, in bytes, for what the next minor collection has to scan: */
#define THREAD_DEBT 1024  /* for a stack */
/* for each slot that the thread has used: it may unwind and use them again */
#define SLOT_DEBT 8
/* for an object or card in the remembered set: two cache misses or more */
#define REMEMBERED_DEBT 160
#define NODE_DEBT 280     /* for a card of nodes: keys are examined as well */
#define WEAK_DEBT 400     /* for a card of slots or nodes that may be weak */

static LargeHeader *large_part(const Table *t) {
  if (heap_is_large(array_bytes(t))) return heap_large_of(t->array);
  if (heap_is_large(node_bytes(t))) return heap_large_of(t->node);
  return NULL;
}

/* Adds to the debt, so that the next minor collection does not have too much to examine.
 * A program that stores and does not allocate collects at its next safepoint. */
static void add_debt(Domain *d, size_t bytes) {
  d->heap.scan_debt += bytes;
  heap_note_taken(d);
  if (unlikely(gc_is_wanted(d)) && d->hooks.interrupt != NULL && d->current != NULL)
    d->hooks.interrupt(d->current);
}

static void remember_object(Domain *d, GCObject *o) {
  if (!GC_TRY_PUSH(d, &d->gc.remembered, o)) gc_overflow_minor(d, o);
}

static void remember_table(Domain *d, Table *t) {
  LargeHeader *large = large_part(t);
  if (large == NULL) t->gc &= (uint8_t)~GC_CLEAN;
  else if (large->logged) return;
  else large->logged = 1;
  add_debt(d, REMEMBERED_DEBT +
                  (t->metatable == NULL ? small_part_bytes(t) / 4 : 2 * small_part_bytes(t)));
  remember_object(d, (GCObject *)t);
}

void gc_remember_thread(Domain *d, lua_State *co) {
  co->next_remembered = d->gc.remembered_threads;
  d->gc.remembered_threads = co;
  d->gc.remembered_threads_n++;
}

NOINLINE void gc_remember(Domain *d, GCObject *parent) {
  if (parent->type == LUA_TTABLE) {
    remember_table(d, (Table *)parent);
  } else {
    parent->gc &= (uint8_t)~GC_CLEAN;
    add_debt(d, REMEMBERED_DEBT);
    if (parent->type == LUA_TTHREAD) gc_remember_thread(d, (lua_State *)parent);
    else remember_object(d, parent);
  }
}

/* Makes the next minor collection scan the part whole, since its cards are not
 * recorded. */
static NOINLINE void lose_cards(Domain *d, Table *t, void *part) {
  heap_large_of(part)->fresh = 2;
  add_debt(d, heap_large_of(part)->size);
  remember_table(d, t);
}

/* Returns the debt of a card. A table that has a metatable may be weak. */
static size_t card_debt(const Table *t, uint32_t node) {
  if (t->metatable != NULL) return WEAK_DEBT;
  return node ? NODE_DEBT : REMEMBERED_DEBT;
}

/* Records the first mark on a card. Returns false if the card needs no mark, since the
 * whole part will be scanned. */
static NOINLINE bool note_card(Domain *d, Table *t, void *part, uint32_t card, uint32_t node) {
  add_debt(d, card_debt(t, node));
  if (GC_TRY_PUSH(d, &d->gc.cards, (GcCard){t, card, node})) return true;
  lose_cards(d, t, part);
  return false;
}

ALWAYS_INLINE bool mark_card(Domain *d, Table *t, void *part, size_t size, const void *slot,
                             uint32_t node) {
  size_t offset = (size_t)((const char *)slot - (char *)part);
  if (!heap_is_large(size) || offset >= size) return false;
  if (node) offset -= offset % sizeof(Node);
  uint32_t card = (uint32_t)(offset >> HEAP_CARD_SHIFT);
  uint8_t *marks = &heap_large_of(part)->cards[card];
  if (*marks != 0 || note_card(d, t, part, card, node)) *marks |= card_bit(offset);
  return true;
}

NOINLINE void gc_remember_slot(Domain *d, Table *t, const void *slot) {
  if (mark_card(d, t, t->array, array_bytes(t), slot, 0)) return;
  if (mark_card(d, t, t->node, node_bytes(t), slot, 1)) return;
  remember_table(d, t);
}

/* Logs a table whose parts were replaced. New small parts and fresh large arrays are
 * scanned with the table. A large array that was grown kept its cards, and values put
 * into a new large node part went through gc_barrier_reinserted, so young objects are on
 * marked cards. But values that have moved (from node to node, or between the two parts)
 * may be where the major marking has already been; in that case it scans the table again,
 * piece by piece. */
void gc_table_resized(lua_State *L, Table *t, bool moved) {
  Domain *d = L->domain;
  if (is_young(t)) return;
  if (t->gc & GC_CLEAN) {
    if (heap_is_large(node_bytes(t)) && heap_large_of(t->node)->fresh == 1)
      heap_large_of(t->node)->fresh = 0;
    remember_table(d, t);
  }
  if (moved && is_marking(d) && is_marked(d, t) && large_part(t) != NULL)
    gc_regrey(d, (GCObject *)t);
}

/* Replaces the metatable. If the table is no longer weak, or weak in another way, what a
 * marking has only noted of the table is followed. */
void gc_set_metatable(lua_State *L, Table *t, Table *mt) {
  Domain *d = L->domain;
  Weakness before = t->metatable != NULL ? gc_weakness(d, t) : WEAK_NONE;
  t->metatable = mt;
  if (before == WEAK_NONE || (mt != NULL && gc_weakness(d, t) == before)) return;
  if (d->gc.minor_begun) gc_weakness_changed(d);
  if (is_marking(d) && !is_young(t) && is_marked(d, t)) gc_regrey(d, (GCObject *)t);
}

void gc_part_changed(lua_State *L, void *owner) {
  if (((GCObject *)owner)->gc & GC_CLEAN) gc_remember(L->domain, owner);
}

void gc_thread_resumed(lua_State *L, lua_State *co) {
  if ((co->gc & GC_CLEAN) == 0) return;
  gc_remember(L->domain, (GCObject *)co);
  add_debt(L->domain, THREAD_DEBT + (size_t)(co->stack_last - co->stack) * SLOT_DEBT);
}

void gc_stack_widened(lua_State *L, size_t slots) { add_debt(L->domain, slots * sizeof(TValue)); }
