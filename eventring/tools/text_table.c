/* SPDX-License-Identifier: MIT */
/* text_table.c: an aligned table for people. */
#include "text_table.h"

#include <stdlib.h>
#include <string.h>

#include "tool.h"

void table_init(struct table *table, const char *const *titles, size_t columns) {
  *table = (struct table){.titles = titles, .columns = columns};
}

void table_cell(struct table *table, const char *text) {
  if (table->used == table->room) {
    table->room = table->room ? table->room * 2 : 64;
    table->cells = need_resized(table->cells, table->room, sizeof *table->cells);
  }
  size_t size = strlen(text), room = 4 * size + 1;
  char *cell = need_zeroed(room, 1);
  table->cells[table->used++] = eventring_printable(cell, room, text, size);
}

/* Characters, not bytes: a byte that continues a UTF-8 sequence has no width. */
static size_t width_of(const char *text) {
  size_t width = 0;
  for (; *text; text++) width += ((unsigned char)*text & 0xC0) != 0x80;
  return width;
}

static const char *title(const struct table *table, size_t column) {
  const char *text = table->titles[column];
  return text[0] == '<' ? text + 1 : text;
}

static void pad(FILE *out, size_t count) {
  while (count-- > 0) fputc(' ', out);
}

/* Blanks wait in *owed until text follows, so that no line ends in them. */
static void print_cell(const struct table *table, size_t column,
                       const char *text, size_t width, FILE *out, size_t *owed) {
  size_t missing = width - width_of(text);
  bool left = table->titles[column][0] == '<';
  if (column > 0) *owed += 2;
  if (!left) *owed += missing;
  if (text[0]) {
    pad(out, *owed);
    *owed = 0;
    fputs(text, out);
  }
  if (left) *owed += missing;
  if (column + 1 == table->columns) fputc('\n', out);
}

static size_t column_width(const struct table *table, size_t column) {
  size_t widest = width_of(title(table, column));
  for (size_t i = column; i < table->used; i += table->columns) {
    size_t width = width_of(table->cells[i]);
    if (width > widest) widest = width;
  }
  return widest;
}

void table_print(struct table *table, FILE *out, int indent) {
  size_t *widths = need_zeroed(table->columns, sizeof *widths), owed = 0;
  for (size_t i = 0; i < table->columns; i++) widths[i] = column_width(table, i);
  for (size_t i = 0; table->used > 0 && i < table->columns; i++) {
    if (i == 0) owed = (size_t)indent;
    print_cell(table, i, title(table, i), widths[i], out, &owed);
  }
  for (size_t i = 0; i < table->used; i++) {
    size_t column = i % table->columns;
    if (column == 0) owed = (size_t)indent;
    print_cell(table, column, table->cells[i], widths[column], out, &owed);
    free(table->cells[i]);
  }
  free(table->cells);
  free(widths);
}
