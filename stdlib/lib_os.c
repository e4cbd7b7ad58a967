/* SPDX-License-Identifier: MIT */
/* stdlib/lib_os.c: the os library.
 *
 * The locale and the environment belong to the process: os.setlocale in one domain
 * changes the locale for all, and must not be used while other domains run.
 */
#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "arguments.h"
#include "char_class.h"
#include "gc.h"
#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"
#include "memprof.h"
#include "peer.h"
#include "probes.h"
#include "thread.h"

#define BASE_YEAR 1900 /* the year 0 of struct tm */

/* Room for the result of one conversion of strftime. */
#define DATE_ITEM_MAX 250

/* ---- processes and files ------------------------------------------------- */

static int run_command(Domain *d, const char *command) {
  PROBE_BEGIN_TEXT(d, EXECUTE, command, strlen(command));
  int status = system(command);
  PROBE_END(d, EXECUTE);
  return status;
}

static int os_execute(lua_State *L) {
  const char *command = luaL_optstring(L, 1, NULL);
  errno = 0;
  if (command != NULL) return luaL_execresult(L, run_command(L->domain, command));
  lua_pushboolean(L, system(NULL)); /* pushes whether there is a shell */
  return 1;
}

static int os_exit(lua_State *L) {
  int status;
  if (lua_isboolean(L, 1))
    status = lua_toboolean(L, 1) ? EXIT_SUCCESS : EXIT_FAILURE;
  else
    status = (int)luaL_optinteger(L, 1, EXIT_SUCCESS);
  if (lua_toboolean(L, 2)) {
    peer_begin_end(true);
    lua_close(L);
  } else {
    gc_leave_finalizers(L->domain);
    if (L->domain->hooks.profile_end != NULL) L->domain->hooks.profile_end(L->domain);
    memprof_leave(L->domain);
    gc_record_asked(L->domain);
  }
  peer_end_all(true);
  exit(status);
}

static int os_getenv(lua_State *L) {
  size_t length;
  const char *value = getenv(argument_string(L, 1, &length));
  return value != NULL ? result_string(L, value, strlen(value)) : result_nil(L);
}

static int os_remove(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  errno = 0;
  return luaL_fileresult(L, remove(name) == 0, name);
}

static int os_rename(lua_State *L) {
  const char *from = luaL_checkstring(L, 1), *to = luaL_checkstring(L, 2);
  errno = 0;
  return luaL_fileresult(L, rename(from, to) == 0, NULL);
}

/* Implements os.tmpname. The file is created, so that no other process gets the name. */
static int os_tmpname(lua_State *L) {
  char name[] = "/tmp/lua_XXXXXX";
  int file = mkstemp(name);
  if (file == -1) return luaL_error(L, "unable to generate a unique filename");
  close(file);
  lua_pushstring(L, name);
  return 1;
}

static int os_setlocale(lua_State *L) {
  static const int categories[] = {LC_ALL,      LC_COLLATE, LC_CTYPE,
                                   LC_MONETARY, LC_NUMERIC, LC_TIME};
  static const char *const names[] = {"all",      "collate", "ctype",
                                      "monetary", "numeric", "time", NULL};
  const char *locale = luaL_optstring(L, 1, NULL);
  int category = luaL_checkoption(L, 2, "all", names);
  const char *result = setlocale(categories[category], locale);
  lua_pushstring(L, result);
  if (locale != NULL && result != NULL) char_classes_refresh();
  return 1;
}

/* ---- clocks -------------------------------------------------------------- */

static int os_clock(lua_State *L) {
  lua_pushnumber(L, (lua_Number)clock() / (lua_Number)CLOCKS_PER_SEC);
  return 1;
}

static time_t check_time(lua_State *L, int arg) { return (time_t)luaL_checkinteger(L, arg); }

static int os_difftime(lua_State *L) {
  time_t later = check_time(L, 1);
  lua_pushnumber(L, difftime(later, check_time(L, 2)));
  return 1;
}

/* ---- dates as tables ----------------------------------------------------- */

static void set_field(lua_State *L, Name name, lua_Integer value) {
  api_push_string(L, L->domain->names[name]);
  lua_pushinteger(L, value);
  lua_settable(L, -3);
}

/* Sets the fields of the table on top of the stack. */
static void set_date_fields(lua_State *L, const struct tm *date) {
  set_field(L, NAME_YEAR, (lua_Integer)date->tm_year + BASE_YEAR);
  set_field(L, NAME_MONTH, (lua_Integer)date->tm_mon + 1);
  set_field(L, NAME_DAY, date->tm_mday);
  set_field(L, NAME_HOUR, date->tm_hour);
  set_field(L, NAME_MIN, date->tm_min);
  set_field(L, NAME_SEC, date->tm_sec);
  set_field(L, NAME_YDAY, (lua_Integer)date->tm_yday + 1);
  set_field(L, NAME_WDAY, (lua_Integer)date->tm_wday + 1);
  if (date->tm_isdst < 0) return; /* not known */
  api_push_string(L, L->domain->names[NAME_ISDST]);
  lua_pushboolean(L, date->tm_isdst);
  lua_settable(L, -3);
}

#define REQUIRED (-1)

