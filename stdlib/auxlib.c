/* SPDX-License-Identifier: MIT */
/* auxlib.c - the auxiliary library: arguments, metatables, references,
 * libraries, new states.
 *
 * Its other parts: auxlib_buffer.c (strings under construction),
 * auxlib_load.c (chunks from files and memory), auxlib_traceback.c (tracebacks
 * and every error that names a function).
 *
 * Each function leaves the stack as the reference manual says, and raises errors where
 * the manual says so. None prints, except the default panic and warning functions of
 * luaL_newstate.
 */
#define LUA_LIB

#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "arguments.h"
#include "gc_inline.h"
#include "lauxlib.h"
#include "lua.h"
#include "meta.h"
#include "number.h"
#include "stress.h"

/* ------------------------------------------------------------ arguments -- */

static int raise_type_mismatch(lua_State *L, int arg, int tag) {
  return luaL_typeerror(L, arg, lua_typename(L, tag));
}

void luaL_checktype(lua_State *L, int arg, int t) {
  if (l_unlikely(lua_type(L, arg) != t))
    raise_type_mismatch(L, arg, t);
}

void luaL_checkany(lua_State *L, int arg) {
  if (l_unlikely(lua_type(L, arg) == LUA_TNONE))
    luaL_argerror(L, arg, "value expected");
}

const char *luaL_checklstring(lua_State *L, int arg, size_t *len) {
  const char *text = lua_tolstring(L, arg, len);
  if (l_unlikely(text == NULL))
    raise_type_mismatch(L, arg, LUA_TSTRING);
  return text;
}

const char *luaL_optlstring(lua_State *L, int arg, const char *def,
                            size_t *len) {
  if (!lua_isnoneornil(L, arg))
    return luaL_checklstring(L, arg, len);
  if (len != NULL)
    *len = def != NULL ? strlen(def) : 0;
  return def;
}

lua_Number luaL_checknumber(lua_State *L, int arg) {
  int is_number;
  lua_Number n = lua_tonumberx(L, arg, &is_number);
  if (l_unlikely(!is_number))
    raise_type_mismatch(L, arg, LUA_TNUMBER);
  return n;
}

lua_Number luaL_optnumber(lua_State *L, int arg, lua_Number def) {
  return lua_isnoneornil(L, arg) ? def : luaL_checknumber(L, arg);
}

/* Raises an error about an argument that is not an integer. A number that has no integer
   representation gets a message that says so, rather than one about its type. */
static void raise_not_integer(lua_State *L, int arg) {
  if (lua_isnumber(L, arg))
    luaL_argerror(L, arg, "number has no integer representation");
  else
    raise_type_mismatch(L, arg, LUA_TNUMBER);
}

lua_Integer luaL_checkinteger(lua_State *L, int arg) {
  int is_integer;
  lua_Integer n = lua_tointegerx(L, arg, &is_integer);
  if (l_unlikely(!is_integer))
    raise_not_integer(L, arg);
  return n;
}

lua_Integer luaL_optinteger(lua_State *L, int arg, lua_Integer def) {
  return lua_isnoneornil(L, arg) ? def : luaL_checkinteger(L, arg);
}

int luaL_checkoption(lua_State *L, int arg, const char *def,
                     const char *const lst[]) {
  const TValue *o = argument(L, arg);
  const char *choice = is_string(o)  ? as_string(o)->data
                       : def != NULL ? luaL_optstring(L, arg, def)
                                     : luaL_checkstring(L, arg);
  for (int i = 0; lst[i] != NULL; i++)
    if (lst[i][0] == choice[0] && strcmp(lst[i], choice) == 0)
      return i;
  return luaL_argerror(L, arg,
                       lua_pushfstring(L, "invalid option '%s'", choice));
}

/* Makes room for `sz` slots or raises an error; the few slots beyond `sz` leave room to
   raise it. */
void luaL_checkstack(lua_State *L, int sz, const char *msg) {
  if (l_likely(lua_checkstack(L, sz)))
    return;
  if (msg != NULL)
    luaL_error(L, "stack overflow (%s)", msg);
  else
    luaL_error(L, "stack overflow");
}

/* ----------------------------------------------------------- metatables -- */

int luaL_newmetatable(lua_State *L, const char *tname) {
  if (luaL_getmetatable(L, tname) != LUA_TNIL)
    return 0;
  lua_pop(L, 1);
  lua_createtable(L, 0, 2);
  lua_pushstring(L, tname);
  lua_setfield(L, -2, "__name");
  lua_pushvalue(L, -1);
  lua_setfield(L, LUA_REGISTRYINDEX, tname);
  return 1;
}

void luaL_setmetatable(lua_State *L, const char *tname) {
  luaL_getmetatable(L, tname);
  lua_setmetatable(L, -2);
}

void *luaL_testudata(lua_State *L, int ud, const char *tname) {
  void *block = lua_touserdata(L, ud);
  if (block == NULL || !lua_getmetatable(L, ud))
    return NULL;
  luaL_getmetatable(L, tname);
  if (!lua_rawequal(L, -1, -2))
    block = NULL;
  lua_pop(L, 2);
  return block;
}

