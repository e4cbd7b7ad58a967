/* SPDX-License-Identifier: MIT */
/* eventring_format_test.c: what producer and reader share (eventring/format): the
 * checksum compared with its definition, the control page, texts, and the conversion of
 * times over simulated hours. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "draw.h"
#include "format/checksum.h"
#include "format/clock.h"
#include "format/control.h"
#include "format/text.h"

/* ---- Checksum: FORMAT.md, section 8 ----------------------------------------------- */

static uint32_t by_the_definition(const uint64_t *words, uint32_t n) {
  uint64_t a = 0, b = 0;
  for (uint32_t i = 0; i < n; i++) {
    uint64_t w = i == 6 ? 0 : words[i]; /* word 6: committed and checksum */
    a += w;
    b += (n - i) * w;
  }
  uint64_t c = a + (b << 21 | b >> 43);
  return (uint32_t)(c * 0x9e3779b97f4a7c15u >> 32);
}

static void fill_words(uint64_t *words) {
  unsigned sort = draw(4);
  for (unsigned i = 0; i < FORMAT_BLOCK_WORDS; i++)
    words[i] = sort == 0 ? random_bits() : sort == 1 ? UINT64_MAX : sort == 2 ? i : 0;
}

static void checksum_is_as_defined(void **state) {
  static uint64_t words[FORMAT_BLOCK_WORDS + 1];
  for (int round = 0; round < 40; round++)
    for (uint32_t n = FORMAT_BLOCK_HEADER_WORDS; n <= FORMAT_BLOCK_WORDS; n++) {
      uint64_t *at = words + round % 2; /* aligned to 16 bytes, or not */
      if (n % 64 == 8) fill_words(at);
      assert_int_equal(evr_checksum(at, n), by_the_definition(at, n));
    }
}

/* Checks known values, so that the definition of the checksum above agrees with existing
   files. */
static void checksum_of_known_words(void **state) {
  uint64_t words[FORMAT_BLOCK_WORDS];
  for (unsigned i = 0; i < FORMAT_BLOCK_WORDS; i++) words[i] = i * 0x0123456789abcdefu;
  /* computed with arbitrary precision (Python) from the text of section 8 */
  assert_int_equal(evr_checksum(words, 8), 0xbaa8321a);
  assert_int_equal(evr_checksum(words, 100), 0x81c693aa);
  assert_int_equal(evr_checksum(words, 512), 0x5283a1c7);
}

/* Checks that the checksum changes when two words swap places, but not when the seal or a
   word after the end changes. */
static void checksum_sees_places(void **state) {
  uint64_t words[FORMAT_BLOCK_WORDS];
  for (unsigned i = 0; i < FORMAT_BLOCK_WORDS; i++) words[i] = random_bits();
  uint32_t sum = evr_checksum(words, 400);
  words[FORMAT_SEAL_WORD] = 17;
  words[400] = 17;
  assert_int_equal(evr_checksum(words, 400), sum);
  for (unsigned i = 0; i + 1 < 400; i++) {
    if (i == FORMAT_SEAL_WORD || i + 1 == FORMAT_SEAL_WORD) continue;
    uint64_t word = words[i];
    words[i] = words[i + 1];
    words[i + 1] = word;
    assert_int_not_equal(evr_checksum(words, 400), sum);
    words[i + 1] = words[i];
    words[i] = word;
  }
}

/* ---- Control page ----------------------------------------------------------------- */

enum { NAMED = 0xffff };

static struct format_control page;

static void clear_page(uint64_t wanted) {
  page = (struct format_control){.wanted = wanted, .gate = format_gate(wanted)};
}

