/* SPDX-License-Identifier: MIT */
/* runtime/gc_verify.c: checks the invariants of the heap.
 *
 * Walks all reachable objects, with its own set of visited addresses (malloc; no mark bit
 * is used), and checks each object and part against what gc.h and heap.c state. Each RULE
 * below names what it checks; a broken rule ends the process with the rule, the object
 * and the object that referred to it.
 *
 * It may be called whenever no collection is half done: after each phase of a slice and
 * after each minor collection.
 */
#include "gc_internal.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "gc.h"
#include "gc_inline.h"
#include "heap.h"
#include "known_names.h"
#include "str.h"
#include "thread.h"

typedef struct Visit {
  const GCObject *object, *parent;
} Visit;

typedef struct Verifier {
  Domain *d;
  const char *when;
  const GCObject **set; /* open addressing, power of two */
  size_t size, used;
  Visit *stack;
  size_t n, capacity;
  const GCObject *parent; /* object being examined */
  bool parent_clean;      /* a young child breaks a rule */
  bool parent_black;      /* if the parent is clean, a white child breaks a rule, too */
  size_t values_at, ephemerons_at, all_at; /* positions in the lists of Gc.minor_weak */
} Verifier;

/* ---- reporting ----------------------------------------------------------- */

_Noreturn static void rule_broken(const Verifier *v, const char *rule, const void *object) {
  const GCObject *o = object, *p = v->parent;
  fprintf(stderr, "heap verifier (after %s, phase %d): %s\n  object %p", v->when, v->d->gc.phase,
          rule, object);
  if (o != NULL) fprintf(stderr, " type %#x gc %#x", o->type, o->gc);
  fprintf(stderr, "\n  referred to by %p", (const void *)p);
  if (p != NULL) fprintf(stderr, " type %#x gc %#x", p->type, p->gc);
  fputc('\n', stderr);
  abort();
}

#define RULE(v, condition, rule, object) \
  do { \
    if (unlikely(!(condition))) rule_broken(v, rule, object); \
  } while (0)

/* ---- the set of visited objects ------------------------------------------ */

static size_t verified_slot(const Verifier *v, const GCObject *o) {
  size_t i = ((uintptr_t)o >> 3) * UINT64_C(0x9E3779B97F4A7C15) >> 20;
  while (v->set[i & (v->size - 1)] != NULL && v->set[i & (v->size - 1)] != o) i++;
  return i & (v->size - 1);
}

static void *require_memory(void *p) {
  if (p == NULL) abort();
  return p;
}

static void grow_set(Verifier *v) {
  const GCObject **old = v->set;
  size_t size = v->size;
  v->size *= 2;
  v->set = require_memory(calloc(v->size, sizeof *v->set));
  for (size_t i = 0; i < size; i++)
    if (old[i] != NULL) v->set[verified_slot(v, old[i])] = old[i];
  free(old);
}

static bool verify_add(Verifier *v, const GCObject *o) {
  size_t i = verified_slot(v, o);
  if (v->set[i] != NULL) return false;
  v->set[i] = o;
  if (++v->used * 2 > v->size) grow_set(v);
  return true;
}

/* ---- memory -------------------------------------------------------------- */

static void check_small(Verifier *v, const char *p, size_t size, bool young, const GCObject *o) {
  Heap *h = &v->d->heap;
  HeapLocation at = heap_location_of(h, p);
  const Chunk *c = at.chunk, *known = h->chunks;
  while (known != NULL && known != c) known = known->next;
  RULE(v, known != NULL, "memory in use is in a chunk of this heap", o);
  const Block *b = heap_block_of(h, p);
  RULE(v, b->state != BLOCK_FREE && b->state != BLOCK_VACANT,
       "memory in use is not in a free block", o);
  if (young) RULE(v, b->state == BLOCK_CONSUMED, "young memory is in a consumed block", o);
  if (young) return;
  size_t last = (at.offset + size - 1) >> HEAP_LINE_SHIFT;
  for (size_t i = at.offset >> HEAP_LINE_SHIFT; i <= last; i++)
    RULE(v, c->lines[i] != 0, "the lines of an old object are marked", o);
}

