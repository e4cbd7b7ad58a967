/* runtime/gc_ephemeron.c: ephemerons whose key has not been reached yet.
 *
 * The value of an ephemeron is followed once its key is alive, which may make another
 * key alive, and so on. Passing over all ephemerons until nothing changes takes time
 * with the square of a chain's length. So those that wait are indexed by their keys:
 *
 *   wait      the entry is put into GcEphemerons, its key gets GC_AWAITED;
 *   trigger   a trace that reaches an object with that bit (gc_promote,
 *             gc_make_grey) takes the bit away and puts the object on `reached`;
 *   follow    the values of the key's entries are visited.
 *
 * Each is done once for an entry: the time is linear, and can be spent in pieces. What is
 * left when a trace has ended is dead and is cleared: by a minor collection at once, by the
 * major cycle in slices (GC_PHASE_CLEAR). In the meantime the program goes on with tables that
 * have dead keys, whose memory is still there. It cannot look for one, having no reference to
 * it, but come by one in a traversal: so that passes over them (gc_node_is_dead). If the table
 * ceases to be weak in that time, a minor trace leaves them alone, and the entries go all the
 * same.
 *
 * There is one index for each kind of trace. The bit tells of both: a key that waits
 * for a minor trace is young, one that waits for the major trace is old and white.
 *
 * The program may change tables while the major trace waits, so an entry is the table
 * and the key, and the node merely where it was; what is stored anew is noted anew.
 */
#include <stdlib.h>
#include <string.h>

#include "gc_trace.h"
#include "mappings.h"

#define LOAD 4          /* entries a bucket, above which the index is built anew */
#define ENTRY_WORK 96   /* work of following one */
#define CLEAR_WORK 48   /* and of removing one */
#define AWAIT_WORK 96   /* of letting one wait */
#define FIRST_WORK 512  /* the same, with a page fault */
#define PAGE 4096
#define MAPPED ((size_t)128 << 10) /* bytes of buckets that are a mapping */
#define PREFETCH_AHEAD 8

static GcEphemerons *index_of(Domain *d, ScanKind kind) {
  return kind == SCAN_MINOR ? &d->gc.minor_ephemerons : &d->gc.major_ephemerons;
}

/* ---- the index -------------------------------------------------------------------- */

void gc_ephemerons_init(GcEphemerons *e) {
  e->buckets = e->few;
  e->bits = GC_FEW_BUCKETS_LOG2;
}

/* Many are a mapping: what calloc answers is at times cleared by it, all at once. */
static uint32_t *new_buckets(uint32_t bits) {
  size_t bytes = sizeof(uint32_t) << bits;
  return bytes < MAPPED ? calloc(1, bytes) : mapping_new(bytes, PAGE);
}

static void free_buckets(GcEphemerons *e) {
  size_t bytes = sizeof(uint32_t) << e->bits;
  if (bytes >= MAPPED) mapping_unmap(e->buckets, bytes);
  else if (e->buckets != e->few) free(e->buckets);
}

void gc_ephemerons_free(GcEphemerons *e) {
  free_buckets(e);
  free(e->items);
  free(e->reached.items);
}

static uint32_t *bucket_of(const GcEphemerons *e, const GCObject *key) {
  return &e->buckets[((uintptr_t)key >> 3) * UINT64_C(0x9E3779B97F4A7C15) >> (64 - e->bits)];
}

static void link_entry(GcEphemerons *e, size_t i) {
  uint32_t *bucket = bucket_of(e, e->items[i].key);
  e->items[i].next = *bucket;
  *bucket = (uint32_t)i + 1;
}

/* When memory is short the chains get longer and nothing else happens. */
static void grow_index(GcEphemerons *e, size_t expected) {
  uint32_t bits = e->bits;
  while (((size_t)1 << bits) < expected / 2 && bits < 31) bits++;
  uint32_t *buckets = new_buckets(bits);
  if (buckets == NULL) return;
  free_buckets(e);
  e->buckets = buckets;
  e->bits = bits;
  for (size_t i = 0; i < e->n; i++)
    if (e->items[i].table != NULL) link_entry(e, i);
}

/* An index made for all that may come is not built anew on the way. */
void gc_expect_ephemerons(Domain *d, size_t n) { d->gc.major_ephemerons.expected += n; }

/* Many buckets are new pages of the process: so is what each of the first entries falls into. */
static size_t await_work(const GcEphemerons *e) {
  return e->n < ((size_t)1 << e->bits) * sizeof *e->buckets / PAGE * 2 ? FIRST_WORK : AWAIT_WORK;
}

