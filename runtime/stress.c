/* SPDX-License-Identifier: MIT */
/* runtime/stress.c: the switches of a stress build (design: stress.h). */
#include "stress.h"

#ifdef SAROS_STRESS

#include <stdlib.h>

/* Atomic only because threads share them: the counts are exact only if a single thread
 * allocates. */
static uint64_t count, first_to_fail;
static bool fail_all, has_failed, calm;
static int paused;
static uint64_t records, failing_record;

#define get(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define set(x, value) __atomic_store_n(&(x), value, __ATOMIC_RELAXED)
#define add(x, n) __atomic_add_fetch(&(x), n, __ATOMIC_RELAXED)

static __attribute__((constructor)) void read_environment(void) {
  const char *n = secure_getenv("SAROS_STRESS_FAIL");
  if (n != NULL) stress_fail(strtoull(n, NULL, 10), false);
  const char *record = secure_getenv("SAROS_STRESS_RECORDS");
  if (record != NULL) stress_fail_records(strtoull(record, NULL, 10));
}

bool stress_allocation_fails(void) {
  if (get(paused) != 0) return false;
  const uint64_t number = add(count, 1), first = get(first_to_fail);
  if (first == 0 || number < first || (number > first && !get(fail_all))) return false;
  set(has_failed, true);
  return true;
}

void stress_fail(uint64_t n, bool all) {
  set(count, 0);
  set(has_failed, false);
  set(fail_all, all);
  set(first_to_fail, n);
}

bool stress_record_fails(void) {
  const uint64_t each = get(failing_record);
  return each != 0 && add(records, 1) % each == 0;
}

void stress_fail_records(uint64_t n) { set(failing_record, n); }

uint64_t stress_allocations(void) { return get(count); }
bool stress_has_failed(void) { return get(has_failed); }
void stress_pause(void) { add(paused, 1); }
void stress_resume(void) { add(paused, -1); }
void stress_collect(bool on) { set(calm, !on); }
bool stress_collects(void) { return !get(calm); }

#endif