void *luaL_checkudata(lua_State *L, int ud, const char *tname) {
  void *block = luaL_testudata(L, ud, tname);
  luaL_argexpected(L, block != NULL, ud, tname);
  return block;
}

int luaL_getmetafield(lua_State *L, int obj, const char *e) {
  Table *mt = metatable_of(L, api_slot(L, obj));
  if (mt == NULL)
    return LUA_TNIL;
  TValue key;
  set_string(&key, string_from_c(L, e));
  const TValue *value = table_get(mt, &key);
  if (is_nil(value))
    return LUA_TNIL;
  api_push_value(L, value);
  return tag_type(value->tag);
}

int luaL_callmeta(lua_State *L, int obj, const char *e) {
  obj = lua_absindex(L, obj);
  if (luaL_getmetafield(L, obj, e) == LUA_TNIL)
    return 0;
  lua_pushvalue(L, obj);
  lua_call(L, 1, 1);
  return 1;
}

static void push_number_text(lua_State *L, int idx) {
  api_push_string(L, number_to_string(L, api_slot(L, idx)));
  gc_check(L);
}

/* Pushes "kind: address", where the kind is the metatable's __name if that is a string,
 * otherwise the name of the type. (The metatable keeps __name alive: nothing is collected
 * before the text is made.) */
static void push_identity_text(lua_State *L, int idx) {
  const TValue *name = meta_of(L, api_slot(L, idx), META_NAME);
  const char *kind = is_string(name) ? as_string(name)->data
                                     : luaL_typename(L, idx);
  lua_pushfstring(L, "%s: %p", kind, lua_topointer(L, idx));
}

static void push_plain_text(lua_State *L, int idx) {
  switch (lua_type(L, idx)) {
    case LUA_TNUMBER: push_number_text(L, idx); break;
    case LUA_TSTRING: lua_pushvalue(L, idx); break;
    case LUA_TNIL: result_name(L, NAME_NIL); break;
    case LUA_TBOOLEAN:
      result_name(L, lua_toboolean(L, idx) ? NAME_TRUE : NAME_FALSE);
      break;
    default: push_identity_text(L, idx); break;
  }
}

const char *luaL_tolstring(lua_State *L, int idx, size_t *len) {
  const TValue *f = named_field(L, api_slot(L, idx), NAME_TOSTRING);
  idx = lua_absindex(L, idx);
  if (f == NULL) {
    push_plain_text(L, idx);
  } else {
    api_push_value(L, f);
    lua_pushvalue(L, idx);
    lua_call(L, 1, 1);
    if (!lua_isstring(L, -1))
      luaL_error(L, "'__tostring' must return a string");
  }
  return lua_tolstring(L, -1, len);
}

lua_Integer luaL_len(lua_State *L, int idx) {
  int is_integer;
  lua_len(L, idx);
  lua_Integer n = lua_tointegerx(L, -1, &is_integer);
  if (l_unlikely(!is_integer))
    luaL_error(L, "object length is not an integer");
  lua_pop(L, 1);
  return n;
}

/* ----------------------------------------------------------- references -- Freed
 * references of a table form a list in the table itself: slot FREE_HEAD holds the first
 * freed reference, each freed slot holds the next, and 0 ends the list. FREE_HEAD lies
 * behind the slots that the registry keeps for itself. */

enum { FREE_HEAD = LUA_RIDX_LAST + 1 };

/* Returns the first freed reference of `t`, or 0 if there is none. Makes the list of
 * freed references at its first use, so that lua_rawlen(t) never returns FREE_HEAD as a
 * reference. */
static int first_free_ref(lua_State *L, int t) {
  int ref = 0;
  if (lua_rawgeti(L, t, FREE_HEAD) == LUA_TNIL) {
    lua_pushinteger(L, 0);
    lua_rawseti(L, t, FREE_HEAD);
  } else {
    ref = (int)lua_tointeger(L, -1);
  }
  lua_pop(L, 1);
  return ref;
}

int luaL_ref(lua_State *L, int t) {
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    return LUA_REFNIL;
  }
  t = lua_absindex(L, t);
  int ref = first_free_ref(L, t);
  if (ref != 0) {
    lua_rawgeti(L, t, ref);
    lua_rawseti(L, t, FREE_HEAD);
  } else {
    ref = (int)lua_rawlen(L, t) + 1;
  }
  lua_rawseti(L, t, ref);
  return ref;
}

void luaL_unref(lua_State *L, int t, int ref) {
  if (ref < 0)
    return;
  t = lua_absindex(L, t);
  lua_rawgeti(L, t, FREE_HEAD);
  lua_rawseti(L, t, ref);
  lua_pushinteger(L, ref);
  lua_rawseti(L, t, FREE_HEAD);
}

/* ------------------------------------------------------------ libraries -- */

