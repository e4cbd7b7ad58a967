/* SPDX-License-Identifier: MIT */
/* stdlib/lib_table.c: the table library, except sort (table_sort.c). */
#include <limits.h>

#include "gc_inline.h"
#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"
#include "primitives.h"
#include "safe_point.h"
#include "table.h"
#include "table_access.h"
#include "table_range.h"

/* ---- access -------------------------------------------------------------- */

/* Tells whether the metatable, on top of the stack, has this field. */
static bool has_field(lua_State *L, const char *name) {
  lua_pushstring(L, name);
  bool found = lua_rawget(L, -2) != LUA_TNIL;
  lua_pop(L, 1);
  return found;
}

/* Tells whether a value that is not a table can replace one; its metatable is on top. */
static bool acts_as_table(lua_State *L, unsigned access) {
  return (!(access & ACCESS_READ) || has_field(L, "__index")) &&
         (!(access & ACCESS_WRITE) || has_field(L, "__newindex")) &&
         (!(access & ACCESS_LENGTH) || has_field(L, "__len"));
}

bool table_check(lua_State *L, int arg, unsigned access) {
  bool is_table = lua_type(L, arg) == LUA_TTABLE;
  if (!lua_getmetatable(L, arg)) {
    if (!is_table) luaL_checktype(L, arg, LUA_TTABLE);
    return true;
  }
  if (!is_table && !acts_as_table(L, access)) luaL_checktype(L, arg, LUA_TTABLE);
  lua_pop(L, 1);
  return false;
}

lua_Integer table_length(lua_State *L, int arg, bool plain) {
  return plain ? (lua_Integer)lua_rawlen(L, arg) : luaL_len(L, arg);
}

/* Copies an element: t[to] = t[from]. */
static inline void copy_element(lua_State *L, bool plain, lua_Integer from, lua_Integer to) {
  element_get(L, 1, plain, from);
  element_set(L, 1, plain, to);
}

/* Returns how many of `left` elements move at once. */
static inline lua_Integer piece_of(lua_Integer left) {
  return left < RANGE_PIECE ? left : RANGE_PIECE;
}

/* Moves the elements [first, last] up by one, beginning with the last. */
static void shift_up(lua_State *L, bool plain, lua_Integer first, lua_Integer last) {
  ptrdiff_t left = SAFE_POINT_WORK;
  while (last >= first) {
    lua_Integer n = piece_of(last - first + 1);
    if (!plain || !table_copy_range(L, 1, last - n + 1, 1, last - n + 2, n)) {
      n = 1;
      copy_element(L, plain, last, luaL_intop(+, last, 1));
    }
    last -= n;
    vm_work(L, &left, n == 1 ? ELEMENT_WORK : (size_t)n);
  }
}

/* Moves the elements [first, last] down by one. */
static void shift_down(lua_State *L, bool plain, lua_Integer first, lua_Integer last) {
  ptrdiff_t left = SAFE_POINT_WORK;
  while (first <= last) {
    lua_Integer n = piece_of(last - first + 1);
    if (!plain || !table_copy_range(L, 1, first, 1, first - 1, n)) {
      n = 1;
      copy_element(L, plain, first, first - 1);
    }
    if (first > LUA_MAXINTEGER - n) return;
    first += n;
    vm_work(L, &left, n == 1 ? ELEMENT_WORK : (size_t)n);
  }
}

/* ---- insert and remove --------------------------------------------------- */

/* Inserts the value on top of the stack. */
static void insert_at(lua_State *L, bool plain, lua_Integer size, lua_Integer position) {
  /* unsigned, so that a position below 1 is too large */
  luaL_argcheck(L, (lua_Unsigned)position - 1 < (lua_Unsigned)size + 1, 2,
                "position out of bounds");
  if (luaL_intop(+, size, 1) > position) shift_up(L, plain, position, size);
  element_set(L, 1, plain, position);
}

