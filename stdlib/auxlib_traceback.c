/* SPDX-License-Identifier: MIT */
/* auxlib_traceback.c - tracebacks, positions, and errors that name a function.
 *
 * A function has no name of its own. Its name in a message comes from one of two sources:
 * the loaded modules, when one of their fields is the function ("string.rep"), or the
 * instruction that called it, as lua_getinfo reports.
 *
 * luaL_traceback must work on a thread in any state, also when its stack is
 * nearly full: it uses the stack of the calling thread.
 */
#define LUA_LIB

#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#include "arguments.h"
#include "domain.h"
#include "lauxlib.h"
#include "lua.h"
#include "own_modules.h"
#include "table.h"
#include "thread.h"

/* ------------------------------------------------- names of functions -- */

/* Looks for a function among the named fields of a table, and of the tables in these
 * fields, in the order of next. Returns the name of the field in t, or NULL. If the
 * function is in an inner table, sets *inner to its name there, otherwise to NULL. */
static const String *find_field(lua_State *L, Table *t, const TValue *wanted,
                                const String **inner) {
  TValue key, value;
  uint32_t position = 0;
  while ((position = table_iterate(L->domain, t, position, &key, &value)) != 0) {
    if (!is_string(&key))
      continue;
    if (value.tag == wanted->tag && value.v.p == wanted->v.p) {
      if (inner != NULL)
        *inner = NULL;
      return as_string(&key);
    }
    if (inner != NULL && is_table(&value)) {
      *inner = find_field(L, as_table(&value), wanted, NULL);
      if (*inner != NULL)
        return as_string(&key);
    }
  }
  return NULL;
}

/* Pushes on L the function of `ar`, a frame of L1. Returns 0, and pushes nothing, if the
 * stack of L1 has no room for it. */
static int push_function_of(lua_State *L, lua_State *L1, lua_Debug *ar) {
  if (!lua_checkstack(L1, 1))
    return 0;
  lua_getinfo(L1, "f", ar);
  lua_xmove(L1, L, 1);
  return 1;
}

/* Returns a name without the prefixes that messages leave out: "_G." of globals, and
 * "saros." of this program's modules (these have two names, and messages show one). */
static const char *shown_name(const char *name) {
  static const char *const prefixes[] = {LUA_GNAME ".", OWN_MODULES_PREFIX};
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
    size_t length = strlen(prefixes[i]);
    if (strncmp(name, prefixes[i], length) == 0)
      return name + length;
  }
  return name;
}

/* Pushes on L the name under which the function of `ar`, a frame of L1, can be reached
 * from the loaded modules, as it is shown. Pushes nothing and returns 0 if there is
 * none. */
static int push_module_name(lua_State *L, lua_State *L1, lua_Debug *ar) {
  luaL_checkstack(L, 3, "not enough stack");
  if (!push_function_of(L, L1, ar))
    return 0;
  const TValue *loaded =
      table_get_str(as_table(&L->domain->registry), L->domain->names[NAME_LOADED]);
  const String *field, *inner;
  field = is_table(loaded) ? find_field(L, as_table(loaded), L->top - 1, &inner) : NULL;
  if (field == NULL) {
    lua_pop(L, 1);
    return 0;
  }
  const char *name = inner == NULL ? lua_pushstring(L, field->data)
                                   : lua_pushfstring(L, "%s.%s", field->data, inner->data);
  lua_pushstring(L, shown_name(name));
  lua_replace(L, -3); /* the function */
  lua_pop(L, 1);
  return 1;
}

/* Pushes on L what a traceback calls the function of `ar`, a frame of L1. */
static void push_description(lua_State *L, lua_State *L1, lua_Debug *ar) {
  if (push_module_name(L, L1, ar)) {
    lua_pushfstring(L, "function '%s'", lua_tostring(L, -1));
    lua_remove(L, -2);
  } else if (ar->namewhat[0] != '\0') {
    lua_pushfstring(L, "%s '%s'", ar->namewhat, ar->name);
  } else if (ar->what[0] == 'm') {
    lua_pushliteral(L, "main chunk");
  } else if (ar->what[0] != 'C') {
    lua_pushfstring(L, "function <%s:%d>", ar->short_src, ar->linedefined);
  } else {
    lua_pushliteral(L, "?");
  }
}

/* ------------------------------------------------------------ traceback -- */

/* A long traceback shows this number of levels at either end. */
enum { FIRST_LEVELS = 10, LAST_LEVELS = 11 };

/* Returns the number of the outermost level: doubles a bound, then halves the gap. */
static int last_level(lua_State *L) {
  lua_Debug ar;
  int present = 0, absent = 1;
  while (lua_getstack(L, absent, &ar)) {
    present = absent;
    absent *= 2;
  }
  while (present < absent - 1) {
    int middle = present + (absent - present) / 2;
    if (lua_getstack(L, middle, &ar))
      present = middle;
    else
      absent = middle;
  }
  return present;
}

