/* SPDX-License-Identifier: MIT */
/* stdlib/ffi/ffi_call.c: calls of C functions.
 *
 * Each function type has a plan, made at its first call. As the plan says, the arguments
 * are converted into a buffer on the C stack; libffi moves them to where the calling
 * convention wants them. The arguments of a variadic part are described anew for each
 * call.
 *
 * errno belongs to the program: it is set before the call and saved after it, so that the
 * interpreter cannot change it in between.
 *
 * While C code runs, Ffi.in_call is true; callbacks check this flag (ffi_callback.c). An
 * error that a callback noted is raised when the C function has returned.
 *
 * Recording: with class "ffi" on, a call is a span "ffi:NAME" in the user ring; the call
 * of a function pointer is a span "ffi:(pointer)".
 */
#include "ffi_call.h"
#include "table.h"
#include "probes.h"

#include <alloca.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ARGUMENT_ALIGN 16
#define MAX_ARGUMENTS 250

/* ---- plans --------------------------------------------------------------- */

_Noreturn static void not_by_value(lua_State *L, const CType *t, const char *why) {
  char name[CTYPE_NAME_MAX];
  luaL_error(L, "'%s': %s", ctype_name(t, name), why);
  __builtin_unreachable();
}

static ffi_type *passed_type(lua_State *L, CType *t) {
  const char *why = NULL;
  ffi_type *type = abi_type(L, t, &why);
  if (type == NULL) not_by_value(L, t, why);
  return type;
}

static ffi_type *result_type(lua_State *L, CType *t) {
  const char *why = NULL;
  ffi_type *type = abi_result_type(L, t, &why);
  if (type == NULL) not_by_value(L, t, why);
  return type;
}

static uint32_t slot_size(const CType *t) {
  return t->size <= 8 ? 8
                      : (uint32_t)(t->size + ARGUMENT_ALIGN - 1) / ARGUMENT_ALIGN * ARGUMENT_ALIGN;
}

/* Returns the offset of an argument of type t behind *size, and advances *size. */
static uint32_t take_slot(const CType *t, uint32_t *size) {
  uint32_t slot = slot_size(t), at = *size;
  if (slot > 8) at = (at + ARGUMENT_ALIGN - 1) / ARGUMENT_ALIGN * ARGUMENT_ALIGN;
  *size = at + slot;
  return at;
}

CallPlan *ccall_plan(lua_State *L, CType *function) {
  Signature *s = function->signature;
  if (s->plan != NULL) return s->plan;
  Ffi *ffi = function->ffi;
  CallPlan *plan = ffi_memory(L, ffi, sizeof *plan);
  plan->parts = ffi_memory(L, ffi, s->nparams + 1);
  plan->types = ffi_memory(L, ffi, (s->nparams + 1) * sizeof *plan->types);
  plan->offsets = ffi_memory(L, ffi, (s->nparams + 1) * sizeof *plan->offsets);
  ffi_type *whole[s->nparams + 1];
  for (uint32_t i = 0; i < s->nparams; i++) {
    whole[i] = passed_type(L, s->params[i]);
    plan->offsets[i] = take_slot(s->params[i], &plan->size);
  }
  plan->nparts = abi_assign(function, whole, plan->types, plan->parts);
  ffi_type *result = result_type(L, function->element);
  plan->result_size = result == &ffi_type_void ? 0 : (uint32_t)function->element->size;
  ffi_status status =
      s->variadic ? ffi_prep_cif_var(&plan->cif, FFI_DEFAULT_ABI, plan->nparts, plan->nparts,
                                     result, plan->types)
                  : ffi_prep_cif(&plan->cif, FFI_DEFAULT_ABI, plan->nparts, result, plan->types);
  if (status != FFI_OK) not_by_value(L, function, "libffi does not know how to call it");
  s->plan = plan;
  return plan;
}

/* ---- functions as values ------------------------------------------------- */

/* The cdata of a function. Its address is the address of the code; the symbol follows the
   Cdata. */
