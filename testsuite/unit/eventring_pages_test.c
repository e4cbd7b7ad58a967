/* SPDX-License-Identifier: MIT */
/* eventring_pages_test.c: which pages take memory (producer/pages.c), by each way of
   finding this out. */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "eventring/footprint.h"
#include "eventring_common.h"
#include "producer/pages.h"

enum { PAGES = 3000 }; /* more than one request covers */

static struct eventring_pages pages;
static char *memory;

static char *page(size_t i) { return memory + i * pages.size; }

/* Makes memory of which the first third is read, every other page of the second third is
   written, and the last third is not touched. */
static void make_memory(void) {
  volatile char sum = 0;
  memory = mmap(NULL, PAGES * pages.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                -1, 0);
  assert_ptr_not_equal(memory, MAP_FAILED);
  assert_int_equal(madvise(memory, PAGES * pages.size, MADV_NOHUGEPAGE), 0);
  for (size_t i = 0; i < PAGES / 3; i++) sum += *page(i);
  (void)sum;
  for (size_t i = PAGES / 3; i < 2 * PAGES / 3; i += 2) page(i)[i % 4000] = 1;
}

static bool is_written(size_t i) {
  return i >= PAGES / 3 && i < 2 * PAGES / 3 && (i - PAGES / 3) % 2 == 0;
}

static int set_up(void **state) {
  eventring_pages_open(&pages);
  make_memory();
  return 0;
}

static int tear_down(void **state) {
  if (memory) munmap(memory, PAGES * pages.size);
  eventring_pages_close(&pages);
  return 0;
}

/* Selects one way of finding out; skips the test if the system does not have it. */
static void ask_in(enum evr_pages_how how) {
  unsigned char there[1];
  if (pages.pagemap < 0) skip();
  pages.how = how;
  eventring_pages_there(&pages, memory, 1, there);
  if (pages.how != how) skip();
}

static void check_each_page(void) {
  unsigned char there[PAGES];
  size_t first = 5;
  memset(there, 9, sizeof there);
  eventring_pages_there(&pages, page(first), PAGES - first, there);
  for (size_t i = first; i < PAGES; i++)
    if (there[i - first] != is_written(i)) fail_msg("page %zu: %d", i, there[i - first]);
}

static void check_amounts(void) {
  uint64_t size = pages.size;
  assert_int_equal(eventring_pages_resident(&pages, memory, PAGES * size), PAGES / 6 * size);
  assert_int_equal(eventring_pages_resident(&pages, page(PAGES / 3) + 100, 50), 50);
  assert_int_equal(eventring_pages_resident(&pages, page(PAGES / 3) + 100, 2 * size), size);
  assert_int_equal(eventring_pages_resident(&pages, page(PAGES / 3 - 1) + 100, size), 100);
  assert_int_equal(eventring_pages_resident(&pages, page(7), 0), 0);
}

static void a_scan_knows_pages_of_zeros(void **state) {
  ask_in(EVR_PAGES_SCAN);
  check_each_page();
  check_amounts();
}

static void entries_know_pages_of_zeros(void **state) {
  ask_in(EVR_PAGES_ENTRIES);
  check_each_page();
  check_amounts();
}

/* Checks that memory shared with a child counts as taken. */
static void forks_change_nothing(void **state) {
  static const enum evr_pages_how ways[] = {EVR_PAGES_SCAN, EVR_PAGES_ENTRIES};
  int child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  assert_true(child > 0);
  for (size_t i = 0; i < 2 && pages.pagemap >= 0; i++) {
    pages.how = ways[i];
    check_each_page();
    check_amounts();
    if (pages.how == EVR_PAGES_MINCORE) break;
  }
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
}

static void pages_need_not_be_readable(void **state) {
  static const enum evr_pages_how ways[] = {EVR_PAGES_SCAN, EVR_PAGES_ENTRIES};
  if (pages.pagemap < 0) skip();
  assert_int_equal(mprotect(memory, PAGES * pages.size, PROT_NONE), 0);
  for (size_t i = 0; i < 2; i++) {
    pages.how = ways[i];
    uint64_t resident = eventring_pages_resident(&pages, memory, PAGES * pages.size);
    if (pages.how == ways[i]) assert_int_equal(resident, PAGES / 6 * pages.size);
  }
}

/* Checks mincore, the last way: without /proc, pages that were read count, too. */
static void mincore_is_the_last_way(void **state) {
  unsigned char there[PAGES];
  close(pages.pagemap);
  pages.pagemap = open("/dev/null", O_RDONLY | O_CLOEXEC);
  pages.how = EVR_PAGES_SCAN;
  eventring_pages_there(&pages, memory, PAGES, there);
  assert_int_equal(pages.how, EVR_PAGES_MINCORE);
  for (size_t i = 0; i < PAGES; i++)
    if (there[i] != (i < PAGES / 3 || is_written(i))) fail_msg("page %zu: %d", i, there[i]);
}

static void what_is_not_mapped_counts(void **state) {
  size_t size = PAGES * pages.size;
  pages.how = EVR_PAGES_MINCORE;
  munmap(memory, size);
  assert_int_equal(eventring_pages_resident(&pages, memory, size), size);
  memory = NULL;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_scan_knows_pages_of_zeros, set_up, tear_down),
      cmocka_unit_test_setup_teardown(entries_know_pages_of_zeros, set_up, tear_down),
      cmocka_unit_test_setup_teardown(forks_change_nothing, set_up, tear_down),
      cmocka_unit_test_setup_teardown(pages_need_not_be_readable, set_up, tear_down),
      cmocka_unit_test_setup_teardown(mincore_is_the_last_way, set_up, tear_down),
      cmocka_unit_test_setup_teardown(what_is_not_mapped_counts, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
