/* SPDX-License-Identifier: MIT */
/* text_table.h: prints aligned tables for people.
 *
 * Columns are as wide as their widest cell. Signs before a title describe its column:
 *
 *   <   aligned to the left, a text; the others are figures, aligned to the right
 *   ?   left out if no cell has a value
 *   =   left out if all cells are equal
 *   +   a text that takes what the other columns leave, at least 16 characters
 *   |   where the table is best divided if it is wider than the page
 *
 * A column without any text in its cells is left out, and a table without rows prints
 * nothing. The page is as wide as the terminal, or 80 columns if the output is none. A
 * wider table is printed in parts, one below the other, each with the first columns (the
 * keys). In such a table, texts without `+` take at most a third of the page, and a text
 * that does not fit goes on in the next line of its cell. Nothing is cut off.
 */
#ifndef EVENTRING_TOOL_TABLE_H
#define EVENTRING_TOOL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define TABLE_SIGNS "<?|+="

/* Returns how many characters a line of `out` may have. */
size_t table_page(FILE *out);
/* Sets how many characters a line may have from now on, on any output; 0 for the width of
   the terminal (see above). */
void table_set_page(size_t columns);

struct table {
  const char *const *titles;
  size_t columns;
  size_t keys; /* columns that each part has: 1, unless the caller changes it */
  /* a row is one line: text that does not fit is cut off (see table_print) */
  bool is_screen;
  char **cells; /* row by row */
  size_t used;
};

void table_init(struct table *table, const char *const *titles, size_t columns);
/* Appends a cell; the text is copied and made printable (eventring_printable). NULL means
   no value, which is shown as "-". */
void table_cell(struct table *table, const char *text);
/* Adds a text. If it takes more than `width` columns (at least 4), adds only its end,
   with "..." before it. */
void table_cell_end(struct table *table, const char *text, size_t width);
/* Writes the table, each line indented, and frees it. A table for a screen is not
   divided, and its cells have one line each: texts with `+` are cut first, then columns
   at the end are left out. */
void table_print(struct table *table, FILE *out, int indent);

/* Returns the bytes of a text that go on a line of `width` characters: all of it if it
   fits; else up to a space or a sign that separates words if one is near, never within a
   character, nor between a file and its line (`file.lua:12`). At least one character. */
size_t table_line(const char *text, size_t width);
/* Returns the bytes of a text that fit into `width` columns, wherever the cut is. */
size_t table_cut(const char *text, size_t width);
/* Returns the bytes of a text of `size` bytes without the blanks at its end. */
size_t table_trimmed(const char *text, size_t size);

/* Writes text of any length, also foreign text, in lines of the page; all but the first
   are indented. `used`: columns of the first line that are in use. */
void table_wrapped(FILE *out, const char *text, size_t used, size_t indent);
/* Formats a text, also from foreign texts, and writes it. Its first line is indented by
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
