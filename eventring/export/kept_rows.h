/* SPDX-License-Identifier: MIT */
/* kept_rows.h: rows of a table that are kept until SQLite reads them. */
#ifndef EVENTRING_EXPORT_KEPT_ROWS_H
#define EVENTRING_EXPORT_KEPT_ROWS_H

#include "export/rows.h"

#include <sqlite3.h>

/* Rows of one table. All zero: none. */
struct export_kept {
  struct export_cell *cells; /* `number` of a text: its offset in `text` */
  size_t cell_count, cell_room;
  char *text; /* all texts, one behind the other */
  size_t text_size, text_room;
};

/* Keeps a row of `columns` cells with copies of its texts. Only the cells whose bits are
   set in `used` can be read later. Returns false when out of memory. */
bool export_keep_row(struct export_kept *kept, const struct export_cell *cells, int columns,
                     uint32_t used);
/* Forgets all rows; their memory stays. */
void export_kept_clear(struct export_kept *kept);
void export_kept_free(struct export_kept *kept);
/* Returns a cell, by its index among all cells, with its text if it has one. */
struct export_cell export_kept_cell(const struct export_kept *kept, size_t at);

/* Makes a cell the value of a column. `texts` says whether SQLite copies a text
   (SQLITE_TRANSIENT) or not (SQLITE_STATIC). */
void export_cell_result(const struct export_cell *cell, sqlite3_context *to,
                        sqlite3_destructor_type texts);

enum { EXPORT_COLUMN_LIST = 1024 };
/* Writes the names and types of a table's columns, as a statement `create table` lists
   them. */
void export_column_list(char to[EXPORT_COLUMN_LIST], enum export_table table);

#endif
