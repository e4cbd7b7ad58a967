/* SPDX-License-Identifier: MIT */
/* runtime/gc_scan.c: what an object refers to, type by type (see gc_internal.h).
 *
 * The minor marking scans a large part of a table only where its cards are marked, or
 * whole when the part is fresh. Both markings scan objects with many elements (parts of
 * tables, prototypes, userdata) piece by piece: the object is noted in Gc.minor_partial
 * or Gc.partial, and gc_scan_piece_minor or gc_scan_piece_major scans the next Gc.piece
 * elements.
 */
#include "gc_internal.h"

#include "gc.h"
#include "heap.h"
#include "known_names.h"
#include "thread.h"

/* ---- extents ------------------------------------------------------------- */

size_t gc_object_extent(const GCObject *o, char **base) {
  *base = (char *)o;
  switch (o->type) {
    case TYPE_SHORT_STRING:
    case TYPE_LONG_STRING: return string_bytes((const String *)o);
    case LUA_TTABLE: return sizeof(Table);
    case TYPE_LUA_CLOSURE:
      return sizeof(LuaClosure) + ((const LuaClosure *)o)->nupvalues * sizeof(UpValue *);
    case TYPE_C_CLOSURE:
      return sizeof(CClosure) + ((const CClosure *)o)->nupvalues * sizeof(TValue);
    case TYPE_UPVALUE: return sizeof(UpValue);
    case TYPE_PROTO: return heap_round(sizeof(Prototype));
    case LUA_TUSERDATA: {
      const Userdata *u = (const Userdata *)o;
      return heap_round(sizeof(Userdata) + u->nuservalues * sizeof(TValue) + u->len);
    }
    case LUA_TTHREAD:
      *base -= LUA_EXTRASPACE;
      return heap_round(LUA_EXTRASPACE + sizeof(lua_State));
    default: rt_assert(!"type of an object"); return 0;
  }
}

/* ---- tables -------------------------------------------------------------- */

typedef enum ToScan { SCAN_NOTHING, SCAN_SMALL, SCAN_FRESH } ToScan;

/* Tells whether the minor marking scans the whole part, not only its marked cards: it
 * does if the part is small, or if no marking has seen it. */
ALWAYS_INLINE ToScan part_to_scan(const void *part, size_t size) {
  if (likely(!heap_is_large(size))) return size > 0 ? SCAN_SMALL : SCAN_NOTHING;
  LargeHeader *large = heap_large_of(part);
  large->logged = 0;
  if (!large->fresh) return SCAN_NOTHING;
  large->fresh = 0;
  return SCAN_FRESH;
}

#define from_if(scanned) ((scanned) ? 0 : UINT32_MAX)

/* Notes a fresh part to be scanned in pieces. Stores mark its cards from now on, as if it
 * had been scanned (scan_table_minor has made the table clean). */
static NOINLINE bool scan_fresh_later(Domain *d, Table *t, bool array, bool node) {
  GcPartial p = {.object = (GCObject *)t, .first = from_if(array), .node_from = from_if(node)};
  return GC_TRY_PUSH(d, &d->gc.minor_partial, p);
}

static NOINLINE void count_fresh(Domain *d, const Table *t, bool array, bool node) {
  d->gc.step_work += (array ? array_bytes(t) : 0) + (node ? node_bytes(t) : 0);
}

