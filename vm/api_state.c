/* vm/api_state.c: C API: the collector, warnings and other things of the whole state. */
#include <limits.h>
#include "api.h"

#include "call.h"

lua_Number lua_version(lua_State *L) {
  (void)L;
  return LUA_VERSION_NUM;
}

/* ---- collector ----------------------------------------------------------------- */

static int public_mode(GcMode mode) { return mode == GC_MODE_GENERATIONAL ? LUA_GCGEN : LUA_GCINC; }

/* Stores a parameter and answers its former value. */
static int exchange(int *parameter, int value) {
  int former = *parameter;
  *parameter = value;
  return former;
}

/* In lua_gc's mode options 0 leaves a parameter as it is. */
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
    case LUA_GCSETPAUSE: {
      int former = exchange(&d->gc.pause, va_arg(args, int));
      gc_pace_set_goals(d);
      return former;
    }
    case LUA_GCSETSTEPMUL: return exchange(&d->gc.stepmul, va_arg(args, int));
    case LUA_GCISRUNNING: return gc_is_running(d);
    case LUA_GCGEN: return set_generational(L, args);
    case LUA_GCINC: return set_incremental(L, args);
    default: return -1;
  }
}

/* -1: unknown option, or called by a finalizer, while the collector is not to be touched. */
int lua_gc(lua_State *L, int what, ...) {
  if (L->domain->gc.running || L->domain->gc.closing) return -1;
  va_list args;
  va_start(args, what);
  int result = control_collector(L, what, args);
  va_end(args);
  return result;
}

/* ---- warnings ---------------------------------------------------------------------- */

void lua_setwarnf(lua_State *L, lua_WarnFunction f, void *ud) {
  L->domain->warnf = f;
  L->domain->warn_ud = ud;
}

void lua_warning(lua_State *L, const char *msg, int tocont) {
  Domain *d = L->domain;
  if (d->warnf != NULL) d->warnf(d->warn_ud, msg, tocont);
}

/* ---- allocator, limits ---------------------------------------------------------------- */

/* The heap is the runtime's own: the function given to lua_newstate is kept
 * for those who ask for it. */
lua_Alloc lua_getallocf(lua_State *L, void **ud) {
  if (ud != NULL) *ud = L->domain->alloc_ud;
  return L->domain->allocf;
}

void lua_setallocf(lua_State *L, lua_Alloc f, void *ud) {
  L->domain->allocf = f;
  L->domain->alloc_ud = ud;
}

/* Kept for old modules: the limit is fixed. */
int lua_setcstacklimit(lua_State *L, unsigned int limit) {
  (void)L;
  (void)limit;
  return MAX_C_CALLS;
}
