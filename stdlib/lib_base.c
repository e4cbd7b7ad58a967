/* SPDX-License-Identifier: MIT */
/* lib_base.c - the basic functions: print, pairs, load, pcall, ...
 *
 * The interpreter itself runs some of them in its own loop (see vm/primitives.h): pcall,
 * xpcall, next, and the iterator of ipairs. The functions here define the behaviour of
 * these, and run when they are called from C.
 */
#define LUA_LIB

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "api_chunk.h"
#include "arguments.h"
#include "gc_inline.h"
#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"
#include "meta.h"
#include "number.h"
#include "primitives.h"
#include "thread.h"

/* --------------------------------------------------------------- output -- */

/* The output that print has not passed to the C library yet. Most often a whole line is
 * passed at once. */
typedef struct Line {
  size_t used;
  char text[512];
} Line;

static void flush_line(Line *line) {
  lua_writestring(line->text, line->used);
  line->used = 0;
}

static void add_to_line(Line *line, const char *s, size_t len) {
  if (len > sizeof line->text - line->used)
    flush_line(line);
  if (len > sizeof line->text) {
    lua_writestring(s, len);
  } else {
    memcpy(line->text + line->used, s, len);
    line->used += len;
  }
}

static void add_value_to_line(lua_State *L, Line *line, int i) {
  const TValue *o = argument(L, i);
  char number[NUMBER_TEXT_MAX];
  if (named_field(L, o, NAME_TOSTRING) == NULL) {
    if (is_string(o)) {
      add_to_line(line, as_string(o)->data, string_len(as_string(o)));
      return;
    }
    if (is_number(o)) {
      add_to_line(line, number, number_to_text(o, number));
      return;
    }
  } else {
    /* luaL_tolstring may run guest code that writes something, or fails */
    flush_line(line);
  }
  size_t len;
  const char *text = luaL_tolstring(L, i, &len);
  add_to_line(line, text, len);
  lua_pop(L, 1);
}

static int base_print(lua_State *L) {
  int count = argument_count(L);
  Line line;
  line.used = 0;
  for (int i = 1; i <= count; i++) {
    if (i > 1)
      add_to_line(&line, "\t", 1);
    add_value_to_line(L, &line, i);
  }
  add_to_line(&line, "\n", 1);
  flush_line(&line);
  fflush(stdout);
  return 0;
}

/* Implements warn. All arguments are checked before the first piece is emitted, so that
 * no error leaves a message incomplete. */
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

static inline const char *skip_spaces(const char *s) {
  while (*s == ' ' || (*s >= '\t' && *s <= '\r'))
    s++;
  return s;
}

/* Returns the value of `c` as a digit, or 36, which is too large for any base, if `c` is
   not a digit. */
static inline int digit_value(char c) {
  unsigned u = (unsigned char)c, letter = (u | 0x20) - 'a';
  if (u - '0' < 10)
    return (int)(u - '0');
  if (u < 0x80)
    return letter < 26 ? (int)letter + 10 : 36;
  return isalpha((int)u) ? toupper((int)u) - 'A' + 10 : 36; /* according to the locale */
}

/* Reads an integer in `base`, which wraps around; spaces may surround it. Returns where
 * reading ended, or NULL if there is no numeral. */
static const char *parse_in_base(const char *s, int base, lua_Integer *out) {
  lua_Unsigned n = 0;
  s = skip_spaces(s);
  int negative = *s == '-';
  if (negative || *s == '+')
    s++;
  int digit = digit_value(*s);
  if (digit >= base)
    return NULL;
  for (; digit < base; digit = digit_value(*++s))
    n = n * (lua_Unsigned)base + (lua_Unsigned)digit;
  *out = (lua_Integer)(negative ? 0u - n : n);
  return skip_spaces(s);
}

static int convert_in_base(lua_State *L) {
  size_t len;
  lua_Integer n, base = argument_integer(L, 2);
  luaL_checktype(L, 1, LUA_TSTRING);
  const char *s = argument_string(L, 1, &len);
  luaL_argcheck(L, 2 <= base && base <= 36, 2, "base out of range");
  return parse_in_base(s, (int)base, &n) == s + len ? result_integer(L, n)
                                                    : result_nil(L);
}

