/* SPDX-License-Identifier: MIT */
/* stdlib/table_range.h: elements of tables that move together. */
#ifndef SAROS_STDLIB_TABLE_RANGE_H
#define SAROS_STDLIB_TABLE_RANGE_H

#include <stdbool.h>

#include "lua.h"

#define RANGE_PIECE 8192 /* the most elements that are moved between two safepoints */

/* Copies n elements of the table at stack index `source`, from `first` on, to `to` and on
 * in the table at `target`. The ranges may overlap. Both are plain tables
 * (table_access.h). Returns false, having done nothing, if a range is not all in the
 * array part. */
bool table_copy_range(lua_State *L, int source, lua_Integer first, int target, lua_Integer to,
                      lua_Integer n);

#endif
