/* SPDX-License-Identifier: MIT */
/* rows.h: a recording as rows of tables (tables.def). */
#ifndef EVENTRING_EXPORT_ROWS_H
#define EVENTRING_EXPORT_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "eventring/read.h"

enum export_table {
#define TABLE(name, summary) EXPORT_TABLE_##name,
#include "export/tables.def"
  EXPORT_TABLES
};
enum { EXPORT_MOST_COLUMNS = 17 };

struct export_column {
  const char *name, *type, *meaning;
};
const char *export_table_name(enum export_table table);
const char *export_table_summary(enum export_table table);
/* Returns the columns of a table, and stores their number. */
const struct export_column *export_table_columns(enum export_table table, int *count);

enum export_cell_type { EXPORT_NULL, EXPORT_INTEGER, EXPORT_REAL, EXPORT_STRING };
struct export_cell {
  uint8_t type;
  union {
    int64_t i;
    double d;
  } number;
  const char *text; /* UTF-8; valid during the callback */
  size_t size;
};

/* Takes a row: as many cells as the table has columns. A result other than 0
   ends the reading. */
typedef int export_row(void *context, enum export_table table, const struct export_cell *cells);

struct export_rows;
/* Prepares for making rows from the events passed to the functions below. `wanted`: a bit
   for each table; other tables get no rows. `until`: spans open at this time count as
   open; UINT64_MAX: the end of the recording. Returns NULL when out of memory. */
struct export_rows *export_rows_new(eventring_cursor *cursor, uint32_t wanted, uint64_t until,
                                    export_row *row, void *context);
/* Says which columns are used, of the one table that is wanted: the cells of others may
   be NULL. */
void export_rows_use(struct export_rows *rows, uint32_t columns);
void export_rows_free(struct export_rows *rows);
/* Tells whether memory ran out at some point, here or in `row`, which then returned a
   result below 0. */
bool export_rows_failed(const struct export_rows *rows);
/* Handles an event or a loss of a poll. Returns the result of `row` if it is not 0, or -1
   when out of memory. */
int export_rows_event(void *rows, const struct eventring_event *event);
int export_rows_lost(void *rows, const struct eventring_loss *loss);
/* Takes a span that is open at the end. */
int export_rows_open(void *rows, const struct eventring_event *begin);
/* Makes the rows of the tables that are not about events. To be called after the last
   event. Returns what export_rows_event does. */
int export_rows_end(struct export_rows *rows);

#endif
