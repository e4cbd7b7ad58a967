/* SPDX-License-Identifier: MIT */
/* runtime/gc_ephemeron.c: ephemerons whose key has not been reached yet.
 *
 * The value of an ephemeron is followed once its key is alive, which may make another key
 * alive, and so on. Passing over all ephemerons until nothing changes takes time
 * quadratic in the length of a chain. So the waiting ephemerons are indexed by their
 * keys:
 *
 *   wait      the entry is put into GcEphemerons, its key gets GC_AWAITED;
 *   trigger   a marking that reaches an object with that bit (gc_promote,
 *             gc_make_grey) takes the bit away and puts the object on `reached`;
 *   follow    the values of the key's entries are visited.
 *
 * Each step is done once for an entry, so the time is linear and can be spent in pieces.
 * An entry needs a record only if the marking may have to follow its value: a value that
 * is a number, or an object that was reached already, needs none. A waiting entry whose
 * table was written to may be visited again; it gets no second record (if it is among the
 * first LOOK_BACK entries of its key).
 *
 * Entries whose key is dead when a marking has ended are cleared. A minor collection does
 * that at once, for the slots that it noted. The major marking notes each table in which
 * it has found an unreached key (Gc.clearing, once: TABLE_CLEARING) and walks through the
 * nodes of the table in slices (GC_PHASE_CLEAR). In the meantime the program goes on with
 * tables that hold dead keys, whose memory is not freed yet. The program has no reference
 * to a dead key and cannot look it up, but a traversal could find it, so traversals skip
 * dead keys (gc_node_is_dead). No dead key gets to a node that the walk has passed: a
 * rehash drops dead keys, and an insertion that would move one to another node clears it
 * instead (table.c). If the table ceases to be weak in that time, a minor marking ignores
 * the dead keys, and their entries are still removed.
 *
 * There is one index for each kind of marking. GC_AWAITED serves both: a key awaited by a
 * minor marking is young, a key awaited by the major marking is old and white.
 *
 * The program may change tables while the major marking waits. So the table and the key
 * identify an entry, and the node number only says where the entry was; an entry that is
 * stored again is noted again.
 *
 * The index grows by linear hashing, as the intern table does (str.c): by at most one
 * bucket for each entry. When memory is short, the chains get longer.
 */
#include "gc_internal.h"

#include <stdlib.h>
#include <string.h>

#include "gc.h"
#include "gc_inline.h"

#define LOAD 2          /* entries a bucket, above which a bucket is added */
#define ENTRY_WORK 96   /* work of following an entry */
#define AWAIT_WORK 128  /* work of recording an entry that waits */
#define LOOK_WORK 16    /* work of examining a node for a dead key */
#define CLEAR_WORK 32   /* work of examining and clearing a node */
#define LOOK_BACK 16    /* entries of a bucket that are searched for a duplicate */
#define PREFETCH_AHEAD 8

static GcEphemerons *index_of(Domain *d, ScanKind kind) {
  return kind == SCAN_MINOR ? &d->gc.minor_ephemerons : &d->gc.major_ephemerons;
}

/* ---- the index ----------------------------------------------------------- */

void gc_ephemerons_init(GcEphemerons *e) {
  e->size = GC_EPHEMERON_LEAST;
  e->mask = GC_EPHEMERON_LEAST - 1;
}

static uint32_t *bucket_at(GcEphemerons *e, uint32_t i) {
  if (i < GC_EPHEMERON_LEAST) return &e->first[i];
  i -= GC_EPHEMERON_LEAST;
  return &e->segments[i / GC_EPHEMERON_SEGMENT][i % GC_EPHEMERON_SEGMENT];
}

static uint32_t hash_of(const GCObject *key) {
  return (uint32_t)(((uintptr_t)key >> 3) * UINT64_C(0x9E3779B97F4A7C15) >> 32);
}

static uint32_t *bucket_of(GcEphemerons *e, const GCObject *key) {
  uint32_t i = hash_of(key) & e->mask;
  return bucket_at(e, i < e->size ? i : i & e->mask >> 1);
}

static uint32_t segments_in_use(const GcEphemerons *e) {
  return (e->size - GC_EPHEMERON_LEAST + GC_EPHEMERON_SEGMENT - 1) / GC_EPHEMERON_SEGMENT;
}

static bool are_full(const GcEphemerons *e) {
  return (e->size - GC_EPHEMERON_LEAST) % GC_EPHEMERON_SEGMENT == 0;
}

