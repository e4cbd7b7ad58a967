/* SPDX-License-Identifier: MIT */
/* runtime/mappings.h: memory straight from the system, and mappings kept for their next
 * use.
 *
 * Mapping memory and giving it back is costly when other domains run: each page is
 * cleared at its first touch, and taking pages away interrupts all processors that run a
 * domain of the program. So a few mappings that a domain no longer needs (the chunks of a
 * heap that ends, large strings that died) are kept for whichever domain needs one next.
 *
 * What is kept is bounded (MAPPINGS_MOST): the oldest make room. A small one with few
 * pages, such as the first chunk of a state that did little, is then emptied rather than
 * unmapped: it gives its pages back and keeps its addresses. That costs half of unmapping
 * it, and it serves as the next first chunk for half the cost of a fresh mapping.
 *
 * Mappings that were kept for a second are unmapped, one of each sort whenever another is
 * given or a collector gives memory back (mapping_drop_old). All are unmapped when memory
 * is short or a heap is collected in full. Kept mappings count for no domain's limit.
 *
 * Any thread may call all of this. One lock is held, only while a short array is searched
 * and never during a system call.
 */
#ifndef SAROS_RUNTIME_MAPPINGS_H
#define SAROS_RUNTIME_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAPPING_UNIT ((size_t)64 << 10)  /* a multiple of any page size */
#define MAPPINGS_MOST ((size_t)32 << 20) /* bytes with pages kept for all domains */

/* Returns fresh memory, all zero, aligned to `align` (a power of two); NULL if the system
 * has none even after all kept mappings were dropped. */
void *mapping_new(size_t size, size_t align);
/* Returns fresh memory, all zero, at a multiple of `align`, a power of two greater than
 * `size`. Usually nothing else lies before the next multiple, so it can be extended. NULL
 * as for mapping_new. */
void *mapping_new_begin(size_t size, size_t align);
/* Extends the mapping in place; the new bytes are zero. Returns false, and changes
 * nothing, if something lies there or memory is short. */
bool mapping_extend(void *mapping, size_t old, size_t size);
/* Works like mapping_new, for memory that will be touched from its start on and mostly
 * filled. Uses huge pages as far as the mapping has room for them and the system has some
 * at hand: they cost an eighth of small ones. */
void *mapping_new_prefer_huge(size_t size);
/* Tells whether touches of huge pages were fast lately. If not, mapping_new_huge returns
 * NULL. */
bool mapping_huge_at_hand(void);
/* Returns one huge page of `size` bytes, aligned to its size, where the system has one at
 * hand. Its first byte is touched. NULL if memory is short or huge pages were slow
 * lately. */
void *mapping_new_huge(size_t size);
/* Returns a huge page's bytes, all present, in small pages where there are no huge ones:
 * for the thread that keeps them ready (mapping_ahead.h). NULL if the system has no
 * memory. */
void *mapping_new_present(void);
/* Says whether the thread of mapping_ahead.h finds out from now on if huge pages are at
 * hand. While it does, others touch one themselves only if that thread's last touches
 * were fast. */
void mapping_huge_is_known(bool known);
/* Resizes a mapping, in place or elsewhere; the new bytes are zero. Returns NULL, and
 * changes nothing, if memory is short. */
void *mapping_resize(void *mapping, size_t old, size_t size);
/* Resizes a mapping without huge pages; old and size are multiples of a page
 * (mapping_round). */
void *mapping_move(void *mapping, size_t old, size_t size);
/* Returns the bytes of whole pages, whatever the page size. */
static inline size_t mapping_round(size_t size) {
  return (size + MAPPING_UNIT - 1) & ~(MAPPING_UNIT - 1);
}
/* Returns the kept mapping that was given last among those of `least` to `most` bytes
 * aligned to `align`, and its bytes in *size. Its contents are what they were. NULL if
 * there is none. */
void *mapping_take(size_t least, size_t most, size_t align, size_t *size);
/* Takes a mapping like mapping_take; *touched gets its bytes that have pages, as given.
 * If there is none, takes one that was emptied: *touched is 0, and its bytes are zero. */
void *mapping_take_touched(size_t least, size_t most, size_t align, size_t *size,
                           size_t *touched);
/* Returns a kept mapping resized to `size`, so that strings that grow piece by piece
 * touch little fresh memory; NULL unless much is kept and one has at least half the size.
 * Its first bytes keep their contents. */
void *mapping_adapt(size_t size);
/* Keeps the mapping, or unmaps it if it exceeds the bound on all that is kept. Others may
 * be emptied or unmapped for it. */
void mapping_give(void *mapping, size_t size);
/* Keeps a mapping of which only `touched` bytes have pages, such as the first chunk of a
 * state that did little. The bound counts these bytes. */
void mapping_give_touched(void *mapping, size_t size, size_t touched);
void mapping_unmap(void *mapping, size_t size);
/* Unmaps the oldest mapping if it was kept for a second. */
void mapping_drop_old(void);
void mapping_drop_all(void);
/* Receives a part of memory: `bytes` from p on. */
typedef void MemoryPart(void *context, const void *p, size_t bytes);
/* Calls `part` for each mapping that is kept, and for each that was emptied, under the
   lock. */
void mapping_each_kept(MemoryPart *part, void *context);
/* Returns the bytes of the mappings that are kept with their pages. */
size_t mapping_kept(void);
/* Returns the bytes of the mappings that were emptied. */
size_t mapping_emptied(void);
/* Prefers huge pages in a fresh mapping that is aligned to them, and touches its first
 * byte: touching one byte of a huge page makes all of it present. Returns false if huge
 * pages were slow lately and were not tried. */
bool mapping_prefer_huge(void *mapping, size_t size);
/* Undoes mapping_prefer_huge before pages are given back: otherwise the system would fill
 * the free parts of a huge page. */
void mapping_refuse_huge(void *mapping, size_t size);
#define MAPPING_HUGE_PAGE ((size_t)2 << 20)
/* Returns the ns of a clock for ages: monotonic, cheap, exact to some milliseconds. */
uint64_t mapping_now(void);

/* Locks the kept mappings around a fork, so that the child can use them. */
void mapping_lock(void);
void mapping_unlock(void);

#endif
