/* SPDX-License-Identifier: MIT */
/* text_table.c: prints aligned tables for people. */
#include "text_table.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <wchar.h>

#include "tool.h"

void table_init(struct table *table, const char *const *titles, size_t columns) {
  *table = (struct table){.titles = titles, .columns = columns, .keys = 1};
}

static size_t set_page; /* 0: none was set */

void table_set_page(size_t columns) { set_page = columns; }

size_t table_page(FILE *out) {
  enum { PAGE = 80, LEAST = 20 };
  struct winsize size;
  if (set_page) return set_page < LEAST ? LEAST : set_page;
  bool known = ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return !known ? PAGE : size.ws_col < LEAST ? LEAST : size.ws_col;
}

static char no_value[] = "-";

/* Returns the next cell, filled with the text in printable form. */
static char **next_cell(struct table *table, const char *text) {
  char **cell = NEED_NEXT(table->cells, table->used);
  if (!text) return *cell = no_value, cell;
  size_t size = strlen(text), room = 4 * size + 1;
  *cell = eventring_printable(need_zeroed(room, 1), room, text, size);
  return cell;
}

void table_cell(struct table *table, const char *text) { next_cell(table, text); }

/* ---- Widths --------------------------------------------------------------- */

/* Returns the bytes of the character at `text`, and sets *width to its columns on a
   terminal (1 if the locale does not know it). */
static size_t character(const char *text, size_t *width) {
  wchar_t wide;
  mbstate_t state = {0};
  size_t bytes = eventring_character_at(text, strnlen(text, 4)).size;
  int columns = bytes > 1 && mbrtowc(&wide, text, bytes, &state) == bytes ? wcwidth(wide) : 1;
  *width = columns < 0 ? 1 : (size_t)columns;
  return bytes;
}

static size_t width_of_bytes(const char *text, size_t size) {
  size_t total = 0, width;
  for (size_t at = 0; at < size; total += width) at += character(text + at, &width);
  return total;
}

static size_t width_of(const char *text) { return width_of_bytes(text, strlen(text)); }

void table_cell_end(struct table *table, const char *text, size_t width) {
  static const char MARK[] = "...";
  char *cell = *next_cell(table, text), *from = cell;
  size_t used = width_of(cell), more;
  if (used <= width) return;
  for (; *from && used > width - strlen(MARK); used -= more) from += character(from, &more);
  size_t size = strlen(from) + 1;
  memmove(cell + strlen(MARK), from, size); /* the text was longer than the mark */
  memcpy(cell, MARK, strlen(MARK));
}

/* Tells whether a line may end before text[at]: after a sign that separates words, but
   not within `file:line`. */
static bool separates(const char *text, size_t at) {
  enum { LONGEST = 255 }; /* bytes of a file's name: how far its line may be away */
  if (!strchr(" /.,:;_-", text[at - 1])) return false;
  if (strchr(" /", text[at - 1])) return true;
  if (text[at - 1] == '-' && (at == 1 || text[at - 2] == ' ')) return false; /* a sign */
  for (size_t i = at - 1; i < at + LONGEST && text[i] && !strchr(" /", text[i]); i++)
    if (text[i] == ':' && isdigit((unsigned char)text[i + 1])) return false;
  return true;
}

/* Returns where to end a line. An end between a file and its line is moved before the
   last letters of the file. */
static size_t before_line_number(const char *text, size_t at) {
  enum { LETTERS = 4 };
  size_t colon = at;
  while (colon > 0 && isdigit((unsigned char)text[colon - 1])) colon--;
  if (text[colon] != ':' && colon > 0) colon--;
  if (text[colon] != ':' || !isdigit((unsigned char)text[colon + 1]) || colon <= LETTERS) return at;
  for (at = colon - LETTERS; at > 1 && (text[at] & 0xC0) == 0x80;) at--;
  return at;
}

size_t table_line(const char *text, size_t width) {
  size_t at = 0, used = 0, separated = 0, more;
  while (text[at]) {
    size_t bytes = character(text + at, &more);
    if (used + more > width && at > 0) break;
    used += more;
    at += bytes;
    if (separates(text, at) && 2 * used > width) separated = at;
  }
  if (!text[at]) return at;
  return separated ? separated : before_line_number(text, at);
}

size_t table_cut(const char *text, size_t width) {
  size_t at = 0, used = 0, more;
  while (text[at]) {
    const size_t bytes = character(text + at, &more);
    if (used + more > width) break;
    used += more;
    at += bytes;
  }
  return at;
}

size_t table_trimmed(const char *text, size_t size) {
  while (size > 0 && text[size - 1] == ' ') size--;
  return size;
}

/* ---- Columns -------------------------------------------------------------- */

static bool has_sign(const struct table *table, size_t column, char sign) {
  const char *title = table->titles[column];
  return memchr(title, sign, strspn(title, TABLE_SIGNS)) != NULL;
}