static void gate_follows(void **state) {
  clear_page(0x0b);
  assert_false(evr_control_settle(&page, FORMAT_CLOCK_MONOTONIC));
  assert_int_equal(page.switches, 0);
  assert_int_equal(evr_control_change(&page, FORMAT_CLOCK_MONOTONIC, NAMED, EVR_PAUSE, 0), 0x0b);
  assert_int_equal(page.wanted, 0x0a);
  assert_int_equal(page.gate, 0);
  evr_control_change(&page, FORMAT_CLOCK_MONOTONIC, NAMED, EVR_ADD, 0x100 | 1);
  assert_int_equal(page.wanted, 0x10a); /* in `wanted`, bit 0 is no class */
  assert_int_equal(page.gate, 0);
  assert_int_equal(page.switches, 0); /* nothing was switched on so far */
  evr_control_change(&page, FORMAT_CLOCK_MONOTONIC, NAMED, EVR_RESUME, 0);
  assert_int_equal(page.gate, 0x10b);
  assert_int_equal(page.switches, 1);
  evr_control_change(&page, FORMAT_CLOCK_MONOTONIC, NAMED, EVR_REMOVE, 0x0b);
  assert_int_equal(page.gate, 0x101);
  assert_int_equal(page.switches, 1);
  evr_control_change(&page, FORMAT_CLOCK_MONOTONIC, NAMED, EVR_REMOVE, 0x100);
  evr_control_change(&page, FORMAT_CLOCK_MONOTONIC, NAMED, EVR_ADD, 0xf0000 | 0x22);
  assert_int_equal(page.gate, 0x23); /* classes without a name are ignored */
  assert_int_equal(page.switches, 2);
}

static void entries_have_both_times(void **state) {
  struct format_switch entry;
  clear_page(1);
  for (uint32_t n = 0; n < 200; n++) {
    uint64_t before = evr_monotonic_ns();
    evr_control_change(&page, FORMAT_CLOCK_MONOTONIC, NAMED, n % 2 ? EVR_RESUME : EVR_ADD,
                       n % 2 ? 0 : 1u << (1 + n % 15));
    uint64_t after = evr_monotonic_ns();
    evr_control_change(&page, FORMAT_CLOCK_MONOTONIC, NAMED, EVR_PAUSE, 0);
    evr_control_change(&page, FORMAT_CLOCK_MONOTONIC, NAMED, EVR_REMOVE, NAMED);
    evr_control_change(&page, FORMAT_CLOCK_MONOTONIC, NAMED, EVR_RESUME, 0);
    if (n % 2) continue;
    uint32_t last = page.switches - 2; /* the entry before the entry of the resume */
    assert_true(evr_control_entry(&page, last, &entry));
    assert_int_equal(entry.number, last + 1);
    assert_int_equal(entry.classes, 1u << (1 + n % 15));
    assert_true(before <= entry.ticks && entry.ticks <= entry.until && entry.until <= after);
  }
  /* neither entries that were pushed out nor future entries are there */
  assert_true(page.switches > 64);
  assert_false(evr_control_entry(&page, page.switches - 65, &entry));
  assert_true(evr_control_entry(&page, page.switches - 64, &entry));
  assert_false(evr_control_entry(&page, page.switches, &entry));
}

/* Checks that evr_control_settle completes the change of a tool that died when it had
   changed only `wanted`, and that it corrects a gate with any other value. */
static void a_change_is_completed_by_the_next(void **state) {
  clear_page(1);
  page.wanted = 0x15;
  assert_true(evr_control_settle(&page, FORMAT_CLOCK_MONOTONIC));
  assert_int_equal(page.gate, 0x15);
  assert_int_equal(page.switches, 1);
  struct format_switch entry;
  assert_true(evr_control_entry(&page, 0, &entry));
  assert_int_equal(entry.classes, 0x14);
  page.gate = UINT64_MAX; /* whatever value is stored there */
  assert_true(evr_control_settle(&page, FORMAT_CLOCK_MONOTONIC));
  assert_int_equal(page.gate, 0x15);
}

static void repairs(void **state) {
  clear_page(1);
  page.wanted = (uint64_t)1 << 63 | 5;
  assert_false(evr_wanted_valid(page.wanted, NAMED));
  assert_true(evr_wanted_valid(0, NAMED) && evr_wanted_valid(NAMED, NAMED));
  /* `wanted` is not replaced if it is no longer the invalid word that was seen, here 7 */
  assert_false(evr_control_repair(&page, FORMAT_CLOCK_MONOTONIC, 7, 1));
  assert_true(evr_control_repair(&page, FORMAT_CLOCK_MONOTONIC, (uint64_t)1 << 63 | 5, 9));
  assert_int_equal(page.wanted, 9);
  assert_int_equal(page.gate, 9);
}

enum { CHANGERS = 4, CHANGES = 30000 };

