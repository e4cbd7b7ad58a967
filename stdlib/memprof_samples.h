/* SPDX-License-Identifier: MIT */
/* stdlib/memprof_samples.h: what module memprof keeps for a domain: the callbacks of its
 * profiles, the values of blocks, samples as tables. */
#ifndef SAROS_STDLIB_MEMPROF_SAMPLES_H
#define SAROS_STDLIB_MEMPROF_SAMPLES_H

#include "domain.h"
#include "memprof.h"

typedef struct Samples Samples;

/* Returns the Samples of the domain. Makes them before the first profile of the domain;
   may collect. */
Samples *samples_make(lua_State *L);
/* Returns the Samples of the domain when they have been made. */
Samples *samples_of(lua_State *L);

/* Pops the table that has the functions of a profile by their MemprofCallback, and keeps
   it. samples_push_callbacks pushes it. */
void samples_set_callbacks(lua_State *L, Samples *s, uint32_t profile);
void samples_push_callbacks(lua_State *L, const Samples *s, uint32_t profile);
/* Keeps the sampler on top as the running sampler. samples_push_running pushes it. */
void samples_set_running(lua_State *L, Samples *s);
void samples_push_running(lua_State *L, const Samples *s);
/* Returns the function, or nil if there is none. */
const TValue *samples_callback(const Samples *s, uint32_t profile, MemprofCallback what);

/* Pushes the sample as a table. */
void samples_push(lua_State *L, Samples *s, const MemprofSample *sample);

/* Pops a value and keeps it for a block: under `number`, or under a new number if
 * `number` is 0. Returns the number. */
uint32_t samples_keep_value(lua_State *L, Samples *s, uint32_t number);
void samples_push_value(lua_State *L, const Samples *s, uint32_t number);
void samples_forget_value(lua_State *L, Samples *s, uint32_t number); /* 0 is allowed */

#endif
