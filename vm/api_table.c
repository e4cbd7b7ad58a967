/* SPDX-License-Identifier: MIT */
/* vm/api_table.c: C API: access to tables, with and without metamethods. */
#include "api.h"

#include <string.h>

#include "gc_inline.h"
#include "meta.h"
#include "thread.h"

/* ---- reading ------------------------------------------------------------- */

ALWAYS_INLINE int top_type(lua_State *L) { return tag_type((L->top - 1)->tag); }

/* Replaces the key on top of the stack by container[key], the slow way. */
static NOINLINE int get_through_metamethod(lua_State *L, const TValue *container) {
  vm_get(L, container, L->top - 1, L->top - 1);
  api_note_write(L);
  return top_type(L);
}

/* Pushes container[key]. */
static int get_string_key(lua_State *L, const TValue *container, const char *k) {
  String *key = string_new(L, k, strlen(k));
  if (likely(is_table(container) && key->type == TYPE_SHORT_STRING)) {
    const TValue *value = table_get_str(as_table(container), key);
    if (likely(!is_nil(value) || as_table(container)->metatable == NULL)) {
      api_push_value(L, value);
      return top_type(L);
    }
  }
  api_push_string(L, key);
  return get_through_metamethod(L, container);
}

static const TValue *globals_slot(lua_State *L) {
  return table_get_int(as_table(&L->domain->registry), LUA_RIDX_GLOBALS);
}

int lua_getglobal(lua_State *L, const char *name) {
  return get_string_key(L, globals_slot(L), name);
}

int lua_getfield(lua_State *L, int idx, const char *k) {
  return get_string_key(L, api_slot(L, idx), k);
}

int lua_gettable(lua_State *L, int idx) {
  const TValue *container = api_slot(L, idx);
  if (likely(is_table(container))) {
    const TValue *value = table_get(as_table(container), L->top - 1);
    if (likely(!is_nil(value) || as_table(container)->metatable == NULL)) {
      value_copy(L->top - 1, value);
      api_note_write(L);
      return top_type(L);
    }
  }
  return get_through_metamethod(L, container);
}

int lua_geti(lua_State *L, int idx, lua_Integer n) {
  const TValue *container = api_slot(L, idx);
  if (likely(is_table(container))) {
    const TValue *value = table_get_int(as_table(container), n);
    if (likely(!is_nil(value) || as_table(container)->metatable == NULL)) {
      api_push_value(L, value);
      return top_type(L);
    }
  }
  set_int(L->top, n);
  api_push(L);
  return get_through_metamethod(L, container);
}

int lua_rawget(lua_State *L, int idx) {
  value_copy(L->top - 1, table_get(api_table(L, idx), L->top - 1));
  api_note_write(L);
  return top_type(L);
}

int lua_rawgeti(lua_State *L, int idx, lua_Integer n) {
  api_push_value(L, table_get_int(api_table(L, idx), n));
  return top_type(L);
}

int lua_rawgetp(lua_State *L, int idx, const void *p) {
  TValue key;
  set_light(&key, (void *)p);
  api_push_value(L, table_get(api_table(L, idx), &key));
  return top_type(L);
}

/* ---- writing ----------------------------------------------------------------
 *
 * Each function for writing ends with a gc_check: a loop of stores must not pile up work
 * for the collector. */

/* Sets container[key] = value if no metamethod applies: the field exists, or the table
 * has no metatable. Returns false if one may apply. `slot` is the result of looking up
 * the key. */
ALWAYS_INLINE bool store_plain(lua_State *L, Table *t, const TValue *key, const TValue *slot,
                               const TValue *value) {
  if (likely(!is_nil(slot))) {
    table_will_set(L->domain, t, key, slot);
    value_copy((TValue *)slot, value);
    gc_barrier_table(L, t, slot, value);
    return true;
  }
  if (t->metatable != NULL) return false;
  table_finish_set(L, t, key, slot, value);
  return true;
}

/* Sets container[k] to the value on top, which is popped. */
static void set_string_key(lua_State *L, const TValue *container, const char *k) {
  api_check_values(L, 1);
  TValue key;
  /* there is no collection before the key is stored */
  set_string(&key, string_new(L, k, strlen(k)));
  if (likely(is_table(container))) {
    Table *t = as_table(container);
    if (store_plain(L, t, &key, table_get(t, &key), L->top - 1)) {
      L->top--;
      gc_check(L);
      return;
    }
  }
  api_push_value(L, &key);
  vm_set(L, container, L->top - 1, L->top - 2);
  L->top -= 2;
}

void lua_setglobal(lua_State *L, const char *name) { set_string_key(L, globals_slot(L), name); }

void lua_setfield(lua_State *L, int idx, const char *k) { set_string_key(L, api_slot(L, idx), k); }

void lua_settable(lua_State *L, int idx) {
  api_check_values(L, 2);
  const TValue *container = api_slot(L, idx), *key = L->top - 2, *value = L->top - 1;
  if (!is_table(container) ||
      !store_plain(L, as_table(container), key, table_get(as_table(container), key), value))
    vm_set(L, container, key, value);
  L->top -= 2;
  gc_check(L);
}

void lua_seti(lua_State *L, int idx, lua_Integer n) {
  api_check_values(L, 1);
  const TValue *container = api_slot(L, idx);
  TValue key;
  set_int(&key, n);
  if (likely(is_table(container))) {
    Table *t = as_table(container);
    if (store_plain(L, t, &key, table_get_int(t, n), L->top - 1)) {
      L->top--;
      gc_check(L);
      return;
    }
  }
  api_push_value(L, &key);
  vm_set(L, container, L->top - 1, L->top - 2);
  L->top -= 2;
}

void lua_rawset(lua_State *L, int idx) {
  api_check_values(L, 2);
  table_set(L, api_table(L, idx), L->top - 2, L->top - 1);
  L->top -= 2;
  gc_check(L);
}

void lua_rawseti(lua_State *L, int idx, lua_Integer n) {
  api_check_values(L, 1);
  table_set_int(L, api_table(L, idx), n, L->top - 1);
  L->top--;
  gc_check(L);
}

void lua_rawsetp(lua_State *L, int idx, const void *p) {
  TValue key;
  api_check_values(L, 1);
  set_light(&key, (void *)p);
  table_set(L, api_table(L, idx), &key, L->top - 1);
  L->top--;
  gc_check(L);
}

/* ---- whole tables -------------------------------------------------------- */

void lua_createtable(lua_State *L, int narr, int nrec) {
  Table *t = table_new(L, narr > 0 ? (uint32_t)narr : 0, nrec > 0 ? (uint32_t)nrec : 0);
  set_table(L->top, t);
  api_note_write(L);
  api_push(L);
  gc_check(L);
}

/* Replaces the key on top with the next key, and pushes its value; or pops the key at the
   end. */
int lua_next(lua_State *L, int idx) {
  api_check_values(L, 1);
  if (!table_next(L, api_table(L, idx), L->top - 1)) {
    L->top--;
    return 0;
  }
  api_note_write(L);
  api_push(L);
  return 1;
}
