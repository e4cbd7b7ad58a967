/* vm/interp.h: what the interpreter loop, calls, coroutines and operators share.
 * Private to vm/. */
#ifndef SAROS_VM_INTERP_H
#define SAROS_VM_INTERP_H

#include "call.h"
#include "opcodes.h"

/* ---- activations of the loop ------------------------------------------------ */

/* One activation of vm_execute on the C stack, and the point to which errors
 * in it unwind.  Frames of several coroutines can belong to one Run: a
 * coroutine resumed from guest code runs in the loop of its resumer. */
typedef struct Run {
  ErrorJump jump;      /* first: d->error_jump points to it */
  lua_State *L;        /* the thread it was entered for */
  CallInfo *boundary;  /* frame of L below the one it was entered for: unwinding stops there */
  bool is_resume;      /* entered by lua_resume: yields and errors of L end it */
  uint32_t nonyieldable; /* of L when entered */
  uint32_t ncalls;     /* of the domain when entered */
} Run;

typedef enum Entry {
  ENTER_CALL,   /* call the function at `first` with the arguments above it, as a frame with CALL_FRESH */
  ENTER_RESUME, /* L was suspended: the values from `first` to the top are passed in */
  ENTER_DONE,   /* L->ci, a native frame, is complete with the values from `first` to the top */
  ENTER_UNWIND, /* L->ci, a CALL_PCALL or CALL_PROTECTED_C frame, catches the error on top of the stack */
} Entry;

/* Runs until the fresh frame returns (LUA_OK: results placed) or, when
 * run->is_resume, until run->L yields (LUA_YIELD). */
int vm_execute(Run *run, lua_State *L, Entry entry, TValue *first, int nresults);

extern const void *const *vm_dispatch_normal; /* handler tables, set by vm_dispatch_init */
extern const void *const *vm_dispatch_hooked;
void vm_dispatch_init(void);

/* Pushes the frame of a C function, calls it, answers the number of its results
 * (on the stack top); the frame is L->ci on return. */
int vm_enter_c(lua_State *L, TValue *func, lua_CFunction f, int nresults, uint32_t status);
/* Moves n results from `first` to res, adjusted to `wanted`; sets L->top. */
void vm_move_results(lua_State *L, TValue *res, TValue *first, int n, int wanted);
/* Callable value in place of a non-function at func: its __call, arguments shifted up. Raises. */
TValue *vm_try_call_meta(lua_State *L, TValue *func);
CallInfo *vm_push_native(lua_State *L, TValue *func, int nresults, uint32_t status);

/* Closes the pending slots of the C frame L->ci, whose results are on top. */
int vm_close_c_frame(lua_State *L, int nresults);

/* Runs the coroutine L on in a Run of its own: the values from first to the top
 * are passed in. Answers LUA_OK, LUA_YIELD or an error. */
int vm_run_resume(lua_State *L, TValue *first);

/* coroutine.c */
bool vm_can_resume(lua_State *L, lua_State *co, int nargs);
void vm_finish_coroutine(lua_State *co); /* detaches a coroutine that ended, yielded or died from its resumer */
/* Delivers n values from src as results of L's CALL_RESUME frame: answers the first, *total their number. */
TValue *vm_deliver(lua_State *L, TValue *src, int n, int *total);
/* Leaves all frames and closes what is pending; the error is on top if status is one. Answers
 * the status after it, LUA_OK or that of the error then alone on the stack. */
int vm_reset_thread(lua_State *L, int status);
int vm_wrap_call(lua_State *L); /* C function of coroutine.wrap's closures: upvalue 1 is the thread */

/* ---- operators that may need a metamethod (meta.c) ------------------------------ */

/* Pushes a metamethod with its arguments; the slot of the function. */
ALWAYS_INLINE TValue *meta_push_call(lua_State *L, const TValue *f, const TValue *a, const TValue *b) {
  TValue *func = L->top;
  value_copy(func, f);
  value_copy(func + 1, a);
  value_copy(func + 2, b);
  L->top = func + 3;
  return func;
}
ALWAYS_INLINE TValue *meta_push_call3(lua_State *L, const TValue *f, const TValue *a, const TValue *b,
                                      const TValue *c) {
  TValue *func = meta_push_call(L, f, a, b);
  value_copy(L->top++, c);
  return func;
}

/* Each completes the operation and answers NULL, or pushes a metamethod with
 * its arguments on L->top and answers the slot of the function: the caller
 * calls it. */
TValue *meta_prepare_get(lua_State *L, const TValue *t, const TValue *key, TValue *result);
TValue *meta_prepare_set(lua_State *L, const TValue *t, const TValue *key, const TValue *value);
/* The same for a table that a lookup has been done in already: it does not have the key; what
 * the lookup ended at was `slot`. */
TValue *meta_get_absent(lua_State *L, const TValue *t, const TValue *key, TValue *result);
TValue *meta_set_at(lua_State *L, const TValue *t, const TValue *key, const TValue *slot,
                    const TValue *value);
TValue *meta_prepare_arith(lua_State *L, int op, const TValue *a, const TValue *b, TValue *result);
TValue *meta_prepare_length(lua_State *L, const TValue *o, TValue *result);
TValue *meta_prepare_less(lua_State *L, const TValue *a, const TValue *b, bool *result);
TValue *meta_prepare_less_equal(lua_State *L, const TValue *a, const TValue *b, bool *result);
TValue *meta_prepare_equal(lua_State *L, const TValue *a, const TValue *b, bool *result);
/* Concatenates the `total` values on top into one, as far as it goes without a
 * metamethod; NULL when one is left. */
TValue *meta_prepare_concat(lua_State *L, int total);
/* Closes upvalues down to level; next pending __close, pushed, or NULL. err: value passed to it or NULL. */
TValue *meta_prepare_close(lua_State *L, TValue *level, const TValue *err);

/* ---- primitives (primitives.c) ------------------------------------------------------ */

typedef enum PrimitiveId {
  PRIM_PCALL, PRIM_XPCALL, PRIM_RESUME, PRIM_YIELD, PRIM_NEXT, PRIM_IPAIRS_STEP,
  PRIM_COUNT
} PrimitiveId;

/* A function that the interpreter runs in its loop when it can; otherwise it is
 * called through its fallback, an ordinary C function. */
struct Primitive {
  const char *name;
  PrimitiveId id;
  lua_CFunction fallback;
};
extern Primitive vm_primitives[PRIM_COUNT];

#endif
