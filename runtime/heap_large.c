/* SPDX-License-Identifier: MIT */
/* runtime/heap_large.c: large allocations, each on its own behind a LargeHeader.
 *
 * Young and old allocations are in a list each. Large parts have a byte for each card of
 * 128 bytes, with a bit for each 16 of them, for the write barrier.
 *
 * Allocations of up to HUGE_FROM bytes lie in extents (heap_extent.c), the cards behind
 * the data. In stress builds, and while they are in no heap, they come from malloc.
 * Bigger allocations have a mapping of their own, and so have their cards, so that no
 * single operation on them takes time in proportion to their size:
 *
 *   allocating  new memory is zero, which is nil: the owner asks heap_part_is_zeroed and
 *               does not fill it. Pages are touched by use alone, and are pages of 2 MiB
 *               where the system has them: a part that grows so large is mostly filled.
 *   growing     mremap: neither data nor cards are copied.
 *   freeing     returning pages costs the system some 0.1 us each, touching new ones
 *               0.3 us or more. So a dead mapping joins Heap.dying and waits there: for a
 *               second if all dead mappings are a few (DYING_MOST), else for four minor
 *               collections. A new allocation of the right size takes it; for a table's
 *               part it is cleared as far as it must be zero. So does a part that grows,
 *               by copying: a table that grows to the same size again and again touches
 *               no new page. At each step of the collector heap_large_release cuts pieces
 *               from the end of mappings that waited long enough. A huge allocation that
 *               no dead mapping fits cuts as many bytes as it takes, but leaves a few:
 *               dead mappings never outgrow live ones by more than that. The mapping of
 *               an object (a string, a userdata) is kept for the next use in any domain
 *               if it is not too big (mappings.h), and cut or made larger where strings
 *               grow by concatenation.
 *
 * The trailing bytes of the last page are kept zero: they become data when the allocation
 * grows.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "domain.h"
#include "gc_inline.h"
#include "gc_time.h"
#include "heap.h"
#include "mappings.h"
#include "memprof.h"

/* Bytes from which on an allocation gets a mapping. */
#ifdef SAROS_STRESS
#define HUGE_FROM ((size_t)64 << 10)
#else
/* less header and cards: an array of 2^17 slots gets a mapping */
#define HUGE_FROM (EXTENT_MOST - ((size_t)64 << 10))
#endif
#define PAGE_ALIGN ((size_t)1) /* mappings are aligned to pages anyway */
#define DYING_EPOCHS 4 /* minor collections that a dead mapping waits for a new use */
#define DYING_NS UINT64_C(1000000000) /* ns that it waits if all dead mappings are at most
                                       * DYING_MOST */
#define DYING_MOST ((size_t)32 << 20)
/* bytes of the largest part that reuses a dead mapping: it is cleared at once */
#define REUSED_MOST ((size_t)16 << 20)
#define GIVEN_BACK_MOST ((size_t)4 << 20) /* bytes given back at once: 0.1 ms */
/* bytes of the largest mapping kept for the next use: unmapping it takes 0.2 ms */
#define KEPT_MOST ((size_t)8 << 20)

/* ---- lists --------------------------------------------------------------- */

static void link_large(LargeHeader *list, LargeHeader *large) {
  large->prev = list;
  large->next = list->next;
  list->next->prev = large;
  list->next = large;
}

static void unlink_large(LargeHeader *large) {
  large->prev->next = large->next;
  large->next->prev = large->prev;
}

static size_t *large_counter(Heap *h, const LargeHeader *large) {
  return large->mark == 0 ? &h->young_large_bytes : &h->old_large_bytes;
}

/* ---- memory -------------------------------------------------------------- */

static size_t card_count(size_t size) { return (size >> HEAP_CARD_SHIFT) + 1; }

static size_t mapping_of(size_t size) { return mapping_round(sizeof(LargeHeader) + size); }

static LargeHeader *set_up_mapped(LargeHeader *large, size_t mapped, bool zeroed) {
  if (large == NULL) return NULL;
  large->mapped = mapped;
  large->cards = NULL;
  large->in_extent = 0;
  large->zeroed = zeroed;
  return large;
}

