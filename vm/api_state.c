/* SPDX-License-Identifier: MIT */
/* vm/api_state.c: C API: beginning and end of a state, the collector, warnings and other
 * functions for the whole state. */
#include <limits.h>
#include <string.h>

#include "api.h"
#include "call.h"
#include "call_profile.h"
#include "noting.h"
#include "contexts.h"
#include "coroutine.h"
#include "debug_error.h"
#include "debuginfo.h"
#include "domain.h"
#include "execute.h"
#include "function_names.h"
#include "last_stack.h"
#include "gc.h"
#include "question.h"
#include "saros.h"
#include "str.h"
#include "table.h"
#include "thread.h"

const char lua_ident[] = "$LuaVersion: " LUA_COPYRIGHT " $"
                         "$LuaAuthors: " LUA_AUTHORS " $";

lua_Number lua_version(lua_State *L) {
  (void)L;
  return LUA_VERSION_NUM;
}

/* ---- collector ----------------------------------------------------------- */

static int public_mode(GcMode mode) { return mode == GC_MODE_GENERATIONAL ? LUA_GCGEN : LUA_GCINC; }

/* Stores a parameter and returns its former value. */
static int exchange_parameter(int *parameter, int value) {
  int former = *parameter;
  *parameter = value;
  return former;
}

/* Sets a parameter unless the value is 0: in lua_gc's mode options, 0 leaves a parameter
   unchanged. */
static void set_unless_zero(int *parameter, int value) {
  if (value != 0) *parameter = value;
}

static int set_generational(lua_State *L, va_list args) {
  Gc *gc = &L->domain->gc;
  set_unless_zero(&gc->minor_mul, va_arg(args, int));
  set_unless_zero(&gc->major_mul, va_arg(args, int));
  return public_mode(gc_set_mode(L, GC_MODE_GENERATIONAL));
}

static int set_incremental(lua_State *L, va_list args) {
  Gc *gc = &L->domain->gc;
  set_unless_zero(&gc->pause, va_arg(args, int));
  set_unless_zero(&gc->stepmul, va_arg(args, int));
  set_unless_zero(&gc->stepsize, va_arg(args, int));
  return public_mode(gc_set_mode(L, GC_MODE_INCREMENTAL));
}

static int control_collector(lua_State *L, int what, va_list args) {
  Domain *d = L->domain;
  switch (what) {
    case LUA_GCSTOP: gc_stop(d); return 0;
    case LUA_GCRESTART: gc_restart(d); return 0;
    case LUA_GCCOLLECT: gc_full(L); return 0;
    case LUA_GCCOUNT: return gc_count(d) >> 10 < INT_MAX ? (int)(gc_count(d) >> 10) : INT_MAX;
    case LUA_GCCOUNTB: return (int)(gc_count(d) & 0x3ff);
    case LUA_GCSTEP: {
      int kib = va_arg(args, int);
      return gc_step_by(L, kib > 0 ? (size_t)kib : 0);
    }
    case LUA_GCFRAME: {
      int us = va_arg(args, int);
      return gc_frame(L, us > 0 ? (uint64_t)us * 1000 : 0);
    }
    case LUA_GCSETPAUSE: {
      int former = exchange_parameter(&d->gc.pause, va_arg(args, int));
      gc_pace_set_goals(d);
      return former;
    }
    case LUA_GCSETSTEPMUL: return exchange_parameter(&d->gc.stepmul, va_arg(args, int));
    case LUA_GCISRUNNING: return gc_is_running(d);
    case LUA_GCGEN: return set_generational(L, args);
    case LUA_GCINC: return set_incremental(L, args);
    default: return -1;
  }
}

/* Runs a request to the collector. Returns -1 if the option is unknown, or if the caller
   is a finalizer, which must not touch the collector. */
int lua_gc(lua_State *L, int what, ...) {
  if (L->domain->gc.running || L->domain->gc.closing) return -1;
  va_list args;
  va_start(args, what);
  int result = control_collector(L, what, args);
  va_end(args);
  return result;
}

/* ---- warnings ------------------------------------------------------------ */

void lua_setwarnf(lua_State *L, lua_WarnFunction f, void *ud) {
  L->domain->warnf = f;
  L->domain->warn_ud = ud;
}

void lua_warning(lua_State *L, const char *msg, int tocont) {
  Domain *d = L->domain;
  if (d->warnf != NULL) d->warnf(d->warn_ud, msg, tocont);
}

/* ---- allocator, limits --------------------------------------------------- */

lua_Alloc lua_getallocf(lua_State *L, void **ud) {
  if (ud != NULL) *ud = L->domain->alloc_ud;
  return L->domain->allocf;
}

/* Sets the allocator. A heap that maps its memory continues to do so if f and ud are
   already its allocator. */
void lua_setallocf(lua_State *L, lua_Alloc f, void *ud) {
  Domain *d = L->domain;
  if (f != d->allocf || ud != d->alloc_ud) domain_host(d, f, ud);
}