static int base_tonumber(lua_State *L) {
  const TValue *o = argument(L, 1);
  if (!is_nil(argument(L, 2)))
    return convert_in_base(L);
  if (is_number(o))
    return result_argument(L, 1);
  if (is_string(o)) {
    const String *s = as_string(o);
    if (number_parse(s->data, L->top) == string_len(s) + 1) {
      api_push(L);
      return 1;
    }
  }
  argument_any(L, 1);
  return result_nil(L);
}

static int base_tostring(lua_State *L) {
  const TValue *o = argument(L, 1);
  if (l_unlikely(api_is_none(L, o)))
    luaL_checkany(L, 1);
  if (named_field(L, o, NAME_TOSTRING) == NULL) {
    switch (o->tag) {
      case TAG_SHORT_STRING:
      case TAG_LONG_STRING: return argument_count(L) == 1 ? 1 : result_argument(L, 1);
      case TAG_NIL: return result_name(L, NAME_NIL);
      case TAG_FALSE: return result_name(L, NAME_FALSE);
      case TAG_TRUE: return result_name(L, NAME_TRUE);
      case TAG_INT:
      case TAG_FLOAT:
        api_push_string(L, number_to_string(L, o));
        gc_check(L);
        return 1;
      default: break;
    }
  }
  luaL_tolstring(L, 1, NULL);
  return 1;
}

/* Runs tostring of a string, and tonumber of a number. */
static int tostring_direct(lua_State *L, TValue *func, int nargs) {
  if (nargs < 1 || !is_string(func + 1) || named_field(L, func + 1, NAME_TOSTRING) != NULL)
    return NOT_DIRECT;
  value_copy(func, func + 1);
  return 1;
}

static int tonumber_direct(lua_State *L, TValue *func, int nargs) {
  (void)L;
  if (nargs != 1 || !is_number(func + 1)) return NOT_DIRECT;
  value_copy(func, func + 1);
  return 1;
}

static int type_direct(lua_State *L, TValue *func, int nargs) {
  if (nargs < 1) return NOT_DIRECT;
  set_string(func, L->domain->names[tag_type(func[1].tag)]);
  return 1;
}

static int base_type(lua_State *L) {
  const TValue *o = argument(L, 1);
  luaL_argcheck(L, !api_is_none(L, o), 1, "value expected");
  return result_name(L, (Name)tag_type(o->tag));
}

/* ---------------------------------------------------- tables, metatables -- */

static int base_getmetatable(lua_State *L) {
  argument_any(L, 1);
  Table *mt = metatable_of(L, argument(L, 1));
  if (mt == NULL)
    return result_nil(L);
  const TValue *instead = named_field(L, argument(L, 1), NAME_METATABLE);
  if (instead != NULL)
    api_push_value(L, instead);
  else
    api_push_table(L, mt);
  return 1;
}

static int getmetatable_direct(lua_State *L, TValue *func, int nargs) {
  if (nargs < 1) return NOT_DIRECT;
  Table *mt = metatable_of(L, func + 1);
  if (mt == NULL) {
    set_nil(func);
    return 1;
  }
  const TValue *instead = named_field(L, func + 1, NAME_METATABLE);
  if (instead != NULL) value_copy(func, instead);
  else set_table(func, mt);
  return 1;
}

/* Runs setmetatable of a table without a metatable, if the new one is known to have no
 * finalizer. */
static int setmetatable_direct(lua_State *L, TValue *func, int nargs) {
  if (nargs < 2 || !is_table(func + 1) || !is_table(func + 2)) return NOT_DIRECT;
  Table *t = as_table(func + 1), *mt = as_table(func + 2);
  if (t->metatable != NULL || !(mt->flags & 1u << META_GC)) return NOT_DIRECT;
  t->metatable = mt;
  gc_barrier_object(L, t, mt);
  set_table(func, t);
  return 1;
}