/* Takes a kept mapping that is at most a quarter too large, or makes one fit; NULL if
 * there is none. */
static LargeHeader *take_mapped(size_t size) {
  size_t least = mapping_of(size), mapped = 0;
  LargeHeader *large = mapping_take(least, least + least / 4, PAGE_ALIGN, &mapped);
  if (large == NULL && (large = mapping_adapt(least)) != NULL) mapped = least;
  return set_up_mapped(large, mapped, false);
}

/* Begins the span of a touch of a huge page for which the program waits. `h` is NULL for
 * memory in no heap, which has no span. */
static uint64_t begin_touch(Heap *h) {
  if (h == NULL) return 0;
  Domain *d = heap_domain(h);
  uint64_t begun = gc_time_begin(d);
  PROBE_BEGIN_REASON(d, FRESH_MEMORY, EV_REASON_LARGE);
  return begun;
}

static void end_touch(Heap *h, uint64_t begun) {
  if (h == NULL) return;
  Domain *d = heap_domain(h);
  PROBE_END_OFF_CPU(d, FRESH_MEMORY, gc_time_end(d, begun));
}

static LargeHeader *new_mapped(Heap *h, size_t size) {
  uint64_t begun = begin_touch(h);
  void *p = mapping_new_prefer_huge(mapping_of(size));
  end_touch(h, begun);
  return set_up_mapped(p, mapping_of(size), true);
}

/* Tells whether a mapping has been dead for so long that it is given back. A few mappings
 * wait a second, as the program may need them again. */
static bool is_long_dead(const Heap *h, const LargeHeader *large, uint64_t now) {
  if (now - large->died >= DYING_NS) return true;
  return h->dying_bytes > DYING_MOST && h->epoch - (uint32_t)large->size >= DYING_EPOCHS;
}

/* Gives back `bytes` of dead mappings, the oldest first: the others may be used again.
 * Unless `recent`, stops at the first that is not long dead. */
static void release_dying(Heap *h, size_t bytes, bool recent) {
  uint64_t now = recent || h->dying_bytes == 0 ? 0 : mapping_now();
  for (LargeHeader *large; bytes > 0 && (large = h->dying.prev) != &h->dying;) {
    if (!recent && !is_long_dead(h, large, now)) return;
    size_t piece = bytes < large->mapped ? mapping_round(bytes) : large->mapped;
    large->mapped -= piece;
    h->dying_bytes -= piece;
    if (large->mapped == 0) unlink_large(large);
    mapping_unmap((char *)large + large->mapped, piece);
    bytes -= piece < bytes ? piece : bytes;
  }
}

/* Gives back dead mappings before an allocation that none of them fits. A program that
 * grows and drops parts repeatedly uses several sizes, so a few dead mappings are kept:
 * the next allocation may fit one. */
static void make_room(Heap *h, size_t size) {
  size_t most = size <= REUSED_MOST ? DYING_MOST : 0;
  if (h->dying_bytes > most)
    release_dying(h, size < h->dying_bytes - most ? size : h->dying_bytes - most, true);
}

#define DYING_LOOKED_AT 16 /* dead mappings examined for a new use */

/* Takes a dead mapping whose memory has not been given back yet, the latest that fits. */
static LargeHeader *take_dying(Heap *h, size_t size) {
  size_t least = mapping_of(size);
  LargeHeader *large = h->dying.next;
  for (int i = 0; i < DYING_LOOKED_AT && large != &h->dying; i++, large = large->next)
    if (large->mapped >= least && large->mapped <= least + least / 4) {
      unlink_large(large);
      h->dying_bytes -= large->mapped;
      return set_up_mapped(large, large->mapped, false);
    }
  return NULL;
}

/* Clears the data of a part from `from` on, and the memory behind it. */
static void clear_from(LargeHeader *large, size_t from) {
  memset((char *)(large + 1) + from, 0, large->mapped - sizeof *large - from);
}

/* Takes a dead mapping for a part and clears it from `used` on; the first `used` bytes
 * are to be copied. */
