/* SPDX-License-Identifier: MIT */
/* runtime/gc_sweep.c: reclaiming what a marking did not reach.
 *
 * Objects are not examined one by one: a block is swept by clearing the bytes of
 * the lines that were not marked in this cycle. Two things must be unlinked
 * before their memory goes: short strings from the intern table (first, so
 * that no lookup can return a string whose line is gone; one that is found dead in
 * the meantime is brought back, gc_resurrect_string) and large allocations
 * from their list. A minor collection finds its dead strings in the list of those that
 * were made since the last one.
 *
 * Work is counted in Gc.slice_work, in units comparable to bytes marked.
 */
#include "gc_internal.h"

#include "gc.h"
#include "heap.h"
#include "str.h"

#define WORK_BUCKET 64
#define WORK_STRING 32 /* of unlinking one that was just made: some 10 ns */
#define WORK_LARGE 512
#define WORK_BLOCK 512
#define PREFETCH_AHEAD 8

/* ---- strings ------------------------------------------------------------- */

NOINLINE void gc_note_interned_slow(Domain *d, String *s) {
  Gc *gc = &d->gc;
  if (!GC_TRY_PUSH(d, &gc->new_interned, s)) gc->interned_lost = 1;
}

void gc_resurrect_string(Domain *d, String *s) {
  if (!is_young(s) && !is_marked(d, s)) gc_make_grey(d, (GCObject *)s);
}

static void unlink_string(StringTable *table, String *s) {
  StringLink *link = string_bucket(table, string_bucket_index(table, s->hash));
  while (string_at(*link) != s) link = &string_at(*link)->u.next;
  *link = s->u.next;
  table->used--;
}

/* The buckets are all over the intern table, the strings themselves in the cache. */
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
  d->gc.new_interned.n = 0;
  d->gc.interned_lost = 0;
}

/* The newest are first in their chains, so they go first. */
void gc_drop_young_strings(Domain *d) {
  GcVector *made = &d->gc.new_interned;
  if (unlikely(d->gc.interned_lost)) drop_young_in_table(d);
  d->gc.step_work += made->n * WORK_STRING;
  while (made->n > 0) {
    String *s = made->items[--made->n];
    if (made->n >= PREFETCH_AHEAD)
      prefetch_bucket(&d->strings, made->items[made->n - PREFETCH_AHEAD]);
    if (is_young(s)) unlink_string(&d->strings, s);
  }
}

static bool is_swept(const Domain *d, const String *s) { return !is_young(s) && !is_marked(d, s); }

/* Chains are rebuilt only where there is something to remove. */
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
  size_t done = 0;
  for (; i < table->size && done < work; done += WORK_BUCKET) {
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
  size_t done = 0;
  for (; gc->sweep_large != &h->large_old && done < work; done += WORK_LARGE) {
    LargeHeader *large = gc->sweep_large;
    gc->sweep_large = large->next;
    large->mark &= gc->line_bit;
    if (large->mark == 0) {
      large->mark = 3; /* still counted among the old */
      if (!large->external) done += large->size >> 6; /* giving pages back costs */
      heap_large_free(h, large);
    }
  }
  gc->slice_work += done;
  gc->step_work += done;
  return gc->sweep_large == &h->large_old;
}

/* The sweep stands at this one, which leaves the list. */
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

/* All short strings are marked or young: none is dead. */
static bool no_string_died(const Gc *gc, const StringTable *table) {
  bool none = !gc->interned_lost && gc->marked_strings + gc->new_interned.n == table->used;
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

/* Of blocks, the cost of all, although some may be done: they are little beside the
   rest. */
size_t gc_sweep_work(const Domain *d) {
  const Gc *gc = &d->gc;
  size_t work = (size_t)d->heap.nblocks * WORK_BLOCK;
  if (gc->phase <= GC_PHASE_SWEEP_LARGE) work += d->heap.old_large_count * WORK_LARGE;
  if (gc->phase < GC_PHASE_SWEEP_STRINGS) work += (size_t)d->strings.size * WORK_BUCKET;
  else if (gc->phase == GC_PHASE_SWEEP_STRINGS)
    work += (size_t)(d->strings.size - gc->sweep_bucket) * WORK_BUCKET;
  return work;
}

/* Chunks mapped since the start hold nothing that needs sweeping. */
bool gc_sweep_blocks(Domain *d, size_t work) {
  Gc *gc = &d->gc;
  size_t done = 0;
  for (; gc->sweep_chunk != NULL && done < work; done += WORK_BLOCK) {
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