/* Switches a class of its own, and a class that all threads switch. */
static void *change_classes(void *argument) {
  unsigned own = (unsigned)(uintptr_t)argument;
  for (int i = 0; i < CHANGES; i++) {
    uint64_t classes = (uint64_t)1 << own | (i % 3 ? 0 : 1 << 9);
    evr_control_change(&page, FORMAT_CLOCK_MONOTONIC, NAMED, EVR_ADD, classes);
    if (i % 64 == 1) evr_control_change(&page, FORMAT_CLOCK_MONOTONIC, NAMED, EVR_PAUSE, 0);
    evr_control_change(&page, FORMAT_CLOCK_MONOTONIC, NAMED, EVR_REMOVE, classes);
    if (i % 64 == 1) evr_control_change(&page, FORMAT_CLOCK_MONOTONIC, NAMED, EVR_RESUME, 0);
  }
  evr_control_change(&page, FORMAT_CLOCK_MONOTONIC, NAMED, EVR_ADD, (uint64_t)1 << own);
  return NULL;
}

/* Checks that no change is lost, and that when all are done the gate agrees and all
   entries of the log that can be read are complete. */
static void several_change_at_once(void **state) {
  pthread_t thread[CHANGERS];
  struct format_switch entry;
  clear_page(1);
  for (uintptr_t i = 0; i < CHANGERS; i++)
    pthread_create(&thread[i], NULL, change_classes, (void *)(i + 1));
  for (int i = 0; i < CHANGERS; i++) pthread_join(thread[i], NULL);
  evr_control_settle(&page, FORMAT_CLOCK_MONOTONIC); /* as the producer does */
  assert_int_equal(page.wanted & ~(uint64_t)1 & ~(uint64_t)(1 << 9), 0x1e);
  assert_int_equal(page.gate, format_gate(page.wanted));
  for (uint32_t n = page.switches - 64; n != page.switches; n++) {
    if (!evr_control_entry(&page, n, &entry)) continue; /* other writers have overtaken
                                                           the writer of this entry */
    assert_true(entry.until != UINT64_MAX && entry.until >= entry.ticks);
    assert_false(entry.classes & ~(uint64_t)NAMED);
  }
}

/* ---- Texts ------------------------------------------------------------------------ */

static void expect_text(const char *text, size_t size, enum evr_text expected) {
  assert_int_equal(evr_text_check(text, size), expected);
}