static void check_memory(Verifier *v, const void *p, size_t size, bool young, const GCObject *o) {
  if (size == 0) return;
  RULE(v, p != NULL, "a part is there", o);
  if (heap_is_large(size)) {
    const LargeHeader *large = heap_large_of(p);
    RULE(v, large->size >= size, "a large allocation is as large as its owner says", o);
    RULE(v, young || large->mark != 0, "large memory of an old object is old", o);
    RULE(v, large->next->prev == large && large->prev->next == large, "large memory is in its list",
         o);
  } else {
    check_small(v, p, size, young, o);
  }
}

/* Checks a part unless its owner is logged: a part that was replaced since the last minor
 * collection is young, although its logged owner is old. */
static void check_part(Verifier *v, const void *p, size_t size, const GCObject *owner) {
  bool clean = v->parent_clean;
  if (owner->type == LUA_TTABLE && clean) /* may be logged in its large part instead */
    clean = !heap_is_large(array_bytes((const Table *)owner)) &&
            !heap_is_large(node_bytes((const Table *)owner));
  if (clean) check_memory(v, p, size, false, owner);
  else if (size > 0) RULE(v, p != NULL, "a part is there", owner);
}

/* ---- references ---------------------------------------------------------- */

static void verify_header(Verifier *v, const GCObject *o) {
  Domain *d = v->d;
  char *base;
  switch (o->type) {
    case TYPE_SHORT_STRING:
    case TYPE_LONG_STRING:
    case LUA_TTABLE:
    case TYPE_LUA_CLOSURE:
    case TYPE_C_CLOSURE:
    case TYPE_UPVALUE: case TYPE_PROTO: case LUA_TUSERDATA: case LUA_TTHREAD: break;
    default: rule_broken(v, "an object has a type", o);
  }
  size_t size = gc_object_extent(o, &base);
  check_memory(v, base, size, is_young(o), o);
  if (is_young(o)) RULE(v, !(o->gc & GC_CLEAN), "a young object is not clean", o);
  if (!is_young(o) && !is_marking(d) && d->gc.phase != GC_PHASE_SWEEP_STRINGS)
    RULE(v, is_marked(d, o), "outside marking a reachable old object has the colour of the living",
         o);
}

static void verify_reach(Verifier *v, const void *object) {
  const GCObject *o = object;
  if (o == NULL) return;
  if (verify_add(v, o)) {
    verify_header(v, o);
    if (v->n == v->capacity) {
      v->capacity = v->capacity ? v->capacity * 2 : 1024;
      v->stack = require_memory(realloc(v->stack, v->capacity * sizeof *v->stack));
    }
    v->stack[v->n++] = (Visit){o, v->parent};
  }
}

static bool in_ranges(const GcWeakRanges *list, const GCObject *o) {
  for (size_t i = 0; i < list->n; i++)
    if ((const GCObject *)list->items[i].table == o) return true;
  return false;
}

static bool in_lists(const GcWeakLists *lists, const GCObject *o) {
  return in_ranges(&lists->values, o) || in_ranges(&lists->ephemerons, o) ||
         in_ranges(&lists->all, o);
}

/* Tells whether a table was weak when the minor marking scanned it. It may be strong by
 * now, but the ranges noted are still settled or cleared at the end of the marking. */
static bool was_weak_minor(const Gc *gc, const GCObject *o) {
  return o != NULL && o->type == LUA_TTABLE && gc->minor_begun && in_lists(&gc->minor_weak, o);
}

