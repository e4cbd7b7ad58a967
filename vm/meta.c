/* SPDX-License-Identifier: MIT */
/* vm/meta.c: operators that may need a metamethod.
 *
 * Each operator exists once, as meta_prepare_*: it completes the operation without a
 * call, or pushes the metamethod and its arguments on the stack top and returns the slot
 * of the function. The interpreter calls the metamethod in its loop; the vm_* forms for
 * the C API, below, call it from C.
 *
 * EXTRA_STACK slots above L->top are always there, so pushing needs no check.
 */
#include "meta.h"

#include <string.h>

#include "call.h"
#include "debug_error.h"
#include "debuginfo.h"
#include "func.h"
#include "gc_inline.h"
#include "known_names.h"
#include "number.h"
#include "str.h"
#include "table.h"
#include "throw.h"

#define MAX_META_CHAIN 2000 /* steps of __index / __newindex before a cycle is assumed */
/* steps of such a chain before the function that detects cycles continues with it */
#define MAX_TABLES 100

const char *const type_names[] = {
#define TYPE_NAME(type, text) [LUA_T##type] = text,
#define NAME(id, text)
#include "known_names.def"
#undef NAME
#undef TYPE_NAME
  [TYPE_PROTO] = "proto", [TYPE_UPVALUE] = "upvalue",
};

const char *type_name(int type) { return type < 0 ? "no value" : type_names[type]; }

const TValue *meta_of(lua_State *L, const TValue *o, Metamethod e) {
  Table *mt = metatable_of(L, o);
  return mt == NULL ? &table_absent : table_get_str(mt, L->domain->meta_names[e]);
}

const char *type_name_of(lua_State *L, const TValue *o) {
  Table *mt = is_table(o)      ? as_table(o)->metatable
              : is_userdata(o) ? as_userdata(o)->metatable
                               : NULL;
  if (mt != NULL) {
    const TValue *name = table_get_str(mt, L->domain->meta_names[META_NAME]);
    if (is_string(name)) return as_string(name)->data;
  }
  return type_name(tag_type(o->tag));
}

/* ---- calls from C -------------------------------------------------------- */

/* Calls a prepared metamethod from C and copies its result to a slot. */
static void call_prepared(lua_State *L, TValue *func, TValue *result) {
  ptrdiff_t off = stack_save(L, result);
  vm_call_noyield(L, func, 1);
  L->top--;
  value_copy(stack_restore(L, off), L->top);
}

static bool call_condition(lua_State *L, TValue *func) {
  vm_call_noyield(L, func, 1);
  L->top--;
  return !is_falsy(L->top);
}

/* ---- indexing ------------------------------------------------------------ */

/* Returns the handler of an access to o, which is not a table or has no such field; NULL
 * if nothing handles it. Raises if o cannot be indexed. */
static const TValue *index_handler(lua_State *L, const TValue *o, Metamethod e) {
  if (is_table(o)) return table_fast_metamethod(L->domain, as_table(o)->metatable, e);
  const TValue *handler = meta_of(L, o, e);
  if (is_nil(handler)) error_type(L, o, "index");
  return handler;
}

#define is_cdata(o) (is_userdata(o) && as_userdata(o)->kind == USERDATA_CDATA)

TValue *meta_prepare_get(lua_State *L, const TValue *o, const TValue *key, TValue *result) {
  if (is_cdata(o) && L->domain->hooks.cdata_get(as_userdata(o), key, result)) return NULL;
  for (int loop = 0; loop < MAX_META_CHAIN; loop++) {
    if (is_table(o)) {
      const TValue *slot = table_get(as_table(o), key);
      if (!is_nil(slot)) {
        value_copy(result, slot);
        return NULL;
      }
    }
    const TValue *handler = index_handler(L, o, META_INDEX);
    if (handler == NULL) {
      set_nil(result);
      return NULL;
    }
    if (is_function(handler)) return meta_push_call(L, handler, o, key);
    o = handler;
  }
  error_run(L, "'__index' chain too long; possible loop");
}

