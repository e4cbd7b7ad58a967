/* SPDX-License-Identifier: MIT */
/* calls_test.c: the profile of calls (<eventring/calls.h>): its allocator, arrays, tries
   and collector. Long, as a list of small tests of one module. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "calls/collector.h"
#include "calls/inside.h"
#include "calls/lines.h"
#include "calls/segments.h"
#include "eventring/calls.h"

#define BUDGET ((size_t)1 << 20)

/* ---- allocator -------------------------------------------------------------------- */

static void takes_memory_at_first_use(void **state) {
  struct evc_lines lines;
  evc_lines_init(&lines, 4096, 16);
  assert_null(lines.memory);
  assert_non_null(evc_lines_take(&lines));
  assert_non_null(lines.memory);
  evc_lines_end(&lines);
}

static void keeps_its_budget(void **state) {
  struct evc_lines lines;
  evc_lines_init(&lines, 16, 16);
  assert_non_null(evc_lines_take(&lines));
  assert_null(evc_lines_take(&lines));
  evc_lines_end(&lines);
  evc_lines_init(&lines, 4096, 12);
  for (int i = 0; i < 4096 / EVC_LINE; i++) {
    void *block = evc_lines_take(&lines);
    assert_non_null(block);
    assert_int_equal((uintptr_t)block % EVC_LINE, 0);
    memset(block, 255, EVC_LINE);
  }
  assert_null(evc_lines_take(&lines));
  evc_lines_end(&lines);
}

static void takes_from_borrowed_memory(void **state) {
  char *memory = aligned_alloc(4096, 4096);
  struct evc_lines lines;
  for (int round = 0; round < 2; round++) {
    evc_lines_init_in(&lines, memory, 4096, 12);
    int count = 0;
    while (evc_lines_take(&lines)) count++;
    assert_int_equal(count, 4096 / EVC_LINE);
    evc_lines_end(&lines);
  }
  memory[4095] = 1; /* the memory is still there */
  free(memory);
}

static void gives_blocks_again(void **state) {
  struct evc_lines lines;
  evc_lines_init(&lines, 128, 64);
  void *a = evc_lines_take(&lines), *b = evc_lines_take(&lines);
  assert_null(evc_lines_take(&lines));
  evc_lines_give_back(&lines, a);
  assert_ptr_equal(evc_lines_take(&lines), a);
  evc_lines_give_back(&lines, a);
  evc_lines_give_back(&lines, b);
  assert_non_null(evc_lines_take(&lines));
  assert_non_null(evc_lines_take(&lines));
  assert_null(evc_lines_take(&lines));
  evc_lines_end(&lines);
}

/* ---- segmented arrays ------------------------------------------------------------- */

struct pair {
  uint64_t time, node;
};

static void append(struct evc_array *array, uint64_t value) {
  struct pair *element = evc_array_append(array);
  assert_non_null(element);
  *element = (struct pair){value, value * 2};
}

static void appends_and_finds(void **state) {
  struct evc_lines lines;
  struct evc_array array;
  evc_lines_init(&lines, (size_t)16 << 20, 64);
  evc_array_init(&array, &lines, sizeof(struct pair));
  append(&array, 3);
  append(&array, 4);
  assert_int_equal(array.size, 2);
  assert_int_equal(((struct pair *)evc_array_at(&array, 1))->node, 8);
  for (uint64_t i = 2; i < 100; i++) append(&array, i + 3);
  for (uint64_t i = 0; i < 100; i++) {
    assert_int_equal(((struct pair *)evc_array_at(&array, i))->time, i + 3);
    assert_int_equal(((struct pair *)evc_array_at(&array, i))->node, 2 * i + 6);
  }
  assert_null(evc_array_at(&array, 100));
  evc_array_end(&array);
  evc_lines_end(&lines);
}

static void trims_to_empty(void **state) {
  struct evc_lines lines;
  struct evc_array array;
  evc_lines_init(&lines, 16, 16);
  evc_array_init(&array, &lines, sizeof(struct pair));
  append(&array, 1);
  evc_array_trim(&array, 1);
  assert_int_equal(array.size, 0);
  assert_null(evc_array_last(&array));
  append(&array, 2);
  evc_array_trim(&array, 100);
  assert_int_equal(array.size, 0);
  evc_array_trim(&array, 1);
  assert_int_equal(array.size, 0);
  evc_lines_end(&lines);
}

static void has_positions(void **state) {
  struct evc_lines lines;
  struct evc_array array;
  evc_lines_init(&lines, 4096, 64);
  evc_array_init(&array, &lines, sizeof(struct pair));
  struct evc_position begin = evc_array_begin(&array);
  assert_true(evc_position_equal(begin, evc_array_finish(&array)));
  assert_true(evc_position_equal(evc_position_advance(&begin), evc_array_finish(&array)));
  assert_null(evc_position_element(begin));
  append(&array, 5);
  begin = evc_array_begin(&array);
  struct evc_position end = evc_array_finish(&array);
  assert_false(evc_position_equal(begin, end));
  assert_int_equal(((struct pair *)evc_position_element(begin))->time, 5);
  struct evc_position was = evc_position_go_back(&end);
  assert_true(evc_position_equal(was, evc_array_finish(&array)));
  assert_true(evc_position_equal(end, begin));
  assert_int_equal(((struct pair *)evc_position_element(end))->time, 5);
  evc_lines_end(&lines);
}

static void count_down(struct evc_array *array) {
  for (uint64_t i = 128; i >= 1; i--) append(array, i);
  uint64_t expected = 128;
  struct evc_position at = evc_array_begin(array);
  for (struct pair *p; (p = evc_position_element(at)); evc_position_advance(&at))
    assert_int_equal(p->time, expected--);
  for (at = evc_array_finish(array); !evc_position_equal(at, evc_array_begin(array));) {
    evc_position_go_back(&at);
    assert_int_equal(((struct pair *)evc_position_element(at))->time, ++expected);
  }
  assert_int_equal(expected, 128);
  assert_int_equal(((struct pair *)evc_array_last(array))->time, 1);
  evc_array_trim(array, 64);
  assert_int_equal(array->size, 64);
  assert_int_equal(((struct pair *)evc_array_last(array))->time, 65);
  evc_array_trim(array, 64);
  assert_int_equal(array->size, 0);
  assert_true(evc_position_equal(evc_array_begin(array), evc_array_finish(array)));
}

