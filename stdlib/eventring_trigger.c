/* SPDX-License-Identifier: MIT */
/* stdlib/eventring_trigger.c: triggers of the guest. libeventring evaluates them. */
#include "eventring_trigger.h"

#include <stdio.h>
#include <string.h>

#include "domain.h"
#include "eventring/conditions.h"
#include "field_names.h"
#include "lauxlib.h"
#include "probes.h"
#include "set_field.h"
#include "thread.h"

/* ---- The text of a trigger -------------------------------------------------------- */

/* Pushes a field of the table at 1 and returns true; pushes nothing and returns false if
   the field is nil. */
static bool push_field(lua_State *L, const char *name, int type, const char *type_name) {
  int found = lua_getfield(L, 1, name);
  if (found == type) return true;
  if (found != LUA_TNIL)
    luaL_argerror(L, 1, lua_pushfstring(L, "field '%s' is not a %s", name, type_name));
  lua_pop(L, 1);
  return false;
}

/* Pushes a number as the language of triggers has it: digits with decimals. */
static void push_number(lua_State *L, const char *name, const char *unit) {
  char text[64] = "";
  if (push_field(L, name, LUA_TNUMBER, "number")) {
    snprintf(text, sizeof text, ", %s=%.*f%s", name, unit[0] != '\0' ? 9 : 0, lua_tonumber(L, -1),
             unit);
    for (char *at = text + 1; *at != '\0'; at++)
      if (*at == ',') *at = '.'; /* the locale's decimal separator */
    lua_pop(L, 1);
  }
  lua_pushstring(L, text);
}

/* Pushes the directory in quotes, so that it may contain commas. */
static void push_directory(lua_State *L) {
  if (!push_field(L, "dir", LUA_TSTRING, "string")) {
    lua_pushliteral(L, "");
    return;
  }
  luaL_gsub(L, lua_tostring(L, -1), "\\", "\\\\");
  luaL_gsub(L, lua_tostring(L, -1), "\"", "\\\"");
  lua_pushfstring(L, ", dir=\"%s\"", lua_tostring(L, -1));
  lua_insert(L, -4);
  lua_pop(L, 3);
}

/* Pushes the text of the trigger that the table at 1 describes. */
static void push_text(lua_State *L) {
  static const char *const options[] = {"on", "dir", "cooldown", "max", "size", NULL};
  luaL_checktype(L, 1, LUA_TTABLE);
  check_field_names(L, 1, "option", options);
  if (!push_field(L, "on", LUA_TSTRING, "string")) luaL_argerror(L, 1, "no field 'on'");
  push_directory(L);
  push_number(L, "cooldown", "s");
  push_number(L, "max", "");
  push_number(L, "size", "");
  lua_concat(L, 5);
}

/* ---- Functions -------------------------------------------------------------------- */

static int push_failure(lua_State *L, const struct eventring_error *error) {
  luaL_pushfail(L);
  lua_pushstring(L, error->text);
  return 2;
}

/* Implements eventring.trigger(text | {on = condition, dir = path, cooldown = seconds,
 * max = n, size = bytes}) -> number of the trigger, or nil and a message if there are too
 * many, or if nothing can be recorded. Raises if the text is wrong. Starts the recording
 * if there is none. */
static int set_trigger(lua_State *L) {
  struct eventring_error error;
  size_t size;
  lua_settop(L, 1);
  if (lua_type(L, 1) == LUA_TSTRING) lua_pushvalue(L, 1);
  else push_text(L);
  const char *text = lua_tolstring(L, -1, &size);
  int count = eventring_triggers_check(text, size, &error);
  if (count < 0) luaL_argerror(L, 1, error.text);
  if (count != 1) luaL_argerror(L, 1, "this is not one trigger");
  if (eventring_state() == EVENTRING_STOPPED) {
    if (probes_start(NULL, &error) != 0) return push_failure(L, &error);
    eventring_domain_check(L->domain->rings);
  }
  int number = eventring_trigger_set(text, size, &error);
  if (number < 0) return push_failure(L, &error);
  lua_pushinteger(L, number);
  return 1;
}

/* Implements eventring.untrigger(number) -> whether there was a trigger with this
   number. */
static int remove_trigger(lua_State *L) {
  lua_Integer number = luaL_checkinteger(L, 1);
  bool valid = number > 0 && number <= INT32_MAX;
  lua_pushboolean(L, valid && eventring_trigger_remove((int)number) == EVENTRING_OK);
  return 1;
}

static void push_trigger(lua_State *L, const struct eventring_trigger *t) {
  static const char *const owners[] = {[EVENTRING_BY_PROGRAM] = "program",
                                       [EVENTRING_BY_CONFIG] = "config",
                                       [EVENTRING_BY_CONTROL] = "control"};
  char text[512];
  eventring_condition_text(&t->condition, text, sizeof text);
  lua_createtable(L, 0, 12);
  set_text(L, "on", text);
  set_text(L, "by", owners[t->owner]);
  if (t->directory[0] != '\0') set_text(L, "dir", t->directory);
  set_number(L, "cooldown", (lua_Number)t->cooldown_ns / 1e9);
  set_integer(L, "number", t->number);
  set_integer(L, "max", t->most);
  set_integer(L, "size", t->most_bytes);
  set_integer(L, "fired", t->fired);
  set_integer(L, "saved", t->saved);
  set_integer(L, "bytes", t->bytes);
  set_integer(L, "skipped", t->skipped);
  set_integer(L, "failed", t->failed);
}

/* Implements eventring.triggers([seconds]) -> list of the triggers that are set, each a
 * table: number, on, by, dir, cooldown, max, size; fired, saved, bytes, skipped, failed.
 * Waits for copies that are being made, for at most this many seconds. */
static int list_triggers(lua_State *L) {
  struct eventring_trigger trigger;
  lua_Number seconds = luaL_optnumber(L, 1, 0);
  if (seconds > 0) eventring_triggers_wait((uint64_t)((seconds < 3600 ? seconds : 3600) * 1e9));
  lua_newtable(L);
  for (unsigned i = 0; eventring_trigger_at(i, &trigger) == EVENTRING_OK; i++) {
    push_trigger(L, &trigger);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

static const luaL_Reg functions[] = {{"trigger", set_trigger}, {"untrigger", remove_trigger},
                                     {"triggers", list_triggers}, {NULL, NULL}};

void eventring_add_triggers(lua_State *L) { luaL_setfuncs(L, functions, 0); }
