/* SPDX-License-Identifier: MIT */
/* runtime/gc_weak.c: weak tables.
 *
 * A marking that meets a weak table follows its strong references and notes the slots of
 * the weak ones (GcWeakRange) in one of three lists. Each kind of marking has lists of
 * its own. The major marking notes whole parts. The minor marking notes only what may
 * have to be removed because it refers to a young object that is not known to be alive
 * yet: single entries of large parts, small parts as a whole, and whatever is on marked
 * cards. At its end, a marking does:
 *
 *   settle       the value of an ephemeron is followed once its key is alive; an
 *                ephemeron whose key is not reached yet waits for it (gc_ephemeron.c);
 *   clear values entries whose value is dead, from tables with weak values; in the major
 *                cycle a bounded number in each undivided step, which first marks all
 *                that the program has read since the last one;
 *   clear keys   entries whose key is dead, from tables with weak keys; in the major
 *                cycle in slices (GC_PHASE_CLEAR). gc_ephemeron.c clears ephemerons. The
 *                entries of tables with weak keys and values are cleared one by one: a
 *                traversal passes over them (gc_node_is_dead), and they are found by
 *                their keys if they have moved.
 *
 * The major marking looks through its noted ranges while it still marks, piece by piece,
 * when nothing else is grey. Entries whose key and value are marked by then need no more
 * work, since marks stay. The others are left for its end (Gc.weak_left), one by one.
 * Entries stored into a weak table after that, or moved in it, are noted again by the
 * minor collection that finds the table or its card logged. Ephemerons that are left then
 * are settled for the major marking at the end of the minor collection.
 *
 * To a minor collection, young objects that it did not reach are dead; to the major
 * marking, objects that are not marked. During the major marking a minor collection
 * follows an ephemeron's value only when the value is young. The major marking decides on
 * old values: the minor collection settles the table for it (settle_left), since it may
 * have just promoted the table black.
 *
 * Tables may become strong, or weak in another way, while markings are under way. The
 * major marking scans such a table again (gc_set_metatable). A minor collection in pieces
 * compares its noted ranges with the tables before it clears anything, and again when
 * setmetatable has changed a table since; a later change of __mode in a metatable is not
 * seen.
 *
 * To weak tables, strings are values, not objects: they are never removed.
 */
#include "gc_internal.h"

#include <string.h>

#include "gc.h"
#include "known_names.h"

#define PIECE 256      /* most slots or nodes settled at once */
#define ENTRY_WORK 32  /* to examine an entry */
#define LEAVE_WORK 32  /* to leave an entry for the end of the marking */
#define CLEAR_WORK 48  /* to remove an entry whose key is dead */
#define LOOK_WORK 64   /* to check whether an object that an entry refers to is young */
#define CHECK_WORK 64  /* to examine a table that was noted */
#define MOST_RECHECKS 64 /* rechecks of noted ranges in one minor collection */
#define PREFETCH_AHEAD 8

Weakness gc_weakness(Domain *d, const Table *t) {
  if (t->metatable == NULL) return WEAK_NONE;
  const TValue *mode = table_fast_metamethod(d, t->metatable, META_MODE);
  if (mode == NULL || !is_string(mode)) return WEAK_NONE;
  if (unlikely(t->state & TABLE_ASSUMED)) assumed_drop(d); /* its functions may die now */
  const char *text = as_string(mode)->data;
  return (Weakness)((strchr(text, 'v') ? WEAK_VALUES : 0) | (strchr(text, 'k') ? WEAK_KEYS : 0));
}

/* ---- walking ranges ------------------------------------------------------ */

/* Returns the values of the range. The table's parts may have shrunk or moved since the
 * range was noted. */
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

/* Prefetches the objects of slot or node `i` of the range: they lie all over the heap and
 * are examined soon. */
ALWAYS_INLINE void prefetch_entry(const GcWeakRange *r, uint32_t i) {
  if (!r->node) {
    if (i < r->table->array_size) __builtin_prefetch(r->table->array[i].v.p);
  } else if (i < table_node_count(r->table)) {
    __builtin_prefetch(r->table->node[i].key.p);
    __builtin_prefetch(r->table->node[i].v.p);
  }
}

/* Prefetches the first entry of a range behind range `i`. Most ranges are single slots,
 * here and there. */
static void prefetch_range(const GcWeakRanges *list, size_t i) {
  if (i + PREFETCH_AHEAD < list->n)
    prefetch_entry(&list->items[i + PREFETCH_AHEAD], list->items[i + PREFETCH_AHEAD].from);
}

/* Tells whether a weak reference is dead. A string is a value, so it is visited and never
 * dead. */
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

/* Visits all of a range where there is no room to note it: its references count as
 * strong. */
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

/* Restarts the range that the major marking looks through at present, if it is the
 * table's: the table's nodes have moved. */
