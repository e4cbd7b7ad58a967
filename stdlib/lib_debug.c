/* SPDX-License-Identifier: MIT */
/* lib_debug.c - the debug library.
 *
 * Most functions accept a thread as their first argument: such a call works on that
 * thread's stack, and the other arguments follow. lua_xmove moves values between the two
 * stacks; room on the target's stack is checked before.
 *
 * Hooks. The registry maps each thread that has a hook, weakly, to the hook's Lua
 * function; one C hook serves all threads.
 */
#define LUA_LIB

#include <stdio.h>
#include <string.h>

#include "arguments.h"
#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"
#include "set_field.h"
#include "thread.h"

/* -------------------------------------------------------- target thread -- */

/* Returns the thread that argument 1 is, or L itself. Sets *shift to the number of
 * arguments that the thread takes, 0 or 1. */
static lua_State *target_thread(lua_State *L, int *shift) {
  *shift = lua_isthread(L, 1) ? 1 : 0;
  return *shift ? lua_tothread(L, 1) : L;
}

/* Checks that the target has room for `slots` values; L itself has the slots that every C
   function gets. */
static void check_room(lua_State *L, lua_State *target, int slots) {
  if (l_unlikely(L != target && !lua_checkstack(target, slots)))
    luaL_error(L, "stack overflow");
}

/* --------------------------------------- registry, metatables, user values -- */

static int debug_getregistry(lua_State *L) {
  lua_pushvalue(L, LUA_REGISTRYINDEX);
  return 1;
}

static int debug_getmetatable(lua_State *L) {
  luaL_checkany(L, 1);
  if (!lua_getmetatable(L, 1))
    lua_pushnil(L);
  return 1;
}

static int debug_setmetatable(lua_State *L) {
  int type = lua_type(L, 2);
  luaL_argexpected(L, type == LUA_TNIL || type == LUA_TTABLE, 2,
                   "nil or table");
  lua_settop(L, 2);
  lua_setmetatable(L, 1);
  return 1;
}

static int debug_getuservalue(lua_State *L) {
  int n = (int)luaL_optinteger(L, 2, 1);
  if (lua_type(L, 1) != LUA_TUSERDATA) {
    luaL_pushfail(L);
    return 1;
  }
  if (lua_getiuservalue(L, 1, n) == LUA_TNONE)
    return 1;
  lua_pushboolean(L, 1);
  return 2;
}

static int debug_setuservalue(lua_State *L) {
  int n = (int)luaL_optinteger(L, 3, 1);
  luaL_checktype(L, 1, LUA_TUSERDATA);
  luaL_checkany(L, 2);
  lua_settop(L, 2);
  if (!lua_setiuservalue(L, 1, n))
    luaL_pushfail(L);
  return 1;
}

/* -------------------------------------------------------------- getinfo -- */

/* Moves the value that lua_getinfo left on top of the target's stack into the table of
 * results. If the target is L itself, that value is right below the table. */
static void set_from_target(lua_State *L, lua_State *target, const char *key) {
  if (L == target)
    lua_rotate(L, -2, 1);
  else
    lua_xmove(target, L, 1);
  lua_setfield(L, -2, key);
}

static void set_source_fields(lua_State *L, const lua_Debug *ar) {
  lua_pushlstring(L, ar->source, ar->srclen);
  lua_setfield(L, -2, "source");
  set_text(L, "short_src", ar->short_src);
  set_integer(L, "linedefined", ar->linedefined);
  set_integer(L, "lastlinedefined", ar->lastlinedefined);
  set_text(L, "what", ar->what);
}

#define MOST_INFO_FIELDS 16 /* the most fields of a result, with activelines and func */

