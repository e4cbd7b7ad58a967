/* runtime/gc_scan.c: what an object refers to, type by type (see gc_trace.h).
 *
 * Tables of which a part is large are scanned by the minor trace only where
 * their cards are marked, or whole when the part is fresh; by the major trace
 * piece by piece (gc_mark.c).
 */
#include "gc_trace.h"

/* ---- extents ----------------------------------------------------------------- */

size_t gc_object_extent(const GCObject *o, char **base) {
  *base = (char *)o;
  switch (o->type) {
    case TYPE_SHORT_STRING:
    case TYPE_LONG_STRING: return string_bytes((const String *)o);
    case LUA_TTABLE: return sizeof(Table);
    case TYPE_LUA_CLOSURE:
      return sizeof(LuaClosure) + ((const LuaClosure *)o)->nupvalues * sizeof(UpValue *);
    case TYPE_C_CLOSURE: return sizeof(CClosure) + ((const CClosure *)o)->nupvalues * sizeof(TValue);
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

/* ---- tables --------------------------------------------------------------------- */

/* A part that the minor trace scans whole: a small one, or one it has not seen. */
ALWAYS_INLINE bool scan_whole(Domain *d, const void *part, size_t size) {
  if (likely(!heap_is_large(size))) return true;
  LargeHeader *large = heap_large_of(part);
  large->logged = 0;
  if (!large->fresh) return false;
  large->fresh = 0;
  d->gc.step_work += size;
  return true;
}

static void scan_weak_table(Domain *d, Table *t, Weakness w, ScanKind kind) {
  gc_scan_weak(d, w, (GcWeakRange){t, 0, UINT32_MAX, 0}, kind);
  gc_scan_weak(d, w, (GcWeakRange){t, 0, UINT32_MAX, 1}, kind);
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
  bool array = asize > 0 && scan_whole(d, t->array, asize), node = nsize > 0 && scan_whole(d, t->node, nsize);
  if (likely(w == WEAK_NONE)) {
    if (array) visit_values(d, t->array, t->array_size, SCAN_MINOR);
    if (node) visit_nodes(d, t->node, t->node_mask + 1, SCAN_MINOR);
  } else {
    if (array) gc_scan_weak(d, w, (GcWeakRange){t, 0, UINT32_MAX, 0}, SCAN_MINOR);
    if (node) gc_scan_weak(d, w, (GcWeakRange){t, 0, UINT32_MAX, 1}, SCAN_MINOR);
  }
}

#define PIECE 1024 /* slots that are scanned at once */

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
    scan_weak_table(d, t, w, SCAN_MAJOR);
    return sizeof(Table); /* the rest counts when it is looked through */
  } else if (unlikely(t->array_size + t->node_mask > PIECE) && GC_TRY_PUSH(&d->gc.partial, (GcPartial){.object = (GCObject *)t})) {
    return sizeof(Table);
  } else {
    visit_values(d, t->array, t->array_size, SCAN_MAJOR);
    if (nsize > 0) visit_nodes(d, t->node, t->node_mask + 1, SCAN_MAJOR);
  }
  return sizeof(Table) + asize + nsize;
}

/* ---- functions and userdata --------------------------------------------------------- */

#define PROTO_PARTS(PART) \
  PART(code, p->ncode) PART(k, p->nconstants) PART(p, p->nprotos) \
  PART(upvalues, p->nupvalues) PART(lines, p->nlines) PART(locals, p->nlocals)

void gc_note_code(Domain *d, const Prototype *p) {
  size_t total = sizeof *p;
#define PROTO_PART(field, count) total += p->field != NULL ? (size_t)(count) * sizeof *p->field : 0;
  PROTO_PARTS(PROTO_PART)
#undef PROTO_PART
  d->gc.young_code += total;
}

ALWAYS_INLINE size_t scan_prototype(Domain *d, Prototype *p, ScanKind kind) {
  VISIT(d, p->source, kind);
  visit_values(d, p->k, p->nconstants, kind);
  for (uint32_t i = 0; i < p->nprotos; i++) VISIT(d, p->p[i], kind);
  for (uint32_t i = 0; p->upvalues != NULL && i < p->nupvalues; i++) VISIT(d, p->upvalues[i].name, kind);
  for (uint32_t i = 0; i < p->nlocals; i++) VISIT(d, p->locals[i].name, kind);
  size_t total = sizeof(Prototype);
#define PROTO_PART(field, count) \
  do { \
    size_t bytes = p->field != NULL ? (size_t)(count) * sizeof *p->field : 0; \
    mark_part(d, p->field, bytes, kind); \
    total += bytes; \
  } while (0);
  PROTO_PARTS(PROTO_PART)
#undef PROTO_PART
  d->gc.code_bytes[kind] += total;
  return total;
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
  visit_values(d, u->uservalues, u->nuservalues, kind);
  if (unlikely(u->external != NULL)) gc_mark_external(d, u, kind);
  return sizeof(Userdata) + u->nuservalues * sizeof(TValue);
}

/* ---- both traces ------------------------------------------------------------------------- */

ALWAYS_INLINE size_t scan(Domain *d, GCObject *o, ScanKind kind) {
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
      return kind == SCAN_MAJOR ? gc_scan_thread_major(d, (lua_State *)o) : gc_scan_thread_minor(d, (lua_State *)o);
    default: return 0; /* strings refer to nothing */
  }
}

size_t gc_scan_minor(Domain *d, GCObject *o) { return scan(d, o, SCAN_MINOR); }
size_t gc_scan_major(Domain *d, GCObject *o) { return scan(d, o, SCAN_MAJOR); }

/* A running thread and those that wait for it. Their memory was counted when they were
 * promoted or marked. The major trace comes to them as to any grey object. */
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
  for (int i = 0; i < LUA_NUMTYPES; i++) VISIT(d, d->metatables[i], kind);
  VISIT(d, d->main_thread, kind);
  VISIT(d, d->memory_error, kind);
  for (int i = 0; i < META_COUNT; i++) VISIT(d, d->meta_names[i], kind);
  if (kind == SCAN_MAJOR) {
    for (size_t i = gc->finalizers_first; i < gc->finalizers.n; i++) VISIT(d, gc->finalizers.items[i], kind);
    for (size_t i = 0; i < gc->revived; i++) VISIT(d, gc->found.items[i], kind);
  }
  scan_chain(d, d->current, kind);
  if (gc->caller != d->current) scan_chain(d, gc->caller, kind);
}

void gc_scan_roots_minor(Domain *d) { scan_roots(d, SCAN_MINOR); }
void gc_scan_roots_major(Domain *d) { scan_roots(d, SCAN_MAJOR); }
