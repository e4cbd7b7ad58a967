/* SPDX-License-Identifier: MIT */
/* runtime/gc_minor.c: minor collections.
 *
 * A minor collection marks what was allocated since the last one: from the roots and the
 * remembered set through young objects only. What it reaches is promoted at once;
 * everything else that is young is dead, and its lines, never marked, are free again. The
 * cost is that of the survivors, of the running stacks and of what was written to; dead
 * objects cost nothing (but dead short strings and registered finalizers are examined one
 * by one).
 *
 * While a major cycle marks, promoted objects are black, so the old white objects that
 * they or the remembered ones refer to turn grey here.
 *
 * In pieces. A collection that finds much to do (a large part that was made at once, deep
 * stacks, many records of the barrier) is not done in one step. A piece ends when it has
 * done its work (Gc.minor_most); then the program runs until the next piece. Before the
 * last pieces nothing is reclaimed, no weak reference is cleared, and what is young stays
 * young: a piece only promotes early what can be reached.
 *
 *   Promoted objects that were not scanned yet wait on Gc.promoted and Gc.minor_partial.
 *   They are clean, though they may refer to young objects; they are scanned before
 *   anything is reclaimed. Stores into them go through the barrier like any other.
 *   Records and slots of threads (gc_thread.c) for which a piece has no time stay.
 *
 *   Each piece first finishes the work that the previous one has left, then scans the
 *   roots, the running threads and the objects logged in between. If nothing is left to
 *   scan after that, everything reachable has been promoted, and what is young is dead:
 *   dead weak references are cleared and dead objects with finalizers are queued. The
 *   piece that completes this is the last. Any other piece leaves the rest to the next
 *   one, which goes on when it has again promoted everything reachable. Each piece does
 *   more than the program allocates between two pieces, so the last piece is reached.
 *
 *   Weak ranges stay noted from piece to piece: slots that get other contents are logged
 *   and noted again. Before the ranges are cleared, those of tables that have become
 *   strong are followed (gc_check_weak_minor). An object that was promoted by an early
 *   piece and dies before the last one is found by the next major cycle.
 *
 *   Slices of a cycle wait while a collection is under way, unless memory is short; the
 *   undivided steps at the end of a cycle contain a whole minor collection.
 *
 * Steps and spans: minor { minor_roots, minor_remembered, minor_promote {
 * weak, finalizers }, minor_reclaim }.
 */
#include "gc_internal.h"

#include <string.h>

#include "clock.h"
#include "gc.h"
#include "heap.h"
#include "memprof.h"
#include "thread.h"

/* work of an object or a card, beyond the bytes that are scanned */
#define REMEMBERED_WORK 64
#define HEAP_CARD_SIZE ((size_t)1 << HEAP_CARD_SHIFT)
#define PREFETCH_AHEAD 8 /* cards */
#ifdef SAROS_STRESS
#define LEAST_PIECE ((size_t)0)
#define LEAST_TIMED ((size_t)0)
#else
#define LEAST_PIECE ((size_t)192 << 10) /* work after the roots, and after the set */
/* Work that each piece does before the roots, and again after them, whatever time it
 * takes. */
#define LEAST_TIMED ((size_t)32 << 10)
#endif
#define UNLINK_WORK ((size_t)256 << 10) /* at once, on strings left from the last one */
#define STRING_WORK 32 /* of unlinking a string that was just made */
#define SPARE_WORK ((size_t)512 << 10) /* of a collection's end, beyond that of a piece */
#define FEW_STRINGS 256 /* with fewer the end is not postponed for time */
/* Time of unlinking a dead string, and of examining a block that was allocated from. */
#define STRING_NS 40
#define BLOCK_NS 100

/* ---- promotion ----------------------------------------------------------- */

