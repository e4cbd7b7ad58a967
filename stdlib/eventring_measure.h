/* SPDX-License-Identifier: MIT */
/* stdlib/eventring_measure.h: what a call costs, and what it may cost, for tests. */
#ifndef SAROS_STDLIB_EVENTRING_MEASURE_H
#define SAROS_STDLIB_EVENTRING_MEASURE_H

#include "lua.h"

/* Adds measure and expect to the module on top of the stack. */
void eventring_add_measure(lua_State *L);

#endif