static bool was_weak_major(const Gc *gc, const GCObject *o) {
  if (o == NULL || o->type != LUA_TTABLE) return false;
  if ((((const Table *)o)->state & TABLE_CLEARING) || in_lists(&gc->noted_weak, o)) return true;
  for (size_t i = 0; i < gc->weak_left.entries.n; i++)
    if ((const GCObject *)gc->weak_left.entries.items[i].table == o) return true;
  return in_ranges(&gc->weak_left.values, o);
}

/* Checks a strong reference of the object being examined. */
static void verify_child(Verifier *v, const void *object) {
  const GCObject *o = object;
  if (o == NULL) return;
  verify_reach(v, o);
  const Gc *gc = &v->d->gc;
  if (v->parent_clean)
    RULE(v, !is_young(o) || was_weak_minor(gc, v->parent), "a clean object refers to no young one",
         o);
  if (v->parent_clean && v->parent_black)
    RULE(v, is_young(o) || is_marked(v->d, o) || was_weak_major(gc, v->parent),
         "a clean black object refers to no white one", o);
}

static void refer_value(Verifier *v, const TValue *value) {
  if (is_collected(value)) {
    RULE(v, (value->tag & ~TAG_COLLECTED) == value->v.gc->type,
         "a value's tag is its object's type", value->v.gc);
    verify_child(v, value->v.gc);
  }
}

static bool is_noted_in(const GcWeakRanges *list, size_t *at, GcWeakRange entry) {
  for (size_t tried = 0; tried < list->n; tried++, ++*at) {
    if (*at >= list->n) *at = 0;
    const GcWeakRange *r = &list->items[*at];
    if (r->table == entry.table && r->node == entry.node && r->from <= entry.from &&
        entry.from < r->to)
      return true;
  }
  return false;
}

/* Tells whether the minor collection under way has noted the entry. */
static bool is_noted(Verifier *v, GcWeakRange entry) {
  const GcWeakLists *lists = &v->d->gc.minor_weak;
  return is_noted_in(&lists->values, &v->values_at, entry) ||
         is_noted_in(&lists->ephemerons, &v->ephemerons_at, entry) ||
         is_noted_in(&lists->all, &v->all_at, entry);
}

/* Checks a weak reference of the table being examined, in slot or node `i`. */
static void weak_reference(Verifier *v, const GCObject *o, uint32_t i, uint32_t node) {
  verify_header(v, o);
  if (v->parent_clean && is_young(o))
    RULE(v, is_noted(v, (GcWeakRange){(Table *)v->parent, i, i + 1, node}),
         "a young object that a clean table refers to weakly is noted", o);
}

/* Tells whether a slot or node is on a marked card, and so may refer to anything. */
static bool on_marked_card(const void *part, size_t size, const void *slot) {
  if (!heap_is_large(size)) return false;
  const LargeHeader *large = heap_large_of(part);
  size_t at = (size_t)((const char *)slot - (const char *)part);
  return large->fresh || (large->cards[at >> HEAP_CARD_SHIFT] & card_bit(at));
}

/* ---- objects ------------------------------------------------------------- */

static void look_at_node(Verifier *v, const Table *t, const Node *n, Weakness w, bool clean) {
  if (n->tag == TAG_NIL) {
    RULE(v, !clean || !(n->key_tag & TAG_COLLECTED) || !is_young(n->key.gc) ||
               is_noted(v, (GcWeakRange){(Table *)t, (uint32_t)(n - t->node), 0, 1}),
         "the key of an empty node is old or forgotten", t);
    return;
  }
  if (gc_node_is_dead(v->d, n)) return;
  v->parent_clean = clean;
  TValue key = {.v = n->key, .tag = n->key_tag};
  RULE(v, n->key_tag != TAG_DEADKEY, "a node with a value has a key", t);
  bool strong_key = !(w & WEAK_KEYS) || tag_type(key.tag) == LUA_TSTRING;
  bool strong_value = w == WEAK_NONE || tag_type(n->tag) == LUA_TSTRING;
  if (w != WEAK_NONE) v->parent_black = false; /* settled at the end of marking */
  if (strong_key) refer_value(v, &key);
  else if (is_collected(&key)) weak_reference(v, key.v.gc, (uint32_t)(n - t->node), 1);
  if (strong_value) refer_value(v, node_value(n));
  else if (n->tag & TAG_COLLECTED) weak_reference(v, n->v.gc, (uint32_t)(n - t->node), 1);
}