ALWAYS_INLINE void scan_table_minor(Domain *d, Table *t) {
  size_t asize = array_bytes(t), nsize = node_bytes(t);
  mark_part(d, t->array, asize, SCAN_MINOR);
  mark_part(d, t->node, nsize, SCAN_MINOR);
  Weakness w = WEAK_NONE;
  if (t->metatable != NULL) {
    visit(d, (GCObject *)t->metatable, SCAN_MINOR);
    w = gc_weakness(d, t);
  }
  ToScan array = part_to_scan(t->array, asize), node = part_to_scan(t->node, nsize);
  if (unlikely(array == SCAN_FRESH || node == SCAN_FRESH)) {
    /* The table may have been logged, and the part added, between its promotion and this
     * scan. Stores into a logged table mark no cards, but only fresh parts are scanned
     * whole, and this one no longer is. */
    t->gc |= GC_CLEAN;
    bool later = scan_fresh_later(d, t, array == SCAN_FRESH, node == SCAN_FRESH);
    if (!later) count_fresh(d, t, array == SCAN_FRESH, node == SCAN_FRESH);
    if (later && array == SCAN_FRESH) array = SCAN_NOTHING;
    if (later && node == SCAN_FRESH) node = SCAN_NOTHING;
  }
  if (likely(w == WEAK_NONE)) {
    if (array) visit_values(d, t->array, t->array_size, SCAN_MINOR);
    if (node) visit_nodes(d, t->node, table_node_count(t), SCAN_MINOR);
  } else {
    if (array) gc_scan_weak_minor(d, w, (GcWeakRange){t, 0, UINT32_MAX, 0});
    if (node) gc_scan_weak_minor(d, w, (GcWeakRange){t, 0, UINT32_MAX, 1});
  }
}

ALWAYS_INLINE size_t scan_table_major(Domain *d, Table *t) {
  size_t asize = array_bytes(t), nsize = node_bytes(t);
  mark_part(d, t->array, asize, SCAN_MAJOR);
  mark_part(d, t->node, nsize, SCAN_MAJOR);
  Weakness w = WEAK_NONE;
  if (t->metatable != NULL) {
    visit(d, (GCObject *)t->metatable, SCAN_MAJOR);
    w = gc_weakness(d, t);
  }
  if (unlikely(w != WEAK_NONE)) {
    gc_scan_weak_major(d, w, t);
    return sizeof(Table); /* the parts count when they are scanned */
  } else if (unlikely(t->array_size + t->node_mask > d->gc.piece) &&
             GC_TRY_PUSH(d, &d->gc.partial, (GcPartial){.object = (GCObject *)t})) {
    return sizeof(Table);
  } else {
    visit_values(d, t->array, t->array_size, SCAN_MAJOR);
    visit_nodes(d, t->node, table_node_count(t), SCAN_MAJOR);
  }
  return sizeof(Table) + asize + nsize;
}

/* ---- functions and userdata ---------------------------------------------- */

#define PROTO_PARTS(PART) \
  PART(code, p->ncode) PART(k, p->nconstants) PART(p, p->nprotos) \
  PART(upvalues, p->nupvalues) PART(positions, p->npositions) PART(locals, p->nlocals)

static size_t thread_parts(const lua_State *co) {
  size_t slots = co->stack != NULL ? (size_t)(co->stack_end - co->stack) + EXTRA_STACK : 0;
  return slots * sizeof(TValue) + co->nci * sizeof(CallInfo);
}

static size_t prototype_parts(const Prototype *p) {
  size_t total = 0;
#define PROTO_PART(field, count) total += p->field != NULL ? (size_t)(count) * sizeof *p->field : 0;
  PROTO_PARTS(PROTO_PART)
#undef PROTO_PART
  return total;
}

void gc_note_code(Domain *d, const Prototype *p) {
  d->gc.young_code += sizeof *p + prototype_parts(p);
}

size_t gc_object_bytes(const GCObject *o) {
  char *base;
  size_t own = gc_object_extent(o, &base);
  switch (o->type) {
    case LUA_TTABLE: return own + array_bytes((const Table *)o) + node_bytes((const Table *)o);
    case TYPE_PROTO: return own + prototype_parts((const Prototype *)o);
    case LUA_TTHREAD: return own + thread_parts((const lua_State *)o);
    case LUA_TUSERDATA: {
      const LargeHeader *held = ((const Userdata *)o)->external;
      return own + (held != NULL ? held->size : 0);
    }
    default: return own;
  }
}

ALWAYS_INLINE uint32_t count_in(uint32_t n, uint32_t from, uint32_t to) {
  return n <= from ? 0 : (n < to ? n : to) - from;
}

static uint32_t longest_list(const Prototype *p) {
  uint32_t most = p->ncode;
  if (p->nconstants > most) most = p->nconstants;
  if (p->nprotos > most) most = p->nprotos;
  return p->nlocals > most ? p->nlocals : most;
}