#define SEGMENT_BYTES (GC_EPHEMERON_SEGMENT * sizeof(uint32_t))

static bool add_segment(Domain *d, GcEphemerons *e) {
  uint32_t n = segments_in_use(e);
  if (n >= e->directory) {
    uint32_t room = e->directory != 0 ? e->directory * 2 : 8;
    uint32_t **grown = stress_allocation_fails()
                           ? NULL
                           : heap_memory_try_resize(d, e->segments, e->directory * sizeof *grown,
                                                    room * sizeof *grown);
    if (grown == NULL) return false;
    e->segments = grown;
    e->directory = room;
  }
  e->segments[n] = heap_memory_zeroed(d, SEGMENT_BYTES);
  return e->segments[n] != NULL;
}

/* Adds a bucket and moves the entries that belong there from the bucket that it
 * splits. */
static void split_bucket(Domain *d, GcEphemerons *e) {
  if (are_full(e) && !add_segment(d, e)) return;
  uint32_t added = e->size++;
  if (added > e->mask) e->mask = e->mask * 2 + 1;
  uint32_t *from = bucket_at(e, added & e->mask >> 1), *to = bucket_at(e, added);
  for (uint32_t i; (i = *from) != 0;) {
    GcEphemeron *entry = &e->items[i - 1];
    if ((hash_of(entry->key) & e->mask) != added) {
      from = &entry->next;
      continue;
    }
    *from = entry->next;
    *to = i;
    to = &entry->next;
    entry->next = 0;
  }
}

static void free_segments(Domain *d, GcEphemerons *e) {
  for (uint32_t i = 0; i < segments_in_use(e); i++)
    heap_memory_free(d, e->segments[i], SEGMENT_BYTES);
  heap_memory_free(d, e->segments, e->directory * sizeof *e->segments);
  e->segments = NULL;
  e->directory = 0;
}

void gc_ephemerons_free(Domain *d, GcEphemerons *e) {
  free_segments(d, e);
}

/* ---- waiting ------------------------------------------------------------- */

static bool waits_already(GcEphemerons *e, const Table *t, const GCObject *key) {
  if (!(key->gc & GC_AWAITED)) return false;
  uint32_t i = *bucket_of(e, key);
  for (int n = 0; n < LOOK_BACK && i != 0; n++, i = e->items[i - 1].next)
    if (e->items[i - 1].key == key && e->items[i - 1].table == t) return true;
  return false;
}

size_t gc_await(Domain *d, Table *t, Node *n, ScanKind kind) {
  GcEphemerons *e = index_of(d, kind);
  GCObject *key = n->key.gc;
  if (waits_already(e, t, key)) return ENTRY_WORK;
  if (!GC_TRY_PUSH(d, e, (GcEphemeron){t, key, (uint32_t)(n - t->node), 0})) {
    visit(d, key, kind);
    gc_follow_value(d, n, kind);
    return AWAIT_WORK;
  }
  key->gc |= GC_AWAITED;
  uint32_t *bucket = bucket_of(e, key);
  e->items[e->n - 1].next = *bucket;
  *bucket = (uint32_t)e->n;
  if (e->n > (size_t)e->size * LOAD) split_bucket(d, e);
  return AWAIT_WORK;
}

void gc_reached(Domain *d, GCObject *key, ScanKind kind) {
  GcEphemerons *e = index_of(d, kind);
  key->gc &= (uint8_t)~GC_AWAITED;
  if (!GC_TRY_PUSH(d, &e->reached, key)) e->reached_lost = true;
}

/* Forgets all entries that wait. The bits of dead keys go with the keys. */
void gc_forget_awaited(Domain *d, ScanKind kind) {
  GcEphemerons *e = index_of(d, kind);
  e->reached.n = 0;
  e->reached_lost = false;
  if (e->n == 0) return;
  e->n = 0;
  free_segments(d, e);
  gc_ephemerons_init(e);
  memset(e->first, 0, sizeof e->first);
}

/* ---- following ----------------------------------------------------------- */

static bool is_node_of(const Node *n, const GCObject *key) {
  return n->key.gc == key && (n->key_tag & TAG_COLLECTED) && n->tag != TAG_NIL;
}