typedef struct FunctionCdata {
  Cdata cdata;
  Symbol *symbol;
} FunctionCdata;

void ccall_push_function(lua_State *L, Symbol *symbol, CType *type, void *code) {
  Cdata *cd = cdata_push(L, type, sizeof(FunctionCdata) - sizeof(Cdata));
  ((FunctionCdata *)cd)->symbol = symbol;
  cd->address = code;
}

const Symbol *ccall_symbol(const Userdata *u) {
  const FunctionCdata *f = userdata_payload((Userdata *)u);
  return f->cdata.type->kind == CKIND_FUNCTION ? f->symbol : NULL;
}

/* ---- errors of callbacks ------------------------------------------------- */

COLD void ccall_raise_pending(lua_State *L, Ffi *ffi) {
  if (__atomic_exchange_n(&ffi->foreign, false, __ATOMIC_RELAXED))
    luaL_error(L, "a callback was called by a thread, or at a moment, that may not run the "
                  "program; it returned zero");
  if (!ffi->has_error) return;
  ffi->has_error = false;
  value_copy(L->top, table_get_int(ffi->kept, KEPT_ERROR));
  L->top++;
  TValue none;
  set_nil(&none);
  table_set_int(L, ffi->kept, KEPT_ERROR, &none);
  lua_error(L);
}

typedef struct Call {
  CType *function;
  Symbol *symbol;
  void *code;
  int given;         /* number of the arguments, which are on the stack from index 2 on */
} Call;

/* ---- spans --------------------------------------------------------------- */

static unsigned register_span(const char *name) {
  char text[EVENTRING_MAX_NAME + 1];
  struct eventring_error error;
  snprintf(text, sizeof text, "ffi:%s", name);
  struct eventring_def def = {.name = text,
                              .doc = "A call of a C function",
                              .kind = EVENTRING_DEF_SPAN,
                              .event_class = EVENTRING_CLASS_FFI,
                              .ring = EVENTRING_USER,
                              .payload = EVENTRING_NONE};
  int id = eventring_register(&def, &error);
  /* if the catalogue is full, all calls share one name */
  return id < 0 ? PROBE_ID(FFI_CALL) : (unsigned)id;
}

/* Returns the id of the span of a call. The id is kept in the symbol; functions without a
   name share one id. */
static COLD unsigned span_of(const Call *call) {
  unsigned *id = call->symbol != NULL ? &call->symbol->event : &call->function->ffi->pointer_event;
  if (*id == 0) *id = register_span(call->symbol != NULL ? call->symbol->name->data : "(pointer)");
  return *id;
}

/* Returns the ring of a span: the user ring for a span with a name of its own, the
   runtime ring for ffi_call. */
#define span_ring(id) ((id) == PROBE_ID(FFI_CALL) ? EVENTRING_RUNTIME : EVENTRING_USER)

/* ---- arguments ----------------------------------------------------------- */

_Noreturn static COLD void wrong_number(lua_State *L, const Call *call) {
  const Signature *s = call->function->signature;
  const char *name = call->symbol != NULL ? call->symbol->name->data : "?";
  char type[CTYPE_NAME_MAX];
  if ((uint32_t)call->given < s->nparams) {
    uint32_t missing = (uint32_t)call->given;
    const String *param =
        call->symbol != NULL && call->symbol->params != NULL ? call->symbol->params[missing] : NULL;
    luaL_error(L, "bad argument #%d%s%s%s to '%s' ('%s' expected, got no value)", (int)missing + 1,
               param != NULL ? " '" : "", param != NULL ? param->data : "",
               param != NULL ? "'" : "", name, ctype_name(s->params[missing], type));
  }
  luaL_error(L, "too many arguments to '%s' (%d expected, got %d)", name, (int)s->nparams,
             call->given);
  __builtin_unreachable();
}