/* Sets the fields that `options` ask for in the table on top. */
static void set_info_fields(lua_State *L, const lua_Debug *ar,
                            const char *options) {
  if (strchr(options, 'S'))
    set_source_fields(L, ar);
  if (strchr(options, 'l'))
    set_integer(L, "currentline", ar->currentline);
  if (strchr(options, 'u')) {
    set_integer(L, "nups", ar->nups);
    set_integer(L, "nparams", ar->nparams);
    set_boolean(L, "isvararg", ar->isvararg);
  }
  if (strchr(options, 'n')) {
    set_text(L, "name", ar->name);
    set_text(L, "namewhat", ar->namewhat);
  }
  if (strchr(options, 'r')) {
    set_integer(L, "ftransfer", ar->ftransfer);
    set_integer(L, "ntransfer", ar->ntransfer);
  }
  if (strchr(options, 't'))
    set_boolean(L, "istailcall", ar->istailcall);
}

/* Returns the most fields that these options can set. */
static int count_info_fields(const char *options) {
  int n = 0;
  for (const char *p = options; *p && n < MOST_INFO_FIELDS; p++)
    n += *p == 'S' ? 5 : *p == 'u' ? 3 : *p == 'n' || *p == 'r' ? 2 : 1;
  return n < MOST_INFO_FIELDS ? n : MOST_INFO_FIELDS;
}

static int debug_getinfo(lua_State *L) {
  lua_Debug ar;
  int shift;
  lua_State *target = target_thread(L, &shift);
  const char *options = luaL_optstring(L, shift + 2, "flnSrtu");
  check_room(L, target, 3);
  luaL_argcheck(L, options[0] != '>', shift + 2, "invalid option '>'");
  if (lua_isfunction(L, shift + 1)) {
    options = lua_pushfstring(L, ">%s", options);
    lua_pushvalue(L, shift + 1);
    lua_xmove(L, target, 1);
  } else if (!lua_getstack(target, (int)luaL_checkinteger(L, shift + 1),
                           &ar)) {
    luaL_pushfail(L);
    return 1;
  }
  if (!lua_getinfo(target, options, &ar))
    return luaL_argerror(L, shift + 2, "invalid option");
  lua_createtable(L, 0, count_info_fields(options));
  set_info_fields(L, &ar, options);
  if (strchr(options, 'L')) /* the table of lines lies above the function */
    set_from_target(L, target, "activelines");
  if (strchr(options, 'f'))
    set_from_target(L, target, "func");
  return 1;
}

/* --------------------------------------------------------------- locals -- */

static int debug_getlocal(lua_State *L) {
  lua_Debug ar;
  int shift;
  lua_State *target = target_thread(L, &shift);
  int n = (int)luaL_checkinteger(L, shift + 2);
  if (lua_isfunction(L, shift + 1)) {
    lua_pushvalue(L, shift + 1);
    lua_pushstring(L, lua_getlocal(L, NULL, n));
    return 1;
  }
  int level = (int)luaL_checkinteger(L, shift + 1);
  if (l_unlikely(!lua_getstack(target, level, &ar)))
    return luaL_argerror(L, shift + 1, "level out of range");
  check_room(L, target, 1);
  const char *name = lua_getlocal(target, &ar, n);
  if (name == NULL) {
    luaL_pushfail(L);
    return 1;
  }
  lua_xmove(target, L, 1);
  lua_pushstring(L, name);
  lua_insert(L, -2);
  return 2;
}

static int debug_setlocal(lua_State *L) {
  lua_Debug ar;
  int shift;
  lua_State *target = target_thread(L, &shift);
  int level = (int)luaL_checkinteger(L, shift + 1);
  int n = (int)luaL_checkinteger(L, shift + 2);
  if (l_unlikely(!lua_getstack(target, level, &ar)))
    return luaL_argerror(L, shift + 1, "level out of range");
  luaL_checkany(L, shift + 3);
  lua_settop(L, shift + 3);
  check_room(L, target, 1);
  lua_xmove(L, target, 1);
  const char *name = lua_setlocal(target, &ar, n);
  if (name == NULL)
    lua_pop(target, 1); /* the value was not taken */
  lua_pushstring(L, name);
  return 1;
}

/* ------------------------------------------------------------- upvalues -- */

/* Pushes `name`, which upvalue n of the function at index 1 has. */
static void push_upvalue_name(lua_State *L, int n, const char *name) {
  const TValue *f = argument(L, 1);
  String *known = is_lua_closure(f) ? as_lua_closure(f)->p->upvalues[n - 1].name : NULL;
  if (known != NULL)
    api_push_string(L, known);
  else
    lua_pushstring(L, name);
}

