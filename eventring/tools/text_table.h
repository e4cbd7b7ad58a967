/* SPDX-License-Identifier: MIT */
/* text_table.h: an aligned table for people.
 *
 * Columns are as wide as their widest cell. Signs before a title say more about its
 * column:
 *
 *   <   aligned to the left, a text; the others are figures, aligned to the right
 *   ?   left out if no cell has a value
 *   =   left out if all cells are equal
 *   +   a text that takes what the other columns leave, at least 16 characters
 *   |   where the table is best divided if it is wider than the page
 *
 * A column without any text in its cells is left out, and a table without rows shows
 * nothing. The page is as wide as the terminal that is written to, else 80 columns. A
 * table that would be wider is printed in parts, one below the other, each with the first
 * columns (the keys); a text of such a table for which there is no room (texts without
 * `+` take at most a third of the page) goes on in the next line of its cell. Nothing is
 * cut off.
 */
#ifndef EVENTRING_TOOL_TABLE_H
#define EVENTRING_TOOL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define TABLE_SIGNS "<?|+="

/* Returns how many characters a line of `out` may have. */
size_t table_page(FILE *out);
/* Sets how many characters lines have from now on, wherever they are written to; 0: as
   above. */
void table_set_page(size_t columns);

struct table {
  const char *const *titles;
  size_t columns;
  size_t keys; /* columns that each part has: 1, unless the caller changes it */
  /* a row is one line: text for which there is no room is cut off (see table_print) */
  bool is_screen;
  char **cells; /* rows after one another */
  size_t used;
};

void table_init(struct table *table, const char *const *titles, size_t columns);
/* Adds a cell behind the last one; the text is copied and made printable
   (eventring_printable). NULL stands for no value, which is shown as "-". */
void table_cell(struct table *table, const char *text);
/* Adds a text; if it takes more than `width` columns (at least 4), only its end, with
   "..." before it. */
void table_cell_end(struct table *table, const char *text, size_t width);
/* Writes the table, each line indented, and frees it. A table for a screen is not
   divided, and its cells have one line each: texts with `+` are cut first, then columns
   at the end are left out. */
void table_print(struct table *table, FILE *out, int indent);

/* Returns the bytes of the part of a text that a line of `width` characters takes: up to
   a space or a sign that separates words if one is near, never within a character, nor
   between a file and its line (`file.lua:12`); all of it if it fits. At least one
   character. */
size_t table_line(const char *text, size_t width);
/* Returns the bytes of the part of a text that `width` columns have room for, wherever
   that ends. */
size_t table_cut(const char *text, size_t width);
/* Returns the bytes of such a part without the blanks at its end. */
size_t table_trimmed(const char *text, size_t size);

/* Writes text of any length, also foreign text, in lines of the page; those after the
   first one are indented. `used`: what the first line has already. */
void table_wrapped(FILE *out, const char *text, size_t used, size_t indent);
/* Writes a text that is formatted, also from foreign texts: its first line is indented by
   `indent`, the other lines by `more` in addition. */
void table_say(FILE *out, size_t indent, size_t more, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Writes text that is printable already, as table_wrapped does. */
void table_lines(FILE *out, const char *text, size_t page, size_t used, size_t indent);
/* Writes "label        text"; each line of the text is a line of its own. */
void table_labelled(FILE *out, const char *label, const char *text);

/* Declares a table `variable` with these titles. */
#define TABLE(variable, ...)                                     \
  static const char *const variable##_titles[] = {__VA_ARGS__}; \
  struct table variable;                                         \
  table_init(&variable, variable##_titles,                       \
             sizeof variable##_titles / sizeof variable##_titles[0])

#endif