static COLD void convert_blamed(lua_State *L, const Call *call, uint32_t i, CType *t, char *slot) {
  const String *param =
      call->symbol != NULL && call->symbol->params != NULL ? call->symbol->params[i] : NULL;
  Blame blame = {BLAME_ARGUMENT, (int)i + 1, param != NULL ? param->data : NULL,
                 call->symbol != NULL ? call->symbol->name->data : NULL};
  convert_store(L, t, slot, argument(L, 2 + (int)i), CONVERT_ARGUMENT, &blame);
}

static void convert_arguments(lua_State *L, const Call *call, const CallPlan *plan, char *buffer,
                              void **values) {
  const Signature *s = call->function->signature;
  for (uint32_t i = 0; i < s->nparams; i++) {
    CType *t = s->params[i];
    char *slot = buffer + plan->offsets[i];
    const TValue *o = L->ci->func + 2 + i;
    values[0] = slot;
    if (unlikely(plan->parts[i] == 2)) values[1] = slot + 8;
    values += plan->parts[i];
    if (t->access == ACCESS_I32 && is_int(o)) {
      int32_t value = (int32_t)o->v.i;
      memcpy(slot, &value, sizeof value);
    } else if (t->access == ACCESS_F64 && is_float(o)) {
      memcpy(slot, &o->v.n, sizeof o->v.n);
    } else {
      convert_blamed(L, call, i, t, slot);
    }
  }
}

/* ---- variadic arguments -------------------------------------------------- */

/* Returns the type that a value of the variadic part is passed as, by C's default
 * promotions. The value in the slot has this type. */
static CType *promoted_type(lua_State *L, Ffi *ffi, const TValue *o) {
  const Cdata *cd = cdata_of(o);
  if (cd == NULL) {
    switch (tag_type(o->tag)) {
      case LUA_TNUMBER: return ffi->basic[is_int(o) ? BASIC_LONG : BASIC_DOUBLE];
      case LUA_TBOOLEAN: return ffi->basic[BASIC_INT];
      case LUA_TSTRING:
        return ctype_pointer(L, ctype_qualified(L, ffi->basic[BASIC_CHAR], QUAL_CONST));
      default: return ctype_pointer(L, ffi->basic[BASIC_VOID]);
    }
  }
  char *p;
  CType *t = cdata_value(cd, &p)->plain;
  if (t->kind == CKIND_ARRAY) return ctype_pointer(L, t->element);
  if (t->kind == CKIND_FUNCTION || t->kind == CKIND_RECORD) return ctype_pointer(L, t);
  if (t->access == ACCESS_F32) return ffi->basic[BASIC_DOUBLE];
  if (is_integer_type(t) && t->size < 4) return ffi->basic[BASIC_INT];
  return t;
}

static void invoke_function(lua_State *L, const Call *call, ffi_cif *cif, void **values);

static void call_variadic(lua_State *L, const Call *call, const CallPlan *plan) {
  const Signature *s = call->function->signature;
  uint32_t n = (uint32_t)call->given, size = plan->size, parts = plan->nparts;
  if (n > MAX_ARGUMENTS) luaL_error(L, "too many arguments");
  ffi_type *types[MAX_ARGUMENTS + 2];
  void *values[MAX_ARGUMENTS + 2];
  char *buffer = alloca(size + (n - s->nparams + 1) * ARGUMENT_ALIGN + ARGUMENT_ALIGN);
  buffer += -(uintptr_t)buffer & (ARGUMENT_ALIGN - 1);
  convert_arguments(L, call, plan, buffer, values);
  memcpy(types, plan->types, parts * sizeof *types);
  for (uint32_t i = s->nparams; i < n; i++) {
    CType *t = promoted_type(L, call->function->ffi, argument(L, 2 + (int)i));
    Blame blame = {BLAME_ARGUMENT, (int)i + 1, NULL,
                   call->symbol != NULL ? call->symbol->name->data : NULL};
    types[parts] = passed_type(L, t);
    values[parts] = buffer + take_slot(t, &size);
    convert_store(L, t, values[parts++], argument(L, 2 + (int)i), CONVERT_ARGUMENT, &blame);
  }
  ffi_cif cif;
  ffi_type *result = result_type(L, call->function->element);
  if (ffi_prep_cif_var(&cif, FFI_DEFAULT_ABI, plan->nparts, parts, result, types) != FFI_OK)
    not_by_value(L, call->function, "libffi does not know how to call it");
  invoke_function(L, call, &cif, values);
}