static LargeHeader *take_dying_part(Heap *h, size_t size, size_t used) {
  LargeHeader *large = h != NULL && size <= REUSED_MOST ? take_dying(h, size) : NULL;
  if (large == NULL) return NULL;
  clear_from(large, used);
  large->zeroed = true;
  return large;
}

static LargeHeader *new_huge_part(Heap *h, size_t size, size_t used) {
  LargeHeader *large = take_dying_part(h, size, used);
  if (large == NULL && h != NULL) make_room(h, size);
  if (large == NULL) large = new_mapped(h, size);
  if (large != NULL &&
      (large->cards = mapping_new(mapping_round(card_count(size)), PAGE_ALIGN)) == NULL) {
    mapping_unmap(large, large->mapped);
    return NULL;
  }
  return large;
}

/* Makes a huge object, which need not be zero: a used mapping is enough. `h` is NULL for
 * an object in no heap. */
static LargeHeader *new_huge_object(Heap *h, size_t size) {
  LargeHeader *large = h != NULL ? take_dying(h, size) : NULL;
  if (large == NULL) large = take_mapped(size);
  if (large == NULL && h != NULL) make_room(h, size);
  return large != NULL ? large : new_mapped(h, size);
}

static LargeHeader *new_huge(Heap *h, size_t size, bool cards) {
  return cards ? new_huge_part(h, size, 0) : new_huge_object(h, size);
}

static uint8_t *address_of_cards(LargeHeader *large, size_t size) {
  return (uint8_t *)(large + 1) + heap_round(size);
}

static size_t medium_bytes(size_t size, bool cards) {
  return sizeof(LargeHeader) + heap_round(size) + (cards ? card_count(size) : 0);
}

static LargeHeader *set_up_medium(LargeHeader *large, size_t size, bool cards, bool in_extent) {
  if (large == NULL) return NULL;
  large->cards = cards ? address_of_cards(large, size) : NULL;
  if (cards) memset(large->cards, 0, card_count(size));
  large->mapped = 0;
  large->in_extent = in_extent;
  large->zeroed = 0;
  return large;
}

/* Makes a large allocation that is not huge. `h` is NULL for an object in no heap. */
static LargeHeader *new_medium(Heap *h, size_t size, bool cards) {
  size_t bytes = medium_bytes(size, cards);
  if (h != NULL && heap_is_hosted(h))
    return set_up_medium(heap_memory(heap_domain(h), bytes), size, cards, false);
#ifdef SAROS_STRESS
  h = NULL;
#endif
  return set_up_medium(h != NULL ? extent_alloc(h, bytes) : malloc(bytes), size, cards, h != NULL);
}

static void free_medium(Heap *h, LargeHeader *large) {
  size_t bytes =
      large->external ? sizeof *large : medium_bytes(large->size, large->cards != NULL);
  if (large->in_extent) extent_free(h, large, bytes);
  else heap_memory_free(heap_domain(h), large, bytes);
}

/* Makes a large allocation that is in no list yet. Where there are no addresses for an
 * extent there may be some for a mapping. */
static LargeHeader *make_large(Heap *h, size_t size, bool cards) {
  bool hosted = h != NULL && heap_is_hosted(h);
  LargeHeader *large = size < HUGE_FROM || hosted ? new_medium(h, size, cards) : NULL;
  if (large == NULL && !hosted) large = new_huge(h, size, cards);
  if (large == NULL) return NULL;
  large->size = size;
  large->mark = 0;
  large->fresh = 1;
  large->logged = 0;
  large->external = large->revived = large->stays = 0;
  return large;
}

static LargeHeader *new_large(Heap *h, size_t size, bool cards) {
  if (size > PTRDIFF_MAX / 2 || !heap_has_room(h, size)) return NULL;
  return make_large(h, size, cards);
}

/* Lets a mapping join the dead. A part that was replaced by the largest so far is
 * given back soon, since nothing suggests yet that a similar one will be needed. Some
 * of it is given back now: a program that only fills the new part runs no steps of the
 * collector. */
