/* SPDX-License-Identifier: MIT */
/* lua_reference.h: compares results with the reference interpreter. */
#ifndef SAROS_FUZZ_LUA_REFERENCE_H
#define SAROS_FUZZ_LUA_REFERENCE_H

#include <stddef.h>

#include "lua.h"

/* Calls the function of `string` (or a global one) of that name with the arguments at
 * stack positions 1 to nargs (strings, numbers, booleans, nil), here and in a process
 * that runs LUA_REFERENCE (environment; without it nothing is compared), and aborts with
 * a message if the results differ. Texts of errors are not compared. */
void reference_compare(lua_State *L, const char *function, int nargs);

#endif