static const char *title_of(const struct table *table, size_t column) {
  const char *title = table->titles[column];
  return title + strspn(title, TABLE_SIGNS);
}

/* Returns the width of a column, or 0 if the column is left out. */
static size_t column_width(const struct table *table, size_t column) {
  size_t widest = width_of(title_of(table, column));
  bool says_something = false, optional = has_sign(table, column, '?');
  bool differs = !has_sign(table, column, '=');
  for (size_t i = column; i < table->used; i += table->columns) {
    const char *cell = table->cells[i];
    size_t width = width_of(cell);
    if (cell[0] && !(optional && cell == no_value)) says_something = true;
    if (width > widest) widest = width;
    if (strcmp(cell, table->cells[column]) != 0) differs = true;
  }
  return says_something && differs ? widest : 0;
}

/* How a table, or a part of it, is laid out. */
struct layout {
  const struct table *table;
  FILE *out;
  size_t indent, page;
  const size_t *wanted; /* widths of all columns */
  size_t *widths;       /* widths that the columns get */
  size_t first, end;    /* first column of the part after the keys, and the end */
  size_t gap;           /* blanks between columns */
};

static bool shows(const struct layout *layout, size_t column) {
  return layout->widths[column] > 0 &&
         (column < layout->table->keys || (column >= layout->first && column < layout->end));
}

static size_t width_with(const struct layout *layout, size_t end) {
  struct layout part = *layout;
  size_t width = layout->indent;
  part.end = end;
  for (size_t i = 0; i < end; i++)
    if (shows(&part, i)) width += layout->widths[i] + (width > layout->indent ? layout->gap : 0);
  return width;
}

/* Returns the least width of a column, for a table in which not all columns fit. */
static size_t least_width(const struct layout *layout, size_t column) {
  enum { LEAST = 16 };
  size_t wanted = layout->wanted[column], least = layout->page / 3;
  if (!has_sign(layout->table, column, '<')) return wanted;
  if (has_sign(layout->table, column, '+')) least = LEAST;
  return wanted < least ? wanted : least;
}

/* Gives the rest of a part's width to texts that need more. */
static void share_rest(const struct layout *layout) {
  size_t used = width_with(layout, layout->end);
  bool gave = true;
  while (gave && used < layout->page) {
    gave = false;
    for (size_t i = 0; i < layout->end && used < layout->page; i++) {
      if (!shows(layout, i) || layout->widths[i] == layout->wanted[i]) continue;
      layout->widths[i]++;
      used++;
      gave = true;
    }
  }
}

/* Returns the end of the part that begins at `first`. */
static size_t end_of_part(const struct layout *layout) {
  const struct table *table = layout->table;
  if (layout->first == table->columns || width_with(layout, table->columns) <= layout->page)
    return table->columns;
  size_t end = layout->first + 1;
  while (end < table->columns && !has_sign(table, end, '|') &&
         width_with(layout, end + 1) <= layout->page)
    end++;
  return end;
}

/* ---- Lines ---------------------------------------------------------------- */

static void pad(FILE *out, size_t count) {
  while (count-- > 0) fputc(' ', out);
}

/* Prints a cell. *owed counts blanks that are printed only before further text, so that
   no line ends in blanks. */
static void print_cell(const struct layout *layout, size_t column, const char *text,
                       size_t size, size_t *owed) {
  size_t width = width_of_bytes(text, size);
  size_t missing = layout->widths[column] - width;
  bool left = has_sign(layout->table, column, '<');
  if (!left) *owed += missing;
  if (size > 0) {
    pad(layout->out, *owed);
    *owed = 0;
    fwrite(text, 1, size, layout->out);
  }
  *owed += layout->gap + (left ? missing : 0);
}

/* Prints one line of a row, and moves on `rest`, the remaining text of each cell. Returns
   whether anything remains. */
static bool print_line(const struct layout *layout, const char **rest) {
  const struct table *table = layout->table;
  size_t owed = layout->indent;
  bool more = false;
  for (size_t i = 0; i < table->columns; i++) {
    if (!shows(layout, i)) continue;
    size_t size = table->is_screen ? table_cut(rest[i], layout->widths[i])
                                   : table_line(rest[i], layout->widths[i]);
    print_cell(layout, i, rest[i], table_trimmed(rest[i], size), &owed);
    rest[i] += size;
    if (rest[i][0]) more = true;
  }
  fputc('\n', layout->out);
  return more;
}

static void print_part(const struct layout *layout, const char **rest) {
  const struct table *table = layout->table;
  for (size_t i = 0; i < table->columns; i++) rest[i] = title_of(table, i);
  print_line(layout, rest);
  for (size_t row = 0; row < table->used; row += table->columns) {
    for (size_t i = 0; i < table->columns; i++) rest[i] = table->cells[row + i];
    while (print_line(layout, rest) && !table->is_screen) continue;
  }
}

