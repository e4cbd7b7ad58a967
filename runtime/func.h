/* runtime/func.h: prototypes, closures, upvalues, userdata, threads. */
#ifndef SAROS_RUNTIME_FUNC_H
#define SAROS_RUNTIME_FUNC_H

#include "domain.h"

Prototype *prototype_new(lua_State *L);
LuaClosure *lua_closure_new(lua_State *L, Prototype *p); /* upvalues NULL until set */
CClosure *c_closure_new(lua_State *L, int nupvalues, lua_CFunction f);
UpValue *upvalue_new_closed(lua_State *L);                  /* holds nil */
UpValue *upvalue_find(lua_State *L, TValue *slot);          /* open upvalue of a stack slot, shared */
void upvalue_close(lua_State *L, TValue *level);            /* closes all at or above level */
Userdata *userdata_new(lua_State *L, size_t size, int nuservalues);
lua_State *thread_new(lua_State *L);                        /* of the same domain; not anchored */
const char *local_name(const Prototype *p, int number, uint32_t pc); /* name of the n-th active local (1..), or NULL */

/* Domain: everything from heap to main thread; NULL when memory is short. */
lua_State *domain_new(void);
void domain_close(lua_State *L); /* main thread; runs finalizers, frees all */

/* Making a thread in steps (domain.c) */
size_t thread_bytes(void);                            /* of the object with what precedes it */
lua_State *thread_prepare(Domain *d, void *memory);   /* without a stack */
bool thread_make_stack(lua_State *L);

/* Stack of a thread */
void stack_grow(lua_State *L, int n);  /* room for n more; raises "stack overflow"; see stack_lacks */
bool stack_try_grow(lua_State *L, int n); /* the same without raising: false beyond the limit or out of memory */
/* For the collector: makes stack_last follow the highest slot that may be used without asking. */
void stack_narrow_window(lua_State *L, TValue *used);
void stack_shrink(lua_State *L);       /* when far more is allocated than in use */
CallInfo *callinfo_extend(lua_State *L); /* next frame after L->ci, allocating it */
#define stack_save(L, p) ((char *)(p) - (char *)(L)->stack)
#define stack_restore(L, off) ((TValue *)((char *)(L)->stack + (off)))
/* May n more values be pushed? If not, and each time in a stress build, stack_grow is to
 * be called: the stack moves. */
#ifdef SAROS_STRESS
#define stack_lacks(L, n) ((void)(n), true)
#define stack_ends_before(L, limit) ((void)(limit), true)
#else
#define stack_lacks(L, n) unlikely((L)->stack_last - (L)->top <= (n))
#define stack_ends_before(L, limit) unlikely((limit) >= (L)->stack_last) /* the same for slots up to limit */
#endif
#define stack_check(L, n) do { if (stack_lacks(L, n)) stack_grow(L, n); } while (0)

#endif