static NOINLINE void promote_uncommon(Domain *d, GCObject *o) {
  char *base;
  size_t size = gc_object_extent(o, &base);
  if (heap_is_large(size)) o->gc |= GC_LARGE;
  d->gc.object_bytes[SCAN_MINOR] += mark_memory(d, base, size);
  if (has_references(o)) GC_PUSH_PROMOTED(d, o);
}

/* Handles what the fast path of promotion leaves out; returns whether the object is
 * done. */
static NOINLINE bool promote_aside(Domain *d, GCObject *o) {
  if (o->gc & GC_AWAITED) gc_reached(d, o, SCAN_MINOR);
  if (!heap_is_hosted(&d->heap)) return false;
  o->gc = (uint8_t)((o->gc & ~(GC_YOUNG | GC_MARK)) | GC_CLEAN | d->gc.mark_sense);
  if (o->type == TYPE_SHORT_STRING) d->gc.marked_strings++;
  promote_uncommon(d, o);
  return true;
}

ALWAYS_INLINE void promote_small(Domain *d, GCObject *o, size_t size) {
  heap_mark_lines(o, size, d->gc.line_bit);
  d->gc.object_bytes[SCAN_MINOR] += size;
}

#define MOST_CLOSURE (sizeof(LuaClosure) + UINT8_MAX * sizeof(UpValue *))