static int base_setmetatable(lua_State *L) {
  const TValue *t = argument(L, 1), *mt = argument(L, 2);
  if (l_unlikely(!is_table(t)))
    luaL_checktype(L, 1, LUA_TTABLE);
  luaL_argexpected(L, is_table(mt) || (is_nil(mt) && !is_absent(L, 2)), 2,
                   "nil or table");
  if (l_unlikely(named_field(L, t, NAME_METATABLE) != NULL))
    return luaL_error(L, "cannot change a protected metatable");
  api_set_metatable(L, as_table(t), is_nil(mt) ? NULL : as_table(mt));
  return result_argument(L, 1);
}

static int base_rawequal(lua_State *L) {
  argument_any(L, 1);
  argument_any(L, 2);
  return result_boolean(L, vm_equal(NULL, argument(L, 1), argument(L, 2)));
}

static int base_rawlen(lua_State *L) {
  int type = lua_type(L, 1);
  luaL_argexpected(L, type == LUA_TTABLE || type == LUA_TSTRING, 1,
                   "table or string");
  return result_integer(L, (lua_Integer)lua_rawlen(L, 1));
}

static int base_rawget(lua_State *L) {
  const TValue *t = argument(L, 1);
  if (unlikely(!is_table(t)))
    luaL_checktype(L, 1, LUA_TTABLE);
  argument_any(L, 2);
  api_push_value(L, table_get(as_table(t), argument(L, 2)));
  return 1;
}

static int rawget_direct(lua_State *L, TValue *func, int nargs) {
  (void)L;
  if (nargs < 2 || !is_table(func + 1)) return NOT_DIRECT;
  value_copy(func, table_get(as_table(func + 1), func + 2));
  return 1;
}

static int rawlen_direct(lua_State *L, TValue *func, int nargs) {
  (void)L;
  if (nargs < 1) return NOT_DIRECT;
  if (is_table(func + 1)) set_int(func, (lua_Integer)table_border(as_table(func + 1)));
  else if (is_string(func + 1)) set_int(func, (lua_Integer)string_len(as_string(func + 1)));
  else return NOT_DIRECT;
  return 1;
}

static int rawequal_direct(lua_State *L, TValue *func, int nargs) {
  (void)L;
  if (nargs < 2) return NOT_DIRECT;
  set_bool(func, vm_equal(NULL, func + 1, func + 2));
  return 1;
}

static int base_rawset(lua_State *L) {
  const TValue *t = argument(L, 1);
  if (unlikely(!is_table(t)))
    luaL_checktype(L, 1, LUA_TTABLE);
  argument_any(L, 2);
  argument_any(L, 3);
  table_set(L, as_table(t), argument(L, 2), argument(L, 3));
  gc_check(L);
  return result_argument(L, 1);
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
  argument_any(L, 1);
  const TValue *pairs = named_field(L, argument(L, 1), NAME_PAIRS);
  if (pairs == NULL) {
    vm_push_next(L, base_next);
    result_argument(L, 1);
    result_nil(L);
  } else {
    api_push_value(L, pairs);
    lua_pushvalue(L, 1);
    lua_callk(L, 1, 3, 0, return_three);
  }
  return 3;
}

/* Runs pairs of a value without __pairs. */
static int pairs_direct(lua_State *L, TValue *func, int nargs) {
  if (nargs < 1 || named_field(L, func + 1, NAME_PAIRS) != NULL) return NOT_DIRECT;
  set_primitive(func, &vm_primitives[PRIM_NEXT]);
  set_nil(func + 2);
  return 3;
}

static int ipairs_step(lua_State *L) {
  lua_Integer i = luaL_intop(+, luaL_checkinteger(L, 2), 1);
  lua_pushinteger(L, i);
  return lua_geti(L, 1, i) == LUA_TNIL ? 1 : 2;
}

static int base_ipairs(lua_State *L) {
  argument_any(L, 1);
  vm_push_ipairs_step(L, ipairs_step);
  result_argument(L, 1);
  result_integer(L, 0);
  return 3;
}