static void texts(void **state) {
  expect_text("", 0, EVR_TEXT_OK);
  expect_text("plain", 5, EVR_TEXT_OK);
  expect_text("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 9, EVR_TEXT_OK);
  expect_text("\xf4\x8f\xbf\xbf", 4, EVR_TEXT_OK);          /* U+10FFFF */
  expect_text("\xf4\x90\x80\x80", 4, EVR_TEXT_NOT_UTF8);    /* beyond the last
                                                               character */
  expect_text("\xed\x9f\xbf", 3, EVR_TEXT_OK);              /* U+D7FF */
  expect_text("\xed\xa0\x80", 3, EVR_TEXT_NOT_UTF8);        /* a surrogate */
  expect_text("\xc1\xbf", 2, EVR_TEXT_NOT_UTF8);            /* longer than needed */
  expect_text("\xe0\x9f\xbf", 3, EVR_TEXT_NOT_UTF8);
  expect_text("\xf0\x8f\xbf\xbf", 4, EVR_TEXT_NOT_UTF8);
  expect_text("\xe2\x82", 2, EVR_TEXT_NOT_UTF8);            /* cut off */
  expect_text("\x80", 1, EVR_TEXT_NOT_UTF8);
  expect_text("\xff", 1, EVR_TEXT_NOT_UTF8);
  for (int c = 0; c < 128; c++) {
    char byte = (char)c;
    expect_text(&byte, 1, c < 32 || c == 127 ? EVR_TEXT_CONTROL : EVR_TEXT_OK);
  }
  expect_text("\xc2\x80", 2, EVR_TEXT_CONTROL); /* U+0080 */
  expect_text("\xc2\x9f", 2, EVR_TEXT_CONTROL);
  expect_text("\xc2\xa0", 2, EVR_TEXT_OK);
}

static void texts_are_copied_whole(void **state) {
  char to[8];
  assert_int_equal(evr_text_copy(to, sizeof to, NULL), 0);
  assert_string_equal(to, "");
  assert_int_equal(evr_text_copy(to, sizeof to, "1234567"), 7);
  assert_int_equal(evr_text_copy(to, sizeof to, "12345678"), 7);
  assert_string_equal(to, "1234567");
  /* The third character does not fit as a whole. */
  assert_int_equal(evr_text_copy(to, sizeof to, "12345\xe2\x82\xac"), 5);
  assert_string_equal(to, "12345");
  assert_int_equal(evr_text_copy(to, sizeof to, "1234\xe2\x82\xac" "5"), 7);
}

/* Checks that cleaning any bytes makes a text of the same length. */
static void texts_are_cleaned(void **state) {
  char text[] = "a\nb\xc2\x85" "c\xff\xe2\x82" "d\xc3\xa4";
  evr_text_clean(text, sizeof text);
  assert_string_equal(text, "a?b??c???d\xc3\xa4");
  for (int round = 0; round < 20000; round++) {
    char any[24];
    for (size_t i = 0; i < sizeof any; i++)
      any[i] = (char)(draw(3) ? 0x80 + draw(128) : draw(256));
    size_t size = strnlen(any, sizeof any - 1);
    evr_text_clean(any, sizeof any);
    assert_int_equal(strlen(any), size);
    expect_text(any, size, EVR_TEXT_OK);
  }
}

static void expect_character(const char *text, size_t size, uint32_t code, unsigned bytes,
                             bool printable) {
  struct eventring_character c = eventring_character_at(text, size);
  assert_true(c.valid && c.printable == printable);
  assert_int_equal(c.code, code);
  assert_int_equal(c.size, bytes);
}

static void characters(void **state) {
  expect_character("ab", 2, 'a', 1, true);
  expect_character("\xc3\xa9x", 3, 0xe9, 2, true);
  expect_character("\xe2\x82\xac", 3, 0x20ac, 3, true);
  expect_character("\xf0\x9f\x98\x80", 4, 0x1f600, 4, true);
  expect_character("\xf4\x8f\xbf\xbf", 4, 0x10ffff, 4, true);
  static const uint32_t hostile[] = {0,      0x1b,   0x7f,   0x80,   0x9b,   0x9f,   0x61c,  0x180e,
                                     0x200b, 0x200f, 0x2028, 0x2029, 0x202a, 0x202e, 0x2060, 0x2066,
                                     0x2069, 0xfeff, 0xfff9, 0xfffb, 0xe0001, 0xe007f};
  for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++) {
    char bytes[4], c = (char)(hostile[i] & 63);
    unsigned size = 1;
    if (hostile[i] < 0x80) bytes[0] = (char)hostile[i];
    else if (hostile[i] < 0x800) bytes[0] = (char)(0xc0 | hostile[i] >> 6), size = 2;
    else if (hostile[i] < 0x10000) bytes[0] = (char)(0xe0 | hostile[i] >> 12), size = 3;
    else bytes[0] = (char)(0xf0 | hostile[i] >> 18), size = 4;
    for (unsigned k = 1; k < size; k++)
      bytes[k] = (char)(0x80 | (hostile[i] >> 6 * (size - 1 - k) & 63));
    if (size > 1) assert_int_equal(bytes[size - 1] & 63, c);
    expect_character(bytes, size, hostile[i], size, false);
  }
  static const char *const invalid[] = {"\x80", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80",
                                        "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xc3("};
  for (size_t i = 0; i < sizeof invalid / sizeof invalid[0]; i++) {
    struct eventring_character c = eventring_character_at(invalid[i], strlen(invalid[i]));
    assert_true(!c.valid && !c.printable && c.size == 1);
  }
  assert_false(eventring_character_at("\xc3\xa9", 1).valid); /* cut */
}

static void foreign_text_is_shown(void **state) {
  static const char foreign[] = "a\x1b[2J\n\\\xC3\xA9\xC2\x9B\xED\xA0\x80\xFF\xE2\x80\xAE";
  char safe[4 * sizeof foreign];
  assert_string_equal(
      eventring_printable(safe, sizeof safe, foreign, sizeof foreign - 1),
      "a\\x1B[2J\\x0A\\x5C\xC3\xA9\\xC2\\x9B\\xED\\xA0\\x80\\xFF\\xE2\\x80\\xAE");
  assert_string_equal(eventring_printable(safe, 4, "\xC3\xA9\xC3\xA9", 4), "\xC3\xA9");
  assert_string_equal(eventring_printable(safe, 3, "abc", 3), "ab");
  assert_string_equal(eventring_printable(safe, 1, "abc", 3), "");
  char message[] = "it's \xE2\x80\xAE\xC2\x9B\xC3\xA9\x9b";
  evr_text_clean_message(message, sizeof message);
  assert_string_equal(message, "it's ?????\xC3\xA9?");
}