static void uses_segments_again(void **state) {
  struct evc_lines lines;
  struct evc_array array;
  evc_lines_init(&lines, BUDGET, 64);
  evc_array_init(&array, &lines, sizeof(struct pair));
  count_down(&array);
  size_t used = lines.used;
  count_down(&array);
  assert_int_equal(lines.used, used);
  evc_lines_end(&lines);
}

static void stops_when_exhausted(void **state) {
  struct evc_lines lines;
  struct evc_array array;
  evc_lines_init(&lines, 64, 64);
  evc_array_init(&array, &lines, sizeof(struct pair));
  for (uint64_t i = 0; i < 3; i++) append(&array, i);
  assert_null(evc_array_append(&array));
  assert_int_equal(array.size, 3);
  assert_int_equal(((struct pair *)evc_array_last(&array))->time, 2);
  evc_array_trim(&array, 4);
  assert_int_equal(array.size, 0);
  evc_lines_end(&lines);
}

static void use_as_stack(struct evc_array *array) {
  for (uint64_t i = 0; i < 9; i++) {
    append(array, i);
    assert_int_equal(((struct pair *)evc_array_last(array))->time, i);
  }
  for (size_t left = 9; left-- > 0;) {
    assert_int_equal(((struct pair *)evc_array_last(array))->time, left);
    evc_array_trim(array, 1);
    assert_int_equal(array->size, left);
  }
}

static void is_a_stack(void **state) {
  struct evc_lines lines;
  struct evc_array array;
  evc_lines_init(&lines, 4096, 64);
  for (int round = 0; round < 3; round++) { /* made again in the same place */
    evc_array_init(&array, &lines, sizeof(struct pair));
    use_as_stack(&array);
    evc_array_end(&array);
  }
  assert_int_equal(lines.used, 3 * 64);
  evc_lines_end(&lines);
}

static void keeps_pointers(void **state) {
  static int values[1000];
  struct evc_lines lines;
  struct evc_array array;
  evc_lines_init(&lines, 4096, 64);
  evc_array_init(&array, &lines, sizeof(int *));
  size_t count = 0;
  for (int **place; count < 1000 && (place = evc_array_append(&array)); count++)
    *place = &values[count];
  assert_int_equal(count, 64 * 6);
  struct evc_position at = evc_array_begin(&array);
  for (size_t i = 0; i < count; i++, evc_position_advance(&at))
    assert_ptr_equal(*(int **)evc_position_element(at), &values[i]);
  assert_null(evc_position_element(at));
  evc_lines_end(&lines);
}

/* ---- tries ------------------------------------------------------------------------ */

typedef const struct eventring_calls_node Node;

static eventring_calls *begin(uint64_t now) {
  eventring_calls *calls = eventring_calls_new(BUDGET);
  assert_non_null(calls);
  eventring_calls_start(calls, now);
  return calls;
}

static Node *root(const eventring_calls *calls) { return eventring_calls_node_at(calls, 0); }

/* Returns the child of a node with this id, or NULL if it has none. */
static Node *child_of(const eventring_calls *calls, Node *parent, uint64_t id) {
  Node *found = NULL;
  for (size_t i = 1; i < eventring_calls_count(calls); i++) {
    Node *node = eventring_calls_node_at(calls, i);
    if (node->id != id || eventring_calls_node_at(calls, node->parent) != parent) continue;
    assert_null(found);
    found = node;
  }
  return found;
}

/* Returns the exclusive and lost ticks of a node and all below it: parents come before
   their children. */
static uint64_t inclusive_of(const eventring_calls *calls, Node *node) {
  size_t count = eventring_calls_count(calls);
  bool *below = calloc(count, sizeof *below);
  uint64_t sum = 0;
  for (size_t i = 0; i < count; i++) {
    Node *at = eventring_calls_node_at(calls, i);
    below[i] = at == node || (at->parent != EVENTRING_CALLS_ROOT && below[at->parent]);
    if (below[i]) sum += at->exclusive + eventring_calls_lost_below(calls, at).ticks;
  }
  free(below);
  return sum;
}

static Node *child(const eventring_calls *calls, Node *parent, uint64_t id) {
  Node *node = child_of(calls, parent, id);
  assert_non_null(node);
  return node;
}

static uint64_t bucket(const eventring_calls *calls, Node *node, size_t number) {
  uint64_t buckets[EVENTRING_CALLS_BUCKETS];
  evc_histogram(calls, node, buckets);
  return buckets[number];
}

static void expect(const eventring_calls *calls, Node *node, uint64_t count, uint64_t inclusive,
                   uint64_t exclusive) {
  assert_int_equal(node->count, count);
  assert_int_equal(inclusive_of(calls, node), inclusive);
  assert_int_equal(node->exclusive, exclusive);
}

static void counts_a_call(void **state) {
  eventring_calls *c = begin(1);
  assert_int_equal(eventring_calls_count(c), 1);
  eventring_calls_enter(c, 1, 1);
  eventring_calls_exit(c, 1, 2);
  Node *node = child(c, root(c), 1);
  expect(c, node, 1, 1, 1);
  assert_int_equal(node->least, 1);
  assert_int_equal(node->most, 1);
  assert_int_equal(bucket(c, node, 0), 1);
  assert_int_equal(eventring_calls_count(c), 2);
  eventring_calls_free(c);
}

/* Checks a clock that passes 2^64. */
static void clocks_may_wrap(void **state) {
  eventring_calls *c = begin(UINT64_MAX);
  eventring_calls_enter(c, 1, UINT64_MAX);
  eventring_calls_exit(c, 1, 1);
  expect(c, child(c, root(c), 1), 1, 2, 2);
  assert_int_equal(c->backwards, 0);
  eventring_calls_free(c);
}

