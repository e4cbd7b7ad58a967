/* runtime/gc_weak.c: weak tables.
 *
 * A trace that meets a weak table follows its strong references and notes the
 * slots of the others (GcWeakRange: whole parts, or single cards of large ones)
 * in one of three lists, each kind of trace in lists of its own. At its end:
 *
 *   settle       the value of an ephemeron is followed once its key is alive; those whose
 *                key is not reached yet wait for it (gc_ephemeron.c);
 *   clear values entries whose value is dead, from tables with weak values; in the major
 *                cycle so many in each undivided step, before which all is marked that the
 *                program got hold of since the last one;
 *   clear keys   entries whose key is dead, from tables with weak keys; of ephemerons in
 *                slices, in the major cycle (gc_ephemeron.c).
 *
 * The major trace looks through what it has noted while it still marks, piece by
 * piece, when nothing else is grey: entries whose key and value are marked by
 * then are done with, since marks stay; the others are left for the undivided
 * step, one by one. What is stored into a weak table after that is noted anew, by
 * the minor collection that finds the table or its card logged.
 *
 * A minor collection holds young objects that it did not reach for dead, the
 * major trace those that are not marked. During the latter a minor one
 * follows an ephemeron's value only when it is young: for old ones the major
 * trace decides, and it too must know of the table, since the minor one may have
 * just promoted it black.
 *
 * Strings are values, not objects, as far as weak tables go: never removed.
 */
#include "gc_trace.h"
#include "str.h"

#include <string.h>

#define PIECE 256      /* slots or nodes looked through at once */
#define ENTRY_WORK 32  /* work of looking at one */
#define PREFETCH_AHEAD 8

static GcWeakLists *lists_of(Domain *d, ScanKind kind) {
  return kind == SCAN_MINOR ? &d->gc.minor_weak : &d->gc.major_weak;
}

Weakness gc_weakness(Domain *d, const Table *t) {
  if (t->metatable == NULL) return WEAK_NONE;
  const TValue *mode = table_fast_metamethod(d, t->metatable, META_MODE);
  if (mode == NULL || !is_string(mode)) return WEAK_NONE;
  const char *text = as_string(mode)->data;
  return (Weakness)((strchr(text, 'v') ? WEAK_VALUES : 0) | (strchr(text, 'k') ? WEAK_KEYS : 0));
}

/* ---- walking ranges ------------------------------------------------------------- */

/* The tables' parts may have shrunk or moved since the range was noted. */
static TValue *range_values(const GcWeakRange *r, uint32_t *n) {
  uint32_t to = r->to < r->table->array_size ? r->to : r->table->array_size;
  *n = to > r->from ? to - r->from : 0;
  return r->table->array + r->from;
}

static Node *range_nodes(const GcWeakRange *r, uint32_t *n) {
  uint32_t to = r->to < table_nodes(r->table) ? r->to : table_nodes(r->table);
  *n = to > r->from ? to - r->from : 0;
  return r->table->node + r->from;
}

/* Slot or node `i` of the range: its objects are all over the heap, and looked at soon. */
ALWAYS_INLINE void prefetch_entry(const GcWeakRange *r, uint32_t i) {
  if (!r->node) {
    if (i < r->table->array_size) __builtin_prefetch(r->table->array[i].v.p);
  } else if (i < table_nodes(r->table)) {
    __builtin_prefetch(r->table->node[i].key.p);
    __builtin_prefetch(r->table->node[i].v.p);
  }
}

/* A weak reference to this: strings are followed, being values. */
static bool weak_dead(Domain *d, uint8_t tag, GCObject *o, ScanKind kind) {
  if (!(tag & TAG_COLLECTED)) return false;
  if (tag_type(tag) == LUA_TSTRING) {
    visit(d, o, kind);
    return false;
  }
  return is_dead(d, o, kind);
}

void gc_clear_node(Node *n) {
  n->tag = TAG_NIL;
  forget_key(n);
}

/* ---- meeting a weak table -------------------------------------------------------- */

static void visit_keys(Domain *d, const GcWeakRange *r, ScanKind kind) {
  uint32_t count;
  for (Node *n = range_nodes(r, &count), *end = n + count; n < end; n++) {
    if (n->tag == TAG_NIL) forget_key(n);
    else if (n->key_tag & TAG_COLLECTED) visit(d, n->key.gc, kind);
  }
}

static void note_in(Domain *d, GcWeakLists *lists, Weakness w, GcWeakRange r) {
  if (w == WEAK_VALUES) GC_PUSH(d, &lists->values, r);
  else if (w == WEAK_KEYS) GC_PUSH(d, &lists->ephemerons, r);
  else GC_PUSH(d, &lists->all, r);
}

