/* SPDX-License-Identifier: MIT */
/* testsuite/unit/hash_table_test.c: the hash table of libeventring and its tools,
 * compared with an array of its expected contents. */
#include "cases.h"
#include "format/table.h"

enum { KEYS = 4096, ROUNDS = 200000 };

static uint64_t shift = 0;

/* Returns the hash of a key. With a shift, many keys have the same place, and some the
   same hash. */
static uint64_t hash_of(uint64_t key) { return evr_hash_word(1, key) >> shift; }

static bool is_key(const void *context, uintptr_t value, const void *key) {
  const uint64_t *keys = context;
  return keys[value - 1] == *(const uint64_t *)key;
}

static size_t values_in(const struct evr_table *table) {
  size_t count = 0;
  for (size_t i = 0; i < table->room; i++) count += table->entries[i].value != 0;
  return count;
}

static void compare(const struct evr_table *table, const uint64_t *keys, const bool *is_in) {
  size_t count = 0;
  for (uint64_t i = 0; i < KEYS; i++) {
    assert_int_equal(evr_table_find(table, hash_of(keys[i]), is_key, keys, &keys[i]),
                     is_in[i] ? i + 1 : 0);
    count += is_in[i];
  }
  assert_int_equal(table->used, count);
  assert_int_equal(values_in(table), count);
}

static void holds_what_was_taken(void **state) {
  static uint64_t keys[KEYS];
  for (uint64_t i = 0; i < KEYS; i++) keys[i] = i * 0x9e3779b97f4a7c15;
  for (shift = 0; shift <= 54; shift += 27) {
    struct evr_table table = {0};
    bool is_in[KEYS] = {false};
    uint64_t draw = 1;
    for (int n = 0; n < (shift ? ROUNDS / 20 : ROUNDS); n++) {
      draw = draw * 6364136223846793005 + 1442695040888963407;
      size_t i = draw >> 33 & (KEYS - 1);
      if (!(draw >> 60)) i &= 63; /* some keys are used often */
      if (is_in[i]) {
        evr_table_drop(&table, hash_of(keys[i]), i + 1);
      } else {
        uintptr_t *value = evr_table_take(&table, hash_of(keys[i]), is_key, keys, &keys[i]);
        assert_non_null(value);
        assert_int_equal(*value, 0);
        *value = i + 1;
      }
      is_in[i] = !is_in[i];
    }
    compare(&table, keys, is_in);
    assert_true(2 * table.used <= table.room);
    evr_table_free(&table);
    assert_int_equal(table.room, 0);
  }
}

static void finds_nothing_in_an_empty_one(void **state) {
  const struct evr_table table = {0};
  const uint64_t key = 5;
  shift = 0;
  assert_int_equal(evr_table_find(&table, hash_of(key), is_key, NULL, &key), 0);
}

static void hashes_texts_with_their_ends(void **state) {
  assert_int_equal(evr_hash_seed(), evr_hash_seed());
  assert_true(evr_hash_text(evr_hash_text(1, "a"), "bc") !=
              evr_hash_text(evr_hash_text(1, "ab"), "c"));
  assert_true(evr_hash_text(1, "") != evr_hash_text(1, "\377"));
}

/* Checks that keys at equal distances do not crowd, whatever the distance. */
static void spreads_strides(void **state) {
  for (unsigned stride = 0; stride < 64; stride++) {
    static unsigned used[1024];
    for (int i = 0; i < 1024; i++) used[i] = 0;
    unsigned most = 0;
    for (uint64_t i = 0; i < 1024; i++) {
      const uint64_t key = i << stride | (stride ? i >> (64 - stride) : 0); /* rotated */
      unsigned *place = &used[evr_hash_word(0x1234567, key) & 1023];
      if (++*place > most) most = *place;
    }
    assert_true(most <= 16); /* by chance it is nearly always at most 8 */
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(holds_what_was_taken),
      cmocka_unit_test(finds_nothing_in_an_empty_one),
      cmocka_unit_test(hashes_texts_with_their_ends),
      cmocka_unit_test(spreads_strides),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