static void clocks_may_go_back(void **state) {
  eventring_calls *c = begin(1);
  eventring_calls_enter(c, 1, 1);
  eventring_calls_exit(c, 1, 0);
  Node *node = child(c, root(c), 1);
  expect(c, node, 1, 0, 0);
  assert_int_equal(node->least, 0);
  assert_int_equal(c->backwards, 1);
  eventring_calls_free(c);
}

static void exits_without_entry_change_nothing(void **state) {
  eventring_calls *c = begin(0);
  eventring_calls_exit(c, 1, 1);
  assert_int_equal(eventring_calls_count(c), 1);
  eventring_calls_enter(c, 2, 1);
  eventring_calls_enter(c, 3, 2);
  eventring_calls_exit(c, 1, 3);
  assert_int_equal(eventring_calls_count(c), 3);
  assert_int_equal(evc_depth(c), 2);
  expect(c, child(c, root(c), 2), 1, 2, 1);
  eventring_calls_free(c);
}

/* Checks that roots are found again. */
static void has_several_roots(void **state) {
  eventring_calls *c = begin(0);
  uint64_t now = 0;
  for (int i = 0; i < 1000; i++)
    for (uint64_t id = 1; id <= 2; id++) {
      eventring_calls_enter(c, id, now++);
      eventring_calls_exit(c, id, now++);
    }
  assert_int_equal(eventring_calls_count(c), 3);
  expect(c, child(c, root(c), 1), 1000, 1000, 1000);
  expect(c, child(c, root(c), 2), 1000, 1000, 1000);
  assert_int_equal(root(c)->exclusive, 1999);
  eventring_calls_free(c);
}

static void settles_missing_exits(void **state) {
  eventring_calls *c = begin(0);
  eventring_calls_enter(c, 1, 0);
  eventring_calls_enter(c, 2, 100);
  eventring_calls_enter(c, 3, 200);
  eventring_calls_exit(c, 3, 300);
  eventring_calls_exit(c, 1, 400);
  Node *one = child(c, root(c), 1), *two = child(c, one, 2), *three = child(c, two, 3);
  expect(c, one, 1, 400, 100);
  expect(c, two, 1, 300, 200);
  expect(c, three, 1, 100, 100);
  assert_int_equal(two->most, 300);
  assert_int_equal(evc_depth(c), 0);
  eventring_calls_free(c);
}

static void unwinds_deep_stacks(void **state) {
  eventring_calls *c = begin(0);
  for (uint64_t i = 1; i <= 1000; i++) eventring_calls_enter(c, i, i);
  assert_int_equal(evc_depth(c), 1000);
  eventring_calls_exit(c, 1, 2000);
  assert_int_equal(evc_depth(c), 0);
  Node *node = root(c);
  for (uint64_t i = 1; i <= 1000; i++) {
    node = child(c, node, i);
    assert_int_equal(node->count, 1);
    assert_int_equal(node->most, 2000 - i);
    assert_int_equal(node->exclusive, i < 1000 ? 1 : 1000);
  }
  eventring_calls_free(c);
}

static void finds_many_children(void **state) {
  eventring_calls *c = begin(0);
  uint64_t now = 0;
  eventring_calls_enter(c, 7, now);
  for (int round = 0; round < 5; round++)
    for (uint64_t id = 100; id < 1100; id++) {
      eventring_calls_enter(c, id, now++);
      eventring_calls_exit(c, id, now++);
    }
  Node *parent = child(c, root(c), 7);
  for (uint64_t id = 100; id < 1100; id++) expect(c, child(c, parent, id), 5, 5, 5);
  assert_null(child_of(c, parent, 99));
  assert_int_equal(eventring_calls_count(c), 1002);
  eventring_calls_free(c);
}

static void enters_what_began_before(void **state) {
  eventring_calls *c = begin(1000);
  for (uint64_t i = 1; i <= 100; i++)
    eventring_calls_enter_as(c, i, 1000, EVENTRING_CALLS_ENTER_OPEN);
  eventring_calls_enter(c, 101, 1010);
  for (uint64_t i = 101; i >= 1; i--) eventring_calls_exit(c, i, 1020);
  Node *node = root(c);
  for (uint64_t i = 1; i <= 100; i++) {
    node = child(c, node, i);
    assert_int_equal(eventring_calls_rest_of(c, node)->open, 1);
    assert_int_equal(node->most, 0);
    expect(c, node, 0, 20, i == 100 ? 10 : 0);
  }
  expect(c, child(c, node, 101), 1, 10, 10);
  eventring_calls_free(c);
}

static void has_a_histogram(void **state) {
  static const struct { uint64_t ticks; unsigned bucket; } cases[] = {
    {0, 0}, {127, 0}, {128, 1}, {255, 1}, {256, 2}, {1u << 20, 14},
    {((uint64_t)1 << 30) - 1, 23}, {(uint64_t)1 << 30, 24}, {(uint64_t)1 << 50, 24}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    eventring_calls *c = begin(0);
    eventring_calls_enter(c, 1, 0);
    eventring_calls_exit(c, 1, cases[i].ticks);
    for (unsigned k = 0; k < EVENTRING_CALLS_BUCKETS; k++)
      assert_int_equal(bucket(c, child(c, root(c), 1), k), k == cases[i].bucket);
    eventring_calls_free(c);
  }
}

/* Checks that a full bucket of a node is carried, and that copies keep everything. */
static void full_buckets_are_carried(void **state) {
  enum { CALLS = 3 * 65536 + 5 };
  uint64_t buckets[EVENTRING_CALLS_BUCKETS];
  eventring_calls *c = begin(0), *into = begin(0);
  for (int i = 0; i < CALLS; i++) {
    eventring_calls_enter(c, 1, 0);
    eventring_calls_exit(c, 1, 0);
  }
  eventring_calls_enter(c, 1, 0);
  eventring_calls_exit(c, 1, 1024);
  for (int i = 0; i < 2; i++) assert_true(evc_merge(into, c));
  evc_histogram(c, child(c, root(c), 1), buckets);
  assert_int_equal(buckets[0], CALLS);
  assert_int_equal(buckets[4], 1);
  evc_histogram(into, child(into, root(into), 1), buckets);
  assert_int_equal(buckets[0], 2 * CALLS);
  assert_int_equal(buckets[4], 2);
  eventring_calls_free(c);
  eventring_calls_free(into);
}

