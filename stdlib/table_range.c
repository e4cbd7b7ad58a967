/* SPDX-License-Identifier: MIT */
/* stdlib/table_range.c: see table_range.h. It is separate from lib_table.c, whose
 * functions have names that the runtime uses, too. */
#include "api.h"
#include "table_range.h"

bool table_copy_range(lua_State *L, int source, lua_Integer first, int target, lua_Integer to,
                      lua_Integer n) {
  return table_copy_slots(L, api_table(L, source), first, api_table(L, target), to, n);
}
