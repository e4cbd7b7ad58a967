/* SPDX-License-Identifier: MIT */
/* runtime/stress.c: the switches of a stress build (design: stress.h). */
#include "stress.h"

#ifdef SAROS_STRESS

#include <stdatomic.h>
#include <stdlib.h>

/* Atomic only because threads share them: the counts are exact only if a single thread
 * allocates. */
static _Atomic uint64_t count, first_to_fail;
static _Atomic bool fail_all, has_failed, calm;
static _Atomic int paused;
static _Atomic uint64_t records, failing_record;

static __attribute__((constructor)) void read_environment(void) {
  const char *n = secure_getenv("SAROS_STRESS_FAIL");
  if (n != NULL) stress_fail(strtoull(n, NULL, 10), false);
  const char *record = secure_getenv("SAROS_STRESS_RECORDS");
  if (record != NULL) stress_fail_records(strtoull(record, NULL, 10));
}

bool stress_allocation_fails(void) {
  if (paused != 0) return false;
  uint64_t number = ++count;
  if (first_to_fail == 0 || number < first_to_fail || (number > first_to_fail && !fail_all))
    return false;
  has_failed = true;
  return true;
}

void stress_fail(uint64_t n, bool all) {
  count = 0;
  has_failed = false;
  fail_all = all;
  first_to_fail = n;
}

bool stress_record_fails(void) {
  uint64_t each = failing_record;
  return each != 0 && ++records % each == 0;
}

void stress_fail_records(uint64_t n) { failing_record = n; }

uint64_t stress_allocations(void) { return count; }
bool stress_has_failed(void) { return has_failed; }
void stress_pause(void) { paused++; }
void stress_resume(void) { paused--; }
void stress_collect(bool on) { calm = !on; }
bool stress_collects(void) { return !calm; }

#endif