/* Checks that all buckets are halved if there is no memory for a carry. */
static void full_buckets_are_halved(void **state) {
  /* the profile has room for the carry of some nodes */
  eventring_calls *c = eventring_calls_new(1);
  uint64_t buckets[EVENTRING_CALLS_BUCKETS];
  eventring_calls_start(c, 0);
  for (uint64_t id = 1; id <= 40; id++)
    for (int i = 0; i < 65536 + 10; i++) {
      eventring_calls_enter(c, id, 0);
      eventring_calls_exit(c, id, i < 65536 ? 0 : 128);
    }
  evc_histogram(c, child(c, root(c), 1), buckets);
  assert_int_equal(buckets[0], 65536);
  evc_histogram(c, child(c, root(c), 40), buckets);
  assert_int_equal(buckets[0], 32768);
  assert_int_equal(child(c, root(c), 40)->count, 65536 + 10);
  eventring_calls_free(c);
}

/* ---- recursion -------------------------------------------------------------------- */

/* Checks that recursion makes two nodes, however deep it is: the second has all recursive
   calls, with their time counted once. */
static void recursion_has_two_nodes(void **state) {
  enum { DEEP = 200000 };
  eventring_calls *c = eventring_calls_new((size_t)16 << 20);
  eventring_calls_start(c, 0);
  uint64_t now = 0;
  for (int i = 0; i < DEEP; i++) eventring_calls_enter(c, 1, now++);
  eventring_calls_enter(c, 2, now++);
  assert_int_equal(evc_depth(c), DEEP + 1);
  assert_int_equal(c->stack->unpushed, 0);
  eventring_calls_exit(c, 2, now++);
  for (int i = 0; i < DEEP; i++) eventring_calls_exit(c, 1, now++);
  assert_int_equal(eventring_calls_count(c), 4);
  Node *first = child(c, root(c), 1), *second = child(c, first, 1);
  expect(c, first, 1, now - 1, 2);
  expect(c, second, DEEP - 1, now - 3, now - 4);
  expect(c, child(c, second, 2), 1, 1, 1);
  assert_int_equal(first->least, now - 1);
  assert_int_equal(second->most, now - 3);
  assert_int_equal(second->least, 3);
  assert_int_equal(evc_depth(c), 0);
  assert_true(evc_used(c) <= (size_t)16 << 20);
  eventring_calls_free(c);
}

/* Checks recursion through other functions: 1 enters 2 or 3, each of which enters 1 or
   ends. */
static void mutual_recursion_has_few_nodes(void **state) {
  eventring_calls *c = begin(0), *into = begin(0);
  uint64_t now = 0, calls = 0, counts[4] = {0}, random = 1;
  uint64_t open[1000];
  size_t depth = 0;
  for (int i = 0; i < 100000; i++) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    if (depth > 0 && (depth == 1000 || random >> 63)) {
      eventring_calls_exit(c, open[--depth], now++);
      continue;
    }
    uint64_t id = depth % 2 == 0 ? 1 : 2 + (random >> 40) % 2;
    eventring_calls_enter(c, id, now++);
    open[depth++] = id;
    counts[id]++;
    calls++;
  }
  while (depth > 0) eventring_calls_exit(c, open[--depth], now++);
  assert_int_equal(inclusive_of(c, root(c)), now - 1);
  assert_true(eventring_calls_count(c) < 20);
  for (int round = 0; round < 2; round++) assert_true(evc_merge(into, c));
  assert_int_equal(eventring_calls_count(into), eventring_calls_count(c));
  uint64_t sums[4] = {0};
  for (size_t i = 1; i < eventring_calls_count(c); i++) {
    Node *node = eventring_calls_node_at(c, i), *copy = eventring_calls_node_at(into, i);
    sums[node->id] += node->count;
    assert_int_equal(copy->id, node->id);
    assert_int_equal(copy->count, 2 * node->count);
  }
  for (uint64_t id = 1; id < 4; id++) assert_int_equal(sums[id], counts[id]);
  assert_int_equal(sums[1] + sums[2] + sums[3], calls);
  eventring_calls_free(c);
  eventring_calls_free(into);
}

/* ---- coroutines ------------------------------------------------------------------- */

/* Checks coroutines: 1 resumes a coroutine with 10, which calls 11 and yields; later 2
   resumes it. */
static void follows_coroutines(void **state) {
  eventring_calls *c = begin(0);
  eventring_calls_stack *main_stack = eventring_calls_first_stack(c);
  eventring_calls_stack *co = eventring_calls_stack_new(c);
  eventring_calls_enter(c, 1, 0);
  eventring_calls_switch(c, co, EVENTRING_CALLS_RESUME, 10);
  eventring_calls_enter(c, 10, 10);
  eventring_calls_enter(c, 11, 20);
  eventring_calls_switch(c, main_stack, EVENTRING_CALLS_LEAVE, 30);
  eventring_calls_exit(c, 1, 40);
  eventring_calls_enter(c, 2, 1000);
  eventring_calls_switch(c, co, EVENTRING_CALLS_RESUME, 1001);
  eventring_calls_exit(c, 11, 1003);
  eventring_calls_exit(c, 10, 1005);
  eventring_calls_switch(c, main_stack, EVENTRING_CALLS_LEAVE, 1005);
  eventring_calls_exit(c, 2, 1010);
  Node *one = child(c, root(c), 1), *two = child(c, root(c), 2);
  expect(c, one, 1, 40, 20);
  expect(c, child(c, one, 10), 1, 20, 10);
  expect(c, child(c, child(c, one, 10), 11), 1, 10, 10);
  expect(c, two, 1, 10, 6);
  Node *ten = child(c, two, 10), *eleven = child(c, ten, 11);
  expect(c, ten, 0, 4, 2);
  expect(c, eleven, 0, 2, 2);
  assert_int_equal(ten->most, 24); /* 10 to 30 and 1001 to 1005 */
  assert_int_equal(eleven->most, 12);
  assert_int_equal(eventring_calls_rest_of(c, ten)->suspended, 971);
  assert_int_equal(one->most, 40);
  assert_int_equal(eventring_calls_rest_of(c, one)->suspended, 0);
  eventring_calls_stack_free(c, co);
  eventring_calls_free(c);
}