/* Scans the elements [from, to) of each list of the prototype; returns their bytes. */
ALWAYS_INLINE size_t scan_elements(Domain *d, Prototype *p, uint32_t from, uint32_t to,
                                   ScanKind kind) {
  uint32_t nk = count_in(p->nconstants, from, to), np = count_in(p->nprotos, from, to);
  uint32_t nlocals = count_in(p->nlocals, from, to);
  if (nk > 0) visit_values(d, p->k + from, nk, kind);
  for (uint32_t i = 0; i < np; i++) VISIT(d, p->p[from + i], kind);
  for (uint32_t i = 0; i < nlocals; i++) VISIT(d, p->locals[from + i].name, kind);
  return nk * sizeof *p->k + np * sizeof *p->p + nlocals * sizeof *p->locals +
         count_in(p->ncode, from, to) * sizeof *p->code +
         count_in(p->npositions, from, to) * sizeof *p->positions;
}

ALWAYS_INLINE bool scan_later(Domain *d, GCObject *o, ScanKind kind) {
  GcPartials *later = kind == SCAN_MINOR ? &d->gc.minor_partial : &d->gc.partial;
  return GC_TRY_PUSH(d, later, (GcPartial){.object = o});
}

ALWAYS_INLINE size_t scan_prototype(Domain *d, Prototype *p, ScanKind kind) {
  VISIT(d, p->source, kind);
  VISIT(d, p->name, kind);
  for (uint32_t i = 0; p->upvalues != NULL && i < p->nupvalues; i++)
    VISIT(d, p->upvalues[i].name, kind);
  d->gc.code_bytes[kind] += sizeof(Prototype);
#define PROTO_PART(field, count) \
  do { \
    size_t bytes = p->field != NULL ? (size_t)(count) * sizeof *p->field : 0; \
    mark_part(d, p->field, bytes, kind); \
    d->gc.code_bytes[kind] += bytes; \
  } while (0);
  PROTO_PARTS(PROTO_PART)
#undef PROTO_PART
  size_t own = sizeof(Prototype) + p->nupvalues * sizeof *p->upvalues;
  if (longest_list(p) > d->gc.piece && scan_later(d, (GCObject *)p, kind)) return own;
  return own + scan_elements(d, p, 0, UINT32_MAX, kind);
}

ALWAYS_INLINE size_t scan_lua_closure(Domain *d, LuaClosure *c, ScanKind kind) {
  VISIT(d, c->p, kind);
  for (int i = 0; i < c->nupvalues; i++) VISIT(d, c->upvalues[i], kind);
  return sizeof(LuaClosure) + c->nupvalues * sizeof(UpValue *);
}

ALWAYS_INLINE size_t scan_c_closure(Domain *d, CClosure *c, ScanKind kind) {
  visit_values(d, c->upvalues, c->nupvalues, kind);
  return sizeof(CClosure) + c->nupvalues * sizeof(TValue);
}

ALWAYS_INLINE size_t scan_upvalue(Domain *d, UpValue *uv, ScanKind kind) {
  if (upvalue_is_open(uv)) VISIT(d, uv->u.open.thread, kind);
  visit_value(d, uv->v, kind);
  return sizeof(UpValue);
}

ALWAYS_INLINE size_t scan_userdata(Domain *d, Userdata *u, ScanKind kind) {
  VISIT(d, u->metatable, kind);
  if (unlikely(u->external != NULL)) gc_mark_external(d, u, kind);
  if (unlikely(u->nuservalues > d->gc.piece) && scan_later(d, (GCObject *)u, kind))
    return sizeof(Userdata);
  visit_values(d, u->uservalues, u->nuservalues, kind);
  return sizeof(Userdata) + u->nuservalues * sizeof(TValue);
}

/* ---- in pieces ----------------------------------------------------------- */

/* The objects that a large table refers to lie all over the heap: their headers are
 * prefetched. */
#define PREFETCH_AHEAD 12 /* slots */

