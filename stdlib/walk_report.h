/* SPDX-License-Identifier: MIT */
/* stdlib/walk_report.h: what the modules that walk through the objects of a domain
 * (vm/retain.h) and return a table about them have in common: saros.retain,
 * saros.coroutines.
 *
 * A report is malloc'ed, and complete when the walk ends: code that makes tables may
 * raise, or free objects that the walk refers to. */
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
 * `names`: all fields that it may have. Returns false if there is no table, and the
 * options have their defaults. Raises if one is wrong. */
bool walk_options(lua_State *L, const char *const *names, WalkOptions *options);

/* Calls `push` with the report as light userdata, frees the report, and returns the
 * values that `push` has pushed. Raises the errors of `push`, and an error if the report
 * is NULL because there was no memory for it. */
int walk_return_report(lua_State *L, void *report, lua_CFunction push);

/* Sets the field `cut_off` of the table on top of the stack, if the walk reached one of
   its limits. */
void walk_set_cut_off(lua_State *L, RetainEnd end);

#endif
