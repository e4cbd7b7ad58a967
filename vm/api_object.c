/* SPDX-License-Identifier: MIT */
/* vm/api_object.c: C API: userdata, metatables, threads. */
#include "api.h"

#include <string.h>

#include "call.h"
#include "func.h"
#include "gc.h"
#include "gc_inline.h"
#include "known_names.h"
#include "meta.h"
#include "thread.h"
#include "throw.h"
#include "traces.h"
#include "watch.h"

/* ---- userdata ------------------------------------------------------------ */

/* No system has more memory than this: a larger size is a mistake, and raises an ordinary
   error. */
#define LARGEST_BLOCK ((size_t)LUA_MAXINTEGER - 64)

void *lua_newuserdatauv(lua_State *L, size_t size, int nuvalue) {
  rt_assert(0 <= nuvalue && nuvalue < UINT16_MAX);
  if (unlikely(size > LARGEST_BLOCK)) error_run(L, "memory allocation error: block too big");
  gc_make_room(L, size);
  Userdata *u = userdata_new(L, size, nuvalue);
  set_userdata(L->top, u);
  api_note_write(L);
  api_push(L);
  gc_check(L);
  return userdata_payload(u);
}

static TValue *user_value(const TValue *o, int n) {
  rt_assert(is_userdata(o));
  Userdata *u = as_userdata(o);
  return n >= 1 && n <= u->nuservalues ? &u->uservalues[n - 1] : NULL;
}

int lua_getiuservalue(lua_State *L, int idx, int n) {
  const TValue *value = user_value(api_slot(L, idx), n);
  if (value == NULL) {
    lua_pushnil(L);
    return LUA_TNONE;
  }
  api_push_value(L, value);
  return tag_type(value->tag);
}

int lua_setiuservalue(lua_State *L, int idx, int n) {
  api_check_values(L, 1);
  const TValue *o = api_slot(L, idx);
  TValue *value = user_value(o, n);
  if (value != NULL) {
    value_copy(value, L->top - 1);
    gc_barrier(L, as_userdata(o), value);
  }
  L->top--;
  return value != NULL;
}

void lua_external_memory(lua_State *L, int idx, size_t bytes) {
  const TValue *o = api_slot(L, idx);
  rt_assert(is_userdata(o));
  gc_set_external(L, as_userdata(o), bytes);
  gc_check(L);
}

/* ---- metatables ---------------------------------------------------------- */

int lua_getmetatable(lua_State *L, int objindex) {
  Table *mt = metatable_of(L, api_slot(L, objindex));
  if (mt == NULL) return 0;
  api_push_table(L, mt);
  return 1;
}

/* Runs the write barrier for a new metatable of an object that can have its own, and
 * notes its finalizer. */
static void note_metatable(lua_State *L, GCObject *o, Table *mt) {
  if (mt == NULL) return;
  gc_barrier_object(L, o, mt);
  if (table_fast_metamethod(L->domain, mt, META_GC) != NULL) gc_register_finalizer(L, o);
}

void api_set_metatable(lua_State *L, Table *t, Table *mt) {
  gc_set_metatable(L, t, mt);
  note_metatable(L, (GCObject *)t, mt);
}

int lua_setmetatable(lua_State *L, int objindex) {
  api_check_values(L, 1);
  const TValue *o = api_slot(L, objindex), *value = L->top - 1;
  rt_assert(is_nil(value) || is_table(value));
  Table *mt = is_nil(value) ? NULL : as_table(value);
  if (is_table(o)) {
    api_set_metatable(L, as_table(o), mt);
  } else if (is_userdata(o)) {
    as_userdata(o)->metatable = mt;
    note_metatable(L, o->v.gc, mt);
  } else {
    L->domain->metatables[tag_type(o->tag)] = mt; /* a root */
  }
  L->top--;
  return 1;
}

/* ---- threads ------------------------------------------------------------- */

/* Makes a thread. It inherits the hook of L, and gets a copy of the extra space of the
   main thread. */
lua_State *lua_newthread(lua_State *L) {
  lua_State *co = thread_new(L);
  set_thread(L->top, co);
  api_note_write(L);
  api_push(L);
  co->hook_mask = L->hook_mask;
  co->base_hook_count = L->base_hook_count;
  co->hook = L->hook;
  co->hook_count = co->base_hook_count;
  co->instrumented &= (uint8_t)~INSTRUMENT_OWN;
  memcpy(lua_getextraspace(co), lua_getextraspace(L->domain->main_thread), LUA_EXTRASPACE);
  vm_update_dispatch(co);
  if (unlikely(L->domain->traces)) traces_inherit(L, co);
  gc_check(L);
  return co;
}
