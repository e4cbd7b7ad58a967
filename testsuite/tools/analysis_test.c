/* SPDX-License-Identifier: MIT */
/* analysis_test.c: libanalysis: the JSON writer, the words, the sums, and the tally of a
 * recording of several domains. Each allocation of the tally and of the histogram fails
 * once. */
#include "../unit/eventring_common.h"

#include <math.h>

#include "analysis/compare.h"
#include "analysis/figures.h"
#include "analysis/json.h"
#include "analysis/names.h"
#include "analysis/saturating.h"
#include "analysis/tally.h"

/* ---- Allocations that fail ------------------------------------------------------- */

static bool armed;
static unsigned until_failure; /* number of allocations up to and including the failing
                                  one */

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size) {
  if (armed && until_failure > 0 && --until_failure == 0) return NULL;
  return __real_calloc(count, size);
}

/* ---- JSON ------------------------------------------------------------------------- */

static char *written;
static size_t written_size;
static struct eva_json json;

static void begin_writing(void) {
  eva_json_start(&json, open_memstream(&written, &written_size));
}

static void expect_written(const char *expected) {
  fclose(json.out);
  assert_string_equal(written, expected);
  free(written);
}

static void containers_nest(void **state) {
  begin_writing();
  eva_json_open_object(&json);
  eva_json_uint_at(&json, "a", 1);
  eva_json_key(&json, "list");
  eva_json_open_array(&json);
  eva_json_open_array(&json);
  eva_json_close_array(&json);
  eva_json_open_object(&json);
  eva_json_close_object(&json);
  eva_json_bool(&json, true);
  eva_json_null(&json);
  eva_json_close_array(&json);
  eva_json_string_at(&json, "z", "");
  eva_json_close_object(&json);
  eva_json_line(&json);
  eva_json_open_array(&json); /* the next line begins anew */
  eva_json_close_array(&json);
  eva_json_line(&json);
  expect_written("{\"a\":1,\"list\":[[],{},true,null],\"z\":\"\"}\n[]\n");
}

static void containers_nest_deeply(void **state) {
  char expected[2 * 63 + 2];
  begin_writing();
  for (int i = 0; i < 63; i++) eva_json_open_array(&json), expected[i] = '[';
  for (int i = 0; i < 63; i++) eva_json_close_array(&json), expected[63 + i] = ']';
  memcpy(expected + 126, "\n", 2);
  eva_json_line(&json);
  expect_written(expected);
}

