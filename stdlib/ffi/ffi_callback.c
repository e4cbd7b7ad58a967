/* SPDX-License-Identifier: MIT */
/* stdlib/ffi/ffi_callback.c: guest functions that C calls through a pointer.
 *
 * A Callback is a libffi closure with the data to find the guest function. It lives until
 * `free` is called on the pointer, or the domain ends. A Callback that is freed while it
 * runs is released when it returns.
 *
 * The guest runs on the thread (coroutine) that is in the C call, above the frame of that
 * call, in a protected call. An error, and also a yield, does not cross the C function.
 * It is noted, and the C function gets zero. No further callback runs guest code until
 * the C function has returned; then the error is raised again (ffi_call.c).
 *
 * The guest may run only while this domain is in a C call that it made itself on the same
 * OS thread: Ffi.in_call and Ffi.thread. At any other moment (on a thread that the
 * library made, in a signal handler while the interpreter runs) the callback uses only
 * Ffi.in_call, Ffi.thread and the flag Ffi.foreign. It returns zero and prints a message
 * to stderr, and the next C call of the domain raises an error when it returns.
 */
#include "call.h"
#include "ffi_call.h"
#include "table.h"
#include "throw.h"
#include "probes.h"

#include <alloca.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct Callback {
  ffi_closure *closure;
  void *code;
  Ffi *ffi;
  CType *function;
  Callback *next, **link; /* links in Ffi.all_callbacks */
  unsigned running;       /* number of its activations */
  bool freed;             /* the callback was freed while it ran */
  bool shared;            /* made by callback_shared */
};

/* ---- being called -------------------------------------------------------- */

typedef struct Invocation {
  Callback *callback;
  void *result;
  void **arguments;
} Invocation;

static CallPlan *plan_of(const Callback *cb) { return cb->function->signature->plan; }

/* Pushes an argument, which libffi passes in n parts. An aggregate becomes a cdata with a
   copy of its own. */
static void push_argument(lua_State *L, CType *t, void **parts, unsigned n) {
  if (t->kind != CKIND_RECORD) {
    convert_push(L, t, parts[0], NULL);
    return;
  }
  char *copy = cdata_push(L, t, t->size)->address;
  if (n == 0) memset(copy, 0, t->size);
  if (n == 1) memcpy(copy, parts[0], t->size);
  if (n == 2) {
    memcpy(copy, parts[0], 8);
    memcpy(copy + 8, parts[1], t->size - 8);
  }
}

/* Stores the result of a callback. libffi expects small integers as whole words, and has
   no room for a result that is not returned. */
static void store_result(lua_State *L, const Callback *cb, void *result, const TValue *o) {
  CType *t = cb->function->element;
  Blame blame = {BLAME_OTHER, 0, NULL, "result of a callback"};
  if (!is_integer_type(t)) {
    if (plan_of(cb)->result_size == 0) result = alloca(t->size + 1);
    convert_store(L, t, result, o, CONVERT_ARGUMENT, &blame);
    return;
  }
  uint64_t value = 0;
  CNumber number;
  convert_store(L, t, &value, o, CONVERT_ARGUMENT, &blame);
  convert_load_number(t, &value, &number);
  *(ffi_arg *)result = number.v.u;
}

static void run_guest(lua_State *L, void *argument) {
  const Invocation *v = argument;
  Callback *cb = v->callback;
  const Signature *s = cb->function->signature;
  TValue key;
  set_light(&key, cb);
  luaL_checkstack(L, (int)s->nparams + LUA_MINSTACK, "callback");
  value_copy(L->top, table_get(cb->ffi->functions, &key));
  L->top++;
  void **parts = v->arguments;
  for (uint32_t i = 0; i < s->nparams; i++) {
    unsigned n = plan_of(cb)->parts[i];
    push_argument(L, s->params[i], parts, n);
    parts += n;
  }
  collect_point(L);
  bool is_void = cb->function->element->kind == CKIND_VOID;
  vm_call_noyield(L, L->top - s->nparams - 1, is_void ? 0 : 1);
  if (is_void) return;
  store_result(L, cb, v->result, L->top - 1);
  L->top--;
}

static void remember_error(lua_State *L, Ffi *ffi) {
  table_set_int(L, ffi->kept, KEPT_ERROR, L->top - 1);
  L->top--;
  ffi->has_error = true;
}

static void say_foreign(Ffi *ffi) {
  static const char text[] = "saros: ffi: a callback was called by a thread, or at a moment, that "
                             "may not run the program; it returns zero\n";
  /* write is allowed in a signal handler, too */
  ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
  (void)written; /* there is nowhere else to report it */
  __atomic_store_n(&ffi->foreign, true, __ATOMIC_RELAXED);
}

static void clear_result(const Callback *cb, void *result) {
  size_t size = plan_of(cb)->result_size;
  if (size > 0) memset(result, 0, size < sizeof(ffi_arg) ? sizeof(ffi_arg) : size);
}

static void release_callback(Callback *cb);

/* Runs a callback: the function that the closure calls. */
static void callback_entry(ffi_cif *cif, void *result, void **arguments, void *user) {
  (void)cif;
  Callback *cb = user;
  Ffi *ffi = cb->ffi;
  clear_result(cb, result);
  if (unlikely(!pthread_equal(__atomic_load_n(&ffi->thread, __ATOMIC_RELAXED), pthread_self()) ||
               !ffi->in_call)) {
    say_foreign(ffi);
    return;
  }
  if (unlikely(ffi->has_error)) return;
  lua_State *L = ffi->domain->current;
  ffi->in_call = false;
  ffi->saved_errno = errno;
  cb->running++;
  PROBE_BEGIN(L->domain, FFI_CALLBACK);
  Invocation v = {cb, result, arguments};
  if (unlikely(vm_protect(L, run_guest, &v, stack_save(L, L->top), 0) != LUA_OK)) {
    clear_result(cb, result);
    remember_error(L, ffi);
  }
  PROBE_END(L->domain, FFI_CALLBACK);
  if (--cb->running == 0 && cb->freed) release_callback(cb);
  errno = ffi->saved_errno;
  ffi->in_call = true;
}

