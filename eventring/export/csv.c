/* SPDX-License-Identifier: MIT */
/* csv.c: comma-separated values (RFC 4180, lines end with \n): one row for each span,
 * value of a counter, event, loss and sampled allocation. The first column says which of
 * these the row is. The other columns are those of all these tables (tables.def); a row
 * fills some of them. `begin_ns` is in column `ns`.
 *
 * These files are opened in terminals and in spreadsheets. What is not printable is
 * written as \xNN; a text that a spreadsheet would take for a formula gets an apostrophe
 * before it.
 */
#include "export/event_formats.h"
#include "export/rows.h"
#include "export/text_write.h"

#include <stdlib.h>

static const char *const columns[] = {
    "ns", "end_ns", "duration_ns", "name", "class", "domain", "domain_name", "incarnation",
    "ring", "context", "depth", "suspended_ns", "off_cpu_ns", "kind", "link", "value", "unit",
    "torn", "so_far_ns", "count", "before", "block", "words", "samples", "origin", "stack", "span"};
enum { COLUMNS = sizeof columns / sizeof columns[0] };

static const enum export_table tables[] = {EXPORT_TABLE_spans, EXPORT_TABLE_counters,
                                           EXPORT_TABLE_events, EXPORT_TABLE_losses,
                                           EXPORT_TABLE_samples};
enum { TABLES_SHOWN = sizeof tables / sizeof tables[0] };

struct csv {
  struct export_out *out;
  struct export_rows *rows;
  /* For each table and each column of the file: the table's column, or -1 if it has
     none. */
  signed char from[EXPORT_TABLES][COLUMNS];
};

static int find_column(enum export_table table, const char *name) {
  int count;
  const struct export_column *of = export_table_columns(table, &count);
  for (int i = 0; i < count; i++)
    if (strcmp(of[i].name, name) == 0 ||
        (strcmp(name, "ns") == 0 && strcmp(of[i].name, "begin_ns") == 0))
      return i;
  return -1;
}

static bool is_number(const char *text, size_t size) {
  char copy[32], *end;
  if (size >= sizeof copy) return false;
  memcpy(copy, text, size);
  copy[size] = '\0';
  strtod(copy, &end);
  return end == copy + size;
}

/* Tells whether a spreadsheet would take the text for a formula. (Blanks other than ' '
   are written as \xNN.) */
static bool is_formula(const char *text, size_t size) {
  return size > 0 && text[0] != '\0' && strchr("=+-@", text[0]) && !is_number(text, size);
}

/* Writes a text in quotes; quotes within it are doubled. */
static char *put_text(char *to, const char *text, size_t size) {
  *to++ = '"';
  if (is_formula(text, size)) *to++ = '\'';
  for (const char *end = text + size; text < end;) {
    const char *quote = memchr(text, '"', (size_t)(end - text));
    to = export_text(to, text, (size_t)((quote ? quote : end) - text), "", "");
    if (quote) to = EXPORT_TEXT(to, "\"\"");
    text = quote ? quote + 1 : end;
  }
  *to++ = '"';
  return to;
}

static char *put_cell(char *to, const struct export_cell *cell) {
  switch (cell->type) {
    case EXPORT_INTEGER: return export_int(to, cell->number.i);
    case EXPORT_REAL: return export_double(to, cell->number.d, 0);
    case EXPORT_STRING: return put_text(to, cell->text, cell->size);
    default: return to;
  }
}

static int put_row(void *context, enum export_table table, const struct export_cell *cells) {
  struct csv *csv = context;
  const char *name = export_table_name(table);
  char *to = export_room(csv->out, EXPORT_MOST);
  to = export_copy(to, name, strlen(name) - 1); /* the table's name, in the singular */
  if (table == EXPORT_TABLE_losses) to--;       /* "losses" becomes "loss" */
  for (int i = 0; i < COLUMNS; i++) {
    int at = csv->from[table][i];
    *to++ = ',';
    if (at >= 0) to = put_cell(to, &cells[at]);
  }
  *to++ = '\n';
  csv->out->at = to;
  return csv->out->failed;
}

static void *begin(struct export_run *run) {
  struct csv *csv = calloc(1, sizeof *csv);
  if (!csv) return NULL;
  csv->out = run->out;
  uint32_t wanted = 0;
  for (int t = 0; t < TABLES_SHOWN; t++) {
    wanted |= 1u << tables[t];
    for (int i = 0; i < COLUMNS; i++)
      csv->from[tables[t]][i] = (signed char)find_column(tables[t], columns[i]);
  }
  csv->rows = export_rows_new(run->cursor, wanted, run->until_ns, put_row, csv);
  if (!csv->rows) {
    free(csv);
    return NULL;
  }
  export_puts(csv->out, "what");
  for (int i = 0; i < COLUMNS; i++) {
    export_puts(csv->out, ",");
    export_puts(csv->out, columns[i]);
  }
  export_puts(csv->out, "\n");
  return csv;
}

static int on_event(void *state, const struct eventring_event *e) {
  return export_rows_event(((struct csv *)state)->rows, e);
}
static int on_lost(void *state, const struct eventring_loss *loss) {
  return export_rows_lost(((struct csv *)state)->rows, loss);
}
static int on_open(void *state, const struct eventring_event *e) {
  return export_rows_open(((struct csv *)state)->rows, e);
}

static int finish(void *state) {
  struct csv *csv = state;
  export_rows_end(csv->rows);
  const int result = export_rows_failed(csv->rows) ? -1 : 0;
  export_rows_free(csv->rows);
  free(csv);
  return result;
}

const struct export_events export_events_csv = {
    .merged = true, .begin = begin, .event = on_event, .lost = on_lost, .open = on_open,
    .finish = finish};
