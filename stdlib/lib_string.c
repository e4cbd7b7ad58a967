/* SPDX-License-Identifier: MIT */
/* stdlib/lib_string.c: the string library.
 *
 * Here are the functions on bytes and whole strings, string.dump, and the metatable that
 * strings share: `__index` is the library, and the arithmetic metamethods convert strings
 * that hold numerals. Patterns, format and pack have files of their own (string_match.c,
 * string_format.c, string_pack.c).
 */
#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "arguments.h"
#include "char_class.h"
#include "compiler.h"
#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"
#include "number.h"
#include "safe_point.h"
#include "string_format.h"
#include "string_match.h"
#include "string_pack.h"
#include "string_position.h"
#include "thread.h"

/* The longest string that string.rep makes: the limit of PUC-Lua. With it, a mistake
 * raises an error at once instead of making gigabytes. */
#define STRING_SIZE_LIMIT ((size_t)INT_MAX)

/* ---- parts --------------------------------------------------------------- */

static int strlib_len(lua_State *L) {
  size_t length;
  argument_string(L, 1, &length);
  return result_integer(L, (lua_Integer)length);
}

static int strlib_sub(lua_State *L) {
  size_t length;
  const char *s = argument_string(L, 1, &length);
  size_t first = position_start(argument_integer(L, 2), length);
  size_t last = position_end(argument_integer_or(L, 3, -1), length);
  if (first > last) return result_name(L, NAME_EMPTY);
  if (first == 1 && last == length) return result_argument(L, 1);
  return result_string(L, s + first - 1, last - first + 1);
}

/* Runs string.sub(s, i [, j]). */
static int sub_direct(lua_State *L, TValue *func, int nargs) {
  const TValue *s = func + 1, *i = func + 2, *j = func + 3;
  if (nargs < 2 || !is_string(s) || !is_int(i) || (nargs > 2 && !is_int(j))) return NOT_DIRECT;
  const size_t length = string_len(as_string(s)), first = position_start(i->v.i, length),
               last = nargs > 2 ? position_end(j->v.i, length) : length;
  if (first > last) {
    set_string(func, L->domain->names[NAME_EMPTY]);
    return 1;
  }
  if (first == 1 && last == length) {
    value_copy(func, s);
    return 1;
  }
  return direct_string(L, func, as_string(s)->data + first - 1, last - first + 1);
}

/* Runs string.byte(s [, i]) for a byte that exists. */
static int byte_direct(lua_State *L, TValue *func, int nargs) {
  const TValue *s = func + 1, *i = func + 2;
  (void)L;
  if (nargs < 1 || nargs > 2 || !is_string(s) || (nargs > 1 && !is_int(i))) return NOT_DIRECT;
  const size_t length = string_len(as_string(s));
  lua_Integer at = nargs > 1 ? i->v.i : 1;
  if (at < 0) at += (lua_Integer)length + 1;
  if (unlikely(at < 1 || at > (lua_Integer)length)) return NOT_DIRECT;
  set_int(func, (unsigned char)as_string(s)->data[at - 1]);
  return 1;
}

static int len_direct(lua_State *L, TValue *func, int nargs) {
  (void)L;
  if (nargs < 1 || !is_string(func + 1)) return NOT_DIRECT;
  set_int(func, (lua_Integer)string_len(as_string(func + 1)));
  return 1;
}

/* Runs string.char of one byte. */
static int char_direct(lua_State *L, TValue *func, int nargs) {
  if (nargs != 1 || !is_int(func + 1) || (lua_Unsigned)func[1].v.i > UCHAR_MAX) return NOT_DIRECT;
  const char byte = (char)func[1].v.i;
  return direct_string(L, func, &byte, 1);
}

static int strlib_byte(lua_State *L) {
  size_t length;
  const char *s = argument_string(L, 1, &length);
  lua_Integer position = argument_integer_or(L, 2, 1);
  size_t first = position_start(position, length);
  size_t last = position_end(argument_integer_or(L, 3, position), length);
  if (first > last) return 0;
  size_t count = last - first + 1;
  if (count >= INT_MAX) return luaL_error(L, "string slice too long");
  if (count > LUA_MINSTACK / 2) luaL_checkstack(L, (int)count, "string slice too long");
  TValue *to = L->top;
  for (size_t i = 0; i < count; i++) set_int(to + i, (unsigned char)s[first - 1 + i]);
  L->top = to + count;
  return (int)count;
}

static int strlib_char(lua_State *L) {
  int count = argument_count(L);
  Result result;
  char *out = begin_result(L, &result, (size_t)count);
  for (int i = 1; i <= count; i++) {
    lua_Unsigned c = (lua_Unsigned)argument_integer(L, i);
    luaL_argcheck(L, c <= UCHAR_MAX, i, "value out of range");
    out[i - 1] = (char)c;
  }
  return finish_result(L, &result);
}

