/* SPDX-License-Identifier: MIT */
/* runtime/gc_weak.c: weak tables.
 *
 * A marking that meets a weak table follows its strong references and notes the
 * slots of the others (GcWeakRange: whole parts, or single cards of large ones)
 * in one of three lists, each kind of marking in lists of its own. At its end:
 *
 *   settle       the value of an ephemeron is followed once its key is alive; those whose
 *                key is not reached yet wait for it (gc_ephemeron.c);
 *   clear values entries whose value is dead, from tables with weak values; in the major
 *                cycle a bounded number in each undivided step, which first marks all that
 *                the program has read since the last one;
 *   clear keys   entries whose key is dead, from tables with weak keys; in the major
 *                cycle in slices (GC_PHASE_CLEAR). gc_ephemeron.c clears ephemerons. The
 *                entries of tables with weak keys and values are cleared one by one: a
 *                traversal passes over them (gc_node_is_dead), and they are found by
 *                their keys if they have moved.
 *
 * The major marking looks through what it has noted while it still marks, piece by piece,
 * when nothing else is grey: entries whose key and value are marked by then are done
 * with, since marks stay; the others are left for its end (Gc.weak_left), one by one.
 * What is stored into a weak table after that, or moved in it, is noted again by the
 * minor collection that finds the table or its card logged; ephemerons that are left then
 * are settled for the major marking at its end.
 *
 * To a minor collection, young objects that it did not reach are dead; to the major
 * marking, those that are not marked. During the latter a minor collection follows an
 * ephemeron's value only when it is young. The major marking decides on old ones: the
 * table is noted for it (settle_left), since the minor collection may have just promoted
 * the table black.
 *
 * To weak tables, strings are values, not objects: they are never removed.
 */
#include "gc_internal.h"

#include <string.h>

#include "gc.h"
#include "known_names.h"

#define PIECE 256      /* slots or nodes looked through at once */
#define ENTRY_WORK 32  /* work of examining one */
#define LEAVE_WORK 32  /* and of leaving one for the end */
#define CLEAR_WORK 48  /* and of removing one whose key is dead */
/* and of each object of it that may be young, in a part scanned as a whole */
#define FRESH_WORK 64
#define PREFETCH_AHEAD 8

Weakness gc_weakness(Domain *d, const Table *t) {
  if (t->metatable == NULL) return WEAK_NONE;
  const TValue *mode = table_fast_metamethod(d, t->metatable, META_MODE);
  if (mode == NULL || !is_string(mode)) return WEAK_NONE;
  if (unlikely(t->state & TABLE_ASSUMED)) assumed_drop(d); /* what it has may go away */
  const char *text = as_string(mode)->data;
  return (Weakness)((strchr(text, 'v') ? WEAK_VALUES : 0) | (strchr(text, 'k') ? WEAK_KEYS : 0));
}

/* ---- walking ranges ------------------------------------------------------ */

/* The tables' parts may have shrunk or moved since the range was noted. */
static TValue *range_values(const GcWeakRange *r, uint32_t *n) {
  uint32_t to = r->to < r->table->array_size ? r->to : r->table->array_size;
  *n = to > r->from ? to - r->from : 0;
  return r->table->array + r->from;
}

static Node *range_nodes(const GcWeakRange *r, uint32_t *n) {
  uint32_t to = r->to < table_node_count(r->table) ? r->to : table_node_count(r->table);
  *n = to > r->from ? to - r->from : 0;
  return r->table->node + r->from;
}

/* Slot or node `i` of the range: its objects lie all over the heap and are examined
 * soon. */
ALWAYS_INLINE void prefetch_entry(const GcWeakRange *r, uint32_t i) {
  if (!r->node) {
    if (i < r->table->array_size) __builtin_prefetch(r->table->array[i].v.p);
  } else if (i < table_node_count(r->table)) {
    __builtin_prefetch(r->table->node[i].key.p);
    __builtin_prefetch(r->table->node[i].v.p);
  }
}

/* Those behind `i` are mostly single slots, here and there. */
static void prefetch_range(const GcWeakRanges *list, size_t i) {
  if (i + PREFETCH_AHEAD < list->n)
    prefetch_entry(&list->items[i + PREFETCH_AHEAD], list->items[i + PREFETCH_AHEAD].from);
}

/* A weak reference to this: strings are followed, since they are values. */
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

/* ---- meeting a weak table ------------------------------------------------ */

