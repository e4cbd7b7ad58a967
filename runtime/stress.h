/* SPDX-License-Identifier: MIT */
/* runtime/stress.h: what a build with --enable-stress does on purpose (SAROS_STRESS).
 * Other builds have nothing of it.
 *
 *   - Each gc_check collects (gc.c), unless stress_collect turned that off.
 *   - Stacks move to new addresses at each check for room (func.c), so at each call.
 *   - New keys rehash their table (table.c); buckets of the intern table are added
 *     and merged all the time (str.c).
 *   - All but small objects are malloc's (heap.h), buffers and arrays start as small
 *     as can be: AddressSanitizer finds what is used after it was given back, or beyond
 *     its end.
 *   - Allocations fail at will: the n-th from stress_fail on, or all from the n-th on;
 *     the environment variable SAROS_STRESS_FAIL=n asks for the n-th of the process.
 *   - Records of the collector (gc_overflow.c) fail: each n-th from stress_fail_records
 *     on; SAROS_STRESS_RECORDS=n asks for it from the beginning.
 *
 * One process, one count: which allocation is the n-th depends on how threads take turns.
 */
#ifndef SAROS_RUNTIME_STRESS_H
#define SAROS_RUNTIME_STRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef SAROS_STRESS

/* To be called before memory is requested: must this allocation fail? */
bool stress_allocation_fails(void);
/* The n-th allocation from now on fails, n >= 1, and with `all` every later one too; 0:
 * none does. */
void stress_fail(uint64_t n, bool all);
/* The number of allocations since the last stress_fail; whether one failed. */
uint64_t stress_allocations(void);
bool stress_has_failed(void);
/* Must this record fail? Each n-th does; 0: none. */
bool stress_record_fails(void);
void stress_fail_records(uint64_t n);
/* No allocation counts or fails between the two. */
void stress_pause(void);
void stress_resume(void);
/* Whether each gc_check collects; it does at first. */
void stress_collect(bool on);
bool stress_collects(void);

#else

static inline bool stress_allocation_fails(void) { return false; }
static inline bool stress_record_fails(void) { return false; }

#endif
#endif
