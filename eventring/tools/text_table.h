/* SPDX-License-Identifier: MIT */
/* text_table.h: an aligned table for people.
 *
 * Columns are as wide as their widest cell; a column whose title begins with
 * '<' is aligned to the left, the others to the right. Nothing is shown of a
 * table without rows.
 */
#ifndef EVENTRING_TOOL_TABLE_H
#define EVENTRING_TOOL_TABLE_H

#include <stddef.h>
#include <stdio.h>

struct table {
  const char *const *titles;
  size_t columns;
  char **cells; /* rows after one another */
  size_t used, room;
};

void table_init(struct table *table, const char *const *titles, size_t columns);
/* Adds a cell behind the last one; the text is copied and made printable (eventring_printable). */
void table_cell(struct table *table, const char *text);
/* Writes the table, each line indented, and frees it. */
void table_print(struct table *table, FILE *out, int indent);

/* Declares a table `variable` with these titles. */
#define TABLE(variable, ...)                                     \
  static const char *const variable##_titles[] = {__VA_ARGS__}; \
  struct table variable;                                         \
  table_init(&variable, variable##_titles,                       \
             sizeof variable##_titles / sizeof variable##_titles[0])

#endif