static void visit_keys(Domain *d, const GcWeakRange *r, ScanKind kind) {
  uint32_t count;
  for (Node *n = range_nodes(r, &count), *end = n + count; n < end; n++) {
    if (n->tag == TAG_NIL) forget_key(n);
    else if (n->key_tag & TAG_COLLECTED) visit(d, n->key.gc, kind);
  }
}

/* There is no room to note the slots: to this marking they are strong. */
static NOINLINE void follow_range(Domain *d, const GcWeakRange *r, ScanKind kind) {
  uint32_t n;
  if (r->node) {
    Node *nodes = range_nodes(r, &n);
    visit_nodes(d, nodes, n, kind);
  } else {
    const TValue *values = range_values(r, &n);
    visit_values(d, values, n, kind);
  }
}

/* The nodes of the table that the major marking looks through at present have moved. */
static bool restart_range(GcWeakRanges *list, const Table *t, ScanKind kind) {
  if (kind == SCAN_MINOR || list->n == 0 || list->items[list->n - 1].table != t) return false;
  list->items[list->n - 1].from = 0;
  return true;
}

static GcWeakRanges *list_of(GcWeakLists *lists, Weakness w) {
  return w == WEAK_VALUES ? &lists->values : w == WEAK_KEYS ? &lists->ephemerons : &lists->all;
}

/* Neighbours are mostly found one after the other: they are noted together. */
static bool extends_last(GcWeakRanges *list, const GcWeakRange *r) {
  if (list->n <= list->closed) return false;
  GcWeakRange *last = &list->items[list->n - 1];
  bool adjoins = last->table == r->table && last->node == r->node && last->to == r->from;
  if (!adjoins || last->to - last->from >= PIECE) return false;
  last->to = r->to;
  return true;
}

static bool note_range(Domain *d, Weakness w, GcWeakRange r, ScanKind kind) {
  GcWeakRanges *list = list_of(kind == SCAN_MAJOR ? &d->gc.noted_weak : &d->gc.minor_weak, w);
  if (extends_last(list, &r)) return true;
  return (w == WEAK_KEYS && restart_range(list, r.table, kind)) || GC_TRY_PUSH(d, list, r);
}

/* The major marking does not reach a table that has just been promoted black, and may
 * already have looked through one that was written to. Ephemerons are settled for the
 * major marking at the end of the minor one, when most of the new ones have died. */
static bool note_for_major(Domain *d, Weakness w, GcWeakRange r) {
  return w == WEAK_KEYS || !is_marking(d) || !is_marked(d, r.table) ||
         note_range(d, w, r, SCAN_MAJOR);
}

/* By the major marking, in pieces. */
static bool scan_slots_later(Domain *d, Table *t, uint32_t n) {
  return n > d->gc.piece &&
         GC_TRY_PUSH(d, &d->gc.partial,
                     (GcPartial){.object = (GCObject *)t, .node_from = UINT32_MAX});
}

void gc_scan_weak(Domain *d, Weakness w, GcWeakRange range, ScanKind kind) {
  uint32_t n;
  if (!range.node) {
    TValue *values = range_values(&range, &n);
    if (n == 0) return;
    if (w == WEAK_KEYS) { /* the keys are integers */
      if (kind == SCAN_MINOR || !scan_slots_later(d, range.table, n))
        visit_values(d, values, n, kind);
      return;
    }
  } else {
    range_nodes(&range, &n);
    if (n == 0) return;
    /* The major marking comes to the keys when it looks through what is noted: there may
       be very many. */
    if (w == WEAK_VALUES && kind == SCAN_MINOR) visit_keys(d, &range, kind);
  }
  bool noted = note_range(d, w, range, kind) && (kind == SCAN_MAJOR || note_for_major(d, w, range));
  /* the minor marking makes the old grey: that serves the major one, too */
  if (unlikely(!noted)) follow_range(d, &range, kind);
}

/* ---- looking through while marking --------------------------------------- */

static bool dead_object(Domain *d, uint8_t tag, const GCObject *o) {
  return (tag & TAG_COLLECTED) && tag_type(tag) != LUA_TSTRING && is_dead(d, o, SCAN_MAJOR);
}

static void leave_value(Domain *d, Table *t, uint32_t i, uint32_t node) {
  GcWeakRange r = {t, i, i + 1, node};
  if (!GC_TRY_PUSH(d, &d->gc.weak_left.values, r)) follow_range(d, &r, SCAN_MAJOR);
}

