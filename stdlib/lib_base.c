/* lib_base.c - the basic functions: print, pairs, load, pcall, ...
 *
 * Some of them are also run by the interpreter itself, in its own loop (see
 * vm/primitives.h): pcall, xpcall, next, and the iterator of ipairs.  What
 * stands here is then the behaviour they must have, and what runs when they
 * are called from C.
 */
#define LUA_LIB

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "lua.h"
#include "lauxlib.h"
#include "lualib.h"
#include "vm/primitives.h"

/* --------------------------------------------------------------- output -- */

static int base_print(lua_State *L) {
  int count = lua_gettop(L);
  for (int i = 1; i <= count; i++) {
    size_t len;
    const char *text = luaL_tolstring(L, i, &len);
    if (i > 1)
      lua_writestring("\t", 1);
    lua_writestring(text, len);
    lua_pop(L, 1);
  }
  lua_writeline();
  return 0;
}

/* All arguments are checked before the first piece is emitted, so that no
 * error leaves a message half said. */
static int base_warn(lua_State *L) {
  int count = lua_gettop(L);
  luaL_checkstring(L, 1);
  for (int i = 2; i <= count; i++)
    luaL_checkstring(L, i);
  for (int i = 1; i <= count; i++)
    lua_warning(L, lua_tostring(L, i), i < count);
  return 0;
}

/* ---------------------------------------------------------- conversions -- */

static const char *const spaces = " \f\n\r\t\v";

/* Value of `c` as a digit, or 36, too large for any base, when it is none. */
static int digit_value(char c) {
  unsigned char u = (unsigned char)c;
  if (isdigit(u))
    return u - '0';
  return isalpha(u) ? toupper(u) - 'A' + 10 : 36;
}

/* Reads an integer in `base`, which wraps around; spaces may surround it.
 * The value is where reading ended, or NULL when there is no numeral. */
static const char *parse_in_base(const char *s, int base, lua_Integer *out) {
  lua_Unsigned n = 0;
  s += strspn(s, spaces);
  int negative = *s == '-';
  if (negative || *s == '+')
    s++;
  if (digit_value(*s) >= base)
    return NULL;
  for (; digit_value(*s) < base; s++)
    n = n * (lua_Unsigned)base + (lua_Unsigned)digit_value(*s);
  *out = (lua_Integer)(negative ? 0u - n : n);
  return s + strspn(s, spaces);
}

static int convert_in_base(lua_State *L) {
  size_t len;
  lua_Integer n, base = luaL_checkinteger(L, 2);
  luaL_checktype(L, 1, LUA_TSTRING);
  const char *s = lua_tolstring(L, 1, &len);
  luaL_argcheck(L, 2 <= base && base <= 36, 2, "base out of range");
  if (parse_in_base(s, (int)base, &n) == s + len)
    lua_pushinteger(L, n);
  else
    luaL_pushfail(L);
  return 1;
}

/* Pushes the number that argument 1 is, or whose numeral it is. */
static int push_as_number(lua_State *L) {
  if (lua_type(L, 1) == LUA_TNUMBER) {
    lua_settop(L, 1);
    return 1;
  }
  size_t len;
  const char *s = lua_tolstring(L, 1, &len);
  return s != NULL && lua_stringtonumber(L, s) == len + 1;
}

static int base_tonumber(lua_State *L) {
  if (!lua_isnoneornil(L, 2))
    return convert_in_base(L);
  luaL_checkany(L, 1);
  if (!push_as_number(L))
    luaL_pushfail(L);
  return 1;
}

static int base_tostring(lua_State *L) {
  luaL_checkany(L, 1);
  luaL_tolstring(L, 1, NULL);
  return 1;
}

static int base_type(lua_State *L) {
  int type = lua_type(L, 1);
  luaL_argcheck(L, type != LUA_TNONE, 1, "value expected");
  lua_pushstring(L, lua_typename(L, type));
  return 1;
}

/* ---------------------------------------------------- tables, metatables -- */

static int base_getmetatable(lua_State *L) {
  luaL_checkany(L, 1);
  if (!lua_getmetatable(L, 1)) {
    lua_pushnil(L);
    return 1;
  }
  luaL_getmetafield(L, 1, "__metatable"); /* pushes nothing when absent */
  return 1;
}