/* Returns the next column that is shown; columns that are left out belong to the part
   before them. */
static size_t skip_empty(const struct layout *layout, size_t column) {
  while (column < layout->table->columns && layout->widths[column] == 0) column++;
  return column;
}

static void print_parts(struct layout *layout) {
  const struct table *table = layout->table;
  const char **rest = need_zeroed(table->columns, sizeof *rest);
  layout->first = skip_empty(layout, table->keys);
  do {
    for (size_t i = 0; layout->first > table->keys && i < table->keys; i++)
      layout->widths[i] = layout->widths[i] ? least_width(layout, i) : 0;
    layout->end = skip_empty(layout, end_of_part(layout));
    share_rest(layout);
    if (layout->first > skip_empty(layout, table->keys)) fputc('\n', layout->out);
    print_part(layout, rest);
    layout->first = layout->end;
  } while (layout->end < table->columns);
  free(rest);
}

static void cut_texts(struct layout *layout) {
  enum { LEAST = 8 };
  const size_t columns = layout->table->columns;
  for (size_t i = 0; i < columns; i++) {
    const size_t width = width_with(layout, columns), own = layout->widths[i];
    if (width <= layout->page) return;
    if (!has_sign(layout->table, i, '+') || own <= LEAST) continue;
    const size_t over = width - layout->page;
    layout->widths[i] = own > over + LEAST ? own - over : LEAST;
  }
}

/* Fits a table to a screen: cuts texts, then the blanks between columns, then columns at
   the end. */
static void cut_to_page(struct layout *layout) {
  const size_t columns = layout->table->columns;
  cut_texts(layout);
  if (width_with(layout, columns) > layout->page) layout->gap = 1;
  for (size_t i = columns; i-- > layout->table->keys && width_with(layout, columns) > layout->page;)
    layout->widths[i] = 0;
}

/* Writes a table for a screen. */
static void print_screen(struct layout *layout) {
  const char **rest = need_zeroed(layout->table->columns, sizeof *rest);
  layout->first = 0;
  cut_to_page(layout);
  print_part(layout, rest);
  free(rest);
}

void table_print(struct table *table, FILE *out, int indent) {
  size_t *wanted = need_zeroed(2 * table->columns, sizeof *wanted);
  struct layout layout = {.table = table, .out = out, .indent = (size_t)indent,
                          .page = table_page(out), .wanted = wanted,
                          .widths = wanted + table->columns, .end = table->columns, .gap = 2};
  for (size_t i = 0; i < table->columns; i++) layout.widths[i] = wanted[i] = column_width(table, i);
  if (!table->is_screen && width_with(&layout, table->columns) > layout.page)
    for (size_t i = 0; i < table->columns; i++) layout.widths[i] = least_width(&layout, i);
  if (table->used > 0) (table->is_screen ? print_screen : print_parts)(&layout);
  for (size_t i = 0; i < table->used; i++)
    if (table->cells[i] != no_value) free(table->cells[i]);
  free(table->cells);
  free(wanted);
}

void table_lines(FILE *out, const char *text, size_t page, size_t used, size_t indent) {
  do {
    size_t line = table_line(text, page > used ? page - used : 1);
    fwrite(text, 1, table_trimmed(text, line), out);
    fputc('\n', out);
    text += line;
    used = indent;
    if (*text) pad(out, indent);
  } while (*text);
}

void table_wrapped(FILE *out, const char *text, size_t used, size_t indent) {
  size_t size = strlen(text), room = 4 * size + 1;
  char *safe = need_zeroed(room, 1);
  table_lines(out, eventring_printable(safe, room, text, size), table_page(out), used, indent);
  free(safe);
}

void table_say(FILE *out, size_t indent, size_t more, const char *format, ...) {
  va_list arguments;
  char *text;
  va_start(arguments, format);
  int size = vasprintf(&text, format, arguments);
  va_end(arguments);
  if (size < 0) no_memory();
  pad(out, indent);
  table_wrapped(out, text, indent, indent + more);
  free(text);
}

void table_labelled(FILE *out, const char *label, const char *text) {
  enum { LABEL = 13, TAB = 2 };
  do {
    size_t tabs = strspn(text, "\t"), size = strcspn(text + tabs, "\n");
    char *line = need_zeroed(size + 1, 1);
    memcpy(line, text + tabs, size);
    fprintf(out, "%-*s %*s", LABEL - 1, label, (int)(TAB * tabs), "");
    table_wrapped(out, line, LABEL + TAB * tabs, LABEL + TAB * tabs);
    free(line);
    text += tabs + size + (text[tabs + size] == '\n');
    label = "";
  } while (*text);
}
