/* SPDX-License-Identifier: MIT */
/* runtime/func.c: prototypes, closures, upvalues, userdata.
 *
 * An open upvalue refers to its thread. The thread has a list of its open upvalues,
 * highest slot first, with at most one for each slot.
 */
#include "func.h"

#include <string.h>

#include "gc.h"
#include "gc_inline.h"
#include "heap.h"
#include "thread.h"
#include "throw.h"

/* ---- functions ----------------------------------------------------------- */

Prototype *prototype_new(lua_State *L) {
  Prototype *p = heap_alloc(L, heap_round(sizeof(Prototype)), MEMPROF_CODE);
  memset(p, 0, sizeof *p);
  object_init(L, p, TYPE_PROTO);
  p->max_stack = 2;
  return p;
}

void prototype_number(Prototype *p) {
  static uint32_t numbers;
  /* relaxed: the number alone matters */
  p->function_id = __atomic_fetch_add(&numbers, 1, __ATOMIC_RELAXED) + 1;
}

LuaClosure *lua_closure_new(lua_State *L, Prototype *p) {
  LuaClosure *c =
      heap_alloc(L, sizeof(LuaClosure) + p->nupvalues * sizeof(UpValue *), MEMPROF_CLOSURE);
  object_init(L, c, TYPE_LUA_CLOSURE);
  c->nupvalues = p->nupvalues;
  c->p = p;
  for (int i = 0; i < p->nupvalues; i++) c->upvalues[i] = NULL;
  return c;
}

CClosure *c_closure_new(lua_State *L, int nupvalues, lua_CFunction f) {
  rt_assert(nupvalues >= 0 && nupvalues <= UINT8_MAX);
  CClosure *c =
      heap_alloc(L, sizeof(CClosure) + (size_t)nupvalues * sizeof(TValue), MEMPROF_CLOSURE);
  object_init(L, c, TYPE_C_CLOSURE);
  c->nupvalues = (uint8_t)nupvalues;
  c->f = f;
  for (int i = 0; i < nupvalues; i++) set_nil(&c->upvalues[i]);
  return c;
}

const void *c_function_identity(const TValue *func) {
  switch (func->tag) {
    case TAG_C_FUNCTION: case TAG_PRIMITIVE: return func->v.p;
    case TAG_C_CLOSURE: return (const void *)(uintptr_t)as_c_closure(func)->f;
    default: return NULL;
  }
}

const char *local_name(const Prototype *p, int number, uint32_t pc) {
  for (uint32_t i = 0; i < p->nlocals && p->locals[i].start_pc <= pc; i++)
    if (pc < p->locals[i].end_pc && --number == 0) return p->locals[i].name->data;
  return NULL;
}

/* ---- upvalues ------------------------------------------------------------ */

UpValue *upvalue_new_closed(lua_State *L) {
  UpValue *uv = heap_alloc(L, sizeof(UpValue), MEMPROF_UPVALUE);
  object_init(L, uv, TYPE_UPVALUE);
  uv->v = &uv->u.closed;
  set_nil(&uv->u.closed);
  return uv;
}

UpValue *upvalue_find(lua_State *L, TValue *slot) {
  UpValue **link = &L->open_upvalues;
  for (UpValue *uv; (uv = *link) != NULL && uv->v >= slot; link = &uv->u.open.next)
    if (uv->v == slot) return uv;
  UpValue *uv = heap_alloc(L, sizeof(UpValue), MEMPROF_UPVALUE);
  object_init(L, uv, TYPE_UPVALUE);
  uv->v = slot;
  uv->u.open.thread = L;
  uv->u.open.next = *link;
  *link = uv;
  gc_thread_resumed(L, L); /* a thread's list counts as part of its stack */
  return uv;
}

void upvalue_close(lua_State *L, TValue *level) {
  for (UpValue *uv; (uv = L->open_upvalues) != NULL && uv->v >= level;) {
    L->open_upvalues = uv->u.open.next;
    value_copy(&uv->u.closed, uv->v);
    uv->v = &uv->u.closed;
    gc_barrier(L, uv, &uv->u.closed);
  }
}

/* ---- userdata ------------------------------------------------------------ */

/* Creates a userdata. Its payload is aligned to 16 bytes, since the object is. */
Userdata *userdata_new(lua_State *L, size_t size, int nuservalues) {
  if (unlikely(size > PTRDIFF_MAX / 2)) error_memory(L);
  size_t total = heap_round(sizeof(Userdata) + (size_t)nuservalues * sizeof(TValue) + size);
  Userdata *u = heap_alloc_aligned(L, total);
  object_init(L, u, LUA_TUSERDATA);
  u->nuservalues = (uint16_t)nuservalues;
  u->kind = USERDATA_PLAIN;
  u->len = size;
  u->metatable = NULL;
  u->external = NULL;
  for (int i = 0; i < nuservalues; i++) set_nil(&u->uservalues[i]);
  return u;
}