static void text_is_escaped(void **state) {
  begin_writing();
  eva_json_open_array(&json);
  eva_json_string(&json, "\"\\\n\t\x1f\x7f/");
  eva_json_string(&json, "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
  eva_json_text(&json, "a\0b", 3);
  eva_json_text(&json, "\xFFx\xC3\xED\xA0\x80", 6); /* bad, cut, a surrogate */
  eva_json_string(&json, "\xC2\x9B\xE2\x80\xAE\xF3\xA0\x81\x81"); /* C1, override, tag */
  eva_json_hex(&json, "\x00\xAB", 2);
  eva_json_close_array(&json);
  expect_written("[\"\\\"\\\\\\u000a\\u0009\\u001f\\u007f/\","
                 "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\","
                 "\"a\\u0000b\",\"\xEF\xBF\xBDx\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\","
                 "\"\\u009b\\u202e\\udb40\\udc41\","
                 "\"00ab\"]");
}

static void numbers_are_exact(void **state) {
  begin_writing();
  eva_json_open_object(&json);
  eva_json_uint_at(&json, "u", UINT64_MAX);
  eva_json_int_at(&json, "i", INT64_MIN);
  eva_json_int_at(&json, "zero", 0);
  eva_json_double_at(&json, "tenth", 0.1);
  eva_json_double_at(&json, "third", 1.0 / 3);
  eva_json_double_at(&json, "nan", (double)NAN);
  eva_json_double_at(&json, "inf", (double)INFINITY);
  eva_json_double_at(&json, "-inf", -(double)INFINITY);
  eva_json_bool_at(&json, "no", false);
  eva_json_close_object(&json);
  expect_written("{\"u\":18446744073709551615,\"i\":-9223372036854775808,\"zero\":0,"
                 "\"tenth\":0.1,\"third\":0.33333333333333331,\"nan\":\"nan\",\"inf\":\"inf\","
                 "\"-inf\":\"-inf\",\"no\":false}");
}

/* ---- Words and sums --------------------------------------------------------------- */

static void values_have_words(void **state) {
  assert_string_equal(eva_ring_name(NULL, EVENTRING_USER), "ring1");
  assert_string_equal(eva_ring_name(NULL, 200), "?");
  assert_string_equal(eva_kind_name(EVENTRING_INSTANT), "event");
  assert_string_equal(eva_kind_name(0), "?");
  assert_string_equal(eva_kind_name(EVENTRING_LINKED), "linked");
  assert_string_equal(eva_kind_name(7), "?");
  assert_string_equal(eva_role_name(EVENTRING_ROLE_STEP), "step");
  assert_string_equal(eva_role_name(4), "?");
  assert_string_equal(eva_measure_name(EVENTRING_DIFFERENCE), "difference");
  assert_string_equal(eva_measure_name(EVENTRING_OFF_CPU), "off_cpu");
  assert_string_equal(eva_measure_name(5), "?");
  assert_string_equal(eva_def_kind_name(EVENTRING_DEF_LIFECYCLE), "lifecycle");
  assert_string_equal(eva_def_kind_name(EVENTRING_DEF_ASYNC), "async");
  assert_string_equal(eva_def_kind_name(0), "?");
  assert_string_equal(eva_payload_name(EVENTRING_RAW), "raw");
  assert_string_equal(eva_payload_name(EVENTRING_VALUES), "values");
  assert_string_equal(eva_payload_name(100), "?");
  assert_string_equal(eva_liveness_name(EVENTRING_SAVED), "saved");
  assert_string_equal(eva_liveness_name(0), "?");
  assert_string_equal(eva_state_name(EVENTRING_STANDBY), "standby");
  assert_string_equal(eva_state_name((enum eventring_state)9), "?");
}

static void sums_stay_in_their_range(void **state) {
  assert_true(eva_add(1, 2) == 3 && eva_add(UINT64_MAX, 1) == UINT64_MAX);
  assert_true(eva_add_signed(-1, 2) == 1);
  assert_true(eva_add_signed(INT64_MAX, 1) == INT64_MAX);
  assert_true(eva_add_signed(INT64_MIN, -1) == INT64_MIN);
}

/* ---- The tally -------------------------------------------------------------------- */

static int transfer; /* async span, from the first domain to the second */

static void hand_over(eventring_domain *d, uint64_t link, enum eventring_role role) {
  eventring_linked(d, EVENTRING_USER, EVENTRING_CLASS_USER, (unsigned)transfer, link, role);
}

static int setup(void **state) {
  transfer = eventring_register_user(EVENTRING_DEF_ASYNC, "transfer", 8, EVENTRING_NONE, NULL);
  assert_true(transfer > 0);
  start_recording(EVENTRING_DEFAULT_WSIZE);
  eventring_domain_stop(start_domain("before"));
  eventring_domain **domains = __real_calloc(2, sizeof *domains);
  domains[0] = start_domain("first");
  domains[1] = start_domain("second");
  *state = domains;
  for (int i = 0; i < 2; i++) {
    eventring_domain *d = domains[i];
    eventring_begin(d, EVENTRING_USER, EVENTRING_CLASS_USER, T_FLOOD); /* stays open */
    for (int n = 1; n <= 10 * (i + 1); n++) {
      eventring_begin_int(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, T_OUTER, n);
      eventring_end(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, T_OUTER);
      eventring_counter(d, EVENTRING_USER, EVENTRING_CLASS_USER, T_COUNT, n);
      eventring_counter_double(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, T_RATE, n / 2.0);
      eventring_instant(d, EVENTRING_USER, EVENTRING_CLASS_USER, T_POINT);
    }
    eventring_lifecycle(d, EVENTRING_RUNTIME, EVENTRING_CLASS_LIFECYCLE, T_LIFE, 1);
  }
  for (uint64_t link = 0; link < 5; link++) hand_over(domains[0], link, EVENTRING_ROLE_BEGIN);
  for (uint64_t link = 1; link < 7; link++) hand_over(domains[1], link, EVENTRING_ROLE_END);
  return 0;
}

static int teardown(void **state) {
  eventring_domain **domains = *state;
  eventring_domain_stop(domains[1]);
  eventring_domain_stop(domains[0]);
  eventring_stop();
  free(domains);
  return 0;
}

static const struct eva_tally_entry *entry_of(const struct eva_tally_domain *domain, unsigned id) {
  assert_non_null(domain->entries);
  assert_non_null(domain->entries[id]);
  return domain->entries[id];
}

static void expect_domain(const struct eva_tally_domain *domain, unsigned domains, uint64_t samples,
                          int64_t sum, int64_t max) {
  const struct eva_tally_span *span = entry_of(domain, T_OUTER)->span;
  assert_int_equal(span->durations.count, samples);
  assert_int_equal(span->torn + span->open, 0);
  assert_int_equal(entry_of(domain, T_FLOOD)->span->open, domains);
  const struct eva_tally_counter *count = entry_of(domain, T_COUNT)->counter;
  assert_int_equal(count->samples, samples);
  assert_int_equal(count->sum, sum);
  assert_true(count->min == 1 && count->max == max && !count->is_double);
  const struct eva_tally_counter *rate = entry_of(domain, T_RATE)->counter;
  assert_true(rate->is_double && rate->dsum == (double)sum / 2 && rate->dmin == 0.5);
  assert_int_equal(entry_of(domain, T_POINT)->events, samples);
  assert_int_equal(entry_of(domain, T_LIFE)->lifecycle, domains);
  assert_string_equal(entry_of(domain, T_COUNT)->name, "count");
  assert_true(domain->times.in_gc > 0 && domain->watched >= domain->times.in_gc);
  assert_true(domain->allocated == -1 && domain->promoted == -1);
}

static void expect_async(const struct eva_tally_domain *domain, uint64_t count, uint64_t open,
                         uint64_t torn) {
  const struct eva_tally_span *span = entry_of(domain, (unsigned)transfer)->async;
  assert_non_null(span);
  assert_true(span->durations.count == count && span->open == open && span->torn == torn);
  assert_null(entry_of(domain, (unsigned)transfer)->span);
}

static void expect_lives(const struct eva_tally_domain *domain) {
  assert_int_equal(domain->lives.count, 2);
  const struct eva_life *life = domain->lives.life;
  assert_string_equal(eva_life_name(&life[0]), "before");
  assert_string_equal(eva_life_name(&life[1]), "first");
  assert_true(life[0].times.in_gc == 0 && life[1].times.in_gc == domain->times.in_gc);
}

static void counts_visited(void *context, const struct eva_tally_entry *entry) {
  unsigned *last = context;
  assert_true(entry->id >= *last); /* in the order of the catalogue */
  *last = entry->id;
}

static void domains_are_counted_and_summed(void **state) {
  struct eva_tally *tally = eva_tally_new();
  eventring_cursor *cursor = open_self(0);
  assert_true(eventring_poll(cursor, &eva_tally_callbacks, tally, 0) > 0);
  assert_int_equal(eva_tally_finish(tally, cursor), 0);
  assert_int_equal(tally->domains_used, 2);
  assert_string_equal(tally->domains[1].info.name, "second");
  expect_domain(&tally->domains[0], 1, 10, 55, 10);
  expect_domain(&tally->domains[1], 1, 20, 210, 20);
  expect_domain(&tally->all, 2, 30, 265, 20);
  assert_true(tally->first_ns > 0 && tally->last_ns >= tally->first_ns);
  assert_true(tally->domains[0].rings[EVENTRING_USER].seen);
  assert_int_equal(tally->totals.lost, 0);
  expect_async(&tally->domains[0], 4, 1, 0);
  expect_async(&tally->domains[1], 0, 0, 2);
  expect_async(&tally->all, 4, 1, 2);
  expect_lives(&tally->domains[0]);
  unsigned last = 0;
  eva_tally_each(&tally->all, counts_visited, &last);
  assert_int_equal(last, transfer);
  eva_tally_free(tally);
  eva_tally_free(NULL);
  eventring_close(cursor);
}

/* Checks a tally to which all blocks of the runtime rings are reported as lost, so that
   it is not known what the collector did. */
static void only_runtime_rings_are_watched(void **state) {
  struct eva_tally *tally = eva_tally_new();
  eventring_cursor *cursor = open_self(0);
  eventring_cursor_select(cursor, 1u << EVENTRING_USER);
  assert_true(eventring_poll(cursor, &eva_tally_callbacks, tally, 0) > 0);
  assert_int_equal(eva_tally_finish(tally, cursor), 0);
  assert_true(tally->first_ns > 0 && tally->last_ns > tally->first_ns);
  assert_int_equal(tally->domains[0].watched, 0);
  assert_int_equal(tally->all.watched, 0);
  eva_tally_free(tally);
  eventring_close(cursor);
}

static int count_armed(void *context, const struct eventring_event *event) {
  armed = true;
  int status = eva_tally_callbacks.event(context, event);
  armed = false;
  return status;
}

/* Checks that if the n-th allocation fails, for each n, the tally says so and
   is freed completely. */
static void each_allocation_may_fail(void **state) {
  const struct eventring_callbacks callbacks = {sizeof callbacks, count_armed, NULL};
  unsigned failures = 0;
  for (unsigned n = 1;; n++) {
    struct eva_tally *tally = eva_tally_new();
    eventring_cursor *cursor = open_self(0);
    until_failure = n;
    while (eventring_poll(cursor, &callbacks, tally, 0) > 0 && !tally->status) {}
    armed = true;
    int status = eva_tally_finish(tally, cursor);
    armed = false;
    bool failed = until_failure == 0;
    assert_int_equal(status, failed ? EVENTRING_E_MEMORY : EVENTRING_OK);
    eva_tally_free(tally);
    eventring_close(cursor);
    if (!failed) break;
    failures++;
  }
  assert_true(failures > 20);
}

static void a_histogram_without_memory_stays_as_it_was(void **state) {
  struct eva_histogram histogram = {0}, other = {0};
  assert_int_equal(eva_histogram_add(&histogram, 5), 0);
  assert_int_equal(eva_histogram_add(&other, 1 << 20), 0);
  armed = true, until_failure = 1;
  assert_int_equal(eva_histogram_add(&histogram, 1 << 20), EVENTRING_E_MEMORY);
  until_failure = 1;
  assert_int_equal(eva_histogram_merge(&histogram, &other), EVENTRING_E_MEMORY);
  armed = false, until_failure = 0;
  assert_true(histogram.count == 1 && histogram.total == 5 && histogram.max == 5);
  assert_int_equal(eva_histogram_merge(&histogram, &other), 0);
  assert_true(histogram.count == 2 && histogram.max == 1 << 20);
  eva_histogram_free(&histogram);
  eva_histogram_free(&other);
}

/* ---- Comparing ------------------------------------------------------------ */

/* Checks runs on machines of different speeds, with some noise: B takes a tenth more. */
static void runs_are_compared_at_equal_speed(void **state) {
  const double slow_a[] = {1.0, 1.6, 1.1, 1.9, 1.3}, slow_b[] = {1.7, 1.05, 1.4, 1.2, 1.5};
  const double noise[] = {1.004, 0.997, 1.0, 0.996, 1.003};
  double a[5], b[5], c[5];
  for (int i = 0; i < 5; i++) {
    a[i] = 100 * slow_a[i] * noise[i];
    b[i] = 110 * slow_b[i] * noise[4 - i];
    c[i] = 100 * slow_b[i] * noise[4 - i];
  }
  struct eva_comparison plain = eva_compare(a, 5, b, 5);
  struct eva_comparison equal = eva_compare_at_equal(a, slow_a, 5, b, slow_b, 5);
  assert_true(plain.p > 0.05 && equal.tested && equal.p < 0.001);
  assert_true(equal.change > 0.08 && equal.change < 0.12);
  assert_true(equal.low < equal.change && equal.change < equal.high && equal.low > 0);
  struct eva_comparison same = eva_compare_at_equal(a, slow_a, 5, c, slow_b, 5);
  assert_true(same.p > 0.05 && same.low < 0 && same.high > 0);
  /* with meaningless speeds, or too few runs, values are compared as they are */
  const double ones[] = {1, 1, 1, 1, 1};
  struct eva_comparison none = eva_compare_at_equal(a, ones, 5, b, ones, 5);
  assert_true(none.tested && fabs(none.change - plain.change) < 1e-9 && none.p > 0.05);
  assert_false(eva_compare_at_equal(a, slow_a, 2, b, slow_b, 2).tested);
}

int main(void) {
  register_test_events();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(containers_nest), cmocka_unit_test(containers_nest_deeply),
      cmocka_unit_test(text_is_escaped), cmocka_unit_test(numbers_are_exact),
      cmocka_unit_test(values_have_words), cmocka_unit_test(sums_stay_in_their_range),
      cmocka_unit_test_setup_teardown(domains_are_counted_and_summed, setup, teardown),
      cmocka_unit_test_setup_teardown(only_runtime_rings_are_watched, setup, teardown),
      cmocka_unit_test_setup_teardown(each_allocation_may_fail, setup, teardown),
      cmocka_unit_test(runs_are_compared_at_equal_speed),
      cmocka_unit_test(a_histogram_without_memory_stays_as_it_was)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