void gc_promote(Domain *d, GCObject *o) {
  if (unlikely(o->gc & d->gc.promote_aside) && promote_aside(d, o)) return;
  o->gc = (uint8_t)((o->gc & ~(GC_YOUNG | GC_MARK)) | GC_CLEAN | d->gc.mark_sense);
  switch (o->type) {
    case LUA_TTABLE: promote_small(d, o, sizeof(Table)); break;
    case TYPE_SHORT_STRING:
      promote_small(d, o, string_bytes((String *)o));
      d->gc.marked_strings++;
      return;
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
  GC_PUSH_PROMOTED(d, o);
}

void gc_drain_promoted(Domain *d) {
  GcVector *promoted = &d->gc.promoted;
  for (;;) {
    while (promoted->n > 0) gc_scan_minor(d, promoted->items[--promoted->n]);
    if (d->gc.minor_partial.n == 0) return;
    gc_scan_piece_minor(d);
  }
}

void gc_drain_minor(Domain *d) {
  gc_drain_promoted(d);
  while (unlikely(d->gc.overflow_minor)) gc_scan_overflowed(d);
}

/* ---- pieces -------------------------------------------------------------- */

#ifdef SAROS_STRESS
#define DRAINED_AT_ONCE 1
#define DRAINED_IN_FRAME 1
#else
#define DRAINED_AT_ONCE 32 /* objects scanned between two checks of the work */
#define DRAINED_IN_FRAME 8
#endif

bool gc_drain_some(Domain *d) {
  GcVector *promoted = &d->gc.promoted;
  int at_once = d->gc.deadline != 0 ? DRAINED_IN_FRAME : DRAINED_AT_ONCE;
  while (promoted->n > 0 || d->gc.minor_partial.n > 0) {
    if (gc_piece_is_over(&d->gc)) return false;
    for (int i = 0; i < at_once && promoted->n > 0; i++)
      gc_scan_minor(d, promoted->items[--promoted->n]);
    if (promoted->n == 0 && d->gc.minor_partial.n > 0) gc_scan_piece_minor(d);
  }
  if (unlikely(d->gc.overflow_minor)) gc_drain_minor(d);
  return true;
}

/* ---- the remembered set -------------------------------------------------- */

/* Returns the bytes of the part if it was allocated since the last minor collection, else
 * 0. A new part has an unmarked line, unless all its lines hold other survivors too. */
static size_t new_part(Heap *h, const void *part, size_t size) {
  if (size == 0 || heap_is_large(size)) return 0;
  bool new = heap_line_of(h, part) == 0 || heap_line_of(h, (const char *)part + size - 1) == 0;
  return new ? size : 0;
}

/* Scans an old object again. Of its parts only new ones count as promoted. */
void gc_rescan(Domain *d, GCObject *o) {
  Table *t = (Table *)o;
  size_t counted = d->gc.part_bytes[SCAN_MINOR], stacks = d->gc.stack_bytes[SCAN_MINOR];
  if (o->type == LUA_TTABLE)
    counted += new_part(&d->heap, t->array, array_bytes(t)) +
               new_part(&d->heap, t->node, node_bytes(t));
  d->gc.step_work += REMEMBERED_WORK + gc_scan_minor(d, o);
  d->gc.part_bytes[SCAN_MINOR] = counted;
  d->gc.stack_bytes[SCAN_MINOR] = stacks;
}

/* Tells whether the thread may run again without being resumed: a call on another thread,
 * not a yield, has interrupted it. */
static bool stays_logged(const lua_State *co) {
  return co->status == LUA_OK && co->ci != &co->base_ci;
}

/* Tells whether the thread runs or has called the collector: it is scanned with the
 * roots. */
static bool thread_runs(const Domain *d, const lua_State *co) {
  return co == d->current || co == d->gc.caller;
}

/* Scans the remembered threads. A thread for which the piece has no time stays
 * remembered. */
static void scan_remembered_threads(Domain *d) {
  Gc *gc = &d->gc;
  lua_State *co = gc->remembered_threads, *next;
  gc->remembered_threads = NULL;
  gc->remembered_threads_n = 0;
  for (; co != NULL; co = next) {
    next = co->next_remembered;
    bool later = !thread_runs(d, co) && gc_piece_is_over(&d->gc);
    if (later) gc->minor_thread_left = 1;
    else if (!thread_runs(d, co)) gc_rescan(d, (GCObject *)co);
    if (later || co->unscanned > 0 || stays_logged(co)) gc_remember_thread(d, co);
    else co->gc |= GC_CLEAN;
  }
}

/* Prefetches a remembered object. Old objects lie all over the heap, and so do the
 * objects that they refer to. So the object is prefetched first, then its parts, then the
 * objects in the first slots of the parts. */
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

/* Removes the first `done` records from the array. */
static void forget_first(void *items, size_t *n, size_t item_size, size_t done) {
  *n -= done;
  if (*n > 0) memmove(items, (char *)items + done * item_size, *n * item_size);
}

static void scan_remembered(Domain *d) {
  GcVector *remembered = &d->gc.remembered;
  size_t i = 0;
  for (; i < remembered->n && !gc_piece_is_over(&d->gc); i++) {
    GCObject *o = remembered->items[i];
    prefetch_object(remembered, i + 3 * PREFETCH_AHEAD / 2);
    prefetch_parts(remembered, i + PREFETCH_AHEAD);
    prefetch_values(remembered, i + PREFETCH_AHEAD / 2);
    gc_rescan(d, o);
    o->gc |= GC_CLEAN;
  }
  forget_first(remembered->items, &remembered->n, sizeof *remembered->items, i);
  scan_remembered_threads(d);
}

static void scan_slot(Domain *d, Table *t, size_t start, Weakness w) {
  uint32_t from = (uint32_t)(start / sizeof(TValue));
  if (from >= t->array_size) return;
  if (w == WEAK_NONE) visit_value(d, &t->array[from], SCAN_MINOR);
  else gc_scan_weak_card(d, w, (GcWeakRange){t, from, from + 1, 0});
}

_Static_assert(sizeof(Node) >= CARD_GRANULE, "no two nodes begin in one granule");
static void scan_node(Domain *d, Table *t, size_t start, Weakness w) {
  uint32_t i = (uint32_t)((start + sizeof(Node) - 1) / sizeof(Node));
  if (i >= table_node_count(t)) return;
  if (w == WEAK_NONE) visit_nodes(d, t->node + i, 1, SCAN_MINOR);
  else gc_scan_weak_card(d, w, (GcWeakRange){t, i, i + 1, 1});
}

/* Returns the memory of a card, NULL when the part is gone. The part may have been
 * replaced since the card was marked. Then the new part is fresh or small and was scanned
 * with its table, or its cards were marked again; a superfluous scan does no harm. */
static char *card_data(const GcCard *c, uint8_t **marks) {
  const Table *t = c->table;
  char *part = c->node ? (char *)t->node : (char *)t->array;
  size_t size = c->node ? node_bytes(t) : array_bytes(t),
         start = (size_t)c->card << HEAP_CARD_SHIFT;
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

/* Prefetches a card's mark and memory, since cards are all over their parts. */
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
  size_t i = 0;
  for (; i < cards->n && !gc_piece_is_over(&d->gc); i++) {
    if (i + PREFETCH_AHEAD < cards->n) prefetch_card(&cards->items[i + PREFETCH_AHEAD]);
    scan_card(d, &cards->items[i]);
    d->gc.step_work += REMEMBERED_WORK + HEAP_CARD_SIZE;
  }
  forget_first(cards->items, &cards->n, sizeof *cards->items, i);
}

/* Remembers the running threads for the next collection, since stacks have no barrier. */
static void remember_running(Domain *d) {
  lua_State *chains[2] = {d->current, d->gc.caller};
  for (int i = 0; i < 2; i++)
    for (lua_State *co = chains[i]; co != NULL; co = co->resumer)
      if (co->gc & GC_CLEAN) gc_remember(d, (GCObject *)co);
}

/* ---- the collection ------------------------------------------------------ */

static void mark_roots(Domain *d) {
  PROBE_BEGIN(d, MINOR_ROOTS);
  gc_scan_roots_minor(d);
  PROBE_END(d, MINOR_ROOTS);
}

static void mark_remembered(Domain *d) {
  PROBE_BEGIN(d, MINOR_REMEMBERED);
  PROBE_COUNTER(d, REMEMBERED_SET, d->gc.remembered.n + d->gc.remembered_threads_n + d->gc.cards.n);
  scan_remembered(d);
  scan_cards(d);
  PROBE_END(d, MINOR_REMEMBERED);
}

static bool settle_first(Domain *d) {
  PROBE_BEGIN(d, WEAK);
  bool settled = gc_check_weak_minor(d) && gc_settle_ephemerons_minor(d) &&
                 gc_clear_weak_values_minor(d);
  PROBE_END(d, WEAK);
  return settled;
}

static bool settle_last(Domain *d) {
  PROBE_BEGIN(d, WEAK);
  bool settled = gc_settle_ephemerons_minor(d) && gc_clear_weak_values_minor(d) &&
                 gc_clear_weak_keys_minor(d);
  if (settled) gc_forget_weak_minor(d);
  PROBE_END(d, WEAK);
  return settled;
}

/* Settles weak references and finalizers in the order that the language prescribes: weak
 * values go before finalization, weak keys after it (see gc_mark_atomic). Returns false
 * if this is too much for the piece. The next piece goes on when it has again promoted
 * all that can be reached, since the program may have got hold of an object that was
 * dead. */
static bool settle_weak(Domain *d) {
  const GcWeakLists *weak = &d->gc.minor_weak;
  bool any = weak->values.n + weak->ephemerons.n + weak->all.n > 0, revived;
  if (any && !settle_first(d)) return false;
  if (!gc_separate_young(d, &revived)) return false;
  return (!any && !revived) || settle_last(d);
}

/* Tells whether the end of the collection fits into the piece. It is postponed at most
 * once, since its work would only grow. */
static bool end_fits_in_piece(Gc *gc) {
  size_t work = gc_work_done(gc) + gc->new_interned.n * STRING_WORK;
  bool has_time = gc->new_interned.n < FEW_STRINGS || !gc_time_is_up(gc);
  if (gc->minor_ends || (work < gc->minor_most + SPARE_WORK && has_time)) return true;
  gc->minor_ends = 1;
  return false;
}

/* Tells whether the end of the collection may begin; in a frame, whether there is
 * time. */
static bool end_fits(Domain *d) {
  Gc *gc = &d->gc;
  if (gc->minor_most == SIZE_MAX) return true;
  if (gc->deadline == 0) return end_fits_in_piece(gc);
  size_t blocks = d->heap.nconsumed <= GC_BLOCKS_AT_ONCE ? d->heap.nconsumed : 0;
  size_t strings = gc->new_interned.n <= gc_strings_at_once(d) ? gc->new_interned.n : 0;
  return gc_unit_begins(gc, GC_UNIT_END, strings * STRING_NS + blocks * BLOCK_NS);
}

/* Keeps young objects with finalizers alive in incremental mode, where only the end of a
 * cycle decides on them (gc.c). */
static bool keep_finalizable(Domain *d) {
  return d->gc.mode != GC_MODE_INCREMENTAL || gc_keep_young_finalizable(d);
}

/* Promotes what is reachable. Returns true when that is complete and weak references and
 * finalizers are settled. */
static bool promote_reachable(Domain *d) {
  PROBE_BEGIN(d, MINOR_PROMOTE);
  bool done = keep_finalizable(d) && gc_drain_some(d) &&
              d->gc.remembered.n + d->gc.cards.n == 0 && !d->gc.minor_thread_left &&
              settle_weak(d) && end_fits(d);
  PROBE_END(d, MINOR_PROMOTE);
  return done;
}

static void reclaim_young(Domain *d) {
  PROBE_BEGIN(d, MINOR_RECLAIM);
  heap_retire(&d->heap);
  d->heap.allocated_bytes += heap_taken(&d->heap);
  if (unlikely(d->memprof != NULL)) memprof_minor(d);
  gc_reclaim_young(d);
  gc_pace_rest_done(d);
  d->gc.young_code = 0;
  d->gc.minor_begun = d->gc.minor_ends = 0;
  d->gc.overdue_minor = 0;
  d->gc.debt_before = 0;
  d->gc.stats.minors++;
  PROBE_END(d, MINOR_RECLAIM);
}

static void count_promoted(Domain *d, size_t before) {
  Gc *gc = &d->gc;
  size_t bytes = gc->object_bytes[SCAN_MINOR] + gc->part_bytes[SCAN_MINOR];
  d->heap.live_bytes += bytes;
  gc->step_work += bytes;
  gc->object_bytes[SCAN_MAJOR] += bytes;
  gc->code += gc->code_bytes[SCAN_MINOR];
  gc->code_bytes[SCAN_MAJOR] += gc->code_bytes[SCAN_MINOR];
  gc->stacks += gc->stack_bytes[SCAN_MINOR];
  gc->stack_bytes[SCAN_MAJOR] += gc->stack_bytes[SCAN_MINOR];
  gc->object_bytes[SCAN_MINOR] = gc->part_bytes[SCAN_MINOR] = 0;
  /* Blocks swept since the last piece lowered `before` already; none is swept in a
   * piece. */
  gc->stats.promoted_bytes += heap_old_bytes(&d->heap) - before;
  PROBE_COUNTER(d, PROMOTED_WORDS, (heap_old_bytes(&d->heap) - before) / 8);
}

void gc_record_asked(Domain *d) {
  uint64_t asked = heap_asked(&d->heap);
  PROBE_COUNTER(d, ALLOCATED_WORDS, (asked - d->gc.stats.asked_bytes) / 8);
  d->gc.stats.asked_bytes = asked;
}

static void begin_piece(Domain *d) {
  Gc *gc = &d->gc;
  heap_begin_line(&d->heap);
  gc_record_asked(d);
  gc->object_bytes[SCAN_MINOR] = gc->part_bytes[SCAN_MINOR] = 0;
  gc->code_bytes[SCAN_MINOR] = gc->stack_bytes[SCAN_MINOR] = 0;
  gc->minor_thread_left = 0;
  gc->ticks.scanned = clock_ticks();
}

/* Extends the piece, however large the roots were and whatever time they took, so that it
 * can scan what the roots or the remembered objects refer to, and weak references. That
 * is more than the program allocates between two pieces, so the last piece is reached. */
static void go_on(Domain *d) {
  Gc *gc = &d->gc;
  if (gc->deadline != 0) return; /* a frame's piece goes on as long as there is time */
  size_t done = gc_work_done(gc);
  gc->minor_least = done + LEAST_TIMED;
  if (gc->minor_most < done + LEAST_PIECE) gc_piece_ends_at(gc, done + LEAST_PIECE);
}

/* Marks for one piece; returns true when the collection can end. What earlier pieces have
 * left comes first, so each piece promotes something if anything is left. */
static bool mark_piece(Domain *d) {
  Gc *gc = &d->gc;
  gc->minor_resumed = gc->minor_begun;
  if (gc->minor_begun) {
    if (!gc_drain_some(d)) return false;
  } else {
    gc->stay_most = gc->nursery_bytes;
    gc->minor_rechecks = 0;
  }
  if (gc->deadline != 0 && gc->minor_most != SIZE_MAX && !gc_unit_begins(gc, GC_UNIT_ROOTS, 0))
    return false;
  gc->minor_begun = 1;
  mark_roots(d);
  go_on(d);
  mark_remembered(d);
  go_on(d);
  return promote_reachable(d);
}

bool gc_finish_last(Domain *d, EventId reason, size_t most) {
  Gc *gc = &d->gc;
  if (!gc_rest_is_left(d)) return true;
  uint64_t begun = gc_time_begin(d);
  PROBE_BEGIN_REASON(d, MINOR, reason);
  bool divided = most != SIZE_MAX && most - gc->step_work >= UNLINK_WORK;
  gc->minor_least = 0;
  gc_piece_ends_at(gc, divided ? gc->step_work + UNLINK_WORK : most);
  bool done = gc_reclaim_rest(d);
  gc_pace_rest_done(d);
  PROBE_END_OFF_CPU(d, MINOR, gc_time_end(d, begun));
  if (gc->verify) gc_verify(d, "strings of a minor collection");
  return done;
}

bool gc_minor_some(Domain *d, EventId reason, size_t most) {
  Heap *h = &d->heap;
  if (most == SIZE_MAX) gc_finish_last(d, reason, most);
  probes_collection(d);
  uint64_t begun = gc_time_begin(d);
  PROBE_BEGIN_REASON(d, MINOR, reason);
  size_t before = heap_old_bytes(h);
  begin_piece(d);
  size_t work = gc_work_done(&d->gc);
  d->gc.minor_least = work + LEAST_TIMED;
  gc_piece_ends_at(&d->gc, most);
  bool done = mark_piece(d);
  d->gc.minor_work += gc_work_done(&d->gc) - work;
  if (done) reclaim_young(d);
  if (done) memprof_collected(d);
  if (done) gc_pace_grow_nursery(&d->gc);
  memprof_follow_recording(d);
  if (done && !d->gc.minor_thread_left) d->gc.ticks.all_scanned = d->gc.ticks.scanned;
  if (!d->gc.minor_thread_left) d->gc.thread_pieces = 0;
  else if (d->gc.thread_pieces < UINT8_MAX) d->gc.thread_pieces++;
  remember_running(d);
  count_promoted(d, before);
  PROBE_COUNTER(d, HEAP_WORDS, gc_count(d) / 8);
  PROBE_END_OFF_CPU(d, MINOR, gc_time_end(d, begun));
  if (d->gc.verify) gc_verify(d, "minor collection");
  return done;
}

void gc_minor(Domain *d, EventId reason) {
  bool done = gc_minor_some(d, reason, SIZE_MAX);
  rt_assert(done);
  (void)done;
}
