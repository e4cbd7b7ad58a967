/* SPDX-License-Identifier: MIT */
/* eventring_conditions_test.c: the language of conditions: what each text means, where an
   error is reported and which, and that any bytes are harmless. With arguments SEED and
   COUNT it makes more mutations. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "draw.h"
#include "eventring/conditions.h"

#define C(s, f, c, u, n, ...) \
  {EVENTRING_SUBJECT_##s, f, EVENTRING_##c, EVENTRING_##u, false, 0, n, __VA_ARGS__}
#define EACH EVENTRING_EACH
#define OF(f) EVENTRING_FIGURE_##f

static const struct {
  const char *text;
  struct eventring_condition means;
  const char *written; /* NULL if it equals the text */
} good[] = {
    {"pause > 5ms", C(PAUSE, EACH, MORE, TIME, 5e6, "", ""), NULL},
    {"  pause>5.5us ", C(PAUSE, EACH, MORE, TIME, 5500, "", ""), "pause > 5500ns"},
    {"span(\"request\") > 100ms", C(SPAN, EACH, MORE, TIME, 1e8, "request", ""), NULL},
    {"span ( \"a \\\"b\\\" \\\\ c\" ) <= 1s",
     C(SPAN, EACH, NOT_MORE, TIME, 1e9, "a \"b\" \\ c", ""),
     "span(\"a \\\"b\\\" \\\\ c\") <= 1s"},
    {"heap > 200M", C(HEAP, EACH, MORE, PLAIN, 200 * 0x1p20, "", ""), NULL},
    {"heap > 1.5G", C(HEAP, EACH, MORE, PLAIN, 1.5 * 0x1p30, "", ""), "heap > 1536M"},
    {"heap(max) < 1023", C(HEAP, OF(MAX), LESS, PLAIN, 1023, "", ""), "max(heap) < 1023"},
    {"counter(\"queue\") > 1000", C(COUNTER, EACH, MORE, PLAIN, 1000, "queue", ""), NULL},
    {"counter(\"t\") >= - 2.5", C(COUNTER, EACH, NOT_LESS, PLAIN, -2.5, "t", ""),
     "counter(\"t\") >= -2.500000000"},
    {"error", C(ERROR, EACH, DIFFERENT, PLAIN, 0, "", ""), NULL},
    {"signal", C(SIGNAL, EACH, DIFFERENT, PLAIN, 0, "", ""), NULL},
    {"signal == 11", C(SIGNAL, EACH, EQUAL, PLAIN, 11, "", ""), NULL},
    {"error == 0", C(ERROR, EACH, EQUAL, PLAIN, 0, "", ""), NULL},
    {"lost == 0", C(LOST, EACH, EQUAL, PLAIN, 0, "", ""), NULL},
    {"live_bytes(last) < 100M", C(NAME, OF(LAST), LESS, PLAIN, 100 * 0x1p20, "live_bytes", ""),
     "last(\"live_bytes\") < 100M"},
    {"count(major) == 0 within span \"request\"",
     C(NAME, OF(COUNT), EQUAL, PLAIN, 0, "major", "request"),
     "count(\"major\") == 0 within span \"request\""},
    {"count(span(\"x\")) != 3", C(SPAN, OF(COUNT), DIFFERENT, PLAIN, 3, "x", ""), NULL},
    {"sum(pause) < 20ms within span \"a b\"", C(PAUSE, OF(SUM), LESS, TIME, 2e7, "", "a b"), NULL},
    {"mean(\"ffi:puts\") < 3us", C(NAME, OF(MEAN), LESS, TIME, 3000, "ffi:puts", ""), NULL},
    {"cpu(pause) > 5ms", C(PAUSE, EACH, MORE, TIME, 5e6, "", ""), NULL},
    {"p99(cpu( span(\"x\") )) < 1s", C(SPAN, EVENTRING_QUANTILE, LESS, TIME, 1e9, "x", ""),
     "p99(cpu(span(\"x\"))) < 1s"},
    {"max(cpu) < 3", C(NAME, OF(MAX), LESS, PLAIN, 3, "cpu", ""), "max(\"cpu\") < 3"},
    {"min(counter(\"x\")) > 2K", C(COUNTER, OF(MIN), MORE, PLAIN, 2048, "x", ""), NULL},
};

