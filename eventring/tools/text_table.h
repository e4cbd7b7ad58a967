/* SPDX-License-Identifier: MIT */
/* text_table.h: an aligned table for people.
 *
 * Columns are as wide as their widest cell. Signs before a title say more of its column:
 *
 *   <   aligned to the left, a text; the others are figures, aligned to the right
 *   ?   left out when no cell says more than "-"
 *   +   of the page, takes what the other columns leave, at least 12 characters
 *   |   where the table is best divided if it is wider than the page
 *
 * A column without any text in its cells is left out, and nothing is shown of a table
 * without rows. A table that is wider than its page is printed in parts, one below the
 * other, each with the first columns (the keys); a text that would take more than
 * a third of the page goes on in the next line of its cell. Nothing is cut off.
 */
#ifndef EVENTRING_TOOL_TABLE_H
#define EVENTRING_TOOL_TABLE_H

#include <stddef.h>
#include <stdio.h>

enum { TABLE_PAGE = 80 }; /* characters in a line of a table with a page */

struct table {
  const char *const *titles;
  size_t columns;
  size_t keys; /* columns that each part has; 0: no page, lines as long as they get */
  char **cells; /* rows after one another */
  size_t used, room;
};

void table_init(struct table *table, const char *const *titles, size_t columns);
/* Adds a cell behind the last one; the text is copied and made printable (eventring_printable). */
void table_cell(struct table *table, const char *text);
/* The same; of a text that takes more than `width` columns (at least 4) only its end, which
   "..." precedes. */
void table_cell_end(struct table *table, const char *text, size_t width);
/* Writes the table, each line indented, and frees it. */
void table_print(struct table *table, FILE *out, int indent);

/* The bytes of the part of a text that a line of `width` characters takes: up to a space
   or a sign that separates words if one is near, never within a character; all of it if
   it fits. At least one character. */
size_t table_line(const char *text, size_t width);
/* The bytes of such a part without the blanks at its end. */
size_t table_trimmed(const char *text, size_t size);

/* Declares a table `variable` with these titles. */
#define TABLE(variable, ...)                                     \
  static const char *const variable##_titles[] = {__VA_ARGS__}; \
  struct table variable;                                         \
  table_init(&variable, variable##_titles,                       \
             sizeof variable##_titles / sizeof variable##_titles[0])

#endif