static NOINLINE TValue *get_by_chain(lua_State *L, const TValue *o, const TValue *key,
                                     TValue *result) {
  for (int loop = 0; loop < MAX_TABLES; loop++) {
    const TValue *handler = table_fast_metamethod(L->domain, as_table(o)->metatable, META_INDEX);
    if (handler == NULL) {
      set_nil(result);
      return NULL;
    }
    if (is_function(handler)) return meta_push_call(L, handler, o, key);
    o = handler;
    if (!is_table(o)) break;
    const TValue *slot = table_get(as_table(o), key);
    if (!is_nil(slot)) {
      value_copy(result, slot);
      return NULL;
    }
  }
  return meta_prepare_get(L, o, key, result);
}

/* Gets a field that a table itself does not have. (The most frequent paths call nothing,
   so they save no registers.) */
TValue *meta_get_absent(lua_State *L, const TValue *o, const TValue *key, TValue *result) {
  const Table *mt = as_table(o)->metatable;
  const TValue *handler = mt != NULL ? table_metamethod_in_place(L->domain, mt, META_INDEX) : NULL;
  if (handler == NULL) return get_by_chain(L, o, key, result);
  if (is_function(handler)) return meta_push_call(L, handler, o, key);
  if (is_table(handler) && is_int(key)) {
    const Table *t = as_table(handler);
    uint64_t index = (uint64_t)key->v.i - 1;
    if (index < t->array_size && !is_nil(&t->array[index])) {
      value_copy(result, &t->array[index]);
      return NULL;
    }
  }
  return meta_prepare_get(L, handler, key, result);
}

TValue *meta_prepare_set(lua_State *L, const TValue *o, const TValue *key, const TValue *value) {
  if (is_cdata(o) && L->domain->hooks.cdata_set(as_userdata(o), key, value)) return NULL;
  for (int loop = 0; loop < MAX_META_CHAIN; loop++) {
    const TValue *slot = NULL;
    if (is_table(o)) slot = table_get(as_table(o), key);
    const TValue *handler =
        slot != NULL && !is_nil(slot) ? NULL : index_handler(L, o, META_NEWINDEX);
    if (handler == NULL) {
      table_finish_set(L, as_table(o), key, slot, value);
      return NULL;
    }
    if (is_function(handler)) return meta_push_call3(L, handler, o, key, value);
    o = handler;
  }
  error_run(L, "'__newindex' chain too long; possible loop");
}

static NOINLINE TValue *set_by_chain(lua_State *L, const TValue *o, const TValue *key,
                                     const TValue *slot, const TValue *value) {
  for (int loop = 0; loop < MAX_TABLES; loop++) {
    Table *t = as_table(o);
    const TValue *handler =
        is_nil(slot) ? table_fast_metamethod(L->domain, t->metatable, META_NEWINDEX) : NULL;
    if (handler == NULL) {
      if (slot == &table_absent) gc_make_room_to_grow(L, table_growth(t));
      table_finish_set(L, t, key, slot, value);
      return NULL;
    }
    if (is_function(handler)) return meta_push_call3(L, handler, o, key, value);
    o = handler;
    if (!is_table(o)) break;
    slot = table_get(as_table(o), key);
  }
  return meta_prepare_set(L, o, key, value);
}

TValue *meta_set_at(lua_State *L, const TValue *o, const TValue *key, const TValue *slot,
                    const TValue *value) {
  Table *t = as_table(o);
  const Table *mt = t->metatable;
  if (mt == NULL || (mt->flags & 1u << META_NEWINDEX)) {
    if (slot == &table_absent) gc_make_room_to_grow(L, table_growth(t));
    table_finish_set(L, t, key, slot, value);
    return NULL;
  }
  if (is_nil(slot)) {
    const TValue *handler = table_metamethod_in_place(L->domain, mt, META_NEWINDEX);
    if (handler != NULL && is_function(handler)) return meta_push_call3(L, handler, o, key, value);
    if (handler != NULL && is_table(handler)) {
      o = handler;
      t = as_table(o);
      slot = is_int(key) ? table_get_int(t, key->v.i) : table_get(t, key);
      if (!is_nil(slot)) {
        table_will_set(L->domain, t, key, slot);
        value_copy((TValue *)slot, value);
        gc_barrier_table(L, t, slot, value);
        return NULL;
      }
    }
  }
  return set_by_chain(L, o, key, slot, value);
}

