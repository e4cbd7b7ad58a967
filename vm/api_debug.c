/* SPDX-License-Identifier: MIT */
/* vm/api_debug.c: C API: frames, functions, locals, upvalues, hooks.
 *
 * lua_Debug.i_ci is the frame itself: frames are reused but never moved, and the
 * manual allows a lua_Debug only as long as its frame is active.
 */
#include "api.h"

#include <string.h>

#include "call.h"
#include "debuginfo.h"
#include "func.h"
#include "gc.h"
#include "gc_inline.h"
#include "opinfo.h"
#include "position.h"
#include "thread.h"
#include "watch.h"

/* ---- frames -------------------------------------------------------------- */

int lua_getstack(lua_State *L, int level, lua_Debug *ar) {
  if (level < 0) return 0;
  CallInfo *ci = L->ci;
  for (; level > 0 && ci != &L->base_ci; level--) ci = ci->prev;
  if (ci == &L->base_ci) return 0;
  ar->i_ci = ci;
  return 1;
}

static const Prototype *prototype_of(const TValue *func) {
  return is_lua_closure(func) ? as_lua_closure(func)->p : NULL;
}

/* Fills in the fields of option 'S'. */
static void describe_source(lua_Debug *ar, const Prototype *p) {
  if (p == NULL) {
    ar->source = "=[C]";
    ar->srclen = strlen(ar->source);
    ar->linedefined = ar->lastlinedefined = -1;
    ar->what = "C";
  } else {
    ar->source = p->source != NULL ? p->source->data : "=?";
    ar->srclen = p->source != NULL ? string_len(p->source) : strlen(ar->source);
    ar->linedefined = (int)p->line_defined;
    ar->lastlinedefined = (int)p->last_line_defined;
    ar->what = p->line_defined == 0 ? "main" : "Lua";
  }
  chunk_id(ar->short_src, ar->source, ar->srclen);
}

/* Fills in the fields of option 'u'. */
static void describe_upvalues(lua_Debug *ar, const TValue *func, const Prototype *p) {
  ar->nups = 0;
  if (func->tag == TAG_C_CLOSURE) ar->nups = as_c_closure(func)->nupvalues;
  if (p != NULL) ar->nups = as_lua_closure(func)->nupvalues;
  ar->isvararg = p == NULL || p->is_vararg;
  ar->nparams = p == NULL ? 0 : p->nparams;
}

/* Fills in the fields of option 'n'. */
static void describe_name(lua_State *L, lua_Debug *ar, CallInfo *ci) {
  const char *kind = NULL;
  if (ci != NULL && !(ci->status & CALL_TAIL)) kind = debug_name_of_call(L, ci->prev, &ar->name);
  ar->namewhat = kind != NULL ? kind : "";
  if (kind == NULL) ar->name = NULL;
}

/* Fills in the fields of option 'r'. */
static void describe_transfer(lua_Debug *ar, const CallInfo *ci) {
  bool known = ci != NULL && (ci->status & CALL_TRANSFER);
  ar->ftransfer = known ? ci->u2.transfer.first : 0;
  ar->ntransfer = known ? ci->u2.transfer.count : 0;
}

/* Pushes, for option 'L', a table whose keys are the lines with code, or nil. The first
 * instruction of a vararg function does not belong to a line of it. */
static void push_active_lines(lua_State *L, const Prototype *p) {
  if (p == NULL) {
    lua_pushnil(L);
    return;
  }
  Table *lines = table_new(L, 0, 0);
  set_table(L->top, lines);
  api_note_write(L);
  api_push(L);
  TValue active;
  set_bool(&active, true);
  uint32_t last = UINT32_MAX;
  for (uint32_t pc = p->is_vararg ? 1 : 0; pc < p->npositions;
       pc += (uint32_t)op_length(op_base(p->code[pc]))) {
    const uint32_t line = position_line(p->positions[pc]);
    if (line == last) continue;
    last = line;
    table_set_int(L, lines, last, &active);
  }
}

/* Fills in the fields of an option; returns false if there is no such option. */
static bool describe_option(lua_State *L, char option, lua_Debug *ar, const TValue *func,
                            CallInfo *ci) {
  const Prototype *p = prototype_of(func);
  switch (option) {
    case 'S': describe_source(ar, p); return true;
    case 'l': ar->currentline = ci != NULL ? frame_current_line(ci) : -1; return true;
    case 'u': describe_upvalues(ar, func, p); return true;
    case 't': ar->istailcall = ci != NULL && (ci->status & CALL_TAIL); return true;
    case 'n': describe_name(L, ar, ci); return true;
    case 'r': describe_transfer(ar, ci); return true;
    case 'f': case 'L': return true; /* pushed at the end, in this order */
    default: return false;
  }
}