static int debug_getupvalue(lua_State *L) {
  int n = (int)argument_integer(L, 2);
  luaL_checktype(L, 1, LUA_TFUNCTION);
  const char *name = lua_getupvalue(L, 1, n);
  if (name == NULL)
    return 0;
  push_upvalue_name(L, n, name);
  lua_insert(L, -2);
  return 2;
}

/* Implements debug.setupvalue, but not for C functions: the functions of the library keep
   their own state in their upvalues, and rely on it. */
static int debug_setupvalue(lua_State *L) {
  argument_any(L, 3);
  int n = (int)argument_integer(L, 2);
  luaL_checktype(L, 1, LUA_TFUNCTION);
  if (lua_iscfunction(L, 1)) return 0;
  lua_settop(L, 3);
  const char *name = lua_setupvalue(L, 1, n);
  if (name == NULL)
    return 0;
  push_upvalue_name(L, n, name);
  return 1;
}

/* Returns the identity of upvalue number *n, the argument after function `arg`, or NULL
 * if it has none. */
static void *check_upvalue(lua_State *L, int arg, int *n) {
  *n = (int)luaL_checkinteger(L, arg + 1);
  luaL_checktype(L, arg, LUA_TFUNCTION);
  return lua_upvalueid(L, arg, *n);
}

static int debug_upvalueid(lua_State *L) {
  int n;
  void *id = check_upvalue(L, 1, &n);
  if (id != NULL)
    lua_pushlightuserdata(L, id);
  else
    luaL_pushfail(L);
  return 1;
}

static int debug_upvaluejoin(lua_State *L) {
  int n1, n2;
  void *id1 = check_upvalue(L, 1, &n1);
  luaL_argcheck(L, id1 != NULL, 2, "invalid upvalue index");
  void *id2 = check_upvalue(L, 3, &n2);
  luaL_argcheck(L, id2 != NULL, 4, "invalid upvalue index");
  luaL_argcheck(L, !lua_iscfunction(L, 1), 1, "Lua function expected");
  luaL_argcheck(L, !lua_iscfunction(L, 3), 3, "Lua function expected");
  lua_upvaluejoin(L, 1, n1, 3, n2);
  return 0;
}

/* ---------------------------------------------------------------- hooks -- */

/* Pushes the table of hooks. */
static void push_hooks(lua_State *L) {
  if (luaL_getsubtable(L, LUA_REGISTRYINDEX, L->domain->names[NAME_HOOKS]->data))
    return;
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "k");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
}

/* Pushes `target`, its key, above the table of hooks. */
static void push_hook_key(lua_State *L, lua_State *target) {
  check_room(L, target, 1);
  lua_pushthread(target);
  lua_xmove(target, L, 1);
}

static void call_lua_hook(lua_State *L, lua_Debug *ar) {
  static const Name event_names[] = {NAME_CALL, NAME_RETURN, NAME_LINE, NAME_COUNT_EVENT,
                                     NAME_TAIL_CALL};
  const TValue *hooks = table_get_str(as_table(&L->domain->registry), L->domain->names[NAME_HOOKS]);
  TValue thread;
  if (!is_table(hooks))
    return;
  set_thread(&thread, L);
  const TValue *hook = table_get(as_table(hooks), &thread);
  if (!is_function(hook))
    return;
  api_push_value(L, hook);
  result_name(L, event_names[ar->event]);
  if (ar->currentline >= 0)
    lua_pushinteger(L, ar->currentline);
  else
    lua_pushnil(L);
  lua_call(L, 2, 0);
}

static int mask_from_text(const char *text, int count) {
  int mask = count > 0 ? LUA_MASKCOUNT : 0;
  if (strchr(text, 'c'))
    mask |= LUA_MASKCALL;
  if (strchr(text, 'r'))
    mask |= LUA_MASKRET;
  if (strchr(text, 'l'))
    mask |= LUA_MASKLINE;
  return mask;
}