static void let_die(Heap *h, LargeHeader *large) {
  bool wanted = large->cards == NULL || h->huge_again;
  large->size = h->epoch;
  large->died = wanted ? mapping_now() : 0;
  h->dying_bytes += large->mapped;
  link_large(&h->dying, large);
  if (!wanted) release_dying(h, GIVEN_BACK_MOST, true);
}

static void dispose_part(Heap *h, LargeHeader *large) {
  if (large->mapped == 0) {
    free_medium(h, large);
    return;
  }
  if (large->cards == NULL && large->mapped <= KEPT_MOST) {
    mapping_give(large, large->mapped);
    return;
  }
  if (large->cards != NULL) mapping_unmap(large->cards, mapping_round(card_count(large->size)));
  let_die(h, large);
}

void heap_large_release(Heap *h, size_t bytes) { release_dying(h, bytes, bytes == SIZE_MAX); }

/* ---- interface ----------------------------------------------------------- */

/* Notes that a part has grown from `old` bytes, and may have moved. */
static void note_growing(Heap *h, const LargeHeader *former, const LargeHeader *large, size_t old,
                         size_t size) {
  bool again = h->growing == former;
  if (again) h->growing = large;
  if (size < LATEST_LEAST || size <= old) return;
  if (!again) h->growing_bytes = large->mark == 0 ? old : 0;
  h->growing = large;
  h->growing_bytes += size - old;
}

static void *take_in(Domain *d, LargeHeader *large) {
  Heap *h = &d->heap;
  link_large(&h->large_young, large);
  h->young_large_bytes += large->size;
  h->large_debt += large->size;
  if (large->cards == NULL && large->size >= LATEST_LEAST) h->latest_large = large->size;
  if (large->cards != NULL && large->size > h->largest_part) h->largest_part = large->size;
  if (large->cards != NULL) note_growing(h, large, large, 0, large->size);
  h->elsewhere_left -= (int64_t)heap_round(large->size);
  heap_note_taken(d);
  return large + 1;
}

/* Gives back free memory when a part has grown larger than any before. Such a part lay
 * elsewhere before, in extents and mappings that together are as large as the part and
 * will probably not be needed again. Only a part much larger than all before does this,
 * so that a program that grows many parts reuses its pages from the second one on. */
static void note_huge(Heap *h, const LargeHeader *large) {
  if (large->mapped == 0) return;
  h->huge_again = large->size - large->size / 4 < h->largest_huge;
  if (h->huge_again) return;
  h->largest_huge = large->size;
  extent_give_back(h, GIVEN_BACK_MOST);
  release_dying(h, large->size, true);
}

void *heap_large_alloc(Domain *d, size_t size, bool cards) {
  LargeHeader *large = new_large(&d->heap, size, cards);
  if (large == NULL) return NULL;
  if (cards) note_huge(&d->heap, large);
  return take_in(d, large);
}

LargeHeader *heap_large_detached(size_t size) {
  return size <= PTRDIFF_MAX / 2 ? make_large(NULL, size, false) : NULL;
}

/* Adopts an object into a hosted heap by copying: its memory is not the allocator's. */
static void *adopt_copy(Domain *d, LargeHeader *large) {
  void *p = heap_large_alloc(d, large->size, false);
  if (p == NULL) return NULL;
  memcpy(p, large + 1, large->size);
  heap_large_discard(large);
  return p;
}

void *heap_large_adopt(Domain *d, LargeHeader *large) {
  if (!heap_has_room(&d->heap, large->size)) return NULL;
  size_t size = large->size;
  void *p = heap_is_hosted(&d->heap) ? adopt_copy(d, large) : take_in(d, large);
  if (p == NULL) return NULL;
  if (unlikely(d->heap.watched))
    memprof_took(d->current, p, size, MEMPROF_MESSAGE, NULL);
  return p;
}

void heap_large_discard(LargeHeader *large) {
  if (large == NULL) return;
  if (large->mapped == 0) free(large);
  else mapping_give(large, large->mapped);
}

/* Populates by advice only: where the system does not know it, or has no memory now,
 * pages become present at their first use. */