static bool is_scanned_whole(const void *part, size_t size) {
  return !heap_is_large(size) || heap_large_of(part)->fresh;
}

static void look_at_table(Verifier *v, const Table *t) {
  size_t asize = array_bytes(t), nsize = node_bytes(t);
  if (!is_young(t) && !(t->gc & GC_CLEAN))
    RULE(v, is_scanned_whole(t->array, asize) && is_scanned_whole(t->node, nsize),
         "stores mark the cards of a large part, or it is scanned whole", t);
  check_part(v, t->array, asize, (const GCObject *)t);
  check_part(v, t->node, nsize, (const GCObject *)t);
  bool clean = v->parent_clean, black = v->parent_black;
  if (clean && ((heap_is_large(asize) && heap_large_of(t->array)->logged) ||
                (heap_is_large(nsize) && heap_large_of(t->node)->logged)))
    clean = false;
  v->parent_clean = clean;
  verify_child(v, t->metatable);
  Weakness w = gc_weakness(v->d, t);
  for (uint32_t i = 0; i < t->array_size; i++) {
    v->parent_clean = clean && !on_marked_card(t->array, asize, &t->array[i]);
    v->parent_black = black && w == WEAK_NONE;
    if (!(w & WEAK_VALUES) || is_string(&t->array[i])) refer_value(v, &t->array[i]);
    else if (is_collected(&t->array[i])) weak_reference(v, t->array[i].v.gc, i, 0);
  }
  for (uint32_t i = 0; i < table_node_count(t); i++) {
    v->parent_black = black;
    look_at_node(v, t, &t->node[i], w, clean && !on_marked_card(t->node, nsize, &t->node[i]));
  }
}

static void look_at_prototype(Verifier *v, const Prototype *p) {
  const GCObject *o = (const GCObject *)p;
  verify_child(v, p->source);
  verify_child(v, p->name);
  for (uint32_t i = 0; i < p->nconstants; i++) refer_value(v, &p->k[i]);
  for (uint32_t i = 0; i < p->nprotos; i++) verify_child(v, p->p[i]);
  for (uint32_t i = 0; p->upvalues != NULL && i < p->nupvalues; i++)
    verify_child(v, p->upvalues[i].name);
  for (uint32_t i = 0; i < p->nlocals; i++) verify_child(v, p->locals[i].name);
  check_part(v, p->code, p->ncode * sizeof *p->code, o);
  check_part(v, p->k, p->nconstants * sizeof *p->k, o);
  check_part(v, p->positions, p->npositions * sizeof *p->positions, o);
  check_part(v, p->locals, p->nlocals * sizeof *p->locals, o);
}

static void look_at_thread(Verifier *v, const lua_State *co) {
  if (co->stack == NULL) return;
  const GCObject *o = (const GCObject *)co;
  check_part(v, co->stack, (size_t)(co->stack_end + EXTRA_STACK - co->stack) * sizeof(TValue), o);
  for (const TValue *s = co->stack_last + EXTRA_STACK; s < co->stack_end + EXTRA_STACK; s++)
    RULE(v, is_nil(s), "a stack is nil beyond its window", o);
  for (const CallInfo *ci = co->base_ci.next; ci != NULL; ci = ci->next)
    check_part(v, ci, sizeof *ci, o);
  for (const TValue *s = co->stack; s < co->top; s++) refer_value(v, s);
  const UpValue *above = NULL;
  for (const UpValue *uv = co->open_upvalues; uv != NULL; above = uv, uv = uv->u.open.next) {
    RULE(v, upvalue_is_open(uv) && uv->u.open.thread == co,
         "the upvalues that a thread lists are open, and its own", uv);
    RULE(v, above == NULL || above->v > uv->v, "open upvalues are listed highest slot first", uv);
    verify_child(v, uv);
  }
  verify_child(v, co->resumer);
}