size_t gc_await(Domain *d, Table *t, Node *n, ScanKind kind) {
  GcEphemerons *e = index_of(d, kind);
  size_t most = LOAD << e->bits;
  if (unlikely(e->n >= most || (e->n == 0 && e->expected > most))) grow_index(e, e->n * LOAD > e->expected ? e->n * LOAD : e->expected);
  GCObject *key = n->key.gc;
  if (!GC_TRY_PUSH(e, (GcEphemeron){t, key, (uint32_t)(n - t->node), 0})) {
    visit(d, key, kind);
    gc_follow_value(d, n, kind);
    return AWAIT_WORK;
  }
  key->gc |= GC_AWAITED;
  link_entry(e, e->n - 1);
  e->waiting++;
  return await_work(e);
}

void gc_reached(Domain *d, GCObject *key, ScanKind kind) {
  key->gc &= (uint8_t)~GC_AWAITED;
  GcEphemerons *e = index_of(d, kind);
  if (!GC_TRY_PUSH(&e->reached, key)) e->reached_lost = true;
}

void gc_forget_awaited(Domain *d, ScanKind kind) {
  GcEphemerons *e = index_of(d, kind);
  e->expected = e->reached.n = 0;
  e->reached_lost = false;
  if (e->n == 0) return;
  e->n = e->waiting = e->cleared = 0;
  free_buckets(e);
  gc_ephemerons_init(e);
  memset(e->few, 0, sizeof e->few);
}

/* ---- entries ------------------------------------------------------------------------ */

static bool is_node_of(const Node *n, const GCObject *key) {
  return n->key.gc == key && (n->key_tag & TAG_COLLECTED) && n->tag != TAG_NIL;
}

Node *gc_node_of(Table *t, const GCObject *o, uint32_t at) {
  if (at < table_nodes(t) && is_node_of(&t->node[at], o)) return &t->node[at];
  TValue key;
  set_object(&key, (GCObject *)o, o->type | TAG_COLLECTED);
  const TValue *slot = table_get(t, &key);
  return is_nil(slot) ? NULL : (Node *)slot;
}

static Node *node_of(const GcEphemeron *entry) { return gc_node_of(entry->table, entry->key, entry->node); }

void gc_follow_value(Domain *d, const Node *n, ScanKind kind) {
  if (!(n->tag & TAG_COLLECTED)) return;
  if (kind == SCAN_MAJOR) visit(d, n->v.gc, SCAN_MAJOR);
  else if (is_young(n->v.gc)) visit(d, n->v.gc, SCAN_MINOR); /* the major trace decides on others */
}

static void follow_entry(Domain *d, GcEphemerons *e, GcEphemeron *entry, ScanKind kind) {
  const Node *n = node_of(entry);
  entry->table = NULL; /* done with */
  entry->key = NULL;
  e->waiting--;
  if (n != NULL) gc_follow_value(d, n, kind);
}

/* Some key is not on `reached`: those that were reached do not have the bit any more. */
static size_t follow_lost(Domain *d, GcEphemerons *e, ScanKind kind) {
  e->reached_lost = false;
  for (size_t i = 0; i < e->n; i++) {
    GcEphemeron *entry = &e->items[i];
    if (entry->table != NULL && !(entry->key->gc & GC_AWAITED)) follow_entry(d, e, entry, kind);
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
    follow_entry(d, e, entry, kind);
  }
  return work;
}

static void clear_entry(const GcEphemeron *entry) {
  if (entry->table == NULL) return;
  Node *n = node_of(entry);
  if (n != NULL) gc_clear_node(n);
}

void gc_clear_awaited_minor(Domain *d) {
  GcEphemerons *e = &d->gc.minor_ephemerons;
  if (e->waiting == 0) return;
  for (size_t i = 0; i < e->n; i++) clear_entry(&e->items[i]);
  d->gc.step_work += e->n * sizeof *e->items;
}

/* Where the entry was; the node is looked at soon. */
static void prefetch_entry(const GcEphemeron *entry) {
  if (entry->table != NULL) __builtin_prefetch(&entry->table->node[entry->node], 1);
}

bool gc_clear_some_awaited(Domain *d, size_t work) {
  GcEphemerons *e = &d->gc.major_ephemerons;
  size_t end = e->waiting == 0 ? e->cleared : e->n, from = e->cleared;
  if (end - from > work / CLEAR_WORK + 1) end = from + work / CLEAR_WORK + 1;
  for (size_t i = from; i < end; i++) {
    if (i + PREFETCH_AHEAD < e->n) prefetch_entry(&e->items[i + PREFETCH_AHEAD]);
    clear_entry(&e->items[i]);
  }
  e->cleared = end;
  d->gc.slice_work += (end - from) * CLEAR_WORK;
  d->gc.step_work += (end - from) * CLEAR_WORK;
  if (e->waiting > 0 && end < e->n) return false;
  gc_forget_awaited(d, SCAN_MAJOR);
  return true;
}
