/* SPDX-License-Identifier: MIT */
/* stdlib/table_concat.c: table.concat.
 *
 * Usually all elements are strings and integers in the array part of a plain table. They
 * are then measured, and written into the string that is returned. Otherwise the elements
 * are added to a buffer, one by one.
 */
#include "arguments.h"
#include "gc_inline.h"
#include "integer_text.h"
#include "safe_point.h"
#include "table_access.h"


/* ---- into the result ----------------------------------------------------- */

/* The most elements, and the most bytes of elements, that are handled without a
   safepoint. */
#define IN_PLACE_MOST ((lua_Integer)1 << 17)
#define IN_PLACE_BYTES ((size_t)2 << 20)

typedef struct Parts {
  const TValue *first;
  size_t count;
  const char *separator;
  size_t separator_length;
} Parts;

static size_t decimal_length(lua_Integer n) {
  char text[INTEGER_DECIMAL_MAX], *end = text + sizeof text;
  return (size_t)(end - write_decimal(end, n));
}

/* Returns the number of bytes of all parts, or SIZE_MAX if some are neither strings nor
   integers. */
static size_t measure_parts(const Parts *p) {
  size_t total = (p->count - 1) * p->separator_length;
  for (size_t i = 0; i < p->count; i++) {
    const TValue *o = &p->first[i];
    if (likely(o->tag == TAG_SHORT_STRING)) total += as_string(o)->short_len;
    else if (is_string(o)) total += string_len(as_string(o));
    else if (is_int(o)) total += decimal_length(o->v.i);
    else return SIZE_MAX;
  }
  return total;
}

ALWAYS_INLINE char *copy_part(char *out, const char *s, size_t n) {
  if (n == 1) *out = *s;
  else memcpy(out, s, n);
  return out + n;
}

static void write_parts(const Parts *p, char *out) {
  for (size_t i = 0; i < p->count; i++) {
    const TValue *o = &p->first[i];
    if (i > 0) out = copy_part(out, p->separator, p->separator_length);
    if (is_string(o)) {
      out = copy_part(out, as_string(o)->data, string_len(as_string(o)));
    } else {
      char text[INTEGER_DECIMAL_MAX], *end = text + sizeof text;
      char *start = write_decimal(end, o->v.i);
      out = copy_part(out, start, (size_t)(end - start));
    }
  }
}

/* Measures the elements from `first` to `last` of argument 1. Returns 0 if they cannot be
   written in place. */
static size_t find_parts(lua_State *L, Parts *p, lua_Integer first, lua_Integer last) {
  const Table *t = as_table(argument(L, 1));
  if (first < 1 || last > (lua_Integer)t->array_size || last - first >= IN_PLACE_MOST) return 0;
  p->first = &t->array[first - 1];
  p->count = (size_t)(last - first) + 1;
  size_t total = measure_parts(p);
  return total <= IN_PLACE_BYTES ? total : 0;
}

/* Concatenates the elements in place. Returns false, having done nothing, if that is not
   possible. */
static bool concat_in_place(lua_State *L, lua_Integer first, lua_Integer last,
                            const char *separator, size_t separator_length) {
  if (separator_length > IN_PLACE_BYTES / IN_PLACE_MOST) return false;
  Parts parts = {.separator = separator, .separator_length = separator_length};
  size_t total = find_parts(L, &parts, first, last);
  if (total == 0) return false;
  /* this may collect, and finalizers may change the table */
  if (unlikely(total >= L->domain->heap.ask_from)) {
    gc_make_room(L, total);
    if (find_parts(L, &parts, first, last) != total) return false;
  }
  Result result;
  write_parts(&parts, begin_result_here(L, &result, total));
  finish_result(L, &result);
  return true;
}

/* ---- through a buffer ---------------------------------------------------- */

static void add_element(lua_State *L, luaL_Buffer *b, bool plain, lua_Integer i) {
  int type = plain ? lua_rawgeti(L, 1, i) : lua_geti(L, 1, i);
  if (type == LUA_TSTRING) {
    luaL_addvalue(b);
  } else if (type != LUA_TNUMBER) {
    luaL_error(L, "invalid value (%s) at index %I in table for 'concat'", luaL_typename(L, -1),
               (LUAI_UACINT)i);
  } else if (lua_isinteger(L, -1)) {
    char text[INTEGER_DECIMAL_MAX], *end = text + sizeof text;
    char *start = write_decimal(end, lua_tointeger(L, -1));
    lua_pop(L, 1);
    luaL_addlstring(b, start, (size_t)(end - start));
  } else {
    luaL_addvalue(b);
  }
}

static void concat_in_buffer(lua_State *L, bool plain, lua_Integer i, lua_Integer last,
                             const char *separator, size_t separator_length) {
  luaL_Buffer b;
  ptrdiff_t left = SAFE_POINT_WORK;
  luaL_buffinit(L, &b);
  for (; i < last; i++) {
    vm_work(L, &left, ELEMENT_WORK + separator_length);
    add_element(L, &b, plain, i);
    if (separator_length > 0) luaL_addlstring(&b, separator, separator_length);
  }
  add_element(L, &b, plain, last);
  luaL_pushresult(&b);
}

int tablib_concat(lua_State *L) {
  bool plain = table_check(L, 1, ACCESS_READ | ACCESS_LENGTH);
  lua_Integer size = table_length(L, 1, plain);
  size_t separator_length;
  const char *separator = luaL_optlstring(L, 2, "", &separator_length);
  lua_Integer first = argument_integer_or(L, 3, 1), last = argument_integer_or(L, 4, size);
  if (first > last) return result_name(L, NAME_EMPTY);
  if (!plain || !concat_in_place(L, first, last, separator, separator_length))
    concat_in_buffer(L, plain, first, last, separator, separator_length);
  return 1;
}