static void look_at_upvalue(Verifier *v, const UpValue *uv) {
  if (upvalue_is_open(uv)) {
    verify_child(v, uv->u.open.thread);
    v->parent_clean = false; /* the slot belongs to the thread */
  }
  refer_value(v, uv->v);
}

static void look_at_string(Verifier *v, const String *s) {
  if (s->type != TYPE_SHORT_STRING) return;
  const StringTable *table = &v->d->strings;
  const String *found = string_at(*string_bucket(table, string_bucket_index(table, s->hash)));
  while (found != NULL && found != s) found = string_at(found->u.next);
  RULE(v, found == s, "a short string is in the intern table", s);
}

static bool in_vector(const GcVector *vector, const GCObject *o) {
  for (size_t i = 0; i < vector->n; i++)
    if (vector->items[i] == o) return true;
  return false;
}

/* Tells whether the next minor collection will reach the object. */
static bool is_remembered(Domain *d, const GCObject *o) {
  const Gc *gc = &d->gc;
  if (o->type != LUA_TTHREAD) return gc_has_overflowed(d, o) || in_vector(&gc->remembered, o);
  const lua_State *co = gc->remembered_threads;
  while (co != NULL && (const GCObject *)co != o) co = co->next_remembered;
  return co != NULL;
}

static bool is_grey(Domain *d, const GCObject *o) {
  const Gc *gc = &d->gc;
  if (gc_has_overflowed(d, o)) return true;
  for (size_t i = 0; i < gc->partial.n; i++)
    if ((const GCObject *)gc->partial.items[i].object == o) return true;
  return in_vector(&gc->grey, o);
}

static void check_external(Verifier *v, const Userdata *u) {
  const GCObject *o = (const GCObject *)u;
  if (u->external == NULL) return;
  RULE(v, u->external->external && (u->external->size > 0 || u->external->now != NULL),
       "what a userdata holds outside is noted as such", o);
  RULE(v, u->external->next->prev == u->external && u->external->prev->next == u->external,
       "what a userdata holds outside is in its list", o);
  if (v->parent_clean)
    RULE(v, u->external->mark != 0, "what a clean userdata holds outside is old", o);
}

/* Tells whether a minor collection under way has promoted the object and not yet scanned
 * all of it. (An object that found no room on the mark stack has its overflow bit.) */
static bool is_to_be_scanned(Domain *d, const GCObject *o) {
  const Gc *gc = &d->gc;
  if (!gc->minor_begun) return false;
  if (gc->overflow_minor && gc_has_overflowed(d, o)) return true;
  if (gc->promoted.n + gc->minor_partial.n > 1000) return true;
  for (size_t i = 0; i < gc->minor_partial.n; i++)
    if (gc->minor_partial.items[i].object == o) return true;
  return in_vector(&gc->promoted, o);
}