int lua_getinfo(lua_State *L, const char *what, lua_Debug *ar) {
  CallInfo *ci = NULL;
  TValue func;
  if (*what == '>') {
    what++;
    /* there is no collection before the function is pushed again or no longer needed */
    value_copy(&func, --L->top);
    rt_assert(is_function(&func));
  } else {
    ci = ar->i_ci;
    value_copy(&func, ci->func);
  }
  int known = 1;
  for (const char *option = what; *option != '\0'; option++)
    if (!describe_option(L, *option, ar, &func, ci)) known = 0;
  if (strchr(what, 'f') != NULL) api_push_value(L, &func);
  if (strchr(what, 'L') != NULL) {
    push_active_lines(L, prototype_of(&func));
    gc_check(L);
  }
  return known;
}

/* ---- locals -------------------------------------------------------------- */

const char *lua_getlocal(lua_State *L, const lua_Debug *ar, int n) {
  TValue *slot;
  if (ar == NULL) { /* parameters of the function on top */
    const Prototype *p = prototype_of(L->top - 1);
    return p != NULL ? local_name(p, n, 0) : NULL;
  }
  const char *name = debug_find_local(L, ar->i_ci, n, &slot);
  if (name != NULL) api_push_value(L, slot);
  return name;
}

const char *lua_setlocal(lua_State *L, const lua_Debug *ar, int n) {
  TValue *slot;
  const char *name = debug_find_local(L, ar->i_ci, n, &slot);
  if (name != NULL) {
    value_copy(slot, --L->top);
    debug_local_changed(ar->i_ci, slot);
    gc_frame_changed(L, ar->i_ci);
  }
  return name;
}

/* ---- upvalues ------------------------------------------------------------ */

typedef struct UpvalueRef {
  TValue *value;
  GCObject *owner; /* for the write barrier */
  const char *name;
} UpvalueRef;

static bool find_upvalue(const TValue *func, int n, UpvalueRef *ref) {
  if (func->tag == TAG_C_CLOSURE) {
    CClosure *c = as_c_closure(func);
    if (n < 1 || n > c->nupvalues) return false;
    *ref = (UpvalueRef){&c->upvalues[n - 1], (GCObject *)c, ""};
    return true;
  }
  if (!is_lua_closure(func)) return false;
  LuaClosure *f = as_lua_closure(func);
  if (n < 1 || n > f->p->nupvalues) return false;
  UpValue *u = f->upvalues[n - 1];
  const String *name = f->p->upvalues[n - 1].name;
  *ref = (UpvalueRef){u->v, (GCObject *)u, name != NULL ? name->data : "(no name)"};
  return true;
}

const char *lua_getupvalue(lua_State *L, int funcindex, int n) {
  UpvalueRef ref;
  if (!find_upvalue(api_slot(L, funcindex), n, &ref)) return NULL;
  api_push_value(L, ref.value);
  return ref.name;
}

const char *lua_setupvalue(lua_State *L, int funcindex, int n) {
  UpvalueRef ref;
  api_check_values(L, 1);
  if (!find_upvalue(api_slot(L, funcindex), n, &ref)) return NULL;
  value_copy(ref.value, --L->top);
  gc_barrier(L, ref.owner, ref.value);
  return ref.name;
}

static UpValue **upvalue_cell(const TValue *func, int n) {
  rt_assert(is_lua_closure(func));
  LuaClosure *f = as_lua_closure(func);
  return n >= 1 && n <= f->p->nupvalues ? &f->upvalues[n - 1] : NULL;
}

void *lua_upvalueid(lua_State *L, int fidx, int n) {
  const TValue *func = api_slot(L, fidx);
  if (is_lua_closure(func)) {
    UpValue **cell = upvalue_cell(func, n);
    return cell != NULL ? *cell : NULL;
  }
  UpvalueRef ref;
  return find_upvalue(func, n, &ref) ? ref.value : NULL;
}

void lua_upvaluejoin(lua_State *L, int fidx1, int n1, int fidx2, int n2) {
  const TValue *func = api_slot(L, fidx1);
  UpValue **to = upvalue_cell(func, n1), **from = upvalue_cell(api_slot(L, fidx2), n2);
  rt_assert(to != NULL && from != NULL);
  *to = *from;
  gc_barrier_object(L, as_lua_closure(func), *from);
}

/* ---- hooks --------------------------------------------------------------- */

/* Sets the hook. It only stores, in an order that is safe if the interpreter finds it
 * half done: a signal handler may call it on the thread that runs L. */
void lua_sethook(lua_State *L, lua_Hook func, int mask, int count) {
  if (func == NULL || mask == 0) {
    func = NULL;
    mask = 0;
  }
  L->hook = func;
  L->base_hook_count = L->hook_count = count;
  L->hook_mask = (uint8_t)mask;
  vm_update_dispatch(L);
}

lua_Hook lua_gethook(lua_State *L) { return L->hook; }
int lua_gethookmask(lua_State *L) { return L->hook_mask; }
int lua_gethookcount(lua_State *L) { return L->base_hook_count; }
