/* SPDX-License-Identifier: MIT */
/* sql.c: SQL over a recording, by virtual tables of SQLite.
 *
 * A scan has a cursor of the recording and the rows of its table from the last poll. A
 * poll takes at most POLLED events, so memory does not grow with the recording. A scan of
 * spans, counters, events or samples finds by bisection a position near the time that the
 * query asks for (`begin_ns >= X`, `end_ns >= X`, `ns >= X`), and begins there; SQLite
 * skips earlier rows. Columns that the query does not use are not kept.
 *
 * For a query that groups all rows of a table by columns of texts, such as names, the
 * scan reads the whole recording first and gives the rows back by groups, in the order in
 * which SQLite would sort them (grouped.h): its sort takes several times as long. */
#include "export/sql.h"
#include "analysis/read_all.h"
#include "export/grouped.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_SQLITE
#include "export/kept_rows.h"

enum {
  POLLED = 2048,
  FIRST_COLUMN = 'a' /* in a plan with groups */
};

bool export_has_sql(void) { return true; }

/* Configures SQLite. (If another user of SQLite in this process came first, its settings
   stay.) */
void export_sqlite_configure(void) {
  sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
  sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

/* ---- Rows of the last poll --------------------------------------------------------- */

struct table {
  sqlite3_vtab base;
  struct export_sql *sql;
  enum export_table is;
  int columns;
};

struct scan {
  sqlite3_vtab_cursor base;
  eventring_cursor *cursor;
  struct export_rows *rows;
  struct export_kept kept;
  size_t at; /* first cell of the present row */
  /* Instead of these, if SQLite gets the rows by groups: */
  struct export_grouped *grouped;
  const struct export_cell *row; /* the present row; NULL: all were read */
  int columns;
  uint32_t used; /* bits of the columns that the query uses */
  bool over;
  int error; /* a code of errno, of the grouped rows */
  struct eva_read read;
  sqlite3_int64 number;
};

static int keep_row(void *context, enum export_table table, const struct export_cell *cells) {
  struct scan *scan = context;
  (void)table;
  if (scan->grouped) return (scan->error = export_grouped_add(scan->grouped, cells)) ? -1 : 0;
  return export_keep_row(&scan->kept, cells, scan->columns, scan->used) ? 0 : -1;
}

/* ---- A scan ----------------------------------------------------------------------- */

static struct table *table_of(struct scan *scan) { return (struct table *)scan->base.pVtab; }

static int fail(sqlite3_vtab *table, const char *text) {
  sqlite3_free(table->zErrMsg);
  table->zErrMsg = sqlite3_mprintf("%s", text);
  return SQLITE_ERROR;
}

/* Returns the result of SQLite for the error of a scan; memory unless another is known.
   */
static int result_of(const struct scan *scan) {
  char text[256];
  if (!scan->error || scan->error == ENOMEM) return SQLITE_NOMEM;
  snprintf(text, sizeof text, "temporary file: %s", strerror(scan->error));
  return fail(&table_of((struct scan *)scan)->base, text);
}

/* Polls until there is a row, or no more come. Damage is reported and skipped. */
static int fill(struct scan *scan) {
  static const struct eventring_callbacks callbacks = {sizeof callbacks, export_rows_event,
                                                       export_rows_lost};
  struct export_sql *sql = table_of(scan)->sql;
  scan->at = 0;
  export_kept_clear(&scan->kept);
  while (!scan->kept.cell_count && !scan->over && !export_rows_failed(scan->rows)) {
    int polled = eva_read_poll(&scan->read, scan->cursor, &callbacks, scan->rows, POLLED);
    if (polled < 0) sql->damage(sql->context, eventring_cursor_error(scan->cursor)->text);
    if (!scan->read.is_over) continue;
    scan->over = true;
    eventring_open_spans(scan->cursor, export_rows_open, scan->rows);
    export_rows_end(scan->rows);
  }
  return export_rows_failed(scan->rows) ? result_of(scan) : SQLITE_OK;
}

static int next_grouped(struct scan *scan) {
  int64_t number;
  scan->row = export_grouped_next(scan->grouped, &number, &scan->error);
  scan->number = number;
  return scan->error ? result_of(scan) : SQLITE_OK;
}

/* Reads all rows by groups. */
static int group_all(struct scan *scan) {
  const int result = fill(scan);
  if (result != SQLITE_OK) return result;
  scan->error = export_grouped_end(scan->grouped);
  return scan->error ? result_of(scan) : next_grouped(scan);
}

static int scan_open(sqlite3_vtab *base, sqlite3_vtab_cursor **out) {
  const struct table *table = (struct table *)base;
  struct scan *scan = calloc(1, sizeof *scan);
  if (!scan) return SQLITE_NOMEM;
  scan->columns = table->columns;
  *out = &scan->base;
  return SQLITE_OK;
}

static void end_scan(struct scan *scan) {
  export_rows_free(scan->rows);
  export_grouped_free(scan->grouped);
  scan->grouped = NULL;
  scan->row = NULL;
  scan->error = 0;
  eventring_close(scan->cursor);
  scan->rows = NULL;
  scan->cursor = NULL;
  scan->over = false;
  scan->read = (struct eva_read){0};
}

static int scan_close(sqlite3_vtab_cursor *base) {
  struct scan *scan = (struct scan *)base;
  end_scan(scan);
  export_kept_free(&scan->kept);
  free(scan);
  return SQLITE_OK;
}

/* Begins a scan. In a plan (best_index), the lowest bit says that the argument is the
   time at which to begin; the bits above it say which columns are used. `keys` has a
   letter for each column by which the rows are to be grouped, or is NULL. */
static int scan_filter(sqlite3_vtab_cursor *base, int plan, const char *keys, int count,
                       sqlite3_value **arguments) {
  struct scan *scan = (struct scan *)base;
  struct table *table = table_of(scan);
  struct eventring_error error;
  end_scan(scan);
  if (eventring_open_any(&scan->cursor, table->sql->path,
                         EVENTRING_OPEN_MERGED | EVENTRING_OPEN_FOLLOW, &error) < 0)
    return fail(&table->base, error.text);
  /* SQLite may name columns that the table does not have */
  scan->used = (uint32_t)plan >> 1 & ((1u << scan->columns) - 1);
  if (plan & 1 && count == 1 && sqlite3_value_type(arguments[0]) == SQLITE_INTEGER) {
    sqlite3_int64 ns = sqlite3_value_int64(arguments[0]);
    if (ns > 0) eventring_cursor_seek(scan->cursor, (uint64_t)ns);
  }
  scan->rows = export_rows_new(scan->cursor, 1u << table->is, UINT64_MAX, keep_row, scan);
  scan->number = 0;
  if (!scan->rows) return SQLITE_NOMEM;
  export_rows_use(scan->rows, scan->used);
  if (!keys) return fill(scan);
  uint8_t columns[EXPORT_MOST_COLUMNS];
  const int key_count = (int)strlen(keys);
  for (int i = 0; i < key_count; i++) columns[i] = (uint8_t)(keys[i] - FIRST_COLUMN);
  scan->grouped = export_grouped_new(scan->used, columns, key_count);
  return scan->grouped ? group_all(scan) : SQLITE_NOMEM;
}

static int scan_next(sqlite3_vtab_cursor *base) {
  struct scan *scan = (struct scan *)base;
  if (scan->grouped) return next_grouped(scan);
  scan->at += (size_t)scan->columns;
  scan->number++;
  return scan->at < scan->kept.cell_count || scan->over ? SQLITE_OK : fill(scan);
}

static int scan_eof(sqlite3_vtab_cursor *base) {
  const struct scan *scan = (struct scan *)base;
  return scan->grouped ? !scan->row : scan->at >= scan->kept.cell_count;
}

static int scan_column(sqlite3_vtab_cursor *base, sqlite3_context *to, int column) {
  const struct scan *scan = (struct scan *)base;
  const struct export_cell cell = scan->grouped
                                      ? scan->row[column]
                                      : export_kept_cell(&scan->kept, scan->at + (size_t)column);
  export_cell_result(&cell, to, SQLITE_TRANSIENT);
  return SQLITE_OK;
}

static int scan_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *number) {
  *number = ((struct scan *)base)->number;
  return SQLITE_OK;
}

