/* SPDX-License-Identifier: MIT */
/* stdlib/walk_report.c: options and results of walks through the objects of a domain. */
#include "walk_report.h"

#include <stdlib.h>

#include "field_names.h"
#include "lauxlib.h"
#include "set_field.h"

enum { DEFAULT_TOP = 10, MOST_TOP = 1000 };

bool walk_options(lua_State *L, const char *const *names, WalkOptions *o) {
  *o = (WalkOptions){.top = DEFAULT_TOP};
  if (lua_isnoneornil(L, 1)) return false;
  luaL_checktype(L, 1, LUA_TTABLE);
  check_field_names(L, 1, "option", names);
  o->top = (uint32_t)option_integer(L, 1, "top", MOST_TOP, DEFAULT_TOP);
  o->limits.objects = (uint64_t)option_integer(L, 1, "objects", UINT32_MAX - 1, 0);
  o->limits.ns = option_seconds(L, 1, "seconds");
  return true;
}

int walk_return_report(lua_State *L, void *report, lua_CFunction push) {
  if (report == NULL) return luaL_error(L, "not enough memory for the walk");
  lua_pushcfunction(L, push);
  lua_pushlightuserdata(L, report);
  const int status = lua_pcall(L, 1, 1, 0);
  free(report);
  return status == LUA_OK ? 1 : lua_error(L);
}

void walk_set_cut_off(lua_State *L, RetainEnd end) {
  static const char *const ends[] = {[RETAIN_COMPLETE] = NULL, [RETAIN_OUT_OF_OBJECTS] = "objects",
                                     [RETAIN_OUT_OF_TIME] = "seconds",
                                     [RETAIN_OUT_OF_MEMORY] = "memory"};
  set_text(L, "cut_off", ends[end]);
}
