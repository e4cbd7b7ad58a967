/* SPDX-License-Identifier: MIT */
/* lua_harness.h: a Lua state in which a fuzzer runs guest code that it knows
 * nothing about (design: lua_harness.c). */
#ifndef SAROS_FUZZ_LUA_HARNESS_H
#define SAROS_FUZZ_LUA_HARNESS_H

#include <stddef.h>
#include <stdint.h>

#include "lua.h"

/* A state with the libraries that stay inside the process; aborts when there is
 * no memory for it. */
lua_State *harness_open(void);
/* A state for many inputs, renewed from time to time, with its time set anew; its
 * stack is empty. */
lua_State *harness_shared(void);
/* Checks the heap and closes the state. */
void harness_close(lua_State *L);
/* Calls the function below its nargs arguments, with the bounds of the harness on
 * time and memory. Results and errors are thrown away; returns the status. */
int harness_call(lua_State *L, int nargs);
/* An upper bound of the steps that a match may take: how long backtracking goes on
 * grows with the subject for each repetition. */
double harness_pattern_cost(const char *pattern, size_t length, size_t subject_length);
/* Pushes what guest code is called with; returns how many values. */
int harness_push_arguments(lua_State *L);

#endif
