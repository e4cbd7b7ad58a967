/* SPDX-License-Identifier: MIT */
/* runtime/mapping_ahead.h: huge pages that a thread makes present before a heap grows.
 *
 * The first touch of a huge page takes 0.1 to 0.2 ms, and 2 to 10 ms on a virtual machine whose
 * host has yet to provide the memory. A program that touches it waits for that long at once. So
 * heaps that have grown large take pages that a thread has touched before: it keeps a few ready,
 * for all heaps of the process together. A heap that finds none goes on with small pages; it never
 * waits.
 *
 * The thread is there while a heap uses it: it is started for the first one and joined when the
 * last one ends. There is none where the process may use one processor only, since it would
 * be in the way there, and none in the child of a fork, which has the pages that were ready. It
 * blocks all signals but those of faults.
 *
 * Touching by stores, not by madvise: that would hold the lock of all mappings meanwhile, and
 * the program would wait for it in each mmap and munmap.
 *
 * Any thread may call all of this.
 */
#ifndef SAROS_RUNTIME_MAPPING_AHEAD_H
#define SAROS_RUNTIME_MAPPING_AHEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "mappings.h"

#define MAPPING_AHEAD_MOST 4u /* pages that are kept ready */

/* One more heap uses the thread. False: there is none, and mapping_ahead_end is not to be
 * called. */
bool mapping_ahead_begin(void);
/* One heap less; with the last one the thread ends and what is ready is given back. */
void mapping_ahead_end(void);
/* MAPPING_HUGE_PAGE bytes of zero, present and aligned to their size; NULL: none are ready. From
 * now on `most` are kept ready. */
void *mapping_ahead_take(uint32_t most);
/* Gives back what is ready; more is made ready when a heap takes one again. */
void mapping_ahead_drop(void);
/* Calls `part` for each page that is ready, under the lock. */
void mapping_ahead_each(MemoryPart *part, void *context);

#endif