/* ---- making and freeing -------------------------------------------------- */

static void check_passable(lua_State *L, const CType *function) {
  if (function->signature->variadic) luaL_error(L, "a callback cannot be variadic");
}

/* Makes a first closure, so that libffi sets up its memory for closures, which two
 * threads must not do at once. */
static void make_first_closure(void) {
  void *code, *closure = ffi_closure_alloc(sizeof(ffi_closure), &code);
  if (closure != NULL) ffi_closure_free(closure);
}

static void prepare_closures(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, make_first_closure);
}

static Callback *callback_make(lua_State *L, CType *function) {
  check_passable(L, function);
  prepare_closures();
  CallPlan *plan = ccall_plan(L, function);
  Callback *cb = malloc(sizeof *cb);
  if (cb == NULL) error_memory(L);
  cb->closure = ffi_closure_alloc(sizeof *cb->closure, &cb->code);
  if (cb->closure == NULL) {
    free(cb);
    error_memory(L);
  }
  cb->ffi = function->ffi;
  cb->function = function;
  cb->running = 0;
  cb->freed = cb->shared = false;
  if (ffi_prep_closure_loc(cb->closure, &plan->cif, callback_entry, cb, cb->code) != FFI_OK) {
    ffi_closure_free(cb->closure);
    free(cb);
    error_run(L, "libffi cannot make a callback here");
  }
  cb->next = cb->ffi->all_callbacks;
  cb->link = &cb->ffi->all_callbacks;
  if (cb->next != NULL) cb->next->link = &cb->next;
  cb->ffi->all_callbacks = cb;
  return cb;
}

static void set_function(lua_State *L, Callback *cb, const TValue *function) {
  TValue key;
  set_light(&key, cb);
  table_set(L, cb->ffi->functions, &key, function);
}

static void register_code(lua_State *L, Callback *cb, bool present) {
  TValue key, value;
  set_light(&key, cb->code);
  set_nil(&value);
  if (present) set_light(&value, cb);
  table_set(L, cb->ffi->callbacks, &key, &value);
}

static Callback *make_for(lua_State *L, CType *function_type, const TValue *function) {
  Callback *cb = callback_make(L, function_type);
  set_function(L, cb, function);
  register_code(L, cb, true);
  return cb;
}

void *callback_new(lua_State *L, CType *function_type, const TValue *function) {
  return make_for(L, function_type, function)->code;
}

/* Returns the table of function -> code of a function type, in Ffi.shared. */
static Table *shared_table(lua_State *L, CType *function_type) {
  Table *all = function_type->ffi->shared;
  TValue key, value;
  set_light(&key, function_type);
  const TValue *found = table_get(all, &key);
  if (is_table(found)) return as_table(found);
  set_table(&value, table_new(L, 0, 0));
  table_set(L, all, &key, &value);
  return as_table(&value);
}

void *callback_shared(lua_State *L, CType *function_type, const TValue *function) {
  Table *made = shared_table(L, function_type);
  const TValue *found = table_get(made, function);
  if (found->tag == TAG_LIGHTUSERDATA) return found->v.p;
  Callback *cb = make_for(L, function_type, function);
  cb->shared = true;
  TValue value;
  set_light(&value, cb->code);
  table_set(L, made, function, &value);
  return cb->code;
}

Callback *callback_find(Ffi *ffi, void *code) {
  TValue key;
  set_light(&key, code);
  const TValue *found = table_get(ffi->callbacks, &key);
  return found->tag == TAG_LIGHTUSERDATA ? found->v.p : NULL;
}

static void release_callback(Callback *cb) {
  *cb->link = cb->next;
  if (cb->next != NULL) cb->next->link = cb->link;
  ffi_closure_free(cb->closure);
  free(cb);
}

/* Frees only the callbacks: their guest functions are freed with the heap. */
void callback_close(Ffi *ffi) {
  while (ffi->all_callbacks != NULL) release_callback(ffi->all_callbacks);
}

/* ---- methods ------------------------------------------------------------- */

static Callback *check_callback(lua_State *L, Cdata **cdata) {
  Cdata *cd = cdata_of(argument(L, 1));
  if (cd == NULL || !is_function_pointer(cd->type)) luaL_typeerror(L, 1, "callback");
  void *code;
  memcpy(&code, cd->address, sizeof code);
  Callback *cb = callback_find(cd->type->ffi, code);
  if (cb == NULL) luaL_argerror(L, 1, "not a callback, or one that was freed");
  if (cb->shared) luaL_argerror(L, 1, "shared by all calls that the function was an argument of");
  *cdata = cd;
  return cb;
}

/* Implements callback:free(). The callback's code must not be called any more; the
   pointer becomes NULL. */
int callback_free(lua_State *L) {
  Cdata *cd;
  Callback *cb = check_callback(L, &cd);
  TValue none;
  set_nil(&none);
  set_function(L, cb, &none);
  register_code(L, cb, false);
  memset(cd->address, 0, sizeof(void *));
  if (cb->running > 0) cb->freed = true;
  else release_callback(cb);
  return 0;
}

/* Implements callback:set(function): the callback calls this function from now on. */
int callback_set(lua_State *L) {
  Cdata *cd;
  Callback *cb = check_callback(L, &cd);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  set_function(L, cb, argument(L, 2));
  return 0;
}
