/* SPDX-License-Identifier: MIT */
/* grouped.h: rows of a table, kept and given back by groups that have the same texts. */
#ifndef EVENTRING_EXPORT_GROUPED_H
#define EVENTRING_EXPORT_GROUPED_H

#include "export/rows.h"

struct export_grouped;

/* Prepares for keeping rows of which the columns `used` (bits) are needed. `keys`:
   columns of texts, whose values make the group of a row; the first column counts most.
   Returns NULL when out of memory. */
struct export_grouped *export_grouped_new(uint32_t used, const uint8_t *keys, int key_count);
/* Keeps a row. Returns 0, or the code of an error: memory, or the temporary file. */
int export_grouped_add(struct export_grouped *g, const struct export_cell *cells);
/* Puts the groups in the order of their texts, byte by byte; NULL comes first. To be
   called after the last row was added. Returns what export_grouped_add does. */
int export_grouped_end(struct export_grouped *g);
/* Returns the next row, or NULL after the last one or with a code in *error. The rows of
   a group come in the order in which they were added; *number counts all rows in that
   order, from 0 on. Cells are valid until the next call. */
const struct export_cell *export_grouped_next(struct export_grouped *g, int64_t *number,
                                              int *error);
void export_grouped_free(struct export_grouped *g);

#endif
