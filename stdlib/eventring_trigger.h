/* SPDX-License-Identifier: MIT */
/* stdlib/eventring_trigger.h: triggers of the guest. */
#ifndef SAROS_STDLIB_EVENTRING_TRIGGER_H
#define SAROS_STDLIB_EVENTRING_TRIGGER_H

#include "lua.h"

/* Adds the functions of triggers to the module on top of the stack. */
void eventring_add_triggers(lua_State *L);

#endif
