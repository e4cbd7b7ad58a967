/* SPDX-License-Identifier: MIT */
/* testsuite/unit/mappings_test.c: mappings that are kept for their next use, and the
 * domains that get them. */
#include <pthread.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "cases.h"
#include "mappings.h"

#define UNIT ((size_t)64 << 10)
#define CHUNK ((size_t)1 << 20)

static int tear_down(void **state) {
  mapping_drop_all();
  return mapping_kept() + mapping_emptied() == 0 ? 0 : -1;
}

static void fresh_ones_are_zero_and_aligned(void **state) {
  char *p[8];
  for (int i = 0; i < 8; i++) {
    p[i] = mapping_new(CHUNK, CHUNK);
    assert_non_null(p[i]);
    assert_int_equal((uintptr_t)p[i] % CHUNK, 0);
    assert_int_equal(p[i][0] | p[i][CHUNK - 1], 0);
    memset(p[i], 1, CHUNK);
  }
  for (int i = 0; i < 8; i++) mapping_unmap(p[i], CHUNK);
  assert_int_equal(mapping_kept(), 0);
}

/* Finds the line "VmFlags" of the mapping that holds `p`, in /proc/self/smaps. Returns
   false if it is not found. */
static bool flags_of(const void *p, char *flags, size_t size) {
  FILE *f = fopen("/proc/self/smaps", "r");
  bool inside = false, found = false;
  while (f != NULL && !found && fgets(flags, (int)size, f) != NULL) {
    uintptr_t from, to;
    if (sscanf(flags, "%" SCNxPTR "-%" SCNxPTR, &from, &to) == 2)
      inside = (uintptr_t)p >= from && (uintptr_t)p < to;
    else found = inside && strncmp(flags, "VmFlags:", 8) == 0;
  }
  if (f != NULL) fclose(f);
  return found;
}

/* Checks that huge pages are advised for the first touch alone. If the advice stayed, the
   system would fill up a huge page after a part of it was given back. */
static void huge_pages_are_preferred_for_the_first_touch_alone(void **state) {
  char flags[512];
  char *p = mapping_new_huge(MAPPING_HUGE_PAGE);
  assert_non_null(p);
  assert_int_equal((uintptr_t)p % MAPPING_HUGE_PAGE, 0);
  assert_int_equal(p[0] | p[MAPPING_HUGE_PAGE - 1], 0);
  if (flags_of(p, flags, sizeof flags)) assert_null(strstr(flags, " hg"));
  mapping_unmap(p, MAPPING_HUGE_PAGE);

  p = mapping_new_prefer_huge(2 * MAPPING_HUGE_PAGE);
  assert_non_null(p);
  assert_int_equal((uintptr_t)p % MAPPING_HUGE_PAGE, 0);
  mapping_refuse_huge(p, 2 * MAPPING_HUGE_PAGE);
  if (flags_of(p, flags, sizeof flags)) assert_null(strstr(flags, " hg"));
  mapping_unmap(p, 2 * MAPPING_HUGE_PAGE);
}

static void the_last_given_is_taken_first(void **state) {
  size_t size = 0;
  char *a = mapping_new(3 * UNIT, UNIT), *b = mapping_new(3 * UNIT, UNIT);
  memset(a, 'a', 3 * UNIT);
  memset(b, 'b', 3 * UNIT);
  mapping_give(a, 3 * UNIT);
  mapping_give(b, 3 * UNIT);
  assert_int_equal(mapping_kept(), 6 * UNIT);
  assert_ptr_equal(mapping_take(2 * UNIT, 3 * UNIT, 1, &size), b);
  assert_int_equal(size, 3 * UNIT);
  assert_int_equal(b[3 * UNIT - 1], 'b');
  assert_ptr_equal(mapping_take(3 * UNIT, 3 * UNIT, 1, &size), a);
  assert_int_equal(a[0], 'a');
  assert_int_equal(mapping_kept(), 0);
  mapping_unmap(a, 3 * UNIT);
  mapping_unmap(b, 3 * UNIT);
}

/* Checks that the mapping nearest in size is made larger or smaller to fit, and only if
   much of it is kept. */