static bool restart_range(GcWeakRanges *list, const Table *t, ScanKind kind) {
  if (kind == SCAN_MINOR || list->n == 0 || list->items[list->n - 1].table != t) return false;
  list->items[list->n - 1].from = 0;
  return true;
}

static GcWeakRanges *list_of(GcWeakLists *lists, Weakness w) {
  return w == WEAK_VALUES ? &lists->values : w == WEAK_KEYS ? &lists->ephemerons : &lists->all;
}

/* Extends the range noted last by an adjoining one: neighbours are mostly found one after
 * the other. */
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

/* Notes a range for the major marking, which does not reach a table that has just been
 * promoted black, and may already have looked through a table that was written to.
 * Ephemerons are settled for the major marking at the end of the minor one, when most of
 * the new ones have died. */
static bool note_for_major(Domain *d, Weakness w, GcWeakRange r) {
  return w == WEAK_KEYS || !is_marking(d) || !is_marked(d, r.table) ||
         note_range(d, w, r, SCAN_MAJOR);
}

static bool scan_slots_later(Domain *d, Table *t, uint32_t n) {
  return n > d->gc.piece &&
         GC_TRY_PUSH(d, &d->gc.partial,
                     (GcPartial){.object = (GCObject *)t, .node_from = UINT32_MAX});
}

/* Notes a part of a weak table for the major marking. Strong keys, too, wait until the
 * range is looked through: there may be very many. */
static void scan_part_major(Domain *d, Weakness w, GcWeakRange r) {
  uint32_t n;
  if (r.node) range_nodes(&r, &n);
  else range_values(&r, &n);
  if (n == 0) return;
  bool later = !r.node && w == WEAK_KEYS ? scan_slots_later(d, r.table, n)
                                         : note_range(d, w, r, SCAN_MAJOR);
  if (!later) follow_range(d, &r, SCAN_MAJOR);
}