void vm_get(lua_State *L, const TValue *t, const TValue *key, TValue *result) {
  TValue *func = meta_prepare_get(L, t, key, result);
  if (func != NULL) call_prepared(L, func, result);
}

void vm_set(lua_State *L, const TValue *t, const TValue *key, const TValue *value) {
  TValue *func = meta_prepare_set(L, t, key, value);
  if (func != NULL) vm_call_noyield(L, func, 0);
}

/* ---- arithmetic ---------------------------------------------------------- */

static const Metamethod arith_events[] = {
    [LUA_OPADD] = META_ADD,   [LUA_OPSUB] = META_SUB,   [LUA_OPMUL] = META_MUL,
    [LUA_OPMOD] = META_MOD,   [LUA_OPPOW] = META_POW,   [LUA_OPDIV] = META_DIV,
    [LUA_OPIDIV] = META_IDIV, [LUA_OPBAND] = META_BAND, [LUA_OPBOR] = META_BOR,
    [LUA_OPBXOR] = META_BXOR, [LUA_OPSHL] = META_SHL,   [LUA_OPSHR] = META_SHR,
    [LUA_OPUNM] = META_UNM,   [LUA_OPBNOT] = META_BNOT,
};

static bool is_bitwise(int op) { return (op >= LUA_OPBAND && op <= LUA_OPSHR) || op == LUA_OPBNOT; }

_Noreturn static void arith_error(lua_State *L, int op, const TValue *a, const TValue *b) {
  if (is_bitwise(op)) {
    if (is_number(a) && is_number(b)) error_to_int(L, a, b);
    error_arith(L, a, b, "perform bitwise operation on");
  }
  error_arith(L, a, b, "perform arithmetic on");
}

TValue *meta_prepare_arith(lua_State *L, int op, const TValue *a, const TValue *b, TValue *result) {
  TValue value;
  if (number_arith(L, op, a, b, &value)) {
    value_copy(result, &value);
    return NULL;
  }
  Metamethod e = arith_events[op];
  const TValue *handler = meta_of(L, a, e);
  if (is_nil(handler)) handler = meta_of(L, b, e);
  if (is_nil(handler)) arith_error(L, op, a, b);
  return meta_push_call(L, handler, a, b);
}

void vm_arith(lua_State *L, int op, const TValue *a, const TValue *b, TValue *result) {
  TValue *func = meta_prepare_arith(L, op, a, b, result);
  if (func != NULL) call_prepared(L, func, result);
}

TValue *meta_prepare_length(lua_State *L, const TValue *o, TValue *result) {
  const TValue *handler;
  if (is_table(o)) {
    handler = table_fast_metamethod(L->domain, as_table(o)->metatable, META_LEN);
    if (handler == NULL) {
      set_int(result, (int64_t)table_border(as_table(o)));
      return NULL;
    }
  } else if (is_string(o)) {
    set_int(result, (int64_t)string_len(as_string(o)));
    return NULL;
  } else {
    handler = meta_of(L, o, META_LEN);
    if (is_nil(handler)) error_type(L, o, "get length of");
  }
  return meta_push_call(L, handler, o, o);
}

void vm_length(lua_State *L, const TValue *o, TValue *result) {
  TValue *func = meta_prepare_length(L, o, result);
  if (func != NULL) call_prepared(L, func, result);
}

/* ---- comparison ---------------------------------------------------------- */

static const TValue *order_handler(lua_State *L, const TValue *a, const TValue *b, Metamethod e) {
  const TValue *handler = meta_of(L, a, e);
  return is_nil(handler) ? meta_of(L, b, e) : handler;
}

/* Prepares a comparison of order. Without __le, a <= b is computed as not (b < a), as in
 * Lua 5.3 and in 5.4 built to be compatible with it: the frame is marked to take the
 * opposite of the handler's result. */