static int tablib_insert(lua_State *L) {
  bool plain = table_check(L, 1, ACCESS_READ | ACCESS_WRITE | ACCESS_LENGTH);
  lua_Integer size = table_length(L, 1, plain);
  switch (lua_gettop(L)) {
    case 2: element_set(L, 1, plain, luaL_intop(+, size, 1)); return 0;
    case 3: insert_at(L, plain, size, luaL_checkinteger(L, 2)); return 0;
    default: return luaL_error(L, "wrong number of arguments to 'insert'");
  }
}

/* Runs table.insert(t, value) for a plain table that has room. */
static int insert_direct(lua_State *L, TValue *func, int nargs) {
  if (nargs != 2 || !is_table(func + 1)) return NOT_DIRECT;
  Table *t = as_table(func + 1);
  if (t->metatable != NULL) return NOT_DIRECT;
  const uint64_t size = table_border(t);
  if (unlikely(size >= t->array_size)) return NOT_DIRECT;
  value_copy(&t->array[size], func + 2);
  gc_barrier_table(L, t, &t->array[size], func + 2);
  return 0;
}

/* Runs table.remove(t) for a plain table whose last element is in the array part. */
static int remove_direct(lua_State *L, TValue *func, int nargs) {
  (void)L;
  if (nargs != 1 || !is_table(func + 1)) return NOT_DIRECT;
  Table *t = as_table(func + 1);
  if (t->metatable != NULL) return NOT_DIRECT;
  const uint64_t size = table_border(t);
  if (unlikely(size == 0 || size > t->array_size)) return NOT_DIRECT;
  value_copy(func, &t->array[size - 1]);
  set_nil(&t->array[size - 1]);
  return 1;
}

static int tablib_remove(lua_State *L) {
  bool plain = table_check(L, 1, ACCESS_READ | ACCESS_WRITE | ACCESS_LENGTH);
  lua_Integer size = table_length(L, 1, plain);
  lua_Integer position = luaL_optinteger(L, 2, size);
  if (position != size)
    luaL_argcheck(L, (lua_Unsigned)position - 1 <= (lua_Unsigned)size, 2,
                  "position out of bounds");
  int type = element_get(L, 1, plain, position);
  /* there is nothing to erase */
  if (plain && type == LUA_TNIL && position >= size) return 1;
  if (position < size) {
    shift_down(L, plain, position + 1, size);
    position = size;
  }
  lua_pushnil(L);
  element_set(L, 1, plain, position);
  return 1;
}

/* ---- move ---------------------------------------------------------------- */

typedef struct Move {
  int target; /* stack index */
  bool source_plain;
  bool target_plain;
  lua_Integer first, last; /* range of the source */
  lua_Integer to;
  ptrdiff_t work_left; /* safe_point.h */
} Move;

/* Tells whether elements must be moved from the last to the first: the target range
 * begins inside the source range of the same table. */
static bool must_go_backward(lua_State *L, const Move *m) {
  if (m->to <= m->first || m->to > m->last) return false;
  return m->target == 1 || lua_compare(L, 1, m->target, LUA_OPEQ);
}

static inline void move_element(lua_State *L, Move *m, lua_Integer i) {
  element_get(L, 1, m->source_plain, m->first + i);
  element_set(L, m->target, m->target_plain, m->to + i);
  vm_work(L, &m->work_left, ELEMENT_WORK);
}

/* Moves the elements [i, i + n) at once. Returns false if they must be moved one by
   one. */
static bool move_piece(lua_State *L, Move *m, lua_Integer i, lua_Integer n) {
  if (!m->source_plain || !m->target_plain) return false;
  if (!table_copy_range(L, 1, m->first + i, m->target, m->to + i, n)) return false;
  vm_work(L, &m->work_left, (size_t)n);
  return true;
}

static void move_elements(lua_State *L, Move *m) {
  luaL_argcheck(L, m->first > 0 || m->last < LUA_MAXINTEGER + m->first, 3,
                "too many elements to move");
  lua_Integer count = m->last - m->first + 1;
  luaL_argcheck(L, m->to <= LUA_MAXINTEGER - count + 1, 4, "destination wrap around");
  if (must_go_backward(L, m)) {
    for (lua_Integer i = count, n; i > 0; i -= n) {
      n = piece_of(i);
      if (!move_piece(L, m, i - n, n)) move_element(L, m, i - (n = 1));
    }
  } else {
    for (lua_Integer i = 0, n; i < count; i += n) {
      n = piece_of(count - i);
      if (!move_piece(L, m, i, n)) move_element(L, m, i), n = 1;
    }
  }
}