static void deep_coroutines_move(void **state) {
  eventring_calls *c = begin(0);
  eventring_calls_stack *main_stack = eventring_calls_first_stack(c);
  eventring_calls_stack *co = eventring_calls_stack_new(c);
  uint64_t now = 0;
  for (uint64_t resumer = 1; resumer <= 3; resumer++) {
    eventring_calls_enter(c, resumer, now);
    eventring_calls_switch(c, co, EVENTRING_CALLS_RESUME, now);
    if (resumer == 1)
      for (uint64_t i = 0; i < 100; i++) eventring_calls_enter(c, 50 + i, now);
    now += 10;
    eventring_calls_switch(c, main_stack, EVENTRING_CALLS_LEAVE, now);
    eventring_calls_exit(c, resumer, now);
  }
  for (uint64_t resumer = 1; resumer <= 3; resumer++) {
    Node *node = child(c, root(c), resumer);
    expect(c, node, 1, 10, 0);
    for (uint64_t i = 0; i < 100; i++) node = child(c, node, 50 + i);
    assert_int_equal(node->exclusive, 10);
  }
  eventring_calls_free(c);
}

static void has_many_stacks(void **state) {
  eventring_calls *c = begin(0);
  for (int round = 0; round < 100000; round++) {
    eventring_calls_stack *co = eventring_calls_stack_new(c);
    assert_non_null(co);
    eventring_calls_switch(c, co, EVENTRING_CALLS_RESUME, 1);
    for (uint64_t i = 0; i < 10; i++) eventring_calls_enter(c, i, 1);
    eventring_calls_switch(c, eventring_calls_first_stack(c), EVENTRING_CALLS_LEAVE, 1);
    eventring_calls_stack_free(c, co);
  }
  assert_int_equal(eventring_calls_count(c), 11);
  eventring_calls_free(c);
}

/* ---- exhaustion ------------------------------------------------------------------- */

static uint64_t lost_calls(const eventring_calls *c) {
  uint64_t sum = 0;
  for (size_t i = 0; i < eventring_calls_count(c); i++)
    sum += eventring_calls_lost_below(c, eventring_calls_node_at(c, i)).calls;
  return sum;
}

static uint64_t all_counts(const eventring_calls *c) {
  uint64_t sum = 0;
  for (size_t i = 0; i < eventring_calls_count(c); i++)
    sum += eventring_calls_node_at(c, i)->count;
  return sum;
}

enum { EVERY = 0 }; /* stands for all ids */
/* Returns the number and time of the flat calls of a function, or of all functions. */
static struct eventring_calls_lost flat_of(const eventring_calls *c, uint64_t id) {
  struct eventring_calls_lost sum = {0, 0};
  Node *node;
  for (size_t i = 0; (node = eventring_calls_flat_at(c, i)) != NULL; i++) {
    if (id != EVERY && node->id != id) continue;
    sum.calls += node->count;
    sum.ticks += node->exclusive;
  }
  return sum;
}

static uint64_t lost_ticks(const eventring_calls *c) {
  uint64_t sum = 0;
  for (size_t i = 0; i < eventring_calls_count(c); i++)
    sum += eventring_calls_lost_below(c, eventring_calls_node_at(c, i)).ticks;
  return sum;
}

/* Checks that figures by path and figures by function agree. */
static void expect_flat_to_agree(const eventring_calls *c) {
  struct eventring_calls_lost flat = flat_of(c, EVERY);
  assert_int_equal(flat.calls, lost_calls(c));
  assert_int_equal(flat.ticks, lost_ticks(c));
}

static void counts_what_finds_no_room(void **state) {
  eventring_calls *c = eventring_calls_new(1);
  eventring_calls_start(c, 0);
  uint64_t now = 0, calls = 0;
  eventring_calls_enter(c, 1, now);
  for (uint64_t id = 100; id < 5100; id++) { /* each call has a call of another function
                                                in it */
    eventring_calls_enter(c, id, now++);
    eventring_calls_enter(c, id + 10000, now++);
    eventring_calls_exit(c, id + 10000, now++);
    eventring_calls_exit(c, id, now++);
    calls += 2;
  }
  eventring_calls_exit(c, 1, now);
  Node *one = child(c, root(c), 1);
  assert_true(lost_calls(c) > 5000);
  expect_flat_to_agree(c);
  /* there are too many functions for flat nodes of their own */
  assert_true(flat_of(c, EVENTRING_CALLS_NO_ID).calls > 5000);
  assert_int_equal(lost_calls(c) + all_counts(c), calls + 1);
  assert_int_equal(inclusive_of(c, one), now);
  assert_int_equal(one->count, 1);
  assert_int_equal(one->most, now);
  assert_int_equal(evc_depth(c), 0);
  eventring_calls_free(c);
}

/* Checks calls deeper than there is memory for frames: no wrong frame is popped. */
static void counts_frames_without_room(void **state) {
  eventring_calls *c = eventring_calls_new(1);
  eventring_calls_start(c, 0);
  for (uint64_t i = 0; i < 100000; i++) eventring_calls_enter(c, 5, i);
  assert_int_equal(evc_depth(c), 100000);
  assert_true(c->stack->unpushed > 1000);
  for (uint64_t i = 0; i < 99999; i++) eventring_calls_exit(c, 5, 100000 + i);
  assert_int_equal(evc_depth(c), 1);
  assert_int_equal(child(c, root(c), 5)->count, 1);
  eventring_calls_exit(c, 5, 200000);
  assert_int_equal(child(c, root(c), 5)->most, 200000);
  assert_int_equal(evc_depth(c), 0);
  assert_int_equal(lost_calls(c) + all_counts(c), 100000);
  assert_int_equal(flat_of(c, 5).calls, lost_calls(c));
  expect_flat_to_agree(c);
  assert_int_equal(inclusive_of(c, root(c)), 200000);
  eventring_calls_free(c);
}