static void verify_look_at(Verifier *v, const GCObject *o) {
  Domain *d = v->d;
  v->parent = o;
  v->parent_clean = (o->gc & GC_CLEAN) && !is_to_be_scanned(d, o);
  v->parent_black = is_marking(d) && !is_young(o) && is_marked(d, o) &&
                    d->gc.grey.n + d->gc.partial.n < 1000 && !is_grey(d, o) &&
                    !is_to_be_scanned(d, o);
  if (!is_young(o) && !(o->gc & GC_CLEAN) && d->gc.remembered.n + d->gc.remembered_threads_n < 1000)
    RULE(v, is_remembered(d, o), "an old object that is not clean is in the remembered set",
         o);
  switch (o->type) {
    case LUA_TTABLE: look_at_table(v, (const Table *)o); break;
    case TYPE_PROTO: look_at_prototype(v, (const Prototype *)o); break;
    case LUA_TTHREAD: look_at_thread(v, (const lua_State *)o); break;
    case TYPE_UPVALUE: look_at_upvalue(v, (const UpValue *)o); break;
    case TYPE_SHORT_STRING:
    case TYPE_LONG_STRING: look_at_string(v, (const String *)o); break;
    case TYPE_LUA_CLOSURE: {
      const LuaClosure *c = (const LuaClosure *)o;
      verify_child(v, c->p);
      for (int i = 0; i < c->nupvalues; i++) verify_child(v, c->upvalues[i]);
      break;
    }
    case TYPE_C_CLOSURE: {
      const CClosure *c = (const CClosure *)o;
      for (int i = 0; i < c->nupvalues; i++) refer_value(v, &c->upvalues[i]);
      break;
    }
    case LUA_TUSERDATA: {
      const Userdata *u = (const Userdata *)o;
      verify_child(v, u->metatable);
      for (int i = 0; i < u->nuservalues; i++) refer_value(v, &u->uservalues[i]);
      check_external(v, u);
      break;
    }
  }
}

/* ---- the heap as such ---------------------------------------------------- */

/* Checks that the flags of gc_overflow.c are set where bits are. */
static void check_overflowed(Verifier *v, const Chunk *c) {
  const Gc *gc = &v->d->gc;
  uint64_t bits = 0;
  const size_t words = HEAP_BLOCK_SIZE / HEAP_GRANULE / 64; /* of a block */
  for (size_t i = 0; i < c->nblocks * words; i++)
    if (c->blocks[i / words].state != BLOCK_VACANT) bits |= c->overflow[i];
  RULE(v, bits == 0 || c->overflowed, "a chunk knows that it has objects to be scanned", NULL);
  RULE(v, bits == 0 || gc->overflow_minor || gc->overflow_major || gc->overflow_chunk != NULL,
       "a marking will scan what has overflowed", NULL);
}

static void check_blocks(Verifier *v) {
  const Heap *h = &v->d->heap;
  size_t used = 0, nfree = 0, nheld = 0, held = 0;
  for (const Chunk *c = h->chunks; c != NULL; c = c->next) {
    size_t vacant = 0;
    check_overflowed(v, c);
    for (uint32_t i = 1; i < c->nblocks; i++) {
      const Block *b = &c->blocks[i];
      uint32_t zeros = 0;
      vacant += b->state == BLOCK_VACANT;
      if (b->state == BLOCK_VACANT) continue;
      for (uint32_t line = 0; line < HEAP_BLOCK_LINES; line++)
        zeros += c->lines[i * HEAP_BLOCK_LINES + line] == 0;
      held += c->hosted && b->state != BLOCK_VACANT;
      if (b->state != BLOCK_CONSUMED)
        RULE(v, zeros == b->free_lines, "a block knows its free lines", NULL);
      if (b->state == BLOCK_FREE)
        RULE(v, zeros == HEAP_BLOCK_LINES, "a free block has no line in use", NULL);
      used += HEAP_BLOCK_LINES - b->free_lines;
      nfree += b->state == BLOCK_FREE;
      nheld += b->state == BLOCK_FREE && !b->released;
    }
    RULE(v, vacant == c->vacant_blocks, "a chunk knows its vacant blocks", NULL);
  }
  RULE(v, held == h->nhosted, "the heap knows the blocks of its allocator", NULL);
  RULE(v, used == h->used_lines, "the heap knows its lines in use", NULL);
  RULE(v, nfree == h->nfree && nheld == h->nheld, "the heap knows its free blocks", NULL);
}

static size_t check_large_list(Verifier *v, const LargeHeader *list, bool young, size_t *external) {
  size_t bytes = 0;
  for (const LargeHeader *large = list->next; large != list; large = large->next) {
    RULE(v, (large->mark == 0) == young, "a large allocation is in the list of its age", NULL);
    bytes += large->size;
    if (large->external) *external += large->size;
  }
  return bytes;
}