static int base_setmetatable(lua_State *L) {
  int type = lua_type(L, 2);
  luaL_checktype(L, 1, LUA_TTABLE);
  luaL_argexpected(L, type == LUA_TNIL || type == LUA_TTABLE, 2,
                   "nil or table");
  if (luaL_getmetafield(L, 1, "__metatable") != LUA_TNIL)
    return luaL_error(L, "cannot change a protected metatable");
  lua_settop(L, 2);
  lua_setmetatable(L, 1);
  return 1;
}

static int base_rawequal(lua_State *L) {
  luaL_checkany(L, 1);
  luaL_checkany(L, 2);
  lua_pushboolean(L, lua_rawequal(L, 1, 2));
  return 1;
}

static int base_rawlen(lua_State *L) {
  int type = lua_type(L, 1);
  luaL_argexpected(L, type == LUA_TTABLE || type == LUA_TSTRING, 1,
                   "table or string");
  lua_pushinteger(L, (lua_Integer)lua_rawlen(L, 1));
  return 1;
}

static int base_rawget(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  luaL_checkany(L, 2);
  lua_settop(L, 2);
  lua_rawget(L, 1);
  return 1;
}

static int base_rawset(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  luaL_checkany(L, 2);
  luaL_checkany(L, 3);
  lua_settop(L, 3);
  lua_rawset(L, 1);
  return 1;
}

/* ------------------------------------------------------------ iteration -- */

static int base_next(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 2);
  if (lua_next(L, 1))
    return 2;
  lua_pushnil(L);
  return 1;
}

static int return_three(lua_State *L, int status, lua_KContext ctx) {
  (void)L;
  (void)status;
  (void)ctx;
  return 3;
}

static int base_pairs(lua_State *L) {
  luaL_checkany(L, 1);
  if (luaL_getmetafield(L, 1, "__pairs") == LUA_TNIL) {
    vm_push_next(L, base_next);
    lua_pushvalue(L, 1);
    lua_pushnil(L);
  } else {
    lua_pushvalue(L, 1);
    lua_callk(L, 1, 3, 0, return_three);
  }
  return 3;
}

static int ipairs_step(lua_State *L) {
  lua_Integer i = luaL_intop(+, luaL_checkinteger(L, 2), 1);
  lua_pushinteger(L, i);
  return lua_geti(L, 1, i) == LUA_TNIL ? 1 : 2;
}

static int base_ipairs(lua_State *L) {
  luaL_checkany(L, 1);
  vm_push_ipairs_step(L, ipairs_step);
  lua_pushvalue(L, 1);
  lua_pushinteger(L, 0);
  return 3;
}

static int base_select(lua_State *L) {
  int count = lua_gettop(L);
  if (lua_type(L, 1) == LUA_TSTRING && *lua_tostring(L, 1) == '#') {
    lua_pushinteger(L, count - 1);
    return 1;
  }
  lua_Integer i = luaL_checkinteger(L, 1);
  if (i < 0)
    i = count + i;
  else if (i > count)
    i = count;
  luaL_argcheck(L, i >= 1, 1, "index out of range");
  return count - (int)i;
}

/* --------------------------------------------------------------- chunks -- */

/* Results of load and loadfile.  `env` is the stack index of the chunk's
 * first upvalue, or 0 for the one it has. */
static int finish_load(lua_State *L, int status, int env) {
  if (l_unlikely(status != LUA_OK)) {
    luaL_pushfail(L);
    lua_insert(L, -2);
    return 2;
  }
  if (env != 0) {
    lua_pushvalue(L, env);
    if (lua_setupvalue(L, -2, 1) == NULL)
      lua_pop(L, 1); /* a chunk that uses no global has none */
  }
  return 1;
}

/* An environment given as nil counts; one not given doesn't. */
static int optional_env(lua_State *L, int idx) {
  return lua_isnone(L, idx) ? 0 : idx;
}

static int base_loadfile(lua_State *L) {
  const char *filename = luaL_optstring(L, 1, NULL);
  const char *mode = luaL_optstring(L, 2, NULL);
  int env = optional_env(L, 3);
  return finish_load(L, luaL_loadfilex(L, filename, mode), env);
}

/* load's stack: its four arguments, then the piece that was read last, which
 * must not be collected while the compiler looks at it. */
enum { LOAD_CHUNK = 1, LOAD_NAME, LOAD_MODE, LOAD_ENV, LOAD_PIECE };