static void a_million_paths_in_their_budget(void **state) {
  eventring_calls *c = eventring_calls_new((size_t)16 << 20);
  eventring_calls_start(c, 0);
  uint64_t now = 0;
  for (uint64_t a = 0; a < 100; a++) {
    eventring_calls_enter(c, a, now++);
    for (uint64_t b = 0; b < 10000; b++) {
      eventring_calls_enter(c, b, now++);
      eventring_calls_exit(c, b, now++);
    }
    eventring_calls_exit(c, a, now++);
  }
  assert_true(evc_used(c) <= (size_t)16 << 20);
  assert_true(eventring_calls_count(c) > 50000);
  assert_int_equal(lost_calls(c) + all_counts(c), 1000100);
  expect_flat_to_agree(c);
  for (uint64_t a = 0; a < 6; a++)
    assert_int_equal(inclusive_of(c, child(c, root(c), a)), 20001);
  assert_int_equal(inclusive_of(c, root(c)), now - 1);
  eventring_calls_free(c);
}

/* Makes a full trie: functions whose paths are not kept have figures of their own. */
static eventring_calls *full_trie(uint64_t *now) {
  eventring_calls *c = begin(*now);
  for (uint64_t id = 1000; !eventring_calls_flat_at(c, 0); id++) {
    eventring_calls_enter(c, id, *now);
    eventring_calls_exit(c, id, *now);
  }
  return c;
}

static const struct eventring_calls_node *flat_node(const eventring_calls *c, uint64_t id) {
  Node *node;
  for (size_t i = 0; (node = eventring_calls_flat_at(c, i)) != NULL; i++)
    if (node->id == id) return node;
  fail_msg("no flat node of %llu", (unsigned long long)id);
  return NULL;
}

static void counts_flat_calls_by_function(void **state) {
  uint64_t now = 5, before;
  eventring_calls *c = full_trie(&now);
  before = flat_of(c, EVERY).calls;
  eventring_calls_enter(c, 1000, now); /* 1000 has a node */
  for (int i = 0; i < 3; i++) {
    eventring_calls_enter(c, 1, now += 10);
    eventring_calls_enter(c, 2, now += 100);
    eventring_calls_exit(c, 2, now += 200);
    eventring_calls_exit(c, 1, now += 1000);
  }
  eventring_calls_exit(c, 1000, now += 10);
  assert_int_equal(flat_of(c, 1).calls, 3);
  assert_int_equal(flat_of(c, 1).ticks, 3300);
  assert_int_equal(flat_of(c, 2).calls, 3);
  assert_int_equal(flat_of(c, 2).ticks, 600);
  assert_int_equal(flat_node(c, 1)->most, 1300);
  assert_int_equal(flat_node(c, 1)->least, 1300);
  assert_int_equal(bucket(c, flat_node(c, 2), 1), 3);
  Node *caller = child(c, root(c), 1000);
  assert_int_equal(caller->exclusive, 40);
  assert_int_equal(eventring_calls_lost_below(c, caller).calls, 6);
  assert_int_equal(eventring_calls_lost_below(c, caller).ticks, 3900);
  assert_int_equal(inclusive_of(c, caller), 3940);
  assert_int_equal(flat_of(c, EVERY).calls - before, 6);
  expect_flat_to_agree(c);
  eventring_calls_free(c);
}

/* Checks that figures are right while flat calls are open. */
static void flat_calls_may_be_open(void **state) {
  uint64_t now = 0;
  eventring_calls *c = full_trie(&now);
  eventring_calls_enter_as(c, 1, 0, EVENTRING_CALLS_ENTER_OPEN);
  eventring_calls_enter(c, 2, 10);
  eventring_calls_enter_as(c, 3, 20, EVENTRING_CALLS_ENTER_HIDDEN);
  eventring_calls_charge(c, 50);
  assert_int_equal(eventring_calls_rest_of(c, flat_node(c, 1))->open, 1);
  assert_int_equal(flat_node(c, 1)->count, 0);
  assert_int_equal(flat_node(c, 1)->exclusive, 10);
  assert_int_equal(flat_node(c, 2)->exclusive, 40);
  expect_flat_to_agree(c);
  eventring_calls_enter(c, 4, 60);
  eventring_calls_exit(c, 2, 70); /* with all calls within it */
  eventring_calls_charge(c, 100);
  assert_int_equal(flat_node(c, 1)->exclusive, 40);
  assert_int_equal(flat_node(c, 2)->exclusive, 50);
  assert_int_equal(flat_node(c, 4)->exclusive, 10);
  expect_flat_to_agree(c);
  eventring_calls_leave(c, 110);
  assert_int_equal(evc_depth(c), 0);
  assert_int_equal(flat_node(c, 1)->most, 0);
  assert_int_equal(flat_node(c, 2)->most, 60);
  expect_flat_to_agree(c);
  eventring_calls_free(c);
}

/* A random program of coroutines that keeps its own counts, in a trie that is too small
   for its paths: figures by function. */
enum { STACKS = 12, DEEPEST = 12, MOST_IDS = 400 };
struct truth {
  eventring_calls *calls;
  eventring_calls_stack *stacks[STACKS];
  uint64_t ids[STACKS][DEEPEST];
  size_t depth[STACKS], chain[STACKS], chain_length; /* stacks that wait, and at the end
                                                        the running one */
  uint64_t count[MOST_IDS + 1], ticks[MOST_IDS + 1], now;
  uint64_t random;
};

static uint64_t draw(struct truth *t, uint64_t below) {
  t->random = t->random * 6364136223846793005u + 1442695040888963407u;
  return (t->random >> 33) % below;
}