void gc_scan_weak_major(Domain *d, Weakness w, Table *t) {
  scan_part_major(d, w, (GcWeakRange){t, 0, UINT32_MAX, 0});
  scan_part_major(d, w, (GcWeakRange){t, 0, UINT32_MAX, 1});
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

/* Leaves an entry whose key or value was not reached, in a table with weak keys and
 * values. */
static void leave_entry(Domain *d, Table *t, uint32_t i) {
  const Node *n = &t->node[i];
  /* a white key may also be a string */
  bool white = (n->key_tag & TAG_COLLECTED) && is_dead(d, n->key.gc, SCAN_MAJOR);
  if (!white) leave_value(d, t, i, 1);
  else if (!GC_TRY_PUSH(d, &d->gc.weak_left.entries, (GcWeakEntry){t, n->key.gc, i}))
    follow_range(d, &(GcWeakRange){t, i, i + 1, 1}, SCAN_MAJOR);
}

/* Settles an ephemeron whose key was not reached; returns the work. The value waits for
 * the key only if it is not marked yet. */
static size_t settle_dead_key(Domain *d, Table *t, Node *n) {
  if (!gc_note_clearing(d, t)) {
    visit(d, n->key.gc, SCAN_MAJOR);
    gc_follow_value(d, n, SCAN_MAJOR);
    return 0;
  }
  bool follows = (n->tag & TAG_COLLECTED) && is_dead(d, n->v.gc, SCAN_MAJOR);
  return follows ? gc_await(d, t, n, SCAN_MAJOR) : 0;
}

/* Settles a node; returns the work beyond examining it. If the entry may yet be removed,
 * only a strong key is followed, not even a string. */
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

/* Settles a range; returns the work. The part of it that does not grow with what dies
 * counts as marked. */
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

/* ---- meeting one in a minor collection ------------------------------------ */

/* Each function below tells whether an entry may have to be removed: it refers weakly to
 * a young object that is not known to be alive yet. Other entries need no more work: what
 * is stored into the table later, or moved in it, is noted again. */

#define is_young_value(tag, o) (((tag) & TAG_COLLECTED) && is_young(o))

static bool slot_may_go(const TValue *v) { return is_young_value(v->tag, v->v.gc); }

/* Settles an ephemeron for the major marking, which does not reach a table that was
 * promoted black. */
static void settle_for_major(Domain *d, Table *t, uint32_t i) {
  if (is_marking(d) && is_marked(d, t)) d->gc.step_work += settle_node(d, t, i, WEAK_KEYS);
}

static bool ephemeron_may_go(Domain *d, Table *t, uint32_t i) {
  Node *n = &t->node[i];
  if (weak_dead(d, n->key_tag, n->key.gc, SCAN_MINOR)) return true;
  gc_follow_value(d, n, SCAN_MINOR);
  settle_for_major(d, t, i);
  return false;
}

static bool node_may_go(Domain *d, Weakness w, Table *t, uint32_t i) {
  Node *n = &t->node[i];
  if (n->tag == TAG_NIL) {
    forget_key(n);
    return false;
  }
  if (w == WEAK_KEYS) return ephemeron_may_go(d, t, i);
  if (w == WEAK_VALUES && (n->key_tag & TAG_COLLECTED)) visit(d, n->key.gc, SCAN_MINOR);
  return is_young_value(n->key_tag, n->key.gc) || is_young_value(n->tag, n->v.gc);
}

static void note_minor(Domain *d, Weakness w, GcWeakRange r) {
  if (!note_range(d, w, r, SCAN_MINOR)) follow_range(d, &r, SCAN_MINOR);
}

/* Scans a range of a weak table. In a large part, an entry that moves to another node is
 * on a marked card (gc_barrier_moved), so single entries are noted. In a small part
 * nothing says that an entry has moved: the part is noted as a whole if any of its
 * entries may be removed. */
void gc_scan_weak_minor(Domain *d, Weakness w, GcWeakRange r) {
  uint32_t n;
  if (r.node) range_nodes(&r, &n);
  else range_values(&r, &n);
  if (n == 0) return;
  if (!r.node && w == WEAK_KEYS) { /* the keys are integers */
    visit_values(d, r.table->array + r.from, n, SCAN_MINOR);
    return;
  }
  bool large = heap_is_large(r.node ? node_bytes(r.table) : array_bytes(r.table)), any = false;
  d->gc.step_work += n * (r.node ? 2 * LOOK_WORK : LOOK_WORK);
  for (uint32_t i = r.from; i < r.from + n; i++) {
    if (i + PREFETCH_AHEAD < r.from + n) prefetch_entry(&r, i + PREFETCH_AHEAD);
    bool may_go = r.node ? node_may_go(d, w, r.table, i) : slot_may_go(&r.table->array[i]);
    if (may_go && large) note_minor(d, w, (GcWeakRange){r.table, i, i + 1, r.node});
    any |= may_go;
  }
  if (any && !large) note_minor(d, w, (GcWeakRange){r.table, r.from, r.from + n, r.node});
  /* old objects that this marking reaches turn grey, also for the major marking */
  if (!note_for_major(d, w, r)) follow_range(d, &r, SCAN_MINOR);
}

/* Notes each slot that was stored to. Does not check whether its objects are young: that
 * would take longer than everything else here. */
void gc_scan_weak_card(Domain *d, Weakness w, GcWeakRange r) {
  uint32_t n;
  if (!r.node && w == WEAK_KEYS) {
    visit_values(d, range_values(&r, &n), 1, SCAN_MINOR);
    return;
  }
  if (r.node && w == WEAK_VALUES) {
    Node *node = range_nodes(&r, &n);
    if (node->tag == TAG_NIL) forget_key(node);
    else if (node->key_tag & TAG_COLLECTED) visit(d, node->key.gc, SCAN_MINOR);
  }
  note_minor(d, w, r);
  if (!note_for_major(d, w, r)) follow_range(d, &r, SCAN_MINOR);
}

/* Checks the rest of the list. Returns false if the piece ends before that. */
static bool check_ranges(Domain *d, const GcWeakRanges *list, uint32_t *done, Weakness noted) {
  const Table *last = NULL;
  Weakness w = WEAK_NONE;
  for (; *done < list->n; ++*done) {
    if (gc_piece_is_over(&d->gc)) return false;
    const GcWeakRange *r = &list->items[*done];
    if (*done + PREFETCH_AHEAD < list->n) __builtin_prefetch(r[PREFETCH_AHEAD].table);
    if (r->table != last) {
      w = gc_weakness(d, last = r->table);
      d->gc.step_work += CHECK_WORK;
    }
    if (w != noted) follow_range(d, r, SCAN_MINOR);
    d->gc.step_work += sizeof *r;
  }
  return true;
}

/* Checks whether noted tables are still weak in the same way. If a table is not, its
 * range is followed, which keeps more alive than necessary. */
bool gc_check_weak_minor(Domain *d) {
  const GcWeakLists *lists = &d->gc.minor_weak;
  GcWeakMark *done = &d->gc.minor_weak_done;
  if (!d->gc.minor_resumed) return true;
  return check_ranges(d, &lists->values, &done->checked_values, WEAK_VALUES) &&
         check_ranges(d, &lists->ephemerons, &done->checked_ephemerons, WEAK_KEYS) &&
         check_ranges(d, &lists->all, &done->checked_all, WEAK_BOTH);
}

/* Restarts the checks of noted ranges when setmetatable has changed a table. A program
 * that does so again and again cannot keep the collection from ending: beyond
 * MOST_RECHECKS it may lose entries without another reference, as the language allows. */
void gc_weakness_changed(Domain *d) {
  GcWeakMark *done = &d->gc.minor_weak_done;
  if (done->checked_values + done->checked_ephemerons + done->checked_all == 0) return;
  if (d->gc.minor_rechecks == MOST_RECHECKS) return;
  d->gc.minor_rechecks++;
  done->checked_values = done->checked_ephemerons = done->checked_all = 0;
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

/* Settles ephemerons until nothing more is reached; returns false if the piece ends
 * before, or has left slots of a thread that was reached on the way. New ranges may be
 * noted. All stay noted, for their dead keys to be cleared. */
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
    if (*settled == noted->n) return !d->gc.minor_thread_left;
    if (gc_piece_is_over(&d->gc)) return false;
    GcWeakRange r = noted->items[(*settled)++];
    noted->closed = *settled;
    prefetch_range(noted, *settled);
    settle_ephemerons(d, &r);
  }
}

