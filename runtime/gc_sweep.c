/* SPDX-License-Identifier: MIT */
/* runtime/gc_sweep.c: reclaiming what a marking did not reach.
 *
 * Objects are not examined one by one: a block is swept by clearing the bytes of the
 * lines that were not marked in this cycle. Short strings and large allocations must be
 * unlinked before their memory goes. Short strings leave the intern table first, so that
 * no lookup can return a string whose line is gone; a lookup that finds a dead string
 * before it is unlinked revives it (gc_resurrect_string). Large allocations leave their
 * list.
 *
 * A minor collection finds its dead strings in the list of strings made since the last
 * one. When there are very many (GC_STRINGS_AT_ONCE) they are unlinked in pieces: the
 * collection has ended, but the blocks that it would have freed wait, so the memory of
 * dead strings stays as it is. A string found in the intern table is dead if it is young
 * and in a block that waits; it is promoted then. Minor collections go on meanwhile.
 * Blocks also wait, to be examined in pieces, where there are very many of them
 * (GC_BLOCKS_AT_ONCE) without many strings.
 *
 * Work is counted in Gc.slice_work, in units comparable to bytes marked.
 */
#include "gc_internal.h"

#include <string.h>

#include "gc.h"
#include "heap.h"
#include "str.h"

#define WORK_BUCKET 64
#define WORK_STRING 32 /* to unlink a string that was just made: some 10 ns */
#define WORK_LARGE 512
#define WORK_BLOCK 512
#define PREFETCH_AHEAD 8
#ifdef SAROS_STRESS
#define STRINGS_A_QUANTUM 2
#else
#define STRINGS_A_QUANTUM 256 /* between two checks of the work */
#endif
#define BLOCKS_A_QUANTUM 32
#ifdef SAROS_STRESS
#define MOST_USUAL ((size_t)1 << 10)
#else
#define MOST_USUAL ((size_t)4 << 20)
#endif
#define EXAMINE_WORK 128 /* for a block: some 70 ns */

/* ---- strings ------------------------------------------------------------- */

NOINLINE void gc_note_interned_slow(Domain *d, String *s) {
  Gc *gc = &d->gc;
  if (!GC_TRY_PUSH(d, &gc->new_interned, s)) gc->interned_lost = 1;
}

static bool cycle_leaves_dead(const Gc *gc) {
  return gc->phase == GC_PHASE_CLEAR || gc->phase == GC_PHASE_SWEEP_STRINGS;
}

void gc_note_dead_strings(Gc *gc) {
  gc->strings_may_be_dead = cycle_leaves_dead(gc) || gc->dead_strings.n > 0;
}

/* Promotes a dead string as a minor collection does. */
static void promote_dead_string(Domain *d, String *s) {
  Gc *gc = &d->gc;
  size_t before = gc->object_bytes[SCAN_MINOR];
  gc_promote(d, (GCObject *)s);
  size_t bytes = gc->object_bytes[SCAN_MINOR] - before;
  gc->object_bytes[SCAN_MINOR] = before;
  gc->object_bytes[SCAN_MAJOR] += bytes;
  d->heap.live_bytes += bytes;
}

void gc_resurrect_string(Domain *d, String *s) {
  if (is_young(s)) {
    if (d->gc.dead_strings.n > 0 && heap_waits(&d->heap, s)) promote_dead_string(d, s);
  } else if (cycle_leaves_dead(&d->gc) && !is_marked(d, s)) {
    gc_make_grey(d, (GCObject *)s);
  }
}

static void unlink_string(StringTable *table, String *s) {
  StringLink *link = string_bucket(table, string_bucket_index(table, s->hash));
  while (string_at(*link) != s) link = &string_at(*link)->u.next;
  *link = s->u.next;
  table->used--;
}

/* Prefetches the string's bucket. Buckets lie all over the intern table; the strings
 * themselves are in the cache. */
static void prefetch_bucket(const StringTable *table, const String *s) {
  __builtin_prefetch(string_bucket(table, string_bucket_index(table, s->hash)), 1);
}