static void note(Domain *d, Weakness w, GcWeakRange r, ScanKind kind) {
  if (kind == SCAN_MAJOR && w == WEAK_KEYS) {
    uint32_t n;
    range_nodes(&r, &n);
    gc_expect_ephemerons(d, n);
  }
  note_in(d, kind == SCAN_MAJOR ? &d->gc.noted_weak : &d->gc.minor_weak, w, r);
}

/* A table that has just been promoted black is not met by the major trace; one
 * that was written to may have been looked through already. */
static void note_for_major(Domain *d, Weakness w, GcWeakRange r) {
  if (is_marking(d) && is_marked(d, r.table)) note(d, w, r, SCAN_MAJOR);
}

void gc_scan_weak(Domain *d, Weakness w, GcWeakRange range, ScanKind kind) {
  uint32_t n;
  if (!range.node) {
    TValue *values = range_values(&range, &n);
    if (n == 0) return;
    if (w == WEAK_KEYS) { /* the keys are integers */
      visit_values(d, values, n, kind);
      return;
    }
  } else {
    range_nodes(&range, &n);
    if (n == 0) return;
    if (w == WEAK_VALUES) visit_keys(d, &range, kind);
  }
  note(d, w, range, kind);
  if (kind == SCAN_MINOR) note_for_major(d, w, range);
}

/* ---- looking through while marking -------------------------------------------------- */

static bool settle_slot(Domain *d, const TValue *v) { return !weak_dead(d, v->tag, v->v.gc, SCAN_MAJOR); }

static bool dead_object(Domain *d, uint8_t tag, const GCObject *o) {
  return (tag & TAG_COLLECTED) && tag_type(tag) != LUA_TSTRING && is_dead(d, o, SCAN_MAJOR);
}

/* Nothing of an entry that may yet go is followed, not even a string. */
static bool settle_node(Domain *d, Table *t, Node *n, Weakness w) {
  if (n->tag == TAG_NIL) {
    forget_key(n);
    return true;
  }
  if ((w & WEAK_KEYS) && dead_object(d, n->key_tag, n->key.gc)) {
    if (w != WEAK_KEYS) return false;
    gc_await(d, t, n, SCAN_MAJOR);
    return true;
  }
  if ((w & WEAK_VALUES) && dead_object(d, n->tag, n->v.gc)) return false;
  if (n->key_tag & TAG_COLLECTED) visit(d, n->key.gc, SCAN_MAJOR);
  if (n->tag & TAG_COLLECTED) visit(d, n->v.gc, SCAN_MAJOR);
  return true;
}

/* Answers the work. */
static size_t settle_range(Domain *d, const GcWeakRange *r, Weakness w) {
  uint32_t n;
  void *first = r->node ? (void *)range_nodes(r, &n) : (void *)range_values(r, &n);
  for (uint32_t i = 0; i < n; i++) {
    prefetch_entry(r, r->from + i + PREFETCH_AHEAD);
    bool settled = r->node ? settle_node(d, r->table, (Node *)first + i, w) : settle_slot(d, (TValue *)first + i);
    if (!settled) note_in(d, &d->gc.major_weak, w, (GcWeakRange){r->table, r->from + i, r->from + i + 1, r->node});
  }
  return sizeof *r + n * ENTRY_WORK;
}

static uint32_t range_end(const GcWeakRange *r) {
  uint32_t size = r->node ? table_nodes(r->table) : r->table->array_size;
  return r->to < size ? r->to : size;
}

static size_t settle_last(Domain *d, GcWeakRanges *list, Weakness w) {
  GcWeakRange r = list->items[list->n - 1];
  if (r.from + PIECE < range_end(&r)) {
    r.to = r.from + PIECE;
    list->items[list->n - 1].from = r.to;
  } else {
    list->n--;
  }
  return settle_range(d, &r, w);
}

size_t gc_settle_weak_piece(Domain *d) {
  GcWeakLists *noted = &d->gc.noted_weak;
  if (noted->values.n > 0) return settle_last(d, &noted->values, WEAK_VALUES);
  if (noted->ephemerons.n > 0) return settle_last(d, &noted->ephemerons, WEAK_KEYS);
  if (noted->all.n > 0) return settle_last(d, &noted->all, WEAK_BOTH);
  return 0;
}

/* ---- ephemerons in a minor collection ------------------------------------------------- */

