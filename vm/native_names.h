/* SPDX-License-Identifier: MIT */
/* vm/native_names.h: names of functions of C that the interpreter itself calls, such as the
 * one that runs a program: no module has them, and no caller names them. */
#ifndef SAROS_VM_NATIVE_NAMES_H
#define SAROS_VM_NATIVE_NAMES_H

#include "lua.h"

/* Notes the name of a function, a literal, for the whole process. Any thread. */
void native_name_set(lua_CFunction f, const char *name);
/* NULL: it has none. Any thread. */
const char *native_name_of(lua_CFunction f);

#define push_named(L, f) (native_name_set(f, #f), lua_pushcfunction(L, f))

#endif