/* ---- whole strings ------------------------------------------------------- */

static int strlib_reverse(lua_State *L) {
  size_t length;
  const char *s = argument_string(L, 1, &length);
  Result result;
  char *out = begin_result(L, &result, length);
  const char *from = s + length;
  size_t i = 0;
  for (uint64_t eight; length - i >= sizeof eight; i += sizeof eight) {
    memcpy(&eight, from -= sizeof eight, sizeof eight);
    eight = __builtin_bswap64(eight);
    memcpy(out + i, &eight, sizeof eight);
  }
  for (; i < length; i++) out[i] = *--from;
  return finish_result(L, &result);
}

static const CharClasses *require_classes(lua_State *L) {
  const CharClasses *classes = char_classes();
  if (classes == NULL) luaL_error(L, "not enough memory");
  return classes;
}

#define EACH_BYTE UINT64_C(0x0101010101010101)
#define TOP_BITS (EACH_BYTE * 0x80)

/* Changes the case of eight bytes, where they are letters from `first` on. */
static inline uint64_t switch_case(uint64_t bytes, unsigned first) {
  uint64_t low = bytes & ~TOP_BITS; /* sums of a byte do not reach the next one */
  uint64_t from_first = low + EACH_BYTE * (0x80 - first),
           beyond = low + EACH_BYTE * (0x80 - first - 26);
  return bytes ^ (from_first & ~beyond & ~bytes & TOP_BITS) >> 2;
}

/* Pushes a string with its bytes mapped. `first` is the first letter that the map changes
   in the C locale. */
static int push_mapped(lua_State *L, const unsigned char *map, bool ascii_case, unsigned first) {
  size_t length, i = 0;
  const char *s = argument_string(L, 1, &length);
  Result result;
  char *out = begin_result(L, &result, length);
  if (ascii_case)
    for (uint64_t eight; length - i >= sizeof eight; i += sizeof eight) {
      memcpy(&eight, s + i, sizeof eight);
      eight = switch_case(eight, first);
      memcpy(out + i, &eight, sizeof eight);
    }
  for (; i < length; i++) out[i] = (char)map[(unsigned char)s[i]];
  return finish_result(L, &result);
}

static int strlib_lower(lua_State *L) {
  const CharClasses *classes = require_classes(L);
  return push_mapped(L, classes->lower, classes->ascii_case, 'A');
}

static int strlib_upper(lua_State *L) {
  const CharClasses *classes = require_classes(L);
  return push_mapped(L, classes->upper, classes->ascii_case, 'a');
}

#define REPEAT_STEP ((size_t)1 << 20) /* bytes from one safepoint to the next */

/* Fills out[0, total) with copies of out[0, unit). A step ends where the next safepoint
   is due. So a step may begin and end within a unit. */
static void repeat_unit(lua_State *L, char *out, size_t unit, size_t total) {
  ptrdiff_t left = SAFE_POINT_WORK;
  for (size_t done = unit, step; done < total; done += step) {
    step = total - done < REPEAT_STEP ? total - done : REPEAT_STEP;
    if (unit == 1) {
      memset(out + done, *out, step);
    } else {
      size_t phase = done % unit; /* position of out[done] within its unit */
      if (step > done - phase) step = done - phase;
      memcpy(out + done, out + phase, step);
    }
    vm_work(L, &left, step / 4);
  }
}

/* Pushes n > 0 copies of s with `separator` between them: one unit, string and separator,
 * is written over and over, and cut before the last separator. */
static int push_repeated(lua_State *L, const char *s, size_t length, const char *separator,
                         size_t separator_length, lua_Integer n) {
  size_t unit = length + separator_length;
  if (unit < length || unit > STRING_SIZE_LIMIT / (lua_Unsigned)n)
    return luaL_error(L, "resulting string too large");
  size_t total = unit * (size_t)n - separator_length;
  Result result;
  char *out = begin_result(L, &result, total);
  memcpy(out, s, length);
  if (n > 1) {
    memcpy(out + length, separator, separator_length);
    repeat_unit(L, out, unit, total);
  }
  return finish_result(L, &result);
}

static int strlib_rep(lua_State *L) {
  size_t length, separator_length;
  const char *s = argument_string(L, 1, &length);
  lua_Integer n = argument_integer(L, 2);
  const char *separator = luaL_optlstring(L, 3, "", &separator_length);
  if (n <= 0 || length + separator_length == 0) return result_name(L, NAME_EMPTY);
  return push_repeated(L, s, length, separator, separator_length, n);
}

/* ---- dump ---------------------------------------------------------------- */

/* The target of string.dump. The buffer is opened with the first piece, because until
 * then the function to dump must be on top of the stack. */
