/* SPDX-License-Identifier: MIT */
/* runtime/stress.h: what a build with --enable-stress does on purpose (SAROS_STRESS).
 * Other builds do none of it.
 *
 *   - Each gc_check collects, for half of each round of 1,024; in the other half one in
 *     64 begins a collection, in short pieces (gc.c). stress_collect turns that off.
 *   - Stacks move to new addresses at each check for room (thread.c), so at each call.
 *   - New keys rehash their table (table.c); buckets of the intern table are added
 *     and merged all the time (str.c).
 *   - All but small objects are malloc'ed (heap.h), and buffers and arrays start as small
 *     as possible, so that AddressSanitizer finds uses after free and out of bounds.
 *   - Allocations fail at will: the n-th from stress_fail on, or all from the n-th on;
 *     the environment variable SAROS_STRESS_FAIL=n makes the n-th of the process fail.
 *   - Records of the collector (gc_overflow.c) fail: each n-th from stress_fail_records
 *     on; SAROS_STRESS_RECORDS=n does the same from the beginning.
 *
 * There is one count for the process, so which allocation is the n-th depends on the
 * order in which threads run.
 */
#ifndef SAROS_RUNTIME_STRESS_H
#define SAROS_RUNTIME_STRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef SAROS_STRESS

/* Tells whether this allocation must fail. To be called before memory is requested. */
bool stress_allocation_fails(void);
/* Makes the n-th allocation from now on fail, and with `all` every later one, too. With n
 * = 0, none fails. */
void stress_fail(uint64_t n, bool all);
/* Returns the number of allocations since the last stress_fail; stress_has_failed returns
 * whether one failed. */
uint64_t stress_allocations(void);
bool stress_has_failed(void);
/* Tells whether this record must fail. stress_fail_records makes each n-th record fail,
 * or none if n is 0. */
bool stress_record_fails(void);
void stress_fail_records(uint64_t n);
/* Suspends counting and failing of allocations until stress_resume. */
void stress_pause(void);
void stress_resume(void);
/* Sets whether each gc_check collects, as at first; stress_collects returns it. */
void stress_collect(bool on);
bool stress_collects(void);

#else

static inline bool stress_allocation_fails(void) { return false; }
static inline bool stress_record_fails(void) { return false; }

#endif
#endif