static void drop_young_in_bucket(StringTable *table, StringLink *link) {
  for (String *s; (s = string_at(*link)) != NULL;) {
    if (is_young(s)) {
      *link = s->u.next;
      table->used--;
    } else {
      link = &s->u.next;
    }
  }
}

static NOINLINE void drop_young_in_table(Domain *d) {
  StringTable *table = &d->strings;
  for (uint32_t i = 0; i < table->size; i++) drop_young_in_bucket(table, string_bucket(table, i));
  d->gc.step_work += (size_t)table->size * WORK_BUCKET;
  d->gc.new_interned.n = d->gc.dead_strings.n = 0;
  d->gc.interned_lost = 0;
}

/* Unlinks the young of the `most` strings made last. The newest are first in their
 * chains, so they are unlinked first. */
static void unlink_newest(Domain *d, GcVector *made, size_t most) {
  size_t end = made->n > most ? made->n - most : 0;
  d->gc.step_work += (made->n - end) * WORK_STRING;
  while (made->n > end) {
    String *s = made->items[--made->n];
    if (made->n >= 2 * PREFETCH_AHEAD)
      __builtin_prefetch(made->items[made->n - 2 * PREFETCH_AHEAD]);
    if (made->n >= PREFETCH_AHEAD)
      prefetch_bucket(&d->strings, made->items[made->n - PREFETCH_AHEAD]);
    if (is_young(s)) unlink_string(&d->strings, s);
  }
}

static bool unlink_some(Domain *d) {
  while (d->gc.dead_strings.n > 0) {
    unlink_newest(d, &d->gc.dead_strings, STRINGS_A_QUANTUM);
    if (gc_piece_is_over(&d->gc)) break;
  }
  gc_note_dead_strings(&d->gc);
  return d->gc.dead_strings.n == 0;
}

static bool examine_some(Domain *d) {
  while (!heap_examine_waiting(&d->heap, BLOCKS_A_QUANTUM)) {
    d->gc.step_work += BLOCKS_A_QUANTUM * EXAMINE_WORK;
    if (gc_piece_is_over(&d->gc)) return false;
  }
  return true;
}

/* Reclaims a piece of what gc_reclaim_young left for later; returns whether nothing is
 * left. The lines of promoted objects count when their block is examined. */
bool gc_reclaim_rest(Domain *d) {
  size_t before = heap_old_bytes(&d->heap);
  PROBE_BEGIN(d, MINOR_RECLAIM);
  bool done = unlink_some(d) && examine_some(d);
  size_t promoted = heap_old_bytes(&d->heap) - before;
  d->gc.stats.promoted_bytes += promoted;
  if (promoted > 0) PROBE_COUNTER(d, PROMOTED_WORDS, promoted / 8);
  PROBE_END(d, MINOR_RECLAIM);
  return done;
}

/* Moves the new strings to those that are unlinked later; returns false if memory is
 * short. */
static bool keep_for_later(Domain *d) {
  GcVector *made = &d->gc.new_interned, *dead = &d->gc.dead_strings;
  if (dead->n == 0) {
    GcVector empty = *dead;
    *dead = *made;
    *made = empty;
    return true;
  }
  while (dead->capacity - dead->n < made->n)
    if (!gc_vector_try_extend(d, &dead->items, &dead->capacity, sizeof *dead->items)) return false;
  if (made->n > 0) memcpy(dead->items + dead->n, made->items, made->n * sizeof *made->items);
  dead->n += made->n;
  made->n = 0;
  return true;
}

/* Tells whether dead strings may wait: there is a deadline, or more young memory than a
 * usual nursery, or so few strings that they are unlinked before the next minor
 * collection. So may those of a usual nursery where each bucket is a cache miss, if few
 * are left of the collection before: then unlinking keeps up (gc_pace_rest_done). A
 * usual nursery is in the cache otherwise, so it is reclaimed at once, and its blocks
 * are used again at once. (Reclaimed later, a program that only makes strings took 1.2
 * to 1.4 times as long, and 2.5 times the memory, since no cycle sweeps before the
 * strings are unlinked.) */