static void check_large(Verifier *v) {
  const Heap *h = &v->d->heap;
  size_t external = 0;
  RULE(v, check_large_list(v, &h->large_young, true, &external) == h->young_large_bytes,
       "the heap knows its young large bytes", NULL);
  RULE(v, check_large_list(v, &h->large_old, false, &external) == h->old_large_bytes,
       "the heap knows its old large bytes", NULL);
  RULE(v, external == h->external_bytes, "the heap knows what is held outside it", NULL);
}

static void check_strings(Verifier *v) {
  const StringTable *table = &v->d->strings;
  uint32_t n = 0;
  for (uint32_t i = 0; i < table->size; i++) {
    StringLink link = *string_bucket(table, i);
    for (const String *s; (s = string_at(link)) != NULL; n++) {
      uint64_t filter = link >> STRING_ADDRESS_BITS, rest = s->u.next >> STRING_ADDRESS_BITS;
      RULE(v, string_may_follow(link, s->hash) && (filter & rest) == rest,
           "a link knows what follows", s);
      link = s->u.next;
      RULE(v, s->type == TYPE_SHORT_STRING, "the intern table holds short strings", s);
      RULE(v, string_bucket_index(table, s->hash) == i, "a string is in its chain", s);
      if (v->d->gc.phase != GC_PHASE_CLEAR && v->d->gc.phase != GC_PHASE_SWEEP_STRINGS)
        verify_header(v, (const GCObject *)s);
    }
  }
  RULE(v, n == table->used, "the intern table knows its size", NULL);
}

static void reach_roots(Verifier *v) {
  Domain *d = v->d;
  if (is_collected(&d->registry)) verify_reach(v, d->registry.v.gc);
  verify_reach(v, d->assumed.globals);
  for (int i = 0; i < LUA_NUMTYPES; i++) verify_reach(v, d->metatables[i]);
  for (int i = 0; i < META_COUNT; i++) verify_reach(v, d->meta_names[i]);
  for (int i = 0; i < NAME_COUNT; i++) verify_reach(v, d->names[i]);
  for (size_t i = d->gc.finalizers_first; i < d->gc.finalizers.n; i++)
    verify_reach(v, d->gc.finalizers.items[i]);
  for (size_t i = 0; i < d->gc.revived; i++) verify_reach(v, d->gc.found.items[i]);
  verify_reach(v, d->memory_error);
  verify_reach(v, d->main_thread);
  verify_reach(v, d->current);
  verify_reach(v, d->gc.caller);
}

/* Checks that the n slots below the watermark refer to no young object. A slot with an
 * open upvalue may have been written through that upvalue, which is in the remembered set
 * then. */
void gc_verify_watermark(Domain *d, const lua_State *co, const TValue *watermark, size_t n) {
  Verifier v = {.d = d, .when = "a thread ran", .parent = (const GCObject *)co};
  const UpValue *uv = co->open_upvalues;
  for (const TValue *s = watermark; s-- > watermark - n;) {
    while (uv != NULL && uv->v > s) uv = uv->u.open.next;
    if (!is_collected(s) || (uv != NULL && uv->v == s && !(uv->gc & GC_CLEAN))) continue;
    RULE(&v, !is_young(s->v.gc), "slots below the watermark refer to no young object", s->v.gc);
  }
}

void gc_verify(Domain *d, const char *when) {
  Verifier v = {.d = d, .when = when, .size = 4096};
  v.set = require_memory(calloc(v.size, sizeof *v.set));
  check_blocks(&v);
  check_large(&v);
  check_strings(&v);
  reach_roots(&v);
  while (v.n > 0) {
    Visit next = v.stack[--v.n];
    verify_look_at(&v, next.object);
  }
  free(v.set);
  free(v.stack);
  /* malloc keeps some freed memory, which would count as memory of the tested program */
  malloc_trim(0);
}