/* Returns the limit of C calls, which is fixed. This function exists for old modules. */
int lua_setcstacklimit(lua_State *L, unsigned int limit) {
  (void)L;
  (void)limit;
  return MAX_C_CALLS;
}

/* ---- hooks of the runtime ------------------------------------------------ */

static void warn_finalizer_error(lua_State *L) {
  const TValue *error = L->top - 1;
  const char *text = is_string(error) ? as_string(error)->data : "error object is not a string";
  lua_warning(L, "error in ", 1);
  lua_warning(L, "__gc", 1);
  lua_warning(L, " (", 1);
  lua_warning(L, text, 1);
  lua_warning(L, ")", 0);
}

static void call_finalizer(lua_State *L) {
  uint8_t allow_hook = L->allow_hook;
  CallRequest r = {L->top - 2, 0};
  L->allow_hook = 0;
  L->ci->status |= CALL_FINALIZER;
  int status = vm_protect(L, vm_call_request, &r, stack_save(L, r.func), 0);
  L->ci->status &= ~(uint32_t)CALL_FINALIZER;
  L->allow_hook = allow_hook;
  if (status != LUA_OK) {
    warn_finalizer_error(L);
    L->top--;
  }
}

/* Pushes a message with the current position, calls the handler and throws. */
static void raise_message(lua_State *L, const char *msg) {
  CallInfo *ci = L->ci;
  if (is_lua_frame(ci)) {
    char where[LUA_IDSIZE];
    const String *source = frame_closure(ci)->p->source;
    if (source != NULL) chunk_id(where, source->data, string_len(source));
    else strcpy(where, "?");
    string_format(L, "%s:%d: %s", where, frame_current_line(ci), msg);
  } else {
    string_format(L, "%s", msg);
  }
  error_with_handler(L);
}

static int call_protected(lua_State *L, lua_CFunction f) {
  uint8_t allow_hook = L->allow_hook;
  stack_check(L, LUA_MINSTACK);
  set_c_function(L->top, f);
  CallRequest r = {L->top++, 0};
  int status = vm_protect(L, vm_call_request, &r, stack_save(L, r.func), 0);
  L->allow_hook = allow_hook;
  return status;
}

static void raise_again(lua_State *L, int status) {
  if (status == LUA_ERRRUN) error_with_handler(L);
  /* the code that catches the error pushes the value itself */
  if (status == LUA_ERRMEM || status == LUA_ERRERR) L->top--;
  error_throw(L, status);
}

/* Interrupts a thread at its next instruction. Called in a signal handler. */
static void interrupt_thread(lua_State *L) { L->dispatch = vm_dispatch_each; }

static void make_registry(lua_State *L, void *ud) {
  (void)ud;
  Table *registry = table_new(L, LUA_RIDX_LAST, 0);
  set_table(&L->domain->registry, registry);
  TValue v;
  set_thread(&v, L);
  table_set_int(L, registry, LUA_RIDX_MAINTHREAD, &v);
  set_table(&v, table_new(L, 0, 0));
  table_set_int(L, registry, LUA_RIDX_GLOBALS, &v);
}

/* ---- beginning and end --------------------------------------------------- */

static lua_State *new_state(lua_Alloc f, void *ud) {
  vm_dispatch_init();
  vm_answer_questions_aside();
  lua_State *L = domain_new(f, ud);
  if (L == NULL) return NULL;
  Domain *d = L->domain;
  d->hooks.call_finalizer = call_finalizer;
  d->hooks.raise_message = raise_message;
  d->hooks.interrupt = interrupt_thread;
  d->hooks.call_protected = call_protected;
  d->hooks.raise_again = raise_again;
  d->hooks.frame_name = frame_name;
  d->hooks.frame_position = frame_position;
  d->hooks.innermost_span = context_innermost_span;
  d->hooks.reset_thread = vm_reset_thread;
  d->hooks.lines_obey = vm_noting_obey;
  L->dispatch = vm_dispatch_normal;
  if (vm_protect_raw(L, make_registry, NULL) != LUA_OK) {
    domain_close(L);
    return NULL;
  }
  call_profile_attach(L);
  last_stack_attach(L);
  return L;
}

LUA_API lua_State *lua_newstate(lua_Alloc f, void *ud) { return new_state(f, ud); }

lua_State *api_new_state(lua_Alloc f) {
  lua_State *L = new_state(NULL, NULL);
  if (L != NULL) L->domain->allocf = f;
  return L;
}

LUA_API void lua_close(lua_State *L) {
  L = L->domain->main_thread;
  L->ci = &L->base_ci;
  const ptrdiff_t level = stack_save(L, L->stack + 1);
  /* this ends: each call takes at least one pending variable off the list */
  while (vm_try_close(L, level, LUA_OK) != LUA_OK) L->ci = &L->base_ci;
  L->top = L->stack + 1;
  domain_close(L);
}

struct eventring_domain *saros_domain(lua_State *L) { return L->domain->rings; }

LUA_API lua_CFunction lua_atpanic(lua_State *L, lua_CFunction panic) {
  lua_CFunction old = L->domain->panic;
  L->domain->panic = panic;
  return old;
}
