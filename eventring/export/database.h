/* SPDX-License-Identifier: MIT */
/* database.h: a file in SQLite's format with the tables of tables.def. */
#ifndef EVENTRING_EXPORT_DATABASE_H
#define EVENTRING_EXPORT_DATABASE_H

#include "export/rows.h"

struct export_database;

/* Prepares for writing a database into an existing, empty file. Returns NULL with a code
   in errno. */
struct export_database *export_database_open(const char *path);
/* Appends a row to a table. Returns 0, or the code of the first error since the database
   was opened. */
int export_database_row(struct export_database *d, enum export_table table,
                        const struct export_cell *cells);
/* Completes the file. Returns what export_database_row does. */
int export_database_end(struct export_database *d);
/* Closes the file, frees the memory, and returns what export_database_row does. Without
   export_database_end before it, the file is no database. */
int export_database_close(struct export_database *d);

#endif