void luaL_checkversion_(lua_State *L, lua_Number ver, size_t sz) {
  lua_Number core = lua_version(L);
  if (sz != LUAL_NUMSIZES)
    luaL_error(L, "core and library have incompatible numeric types");
  else if (core != ver)
    luaL_error(L, "version mismatch: app. needs %f, Lua core provides %f",
               (LUAI_UACNUMBER)ver, (LUAI_UACNUMBER)core);
}

/* Pushes entry `f` as a closure over copies of the top `nup` values. */
static void push_library_entry(lua_State *L, lua_CFunction f, int nup) {
  if (f == NULL) {
    lua_pushboolean(L, 0);
    return;
  }
  for (int i = 0; i < nup; i++)
    lua_pushvalue(L, -nup);
  lua_pushcclosure(L, f, nup);
}

void luaL_setfuncs(lua_State *L, const luaL_Reg *l, int nup) {
  luaL_checkstack(L, nup, "too many upvalues");
  for (; l->name != NULL; l++) {
    push_library_entry(L, l->func, nup);
    lua_setfield(L, -(nup + 2), l->name);
  }
  lua_pop(L, nup);
}

int luaL_getsubtable(lua_State *L, int idx, const char *fname) {
  if (lua_getfield(L, idx, fname) == LUA_TTABLE)
    return 1;
  lua_pop(L, 1);
  idx = lua_absindex(L, idx);
  lua_newtable(L);
  lua_pushvalue(L, -1);
  lua_setfield(L, idx, fname);
  return 0;
}

void luaL_requiref(lua_State *L, const char *modname, lua_CFunction openf,
                   int glb) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_getfield(L, -1, modname);
  if (!lua_toboolean(L, -1)) {
    lua_pop(L, 1);
    lua_pushcfunction(L, openf);
    lua_pushstring(L, modname);
    lua_call(L, 1, 1);
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, modname);
  }
  lua_remove(L, -2);
  if (glb) {
    lua_pushvalue(L, -1);
    lua_setglobal(L, modname);
  }
}

/* ----------------------------------------------------------- new states -- */

static void *allocate_with_libc(void *ud, void *ptr, size_t osize,
                                size_t nsize) {
  (void)ud;
  if (nsize != 0) {
    bool grows = ptr == NULL || nsize > osize;
    return grows && stress_allocation_fails() ? NULL : realloc(ptr, nsize);
  }
  free(ptr);
  return NULL;
}

/* Prints the error of an unprotected call, which no handler can receive. The state aborts
 * the process when this returns. */
static int report_panic(lua_State *L) {
  const char *msg = lua_tostring(L, -1);
  if (msg == NULL)
    msg = "error object is not a string";
  lua_writestringerror("PANIC: unprotected error in call to Lua API (%s)\n",
                       msg);
  return 0;
}

/* Warnings have the states "off", "on" and "within a message of several pieces", with a
 * function for each. Each function gets the lua_State as `ud` and installs the function
 * of the next state. */

static void warn_when_off(void *ud, const char *msg, int tocont);
static void warn_when_on(void *ud, const char *msg, int tocont);
static void warn_amid_message(void *ud, const char *msg, int tocont);

/* Obeys a message in one piece that starts with '@', which switches warnings on or off;
 * an unknown control message is ignored. Returns whether the message starts with '@' and
 * is in one piece. */
static int obey_warning_control(lua_State *L, const char *msg, int tocont) {
  if (tocont || msg[0] != '@')
    return 0;
  if (strcmp(msg, "@off") == 0)
    lua_setwarnf(L, warn_when_off, L);
  else if (strcmp(msg, "@on") == 0)
    lua_setwarnf(L, warn_when_on, L);
  return 1;
}

static void warn_when_off(void *ud, const char *msg, int tocont) {
  obey_warning_control(ud, msg, tocont);
}

static void warn_amid_message(void *ud, const char *msg, int tocont) {
  lua_State *L = ud;
  lua_writestringerror("%s", msg);
  if (tocont) {
    lua_setwarnf(L, warn_amid_message, L);
  } else {
    lua_writestringerror("%s", "\n");
    lua_setwarnf(L, warn_when_on, L);
  }
}

static void warn_when_on(void *ud, const char *msg, int tocont) {
  if (obey_warning_control(ud, msg, tocont))
    return;
  lua_writestringerror("%s", "Lua warning: ");
  warn_amid_message(ud, msg, tocont);
}

/* Tells whether a test build runs any program on a heap whose memory comes from an
 * allocator (SAROS_HOSTED=1). */
static bool is_hosted(void) {
#if defined(SAROS_DEBUG) || defined(SAROS_STRESS)
  const char *text = secure_getenv("SAROS_HOSTED");
  return text != NULL && text[0] == '1';
#else
  return false;
#endif
}

lua_State *luaL_newstate(void) {
  lua_State *L = is_hosted() ? lua_newstate(allocate_with_libc, NULL)
                             : api_new_state(allocate_with_libc);
  if (L != NULL) {
    lua_atpanic(L, report_panic);
    lua_setwarnf(L, warn_when_off, L);
  }
  return L;
}