void heap_part_populate(void *part, size_t size) {
#ifdef MADV_POPULATE_WRITE
  if (!heap_is_large(size) || !heap_large_of(part)->zeroed) return;
  madvise(heap_large_of(part), sizeof(LargeHeader) + size, MADV_POPULATE_WRITE);
#else
  (void)part, (void)size;
#endif
}

void heap_large_free(Heap *h, LargeHeader *large) {
  *large_counter(h, large) -= large->size;
  h->old_large_count -= large->mark != 0;
  if (large->external) h->external_bytes -= large->size;
  if (large == h->growing) {
    h->growing = NULL;
    h->growing_bytes = 0;
  }
  unlink_large(large);
  dispose_part(h, large);
}

void heap_large_promote(Heap *h, LargeHeader *large, uint8_t bit) {
  if (large->mark == 0) {
    h->young_large_bytes -= large->size;
    h->old_large_bytes += large->size;
    h->old_large_count++;
    unlink_large(large);
    link_large(&h->large_old, large);
    large->stays = 0;
  }
  large->mark |= bit;
}

/* ---- memory outside the heap --------------------------------------------- */

LargeHeader *heap_large_external(Heap *h) {
  LargeHeader *large = heap_memory(heap_domain(h), sizeof *large);
  if (large == NULL) return NULL;
  *large = (LargeHeader){.external = 1};
  link_large(&h->large_young, large);
  return large;
}

/* Sets the bytes of an external allocation. When a young one shrinks, the bytes were
 * allocated and given back since the last minor collection: they are no debt any more. */
void heap_large_set_external(Domain *d, LargeHeader *large, size_t size) {
  Heap *h = &d->heap;
  size_t before = large->size, more = size > before ? size - before : 0;
  *large_counter(h, large) += size - before; /* modulo arithmetic when it shrinks */
  h->external_bytes += size - before;
  if (large->mark == 0) h->large_debt += size - before;
  else h->large_debt += more;
  if (large->mark != 0 && more > h->largest_part) h->largest_part = more;
  large->size = size;
  if (more > 0) heap_note_taken(d);
}

/* ---- growing and shrinking ----------------------------------------------- */

/* Returns the same bytes in memory for the new size, at the old address or another one;
 * NULL if memory is short. */
static LargeHeader *room_for(Heap *h, LargeHeader *large, size_t size) {
  size_t old_bytes = medium_bytes(large->size, true), bytes = medium_bytes(size, true);
  if (!large->in_extent) return heap_memory_resize(heap_domain(h), large, old_bytes, bytes);
  if (extent_resize(h, large, old_bytes, bytes)) return large;
  bool hosted = heap_is_hosted(h);
  LargeHeader *moved = hosted ? heap_memory(heap_domain(h), bytes) : extent_alloc(h, bytes);
  if (moved == NULL) return NULL;
  memcpy(moved, large, old_bytes);
  moved->in_extent = !hosted;
  extent_free(h, large, old_bytes);
  return moved;
}

/* Shrinks a hosted part into newly requested memory: an allocator may refuse to make a
 * block smaller, and must be told the bytes that it gave. */
static LargeHeader *shrink_hosted(Heap *h, LargeHeader *large, size_t size) {
  Domain *d = heap_domain(h);
  LargeHeader *moved = heap_memory(d, medium_bytes(size, true));
  if (moved == NULL) return NULL;
  memcpy(moved, large, sizeof *large + size);
  moved->cards = address_of_cards(moved, size);
  memcpy(moved->cards, large->cards, card_count(size));
  moved->in_extent = false;
  free_medium(h, large);
  return moved;
}

static LargeHeader *resize_medium(Heap *h, LargeHeader *large, size_t size) {
  size_t old = large->size, kept = card_count(size < old ? size : old);
  if (heap_is_hosted(h) && size < old && !large->in_extent) return shrink_hosted(h, large, size);
  if (size < old) memmove(address_of_cards(large, size), address_of_cards(large, old), kept);
  LargeHeader *moved = room_for(h, large, size);
  if (moved == NULL) {
    if (size > old) return NULL;
    moved = large; /* malloc cannot make it smaller: the rest stays unused */
  }
  if (size > old) {
    memmove(address_of_cards(moved, size), address_of_cards(moved, old), kept);
    memset(address_of_cards(moved, size) + kept, 0, card_count(size) - kept);
  }
  moved->cards = address_of_cards(moved, size);
  return moved;
}

