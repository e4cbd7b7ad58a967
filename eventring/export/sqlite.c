/* SPDX-License-Identifier: MIT */
/* sqlite.c: a database of SQLite, with the tables of tables.def. */
#include "export/database.h"
#include "export/events.h"
#include "export/rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sqlite {
  struct export_run *run;
  struct export_rows *rows;
  struct export_database *database;
  uint64_t count;
};

static int fail(struct sqlite *s, int error) {
  if (!s->run->error[0])
    snprintf(s->run->error, sizeof s->run->error, "cannot write %.300s: %.100s", s->run->path,
             strerror(error));
  return 1;
}

static int put_row(void *context, enum export_table table, const struct export_cell *cells) {
  enum { SHOWN = 4096 };
  struct sqlite *s = context;
  const int error = export_database_row(s->database, table, cells);
  if (error) return fail(s, error);
  if (++s->count % SHOWN) return 0;
  s->run->progress(s->run->progress_context);
  return s->run->error[0] != '\0';
}

static void *begin(struct export_run *run) {
  struct sqlite *s = calloc(1, sizeof *s);
  if (!s) return NULL;
  s->run = run;
  s->rows = export_rows_new(run->cursor, UINT32_MAX, run->until_ns, put_row, s);
  s->database = s->rows ? export_database_open(run->path) : NULL;
  if (s->database) return s;
  if (s->rows) fail(s, errno);
  export_rows_free(s->rows);
  free(s);
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
  if (!run->error[0] && export_rows_end(s->rows) == 0) export_database_end(s->database);
  const int error = export_database_close(s->database);
  if (error) fail(s, error);
  const bool failed = export_rows_failed(s->rows);
  export_rows_free(s->rows);
  free(s);
  return run->error[0] || failed ? -1 : 0;
}

const struct export_events export_events_sqlite = {
    .own_file = true, .merged = true, .begin = begin, .event = on_event, .lost = on_lost,
    .open = on_open, .finish = finish};