static void settle_slot(Domain *d, Table *t, uint32_t i) {
  const TValue *v = &t->array[i];
  if (weak_dead(d, v->tag, v->v.gc, SCAN_MAJOR)) leave_value(d, t, i, 0);
}

/* An entry of a table that is weak in both, of which something was not reached. */
static void leave_entry(Domain *d, Table *t, uint32_t i) {
  const Node *n = &t->node[i];
  bool white = (n->key_tag & TAG_COLLECTED) && is_dead(d, n->key.gc, SCAN_MAJOR); /* a string too */
  if (!white) leave_value(d, t, i, 1);
  else if (!GC_TRY_PUSH(d, &d->gc.weak_left.entries, (GcWeakEntry){t, n->key.gc, i}))
    follow_range(d, &(GcWeakRange){t, i, i + 1, 1}, SCAN_MAJOR);
}

/* An ephemeron whose key was not reached. Only a value that is yet to be followed waits. */
static size_t settle_dead_key(Domain *d, Table *t, Node *n) {
  if (!gc_note_clearing(d, t)) {
    visit(d, n->key.gc, SCAN_MAJOR);
    gc_follow_value(d, n, SCAN_MAJOR);
    return 0;
  }
  bool follows = (n->tag & TAG_COLLECTED) && is_dead(d, n->v.gc, SCAN_MAJOR);
  return follows ? gc_await(d, t, n, SCAN_MAJOR) : 0;
}

/* Nothing of an entry that may yet be removed is followed except a strong key, not even a
 * string. Returns the work beyond that of examining it. */
static size_t settle_node(Domain *d, Table *t, uint32_t i, Weakness w) {
  Node *n = &t->node[i];
  if (n->tag == TAG_NIL) {
    forget_key(n);
    return 0;
  }
  if (w == WEAK_VALUES && (n->key_tag & TAG_COLLECTED)) visit(d, n->key.gc, SCAN_MAJOR);
  bool dead_key = (w & WEAK_KEYS) && dead_object(d, n->key_tag, n->key.gc);
  bool dead_value = (w & WEAK_VALUES) && dead_object(d, n->tag, n->v.gc);
  if (dead_key && w == WEAK_KEYS) return settle_dead_key(d, t, n);
  if (dead_key || dead_value) {
    if (w == WEAK_BOTH) leave_entry(d, t, i);
    else leave_value(d, t, i, 1);
    return LEAVE_WORK;
  }
  if (n->key_tag & TAG_COLLECTED) visit(d, n->key.gc, SCAN_MAJOR);
  if (n->tag & TAG_COLLECTED) visit(d, n->v.gc, SCAN_MAJOR);
  return 0;
}

/* Returns the work. The part of it that does not grow with what dies counts as marked. */
static size_t settle_range(Domain *d, const GcWeakRange *r, Weakness w) {
  size_t more = 0;
  uint32_t n;
  if (r->node) range_nodes(r, &n);
  else range_values(r, &n);
  for (uint32_t i = r->from; i < r->from + n; i++) {
    prefetch_entry(r, i + PREFETCH_AHEAD);
    if (r->node) more += settle_node(d, r->table, i, w);
    else settle_slot(d, r->table, i);
  }
  size_t work = sizeof *r + n * ENTRY_WORK;
  d->gc.marked_bytes += work;
  return work + more;
}

static uint32_t range_end(const GcWeakRange *r) {
  uint32_t size = r->node ? table_node_count(r->table) : r->table->array_size;
  return r->to < size ? r->to : size;
}