ALWAYS_INLINE void visit_values_ahead(Domain *d, const TValue *v, uint32_t n, ScanKind kind) {
  for (uint32_t i = 0; i < n; i++) {
    if (i + PREFETCH_AHEAD < n && is_collected(&v[i + PREFETCH_AHEAD]))
      __builtin_prefetch(v[i + PREFETCH_AHEAD].v.gc);
    visit_value(d, &v[i], kind);
  }
}

ALWAYS_INLINE void prefetch_node(const Node *n) {
  if (n->tag == TAG_NIL) return;
  if (n->key_tag & TAG_COLLECTED) __builtin_prefetch(n->key.gc);
  if (n->tag & TAG_COLLECTED) __builtin_prefetch(n->v.gc);
}

ALWAYS_INLINE void visit_nodes_ahead(Domain *d, Node *node, uint32_t n, ScanKind kind) {
  for (uint32_t i = 0; i < n; i++) {
    if (i + PREFETCH_AHEAD < n) prefetch_node(&node[i + PREFETCH_AHEAD]);
    visit_nodes(d, &node[i], 1, kind);
  }
}

/* Scans n array slots. The table may have become weak, or strong, since the last
 * piece. */
ALWAYS_INLINE void scan_slots(Domain *d, Table *t, uint32_t from, uint32_t n, ScanKind kind) {
  Weakness w = kind == SCAN_MINOR ? gc_weakness(d, t) : WEAK_NONE;
  if (likely(w == WEAK_NONE)) visit_values_ahead(d, t->array + from, n, kind);
  else gc_scan_weak_minor(d, w, (GcWeakRange){t, from, from + n, 0});
}

ALWAYS_INLINE void scan_nodes(Domain *d, Table *t, uint32_t from, uint32_t n, ScanKind kind) {
  Weakness w = kind == SCAN_MINOR ? gc_weakness(d, t) : WEAK_NONE;
  if (likely(w == WEAK_NONE)) visit_nodes_ahead(d, t->node + from, n, kind);
  else gc_scan_weak_minor(d, w, (GcWeakRange){t, from, from + n, 1});
}

/* Scans the next piece of array slots or, after the last slot, of nodes. */
ALWAYS_INLINE size_t scan_table_piece(Domain *d, GcPartial *p, ScanKind kind) {
  Table *t = (Table *)p->object;
  uint32_t n = count_in(t->array_size, p->first, UINT32_MAX);
  if (n > 0) {
    if (n > d->gc.piece) n = d->gc.piece;
    scan_slots(d, t, p->first, n, kind);
    p->first += n;
    return n * sizeof(TValue);
  }
  n = count_in(table_node_count(t), p->node_from, UINT32_MAX);
  if (n > d->gc.piece) n = d->gc.piece;
  if (n > 0) scan_nodes(d, t, p->node_from, n, kind);
  p->node_from += n;
  return n * sizeof(Node);
}

ALWAYS_INLINE size_t scan_userdata_piece(Domain *d, GcPartial *p, ScanKind kind) {
  Userdata *u = (Userdata *)p->object;
  uint32_t n = count_in(u->nuservalues, p->first, p->first + d->gc.piece);
  visit_values(d, u->uservalues + p->first, n, kind);
  p->first += n;
  return n * sizeof(TValue);
}

ALWAYS_INLINE size_t scan_prototype_piece(Domain *d, GcPartial *p, ScanKind kind) {
  uint32_t to = p->first + d->gc.piece;
  size_t bytes = scan_elements(d, (Prototype *)p->object, p->first, to, kind);
  p->first = to;
  return bytes;
}

/* Scans the next piece of the record added last. The objects found are scanned later, so
 * no record is added during the piece. */
ALWAYS_INLINE size_t scan_piece(Domain *d, GcPartials *all, ScanKind kind) {
  GcPartial *p = &all->items[all->n - 1];
  bool done = false;
  size_t bytes = 0;
  switch (p->object->type) {
    case LUA_TTABLE: done = (bytes = scan_table_piece(d, p, kind)) == 0; break;
    case TYPE_PROTO: done = (bytes = scan_prototype_piece(d, p, kind)) == 0; break;
    case LUA_TUSERDATA: done = (bytes = scan_userdata_piece(d, p, kind)) == 0; break;
    default: done = gc_scan_thread_piece(d, p, &bytes); /* only by the major marking */
  }
  rt_assert(p == &all->items[all->n - 1]);
  if (done) all->n--;
  return bytes;
}