static void one_is_made_to_fit(void **state) {
  size_t size;
  char *small = mapping_new(8 * UNIT, 1), *large = mapping_new(16 * UNIT, 1);
  memset(small, 's', 8 * UNIT);
  memset(large, 'l', 16 * UNIT);
  mapping_give(small, 8 * UNIT);
  assert_null(mapping_adapt(9 * UNIT)); /* too little is kept */
  mapping_give(large, 16 * UNIT);
  assert_null(mapping_adapt(13 * UNIT));
  char *grown = mapping_adapt(9 * UNIT);
  assert_non_null(grown);
  assert_int_equal(grown[0], 's');
  memset(grown, 'g', 9 * UNIT);
  assert_int_equal(mapping_kept(), 16 * UNIT);
  char *cut = mapping_adapt(5 * UNIT);
  assert_non_null(cut);
  assert_int_equal(cut[5 * UNIT - 1], 'l');
  assert_int_equal(mapping_kept(), 0);
  mapping_give(cut, 5 * UNIT);
  assert_ptr_equal(mapping_take(5 * UNIT, 5 * UNIT, 1, &size), cut);
  mapping_give(grown, 9 * UNIT);
  mapping_give(cut, 5 * UNIT);
  assert_null(mapping_adapt(19 * UNIT)); /* all mappings are far too small */
}

static void only_what_fits_is_taken(void **state) {
  size_t size;
  char *chunk = mapping_new(CHUNK, CHUNK), *odd = (char *)mapping_new(CHUNK + UNIT, CHUNK) + UNIT;
  mapping_unmap(odd - UNIT, UNIT);
  mapping_give(chunk, CHUNK);
  mapping_give(odd, CHUNK);
  assert_null(mapping_take(CHUNK + 1, 4 * CHUNK, 1, &size));
  assert_null(mapping_take(UNIT, CHUNK - 1, 1, &size));
  assert_ptr_equal(mapping_take(CHUNK, CHUNK, CHUNK, &size), chunk);
  assert_null(mapping_take(CHUNK, CHUNK, CHUNK, &size));
  assert_int_equal(mapping_kept(), CHUNK);
  mapping_unmap(chunk, CHUNK);
}

static void what_is_kept_is_bounded(void **state) {
  size_t size;
  for (size_t i = 0; i < 2 * MAPPINGS_MOST / CHUNK; i++) {
    char *p = mapping_new(CHUNK, 1);
    p[0] = (char)i;
    mapping_give(p, CHUNK);
    assert_true(mapping_kept() <= MAPPINGS_MOST);
  }
  assert_int_equal(mapping_kept(), MAPPINGS_MOST);
  /* the oldest mappings made room */
  for (size_t i = 2 * MAPPINGS_MOST / CHUNK; i-- > MAPPINGS_MOST / CHUNK;) {
    char *p = mapping_take(CHUNK, CHUNK, 1, &size);
    assert_int_equal(p[0], (char)i);
    mapping_unmap(p, CHUNK);
  }
  assert_int_equal(mapping_kept(), 0);
  mapping_give(mapping_new(MAPPINGS_MOST + UNIT, 1), MAPPINGS_MOST + UNIT);
  assert_int_equal(mapping_kept(), 0);
  for (size_t i = 0; i < 2000; i++) mapping_give(mapping_new(UNIT, 1), UNIT);
  assert_true(mapping_kept() <= MAPPINGS_MOST);
  assert_true(mapping_kept() > UNIT);
  size_t before = mapping_kept();
  mapping_drop_old(); /* no mapping is old */
  assert_int_equal(mapping_kept(), before);
}

/* Checks that the bound counts touched bytes: mappings of states that did little have few
   pages, so that many fit. */