static void settle_ephemerons(Domain *d, const GcWeakRange *r) {
  uint32_t count;
  for (Node *n = range_nodes(r, &count), *end = n + count; n < end; n++) {
    if (end - n > PREFETCH_AHEAD) __builtin_prefetch(n[PREFETCH_AHEAD].key.p);
    if (n->tag == TAG_NIL) forget_key(n);
    else if (weak_dead(d, n->key_tag, n->key.gc, SCAN_MINOR)) gc_await(d, r->table, n, SCAN_MINOR);
    else gc_follow_value(d, n, SCAN_MINOR);
  }
  d->gc.step_work += count * sizeof(Node);
}

/* New ranges may be noted on the way. */
void gc_settle_ephemerons_minor(Domain *d) {
  GcWeakRanges *noted = &d->gc.minor_weak.ephemerons;
  size_t work;
  for (;;) {
    gc_drain_minor(d);
    if ((work = gc_follow_reached(d, SCAN_MINOR)) > 0) {
      d->gc.step_work += work;
      continue;
    }
    if (noted->n == 0) return;
    GcWeakRange r = noted->items[--noted->n];
    if (noted->n >= PREFETCH_AHEAD) {
      const GcWeakRange *soon = &noted->items[noted->n - PREFETCH_AHEAD];
      prefetch_entry(soon, soon->from);
    }
    settle_ephemerons(d, &r);
  }
}

/* ---- clearing ------------------------------------------------------------------------- */

static void clear_dead_values(Domain *d, const GcWeakRange *r, ScanKind kind) {
  uint32_t count;
  if (!r->node) {
    TValue *v = range_values(r, &count);
    for (TValue *end = v + count; v < end; v++)
      if (weak_dead(d, v->tag, v->v.gc, kind)) set_nil(v);
    return;
  }
  for (Node *n = range_nodes(r, &count), *end = n + count; n < end; n++)
    if (n->tag == TAG_NIL || weak_dead(d, n->tag, n->v.gc, kind)) gc_clear_node(n);
}

static void clear_dead_keys(Domain *d, const GcWeakRange *r, ScanKind kind) {
  uint32_t count;
  if (!r->node) return;
  for (Node *n = range_nodes(r, &count), *end = n + count; n < end; n++)
    if (n->tag == TAG_NIL || weak_dead(d, n->key_tag, n->key.gc, kind)) gc_clear_node(n);
}

/* Those behind `i` are mostly single slots, here and there. */
static void prefetch_range(const GcWeakRanges *list, size_t i) {
  if (i + PREFETCH_AHEAD < list->n) prefetch_entry(&list->items[i + PREFETCH_AHEAD], list->items[i + PREFETCH_AHEAD].from);
}

/* Answers up to where it came. */
static size_t clear_values(Domain *d, const GcWeakRanges *list, size_t from, size_t most, ScanKind kind) {
  size_t to = list->n - from < most ? list->n : from + most;
  for (size_t i = from; i < to; i++) {
    prefetch_range(list, i);
    clear_dead_values(d, &list->items[i], kind);
  }
  d->gc.step_work += (to - from) * ENTRY_WORK;
  return to;
}

bool gc_clear_weak_values(Domain *d, ScanKind kind, GcWeakMark *done, size_t most) {
  const GcWeakLists *lists = lists_of(d, kind);
  GcWeakMark before = *done;
  done->values = clear_values(d, &lists->values, before.values, most, kind);
  done->all = clear_values(d, &lists->all, before.all, most - (done->values - before.values), kind);
  return done->values == lists->values.n && done->all == lists->all.n;
}

void gc_clear_weak_keys(Domain *d, ScanKind kind) {
  GcWeakLists *lists = lists_of(d, kind);
  if (kind == SCAN_MINOR) gc_clear_awaited_minor(d); /* the major cycle does so in GC_PHASE_CLEAR */
  for (size_t i = 0; i < lists->all.n; i++) clear_dead_keys(d, &lists->all.items[i], kind);
}

void gc_forget_weak(Domain *d, ScanKind kind) {
  GcWeakLists *lists = lists_of(d, kind);
  lists->values.n = lists->ephemerons.n = lists->all.n = 0;
  if (kind == SCAN_MINOR) gc_forget_awaited(d, kind);
  if (kind != SCAN_MAJOR) return;
  d->gc.noted_weak.values.n = d->gc.noted_weak.ephemerons.n = d->gc.noted_weak.all.n = 0;
  d->gc.weak_done = (GcWeakMark){0, 0};
  d->gc.weak_values_cleared = 0;
}
