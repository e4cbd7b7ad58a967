/* SPDX-License-Identifier: MIT */
/* The stack of open spans that a full block leaves (openspans.c), whose walk passes
 * over runs of begin-end pairs at once, against the plain rules, word by word. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "draw.h"
#include "producer/openspans.h"

enum { WORDS = FORMAT_BLOCK_WORDS - FORMAT_BLOCK_HEADER_WORDS, BASE = 1000 };

static uint64_t word_at(unsigned kind, unsigned id, unsigned length, uint64_t ticks) {
  return EVENTRING_TAIL(kind, id, length) | ticks << EVENTRING_WORD_TIME_SHIFT;
}

/* ---- The rules --------------------------------------------------------------------- */

static void rule_end(struct evr_open_spans *open, unsigned id) {
  if (open->hidden) {
    open->hidden--;
    return;
  }
  for (uint32_t i = open->count; i-- > 0;) {
    if (word_id(open->span[i].tail) != id) continue;
    for (open->count--; i < open->count; i++) open->span[i] = open->span[i + 1];
    return;
  }
}

static void rule_begin(struct evr_open_spans *open, unsigned id, uint64_t ticks) {
  if (open->hidden || open->count == FORMAT_MAX_OPEN)
    open->hidden++;
  else
    open->span[open->count++] =
        (struct evr_open_span){EVENTRING_TAIL(EVENTRING_BEGIN, id, 0), ticks};
}

static void by_the_rules(struct evr_open_spans *open, const uint64_t *words, size_t count) {
  uint64_t base = BASE;
  for (size_t at = 0; at < count; at += 1 + word_length(words[at])) {
    if (word_kind(words[at]) == FORMAT_WORD_META && word_id(words[at]) == FORMAT_META_REBASE)
      base = words[at + 1];
    if (word_kind(words[at]) == EVENTRING_BEGIN)
      rule_begin(open, word_id(words[at]), word_ticks(words[at], base));
    if (word_kind(words[at]) == EVENTRING_END) rule_end(open, word_id(words[at]));
  }
}

static void check(const struct evr_open_spans *before, const uint64_t *words, size_t count) {
  struct evr_open_spans expected = *before, found = *before;
  by_the_rules(&expected, words, count);
  evr_open_apply(&found, words, count, BASE);
  assert_int_equal(found.count, expected.count);
  assert_int_equal(found.hidden, expected.hidden);
  assert_memory_equal(found.span, expected.span, found.count * sizeof found.span[0]);
}

/* ---- Blocks of pairs ------------------------------------------------------------------ */

static void fill_pairs(uint64_t *words, size_t count) {
  for (size_t i = 0; i < count; i++)
    words[i] = word_at(i % 2 ? EVENTRING_END : EVENTRING_BEGIN, (unsigned)(i / 2 * 37 % 8192),
                       0, BASE + i);
}

static const struct evr_open_spans none;

static void passes_over_pairs(void **state) {
  (void)state;
  uint64_t words[WORDS] = {0};
  for (size_t count = 0; count <= WORDS; count++) {
    fill_pairs(words, count);
    check(&none, words, count);
  }
}

/* One word of a block of pairs is another: of a kind, an id or a length that it should
   not have. */
static void sees_each_odd_word(void **state) {
  (void)state;
  uint64_t words[WORDS];
  for (size_t at = 0; at < WORDS; at++)
    for (size_t last = at + 2; last <= WORDS; last += 1 + (WORDS - last) / 3) {
      for (unsigned bit = 0; bit < 23; bit++) {
        fill_pairs(words, last);
        words[at] ^= (uint64_t)1 << bit;
        if (word_kind(words[at]) == FORMAT_WORD_META) continue;
        check(&none, words, last);
      }
      fill_pairs(words, last);
      words[at] = words[at + 1];
      check(&none, words, last);
    }
}

/* Both words of a pair have a length: the second is the payload of the first. */
static void sees_each_payload(void **state) {
  (void)state;
  uint64_t words[WORDS];
  for (size_t at = 0; at < WORDS; at += 2)
    for (unsigned bit = 0; bit < 7; bit++) {
      fill_pairs(words, WORDS);
      words[at] |= (uint64_t)1 << (EVENTRING_WORD_LENGTH_SHIFT + bit);
      words[at + 1] |= (uint64_t)1 << (EVENTRING_WORD_LENGTH_SHIFT + bit);
      size_t last = at + 1 + word_length(words[at]); /* the events of the block end here */
      for (size_t more = 0; more <= WORDS; more += 41)
        if (last + more <= WORDS) check(&none, words, last + more);
    }
}

/* What stands before the words is no concern: pairs, of which the first begin is not
   among them, but was applied before. */
static void looks_at_nothing_before(void **state) {
  (void)state;
  uint64_t words[WORDS];
  fill_pairs(words, WORDS);
  for (size_t from = 1; from < 300; from += 2) {
    const struct evr_open_spans open = {.count = 1,
                                        .span = {{words[from - 1] & FORMAT_TAIL_MASK, BASE}}};
    for (size_t count = 1; from + count <= WORDS; count++) check(&open, words + from, count);
  }
}

/* ---- Anything ----------------------------------------------------------------------------- */

/* A base far from the last one, that the times after it refer to; or a remark that we don't
   know and pass over. */
static size_t fill_remark(uint64_t *words, size_t at) {
  words[at] = word_at(FORMAT_WORD_META, FORMAT_META_REBASE + draw(2), 1, 0);
  words[at + 1] = BASE + draw(1000) * FORMAT_TIME_SPAN;
  return at + 2;
}

/* Stretches of pairs, of nested and of interleaved spans, of events with payload. */
static size_t fill_stretch(uint64_t *words, size_t at) {
  static const unsigned kinds[] = {EVENTRING_BEGIN, EVENTRING_END, EVENTRING_COUNTER,
                                   EVENTRING_INSTANT, EVENTRING_LIFECYCLE};
  unsigned sort = draw(4), length = draw(150), id = draw(30);
  for (unsigned i = 0; i < length && at < WORDS; i++) {
    unsigned kind = sort == 0   ? kinds[i % 2]
                    : sort == 1 ? kinds[i >= length / 2]
                                : kinds[draw(sort == 2 ? 2 : 5)];
    unsigned payload = kind > EVENTRING_END ? draw(4) : 0;
    if (at + payload >= WORDS) payload = 0;
    words[at] = word_at(kind, sort == 0 ? id : draw(30), payload, BASE + at);
    at++;
    for (; payload > 0; payload--) words[at++] = draw(1000) * 0x0123456789abcdefu;
  }
  return at;
}

static void agrees_on_anything(void **state) {
  (void)state;
  static uint64_t words[WORDS];
  struct evr_open_spans open = none;
  for (int round = 0; round < 3000; round++) {
    size_t count = 0;
    while (count < WORDS - 10)
      count = draw(8) ? fill_stretch(words, count) : fill_remark(words, count);
    check(&open, words, count);
    evr_open_apply(&open, words, count, BASE); /* the next begins with what this left */
    if (round % 10 == 9) open = none;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(passes_over_pairs),
      cmocka_unit_test(sees_each_odd_word),
      cmocka_unit_test(sees_each_payload),
      cmocka_unit_test(looks_at_nothing_before),
      cmocka_unit_test(agrees_on_anything),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