static TValue *prepare_order(lua_State *L, const TValue *a, const TValue *b, Metamethod e) {
  const TValue *handler = order_handler(L, a, b, e);
  if (!is_nil(handler)) return meta_push_call(L, handler, a, b);
  if (e == META_LE) handler = order_handler(L, b, a, META_LT);
  if (is_nil(handler)) error_compare(L, a, b);
  L->ci->status |= CALL_NEGATE;
  return meta_push_call(L, handler, b, a);
}

TValue *meta_prepare_less(lua_State *L, const TValue *a, const TValue *b, bool *result) {
  if (is_number(a) && is_number(b)) *result = number_less(a, b);
  else if (is_string(a) && is_string(b)) *result = string_compare(as_string(a), as_string(b)) < 0;
  else return prepare_order(L, a, b, META_LT);
  return NULL;
}

TValue *meta_prepare_less_equal(lua_State *L, const TValue *a, const TValue *b, bool *result) {
  if (is_number(a) && is_number(b)) *result = number_less_equal(a, b);
  else if (is_string(a) && is_string(b)) *result = string_compare(as_string(a), as_string(b)) <= 0;
  else return prepare_order(L, a, b, META_LE);
  return NULL;
}

bool vm_less(lua_State *L, const TValue *a, const TValue *b) {
  bool result = false;
  TValue *func = meta_prepare_less(L, a, b, &result);
  return func != NULL ? call_condition(L, func) : result;
}

bool vm_less_equal(lua_State *L, const TValue *a, const TValue *b) {
  bool result = false;
  TValue *func = meta_prepare_less_equal(L, a, b, &result);
  if (func == NULL) return result;
  bool negate = (L->ci->status & CALL_NEGATE) != 0;
  L->ci->status &= ~(uint32_t)CALL_NEGATE;
  return call_condition(L, func) != negate;
}

static bool numbers_equal(const TValue *a, const TValue *b) {
  int64_t i;
  if (is_int(a))
    return is_int(b) ? a->v.i == b->v.i
                     : number_float_to_int(b->v.n, &i, FLOAT_EXACT) && i == a->v.i;
  if (is_float(b)) return a->v.n == b->v.n;
  return number_float_to_int(a->v.n, &i, FLOAT_EXACT) && i == b->v.i;
}

static bool raw_equal(const TValue *a, const TValue *b) {
  if (is_number(a) && is_number(b)) return numbers_equal(a, b);
  if (a->tag != b->tag) return false;
  switch (a->tag) {
    case TAG_NIL: case TAG_FALSE: case TAG_TRUE: return true;
    case TAG_LONG_STRING: return string_equal(as_string(a), as_string(b));
    default: return a->v.p == b->v.p;
  }
}

static const TValue *equality_handler(lua_State *L, const TValue *a, const TValue *b) {
  if (a->tag != b->tag || (!is_table(a) && !is_userdata(a))) return NULL;
  const TValue *handler = table_fast_metamethod(L->domain, metatable_of(L, a), META_EQ);
  return handler != NULL ? handler : table_fast_metamethod(L->domain, metatable_of(L, b), META_EQ);
}

TValue *meta_prepare_equal(lua_State *L, const TValue *a, const TValue *b, bool *result) {
  *result = raw_equal(a, b);
  if (*result) return NULL;
  const TValue *handler = equality_handler(L, a, b);
  return handler == NULL ? NULL : meta_push_call(L, handler, a, b);
}

bool vm_equal(lua_State *L, const TValue *a, const TValue *b) {
  if (L == NULL) return raw_equal(a, b);
  bool result;
  TValue *func = meta_prepare_equal(L, a, b, &result);
  return func != NULL ? call_condition(L, func) : result;
}

/* ---- concatenation ------------------------------------------------------- */

static bool to_string_in_place(lua_State *L, TValue *o) {
  if (is_string(o)) return true;
  if (!is_number(o)) return false;
  String *s = number_to_string(L, o);
  set_string(o, s);
  return true;
}

/* Returns the number of values ending at top that are strings or numbers (which it
 * converts), at most `total`, and sets *length to their length. */
