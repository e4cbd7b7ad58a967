/* SPDX-License-Identifier: MIT */
/* sql.h: SQL over a recording: the tables of tables.def, without a copy of it. */
#ifndef EVENTRING_EXPORT_SQL_H
#define EVENTRING_EXPORT_SQL_H

#include "export/rows.h"

/* Tells whether SQLite was there when this was built. */
bool export_has_sql(void);

/* Configures SQLite, before a database is opened: one thread of this process uses it, so
   it needs no locks, which take a fifth of the time. Only if export_has_sql. */
void export_sqlite_configure(void);

struct export_sql {
  const char *path; /* of the recording: a PID or a FILE */
  void *context;    /* the first argument of the callbacks: */
  /* Takes the names of the columns of a query, before its rows. */
  void (*columns)(void *context, const char *const *names, int count);
  /* Takes a row, also one with more than EXPORT_MOST_COLUMNS cells. A result other than 0
     ends the query. */
  int (*row)(void *context, const struct export_cell *cells, int count);
  /* Takes what is damaged in a recording; called once for each text. */
  void (*damage)(void *context, const char *text);
  char error[512];
  bool is_wrong; /* the query is wrong: its syntax, a table or a column */
};

/* Runs one or several queries. Each scan of a table reads the recording anew, with a
   cursor of its own; SQLite puts what it sorts or joins, beyond some MiB, into a
   temporary file. Nothing but the recording can be read, and nothing written. Returns 0;
   1: a row ended it; -1: sql->error says what is wrong. */
int export_sql(struct export_sql *sql, const char *query);

#endif
