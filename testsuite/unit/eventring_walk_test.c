/* SPDX-License-Identifier: MIT */
/* eventring_walk_test.c: compares the check of a block's structure (block.c) with the
 * plain rule. The check has separate ways to pass over runs of events of one word, of
 * equal events and of mixed ones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "draw.h"
#include "format/checksum.h"
#include "reader/block.h"

enum { FIRST = FORMAT_BLOCK_HEADER_WORDS, SLOT = 3, SEQUENCE = 7, START = 500 };

static struct evr_block block;

/* ---- The rule --------------------------------------------------------------------- */

static bool by_the_rule(uint32_t have) {
  uint32_t at = FIRST;
  while (at < have && word_kind(block.words[at])) at += 1 + word_length(block.words[at]);
  return at == have;
}

static bool is_valid(void) {
  return evr_block_valid(&block, SEQUENCE, SLOT, EVENTRING_USER, START);
}

static void seal(uint32_t have) {
  block.have = have;
  block.words[FORMAT_SEAL_WORD] = evr_seal(have, evr_checksum(block.words, have));
}

static void check_up_to(uint32_t have) {
  seal(have);
  bool expected = by_the_rule(have);
  assert_int_equal(is_valid(), expected);
}

/* ---- Blocks ----------------------------------------------------------------------- */

static void fill_header(void) {
  memset(&block, 0, sizeof block);
  struct format_block *h = (struct format_block *)block.words;
  h->sequence = SEQUENCE;
  h->kind = FORMAT_EVENTS;
  h->base_ticks = START;
  h->domain = SLOT;
  h->ring = EVENTRING_USER;
  h->incarnation = 1;
}

/* Writes a stretch of events of one word, of one length, or of lengths at random. */
static uint32_t fill_stretch(uint32_t at) {
  unsigned sort = draw(3), length = draw(6), count = draw(60);
  for (unsigned i = 0; i < count; i++) {
    unsigned payload = sort == 0 ? 0 : sort == 1 ? length : draw(2) * draw(6);
    if (at + 1 + payload > FORMAT_BLOCK_WORDS) break;
    block.words[at++] = EVENTRING_TAIL(1 + draw(7), draw(8192), payload) |
                        random_state << EVENTRING_WORD_TIME_SHIFT;
    for (; payload > 0; payload--) block.words[at++] = draw(4) ? random_state : 0;
  }
  return at;
}

static uint32_t fill_block(void) {
  uint32_t at = FIRST, room = FORMAT_BLOCK_WORDS - 8 * draw(2);
  fill_header();
  while (at < room) at = fill_stretch(at);
  return at;
}

/* ---- Events and remarks ----------------------------------------------------------- */

static void put_word(unsigned kind, unsigned id, unsigned length, uint64_t ticks) {
  block.words[block.have++] =
      EVENTRING_TAIL(kind, id, length) | ticks << EVENTRING_WORD_TIME_SHIFT;
}

static void expect_event(struct evr_block_walk *walk, unsigned id, uint64_t base) {
  uint64_t word = evr_block_next_event(walk);
  assert_int_equal(word_id(word), id);
  assert_int_equal(walk->position.base, base);
}

/* A walk reports a rebase; it does not report unknown remarks, nor a rebase
   without a base. */
enum { UNKNOWN_REMARK = FORMAT_REMARK_INCARNATION + 1 };

static void passes_over_remarks(void **state) {
  fill_header();
  ((struct format_block *)block.words)->base_ticks = 1000;
  block.have = FIRST;
  put_word(FORMAT_WORD_REMARK, UNKNOWN_REMARK, 1, 0);
  block.words[block.have++] = 77;
  put_word(EVENTRING_COUNTER, 20, 1, 1001);
  block.words[block.have++] = 7; /* the payload is no remark */
  put_word(FORMAT_WORD_REMARK, FORMAT_REMARK_REBASE, 1, 0);
  block.words[block.have++] = 5000;
  put_word(FORMAT_WORD_REMARK, FORMAT_REMARK_REBASE, 0, 0);
  put_word(EVENTRING_INSTANT, 21, 0, 5001);
  put_word(FORMAT_WORD_REMARK, FORMAT_REMARK_REBASE, 0, 0);
  struct evr_block_walk walk = evr_block_walk(&block);
  expect_event(&walk, 20, 1000);
  expect_event(&walk, 21, 5000);
  assert_int_equal(evr_block_next_event(&walk), 0);
  assert_int_equal(walk.at, block.have);
  assert_int_equal(evr_block_events(&block), 2);
}

static void expect_position(struct evr_block_walk *walk, unsigned id, uint64_t context,
                            uint32_t incarnation) {
  assert_int_equal(word_id(evr_block_next_event(walk)), id);
  assert_int_equal(walk->position.context, context);
  assert_int_equal(walk->position.incarnation, incarnation);
}

