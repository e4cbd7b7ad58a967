/* SPDX-License-Identifier: MIT */
/* testsuite/unit/table_test.c: where keys lie in the hash part of a table. Links and
 * rehashes are counted, nothing is timed. */
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "bare_domain.h"

#ifdef SAROS_STRESS /* each insertion is a rehash */
#define EVERY 61
#else
#define EVERY 1
#endif

/* Most links of a chain to which one more key may be added before the table scatters its
   numbers. */
#define LONGEST 25

/* ---- helpers ------------------------------------------------------------- */

static Table *push_table(lua_State *L) {
  set_table(L->top, table_new(L, 0, 0));
  return as_table(L->top++);
}

static void set_value(lua_State *L, Table *t, int64_t key, bool present) {
  TValue v;
  if (present) set_int(&v, key);
  else set_nil(&v);
  table_set_int(L, t, key, &v);
}

typedef struct Chains {
  uint32_t longest; /* most links of one chain */
  uint64_t links;   /* on the paths to all keys */
} Chains;

/* Counts the links of each chain from its first node, to which nothing links. */
static Chains chains_of(const Table *t) {
  Chains c = {0, 0};
  uint32_t count = table_node_count(t);
  char *linked = calloc(count + 1, 1);
  for (uint32_t i = 0; i < count; i++)
    if (t->node[i].next != 0) linked[(int64_t)i + t->node[i].next] = 1;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t links = 0;
    if (linked[i]) continue;
    for (const Node *n = &t->node[i]; n->next != 0; c.links += links) n += n->next, links++;
    if (links > c.longest) c.longest = links;
  }
  free(linked);
  return c;
}

static bool is_prime(uint32_t n) {
  for (uint32_t i = 2; i * i <= n; i++)
    if (n % i == 0) return false;
  return n > 1;
}

/* Returns the prime modulo which a part of n nodes places integers (table.c). */
static uint32_t modulus_of(uint32_t nodes) {
  uint32_t p = nodes - 3;
  while (!is_prime(p)) p -= 2;
  return p;
}

static void fill_stride(lua_State *L, Table *t, uint64_t step, int n) {
  for (int i = 1; i <= n; i++) set_value(L, t, (int64_t)((uint64_t)i * step), true);
  for (int i = 1; i <= n; i++) assert_true(is_int(table_get_int(t, (int64_t)((uint64_t)i * step))));
}

static void check_stride(lua_State *L, uint64_t step, int n) {
  Table *t = push_table(L);
  fill_stride(L, t, step, n);
  Chains c = chains_of(t);
  if (c.longest > LONGEST || c.links > 4 * (uint64_t)n)
    fail_msg("stride %lld, %d keys: %u links in a chain, %llu in all", (long long)step, n,
             c.longest, (unsigned long long)c.links);
  L->top--;
}

/* ---- distribution -------------------------------------------------------- */

static void neighbours_do_not_collide(void **state) {
  lua_State *L = *state;
  static const int64_t starts[] = {-1000000007,      -1200,           10000, 1000000007,
                                   INT64_C(1) << 40, INT64_MAX - 2000};
  for (size_t s = 0; s < sizeof starts / sizeof *starts; s++) {
    Table *t = push_table(L);
    for (int i = 0; i < 1000; i++) set_value(L, t, starts[s] + i, true);
    assert_in_range(table_node_count(t), 1024, 2048); /* larger in stress builds */
    assert_int_equal(chains_of(t).links, 0);
    L->top--;
  }
}

static void every_stride_is_spread(void **state) {
  lua_State *L = *state;
  for (uint64_t step = 1; step <= 1024; step += EVERY) {
    check_stride(L, step, 90);
    check_stride(L, step, 700);
    check_stride(L, 0 - step, 90);
  }
  for (int bits = 10; bits < 54; bits += (EVERY + 9) / 10) {
    for (int64_t near = -1; near <= 1; near++)
      check_stride(L, (UINT64_C(1) << bits) + (uint64_t)near, 700);
    check_stride(L, UINT64_C(3) << bits, 700);
  }
  for (uint64_t step = 10; step < UINT64_C(1000000000000000); step *= 10)
    check_stride(L, step, 700);
}

/* ---- attacks ------------------------------------------------------------- */

/* Checks multiples of each modulus, all of which have the same place at one size of the
   table. */
static void multiples_of_the_modulus(void **state) {
  lua_State *L = *state;
  for (uint32_t nodes = 64; nodes <= 16384; nodes *= 2)
    for (int n = (int)nodes / 4; n <= (int)nodes * 2; n *= 2) check_stride(L, modulus_of(nodes), n);
}

/* Checks multiples of the modulus in a table that has room for all of them beforehand. */
static void multiples_of_the_modulus_with_room(void **state) {
  lua_State *L = *state;
  Table *t = push_table(L);
  table_resize(L, t, 0, 1 << 14);
  fill_stride(L, t, modulus_of(1 << 14), 12000);
  Chains c = chains_of(t);
  assert_in_range(c.longest, 0, LONGEST);
  assert_in_range(c.links, 0, 2 * 12000);
}

