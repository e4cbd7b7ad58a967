/* SPDX-License-Identifier: MIT */
/* runtime/mapping_ahead.h: huge pages that a thread makes present before a heap grows.
 *
 * The first touch of a huge page takes 0.1 to 0.2 ms, and 2 to 10 ms on a virtual machine
 * whose host has yet to provide the memory. A program that touches it waits all that
 * time. So large heaps take pages that a thread has touched before: the thread keeps a
 * few ready for all heaps of the process together. A heap that finds none ready goes on
 * with small pages; it never waits.
 *
 * The thread runs while a heap uses it: it starts for the first heap and is joined when
 * the last one ends. A process limited to one processor has no such thread, since it
 * would compete with the program. Neither has the child of a fork, which inherits the
 * pages that were ready. The thread blocks all signals but those of faults.
 *
 * The thread touches pages by stores, not by madvise: madvise would hold the lock of all
 * mappings, and each mmap and munmap of the program would wait for it.
 *
 * Any thread may call all of this.
 */
#ifndef SAROS_RUNTIME_MAPPING_AHEAD_H
#define SAROS_RUNTIME_MAPPING_AHEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "mappings.h"

#define MAPPING_AHEAD_MOST 4u /* pages that are kept ready */

/* Counts one more heap that uses the thread. Returns false if there is no thread;
 * mapping_ahead_end must not be called then. */
bool mapping_ahead_begin(void);
/* Counts one heap less. With the last one the thread ends and the ready pages are given
 * back. */
void mapping_ahead_end(void);
/* Returns MAPPING_HUGE_PAGE bytes of zero, present and aligned to their size; NULL if
 * none are ready. From now on `most` pages are kept ready. */
void *mapping_ahead_take(uint32_t most);
/* Gives back the ready pages; more are made ready when a heap takes one again. */
void mapping_ahead_drop(void);
/* Calls `part` for each page that is ready, under the lock. */
void mapping_ahead_each(MemoryPart *part, void *context);

#endif