static int ipairs_direct(lua_State *L, TValue *func, int nargs) {
  (void)L;
  if (nargs < 1) return NOT_DIRECT;
  set_primitive(func, &vm_primitives[PRIM_IPAIRS_STEP]);
  set_int(func + 2, 0);
  return 3;
}

/* Runs select('#', ...), and select of a position that exists. */
static int select_direct(lua_State *L, TValue *func, int nargs) {
  const TValue *first = func + 1;
  (void)L;
  if (nargs < 1) return NOT_DIRECT;
  if (is_string(first) && *as_string(first)->data == '#') {
    set_int(func, nargs - 1);
    return 1;
  }
  if (!is_int(first) || first->v.i < 1 || first->v.i >= nargs) return NOT_DIRECT;
  const int from = (int)first->v.i + 1, count = nargs + 1 - from;
  for (int i = 0; i < count; i++) value_copy(func + i, func + from + i);
  return count;
}

static int base_select(lua_State *L) {
  int count = argument_count(L);
  const TValue *first = argument(L, 1);
  if (is_string(first) && *as_string(first)->data == '#')
    return result_integer(L, count - 1);
  lua_Integer i = argument_integer(L, 1);
  if (i < 0)
    i = count + i;
  else if (i > count)
    i = count;
  luaL_argcheck(L, i >= 1, 1, "index out of range");
  return count - (int)i;
}

/* --------------------------------------------------------------- chunks -- */

/* Pushes the results of load and loadfile. `env` is the stack index of a value for the
 * chunk's first upvalue, or 0 to keep the value that it has. */
static int finish_load(lua_State *L, int status, int env) {
  if (l_unlikely(status != LUA_OK)) {
    luaL_pushfail(L);
    lua_insert(L, -2);
    return 2;
  }
  if (env != 0) {
    lua_pushvalue(L, env);
    if (lua_setupvalue(L, -2, 1) == NULL)
      lua_pop(L, 1); /* a chunk that uses no global has no upvalue */
  }
  return 1;
}

/* Returns the index of the environment, or 0 if none was given. An environment that is
   given as nil counts as given. */
static int optional_env(lua_State *L, int idx) {
  return lua_isnone(L, idx) ? 0 : idx;
}

static int base_loadfile(lua_State *L) {
  const char *filename = luaL_optstring(L, 1, NULL);
  const char *mode = luaL_optstring(L, 2, NULL);
  int env = optional_env(L, 3);
  return finish_load(L, luaL_loadfilex(L, filename, mode), env);
}