/* ---- clearing ------------------------------------------------------------ */

/* Clears entries with dead values; returns the number of entries examined. */
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

/* Clears dead values of up to `most` ranges from `from` on; returns where it stopped. */
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

/* Clears dead values of a list; returns false if the piece ends before. */
static bool clear_list_minor(Domain *d, GcWeakRanges *list, uint32_t *done) {
  while (*done < list->n) {
    if (gc_piece_is_over(&d->gc)) return false;
    clear_values(d, list, (*done)++, 1, SCAN_MINOR);
  }
  return true;
}

bool gc_clear_weak_values_minor(Domain *d) {
  GcWeakLists *lists = &d->gc.minor_weak;
  GcWeakMark *done = &d->gc.minor_weak_done;
  return clear_list_minor(d, &lists->values, &done->values) &&
         clear_list_minor(d, &lists->all, &done->all);
}

/* Settles the ephemerons left in a range for the major marking, if that has reached the
 * table. */
static void settle_left(Domain *d, const GcWeakRange *r) {
  uint32_t count;
  if (!is_marking(d) || !is_marked(d, r->table)) return;
  range_nodes(r, &count);
  for (uint32_t i = r->from; i < r->from + count; i++)
    d->gc.step_work += settle_node(d, r->table, i, WEAK_KEYS);
}

bool gc_clear_weak_keys_minor(Domain *d) {
  const GcWeakRanges *ephemerons = &d->gc.minor_weak.ephemerons, *all = &d->gc.minor_weak.all;
  GcWeakMark *done = &d->gc.minor_weak_done;
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
  d->gc.minor_weak_done = (GcWeakMark){0};
  gc_forget_awaited(d, SCAN_MINOR);
}

/* ---- clearing at the end of the major marking ---------------------------- */

/* Returns the node where the entry was, empty if it was removed; NULL if another entry is
 * there. */
static Node *node_of_entry(const GcWeakEntry *entry) {
  if (entry->node >= table_node_count(entry->table)) return NULL;
  Node *n = &entry->table->node[entry->node];
  bool is_object = (n->key_tag & TAG_COLLECTED) || n->key_tag == TAG_DEADKEY;
  return is_object && n->key.gc == entry->key ? n : NULL;
}

static void prefetch_key_and_node(const GcWeakEntries *list, size_t i) {
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

/* Clears an entry whose value is dead. While marking goes on, an entry that has moved was
 * noted again. An entry that may stay keeps its strings. */
static void clear_entry_value(Domain *d, const GcWeakEntry *entry) {
  Node *n = node_of_entry(entry);
  if (n == NULL || n->tag == TAG_NIL) return;
  if (weak_dead(d, n->tag, n->v.gc, SCAN_MAJOR)) gc_clear_node(n);
  else weak_dead(d, n->key_tag, n->key.gc, SCAN_MAJOR);
}

static size_t clear_entry_values(Domain *d, const GcWeakEntries *list, size_t from, size_t most) {
  size_t to = list->n - from < most ? list->n : from + most;
  for (size_t i = from; i < to; i++) {
    prefetch_key_and_node(list, i + 2 * PREFETCH_AHEAD);
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

/* Clears an entry whose key is dead. After the marking, entries that move are not noted
 * again, so the entry is looked up. A string key that is dead now belonged to an entry
 * that is gone. */
static void clear_entry_key(Domain *d, const GcWeakEntry *entry) {
  if (!dead_object(d, entry->key->type | TAG_COLLECTED, entry->key)) return;
  Node *n = node_of_entry(entry);
  if (n == NULL) n = gc_node_of(entry->table, entry->key, entry->node);
  if (n != NULL) gc_clear_node(n);
}

static void clear_entry_key_ahead(Domain *d, const GcWeakEntries *list, size_t i) {
  prefetch_key_and_node(list, i + PREFETCH_AHEAD);
  clear_entry_key(d, &list->items[i]);
}

#define KEYS_AT_ONCE 256 /* between two readings of the clock */

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