/* Checks that remarks set the context and the incarnation of the events after them. */
static void remarks_move_the_position(void **state) {
  fill_header();
  ((struct format_block *)block.words)->context = 11;
  block.have = FIRST;
  put_word(EVENTRING_INSTANT, 20, 0, 1000);
  put_word(FORMAT_WORD_REMARK, FORMAT_REMARK_CONTEXT, 1, 1000);
  block.words[block.have++] = 12;
  put_word(EVENTRING_INSTANT, 21, 0, 1000);
  put_word(FORMAT_WORD_REMARK, FORMAT_REMARK_SUSPEND, 0, 1000); /* the present context */
  put_word(FORMAT_WORD_REMARK, FORMAT_REMARK_RESUME, 1, 1000);
  block.words[block.have++] = 13;
  put_word(EVENTRING_INSTANT, 22, 0, 1000);
  put_word(FORMAT_WORD_REMARK, FORMAT_REMARK_INCARNATION, 0, 1000); /* the next one */
  put_word(EVENTRING_INSTANT, 23, 0, 1000);
  put_word(FORMAT_WORD_REMARK, FORMAT_REMARK_INCARNATION, 1, 1000);
  block.words[block.have++] = 900;
  put_word(EVENTRING_INSTANT, 24, 0, 1000);
  struct evr_block_walk walk = evr_block_walk(&block);
  expect_position(&walk, 20, 11, 1);
  expect_position(&walk, 21, 12, 1);
  expect_position(&walk, 22, 13, 1);
  expect_position(&walk, 23, 0, 2);
  expect_position(&walk, 24, 0, 900);
  assert_int_equal(evr_block_next_event(&walk), 0);
}

/* ---- The header and the seal ------------------------------------------------------ */

static bool valid_with(size_t offset, uint64_t value, size_t bytes) {
  struct evr_block saved = block;
  memcpy((uint8_t *)block.words + offset, &value, bytes);
  seal(block.have);
  bool valid = is_valid();
  block = saved;
  return valid;
}
#define VALID_WITH(field, value) \
  valid_with(offsetof(struct format_block, field), value, sizeof(((struct format_block *)0)->field))

/* Checks the header of a block whose seal is right. */
static void checks_the_header(void **state) {
  uint32_t have = fill_block();
  seal(have);
  assert_true(is_valid());
  assert_true(VALID_WITH(base_ticks, START));
  assert_false(VALID_WITH(base_ticks, START - 1));
  assert_false(VALID_WITH(sequence, SEQUENCE + 1));
  assert_false(VALID_WITH(kind, FORMAT_DEFINITIONS));
  assert_false(VALID_WITH(domain, SLOT + 1));
  assert_false(VALID_WITH(ring, EVENTRING_RUNTIME));
  assert_false(VALID_WITH(incarnation, 0));
  assert_false(VALID_WITH(open, FORMAT_MAX_OPEN + 1));
  assert_false(VALID_WITH(before, UINT64_MAX));
}

/* Checks that the seal covers each bit of a block, and its length. */
static void checks_the_seal(void **state) {
  uint32_t have = fill_block();
  seal(have);
  for (uint32_t at = 0; at < have; at++)
    for (unsigned bit = 0; bit < 64; bit++) {
      block.words[at] ^= (uint64_t)1 << bit;
      assert_false(is_valid());
      block.words[at] ^= (uint64_t)1 << bit;
    }
  assert_true(is_valid());
  block.words[FORMAT_SEAL_WORD] = 0; /* as in a block that is being filled */
  assert_false(is_valid());
}

/* ---- Tests ------------------------------------------------------------------------ */

static void accepts_what_is_whole(void **state) {
  for (int round = 0; round < 2000; round++) {
    uint32_t have = fill_block();
    check_up_to(have);
    assert_true(by_the_rule(have));
  }
}

static void ends_anywhere(void **state) {
  for (int round = 0; round < 50; round++) {
    uint32_t have = fill_block();
    for (uint32_t end = FIRST; end <= have; end++) check_up_to(end);
  }
}

/* Checks a word of another kind (or of no kind), or of another length, at each place. */
static void sees_each_odd_word(void **state) {
  for (int round = 0; round < 12; round++) {
    uint32_t have = fill_block();
    for (uint32_t at = FIRST; at < have; at++) {
      uint64_t word = block.words[at];
      block.words[at] = word & ~(uint64_t)7;
      check_up_to(have);
      for (unsigned bit = 0; bit < 10; bit++) {
        block.words[at] = word ^ (uint64_t)1 << bit;
        check_up_to(have);
      }
      block.words[at] = word;
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(accepts_what_is_whole),
      cmocka_unit_test(ends_anywhere),
      cmocka_unit_test(sees_each_odd_word),
      cmocka_unit_test(passes_over_remarks),
      cmocka_unit_test(remarks_move_the_position),
      cmocka_unit_test(checks_the_header),
      cmocka_unit_test(checks_the_seal),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
