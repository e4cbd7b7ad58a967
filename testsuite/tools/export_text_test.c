/* SPDX-License-Identifier: MIT */
/* export_text_test.c: numbers are written as printf writes them. Texts are the same
   whether several bytes are written at once or one by one. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../unit/cases.h"
#include "../unit/draw.h"
#include "export/text_write.h"

static void expect_number(uint64_t value) {
  char put[24], expected[24];
  *export_uint(put, value) = '\0';
  snprintf(expected, sizeof expected, "%" PRIu64, value);
  assert_string_equal(put, expected);
}

static void numbers_are_as_printf_puts_them(void **state) {
  for (uint64_t power = 1, last = 0; power > last; last = power, power *= 10)
    for (uint64_t by = 0; by < 3; by++)
      expect_number(power - 1 + by), expect_number(3 * power + by);
  for (int i = 0; i < 100000; i++) expect_number(random_bits() >> draw(64));
  expect_number(UINT64_MAX);
}

/* Checks that a text of `size`, with one byte that differs from the others, is written as
   the parts before and after that byte, and the byte. */
static void expect_text(unsigned char byte, size_t at, size_t size) {
  char text[32], whole[200], parts[200], *end, *to = parts;
  const size_t room = 6 * size + 2; /* what export_json_text may use */
  for (size_t i = 0; i < size; i++) text[i] = (char)('a' + i);
  text[at] = (char)byte;
  memset(whole, '!', sizeof whole);
  end = export_json_text(whole, text, size);
  for (size_t i = room; i < sizeof whole; i++) assert_int_equal(whole[i], '!');
  *to++ = '"';
  for (size_t i = 0; i < size; i++) {
    char one[16], *one_end = export_json_text(one, text + i, 1);
    to = export_copy(to, one + 1, (size_t)(one_end - one) - 2);
  }
  *to++ = '"';
  assert_int_equal(end - whole, to - parts);
  assert_memory_equal(whole, parts, (size_t)(to - parts));
}

static void eight_bytes_are_as_each_of_them(void **state) {
  for (int byte = 0; byte < 0x100; byte++)
    for (size_t size = 1; size < 20; size++)
      for (size_t at = 0; at < size; at++) expect_text((unsigned char)byte, at, size);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_are_as_printf_puts_them),
                                     cmocka_unit_test(eight_bytes_are_as_each_of_them)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
