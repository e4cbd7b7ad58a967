/* SPDX-License-Identifier: MIT */
/* runtime/func.h: prototypes, closures, upvalues, userdata. */
#ifndef SAROS_RUNTIME_FUNC_H
#define SAROS_RUNTIME_FUNC_H

#include "object.h"

Prototype *prototype_new(lua_State *L);
/* Gives it its number, Prototype.function_id: no other prototype of the process has it. */
void prototype_number(Prototype *p);
LuaClosure *lua_closure_new(lua_State *L, Prototype *p); /* upvalues NULL until set */
CClosure *c_closure_new(lua_State *L, int nupvalues, lua_CFunction f);
UpValue *upvalue_new_closed(lua_State *L);                  /* holds nil */
/* open upvalue of a stack slot, shared */
UpValue *upvalue_find(lua_State *L, TValue *slot);
void upvalue_close(lua_State *L, TValue *level);            /* closes all at or above level */
Userdata *userdata_new(lua_State *L, size_t size, int nuservalues);
/* Returns what identifies the C function, also among closures of it; NULL: it is none. */
const void *c_function_identity(const TValue *func);
/* name of the n-th active local (1..), or NULL */
const char *local_name(const Prototype *p, int number, uint32_t pc);

#endif