static int tablib_move(lua_State *L) {
  Move m;
  m.work_left = SAFE_POINT_WORK;
  m.first = luaL_checkinteger(L, 2);
  m.last = luaL_checkinteger(L, 3);
  m.to = luaL_checkinteger(L, 4);
  m.target = lua_isnoneornil(L, 5) ? 1 : 5;
  m.source_plain = table_check(L, 1, ACCESS_READ);
  m.target_plain = table_check(L, m.target, ACCESS_WRITE);
  if (m.first <= m.last) move_elements(L, &m);
  lua_pushvalue(L, m.target);
  return 1;
}

/* ---- pack and unpack ----------------------------------------------------- */

static int tablib_pack(lua_State *L) {
  int count = lua_gettop(L);
  lua_createtable(L, count, 1);
  lua_insert(L, 1);
  for (int i = count; i > 0; i--) lua_rawseti(L, 1, i);
  lua_pushinteger(L, count);
  lua_setfield(L, 1, "n");
  return 1;
}

static bool is_plain_table(lua_State *L, int arg) {
  if (lua_type(L, arg) != LUA_TTABLE) return false;
  if (!lua_getmetatable(L, arg)) return true;
  lua_pop(L, 1);
  return false;
}

static int tablib_unpack(lua_State *L) {
  lua_Integer first = luaL_optinteger(L, 2, 1);
  bool plain = is_plain_table(L, 1);
  lua_Integer last = lua_isnoneornil(L, 3) ? table_length(L, 1, plain) : luaL_checkinteger(L, 3);
  if (first > last) return 0;
  /* the number of elements less one */
  lua_Unsigned count = (lua_Unsigned)last - (lua_Unsigned)first;
  if (count >= INT_MAX || (++count > LUA_MINSTACK / 2 && !lua_checkstack(L, (int)count)))
    return luaL_error(L, "too many results to unpack");
  for (lua_Integer i = first; i < last; i++) element_get(L, 1, plain, i);
  element_get(L, 1, plain, last);
  return (int)count;
}

/* Runs table.unpack(t [, i [, j]]) for few elements of a plain table, which are in its
   array part. */
static int unpack_direct(lua_State *L, TValue *func, int nargs) {
  (void)L;
  if (nargs < 1 || nargs > 3 || !is_table(func + 1)) return NOT_DIRECT;
  Table *t = as_table(func + 1);
  if (t->metatable != NULL || (nargs > 1 && !is_int(func + 2)) || (nargs > 2 && !is_int(func + 3)))
    return NOT_DIRECT;
  const uint64_t first = nargs > 1 ? (uint64_t)func[2].v.i : 1,
                 last = nargs > 2 ? (uint64_t)func[3].v.i : table_border(t);
  if (first - 1 >= t->array_size || last > t->array_size || last < first ||
      last - first >= (uint64_t)(nargs + DIRECT_RESULTS))
    return NOT_DIRECT;
  const int count = (int)(last - first) + 1;
  for (int i = 0; i < count; i++) value_copy(func + i, &t->array[first - 1 + (uint64_t)i]);
  return count;
}

static const luaL_Reg functions[] = {
    {"concat", tablib_concat}, {"move", tablib_move}, {"pack", tablib_pack},
    {"sort", tablib_sort},     {NULL, NULL},
};

static const Primitive direct_functions[] = {
    DIRECT_FUNCTION("insert", tablib_insert, insert_direct),
    DIRECT_FUNCTION("remove", tablib_remove, remove_direct),
    DIRECT_FUNCTION("unpack", tablib_unpack, unpack_direct),
    DIRECT_FUNCTION(NULL, NULL, NULL),
};

int luaopen_table(lua_State *L) {
  luaL_newlib(L, functions);
  vm_set_direct_functions(L, direct_functions);
  return 1;
}
