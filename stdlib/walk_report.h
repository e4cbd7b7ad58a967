/* SPDX-License-Identifier: MIT */
/* stdlib/walk_report.h: the common part of the modules saros.retain and saros.coroutines,
 * which walk through the objects of a domain (vm/retain.h) and return a table about them.
 *
 * A report is malloc'ed, and must be complete when the walk ends: the code that makes
 * tables afterwards may raise, or free objects that the walk refers to. */
#ifndef SAROS_STDLIB_WALK_REPORT_H
#define SAROS_STDLIB_WALK_REPORT_H

#include <stdbool.h>

#include "lua.h"
#include "retain.h"

typedef struct WalkOptions {
  RetainLimits limits;
  uint32_t top;
} WalkOptions;

/* Reads the options `top`, `objects` and `seconds` of the table that is argument 1;
 * `names` lists all fields that the table may have. Sets defaults and returns false if
 * there is no table. Raises if an option is wrong. */
bool walk_options(lua_State *L, const char *const *names, WalkOptions *options);

/* Calls `push` with the report as light userdata, frees the report, and returns the
 * values that `push` has pushed. Raises the errors of `push`, and an error if the report
 * is NULL because there was no memory for it. */
int walk_return_report(lua_State *L, void *report, lua_CFunction push);

/* Sets the field `cut_off` of the table on top of the stack, if the walk reached one of
   its limits. */
void walk_set_cut_off(lua_State *L, RetainEnd end);

#endif
