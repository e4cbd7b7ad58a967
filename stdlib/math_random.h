/* SPDX-License-Identifier: MIT */
/* stdlib/math_random.h: math.random and math.randomseed. */
#ifndef SAROS_STDLIB_MATH_RANDOM_H
#define SAROS_STDLIB_MATH_RANDOM_H

#include "lua.h"

/* Adds both functions, sharing a generator of random seed, to the library's
 * table on top of the stack. */
void math_random_open(lua_State *L);

#endif