/* ---- the call ------------------------------------------------------------ */

/* Runs the C function. Callbacks may move the Lua stack during the call. */
static void run_c(lua_State *L, const Call *call, ffi_cif *cif, void *result, void **values) {
  Ffi *ffi = call->function->ffi;
  struct eventring_domain *rings = L->domain->rings;
  bool recorded = eventring_enabled(rings, EVENTRING_USER, EVENTRING_CLASS_FFI);
  unsigned span = recorded ? span_of(call) : 0;
  if (unlikely(recorded)) eventring_begin(rings, span_ring(span), EVENTRING_CLASS_FFI, span);
  __atomic_store_n(&ffi->thread, pthread_self(), __ATOMIC_RELAXED);
  ffi->in_call = true;
  errno = ffi->saved_errno;
  ffi_call(cif, FFI_FN(call->code), result, values);
  ffi->saved_errno = errno;
  ffi->in_call = false;
  if (unlikely(recorded)) eventring_end(rings, span_ring(span), EVENTRING_CLASS_FFI, span);
  if (unlikely(ffi->has_error || __atomic_load_n(&ffi->foreign, __ATOMIC_RELAXED)))
    ccall_raise_pending(L, ffi);
}

/* Calls the function, and pushes its result. */
static void invoke_function(lua_State *L, const Call *call, ffi_cif *cif, void **values) {
  CType *t = call->function->element;
  if (t->kind == CKIND_RECORD) {
    size_t size = t->size < sizeof(ffi_arg) ? sizeof(ffi_arg) : t->size;
    Cdata *cd = cdata_push(L, t, (size + 15) & ~(size_t)15);
    memset(cd->address, 0, size);
    run_c(L, call, cif, cd->address, values);
    return;
  }
  union { ffi_arg integer; long double number; } result;
  result.integer = 0;
  run_c(L, call, cif, &result, values);
  convert_push(L, t, &result, NULL);
}

static void call_fixed(lua_State *L, const Call *call, CallPlan *plan) {
  void *values[plan->nparts + 1];
  char *buffer = alloca(plan->size + ARGUMENT_ALIGN);
  buffer += -(uintptr_t)buffer & (ARGUMENT_ALIGN - 1);
  convert_arguments(L, call, plan, buffer, values);
  invoke_function(L, call, &plan->cif, values);
}

static void find_target(lua_State *L, Call *call) {
  const Userdata *u = as_userdata(L->ci->func + 1);
  char *p;
  CType *t = cdata_value(userdata_payload((Userdata *)u), &p);
  call->symbol = NULL;
  if (likely(t->kind == CKIND_FUNCTION)) {
    call->function = t;
    call->code = p;
    call->symbol = (Symbol *)ccall_symbol(u);
    return;
  }
  call->function = t->element;
  memcpy(&call->code, p, sizeof call->code);
  char name[CTYPE_NAME_MAX];
  if (call->code == NULL)
    luaL_error(L, "attempt to call a NULL pointer of type '%s'", ctype_name(t, name));
}

int ccall_cdata(lua_State *L) {
  Call call;
  find_target(L, &call);
  call.given = argument_count(L) - 1;
  const Signature *s = call.function->signature;
  CallPlan *plan = s->plan;
  if (unlikely(plan == NULL)) plan = ccall_plan(L, call.function);
  if (unlikely((uint32_t)call.given != s->nparams &&
               !(s->variadic && (uint32_t)call.given > s->nparams)))
    wrong_number(L, &call);
  if (unlikely(s->variadic)) call_variadic(L, &call, plan);
  else call_fixed(L, &call, plan);
  collect_point(L);
  return call.function->element->kind != CKIND_VOID;
}