/* ---- Conversion of times over hours ----------------------------------------------- */

/* The simulated clock has nominally 2.5 GHz. It is off by 28 parts in a million, and may
   drift. */
enum { HZ_MILLI = 2499931 }; /* kHz */

static uint64_t true_ticks(uint64_t ns, bool drifts) {
  double seconds = (double)ns / 1e9;
  /* The rate of the clock rises by 1 ppm in 10 hours. */
  double wander = drifts ? 0.5e-6 * seconds * seconds / 36000 : 0;
  return 1000000 + (uint64_t)((long double)ns * HZ_MILLI / 1000000 +
                              (long double)(wander * HZ_MILLI * 1000));
}

static struct evr_pair reading(uint64_t ns, bool drifts, unsigned noise) {
  uint64_t off = noise ? draw(noise) : 0;
  return (struct evr_pair){.ticks = true_ticks(ns, drifts), .ns = ns + off};
}

static struct format_segment segments[128];

/* Calibrates as calibration.c does for some hours. Returns the number of segments. */
static uint32_t calibrate_for(uint64_t end, bool drifts, unsigned noise) {
  const uint64_t start = 5000000000, lead = 250000000; /* ticks: 0.1 s */
  struct evr_pair then = reading(start, drifts, 0);
  uint32_t count = 1;
  /* the first rate is off by 200 parts in a million */
  segments[0] = (struct format_segment){
      .from_ticks = then.ticks, .from_ns = then.ns,
      .multiplier = (uint64_t)((double)((uint64_t)1 << 40) * 1e6 / HZ_MILLI * 1.0002)};
  uint64_t interval = 20000000;
  for (uint64_t ns = start + interval; ns < end && count + 2 <= 128; ns += interval) {
    struct evr_pair now = reading(ns, drifts, noise);
    interval = interval * (interval < 1000000000 ? 50 : 2);
    if (interval > 7200000000000) interval = 7200000000000;
    struct format_segment next[2];
    assert_true(evr_next_segments(&segments[count - 1], then, now, lead,
                                  (uint64_t)((double)interval * HZ_MILLI / 1e6), next));
    assert_true(evr_segment_valid(&next[0], &segments[count - 1]));
    assert_true(evr_segment_valid(&next[1], &next[0]));
    assert_true(next[0].from_ticks >= now.ticks + lead);
    segments[count++] = next[0];
    segments[count++] = next[1];
    then = now;
  }
  return count;
}

/* Returns the largest error, in ns, of converted times between `from` and `to`. */
static uint64_t worst_from(const struct evr_conversion *c, uint64_t from, uint64_t to,
                           bool drifts) {
  uint64_t worst = 0, last = 0;
  for (uint64_t ns = from; ns < to; ns += 777777777) {
    uint64_t shown = evr_to_ns(c, true_ticks(ns, drifts));
    uint64_t off = shown > ns ? shown - ns : ns - shown;
    assert_true(shown >= last);
    last = shown;
    if (off > worst) worst = off;
  }
  return worst;
}

static void check_joins(const struct evr_conversion *c) {
  for (uint32_t i = 1; i < c->segments; i++) {
    const struct format_segment *s = &c->segment[i];
    assert_int_equal(s->from_ns, evr_segment_ns(s - 1, s->from_ticks));
    assert_int_equal(evr_to_ns(c, s->from_ticks), s->from_ns);
    assert_true(evr_to_ns(c, s->from_ticks - 1) <= s->from_ns);
    assert_int_equal(evr_segment_at(c, s->from_ticks - 1), i - 1);
    assert_int_equal(evr_segment_at(c, s->from_ticks), i);
  }
  assert_int_equal(evr_to_ns(c, 0), c->segment[0].from_ns);
  assert_true(evr_to_ns(c, UINT64_MAX >> 1) > c->segment[c->segments - 1].from_ns);
}