typedef struct DumpTarget {
  bool is_open;
  luaL_Buffer buffer;
} DumpTarget;

static int add_piece(lua_State *L, const void *piece, size_t size, void *data) {
  DumpTarget *target = data;
  if (!target->is_open) {
    luaL_buffinit(L, &target->buffer);
    target->is_open = true;
  }
  luaL_addlstring(&target->buffer, piece, size);
  return 0;
}

static int strlib_dump(lua_State *L) {
  DumpTarget target = {.is_open = false};
  int strip = lua_toboolean(L, 2);
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_settop(L, 1);
  if (lua_dump(L, add_piece, &target, strip) != 0)
    return luaL_error(L, "unable to dump given function");
  luaL_pushresult(&target.buffer);
  chunk_note_sound(as_string(L->top - 1));
  return 1;
}

/* ---- arithmetic on strings ----------------------------------------------- */

/* Reads the argument as a number. Returns false if it is neither a number nor a string
   that reads as one. */
static bool read_number(lua_State *L, int arg, TValue *number) {
  const TValue *o = argument(L, arg);
  if (is_string(o)) return number_parse(as_string(o)->data, number) == string_len(as_string(o)) + 1;
  value_copy(number, o);
  return is_number(o);
}

/* Calls the metamethod of the second operand, for operands that are not both numbers. The
 * metamethod of the first operand has been tried already, or that operand is a string. */
static int call_other_metamethod(lua_State *L, const char *event) {
  lua_settop(L, 2);
  if (lua_type(L, 2) == LUA_TSTRING || !luaL_getmetafield(L, 2, event))
    return luaL_error(L, "attempt to %s a '%s' with a '%s'", event + 2, luaL_typename(L, 1),
                      luaL_typename(L, 2));
  lua_insert(L, 1);
  lua_call(L, 2, 1);
  return 1;
}

static int string_arithmetic(lua_State *L, int op, const char *event) {
  TValue a, b;
  if (!read_number(L, 1, &a) || !read_number(L, 2, &b)) return call_other_metamethod(L, event);
  /* two numbers: no metamethods */
  number_arith(L, op, op == LUA_OPUNM ? &b : &a, &b, L->top);
  api_push(L);
  return 1;
}

static int strlib_add(lua_State *L) { return string_arithmetic(L, LUA_OPADD, "__add"); }
static int strlib_minus(lua_State *L) { return string_arithmetic(L, LUA_OPSUB, "__sub"); }
static int strlib_mul(lua_State *L) { return string_arithmetic(L, LUA_OPMUL, "__mul"); }
static int strlib_mod(lua_State *L) { return string_arithmetic(L, LUA_OPMOD, "__mod"); }
static int strlib_pow(lua_State *L) { return string_arithmetic(L, LUA_OPPOW, "__pow"); }
static int strlib_div(lua_State *L) { return string_arithmetic(L, LUA_OPDIV, "__div"); }
static int strlib_idiv(lua_State *L) { return string_arithmetic(L, LUA_OPIDIV, "__idiv"); }
static int strlib_unm(lua_State *L) { return string_arithmetic(L, LUA_OPUNM, "__unm"); }

/* ---- the library --------------------------------------------------------- */

static const luaL_Reg metamethods[] = {
    {"__add", strlib_add},   {"__sub", strlib_minus}, {"__mul", strlib_mul},
    {"__mod", strlib_mod},   {"__pow", strlib_pow},      {"__div", strlib_div},
    {"__idiv", strlib_idiv}, {"__unm", strlib_unm},      {NULL, NULL},
};

static const luaL_Reg functions[] = {
    {"dump", strlib_dump},         {"format", strlib_format},   {"lower", strlib_lower},
    {"pack", strlib_pack},         {"packsize", strlib_packsize}, {"rep", strlib_rep},
    {"reverse", strlib_reverse},   {"unpack", strlib_unpack},   {"upper", strlib_upper},
    {NULL, NULL},
};

static const Primitive direct_functions[] = {
    DIRECT_FUNCTION("byte", strlib_byte, byte_direct),
    DIRECT_FUNCTION("char", strlib_char, char_direct),
    DIRECT_FUNCTION("len", strlib_len, len_direct),
    DIRECT_FUNCTION("sub", strlib_sub, sub_direct),
    DIRECT_FUNCTION(NULL, NULL, NULL),
};

/* Gives all strings a metatable; the library's table is on top of the stack. */
static void set_string_metatable(lua_State *L) {
  lua_pushliteral(L, "");
  luaL_newlib(L, metamethods);
  lua_pushvalue(L, -3);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
  lua_pop(L, 1);
}

int luaopen_string(lua_State *L) {
  require_classes(L);
  luaL_newlib(L, functions);
  vm_set_direct_functions(L, direct_functions);
  string_match_open(L);
  set_string_metatable(L);
  return 1;
}