static void the_bound_counts_touched_bytes(void **state) {
  enum { MANY = 1000 };
  const size_t rest = MAPPINGS_MOST - 10 * 4096;
  size_t size, touched;
  for (int i = 0; i < MANY; i++) mapping_give_touched(mapping_new(UNIT, 1), UNIT, 4096);
  assert_int_equal(mapping_kept(), MANY * UNIT);
  char *last = mapping_new(2 * UNIT, 1);
  mapping_give_touched(last, 2 * UNIT, 8192);
  assert_ptr_equal(mapping_take_touched(UNIT, 2 * UNIT, 1, &size, &touched), last);
  assert_int_equal(size, 2 * UNIT);
  assert_int_equal(touched, 8192);
  mapping_unmap(last, 2 * UNIT);
  mapping_give(mapping_new(rest, 1), rest); /* the oldest of the other mappings make
                                               room */
  assert_int_equal(mapping_kept(), rest + 10 * UNIT);
}

/* Keeps a mapping so large that all others are dropped for it, and drops it, too. */
static void push_out(void) {
  size_t size;
  mapping_give(mapping_new(MAPPINGS_MOST, 1), MAPPINGS_MOST);
  assert_int_equal(mapping_kept(), MAPPINGS_MOST);
  mapping_unmap(mapping_take(MAPPINGS_MOST, MAPPINGS_MOST, 1, &size), MAPPINGS_MOST);
}

/* Checks that small mappings with few pages are emptied, and taken again when no other
 * fits: they are zero then. */
static void those_with_few_pages_are_emptied(void **state) {
  size_t size, touched;
  char *few = mapping_new(3 * UNIT, CHUNK), *all = mapping_new(3 * UNIT, CHUNK),
       *large = mapping_new(CHUNK, CHUNK);
  memset(few + UNIT, 'f', 8192);
  mapping_give_touched(few, 3 * UNIT, 8192);
  mapping_give(all, 3 * UNIT);
  mapping_give_touched(large, CHUNK, 8192);
  push_out();
  assert_int_equal(mapping_kept(), 0);
  assert_int_equal(mapping_emptied(), 3 * UNIT);
  assert_null(mapping_take(3 * UNIT, CHUNK, CHUNK, &size)); /* has no pages */
  assert_null(mapping_take_touched(4 * UNIT, CHUNK, CHUNK, &size, &touched));
  char *other = mapping_new(3 * UNIT, CHUNK);
  mapping_give_touched(other, 3 * UNIT, 4096);
  assert_ptr_equal(mapping_take_touched(3 * UNIT, CHUNK, CHUNK, &size, &touched), other);
  assert_int_equal(touched, 4096);
  assert_ptr_equal(mapping_take_touched(3 * UNIT, CHUNK, CHUNK, &size, &touched), few);
  assert_int_equal(size, 3 * UNIT);
  assert_int_equal(touched, 0);
  for (size_t i = 0; i < 3 * UNIT; i++) assert_int_equal(few[i], 0);
  memset(few, 'f', 3 * UNIT);
  mapping_unmap(few, 3 * UNIT);
  mapping_unmap(other, 3 * UNIT);
}

/* Checks that no more addresses are kept than their bound says. */
static void addresses_are_bounded(void **state) {
  for (int i = 0; i < 10000; i++) mapping_give_touched(mapping_new(UNIT, 1), UNIT, 4096);
  push_out();
  assert_true(mapping_emptied() > 4000 * UNIT);
  assert_true(mapping_emptied() <= 8192 * UNIT);
}

static void what_is_not_used_goes(void **state) {
  mapping_give_touched(mapping_new(UNIT, 1), UNIT, 4096);
  push_out();
  assert_int_equal(mapping_emptied(), UNIT);
  for (int i = 0; i < 3; i++) mapping_give(mapping_new(UNIT, 1), UNIT);
  nanosleep(&(struct timespec){.tv_sec = 1, .tv_nsec = 50000000}, NULL);
  mapping_give(mapping_new(CHUNK, 1), CHUNK);
  assert_int_equal(mapping_kept(), CHUNK + 2 * UNIT);
  assert_int_equal(mapping_emptied(), 0);
  for (int i = 0; i < 3; i++) mapping_drop_old();
  assert_int_equal(mapping_kept(), CHUNK);
}


