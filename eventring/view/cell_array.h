/* SPDX-License-Identifier: MIT */
/* cell_array.h: rows of cells (intervals of time, grid.h): an array, in the order of the
 * cells, of structs with a member `cell`.
 *
 * Errors: NULL, without memory. Threads: one at a time for an array.
 */
#ifndef EVENTRING_VIEW_CELL_ARRAY_H
#define EVENTRING_VIEW_CELL_ARRAY_H

#include <string.h>

#include "format/array.h"

/* Returns the row of a cell. If there is none, makes and zeroes it, which changes `rows`,
   `count` and `room`. The row is mostly the last one, or a new one behind it. */
#define PAGE_ROW_OF(rows, count, room, wanted)                                        \
  __extension__({                                                                     \
    size_t low = 0, high = (count);                                                   \
    if (high && (rows)[high - 1].cell <= (wanted))                                    \
      low = high -= (rows)[high - 1].cell == (wanted);                                \
    while (low < high) {                                                              \
      const size_t middle = (low + high) / 2;                                         \
      if ((rows)[middle].cell < (wanted)) low = middle + 1;                           \
      else high = middle;                                                             \
    }                                                                                 \
    const bool is_there = low < (count) && (rows)[low].cell == (wanted);              \
    const bool has_room = is_there || EVR_MAKE_ROOM(rows, room, count, 4);            \
    if (!is_there && has_room) {                                                      \
      memmove(&(rows)[low + 1], &(rows)[low], ((count) - low) * sizeof *(rows));      \
      (rows)[low] = (__typeof__(*(rows))){.cell = (wanted)};                          \
      (count)++;                                                                      \
    }                                                                                 \
    has_room ? &(rows)[low] : NULL;                                                   \
  })

/* Joins rows when cells become twice as long: where two rows get the same cell, the
   statement `add` adds *from to *into. */
#define PAGE_JOIN_ROWS(rows, count, add)                                              \
  do {                                                                                \
    size_t kept = 0;                                                                  \
    for (size_t i = 0; i < (count); i++) {                                            \
      __typeof__(*(rows)) *from = &(rows)[i], *into = kept ? &(rows)[kept - 1] : NULL; \
      from->cell /= 2;                                                                \
      if (into && into->cell == from->cell) { add; }                                  \
      else (rows)[kept++] = *from;                                                    \
    }                                                                                 \
    (count) = kept;                                                                   \
  } while (0)

#endif
