/* runtime/gc_minor.c: minor collections.
 *
 * A minor collection traces what was allocated since the last one: from the
 * roots and the remembered set through young objects only.  What it reaches is
 * promoted at once; everything else that is young is dead, and its lines, never
 * marked, are free again.  Its cost is that of the survivors, of the running
 * stacks and of what was written to; dead objects cost nothing (dead short
 * strings and registered finalizers excepted: they are looked at one by one).
 *
 * While a major cycle marks, promoted objects are black, so the old white ones
 * that they or the remembered ones refer to turn grey here.
 *
 * Steps and spans: minor { minor_roots, minor_remembered, minor_promote {
 * weak, finalizers }, minor_reclaim }.
 */
#include "gc_trace.h"
#include "trace.h"

#define REMEMBERED_WORK 64 /* bytes that an object or a card is worth, beside those that are scanned */
#define HEAP_CARD_SIZE ((size_t)1 << HEAP_CARD_SHIFT)
#define PREFETCH_AHEAD 8 /* cards */

/* ---- promotion --------------------------------------------------------------- */

static NOINLINE void promote_uncommon(Domain *d, GCObject *o) {
  char *base;
  size_t size = gc_object_extent(o, &base);
  if (heap_is_large(size)) o->gc |= GC_LARGE;
  d->gc.object_bytes[SCAN_MINOR] += mark_memory(d, base, size);
  if (has_references(o)) GC_PUSH_TRACE(d, o);
}

ALWAYS_INLINE void promote_small(Domain *d, GCObject *o, size_t size) {
  heap_mark_lines(o, size, d->gc.line_bit);
  d->gc.object_bytes[SCAN_MINOR] += size;
}

#define MOST_CLOSURE (sizeof(LuaClosure) + UINT8_MAX * sizeof(UpValue *))

void gc_promote(Domain *d, GCObject *o) {
  if (unlikely(o->gc & GC_AWAITED)) gc_reached(d, o, SCAN_MINOR);
  o->gc = (uint8_t)((o->gc & ~(GC_YOUNG | GC_MARK)) | GC_CLEAN | d->gc.mark_sense);
  switch (o->type) {
    case LUA_TTABLE: promote_small(d, o, sizeof(Table)); break;
    case TYPE_SHORT_STRING: promote_small(d, o, string_bytes((String *)o)); return;
    case TYPE_LUA_CLOSURE: {
      size_t size = sizeof(LuaClosure) + ((LuaClosure *)o)->nupvalues * sizeof(UpValue *);
      if (MOST_CLOSURE > HEAP_SMALL_MAX && heap_is_large(size)) { /* in stress builds */
        promote_uncommon(d, o);
        return;
      }
      promote_small(d, o, size);
      break;
    }
    default: promote_uncommon(d, o); return;
  }
  GC_PUSH_TRACE(d, o);
}

void gc_drain_trace(Domain *d) {
  GcVector *trace = &d->gc.trace;
  while (trace->n > 0) gc_scan_minor(d, trace->items[--trace->n]);
}

void gc_drain_minor(Domain *d) {
  gc_drain_trace(d);
  while (unlikely(d->gc.overflow_minor)) gc_scan_overflowed(d);
}

/* ---- the remembered set --------------------------------------------------------- */

/* Bytes of the part if it was allocated since the last minor collection: then one
 * of its lines is not in use yet, unless it is within a line with other survivors. */
static size_t new_part(const void *part, size_t size) {
  if (size == 0 || heap_is_large(size)) return 0;
  return heap_line_of(part) == 0 || heap_line_of((const char *)part + size - 1) == 0 ? size : 0;
}

/* Of an old object only new parts count as promoted. */
void gc_rescan(Domain *d, GCObject *o) {
  Table *t = (Table *)o;
  size_t counted = d->gc.part_bytes[SCAN_MINOR];
  if (o->type == LUA_TTABLE) counted += new_part(t->array, array_bytes(t)) + new_part(t->node, node_bytes(t));
  d->gc.step_work += REMEMBERED_WORK + gc_scan_minor(d, o);
  d->gc.part_bytes[SCAN_MINOR] = counted;
}

/* A thread that was interrupted by a call on another one, rather than by a
 * yield, goes on to run without being resumed. */
static bool stays_logged(const lua_State *co) { return co->status == LUA_OK && co->ci != &co->base_ci; }

static void scan_remembered_threads(Domain *d) {
  lua_State *co = d->gc.remembered_threads, *next;
  d->gc.remembered_threads = NULL;
  d->gc.remembered_threads_n = 0;
  for (; co != NULL; co = next) {
    next = co->next_remembered;
    gc_rescan(d, (GCObject *)co);
    if (stays_logged(co)) gc_remember_thread(d, co);
    else co->gc |= GC_CLEAN;
  }
}

