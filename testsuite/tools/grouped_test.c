/* SPDX-License-Identifier: MIT */
/* grouped_test.c: rows come back by groups, in the order of their texts and, in a group,
   in that in which they were added; also when they do not fit into memory. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../unit/cases.h"
#include "../unit/draw.h"
#include "export/grouped.h"

/* Columns of the rows; the cell of UNUSED is never read. */
enum { TEXT, FIRST, UNUSED, NUMBER, SECOND, COLUMNS };
enum { USED = 1 << TEXT | 1 << FIRST | 1 << NUMBER | 1 << SECOND };

static const char *const names[] = {NULL, "", "a", "aa", "aab", "b", "a\1", "\xC3\xA9", "B"};
enum { NAMES = sizeof names / sizeof names[0] };

struct row { /* what was drawn for a row */
  unsigned first, second;
  size_t size; /* of its text */
  int number, place;
};

static struct export_cell text_cell(const char *text) {
  if (!text) return (struct export_cell){.type = EXPORT_NULL};
  return (struct export_cell){.type = EXPORT_STRING, .text = text, .size = strlen(text)};
}

static const char *letters(size_t size, int number) {
  static char text[1 << 17];
  memset(text, 'a' + number % 26, size);
  text[size] = '\0';
  return text;
}

static struct row add_row(struct export_grouped *g, int place, size_t longest) {
  const struct row row = {.first = draw(NAMES), .second = draw(NAMES),
                          .size = draw((unsigned)longest), .number = (int)draw(1000),
                          .place = place};
  const struct export_cell cells[COLUMNS] = {
      [TEXT] = text_cell(row.number % 7 ? letters(row.size, row.number) : NULL),
      [FIRST] = text_cell(names[row.first]),
      [UNUSED] = {.type = EXPORT_STRING, .text = NULL, .size = SIZE_MAX},
      [NUMBER] = {.type = row.number % 2 ? EXPORT_INTEGER : EXPORT_REAL, .number.i = row.number},
      [SECOND] = text_cell(names[row.second])};
  assert_int_equal(export_grouped_add(g, cells), 0);
  return row;
}

static int compare_texts(const char *a, const char *b) {
  return a && b ? strcmp(a, b) : (a != NULL) - (b != NULL);
}

static int compare_rows(const void *a, const void *b) {
  const struct row *x = a, *y = b;
  const int first = compare_texts(names[x->first], names[y->first]);
  const int second = compare_texts(names[x->second], names[y->second]);
  return first ? first : second ? second : x->place - y->place;
}

static void expect_text(const struct export_cell *cell, const char *text) {
  assert_int_equal(cell->type, text ? EXPORT_STRING : EXPORT_NULL);
  if (!text) return;
  assert_int_equal(cell->size, strlen(text));
  assert_memory_equal(cell->text, text, cell->size);
}

static void expect_row(const struct export_cell *cells, const struct row *row) {
  expect_text(&cells[TEXT], row->number % 7 ? letters(row->size, row->number) : NULL);
  expect_text(&cells[FIRST], names[row->first]);
  expect_text(&cells[SECOND], names[row->second]);
  assert_int_equal(cells[NUMBER].type, row->number % 2 ? EXPORT_INTEGER : EXPORT_REAL);
  assert_int_equal(cells[NUMBER].number.i, row->number);
}

static void expect_groups(int count, size_t longest) {
  static const uint8_t keys[] = {FIRST, SECOND};
  struct export_grouped *g = export_grouped_new(USED, keys, sizeof keys);
  struct row *rows = calloc((size_t)count + 1, sizeof *rows);
  const struct export_cell *cells;
  int64_t number;
  int error = 0;
  assert_non_null(g);
  assert_non_null(rows);
  for (int i = 0; i < count; i++) rows[i] = add_row(g, i, longest);
  assert_int_equal(export_grouped_end(g), 0);
  qsort(rows, (size_t)count, sizeof *rows, compare_rows);
  for (int i = 0; i < count; i++) {
    cells = export_grouped_next(g, &number, &error);
    assert_non_null(cells);
    assert_int_equal(number, rows[i].place);
    expect_row(cells, &rows[i]);
  }
  assert_null(export_grouped_next(g, &number, &error));
  assert_null(export_grouped_next(g, &number, &error));
  assert_int_equal(error, 0);
  export_grouped_free(g);
  free(rows);
}

