/* SPDX-License-Identifier: MIT */
/* cmd_sql.c: `eventring sql`: a query over a recording.
 *
 * Rows are written as they come: in JSON one by one, in text as tables of at most
 * TABLE_ROWS rows. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/json.h"
#include "export/sql.h"
#include "options.h"
#include "text_table.h"

enum { TABLE_ROWS = 10000 };

struct sql_output {
  bool json;
  bool is_open;  /* a query's rows are being written */
  bool damaged;
  char damage[512]; /* damage to be reported after the query, or "" */
  char said[512];   /* the last damage that was reported */
  struct eva_json writer;
  struct table table;
  char **titles;
  int columns;
  uint64_t rows; /* rows written to the present table */
  bool has_rows; /* whether the query has rows */
};

/* ---- Rows --------------------------------------------------------------------- */

static void begin_table(struct sql_output *o) {
  table_init(&o->table, (const char *const *)o->titles, (size_t)o->columns);
  o->rows = 0;
}

/* Reports damage, but not between rows, where a message would break a line. */
static void report_damage(struct sql_output *o) {
  if (!o->damage[0] || strcmp(o->said, o->damage) == 0) return;
  complain("%s", o->damage);
  memcpy(o->said, o->damage, sizeof o->said);
  o->damage[0] = '\0';
}

static void end_query(struct sql_output *o) {
  if (!o->is_open) return report_damage(o);
  o->is_open = false;
  if (o->json) {
    eva_json_close_array(&o->writer);
    eva_json_close_object(&o->writer);
    eva_json_line(&o->writer);
  } else {
    table_print(&o->table, stdout, 0);
    if (!o->has_rows) puts("no rows");
  }
  for (int i = 0; i < o->columns; i++) free(o->titles[i]);
  free(o->titles);
  report_damage(o);
}

static void on_columns(void *context, const char *const *names, int count) {
  struct sql_output *o = context;
  end_query(o);
  o->is_open = true;
  o->has_rows = false;
  o->columns = count;
  o->titles = need_zeroed((size_t)count + 1, sizeof *o->titles);
  for (int i = 0; i < count; i++) {
    size_t size = strlen(names[i]);
    o->titles[i] = need_zeroed(4 * size + 2, 1);
    if (o->json) memcpy(o->titles[i], names[i], size);
    else o->titles[i][0] = '<', eventring_printable(o->titles[i] + 1, 4 * size + 1, names[i], size);
  }
  if (!o->json) return begin_table(o);
  eva_json_open_object(&o->writer);
  eva_json_uint_at(&o->writer, "version", 1);
  eva_json_key(&o->writer, "columns");
  eva_json_open_array(&o->writer);
  for (int i = 0; i < count; i++) eva_json_string(&o->writer, o->titles[i]);
  eva_json_close_array(&o->writer);
  eva_json_key(&o->writer, "rows");
  eva_json_open_array(&o->writer);
}

static void put_json(struct sql_output *o, const struct export_cell *cell) {
  switch (cell->type) {
    case EXPORT_INTEGER: eva_json_int(&o->writer, cell->number.i); break;
    case EXPORT_REAL: eva_json_double(&o->writer, cell->number.d); break;
    case EXPORT_STRING: eva_json_text(&o->writer, cell->text, cell->size); break;
    default: eva_json_null(&o->writer); break;
  }
}

static void put_text(struct sql_output *o, const struct export_cell *cell) {
  char number[32];
  if (cell->type == EXPORT_STRING) {
    char *text = need_zeroed(cell->size + 1, 1);
    memcpy(text, cell->text, cell->size);
    table_cell(&o->table, text);
    free(text);
    return;
  }
  if (cell->type == EXPORT_INTEGER) snprintf(number, sizeof number, "%" PRId64, cell->number.i);
  if (cell->type == EXPORT_REAL) snprintf(number, sizeof number, "%.15g", cell->number.d);
  table_cell(&o->table, cell->type == EXPORT_NULL ? NULL : number);
}

static int on_row(void *context, const struct export_cell *cells, int count) {
  struct sql_output *o = context;
  o->has_rows = true;
  if (o->json) eva_json_open_object(&o->writer);
  for (int i = 0; i < count; i++) {
    if (o->json) eva_json_key(&o->writer, o->titles[i]), put_json(o, &cells[i]);
    else put_text(o, &cells[i]);
  }
  if (o->json) eva_json_close_object(&o->writer);
  if (!o->json && ++o->rows == TABLE_ROWS) {
    table_print(&o->table, stdout, 0);
    begin_table(o);
  }
  return ferror(stdout) ? 1 : 0;
}

/* Handles damage. Keeps only the first message, since others follow from it or come
   again. */
static void on_damage(void *context, const char *text) {
  struct sql_output *o = context;
  o->damaged = true;
  if (!o->damage[0]) snprintf(o->damage, sizeof o->damage, "%s", text);
}

/* ---- The tables there are ----------------------------------------------------- */

static int list_tables(void) {
  for (int t = 0; t < EXPORT_TABLES; t++) {
    enum export_table table = (enum export_table)t;
    int count;
    const struct export_column *column = export_table_columns(table, &count);
    printf("%s%s: %s\n", t ? "\n" : "", export_table_name(table), export_table_summary(table));
    for (int i = 0; i < count; i++)
      printf("  %-14s%s%s\n", column[i].name, column[i].meaning[0] ? " " : "", column[i].meaning);
  }
  return STATUS_OK;
}

/* ---- The command -------------------------------------------------------------- */

int command_sql(const struct command *self, int count, char **words) {
  struct sql_output output = {0};
  struct operands operands;
  bool tables = false;
  const struct option_spec specs[] = {
      {"json", 'j', OPTION_FLAG, &output.json, NULL, "a JSON object for each query"},
      {"tables", 0, OPTION_FLAG, &tables, NULL, "list the tables and their columns"}};
  int status = options_parse(self, OPTION_SPECS(specs), count, words, &operands);
  if (!goes_on(status)) return status;
  if (tables && operands.count == 0) return list_tables();
  if (tables) return usage_error(self, "--tables takes no PID or FILE");
  if (operands.count != 2)
    return usage_error(self, operands.count < 2 ? "a PID or FILE, and a query"
                                                : "one PID or FILE, and one query (in quotes)");
  struct export_sql sql = {.path = operands.words[0], .context = &output, .columns = on_columns,
                           .row = on_row, .damage = on_damage};
  eva_json_start(&output.writer, stdout);
  int result = export_sql(&sql, operands.words[1]);
  end_query(&output);
  if (result < 0) complain("%s", sql.error);
  if (sql.is_wrong) return STATUS_USAGE;
  return result < 0 || output.damaged ? STATUS_WRONG : STATUS_OK;
}
