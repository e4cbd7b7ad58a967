/* SPDX-License-Identifier: MIT */
/* kept_rows.c: rows of a table that are kept until SQLite reads them. */
#include "export/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_SQLITE
#include "export/kept_rows.h"

static bool grow(void **memory, size_t *room, size_t needed, size_t size) {
  if (needed <= *room) return true;
  size_t more = 2 * needed + 64;
  void *grown = realloc(*memory, more * size);
  if (!grown) return false;
  *memory = grown;
  *room = more;
  return true;
}

bool export_keep_row(struct export_kept *kept, const struct export_cell *cells, int columns,
                     uint32_t used) {
  if (!grow((void **)&kept->cells, &kept->cell_room, kept->cell_count + (size_t)columns,
            sizeof *cells))
    return false;
  struct export_cell *row = &kept->cells[kept->cell_count];
  kept->cell_count += (size_t)columns;
  for (uint32_t left = used; left; left &= left - 1) {
    const int i = __builtin_ctz(left);
    struct export_cell *to = &row[i];
    *to = cells[i];
    if (to->type != EXPORT_STRING) continue;
    if (!grow((void **)&kept->text, &kept->text_room, kept->text_size + to->size + 1, 1))
      return false;
    memcpy(kept->text + kept->text_size, to->text, to->size);
    to->text = NULL; /* texts move when the memory grows */
    to->number.i = (int64_t)kept->text_size;
    kept->text_size += to->size;
  }
  return true;
}

void export_kept_clear(struct export_kept *kept) { kept->cell_count = kept->text_size = 0; }

void export_kept_free(struct export_kept *kept) {
  free(kept->cells);
  free(kept->text);
  *kept = (struct export_kept){0};
}

struct export_cell export_kept_cell(const struct export_kept *kept, size_t at) {
  struct export_cell cell = kept->cells[at];
  if (cell.type == EXPORT_STRING) cell.text = kept->text + cell.number.i;
  return cell;
}

void export_cell_result(const struct export_cell *cell, sqlite3_context *to,
                        sqlite3_destructor_type texts) {
  switch (cell->type) {
    case EXPORT_INTEGER: sqlite3_result_int64(to, cell->number.i); break;
    case EXPORT_REAL: sqlite3_result_double(to, cell->number.d); break;
    case EXPORT_STRING: sqlite3_result_text(to, cell->text, (int)cell->size, texts); break;
    default: sqlite3_result_null(to); break;
  }
}

void export_column_list(char to[EXPORT_COLUMN_LIST], enum export_table table) {
  int count;
  size_t used = 0;
  const struct export_column *column = export_table_columns(table, &count);
  for (int i = 0; i < count; i++)
    used += (size_t)snprintf(to + used, EXPORT_COLUMN_LIST - used, "%s\"%s\" %s",
                             i ? ", " : "", column[i].name,
                             strcmp(column[i].type, "ANY") == 0 ? "" : column[i].type);
}

#endif
