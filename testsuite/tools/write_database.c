/* SPDX-License-Identifier: MIT */
/* write_database.c: writes a database with rows that test_export_tables.sh computes, too.
 *
 *   write_database FILE ROWS SIZE
 *
 * The table `events` gets ROWS rows. In row n (from 0 on) `ns` is n, and `link` is near a
 * power of two, or near minus that. In the first 1000 rows `value` is a text of
 * n * 37 % SIZE equal letters, then NULL or a number. */
#include "export/database.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXTS = 1000, COLUMNS = 11, NS = 0, LINK = 9, VALUE = 10 };

static int die(int error) {
  fprintf(stderr, "write_database: %s\n", strerror(error));
  return 1;
}

static int64_t link_of(uint64_t n) {
  const uint64_t near = (1ull << n % 64) + n / 64 % 3 - 1;
  return (int64_t)(n % 2 ? near : 0 - near);
}

static struct export_cell value_of(uint64_t n, char *text, size_t size) {
  if (n < TEXTS) {
    const size_t length = n * 37 % size;
    memset(text, 'a' + (int)(n % 26), length);
    return (struct export_cell){.type = EXPORT_STRING, .text = text, .size = length};
  }
  const struct export_cell numbers[] = {
      {.type = EXPORT_NULL}, {.type = EXPORT_REAL, .number.d = (double)n / 8},
      {.type = EXPORT_REAL, .number.d = NAN}, {.type = EXPORT_REAL, .number.d = -INFINITY}};
  return numbers[n % 4];
}

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  const uint64_t rows = strtoull(argv[2], NULL, 10);
  const size_t size = strtoull(argv[3], NULL, 10);
  char *text = malloc(size);
  const int file = open(argv[1], O_CREAT | O_EXCL | O_WRONLY, 0600);
  if (!text || file < 0 || close(file) != 0) return die(errno);
  struct export_database *d = export_database_open(argv[1]);
  if (!d) return die(errno);
  for (uint64_t n = 0; n < rows; n++) {
    struct export_cell cells[COLUMNS] = {[NS] = {.type = EXPORT_INTEGER, .number.i = (int64_t)n},
                                         [LINK] = {.type = EXPORT_INTEGER, .number.i = link_of(n)},
                                         [VALUE] = value_of(n, text, size)};
    export_database_row(d, EXPORT_TABLE_events, cells);
  }
  export_database_end(d);
  const int error = export_database_close(d);
  free(text);
  return error ? die(error) : 0;
}
