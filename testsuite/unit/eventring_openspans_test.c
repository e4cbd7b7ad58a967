/* SPDX-License-Identifier: MIT */
/* eventring_openspans_test.c: the open spans that a full block leaves (open_spans.c),
 * whose walk passes over runs of begin-end pairs at once (leaf_spans.c). The open spans
 * are compared with the result of the rules of FORMAT.md, section 9, applied word by word
 * to a plain list of all spans, also where classes were switched on meanwhile. The list
 * in a block's header is compared, too. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "draw.h"
#include "producer/open_spans.h"

enum { WORDS = FORMAT_BLOCK_WORDS - FORMAT_BLOCK_HEADER_WORDS, BASE = 1000000 };

static uint64_t word_at(unsigned kind, unsigned id, unsigned length, uint64_t ticks) {
  return EVENTRING_TAIL(kind, id, length) | ticks << EVENTRING_WORD_TIME_SHIFT;
}

/* ---- The rules -------------------------------------------------------------------- */

struct plain_span { /* spans are kept in the order of their begins */
  unsigned id;
  uint64_t ticks, context;
  uint64_t suspended; /* ticks suspended up to the last resume */
  uint64_t since;     /* when it was suspended; 0 if it is not */
};

/* A producer without room may choose which spans to count as hidden, as long as it keeps
   the 64 spans that began last. This model keeps the spans begun since the last remark
   apart; all of these belong to the present context. The model makes room only for the
   spans that are open at the next remark or at the end of the words. */
static struct plain {
  struct plain_span span[EVR_MAX_OPEN];
  struct plain_span begun[WORDS];
  uint32_t count, hidden, begun_count;
  uint64_t context;
} plain;

static struct evr_open_spans found; /* the result under test */

static void plain_remove(uint32_t i) {
  for (plain.count--; i < plain.count; i++) plain.span[i] = plain.span[i + 1];
}

static void plain_suspend(uint64_t context, uint64_t ticks) {
  for (uint32_t i = 0; i < plain.count; i++)
    if (plain.span[i].context == context && !plain.span[i].since) plain.span[i].since = ticks;
}

static void plain_resume(uint64_t context, uint64_t ticks) {
  for (uint32_t i = 0; i < plain.count; i++) {
    struct plain_span *s = &plain.span[i];
    if (s->context != context || !s->since) continue;
    if (ticks > s->since) s->suspended += ticks - s->since;
    s->since = 0;
  }
}

static void plain_begin(unsigned id, uint64_t ticks) {
  plain.begun[plain.begun_count++] =
      (struct plain_span){.id = id, .ticks = ticks, .context = plain.context};
}

static void plain_keep_begun(void) {
  for (uint32_t i = 0; i < plain.begun_count; i++) {
    if (plain.count == EVR_MAX_OPEN) {
      plain_remove(0);
      plain.hidden++;
    }
    plain.span[plain.count++] = plain.begun[i];
  }
  plain.begun_count = 0;
}

static bool plain_end_begun(unsigned id, unsigned *left) {
  for (uint32_t i = plain.begun_count; *left > 0 && i-- > 0; --*left) {
    if (plain.begun[i].id != id) continue;
    for (plain.begun_count--; i < plain.begun_count; i++) plain.begun[i] = plain.begun[i + 1];
    return true;
  }
  return false;
}

static void plain_end(unsigned id) {
  unsigned left = 64;
  if (plain_end_begun(id, &left)) return;
  for (uint32_t i = plain.count; i-- > 0;) {
    if (plain.span[i].context != plain.context) continue;
    if (!left--) break;
    if (plain.span[i].id != id) continue;
    plain_remove(i);
    return;
  }
  if (plain.hidden) plain.hidden--;
}

static uint64_t plain_remark(const uint64_t *words, const uint64_t *end, uint64_t base) {
  bool payload = word_length(*words) && end - words > 1;
  uint64_t ticks = word_ticks(*words, base), value = payload ? words[1] : plain.context;
  switch (word_id(*words)) {
    case 0:
      return payload ? value : base;
    case 1:
      if (payload) plain.context = value;
      break;
    case 2:
      plain_suspend(value, ticks);
      break;
    case 3:
      plain_resume(value, ticks);
      plain.context = value;
      break;
    case 4:
      plain.count = plain.hidden = 0;
      plain.context = 0;
      break;
  }
  return base;
}

static uint8_t class_of[EVENTRING_MAX_EVENTS];

static void plain_tear(uint64_t classes, uint64_t ticks) {
  for (uint32_t i = plain.count; i-- > 0;)
    if (classes >> class_of[plain.span[i].id] & 1 && plain.span[i].ticks < ticks)
      plain_remove(i);
}