static void times_over_hours(void **state) {
  const uint64_t hour = 3600 * (uint64_t)1000000000;
  static const struct { bool drifts; unsigned noise, most; } clocks[] = {
      {false, 0, 100}, {false, 100, 2000},
      {true, 100, 2000000}}; /* 0.2 ppm more in the two hours between calibrations */
  for (size_t i = 0; i < sizeof clocks / sizeof clocks[0]; i++) {
    uint32_t count = calibrate_for(10 * hour, clocks[i].drifts, clocks[i].noise);
    const struct evr_conversion c = {segments, count};
    check_joins(&c);
    uint64_t worst = worst_from(&c, 60 * (uint64_t)1000000000, 10 * hour, clocks[i].drifts);
    printf("clock %zu: %u segments, off by at most %llu ns\n", i, count,
           (unsigned long long)worst);
    assert_true(worst <= clocks[i].most);
  }
}

static void segments_that_are_not_valid(void **state) {
  const struct format_segment a = {.from_ticks = 100, .from_ns = 50, .multiplier = 1};
  struct format_segment b = {
      .from_ticks = 101, .from_ns = 50, .multiplier = ((uint64_t)1 << 56) - 1};
  assert_true(evr_segment_valid(&a, NULL) && evr_segment_valid(&b, &a));
  b.multiplier++;
  assert_false(evr_segment_valid(&b, &a));
  b.multiplier = 0;
  assert_false(evr_segment_valid(&b, &a));
  b = (struct format_segment){.from_ticks = 100, .from_ns = 50, .multiplier = 1};
  assert_false(evr_segment_valid(&b, &a));
  b = (struct format_segment){.from_ticks = 101, .from_ns = 49, .multiplier = 1};
  assert_false(evr_segment_valid(&b, &a));
  struct format_segment next[2];
  const struct evr_pair now = {200, 300};
  assert_false(evr_next_segments(&a, now, now, 10, 10, next)); /* these readings give no
                                                                  rate */
}

/* Checks two readings that yield no rate, and rates beyond what a segment can have. */
static void readings_without_sense(void **state) {
  const struct evr_pair zero = {0, 0}, same_ticks = {0, 9}, same_ns = {9, 0},
                        steep = {1 << 10, 1 << 30}, slow = {1000, 1000};
  const uint64_t one = (uint64_t)1 << FORMAT_CLOCK_SHIFT;
  struct format_segment last = {.multiplier = one}, next[2];
  assert_int_equal(evr_clock_measured(zero, same_ticks), 0);
  assert_int_equal(evr_clock_measured(zero, same_ns), 0);
  assert_false(evr_next_segments(&last, zero, same_ns, 10, 100, next));
  /* The first new segment is too steep. */
  assert_false(evr_next_segments(&last, zero, steep, 10, 100, next));
  last.from_ns = (1 << 30) + 110 * (1 << 20) - 1034 - 50;
  /* now only the second new segment is too steep */
  assert_false(evr_next_segments(&last, zero, steep, 10, 100, next));
  last.from_ns = (uint64_t)1 << 50; /* far ahead, so the rate is as slow as possible */
  assert_true(evr_next_segments(&last, zero, slow, 10, 100, next));
  assert_int_equal(next[0].multiplier, 1);
  last.from_ticks = 5000; /* the last segment begins later than now */
  assert_true(evr_next_segments(&last, zero, slow, 10, 100, next));
  assert_int_equal(next[0].from_ticks, 5001);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(readings_without_sense),
      cmocka_unit_test(checksum_is_as_defined),
      cmocka_unit_test(checksum_of_known_words),
      cmocka_unit_test(checksum_sees_places),
      cmocka_unit_test(gate_follows),
      cmocka_unit_test(entries_have_both_times),
      cmocka_unit_test(a_change_is_completed_by_the_next),
      cmocka_unit_test(repairs),
      cmocka_unit_test(several_change_at_once),
      cmocka_unit_test(texts),
      cmocka_unit_test(texts_are_copied_whole),
      cmocka_unit_test(texts_are_cleaned),
      cmocka_unit_test(characters), cmocka_unit_test(foreign_text_is_shown),
      cmocka_unit_test(times_over_hours),
      cmocka_unit_test(segments_that_are_not_valid),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