static int count_joinable(lua_State *L, TValue *top, int total, size_t *length) {
  size_t sum = 0;
  int n = 0;
  while (n < total && to_string_in_place(L, top - n - 1)) {
    size_t len = string_len(as_string(top - n - 1));
    if (len >= (size_t)INT64_MAX - sizeof(String) - sum) {
      L->top = top - total;
      error_run(L, "string length overflow");
    }
    sum += len;
    n++;
  }
  *length = sum;
  return n;
}

static void join_strings(char *to, TValue *from, int n) {
  for (int j = 0; j < n; j++) {
    String *s = as_string(&from[j]);
    size_t len = string_len(s);
    memcpy(to, s->data, len);
    to += len;
  }
}

/* Replaces the n strings that end at L->top with their concatenation. */
static void concat_strings(lua_State *L, int n, size_t length) {
  TValue *first = L->top - n;
  String *s;
  if (length <= SHORT_STRING_MAX) {
    char buffer[SHORT_STRING_MAX];
    join_strings(buffer, first, n);
    s = string_new(L, buffer, length);
  } else {
    gc_make_room(L, length);
    s = string_new_long(L, length);
    join_strings(s->data, first, n);
  }
  set_string(first, s);
  L->top = first + 1;
}

static TValue *prepare_concat_call(lua_State *L) {
  const TValue *a = L->top - 2, *b = L->top - 1;
  const TValue *handler = meta_of(L, a, META_CONCAT);
  if (is_nil(handler)) handler = meta_of(L, b, META_CONCAT);
  if (is_nil(handler)) error_concat(L, a, b);
  return meta_push_call(L, handler, a, b);
}

/* Concatenates two strings of which one is empty: the other is the result. Returns false
   in other cases. */
static bool concat_with_empty(lua_State *L) {
  TValue *a = L->top - 2, *b = L->top - 1;
  if (!is_string(a) || !is_string(b)) return false;
  if (unlikely(string_len(as_string(b)) == 0)) L->top = b;
  else if (unlikely(string_len(as_string(a)) == 0)) value_copy(a, b), L->top = b;
  else return false;
  return true;
}

TValue *meta_prepare_concat(lua_State *L, int total) {
  if (total == 2 && concat_with_empty(L)) return NULL;
  while (total > 1) {
    size_t length;
    int n =
        is_string(L->top - 2) || is_number(L->top - 2) ? count_joinable(L, L->top, total, &length)
                                                       : 0;
    if (n < 2) return prepare_concat_call(L);
    concat_strings(L, n, length);
    total -= n - 1;
  }
  return NULL;
}

void vm_concat(lua_State *L, int n) {
  if (n == 0) {
    set_string(L->top, string_new(L, "", 0));
    L->top++;
    return;
  }
  ptrdiff_t bottom = stack_save(L, L->top - n);
  for (TValue *func; (func = meta_prepare_concat(L, n)) != NULL;) {
    vm_call_noyield(L, func, 1);
    L->top -= 2; /* the result replaces the two operands below it */
    value_copy(L->top - 1, L->top + 1);
    n = (int)(L->top - stack_restore(L, bottom));
  }
}

/* ---- to-be-closed variables ---------------------------------------------- */

void vm_new_tbc(lua_State *L, TValue *level) {
  if (is_falsy(level)) return;
  if (is_nil(meta_of(L, level, META_CLOSE))) {
    TValue *slot;
    const char *name = debug_find_local(L, L->ci, (int)(level - L->ci->func), &slot);
    error_run(L, "variable '%s' got a non-closable value", name != NULL ? name : "?");
  }
  level->extra = (uint32_t)(level - L->tbc_list);
  L->tbc_list = level;
}

TValue *meta_prepare_close(lua_State *L, TValue *level, const TValue *err) {
  upvalue_close(L, level);
  if (L->tbc_list < level) return NULL;
  TValue *slot = L->tbc_list, error_value;
  L->tbc_list -= slot->extra;
  if (err == NULL) set_nil(&error_value);
  else value_copy(&error_value, err);
  if (err != NULL) { /* cuts the stack to the variable, with the error right above it */
    value_copy(slot + 1, &error_value);
    L->top = slot + 2;
  }
  /* the metamethod is nil if the program has removed it */
  return meta_push_call(L, meta_of(L, slot, META_CLOSE), slot, &error_value);
}