/* Returns the innermost function of the chain, or 0. */
static uint64_t running(const struct truth *t) {
  for (size_t i = t->chain_length; i-- > 0;)
    if (t->depth[t->chain[i]]) return t->ids[t->chain[i]][t->depth[t->chain[i]] - 1];
  return 0;
}

static uint64_t tick(struct truth *t) {
  uint64_t passed = draw(t, 40);
  t->ticks[running(t)] += passed;
  return t->now += passed;
}

static bool is_waiting(const struct truth *t, size_t stack) {
  for (size_t i = 0; i < t->chain_length; i++)
    if (t->chain[i] == stack) return true;
  return false;
}

static void step(struct truth *t, uint64_t ids) {
  const size_t top = t->chain[t->chain_length - 1], other = (size_t)draw(t, STACKS);
  const uint64_t now = tick(t), what = draw(t, 10), id = 1 + draw(t, ids);
  if (what < 4 && t->depth[top] < DEEPEST) {
    eventring_calls_enter(t->calls, id, now);
    t->ids[top][t->depth[top]++] = id;
    t->count[id]++;
  } else if (what < 8 && t->depth[top]) {
    eventring_calls_leave(t->calls, now);
    t->depth[top]--;
  } else if (what == 8 && !is_waiting(t, other)) {
    eventring_calls_switch(t->calls, t->stacks[other], EVENTRING_CALLS_RESUME, now);
    t->chain[t->chain_length++] = other;
  } else if (what == 9 && t->chain_length > 1) {
    t->chain_length--;
    eventring_calls_switch(t->calls, t->stacks[t->chain[t->chain_length - 1]],
                           EVENTRING_CALLS_LEAVE, now);
  }
}

static void expect_truth(struct truth *t, uint64_t ids, bool each) {
  uint64_t count[MOST_IDS + 1] = {0}, ticks[MOST_IDS + 1] = {0}, calls = 0;
  eventring_calls_charge(t->calls, tick(t));
  for (size_t i = 1; i < eventring_calls_count(t->calls); i++) {
    Node *node = eventring_calls_node_at(t->calls, i);
    count[node->id] += node->count;
    ticks[node->id] += node->exclusive;
  }
  for (uint64_t id = 1; id <= ids; id++) {
    struct eventring_calls_lost flat = flat_of(t->calls, id);
    calls += t->count[id];
    assert_true(count[id] + flat.calls <= t->count[id]);
    if (!each) continue;
    assert_int_equal(count[id] + flat.calls, t->count[id]);
    assert_int_equal(ticks[id] + flat.ticks, t->ticks[id]);
  }
  expect_flat_to_agree(t->calls);
  assert_int_equal(all_counts(t->calls) + flat_of(t->calls, EVERY).calls, calls);
  assert_int_equal(inclusive_of(t->calls, root(t->calls)), t->now);
}

static void run_random_program(uint64_t seed, uint64_t ids, bool each) {
  struct truth *t = calloc(1, sizeof *t);
  t->calls = eventring_calls_new(1);
  t->random = seed;
  t->chain_length = 1;
  t->stacks[0] = eventring_calls_first_stack(t->calls);
  for (size_t i = 1; i < STACKS; i++) t->stacks[i] = eventring_calls_stack_new(t->calls);
  for (int i = 0; i < 20000; i++) {
    step(t, ids);
    if (i % 1000 == 999) expect_truth(t, ids, each);
  }
  assert_true(flat_of(t->calls, EVERY).calls > 1000);
  eventring_calls_free(t->calls);
  free(t);
}

static void flat_counts_are_the_truth(void **state) {
  for (uint64_t seed = 1; seed <= 20; seed++) {
    run_random_program(seed, 20, true);
    run_random_program(seed, MOST_IDS, false); /* more functions than flat nodes */
  }
}

/* Checks that the inclusive time of each node of a chain of 10,000 takes one pass over
   the nodes below it. If each of these nodes walked up the chain as well, that would take
   10^11 steps, and the runner would stop the test. The figures are known: each function
   takes one tick itself. */
static void sums_a_deep_path(void **state) {
  enum { DEEP = 10000 };
  eventring_calls *c = eventring_calls_new((size_t)64 << 20);
  eventring_calls_start(c, 0);
  for (uint64_t i = 0; i < DEEP; i++) {
    eventring_calls_enter(c, i, i);
    eventring_calls_enter(c, DEEP + i, i); /* a node beside the chain */
    eventring_calls_exit(c, DEEP + i, i);
  }
  for (uint64_t i = DEEP; i-- > 0;) eventring_calls_exit(c, i, 2 * (uint64_t)DEEP - i);
  assert_int_equal(eventring_calls_count(c), 2 * DEEP + 1);
  Node *node = root(c);
  for (uint64_t i = 0; i < DEEP; i++) {
    node = child(c, node, i);
    assert_int_equal(inclusive_of(c, node), 2 * ((uint64_t)DEEP - i));
  }
  eventring_calls_free(c);
}

/* ---- merging ---------------------------------------------------------------------- */

static void nest(eventring_calls *c) {
  eventring_calls_enter(c, 1, 0);
  eventring_calls_enter(c, 2, 1);
  eventring_calls_enter(c, 3, 2);
  eventring_calls_exit(c, 3, 3);
  eventring_calls_exit(c, 2, 4);
  eventring_calls_exit(c, 1, 5);
}

static void merges(void **state) {
  eventring_calls *a = begin(0), *b = begin(0), *into = begin(0);
  nest(a);
  nest(b);
  assert_true(evc_merge(into, a));
  assert_true(evc_merge(into, b));
  assert_int_equal(eventring_calls_count(into), 4);
  Node *one = child(into, root(into), 1), *two = child(into, one, 2);
  Node *three = child(into, two, 3);
  expect(into, one, 2, 10, 4);
  expect(into, two, 2, 6, 4);
  expect(into, three, 2, 2, 2);
  assert_null(child_of(into, three, 1));
  assert_int_equal(bucket(into, one, 0), 2);
  eventring_calls_free(a);
  eventring_calls_free(b);
  eventring_calls_free(into);
}

