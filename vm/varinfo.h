/* SPDX-License-Identifier: MIT */
/* vm/varinfo.h: names of variables, from the bytecode. */
#ifndef SAROS_VM_VARINFO_H
#define SAROS_VM_VARINFO_H

#include "object.h"

/* The functions below find the variable that a value or a called function comes from
 * (symbolic execution of the bytecode). */
/* Returns the kind ("local", "global", ...) or NULL. */
const char *varinfo_of_register(const Prototype *p, int pc, int reg, const char **name);
const char *varinfo_of_call(lua_State *L, const Prototype *p, int pc, const char **name);

#endif