static void push_mask_text(lua_State *L, int mask) {
  char text[4];
  int n = 0;
  if (mask & LUA_MASKCALL)
    text[n++] = 'c';
  if (mask & LUA_MASKRET)
    text[n++] = 'r';
  if (mask & LUA_MASKLINE)
    text[n++] = 'l';
  lua_pushlstring(L, text, (size_t)n);
}

static int debug_sethook(lua_State *L) {
  int shift, mask = 0, count = 0;
  lua_Hook hook = NULL;
  lua_State *target = target_thread(L, &shift);
  if (lua_isnoneornil(L, shift + 1)) {
    lua_settop(L, shift + 1);
  } else {
    const char *text = luaL_checkstring(L, shift + 2);
    luaL_checktype(L, shift + 1, LUA_TFUNCTION);
    count = (int)luaL_optinteger(L, shift + 3, 0);
    mask = mask_from_text(text, count);
    hook = call_lua_hook;
  }
  push_hooks(L);
  push_hook_key(L, target);
  lua_pushvalue(L, shift + 1);
  lua_rawset(L, -3);
  lua_sethook(target, hook, mask, count);
  return 0;
}

static int debug_gethook(lua_State *L) {
  int shift;
  lua_State *target = target_thread(L, &shift);
  lua_Hook hook = lua_gethook(target);
  if (hook == NULL) {
    luaL_pushfail(L);
    return 1;
  }
  if (hook != call_lua_hook) {
    lua_pushliteral(L, "external hook");
  } else {
    push_hooks(L);
    push_hook_key(L, target);
    lua_rawget(L, -2);
    lua_remove(L, -2);
  }
  push_mask_text(L, lua_gethookmask(target));
  lua_pushinteger(L, lua_gethookcount(target));
  return 3;
}

/* ----------------------------------------------------- console, traceback -- */

/* Reads and runs lines until the end of input or a line "cont". */
static int debug_debug(lua_State *L) {
  char line[250];
  for (;;) {
    lua_writestringerror("%s", "lua_debug> ");
    if (fgets(line, sizeof line, stdin) == NULL || strcmp(line, "cont\n") == 0)
      return 0;
    if (luaL_loadbuffer(L, line, strlen(line), "=(debug command)") != LUA_OK ||
        lua_pcall(L, 0, 0, 0) != LUA_OK)
      lua_writestringerror("%s\n", luaL_tolstring(L, -1, NULL));
    lua_settop(L, 0);
  }
}

static int debug_traceback(lua_State *L) {
  int shift;
  lua_State *target = target_thread(L, &shift);
  const char *msg = lua_tostring(L, shift + 1);
  if (msg == NULL && !lua_isnoneornil(L, shift + 1)) {
    /* a message that is not a string is returned unchanged */
    lua_pushvalue(L, shift + 1);
    return 1;
  }
  int level = (int)luaL_optinteger(L, shift + 2, L == target ? 1 : 0);
  luaL_traceback(L, target, msg, level);
  return 1;
}

static int debug_setcstacklimit(lua_State *L) {
  int limit = (int)luaL_checkinteger(L, 1);
  lua_pushinteger(L, lua_setcstacklimit(L, (unsigned)limit));
  return 1;
}

int luaopen_debug(lua_State *L) {
  static const luaL_Reg functions[] = {
    {"debug", debug_debug},
    {"gethook", debug_gethook},
    {"getinfo", debug_getinfo},
    {"getlocal", debug_getlocal},
    {"getmetatable", debug_getmetatable},
    {"getregistry", debug_getregistry},
    {"getupvalue", debug_getupvalue},
    {"getuservalue", debug_getuservalue},
    {"sethook", debug_sethook},
    {"setcstacklimit", debug_setcstacklimit},
    {"setlocal", debug_setlocal},
    {"setmetatable", debug_setmetatable},
    {"setupvalue", debug_setupvalue},
    {"setuservalue", debug_setuservalue},
    {"traceback", debug_traceback},
    {"upvalueid", debug_upvalueid},
    {"upvaluejoin", debug_upvaluejoin},
    {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