static void test_good_texts(void **state) {
  for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
    struct eventring_condition c;
    struct eventring_error error = {0};
    char text[512];
    int status = eventring_condition_parse(&c, good[i].text, strlen(good[i].text), NULL, &error);
    if (status != EVENTRING_OK) fail_msg("%s: %s", good[i].text, error.text);
    assert_int_equal(c.subject, good[i].means.subject);
    assert_int_equal(c.figure, good[i].means.figure);
    assert_int_equal(c.comparison, good[i].means.comparison);
    assert_int_equal(c.unit, good[i].means.unit);
    assert_int_equal(c.cpu, strstr(good[i].text, "cpu(") != NULL);
    assert_true(c.number == good[i].means.number);
    assert_string_equal(c.name, good[i].means.name);
    assert_string_equal(c.within, good[i].means.within);
    size_t size = eventring_condition_text(&c, text, sizeof text);
    assert_int_equal(size, strlen(text));
    assert_string_equal(text, good[i].written ? good[i].written : good[i].text);
  }
}

static void test_quantiles(void **state) {
  static const struct {
    const char *text, *written;
    uint32_t quantile;
  } list[] = {{"p50(minor) < 1ms", "p50(\"minor\") < 1ms", 50000},
              {"p99.9(pause) < 1ms", "p99.9(pause) < 1ms", 99900},
              {"p00.5(pause) < 1ms", "p0.5(pause) < 1ms", 500},
              {"pause(p99) < 1ms", "p99(pause) < 1ms", 99000},
              {"p5.125(pause) < 1ms", "p5.125(pause) < 1ms", 5125}};
  for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
    struct eventring_condition c;
    char text[64];
    assert_int_equal(eventring_condition_parse(&c, list[i].text, strlen(list[i].text), NULL, NULL),
                     EVENTRING_OK);
    assert_int_equal(c.figure, EVENTRING_QUANTILE);
    assert_int_equal(c.quantile, list[i].quantile);
    eventring_condition_text(&c, text, sizeof text);
    assert_string_equal(text, list[i].written);
  }
}

static const struct {
  const char *text;
  unsigned column; /* where the error is */
  const char *part;
} bad[] = {
    {"", 1, "the text ends here"},
    {"   ", 4, "a condition"},
    {"> 5ms", 1, "found `>'"},
    {"pause", 6, "a comparison"},
    {"pause = 5ms", 7, "a comparison"},
    {"pause > ", 9, "a number"},
    {"pause > x", 9, "found `x'"},
    {"pause > 5", 10, "needs its unit"},
    {"pause > 5m", 10, "a unit"},
    {"pause > 5K", 10, "needs its unit"},
    {"pause > 5 within span \"x\"", 11, "needs its unit"},
    {"pause > 5.ms", 11, "a digit"},
    {"pause > 0.1234567890ms", 11, "nine decimals"},
    {"pause > 99999999999999999999ns", 9, "beyond 2^63"},
    {"pause > 99999999999999s", 23, "beyond 2^63"},
    {"heap > 5ms", 9, "not compared with a time"},
    {"lost == 5ms", 10, "not compared with a time"},
    {"lost(last) == 5", 5, "a comparison"},
    {"mimor > 1ms", 1, "expected pause, heap"},
    {"p99(minor) < 1ms garbage", 18, "the end"},
    {"p99(minor < 1ms", 11, "`)'"},
    {"cpu(heap) < 1ms", 5, "pause or span"},
    {"cpu(pause < 1ms", 11, "`)'"},
    {"p100(minor) < 1ms", 6, "count, sum"},
    {"p0(minor) < 1ms", 4, "count, sum"},
    {"minor(p9x) < 1ms", 7, "count, sum"},
    {"max(lost) == 0", 5, "one value"},
    {"max() == 0", 5, "or a name"},
    {"span(request) > 1ms", 6, "a name in quotes"},
    {"span > 1ms", 6, "(\"NAME\")"},
    {"span(\"\") > 1ms", 6, "an empty name"},
    {"span(\"abc) > 1ms", 6, "not closed"},
    {"span(\"a\tb\") > 1ms", 6, "control characters"},
    {"count(major) == 0 within \"request\"", 19, "within span"},
    {"count(major) == 0 within span request", 31, "a name in quotes"},
    {"lost == 0 within span \"x\"", 11, "no span"},
    {"error within span \"x\"", 7, "no span"},
    {"count(major) == 0 with", 19, "a unit"},
};

static void test_bad_texts(void **state) {
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    struct eventring_condition c = {.number = 42};
    struct eventring_error error = {0};
    char column[32];
    size_t end = 0, size = strlen(bad[i].text);
    assert_int_equal(eventring_condition_parse(&c, bad[i].text, size, NULL, &error),
                     EVENTRING_E_CONFIG);
    snprintf(column, sizeof column, "column %u: ", bad[i].column);
    if (!strstr(error.text, column) || !strstr(error.text, bad[i].part))
      fail_msg("%s: %s (not %s... %s)", bad[i].text, error.text, column, bad[i].part);
    assert_true(c.number == 42); /* `c` was not changed */
    if (eventring_condition_parse(&c, bad[i].text, size, &end, NULL) != EVENTRING_OK)
      assert_true(end <= size);
  }
}