static const char *next_function_piece(lua_State *L, void *ud, size_t *size) {
  (void)ud;
  luaL_checkstack(L, 2, "too many nested functions");
  lua_pushvalue(L, LOAD_CHUNK);
  lua_call(L, 0, 1);
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    *size = 0;
    return NULL;
  }
  if (l_unlikely(!lua_isstring(L, -1)))
    luaL_error(L, "reader function must return a string");
  lua_replace(L, LOAD_PIECE);
  return lua_tolstring(L, LOAD_PIECE, size);
}

static int base_load(lua_State *L) {
  size_t len;
  int status;
  const char *mode = luaL_optstring(L, LOAD_MODE, "bt");
  int env = optional_env(L, LOAD_ENV);
  const char *text = lua_tolstring(L, LOAD_CHUNK, &len);
  if (text != NULL) {
    const char *name = luaL_optstring(L, LOAD_NAME, text);
    status = luaL_loadbufferx(L, text, len, name, mode);
  } else {
    const char *name = luaL_optstring(L, LOAD_NAME, "=(load)");
    luaL_checktype(L, LOAD_CHUNK, LUA_TFUNCTION);
    lua_settop(L, LOAD_PIECE);
    status = lua_load(L, next_function_piece, NULL, name, mode);
  }
  return finish_load(L, status, env);
}

static int finish_dofile(lua_State *L, int status, lua_KContext ctx) {
  (void)status;
  (void)ctx;
  return lua_gettop(L) - 1; /* all but the file's name */
}

static int base_dofile(lua_State *L) {
  const char *filename = luaL_optstring(L, 1, NULL);
  lua_settop(L, 1);
  if (l_unlikely(luaL_loadfile(L, filename) != LUA_OK))
    return lua_error(L);
  lua_callk(L, 0, LUA_MULTRET, 0, finish_dofile);
  return finish_dofile(L, LUA_OK, 0);
}

/* --------------------------------------------------------------- errors -- */

/* Raises the value at index 1, a string with the position of `level` before
 * it. */
static int raise_first(lua_State *L, int level) {
  lua_settop(L, 1);
  if (lua_type(L, 1) == LUA_TSTRING && level > 0) {
    luaL_where(L, level);
    lua_insert(L, 1);
    lua_concat(L, 2);
  }
  return lua_error(L);
}

static int base_error(lua_State *L) {
  return raise_first(L, (int)luaL_optinteger(L, 2, 1));
}

static int base_assert(lua_State *L) {
  if (l_likely(lua_toboolean(L, 1)))
    return lua_gettop(L);
  luaL_checkany(L, 1);
  lua_remove(L, 1);
  if (lua_gettop(L) == 0)
    lua_pushliteral(L, "assertion failed!");
  return raise_first(L, 1);
}

/* Results of a protected call that has ended or been resumed: those above the
 * lowest `hidden` slots, of which the last holds the `true` to return first. */
static int finish_pcall(lua_State *L, int status, lua_KContext hidden) {
  if (l_likely(status == LUA_OK || status == LUA_YIELD))
    return lua_gettop(L) - (int)hidden;
  lua_pushboolean(L, 0);
  lua_insert(L, -2);
  return 2;
}

static int base_pcall(lua_State *L) {
  luaL_checkany(L, 1);
  lua_pushboolean(L, 1);
  lua_insert(L, 1);
  int status =
      lua_pcallk(L, lua_gettop(L) - 2, LUA_MULTRET, 0, 0, finish_pcall);
  return finish_pcall(L, status, 0);
}

static int base_xpcall(lua_State *L) {
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_pushboolean(L, 1);
  lua_pushvalue(L, 1);
  lua_rotate(L, 3, 2); /* f, handler, true, f, arguments */
  int status =
      lua_pcallk(L, lua_gettop(L) - 4, LUA_MULTRET, 2, 2, finish_pcall);
  return finish_pcall(L, status, 2);
}

/* ------------------------------------------------------------ collector -- */

static void push_mode_name(lua_State *L, int mode) {
  lua_pushstring(L, mode == LUA_GCINC ? "incremental" : "generational");
}

/* Each of these pushes the result of one kind of request, and gives whether
 * the collector took it: it refuses within a finalizer (-1). */