static bool is_more_than_usual(const Domain *d) {
  size_t usual = 2 * d->gc.nursery_bytes;
  if (usual > MOST_USUAL) usual = MOST_USUAL;
  bool cold = gc_strings_at_once(d) < GC_STRINGS_AT_ONCE;
  return d->gc.deadline != 0 || d->heap.young_bytes > usual ||
         d->gc.new_interned.n <= GC_STRINGS_AT_ONCE ||
         (cold && d->gc.dead_strings.n <= GC_STRINGS_AT_ONCE);
}

/* Tells whether dead strings are unlinked later. They are unlinked at once if
 * there is a sampler, which must know which of its strings have died, or if the heap is
 * hosted and so finds blocks slowly. */
static bool reclaims_later(const Domain *d) {
  const Gc *gc = &d->gc;
  return gc->new_interned.n > gc_strings_at_once(d) && is_more_than_usual(d) &&
         gc->minor_most != SIZE_MAX && !gc->interned_lost && d->memprof == NULL &&
         !heap_is_hosted(&d->heap);
}

static bool examines_later(const Domain *d) {
  return d->heap.nconsumed > GC_BLOCKS_AT_ONCE && d->gc.minor_most != SIZE_MAX &&
         !heap_is_hosted(&d->heap);
}

void gc_reclaim_young(Domain *d) {
  Gc *gc = &d->gc;
  if (unlikely(reclaims_later(d)) && keep_for_later(d)) {
    heap_reclaim_young_later(&d->heap);
    gc_note_dead_strings(gc);
    return;
  }
  if (unlikely(gc->interned_lost)) drop_young_in_table(d);
  unlink_newest(d, &gc->new_interned, SIZE_MAX);
  if (unlikely(examines_later(d))) heap_reclaim_young_later(&d->heap);
  else heap_reclaim_young(&d->heap);
  gc_note_dead_strings(gc);
}

static bool is_swept(const Domain *d, const String *s) { return !is_young(s) && !is_marked(d, s); }

/* Removes the dead strings of a bucket. Chains are rebuilt only where there is one. */
static NOINLINE void remove_dead(Domain *d, StringLink *bucket) {
  StringLink chain = string_chain_reversed(*bucket);
  *bucket = 0;
  for (String *s; (s = string_at(chain)) != NULL;) {
    chain = s->u.next;
    if (is_swept(d, s)) d->strings.used--;
    else *bucket = string_chain(s, *bucket);
  }
}

ALWAYS_INLINE void sweep_bucket(Domain *d, StringLink *bucket) {
  for (const String *s = string_at(*bucket); s != NULL; s = string_at(s->u.next))
    if (unlikely(is_swept(d, s))) {
      remove_dead(d, bucket);
      return;
    }
}

bool gc_sweep_strings(Domain *d, size_t work) {
  StringTable *table = &d->strings;
  uint32_t i = d->gc.sweep_bucket;
  size_t done = 0, look = GC_LOOK_WORK;
  for (; i < table->size && done < work; done += WORK_BUCKET) {
    if (unlikely(done >= look)) {
      if (gc_time_is_up(&d->gc)) break;
      look = done + GC_LOOK_WORK;
    }
    if (i + PREFETCH_AHEAD < table->size)
      __builtin_prefetch(string_at(*string_bucket(table, i + PREFETCH_AHEAD)));
    sweep_bucket(d, string_bucket(table, i++));
  }
  d->gc.slice_work += done;
  d->gc.step_work += done;
  d->gc.sweep_bucket = i;
  return i >= table->size;
}

/* ---- large allocations --------------------------------------------------- */