static void test_what_follows(void **state) {
  static const char text[] = "heap > 1M , dir=/tmp; error;";
  struct eventring_condition c;
  size_t end;
  assert_int_equal(eventring_condition_parse(&c, text, sizeof text - 1, &end, NULL), EVENTRING_OK);
  assert_string_equal(text + end, ", dir=/tmp; error;");
  assert_int_equal(eventring_condition_parse(&c, "error; signal", 13, &end, NULL), EVENTRING_OK);
  assert_int_equal(end, 5);
  assert_int_equal(eventring_condition_parse(NULL, "error", 5, NULL, NULL), EVENTRING_E_ARGUMENT);
}

static void test_comparisons(void **state) {
  static const char *const ops[] = {"<", "<=", ">", ">=", "==", "!="};
  /* conditions 4, 5 and 6 */
  static const char *const holds[] = {"100", "110", "001", "011", "010", "101"};
  for (size_t i = 0; i < 6; i++) {
    struct eventring_condition c;
    char text[32];
    snprintf(text, sizeof text, "lost %s 5", ops[i]);
    assert_int_equal(eventring_condition_parse(&c, text, strlen(text), NULL, NULL), EVENTRING_OK);
    for (int v = 4; v <= 6; v++)
      assert_int_equal(eventring_condition_holds(&c, v), holds[i][v - 4] == '1');
  }
}

/* ---- Any bytes -------------------------------------------------------------------- */

/* Checks that a text that parses is written as a text with the same meaning. The bytes
   lie at the end of an allocation, so that AddressSanitizer sees a read beyond them. */
static void try_bytes(const char *bytes, size_t size) {
  struct eventring_condition c, again;
  struct eventring_error error = {0};
  char text[512], second[512];
  size_t end = 0;
  char *copy = malloc(size + 1);
  assert_non_null(copy);
  memcpy(copy + 1, bytes, size);
  int status = eventring_condition_parse(&c, copy + 1, size, &end, &error);
  assert_true(end <= size);
  if (status == EVENTRING_OK) {
    size_t length = eventring_condition_text(&c, text, sizeof text);
    assert_true(length < sizeof text);
    status = eventring_condition_parse(&again, text, length, NULL, &error);
    if (status != EVENTRING_OK) fail_msg("written as %s: %s", text, error.text);
    eventring_condition_text(&again, second, sizeof second);
    assert_string_equal(text, second);
    assert_string_equal(c.name, again.name);
    assert_string_equal(c.within, again.within);
    assert_int_equal(c.figure, again.figure);
    assert_int_equal(c.quantile, again.quantile);
  } else {
    assert_int_equal(status, EVENTRING_E_CONFIG);
    assert_non_null(strstr(error.text, "column "));
  }
  free(copy);
}

static size_t mutate(char *bytes, size_t size, size_t room) {
  static const char alphabet[] = "()\"<>=!.,;- \t\\pausehncovrtlmKMGs0159\x80\xc3\x01";
  switch (draw(4)) {
    case 0: /* replaced */
      if (size) bytes[draw((unsigned)size)] = alphabet[draw(sizeof alphabet)];
      break;
    case 1: /* removed */
      if (size) {
        size_t at = draw((unsigned)size);
        memmove(bytes + at, bytes + at + 1, size - at - 1);
        size--;
      }
      break;
    case 2: /* repeated */
      if (size) {
        size_t at = draw((unsigned)size), count = draw((unsigned)(size - at)) + 1;
        if (size + count <= room) {
          memmove(bytes + at + count, bytes + at, size - at);
          size += count;
        }
      }
      break;
    default: /* inserted */
      if (size < room) {
        size_t at = draw((unsigned)size + 1);
        memmove(bytes + at + 1, bytes + at, size - at);
        bytes[at] = alphabet[draw(sizeof alphabet)];
        size++;
      }
  }
  return size;
}

static uint64_t seed = 1, count = 60000;

static void test_mutations(void **state) {
  char bytes[400];
  random_state += seed;
  for (uint64_t i = 0; i < count; i++) {
    const char *text = good[draw(sizeof good / sizeof good[0])].text;
    size_t size = strlen(text);
    memcpy(bytes, text, size);
    for (unsigned n = draw(6) + 1; n > 0; n--) size = mutate(bytes, size, sizeof bytes);
    try_bytes(bytes, size);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_good_texts), cmocka_unit_test(test_quantiles),
      cmocka_unit_test(test_bad_texts), cmocka_unit_test(test_what_follows),
      cmocka_unit_test(test_comparisons), cmocka_unit_test(test_mutations)};
  if (argc > 1) seed = strtoull(argv[1], NULL, 10);
  if (argc > 2) count = strtoull(argv[2], NULL, 10);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
