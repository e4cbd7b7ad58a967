/* SPDX-License-Identifier: MIT */
/* stdlib/eventring_write.h: the functions of module eventring that write events. */
#ifndef SAROS_STDLIB_EVENTRING_WRITE_H
#define SAROS_STDLIB_EVENTRING_WRITE_H

#include "lua.h"

/* Adds the functions that write events to the table on top of the stack. */
void eventring_add_writers(lua_State *L);

#endif