/* The stack of load: its four arguments, then the piece that was read last, which must
 * not be collected while the compiler reads it. */
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
  int status;
  const char *mode = luaL_optstring(L, LOAD_MODE, "bt");
  int env = optional_env(L, LOAD_ENV);
  const char *text = lua_tostring(L, LOAD_CHUNK);
  if (text != NULL) {
    const char *name = luaL_optstring(L, LOAD_NAME, text);
    status = vm_load_string(L, as_string(argument(L, LOAD_CHUNK)), name, mode);
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
  return lua_gettop(L) - 1; /* number of results: all values except the file's name */
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

/* Raises the value at index 1; if it is a string, with the position of `level` before
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

static int assert_direct(lua_State *L, TValue *func, int nargs) {
  (void)L;
  if (nargs < 1 || is_falsy(func + 1)) return NOT_DIRECT;
  for (int i = 0; i < nargs; i++) value_copy(func + i, func + i + 1);
  return nargs;
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

/* Returns the results of a protected call that has ended or been resumed: the values
 * above the lowest `hidden` slots. The first of them is `true`. */
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

/* Implements collectgarbage. The most frequent requests are first in the list. Within a
   finalizer the collector refuses each request (-1), and the result is fail. */
static int base_collectgarbage(lua_State *L) {
  static const char *const names[] = {
    "step", "frame", "count", "collect", "stop", "restart", "setpause", "setstepmul",
    "isrunning", "generational", "incremental", NULL};
  static const int codes[] = {
    LUA_GCSTEP, LUA_GCFRAME, LUA_GCCOUNT, LUA_GCCOLLECT, LUA_GCSTOP, LUA_GCRESTART,
    LUA_GCSETPAUSE, LUA_GCSETSTEPMUL, LUA_GCISRUNNING, LUA_GCGEN, LUA_GCINC};
  int what = codes[luaL_checkoption(L, 1, "collect", names)], result;
  switch (what) {
    case LUA_GCCOUNT: {
      result = lua_gc(L, what);
      int rest = lua_gc(L, LUA_GCCOUNTB);
      lua_pushnumber(L, (lua_Number)result + (lua_Number)rest / 1024);
      break;
    }
    case LUA_GCSTEP:
      result = lua_gc(L, what, (int)argument_integer_or(L, 2, 0));
      lua_pushboolean(L, result);
      break;
    case LUA_GCFRAME: {
      /* the argument is in milliseconds, and may be a fraction; microseconds out of range
         count as 0 or as the largest int */
      lua_Number us = luaL_checknumber(L, 2) * 1000;
      result = lua_gc(L, what, us >= INT_MAX ? INT_MAX : us > 0 ? (int)us : 0);
      lua_pushboolean(L, result);
      break;
    }
    case LUA_GCISRUNNING:
      result = lua_gc(L, what);
      lua_pushboolean(L, result);
      break;
    case LUA_GCSETPAUSE: case LUA_GCSETSTEPMUL:
      result = lua_gc(L, what, (int)luaL_optinteger(L, 2, 0));
      lua_pushinteger(L, result);
      break;
    case LUA_GCGEN: {
      int minor = (int)luaL_optinteger(L, 2, 0), major = (int)luaL_optinteger(L, 3, 0);
      result = lua_gc(L, what, minor, major);
      push_mode_name(L, result);
      break;
    }
    case LUA_GCINC: {
      int pause = (int)luaL_optinteger(L, 2, 0), multiplier = (int)luaL_optinteger(L, 3, 0);
      int step = (int)luaL_optinteger(L, 4, 0);
      result = lua_gc(L, what, pause, multiplier, step);
      push_mode_name(L, result);
      break;
    }
    default:
      result = lua_gc(L, what);
      lua_pushinteger(L, result);
  }
  if (result == -1) luaL_pushfail(L);
  return 1;
}

/* -------------------------------------------------------------- opening -- */

int luaopen_base(lua_State *L) {
  static const luaL_Reg functions[] = {
    {"collectgarbage", base_collectgarbage},
    {"dofile", base_dofile},
    {"error", base_error},
    {"load", base_load},
    {"loadfile", base_loadfile},
    {"print", base_print},
    {"rawset", base_rawset},
    {"warn", base_warn},
    {NULL, NULL}};
  static const Primitive direct_functions[] = {
    DIRECT_FUNCTION("assert", base_assert, assert_direct),
    DIRECT_FUNCTION("getmetatable", base_getmetatable, getmetatable_direct),
    DIRECT_FUNCTION("ipairs", base_ipairs, ipairs_direct),
    DIRECT_FUNCTION("pairs", base_pairs, pairs_direct),
    DIRECT_FUNCTION("rawequal", base_rawequal, rawequal_direct),
    DIRECT_FUNCTION("rawget", base_rawget, rawget_direct),
    DIRECT_FUNCTION("rawlen", base_rawlen, rawlen_direct),
    DIRECT_FUNCTION("select", base_select, select_direct),
    DIRECT_FUNCTION("setmetatable", base_setmetatable, setmetatable_direct),
    DIRECT_FUNCTION("tonumber", base_tonumber, tonumber_direct),
    DIRECT_FUNCTION("tostring", base_tostring, tostring_direct),
    DIRECT_FUNCTION("type", base_type, type_direct),
    DIRECT_FUNCTION(NULL, NULL, NULL)};
  lua_pushglobaltable(L);
  luaL_setfuncs(L, functions, 0);
  vm_set_direct_functions(L, direct_functions);
  vm_push_ipairs_step(L, ipairs_step);
  lua_pop(L, 1);
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