/* ---- Tables ----------------------------------------------------------------------- */

static int find_table(const char *name) {
  for (int t = 0; t < EXPORT_TABLES; t++)
    if (strcmp(name, export_table_name((enum export_table)t)) == 0) return t;
  return -1;
}

static int connect_table(sqlite3 *db, void *sql, int count, const char *const *words,
                         sqlite3_vtab **out, char **error) {
  char columns[EXPORT_COLUMN_LIST], declared[sizeof columns + 32];
  (void)error;
  int is = count > 2 ? find_table(words[2]) : -1;
  if (is < 0) return SQLITE_ERROR;
  struct table *table = sqlite3_malloc(sizeof *table);
  if (!table) return SQLITE_NOMEM;
  *table = (struct table){.sql = sql, .is = (enum export_table)is};
  export_table_columns(table->is, &table->columns);
  export_column_list(columns, table->is);
  snprintf(declared, sizeof declared, "create table x(%s)", columns);
  const int result = sqlite3_declare_vtab(db, declared);
  if (result != SQLITE_OK) sqlite3_free(table);
  else *out = &table->base;
  return result;
}

static int disconnect_table(sqlite3_vtab *table) {
  sqlite3_free(table);
  return SQLITE_OK;
}

/* Tells whether the rows of a scan are to be grouped by columns of texts, and all of them
   are wanted. (With a condition, of which SQLite may drop most rows, its sort is better.)
   */