/* Applies the entries of the control log before an event. */
static void plain_switch(const struct evr_tears *tears, bool *passed, uint64_t ticks) {
  for (unsigned i = 0; i < tears->switches.count; i++) {
    const struct format_switch *entry = &tears->switches.entry[i];
    if (passed[i] || entry->ticks > ticks) continue;
    plain_keep_begun();
    plain_tear(entry->classes, entry->until);
    passed[i] = entry->until <= ticks;
  }
}

static void by_the_rules(const uint64_t *words, size_t count, const struct evr_tears *tears) {
  bool passed[FORMAT_LOG_ENTRIES + 1] = {false};
  uint64_t base = BASE;
  for (const uint64_t *end = words + count; words < end; words += 1 + word_length(*words)) {
    if (word_kind(*words) == FORMAT_WORD_REMARK) {
      plain_keep_begun();
      base = plain_remark(words, end, base);
      continue;
    }
    uint64_t ticks = word_ticks(*words, base);
    plain_resume(plain.context, ticks); /* an event of the context ends its suspension */
    if (tears) plain_switch(tears, passed, ticks);
    if (word_kind(*words) == EVENTRING_BEGIN) plain_begin(word_id(*words), ticks);
    if (word_kind(*words) == EVENTRING_END) plain_end(word_id(*words));
  }
  plain_keep_begun();
}

/* ---- Comparing -------------------------------------------------------------------- */

static void clear(void) {
  plain.count = plain.hidden = 0;
  plain.context = 0;
  evr_open_clear(&found);
}

static void compare_spans(void) {
  assert_int_equal(found.count, plain.count);
  assert_int_equal(found.hidden, plain.hidden);
  assert_int_equal(found.context, plain.context);
  uint16_t i = found.oldest;
  for (uint32_t n = 0; n < plain.count; n++, i = found.spans[i].newer) {
    const struct evr_open_span *s = &found.spans[i];
    const struct evr_open_context *c = &found.contexts[s->context];
    assert_int_equal(s->tail, EVENTRING_TAIL(EVENTRING_BEGIN, plain.span[n].id, 0));
    assert_int_equal(s->ticks, plain.span[n].ticks);
    assert_int_equal(c->id, plain.span[n].context);
    assert_int_equal(c->suspended - s->suspended, plain.span[n].suspended);
    assert_int_equal(c->since, plain.span[n].since);
  }
  assert_int_equal(i, 0);
}

static struct format_open plain_entry(const struct plain_span *s, uint64_t ticks) {
  uint64_t suspended = s->suspended + (s->since && ticks > s->since ? ticks - s->since : 0);
  return (struct format_open){.tail = EVENTRING_TAIL(EVENTRING_BEGIN, s->id, 0),
                              .ticks = s->ticks, .context = s->context,
                              .suspended = suspended | (s->since ? (uint64_t)1 << 63 : 0)};
}

/* Lists the spans that began last in this context, or in all other contexts, at most
   `room`. */
static unsigned plain_part(bool own, unsigned room, uint64_t ticks, struct format_open *list) {
  unsigned all = 0, count = 0;
  for (uint32_t i = 0; i < plain.count; i++)
    all += (plain.span[i].context == plain.context) == own;
  for (uint32_t i = 0; i < plain.count; i++)
    if ((plain.span[i].context == plain.context) == own && all-- <= room)
      list[count++] = plain_entry(&plain.span[i], ticks);
  return count;
}

static void compare_lists(uint64_t ticks) {
  struct format_open expected[FORMAT_MAX_OPEN], list[FORMAT_MAX_OPEN];
  uint32_t hidden = 77;
  unsigned own = plain_part(true, FORMAT_MAX_OPEN, ticks, expected);
  unsigned count = own + plain_part(false, FORMAT_MAX_OPEN - own, ticks, expected + own);
  assert_int_equal(evr_open_list(&found, ticks, list, &hidden), count);
  assert_memory_equal(list, expected, count * sizeof list[0]);
  assert_int_equal(hidden, plain.count - count + plain.hidden);
}

/* This has no room, because totals are counted elsewhere. */
static struct evr_totals totals;

static void apply_both_with(const uint64_t *words, size_t count, const struct evr_tears *tears) {
  by_the_rules(words, count, tears);
  evr_totals_begin(&totals, 1);
  evr_open_apply(&found, &totals, words, count, BASE, tears);
}

static void apply_both(const uint64_t *words, size_t count) { apply_both_with(words, count, NULL); }