/* Checks keys that meet only when the table is rehashed, after the last insertion. */
static void a_resize_notices(void **state) {
  lua_State *L = *state;
  Table *t = push_table(L);
  for (int i = 1; i <= 3000; i++) set_value(L, t, (int64_t)i * modulus_of(1 << 14), true);
  table_resize(L, t, 0, 1 << 14);
  assert_in_range(chains_of(t).longest, 0, LONGEST);
  for (int i = 1; i <= 3000; i++)
    assert_true(is_int(table_get_int(t, (int64_t)i * modulus_of(1 << 14))));
}

/* Checks chains that join: removed keys leave their links, and other keys take the nodes,
   with chains of their own. */
static void chains_that_grow_together(void **state) {
  lua_State *L = *state;
  Table *t = push_table(L);
  table_resize(L, t, 0, 1 << 12);
  int64_t p = modulus_of(1 << 12);
  for (int round = 0; round < 40; round++) {
    for (int i = 1; i <= 20; i++) set_value(L, t, p * i, true);
    for (int i = 1; i < 20; i++) set_value(L, t, p * i, false);
    for (uint32_t i = 0; i < 20; i++) set_value(L, t, p * 50 + 4091 - (int64_t)i + round, true);
    /* a long chain is noticed when it is walked */
    for (int i = 1; i <= 20; i++) table_get_int(t, p * i);
  }
  for (int i = 1; i <= 20; i++) set_value(L, t, p * (100 + i), true);
  assert_in_range(chains_of(t).longest, 0, 2 * LONGEST);
}

/* Returns the next float, less than 2, whose bits with the halves swapped are a multiple
   of p. */
static double next_multiple(uint64_t *swapped, uint64_t p) {
  /* the upper half of the float is the lower half here */
  do *swapped += p; while ((uint32_t)*swapped >> 27 != 7);
  uint64_t bits = *swapped >> 32 | *swapped << 32;
  double n;
  memcpy(&n, &bits, sizeof n);
  return n;
}

static void floats_of_one_place(void **state) {
  lua_State *L = *state;
  Table *t = push_table(L);
  TValue key, v;
  set_int(&v, 1);
  uint64_t p = modulus_of(1 << 11), swapped = 0;
  for (int i = 0; i < 1500; i++) {
    set_float(&key, next_multiple(&swapped, p));
    table_set(L, t, &key, &v);
  }
  assert_in_range(table_node_count(t), 1 << 11, 1 << 12);
  assert_in_range(chains_of(t).longest, 0, LONGEST);
}

/* ---- room ---------------------------------------------------------------- */

#ifndef SAROS_STRESS /* where each new key rebuilds the table */

/* Counts rehashes while n keys come and go, each `step` greater than the key before. */
static int rehashes(lua_State *L, Table *t, int64_t first, int live, int n, int64_t step) {
  int count = 0;
  for (int i = 0; i < live; i++) set_value(L, t, first + i * step, true);
  const Node *node = t->node;
  for (int i = live; i < live + n; i++) {
    set_value(L, t, first + i * step, true);
    set_value(L, t, first + (i - live) * step, false);
    if (t->node != node) count++;
    node = t->node;
  }
  return count;
}

/* Returns the number of nodes that the reference would use for n keys. */
static uint32_t power_for(uint32_t keys) {
  uint32_t size = 1;
  while (size < keys) size *= 2;
  return size;
}

/* Checks that a queue is hardly rehashed: neighbours do not collide. But if there are
   more neighbours than the modulus, each new key takes a node of the annex. */
static void a_queue_is_hardly_rehashed(void **state) {
  lua_State *L = *state;
  static const int backlogs[] = {1,  2,   3,   5,    8,    10,   60,   63,
                                 64, 100, 500, 1000, 1023, 1024, 1025, 10000};
  for (size_t i = 0; i < sizeof backlogs / sizeof *backlogs; i++) {
    /* A push, then a pop. */
    uint32_t keys = (uint32_t)backlogs[i] + 1, size = power_for(keys);
    bool fit = keys <= (size < 16 ? size - 1 : modulus_of(size));
    int bound = fit ? 20 : 20 + 100000 / ((int)size / 2);
    int count = rehashes(L, push_table(L), 1, backlogs[i], 100000, 1);
    if (count > bound) fail_msg("%d rehashes with a backlog of %d", count, backlogs[i]);
    L->top--;
  }
}

/* Checks that a set with few free nodes gets half as many nodes again. */
static void churn_finds_room(void **state) {
  lua_State *L = *state;
  for (int live = 8; live <= 3000; live += live / 5) {
    Table *t = push_table(L);
    int count = rehashes(L, t, 1000000, live, 20 * live, 1000003 * INT64_C(65537));
    uint32_t least = power_for((uint32_t)live + 1);
    /* `least` is the number of nodes in the reference */
    assert_in_range(table_node_count(t), least, least + least / 2);
    assert_true(table_node_count(t) <= 2 * (uint32_t)live + 2);
    if (count > 40) fail_msg("%d rehashes of %d keys, each of them replaced 20 times", count, live);
    L->top--;
  }
}

#endif

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, bare_domain_set_up, bare_domain_tear_down)
  const struct CMUnitTest tests[] = {
    TEST(neighbours_do_not_collide),
    TEST(every_stride_is_spread),
    TEST(multiples_of_the_modulus),
    TEST(multiples_of_the_modulus_with_room),
    TEST(a_resize_notices),
    TEST(chains_that_grow_together),
    TEST(floats_of_one_place),
#ifndef SAROS_STRESS
    TEST(a_queue_is_hardly_rehashed),
    TEST(churn_finds_room),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
