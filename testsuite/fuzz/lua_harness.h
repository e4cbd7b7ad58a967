/* SPDX-License-Identifier: MIT */
/* lua_harness.h: a Lua state in which a fuzzer runs arbitrary guest code (design:
 * lua_harness.c). */
#ifndef SAROS_FUZZ_LUA_HARNESS_H
#define SAROS_FUZZ_LUA_HARNESS_H

#include <stddef.h>
#include <stdint.h>

#include "lua.h"

/* Returns a state with the libraries that stay inside the process; aborts if there is no
 * memory for it. */
lua_State *harness_open(void);
/* Returns a state for many inputs, which is renewed from time to time, with an empty
 * stack and its time set anew. */
lua_State *harness_shared(void);
/* Checks the heap and closes the state. */
void harness_close(lua_State *L);
/* Calls the function below its nargs arguments, within the harness's bounds of time and
 * memory. Throws results and errors away; returns the status. */
int harness_call(lua_State *L, int nargs);
/* Returns an upper bound of the steps that a match may take: with each repetition in the
 * pattern, backtracking takes longer by a factor of the subject's length. */
double harness_pattern_cost(const char *pattern, size_t length, size_t subject_length);
/* Pushes the arguments for guest code; returns their number. */
int harness_push_arguments(lua_State *L);

#endif