/* Old records are all over the heap, and so is what they refer to: the object is asked for
 * first, then its parts, then the objects in the first slots of these. */
static void prefetch_object(const GcVector *remembered, size_t i) {
  if (i < remembered->n) __builtin_prefetch(remembered->items[i]);
}

static void prefetch_parts(const GcVector *remembered, size_t i) {
  if (i >= remembered->n) return;
  const Table *t = remembered->items[i];
  if (t->type != LUA_TTABLE) return;
  if (t->array_size > 0) __builtin_prefetch(t->array);
  __builtin_prefetch(t->node);
  __builtin_prefetch((const char *)t->node + HEAP_CARD_SIZE / 2);
}

#define PREFETCH_SLOTS 4

static void prefetch_values(const GcVector *remembered, size_t i) {
  if (i >= remembered->n) return;
  const Table *t = remembered->items[i];
  if (t->type != LUA_TTABLE) return;
  for (uint32_t k = 0; k < PREFETCH_SLOTS && k < t->array_size; k++)
    if (is_collected(&t->array[k])) __builtin_prefetch(t->array[k].v.gc);
  for (uint32_t k = 0; k < PREFETCH_SLOTS && k <= t->node_mask; k++)
    if (t->node[k].tag & TAG_COLLECTED) __builtin_prefetch(t->node[k].v.gc);
}

static void scan_remembered(Domain *d) {
  GcVector *remembered = &d->gc.remembered;
  for (size_t i = 0; i < remembered->n; i++) {
    GCObject *o = remembered->items[i];
    prefetch_object(remembered, i + 3 * PREFETCH_AHEAD / 2);
    prefetch_parts(remembered, i + PREFETCH_AHEAD);
    prefetch_values(remembered, i + PREFETCH_AHEAD / 2);
    gc_rescan(d, o);
    o->gc |= GC_CLEAN;
  }
  remembered->n = 0;
  scan_remembered_threads(d);
}

static void scan_slot(Domain *d, Table *t, size_t start, Weakness w) {
  uint32_t from = (uint32_t)(start / sizeof(TValue));
  if (from >= t->array_size) return;
  if (w == WEAK_NONE) visit_value(d, &t->array[from], SCAN_MINOR);
  else gc_scan_weak(d, w, (GcWeakRange){t, from, from + 1, 0}, SCAN_MINOR);
}

_Static_assert(sizeof(Node) >= CARD_GRANULE, "no two nodes begin in one granule");
static void scan_node(Domain *d, Table *t, size_t start, Weakness w) {
  uint32_t i = (uint32_t)((start + sizeof(Node) - 1) / sizeof(Node));
  if (i >= table_nodes(t)) return;
  if (w == WEAK_NONE) visit_nodes(d, t->node + i, 1, SCAN_MINOR);
  else gc_scan_weak(d, w, (GcWeakRange){t, i, i + 1, 1}, SCAN_MINOR);
}

/* What a card stands for; NULL when the part has gone. It may have been replaced since the
 * card was marked: then the new one is fresh or small and was scanned with its table, or
 * its cards were marked anew; a superfluous scan does no harm. */
static char *card_data(const GcCard *c, uint8_t **marks) {
  const Table *t = c->table;
  char *part = c->node ? (char *)t->node : (char *)t->array;
  size_t size = c->node ? node_bytes(t) : array_bytes(t), start = (size_t)c->card << HEAP_CARD_SHIFT;
  if (!heap_is_large(size) || start >= size) return NULL;
  *marks = &heap_large_of(part)->cards[c->card];
  return part + start;
}

static void scan_card(Domain *d, const GcCard *c) {
  Table *t = c->table;
  uint8_t *marks;
  if (card_data(c, &marks) == NULL) return;
  Weakness w = gc_weakness(d, t);
  for (; *marks != 0; *marks &= (uint8_t)(*marks - 1)) {
    size_t at = ((size_t)c->card << HEAP_CARD_SHIFT) + (size_t)__builtin_ctz(*marks) * CARD_GRANULE;
    if (c->node) scan_node(d, t, at, w);
    else scan_slot(d, t, at, w);
  }
}

/* Cards are all over their parts, and so are their bytes. */
static void prefetch_card(const GcCard *c) {
  uint8_t *marks;
  const char *data = card_data(c, &marks);
  if (data == NULL) return;
  __builtin_prefetch(marks, 1);
  __builtin_prefetch(data);
  __builtin_prefetch(data + HEAP_CARD_SIZE / 2);
}

static void scan_cards(Domain *d) {
  GcCards *cards = &d->gc.cards;
  for (size_t i = 0; i < cards->n; i++) {
    if (i + PREFETCH_AHEAD < cards->n) prefetch_card(&cards->items[i + PREFETCH_AHEAD]);
    scan_card(d, &cards->items[i]);
  }
  d->gc.step_work += cards->n * (REMEMBERED_WORK + HEAP_CARD_SIZE);
  cards->n = 0;
}