static bool groups_all(const struct table *table, sqlite3_index_info *info) {
#if SQLITE_VERSION_NUMBER >= 3038000
  enum { GROUP_BY = 1 };
  int count;
  const struct export_column *column = export_table_columns(table->is, &count);
  if (info->nConstraint || !info->nOrderBy || info->nOrderBy > EXPORT_MOST_COLUMNS ||
      sqlite3_vtab_distinct(info) != GROUP_BY)
    return false;
  for (int i = 0; i < info->nOrderBy; i++) {
    const int at = info->aOrderBy[i].iColumn;
    if (at < 0 || info->aOrderBy[i].desc || strcmp(column[at].type, "TEXT") != 0) return false;
  }
  return true;
#else
  (void)table, (void)info;
  return false;
#endif
}

/* Asks for the rows by groups. */
static int plan_groups(sqlite3_index_info *info) {
  char *keys = sqlite3_malloc(info->nOrderBy + 1);
  if (!keys) return SQLITE_NOMEM;
  for (int i = 0; i < info->nOrderBy; i++)
    keys[i] = (char)(FIRST_COLUMN + info->aOrderBy[i].iColumn);
  keys[info->nOrderBy] = '\0';
  info->idxStr = keys;
  info->needToFreeIdxStr = 1;
  info->orderByConsumed = 1;
  return SQLITE_OK;
}

/* Makes the plan of a scan, which may begin at a lower bound of a time; SQLite skips the
   rows before that bound. A scan of losses begins at the start of the recording: losses
   before another position would count as missed. */
static int best_index(sqlite3_vtab *base, sqlite3_index_info *info) {
  const struct table *table = (struct table *)base;
  int count;
  const struct export_column *column = export_table_columns(table->is, &count);
  bool seeks = table->is != EXPORT_TABLE_losses && table->is != EXPORT_TABLE_domains &&
               table->is != EXPORT_TABLE_stacks && table->is != EXPORT_TABLE_recording;
  _Static_assert(EXPORT_MOST_COLUMNS < 31, "a plan");
  info->idxNum = (int)((info->colUsed & ((1u << EXPORT_MOST_COLUMNS) - 1)) << 1);
  info->estimatedCost = 1e6;
  if (groups_all(table, info)) return plan_groups(info);
  for (int i = 0; seeks && i < info->nConstraint; i++) {
    const struct sqlite3_index_constraint *c = &info->aConstraint[i];
    bool is_bound = c->op == SQLITE_INDEX_CONSTRAINT_GE || c->op == SQLITE_INDEX_CONSTRAINT_GT;
    if (!c->usable || !is_bound || c->iColumn < 0) continue;
    const char *name = column[c->iColumn].name;
    if (strcmp(name, "ns") && strcmp(name, "begin_ns") && strcmp(name, "end_ns")) continue;
    info->aConstraintUsage[i].argvIndex = 1;
    info->idxNum |= 1;
    info->estimatedCost = 1e5;
    break;
  }
  return SQLITE_OK;
}

static const sqlite3_module module = {
    .xCreate = connect_table, .xConnect = connect_table, .xBestIndex = best_index,
    .xDisconnect = disconnect_table, .xDestroy = disconnect_table,
    .xOpen = scan_open, .xClose = scan_close, .xFilter = scan_filter, .xNext = scan_next,
    .xEof = scan_eof, .xColumn = scan_column, .xRowid = scan_rowid};