static void add_level(luaL_Buffer *B, lua_State *L1, lua_Debug *ar) {
  lua_State *L = B->L;
  lua_getinfo(L1, "Slnt", ar);
  if (ar->currentline > 0)
    lua_pushfstring(L, "\n\t%s:%d: in ", ar->short_src, ar->currentline);
  else
    lua_pushfstring(L, "\n\t%s: in ", ar->short_src);
  luaL_addvalue(B);
  push_description(L, L1, ar);
  luaL_addvalue(B);
  if (ar->istailcall)
    luaL_addstring(B, "\n\t(...tail calls...)");
}

static void add_gap(luaL_Buffer *B, int skipped) {
  lua_pushfstring(B->L, "\n\t...\t(skipping %d levels)", skipped);
  luaL_addvalue(B);
}

void luaL_traceback(lua_State *L, lua_State *L1, const char *msg, int level) {
  lua_Debug ar;
  luaL_Buffer B;
  int last = last_level(L1);
  int is_long = last - level > FIRST_LEVELS + LAST_LEVELS;
  int gap_at = is_long ? level + FIRST_LEVELS : -1;
  luaL_buffinit(L, &B);
  if (msg != NULL) {
    luaL_addstring(&B, msg);
    luaL_addchar(&B, '\n');
  }
  luaL_addstring(&B, "stack traceback:");
  for (; lua_getstack(L1, level, &ar); level++) {
    if (level == gap_at) {
      int resume_at = last - LAST_LEVELS + 1;
      /* counts as Lua does: without the level that the line of the gap replaces */
      add_gap(&B, resume_at - level - 1);
      level = resume_at - 1;
    } else {
      add_level(&B, L1, &ar);
    }
  }
  luaL_pushresult(&B);
}

/* ------------------------------------------------ errors with positions -- */

void luaL_where(lua_State *L, int lvl) {
  lua_Debug ar;
  if (lua_getstack(L, lvl, &ar)) {
    lua_getinfo(L, "Sl", &ar);
    if (ar.currentline > 0) {
      lua_pushfstring(L, "%s:%d: ", ar.short_src, ar.currentline);
      return;
    }
  }
  lua_pushliteral(L, "");
}

int luaL_error(lua_State *L, const char *fmt, ...) {
  va_list arguments;
  luaL_where(L, 1);
  va_start(arguments, fmt);
  lua_pushvfstring(L, fmt, arguments);
  va_end(arguments);
  lua_concat(L, 2);
  return lua_error(L);
}

/* Returns the name that a message about an argument has for the running function. */
static const char *name_for_argument(lua_State *L, lua_Debug *ar) {
  if (ar->name != NULL)
    return ar->name;
  return push_module_name(L, L, ar) ? lua_tostring(L, -1) : "?";
}

int luaL_argerror(lua_State *L, int arg, const char *extramsg) {
  lua_Debug ar;
  if (!lua_getstack(L, 0, &ar))
    return luaL_error(L, "bad argument #%d (%s)", arg, extramsg);
  lua_getinfo(L, "n", &ar);
  if (strcmp(ar.namewhat, "method") == 0) {
    arg--; /* the caller did not write `self` */
    if (arg == 0)
      return luaL_error(L, "calling '%s' on bad self (%s)", ar.name,
                        extramsg);
  }
  return luaL_error(L, "bad argument #%d to '%s' (%s)", arg,
                    name_for_argument(L, &ar), extramsg);
}

int luaL_typeerror(lua_State *L, int arg, const char *tname) {
  const char *actual;
  if (luaL_getmetafield(L, arg, "__name") == LUA_TSTRING)
    actual = lua_tostring(L, -1);
  else if (lua_type(L, arg) == LUA_TLIGHTUSERDATA)
    actual = "light userdata";
  else
    actual = luaL_typename(L, arg);
  return luaL_argerror(
      L, arg, lua_pushfstring(L, "%s expected, got %s", tname, actual));
}

/* ------------------------------------------------ results of C functions -- */

int luaL_fileresult(lua_State *L, int stat, const char *fname) {
  int code = errno; /* read before any call of the API changes it */
  if (stat) {
    lua_pushboolean(L, 1);
    return 1;
  }
  const char *reason = code != 0 ? strerror(code) : "(no extra info)";
  luaL_pushfail(L);
  if (fname != NULL)
    lua_pushfstring(L, "%s: %s", fname, reason);
  else
    lua_pushstring(L, reason);
  lua_pushinteger(L, code);
  return 3;
}

/* Pushes the results for a process that has ended. `stat` is the result of system or
 * pclose; -1 with errno set means that these functions failed themselves. */
int luaL_execresult(lua_State *L, int stat) {
  const char *what = "exit";
  if (stat == -1 && errno != 0)
    return luaL_fileresult(L, 0, NULL);
  if (WIFEXITED(stat)) {
    stat = WEXITSTATUS(stat);
  } else if (WIFSIGNALED(stat)) {
    stat = WTERMSIG(stat);
    what = "signal";
  }
  if (stat == 0 && *what == 'e')
    lua_pushboolean(L, 1);
  else
    luaL_pushfail(L);
  lua_pushstring(L, what);
  lua_pushinteger(L, stat);
  return 3;
}