/* Returns a field of the table on top of the stack, less `base`, as struct tm has it. If
   the field is absent, returns `otherwise`, or raises if `otherwise` is REQUIRED. */
static int get_date_field(lua_State *L, Name which, int otherwise, int base) {
  const char *name = L->domain->names[which]->data;
  int is_integer;
  api_push_string(L, L->domain->names[which]);
  int type = lua_gettable(L, -2);
  lua_Integer value = lua_tointegerx(L, -1, &is_integer);
  lua_pop(L, 1);
  if (!is_integer) {
    if (type != LUA_TNIL) return luaL_error(L, "field '%s' is not an integer", name);
    if (otherwise == REQUIRED) return luaL_error(L, "field '%s' missing in date table", name);
    return otherwise;
  }
  bool fits = value >= 0 ? value - base <= INT_MAX : value >= (lua_Integer)INT_MIN + base;
  if (!fits) return luaL_error(L, "field '%s' is out-of-bound", name);
  return (int)(value - base);
}

/* Returns 1 or 0, or -1 if the field is absent. */
static int get_daylight_field(lua_State *L) {
  api_push_string(L, L->domain->names[NAME_ISDST]);
  int daylight = lua_gettable(L, -2) == LUA_TNIL ? -1 : lua_toboolean(L, -1);
  lua_pop(L, 1);
  return daylight;
}

/* Reads the table at 1, and sets its fields to their normal values. */
static time_t time_of_table(lua_State *L) {
  struct tm date = {0};
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  date.tm_year = get_date_field(L, NAME_YEAR, REQUIRED, BASE_YEAR);
  date.tm_mon = get_date_field(L, NAME_MONTH, REQUIRED, 1);
  date.tm_mday = get_date_field(L, NAME_DAY, REQUIRED, 0);
  date.tm_hour = get_date_field(L, NAME_HOUR, 12, 0);
  date.tm_min = get_date_field(L, NAME_MIN, 0, 0);
  date.tm_sec = get_date_field(L, NAME_SEC, 0, 0);
  date.tm_isdst = get_daylight_field(L);
  time_t result = mktime(&date);
  set_date_fields(L, &date);
  return result;
}

static int os_time(lua_State *L) {
  time_t result = lua_isnoneornil(L, 1) ? time(NULL) : time_of_table(L);
  if (result == (time_t)-1)
    return luaL_error(L, "time result cannot be represented in this installation");
  lua_pushinteger(L, (lua_Integer)result);
  return 1;
}

/* ---- dates as text ------------------------------------------------------- */

/* Returns the length of the conversion behind a '%', or 0 if strftime does not have
   it. */
static int conversion_length(const char *p) {
  static const char plain[] = "aAbBcCdDeFgGhHIjmMnprRStTuUVwWxXyYzZ%";
  static const char with_e[] = "cCxXyY", with_o[] = "deHImMSuUVwWy";
  if (*p == '\0') return 0;
  if (*p == 'E' || *p == 'O')
    return p[1] != '\0' && strchr(*p == 'E' ? with_e : with_o, p[1]) != NULL ? 2 : 0;
  return strchr(plain, *p) != NULL ? 1 : 0;
}

/* Adds the conversion at `p`, a '%'. Returns where the text behind it begins. */
static const char *add_conversion(lua_State *L, luaL_Buffer *b, const char *p,
                                  const struct tm *date) {
  char conversion[4] = "%";
  int length = conversion_length(p + 1);
  if (length == 0) {
    luaL_argerror(L, 1, lua_pushfstring(L, "invalid conversion specifier '%s'", p));
    return p;
  }
  memcpy(conversion + 1, p + 1, (size_t)length);
  luaL_addsize(b, strftime(luaL_prepbuffsize(b, DATE_ITEM_MAX), DATE_ITEM_MAX, conversion, date));
  return p + 1 + length;
}

static void push_date_text(lua_State *L, const char *format, const char *end,
                           const struct tm *date) {
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (const char *p = format; p < end;) {
    if (*p == '%')
      p = add_conversion(L, &b, p, date);
    else
      luaL_addchar(&b, *p++);
  }
  luaL_pushresult(&b);
}

static int os_date(lua_State *L) {
  size_t length;
  const char *format = luaL_optlstring(L, 1, "%c", &length), *end = format + length;
  time_t when = lua_isnoneornil(L, 2) ? time(NULL) : check_time(L, 2);
  bool utc = *format == '!';
  struct tm date;
  format += utc;
  if ((utc ? gmtime_r(&when, &date) : localtime_r(&when, &date)) == NULL)
    return luaL_error(L, "date result cannot be represented in this installation");
  if (strcmp(format, "*t") == 0) {
    lua_createtable(L, 0, 9);
    set_date_fields(L, &date);
  } else {
    push_date_text(L, format, end, &date);
  }
  return 1;
}

static const luaL_Reg functions[] = {
    {"clock", os_clock},     {"date", os_date},     {"difftime", os_difftime},
    {"execute", os_execute}, {"exit", os_exit},     {"getenv", os_getenv},
    {"remove", os_remove},   {"rename", os_rename}, {"setlocale", os_setlocale},
    {"time", os_time},       {"tmpname", os_tmpname}, {NULL, NULL},
};

int luaopen_os(lua_State *L) {
  luaL_newlib(L, functions);
  return 1;
}