/* ---- Queries ---------------------------------------------------------------------- */

static int put_error(struct export_sql *sql, sqlite3 *db) {
  snprintf(sql->error, sizeof sql->error, "%s", db ? sqlite3_errmsg(db) : "out of memory");
  return -1;
}

static struct export_cell cell_at(sqlite3_stmt *statement, int i) {
  struct export_cell cell = {.type = EXPORT_NULL};
  switch (sqlite3_column_type(statement, i)) {
    case SQLITE_INTEGER:
      cell.type = EXPORT_INTEGER;
      cell.number.i = sqlite3_column_int64(statement, i);
      break;
    case SQLITE_FLOAT:
      cell.type = EXPORT_REAL;
      cell.number.d = sqlite3_column_double(statement, i);
      break;
    case SQLITE_NULL: break;
    default:
      cell.type = EXPORT_STRING;
      cell.text = (const char *)sqlite3_column_text(statement, i);
      cell.size = (size_t)sqlite3_column_bytes(statement, i);
      if (!cell.text) cell.type = EXPORT_NULL;
      break;
  }
  return cell;
}

static int put_rows(struct export_sql *sql, sqlite3 *db, sqlite3_stmt *statement) {
  int count = sqlite3_column_count(statement), result = 0, step;
  struct export_cell *cells = calloc((size_t)count + 1, sizeof *cells);
  const char **names = calloc((size_t)count + 1, sizeof *names);
  if (!cells || !names) result = put_error(sql, NULL);
  for (int i = 0; !result && i < count; i++) names[i] = sqlite3_column_name(statement, i);
  if (!result && count) sql->columns(sql->context, names, count);
  while (!result && (step = sqlite3_step(statement)) != SQLITE_DONE) {
    if (step != SQLITE_ROW) {
      result = put_error(sql, db);
      break;
    }
    for (int i = 0; i < count; i++) cells[i] = cell_at(statement, i);
    result = sql->row(sql->context, cells, count);
  }
  free(cells);
  free(names);
  return result;
}

/* Allows only reading and functions: no files, no settings. */
static int allow(void *context, int action, const char *first, const char *second,
                 const char *database, const char *trigger) {
  (void)context, (void)first, (void)second, (void)database, (void)trigger;
  bool reads = action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_FUNCTION ||
               action == SQLITE_RECURSIVE;
  return reads ? SQLITE_OK : SQLITE_DENY;
}

static int make_tables(struct export_sql *sql, sqlite3 *db) {
  for (int t = 0; t < EXPORT_TABLES; t++) {
    char create[128];
    const char *name = export_table_name((enum export_table)t);
    snprintf(create, sizeof create, "create virtual table temp.%s using eventring", name);
    if (sqlite3_exec(db, create, NULL, NULL, NULL) != SQLITE_OK) return put_error(sql, db);
  }
  return 0;
}

static int run_all(struct export_sql *sql, sqlite3 *db, const char *query) {
  int result = 0;
  while (!result && *query) {
    sqlite3_stmt *statement;
    int prepared = sqlite3_prepare_v2(db, query, -1, &statement, &query);
    if (prepared == SQLITE_ERROR || prepared == SQLITE_AUTH) sql->is_wrong = true;
    if (prepared != SQLITE_OK) return put_error(sql, db);
    if (statement) result = put_rows(sql, db, statement);
    sqlite3_finalize(statement);
  }
  return result;
}

int export_sql(struct export_sql *sql, const char *query) {
  sqlite3 *db = NULL;
  int result = 0;
  sql->error[0] = '\0';
  sql->is_wrong = false;
  export_sqlite_configure();
  if (sqlite3_open_v2(":memory:", &db,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL) !=
          SQLITE_OK ||
      sqlite3_create_module(db, "eventring", &module, sql) != SQLITE_OK)
    result = put_error(sql, db);
  if (!result) result = make_tables(sql, db);
  if (!result) sqlite3_set_authorizer(db, allow, NULL);
  if (!result) result = run_all(sql, db, query);
  sqlite3_close(db);
  return result;
}

#else

bool export_has_sql(void) { return false; }

int export_sql(struct export_sql *sql, const char *query) {
  (void)query;
  snprintf(sql->error, sizeof sql->error,
           "this eventring was built without SQLite (Debian package: libsqlite3-dev)");
  return -1;
}

#endif