static void check(const uint64_t *words, size_t count) {
  clear();
  apply_both(words, count);
  compare_spans();
}

/* ---- Blocks of pairs -------------------------------------------------------------- */

static void fill_pairs(uint64_t *words, size_t count) {
  for (size_t i = 0; i < count; i++)
    words[i] = word_at(i % 2 ? EVENTRING_END : EVENTRING_BEGIN, (unsigned)(i / 2 * 37 % 8192),
                       0, BASE + i);
}

static void passes_over_pairs(void **state) {
  uint64_t words[WORDS] = {0};
  for (size_t count = 0; count <= WORDS; count++) {
    fill_pairs(words, count);
    check(words, count);
  }
}

/* Checks a block of pairs in which one word has a wrong kind, id or length. */
static void sees_each_odd_word(void **state) {
  uint64_t words[WORDS];
  for (size_t at = 0; at < WORDS; at++)
    for (size_t last = at + 2; last <= WORDS; last += 1 + (WORDS - last) / 3) {
      for (unsigned bit = 0; bit < 23; bit++) {
        fill_pairs(words, last);
        words[at] ^= (uint64_t)1 << bit;
        check(words, last);
      }
      fill_pairs(words, last);
      words[at] = words[at + 1];
      check(words, last);
    }
}

/* Checks pairs of which both words have a length: the second word is then the payload of
   the first. */
static void sees_each_payload(void **state) {
  uint64_t words[WORDS];
  for (size_t at = 0; at < WORDS; at += 2)
    for (unsigned bit = 0; bit < 7; bit++) {
      fill_pairs(words, WORDS);
      words[at] |= (uint64_t)1 << (EVENTRING_WORD_LENGTH_SHIFT + bit);
      words[at + 1] |= (uint64_t)1 << (EVENTRING_WORD_LENGTH_SHIFT + bit);
      /* the last event of the block */
      size_t last = at + 1 + word_length(words[at]);
      for (size_t more = 0; more <= WORDS; more += 41)
        if (last + more <= WORDS) check(words, last + more);
    }
}

/* Checks that what comes before the words has no influence: the first begin of the pairs
   is not among the words, but was applied before them. */
static void looks_at_nothing_before(void **state) {
  uint64_t words[WORDS];
  fill_pairs(words, WORDS);
  for (size_t from = 1; from < 300; from += 2)
    for (size_t count = 1; from + count <= WORDS; count++) {
      clear();
      apply_both(words + from - 1, 1);
      apply_both(words + from, count);
      compare_spans();
    }
}

/* Checks that the next event of a suspended context resumes the context, even if the
   event is part of a pair. */
static void a_pair_ends_a_suspension(void **state) {
  uint64_t words[WORDS];
  for (size_t before = 0; before < 200; before += 2) {
    fill_pairs(words, before);
    size_t at = before;
    words[at++] = word_at(EVENTRING_BEGIN, 9000 % 8192, 0, BASE + 1000);
    words[at++] = word_at(FORMAT_WORD_REMARK, FORMAT_REMARK_SUSPEND, 0, BASE + 2000);
    fill_pairs(words + at, 200);
    for (size_t i = 0; i < 200; i++) words[at + i] += (uint64_t)5000 << EVENTRING_WORD_TIME_SHIFT;
    check(words, at + 200);
    assert_int_equal(plain.span[0].suspended, 3000);
    clear();
    apply_both(words, at); /* the suspension is in the block before */
    apply_both(words + at, 200);
    compare_spans();
  }
}

/* ---- Anything --------------------------------------------------------------------- */

static unsigned contexts; /* number of contexts to draw from */

/* Writes a remark: a base far from the last one, a context, a suspension, sometimes an
   incarnation; or an unknown remark, which is skipped. */
static size_t fill_remark(uint64_t *words, size_t at) {
  unsigned id = draw(200) ? draw(4) : 4 + draw(2), length = id == 1 || draw(2);
  words[at] = word_at(FORMAT_WORD_REMARK, id, length, BASE + at);
  words[at + 1] = id == FORMAT_REMARK_REBASE ? BASE + draw(1000) * FORMAT_TIME_SPAN
                                             : draw(contexts);
  return at + 1 + length;
}