static void copies(void **state) {
  eventring_calls *c = begin(0), *copy = begin(0);
  eventring_calls_enter(c, 1, 0);
  eventring_calls_enter(c, 2, 0);
  eventring_calls_exit(c, 2, 1);
  eventring_calls_enter(c, 3, 1);
  eventring_calls_exit(c, 3, 2);
  eventring_calls_exit(c, 1, 3);
  assert_true(evc_merge(copy, c));
  assert_int_equal(eventring_calls_count(copy), 4);
  Node *one = child(copy, root(copy), 1);
  child(copy, one, 2); /* the parent of node 2 is the copy's own node */
  child(copy, one, 3);
  eventring_calls_free(c);
  eventring_calls_free(copy);
}

static void merges_in_part(void **state) {
  eventring_calls *c = begin(0), *into = eventring_calls_new(1);
  uint64_t now = 0;
  for (uint64_t id = 0; id < 2000; id++) {
    eventring_calls_enter(c, id, now++);
    eventring_calls_exit(c, id, now++);
  }
  assert_false(evc_merge(into, c));
  assert_int_equal(all_counts(into) + lost_calls(into), 2000);
  expect_flat_to_agree(into);
  assert_int_equal(inclusive_of(into, root(into)), now - 1);
  /* all paths of `into` are in `c`; flat calls of `into` stay flat */
  assert_true(evc_merge(c, into));
  assert_int_equal(all_counts(c) + lost_calls(c), 4000);
  assert_int_equal(inclusive_of(c, root(c)), 2 * (now - 1));
  expect_flat_to_agree(c);
  eventring_calls_free(c);
  eventring_calls_free(into);
}

/* ---- the collector ---------------------------------------------------------------- */

static evc_collector *collector;

static void *post_nest(void *thread) {
  eventring_calls *c = begin(0);
  nest(c);
  assert_int_equal(evc_post(collector, c, (uint64_t)(uintptr_t)thread),
                   EVC_POSTED);
  eventring_calls_free(c);
  return NULL;
}

static void collects(void **state) {
  collector = evc_collector_new(BUDGET);
  assert_null(evc_serialize(collector).words);
  pthread_t threads[3];
  for (uintptr_t i = 0; i < 3; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, post_nest, (void *)(i % 2 + 1)), 0);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  assert_int_equal(evc_collected(collector), 2);
  for (int round = 0; round < 2; round++) { /* the collector begins anew */
    uint64_t seen = 0;
    for (int i = 0; i < 2; i++) {
      struct evc_buffer b = evc_serialize(collector);
      assert_non_null(b.words);
      assert_int_equal(b.words[0], b.count);
      seen |= b.words[1];
      assert_int_equal(b.words[2], 4);
      const uint64_t *one = b.words + 3 + b.words[3];
      uint64_t posts = b.words[1] == 1 ? 2 : 1;
      const uint64_t expected[11] = {12, 0, 1, posts, 2 * posts, 5, 5, 0, 0, 0, 0};
      assert_memory_equal(one, expected, sizeof expected);
      assert_int_equal(one[11], posts);
    }
    assert_int_equal(seen, 3);
    assert_null(evc_serialize(collector).words);
  }
  evc_collector_reset(collector);
  assert_int_equal(evc_collected(collector), 0);
  assert_null(evc_serialize(collector).words);
  evc_collector_free(collector);
}

static void counts_tries_without_room(void **state) {
  collector = evc_collector_new(200000);
  eventring_calls *c = begin(0);
  nest(c);
  int posted = 0;
  for (uint64_t i = 0; i < 10; i++)
    posted += evc_post(collector, c, i) == EVC_POSTED;
  assert_in_range(posted, 1, 9);
  assert_int_equal(evc_refused(collector), 10 - posted);
  assert_int_equal(evc_collected(collector), posted);
  eventring_calls_free(c);
  evc_collector_free(collector);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(takes_memory_at_first_use),
    cmocka_unit_test(keeps_its_budget),
    cmocka_unit_test(takes_from_borrowed_memory),
    cmocka_unit_test(gives_blocks_again),
    cmocka_unit_test(appends_and_finds),
    cmocka_unit_test(trims_to_empty),
    cmocka_unit_test(has_positions),
    cmocka_unit_test(uses_segments_again),
    cmocka_unit_test(stops_when_exhausted),
    cmocka_unit_test(is_a_stack),
    cmocka_unit_test(keeps_pointers),
    cmocka_unit_test(counts_a_call),
    cmocka_unit_test(clocks_may_wrap),
    cmocka_unit_test(clocks_may_go_back),
    cmocka_unit_test(exits_without_entry_change_nothing),
    cmocka_unit_test(has_several_roots),
    cmocka_unit_test(settles_missing_exits),
    cmocka_unit_test(unwinds_deep_stacks),
    cmocka_unit_test(finds_many_children),
    cmocka_unit_test(enters_what_began_before),
    cmocka_unit_test(has_a_histogram),
    cmocka_unit_test(full_buckets_are_carried),
    cmocka_unit_test(full_buckets_are_halved),
    cmocka_unit_test(recursion_has_two_nodes),
    cmocka_unit_test(mutual_recursion_has_few_nodes),
    cmocka_unit_test(follows_coroutines),
    cmocka_unit_test(deep_coroutines_move),
    cmocka_unit_test(has_many_stacks),
    cmocka_unit_test(counts_what_finds_no_room),
    cmocka_unit_test(counts_frames_without_room),
    cmocka_unit_test(a_million_paths_in_their_budget),
    cmocka_unit_test(counts_flat_calls_by_function),
    cmocka_unit_test(flat_calls_may_be_open),
    cmocka_unit_test(flat_counts_are_the_truth),
    cmocka_unit_test(sums_a_deep_path),
    cmocka_unit_test(merges),
    cmocka_unit_test(copies),
    cmocka_unit_test(merges_in_part),
    cmocka_unit_test(collects),
    cmocka_unit_test(counts_tries_without_room),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