static size_t settle_last(Domain *d, GcWeakRanges *list, Weakness w) {
  uint32_t piece = d->gc.piece < PIECE ? d->gc.piece : PIECE;
  GcWeakRange r = list->items[list->n - 1];
  if (r.from + piece < range_end(&r)) {
    r.to = r.from + piece;
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

/* ---- fresh parts of the minor marking ------------------------------------ */

#define is_young_value(tag, o) (((tag) & TAG_COLLECTED) && is_young(o))

static void note_single(Domain *d, Weakness w, Table *t, uint32_t i, uint32_t node) {
  GcWeakRange r = {t, i, i + 1, node};
  if (!note_range(d, w, r, SCAN_MINOR)) follow_range(d, &r, SCAN_MINOR);
}

static void scan_fresh_slot(Domain *d, Weakness w, Table *t, uint32_t i) {
  const TValue *v = &t->array[i];
  if (is_young_value(v->tag, v->v.gc)) note_single(d, w, t, i, 0);
}

/* The major marking does not reach a table that was promoted black. */
static void settle_for_major(Domain *d, Table *t, uint32_t i) {
  if (is_marking(d) && is_marked(d, t)) d->gc.step_work += settle_node(d, t, i, WEAK_KEYS);
}

static void scan_fresh_ephemeron(Domain *d, Table *t, uint32_t i) {
  Node *n = &t->node[i];
  if (weak_dead(d, n->key_tag, n->key.gc, SCAN_MINOR)) {
    note_single(d, WEAK_KEYS, t, i, 1);
    return;
  }
  gc_follow_value(d, n, SCAN_MINOR);
  settle_for_major(d, t, i);
}

static void scan_fresh_node(Domain *d, Weakness w, Table *t, uint32_t i) {
  Node *n = &t->node[i];
  if (n->tag == TAG_NIL) {
    forget_key(n);
  } else if (w == WEAK_KEYS) {
    scan_fresh_ephemeron(d, t, i);
  } else {
    if (w == WEAK_VALUES && (n->key_tag & TAG_COLLECTED)) visit(d, n->key.gc, SCAN_MINOR);
    if (is_young_value(n->key_tag, n->key.gc) || is_young_value(n->tag, n->v.gc))
      note_single(d, w, t, i, 1);
  }
}

void gc_scan_weak_fresh(Domain *d, Weakness w, GcWeakRange r) {
  uint32_t n;
  if (r.node) range_nodes(&r, &n);
  else range_values(&r, &n);
  if (!r.node && w == WEAK_KEYS) {
    visit_values(d, r.table->array + r.from, n, SCAN_MINOR);
    return;
  }
  d->gc.step_work += n * (r.node ? 2 * FRESH_WORK : FRESH_WORK);
  for (uint32_t i = r.from; i < r.from + n; i++) {
    prefetch_entry(&r, i + PREFETCH_AHEAD);
    if (r.node) scan_fresh_node(d, w, r.table, i);
    else scan_fresh_slot(d, w, r.table, i);
  }
  if (!note_for_major(d, w, r)) follow_range(d, &r, SCAN_MINOR);
}

static void check_ranges(Domain *d, const GcWeakRanges *list, Weakness noted) {
  const Table *last = NULL;
  Weakness w = WEAK_NONE;
  for (size_t i = 0; i < list->n; i++) {
    const GcWeakRange *r = &list->items[i];
    if (r->table != last) w = gc_weakness(d, last = r->table);
    if (w != noted) follow_range(d, r, SCAN_MINOR);
  }
  d->gc.step_work += list->n * sizeof *list->items;
}

/* What is noted for another kind of weakness is followed, which keeps more than
 * necessary. */
void gc_check_weak_minor(Domain *d) {
  check_ranges(d, &d->gc.minor_weak.values, WEAK_VALUES);
  check_ranges(d, &d->gc.minor_weak.ephemerons, WEAK_KEYS);
  check_ranges(d, &d->gc.minor_weak.all, WEAK_BOTH);
}

/* ---- ephemerons in a minor collection ------------------------------------ */

static void settle_ephemerons(Domain *d, const GcWeakRange *r) {
  size_t work = 0;
  uint32_t count;
  for (Node *n = range_nodes(r, &count), *end = n + count; n < end; n++) {
    if (end - n > PREFETCH_AHEAD) __builtin_prefetch(n[PREFETCH_AHEAD].key.p);
    if (n->tag == TAG_NIL) forget_key(n);
    else if (!weak_dead(d, n->key_tag, n->key.gc, SCAN_MINOR)) gc_follow_value(d, n, SCAN_MINOR);
    else if ((n->tag & TAG_COLLECTED) && is_young(n->v.gc))
      work += gc_await(d, r->table, n, SCAN_MINOR);
  }
  d->gc.step_work += count * sizeof(Node) + work;
}

/* New ranges may be noted on the way. They stay, for their dead keys to be cleared. */
bool gc_settle_ephemerons_minor(Domain *d) {
  GcWeakRanges *noted = &d->gc.minor_weak.ephemerons;
  size_t work;
  for (;;) {
    if (!gc_drain_some(d)) return false;
    if ((work = gc_follow_reached(d, SCAN_MINOR)) > 0) {
      d->gc.step_work += work;
      continue;
    }
    size_t *settled = &d->gc.minor_ephemerons_settled;
    if (*settled == noted->n) return true;
    if (gc_piece_is_over(&d->gc)) return false;
    GcWeakRange r = noted->items[(*settled)++];
    noted->closed = *settled;
    prefetch_range(noted, *settled);
    settle_ephemerons(d, &r);
  }
}

/* ---- clearing ------------------------------------------------------------ */

/* Returns the number of entries examined. */
static uint32_t clear_dead_values(Domain *d, const GcWeakRange *r, ScanKind kind) {
  uint32_t count;
  if (!r->node) {
    TValue *v = range_values(r, &count);
    for (TValue *end = v + count; v < end; v++)
      if (weak_dead(d, v->tag, v->v.gc, kind)) set_nil(v);
    return count;
  }
  for (Node *n = range_nodes(r, &count), *end = n + count; n < end; n++)
    if (n->tag == TAG_NIL || weak_dead(d, n->tag, n->v.gc, kind)) gc_clear_node(n);
  return count;
}

static void clear_dead_keys(Domain *d, const GcWeakRange *r) {
  uint32_t count;
  if (!r->node) return;
  for (Node *n = range_nodes(r, &count), *end = n + count; n < end; n++)
    if (n->tag == TAG_NIL || weak_dead(d, n->key_tag, n->key.gc, SCAN_MINOR)) gc_clear_node(n);
  d->gc.step_work += count * ENTRY_WORK / 2;
}

/* Returns where it stopped. */
static size_t clear_values(Domain *d, GcWeakRanges *list, size_t from, size_t most, ScanKind kind) {
  size_t to = list->n - from < most ? list->n : from + most, entries = 0;
  for (size_t i = from; i < to; i++) {
    prefetch_range(list, i);
    entries += clear_dead_values(d, &list->items[i], kind);
  }
  d->gc.step_work += entries * ENTRY_WORK;
  list->closed = to;
  return to;
}

#define RANGES_AT_ONCE 32

/* False: the piece is over before. */
static bool clear_list_minor(Domain *d, GcWeakRanges *list, size_t *done) {
  while (*done < list->n) {
    if (gc_piece_is_over(&d->gc)) return false;
    *done = clear_values(d, list, *done, RANGES_AT_ONCE, SCAN_MINOR);
  }
  return true;
}

bool gc_clear_weak_values_minor(Domain *d) {
  GcWeakLists *lists = &d->gc.minor_weak;
  GcWeakMark *done = &d->gc.minor_cleared;
  return clear_list_minor(d, &lists->values, &done->values) &&
         clear_list_minor(d, &lists->all, &done->all);
}

/* What is left in a table that the major marking has reached is settled for that
 * marking. */
static void settle_left(Domain *d, const GcWeakRange *r) {
  uint32_t count;
  if (!is_marking(d) || !is_marked(d, r->table)) return;
  range_nodes(r, &count);
  for (uint32_t i = r->from; i < r->from + count; i++)
    d->gc.step_work += settle_node(d, r->table, i, WEAK_KEYS);
}

bool gc_clear_weak_keys_minor(Domain *d) {
  const GcWeakRanges *ephemerons = &d->gc.minor_weak.ephemerons, *all = &d->gc.minor_weak.all;
  GcWeakMark *done = &d->gc.minor_cleared;
  for (; done->keys < ephemerons->n; done->keys++) {
    if (gc_piece_is_over(&d->gc)) return false;
    prefetch_range(ephemerons, done->keys);
    clear_dead_keys(d, &ephemerons->items[done->keys]);
    settle_left(d, &ephemerons->items[done->keys]);
  }
  for (; done->all_keys < all->n; done->all_keys++) {
    if (gc_piece_is_over(&d->gc)) return false;
    clear_dead_keys(d, &all->items[done->all_keys]);
  }
  return true;
}

void gc_forget_weak_minor(Domain *d) {
  GcWeakLists *lists = &d->gc.minor_weak;
  lists->values.n = lists->ephemerons.n = lists->all.n = 0;
  lists->values.closed = lists->ephemerons.closed = lists->all.closed = 0;
  d->gc.minor_ephemerons_settled = 0;
  d->gc.minor_cleared = (GcWeakMark){0};
  gc_forget_awaited(d, SCAN_MINOR);
}

/* ---- clearing at the end of the major marking ---------------------------- */

/* Where the entry was, empty if it was removed; NULL when another entry is there now. */
static Node *place_of(const GcWeakEntry *entry) {
  if (entry->node >= table_node_count(entry->table)) return NULL;
  Node *n = &entry->table->node[entry->node];
  bool is_object = (n->key_tag & TAG_COLLECTED) || n->key_tag == TAG_DEADKEY;
  return is_object && n->key.gc == entry->key ? n : NULL;
}

static void prefetch_place(const GcWeakEntries *list, size_t i) {
  if (i >= list->n) return;
  const GcWeakEntry *entry = &list->items[i];
  __builtin_prefetch(entry->key);
  if (entry->node < table_node_count(entry->table))
    __builtin_prefetch(&entry->table->node[entry->node], 1);
}

static void prefetch_value(const GcWeakEntries *list, size_t i) {
  if (i >= list->n) return;
  const GcWeakEntry *entry = &list->items[i];
  if (entry->node < table_node_count(entry->table))
    __builtin_prefetch(entry->table->node[entry->node].v.p);
}

/* While the marking goes on, an entry that has moved was noted again. One that may stay
 * keeps its strings. */
static void clear_entry_value(Domain *d, const GcWeakEntry *entry) {
  Node *n = place_of(entry);
  if (n == NULL || n->tag == TAG_NIL) return;
  if (weak_dead(d, n->tag, n->v.gc, SCAN_MAJOR)) gc_clear_node(n);
  else weak_dead(d, n->key_tag, n->key.gc, SCAN_MAJOR);
}

static size_t clear_entry_values(Domain *d, const GcWeakEntries *list, size_t from, size_t most) {
  size_t to = list->n - from < most ? list->n : from + most;
  for (size_t i = from; i < to; i++) {
    prefetch_place(list, i + 2 * PREFETCH_AHEAD);
    prefetch_value(list, i + PREFETCH_AHEAD);
    clear_entry_value(d, &list->items[i]);
  }
  d->gc.step_work += (to - from) * ENTRY_WORK;
  return to;
}

bool gc_clear_some_values(Domain *d, size_t most) {
  GcWeakLeft *left = &d->gc.weak_left;
  size_t before = left->values_done;
  left->values_done = clear_values(d, &left->values, before, most, SCAN_MAJOR);
  left->entries_done = clear_entry_values(d, &left->entries, left->entries_done,
                                          most - (left->values_done - before));
  return left->values_done == left->values.n && left->entries_done == left->entries.n;
}

/* When marking is over, moved entries are not noted any more. A string that is dead now
 * was the key of an entry that has gone. */
static void clear_entry_key(Domain *d, const GcWeakEntry *entry) {
  if (!dead_object(d, entry->key->type | TAG_COLLECTED, entry->key)) return;
  Node *n = place_of(entry);
  if (n == NULL) n = gc_node_of(entry->table, entry->key, entry->node);
  if (n != NULL) gc_clear_node(n);
}

static void clear_entry_key_ahead(Domain *d, const GcWeakEntries *list, size_t i) {
  prefetch_place(list, i + PREFETCH_AHEAD);
  clear_entry_key(d, &list->items[i]);
}

#define KEYS_AT_ONCE 256 /* between two looks at the clock */

bool gc_clear_some_keys(Domain *d, size_t work) {
  GcWeakLeft *left = &d->gc.weak_left;
  size_t from = left->keys_done, end = left->entries.n;
  if (end - from > work / CLEAR_WORK + 1) end = from + work / CLEAR_WORK + 1;
  for (size_t i = from; i < end; i++) {
    if (i - from > 0 && (i - from) % KEYS_AT_ONCE == 0 && gc_time_is_up(&d->gc)) end = i;
    else clear_entry_key_ahead(d, &left->entries, i);
  }
  left->keys_done = end;
  d->gc.slice_work += (end - from) * CLEAR_WORK;
  d->gc.step_work += (end - from) * CLEAR_WORK;
  if (end < left->entries.n) return false;
  gc_forget_weak_major(d);
  return true;
}

void gc_forget_weak_major(Domain *d) {
  Gc *gc = &d->gc;
  GcWeakLeft *left = &gc->weak_left;
  gc->noted_weak.values.n = gc->noted_weak.ephemerons.n = gc->noted_weak.all.n = 0;
  left->values.n = left->values.closed = left->entries.n = 0;
  left->values_done = left->entries_done = left->keys_done = 0;
  left->first_done = false;
}
