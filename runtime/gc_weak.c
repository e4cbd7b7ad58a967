/* runtime/gc_weak.c: weak tables.
 *
 * A trace that meets a weak table follows its strong references and notes the
 * slots of the others (GcWeakRange: whole parts, or single cards of large ones)
 * in one of three lists, each kind of trace in lists of its own. At its end:
 *
 *   converge     the value of an ephemeron is followed once its key is alive,
 *                until no pass over all of them finds anything more;
 *   clear values entries whose value is dead, from tables with weak values;
 *   clear keys   entries whose key is dead, from tables with weak keys.
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

#define PIECE 256 /* slots or nodes looked through at once */

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

/* A weak reference to this: strings are followed, being values. */
static bool weak_dead(Domain *d, uint8_t tag, GCObject *o, ScanKind kind) {
  if (!(tag & TAG_COLLECTED)) return false;
  if (tag_type(tag) == LUA_TSTRING) {
    visit(d, o, kind);
    return false;
  }
  return is_dead(d, o, kind);
}

static void clear_node(Node *n) {
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
  bool marking = kind == SCAN_MAJOR && !d->gc.undivided;
  note_in(d, marking ? &d->gc.noted_weak : lists_of(d, kind), w, r);
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
static bool settle_node(Domain *d, Node *n, Weakness w) {
  if (n->tag == TAG_NIL) {
    forget_key(n);
    return true;
  }
  if ((w & WEAK_KEYS) && dead_object(d, n->key_tag, n->key.gc)) return false;
  if ((w & WEAK_VALUES) && dead_object(d, n->tag, n->v.gc)) return false;
  if (n->key_tag & TAG_COLLECTED) visit(d, n->key.gc, SCAN_MAJOR);
  if (n->tag & TAG_COLLECTED) visit(d, n->v.gc, SCAN_MAJOR);
  return true;
}

static void settle_range(Domain *d, const GcWeakRange *r, Weakness w) {
  uint32_t n;
  void *first = r->node ? (void *)range_nodes(r, &n) : (void *)range_values(r, &n);
  for (uint32_t i = 0; i < n; i++) {
    bool settled = r->node ? settle_node(d, (Node *)first + i, w) : settle_slot(d, (TValue *)first + i);
    if (!settled) note_in(d, &d->gc.major_weak, w, (GcWeakRange){r->table, r->from + i, r->from + i + 1, r->node});
  }
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
  settle_range(d, &r, w);
  return PIECE * sizeof(Node);
}

size_t gc_settle_weak_piece(Domain *d) {
  GcWeakLists *noted = &d->gc.noted_weak;
  if (noted->values.n > 0) return settle_last(d, &noted->values, WEAK_VALUES);
  if (noted->ephemerons.n > 0) return settle_last(d, &noted->ephemerons, WEAK_KEYS);
  if (noted->all.n > 0) return settle_last(d, &noted->all, WEAK_BOTH);
  return 0;
}

/* ---- ephemerons --------------------------------------------------------------------- */

/* Whether the value is one that this trace has not followed yet. */
static bool unvisited(Domain *d, const Node *n, ScanKind kind) {
  return (n->tag & TAG_COLLECTED) && is_dead(d, n->v.gc, kind);
}

/* Follows the values whose keys are alive; whether there were any. */
static bool follow_range(Domain *d, const GcWeakRange *r, ScanKind kind) {
  bool found = false;
  uint32_t count;
  for (Node *n = range_nodes(r, &count), *end = n + count; n < end; n++) {
    if (n->tag == TAG_NIL) {
      forget_key(n);
    } else if (unvisited(d, n, kind) && !weak_dead(d, n->key_tag, n->key.gc, kind)) {
      visit(d, n->v.gc, kind);
      found = true;
    }
  }
  return found;
}

static void drain(Domain *d, ScanKind kind) {
  if (kind == SCAN_MINOR) gc_drain_minor(d);
  else gc_mark_some(d, SIZE_MAX);
}

/* Alternates the direction of its passes, so that chains of ephemerons in
 * either order of the list converge fast. New ranges may be noted on the way. */
void gc_converge_ephemerons(Domain *d, ScanKind kind) {
  GcWeakRanges *e = &lists_of(d, kind)->ephemerons;
  bool found, forward = true;
  do {
    found = false;
    for (size_t i = 0; i < e->n; i++) {
      GcWeakRange r = e->items[forward ? i : e->n - 1 - i];
      if (follow_range(d, &r, kind)) {
        drain(d, kind);
        found = true;
      }
    }
    forward = !forward;
  } while (found);
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
    if (n->tag == TAG_NIL || weak_dead(d, n->tag, n->v.gc, kind)) clear_node(n);
}

static void clear_dead_keys(Domain *d, const GcWeakRange *r, ScanKind kind) {
  uint32_t count;
  if (!r->node) return;
  for (Node *n = range_nodes(r, &count), *end = n + count; n < end; n++)
    if (n->tag == TAG_NIL || weak_dead(d, n->key_tag, n->key.gc, kind)) clear_node(n);
}

GcWeakMark gc_clear_weak_values(Domain *d, ScanKind kind, GcWeakMark from) {
  GcWeakLists *lists = lists_of(d, kind);
  for (size_t i = from.values; i < lists->values.n; i++) clear_dead_values(d, &lists->values.items[i], kind);
  for (size_t i = from.all; i < lists->all.n; i++) clear_dead_values(d, &lists->all.items[i], kind);
  return (GcWeakMark){lists->values.n, lists->all.n};
}

void gc_clear_weak_keys(Domain *d, ScanKind kind) {
  GcWeakLists *lists = lists_of(d, kind);
  for (size_t i = 0; i < lists->ephemerons.n; i++) clear_dead_keys(d, &lists->ephemerons.items[i], kind);
  for (size_t i = 0; i < lists->all.n; i++) clear_dead_keys(d, &lists->all.items[i], kind);
}

void gc_forget_weak(Domain *d, ScanKind kind) {
  GcWeakLists *lists = lists_of(d, kind);
  lists->values.n = lists->ephemerons.n = lists->all.n = 0;
  if (kind == SCAN_MAJOR) d->gc.noted_weak.values.n = d->gc.noted_weak.ephemerons.n = d->gc.noted_weak.all.n = 0;
}
