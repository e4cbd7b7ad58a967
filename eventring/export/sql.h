/* SPDX-License-Identifier: MIT */
/* sql.h: SQL over a recording: the tables of tables.def, without copying the
   recording. */
#ifndef EVENTRING_EXPORT_SQL_H
#define EVENTRING_EXPORT_SQL_H

#include "export/rows.h"

/* Tells whether this was built with SQLite. */
bool export_has_sql(void);

/* Configures SQLite, before a database is opened: only one thread of this process uses
   SQLite, so locks, which would take a fifth of the time, are not needed. To be called
   only if export_has_sql returns true. */
void export_sqlite_configure(void);

struct export_sql {
  const char *path; /* the recording: a PID or a FILE */
  void *context;    /* the first argument of the callbacks: */
  /* Takes the names of the columns of a query, before its rows. */
  void (*columns)(void *context, const char *const *names, int count);
  /* Takes a row, also one with more than EXPORT_MOST_COLUMNS cells. A result other than 0
     ends the query. */
  int (*row)(void *context, const struct export_cell *cells, int count);
  /* Takes a message about damage in a recording; called once for each text. */
  void (*damage)(void *context, const char *text);
  char error[512];
  bool is_wrong; /* the query is wrong: its syntax, a table or a column */
};

/* Runs one or more queries. Each scan of a table reads the recording anew, with a cursor
   of its own. When SQLite sorts or joins more than some MiB, it uses a temporary file.
   Queries can read nothing but the recording, and write nothing. Returns 0, or 1 if a row
   ended the query, or -1 with a text in sql->error. */
int export_sql(struct export_sql *sql, const char *query);

#endif