static int gc_plain(lua_State *L, int what) {
  int result = lua_gc(L, what);
  lua_pushinteger(L, result);
  return result != -1;
}

static int gc_count(lua_State *L) {
  int kilobytes = lua_gc(L, LUA_GCCOUNT);
  int rest = lua_gc(L, LUA_GCCOUNTB);
  lua_pushnumber(L, (lua_Number)kilobytes + (lua_Number)rest / 1024);
  return kilobytes != -1;
}

static int gc_flag(lua_State *L, int what, int argument) {
  int result = lua_gc(L, what, argument);
  lua_pushboolean(L, result);
  return result != -1;
}

static int gc_tune(lua_State *L, int what) {
  int previous = lua_gc(L, what, (int)luaL_optinteger(L, 2, 0));
  lua_pushinteger(L, previous);
  return previous != -1;
}

static int gc_generational(lua_State *L) {
  int minor = (int)luaL_optinteger(L, 2, 0);
  int major = (int)luaL_optinteger(L, 3, 0);
  int previous = lua_gc(L, LUA_GCGEN, minor, major);
  push_mode_name(L, previous);
  return previous != -1;
}

static int gc_incremental(lua_State *L) {
  int pause = (int)luaL_optinteger(L, 2, 0);
  int multiplier = (int)luaL_optinteger(L, 3, 0);
  int step = (int)luaL_optinteger(L, 4, 0);
  int previous = lua_gc(L, LUA_GCINC, pause, multiplier, step);
  push_mode_name(L, previous);
  return previous != -1;
}

static int obey_gc_option(lua_State *L, int what) {
  switch (what) {
  case LUA_GCCOUNT: return gc_count(L);
  case LUA_GCSTEP: return gc_flag(L, what, (int)luaL_optinteger(L, 2, 0));
  case LUA_GCISRUNNING: return gc_flag(L, what, 0);
  case LUA_GCSETPAUSE:
  case LUA_GCSETSTEPMUL: return gc_tune(L, what);
  case LUA_GCGEN: return gc_generational(L);
  case LUA_GCINC: return gc_incremental(L);
  default: return gc_plain(L, what);
  }
}

static int base_collectgarbage(lua_State *L) {
  static const char *const names[] = {
    "stop", "restart", "collect", "count", "step", "setpause", "setstepmul",
    "isrunning", "generational", "incremental", NULL};
  static const int codes[] = {
    LUA_GCSTOP, LUA_GCRESTART, LUA_GCCOLLECT, LUA_GCCOUNT, LUA_GCSTEP,
    LUA_GCSETPAUSE, LUA_GCSETSTEPMUL, LUA_GCISRUNNING, LUA_GCGEN, LUA_GCINC};
  int what = codes[luaL_checkoption(L, 1, "collect", names)];
  if (!obey_gc_option(L, what))
    luaL_pushfail(L);
  return 1;
}

/* -------------------------------------------------------------- opening -- */

int luaopen_base(lua_State *L) {
  static const luaL_Reg functions[] = {
    {"assert", base_assert},
    {"collectgarbage", base_collectgarbage},
    {"dofile", base_dofile},
    {"error", base_error},
    {"getmetatable", base_getmetatable},
    {"ipairs", base_ipairs},
    {"load", base_load},
    {"loadfile", base_loadfile},
    {"pairs", base_pairs},
    {"print", base_print},
    {"rawequal", base_rawequal},
    {"rawget", base_rawget},
    {"rawlen", base_rawlen},
    {"rawset", base_rawset},
    {"select", base_select},
    {"setmetatable", base_setmetatable},
    {"tonumber", base_tonumber},
    {"tostring", base_tostring},
    {"type", base_type},
    {"warn", base_warn},
    {NULL, NULL}};
  lua_pushglobaltable(L);
  luaL_setfuncs(L, functions, 0);
  vm_push_next(L, base_next);
  lua_setfield(L, -2, "next");
  vm_push_pcall(L, base_pcall);
  lua_setfield(L, -2, "pcall");
  vm_push_xpcall(L, base_xpcall);
  lua_setfield(L, -2, "xpcall");
  lua_pushvalue(L, -1);
  lua_setfield(L, -2, LUA_GNAME);
  lua_pushliteral(L, LUA_VERSION);
  lua_setfield(L, -2, "_VERSION");
  return 1;
}