Node *gc_node_of(Table *t, const GCObject *o, uint32_t at) {
  if (at < table_node_count(t) && is_node_of(&t->node[at], o)) return &t->node[at];
  TValue key;
  set_object(&key, (GCObject *)o, o->type | TAG_COLLECTED);
  const TValue *slot = table_get(t, &key);
  return is_nil(slot) ? NULL : (Node *)slot;
}

void gc_follow_value(Domain *d, const Node *n, ScanKind kind) {
  if (!(n->tag & TAG_COLLECTED)) return;
  if (kind == SCAN_MAJOR) visit(d, n->v.gc, SCAN_MAJOR);
  else if (is_young(n->v.gc)) /* the major marking decides on others */
    visit(d, n->v.gc, SCAN_MINOR);
}

/* Follows the value of one entry and marks the entry as done; it stays in its chain. */
static void follow_entry(Domain *d, GcEphemeron *entry, ScanKind kind) {
  const Node *n = gc_node_of(entry->table, entry->key, entry->node);
  entry->table = NULL; /* done */
  if (n != NULL) gc_follow_value(d, n, kind);
}

/* Follows all entries whose key was reached, when some key had no room on `reached`: such
 * keys do not have GC_AWAITED any more. */
static size_t follow_lost(Domain *d, GcEphemerons *e, ScanKind kind) {
  e->reached_lost = false;
  for (size_t i = 0; i < e->n; i++) {
    GcEphemeron *entry = &e->items[i];
    if (entry->table != NULL && !(entry->key->gc & GC_AWAITED)) follow_entry(d, entry, kind);
  }
  return ENTRY_WORK + e->n * OBJECT_WORK;
}

size_t gc_follow_reached(Domain *d, ScanKind kind) {
  GcEphemerons *e = index_of(d, kind);
  if (e->reached.n == 0) return unlikely(e->reached_lost) ? follow_lost(d, e, kind) : 0;
  const GCObject *key = e->reached.items[--e->reached.n];
  size_t work = ENTRY_WORK;
  for (uint32_t *link = bucket_of(e, key), i; (i = *link) != 0;) {
    GcEphemeron *entry = &e->items[i - 1];
    work += OBJECT_WORK;
    if (entry->key != key) {
      link = &entry->next;
      continue;
    }
    *link = entry->next;
    if (entry->table != NULL) follow_entry(d, entry, kind);
  }
  return work;
}

/* ---- clearing ------------------------------------------------------------ */

bool gc_note_clearing(Domain *d, Table *t) {
  if (t->state & TABLE_CLEARING) return true;
  if (!GC_TRY_PUSH(d, &d->gc.clearing, t)) return false;
  t->state |= TABLE_CLEARING;
  return true;
}

static size_t clear_node_if_dead(Domain *d, Node *n) {
  if (n->tag == TAG_NIL) {
    forget_key(n);
    return LOOK_WORK;
  }
  if (!gc_node_is_dead(d, n)) return LOOK_WORK;
  gc_clear_node(n);
  return CLEAR_WORK;
}

/* Clears dead nodes from Gc.clearing_from up to the end or until `work` is done; returns
 * the work done. */
static size_t clear_some_nodes(Domain *d, Table *t, size_t work) {
  uint32_t i = d->gc.clearing_from, n = table_node_count(t);
  size_t done = 0;
  for (; i < n && done < work; i++) {
    if (i + PREFETCH_AHEAD < n) __builtin_prefetch(t->node[i + PREFETCH_AHEAD].key.p);
    done += clear_node_if_dead(d, &t->node[i]);
  }
  d->gc.clearing_from = i;
  return done;
}

bool gc_clear_some_tables(Domain *d, size_t work) {
  GcVector *clearing = &d->gc.clearing;
  size_t done = 0;
  while (clearing->n > 0 && done < work && !(done > 0 && gc_time_is_up(&d->gc))) {
    Table *t = clearing->items[clearing->n - 1];
    size_t some = work - done < GC_LOOK_WORK ? work - done : GC_LOOK_WORK;
    done += OBJECT_WORK + clear_some_nodes(d, t, some);
    if (d->gc.clearing_from < table_node_count(t)) continue;
    t->state &= (uint8_t)~TABLE_CLEARING;
    d->gc.clearing_from = 0;
    clearing->n--;
  }
  d->gc.slice_work += done;
  d->gc.step_work += done;
  if (clearing->n > 0) return false;
  gc_forget_awaited(d, SCAN_MAJOR);
  return true;
}