bool gc_sweep_large(Domain *d, size_t work) {
  Gc *gc = &d->gc;
  Heap *h = &d->heap;
  size_t done = 0, look = GC_LOOK_WORK;
  for (; gc->sweep_large != &h->large_old && done < work; done += WORK_LARGE) {
    if (unlikely(done >= look)) {
      if (gc_time_is_up(gc)) break;
      look = done + GC_LOOK_WORK;
    }
    LargeHeader *large = gc->sweep_large;
    gc->sweep_large = large->next;
    large->mark &= gc->line_bit;
    if (large->mark == 0) {
      large->mark = 3; /* still counted as old */
      if (!large->external) done += large->size >> 6; /* giving pages back costs */
      heap_large_free(h, large);
    }
  }
  gc->slice_work += done;
  gc->step_work += done;
  return gc->sweep_large == &h->large_old;
}

/* Moves the sweep past an allocation that is about to leave the list. */
static void skip_large(Domain *d, LargeHeader *large) {
  if (d->gc.sweep_large == large) {
    d->gc.sweep_large = large->next;
    if (large->mark & d->gc.line_bit) large->mark = d->gc.line_bit;
  }
}

void gc_large_part_gone(Domain *d, LargeHeader *large) {
  skip_large(d, large);
  heap_large_free(&d->heap, large);
}

void gc_large_part_moving(Domain *d, LargeHeader *large) { skip_large(d, large); }

/* ---- blocks -------------------------------------------------------------- */

/* Tells whether no short string died: all of them are marked or young. While a minor
 * collection is under way it is not known: some of the new ones are promoted by then. */
static bool no_string_died(const Gc *gc, const StringTable *table) {
  bool none = !gc->minor_begun && !gc->interned_lost &&
              gc->marked_strings + gc->new_interned.n == table->used;
#ifdef SAROS_DEBUG
  for (uint32_t i = 0; none && i < table->size; i++)
    for (const String *s = string_at(*string_bucket(table, i)); s != NULL; s = string_at(s->u.next))
      rt_assert(is_young(s) || ((s->gc ^ gc->mark_sense) & GC_MARK) == 0);
#endif
  return none;
}

void gc_start_sweeping(Domain *d) {
  d->gc.sweep_bucket = no_string_died(&d->gc, &d->strings) ? d->strings.size : 0;
  d->gc.sweep_large = d->heap.large_old.next;
  d->gc.sweep_chunk = d->heap.chunks;
  d->gc.sweep_block = 1;
}

/* Returns the sweep's work that is left. All blocks count, even those already swept: they
 * cost little beside the rest. */
size_t gc_sweep_work(const Domain *d) {
  const Gc *gc = &d->gc;
  size_t work = (size_t)d->heap.nblocks * WORK_BLOCK;
  if (gc->phase <= GC_PHASE_SWEEP_LARGE) work += d->heap.old_large_count * WORK_LARGE;
  if (gc->phase < GC_PHASE_SWEEP_STRINGS) work += (size_t)d->strings.size * WORK_BUCKET;
  else if (gc->phase == GC_PHASE_SWEEP_STRINGS)
    work += (size_t)(d->strings.size - gc->sweep_bucket) * WORK_BUCKET;
  return work;
}

/* Sweeps blocks. Chunks mapped since the start hold nothing that needs sweeping. */
bool gc_sweep_blocks(Domain *d, size_t work) {
  Gc *gc = &d->gc;
  size_t done = 0, look = GC_LOOK_WORK;
  for (; gc->sweep_chunk != NULL && done < work; done += WORK_BLOCK) {
    if (unlikely(done >= look)) {
      if (gc_time_is_up(gc)) break;
      look = done + GC_LOOK_WORK;
    }
    heap_sweep_block(&d->heap, gc->sweep_chunk, gc->sweep_block, gc->line_bit);
    if (++gc->sweep_block >= gc->sweep_chunk->nblocks) {
      gc->sweep_block = 1;
      gc->sweep_chunk = gc->sweep_chunk->next;
    }
  }
  gc->slice_work += done;
  gc->step_work += done;
  return gc->sweep_chunk == NULL;
}