#define PIECE_COST 3 /* times the bytes: what slots refer to lies all over the heap */

void gc_scan_piece_minor(Domain *d) {
  d->gc.step_work += PIECE_COST * scan_piece(d, &d->gc.minor_partial, SCAN_MINOR);
}
size_t gc_scan_piece_major(Domain *d) { return scan_piece(d, &d->gc.partial, SCAN_MAJOR); }

/* ---- both markings ------------------------------------------------------- */

ALWAYS_INLINE size_t scan_object(Domain *d, GCObject *o, ScanKind kind) {
  switch (o->type) {
    case LUA_TTABLE:
      if (kind == SCAN_MAJOR) return scan_table_major(d, (Table *)o);
      scan_table_minor(d, (Table *)o);
      return small_part_bytes((Table *)o);
    case TYPE_LUA_CLOSURE: return scan_lua_closure(d, (LuaClosure *)o, kind);
    case TYPE_UPVALUE: return scan_upvalue(d, (UpValue *)o, kind);
    case TYPE_C_CLOSURE: return scan_c_closure(d, (CClosure *)o, kind);
    case LUA_TUSERDATA: return scan_userdata(d, (Userdata *)o, kind);
    case TYPE_PROTO: return scan_prototype(d, (Prototype *)o, kind);
    case LUA_TTHREAD:
      d->gc.stack_bytes[kind] += sizeof(lua_State) + thread_parts((lua_State *)o);
      return kind == SCAN_MAJOR ? gc_scan_thread_major(d, (lua_State *)o)
                                : gc_scan_thread_minor(d, (lua_State *)o);
    default: return 0; /* strings refer to nothing */
  }
}

size_t gc_scan_minor(Domain *d, GCObject *o) { return scan_object(d, o, SCAN_MINOR); }
size_t gc_scan_major(Domain *d, GCObject *o) { return scan_object(d, o, SCAN_MAJOR); }

/* Scans a running thread and the threads that wait for it. Their memory was counted when
 * they were promoted or marked. The major marking reaches them like any grey object. */
ALWAYS_INLINE void scan_chain(Domain *d, lua_State *co, ScanKind kind) {
  for (; co != NULL; co = co->resumer) {
    VISIT(d, co, kind);
    if (kind == SCAN_MAJOR) continue;
    size_t counted = d->gc.part_bytes[kind];
    d->gc.step_work += gc_scan_thread_minor(d, co);
    d->gc.part_bytes[kind] = counted;
  }
}

ALWAYS_INLINE void scan_roots(Domain *d, ScanKind kind) {
  Gc *gc = &d->gc;
  visit_value(d, &d->registry, kind);
  VISIT(d, d->assumed.globals, kind);
  for (int i = 0; i < LUA_NUMTYPES; i++) VISIT(d, d->metatables[i], kind);
  VISIT(d, d->main_thread, kind);
  VISIT(d, d->memory_error, kind);
  for (int i = 0; i < META_COUNT; i++) VISIT(d, d->meta_names[i], kind);
  for (int i = 0; i < NAME_COUNT; i++) VISIT(d, d->names[i], kind);
  if (kind == SCAN_MAJOR) {
    for (size_t i = gc->finalizers_first; i < gc->finalizers.n; i++)
      VISIT(d, gc->finalizers.items[i], kind);
    for (size_t i = 0; i < gc->revived; i++) VISIT(d, gc->found.items[i], kind);
  }
  scan_chain(d, d->current, kind);
  if (gc->caller != d->current) scan_chain(d, gc->caller, kind);
}

void gc_scan_roots_minor(Domain *d) { scan_roots(d, SCAN_MINOR); }
void gc_scan_roots_major(Domain *d) { scan_roots(d, SCAN_MAJOR); }