/* Writes a stretch: pairs, nested or interleaved spans, or events with payload. */
static size_t fill_stretch(uint64_t *words, size_t at, bool deep) {
  static const unsigned kinds[] = {EVENTRING_BEGIN, EVENTRING_END, EVENTRING_COUNTER,
                                   EVENTRING_INSTANT, EVENTRING_LIFECYCLE, EVENTRING_LINKED};
  unsigned sort = deep && draw(3) ? 4 : draw(4), length = draw(contexts > 20 ? 8 : 150);
  unsigned id = draw(30);
  for (unsigned i = 0; i < length && at < WORDS; i++) {
    unsigned kind = sort == 0   ? kinds[i % 2]
                    : sort == 1 ? kinds[i >= length / 2]
                    : sort == 4 ? kinds[draw(8) == 0]
                                : kinds[draw(sort == 2 ? 2 : 6)];
    unsigned payload = kind > EVENTRING_END ? draw(4) : 0;
    if (at + payload >= WORDS) payload = 0;
    words[at] = word_at(kind, sort == 0 ? id : draw(30), payload, BASE + at);
    at++;
    for (; payload > 0; payload--) words[at++] = draw(1000) * 0x0123456789abcdefu;
  }
  return at;
}

static void tear_both(uint64_t classes, uint64_t ticks) {
  plain_tear(classes, ticks);
  evr_open_tear(&found, class_of, classes, ticks);
}

/* Draws entries of the control log, with times in the block and around it. */
static const struct evr_tears *draw_tears(void) {
  static struct evr_tears tears;
  tears = (struct evr_tears){.class_of = class_of, .switches.count = draw(4)};
  for (unsigned i = 0; i < tears.switches.count; i++) {
    const uint64_t ticks = BASE + draw(3) * draw(1000) * (FORMAT_TIME_SPAN / 2) + draw(WORDS);
    tears.switches.entry[i] = (struct format_switch){
        .ticks = ticks, .classes = random_bits(),
        .until = draw(4) ? ticks + draw(100) : UINT64_MAX};
  }
  return &tears;
}

/* Compares the open spans with the rules, block after block. Each block begins with the
   spans that the blocks before left open. */
static void agree_on_anything(unsigned of_contexts, bool deep, int rounds) {
  static uint64_t words[WORDS];
  uint32_t most = 0, hidden = 0;
  contexts = of_contexts;
  clear();
  for (int round = 0; round < rounds; round++) {
    size_t count = 0;
    while (count < WORDS - 10)
      count = draw(8) ? fill_stretch(words, count, deep) : fill_remark(words, count);
    apply_both_with(words, count, deep || draw(3) ? NULL : draw_tears());
    compare_spans();
    compare_lists(BASE + draw(1000) * (FORMAT_TIME_SPAN / 2));
    if (plain.count > most) most = plain.count;
    if (plain.hidden > hidden) hidden = plain.hidden;
    if (draw(20) == 0) tear_both(random_bits(), BASE + draw(1000) * FORMAT_TIME_SPAN);
    compare_spans();
    if (!deep && round % 10 == 9) clear();
  }
  if (!deep) return;
  assert_int_equal(most, EVR_MAX_OPEN);
  assert_true(hidden > 100);
}

static void agrees_without_contexts(void **state) {
  agree_on_anything(1, false, 3000);
}
static void agrees_with_contexts(void **state) {
  agree_on_anything(5, false, 3000);
  agree_on_anything(1000, false, 1000);
}
static void agrees_beyond_what_is_kept(void **state) {
  agree_on_anything(3, true, 500);
  agree_on_anything(3000, true, 500);
}

/* Checks a new incarnation, and the list of a block that begins without open spans. */
static void clears(void **state) {
  uint64_t words[WORDS];
  struct format_open list[FORMAT_MAX_OPEN];
  uint32_t hidden = 77;
  for (size_t i = 0; i < WORDS; i++) words[i] = word_at(EVENTRING_BEGIN, (unsigned)i, 0, BASE);
  for (int i = 0; i < 10; i++) apply_both(words, WORDS);
  assert_true(found.hidden > 1000);
  evr_open_clear(&found);
  assert_int_equal(evr_open_list(&found, BASE, list, &hidden), 0);
  assert_int_equal(hidden, 0);
  assert_int_equal(found.context, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(passes_over_pairs),
      cmocka_unit_test(sees_each_odd_word),
      cmocka_unit_test(sees_each_payload),
      cmocka_unit_test(looks_at_nothing_before),
      cmocka_unit_test(a_pair_ends_a_suspension),
      cmocka_unit_test(agrees_without_contexts),
      cmocka_unit_test(agrees_with_contexts),
      cmocka_unit_test(agrees_beyond_what_is_kept),
      cmocka_unit_test(clears),
  };
  for (unsigned id = 0; id < EVENTRING_MAX_EVENTS; id++) class_of[id] = (uint8_t)(id % 64);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