static void no_rows(void **state) { expect_groups(0, 1); }
static void few_rows(void **state) { expect_groups(30, 10); }
static void many_rows(void **state) { expect_groups(100000, 10); }
static void rows_in_a_file(void **state) { expect_groups(20000, 10000); }
static void rows_longer_than_a_part(void **state) { expect_groups(1000, 100000); }

/* Checks rows of many groups, of which each has few in memory at a time. */
static void many_groups_in_a_file(void **state) {
  enum { GROUPS = 5000, EACH = 60, SIZE = 150 };
  static const uint8_t key = FIRST;
  struct export_grouped *g = export_grouped_new(USED, &key, 1);
  char name[16];
  int64_t number;
  int error;
  assert_non_null(g);
  for (int i = 0; i < GROUPS * EACH; i++) {
    snprintf(name, sizeof name, "%04d", i % GROUPS);
    const struct export_cell cells[COLUMNS] = {
        [TEXT] = text_cell(letters(SIZE, i)), [FIRST] = text_cell(name),
        [NUMBER] = {.type = EXPORT_INTEGER, .number.i = i}};
    assert_int_equal(export_grouped_add(g, cells), 0);
  }
  assert_int_equal(export_grouped_end(g), 0);
  for (int i = 0; i < GROUPS * EACH; i++) {
    const struct export_cell *cells = export_grouped_next(g, &number, &error);
    assert_non_null(cells);
    assert_int_equal(number, i % EACH * GROUPS + i / EACH);
    assert_int_equal(cells[NUMBER].number.i, number);
    expect_text(&cells[TEXT], letters(SIZE, (int)number));
    snprintf(name, sizeof name, "%04d", i / EACH);
    expect_text(&cells[FIRST], name);
  }
  assert_null(export_grouped_next(g, &number, &error));
  assert_int_equal(error, 0);
  export_grouped_free(g);
}

/* Tells whether this process has a file open that lies, or lay, in a directory. */
static bool has_file_in(const char *directory) {
  const size_t size = strlen(directory);
  for (int i = 3; i < 100; i++) {
    char link[64], target[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", i);
    const ssize_t length = readlink(link, target, sizeof target);
    if (length > (ssize_t)size && memcmp(target, directory, size) == 0 && target[size] == '/')
      return true;
  }
  return false;
}

/* Checks that the file lies in $TMPDIR, and in another directory if that is not there. */
static void file_lies_in_tmpdir(void **state) {
  static const uint8_t key = FIRST;
  char directory[] = "grouped-XXXXXX", *path;
  if (access("/proc/self/fd", R_OK) != 0) skip();
  assert_non_null(mkdtemp(directory));
  path = realpath(directory, NULL);
  assert_non_null(path);
  setenv("TMPDIR", path, 1);
  for (int is_there = 1; is_there >= 0; is_there--) {
    struct export_grouped *g = export_grouped_new(USED, &key, 1);
    assert_non_null(g);
    for (int i = 0; i < 1000; i++) add_row(g, i, 100000);
    assert_int_equal(export_grouped_end(g), 0);
    assert_int_equal(has_file_in(path), is_there);
    if (is_there) assert_int_equal(rmdir(path), 0); /* the file has no name */
    export_grouped_free(g);
  }
  unsetenv("TMPDIR");
  free(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_rows), cmocka_unit_test(few_rows), cmocka_unit_test(many_rows),
      cmocka_unit_test(rows_in_a_file), cmocka_unit_test(many_groups_in_a_file),
      cmocka_unit_test(rows_longer_than_a_part), cmocka_unit_test(file_lies_in_tmpdir)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