/* A stack has no barrier: what runs now is scanned again next time. */
static void remember_running(Domain *d) {
  lua_State *chains[2] = {d->current, d->gc.caller};
  for (int i = 0; i < 2; i++)
    for (lua_State *co = chains[i]; co != NULL; co = co->resumer)
      if (co->gc & GC_CLEAN) gc_remember(d, (GCObject *)co);
}

/* ---- the collection ----------------------------------------------------------------- */

static void trace_roots(Domain *d) {
  TRACE_BEGIN(d, MINOR_ROOTS);
  gc_scan_roots_minor(d);
  if (d->gc.mode == GC_MODE_INCREMENTAL) gc_keep_young_finalizable(d); /* the end of a cycle decides (gc.c) */
  TRACE_END(d, MINOR_ROOTS);
}

static void trace_remembered(Domain *d) {
  TRACE_BEGIN(d, MINOR_REMEMBERED);
  TRACE_COUNTER(d, REMEMBERED_SET, d->gc.remembered.n + d->gc.remembered_threads_n + d->gc.cards.n);
  scan_remembered(d);
  scan_cards(d);
  TRACE_END(d, MINOR_REMEMBERED);
}

/* Weak references and finalizers, in the order that the language prescribes:
 * weak values go before finalization, weak keys after (see gc_mark_atomic). */
static void settle_weak(Domain *d) {
  const GcWeakLists *weak = &d->gc.minor_weak;
  bool any = weak->values.n + weak->ephemerons.n + weak->all.n > 0;
  GcWeakMark done = {0, 0};
  if (any) {
    TRACE_BEGIN(d, WEAK);
    gc_settle_ephemerons_minor(d);
    gc_clear_weak_values_minor(d, &done);
    TRACE_END(d, WEAK);
  }
  bool resurrected = gc_separate_young(d) > 0;
  if (any || resurrected) {
    TRACE_BEGIN(d, WEAK);
    gc_settle_ephemerons_minor(d);
    gc_clear_weak_keys_minor(d);
    gc_clear_weak_values_minor(d, &done);
    gc_forget_weak_minor(d);
    TRACE_END(d, WEAK);
  }
}

static void promote_reachable(Domain *d) {
  TRACE_BEGIN(d, MINOR_PROMOTE);
  gc_drain_minor(d);
  settle_weak(d);
  TRACE_END(d, MINOR_PROMOTE);
}

static void reclaim(Domain *d) {
  TRACE_BEGIN(d, MINOR_RECLAIM);
  gc_drop_young_strings(d);
  heap_reclaim_young(&d->heap);
  TRACE_END(d, MINOR_RECLAIM);
}

static void count_promoted(Domain *d) {
  size_t bytes = d->gc.object_bytes[SCAN_MINOR] + d->gc.part_bytes[SCAN_MINOR];
  d->heap.live_bytes += bytes;
  d->gc.step_work += bytes;
  d->gc.object_bytes[SCAN_MAJOR] += bytes;
  d->gc.code += d->gc.code_bytes[SCAN_MINOR];
  d->gc.young_code = 0;
  d->gc.code_bytes[SCAN_MAJOR] += d->gc.code_bytes[SCAN_MINOR];
}

void gc_minor(Domain *d, EventId reason) {
  Heap *h = &d->heap;
  trace_collection(d);
  TRACE_BEGIN_REASON(d, MINOR, reason);
  heap_retire(h);
  size_t before = heap_old_bytes(h), allocated = heap_taken(h);
  TRACE_COUNTER(d, ALLOCATED_WORDS, (heap_asked(h) - d->gc.stats.asked_bytes) / 8);
  d->gc.stats.asked_bytes = heap_asked(h);
  h->allocated_bytes += allocated;
  d->gc.object_bytes[SCAN_MINOR] = d->gc.part_bytes[SCAN_MINOR] = d->gc.code_bytes[SCAN_MINOR] = 0;
  trace_roots(d);
  trace_remembered(d);
  promote_reachable(d);
  reclaim(d);
  remember_running(d);
  count_promoted(d);
  /* Blocks swept since the last minor lowered `before`, never in between. */
  d->gc.stats.promoted_bytes += heap_old_bytes(h) - before;
  d->gc.stats.minors++;
  TRACE_COUNTER(d, PROMOTED_WORDS, (heap_old_bytes(h) - before) / 8);
  TRACE_COUNTER(d, HEAP_WORDS, gc_count(d) / 8);
  TRACE_END(d, MINOR);
  if (d->gc.verify) gc_verify(d, "minor collection");
}
