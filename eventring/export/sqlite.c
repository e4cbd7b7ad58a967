/* SPDX-License-Identifier: MIT */
/* sqlite.c: a database of SQLite, with the tables of tables.def.
 *
 * The database is written in one transaction, without a journal: an unfinished file is
 * removed. Memory: the cache of pages, 8 MiB, and up to BATCH rows of each table.
 *
 * To run a statement costs SQLite about as much as to insert a row. So rows are kept
 * until there are BATCH of a table. Then one statement inserts them all: it selects from
 * a virtual table, `kept_NAME`, whose rows are the kept ones. */
#include "export/event_formats.h"
#include "export/rows.h"
#include "export/sql.h"

#include <stdio.h>
#include <stdlib.h>

#ifdef HAVE_SQLITE
#include "export/kept_rows.h"

enum { BATCH = 256 };

struct sqlite;
/* The rows of a table that are not inserted yet. */
struct pile {
  struct sqlite *sqlite;
  enum export_table table;
  int columns;
  struct export_kept kept;
  sqlite3_stmt *insert; /* inserts the kept rows */
};

struct sqlite {
  struct export_run *run;
  struct export_rows *rows;
  sqlite3 *db;
  struct pile piles[EXPORT_TABLES];
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

/* ---- The virtual table of the kept rows ------------------------------------------- */

struct kept_table {
  sqlite3_vtab base;
  struct pile *pile;
};

struct kept_cursor {
  sqlite3_vtab_cursor base;
  const struct pile *pile;
  size_t at; /* first cell of the present row */
};

static int connect_kept(sqlite3 *db, void *pile, int count, const char *const *words,
                        sqlite3_vtab **out, char **error) {
  char columns[EXPORT_COLUMN_LIST], declared[sizeof columns + 32];
  (void)count, (void)words, (void)error;
  struct kept_table *table = calloc(1, sizeof *table);
  if (!table) return SQLITE_NOMEM;
  table->pile = pile;
  export_column_list(columns, table->pile->table);
  snprintf(declared, sizeof declared, "create table x(%s)", columns);
  const int result = sqlite3_declare_vtab(db, declared);
  if (result != SQLITE_OK) free(table);
  else *out = &table->base;
  return result;
}

static int disconnect_kept(sqlite3_vtab *table) {
  free(table);
  return SQLITE_OK;
}

static int plan_kept(sqlite3_vtab *table, sqlite3_index_info *info) {
  (void)table;
  info->estimatedCost = BATCH;
  return SQLITE_OK;
}

static int open_kept(sqlite3_vtab *base, sqlite3_vtab_cursor **out) {
  struct kept_cursor *cursor = calloc(1, sizeof *cursor);
  if (!cursor) return SQLITE_NOMEM;
  cursor->pile = ((const struct kept_table *)base)->pile;
  *out = &cursor->base;
  return SQLITE_OK;
}

static int close_kept(sqlite3_vtab_cursor *cursor) {
  free(cursor);
  return SQLITE_OK;
}

static int begin_kept(sqlite3_vtab_cursor *base, int plan, const char *text, int count,
                      sqlite3_value **arguments) {
  (void)plan, (void)text, (void)count, (void)arguments;
  ((struct kept_cursor *)base)->at = 0;
  return SQLITE_OK;
}

static int next_kept(sqlite3_vtab_cursor *base) {
  struct kept_cursor *cursor = (struct kept_cursor *)base;
  cursor->at += (size_t)cursor->pile->columns;
  return SQLITE_OK;
}

static int end_of_kept(sqlite3_vtab_cursor *base) {
  const struct kept_cursor *cursor = (const struct kept_cursor *)base;
  return cursor->at >= cursor->pile->kept.cell_count;
}

static int column_of_kept(sqlite3_vtab_cursor *base, sqlite3_context *to, int column) {
  const struct kept_cursor *cursor = (const struct kept_cursor *)base;
  const struct export_cell cell =
      export_kept_cell(&cursor->pile->kept, cursor->at + (size_t)column);
  export_cell_result(&cell, to, SQLITE_STATIC); /* copied into its row at once */
  return SQLITE_OK;
}

static int number_of_kept(sqlite3_vtab_cursor *base, sqlite3_int64 *number) {
  const struct kept_cursor *cursor = (const struct kept_cursor *)base;
  *number = (sqlite3_int64)(cursor->at / (size_t)cursor->pile->columns);
  return SQLITE_OK;
}

/* Without xCreate, a connection has a table of the module's name from the start. */
static const sqlite3_module module = {
    .xConnect = connect_kept, .xDisconnect = disconnect_kept, .xBestIndex = plan_kept,
    .xOpen = open_kept, .xClose = close_kept, .xFilter = begin_kept, .xNext = next_kept,
    .xEof = end_of_kept, .xColumn = column_of_kept, .xRowid = number_of_kept};

/* ---- Writing ---------------------------------------------------------------------- */

static int insert_kept(struct pile *pile) {
  int result = sqlite3_step(pile->insert);
  sqlite3_reset(pile->insert);
  export_kept_clear(&pile->kept);
  return result == SQLITE_DONE ? 0 : fail(pile->sqlite);
}

static int put_row(void *context, enum export_table table, const struct export_cell *cells) {
  struct sqlite *s = context;
  struct pile *pile = &s->piles[table];
  if (!export_keep_row(&pile->kept, cells, pile->columns, UINT32_MAX >> (32 - pile->columns)))
    return -1;
  if (pile->kept.cell_count < BATCH * (size_t)pile->columns) return 0;
  if (insert_kept(pile) != 0) return 1;
  s->run->progress(s->run->progress_context);
  return s->run->error[0] != '\0';
}

static int insert_all(struct sqlite *s) {
  int result = 0;
  for (int t = 0; !result && t < EXPORT_TABLES; t++) result = insert_kept(&s->piles[t]);
  return result;
}

static int make_table(struct sqlite *s, enum export_table table) {
  const char *name = export_table_name(table);
  struct pile *pile = &s->piles[table];
  char columns[EXPORT_COLUMN_LIST], sql[sizeof columns + 128], kept[64];
  *pile = (struct pile){.sqlite = s, .table = table};
  export_table_columns(table, &pile->columns);
  export_column_list(columns, table);
  snprintf(sql, sizeof sql, "create table %s(%s)", name, columns);
  if (run_sql(s, sql) != 0) return 1;
  snprintf(kept, sizeof kept, "kept_%s", name);
  if (sqlite3_create_module(s->db, kept, &module, pile) != SQLITE_OK) return fail(s);
  snprintf(sql, sizeof sql, "insert into main.%s select * from %s", name, kept);
  return sqlite3_prepare_v2(s->db, sql, -1, &pile->insert, NULL) == SQLITE_OK ? 0 : fail(s);
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
  for (int t = 0; t < EXPORT_TABLES; t++) {
    sqlite3_finalize(s->piles[t].insert);
    export_kept_free(&s->piles[t].kept);
  }
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
  if (!run->error[0] && export_rows_end(s->rows) == 0 && insert_all(s) == 0)
    run_sql(s, "commit");
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