static void those_of_huge_pages_stay_aligned(void **state) {
  char *in_the_way[7], *p = mapping_new_prefer_huge(MAPPING_HUGE_PAGE + UNIT);
  size_t size = MAPPING_HUGE_PAGE + UNIT;
  for (int i = 0;; i++, size *= 2) {
    assert_int_equal((uintptr_t)p % MAPPING_HUGE_PAGE, 0);
    assert_int_equal(p[size - 1], 0);
    p[0] = p[size - 1] = 'x';
    in_the_way[i] = mapping_new(UNIT, 1);
    if (i == 6) break;
    p = mapping_resize(p, size, 2 * size);
    assert_int_equal(p[0] + p[size - 1], 2 * 'x');
    assert_int_equal(p[size], 0);
  }
  char *cut = mapping_resize(p, size, UNIT);
  assert_ptr_equal(cut, p);
  assert_ptr_equal(mapping_resize(cut, UNIT, UNIT), cut);
  mapping_unmap(cut, UNIT);
  for (int i = 0; i < 7; i++) mapping_unmap(in_the_way[i], UNIT);
}

static void small_ones_grow(void **state) {
  char *p = mapping_new_prefer_huge(UNIT);
  for (size_t size = UNIT; size < 4 * MAPPING_HUGE_PAGE; size *= 2) {
    memset(p, 'n', size);
    p = mapping_resize(p, size, 2 * size);
    assert_int_equal(p[size - 1], 'n');
    assert_int_equal(p[size] | p[2 * size - 1], 0);
  }
  mapping_unmap(p, 4 * MAPPING_HUGE_PAGE);
}

static void beginnings_are_extended(void **state) {
  char *p[8];
  for (int i = 0; i < 8; i++) {
    p[i] = mapping_new_begin(3 * UNIT, CHUNK);
    assert_non_null(p[i]);
    assert_int_equal((uintptr_t)p[i] % CHUNK, 0);
    memset(p[i], 1, 3 * UNIT);
  }
  for (int i = 0; i < 8; i++) {
    assert_true(mapping_extend(p[i], 3 * UNIT, CHUNK));
    assert_int_equal(p[i][3 * UNIT - 1], 1);
    assert_int_equal(p[i][3 * UNIT] | p[i][CHUNK - 1], 0);
    mapping_unmap(p[i], CHUNK);
  }
}

/* Checks that the first part of a mapping does not grow over what follows it. */
static void a_beginning_may_be_shut_in(void **state) {
  char *p = mapping_new_begin(3 * UNIT, CHUNK);
  assert_non_null(p);
  char *other = mmap(p + 4 * UNIT, UNIT, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  assert_ptr_equal(other, p + 4 * UNIT);
  other[0] = 2;
  assert_false(mapping_extend(p, 3 * UNIT, CHUNK));
  assert_int_equal(other[0], 2);
  mapping_unmap(other, UNIT);
  mapping_unmap(p, 3 * UNIT);
}

static void *give_and_take(void *result) {
  size_t size;
  for (int i = 0; i < 2000; i++) {
    char *p = mapping_take(UNIT, 2 * UNIT, 1, &size);
    if (p == NULL) p = mapping_new(size = UNIT, 1);
    p[0] = p[size - 1] = (char)i; /* a race, if another thread has the mapping, too */
    mapping_give(p, size);
  }
  *(bool *)result = true;
  return NULL;
}

static void threads_share_them(void **state) {
  pthread_t threads[4];
  bool done[4] = {false};
  for (int i = 0; i < 4; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, give_and_take, &done[i]), 0);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < 4; i++) assert_true(done[i]);
  assert_true(mapping_kept() <= 4 * UNIT);
}

int main(void) {
#define TEST(f) cmocka_unit_test_teardown(f, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(fresh_ones_are_zero_and_aligned),
      TEST(huge_pages_are_preferred_for_the_first_touch_alone),
      TEST(the_last_given_is_taken_first),
      TEST(one_is_made_to_fit),
      TEST(only_what_fits_is_taken),
      TEST(what_is_kept_is_bounded),
      TEST(the_bound_counts_touched_bytes),
      TEST(those_with_few_pages_are_emptied),
      TEST(addresses_are_bounded),
      TEST(what_is_not_used_goes),
      TEST(those_of_huge_pages_stay_aligned),
      TEST(small_ones_grow),
      TEST(beginnings_are_extended),
      TEST(a_beginning_may_be_shut_in),
      TEST(threads_share_them),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
