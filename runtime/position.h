/* SPDX-License-Identifier: MIT */
/* runtime/position.h: the line and column of source text, in one word.
 *
 * A prototype has one word for each word of its code (Prototype.positions): as many as a
 * line alone would take. Lines count from 1 to 2^31 - 1; columns count bytes from 1, and
 * 0 means unknown. The two highest bits say how the other bits are divided:
 *
 *   0x  31 bits: line; the column is unknown
 *   10  20 bits: line, 10 bits: column
 *   11  11 bits: line, 19 bits: column (sources of a few, very long lines)
 *
 * The line is always kept. A column that fits into no form is unknown.
 */
#ifndef SAROS_RUNTIME_POSITION_H
#define SAROS_RUNTIME_POSITION_H

#include <stdint.h>

#include "object.h"

typedef uint32_t Position;

enum { POSITION_LINES = 20, POSITION_COLUMNS = 10, POSITION_WIDE_COLUMNS = 19 };

ALWAYS_INLINE uint32_t position_line(Position p) {
  if (!(p & 1u << 31)) return p;
  return (p & 0x3fffffffu) >> (p & 1u << 30 ? POSITION_WIDE_COLUMNS : POSITION_COLUMNS);
}

ALWAYS_INLINE uint32_t position_column(Position p) {
  if (!(p & 1u << 31)) return 0;
  return p & ((1u << (p & 1u << 30 ? POSITION_WIDE_COLUMNS : POSITION_COLUMNS)) - 1);
}

/* Makes the position of a line, at most INT32_MAX, and a column. */
ALWAYS_INLINE Position position_make(uint32_t line, uint64_t column) {
  if (line < 1u << POSITION_LINES && column - 1 < (1u << POSITION_COLUMNS) - 1)
    return 2u << 30 | line << POSITION_COLUMNS | (uint32_t)column;
  if (line < 1u << (30 - POSITION_WIDE_COLUMNS) && column - 1 < (1u << POSITION_WIDE_COLUMNS) - 1)
    return 3u << 30 | line << POSITION_WIDE_COLUMNS | (uint32_t)column;
  return line;
}

#endif
