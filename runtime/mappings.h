/* SPDX-License-Identifier: MIT */
/* runtime/mappings.h: memory straight from the system, and mappings kept for their next
 * use.
 *
 * Mapping memory and giving it back is costly when other domains run: each page is
 * cleared at its first touch, and taking pages away interrupts all processors that run a
 * domain of the program. So a few mappings that a domain no longer needs (the chunks of a
 * heap that ends, large strings that died) are kept for whichever domain needs one next.
 *
 * What is kept is bounded (MAPPINGS_MOST): the oldest make room. It is unmapped after a
 * second without use, one mapping whenever another is given or a collector gives memory
 * back (mapping_drop_old), and all at once when memory is short or a heap is collected in
 * full. It counts for no domain's limit.
 *
 * Any thread may call all of this. One lock, held for the search of a short array only,
 * never while the system is called.
 */
#ifndef SAROS_RUNTIME_MAPPINGS_H
#define SAROS_RUNTIME_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAPPING_UNIT ((size_t)64 << 10)  /* a multiple of any page's size */
#define MAPPINGS_MOST ((size_t)32 << 20) /* bytes kept that have pages, of all domains */

/* Fresh memory, all zero, aligned to `align` (a power of two); NULL: the system has none,
 * and nothing is kept. */
void *mapping_new(size_t size, size_t align);
/* Fresh memory, all zero, at a multiple of `align`, a power of two of more than `size` bytes; as a
 * rule nothing else lies before the next multiple, so that it can be extended. NULL: as above. */
void *mapping_new_begin(size_t size, size_t align);
/* Makes it longer where it is; what is added is zero. False: something lies there, or there is no
 * memory, and it is unchanged. */
bool mapping_extend(void *mapping, size_t old, size_t size);
/* The same as mapping_new for what will be touched from its start on and mostly filled: of huge pages as
 * far as it has them and the system has some at hand, which cost an eighth of small
 * ones. */
void *mapping_new_prefer_huge(size_t size);
/* Have touches of huge pages been fast lately? If not, mapping_new_huge gives none. */
bool mapping_huge_at_hand(void);
/* The same, aligned to its size: one huge page of `size` bytes, where the system has one
 * at hand. Its first byte is touched. NULL also where huge pages have been slow
 * lately. */
void *mapping_new_huge(size_t size);
/* The same, and all of it is present, in small pages where there are no huge ones: for the thread
 * that keeps such ready (mapping_ahead.h). NULL: the system has no memory. */
void *mapping_new_present(void);
/* From now on (or no more) that thread finds out whether huge pages are at hand: others touch one
 * themselves only if its last ones were. */
void mapping_huge_is_known(bool known);
/* Changes its size, in place or elsewhere; what is added is zero. NULL: no memory, and it
 * is unchanged. */
void *mapping_resize(void *mapping, size_t old, size_t size);
/* The same without huge pages; old and size are multiples of a page (mapping_round). */
void *mapping_move(void *mapping, size_t old, size_t size);
/* The bytes of whole pages, whatever size these have. */
static inline size_t mapping_round(size_t size) {
  return (size + MAPPING_UNIT - 1) & ~(MAPPING_UNIT - 1);
}
/* A kept mapping of `least` to `most` bytes, aligned to `align`; the last one
 * that was given. Its contents are what they were. *size: its bytes. NULL: none. */
void *mapping_take(size_t least, size_t most, size_t align, size_t *size);
/* *touched: its bytes that have pages, as they were given. */
void *mapping_take_touched(size_t least, size_t most, size_t align, size_t *size,
                           size_t *touched);
/* A kept mapping resized to `size`, or NULL: when much is kept and none fits. Strings
 * that grow piece by piece touch little fresh memory then. Its first bytes keep their
 * contents. */
void *mapping_adapt(size_t size);
/* Keeps it, or unmaps it if it is bigger than all that is kept may be. */
void mapping_give(void *mapping, size_t size);
/* The same where only `touched` bytes of it have pages, which is what the bound counts: the first
 * chunk of a state that did little. */
void mapping_give_touched(void *mapping, size_t size, size_t touched);
void mapping_unmap(void *mapping, size_t size);
/* Unmaps one that was not used for a second. */
void mapping_drop_old(void);
void mapping_drop_all(void);
/* A part of memory of some use: `bytes` from p on. */
typedef void MemoryPart(void *context, const void *p, size_t bytes);
/* Calls `part` for each mapping that is kept, under the lock. */
void mapping_each_kept(MemoryPart *part, void *context);
/* Bytes that are kept. */
size_t mapping_kept(void);
/* Prefers huge pages in a fresh mapping that is aligned to them, and touches its first
 * byte: touching a byte of one touches all of it. False: they have been slow lately,
 * pages are small. */
bool mapping_prefer_huge(void *mapping, size_t size);
/* Undoes that before pages are given back: the system would fill the free parts of a huge
 * page. */
void mapping_refuse_huge(void *mapping, size_t size);
#define MAPPING_HUGE_PAGE ((size_t)2 << 20)
/* ns of the clock for ages: monotonic, cheap, exact to some milliseconds. */
uint64_t mapping_now(void);

/* Around a fork: the child can use it. */
void mapping_lock(void);
void mapping_unlock(void);

#endif