/* Moves a part from an extent to a mapping. */
static LargeHeader *make_huge(Heap *h, LargeHeader *large, size_t size) {
  LargeHeader *moved = new_huge_part(h, size, large->size);
  if (moved == NULL) return NULL;
  memcpy(moved + 1, large + 1, large->size);
  memcpy(moved->cards, large->cards, card_count(large->size));
  uint8_t *cards = moved->cards, zeroed = moved->zeroed;
  size_t mapped = moved->mapped;
  *moved = *large;
  moved->cards = cards;
  moved->mapped = mapped;
  moved->in_extent = 0;
  moved->zeroed = zeroed;
  free_medium(h, large);
  return moved;
}

/* Clears what is cut off, as far as it stays mapped. */
static void clear_rest(LargeHeader *large, size_t size) {
  size_t shown = sizeof(LargeHeader) + size, mapped = mapping_of(size), cards = card_count(size);
  memset((char *)large + shown, 0, (mapped < large->mapped ? mapped : large->mapped) - shown);
  memset(large->cards + cards, 0, card_count(large->size) - cards);
}

/* Moves a growing part into a dead mapping; NULL if none fits. Copying to and clearing
 * memory that is present costs a third of touching pages for the first time. */
static LargeHeader *move_to_dying(Heap *h, LargeHeader *large, size_t size) {
  LargeHeader *moved = take_dying_part(h, size, large->size);
  if (moved == NULL) return NULL;
  size_t mapped = moved->mapped;
  memcpy(moved, large, sizeof *large + large->size);
  moved->mapped = mapped;
  moved->zeroed = true;
  let_die(h, large);
  return moved;
}

/* Resizes the cards, then the part. If the part cannot be resized, the cards get their
 * old size again. */
static LargeHeader *resize_huge(Heap *h, LargeHeader *large, size_t size) {
  size_t old_cards = mapping_round(card_count(large->size)),
         cards = mapping_round(card_count(size));
  size_t mapped = mapping_of(size);
  if (size < large->size) clear_rest(large, size);
  uint8_t *moved_cards = mapping_resize(large->cards, old_cards, cards);
  if (moved_cards == NULL) return NULL;
  large->cards = moved_cards;
  if (size > large->size) {
    LargeHeader *moved = move_to_dying(h, large, size);
    if (moved != NULL) return moved;
    make_room(h, size - large->size);
  }
  uint64_t begun = begin_touch(h);
  LargeHeader *moved = mapping_resize(large, large->mapped, mapped);
  end_touch(h, begun);
  if (moved == NULL) {
    mapping_resize(moved_cards, cards, old_cards);
    return NULL;
  }
  moved->mapped = mapped;
  return moved;
}

/* Grows or shrinks a part in place or by moving; cards keep their values. */
LargeHeader *heap_large_resize(Domain *d, LargeHeader *large, size_t size) {
  Heap *h = &d->heap;
  size_t old = large->size;
  if (size > PTRDIFF_MAX / 2 || (size > old && !heap_has_room(h, size - old))) return NULL;
  LargeHeader *moved = large->mapped != 0 ? resize_huge(h, large, size)
                       : size >= HUGE_FROM && !heap_is_hosted(h) ? make_huge(h, large, size)
                                           : resize_medium(h, large, size);
  if (moved == NULL) return NULL;
  moved->prev->next = moved->next->prev = moved;
  if (size > old) {
    h->large_debt += size - old;
    if (size > h->largest_part) h->largest_part = size;
    h->elsewhere_left -= (int64_t)(heap_round(size) - heap_round(old));
  }
  note_growing(h, large, moved, old, size);
  *large_counter(h, moved) += size - old; /* modulo arithmetic when it shrinks */
  moved->size = size;
  if (size > old) note_huge(h, moved);
  heap_note_taken(d);
  return moved;
}
