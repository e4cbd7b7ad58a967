/* SPDX-License-Identifier: MIT */
/* sqlite.c: a database of SQLite, with the tables of tables.def.
 *
 * The database is written in one transaction, without a journal: an unfinished file is
 * removed. Memory: the cache of pages, 8 MiB.
 *
 * The statement that inserts a row is kept with its values. A value that equals that of
 * the row before, as most texts and many numbers do, is not bound again. */
#include "export/event_formats.h"
#include "export/rows.h"
#include "export/sql.h"

#include <stdio.h>
#include <stdlib.h>

#ifdef HAVE_SQLITE
#include <sqlite3.h>

struct sqlite {
  struct export_run *run;
  struct export_rows *rows;
  sqlite3 *db;
  sqlite3_stmt *insert[EXPORT_TABLES];
  /* the values bound in the statements; all zero: NULL */
  struct export_cell bound[EXPORT_TABLES][EXPORT_MOST_COLUMNS];
  int columns[EXPORT_TABLES];
  uint64_t count;
};

static int fail(struct sqlite *s) {
  if (!s->run->error[0])
    snprintf(s->run->error, sizeof s->run->error, "cannot write %.300s: %.100s", s->run->path,
             sqlite3_errmsg(s->db));
  return 1;
}

static int run_sql(struct sqlite *s, const char *sql) {
  return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : fail(s);
}

static void bind(sqlite3_stmt *to, int at, const struct export_cell *cell) {
  switch (cell->type) {
    case EXPORT_INTEGER: sqlite3_bind_int64(to, at, cell->number.i); break;
    case EXPORT_REAL: sqlite3_bind_double(to, at, cell->number.d); break;
    case EXPORT_STRING:
      sqlite3_bind_text(to, at, cell->text, (int)cell->size, SQLITE_STATIC);
      break;
    default: sqlite3_bind_null(to, at); break;
  }
}

/* Tells whether a cell is the same as the bound one. (A text counts as equal only if it
   is at the same address, since SQLite reads it from there when the row is inserted.) */
static bool is_bound(const struct export_cell *bound, const struct export_cell *cell) {
  if (bound->type != cell->type) return false;
  if (cell->type == EXPORT_STRING) return bound->text == cell->text && bound->size == cell->size;
  return cell->type == EXPORT_NULL || bound->number.i == cell->number.i;
}

static int put_row(void *context, enum export_table table, const struct export_cell *cells) {
  enum { SHOWN = 4096 };
  struct sqlite *s = context;
  sqlite3_stmt *insert = s->insert[table];
  struct export_cell *bound = s->bound[table];
  for (int i = 0; i < s->columns[table]; i++) {
    if (is_bound(&bound[i], &cells[i])) continue;
    bind(insert, i + 1, &cells[i]);
    bound[i] = cells[i];
  }
  int result = sqlite3_step(insert);
  sqlite3_reset(insert);
  if (result != SQLITE_DONE) return fail(s);
  if (++s->count % SHOWN == 0) s->run->progress(s->run->progress_context);
  return s->run->error[0] != '\0';
}

static int make_table(struct sqlite *s, enum export_table table) {
  char create[1024], insert[256];
  int count, used = snprintf(create, sizeof create, "create table %s(", export_table_name(table));
  int filled = snprintf(insert, sizeof insert, "insert into %s values(", export_table_name(table));
  const struct export_column *column = export_table_columns(table, &count);
  for (int i = 0; i < count; i++) {
    const char *type = strcmp(column[i].type, "ANY") == 0 ? "" : column[i].type;
    used += snprintf(create + used, sizeof create - (size_t)used, "%s\"%s\" %s", i ? ", " : "",
                     column[i].name, type);
    filled += snprintf(insert + filled, sizeof insert - (size_t)filled, i ? ",?" : "?");
  }
  snprintf(create + used, sizeof create - (size_t)used, ")");
  snprintf(insert + filled, sizeof insert - (size_t)filled, ")");
  s->columns[table] = count;
  if (run_sql(s, create) != 0) return 1;
  return sqlite3_prepare_v2(s->db, insert, -1, &s->insert[table], NULL) == SQLITE_OK ? 0 : fail(s);
}

/* Opens the database. SQLite takes an empty file for a new database. The caller has
   locked the whole file, so SQLite must not lock it. */
static int open_database(struct sqlite *s) {
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX;
  export_sqlite_configure();
  if (sqlite3_open_v2(s->run->path, &s->db, flags, "unix-none") != SQLITE_OK) return fail(s);
  int result = run_sql(s, "pragma journal_mode = off; pragma synchronous = off;"
                          "pragma locking_mode = exclusive; pragma cache_size = -8192; begin");
  for (int t = 0; !result && t < EXPORT_TABLES; t++)
    result = make_table(s, (enum export_table)t);
  return result;
}

static void close_all(struct sqlite *s) {
  for (int t = 0; t < EXPORT_TABLES; t++) sqlite3_finalize(s->insert[t]);
  if (sqlite3_close(s->db) != SQLITE_OK) fail(s);
  export_rows_free(s->rows);
  free(s);
}

static void *begin(struct export_run *run) {
  struct sqlite *s = calloc(1, sizeof *s);
  if (!s) return NULL;
  s->run = run;
  s->rows = export_rows_new(run->cursor, UINT32_MAX, run->until_ns, put_row, s);
  if (s->rows && open_database(s) == 0) return s;
  close_all(s);
  return NULL;
}

static int on_event(void *state, const struct eventring_event *e) {
  return export_rows_event(((struct sqlite *)state)->rows, e);
}
static int on_lost(void *state, const struct eventring_loss *loss) {
  return export_rows_lost(((struct sqlite *)state)->rows, loss);
}
static int on_open(void *state, const struct eventring_event *e) {
  return export_rows_open(((struct sqlite *)state)->rows, e);
}

static int finish(void *state) {
  struct sqlite *s = state;
  struct export_run *run = s->run;
  if (!run->error[0] && export_rows_end(s->rows) == 0) run_sql(s, "commit");
  const bool failed = export_rows_failed(s->rows);
  close_all(s);
  return run->error[0] || failed ? -1 : 0;
}

#else

static void *begin(struct export_run *run) {
  snprintf(run->error, sizeof run->error,
           "this eventring was built without SQLite (Debian package: libsqlite3-dev)");
  return NULL;
}
static int on_event(void *state, const struct eventring_event *e) {
  (void)state, (void)e;
  return 1;
}
static int on_lost(void *state, const struct eventring_loss *loss) {
  (void)state, (void)loss;
  return 1;
}
#define on_open on_event
static int finish(void *state) {
  (void)state;
  return -1;
}

#endif

const struct export_events export_events_sqlite = {
    .own_file = true, .merged = true, .begin = begin, .event = on_event, .lost = on_lost,
    .open = on_open, .finish = finish};
