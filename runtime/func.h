/* SPDX-License-Identifier: MIT */
/* runtime/func.h: prototypes, closures, upvalues, userdata. */
#ifndef SAROS_RUNTIME_FUNC_H
#define SAROS_RUNTIME_FUNC_H

#include "object.h"

Prototype *prototype_new(lua_State *L);
/* Gives the prototype its number, Prototype.function_id, which no other prototype of the
 * process has. */
void prototype_number(Prototype *p);
LuaClosure *lua_closure_new(lua_State *L, Prototype *p); /* upvalues NULL until set */
CClosure *c_closure_new(lua_State *L, int nupvalues, lua_CFunction f);
UpValue *upvalue_new_closed(lua_State *L); /* holds nil */
/* Finds or makes the open upvalue of a stack slot, which closures share. */
UpValue *upvalue_find(lua_State *L, TValue *slot);
/* Closes all open upvalues at or above level. */
void upvalue_close(lua_State *L, TValue *level);
Userdata *userdata_new(lua_State *L, size_t size, int nuservalues);
/* Returns what identifies the C function. It is the same in all closures of the function.
 * Returns NULL for a value that is not a C function. */
const void *c_function_identity(const TValue *func);
/* Returns the name of the n-th active local (from 1), or NULL. */
const char *local_name(const Prototype *p, int number, uint32_t pc);

#endif
