/* SPDX-License-Identifier: MIT */
/* sql.h: SQL over a recording: the tables of tables.def, without a copy of it. */
#ifndef EVENTRING_EXPORT_SQL_H
#define EVENTRING_EXPORT_SQL_H

#include "export/rows.h"

/* Was SQLite there when this was built? */
bool export_has_sql(void);

/* Before a database is opened: SQLite is used by one thread of this process, and needs no locks, which
   take a fifth of the time. Where SQLite was there when this was built. */
void export_sqlite_configure(void);

struct export_sql {
  const char *path; /* of the recording: a PID or a FILE */
  void *context;    /* the first argument of: */
  /* The names of the columns of a query, before its rows. */
  void (*columns)(void *context, const char *const *names, int count);
  /* A row, also of more than EXPORT_MOST_COLUMNS cells. A result other than 0 ends it. */
  int (*row)(void *context, const struct export_cell *cells, int count);
  /* A recording is damaged: what was found; once for each text. */
  void (*damage)(void *context, const char *text);
  char error[512];
  bool is_wrong; /* the error is one of the query: its syntax, a table or a column of it */
};

/* Runs one or several queries. Each scan of a table reads the recording anew, with a cursor of
   its own; what is sorted or joined beyond some MiB SQLite puts into a file of its own. Nothing
   but the recording can be read, and nothing written. Returns 0; 1: a row ended it; -1:
   sql->error says what is wrong. */
int export_sql(struct export_sql *sql, const char *query);

#endif
